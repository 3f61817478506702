"""Our own machine code that compiled kernels call by address: the thread pool and the allocator.

It is compiled once (or comes from the disk cache), loaded once a process, and never unloaded.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading

from ...runtime.memory import Statistics, add_store
from ...runtime.threads import Pool
from . import cache, jit, pool, workspace

_lock = threading.Lock()


class Workspaces:
    """The store of freed local buffers; see `workspace.py`."""

    def __init__(self, code: jit.Loaded) -> None:
        self._release = ctypes.CFUNCTYPE(None)(code.address("lw.memory.release"))
        self.unlock = ctypes.CFUNCTYPE(None)(code.address("lw.memory.unlock"))
        """For a child process: nobody is at the lists."""
        self._table = (ctypes.c_int64 * len(workspace.FIELDS)).from_address(code.address("lw.memory.table"))

    def statistics(self) -> Statistics:
        """What it holds now."""
        return Statistics(*self._table[:-1])

    def release(self) -> None:
        """Give back what waits."""
        self._release()

    def set_limit(self, limit: int) -> None:
        """Let at most so many bytes wait."""
        self._table[workspace.FIELDS.index("limit")] = limit
        if self.statistics().cached_bytes > limit:
            self._release()


class Support:
    """The loaded code: addresses by what a kernel calls them."""

    def __init__(self, platform: str | None = None) -> None:
        """Load it; `platform` chooses how threads wait, that of this system if None."""
        machine = jit.host()
        named = [platform] if platform else []
        text = pool.text(machine.triple, *named) + workspace.text(*named)
        name = cache.key("support", text, machine.triple, machine.cpu, machine.features, jit.versions())
        found = cache.load(name)
        image = found[0] if found is not None else jit.compile_object(text, machine)
        if found is None:
            cache.store(name, image, {})
        self._code = jit.Loaded(image, [*pool.SYMBOLS, *workspace.SYMBOLS])
        at = self._code.address
        self.pool = Pool(*[at(f"lw.pool.{what}") for what in ("worker", "wake", "reset", "control")])
        self.workspaces = Workspaces(self._code)
        self.addresses = {
            "launch": at("lw.pool.launch"),
            "take": at("lw.memory.take"),
            "give": at("lw.memory.give"),
        }


def support() -> Support:
    """The support code of this process."""
    with _lock:
        return _only()


@functools.cache
def _only() -> Support:
    made = Support()
    add_store(made.workspaces)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=made.workspaces.unlock)
    return made
