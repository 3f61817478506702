"""The words of `R` for types, and how annotations in graph functions are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtype import DType
from ..errors import Diagnostic, DTypeError
from ..ir import INT64, UNIT, AnyType, Expr, FuncType, IntImm, PrimType, TupleType, Type, Var, VDevice
from ..ir.relax import ShapeExpr, ShapeType, TensorType
from .faults import describe
from .relax_builder import GraphBuilder
from .symbols import dimension
from .values import Form, Symbol, TypeForm, active_builder, set_active_builder, type_of_note


def note_type(note: Any, what: str = "an annotation") -> Type:
    """The type that a note means; None means the unit type. Raises DTypeError for what is no type."""
    if note is None:
        return UNIT
    if isinstance(note, tuple | list):
        return TupleType([note_type(n, what) for n in note])
    if isinstance(note, Symbol):
        return INT64
    found = None if isinstance(note, str | Var) else type_of_note(note)
    if found is None:
        raise DTypeError(
            Diagnostic(
                "annotation",
                f"{describe(note)} is no type, and {what} is one",
                help=('write, for example, `R.Tensor((n, 4), "float32")`',),
            )
        )
    return found


def _sizes(values: Any) -> list[Any]:
    if active_builder() is not None:
        return [_size(v) for v in values]
    # Python itself evaluates the annotation of a decorated function: any symbols will do
    from .names import TextNames

    builder = GraphBuilder(TextNames(), [], live=False)
    builder.defining = True
    before = set_active_builder(builder)
    try:
        return [_size(v) for v in values]
    finally:
        set_active_builder(before)


def _size(value: Any) -> Any:
    size = dimension(value)
    if isinstance(size, Expr) and size.ty is not INT64 and not isinstance(size, IntImm):
        raise DTypeError(
            Diagnostic(
                "symbol-type",
                f"a size has dtype int64, and this is {describe(size)}",
                help=("declare its symbols as `n = T.int64()`",),
            )
        )
    return size


def _shape(shape: Any) -> Expr | None:
    if shape is None or isinstance(shape, Expr) and isinstance(shape.ty, ShapeType):
        return shape
    if isinstance(shape, list | tuple):
        return ShapeExpr(_sizes(shape))
    raise DTypeError(
        Diagnostic(
            "type-mismatch",
            f"the shape of a tensor is a tuple of sizes or a shape variable, not {describe(shape)}",
        )
    )


def _dtype(dtype: Any) -> DType | None:
    if dtype is None:
        return None
    if isinstance(dtype, Form):
        dtype = type_of_note(dtype)
    if isinstance(dtype, PrimType):
        dtype = dtype.dtype
    return None if dtype in ("", "void") else DType(dtype)


def tensor(shape: Any = None, dtype: Any = None, vdevice: Any = None, ndim: int = -1) -> TensorType:
    """`R.Tensor((n, 4), "float32")`; the dtype may stand first when there is no shape."""
    if isinstance(shape, str | DType | PrimType) or isinstance(shape, Form):
        if dtype is not None:
            raise DTypeError(
                Diagnostic("type-mismatch", f"the shape of a tensor is a tuple of sizes, not {shape!r}")
            )
        shape, dtype = None, shape
    _check_rank(ndim)
    return TensorType(_shape(shape), _dtype(dtype), device(vdevice), ndim)


def _check_rank(ndim: Any) -> None:
    if not isinstance(ndim, int) or isinstance(ndim, bool) or ndim < -1:
        raise DTypeError(
            Diagnostic("rank", f"`ndim` is a number of dimensions, or -1 where it is unknown, not {ndim!r}")
        )


def device(value: Any) -> VDevice | None:
    """A virtual device: as given, or found in the module by its text, such as "cuda:0:global"."""
    if value is None or isinstance(value, VDevice):
        return value
    if not isinstance(value, str):
        raise DTypeError(Diagnostic("unknown-vdevice", f"{describe(value)} is no virtual device"))
    kind, _, rest = value.partition(":")
    index, _, scope = rest.partition(":")
    if index and not index.isdigit():
        raise DTypeError(
            Diagnostic(
                "unknown-vdevice",
                f"{value!r} is no device",
                help=('write "cuda", "cuda:0" or "cuda:0:global"',),
            )
        )
    number = int(index or 0)
    builder = active_builder()
    if builder is None:
        from .words_ir import vdevice

        return vdevice("llvm" if kind == "vdevice" else kind, number, scope or "global")
    found = _declared(getattr(builder, "infos", {}).get("vdevice", ()), kind, number, scope)
    if found is None:
        raise DTypeError(
            Diagnostic(
                "unknown-vdevice",
                f"the module declares no virtual device {value!r}",
                help=('declare it: `I.module_global_infos({"vdevice": [I.vdevice("llvm")]})`',),
            )
        )
    return found


def _declared(infos: Any, kind: str, number: int, scope: str) -> VDevice | None:
    """A device of the module: the number-th of its kind (of all for "vdevice"), or the one that is so."""
    known = [d for d in infos if isinstance(d, VDevice)]
    if kind != "vdevice":
        known = [d for d in known if str(getattr(d.target, "kind", "")) == kind]
    if number < len(known) and scope in ("", known[number].memory_scope):
        return known[number]
    wanted = number, scope or "global"
    return next((d for d in known if (d.vdevice_id, d.memory_scope) == wanted), None)


def tuple_type(*fields: Any) -> TupleType:
    """`R.Tuple(a, b)`; fields may stand in one list."""
    if len(fields) == 1 and isinstance(fields[0], list | tuple):
        fields = tuple(fields[0])
    return TupleType([note_type(f, "a field of R.Tuple") for f in fields])


def shape_type(values: Any = None, ndim: int = -1) -> ShapeType:
    """`R.Shape([n, 4])` or `R.Shape(ndim=2)`."""
    if values is not None and not isinstance(values, list | tuple):
        raise DTypeError(Diagnostic("type-mismatch", f"a shape is a list of sizes, not {describe(values)}"))
    _check_rank(ndim)
    return ShapeType(None if values is None else _sizes(values), ndim)


def prim_type(dtype: Any) -> PrimType:
    """`R.Prim("int64")`."""
    kind = _dtype(dtype)
    if kind is None:
        raise DTypeError(
            Diagnostic("annotation", "R.Prim takes the dtype of a scalar", help=('write `R.Prim("int64")`',))
        )
    return PrimType(kind)


def func_type(params: Any = None, ret: Any = None, purity: Any = None, derive_func: Any = None) -> FuncType:
    """`R.Callable((A, B), Result)`; without parameters any function, which may have effects."""
    result = AnyType() if ret is None else note_type(ret, "the result of R.Callable")
    if params is None:
        return FuncType(None, result, bool(purity), derive_func)
    if not isinstance(params, list | tuple):
        params = (params,)
    types = [note_type(p, "a parameter of R.Callable") for p in params]
    return FuncType(types, result, True if purity is None else bool(purity), derive_func)


def distributed(*args: Any, **kwargs: Any) -> Any:
    """Distributed tensors are no part of the language yet."""
    from ..errors import UnsupportedError

    raise UnsupportedError(
        Diagnostic(
            "unsupported", "`R.DTensor` is not supported: distributed tensors are not part of this compiler"
        )
    )


def _word(name: str, run: Callable[..., Any], alone: Callable[[], Type]) -> TypeForm:
    return TypeForm(f"R.{name}", run, alone)


def words() -> dict[str, Any]:
    """The words of types; used bare they mean the most general type of their kind."""
    return {
        "Tensor": _word("Tensor", tensor, lambda: TensorType(None, None)),
        "Tuple": _word("Tuple", tuple_type, lambda: UNIT),
        "Shape": _word("Shape", shape_type, ShapeType),
        "Prim": Form("R.Prim", prim_type),
        "Any": _word("Any", AnyType, AnyType),
        "Object": _word("Object", AnyType, AnyType),
        "Callable": _word("Callable", func_type, lambda: FuncType(None, AnyType(), False)),
        "DTensor": Form("R.DTensor", distributed),
    }


__all__ = ["device", "note_type", "tensor", "words"]
