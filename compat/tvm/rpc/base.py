"""`tvm.rpc.base`: keys by which clients are told apart."""

from __future__ import annotations

import random
from collections.abc import Container

from ...adapters import lacking


def random_key(prefix: str, cmap: Container[str] | None = None) -> str:
    """The prefix with a random ending, such that the key is not in `cmap`."""
    while True:
        key = f"{prefix}:{random.getrandbits(64):016x}"
        if cmap is None or key not in cmap:
            return key


def split_random_key(key: str) -> tuple[str, str]:
    """The prefix that `random_key` was given, and the random ending."""
    prefix, _, ending = key.rpartition(":")
    return prefix, ending


__getattr__ = lacking("tvm.rpc.base", "running on other machines comes with its own issue")

__all__ = ["random_key", "split_random_key"]
