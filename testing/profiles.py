"""Hypothesis profiles: `fast` while writing, `ci` in continuous integration, `thorough` by hand.

python -m pytest tests/test_laws.py --hypothesis-profile=thorough
"""

from __future__ import annotations

import os

EXAMPLES = {"fast": 25, "ci": 60, "thorough": 20_000}


def register_profiles() -> None:
    """Register the three profiles and load the one that HYPOTHESIS_PROFILE names (`fast` without it).

    Examples of `fast` and `ci` are always the same, so that a run can be repeated; `thorough` draws new ones.
    """
    from hypothesis import HealthCheck, settings

    for name, examples in EXAMPLES.items():
        settings.register_profile(
            name,
            max_examples=examples,
            deadline=None,
            derandomize=name != "thorough",
            database=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))
