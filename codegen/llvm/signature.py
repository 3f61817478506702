"""What a compiled function takes and gives: parameters, the symbols their shapes define, results.

The inner functions take every parameter and then every symbol; the entry for Python's ctypes
takes the same values as 8-byte slots.
"""

from __future__ import annotations

from ...dtype import DType
from ...errors import CodegenError, Diagnostic
from ...ir import BufferType, Expr, IRModule, PointerType, PrimFunc, PrimType, TupleType, Type, Var
from ...node import Attrs, Node
from .types import is_small_float, value_type


class Signature:
    """The outside of one function."""

    __slots__ = ("name", "params", "results", "symbols", "tuple_result")  # no dataclass: they load slowly

    def __init__(
        self,
        name: str,
        params: tuple[Var, ...],
        symbols: tuple[Var, ...],
        results: tuple[Type, ...],
        tuple_result: bool,
    ) -> None:
        self.name = name
        self.params = params
        self.symbols = symbols
        self.results = results
        self.tuple_result = tuple_result

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which parameters can be given; a repeated hint gets a number."""
        seen: dict[str, int] = {}
        out = []
        for p in self.params:
            base = p.name.removesuffix("_handle") if isinstance(p.ty, BufferType) else p.name
            count = seen.get(base, 0)
            seen[base] = count + 1
            out.append(f"{base}_{count}" if count else base)
        return tuple(out)


def signature(name: str, func: PrimFunc) -> Signature:
    """The signature of a function. Raises CodegenError for parameters that have no machine form."""
    for p in func.params:
        _check_param(name, p)
    symbols = shape_symbols(func.params)
    ret = func.ret_type
    if isinstance(ret, TupleType):
        results, is_tuple = ret.fields_, bool(ret.fields_)
    elif isinstance(ret, PrimType) and ret.dtype.is_void:
        results, is_tuple = (), False
    else:
        results, is_tuple = (ret,), False
    for r in results:
        if not (isinstance(r, PointerType) or (isinstance(r, PrimType) and r.dtype.is_scalar)):
            raise CodegenError(
                Diagnostic(
                    "unsupported-result",
                    f"`{name}` returns a {type(r).__name__}; only scalars and pointers can be",
                )
            )
    return Signature(name, tuple(func.params), symbols, tuple(results), is_tuple)


def _check_param(name: str, p: Var) -> None:
    ty = p.ty
    if isinstance(ty, BufferType | PointerType):
        return
    if isinstance(ty, PrimType) and ty.dtype.is_scalar and not ty.dtype.is_void:
        return
    raise CodegenError(
        Diagnostic(
            "unsupported-parameter", f"parameter `{p.name}` of `{name}` has no form on the CPU", p.span
        )
    )


def shape_symbols(params: tuple[Var, ...]) -> tuple[Var, ...]:
    """The variables that the types of buffer parameters define, in order of appearance."""
    known = set(params)
    found: dict[Var, None] = {}
    for p in params:
        if not isinstance(p.ty, BufferType):
            continue
        offset = () if p.ty.elem_offset is None else (p.ty.elem_offset,)
        for e in (*p.ty.shape, *p.ty.strides, *offset):
            for v in variables(e):
                if v not in known:
                    found[v] = None
    return tuple(found)


def variables(e: Expr) -> list[Var]:
    """The variables in an expression, in order, buffers included."""
    found: list[Var] = []
    stack: list[object] = [e]
    while stack:
        node = stack.pop()
        if isinstance(node, Var):
            found.append(node)
        elif isinstance(node, Node):
            stack.extend(
                [getattr(node, f) for f in reversed(type(node).fields) if f not in ("span", "ty", "attrs")]
            )
        elif isinstance(node, tuple):
            stack.extend(reversed(node))
        elif isinstance(node, Attrs):
            stack.extend(node.values())
    return found


def exported(mod: IRModule) -> dict[str, PrimFunc]:
    """The functions that can be called from outside, by the name they are called by."""
    return {
        g.name: f for g, f in mod.functions.items() if isinstance(f, PrimFunc) and "global_symbol" in f.attrs
    }


def dtype_of(ty: Type) -> DType:
    """The dtype of a parameter or result; pointers are handles."""
    return ty.dtype if isinstance(ty, PrimType | BufferType) else DType("handle")


def inner_type(v: Var) -> str:
    """The LLVM type in which an inner function takes this parameter or symbol."""
    return "ptr" if isinstance(v.ty, BufferType | PointerType) else value_type(v.ty.dtype)  # type: ignore[attr-defined]


def slot_format(dtype: DType) -> str:
    """The `struct` code of a value in an 8-byte slot; small floats travel as float32, bool as a byte."""
    if dtype.is_handle:
        return "q"
    if dtype.is_float:
        return "d" if dtype.bits == 64 and not is_small_float(dtype) else "f"
    if dtype.is_bool:
        return "b"
    size = {8: "b", 16: "h", 32: "i", 64: "q"}.get(dtype.bits, "b")
    return size if dtype.is_int else size.upper()
