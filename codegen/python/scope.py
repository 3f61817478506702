"""What compiling one function for the oracle keeps: the slot of each variable in a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import IRError
from ...ir import PrimFunc, Var
from .faults import describe

if TYPE_CHECKING:
    from .program import Program

UNSET: Any = object()


class Scope:
    """The variables of one function. Running it uses a list with one slot for each of them."""

    __slots__ = ("_slots", "_vars", "func", "program")

    def __init__(self, func: PrimFunc, program: Program) -> None:
        self.func = func
        self.program = program
        self._slots: dict[int, int] = {}
        self._vars: list[Var] = []  # keeps them alive, so that their ids stay theirs

    def __len__(self) -> int:
        return len(self._slots)

    def define(self, var: Var) -> int:
        """The slot of a variable that is defined here."""
        found = self._slots.get(id(var))
        if found is None:
            found = self._slots[id(var)] = len(self._vars)
            self._vars.append(var)
        return found

    def knows(self, var: Var) -> bool:
        """Whether the variable is defined by now."""
        return id(var) in self._slots

    def slot(self, var: Var, node: Any = None) -> int:
        """The slot of a variable that is used. Raises IRError when nothing defines it."""
        found = self._slots.get(id(var))
        if found is None:
            message = f"`{var.name}` is used but nothing defines it"
            raise IRError(describe("undefined-name", message, node if node is not None else var))
        return found

    def value_of(self, var: Var, env: list[Any]) -> Any:
        """The variable's value in a frame, None where it has none."""
        slot = self._slots.get(id(var))
        return None if slot is None or env[slot] is UNSET else env[slot]

    def values(self, env: list[Any]) -> dict[str, Any]:
        """The values of all variables that have one, by name; of equal names the inner one."""
        return {var.name: env[slot] for slot, var in enumerate(self._vars) if env[slot] is not UNSET}
