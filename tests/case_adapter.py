"""The project's side of the shared case files: what a case may ask of an implementation.

The folder that holds the cases and the base class `adapters.base` is given by its runner; see CONTRIBUTING.md.
"""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from typing import Any

from adapters import base

import loopwright
from loopwright import ir
from loopwright.errors import InternalError, LoopwrightError
from loopwright.ir.arith import Analyzer
from loopwright.ir.arith.numeric import evaluate
from loopwright.runtime.vm import VirtualMachine
from loopwright.schedule import Schedule
from loopwright.script import ir as I
from loopwright.script import tirx as T
from loopwright.transform import PassContext, get_pass

_NODES = {
    "add": ir.Add,
    "sub": ir.Sub,
    "mul": ir.Mul,
    "floordiv": ir.FloorDiv,
    "floormod": ir.FloorMod,
    "truncdiv": ir.Div,
    "truncmod": ir.Mod,
    "min": ir.Min,
    "max": ir.Max,
    "lt": ir.LT,
    "le": ir.LE,
    "eq": ir.EQ,
    "and": ir.And,
    "or": ir.Or,
    "not": ir.Not,
    "select": ir.Select,
    "shift_left": ir.LShift,
    "shift_right": ir.RShift,
    "cast": ir.Cast,
}


class Lib(base.Lib):
    """What the public API offers today; methods that are missing count as not yet there."""

    name = "loopwright"

    def parse(self, text: str, extra_vars: dict[str, Any] | None = None) -> Any:
        return loopwright.parse(text, extra_vars=extra_vars)

    def parse_live(self, py_source: str, name: str, register_source: bool = True) -> Any:
        scope: dict[str, Any] = {"I": I, "T": T}
        file = f"<case {name}>"
        if register_source:
            linecache.cache[file] = (len(py_source), None, py_source.splitlines(keepends=True), file)
        exec(compile(py_source, file, "exec"), scope)
        return scope[name]

    def script(self, obj: Any) -> str:
        return obj.script(show_meta=True)

    def structural_equal(self, a: Any, b: Any) -> bool:
        return loopwright.structural_equal(a, b)

    def well_formed(self, mod: Any) -> bool:
        return not ir.check_well_formed(mod)

    def var(self, name: str, dtype: str = "int64") -> ir.Var:
        return ir.Var(name, dtype)

    def const(self, value: int, dtype: str = "int64") -> ir.Expr:
        return ir.const(value, dtype)

    def op(self, name: str, *args: Any) -> ir.Expr:
        if name == "ceildiv":
            a, b = args
            zero = ir.const(0, a.dtype)
            return ir.Sub(zero, ir.FloorDiv(ir.Sub(zero, a), b))
        return _NODES[name](*args)

    def analyzer(self, bounds: Any = ()) -> Analyzer:
        ana = Analyzer()
        for var, low, high in bounds:
            ana.bind_bound(var, low, high - 1)
        return ana

    def simplify(self, expr: ir.Expr, bounds: Any = ()) -> ir.Expr:
        return self.analyzer(bounds).simplify(expr)

    def const_int_bound(self, expr: ir.Expr, bounds: Any = ()) -> tuple[int, int]:
        found = self.analyzer(bounds).const_int_bound(expr)
        return found.min, found.max

    def can_prove(self, cond: ir.Expr, bounds: Any = ()) -> bool:
        return self.analyzer(bounds).can_prove(cond)

    def evaluate(self, expr: ir.Expr, env: dict[ir.Var, int]) -> int:
        return evaluate(expr, env)

    def Schedule(self, mod: Any, **options: Any) -> Schedule:
        return Schedule(mod, **options)

    def compile(self, mod: Any, target: str = "cpu", config: Any = None) -> Any:
        if target != "cpu":
            raise NotImplementedError("only compilation for the CPU")
        with PassContext(config=config or {}):
            return loopwright.build(mod)

    def run(self, exe: Any, name: str, *args: Any) -> Any:
        return exe[name](*args)

    def apply(self, mod: Any, *passes: Any) -> Any:
        """The module after passes, each a name or a name with options."""
        for one in passes:
            name, options = (one, {}) if isinstance(one, str) else one
            mod = get_pass(name)(mod, **options)
        return mod

    def gpu_schedule(
        self, mod: Any, rules: Sequence[str] = ("Matmul", "GEMV", "Reduction", "GeneralReduction", "Fallback")
    ) -> Any:
        """The module with operators made kernels, and these scheduled for a GPU by the rules that TVM names so."""
        from loopwright.compat.tvm.s_tir import dlight

        with loopwright.Target("cuda -arch=sm_80"):
            return dlight.ApplyDefaultSchedule(*[getattr(dlight.gpu, name)() for name in rules])(
                get_pass("relax.LegalizeOps")(mod)
            )

    def relax_build(
        self,
        mod: Any,
        pipeline: str = "default",
        params: Any = None,
        exec_mode: str = "bytecode",
        opt_level: int | None = None,
    ) -> VirtualMachine:
        # There are no levels of optimisation: every level means the same.
        name = {"default": "default_build", "target": "default"}[pipeline]
        lib = loopwright.build(mod, relax_pipeline=name, params=params, exec_mode=exec_mode)
        return VirtualMachine(lib)

    def relax_run(self, vm: VirtualMachine, name: str, *args: Any) -> Any:
        return _plain(vm[name](*args))

    def error_text(self, exc: BaseException) -> str:
        return str(exc)

    def is_internal(self, exc: BaseException) -> bool:
        if isinstance(exc, InternalError):
            return True
        return False if isinstance(exc, LoopwrightError) else super().is_internal(exc)


def _plain(value: Any) -> Any:
    """A result as numpy array, number or tuple of those."""
    if isinstance(value, tuple):
        return tuple([_plain(v) for v in value])
    return value.numpy() if isinstance(value, loopwright.Tensor) else value
