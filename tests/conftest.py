"""What every test shares: the Hypothesis profiles."""

from __future__ import annotations

from loopwright.testing.profiles import register_profiles

register_profiles()
