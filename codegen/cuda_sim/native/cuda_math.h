// CUDA's functions of numbers.
#pragma once

// math.h has names for float that end with f; C++ text may leave it out.
#define LW_UNARY(name) LW_INLINE float name(float x) { return ::name##f(x); }
#define LW_BINARY(name) LW_INLINE float name(float x, float y) { return ::name##f(x, y); }
LW_UNARY(sin) LW_UNARY(cos) LW_UNARY(tan) LW_UNARY(asin) LW_UNARY(acos) LW_UNARY(atan) LW_UNARY(sinh)
LW_UNARY(cosh) LW_UNARY(tanh) LW_UNARY(asinh) LW_UNARY(acosh) LW_UNARY(atanh) LW_UNARY(exp) LW_UNARY(exp2)
LW_UNARY(expm1) LW_UNARY(log) LW_UNARY(log2) LW_UNARY(log10) LW_UNARY(log1p) LW_UNARY(sqrt) LW_UNARY(cbrt)
LW_UNARY(erf) LW_UNARY(erfc) LW_UNARY(tgamma) LW_UNARY(lgamma) LW_UNARY(floor) LW_UNARY(ceil) LW_UNARY(trunc)
LW_UNARY(round) LW_UNARY(nearbyint) LW_UNARY(rint) LW_UNARY(fabs) LW_UNARY(logb) LW_UNARY(j0) LW_UNARY(j1)
LW_UNARY(y0) LW_UNARY(y1)
LW_BINARY(pow) LW_BINARY(atan2) LW_BINARY(fmod) LW_BINARY(hypot) LW_BINARY(fmin) LW_BINARY(fmax)
LW_BINARY(copysign) LW_BINARY(fdim) LW_BINARY(remainder) LW_BINARY(nextafter)
#undef LW_UNARY
#undef LW_BINARY
LW_INLINE float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
LW_INLINE float ldexp(float x, int n) { return ::ldexpf(x, n); }
LW_INLINE float pow(float x, int n) { return ::powf(x, static_cast<float>(n)); }
LW_INLINE double pow(double x, int n) { return ::pow(x, static_cast<double>(n)); }
LW_INLINE int abs(int x) { return x < 0 ? -x : x; }
LW_INLINE long abs(long x) { return x < 0 ? -x : x; }
LW_INLINE long long abs(long long x) { return x < 0 ? -x : x; }
LW_INLINE float abs(float x) { return __builtin_fabsf(x); }
LW_INLINE double abs(double x) { return __builtin_fabs(x); }
LW_INLINE long long llabs(long long x) { return x < 0 ? -x : x; }

#define LW_EXTREMES(T)                                \
  LW_INLINE T min(T a, T b) { return b < a ? b : a; } \
  LW_INLINE T max(T a, T b) { return a < b ? b : a; }
LW_EXTREMES(int) LW_EXTREMES(unsigned) LW_EXTREMES(long) LW_EXTREMES(unsigned long) LW_EXTREMES(long long)
LW_EXTREMES(unsigned long long)
#undef LW_EXTREMES
LW_INLINE float min(float a, float b) { return ::fminf(a, b); }
LW_INLINE float max(float a, float b) { return ::fmaxf(a, b); }
LW_INLINE double min(double a, double b) { return ::fmin(a, b); }
LW_INLINE double max(double a, double b) { return ::fmax(a, b); }
LW_INLINE unsigned min(unsigned a, int b) { return min(a, static_cast<unsigned>(b)); }
LW_INLINE unsigned min(int a, unsigned b) { return min(static_cast<unsigned>(a), b); }
LW_INLINE unsigned max(unsigned a, int b) { return max(a, static_cast<unsigned>(b)); }
LW_INLINE unsigned max(int a, unsigned b) { return max(static_cast<unsigned>(a), b); }
LW_INLINE long long min(long long a, int b) { return min(a, static_cast<long long>(b)); }
LW_INLINE long long min(int a, long long b) { return min(static_cast<long long>(a), b); }
LW_INLINE long long max(long long a, int b) { return max(a, static_cast<long long>(b)); }
LW_INLINE long long max(int a, long long b) { return max(static_cast<long long>(a), b); }

#undef isnan
#undef isinf
#undef isfinite
#undef signbit
#define LW_CLASS(T)                                                    \
  LW_INLINE bool isnan(T x) { return __builtin_isnan(x); }             \
  LW_INLINE bool isinf(T x) { return __builtin_isinf(x) != 0; }        \
  LW_INLINE bool isfinite(T x) { return __builtin_isfinite(x) != 0; }  \
  LW_INLINE bool signbit(T x) { return __builtin_signbit(x) != 0; }
LW_CLASS(float) LW_CLASS(double)
#undef LW_CLASS

LW_INLINE float rsqrtf(float x) { return 1.0f / ::sqrtf(x); }
LW_INLINE float rsqrt(float x) { return 1.0f / ::sqrtf(x); }
LW_INLINE double rsqrt(double x) { return 1.0 / ::sqrt(x); }
LW_INLINE float exp10f(float x) { return static_cast<float>(::pow(10.0, static_cast<double>(x))); }
LW_INLINE double exp10(double x) { return ::pow(10.0, x); }
LW_INLINE float exp10(float x) { return exp10f(x); }
LW_INLINE float sinpif(float x) { return static_cast<float>(::sin(M_PI * static_cast<double>(x))); }
LW_INLINE float cospif(float x) { return static_cast<float>(::cos(M_PI * static_cast<double>(x))); }
LW_INLINE float normcdff(float x) { return 0.5f * ::erfcf(-x * 0.70710678f); }
LW_INLINE void lw_sincosf(float x, float* s, float* c) { *s = ::sinf(x), *c = ::cosf(x); }
#define sincosf lw_sincosf
#define __sincosf lw_sincosf
LW_INLINE float __expf(float x) { return ::expf(x); }
LW_INLINE float __exp10f(float x) { return exp10f(x); }
LW_INLINE float __logf(float x) { return ::logf(x); }
LW_INLINE float __log2f(float x) { return ::log2f(x); }
LW_INLINE float __log10f(float x) { return ::log10f(x); }
LW_INLINE float __sinf(float x) { return ::sinf(x); }
LW_INLINE float __cosf(float x) { return ::cosf(x); }
LW_INLINE float __tanf(float x) { return ::tanf(x); }
LW_INLINE float __tanhf(float x) { return ::tanhf(x); }
LW_INLINE float __powf(float x, float y) { return ::powf(x, y); }
LW_INLINE float __fdividef(float x, float y) { return x / y; }
LW_INLINE float fdividef(float x, float y) { return x / y; }
LW_INLINE float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
#define LW_ROUNDED(T, prefix)                                                    \
  LW_INLINE T prefix##add_rn(T x, T y) { return x + y; }                         \
  LW_INLINE T prefix##sub_rn(T x, T y) { return x - y; }                         \
  LW_INLINE T prefix##mul_rn(T x, T y) { return x * y; }                         \
  LW_INLINE T prefix##div_rn(T x, T y) { return x / y; }                         \
  LW_INLINE T prefix##rcp_rn(T x) { return 1 / x; }                              \
  LW_INLINE T prefix##sqrt_rn(T x) { return sqrt(x); }
LW_ROUNDED(float, __f)
LW_ROUNDED(double, __d)
#undef LW_ROUNDED
LW_INLINE float __frsqrt_rn(float x) { return 1.0f / ::sqrtf(x); }
LW_INLINE float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
LW_INLINE double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }

// Bits of numbers

LW_INLINE int __float_as_int(float x) { return lw_bits<int>(x); }
LW_INLINE unsigned __float_as_uint(float x) { return lw_bits<unsigned>(x); }
LW_INLINE float __int_as_float(int x) { return lw_bits<float>(x); }
LW_INLINE float __uint_as_float(unsigned x) { return lw_bits<float>(x); }
LW_INLINE long long __double_as_longlong(double x) { return lw_bits<long long>(x); }
LW_INLINE double __longlong_as_double(long long x) { return lw_bits<double>(x); }
LW_INLINE int __double2hiint(double x) { return static_cast<int>(lw_bits<unsigned long long>(x) >> 32); }
LW_INLINE int __double2loint(double x) { return static_cast<int>(lw_bits<unsigned long long>(x)); }
LW_INLINE double __hiloint2double(int high, int low) {
  return lw_bits<double>(static_cast<unsigned long long>(static_cast<unsigned>(high)) << 32 |
                         static_cast<unsigned>(low));
}

LW_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
LW_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
LW_INLINE int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
LW_INLINE int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
LW_INLINE int __ffs(int x) { return __builtin_ffs(x); }
LW_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
LW_INLINE unsigned __brev(unsigned x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}
LW_INLINE unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}
LW_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; i++) {
    unsigned choice = selector >> 4 * i & 15, byte = bytes >> 8 * (choice & 7) & 255;
    if (choice & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << 8 * i;
  }
  return result;
}
LW_INLINE int __mulhi(int x, int y) { return static_cast<int>(static_cast<long long>(x) * y >> 32); }
LW_INLINE unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32);
}
LW_INLINE long long __mul64hi(long long x, long long y) {
  return static_cast<long long>(static_cast<__int128>(x) * y >> 64);
}
LW_INLINE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}
LW_INLINE int __mul24(int x, int y) { return (x << 8 >> 8) * (y << 8 >> 8); }
LW_INLINE unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffff) * (y & 0xffffff); }
LW_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31) >> 32);
}
LW_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31));
}
template <class A, class B>
LW_INLINE int lw_dp4a(unsigned a, unsigned b, int c) {
  for (int i = 0; i < 4; i++) c += static_cast<A>(a >> 8 * i) * static_cast<B>(b >> 8 * i);
  return c;
}
LW_INLINE int __dp4a(int a, int b, int c) {
  return lw_dp4a<signed char, signed char>(static_cast<unsigned>(a), static_cast<unsigned>(b), c);
}
LW_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  return static_cast<unsigned>(lw_dp4a<unsigned char, unsigned char>(a, b, static_cast<int>(c)));
}
LW_INLINE int __dp4a(char4 a, char4 b, int c) { return __dp4a(lw_bits<int>(a), lw_bits<int>(b), c); }
LW_INLINE unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
  return __dp4a(lw_bits<unsigned>(a), lw_bits<unsigned>(b), c);
}
LW_INLINE int __hadd(int x, int y) { return static_cast<int>((static_cast<long long>(x) + y) >> 1); }
LW_INLINE int __rhadd(int x, int y) { return static_cast<int>((static_cast<long long>(x) + y + 1) >> 1); }
LW_INLINE unsigned __sad(int x, int y, unsigned z) {
  return z + (x < y ? static_cast<unsigned>(y) - static_cast<unsigned>(x)
                    : static_cast<unsigned>(x) - static_cast<unsigned>(y));
}

// Conversions: from floats to integers they stop at the ends of the range, and NaN gives 0.

template <class T, class F>
LW_INLINE T lw_to_integer(F x) {
  constexpr bool is_signed = static_cast<T>(-1) < static_cast<T>(0);
  constexpr int bits = sizeof(T) * 8 - is_signed;
  constexpr F above = static_cast<F>(static_cast<T>(1) << (bits - 1)) * 2;
  constexpr T highest = static_cast<T>(~static_cast<T>(0)) >= static_cast<T>(0)
                            ? static_cast<T>(~static_cast<T>(0))
                            : static_cast<T>(~(static_cast<T>(1) << bits));
  if (x != x) return 0;
  if (x >= above) return highest;
  if (x <= (is_signed ? -above : static_cast<F>(0))) return is_signed ? static_cast<T>(~highest) : 0;
  return static_cast<T>(x);
}
#define LW_TO_INTEGER(from, F, to, T)                                                            \
  LW_INLINE T __##from##2##to##_rz(F x) { return lw_to_integer<T>(trunc(x)); }                   \
  LW_INLINE T __##from##2##to##_rn(F x) { return lw_to_integer<T>(nearbyint(x)); }               \
  LW_INLINE T __##from##2##to##_rd(F x) { return lw_to_integer<T>(floor(x)); }                   \
  LW_INLINE T __##from##2##to##_ru(F x) { return lw_to_integer<T>(ceil(x)); }
LW_TO_INTEGER(float, float, int, int)
LW_TO_INTEGER(float, float, uint, unsigned)
LW_TO_INTEGER(float, float, ll, long long)
LW_TO_INTEGER(float, float, ull, unsigned long long)
LW_TO_INTEGER(double, double, int, int)
LW_TO_INTEGER(double, double, uint, unsigned)
LW_TO_INTEGER(double, double, ll, long long)
LW_TO_INTEGER(double, double, ull, unsigned long long)
#undef LW_TO_INTEGER
LW_INLINE float __int2float_rn(int x) { return static_cast<float>(x); }
LW_INLINE float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
LW_INLINE float __ll2float_rn(long long x) { return static_cast<float>(x); }
LW_INLINE float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
LW_INLINE float __double2float_rn(double x) { return static_cast<float>(x); }
LW_INLINE double __int2double_rn(int x) { return x; }
LW_INLINE double __uint2double_rn(unsigned x) { return x; }
LW_INLINE double __ll2double_rn(long long x) { return static_cast<double>(x); }
LW_INLINE double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }
LW_INLINE long long llrint(float x) { return __float2ll_rn(x); }
