"""Tools for testing compilers: strategies, round-trip and differential checks, the pytest plugin.

Nothing heavy is imported here: pytest loads this package before it collects anything.
"""

from __future__ import annotations
