"""The primitives, one family a file. Importing this package registers them all."""

from __future__ import annotations

import importlib
import pkgutil

for _module in sorted([m.name for m in pkgutil.iter_modules(__path__)]):
    importlib.import_module(f"{__name__}.{_module}")

from ..schedule import install_methods  # noqa: E402  after the primitives are known

install_methods()
