"""Expressions to C: constants, operators, choices, vectors, loads.

A vector is a list of scalar terms, one for each lane: languages differ in what their vectors can do, and
compilers for devices take vectors apart anyway.  Only memory is accessed by whole vectors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...dtype import DType
from ...ir import (
    And,
    BinaryOp,
    BitwiseNot,
    Broadcast,
    BufferLoad,
    BufferType,
    Cast,
    Expr,
    FloatImm,
    IntImm,
    Let,
    Not,
    PointerType,
    PrimType,
    Ramp,
    Select,
    Shuffle,
    StringImm,
    Var,
    const,
)
from ..llvm.expr import as_ramp
from . import arith, formats
from .core import Emitter, Memory
from .text import (
    BITS,
    BOTH,
    EITHER,
    EQUAL,
    ORDER,
    PRODUCT,
    SUM,
    Lanes,
    Term,
    choose,
    convert,
    infix,
    prefix,
)
from .types import integer, lane_bytes, real

_NUMBER = re.compile(r"(\d+)([uUlL]*)")
COMPARE = {"EQ": ("==", EQUAL), "NE": ("!=", EQUAL), "LT": ("<", ORDER), "LE": ("<=", ORDER)}
COMPARE |= {"GT": (">", ORDER), "GE": (">=", ORDER)}


class Expressions(Emitter):
    """Emits expressions; each visit method returns the lanes of the value."""

    unused: Expr | None = None
    """The expression whose value nobody looks at: that of the statement being emitted."""

    def visit_Var(self, e: Var) -> Lanes:
        found = self.values.get(e)
        if found is not None:
            return found
        if isinstance(e.ty, BufferType):
            return [self.buffer(e, e).pointer]
        raise self.refuse(f"the variable `{e.name}`, which is not defined here", e)

    def visit_IntImm(self, e: IntImm) -> Lanes:
        return [integer(self.unit, e.dtype, e.value)]

    def visit_FloatImm(self, e: FloatImm) -> Lanes:
        self.type(e.dtype)
        return [real(self.unit, e.dtype, e.value)]

    def visit_StringImm(self, e: StringImm) -> Lanes:
        return [Term(quoted(e.value))]

    # Arithmetic

    def visit_Add(self, e: BinaryOp) -> Lanes:
        return self.arithmetic(e, "+", SUM)

    def visit_Sub(self, e: BinaryOp) -> Lanes:
        return self.arithmetic(e, "-", SUM)

    def visit_Mul(self, e: BinaryOp) -> Lanes:
        return self.arithmetic(e, "*", PRODUCT)

    def arithmetic(self, e: BinaryOp, sign: str, level: int) -> Lanes:
        dtype = e.dtype
        if dtype.is_float:
            pairs = zip(self.lanes(e.a), self.lanes(e.b))
            return [self.rounded(dtype, infix(a, sign, b, level)) for a, b in pairs]
        if dtype.is_bool or not dtype.is_integral:
            what = f"`{type(e).__name__}` of `{dtype}`"
            raise self.refuse(what, e, "use logical operators, or cast to an integer")
        if dtype.is_int and self.fits(e):
            return [infix(a, sign, b, level) for a, b in zip(self.lanes(e.a), self.lanes(e.b))]
        whole = dtype.is_uint and dtype.bits >= 32
        out = []
        for a, b in zip(self.visit(e.a), self.visit(e.b)):
            if not (whole or a.modular or b.modular):
                a = convert(self.type(arith.unsigned(dtype)), a)
            out.append(infix(a, sign, b, level, modular=not whole))
        return out

    def fits(self, e: BinaryOp) -> bool:
        """Whether signed arithmetic cannot overflow: that of indices by law, other where bounds prove it."""
        if e.dtype.bits < 32 and not self.indexing:
            return e.dtype.is_scalar and self.analyzer.is_exact(e)
        return self.indexing or (e.dtype.is_scalar and self.analyzer.is_exact(e))

    def rounded(self, dtype: DType, value: Term) -> Term:
        """A result computed in `float` as a value of the dtype."""
        return formats.rounded(self.unit, dtype, value)

    def visit_Div(self, e: BinaryOp) -> Lanes:
        return arith.division(self, e, "div")

    def visit_Mod(self, e: BinaryOp) -> Lanes:
        return arith.division(self, e, "mod")

    def visit_FloorDiv(self, e: BinaryOp) -> Lanes:
        return arith.division(self, e, "floordiv")

    def visit_FloorMod(self, e: BinaryOp) -> Lanes:
        return arith.division(self, e, "floormod")

    def visit_Min(self, e: BinaryOp) -> Lanes:
        return [arith.extreme(self, e.dtype, "min", a, b) for a, b in zip(self.lanes(e.a), self.lanes(e.b))]

    def visit_Max(self, e: BinaryOp) -> Lanes:
        return [arith.extreme(self, e.dtype, "max", a, b) for a, b in zip(self.lanes(e.a), self.lanes(e.b))]

    def visit_LShift(self, e: BinaryOp) -> Lanes:
        return arith.shift(self, e.a, e.b, "<<")

    def visit_RShift(self, e: BinaryOp) -> Lanes:
        return arith.shift(self, e.a, e.b, ">>")

    def visit_BitwiseAnd(self, e: BinaryOp) -> Lanes:
        return self.bitwise(e.a, e.b, "&")

    def visit_BitwiseOr(self, e: BinaryOp) -> Lanes:
        return self.bitwise(e.a, e.b, "|")

    def visit_BitwiseXor(self, e: BinaryOp) -> Lanes:
        return self.bitwise(e.a, e.b, "^")

    def bitwise(self, a: Expr, b: Expr, sign: str) -> Lanes:
        dtype = a.dtype
        if not dtype.is_integral:
            raise self.refuse(f"`{sign}` of `{dtype}`", a)
        pairs = zip(self.lanes(a), self.lanes(b))
        if dtype.is_bool:
            sign = "!=" if sign == "^" else sign
        return [infix(x, sign, y, BITS) for x, y in pairs]

    def visit_BitwiseNot(self, e: BitwiseNot) -> Lanes:
        return self.invert(e.a)

    def invert(self, a: Expr) -> Lanes:
        dtype = a.dtype
        if not dtype.is_integral:
            raise self.refuse(f"`BitwiseNot` of `{dtype}`", a)
        if dtype.is_bool:
            return [prefix("!", x) for x in self.lanes(a)]
        inverted = [prefix("~", x) for x in self.lanes(a)]
        if dtype.is_int or dtype.bits >= 32:
            return inverted
        return [x._replace(modular=True) for x in inverted]

    # Comparison and logic

    def compare(self, e: BinaryOp) -> Lanes:
        sign, level = COMPARE[type(e).__name__]
        out = []
        for a, b in zip(self.lanes(e.a), self.lanes(e.b)):
            out.append(infix(a, sign, b, level))
        return out

    visit_EQ = visit_NE = visit_LT = visit_LE = visit_GT = visit_GE = compare

    def visit_And(self, e: And) -> Lanes:
        return self.logical(e, "&&", BOTH)

    def visit_Or(self, e: BinaryOp) -> Lanes:
        return self.logical(e, "||", EITHER)

    def logical(self, e: BinaryOp, sign: str, level: int) -> Lanes:
        first = self.lanes(e.a)
        if e.dtype.is_vector:
            return [infix(a, sign, b, level) for a, b in zip(first, self.lanes(e.b))]
        inner, second = self.captured(e.b)
        if not inner:
            b = second[0]
            return [Term(f"{first[0].at(level)} {sign} {b.at(max(level + 1, EQUAL))}", level)]
        name = self.names.fresh("both" if sign == "&&" else "either")
        self.put(f"{self.type(e.dtype)} {name} = {first[0].text};")
        self.branch(
            Term(name) if sign == "&&" else prefix("!", Term(name)), inner, f"{name} = {second[0].text};"
        )
        return [Term(name)]

    def branch(self, condition: Term, inner: list[str], last: str) -> None:
        """Lines, captured before, that run where a condition holds."""
        self.put(f"if ({condition.text}) {{")
        self.lines += inner
        self.depth += 1
        self.put(last)
        self.depth -= 1
        self.put("}")

    def visit_Not(self, e: Not) -> Lanes:
        return [prefix("!", a) for a in self.lanes(e.a)]

    def visit_Select(self, e: Select) -> Lanes:
        conditions = self.lanes(e.condition)
        yes, no = self.lanes(e.true_value), self.lanes(e.false_value)
        if len(conditions) == 1 and len(yes) > 1:
            conditions = [self.once(conditions[0], DType("bool"), "which")] * len(yes)
        return [choose(c, a, b) for c, a, b in zip(conditions, yes, no)]

    def lazy(self, condition: Expr, yes: Expr, no: Expr) -> Lanes:
        """`yes` or `no`, of which only the one taken is evaluated."""
        if condition.dtype.is_vector:
            return self.visit_Select(Select(condition, yes, no))
        first = self.value(condition)
        (before, a), (behind, b) = self.captured(yes), self.captured(no)
        if len(a) == 1 and not before and not behind:
            return [choose(first, a[0], b[0])]
        if isinstance(yes.ty, PointerType):
            raise self.refuse("a choice of pointers that need statements", yes)
        kind = self.type(yes.dtype)
        names = [self.names.fresh("chosen") for _ in a]
        self.put(f"{kind} {', '.join(names)};")
        self.put(f"if ({first.text}) {{")
        for lines, values in ((before, a), (behind, b)):
            self.lines += lines
            self.depth += 1
            for name, value in zip(names, values):
                self.put(f"{name} = {value.text};")
            self.depth -= 1
            if values is a:
                self.put("} else {")
        self.put("}")
        return [Term(n) for n in names]

    # Binding and conversion

    def visit_Let(self, e: Let) -> Lanes:
        self.bind(e.var, e.value)
        return self.visit(e.body)

    def bind(self, var: Var, value: Expr) -> None:
        """Give the variable's name to the value."""
        if isinstance(var.ty, BufferType):
            raise self.refuse(f"a binding of the buffer `{var.name}`", var)
        old, self.indexing = self.indexing, False
        lanes = self.lanes(value)
        self.indexing = old
        if isinstance(var.ty, PointerType):
            element = var.ty.element_type
            kind = self.dialect.pointer(self.cell_of(element), var.ty.storage_scope)
            name = self.names.fresh(var.name)
            self.put(f"{kind} {name} = ({kind}){lanes[0].at(11)};")
            self.values[var] = [Term(name)]
            return
        self.analyzer.bind(var, value)
        lanes = [arith.cast(self, value.dtype.element, var.dtype.element, x) for x in lanes]
        if len(lanes) == 1:
            self.values[var] = [self.named(self.type(var.dtype), var.name, lanes[0])]
        else:
            self.values[var] = [
                self.named(self.type(var.dtype), f"{var.name}_{k}", x) for k, x in enumerate(lanes)
            ]

    def cell_of(self, element: Any) -> str:
        """The C type of what a pointer points to."""
        if isinstance(element, PrimType) and not element.dtype.is_void:
            return self.unit.cell(element.dtype)
        return "void"

    def visit_Cast(self, e: Cast) -> Lanes:
        source, target = e.value.dtype, e.dtype
        if source.is_handle or target.is_handle:
            raise self.refuse(f"a cast from `{source}` to `{target}`", e)
        lanes = self.visit(e.value)
        if source.is_integral and target.is_integral and target.bits <= source.bits and not target.is_bool:
            return [x if x.modular else arith.cast(self, source.element, target.element, x) for x in lanes]
        lanes = [self.exact(x, source) for x in lanes]
        return [arith.cast(self, source.element, target.element, x) for x in lanes]

    # Vectors

    def visit_Ramp(self, e: Ramp) -> Lanes:
        self.type(e.dtype)
        base = self.once(self.value(e.base), e.base.dtype, "base")
        stride = arith.constant(e.stride)
        step = Term("") if stride is not None else self.once(self.value(e.stride), e.base.dtype, "stride")
        out = [base]
        word = self.type(arith.unsigned(e.base.dtype))
        for k in range(1, e.dtype.lanes):
            plain = self.indexing and e.base.dtype.is_int
            if stride is not None:
                move = integer(self.unit, e.base.dtype, e.base.dtype.wrap(k * stride))
            else:
                move = infix(
                    integer(self.unit, e.base.dtype, k), "*", step if plain else convert(word, step), PRODUCT
                )
            first = base if plain else convert(word, base)
            out.append(self.exact(infix(first, "+", move, SUM, modular=not plain), e.base.dtype))
        return out

    def visit_Broadcast(self, e: Broadcast) -> Lanes:
        self.type(e.dtype)
        return [self.once(self.value(e.value), e.value.dtype)] * e.dtype.lanes

    def visit_Shuffle(self, e: Shuffle) -> Lanes:
        parts = [lane for v in e.vectors for lane in self.lanes(v)]
        picks = [arith.constant(i) for i in e.indices]
        if any(k is None or not 0 <= k < len(parts) for k in picks):
            raise self.refuse("a Shuffle whose indices are not constants within its vectors", e)
        repeated = len(set(picks)) < len(picks)
        element = e.dtype.element
        return [self.once(parts[k], element) if repeated else parts[k] for k in picks]  # type: ignore[index]

    # Memory

    def flat_index(self, mem: Memory, indices: tuple[Expr, ...]) -> Expr:
        """The one index of an access in elements."""
        if not indices:
            return const(0, "int32")
        if len(indices) > 1 or mem.ty.strides:
            raise self.refuse(
                "an access of several dimensions, or of strides", indices[0], "lower the function first"
            )
        return indices[0]

    def visit_BufferLoad(self, e: BufferLoad) -> Lanes:
        mem = self.buffer(e.buffer, e)
        index, dtype = self.flat_index(mem, e.indices), e.dtype
        self.type(dtype)
        element = dtype.element
        if dtype.is_scalar:
            cell = mem.cell(self.index(index))
            value = formats.from_cell(self.unit, element, cell)
            return [self.once(value, element, e.buffer.name) if self.strict else value]
        hint = f"{e.buffer.name}_v"
        first = self.contiguous(mem, index)
        cells: Lanes = []
        if first is None:
            places = self.places(mem, index)
            cells = [mem.cell(p) for p in places]
            return [
                self.named(self.type(element), hint, formats.from_cell(self.unit, element, c)) for c in cells
            ]
        for offset, count in self.pieces(mem, index, dtype.lanes):
            if count == 1:
                cell = mem.cell(plus(first, offset))
                cells.append(self.named(self.unit.cell(element), hint, cell))
                continue
            address = infix(mem.pointer, "+", plus(first, offset), SUM)
            whole = self.load(element, count, address, mem.scope, hint)
            cells += [Term(f"{whole.text}.{self.dialect.lane(element, count, k)}") for k in range(count)]
        values = [formats.from_cell(self.unit, element, c) for c in cells]
        return [v if v.simple else self.named(self.type(element), hint, v) for v in values]

    def load(self, element: DType, count: int, address: Term, scope: str, hint: str) -> Term:
        """The name of the vector at an address; a statement reads it once."""
        text = self.dialect.load(self, element, count, address, scope)
        if text not in self.loaded or self.strict:
            self.loaded[text] = self.named(self.dialect.vector(self.unit, element, count), hint, text)
        return self.loaded[text]

    def contiguous(self, mem: Memory, index: Expr) -> Term | None:
        """The first cell where the cells of a vector lie side by side, else None."""
        inner = mem.ty.dtype.lanes
        if index.dtype.is_scalar:
            first = self.index(index)
            return self.once(infix(first, "*", Term(str(inner)), PRODUCT), index.dtype, "first")
        ramp = as_ramp(index)
        if ramp is None or arith.constant(ramp[1]) != 1:
            return None
        first = self.index(ramp[0])
        whole = first if inner == 1 else infix(first, "*", Term(str(inner)), PRODUCT)
        return self.once(whole, ramp[0].dtype, "first") if index.dtype.lanes * inner > 4 else whole

    def places(self, mem: Memory, index: Expr) -> Lanes:
        """The cell of each lane of a scattered access."""
        old, self.indexing = self.indexing, True
        positions = self.lanes(index)
        self.indexing = old
        inner = mem.ty.dtype.lanes
        if inner == 1:
            return positions
        starts = [self.once(infix(p, "*", Term(str(inner)), PRODUCT), index.dtype.element) for p in positions]
        return [plus(s, k) for s in starts for k in range(inner)]

    def pieces(self, mem: Memory, index: Expr, lanes: int) -> Iterator[tuple[int, int]]:
        """The accesses that cover contiguous cells, by first cell and count, as wide as alignment allows."""
        size = lane_bytes(mem.ty.dtype)
        most = 1 if mem.scope.startswith(("local", "warp")) else max(1, min(self.dialect.widest // size, 16))
        known = self.alignment(mem, index) // size
        done = 0
        while done < lanes:
            count = 1
            while count * 2 <= min(most, lanes - done) and (
                self.dialect.unaligned or (known % (count * 2) == 0 and done % (count * 2) == 0)
            ):
                count *= 2
            yield done, count
            done += count

    def alignment(self, mem: Memory, index: Expr) -> int:
        """A number of bytes, a power of two, that the address of an access is a multiple of."""
        first = index
        if index.dtype.is_vector:
            ramp = as_ramp(index)
            assert ramp is not None
            first = ramp[0]
        step = lane_bytes(mem.ty.dtype) * mem.ty.dtype.lanes
        with self.analyzer.mode(data=False):
            found = self.analyzer.modular(first)
        offset = found.coeff * step, found.base * step
        known = mem.aligned
        for number in offset:
            while number % known:
                known //= 2
        return known


def plus(a: Term, offset: int) -> Term:
    """`a + offset`"""
    if offset == 0:
        return a
    number = _NUMBER.fullmatch(a.text)
    if number is not None:
        return Term(f"{int(number[1]) + offset}{number[2]}")
    return infix(a, "+", Term(str(offset)), SUM)


def quoted(text: str) -> str:
    """A string constant."""
    out = []
    for byte in text.encode():
        c = chr(byte)
        if c == "\n":
            out.append("\\n")
            continue
        out.append(c if 32 <= byte < 127 and c not in '"\\?' else f"\\{byte:03o}")
    return '"' + "".join(out) + '"'
