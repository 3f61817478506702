"""Operators: interned names, and one record each with all that is known of an operator.

Adding an intrinsic is adding one `register_op(...)` line to the family's file in `ir/ops/`; the
namespace `T`, the builder, the printer, the oracle, the docs and the property tests read it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import Diagnostic, IRError, LoopwrightError, suggest
from ..node import Node

if TYPE_CHECKING:
    from .expr import Call
    from .types import Type


class Effect(enum.IntEnum):
    """What evaluating a call may do (the peer's classes and numbers)."""

    ANNOTATION = 0
    PURE = 1
    READ = 2
    UPDATE = 3
    SPECIAL_ARGUMENT = 4
    EMBED = 5
    CONTROL = 6

    OPAQUE = 3


class Op(Node):
    """An operator by name; one object per name. Any name is an operator; `record()` knows the registered."""

    name: str
    ty: ClassVar[Type]
    span: ClassVar[None] = None
    _interned: ClassVar[dict[str, Op]] = {}

    def __new__(cls, name: str) -> Op:
        found = cls._interned.get(name)
        if found is None:
            new = object.__new__(cls)
            object.__setattr__(new, "name", name)
            found = cls._interned.setdefault(name, new)
        return found

    def __init__(self, name: str) -> None:
        """Nothing is left to do: the object was complete before other threads could see it."""

    def __repr__(self) -> str:
        return f"Op({self.name!r})"

    @staticmethod
    def get(name: str) -> Op:
        """The registered operator of this name, of graphs or of loops. Raises IRError when there is none."""
        if name.startswith("relax."):
            from .relax import get_op

            return get_op(name).op
        record(name)
        return Op(name)


class Keywords(dict[str, Any]):
    """The keyword arguments of a spelling, as the last item of what `OpRecord.show` returns."""


@dataclass(frozen=True, slots=True)
class OpRecord:
    """All that is known of one operator.

    name      registry name, e.g. "tirx.exp"
    script    how script spells it below `T`, e.g. "exp" or "cuda.cta_sync"; None: no spelling of its own
    params    the signature of that spelling, e.g. "x" or "dtype, value", "*args"
    build     arguments of the spelling (after evaluation; Python numbers or expressions) -> expression.
              Must give exactly the Call that `show` came from.
    show      Call -> the arguments of the spelling (expressions, Python values, types), the inverse of
              build; keyword arguments come last, as one `Keywords`.  None when the arguments are those
              of the call (after its type, if `takes_dtype`).  A printer must build again and compare: a call
              that its spelling does not give (a constant where building folds) prints as `T.Call(...)`.
    effect    what evaluating may do
    takes_dtype  the spelling's first argument is the result's dtype
    numpy     evaluates on numpy scalars or arrays of the operands' dtype; None: the oracle has its own rule
    doc       one line for users
    """

    name: str
    script: str | None
    params: str
    build: Callable[..., Any]
    effect: Effect
    doc: str
    show: Callable[..., Any] | None = None
    takes_dtype: bool = False
    numpy: Callable[..., Any] | None = None
    aliases: tuple[str, ...] = ()
    attrs: tuple[str, ...] = ()


_RECORDS: dict[str, OpRecord] = {}
_SCRIPT: dict[str, OpRecord] = {}


def register_op(rec: OpRecord) -> OpRecord:
    """Add a record to the registry. Raises IRError for a name that is taken."""
    for table, keys in ((_RECORDS, (rec.name,)), (_SCRIPT, (rec.script, *rec.aliases))):
        for key in keys:
            if key is None:
                continue
            if key in table:
                raise IRError(Diagnostic("duplicate-operator", f"the operator `{key}` is registered already"))
            table[key] = rec
    return rec


def _load() -> None:
    from . import ops  # noqa: F401  the families register themselves on import


def record(name: str) -> OpRecord:
    """The record of an operator. Raises IRError with near names when it is not registered."""
    if name not in _RECORDS:
        _load()
    found = _RECORDS.get(name)
    if found is None:
        raise IRError(
            Diagnostic("unknown-operator", f"there is no operator `{name}`", help=suggest(name, _RECORDS))
        )
    return found


def find_record(name: str) -> OpRecord | None:
    """The record of an operator, or None."""
    if name not in _RECORDS:
        _load()
    return _RECORDS.get(name)


def script_record(spelling: str) -> OpRecord | None:
    """The record whose spelling below `T` (or alias) this is, or None."""
    if spelling not in _SCRIPT:
        _load()
    return _SCRIPT.get(spelling)


def all_records() -> tuple[OpRecord, ...]:
    """Every registered operator, in order of registration."""
    _load()
    return tuple(_RECORDS.values())


def script_names() -> tuple[str, ...]:
    """Every spelling below `T`, aliases included."""
    _load()
    return tuple(_SCRIPT)


def call_effect(call: Call) -> Effect:
    """What evaluating this call, besides its arguments, may do; unknown callees may do anything."""
    found = find_record(call.op.name) if isinstance(call.op, Op) else None
    return Effect.OPAQUE if found is None else found.effect


@dataclass(frozen=True, slots=True)
class Spelling:
    """How script writes a call: `T.<name>(*args, **keywords)`."""

    name: str
    args: tuple[Any, ...]
    keywords: dict[str, Any]


def spelling(call: Call) -> Spelling | None:
    """The spelling of a call that reads back as exactly this call, or None where it has none.

    The arguments are expressions, Python values and types (a type stands where script writes a dtype).
    Without a spelling a call prints in the general form `T.Call(name, [args], attrs=, ret_ty=)`.
    """
    rec = find_record(call.op.name) if isinstance(call.op, Op) else None
    if rec is None or rec.script is None:
        return None
    if rec.show is not None:
        args = tuple(rec.show(call))
    else:
        args = (call.ty, *call.args) if rec.takes_dtype else call.args
    keywords: dict[str, Any] = {}
    if args and isinstance(args[-1], Keywords):
        args, keywords = args[:-1], dict(args[-1])
    try:
        again = rec.build(*args, **keywords)
    except LoopwrightError:
        return None
    return Spelling(rec.script, args, keywords) if _same_call(call, again) else None


def _same_call(a: Call, b: Any) -> bool:
    if type(b) is not type(a) or b.op is not a.op or len(a.args) != len(b.args):
        return False
    if not _same_type(a.ty, b.ty) or dict(a.attrs) != dict(b.attrs):
        return False
    return all(_same_leaf(x, y) for x, y in zip(a.args, b.args))


def _same_leaf(x: Any, y: Any) -> bool:
    if x is y:
        return True
    value = getattr(x, "value", None)
    return (
        type(x) is type(y)
        and isinstance(value, str | int | float)
        and x.ty is y.ty
        and repr(value) == repr(y.value)
    )


def _same_type(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    return all(_same_part(getattr(a, f), getattr(b, f)) for f in type(a).fields if f != "span")


def _same_part(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_same_part(x, y) for x, y in zip(a, b))
    if isinstance(a, Node) and isinstance(b, Node):
        return _same_type(a, b)
    return bool(a == b)
