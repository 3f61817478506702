"""Host programs as Python text: their expressions, and the functions that are generated of their steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..dtype import DType

if TYPE_CHECKING:
    from .program_calls import Parameter
    from .programs import Program

GRID_LIMITS: Final = ((1 << 31) - 1, 65535, 65535)
"""The most blocks of a launch on CUDA in each direction."""

_INFIX: Final = {
    **{op: op for op in ("+", "-", "*", "//", "%", "/", "==", "!=", "<", "<=", ">", ">=", "&", "|", "^")},
    "and": "and",
    "or": "or",
}
_CALLS: Final = {"min": "min", "max": "max", "tdiv": "tdiv", "tmod": "tmod", "<<": "shl", ">>": "shr"}
OPERATORS: Final = frozenset({*_INFIX, *_CALLS, "not", "select"})
"""The operators of expressions; `tdiv` and `tmod` are C's."""


def _tdiv(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _tmod(a: int, b: int) -> int:
    return a - b * _tdiv(a, b)


def _shl(a: int, b: int) -> int:
    return a << b if b < 64 else 0


def _shr(a: int, b: int) -> int:
    return a >> min(b, 64)


def expression(e: Any) -> str:
    """The Python text of an expression."""
    if isinstance(e, bool | int | float):
        return f"float('{e}')" if isinstance(e, float) else repr(e)
    match e:
        case ["var", int(k)]:
            return f"v{k}"
        case ["param", int(k)]:
            return f"a{k}"
        case ["memory", int(k)]:
            return f"m{k}"
        case ["cast", str(dtype), value]:
            return f"cast({DType(dtype).kind!r}, {DType(dtype).bits}, {expression(value)})"
        case ["not", value]:
            return f"(not {expression(value)})"
        case ["select", c, a, b]:
            return f"({expression(a)} if {expression(c)} else {expression(b)})"
        case [str(op), a, b] if op in _INFIX:
            return f"({expression(a)} {_INFIX[op]} {expression(b)})"
        case [str(op), a, b] if op in _CALLS:
            return f"{_CALLS[op]}({expression(a)}, {expression(b)})"
    raise ValueError(f"{e!r} is no expression of a host program")


def _cast(kind: str, bits: int, value: Any) -> Any:
    """A number as one of another dtype; integers wrap."""
    if kind == "float":
        return float(value)
    if kind == "bool":
        return bool(value)
    number = int(value) & ((1 << bits) - 1)
    return number - (1 << bits) if kind == "int" and number >> (bits - 1) else number


FUNCTIONS: Final = {
    "min": min,
    "max": max,
    "tdiv": _tdiv,
    "tmod": _tmod,
    "shl": _shl,
    "shr": _shr,
    "cast": _cast,
}


def value_of(e: Any, known: Mapping[int, int]) -> Any:
    """The value of an expression. Raises KeyError where a variable is not known."""
    if not isinstance(e, list | tuple):
        return e
    if e[0] == "var":
        return known[e[1]]
    return eval(expression(e), {**FUNCTIONS, **{f"v{k}": v for k, v in known.items()}})


def shown(e: Any, names: Sequence[str]) -> str:
    """A size as people read it."""
    match e:
        case ["var", int(k)]:
            return names[k]
        case ["cast", _, value]:
            return shown(value, names)
        case [("+" | "-" | "*" | "//" | "%") as op, a, b]:
            return f"{shown(a, names)} {op} {shown(b, names)}"
    return str(e) if isinstance(e, int) else "..."


def steps_of(body: Sequence[Any]) -> list[Any]:
    """All steps, those inside others too."""
    found: list[Any] = []
    for step in body:
        found.append(step)
        for part in step[2:] if step[0] == "if" else step[4:] if step[0] == "for" else ():
            found += steps_of(part)
    return found


class Writer:
    """Writes a program as Python: `run` does the steps, `call` checks what can be checked quickly."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.lines: list[str] = []
        self.kernels = {name: n for n, name in enumerate(program.kernel_names())}
        self.types = {name: n for n, name in enumerate(program.memory_types())}
        tensors = [k for k, p in enumerate(program.params) if p.kind == "tensor"]
        self.like = f"a{tensors[0]}" if tensors else "None"

    def text(self) -> str:
        """The module that defines `run` and `call`."""
        p = self.program
        names = [f"v{q.variable}" if q.kind == "scalar" else f"a{k}" for k, q in enumerate(p.params)]
        symbols = [f"v{k}" for k in p.symbols]
        self.add(0, f"def run({', '.join([*names, *symbols])}):")
        self.steps(1, p.data["body"])
        self.add(0, "def call(*args, **kwargs):")
        self.add(1, f"if len(args) == {len(names)} and not kwargs:")
        if names:
            self.add(2, f"({', '.join(names)},) = args")
        self.add(2, f"if {' and '.join([*self.quick(names), 'True'])}:")
        self.add(3, f"return run({', '.join([*names, *symbols])})")
        self.add(1, "return slow(args, kwargs)")
        return "\n".join(self.lines) + "\n"

    def add(self, level: int, line: str) -> None:
        self.lines.append("    " * level + line)

    # Checks

    def quick(self, names: Sequence[str]) -> list[str]:
        """Conditions under which the arguments are what kernels take, without a conversion."""
        found: list[str] = []
        later: list[str] = []
        known = {q.variable for q in self.program.params if q.kind == "scalar"} | set(self.program.offsets)
        found += [f"(v{k} := 0) == 0" for k in self.program.offsets]
        for k, (name, p) in enumerate(zip(names, self.program.params)):
            if p.kind == "scalar":
                found += _quick_scalar(name, p.dtype)
            elif p.kind == "pointer":
                found.append("False" if self.program.driver.kind != "cpu" else f"type({name}) is array")
            else:
                found += self.quick_tensor(k, name, p, known, later)
        unknown = [k for k in self.program.symbols if k not in known]
        return [*found, *later, *(["False"] if unknown else []), *self.quick_apart()]

    def quick_apart(self) -> list[str]:
        """That no array that is written shares memory with another one."""
        arrays = [k for k, p in enumerate(self.program.params) if p.kind != "scalar"]
        pairs = [(i, j) for n, i in enumerate(arrays) for j in arrays[n + 1 :]]
        pairs = [pair for pair in pairs if self.program.conflicts.intersection(pair)]
        used = sorted({k for pair in pairs for k in pair})
        ends = [f"(e{k} := (b{k} := start(a{k})) + a{k}.nbytes) >= 0" for k in used]
        return [*ends, *[f"(e{i} <= b{j} or e{j} <= b{i})" for i, j in pairs]]

    def quick_tensor(self, k: int, name: str, p: Parameter, known: set[Any], later: list[str]) -> list[str]:
        if p.strides or p.dtype.lanes > 1:
            return ["False"]
        rank = len(p.shape)
        found = [f"type({name}) is array", f"{name}.dtype is d{k}", f"len(s{k} := {name}.shape) == {rank}"]
        found.append(f"(f{k} := {name}.flags).c_contiguous")
        if self.program.driver.kind == "cpu":
            found.append(f"f{k}.aligned" + (f" and f{k}.writeable" if p.written else ""))
        else:
            found.append(f"plain({name})")
        for axis, size in enumerate(p.shape):
            given = f"s{k}[{axis}]"
            if isinstance(size, list) and size[0] == "var" and size[1] not in known:
                known.add(size[1])
                most = int(self.program.dtypes[size[1]].max_value)
                found.append(f"(v{size[1]} := {given}) <= {most}")
            else:
                later.append(f"{given} == {expression(size)}")
        return found

    # Steps

    def steps(self, level: int, body: Sequence[Any]) -> None:
        if not body:
            self.add(level, "pass")
        for step in body:
            getattr(self, f"step_{step[0]}")(level, *step[1:])

    def step_let(self, level: int, k: int, e: Any) -> None:
        self.add(level, f"v{k} = {expression(e)}")

    def step_alloc(self, level: int, k: int, dtype: str, count: Any) -> None:
        self.add(level, f"m{k} = empty((max({expression(count)}, 0),), t{self.types[dtype]}, {self.like})")

    def step_if(self, level: int, condition: Any, then: Any, other: Any) -> None:
        self.add(level, f"if {expression(condition)}:")
        self.steps(level + 1, then)
        if other:
            self.add(level, "else:")
            self.steps(level + 1, other)

    def step_for(self, level: int, k: int, start: Any, extent: Any, body: Any) -> None:
        first = expression(start)
        self.add(level, f"for v{k} in range({first}, {first} + {expression(extent)}):")
        self.steps(level + 1, body)

    def step_assert(self, level: int, condition: Any, error: str, text: str) -> None:
        self.add(level, f"if not {expression(condition)}:")
        self.add(level + 1, f"raise failed({error!r}, {text!r})")

    def step_launch(self, level: int, kernel: str, grid: Any, block: Any, shared: Any, args: Any) -> None:
        sizes = [expression(e) for e in (*grid, *block)]
        computed = [n for n, e in enumerate((*grid, *block)) if not isinstance(e, int)]
        for n in computed:
            self.add(level, f"x{n} = {sizes[n]}")
            sizes[n] = f"x{n}"
        if any(isinstance(e, int) and e <= 0 for e in (*grid, *block)):
            return
        if computed:
            self.add(level, f"if {' and '.join([f'{sizes[n]} > 0' for n in computed])}:")
            level += 1
        dims = f"({', '.join(sizes[:3])}), ({', '.join(sizes[3:])})"
        limits = [f"{s} > {limit}" for s, limit, e in zip(sizes, GRID_LIMITS, grid) if not _fits(e, limit)]
        if limits:
            self.add(level, f"if {' or '.join(limits)}:")
            self.add(level + 1, f"check({kernel!r}, {dims})")
        listed = "".join([f"{expression(a)}, " for a in args])
        self.add(level, f"k{self.kernels[kernel]}({dims}, ({listed}), {expression(shared)})")


def _fits(e: Any, limit: int) -> bool:
    return isinstance(e, int) and e <= limit


def _quick_scalar(name: str, dtype: DType) -> list[str]:
    if dtype.is_bool:
        return [f"type({name}) is bool_type"]
    if dtype.is_float:
        return [f"type({name}) is float_type"]
    return [f"type({name}) is int_type", f"{dtype.min_value} <= {name} <= {dtype.max_value}"]


__all__ = ["FUNCTIONS", "GRID_LIMITS", "OPERATORS", "Writer", "expression", "shown", "steps_of", "value_of"]
