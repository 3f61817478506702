"""The import finder: `tvm.x` is the module `loopwright.compat.tvm.x`, or the one named in `ELSEWHERE`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

PACKAGE: Final = __name__.rpartition(".")[0]
HOUSE: Final = PACKAGE.rpartition(".")[0]

ROOTS: Final = ("tvm", "tvm_ffi")
"""The top-level names that lead to ours."""

ELSEWHERE: Final = {
    "tvm.script.tirx": f"{HOUSE}.script.tirx",
    "tvm.script.ir": f"{HOUSE}.script.ir",
    "tvm.script.relax": f"{HOUSE}.script.relax",
    "tvm.script.parser.tirx": f"{HOUSE}.script.tirx",
    "tvm.script.parser.ir": f"{HOUSE}.script.ir",
    "tvm.script.parser.relax": f"{PACKAGE}.tvm.script.parser.relax",
    # the names of older releases
    "tvm.script.tir": f"{HOUSE}.script.tirx",
    "tvm.tir": f"{PACKAGE}.tvm.tirx",
    "tvm.arith": f"{PACKAGE}.tvm.sym",
    # the peer's modules by the place of their contents
    "tvm.ir.transform": f"{PACKAGE}.tvm.transform",
    "tvm.ir.instrument": f"{PACKAGE}.tvm.instrument",
}
"""Names whose module stands somewhere else than below `compat`."""


class Alias(Loader):
    """Loads a module of ours under the peer's name: both names are the same module object."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.name)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """The module has run under its own name; it keeps its own spec."""
        module.__spec__ = self.spec


class Finder(MetaPathFinder):
    """Finds the peer's names. Raises ModuleNotFoundError for those that we have no module for."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in ROOTS:
            return None
        name = real_name(fullname)
        if name is None:
            raise ModuleNotFoundError(
                f"loopwright has no counterpart of the module `{fullname}` yet", name=fullname
            )
        loader = Alias(name)
        spec = ModuleSpec(fullname, loader, origin=name)
        real = importlib.util.find_spec(name)
        if real is not None and real.submodule_search_locations is not None:
            spec.submodule_search_locations = list(real.submodule_search_locations)
        return spec


def real_name(fullname: str) -> str | None:
    """The name of our module behind one of the peer's, or None where there is none."""
    for peer in _prefixes(fullname):
        if peer in ELSEWHERE:
            name = ELSEWHERE[peer] + fullname[len(peer) :]
            break
    else:
        name = f"{PACKAGE}.{fullname}"
    try:
        return name if importlib.util.find_spec(name) is not None else None
    except ModuleNotFoundError:
        return None


def _prefixes(fullname: str) -> list[str]:
    parts = fullname.split(".")
    return [".".join(parts[:n]) for n in range(len(parts), 1, -1)]


_FINDER: Final = Finder()


def is_ours(module: ModuleType) -> bool:
    """Whether a module is one of this package's."""
    return (module.__name__ + ".").startswith(f"{HOUSE}.")


def install() -> None:
    """Put the finder first, before the one that would find an installed peer."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


def uninstall() -> None:
    """Take the finder away and forget what was imported under the peer's names."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)
    for name in [n for n, m in sys.modules.items() if n.partition(".")[0] in ROOTS and is_ours(m)]:
        del sys.modules[name]


def installed() -> bool:
    """Whether the finder is in place."""
    return _FINDER in sys.meta_path
