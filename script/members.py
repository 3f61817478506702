"""Attributes and methods of values in a script, by tables: text reaches nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..dtype import DType
from ..errors import Diagnostic, suggest
from ..ir import (
    BufferLoad,
    BufferRegion,
    Call,
    Expr,
    GlobalVar,
    IntImm,
    IRModule,
    IterVar,
    Op,
    PointerType,
    PrimType,
    Range,
    Type,
    Var,
)
from ..ir.relax import get_op
from .arith import is_graph_value
from .faults import Fault, describe, fault
from .static import static_attribute
from .values import (
    MISSING,
    BoundMethod,
    Cell,
    DTypeForm,
    Form,
    HandleForm,
    ModuleRef,
    Namespace,
    WaitingForm,
    is_buffer,
)

if TYPE_CHECKING:
    from .builder import Builder

_EXPR = frozenset(
    """dtype ty name astype value a b args op buffer indices condition true_value false_value base
    stride lanes body var min extent dom thread_tag iter_type region""".split()
)
_BUFFER = frozenset(
    """shape strides elem_offset dtype data scope layout data_alignment offset_factor allocated_addr name ty
    access_ptr vload vstore offset_of elem_offset_of byte_offset_of with_dtype with_allocated_addr ptr_to
    storage_scope byte_offset is_scalar""".split()
)
_BUILDING = frozenset(
    {"view", "get_flattened_buffer", "local", "permute", "rearrange", "sub", "tile", "chunk"}
)
_TYPE = frozenset({"dtype", "element_type", "storage_scope", "shape", "strides", "fields_"})


def attribute(b: Builder, value: Any, name: str) -> Any:
    """`value.name`. Raises a Fault (without a place) for what scripts cannot reach."""
    if isinstance(value, ModuleRef):
        found = value.functions.get(name, MISSING)
        if found is MISSING:
            near = suggest(name, value.functions)
            raise Fault(Diagnostic("unknown-function", f"the module has no function `{name}`", help=near))
        return found
    if isinstance(value, Var) and is_buffer(value):
        return _buffer_attribute(b, value, name)
    if isinstance(value, WaitingForm):
        raise value.error()
    if is_graph_value(value) and name == "astype":
        from .words_expr import plain

        return BoundMethod("astype", value, lambda dtype: get_op("relax.astype")(value, plain(dtype)))
    if isinstance(value, Expr | IterVar | Range):
        if name in _EXPR and hasattr(value, name):
            return getattr(value, name)
        if name == "source" and isinstance(value, BufferLoad):
            return value.buffer
        raise Fault(
            Diagnostic(
                "unknown-attribute", f"{describe(value)} has no `{name}`", help=suggest(name, _known(value))
            )
        )
    if isinstance(value, Type):
        if name in _TYPE and hasattr(value, name):
            return getattr(value, name)
        raise Fault(Diagnostic("unknown-attribute", f"a type has no `{name}`", help=suggest(name, _TYPE)))
    if isinstance(value, DTypeForm) and name == "dtype":
        return value.dtype
    if isinstance(value, DTypeForm | HandleForm) and name == "ty":
        return value.type
    if isinstance(value, Cell) and name == "buffer":
        return value.buffer
    if isinstance(value, IRModule):
        if name in value:
            return value[name]
        raise Fault(Diagnostic("unknown-function", f"the module has no function `{name}`"))
    if b.live:
        return _live_attribute(value, name)
    if isinstance(value, Form | Op | GlobalVar):
        raise Fault(Diagnostic("unknown-attribute", f"{describe(value)} has no `{name}`"))
    return static_attribute(value, name)


def _known(value: Any) -> list[str]:
    return [n for n in _EXPR if hasattr(value, n)]


def _live_attribute(value: Any, name: str) -> Any:
    from .names import own

    try:
        return own(getattr(value, name))
    except AttributeError:
        if isinstance(value, Namespace):
            raise Fault(value.unknown(name)) from None
        kind = getattr(value, "__name__", type(value).__name__)
        near = suggest(name, [n for n in dir(value) if not n.startswith("_")])
        raise Fault(Diagnostic("unknown-attribute", f"`{kind}` has no `{name}`", help=near)) from None


def _buffer_attribute(b: Builder, buffer: Var, name: str) -> Any:
    if name in _BUFFER:
        found = getattr(buffer, name)
        if callable(found):
            return BoundMethod(f"{buffer.name}.{name}", buffer, _method(buffer, name, found))
        return found
    if name in _BUILDING:
        return BoundMethod(f"{buffer.name}.{name}", buffer, _building_method(b, buffer, name))
    raise Fault(
        Diagnostic(
            "unknown-attribute",
            f"the buffer `{buffer.name}` has no `{name}`",
            help=suggest(name, [*_BUFFER, *_BUILDING]),
        )
    )


def _method(buffer: Var, name: str, found: Callable[..., Any]) -> Callable[..., Any]:
    if name not in ("vload", "vstore"):
        from .words_expr import plain_arguments

        return plain_arguments(found)

    def run(begin: Any, *args: Any, **kwargs: Any) -> Any:
        from .words_expr import plain

        begin = list(begin) if isinstance(begin, list | tuple) else [begin]
        return found(begin, *[plain(a) for a in args], **{k: plain(v) for k, v in kwargs.items()})

    return run


def _building_method(b: Builder, buffer: Var, name: str) -> Callable[..., Any]:
    from . import words_alloc

    if name == "view":
        return lambda *shape, dtype=None, layout=None: words_alloc.view(
            b, buffer, *shape, dtype=dtype, layout=layout
        )
    if name == "get_flattened_buffer":
        return lambda: words_alloc.flattened(b, buffer)

    def waiting(*args: Any, **kwargs: Any) -> Any:
        raise fault(
            "unsupported", f"`{buffer.name}.{name}` is not supported yet: it needs buffer layouts", b.span
        )

    return waiting


__all__ = ["BufferLoad", "BufferRegion", "Call", "DType", "IntImm", "PointerType", "PrimType", "attribute"]
