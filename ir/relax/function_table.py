"""Functions of a module in the making: unique names, equal functions once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...errors import Diagnostic, IRError
from ..equal import structural_equal
from ..expr import GlobalVar
from ..function import BaseFunc, IRModule
from ..hash import structural_hash
from ..visitor import Rewriter


class Names:
    """Gives out names that were not given out before: `x`, `x1`, `x2`, ..."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken: set[str] = set(taken)
        self.next: dict[str, int] = {}

    def unique(self, prefix: str) -> str:
        """The prefix itself, or followed by a number."""
        if prefix not in self.taken:
            self.taken.add(prefix)
            return prefix
        stem = prefix.rstrip("0123456789") or prefix
        number = self.next.get(stem, 0)
        while True:
            number += 1
            name = f"{stem}{number}"
            if name not in self.taken:
                self.next[stem] = number
                self.taken.add(name)
                return name


class FunctionTable:
    """The functions of a module, changed in place."""

    def __init__(self, mod: IRModule) -> None:
        self.start = mod
        self.functions: dict[GlobalVar, BaseFunc] = dict(mod.functions)
        self.by_name: dict[str, GlobalVar] = {g.name: g for g in self.functions}
        self.names = Names(self.by_name)
        self._equal: dict[int, list[GlobalVar]] | None = None

    def add(self, func: BaseFunc, prefix: str) -> GlobalVar:
        """The name of the function: that of an equal one that is listed, or a new one like the prefix."""
        known = self._table().setdefault(structural_hash(func), [])
        for gvar in known:
            if structural_equal(self.functions[gvar], func):
                return gvar
        gvar = self.put(func, self.names.unique(prefix))
        known.append(gvar)
        return gvar

    def put(self, func: BaseFunc, name: str) -> GlobalVar:
        """List a function under this very name, which nobody else has."""
        gvar = self.by_name[name] = GlobalVar(name, func.ty)
        self.functions[gvar] = func
        return gvar

    def update(self, gvar: GlobalVar, func: BaseFunc) -> None:
        """Let the name mean another function. Raises IRError for a name that is not listed."""
        own = self.by_name.get(gvar.name)
        if own is None:
            raise IRError(Diagnostic("unknown-function", f"the module has no function `{gvar.name}`"))
        self.functions[own] = func
        self._equal = None

    def module(self) -> IRModule:
        """The module as it is now; the one at the start where nothing has changed."""
        old = self.start.functions
        if len(old) == len(self.functions) and all(self.functions[g] is f for g, f in old.items()):
            return self.start
        return self.start.replace(functions=self.functions)

    def _table(self) -> dict[int, list[GlobalVar]]:
        if self._equal is None:
            self._equal = {}
            for gvar, func in self.functions.items():
                self._equal.setdefault(structural_hash(func), []).append(gvar)
        return self._equal


def settle_names(mod: IRModule) -> IRModule:
    """The module in which each public function has its attribute "global_symbol" as its name.

    Private functions whose names are taken get others.  The module itself where no name changes.
    """
    symbols = {g.name: f.attrs.get("global_symbol") for g, f in mod.functions.items()}
    names = {name: str(symbol) for name, symbol in symbols.items() if symbol is not None}
    supply = Names(names.values())
    for name in symbols:
        if name not in names:
            names[name] = supply.unique(name)
    return rename_functions(mod, names)


def rename_functions(mod: IRModule, names: Mapping[str, str]) -> IRModule:
    """The module with functions under other names, their uses too; itself when no name changes."""
    if all(old == new for old, new in names.items()):
        return mod
    renamed = {g.name: g.replace(name=names.get(g.name, g.name)) for g in mod.functions}
    rewriter = _Rename(renamed)
    table: dict[GlobalVar, BaseFunc] = {renamed[g.name]: rewriter(f) for g, f in mod.functions.items()}
    return mod.replace(functions=table)


class _Rename(Rewriter):
    def __init__(self, renamed: dict[str, GlobalVar]) -> None:
        super().__init__()
        self.renamed = renamed

    def visit_GlobalVar(self, gvar: GlobalVar) -> Any:
        """The new name."""
        return self.renamed.get(gvar.name, gvar)


__all__ = ["FunctionTable", "Names", "rename_functions", "settle_names"]
