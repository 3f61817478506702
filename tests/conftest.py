"""What every test shares: the Hypothesis profiles, and a cache folder of the run's own."""

from __future__ import annotations

import os
import tempfile

from loopwright.testing.profiles import register_profiles

# Read when the first cache is opened, so it must stand before any test runs.
_cache = tempfile.TemporaryDirectory(prefix="loopwright-tests-")
os.environ["LOOPWRIGHT_CACHE_DIR"] = _cache.name
register_profiles()
