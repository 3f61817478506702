"""What code is made for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    """What code is made for. `half`: it converts float16 by itself."""

    triple: str
    cpu: str
    features: str
    half: bool
