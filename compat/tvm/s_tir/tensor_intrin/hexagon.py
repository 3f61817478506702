"""`tvm.s_tir.tensor_intrin.hexagon`: the names of the intrinsics. None is registered: a schedule that
tensorizes with one is refused by its name.
"""

from __future__ import annotations

from ....adapters import lacking

VRMPY_u8u8i32_INTRIN = "dot_32x4_u8u8i32_vrmpy"
VRMPY_u8i8i32_INTRIN = "dot_32x4_u8i8i32_vrmpy"
VDMPY_i16i16i32_INTRIN = "dot_product_32x2_i16i16i32_vdmpy"

__getattr__ = lacking("tvm.s_tir.tensor_intrin.hexagon")

__all__ = ["VDMPY_i16i16i32_INTRIN", "VRMPY_u8i8i32_INTRIN", "VRMPY_u8u8i32_INTRIN"]
