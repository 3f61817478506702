"""Types: what every expression's `ty` holds.

`PrimType` is interned like the DType it wraps, so scalar types are compared by identity.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ..dtype import DType
from ..errors import DTypeError
from ..node import Defines, Node

if TYPE_CHECKING:
    from .expr import Expr


class Type(Node):
    """Base of all types; `==` compares them structurally."""

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        if not type(self).fields:
            return True
        from .equal import structural_equal

        return structural_equal(self, other)

    def __hash__(self) -> int:
        return hash((type(self).__name__, len(type(self).fields)))


class PrimType(Type):
    """A scalar or vector value; one object per dtype."""

    dtype: DType
    _interned: ClassVar[dict[DType, PrimType]] = {}

    def __new__(cls, dtype: DType | str) -> PrimType:
        dtype = dtype if type(dtype) is DType else DType(dtype)
        found = cls._interned.get(dtype)
        if found is None:
            new = object.__new__(cls)
            object.__setattr__(new, "dtype", dtype)
            found = cls._interned.setdefault(dtype, new)
        return found

    def __init__(self, dtype: DType | str) -> None:
        """Nothing is left to do: the object was complete before other threads could see it."""

    def __repr__(self) -> str:
        return f"PrimType({str(self.dtype)!r})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str | DType):
            return self.dtype == other
        return self is other

    def __hash__(self) -> int:
        return hash(self.dtype)


class PointerType(Type):
    """A pointer to elements in a storage scope.

    The untyped handle is a pointer to void without a scope; every other pointer has one.
    """

    element_type: Type
    storage_scope: str = ""

    @staticmethod
    def _coerce(element_type: Any, storage_scope: Any) -> tuple[Any, Any]:
        if not isinstance(storage_scope or "", str):
            raise DTypeError(f"the scope of a pointer is a text, not a {type(storage_scope).__name__}")
        if not storage_scope and element_type is not PrimType("void"):
            storage_scope = "global"
        return element_type, storage_scope

    def __hash__(self) -> int:
        return hash((self.element_type, self.storage_scope))

    def __eq__(self, other: object) -> bool:
        if type(other) is not PointerType:
            return NotImplemented
        return self.storage_scope == other.storage_scope and self.element_type == other.element_type


class TupleType(Type):
    """Several values; without fields the unit type."""

    fields_: tuple[Type, ...] = ()

    def __hash__(self) -> int:
        return hash(self.fields_)

    def __eq__(self, other: object) -> bool:
        return self.fields_ == other.fields_ if type(other) is TupleType else NotImplemented

    @staticmethod
    def _coerce(fields_: Any) -> tuple[Any]:
        return (tuple(fields_),)


class FuncType(Type):
    """A function from parameter types to a result type.

    Without `arg_types` it takes anything (an opaque function); `derive_func` then names or is what derives
    the result's type from a call.  A call of a function that is not pure may have effects besides its result.
    Symbols in the types of the parameters are defined there.
    """

    arg_types: Annotated[tuple[Type, ...] | None, Defines("shape-symbols")]
    ret_type: Type
    purity: bool = True
    derive_func: Any = None

    @staticmethod
    def _coerce(arg_types: Any, ret_type: Any, purity: Any, derive_func: Any) -> tuple[Any, ...]:
        return None if arg_types is None else tuple(arg_types), ret_type, bool(purity), derive_func


class StringType(Type):
    """A string, such as the name in a packed call."""


class AnyType(Type):
    """A value of unknown kind."""


class TensorMapType(Type):
    """An opaque tensor map parameter of a device function."""


class BufferRegionType(Type):
    """The type of a BufferRegion expression."""


class BufferType(Type):
    """What a buffer variable stands for: a view of memory with a shape.

    `strides` is empty for row-major compact buffers and counts elements, as `elem_offset` does
    (None: 0, and a constant 0 is None).
    Symbols in shape, strides and offset of a function parameter are defined there.
    `layout` is None or a layout object (reserved for the native device layer).
    """

    dtype: DType
    shape: Annotated[tuple[Expr, ...], Defines("shape-symbols")]
    strides: Annotated[tuple[Expr, ...], Defines("shape-symbols")] = ()
    elem_offset: Annotated[Expr | None, Defines("shape-symbols")] = None
    storage_scope: str = "global"
    data_alignment: int = 64
    offset_factor: int = 1
    layout: Any = None
    allocated_addr: tuple[Expr, ...] = ()

    @staticmethod
    def _coerce(
        dtype: Any,
        shape: Any,
        strides: Any,
        elem_offset: Any,
        storage_scope: Any,
        data_alignment: Any,
        offset_factor: Any,
        layout: Any,
        allocated_addr: Any,
    ) -> tuple[Any, ...]:
        from .expr import IntImm, as_index

        if isinstance(dtype, PrimType):
            dtype = dtype.dtype
        dims = tuple([as_index(s) for s in _as_sequence(shape)])
        steps = tuple([as_index(s) for s in _as_sequence(strides)])
        if steps and len(steps) != len(dims):
            raise DTypeError(f"a buffer of {len(dims)} dimensions has {len(steps)} strides")
        offset = as_index(elem_offset) if elem_offset is not None else None
        if type(offset) is IntImm and offset.value == 0:
            offset = None
        addr = tuple([as_index(a) for a in _as_sequence(allocated_addr)])
        if not isinstance(storage_scope or "", str):
            raise DTypeError(f"the scope of a buffer is a text, not a {type(storage_scope).__name__}")
        data_alignment = _plain_number(data_alignment, "alignment")
        offset_factor = _plain_number(offset_factor, "offset factor")
        if not data_alignment or data_alignment < 0:
            data_alignment = 64
        if not offset_factor:
            offset_factor = 1
        return (
            DType(dtype),
            dims,
            steps,
            offset,
            storage_scope or "global",
            data_alignment,
            offset_factor,
            layout,
            addr,
        )


def _plain_number(value: Any, what: str) -> int | None:
    if value is None or type(value) is int:
        return value
    try:
        return operator.index(value)
    except TypeError:
        raise DTypeError(f"the {what} of a buffer is an integer, not a {type(value).__name__}") from None


def _as_sequence(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    if isinstance(value, list | tuple):
        return value
    return (value,)


VOID = PrimType("void")
BOOL = PrimType("bool")
INT32 = PrimType("int32")
INT64 = PrimType("int64")
FLOAT32 = PrimType("float32")
HANDLE = PointerType(VOID)
STRING = StringType()
UNIT = TupleType(())


def as_type(spec: Type | DType | str) -> Type:
    """The type that `spec` is or spells; "handle" means an untyped pointer."""
    if isinstance(spec, Type):
        return spec
    dtype = spec if type(spec) is DType else DType(spec)
    return HANDLE if dtype.is_handle else PrimType(dtype)
