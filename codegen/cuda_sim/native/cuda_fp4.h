#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"

typedef unsigned char __nv_fp4_storage_t;
enum __nv_fp4_interpretation_t { __NV_E2M1 };
LW_STORAGE(__nv_fp4_e2m1, 2, 1, LW_FINITE)
