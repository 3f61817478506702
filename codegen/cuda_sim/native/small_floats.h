// Floats of up to sixteen bits, by their exponent and mantissa.
#pragma once

// What a format has besides numbers.
enum lw_specials { LW_IEEE, LW_NAN_ONLY, LW_FINITE };

// The nearest value of the format, ties to even; what is too large becomes infinity, or the largest with `saturate`.
template <int E, int M, lw_specials S>
inline unsigned lw_encode(double value, bool saturate) {
  constexpr int bias = (1 << (E - 1)) - 1, top = (1 << E) - 1;
  constexpr unsigned infinity = static_cast<unsigned>(top) << M;
  constexpr unsigned largest = S == LW_IEEE ? infinity - 1 : S == LW_NAN_ONLY ? infinity | ((1u << M) - 2)
                                                                              : infinity | ((1u << M) - 1);
  constexpr unsigned nan = S == LW_IEEE ? infinity | (M > 3 ? (1u << M) - 1 : 2u) : infinity | ((1u << M) - 1);
  auto bits = lw_bits<unsigned long long>(value);
  unsigned sign = static_cast<unsigned>(bits >> 63) << (E + M);
  auto magnitude = bits & ~(1ull << 63);
  if (magnitude > 0x7ff0000000000000ull) return S == LW_FINITE ? largest : nan;
  int exponent = static_cast<int>(magnitude >> 52) - 1023 + bias;
  unsigned result;
  if (exponent >= top + (S != LW_IEEE)) {
    result = largest + 1;
  } else {
    unsigned long long digits = magnitude & ((1ull << 52) - 1);
    int drop = 52 - M;
    if (exponent <= 0) {  // subnormal: the leading one becomes a digit
      digits |= 1ull << 52;
      drop += 1 - exponent;
      exponent = 0;
      if (drop > 54) return sign;
    } else {
      digits |= static_cast<unsigned long long>(exponent) << 52;
    }
    unsigned long long half = 1ull << (drop - 1), rest = digits & ((1ull << drop) - 1);
    result = static_cast<unsigned>(digits >> drop);
    if (rest > half || (rest == half && result & 1)) result++;
  }
  if (result > largest) result = saturate || S == LW_FINITE ? largest : S == LW_IEEE ? infinity : nan;
  return sign | result;
}

template <int E, int M, lw_specials S>
inline float lw_decode(unsigned bits) {
  constexpr int bias = (1 << (E - 1)) - 1, top = (1 << E) - 1;
  unsigned sign = bits >> (E + M) << 31, exponent = bits >> M & top, digits = bits & ((1u << M) - 1);
  if (S == LW_IEEE && exponent == top) return lw_bits<float>(sign | 0x7f800000u | digits << (23 - M));
  if (S == LW_NAN_ONLY && (bits & ((1u << (E + M)) - 1)) == (1u << (E + M)) - 1)
    return lw_bits<float>(sign | 0x7fc00000u);
  if (E == 8) return lw_bits<float>(bits << 16);
  if (exponent == 0) {
    float scale = lw_bits<float>(static_cast<unsigned>(127 + 1 - bias - M) << 23);
    return lw_bits<float>(lw_bits<unsigned>(static_cast<float>(digits) * scale) | sign);
  }
  return lw_bits<float>(sign | (exponent + 127 - bias) << 23 | digits << (23 - M));
}

// Arithmetic, comparisons and functions that CUDA has for both float formats of sixteen bits.
#define LW_SIXTEEN_BITS(T, T2, E, M)                                                                     \
  struct alignas(2) T {                                                                                  \
    unsigned short __x;                                                                                  \
    T() = default;                                                                                       \
    constexpr explicit T(unsigned short bits, int) : __x(bits) {}                                        \
    T(float v) : __x(static_cast<unsigned short>(lw_encode<E, M, LW_IEEE>(v, false))) {}                 \
    T(double v) : __x(static_cast<unsigned short>(lw_encode<E, M, LW_IEEE>(v, false))) {}                \
    T(int v) : T(static_cast<double>(v)) {}                                                              \
    T(unsigned v) : T(static_cast<double>(v)) {}                                                         \
    T(short v) : T(static_cast<double>(v)) {}                                                            \
    T(unsigned short v) : T(static_cast<double>(v)) {}                                                   \
    T(long v) : T(static_cast<double>(v)) {}                                                             \
    T(unsigned long v) : T(static_cast<double>(v)) {}                                                    \
    T(long long v) : T(static_cast<double>(v)) {}                                                        \
    T(unsigned long long v) : T(static_cast<double>(v)) {}                                               \
    operator float() const { return lw_decode<E, M, LW_IEEE>(__x); }                                     \
    T& operator+=(T o) { return *this = T(float(*this) + float(o)); }                                    \
    T& operator-=(T o) { return *this = T(float(*this) - float(o)); }                                    \
    T& operator*=(T o) { return *this = T(float(*this) * float(o)); }                                    \
    T& operator/=(T o) { return *this = T(float(*this) / float(o)); }                                    \
    T& operator++() { return *this += T(1.0f); }                                                         \
    T& operator--() { return *this -= T(1.0f); }                                                         \
  };                                                                                                     \
  struct alignas(4) T2 {                                                                                 \
    T x, y;                                                                                              \
  };                                                                                                     \
  LW_INLINE T operator+(T a, T b) { return a += b; }                                                     \
  LW_INLINE T operator-(T a, T b) { return a -= b; }                                                     \
  LW_INLINE T operator*(T a, T b) { return a *= b; }                                                     \
  LW_INLINE T operator/(T a, T b) { return a /= b; }                                                     \
  LW_INLINE T operator-(T a) { return T(static_cast<unsigned short>(a.__x ^ 0x8000), 0); }               \
  LW_INLINE T operator+(T a) { return a; }                                                               \
  LW_INLINE bool operator==(T a, T b) { return float(a) == float(b); }                                   \
  LW_INLINE bool operator!=(T a, T b) { return float(a) != float(b); }                                   \
  LW_INLINE bool operator<(T a, T b) { return float(a) < float(b); }                                     \
  LW_INLINE bool operator<=(T a, T b) { return float(a) <= float(b); }                                   \
  LW_INLINE bool operator>(T a, T b) { return float(a) > float(b); }                                     \
  LW_INLINE bool operator>=(T a, T b) { return float(a) >= float(b); }                                   \
  LW_INLINE T2 operator+(T2 a, T2 b) { return {a.x + b.x, a.y + b.y}; }                                  \
  LW_INLINE T2 operator-(T2 a, T2 b) { return {a.x - b.x, a.y - b.y}; }                                  \
  LW_INLINE T2 operator*(T2 a, T2 b) { return {a.x * b.x, a.y * b.y}; }                                  \
  LW_INLINE T2 operator/(T2 a, T2 b) { return {a.x / b.x, a.y / b.y}; }                                  \
  LW_INLINE T2& operator+=(T2& a, T2 b) { return a = a + b; }                                            \
  LW_INLINE T __hadd(T a, T b) { return a + b; }                                                         \
  LW_INLINE T __hsub(T a, T b) { return a - b; }                                                         \
  LW_INLINE T __hmul(T a, T b) { return a * b; }                                                         \
  LW_INLINE T __hdiv(T a, T b) { return a / b; }                                                         \
  LW_INLINE T __hneg(T a) { return -a; }                                                                 \
  LW_INLINE T __habs(T a) { return T(static_cast<unsigned short>(a.__x & 0x7fff), 0); }                  \
  LW_INLINE T __hfma(T a, T b, T c) { return T(double(a) * double(b) + double(c)); }                     \
  LW_INLINE bool __heq(T a, T b) { return a == b; }                                                      \
  LW_INLINE bool __hne(T a, T b) { return a != b; }                                                      \
  LW_INLINE bool __hlt(T a, T b) { return a < b; }                                                       \
  LW_INLINE bool __hle(T a, T b) { return a <= b; }                                                      \
  LW_INLINE bool __hgt(T a, T b) { return a > b; }                                                       \
  LW_INLINE bool __hge(T a, T b) { return a >= b; }                                                      \
  LW_INLINE bool __hisnan(T a) { return isnan(float(a)); }                                               \
  LW_INLINE int __hisinf(T a) { return isinf(float(a)) ? (float(a) < 0 ? -1 : 1) : 0; }                  \
  LW_INLINE T __hmin(T a, T b) { return T(fminf(a, b)); }                                                \
  LW_INLINE T __hmax(T a, T b) { return T(fmaxf(a, b)); }                                                \
  LW_INLINE T __hmin_nan(T a, T b) { return a != a || b != b ? T(NAN) : __hmin(a, b); }                  \
  LW_INLINE T __hmax_nan(T a, T b) { return a != a || b != b ? T(NAN) : __hmax(a, b); }                  \
  LW_INLINE T hexp(T a) { return T(exp(double(a))); }                                                    \
  LW_INLINE T hexp2(T a) { return T(exp2(double(a))); }                                                  \
  LW_INLINE T hexp10(T a) { return T(exp10(double(a))); }                                                \
  LW_INLINE T hlog(T a) { return T(log(double(a))); }                                                    \
  LW_INLINE T hlog2(T a) { return T(log2(double(a))); }                                                  \
  LW_INLINE T hlog10(T a) { return T(log10(double(a))); }                                                \
  LW_INLINE T hsqrt(T a) { return T(sqrt(double(a))); }                                                  \
  LW_INLINE T hrsqrt(T a) { return T(1.0 / sqrt(double(a))); }                                           \
  LW_INLINE T hrcp(T a) { return T(1.0 / double(a)); }                                                   \
  LW_INLINE T hsin(T a) { return T(sin(double(a))); }                                                    \
  LW_INLINE T hcos(T a) { return T(cos(double(a))); }                                                    \
  LW_INLINE T htanh(T a) { return T(tanh(double(a))); }                                                  \
  LW_INLINE T hfloor(T a) { return T(floorf(a)); }                                                       \
  LW_INLINE T hceil(T a) { return T(ceilf(a)); }                                                         \
  LW_INLINE T htrunc(T a) { return T(truncf(a)); }                                                       \
  LW_INLINE T hrint(T a) { return T(rintf(a)); }                                                         \
  LW_INLINE T2 __hadd2(T2 a, T2 b) { return a + b; }                                                     \
  LW_INLINE T2 __hsub2(T2 a, T2 b) { return a - b; }                                                     \
  LW_INLINE T2 __hmul2(T2 a, T2 b) { return a * b; }                                                     \
  LW_INLINE T2 __h2div(T2 a, T2 b) { return a / b; }                                                     \
  LW_INLINE T2 __hneg2(T2 a) { return {-a.x, -a.y}; }                                                    \
  LW_INLINE T2 __habs2(T2 a) { return {__habs(a.x), __habs(a.y)}; }                                      \
  LW_INLINE T2 __hmin2(T2 a, T2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }                      \
  LW_INLINE T2 __hmax2(T2 a, T2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                      \
  LW_INLINE T2 __hfma2(T2 a, T2 b, T2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }

// Conversions by name: `h` is what CUDA calls the type in them.
#define LW_CONVERSIONS(T, T2, h, low, high, pair, same)                                      \
  LW_INLINE T __float2##h(float v) { return T(v); }                                          \
  LW_INLINE T __float2##h##_rn(float v) { return T(v); }                                     \
  LW_INLINE T __double2##h(double v) { return T(v); }                                        \
  LW_INLINE T __int2##h##_rn(int v) { return T(v); }                                         \
  LW_INLINE T __uint2##h##_rn(unsigned v) { return T(v); }                                   \
  LW_INLINE T __short2##h##_rn(short v) { return T(v); }                                     \
  LW_INLINE T __ushort2##h##_rn(unsigned short v) { return T(v); }                           \
  LW_INLINE T __ll2##h##_rn(long long v) { return T(v); }                                    \
  LW_INLINE T __ull2##h##_rn(unsigned long long v) { return T(v); }                          \
  LW_INLINE int __##h##2int_rz(T v) { return __float2int_rz(v); }                            \
  LW_INLINE int __##h##2int_rn(T v) { return __float2int_rn(v); }                            \
  LW_INLINE unsigned __##h##2uint_rz(T v) { return __float2uint_rz(v); }                     \
  LW_INLINE long long __##h##2ll_rz(T v) { return __float2ll_rz(v); }                        \
  LW_INLINE unsigned long long __##h##2ull_rz(T v) { return __float2ull_rz(v); }             \
  LW_INLINE short __##h##_as_short(T v) { return static_cast<short>(v.__x); }                \
  LW_INLINE unsigned short __##h##_as_ushort(T v) { return v.__x; }                          \
  LW_INLINE T __short_as_##h(short v) { return T(static_cast<unsigned short>(v), 0); }       \
  LW_INLINE T __ushort_as_##h(unsigned short v) { return T(v, 0); }                          \
  LW_INLINE T low(T2 v) { return v.x; }                                                      \
  LW_INLINE T high(T2 v) { return v.y; }                                                     \
  LW_INLINE T2 pair(T x, T y) { return {x, y}; }                                             \
  LW_INLINE T2 same(T x) { return {x, x}; }

// A format that only converts.
#define LW_STORAGE(T, E, M, S)                                                              \
  struct T {                                                                                \
    unsigned char __x;                                                                      \
    T() = default;                                                                          \
    template <class V>                                                                      \
    explicit T(V v) : __x(static_cast<unsigned char>(lw_encode<E, M, S>(double(v), true))) {} \
    explicit operator float() const { return lw_decode<E, M, S>(__x); }                     \
    explicit operator double() const { return static_cast<double>(lw_decode<E, M, S>(__x)); } \
    explicit operator __half() const { return __half(lw_decode<E, M, S>(__x)); }            \
    explicit operator __nv_bfloat16() const { return __nv_bfloat16(lw_decode<E, M, S>(__x)); } \
  };
