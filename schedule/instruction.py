"""Instructions: one step of a trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import Diagnostic, ScheduleError, suggest
from ..ir import Expr, Var, substitute, walk
from .handles import LoopRV, SBlockRV
from .registry import KINDS, Primitive


@dataclass(frozen=True, slots=True)
class InstructionKind:
    """The kind of an instruction: the primitive that it runs."""

    primitive: Primitive

    @property
    def name(self) -> str:
        """The name of the kind, in camel case."""
        return self.primitive.kind

    @property
    def is_pure(self) -> bool:
        """Whether an instruction whose outputs are not used may be dropped."""
        return self.primitive.pure

    @property
    def is_postproc(self) -> bool:
        """Whether it marks the start of postprocessing."""
        return self.primitive.kind == "EnterPostproc"

    @staticmethod
    def get(name: str) -> InstructionKind:
        """The kind of this name. Raises ScheduleError, with near names."""
        from . import primitives  # noqa: F401  they register themselves

        found = KINDS.get(name)
        if found is None:
            raise ScheduleError(
                Diagnostic(
                    "unknown-instruction",
                    f"there is no instruction of kind `{name}`",
                    help=suggest(name, KINDS),
                )
            )
        return InstructionKind(found)


class Instruction:
    """One step: its kind, what it was given (handles, numbers; plain attributes), what it handed out.

    `arguments` are those of the method by name; `inputs` and `attrs` are the same as sequences.
    Instructions are compared by identity.
    """

    __slots__ = ("arguments", "kind", "outputs")
    kind: InstructionKind
    arguments: dict[str, Any]
    outputs: tuple[Any, ...]

    def __init__(self, kind: InstructionKind, arguments: Mapping[str, Any], outputs: Any = ()) -> None:
        self.kind = kind
        self.arguments = dict(arguments)
        self.outputs = tuple(outputs)

    @property
    def inputs(self) -> list[Any]:
        """The handles and numbers, sequences spread where the primitive says so."""
        found: list[Any] = []
        for p in self.kind.primitive.params:
            if p.is_input:
                value = self.arguments[p.name]
                if p.spread:
                    found.extend(value)
                else:
                    found.append(value)
        return found

    @property
    def attrs(self) -> list[Any]:
        """The plain attributes."""
        return [
            self.arguments[p.name]
            for p in self.kind.primitive.params
            if not p.is_input and p.name != "decision"
        ]

    def mentioned(self) -> Iterator[Any]:
        """The handles and variables in the arguments."""
        for value in self.arguments.values():
            yield from _mentioned(value)

    def with_inputs(self, known: Mapping[int, Any]) -> Instruction:
        """The instruction with handles and variables replaced, by the id of the old ones; no outputs."""
        return Instruction(self.kind, {k: _replaced(v, known) for k, v in self.arguments.items()})

    def __repr__(self) -> str:
        return f"Instruction({self.kind.name}, {self.arguments!r})"


def _mentioned(value: Any) -> Iterator[Any]:
    if isinstance(value, LoopRV | SBlockRV):
        yield value
    elif isinstance(value, Expr):
        for n in walk(value):
            if isinstance(n, Var):
                yield n
    elif isinstance(value, list | tuple):
        for v in value:
            yield from _mentioned(v)
    elif isinstance(value, Mapping):
        for v in value.values():
            yield from _mentioned(v)


def _replaced(value: Any, known: Mapping[int, Any]) -> Any:
    if isinstance(value, LoopRV | SBlockRV):
        return known.get(id(value), value)
    if isinstance(value, Var):
        return known.get(id(value), value)
    if isinstance(value, Expr):
        table = {n: known[id(n)] for n in walk(value) if isinstance(n, Var) and id(n) in known}
        return substitute(value, table)
    if isinstance(value, list | tuple):
        return type(value)([_replaced(v, known) for v in value])
    if isinstance(value, Mapping):
        return {k: _replaced(v, known) for k, v in value.items()}
    return value
