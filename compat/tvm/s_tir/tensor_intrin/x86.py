"""`tvm.s_tir.tensor_intrin.x86`: dot products of 16 rows of 4 bytes."""

from __future__ import annotations

from .....schedule.tensor_intrin import TensorIntrin
from ....adapters import lacking

VNNI_DOT_16x4_INTRIN = "dot_16x4_vnni"
AVX512_DOT_16x4_INTRIN = "dot_16x4_avx512"

_missing = lacking("tvm.s_tir.tensor_intrin.x86")


def __getattr__(name: str) -> object:
    """The description of the dot product. Raises AttributeError for what is not there."""
    if name == "dot_product_16x4_u8i8i32_desc":
        found = TensorIntrin.get(VNNI_DOT_16x4_INTRIN)
        assert found is not None
        return found.desc
    return _missing(name)


__all__ = ["AVX512_DOT_16x4_INTRIN", "VNNI_DOT_16x4_INTRIN"]
