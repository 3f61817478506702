"""Checking a state against the module from scratch (the schedule's `debug_mask`)."""

from __future__ import annotations

from ..errors import Diagnostic, InternalError
from .state import State, find_places


def verify_places(state: State) -> None:
    """Raise InternalError unless what the state knows is what the module says."""
    known, real = state.places, find_places(state.mod)
    for one, place in real.items():
        mine = known.get(one)
        if mine is None or mine.node is not place.node or mine.parent is not place.parent:
            raise InternalError(Diagnostic("internal", f"the place of `{one.name}` is not known rightly"))
    for one in known:
        if one not in real:
            raise InternalError(Diagnostic("internal", f"`{one.name}` is known but stands nowhere"))
