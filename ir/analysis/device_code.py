"""Checks of programs for devices: memory accessed from the host, limits of a GPU."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import Diagnostic, IRError, suggest
from ...node import Node, runs_deep
from ..arith import Analyzer
from ..expr import BufferLoad, Cast, Expr, IterVar, Var
from ..function import PrimFunc
from ..stmt import AllocBuffer, AttrStmt, BufferStore, DeclBuffer, For, ForKind, Stmt
from ..types import BufferType
from ..visitor import Visitor, children, walk
from .memory import buffer_bytes

LIMITS = (
    "max_local_memory_per_block",
    "max_shared_memory_per_block",
    "max_threads_per_block",
    "max_thread_x",
    "max_thread_y",
    "max_thread_z",
    "max_vthread",
    "max_vector_bytes",
    "max_kernels",
)
"""What `verify_gpu_code` can limit."""


@runs_deep
def host_accesses(func: PrimFunc, device: str | None = None) -> list[Node]:
    """The loads and stores of parameters that stand outside of all threads, in a function for a GPU.

    `device` is the kind of the target; without it that of the function's attribute `target`.
    Programs for other devices have none.
    """
    kind = device or str(getattr(func.attrs.get("target"), "device_kind", "cpu"))
    if kind == "cpu":
        return []
    finder = _HostAccesses(func)
    finder.visit(func.body)
    return finder.found


def verify_memory(func: PrimFunc, device: str | None = None) -> bool:
    """Whether no device memory is accessed from host code."""
    return not host_accesses(func, device)


class _HostAccesses(Visitor):
    """Collects host accesses of device memory: parameters, and what the host allocates for kernels."""

    def __init__(self, func: PrimFunc) -> None:
        self.memory = {p for p in func.params if isinstance(p.ty, BufferType)}
        self.memory |= {v for s in _kernels(func.body) for v in walk(s) if isinstance(v, Var)}
        self.known = {p for p in func.params if isinstance(p.ty, BufferType)}
        self.found: list[Node] = []

    def visit_AttrStmt(self, stmt: AttrStmt) -> None:
        if not _on_device(stmt):
            self.visit_fields(stmt)

    def visit_For(self, loop: For) -> None:
        if not _on_device(loop):
            self.visit_fields(loop)

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> None:
        if stmt.buffer in self.memory:
            self.known.add(stmt.buffer)

    def visit_DeclBuffer(self, stmt: DeclBuffer) -> None:
        if any(v in self.known for v in walk(stmt.data)):
            self.known.add(stmt.buffer)

    def visit_BufferLoad(self, e: BufferLoad) -> None:
        if e.buffer in self.known:
            self.found.append(e)
        for index in e.indices:
            self.visit(index)

    def visit_BufferStore(self, stmt: BufferStore) -> None:
        if stmt.buffer in self.known:
            self.found.append(stmt)
        self.visit(stmt.value)
        for index in stmt.indices:
            self.visit(index)


def _on_device(stmt: Node) -> bool:
    """Whether the statement's body runs on the device."""
    if isinstance(stmt, For):
        return stmt.kind is ForKind.THREAD_BINDING
    return isinstance(stmt, AttrStmt) and stmt.attr_key in _DEVICE_PARTS


_DEVICE_PARTS = ("thread_extent", "pipeline_exec_scope", "device_scope")


def _kernels(body: Node) -> list[Node]:
    """The parts that run on the device."""
    if _on_device(body):
        return [body]
    return [k for c in children(body) if isinstance(c, Stmt) for k in _kernels(c)]


@runs_deep
def gpu_faults(func: PrimFunc, limits: Mapping[str, int]) -> list[str]:
    """What exceeds the limits (names of LIMITS) in a function for a GPU, as sentences.

    Raises IRError for an unknown limit.
    """
    for name in limits:
        if name not in LIMITS:
            raise IRError(
                Diagnostic("unknown-option", f"there is no limit `{name}`", help=suggest(name, list(LIMITS)))
            )
    counter = _Kernels({k: int(v) for k, v in limits.items()})
    counter.visit(func.body)
    counter.limit("max_kernels", counter.kernels, "kernels are launched")
    return counter.faults


def verify_gpu_code(func: PrimFunc, limits: Mapping[str, int]) -> bool:
    """Whether a function for a GPU stays within the limits."""
    return not gpu_faults(func, limits)


class _Kernels(Visitor):
    def __init__(self, limits: Mapping[str, int]) -> None:
        self.limits = limits
        self.faults: list[str] = []
        self.kernels = 0
        self.depth = 0
        self.ana = Analyzer()

    def limit(self, name: str, value: int, what: str) -> None:
        """Note a fault where a value exceeds its limit."""
        if name in self.limits and value > self.limits[name]:
            self.faults.append(f"{value} {what}, at most {self.limits[name]} may be")

    def visit_AttrStmt(self, stmt: AttrStmt) -> None:
        if stmt.attr_key in ("thread_extent", "virtual_thread") and isinstance(stmt.node, IterVar):
            self.threads(stmt.node.thread_tag, stmt.node, stmt.value, stmt)
        else:
            self.visit_fields(stmt)

    def visit_For(self, loop: For) -> None:
        if loop.kind is ForKind.THREAD_BINDING and loop.thread_binding is not None:
            self.threads(loop.thread_binding.thread_tag, loop.thread_binding, loop.extent, loop)
        else:
            self.visit_fields(loop)

    def threads(self, tag: str, axis: IterVar, extent: Expr, stmt: AttrStmt | For) -> None:
        """A thread axis; the outermost begins a kernel."""
        if self.depth == 0:
            self.kernels += 1
            self.used = {"local": 0, "shared": 0}
            self.count: dict[str, int] = {}
            self.vthreads = 1
        self.depth += 1
        value = self.ana.const_int_bound(extent).max
        if tag.startswith("vthread") or tag == "cthread":
            self.vthreads *= value
        elif tag.startswith("threadIdx"):
            self.count.setdefault(tag, value)
            self.limit(f"max_thread_{tag[-1]}", value, f"threads run along {tag}")
        self.visit(stmt.body)
        self.depth -= 1
        if self.depth == 0:
            self.end_kernel()

    def end_kernel(self) -> None:
        total = 1
        for value in self.count.values():
            total *= value
        self.limit("max_threads_per_block", total, "threads run in a block")
        self.limit("max_vthread", self.vthreads, "virtual threads run")
        self.limit("max_local_memory_per_block", self.used["local"], "bytes of local memory are used")
        self.limit("max_shared_memory_per_block", self.used["shared"], "bytes of shared memory are used")

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> None:
        ty = stmt.buffer.ty
        assert isinstance(ty, BufferType)
        kind = "shared" if ty.storage_scope.startswith("shared") else ty.storage_scope
        if self.depth and kind in self.used:
            self.used[kind] += buffer_bytes(stmt.buffer, self.ana) or 0
        self.width(stmt.buffer)

    def visit_BufferLoad(self, e: BufferLoad) -> None:
        self.vector(e)
        self.visit_fields(e)

    def visit_Cast(self, e: Cast) -> None:
        self.vector(e)
        self.visit(e.value)

    def visit_BufferStore(self, stmt: BufferStore) -> None:
        self.vector(stmt.value)
        self.visit_fields(stmt)

    def width(self, buffer: Var) -> None:
        ty = buffer.ty
        assert isinstance(ty, BufferType)
        if ty.dtype.lanes > 1:
            self.limit("max_vector_bytes", ty.dtype.lanes * ty.dtype.bits // 8, "bytes are in a vector")

    def vector(self, e: Expr) -> None:
        if e.dtype.lanes > 1:
            self.limit("max_vector_bytes", e.dtype.lanes * e.dtype.bits // 8, "bytes are in a vector")


__all__ = ["LIMITS", "gpu_faults", "host_accesses", "verify_gpu_code", "verify_memory"]
