"""Straight-line arithmetic on vectors of float32 or float64: what elementary functions are written in.

`mul`, `add` and `muladd` may be fused; what ends in `_exact`, and `sub` and `div`, is rounded as written.
A pair (high, low) is a number of twice the precision, the low part below the last place of the high one;
where only float32's precision is wanted, products, quotients and roots have no low part.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from .small_floats import Straight
from .types import float32_text, splat, vector

Pair = tuple[str, str]


class Real(Straight):
    """Code on `lanes` numbers of 32 or 64 bits.

    `short`: 64 bits are used, but only a result of float32's precision is wanted.  `fma`: the
    machine has fused multiply-add, which pairs are computed with.
    """

    __slots__ = ("bias", "called", "fma", "fraction", "short")

    def __init__(self, lanes: int, bits: int = 32, *, short: bool = False, fma: bool = False) -> None:
        super().__init__(lanes)
        self.short = short
        self.fma = fma
        self.called: set[tuple[str, str]] = set()
        self.fraction = 23 if bits == 32 else 52
        self.bias = 127 if bits == 32 else 1023
        if bits == 64:
            self.F, self.I = vector("double", lanes), vector("i64", lanes)

    def i(self, value: int) -> str:
        return splat("i32" if self.fraction == 23 else "i64", str(value), self.lanes)

    def f(self, value: float) -> str:
        if self.fraction == 23:
            return splat("float", float32_text(value), self.lanes)
        return splat("double", f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}", self.lanes)

    def value(self, x: str | float) -> str:
        """An operand: a register as it is, a number as a constant."""
        return x if isinstance(x, str) else self.f(x)

    # Arithmetic

    def mul(self, a: str, b: str | float) -> str:
        return self.op(f"fmul contract {self.F} {a}, {self.value(b)}")

    def add(self, a: str, b: str | float) -> str:
        return self.op(f"fadd contract {self.F} {a}, {self.value(b)}")

    def mul_exact(self, a: str, b: str | float) -> str:
        return self.op(f"fmul {self.F} {a}, {self.value(b)}")

    def add_exact(self, a: str | float, b: str | float) -> str:
        return self.op(f"fadd {self.F} {self.value(a)}, {self.value(b)}")

    def sub(self, a: str | float, b: str | float) -> str:
        return self.op(f"fsub {self.F} {self.value(a)}, {self.value(b)}")

    def div(self, a: str | float, b: str) -> str:
        return self.op(f"fdiv {self.F} {self.value(a)}, {b}")

    def neg(self, a: str) -> str:
        return self.op(f"fneg {self.F} {a}")

    def muladd(self, a: str, b: str | float, c: str | float) -> str:
        return self.add(self.mul(a, b), c)

    def horner(self, x: str, coefficients: Sequence[float]) -> str:
        """The polynomial with these coefficients, the constant first."""
        value = self.f(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            value = self.muladd(value, x, c)
        return value

    def intrinsic(self, name: str, *args: str) -> str:
        """A function that is an instruction of the machine; it needs no declaration of its own."""
        element = "f32" if self.fraction == 23 else "f64"
        kind = element if self.lanes == 1 else f"v{self.lanes}{element}"
        given = ", ".join([f"{self.F} {a}" for a in args])
        self.called.add((f"llvm.{name}.{kind}", f"{self.F} ({', '.join([self.F] * len(args))})"))
        return self.op(f"call {self.F} @llvm.{name}.{kind}({given})")

    def sqrt(self, x: str) -> str:
        return self.intrinsic("sqrt", x)

    def fabs(self, x: str) -> str:
        return self.intrinsic("fabs", x)

    def copysign(self, x: str, sign: str) -> str:
        return self.intrinsic("copysign", x, sign)

    # Choice

    def fcmp(self, what: str, a: str, b: str | float) -> str:
        return self.op(f"fcmp {what} {self.F} {a}, {self.value(b)}")

    def both(self, a: str, b: str) -> str:
        return self.op(f"and {self.B} {a}, {b}")

    def either(self, a: str, b: str) -> str:
        return self.op(f"or {self.B} {a}, {b}")

    def pick(self, condition: str, a: str | float, b: str | float) -> str:
        return self.choose(condition, self.value(a), self.value(b), self.F)

    def pick_pair(self, condition: str, a: Pair, b: Pair) -> Pair:
        return self.pick(condition, a[0], b[0]), self.pick(condition, a[1], b[1])

    def clamp(self, x: str, low: float, high: float) -> str:
        """x within the bounds; a NaN stays."""
        x = self.pick(self.fcmp("ogt", x, high), high, x)
        return self.pick(self.fcmp("olt", x, low), low, x)

    # Whole numbers and powers of two

    def nearest(self, x: str) -> tuple[str, str]:
        """The nearest integer, as an integer and as a float, of a number well below 2**fraction."""
        magic = 1.5 * 2.0**self.fraction
        moved = self.add_exact(x, magic)
        return self.iop("sub", self.bits(moved), self.bits_of(magic)), self.sub(moved, magic)

    def bits_of(self, value: float) -> int:
        """The bits of a constant, as an integer."""
        form = ("i", "f") if self.fraction == 23 else ("q", "d")
        return int(struct.unpack("=" + form[0], struct.pack("=" + form[1], value))[0])

    def power(self, n: str) -> str:
        """2**n, for n within the exponents of normal numbers."""
        return self.floats(self.iop("shl", self.iop("add", n, self.bias), self.fraction))

    def scale(self, x: str, n: str) -> str:
        """x * 2**n in two steps, so that neither overflows before the result does."""
        half = self.iop("ashr", n, 1)
        for part in (half, self.iop("sub", n, half)):
            x = self.mul_exact(x, self.power(part))
        return x

    def head(self, x: str, bits: int) -> str:
        """x with this many of the last bits of its fraction zero."""
        return self.floats(self.iop("and", self.bits(x), -(1 << bits)))

    # Pairs

    @property
    def nothing(self) -> str:
        """The low part of a number that is exact enough; adding it changes nothing, not even a sign."""
        return self.f(-0.0)

    def two_sum(self, a: str | float, b: str | float) -> Pair:
        """a + b exactly."""
        a, b = self.value(a), self.value(b)
        total = self.add_exact(a, b)
        other = self.sub(total, a)
        rest = self.add_exact(self.sub(a, self.sub(total, other)), self.sub(b, other))
        return total, rest

    def quick_two_sum(self, a: str | float, b: str) -> Pair:
        """a + b exactly, where a is not the smaller one."""
        total = self.add_exact(a, b)
        return total, self.sub(b, self.sub(total, a))

    def two_product(self, a: str, b: str | float) -> Pair:
        """a * b exactly, but for numbers near the ends of the range."""
        b = self.value(b)
        product = self.mul_exact(a, b)
        if self.short:
            return product, self.nothing
        if self.fma:
            return product, self.intrinsic("fma", a, b, self.neg(product))
        half = (self.fraction + 3) // 2
        (a1, b1) = (self.head(v, half) for v in (a, b))
        a2, b2 = self.sub(a, a1), self.sub(b, b1)
        rest = self.sub(self.mul_exact(a1, b1), product)
        for u, v in ((a1, b2), (a2, b1), (a2, b2)):
            rest = self.add_exact(rest, self.mul_exact(u, v))
        return product, rest

    def quotient(self, a: Pair, b: Pair) -> Pair:
        """a / b as a pair."""
        near = self.div(a[0], b[0])
        if self.short:
            return near, self.nothing
        product, rest = self.two_product(near, b[0])
        left = self.sub(self.sub(a[0], product), rest)
        left = self.sub(self.add_exact(left, a[1]), self.mul_exact(near, b[1]))
        return near, self.div(left, b[0])

    def root(self, a: Pair) -> Pair:
        """The square root of a pair that is not negative, as a pair."""
        near = self.sqrt(a[0])
        if self.short:
            return near, self.nothing
        product, rest = self.two_product(near, near)
        left = self.add_exact(self.sub(self.sub(a[0], product), rest), a[1])
        low = self.div(left, self.add_exact(near, near))
        return near, self.pick(self.fcmp("oeq", near, 0.0), 0.0, low)

    def table(self, long: Sequence[float], short: Sequence[float]) -> Sequence[float]:
        """The coefficients for the precision that is wanted."""
        return short if self.short else long
