"""How the float types below 32 bits are laid out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Specials = Literal["ieee", "fn", "fnuz", "none"]


@dataclass(frozen=True, slots=True)
class Format:
    """An exponent-and-fraction format with a sign bit.

    specials: "ieee" has infinity and NaN, "fn" only the NaN of all ones, "fnuz" only the NaN in
    the place of minus zero, "none" neither (overflow saturates, NaN becomes the zero of the other sign).
    """

    bits: int
    fraction: int
    bias: int
    specials: Specials

    @property
    def sign(self) -> int:
        return 1 << (self.bits - 1)

    @property
    def largest(self) -> int:
        """The code of the largest finite value."""
        if self.specials == "ieee":
            return self.infinity - 1
        return self.sign - (2 if self.specials == "fn" else 1)

    @property
    def infinity(self) -> int:
        """The code of all-ones exponent and zero fraction."""
        return self.sign - (1 << self.fraction)

    @property
    def overflow(self) -> int:
        """The code, without sign, of what is too large."""
        return {"ieee": self.infinity, "fn": self.sign - 1, "fnuz": self.sign, "none": self.largest}[
            self.specials
        ]

    @property
    def nan(self) -> int:
        """The code of NaN."""
        if self.specials == "ieee":
            return self.infinity | (1 << (self.fraction - 1))
        return self.sign - 1 if self.specials == "fn" else self.sign


FORMATS: Final[dict[str, Format]] = {
    "float16": Format(16, 10, 15, "ieee"),
    "bfloat16": Format(16, 7, 127, "ieee"),
    "float8_e3m4": Format(8, 4, 3, "ieee"),
    "float8_e4m3": Format(8, 3, 7, "ieee"),
    "float8_e5m2": Format(8, 2, 15, "ieee"),
    "float8_e4m3fn": Format(8, 3, 7, "fn"),
    "float8_e4m3b11fnuz": Format(8, 3, 11, "fnuz"),
    "float8_e4m3fnuz": Format(8, 3, 8, "fnuz"),
    "float8_e5m2fnuz": Format(8, 2, 16, "fnuz"),
    "float6_e2m3fn": Format(6, 3, 1, "none"),
    "float6_e3m2fn": Format(6, 2, 3, "none"),
    "float4_e2m1fn": Format(4, 1, 1, "none"),
}
"""The formats by dtype; `float8_e8m0fnu`, which has neither sign nor fraction, is not among them."""
