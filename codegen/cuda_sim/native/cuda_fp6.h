#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"

typedef unsigned char __nv_fp6_storage_t;
enum __nv_fp6_interpretation_t { __NV_E3M2, __NV_E2M3 };
LW_STORAGE(__nv_fp6_e3m2, 3, 2, LW_FINITE)
LW_STORAGE(__nv_fp6_e2m3, 2, 3, LW_FINITE)
