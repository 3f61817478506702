"""The pytest plugin: `-p loopwright.testing.pytest_plugin`.

The root of loopwright's own repository holds an `__init__.py`, since it is the package. Left alone, pytest
would import it once more under the folder's name, and with it a second copy of every node class. Here the
root is collected as the plain directory that it is for the tests.
"""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden`: golden tests write what they find into their files instead of comparing."""
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite golden files with the present results"
    )


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the root of loopwright's repository as a directory, not a package; leave all else to pytest."""
    if path == parent.config.rootpath and (path / "testing" / "pytest_plugin.py").is_file():
        return pytest.Dir.from_parent(parent, path=path)
    return None
