#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"

typedef unsigned char __nv_fp8_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };
LW_STORAGE(__nv_fp8_e4m3, 4, 3, LW_NAN_ONLY)
LW_STORAGE(__nv_fp8_e5m2, 5, 2, LW_IEEE)

LW_INLINE __nv_fp8_storage_t __nv_cvt_double_to_fp8(double v, __nv_saturation_t s, __nv_fp8_interpretation_t f) {
  bool saturate = s == __NV_SATFINITE;
  return static_cast<__nv_fp8_storage_t>(f == __NV_E4M3 ? lw_encode<4, 3, LW_NAN_ONLY>(v, saturate)
                                                       : lw_encode<5, 2, LW_IEEE>(v, saturate));
}
LW_INLINE __nv_fp8_storage_t __nv_cvt_float_to_fp8(float v, __nv_saturation_t s, __nv_fp8_interpretation_t f) {
  return __nv_cvt_double_to_fp8(v, s, f);
}
struct __half_raw {
  unsigned short x;
  operator __half() const { return __half(x, 0); }
};
LW_INLINE __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t v, __nv_fp8_interpretation_t f) {
  return {__half(f == __NV_E4M3 ? lw_decode<4, 3, LW_NAN_ONLY>(v) : lw_decode<5, 2, LW_IEEE>(v)).__x};
}
