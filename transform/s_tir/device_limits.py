"""Kernels stay within what the device has."""

from __future__ import annotations

from math import prod
from typing import Any, Final

from ...ir import AllocBuffer, AttrStmt, IntImm, IRModule, IterVar, PrimFunc
from ...ir.visitor import Visitor
from ...target import Target
from ..common import buffer_type, refuse
from ..registry import register_pass
from ..strides import element_count
from .on_chip import is_for_threads

_SCOPES: Final = ("global", "local", "shared", "shared.dyn")
_TENSOR_CORES: Final = ("wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator")
_AXES: Final = {
    "cuda": {
        "threadIdx.x": 1024,
        "threadIdx.y": 1024,
        "threadIdx.z": 64,
        "blockIdx.x": 2**31 - 1,
        "blockIdx.y": 65535,
        "blockIdx.z": 65535,
    },
    "rocm": {"threadIdx.x": 1024, "threadIdx.y": 1024, "threadIdx.z": 1024, "blockIdx.x": 2**31 - 1},
}
_LOCAL: Final = 512 << 10
"""The bytes of local memory that a thread may have at most."""


@register_pass("s_tir.VerifyDeviceLimits")
def verify_device_limits(mod: IRModule) -> IRModule:
    """Refuses a function whose kernels ask for more than its target has, as far as numbers are constant.

    Checked are the threads of a block, the extents of axes, shared memory, local memory, and that the
    scopes of buffers are memories of the target.  Functions for the CPU, and those without a target, pass.

    before:
        @T.prim_func
        def f(A: T.Buffer((1024,), "float32")):
            T.func_attr({"target": T.target("cuda")})
            t = T.launch_thread("threadIdx.x", 1024)
            A[t] = T.float32(0)

    after:
        @T.prim_func
        def f(A: T.Buffer((1024,), "float32")):
            T.func_attr({"target": T.target("cuda")})
            t = T.launch_thread("threadIdx.x", 1024)
            A[t] = T.float32(0)
    """
    for name, func in mod.functions.items():
        target = func.attrs.get("target")
        if isinstance(func, PrimFunc) and isinstance(target, Target) and "gpu" in target.keys:
            check = _Check(name.name, target)
            check.depth = int(is_for_threads(func))
            check(func)
    return mod


class _Check(Visitor):
    def __init__(self, name: str, target: Target) -> None:
        from ...schedule.dlight.gpu.machine import gpu_machine

        self.name = name
        self.target, self.machine = target, gpu_machine(target)
        self.axes: dict[str, int] = {}
        self.shared: dict[str, int] = {}
        self.depth = 0

    def exceeds(self, value: int, limit: int, what: str, node: Any, remedy: str) -> None:
        """Refuse a value above a limit that is known."""
        if limit and value > limit:
            text = (
                f"a kernel of `{self.name}` has {value} {what}; `{self.target.kind}` allows at most {limit}"
            )
            raise refuse("device-limit", text, node, remedy)

    def visit_AttrStmt(self, stmt: AttrStmt) -> None:
        axis = stmt.node
        if stmt.attr_key != "thread_extent" or not isinstance(axis, IterVar):
            self.visit(stmt.body)
            return
        if not self.depth:
            self.axes, self.shared = {}, {}
        if isinstance(stmt.value, IntImm) and axis.thread_tag not in self.axes:
            self.launch(axis.thread_tag, stmt.value.value, stmt)
        self.depth += 1
        self.visit(stmt.body)
        self.depth -= 1

    def launch(self, tag: str, extent: int, stmt: AttrStmt) -> None:
        """An axis with a constant extent."""
        family = "cuda" if self.machine.is_cuda else self.target.kind
        limit = _AXES.get(family, {}).get(tag, 0)
        self.axes[tag] = extent
        block = {t: n for t, n in self.axes.items() if t.startswith("threadIdx")}
        if tag in block:
            sizes = " x ".join([f"{t} {n}" for t, n in block.items()])
            what = f"threads in a block ({sizes})"
            self.exceeds(prod(block.values()), self.machine.threads, what, stmt, "split the loop into blocks")
        what = "threads along" if tag in block else "blocks along"
        self.exceeds(extent, limit, f"{what} `{tag}`", stmt, "use another axis as well")

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> None:
        ty = buffer_type(stmt.buffer)
        scope = ty.storage_scope or "global"
        allowed = (*_SCOPES, *(_TENSOR_CORES if self.target.kind != "opencl" else ()))
        if scope not in allowed and not (scope.startswith("texture") and self.target.kind == "opencl"):
            raise refuse(
                "device-scope",
                f"`{stmt.buffer.name}` of `{self.name}` is in the memory `{scope}`, "
                f"which `{self.target.kind}` does not have",
                stmt,
                "memories are " + ", ".join(f"`{s}`" for s in allowed),
            )
        if scope != "global" and not self.depth:
            raise refuse(
                "on-chip-memory",
                f"`{stmt.buffer.name}` of `{self.name}` is in `{scope}` memory "
                "and is allocated outside of all kernels",
                stmt,
                "bind a loop around its uses to a thread axis, or let it be in global memory",
            )
        count = element_count(ty)
        if isinstance(count, IntImm):
            self.memory(scope, -(-count.value * ty.dtype.bits * ty.dtype.lanes // 8), stmt)

    def memory(self, scope: str, size: int, stmt: AllocBuffer) -> None:
        """An allocation of so many bytes."""
        remedy = f"make `{stmt.buffer.name}` or another buffer smaller"
        if scope.startswith("shared"):
            self.shared[scope] = self.shared.get(scope, 0) + size
            fixed, total = self.shared.get("shared", 0), sum(self.shared.values())
            more = " (`shared.dyn` may have more)" if self.machine.dynamic > self.machine.shared else ""
            self.exceeds(fixed, self.machine.shared, "bytes of shared memory", stmt, remedy + more)
            self.exceeds(total, self.machine.dynamic, "bytes of shared memory", stmt, remedy)
        elif scope == "local":
            self.exceeds(size, _LOCAL, f"bytes for the local buffer `{stmt.buffer.name}`", stmt, remedy)
