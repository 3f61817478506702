"""Buffers: the arguments that describe one, definitions of all kinds, views."""

from __future__ import annotations

from ..grammar.tree import (
    Attribute,
    CallExpr,
    Constant,
    Keyword,
    ListExpr,
    Name,
    SExpr,
    Subscript,
    TupleExpr,
)
from ..ir import BufferType, Call, Expr, IntImm, Op, Var, structural_equal
from ..node import Attrs
from .core import Printer, keyword, shows, string
from .values import attrs_value

_DEFAULT_ALIGNMENT = 64


def buffer_type(buffer: Var) -> BufferType:
    """The type of a buffer variable."""
    ty = buffer.ty
    assert isinstance(ty, BufferType)
    return ty


def default_offset_dtype(ty: BufferType) -> str:
    """The dtype of an offset that the reader makes up: that of the first dimension, else int32."""
    return str(ty.shape[0].dtype) if ty.shape else "int32"


def define_parts(p: Printer, buffer: Var, name: Name) -> None:
    """Let a new buffer define the symbols of its strides and offset: `B.strides[0]`, `B.elem_offset`."""
    ty = buffer_type(buffer)
    for i, stride in enumerate(ty.strides):
        if _is_part(p, ty, stride):
            shown = Subscript(Attribute(name, "strides"), Constant(i))
            p.bind(stride, shown)  # type: ignore[arg-type]
    offset = ty.elem_offset
    if offset is not None and hides_offset(p, ty):
        p.bind(offset, Attribute(name, "elem_offset"))  # type: ignore[arg-type]


def _is_new(p: Printer, e: Expr) -> bool:
    return isinstance(e, Var) and id(e) not in p.vars


def _is_part(p: Printer, ty: BufferType, stride: Expr) -> bool:
    """Whether the stride is a symbol that this buffer defines and that stands in it once."""
    return (
        _is_new(p, stride)
        and stride.dtype == "int32"
        and sum([1 for s in ty.strides if s is stride]) == 1
        and stride is not ty.elem_offset
    )


def hides_offset(p: Printer, ty: BufferType) -> bool:
    """Whether the offset is a symbol that this buffer defines, as `offset_factor=` alone says."""
    offset = ty.elem_offset
    return offset is not None and _is_new(p, offset) and str(offset.dtype) == default_offset_dtype(ty)


def buffer_keywords(
    p: Printer, ty: BufferType, *, data: SExpr | None = None, fresh: bool = False
) -> list[Keyword]:
    """The keywords that describe a buffer beyond shape and dtype.

    `fresh` says that its new symbols are defined here, so that strides are quoted and an offset is
    left out; otherwise they are ordinary variables.
    """
    words = []
    if data is not None:
        words.append(keyword("data", data))
    if ty.strides:
        steps: list[SExpr] = []
        for s in ty.strides:
            if fresh and _is_part(p, ty, s):
                assert isinstance(s, Var)
                steps.append(string(p.quoted(s)))
            else:
                steps.append(p.expr(s))
        words.append(keyword("strides", TupleExpr(tuple(steps))))
    factor = ty.offset_factor != 1
    if ty.elem_offset is not None:
        if fresh and hides_offset(p, ty):
            factor = True
        else:
            words.append(keyword("elem_offset", p.expr(ty.elem_offset)))
    elif factor:
        words.append(keyword("elem_offset", Constant(0)))  # a factor alone would mean a symbol
    if ty.storage_scope != "global":
        words.append(keyword("scope", string(ty.storage_scope)))
    if ty.data_alignment != _DEFAULT_ALIGNMENT:
        words.append(keyword("align", Constant(ty.data_alignment)))
    if factor:
        words.append(keyword("offset_factor", Constant(ty.offset_factor)))
    if ty.layout is not None:
        words.append(keyword("layout", p.expr(ty.layout)))
    if ty.allocated_addr:
        words.append(keyword("allocated_addr", ListExpr(p.exprs(ty.allocated_addr))))
    return words


def shape_arguments(p: Printer, ty: BufferType, *, always_dtype: bool = False) -> list[SExpr]:
    """Shape and dtype as the first arguments; float32 is left out unless `always_dtype`."""
    args: list[SExpr] = [TupleExpr(p.exprs(ty.shape))]
    if always_dtype or ty.dtype != "float32":
        args.append(string(str(ty.dtype)))
    return args


def buffer_call(
    p: Printer,
    what: str,
    buffer: Var,
    *,
    before: tuple[SExpr, ...] = (),
    data: SExpr | None = None,
    annotations: Attrs | None = None,
    declared: bool = False,
) -> CallExpr:
    """`T.what(before, shape, dtype, ...)` for the definition of a buffer.

    `declared` is for a buffer that nothing defines: its symbols are ordinary variables.
    """
    ty = buffer_type(buffer)
    args = (*before, *shape_arguments(p, ty))
    words = buffer_keywords(p, ty, data=data, fresh=not declared)
    if annotations:
        words.append(keyword("annotations", attrs_value(p, annotations)))
    return p.call(what, args, words)


@shows(BufferType)
def _show_buffer_type(p: Printer, ty: BufferType) -> SExpr:
    """The annotation of a buffer parameter, all symbols being ordinary variables."""
    return p.call("Buffer", shape_arguments(p, ty, always_dtype=True), buffer_keywords(p, ty))


def data_owner(e: Expr) -> Var | None:
    """The buffer of which this is the data pointer, or None."""
    if type(e) is Call and type(e.op) is Op and e.op.name == "tirx.buffer_data":
        owner = e.args[0]
        if isinstance(owner, Var) and isinstance(owner.ty, BufferType):
            return owner
    return None


def view_arguments(p: Printer, buffer: Var, owner: Var) -> tuple[SExpr, ...] | None:
    """The arguments of `owner.view(...)` that make this buffer, or None when no view does.

    A view changes the shape, or the dtype and with it the last dimension; all else is the owner's
    or the default.
    """
    ty, old = buffer_type(buffer), buffer_type(owner)
    if not _plain(ty) or not _plain(old) or ty.storage_scope != old.storage_scope or not ty.shape:
        return None
    if id(owner) in p.scalars:
        return None
    if ty.dtype is old.dtype:
        if len(ty.shape) == len(old.shape) and all(same_index(a, b) for a, b in zip(ty.shape, old.shape)):
            return None
        wanted = old.shape[0].dtype if old.shape else "int32"
        if any(d.dtype != wanted or (type(d) is IntImm and d.value < 0) for d in ty.shape):
            return None
        return p.exprs(ty.shape)
    if len(ty.shape) != len(old.shape) or not all(
        same_index(a, b) for a, b in zip(ty.shape[:-1], old.shape[:-1])
    ):
        return None
    last, old_last = ty.shape[-1], old.shape[-1]
    if type(last) is not IntImm or type(old_last) is not IntImm or last.ty is not old_last.ty:
        return None
    bits, old_bits = ty.dtype.bits * ty.dtype.lanes, old.dtype.bits * old.dtype.lanes
    if ty.dtype.scalable or old.dtype.scalable or last.value * bits != old_last.value * old_bits:
        return None
    return (string(str(ty.dtype)),)


def _plain(ty: BufferType) -> bool:
    return (
        not ty.strides
        and ty.elem_offset is None
        and ty.data_alignment == _DEFAULT_ALIGNMENT
        and ty.offset_factor == 1
        and ty.layout is None
        and not ty.allocated_addr
    )


def same_index(a: Expr, b: Expr) -> bool:
    """Whether two integer expressions are structurally equal."""
    if a is b:
        return True
    if type(a) is IntImm and type(b) is IntImm:
        return a.value == b.value and a.ty is b.ty
    return structural_equal(a, b)
