"""Kernels for devices: the same results everywhere, and faults that a simulator must find."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..ir import (
    BufferStore,
    Call,
    Evaluate,
    IRModule,
    PrimFunc,
    Rewriter,
    const,
    walk,
)
from ..target import Target
from .results import assert_same_results, sample_arguments
from .strategies.device import DeviceKernel


def assert_devices_agree(
    kernels: Sequence[DeviceKernel], targets: Iterable[str | Target], seed: int = 0
) -> None:
    """Check that the bound kernels compute on each target what the oracle computes of the plain ones.

    Sums are of small integers and must be exact; where a kernel has float functions or adds in float16,
    within a tolerance.  Raises AssertionError with the scripts.
    """
    functions = {f"f{n}": one.bound.with_attr("global_symbol", f"f{n}") for n, one in enumerate(kernels)}
    module = IRModule(functions)
    for target in targets:
        built = build_as_is(module, target)
        for n, one in enumerate(kernels):
            arguments = sample_arguments(one.plain, seed)
            run = on_device(built[f"f{n}"], Target(target).kind)
            try:
                assert_same_results(one.plain, run, *arguments, tolerance=tolerance(one.plain))
            except AssertionError as err:
                err.add_note(f"on {target}, bound as:\n{one.bound.script(show_meta=True)}")
                raise


def build_as_is(module: IRModule, target: str | Target, *last: Callable[[IRModule], IRModule]) -> Any:
    """The module built with the loops that it has; `last` are passes to run on the lowered program."""
    from ..codegen import build
    from ..transform.device import GPU_PIPELINE

    pipeline: list[Callable[[IRModule], IRModule]] | None = [*GPU_PIPELINE, *last] if last else None
    return build(module, target, schedule=None, pipeline=pipeline)


def on_device(function: Callable[..., Any], kind: str) -> Callable[..., None]:
    """The function for arrays of numpy, which are copied to a device with its own memory, and back."""
    if kind in ("cuda-sim", "llvm"):
        return function

    def call(*arguments: Any) -> None:
        from ..runtime import tensor

        moved = [tensor(a, device=kind) if isinstance(a, np.ndarray) else a for a in arguments]
        function(*moved)
        for before, after in zip(arguments, moved):
            if isinstance(before, np.ndarray):
                before[...] = after.numpy()

    return call


def tolerance(func: PrimFunc) -> float:
    """How far results may be off, relative to the largest: 0 but for float functions and sums of float16."""
    if any(p.dtype.bits == 16 for p in func.params):
        return 4e-3
    inexact = any(isinstance(n, Call) and n.dtype.is_float and n.op.name == "tirx.exp" for n in walk(func))  # type: ignore[union-attr]
    return 1e-5 if inexact else 0.0


class _Drop(Rewriter):
    """Leaves out the call number `which` of an operator."""

    def __init__(self, operator: str, which: int) -> None:
        super().__init__()
        self.operator, self.left = operator, which

    def visit_Evaluate(self, stmt: Evaluate) -> Any:
        if isinstance(stmt.value, Call) and getattr(stmt.value.op, "name", "") == self.operator:
            self.left -= 1
            if self.left == -1:
                return Evaluate(const(0, "int32"))
        return stmt


def count_calls(mod: IRModule, operator: str) -> int:
    """How many calls of an operator the module has."""
    return sum(
        isinstance(n, Call) and getattr(n.op, "name", "") == operator
        for f in mod.functions.values()
        for n in walk(f)
    )


def without_call(operator: str, which: int) -> Callable[[IRModule], IRModule]:
    """A pass that leaves out one call of an operator: a planted fault."""

    def drop(mod: IRModule) -> IRModule:
        rewrite = _Drop(operator, which)
        return mod.map_prim_funcs(lambda f: rewrite(f))

    return drop


class _Shift(Rewriter):
    def __init__(self, distance: int) -> None:
        super().__init__()
        self.distance = distance

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        if stmt.buffer.ty.storage_scope != "global":  # type: ignore[attr-defined]
            return stmt
        (index,) = stmt.indices
        return stmt.replace(indices=(index + const(self.distance, index.dtype),))


def with_stores_moved(distance: int) -> Callable[[IRModule], IRModule]:
    """A pass that moves each store to global memory by some elements: a planted fault."""
    return lambda mod: mod.map_prim_funcs(lambda f: _Shift(distance)(f) if "calling_conv" in f.attrs else f)


class _Together(Rewriter):
    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        if stmt.buffer.ty.storage_scope != "global":  # type: ignore[attr-defined]
            return stmt
        (index,) = stmt.indices
        return stmt.replace(indices=(const(0, index.dtype),))


def with_stores_together(mod: IRModule) -> IRModule:
    """A pass that lets each store to global memory go to the first element: a planted race."""
    return mod.map_prim_funcs(lambda f: _Together()(f) if "calling_conv" in f.attrs else f)


__all__ = [
    "assert_devices_agree",
    "build_as_is",
    "count_calls",
    "on_device",
    "tolerance",
    "with_stores_moved",
    "with_stores_together",
    "without_call",
]
