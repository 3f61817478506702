"""Compiling makes many objects and few cycles: the garbage collector can wait until it is done."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_waiting = 0


@contextmanager
def collector_paused() -> Iterator[None]:
    """No automatic garbage collection inside, in whatever thread; afterwards it is as it was.

    May be nested, and entered by several threads: the last one to leave turns it on again.
    """
    global _waiting
    with _lock:
        if _waiting == 0 and not gc.isenabled():
            ours = False
        else:
            ours = True
            _waiting += 1
            gc.disable()
    try:
        yield
    finally:
        if ours:
            with _lock:
                _waiting -= 1
                if _waiting == 0:
                    gc.enable()
