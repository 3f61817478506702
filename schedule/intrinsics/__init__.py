"""Tensor intrinsics that come with the package, one module a family; imported when first asked for."""

from __future__ import annotations
