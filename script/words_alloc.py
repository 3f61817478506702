"""Buffers: `T.Buffer`, `T.match_buffer`, allocation and declaration words, scalar words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..dtype import DType
from ..errors import Diagnostic, DTypeError
from ..ir import (
    INT32,
    AllocBuffer,
    BufferLoad,
    BufferRegion,
    BufferType,
    Call,
    DeclBuffer,
    Expr,
    IntImm,
    MatchBufferRegion,
    PointerType,
    PrimType,
    Var,
    const,
)
from .builder import ZERO, Builder, attr_value
from .expr import point
from .faults import describe, fault
from .symbols import dimensions, offset
from .values import Cell, DTypeForm, Form, is_buffer, is_pointer, type_of_note
from .words_dtype import fresh

if TYPE_CHECKING:
    from collections.abc import Mapping


def dtype_of(note: Any) -> DType:
    """The dtype that an argument names. Raises DTypeError."""
    if isinstance(note, DTypeForm):
        return note.dtype
    ty = type_of_note(note)
    if isinstance(ty, PrimType):
        return ty.dtype
    if ty is None or not isinstance(ty, PointerType):
        raise DTypeError(Diagnostic("unknown-dtype", f"{describe(note)} is no dtype"))
    return DType("handle")


def buffer_type(
    shape: Any,
    dtype: Any = "float32",
    strides: Any = None,
    elem_offset: Any = None,
    byte_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    layout: Any = None,
    allocated_addr: Any = None,
) -> BufferType:
    """The type that the arguments of a buffer word describe. Raises DTypeError."""
    made = dtype_of(dtype)
    if byte_offset is not None:
        if elem_offset is not None:
            raise DTypeError(Diagnostic("invalid-argument", "elem_offset and byte_offset exclude each other"))
        elem_offset = _elements(byte_offset, made)
    dims = dimensions(shape)
    if elem_offset is None and offset_factor:
        first = dims[0].ty if dims and isinstance(dims[0], Expr) else INT32
        elem_offset = Var("elem_offset", first)  # a factor says that there is an offset
    return BufferType(
        made,
        dims,
        dimensions(strides) if strides is not None else (),
        offset(elem_offset),
        scope,
        _count(align, "align"),
        _count(offset_factor, "offset_factor"),
        None if isinstance(layout, str) else layout,
        dimensions(allocated_addr) if allocated_addr is not None else (),
    )


def _count(value: Any, name: str) -> int:
    if isinstance(value, IntImm):
        value = value.value
    if not isinstance(value, int):
        raise DTypeError(
            Diagnostic("invalid-argument", f"`{name}` is a constant number, not {describe(value)}")
        )
    return value


def _elements(byte_offset: Any, dtype: DType) -> Any:
    from .arith import binary

    if isinstance(byte_offset, int) and byte_offset % dtype.itemsize:
        raise DTypeError(
            Diagnostic(
                "invalid-argument", f"byte_offset {byte_offset} is no multiple of the size of `{dtype}`"
            )
        )
    return binary("//", byte_offset, dtype.itemsize)


def buffer(
    shape: Any,
    dtype: Any = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    byte_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    layout: Any = "default",
) -> Var:
    """`T.Buffer(...)`: a new buffer variable; as an annotation, its type."""
    ty = buffer_type(shape, dtype, strides, elem_offset, byte_offset, scope, align, offset_factor, layout)
    return fresh(Var("buffer", ty))


def alloc_buffer(
    b: Builder,
    /,
    shape: Any,
    dtype: Any = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    byte_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    layout: Any = "default",
    axis_separators: Any = None,
    annotations: Any = None,
    allocated_addr: Any = None,
) -> Var:
    """`T.alloc_buffer(...)`: memory for the rest of the scope; in an old program, of the block."""
    if b.old:
        return sblock_alloc_buffer(
            b, shape, dtype, data, strides, elem_offset, byte_offset, scope, align, offset_factor, layout
        )
    if data is not None:
        return decl_buffer(
            b, shape, dtype, data, strides, elem_offset, byte_offset, scope, align, offset_factor, layout
        )
    ty = buffer_type(
        shape, dtype, strides, elem_offset, byte_offset, scope, align, offset_factor, layout, allocated_addr
    )
    made = b.make(Var("buffer", ty, b.span))
    b.emit(AllocBuffer(made, attr_value(annotations or {}), b.span))
    return made


def _preset(name: str, scope: str) -> Callable[..., Var]:
    def run(b: Builder, /, shape: Any, dtype: Any = "float32", *args: Any, **kwargs: Any) -> Var:
        old, b.old = b.old, False
        try:
            if len(args) < 5:  # the scope is not given by position
                kwargs.setdefault("scope", scope)
            return alloc_buffer(b, shape, dtype, *args, **kwargs)
        finally:
            b.old = old

    run.__name__ = name
    return run


alloc_local = _preset("alloc_local", "local")


def sblock_alloc_buffer(
    b: Builder,
    /,
    shape: Any,
    dtype: Any = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    byte_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    layout: Any = "default",
    axis_separators: Any = None,
) -> Var:
    """`T.sblock_alloc_buffer(...)`: a buffer of the nearest enclosing block, or of the root block."""
    ty = buffer_type(shape, dtype, strides, elem_offset, byte_offset, scope, align, offset_factor, layout)
    made: Var = b.make(Var("buffer", ty, b.span))
    b.nearest_block().alloc_buffers.append(made)
    return made


def decl_buffer(
    b: Builder,
    /,
    shape: Any,
    dtype: Any = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    byte_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    layout: Any = "default",
    axis_separators: Any = None,
    allocated_addr: Any = None,
) -> Var:
    """`T.decl_buffer(..., data=pointer)`: a name for memory that exists; without data, an allocation."""
    if is_buffer(data):
        data = data.data
    if data is not None and not is_pointer(data):
        raise fault(
            "type-mismatch",
            f"`data` is a pointer, not {describe(data)}",
            b.span,
            help=("take `buffer.data`",),
        )
    if scope == "global" and data is not None and isinstance(data.ty, PointerType):
        scope = data.ty.storage_scope or "global"
    ty = buffer_type(
        shape, dtype, strides, elem_offset, byte_offset, scope, align, offset_factor, layout, allocated_addr
    )
    made: Var = b.make(Var("buffer", ty, b.span))
    b.emit(AllocBuffer(made, span=b.span) if data is None else DeclBuffer(made, data, b.span))
    return made


def match_buffer(
    b: Builder,
    /,
    param: Any,
    shape: Any = None,
    dtype: Any = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    byte_offset: Any = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    layout: Any = "default",
    axis_separators: Any = None,
    buffer_type: Any = "default",
) -> Var:
    """`T.match_buffer(param, ...)`: a handle parameter or a region of a buffer as a buffer."""
    if isinstance(param, BufferLoad):
        param = BufferRegion(param.buffer, [point(i) for i in param.indices], b.span)
    rest = (strides, elem_offset, byte_offset, scope, max(_count(align, "align"), 0), offset_factor)
    if isinstance(param, BufferRegion):
        return _match_region(b, param, shape, dtype, rest)
    position = next((i for i, p in enumerate(b.params) if p is param), None)
    if position is None or not isinstance(param, Var) or not isinstance(param.ty, PointerType):
        raise fault(
            "match-buffer",
            f"T.match_buffer takes a handle parameter or a region, not {describe(param)}",
            b.span,
            help=("each handle parameter can be matched once",) if is_pointer(param) else (),
        )
    if shape is None:
        raise fault("wrong-arguments", "T.match_buffer of a parameter needs a shape", b.span)
    signature, b.in_signature = b.in_signature, True
    try:
        ty = _matched_type(shape, dtype, *rest)
    finally:
        b.in_signature = signature
    made: Var = b.make(Var("buffer", ty, b.span))
    b.params[position] = made
    for name, value in list(b.names.items()):
        if value is param:
            b.names[name] = _data_pointer(made)
    return made


def _data_pointer(buffer: Var) -> Expr:
    ty: Any = buffer.ty
    return Call("tirx.buffer_data", (buffer,), PointerType(PrimType(ty.dtype), ty.storage_scope))


_matched_type = buffer_type  # a parameter of `match_buffer` has its name


def _match_region(b: Builder, region: BufferRegion, shape: Any, dtype: Any, rest: tuple[Any, ...]) -> Var:
    state = b.block("T.match_buffer")
    source: Any = region.buffer.ty
    if shape is None:
        shape, dtype = [r.extent for r in region.region], source.dtype
    ty = buffer_type(shape, dtype, *rest)
    if len(ty.shape) > len(region.region):
        raise fault(
            "match-buffer",
            f"a region of {len(region.region)} dimensions cannot be matched as {len(ty.shape)} dimensions",
            b.span,
        )
    _check_extents(b, region, ty)
    made: Var = b.make(Var("buffer", ty, b.span))
    state.match_buffers.append(MatchBufferRegion(made, region, b.span))
    return made


def _check_extents(b: Builder, region: BufferRegion, ty: BufferType) -> None:
    """Constant extents must fit: 1 in the dimensions that the match leaves out, the shape's in the others."""
    extra = len(region.region) - len(ty.shape)
    wanted = [IntImm(INT32, 1)] * extra + list(ty.shape)
    for dim, (part, size) in enumerate(zip(region.region, wanted)):
        if isinstance(part.extent, IntImm) and isinstance(size, IntImm) and part.extent.value != size.value:
            raise fault(
                "match-buffer",
                f"dimension {dim} of the region has {part.extent.value} elements, not {size.value}",
                b.span,
            )


# scalars


def _scalar_word(scope: str) -> Callable[..., Cell]:
    def run(b: Builder, /, dtype: Any = "float32", storage_scope: str | None = None) -> Cell:
        cell = b.scalar("scalar", dtype_of(dtype), storage_scope or scope)
        b.make(cell.buffer)
        return cell

    return run


def _fixed_scalar_word(scope: str) -> Callable[..., Cell]:
    def run(b: Builder, /, dtype: Any = "float32") -> Cell:
        cell = b.scalar("scalar", dtype_of(dtype), scope)
        b.make(cell.buffer)
        return cell

    return run


def decl_scalar(
    b: Builder,
    /,
    dtype: Any,
    data: Any,
    scope: str = "local",
    elem_offset: Any = None,
    byte_offset: Any = None,
) -> Cell:
    """`T.decl_scalar(dtype, data, scope)`: a scalar that names memory which exists."""
    return Cell(decl_buffer(b, (1,), dtype, data, None, elem_offset, byte_offset, scope))


def view(b: Builder, /, source: Var, *shape: Any, dtype: Any = None, layout: Any = None) -> Var:
    """`A.view(n, m)`: the same memory under another shape (or, given a dtype alone, another dtype)."""
    ty: Any = source.ty
    if len(shape) == 1 and isinstance(shape[0], str | DType | DTypeForm):
        dtype, shape = shape[0], ()
    if len(shape) == 1 and isinstance(shape[0], tuple | list):
        shape = tuple(shape[0])
    made = ty.dtype if dtype is None else dtype_of(dtype)
    dims: Any = shape
    if not shape:
        dims = _retyped(ty, made)
    view_type = BufferType(
        made, dimensions(dims), (), ty.elem_offset, ty.storage_scope, ty.data_alignment, ty.offset_factor
    )
    var: Var = b.make(Var("buffer", view_type, b.span))
    b.emit(DeclBuffer(var, _data_pointer(source), b.span))
    return var


def _retyped(ty: BufferType, dtype: DType) -> tuple[Expr, ...]:
    from .arith import binary

    old, new = ty.dtype.itemsize, dtype.itemsize
    if not ty.shape or old == new:
        return ty.shape
    last = ty.shape[-1]
    if old % new == 0:
        return (*ty.shape[:-1], binary("*", last, old // new))
    if new % old == 0:
        return (*ty.shape[:-1], binary("//", last, new // old))
    raise DTypeError(Diagnostic("type-mismatch", f"a view of `{ty.dtype}` as `{dtype}` is not possible"))


def flattened(b: Builder, /, source: Var) -> Var:
    """`A.get_flattened_buffer()`: the same memory with one dimension."""
    from .arith import binary

    ty: Any = source.ty
    if len(ty.shape) == 1:
        return source
    total: Any = const(1, ty.shape[0].dtype) if ty.shape else 1
    for number, size in enumerate(ty.shape):
        total = size if number == 0 else binary("*", total, size)
    return view(b, source, total)


def buffer_decl(b: Builder, /, *args: Any, **kwargs: Any) -> Var:
    """The old `T.buffer_decl(...)`: with data a declaration, without a free buffer."""
    if kwargs.get("data") is not None or (len(args) > 2 and args[2] is not None):
        return decl_buffer(b, *args, **kwargs)
    return buffer(*args, **kwargs)


def words() -> Mapping[str, Any]:
    """The words of this module by their names below `T`."""
    return {
        "Buffer": Form("T.Buffer", buffer),
        "buffer": Form("T.buffer", buffer),
        "alloc_buffer": Form("T.alloc_buffer", alloc_buffer, building=True),
        "alloc_local": Form("T.alloc_local", alloc_local, building=True),
        "alloc_shared": Form("T.alloc_shared", _preset("alloc_shared", "shared"), building=True),
        "smem": Form("T.smem", _preset("smem", "shared"), building=True),
        "tmem": Form("T.tmem", _preset("tmem", "tmem"), building=True),
        "sblock_alloc_buffer": Form("T.sblock_alloc_buffer", sblock_alloc_buffer, building=True),
        "decl_buffer": Form("T.decl_buffer", decl_buffer, building=True),
        "match_buffer": Form("T.match_buffer", match_buffer, building=True),
        "alloc_scalar": Form("T.alloc_scalar", _scalar_word("global"), building=True),
        "local_scalar": Form("T.local_scalar", _fixed_scalar_word("local"), building=True),
        "shared_scalar": Form("T.shared_scalar", _fixed_scalar_word("shared"), building=True),
        "decl_scalar": Form("T.decl_scalar", decl_scalar, building=True),
        "buffer_decl": Form("T.buffer_decl", buffer_decl, building=True, old=True),
    }


__all__ = ["ZERO", "alloc_local", "dtype_of", "view", "words"]
