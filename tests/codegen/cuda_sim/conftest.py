"""Kernels written by hand, loaded into the simulator."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from loopwright.codegen.cuda_sim import load, read_kernels


@pytest.fixture(scope="session")
def loader() -> Callable[..., dict[str, Any]]:
    """Loads the kernels of a text."""
    if shutil.which("g++") is None:
        pytest.skip("needs g++")

    def load_text(text: str, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return load(read_kernels(text), options)

    return load_text
