"""What names and expressions of a script may mean besides IR nodes and plain Python constants."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..dtype import DType
from ..errors import Diagnostic, Span, UnsupportedError, suggest
from ..ir import BufferType, Expr, PointerType, PrimType, Type, Var, as_type

if TYPE_CHECKING:
    from .builder import Builder

_active = threading.local()


def active_builder() -> Builder | None:
    """The builder at work in this thread, for words called from captured Python functions."""
    return getattr(_active, "builder", None)


def set_active_builder(builder: Builder | None) -> Builder | None:
    """Make this the thread's builder and give back the one before."""
    before = active_builder()
    _active.builder = builder
    return before


class Form:
    """A word of the language that is called.

    With `building` the function takes the builder first and may add statements; without, it
    only computes and works as plain Python anywhere.
    """

    __slots__ = ("building", "old", "outside", "run", "script_name")

    def __init__(
        self,
        script_name: str,
        run: Callable[..., Any],
        *,
        building: bool = False,
        old: bool = False,
        outside: Callable[..., Any] | None = None,
    ) -> None:
        self.script_name = script_name
        self.run = run
        self.building = building
        self.old = old
        self.outside = outside

    @property
    def __name__(self) -> str:
        """The last part of its spelling, as functions have it."""
        return self.script_name.rpartition(".")[2]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Use the word from Python. Raises UnsupportedError for a statement outside a kernel."""
        if not self.building:
            return self.run(*args, **kwargs)
        builder = active_builder()
        if builder is None:
            if self.outside is not None:
                return self.outside(*args, **kwargs)
            raise UnsupportedError(
                Diagnostic(
                    "outside-kernel",
                    f"`{self.script_name}` is a statement of a function; nothing encloses it",
                )
            )
        return self.run(builder, *args, **kwargs)

    def __getitem__(self, index: Any) -> Any:
        """`T.Buffer[(4,), "int8"]` and `T.let[T.int32]`, as annotations that Python evaluates."""
        return self(*index) if isinstance(index, tuple) else self(index)

    def __repr__(self) -> str:
        return f"<{self.script_name}>"


class LazyForm(Form):
    """A word that reads its arguments from the tree: `evaluate_call(builder, node)` gives its value."""

    __slots__ = ("evaluate_call",)

    def __init__(self, script_name: str, run: Callable[..., Any], evaluate_call: Callable[..., Any]) -> None:
        super().__init__(script_name, run)
        self.evaluate_call = evaluate_call


class DTypeForm(Form):
    """A dtype constructor: `T.int32` as an annotation, `T.int32(3)`, `T.int32()`."""

    __slots__ = ("dtype", "type")

    def __init__(self, script_name: str, dtype: DType) -> None:
        from .words_dtype import make_value

        self.dtype = dtype
        self.type = as_type(dtype)
        super().__init__(script_name, lambda value=None: make_value(dtype, value))

    def __getitem__(self, index: Any) -> Any:
        """`T.float32[4]`: a local vector annotation."""
        return VectorNote(self.dtype, index if isinstance(index, tuple) else (index,))

    def __str__(self) -> str:
        return str(self.dtype)


class HandleForm(Form):
    """`T.handle`: as an annotation, or called with element dtype and scope."""

    __slots__ = ("type",)

    def __init__(self, script_name: str, run: Callable[..., Any], ty: Type) -> None:
        super().__init__(script_name, run)
        self.type = ty


class TypeForm(Form):
    """A word for types that may stand alone: `R.Tensor` and `R.Tensor((n,), "float32")`."""

    __slots__ = ("alone",)

    def __init__(self, script_name: str, run: Callable[..., Any], alone: Callable[[], Type]) -> None:
        super().__init__(script_name, run)
        self.alone = alone

    @property
    def type(self) -> Type:
        """The type that the bare word means."""
        return self.alone()

    def as_ty(self) -> Type:
        """The type that the bare word means, by the peer's name."""
        return self.alone()


class VectorNote:
    """`T.float32[4]`: an annotation that declares a local buffer."""

    __slots__ = ("dtype", "shape")

    def __init__(self, dtype: DType, shape: tuple[Any, ...]) -> None:
        self.dtype = dtype
        self.shape = shape


class LetForm(Form):
    """`T.let`, `T.let[T.int32]`: an annotation that binds; `with T.let(...)` is the old statement."""

    __slots__ = ("type_note",)

    def __init__(self, run: Callable[..., Any], type_note: Any = None) -> None:
        super().__init__("T.let", run, building=True)
        self.type_note = type_note

    def __getitem__(self, index: Any) -> Any:
        return LetForm(self.run, index)


class WaitingForm:
    """A name of the language that is known and not supported yet."""

    __slots__ = ("reason", "script_name")

    def __init__(self, script_name: str, reason: UnsupportedError) -> None:
        self.script_name = script_name
        self.reason = reason

    def error(self) -> UnsupportedError:
        """The error that names it."""
        return UnsupportedError(*self.reason.diagnostics)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise self.error()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self.error()

    def __getitem__(self, index: Any) -> Any:
        raise self.error()


class Namespace:
    """A table of the language, such as `T` or `T.axis`."""

    __slots__ = ("find", "known", "run", "script_name", "table")

    def __init__(
        self,
        script_name: str,
        table: dict[str, Any],
        find: Callable[[str], Any] | None = None,
        known: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self.script_name = script_name
        self.table = table
        self.find = find
        self.known = known

    def lookup(self, name: str) -> Any:
        """What the name means here, or MISSING."""
        found = self.table.get(name, MISSING)
        if found is MISSING and self.find is not None:
            found = self.find(name)
            if found is not MISSING:
                self.table[name] = found
        return found

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted({*self.table, *self.known()})

    def unknown(self, name: str, span: Span | None = None) -> Diagnostic:
        """The finding for a name that is not here, with near names."""
        near = suggest(name, self.names())
        return Diagnostic("unknown-attribute", f"`{self.script_name}` has no `{name}`", span, help=near)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = self.lookup(name)
        if found is MISSING:
            raise AttributeError(f"`{self.script_name}` has no `{name}`", name=name, obj=self)
        return found

    def __dir__(self) -> list[str]:
        return self.names()

    def __repr__(self) -> str:
        return f"<{self.script_name}>"


class _Missing:
    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Any = _Missing()


class Cell:
    """A mutable scalar: a local buffer of shape (1,) whose bare name reads and writes element 0."""

    __slots__ = ("buffer",)

    def __init__(self, buffer: Var) -> None:
        self.buffer = buffer


class Meta:
    """A Python value that an assignment keeps out of the IR (`T.meta_var`)."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __iter__(self) -> Any:
        return (Meta(v) for v in self.value)


class Poison:
    """The value of a name whose definition was faulty."""

    __slots__ = ()


POISON = Poison()


class SliceValue:
    """lower:upper:step inside an index."""

    __slots__ = ("lower", "step", "upper")

    def __init__(self, lower: Any, upper: Any, step: Any) -> None:
        self.lower = lower
        self.upper = upper
        self.step = step


class SteppedRegion:
    """`A[0:8:2]` as a value: only a store target may have a step."""

    __slots__ = ("buffer", "index")
    described = "a slice with a step (only a store may have one)"

    def __init__(self, buffer: Var, index: tuple[Any, ...]) -> None:
        self.buffer = buffer
        self.index = index


class Symbol:
    """`n = TypeVar("n")` in a text: a name that each function turns into its own int64 variable."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class ModuleRef:
    """The class being parsed, as its functions see it: `Module.func`."""

    __slots__ = ("functions", "name")

    def __init__(self, name: str, functions: Mapping[str, Any]) -> None:
        self.name = name
        self.functions = functions


class BoundMethod:
    """A method of an IR value, found by name in the tables of the language."""

    __slots__ = ("receiver", "run", "script_name")

    def __init__(self, script_name: str, receiver: Any, run: Callable[..., Any]) -> None:
        self.script_name = script_name
        self.receiver = receiver
        self.run = run


class OptionalNote:
    """`T.Optional(annotation)`: a parameter of a template that may be absent."""

    __slots__ = ("note",)

    def __init__(self, note: Any) -> None:
        self.note = note


class ConstexprNote:
    """`T.constexpr`: a parameter of a template that is a Python value when it is specialised."""

    __slots__ = ("script_name",)

    def __init__(self) -> None:
        self.script_name = "T.constexpr"

    def __getitem__(self, index: Any) -> ConstexprNote:
        return self


def type_of_note(note: Any) -> Type | None:
    """The type that an annotation or dtype argument means, or None when it means none."""
    if isinstance(note, Var):
        return note.ty
    if isinstance(note, DTypeForm | HandleForm | TypeForm):
        return note.type
    if isinstance(note, Type):
        return note
    if isinstance(note, DType):
        return as_type(note)
    if isinstance(note, str):
        return as_type(note)
    return None


def is_buffer(value: Any) -> bool:
    """Whether this is a buffer variable."""
    return isinstance(value, Var) and isinstance(value.ty, BufferType)


def is_scalar(value: Any) -> bool:
    """Whether this is an expression of scalar or vector type."""
    return isinstance(value, Expr) and isinstance(value.ty, PrimType)


def is_pointer(value: Any) -> bool:
    """Whether this is an expression that points to memory."""
    return isinstance(value, Expr) and isinstance(value.ty, PointerType)
