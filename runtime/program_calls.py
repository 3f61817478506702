"""Calls of host programs that generated code leaves to Python: conversions, checks, precise errors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..dtype import DType
from ..errors import ArgumentTypeError, ArgumentValueError, Diagnostic, LoopwrightError, Span, suggest
from .drivers import extent_of
from .program_text import shown, value_of

if TYPE_CHECKING:
    from .programs import Program


class Parameter(NamedTuple):
    """A parameter: a `tensor`, a `scalar` (the variable `variable`) or a `pointer`; sizes are expressions."""

    name: str
    kind: str
    dtype: DType
    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    written: bool
    place: Span | None
    sizes: tuple[str, ...]
    variable: int | None

    def __str__(self) -> str:
        shape = f"[{', '.join(self.sizes)}]" if self.kind == "tensor" else ""
        return f"{self.name}: {'handle' if self.kind == 'pointer' else self.dtype}{shape}"


def bind(program: Program, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """The arguments in order of the parameters. Raises ArgumentTypeError where they do not fit."""

    def wrong(text: str, code: str = "argument-count", help: tuple[str, ...] = ()) -> ArgumentTypeError:
        notes = (f"it is {program.signature}",)
        return ArgumentTypeError(Diagnostic(code, f"`{program.name}` {text}", notes=notes, help=help))

    names = [p.name for p in program.params]
    if len(args) > len(names):
        raise wrong(f"takes {len(names)} arguments but {len(args)} were given")
    bound = dict(zip(names, args))
    for key, value in kwargs.items():
        if key not in names:
            raise wrong(f"has no parameter `{key}`", "argument-name", suggest(key, names))
        if key in bound:
            raise wrong(f"got two values for `{key}`", "argument-name")
        bound[key] = value
    missing = [f"`{n}`" for n in names if n not in bound]
    if missing:
        raise wrong(f"misses {', '.join(missing)}")
    return [bound[n] for n in names]


class Call:
    """One call: checked arguments, and the copies made for those that kernels cannot take."""

    def __init__(self, program: Program, values: Sequence[Any]) -> None:
        self.program = program
        self.driver = program.driver
        self.values = values
        self.used: list[Any] = []
        self.known: dict[int, int] = dict.fromkeys(program.offsets, 0)
        self.later: list[tuple[int, str, Any, int]] = []
        self.copied: dict[int, tuple[Any, Any]] = {}
        for k, (p, value) in enumerate(zip(program.params, values)):
            self.used.append(self.take(k, p, value))
        self.compare_later()

    def problem(self, k: int, code: str, text: str, *help: str) -> Diagnostic:
        """A diagnostic about an argument."""
        p = self.program.params[k]
        message = f"{self.program.name}: argument {k + 1} ({p.name}) {text}"
        notes = (f"the function is {self.program.signature}",)
        return Diagnostic(code, message, p.place, notes=notes, help=help)

    def take(self, k: int, p: Parameter, value: Any) -> Any:
        """The argument as kernels take it."""
        if p.kind == "tensor":
            return self.tensor(k, p, self.array(k, value))
        if p.kind == "pointer":
            return None if value is None else self.array(k, value)
        if p.dtype.is_float:
            return self.real(k, p.dtype, value)
        number = self.integer(k, p.dtype, value)
        assert p.variable is not None
        self.known[p.variable] = number
        return bool(number) if p.dtype.is_bool else number

    def integer(self, k: int, dtype: DType, value: Any) -> int:
        kind = type(value).__name__
        try:
            number = int(value) if kind in ("bool", "bool_") else operator.index(value)
        except TypeError:
            text = f"must be an int for `{dtype}`, not a {kind}"
            raise ArgumentTypeError(self.problem(k, "argument-type", text)) from None
        if dtype.is_bool:
            return int(number != 0)
        if not dtype.min_value <= number <= dtype.max_value:
            text = f"is {number}, outside the range of `{dtype}`"
            raise ArgumentValueError(self.problem(k, "argument-value", text))
        return number

    def real(self, k: int, dtype: DType, value: Any) -> float:
        text = f"must be a number for `{dtype}`, not a {type(value).__name__}"
        if isinstance(value, complex) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
            raise ArgumentTypeError(self.problem(k, "argument-type", text))
        try:
            return float(value)
        except OverflowError:
            text = f"is outside the range of `{dtype}`"
            raise ArgumentValueError(self.problem(k, "argument-value", text)) from None
        except (TypeError, ValueError) as err:
            raise ArgumentTypeError(self.problem(k, "argument-type", text)) from err

    def array(self, k: int, value: Any) -> Any:
        """The array on the memory of an argument."""
        try:
            return self.driver.take(value)
        except LoopwrightError as err:
            first = err.diagnostics[0]
            raise type(err)(self.problem(k, first.code, first.message, *first.help)) from err

    def tensor(self, k: int, p: Parameter, a: Any) -> Any:
        """Check dtype, rank and shape; bind the sizes that stand alone."""
        good = (p.dtype.numpy(), self.driver.item(p.dtype))
        if a.dtype not in good and a.dtype.newbyteorder("=") not in good:
            text = f"must have dtype `{p.dtype.element}`, not `{a.dtype}`"
            raise ArgumentTypeError(self.problem(k, "argument-dtype", text, "convert it with .astype(...)"))
        lanes = (p.dtype.lanes,) if p.dtype.lanes > 1 else ()
        rank = len(p.shape) + len(lanes)
        if a.ndim != rank:
            text = f"must have {rank} dimensions, not {a.ndim} (its shape is {a.shape})"
            raise ArgumentValueError(self.problem(k, "argument-rank", text))
        if lanes and a.shape[-1] != lanes[0]:
            text = f"must have a last dimension of {lanes[0]} lanes, not {a.shape[-1]}"
            raise ArgumentValueError(self.problem(k, "argument-shape", text))
        if p.written and not self.driver.writeable(a):
            text = "is read-only, but the function writes to it"
            raise ArgumentValueError(self.problem(k, "argument-readonly", text, "pass a writeable copy"))
        for d, (extent, value) in enumerate(zip(p.shape, a.shape)):
            self.size(k, f"shape[{d}]", extent, value)
        if p.strides:
            self.strides(k, p, a)
        return a

    def strides(self, k: int, p: Parameter, a: Any) -> None:
        size = p.dtype.numpy().itemsize * p.dtype.lanes
        for d, (step, value) in enumerate(zip(p.strides, a.strides)):
            if value % size:
                text = f"has strides[{d}] of {value} bytes, no multiple of the element's {size}"
                raise ArgumentValueError(self.problem(k, "argument-strides", text))
            if a.shape[d] > 1 or (_variable(step) is not None and _variable(step) not in self.known):
                self.size(k, f"strides[{d}]", step, value // size)

    def size(self, k: int, place: str, expected: Any, value: int) -> None:
        variable = _variable(expected)
        if variable is None or variable in self.known or variable not in self.program.symbols:
            self.later.append((k, place, expected, value))
            return
        dtype = self.program.dtypes[variable]
        if not dtype.min_value <= value <= dtype.max_value:
            text = f"has {place} {value}, outside the range of `{dtype}`"
            raise ArgumentValueError(self.problem(k, "argument-shape", text))
        self.known[variable] = value

    def compare_later(self) -> None:
        for k, place, expected, value in self.later:
            name = shown(expected, self.program.variables)
            try:
                wanted = value_of(expected, self.known)
            except (KeyError, NameError, ZeroDivisionError):
                text = f"has a {place} of `{name}`, which the arguments do not determine"
                raise ArgumentValueError(self.problem(k, "argument-shape", text)) from None
            if wanted != value:
                more = "" if isinstance(expected, int) else f" (`{name}`)"
                code = "argument-strides" if place.startswith("strides") else "argument-shape"
                text = f"must have {place} {wanted}{more}, not {value}"
                raise ArgumentValueError(self.problem(k, code, text))
        for v in self.program.symbols:
            if v not in self.known:
                text = f"{self.program.name}: the arguments do not determine `{self.program.variables[v]}`"
                raise ArgumentValueError(Diagnostic("argument-value", text))

    # Memory

    def lay_out(self) -> None:
        """Use each array's own memory, or a compact copy where its layout is another."""
        copies: dict[Any, Any] = {}
        for k, p in enumerate(self.program.params):
            a = self.used[k]
            if p.kind != "tensor" or (not p.strides and a.flags.c_contiguous and self.driver.plain(a)):
                continue
            if p.strides:
                self.used[k] = self.flat(k, a)
                continue
            self.check_apart(k, a)
            same = (self.driver.start(a), a.shape, a.strides, str(a.dtype))
            if same not in copies:
                copies[same] = self.driver.copy(a)
            self.copied[k] = (a, copies[same])
        for k, (_, made) in self.copied.items():
            self.used[k] = made

    def flat(self, k: int, a: Any) -> Any:
        """The memory of an array whose strides the kernels know."""
        if not self.driver.plain(a):
            text = "has strides of its own and must be aligned and in native byte order"
            raise ArgumentValueError(self.problem(k, "argument-strides", text, "pass a copy of it"))
        try:
            return self.driver.flat(a)
        except ArgumentValueError as err:
            first = err.diagnostics[0]
            raise ArgumentValueError(self.problem(k, first.code, first.message, *first.help)) from err

    def check_apart(self, k: int, a: Any) -> None:
        """A copied array must not share memory with a different one, where one of them is written."""
        low, high = extent_of(self.driver, a)
        for j, other in enumerate(self.used):
            if j == k or self.program.params[j].kind != "tensor":
                continue
            if not {k, j} & self.program.conflicts or (other.shape, other.strides) == (a.shape, a.strides):
                continue
            low2, high2 = extent_of(self.driver, other)
            if low < high2 and low2 < high:
                name = self.program.params[j].name
                text = f"is not contiguous and overlaps argument {j + 1} ({name})"
                raise ArgumentValueError(
                    self.problem(k, "argument-overlap", text, "pass a copy of one of them")
                )

    def overlapping(self, provide: Callable[[], Callable[..., None] | None]) -> Callable[..., None]:
        """What runs on arguments that share memory; ArgumentValueError where nothing does."""
        run = provide()
        if run is None:
            text = f"{self.program.name}: arguments share memory, and one is written"
            help = ("pass a copy of one of them", "a function that is built here, not loaded, takes them")
            raise ArgumentValueError(Diagnostic("argument-overlap", text, help=help))
        return run

    def give_back(self) -> None:
        """What was written to copies goes to the arguments."""
        for k, (given, used) in self.copied.items():
            if k in self.program.conflicts and self.driver.writeable(given):
                self.driver.assign(given, used)


def _variable(e: Any) -> int | None:
    """The variable that an expression is by itself."""
    return e[1] if isinstance(e, list | tuple) and e[0] == "var" else None


__all__ = ["Call", "Parameter", "bind"]
