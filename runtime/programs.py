"""Host programs: what the CPU does around kernels, as plain data that becomes a Python function.

A program is a mapping of

    name        of the function
    params      a row for each: name, kind (`tensor`, `scalar`, `pointer`), dtype; tensors: shape, strides
                (if they are its own), written; place: where the script says so
    variables   name and dtype of all numbers: scalar parameters, sizes, what steps bind
    symbols     the variables that shapes define
    offsets     those of them that are offsets of buffers, which are 0
    conflicts   the parameters that may be written, directly or by code that is not ours
    body        steps

Expressions are numbers, `["var", k]`, `["param", k]` and `["memory", k]` (arrays), `["cast", dtype, e]`, and
an operator of `program_text.OPERATORS` with its operands.  Steps are

    ["let", k, e]                            variable k is e
    ["alloc", k, dtype, e]                   memory k has e elements
    ["launch", kernel, grid, block, shared, args]
    ["if", e, steps, steps]  ["for", k, from, extent, steps]  ["assert", e, error, text]
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..dtype import DType
from ..errors import Diagnostic, ExecutionError, Span
from .drivers import extent_of
from .kernels import Driver, Launchable
from .program_calls import Call, Parameter, bind
from .program_text import FUNCTIONS, GRID_LIMITS, Writer, shown, steps_of


class Program:
    """A host program with its kernels.

    `call` is the function for callers: it takes what functions of `build` take.  `overlapping` gives the
    kernels for arguments that share memory; without it such arguments are refused.
    """

    def __init__(
        self,
        data: Mapping[str, Any],
        kernels: Mapping[str, Launchable],
        driver: Driver,
        overlapping: Callable[[], Mapping[str, Launchable]] | None = None,
    ) -> None:
        self.data = data
        self.driver = driver
        self.name: str = data["name"]
        self.variables = [name for name, _ in data["variables"]]
        self.dtypes = [DType(dtype) for _, dtype in data["variables"]]
        self.symbols = [int(k) for k in data["symbols"]]
        self.offsets = [int(k) for k in data["offsets"]]
        self.params = [_parameter(row, self.variables) for row in data["params"]]
        self.conflicts = frozenset(data["conflicts"])
        self._overlapping = overlapping
        self._run_shared: Callable[..., None] | None = None
        self.text = Writer(self).text()
        self.run, self.call = self._compile(kernels)
        self.call.__name__ = self.call.__qualname__ = self.name
        self.call.__doc__ = f"{self.signature}, for {driver.kind}."

    @property
    def signature(self) -> str:
        """The function as people read it: `add(A: float32[n, 16], k: int32)`."""
        return f"{self.name}({', '.join([str(p) for p in self.params])})"

    def _compile(self, kernels: Mapping[str, Launchable]) -> tuple[Callable[..., None], Any]:
        space = {
            **FUNCTIONS,
            "int_type": int,
            "float_type": float,
            "bool_type": bool,
            "array": self.driver.array,
            "empty": self.driver.empty,
            "plain": self.driver.plain,
            "start": self.driver.start,
            "slow": self.slow,
            "failed": _failed,
            "check": self.check_launch,
            **{f"d{k}": self.driver.item(p.dtype) for k, p in enumerate(self.params) if p.kind == "tensor"},
        }
        space |= {f"k{n}": kernels[name] for n, name in enumerate(self.kernel_names())}
        space |= {f"t{n}": self.driver.item(DType(d)) for n, d in enumerate(self.memory_types())}
        exec(compile(self.text, f"<host code of {self.name}>", "exec"), space)
        return space["run"], space["call"]

    def kernel_names(self) -> list[str]:
        """The kernels that it launches, once each."""
        return list(dict.fromkeys([s[1] for s in steps_of(self.data["body"]) if s[0] == "launch"]))

    def memory_types(self) -> list[str]:
        """The dtypes of the memory that it allocates, once each."""
        return list(dict.fromkeys([s[2] for s in steps_of(self.data["body"]) if s[0] == "alloc"]))

    # What the generated code calls

    def slow(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """A call with any arguments. Raises ArgumentTypeError or ArgumentValueError naming the argument."""
        call = Call(self, bind(self, args, kwargs))
        with self.driver.using(call.values):
            call.lay_out()
            run = self.run if self.apart(*call.used) else call.overlapping(self._run_overlapping)
            run(*call.used, *[call.known[k] for k in self.symbols])
            call.give_back()

    def _run_overlapping(self) -> Callable[..., None] | None:
        """As `run`, for arguments that share memory."""
        if self._run_shared is None and self._overlapping is not None:
            self._run_shared, _ = self._compile(self._overlapping())
        return self._run_shared

    def apart(self, *args: Any) -> bool:
        """Whether no written array shares memory with another one."""
        arrays = [(k, a) for k, (p, a) in enumerate(zip(self.params, args)) if p.kind != "scalar"]
        spans = [(k in self.conflicts, *extent_of(self.driver, a)) for k, a in arrays if a is not None]
        for i, (written, low, high) in enumerate(spans):
            for also, low2, high2 in spans[i + 1 :]:
                if (written or also) and low < high2 and low2 < high:
                    return False
        return True

    def check_launch(self, kernel: str, grid: tuple[int, ...], block: tuple[int, ...]) -> None:
        """Raise ExecutionError where a launch is larger than devices allow."""
        for size, limit, axis in zip(grid, GRID_LIMITS, "xyz"):
            if size > limit and self.driver.kind != "opencl":
                text = (
                    f"`{kernel}`: {size} blocks along {axis} are more than the {limit} that a launch can have"
                )
                help = ("bind a loop with fewer iterations, or fuse it into `blockIdx.x`",)
                raise ExecutionError(Diagnostic("kernel-launch", text, help=help))


def _parameter(row: Mapping[str, Any], names: Sequence[str]) -> Parameter:
    place = row.get("place")
    sizes = tuple([shown(e, names) for e in row.get("shape", ())])
    return Parameter(
        row["name"],
        row["kind"],
        DType(row["dtype"]),
        tuple(row.get("shape", ())),
        tuple(row.get("strides", ())),
        bool(row.get("written")),
        None if place is None else Span(*place),
        sizes,
        row.get("variable"),
    )


def _failed(error: str, text: str) -> Exception:
    """The exception of an assertion."""
    kind = getattr(builtins, error, RuntimeError)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        kind = RuntimeError
    try:
        return kind(text)
    except TypeError:  # a kind that wants more than a message
        return RuntimeError(text)


__all__ = ["Program"]
