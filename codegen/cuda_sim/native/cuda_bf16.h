#pragma once
#include "small_floats.h"

LW_SIXTEEN_BITS(__nv_bfloat16, __nv_bfloat162, 8, 7)
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
LW_CONVERSIONS(__nv_bfloat16, __nv_bfloat162, bfloat16, __low2bfloat16, __high2bfloat16, __halves2bfloat162,
               __bfloat162bfloat162)
LW_INLINE float __bfloat162float(__nv_bfloat16 v) { return v; }
LW_INLINE __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
LW_INLINE float2 __bfloat1622float2(__nv_bfloat162 v) { return {v.x, v.y}; }
LW_INLINE __nv_bfloat162 __float22bfloat162_rn(float2 v) { return {__nv_bfloat16(v.x), __nv_bfloat16(v.y)}; }
LW_INLINE __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {__nv_bfloat16(x), __nv_bfloat16(y)}; }
LW_INLINE __nv_bfloat162 __float2bfloat162_rn(float x) { return {__nv_bfloat16(x), __nv_bfloat16(x)}; }
