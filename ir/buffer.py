"""What a buffer variable offers: its fields, pointers, loads, offsets; and `decl_buffer`.

A buffer is a `Var` whose type is `BufferType`.  The attributes below raise `NotABufferError`, an
`AttributeError`, on any other variable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ..dtype import DType
from ..errors import Diagnostic, DTypeError, UnsupportedError
from . import expr as E
from .types import INT32, BufferType, PointerType, PrimType, TupleType, Type

if TYPE_CHECKING:
    from .stmt import BufferStore


class NotABufferError(DTypeError, AttributeError):
    """A variable that is not a buffer was used as one."""

    default_code = "not-a-buffer"


def buffer_type(var: Any, what: str) -> BufferType:
    """The type of a buffer variable. Raises NotABufferError, naming variable and attribute, for others."""
    ty = var.ty
    if isinstance(ty, BufferType):
        return ty
    from .promote import describe

    hint = ("T.decl_buffer or T.match_buffer gives the memory behind a pointer a shape",)
    raise NotABufferError(
        Diagnostic(
            "not-a-buffer",
            f"{describe(var)} is not a buffer: it has no `{what}`",
            notes=("the attributes of buffers are only available on a Var with BufferType",),
            help=hint if isinstance(ty, PointerType) else (),
        )
    )


def _item(var: Any, index: Any) -> Any:
    """The field of a tuple in a graph. Raises NotABufferError, or DTypeError for a tensor, for others."""
    from .relax.arithmetic import is_tensor, item

    if not is_tensor(var) and not isinstance(var.ty, TupleType):
        buffer_type(var, "[...]")
    return item(var, index)


def pointer_to(buffer: Any) -> PointerType:
    """The type of a buffer's data pointer."""
    ty = buffer_type(buffer, "data")
    return PointerType(PrimType(ty.dtype), ty.storage_scope)


def _waiting(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **keywords: Any) -> Any:
        buffer_type(self, name)
        raise UnsupportedError(
            Diagnostic(
                "unsupported",
                f"`{self.name}.{name}(...)` is not supported yet: such views belong to the native layer",
                help=("T.decl_buffer(shape, dtype, data=buffer.data) names the same memory anew",),
            )
        )

    method.__name__ = name
    method.__doc__ = "A view of the native layer. Raises UnsupportedError."
    return method


class BufferMethods:
    """Methods of `Var` that are of use where its type is a BufferType."""

    __slots__ = ()
    __iter__: ClassVar[None] = None
    if TYPE_CHECKING:
        ty: Type
        name: str

    @property
    def shape(self) -> tuple[E.Expr, ...]:
        """The extents of the buffer."""
        return buffer_type(self, "shape").shape

    @property
    def strides(self) -> tuple[E.Expr, ...]:
        """The strides in elements; empty for a compact row-major buffer."""
        return buffer_type(self, "strides").strides

    @property
    def elem_offset(self) -> E.Expr:
        """The offset of the first element behind the data pointer, in elements."""
        offset = buffer_type(self, "elem_offset").elem_offset
        return E.IntImm(INT32, 0) if offset is None else offset

    @property
    def data_alignment(self) -> int:
        """The alignment of the data pointer in bytes."""
        return buffer_type(self, "data_alignment").data_alignment

    @property
    def offset_factor(self) -> int:
        """What the element offset is a multiple of."""
        return buffer_type(self, "offset_factor").offset_factor

    @property
    def layout(self) -> Any:
        """The layout object, or None."""
        return buffer_type(self, "layout").layout

    @property
    def allocated_addr(self) -> tuple[E.Expr, ...]:
        """Addresses given to the allocation beforehand."""
        return buffer_type(self, "allocated_addr").allocated_addr

    @property
    def data(self) -> E.Expr:
        """The data pointer: a call of `tirx.buffer_data`."""
        return E.Call("tirx.buffer_data", (self,), pointer_to(self))

    def scope(self) -> str:
        """The storage scope, such as "global", "shared" or "local"."""
        return buffer_type(self, "scope").storage_scope

    def access_ptr(
        self,
        access_mask: str | int | E.Expr,
        ptr_type: Any = "handle",
        content_lanes: int = 1,
        offset: Any = 0,
        extent: Any = None,
    ) -> E.Expr:
        """A pointer for calls: from element `offset` on, `extent` elements (by default all that follow).

        The mask is "r", "w" or "rw", or its number (1 reads, 2 writes). With `content_lanes` the
        elements count as vectors. Raises DTypeError for a mask with other letters.
        """
        from .operators import add, call_type, mul, sub, truncdiv
        from .ops.memory import access_ptr

        ty = buffer_type(self, "access_ptr")
        size: Any = 1
        for dim in ty.shape:
            size = mul(size, dim)
        if ty.strides:
            size = mul(ty.strides[0], ty.shape[0])
        start: Any = offset if ty.elem_offset is None else add(ty.elem_offset, offset)
        count: Any = sub(size, offset) if extent is None else extent
        content = ty.dtype
        if content_lanes > 1:
            start, count = truncdiv(start, content_lanes), truncdiv(count, content_lanes)
            content = content.element.with_lanes(content.lanes * content_lanes)
        call: E.Expr = access_ptr(PrimType(content), self.data, start, count, access_mask)
        if ptr_type == "handle" or ptr_type is None:
            return call
        target = call_type(ptr_type)
        if isinstance(target, PrimType):
            target = PointerType(target, ty.storage_scope)
        return call.replace(ty=target)

    def vload(self, begin: Any, dtype: Any = None) -> E.BufferLoad:
        """The element at `begin`, or, for a wider dtype, the vector that begins there."""
        ty = buffer_type(self, "vload")
        lanes = 1 if dtype is None else _lane_ratio(self, DType(dtype), ty.dtype)
        return E.BufferLoad(self, _vector_indices(begin, lanes))

    def vstore(self, begin: Any, value: Any) -> BufferStore:
        """A store of `value` at `begin`; a vector goes to the elements that begin there."""
        from .promote import operand
        from .stmt import BufferStore

        ty = buffer_type(self, "vstore")
        value = operand(value, like=ty.dtype)
        return BufferStore(self, value, _vector_indices(begin, _lane_ratio(self, value.dtype, ty.dtype)))

    def offset_of(self, indices: Any) -> tuple[E.Expr, ...]:
        """The place of an element in the flattened buffer, the element offset included."""
        from .operators import add, mul

        ty = buffer_type(self, "offset_of")
        places = E.BufferLoad(self, _sequence(indices)).indices
        total: Any = 0
        if ty.strides:
            for place, stride in zip(places, ty.strides, strict=True):
                total = add(total, mul(place, stride))
        else:
            for place, dim in zip(places, ty.shape, strict=True):
                total = add(mul(total, dim), place)
        if ty.elem_offset is not None:
            total = add(total, ty.elem_offset)
        from .arith import Analyzer

        return (Analyzer().simplify(E.as_expr(total)),)

    def elem_offset_of(self, indices: Any) -> E.Expr:
        """The same as a call that later passes compute: `tirx.buffer_offset`."""
        buffer_type(self, "elem_offset_of")
        return E.Call("tirx.buffer_offset", (E.BufferLoad(self, _sequence(indices)),), INT32)

    def byte_offset_of(self, indices: Any) -> E.Expr:
        """The offset of an element in bytes."""
        from .operators import floordiv, mul

        dtype = buffer_type(self, "byte_offset_of").dtype
        bits = (8 if dtype.is_bool else dtype.bits) * dtype.lanes
        return floordiv(mul(self.elem_offset_of(indices), bits), 8)

    def get_flattened_buffer(self) -> Any:
        """This buffer with one dimension; itself where it has one already."""
        from .operators import mul

        ty = buffer_type(self, "get_flattened_buffer")
        if len(ty.shape) == 1 and not ty.strides:
            return self
        size: Any = E.IntImm(INT32, 1)
        if ty.strides:
            size = mul(ty.shape[0], ty.strides[0])
        else:
            for dim in ty.shape:
                size = mul(size, dim)
        return E.Var(self.name, ty.replace(shape=(size,), strides=()))

    def with_dtype(self, dtype: Any) -> Any:
        """A new buffer like this one with another element type."""
        return E.Var(self.name, buffer_type(self, "with_dtype").replace(dtype=DType(dtype)))

    def with_allocated_addr(self, allocated_addr: Any) -> Any:
        """A new buffer like this one with these addresses."""
        ty = buffer_type(self, "with_allocated_addr")
        return E.Var(self.name, ty.replace(allocated_addr=_sequence(allocated_addr)))

    def ptr_to(self, indices: Any) -> E.Expr:
        """The address of an element: a call of `tirx.address_of`."""
        buffer_type(self, "ptr_to")
        return E.Call("tirx.address_of", (E.BufferLoad(self, _sequence(indices)),), pointer_to(self))

    def __getitem__(self, indices: Any) -> Any:
        """The element at these indices, or a region where one is a slice or there are too few.

        A slice with a step, in the last place, reads a vector. Raises DTypeError for too many
        indices, for indices that are no integers, and for variables that are no buffers.
        """
        ty = self.ty
        if not isinstance(ty, BufferType):
            return _item(self, indices)
        places = _sequence(indices)
        rank = len(ty.shape)
        if len(places) > rank:
            raise DTypeError(
                Diagnostic("index-count", f"`{self.name}` has {rank} dimensions but {len(places)} indices")
            )
        slices = [isinstance(p, slice) for p in places]
        if len(places) == rank and not any(slices):
            return E.BufferLoad(self, [_index(self, p) for p in places])
        if len(places) == rank and slices[-1] and _has_step(places[-1]):
            last = slice_to_ramp(places[-1], ty.shape[-1])
            return E.BufferLoad(self, [*[_index(self, p) for p in places[:-1]], last])
        return E.BufferRegion(self, index_ranges(self, places))

    view = _waiting("view")
    local = _waiting("local")
    permute = _waiting("permute")
    rearrange = _waiting("rearrange")
    sub = _waiting("sub")
    tile = _waiting("tile")
    chunk = _waiting("chunk")


def index_ranges(buffer: Any, indices: Sequence[Any]) -> list[E.Range]:
    """The ranges that indices and slices select: one element for an index, all for a missing one.

    Raises DTypeError for a slice with a step, which is no region.
    """
    shape = buffer_type(buffer, "[...]").shape
    ranges = []
    for place, dim in zip(indices, shape, strict=False):
        if not isinstance(place, slice):
            start = _index(buffer, place)
            ranges.append(E.Range(start, E.IntImm(start.ty, 1)))
            continue
        if _has_step(place):
            raise DTypeError(
                Diagnostic(
                    "slice-step",
                    f"a region of `{buffer.name}` cannot have a step",
                    help=("a vector is read and written by T.Ramp(start, step, lanes) as the last index",),
                )
            )
        start, stop = slice_bounds(place, dim)
        ranges.append(E.Range(start, difference(stop, start)))
    ranges += [E.Range(E.IntImm(dim.ty, 0), dim) for dim in shape[len(indices) :]]
    return ranges


def slice_bounds(place: slice, dim: E.Expr) -> tuple[E.Expr, E.Expr]:
    """Start and stop of a slice of a dimension, of one type."""
    start = 0 if place.start is None else place.start
    stop = dim if place.stop is None else place.stop
    from .promote import match

    return match(start, stop)


def slice_to_ramp(place: slice, dim: E.Expr) -> E.Expr:
    """The vector index that a slice of the last dimension means; a plain index for one element.

    Raises DTypeError when the number of elements is not constant.
    """
    start, stop = slice_bounds(place, dim)
    step = 1 if place.step is None else place.step
    count = difference(stop, start)
    stride = E.as_expr(step, like=start)
    if not isinstance(count, E.IntImm) or not isinstance(stride, E.IntImm) or stride.value == 0:
        raise DTypeError(
            Diagnostic(
                "slice-length",
                "a slice that stands for a vector needs a constant number of elements",
                help=("write T.Ramp(start, step, lanes)",),
            )
        )
    lanes = -(-count.value // stride.value)
    if lanes < 1:
        raise DTypeError(Diagnostic("slice-length", "the slice is empty"))
    return start if lanes == 1 else E.Ramp(start, stride, lanes)


def difference(stop: E.Expr, start: E.Expr) -> E.Expr:
    """stop - start, simplified."""
    if isinstance(stop, E.IntImm) and isinstance(start, E.IntImm):
        return E.IntImm(stop.ty, stop.value - start.value)
    if isinstance(start, E.IntImm) and start.value == 0:
        return stop
    if isinstance(stop, E.Add) and stop.a is start:
        return stop.b
    from .arith import Analyzer

    return Analyzer().simplify(E.Sub(stop, start))


def _has_step(place: slice) -> bool:
    step = place.step
    return step is not None and not (type(step) is int and step == 1) and getattr(step, "value", 0) != 1


def _index(buffer: Any, place: Any) -> E.Expr:
    e = E.as_expr(place) if place is not Ellipsis and place is not None else None
    if e is None or not isinstance(e.ty, PrimType) or not e.ty.dtype.is_integral:
        found = "`...` or None" if e is None else f"a {type(e).__name__}"
        if e is not None and isinstance(e.ty, PrimType):
            found = f"a value of type `{e.dtype}`"
        raise DTypeError(
            Diagnostic("index-type", f"an index of `{buffer.name}` must be an integer, not {found}")
        )
    return e


def _sequence(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _lane_ratio(buffer: Any, wanted: DType, stored: DType) -> int:
    if wanted.element is not stored.element or wanted.lanes % stored.lanes:
        raise DTypeError(
            Diagnostic(
                "type-mismatch", f"`{buffer.name}` holds `{stored}`, which does not make up `{wanted}`"
            )
        )
    return wanted.lanes // stored.lanes


def _vector_indices(begin: Any, lanes: int) -> list[E.Expr]:
    places = [E.as_expr(p) for p in _sequence(begin)]
    if lanes > 1 and places and places[-1].dtype.is_scalar:
        places[-1] = E.Ramp(places[-1], 1, lanes)
    return places


def decl_buffer(
    shape: Any,
    dtype: Any = None,
    name: str = "buffer",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "",
    data_alignment: int = -1,
    offset_factor: int = 0,
    span: Any = None,
    layout: Any = None,
) -> Any:
    """A new buffer variable.

    Without an offset but with an offset factor the offset is a fresh variable. `data` lends its
    scope. Raises DTypeError for shapes and strides that are no integers.
    """
    dims = _sequence(shape)
    if data is not None and not scope:
        pointer = getattr(data, "ty", None)
        scope = pointer.storage_scope if isinstance(pointer, PointerType) else ""
    if elem_offset is None and offset_factor:
        first = dims[0] if dims else None
        kind = first.ty if isinstance(first, E.Expr) and isinstance(first.ty, PrimType) else INT32
        elem_offset = E.Var(f"{name}_elem_offset", kind)
    elif type(elem_offset) is int and elem_offset == 0:
        elem_offset = None
    return E.Var(
        name,
        BufferType(
            "float32" if dtype is None else dtype,
            dims,
            strides,
            elem_offset,
            scope or "global",
            data_alignment,
            offset_factor,
            None if layout == "default" else layout,
        ),
        span,
    )
