"""How many threads parallel loops run on, and the threads that help.

    threads.number()    the count: as set, or as the environment says, or one for each processor
    threads.set(4)      another count for the whole process; `None` goes back to the default

`LOOPWRIGHT_NUM_THREADS` is the variable of the environment.  The thread that calls a kernel is one
of the count; the others are daemon threads that start with the first parallel loop that wants them.
"""

from __future__ import annotations

import atexit
import ctypes
import operator
import os
import threading
import warnings
from typing import Any, Final

from ..errors import ArgumentTypeError, ArgumentValueError, Diagnostic
from ..target import core_count

MOST: Final = 4096
_STACK = 8 * 1024 * 1024
VARIABLES: list[str] = ["LOOPWRIGHT_NUM_THREADS"]
"""Variables of the environment that give the count, the first one set counts."""

_lock = threading.RLock()
_pools: list[Pool] = []
_set: int | None = None


def checked(value: Any, where: str) -> int:
    """A count of threads. Raises ArgumentTypeError or ArgumentValueError that say where it stands."""
    help = (f"give a whole number from 1 to {MOST}",)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        text = f"{where} must be a number of threads, not a {type(value).__name__}"
        raise ArgumentTypeError(Diagnostic("thread-count", text, help=help))
    count = operator.index(value)
    if not 1 <= count <= MOST:
        raise ArgumentValueError(
            Diagnostic("thread-count", f"{where} is {count}, no number of threads", help=help)
        )
    return count


def number() -> int:
    """The threads that a parallel loop may use, the calling one included.

    Raises ArgumentValueError where the environment gives something else than a count.
    """
    if _set is not None:
        return _set
    for name in VARIABLES:
        text = os.environ.get(name, "")
        if text:
            found = int(text) if text.strip().isdecimal() and len(text) < 10 else None
            if found is None:
                help = (f"give a whole number from 1 to {MOST}",)
                message = f"the environment variable {name} is `{text}`, no number of threads"
                raise ArgumentValueError(Diagnostic("thread-count", message, help=help))
            return checked(found, f"the environment variable {name}")
    return min(core_count(), MOST)


def set(count: int | None) -> None:
    """Let parallel loops of this process use so many threads from now on; None: the default again.

    Loops that are running end on the threads they have.  Raises ArgumentTypeError or ArgumentValueError
    for what is no count.
    """
    global _set
    wanted = None if count is None else checked(count, "the argument of `threads.set`")
    with _lock:
        _set = wanted
        for pool in _pools:
            pool.stop()


_Plain = ctypes.CFUNCTYPE(None)


class Pool:
    """The helping threads of one pool in machine code.

    `worker` is the address of a function that a helping thread runs until the pool stops; `control`
    that of a table: whether to stop (int32), how many threads there are, 0 before they are
    started (int32), and the function that starts them.  `wake` makes sleeping threads look at the
    table, `reset` forgets the job of a process that this one is a fork of.
    """

    def __init__(self, worker: int, wake: int, reset: int, control: int) -> None:
        self._worker = _Plain(worker)
        self._wake = _Plain(wake)
        self._reset = _Plain(reset)
        self._stopping = ctypes.c_int32.from_address(control)
        self._threads = ctypes.c_int32.from_address(control + 4)
        self._closed = False
        self._helpers: list[threading.Thread] = []
        self._callback = _Plain(self._start)
        ctypes.c_void_p.from_address(control + 8).value = ctypes.cast(self._callback, ctypes.c_void_p).value
        with _lock:
            _pools.append(self)

    @property
    def running(self) -> int:
        """The threads there are, the caller's included; 0 before the first parallel loop."""
        return self._threads.value

    def _start(self) -> None:
        """Start the threads; called by the first launch.  Who finds the lock taken goes on alone."""
        if self._closed or not _lock.acquire(blocking=False):
            return
        try:
            if self._threads.value == 0:
                self._threads.value = 1 + self._start_helpers(number() - 1)
        except ArgumentValueError as err:  # the environment was right when the kernel was loaded
            self._threads.value = 1
            warnings.warn(f"parallel loops run on one thread: {err}", RuntimeWarning, stacklevel=2)
        finally:
            _lock.release()

    def _start_helpers(self, count: int) -> int:
        before = threading.stack_size(_STACK)
        try:
            for k in range(count):
                name = f"loopwright-{k + 1}"
                helper = threading.Thread(target=self._worker, name=name, daemon=True)
                helper.start()
                self._helpers.append(helper)
        except RuntimeError as err:
            text = f"parallel loops run on {1 + len(self._helpers)} threads, not on {1 + count}: {err}"
            warnings.warn(text, RuntimeWarning, stacklevel=2)
        finally:
            threading.stack_size(before)
        return len(self._helpers)

    def stop(self) -> None:
        """End the helping threads; the next launch starts as many as are wanted then."""
        self._threads.value = 0
        self._stopping.value = 1
        self._wake()
        for helper in self._helpers:
            helper.join()
        self._helpers.clear()
        self._stopping.value = 0

    def close(self) -> None:
        """End the helping threads for good; launches run on their caller's thread."""
        with _lock:
            self._closed = True
            self.stop()
            _pools.remove(self)

    def forked(self) -> None:
        """Begin anew in a child process, which has none of the threads."""
        self._helpers.clear()
        self._reset()


def _before_fork() -> None:
    _lock.acquire()
    for pool in _pools:
        pool.stop()


def _after_fork_in_child() -> None:
    for pool in _pools:
        pool.forked()
    _lock.release()


def _close() -> None:
    for pool in _pools[:]:
        pool.close()


atexit.register(_close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_lock.release, after_in_child=_after_fork_in_child
    )
