"""Processes that share work: each takes the next number until none is left."""

from __future__ import annotations

import os
import signal
import struct
import sys
from collections.abc import Callable

from ..target import core_count
from .llvm import jit

_MOST = 8192
"""So many numbers fit into a pipe at once."""
_FEW = 3
"""For fewer a copy of the process does not pay."""


def share(count: int, work: Callable[[int], None], done: Callable[[int], None]) -> None:
    """Run `work(k)` for each k below `count` in copies of this process, whose effect must be outside of it.

    `done(n)` is called here when n of them are finished.  What fails there is left undone.  Where there is
    one core, or nothing to copy the process with, nothing is done at all.
    """
    cores = min(core_count(), count)
    if cores < 2 or count < _FEW or not hasattr(os, "fork"):
        return
    for start in range(0, count, _MOST):
        _share(range(start, min(count, start + _MOST)), cores, work, done)


def _share(numbers: range, cores: int, work: Callable[[int], None], done: Callable[[int], None]) -> None:
    take, give = os.pipe()
    hear, tell = os.pipe()
    os.write(give, b"".join([struct.pack("=i", k) for k in numbers]))
    os.close(give)
    children = []
    try:
        for _ in range(cores):
            child = jit.fork()
            if child == 0:
                _work(take, tell, work)
            children.append(child)
        os.close(tell)
        finished = numbers.start
        while got := os.read(hear, 4096):
            finished += len(got)
            done(finished)
    except BaseException:
        for child in children:
            os.kill(child, signal.SIGTERM)
        raise
    finally:
        os.close(take)
        os.close(hear)
        for child in children:
            os.waitpid(child, 0)


def _work(take: int, tell: int, work: Callable[[int], None]) -> None:
    """What a copy of the process does; it does not return."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        while len(data := os.read(take, 4)) == 4:
            try:
                work(struct.unpack("=i", data)[0])
            except Exception:
                pass  # who asked does it again, and reports the error
            os.write(tell, b".")
    finally:
        os._exit(0)


class Progress:
    """A line on the terminal that says how far a long build is; nothing where the output is no terminal."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total = what, total
        self.shown = total > 0 and sys.stderr.isatty()

    def __call__(self, finished: int) -> None:
        """Show that so many are finished."""
        if self.shown:
            print(f"\r{self.what}: {finished}/{self.total}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Clear the line."""
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


__all__ = ["Progress", "share"]
