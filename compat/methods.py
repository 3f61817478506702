"""The methods that the peer's programs expect on nodes, given at `install()` and taken at `uninstall()`."""

from __future__ import annotations

from typing import Any

from .. import ir
from ..dtype import DType
from ..errors import ArgumentTypeError, ArgumentValueError, LoopwrightError, Span
from ..node import Attrs, Node


class OptionError(ArgumentValueError, RuntimeError):
    """An option of `script` cannot be."""


def script(self: Any, **options: Any) -> str:
    """The node as script, with the peer's import lines unless `header` says otherwise."""
    from ..printer import script as show

    options.setdefault("header", "tvm")
    try:
        return show(self, **options)
    except ArgumentTypeError:
        raise
    except ArgumentValueError as err:
        raise OptionError(*err.diagnostics) from None


def show(self: Any, style: str | None = None, black_format: bool | None = None, **options: Any) -> None:
    """Print the node as script, in colour where `style` asks for it."""
    from .tvm.script.highlight import cprint

    cprint(script(self, **options), style=style, black_format=bool(black_format))


def same_as(self: Any, other: Any) -> bool:
    """Whether this is the same object."""
    return self is other


def _text(self: Any) -> str:
    """The script of a node, or its plain form where it has none."""
    try:
        return script(self)
    except LoopwrightError:
        return _plain(self)


def _plain(self: Any) -> str:
    for cls in type(self).__mro__:
        own = _REPLACED.get((cls, "__repr__"))
        if own is not None:
            return str(own(self))
    return object.__repr__(self)


def _statements(self: ir.SeqStmt, index: Any) -> Any:
    return self.seq[index]


def _same_text(self: ir.StringImm, other: Any) -> Any:
    """Whether a string constant is this text."""
    return (
        self.value == getattr(other, "value", other)
        if isinstance(other, str | ir.StringImm)
        else NotImplemented
    )


def _symbol(self: ir.PrimFunc, name: str) -> str:
    """`__name__` of a function is its exported name. Raises AttributeError for other attributes."""
    found = self.attrs.get("global_symbol") if name == "__name__" else None
    if not isinstance(found, str):
        raise AttributeError(f"a PrimFunc has no attribute {name!r}", name=name, obj=self)
    return found


def _set_state(self: Node, state: Any) -> None:
    """A node is what it is: setting its own state again changes nothing. Raises TypeError for another."""
    if state != self.__getstate__():
        raise TypeError(f"a {type(self).__name__} is immutable; `replace` gives a changed copy")


def _set_fields(self: ir.IRModule, changed: ir.IRModule) -> None:
    for field in type(self).fields:
        object.__setattr__(self, field, getattr(changed, field))


def _item(self: ir.IRModule, name: Any, func: Any) -> None:
    """Let a name mean this function, in this module: the one node that the peer's programs change."""
    _set_fields(self, self.with_function(name, func))


def _infos(self: ir.IRModule, name: str, infos: Any) -> None:
    _set_fields(self, self.replace(global_infos={**self.global_infos, name: tuple(infos)}))


def _attribute(self: Attrs, name: str) -> Any:
    """An attribute by its name. Raises AttributeError where there is none."""
    if name.startswith("_") or name not in self:
        raise AttributeError(f"there is no attribute {name!r}", name=name, obj=self)
    return self[name]


class FieldNames(tuple[str, ...]):
    """The field names of a class; asked of an instance, the values in its field `fields_`."""

    __slots__ = ()

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else instance.fields_


class SourceName:
    """The name of a source of text."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return getattr(other, "name", other) == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


_ABSENT: Any = object()
_REPLACED: dict[tuple[type, str], Any] = {}


def _put(cls: type, name: str, value: Any) -> None:
    _REPLACED[cls, name] = cls.__dict__.get(name, _ABSENT)
    setattr(cls, name, value)


_LATER: list[tuple[type, str, Any]] = []


def extend(*given: tuple[type, str, Any]) -> None:
    """Methods of classes of rooms that are loaded later: `(class, name, method)`."""
    _LATER.extend(given)
    if _REPLACED:
        for cls, name, method in given:
            _put(cls, name, method)


def give() -> None:
    """Give our nodes the peer's methods; a second call does nothing."""
    if _REPLACED:
        return
    for cls in (Node, ir.BaseFunc, ir.IRModule):
        _put(cls, "script", script)
    for name, method in (
        ("__setstate__", _set_state),
        ("show", show),
        ("same_as", same_as),
        ("__str__", _text),
    ):
        _put(Node, name, method)
    shown: list[type] = [c for c in vars(ir).values() if isinstance(c, type) and issubclass(c, Node)]
    for one in dict.fromkeys([Node, *shown]):
        if "__repr__" in one.__dict__:
            _put(one, "__repr__", _text)
    for name, value in (("span", None), ("is_missing", lambda self: False)):
        _put(ir.Type, name, value)
    for cls in (ir.TupleType, ir.Tuple):
        _put(cls, "fields", FieldNames(cls.fields))
    _put(Span, "source_name", property(lambda self: SourceName(self.file)))
    _put(DType, "dtype", property(lambda self: self.numpy()))
    _put(ir.PrimFunc, "with_body", lambda self, body, span=None: self.replace(body=body))
    _put(ir.PrimFunc, "__getattr__", _symbol)
    _put(ir.StringImm, "__eq__", _same_text)
    _put(ir.SeqStmt, "__getitem__", _statements)
    _put(ir.SeqStmt, "__len__", lambda self: len(self.seq))
    _put(ir.IRModule, "__setitem__", _item)
    _put(ir.IRModule, "update_func", _item)
    _put(ir.IRModule, "update_global_info", _infos)
    _put(ir.IRModule, "clone", lambda self: self.replace())
    _put(Attrs, "__getattr__", _attribute)
    _put(DType, "type_code", property(lambda self: self.code))
    _put(ir.IRModule, "_move", lambda self: self)
    _put(ir.PrimType, "__str__", lambda self: str(self.dtype))
    _put(type(ir.IRModule({}).functions), "__hash__", object.__hash__)
    for later in _LATER:
        _put(*later)


def take() -> None:
    """Take them away again."""
    for (cls, name), old in _REPLACED.items():
        if old is _ABSENT:
            delattr(cls, name)
        else:
            setattr(cls, name, old)
    _REPLACED.clear()
