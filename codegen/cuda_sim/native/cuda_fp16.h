#pragma once
#include "small_floats.h"

LW_SIXTEEN_BITS(__half, __half2, 5, 10)
typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;
LW_CONVERSIONS(__half, __half2, half, __low2half, __high2half, __halves2half2, __half2half2)
LW_INLINE float __half2float(__half v) { return v; }
LW_INLINE __half2 make_half2(__half x, __half y) { return {x, y}; }
LW_INLINE float2 __half22float2(__half2 v) { return {v.x, v.y}; }
LW_INLINE float __low2float(__half2 v) { return v.x; }
LW_INLINE float __high2float(__half2 v) { return v.y; }
LW_INLINE __half2 __float22half2_rn(float2 v) { return {__half(v.x), __half(v.y)}; }
LW_INLINE __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
LW_INLINE __half2 __float2half2_rn(float x) { return {__half(x), __half(x)}; }
