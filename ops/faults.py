"""Errors of type rules."""

from __future__ import annotations

from typing import NoReturn

from ..errors import Diagnostic, DTypeError


class ShapeFault(DTypeError, ValueError):
    """Operands whose shapes or values do not fit an operator; also a ValueError, as callers expect."""


def type_fault(op: str, text: str, *help: str) -> NoReturn:
    """Raise for operands of the wrong kind or dtype: a TypeError."""
    raise DTypeError(Diagnostic("operator-types", f"R.{op}: {text}", help=help))


def shape_fault(op: str, text: str, *help: str) -> NoReturn:
    """Raise for shapes, axes or values that do not fit: a ValueError (and DTypeError)."""
    raise ShapeFault(Diagnostic("operator-shapes", f"R.{op}: {text}", help=help))


__all__ = ["ShapeFault", "shape_fault", "type_fault"]
