"""Fixing parameters of a function: `specialize(func, {n: 64, A: (64, 64)})`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import Diagnostic, DTypeError, IRError, suggest
from ..node import runs_deep
from .equal import structural_equal
from .expr import BinaryOp, Expr, IntImm, Var, as_expr, as_index, const
from .function import PrimFunc
from .operators import binary
from .types import BufferType, PrimType
from .visitor import Substitution, substitute


@runs_deep
def specialize(func: PrimFunc, values: Mapping[Var | str, Any]) -> PrimFunc:
    """The function with these parameters fixed.

    Keys are parameters or their names.  A scalar takes a number or an expression of its type and
    leaves the parameter list.  A buffer takes a shape, a buffer or a BufferType, or another
    buffer parameter, which takes its place: the symbols in its
    type get the values found there, everywhere in the function, and scalar parameters among
    them leave the list too.  Operations on what has become constant are folded.

    Raises IRError for an unknown parameter, a value of the wrong type or rank, and values that
    contradict each other.
    """
    fixed = _Fixed(func)
    for key, value in values.items():
        param = _find(func, key)
        if isinstance(param.ty, BufferType):
            fixed.buffer(param, param.ty, value)
        else:
            fixed.symbol(param, _scalar(param, value), f"the parameter `{param.name}`")
    fixed.check()
    return fixed.result()


def _find(func: PrimFunc, key: Var | str) -> Var:
    for param in func.params:
        if param is key or (isinstance(key, str) and param.name == key):
            return param
    name = key if isinstance(key, str) else getattr(key, "name", type(key).__name__)
    raise IRError(
        Diagnostic(
            "unknown-parameter",
            f"the function has no parameter `{name}`",
            notes=(f"its parameters are {', '.join([p.name for p in func.params]) or 'none'}",),
            help=suggest(str(name), [p.name for p in func.params]),
        )
    )


def _mismatch(text: str) -> IRError:
    return IRError(Diagnostic("specialize-mismatch", text))


def _scalar(param: Var, value: Any) -> Expr:
    if isinstance(value, Expr):
        if value.ty is not param.ty and not value.ty == param.ty:
            given = str(value.ty.dtype) if isinstance(value.ty, PrimType) else type(value.ty).__name__
            raise _mismatch(f"the parameter `{param.name}` is `{param.dtype}`, not `{given}`")
        return value
    if not isinstance(param.ty, PrimType) or not isinstance(value, bool | int | float):
        raise _mismatch(f"the parameter `{param.name}` cannot be {value!r}")
    try:
        return const(value, param.ty)
    except DTypeError as err:
        raise _mismatch(
            f"the parameter `{param.name}` is `{param.dtype}`: {err.diagnostics[0].message}"
        ) from err


class _Fixed:
    """The values found so far, and the types that buffers were asked to have."""

    def __init__(self, func: PrimFunc) -> None:
        self.func = func
        self.values: dict[Var, Expr] = {}
        self.types: list[tuple[Var, BufferType]] = []

    def symbol(self, var: Var, value: Expr, what: str) -> None:
        old = self.values.get(var)
        if old is not None and not structural_equal(old, value):
            raise _mismatch(f"{what} would be {_show(old)} and {_show(value)}")
        if value is not var:
            self.values[var] = value

    def buffer(self, param: Var, ty: BufferType, value: Any) -> None:
        if isinstance(value, Var) and value is not param and any(p is value for p in self.func.params):
            self.values[param] = value  # another parameter: both names mean that buffer from here on
        wanted = value.ty if isinstance(value, Var) else value
        if not isinstance(wanted, BufferType):
            if not isinstance(value, Sequence) or isinstance(value, str):
                raise _mismatch(f"the buffer `{param.name}` takes a shape or a buffer, not {value!r}")
            wanted = ty.replace(shape=_like(ty.shape, value))
        if wanted.dtype is not ty.dtype:
            raise _mismatch(f"the buffer `{param.name}` holds `{ty.dtype}`, not `{wanted.dtype}`")
        if len(wanted.shape) != len(ty.shape):
            raise _mismatch(
                f"the buffer `{param.name}` has {len(ty.shape)} dimensions, not {len(wanted.shape)}"
            )
        pairs = [*zip(ty.shape, wanted.shape), *zip(ty.strides, wanted.strides)]
        if ty.elem_offset is not None:
            start = wanted.elem_offset
            pairs.append((ty.elem_offset, IntImm(ty.elem_offset.ty, 0) if start is None else start))
        for old, new in pairs:
            if isinstance(old, Var):
                given = new.value if isinstance(new, IntImm) else new
                self.symbol(old, _scalar(old, given), f"the size `{old.name}` of `{param.name}`")
        if param not in self.values:
            self.types.append((param, wanted))

    def check(self) -> None:
        """Whether sizes that are no plain symbols agree with what was asked for."""
        for param, wanted in self.types:
            ty = param.ty
            assert isinstance(ty, BufferType)
            for i, (old, new) in enumerate(zip(ty.shape, wanted.shape)):
                got = _Folding(self.values).visit(old)
                same = structural_equal(got, new) or (
                    isinstance(got, IntImm) and isinstance(new, IntImm) and got.value == new.value
                )
                if not same:
                    raise _mismatch(f"dimension {i} of `{param.name}` is {_show(got)}, not {_show(new)}")

    def result(self) -> PrimFunc:
        if not self.values and not self.types:
            return self.func
        func: PrimFunc = self.func
        params = [p for p in func.params if p not in self.values]
        if self.values:
            func = _Folding(self.values).visit(func.replace(params=params))
        return _with_types(func, params, self.types)


def _with_types(func: PrimFunc, before: list[Var], types: list[tuple[Var, BufferType]]) -> PrimFunc:
    """Give the buffers what else was asked for: strides, offset, scope, alignment."""
    changed = {}
    for param, wanted in types:
        now = func.params[[p is param for p in before].index(True)]
        ty = wanted.replace(shape=now.ty.shape) if isinstance(now.ty, BufferType) else wanted
        if not structural_equal(ty, now.ty):
            changed[now] = Var(now.name, ty, now.span)
    return substitute(func, changed) if changed else func


def _like(old: tuple[Expr, ...], new: Sequence[Any]) -> list[Expr]:
    dims = []
    for i, size in enumerate(new):
        like = old[i] if i < len(old) else None
        dims.append(as_index(as_expr(size, like=like)))
    return dims


def _show(e: Expr) -> str:
    return str(e.value) if isinstance(e, IntImm) else f"`{e.name}`" if isinstance(e, Var) else repr(e)


class _Folding(Substitution):
    """Substitution that folds operations whose operands it changed."""

    def visit_BinaryOp(self, node: BinaryOp) -> Expr:
        a, b = self.visit(node.a), self.visit(node.b)
        if a is node.a and b is node.b:
            return node
        return binary(type(node), a, b, "full", node.span)


__all__ = ["specialize"]
