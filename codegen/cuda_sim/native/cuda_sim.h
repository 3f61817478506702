// The words of CUDA C++ for g++: included before each kernel text.
#pragma once
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>

#include "simulator.h"

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __managed__
#define __grid_constant__
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))
#define __restrict__ __restrict
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __maxnreg__(n)
#define __builtin_align__(n) __attribute__((aligned(n)))
#define LW_CUDA_SIM 1
#define __CUDACC__ 12
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#ifndef __CUDA_ARCH__
#define __CUDA_ARCH__ 900
#endif
#define LW_INLINE inline __attribute__((always_inline, artificial))

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#define CUDART_INF_F lw_bits<float>(0x7f800000u)
#define CUDART_NAN_F lw_bits<float>(0x7fffffffu)
#define CUDART_INF __builtin_inf()
#define CUDART_NAN __builtin_nan("")

// Vectors

#define LW_VECTORS(T, name, align2, align4)                                     \
  struct name##1 { T x; };                                                      \
  struct alignas(align2) name##2 { T x, y; };                                   \
  struct name##3 { T x, y, z; };                                                \
  struct alignas(align4) name##4 { T x, y, z, w; };                             \
  LW_INLINE name##1 make_##name##1(T x) { return {x}; }                         \
  LW_INLINE name##2 make_##name##2(T x, T y) { return {x, y}; }                 \
  LW_INLINE name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }         \
  LW_INLINE name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
LW_VECTORS(signed char, char, 2, 4)
LW_VECTORS(unsigned char, uchar, 2, 4)
LW_VECTORS(short, short, 4, 8)
LW_VECTORS(unsigned short, ushort, 4, 8)
LW_VECTORS(int, int, 8, 16)
LW_VECTORS(unsigned, uint, 8, 16)
LW_VECTORS(long, long, 16, 16)
LW_VECTORS(unsigned long, ulong, 16, 16)
LW_VECTORS(long long, longlong, 16, 16)
LW_VECTORS(unsigned long long, ulonglong, 16, 16)
LW_VECTORS(float, float, 8, 16)
LW_VECTORS(double, double, 16, 16)
#undef LW_VECTORS

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  operator uint3() const { return {x, y, z}; }
};

// The driver writes `threadIdx.x` as `lw_axis(0)`; what is left are uses of the whole.
#define threadIdx (uint3{lw_axis(0), lw_axis(1), lw_axis(2)})
#define blockIdx (uint3{lw_axis(3), lw_axis(4), lw_axis(5)})
#define blockDim (dim3{lw_axis(6), lw_axis(7), lw_axis(8)})
#define gridDim (dim3{lw_axis(9), lw_axis(10), lw_axis(11)})
#define warpSize 32

// Bits

template <class To, class From>
LW_INLINE To lw_bits(From value) {
  static_assert(sizeof(To) == sizeof(From), "sizes differ");
  To to;
  __builtin_memcpy(&to, &value, sizeof to);
  return to;
}
template <class T>
LW_INLINE uint64_t lw_widen(T value) {
  static_assert(sizeof(T) <= 8, "at most eight bytes");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
LW_INLINE T lw_narrow(uint64_t bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// Barriers, votes, shuffles

LW_INLINE void __syncthreads(int line = __builtin_LINE()) { lw_barrier(LW_BARRIER, 0, line); }
LW_INLINE int __syncthreads_and(int p, int line = __builtin_LINE()) { return lw_barrier(LW_BARRIER_AND, p, line); }
LW_INLINE int __syncthreads_or(int p, int line = __builtin_LINE()) { return lw_barrier(LW_BARRIER_OR, p, line); }
LW_INLINE int __syncthreads_count(int p, int line = __builtin_LINE()) {
  return lw_barrier(LW_BARRIER_COUNT, p, line);
}
LW_INLINE void __syncwarp(unsigned mask = 0xffffffffu) { lw_syncwarp(mask); }
LW_INLINE unsigned __activemask(int line = __builtin_LINE()) { return lw_activemask(line); }
LW_INLINE unsigned lw_lane() { return (lw_axis(0) + lw_axis(6) * (lw_axis(1) + lw_axis(7) * lw_axis(2))) & 31; }
LW_INLINE void __threadfence() { lw_fence(); }
LW_INLINE void __threadfence_block() { lw_fence(); }
LW_INLINE void __threadfence_system() { lw_fence(); }
LW_INLINE void __nanosleep(unsigned) { lw_spin(); }
LW_INLINE void __trap() { lw_trap(); }
LW_INLINE void __brkpt() { lw_trap(); }
LW_INLINE long long clock64() { return static_cast<long long>(lw_clock()); }
LW_INLINE long clock() { return static_cast<long>(lw_clock()); }

template <class T>
LW_INLINE T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {
  return lw_narrow<T>(lw_shuffle(LW_SHUFFLE, mask, lw_widen(value), lane, width));
}
template <class T>
LW_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return lw_narrow<T>(lw_shuffle(LW_SHUFFLE_UP, mask, lw_widen(value), static_cast<int>(delta), width));
}
template <class T>
LW_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return lw_narrow<T>(lw_shuffle(LW_SHUFFLE_DOWN, mask, lw_widen(value), static_cast<int>(delta), width));
}
template <class T>
LW_INLINE T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32) {
  return lw_narrow<T>(lw_shuffle(LW_SHUFFLE_XOR, mask, lw_widen(value), lanes, width));
}

LW_INLINE int __all_sync(unsigned mask, int p) { return static_cast<int>(lw_vote(LW_ALL, mask, p != 0)); }
LW_INLINE int __any_sync(unsigned mask, int p) { return static_cast<int>(lw_vote(LW_ANY, mask, p != 0)); }
LW_INLINE unsigned __ballot_sync(unsigned mask, int p) {
  return static_cast<unsigned>(lw_vote(LW_BALLOT, mask, p != 0));
}
template <class T>
LW_INLINE unsigned __match_any_sync(unsigned mask, T value) {
  return static_cast<unsigned>(lw_vote(LW_MATCH_ANY, mask, lw_widen(value)));
}
template <class T>
LW_INLINE unsigned __match_all_sync(unsigned mask, T value, int* same) {
  auto lanes = static_cast<unsigned>(lw_vote(LW_MATCH_ALL, mask, lw_widen(value)));
  *same = lanes != 0;
  return lanes;
}
#define LW_REDUCE(name, T, operation)                                          \
  LW_INLINE T __reduce_##name##_sync(unsigned mask, T value) {                 \
    return static_cast<T>(lw_vote(operation, mask, lw_widen(value)));          \
  }
LW_REDUCE(add, int, LW_REDUCE_ADD)
LW_REDUCE(add, unsigned, LW_REDUCE_ADD)
LW_REDUCE(min, int, LW_REDUCE_MIN)
LW_REDUCE(min, unsigned, LW_REDUCE_UMIN)
LW_REDUCE(max, int, LW_REDUCE_MAX)
LW_REDUCE(max, unsigned, LW_REDUCE_UMAX)
LW_REDUCE(and, unsigned, LW_REDUCE_AND)
LW_REDUCE(or, unsigned, LW_REDUCE_OR)
LW_REDUCE(xor, unsigned, LW_REDUCE_XOR)
#undef LW_REDUCE

// Atomics: every type of up to eight bytes

template <class T, class F>
LW_INLINE T lw_atomic(T* address, F next) {
  uint64_t found = lw_atomic_begin(const_cast<void*>(static_cast<const volatile void*>(address)), sizeof(T));
  while (!lw_atomic_commit(address, sizeof(T), &found, lw_widen<T>(next(lw_narrow<T>(found))))) {
  }
  return lw_narrow<T>(found);
}
template <class T>
struct lw_same { typedef T type; };
#define LW_ATOMIC(name, next)                                                                     \
  template <class T>                                                                              \
  LW_INLINE T name(T* address, typename lw_same<T>::type value) {                                 \
    return lw_atomic(address, [&](T old) -> T { (void)old; return next; });                       \
  }                                                                                               \
  template <class T>                                                                              \
  LW_INLINE T name##_block(T* address, typename lw_same<T>::type value) { return name(address, value); } \
  template <class T>                                                                              \
  LW_INLINE T name##_system(T* address, typename lw_same<T>::type value) { return name(address, value); }
LW_ATOMIC(atomicAdd, old + value)
LW_ATOMIC(atomicSub, old - value)
LW_ATOMIC(atomicExch, value)
LW_ATOMIC(atomicMin, value < old ? value : old)
LW_ATOMIC(atomicMax, old < value ? value : old)
LW_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
LW_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
LW_ATOMIC(atomicAnd, old & value)
LW_ATOMIC(atomicOr, old | value)
LW_ATOMIC(atomicXor, old ^ value)
#undef LW_ATOMIC
template <class T>
LW_INLINE T atomicCAS(T* address, typename lw_same<T>::type compare, typename lw_same<T>::type value) {
  T old = lw_atomic(address, [&](T seen) { return lw_widen(seen) == lw_widen(compare) ? value : seen; });
  if (lw_widen(old) != lw_widen(compare)) lw_spin();
  return old;
}

// Memory

template <class T> LW_INLINE T __ldg(const T* p) { return *p; }
template <class T> LW_INLINE T __ldca(const T* p) { return *p; }
template <class T> LW_INLINE T __ldcg(const T* p) { return *p; }
template <class T> LW_INLINE T __ldcs(const T* p) { return *p; }
template <class T> LW_INLINE T __ldlu(const T* p) { return *p; }
template <class T> LW_INLINE void __stcg(T* p, T value) { *p = value; }
template <class T> LW_INLINE void __stcs(T* p, T value) { *p = value; }
template <class T> LW_INLINE void __stwb(T* p, T value) { *p = value; }
template <class T> LW_INLINE void __stwt(T* p, T value) { *p = value; }
LW_INLINE size_t __cvta_generic_to_shared(const void* p) { return reinterpret_cast<size_t>(p); }
#define memcpy(to, from, bytes) lw_copy(to, from, bytes)
#define memmove(to, from, bytes) lw_copy(to, from, bytes)
#define memset(to, value, bytes) lw_fill(to, value, bytes)

LW_INLINE void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0) {
  lw_sim_cp_async(to, from, static_cast<int>(bytes), static_cast<int>(bytes - zeros));
}
LW_INLINE void __pipeline_commit() { lw_sim_cp_async_commit(); }
LW_INLINE void __pipeline_wait_prior(int left) { lw_sim_cp_async_wait(left); }

// Output and checks

#define printf(...) lw_printf(__VA_ARGS__)
#undef assert
#define assert(condition) ((condition) ? (void)0 : lw_assert_failed(#condition))

#include "cuda_math.h"

// What the driver's functions are made of.
template <size_t... I> struct lw_indices {};
template <size_t N, size_t... I> struct lw_count : lw_count<N - 1, N - 1, I...> {};
template <size_t... I> struct lw_count<0, I...> { typedef lw_indices<I...> type; };
template <class... P, size_t... I>
LW_INLINE void lw_spread(void (*kernel)(P...), void** args, lw_indices<I...>) {
  kernel(*static_cast<typename lw_same<P>::type*>(args[I])...);
}
template <class... P>
void lw_call(void (*kernel)(P...), void** args) {
  lw_spread(kernel, args, typename lw_count<sizeof...(P)>::type());
}

// Last, as the text's own loops shall count their steps, but not those of the headers.
#ifdef LW_CHECKS
#define while(...) while (lw_tick() && (__VA_ARGS__))
#define for(...) for (__VA_ARGS__) if (!lw_tick()) {} else
#endif
