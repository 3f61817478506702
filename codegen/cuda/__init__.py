"""CUDA and HIP: the words of the language, rules for its operators."""

from __future__ import annotations

from .dialect import Cuda
from .hip import Hip

__all__ = ["Cuda", "Hip"]
