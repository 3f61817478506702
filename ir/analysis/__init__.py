"""What is computed about programs without changing them."""

from __future__ import annotations

from .well_formed import assert_well_formed, check_well_formed

__all__ = ["assert_well_formed", "check_well_formed"]
