// nvcuda::wmma. The elements of a matrix are dealt out to the lanes in order of rows.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"

LW_INLINE float __float_to_tf32(float x) {
  unsigned bits = lw_bits<unsigned>(x);
  if (x != x) return x;
  return lw_bits<float>((bits + 0x1000u) & ~0x1fffu);
}

namespace nvcuda {
namespace wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}
namespace experimental = ::nvcuda::wmma;

// What a type of elements is called, and what it is stored as.
template <class T> struct lw_element;
#define LW_ELEMENT(T, stored, word) \
  template <> struct lw_element<T> { typedef stored type; static constexpr const char* name = word; };
LW_ELEMENT(__half, __half, "f16")
LW_ELEMENT(__nv_bfloat16, __nv_bfloat16, "bf16")
LW_ELEMENT(float, float, "f32")
LW_ELEMENT(double, double, "f64")
LW_ELEMENT(precision::tf32, float, "tf32")
LW_ELEMENT(signed char, signed char, "s8")
LW_ELEMENT(char, char, "s8")
LW_ELEMENT(unsigned char, unsigned char, "u8")
LW_ELEMENT(int, int, "s32")
#undef LW_ELEMENT

template <class Use, int m, int n, int k> struct lw_size { static constexpr int rows = m, columns = n; };
template <int m, int n, int k> struct lw_size<matrix_a, m, n, k> { static constexpr int rows = m, columns = k; };
template <int m, int n, int k> struct lw_size<matrix_b, m, n, k> { static constexpr int rows = k, columns = n; };
template <class Layout> struct lw_order { static constexpr layout_t value = mem_row_major; };
template <> struct lw_order<col_major> { static constexpr layout_t value = mem_col_major; };

template <class Use, int m, int n, int k, class T, class Layout = void>
struct fragment {
  typedef typename lw_element<T>::type element_type;
  typedef element_type storage_element_type;
  static constexpr int rows = lw_size<Use, m, n, k>::rows, columns = lw_size<Use, m, n, k>::columns;
  static constexpr int num_elements = rows * columns / 32, num_storage_elements = num_elements;
  element_type x[num_elements];
};

template <class F>
LW_INLINE size_t lw_offset(int i, unsigned stride, layout_t layout) {
  int at = i * 32 + static_cast<int>(lw_lane());
  size_t row = static_cast<size_t>(at / F::columns), column = static_cast<size_t>(at % F::columns);
  return layout == mem_row_major ? row * stride + column : column * stride + row;
}

template <class Use, int m, int n, int k, class T, class L, class V>
LW_INLINE void fill_fragment(fragment<Use, m, n, k, T, L>& f, const V& value) {
  for (int i = 0; i < f.num_elements; i++) f.x[i] = value;
}
template <class Use, int m, int n, int k, class T, class L, class P>
LW_INLINE void load_matrix_sync(fragment<Use, m, n, k, T, L>& f, const P* from, unsigned stride) {
  typedef fragment<Use, m, n, k, T, L> F;
  lw_warp_meets();
  for (int i = 0; i < F::num_elements; i++) f.x[i] = from[lw_offset<F>(i, stride, lw_order<L>::value)];
}
template <int m, int n, int k, class T, class P>
LW_INLINE void load_matrix_sync(fragment<accumulator, m, n, k, T>& f, const P* from, unsigned stride, layout_t layout) {
  typedef fragment<accumulator, m, n, k, T> F;
  lw_warp_meets();
  for (int i = 0; i < F::num_elements; i++) f.x[i] = from[lw_offset<F>(i, stride, layout)];
}
template <int m, int n, int k, class T, class P>
LW_INLINE void store_matrix_sync(P* to, const fragment<accumulator, m, n, k, T>& f, unsigned stride, layout_t layout) {
  typedef fragment<accumulator, m, n, k, T> F;
  lw_warp_meets();
  for (int i = 0; i < F::num_elements; i++) to[lw_offset<F>(i, stride, layout)] = f.x[i];
}
template <int m, int n, int k, class A, class B, class C, class D, class LA, class LB>
LW_INLINE void mma_sync(fragment<accumulator, m, n, k, D>& d, const fragment<matrix_a, m, n, k, A, LA>& a,
                        const fragment<matrix_b, m, n, k, B, LB>& b, const fragment<accumulator, m, n, k, C>& c,
                        bool = false) {
  lw_wmma(m, n, k, lw_element<A>::name, lw_element<B>::name, lw_element<C>::name, lw_element<D>::name, d.x, a.x, b.x,
          c.x);
}

}  // namespace wmma
}  // namespace nvcuda
