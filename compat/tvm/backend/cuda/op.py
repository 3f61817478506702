"""`tvm.backend.cuda.op`: the CUDA operators that script has, as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..... import ir
from ....adapters import lacking

_OTHER_NAMES = {
    "ptx_legacy_mma": "ptx_legacy.mma",
    "ptx_legacy_ldmatrix": "ptx_legacy.ldmatrix",
    "ptx_ldg32": "s_tir.ldg32",
}
_missing = lacking("tvm.backend.cuda.op")


def ptx_cp_async_legacy(*args: Any) -> Any:
    """An asynchronous copy: destination, offset, source, offset, bytes; the old form has a dtype in front.

    An access pointer takes the offset into its own.
    """
    dtype, rest = (args[0], args[1:]) if len(args) == 6 else ("", args)
    dst, dst_offset, src, src_offset, size = rest
    dst, dst_offset = _folded(dst, dst_offset)
    src, src_offset = _folded(src, src_offset)
    values = [ir.as_expr(v) for v in (dst, dst_offset, src, src_offset, size)]
    return ir.Call("tirx.s_tir.cp_async_raw", values, ir.as_type(dtype) if dtype else ir.VOID)


def _folded(pointer: Any, offset: Any) -> tuple[Any, Any]:
    if isinstance(pointer, ir.Call) and pointer.op is ir.Op("tirx.tvm_access_ptr"):
        ptype, data, start, *rest = pointer.args
        return pointer.replace(args=(ptype, data, ir.add(start, offset), *rest)), 0
    return pointer, offset


def __getattr__(name: str) -> Callable[..., Any]:
    """A CUDA operator. Raises AttributeError for those that we lack."""
    if name.startswith("__"):
        raise AttributeError(name)
    for spelling in (_OTHER_NAMES.get(name, name), f"cuda.{name}", name.removeprefix("cuda_")):
        found = ir.script_record(spelling)
        if found is not None:
            return found.build
    missing: Callable[..., Any] = _missing(name)
    return missing


__all__ = ["ptx_cp_async_legacy"]
