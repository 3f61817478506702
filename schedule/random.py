"""Random numbers as values: a linear congruential sequence, the seed being the state."""

from __future__ import annotations

import secrets

_MULTIPLIER, _MODULUS = 48271, 2147483647


def start(seed: int | None) -> int:
    """The state that a seed stands for; None and -1 stand for an arbitrary one."""
    if seed is None or seed == -1:
        return fresh_seed()
    return seed % _MODULUS or 1


def fresh_seed() -> int:
    """An arbitrary state."""
    return secrets.randbelow(_MODULUS - 1) + 1


def advance(seed: int) -> int:
    """The next state, which is also the random number: 1 to 2**31 - 2."""
    return seed * _MULTIPLIER % _MODULUS


def fork(seed: int) -> tuple[int, int]:
    """The next state, and one for another sequence."""
    following = advance(seed)
    return following, (following * 1999999973) % _MODULUS or 1


def below(seed: int, limit: int) -> tuple[int, int]:
    """The next state and a number from 0 to limit - 1."""
    following = advance(seed)
    return following, following % limit


def unit(seed: int) -> tuple[int, float]:
    """The next state and a number from 0 up to, but not including, 1."""
    following = advance(seed)
    return following, (following - 1) / (_MODULUS - 1)
