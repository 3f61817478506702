"""The registry of primitives: each is one function with one decorator, and everything else follows.

    @primitive()
    def vectorize(state: State, loop: LoopRV) -> State:
        ...

The first parameter is the state; the others are the parameters of `Schedule.vectorize`.  The
function gives the new state, or `(state, outputs)` where it hands out handles, or
`(state, outputs, decision)` where it samples (then it has a parameter `decision`).  It raises
`Refused` and leaves nothing half done, since states are values.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import UnionType
from typing import Any, TypeVar

from ..errors import ArgumentTypeError, Diagnostic, suggest
from ..ir import Expr
from .handles import LoopRV, SBlockRV

F = TypeVar("F", bound=Callable[..., Any])
Encode = Callable[[dict[str, Any]], tuple[list[Any], list[Any]]]
Decode = Callable[[list[Any], list[Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a primitive: its name, whether it is an input of instructions, what handles it takes.

    `spread` says that the instruction holds the members of the sequence one by one (at most one
    parameter, the last input); `star` that it is written `*name`.
    """

    name: str
    is_input: bool
    handles: tuple[type, ...]
    spread: bool
    star: bool
    default: Any

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is inspect.Parameter.empty and not self.star


@dataclass(frozen=True, slots=True)
class Primitive:
    """A registered primitive.

    `kind` is the name of its instructions, `pure` says that an instruction whose outputs are not used
    may go.  `prepare(state, arguments)` may bring arguments to the form that is recorded (a
    buffer's name to its index).  `encode` turns arguments to the inputs and attributes of an
    instruction in JSON, `decode` turns those back, where they are not simply the arguments.
    """

    name: str
    kind: str
    run: Callable[..., Any]
    params: tuple[Param, ...]
    pure: bool
    samples: bool
    prepare: Callable[[Any, dict[str, Any]], dict[str, Any]] | None
    encode: Encode | None
    decode: Decode | None
    signature: inspect.Signature

    @property
    def doc(self) -> str:
        """The documentation, with its `before:` and `after:`."""
        return inspect.getdoc(self.run) or ""

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by parameter, defaults filled in. Raises ArgumentTypeError where they do not fit."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as err:
            known = [p.name for p in self.params]
            near = [h for k in kwargs if k not in known for h in suggest(k, known)]
            raise ArgumentTypeError(
                Diagnostic("argument-type", f"`{self.name}`: {err}", help=tuple(near))
            ) from None
        bound.apply_defaults()
        return dict(bound.arguments)


PRIMITIVES: dict[str, Primitive] = {}
"""Every primitive by the name of its method."""
KINDS: dict[str, Primitive] = {}
"""Every primitive by the kind of its instructions."""


def primitive(
    *,
    kind: str = "",
    inputs: tuple[str, ...] | None = None,
    pure: bool = False,
    prepare: Callable[[Any, dict[str, Any]], dict[str, Any]] | None = None,
    encode: Encode | None = None,
    decode: Decode | None = None,
) -> Callable[[F], F]:
    """Register a function as a primitive and as a method of Schedule.

    `kind` is the instruction's name where it is not the method's in camel case.  `inputs` names the
    parameters that are inputs of instructions ("*name": spread); without it those whose annotation
    mentions a handle or Expr.
    """

    def register(function: F) -> F:
        name = function.__name__
        made = Primitive(
            name,
            kind or "".join([w.capitalize() for w in name.split("_")]),
            function,
            _params(function, inputs),
            pure,
            "decision" in inspect.signature(function).parameters,
            prepare,
            encode,
            decode,
            _signature(function),
        )
        if name in PRIMITIVES or made.kind in KINDS:
            raise ValueError(f"two primitives are called `{name}`")
        PRIMITIVES[name] = KINDS[made.kind] = made
        return function

    return register


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    own = inspect.signature(function)
    rest = list(own.parameters.values())[1:]
    return own.replace(parameters=rest)


def _params(function: Callable[..., Any], inputs: tuple[str, ...] | None) -> tuple[Param, ...]:
    hints = typing.get_type_hints(function)
    found: list[Param] = []
    for p in list(inspect.signature(function).parameters.values())[1:]:
        star = p.kind is inspect.Parameter.VAR_POSITIONAL
        parts = set(_parts(hints.get(p.name, Any)))
        handles = tuple([h for h in (LoopRV, SBlockRV) if h in parts])
        spread = star or (inputs is not None and "*" + p.name in inputs)
        if inputs is None:
            is_input = bool(handles) or Expr in parts
        else:
            is_input = spread or p.name in inputs
        found.append(Param(p.name, is_input, handles, spread, star, p.default))
    return tuple(found)


def _parts(hint: Any) -> Iterator[Any]:
    """The classes that a type hint mentions."""
    args = typing.get_args(hint)
    if isinstance(hint, UnionType) or args:
        for a in args:
            yield from _parts(a)
    else:
        yield hint
