"""`tvm.s_tir.tensor_intrin.cuda`: intrinsics of tensor cores by the peer's constants, and what makes them."""

from __future__ import annotations

from typing import Any, Final

from .....errors import ArgumentValueError, Diagnostic
from .....schedule.intrinsics import fragments, mma, mma_small, wmma
from .....schedule.intrinsics.cuda import load_name, sync_name
from .....schedule.intrinsics.fragments import INPUTS, input_of, output_of
from ....adapters import lacking

WARP_SIZE: Final = 32
HALF_WARP: Final = 16
M_DIM: Final = 16
N_DIM: Final = 16

_SCOPES: Final = {"shared": "", "shared.dyn": "_dyn"}
_STORED: Final = {"global": "global", "shared": "shared", "shared.dyn": "shared_dyn"}


def _constants() -> dict[str, str]:
    """The names of intrinsics by the peer's constants."""
    found: dict[str, str] = {}
    for e in (INPUTS[s] for s in ("f16", "i8", "e4m3", "e5m2")):
        scopes = ("shared", "shared.dyn") if e.bits == 16 else ("shared",)
        for scope in scopes:
            dyn = _SCOPES[scope].upper()
            for kind, is_b, transposed in (("A", False, False), ("B", True, False), ("B_TRANS", True, True)):
                name = load_name(e, is_b, transposed, scope)
                found[f"LDMATRIX_{e.short}_{kind}{dyn}_INTRIN"] = name
            if e.bits == 16:
                found[f"LDMATRIX_{e.short}_A_TRANS{dyn}_INTRIN"] = load_name(e, False, True, scope)
        for c in ("f16", "f32") if e.bits == 16 else ("i32",) if e.short == "i8" else ("f32",):
            for a_trans in (False, True)[: 2 if e.bits == 16 else 1]:
                for b_trans in (False, True):
                    tail = "_TRANS_A" * a_trans + "_TRANS_B" * b_trans
                    name = sync_name(e, fragments.OUTPUTS[c], a_trans, b_trans)
                    found[f"MMA_{e.short}{e.short}{c}{tail}_INTRIN"] = name
    for c in ("f16", "f32", "i32"):
        found[f"MMA_fill_16x16_{c}_INTRIN"] = f"mma_fill_16x16_{c}"
        found[f"MMA_store_16x16_{c}_global_INTRIN"] = f"mma_store_16x16_{c}_global_"
    for c in ("f16", "f32"):
        found[f"MMA_store_16x16_{c}_shared_dyn_INTRIN_SIMPLE"] = f"mma_store_16x16_{c}_shared_dyn_simple_"
    found["MMA_store_16x16_f32_shared_dyn_INTRIN"] = "mma_store_16x16_f32_shared_dyn_"
    return {**found, **_wmma_constants()}


def _wmma_constants() -> dict[str, str]:
    found: dict[str, str] = {}
    parts = {
        "16x16x16": (("f16", "a"), ("f16", "b"), ("s8", "a"), ("s8", "b")),
        "8x8x32": (("s4", "a"), ("s4", "b")),
    }
    for shape, loads in parts.items():
        for dtype, matrix in loads:
            for trans in ("", "_trans") if dtype != "s4" else ("",) if matrix == "a" else ("_trans",):
                for tail in ("", "_dyn"):
                    key = f"WMMA_LOAD_{shape}_{dtype}_{matrix}{trans}{tail}_INTRIN"
                    found[key.upper().replace("X", "x")] = (
                        f"wmma_load_{shape}_{dtype}_{matrix}{trans}_shared{tail}"
                    )
        for c in ("f16", "f32", "s32") if shape != "8x8x32" else ("s32",):
            found[f"WMMA_FILL_{shape}_{c.upper()}_INTRIN"] = f"wmma_fill_{shape}_{c}"
            for scope in _STORED.values():
                found[f"WMMA_STORE_{shape}_{c.upper()}_{scope.upper()}_INTRIN"] = (
                    f"wmma_store_{shape}_{c}_{scope}"
                )
    for types in ("f16f16f16", "f16f16f32", "s8s8s32"):
        for tail in ("", "_trans"):
            found[f"WMMA_SYNC_16x16x16_{types}{tail.upper()}_INTRIN"] = f"wmma_sync_16x16x16_{types}{tail}"
    found["WMMA_SYNC_8x8x32_s4s4s32_TRANS_INTRIN"] = "wmma_sync_8x8x32_s4s4s32_trans"
    return found


CONSTANTS: Final = _constants()
_missing = lacking("tvm.s_tir.tensor_intrin.cuda")


def __getattr__(name: str) -> Any:
    """The name of an intrinsic by the peer's constant. Raises AttributeError for what is not there."""
    return CONSTANTS[name] if name in CONSTANTS else _missing(name)


# where elements lie


def shared_16x16_to_ldmatrix_32x8_layout(i: Any, j: Any) -> tuple[Any, Any]:
    """The lane and place of an element of 16 bits of a tile of 16 by 16."""
    return fragments.result(i, j)


def shared_16x32_to_ldmatrix_32x16_layout(i: Any, j: Any) -> tuple[Any, Any]:
    """The lane and place of an element of 8 bits of a tile of 16 by 32."""
    return fragments.rows(INPUTS["i8"], i, j)


def shared_32x16_to_ldmatrix_32x16_layout(i: Any, j: Any) -> tuple[Any, Any]:
    """The lane and place of an element of 8 bits of a right operand of 32 by 16."""
    return fragments.columns(INPUTS["i8"], i, j)


def ldmatrix_32x8_to_shared_16x16_layout(thread_id: Any, local_id: Any) -> tuple[Any, Any]:
    """The row and column of what a lane holds of a tile of 16 by 16."""
    return fragments.result_cell(thread_id, local_id)


def index_map_shared_16x16_to_ldmatrix_32x8_layout(ind: Any) -> list[Any]:
    """`shared_16x16_to_ldmatrix_32x8_layout` of a pair."""
    return list(fragments.result(*ind))


def get_index_A(elem_offset: Any, stride: Any) -> Any:
    """The first register of a tile of a left operand of 16 by 8 by 8."""
    return mma_small.left_place(elem_offset, stride)


def get_index_B(elem_offset: Any, stride: Any) -> Any:
    """The same of a right operand."""
    return mma_small.right_place(elem_offset, stride)


def get_index_C(elem_offset: Any, stride: Any) -> Any:
    """The same of a result."""
    return mma_small.result_place(elem_offset, stride)


# descriptions and implementations


def get_ldmatrix_intrin(
    k_dim: int, dtype: str, matrix_name: str, transposed: bool, shared_scope: str = "shared"
) -> tuple[Any, Any]:
    """Loading an operand by `ldmatrix`."""
    e = input_of(dtype)
    _depth(k_dim, e)
    return mma.ldmatrix(e, matrix_name == "B", transposed, shared_scope)


def get_mma_intrin(
    k_dim: int,
    a_dtype: str = "float16",
    b_dtype: str = "float16",
    out_dtype: str = "float16",
    a_transposed: bool = False,
    b_transposed: bool = False,
) -> tuple[Any, Any]:
    """A product by `mma.sync`."""
    e = input_of(a_dtype)
    _depth(k_dim, e)
    if a_dtype != b_dtype:
        raise ArgumentValueError(
            Diagnostic("tensor-intrin", f"both operands have one type, not `{a_dtype}` and `{b_dtype}`")
        )
    return mma.sync(e, output_of(out_dtype), a_transposed, b_transposed)


def _depth(k_dim: int, e: fragments.Element) -> None:
    if k_dim != e.depth:
        text = f"an instruction takes {e.depth} elements of `{e.dtype}` of the sum, not {k_dim}"
        raise ArgumentValueError(Diagnostic("tensor-intrin", text))


def get_mma_fill_intrin(dtype: str, local_size: int) -> tuple[Any, Any]:
    """Setting a result of `mma.sync` to zero."""
    return mma.fill(output_of(dtype))


def get_mma_store_intrin(
    dtype: str, local_size: int, scope: str = "global", use_mma_store_intrinic: bool = True
) -> tuple[Any, Any]:
    """Storing a result of `mma.sync`."""
    return mma.store(output_of(dtype), scope)


def get_mma_intrin_group(
    load_scope: str,
    store_scope: str,
    in_dtype: str,
    out_dtype: str,
    trans_a: bool,
    trans_b: bool,
    not_use_mma_store_intrinic: bool = True,
    store_to_smem_dtype: str | None = None,
) -> dict[str, str]:
    """The names of intrinsics of `mma.sync` that go together."""
    a, c = input_of(in_dtype), output_of(out_dtype)
    stored = output_of(store_to_smem_dtype or out_dtype).short
    simple = "simple_" if not_use_mma_store_intrinic else ""
    return {
        "init": f"mma_fill_16x16_{c.short}",
        "load_a": load_name(a, False, trans_a, load_scope),
        "load_b": load_name(a, True, trans_b, load_scope),
        "compute": sync_name(a, c, trans_a, trans_b),
        "store": f"mma_store_16x16_{stored}_{_STORED[store_scope]}_{simple}",
    }


def get_wmma_load_intrin(
    m_dim: int, n_dim: int, k_dim: int, dtype: str, shared_scope: str, is_b: bool, is_col_major: bool
) -> tuple[Any, Any]:
    """Loading an operand by WMMA."""
    return wmma.load(wmma.Shape(m_dim, n_dim, k_dim), dtype, shared_scope, is_b, is_col_major)


def get_wmma_fill_intrin(m_dim: int, n_dim: int, k_dim: int, dtype: str) -> tuple[Any, Any]:
    """Setting a result of WMMA to zero."""
    return wmma.fill(wmma.Shape(m_dim, n_dim, k_dim), dtype)


def get_wmma_store_intrin(m_dim: int, n_dim: int, k_dim: int, dtype: str, scope: str) -> tuple[Any, Any]:
    """Storing a result of WMMA."""
    return wmma.store(wmma.Shape(m_dim, n_dim, k_dim), dtype, scope)


def get_wmma_sync_intrin(
    m_dim: int, n_dim: int, k_dim: int, in_dtype: str, out_dtype: str, b_transposed: bool
) -> tuple[Any, Any]:
    """A product by WMMA."""
    return wmma.sync(wmma.Shape(m_dim, n_dim, k_dim), in_dtype, out_dtype, b_transposed)


def get_wmma_intrin_group(
    load_scope: str, store_scope: str, in_dtype: str, out_dtype: str, trans_b: bool
) -> dict[str, str]:
    """The names of intrinsics of WMMA that go together."""
    a, c = input_of(in_dtype), output_of(out_dtype)
    dyn, trans = _SCOPES[load_scope], "_trans" if trans_b else ""
    return {
        "init": f"wmma_fill_16x16x16_{c.scalar}",
        "load_a": f"wmma_load_16x16x16_{a.scalar}_a_shared{dyn}",
        "load_b": f"wmma_load_16x16x16_{a.scalar}_b{trans}_shared{dyn}",
        "compute": f"wmma_sync_16x16x16_{a.scalar}{a.scalar}{c.scalar}{trans}",
        "store": f"wmma_store_16x16x16_{c.scalar}_{_STORED[store_scope]}",
    }


def get_mma_init_intrin(m_dim: int, n_dim: int, k_dim: int, dtype: str) -> tuple[Any, Any]:
    """Setting a result of 16 by 8 by 8 to zero."""
    return mma_small.init((m_dim, n_dim, k_dim), dtype)


def get_mma_load_intrin(
    m_dim: int, n_dim: int, k_dim: int, dtype: str, shared_scope: str, is_b: bool, is_col_major: bool
) -> tuple[Any, Any]:
    """Loading an operand of 16 by 8 by 8."""
    return mma_small.load((m_dim, n_dim, k_dim), dtype, shared_scope, is_b, is_col_major)


def get_mma_sync_intrin(
    m_dim: int, n_dim: int, k_dim: int, in_dtype: str, out_dtype: str, b_transposed: bool
) -> tuple[Any, Any]:
    """A product of 16 by 8 by 8."""
    return mma_small.sync((m_dim, n_dim, k_dim), in_dtype, out_dtype, b_transposed)


def get_mma_store_dummy_intrin(m_dim: int, n_dim: int, k_dim: int, dtype: str) -> tuple[Any, Any]:
    """A copy of a result of 16 by 8 by 8 to shared memory."""
    return mma_small.store((m_dim, n_dim, k_dim), dtype, "shared.dyn")


__all__ = [
    *CONSTANTS,
    "HALF_WARP",
    "M_DIM",
    "N_DIM",
    "WARP_SIZE",
    *[name for name in globals() if name.startswith(("get_", "shared_", "ldmatrix_", "index_map_"))],
]
