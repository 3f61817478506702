"""This project's side of a benchmark suite that compares implementations kernel by kernel.

The suite puts its own folder on the path: `common` and `kernels_tvm` are its modules there, the latter with
the texts of the kernels and one schedule by hand for each.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import kernels_tvm  # type: ignore[import-not-found]
import numpy as np
from common import Unsupported  # type: ignore[attr-defined]

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import hand

Phases = dict[str, Callable[[], Any]]


class Impl:
    """`loopwright`: kernels as they are written, under the default rules; `loopwright-sched`: with schedules
    by hand, those of `hand.py` or else the suite's."""

    def __init__(self, name: str, threads: int) -> None:
        # Each timed phase does all of its work; nothing comes from an earlier run.
        os.environ["LOOPWRIGHT_CACHE"] = "0"
        import loopwright

        if name not in ("loopwright", "loopwright-sched"):
            raise Unsupported(name)
        from loopwright.runtime import tensor

        self.lw = loopwright
        self.tensor = tensor
        self.name = name
        self.threads = threads

    def module(self, w: Any) -> Any:
        """The kernel of a workload as it is written."""
        if w.kind not in kernels_tvm.TEXT:
            raise Unsupported(w.kind)
        return self.lw.parse(kernels_tvm.TEXT[w.kind](w.params))

    def scheduled(self, w: Any, mod: Any, own: bool = True) -> Any:
        """The schedule after our own steps (if `own`) or the suite's. Raises Unsupported where it has none."""
        sch = self.lw.Schedule(mod)
        if own and hand.schedule(w.kind, w.params, sch):
            return sch
        if not kernels_tvm.hand_schedule(w, sch):
            raise Unsupported(w.kind)
        return sch

    def prepare(self, w: Any, inputs: list[Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
        """A call of the compiled kernel, and its result."""
        mod = self.module(w)
        if self.name == "loopwright-sched":
            mod = self.scheduled(w, mod).mod
        else:
            from loopwright.schedule.dlight import default_schedule

            mod = default_schedule(mod)
        func = self.lw.build(mod)["main"]
        out = np.zeros(w.out_shape, w.out_dtype)
        args = [self.tensor(x).numpy() for x in (*inputs, out)]  # in memory of ours, as arrays of numpy
        return (lambda: func(*args)), lambda: args[-1]

    def phases(self, w: Any) -> tuple[Phases, dict[str, Any]]:
        """The phases of compiling a workload, with the suite's schedule: all take the same steps."""
        sched = (lambda mod: self.scheduled(w, mod, False)) if self.name == "loopwright-sched" else None
        self.module(w)
        return self._phases(kernels_tvm.TEXT[w.kind](w.params), sched)

    def _phases(self, text: str, schedule: Callable[[Any], Any] | None) -> tuple[Phases, dict[str, Any]]:
        from loopwright.codegen.llvm import jit
        from loopwright.codegen.llvm.build import Compiled
        from loopwright.codegen.llvm.machine import machine_for
        from loopwright.target import Target
        from loopwright.transform import lower

        target = Target("llvm")
        machine = machine_for(target, jit.host(), jit.host_features(), jit.known_names)
        mod = self.lw.parse(text)
        info: dict[str, Any] = {"text_lines": text.count("\n")}
        found: Phases = {"parse": lambda: self.lw.parse(text), "print": mod.script}
        final = mod
        if schedule is not None:
            sch = schedule(mod)
            final = sch.mod
            info["primitives"] = len(sch.trace.insts)
            found["schedule"] = lambda: schedule(mod)
        lowered = lower(final, target)

        def compiled(make: Callable[[], Any]) -> Any:
            return Compiled(final, make, "", False, machine).functions["main"]

        found["lower"] = lambda: lower(final, target)
        found["codegen"] = lambda: compiled(lambda: lowered)
        found["compile"] = lambda: compiled(lambda: lower(final, target))
        return found, info

    def callers(self) -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
        """Ways to call add-one on 16 float32 values."""
        func = self.lw.build(self.lw.parse(kernels_tvm.add_one()))["main"]
        a, b = np.zeros(16, np.float32), np.zeros(16, np.float32)
        own = self.lw.Tensor
        found = {
            "numpy": (func, (a, b)),
            "tensor": (func, (own.from_dlpack(a), own.from_dlpack(b))),
        }
        try:
            import torch
        except ImportError:
            return found
        return {**found, "torch tensor": (func, (torch.zeros(16), torch.zeros(16)))}

    def scaling(self, kind: str, n: int) -> Phases:
        """The phases for a chain of `n` blocks, and inlining all of them one by one."""
        if kind != "blocks":
            raise Unsupported(kind)
        text = kernels_tvm.chain_blocks(n)
        mod = self.lw.parse(text)

        def inline() -> None:
            sch = self.lw.Schedule(mod)
            for k in range(n - 1):
                sch.compute_inline(sch.get_sblock(f"b{k}"))

        return {**self._phases(text, None)[0], "inline_all": inline}
