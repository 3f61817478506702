"""Expressions to LLVM: constants, operators, choices, vectors, loads."""

from __future__ import annotations

from ...dtype import DType
from ...ir import (
    Add,
    And,
    BinaryOp,
    BitwiseNot,
    Broadcast,
    BufferLoad,
    BufferType,
    Call,
    Cast,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mul,
    Not,
    Or,
    PointerType,
    Ramp,
    Select,
    Shuffle,
    StringImm,
    Sub,
    Var,
)
from . import arith
from .core import Emitter, Memory
from .types import (
    float_text,
    memory_element,
    memory_type,
    pointers_suffix,
    splat,
    value_type,
    vector,
    vector_suffix,
)

COMPARE = {"EQ": ("eq", "oeq"), "NE": ("ne", "une"), "LT": ("lt", "olt"), "LE": ("le", "ole")}
COMPARE |= {"GT": ("gt", "ogt"), "GE": ("ge", "oge")}


class Expressions(Emitter):
    """Emits expressions; each visit method returns the register (or constant) with the value."""

    unused: Expr | None = None
    """The expression whose value nobody looks at: that of the statement being emitted."""

    def call_function(self, name: str, e: Call) -> str:
        """A call of another function of the module; only bodies of functions have them."""
        raise self.refuse(f"a call of `{name}` here", e)

    def visit_Var(self, e: Var) -> str:
        found = self.values.get(e)
        if found is not None:
            return found
        if isinstance(e.ty, BufferType):
            return self.buffer(e, e).pointer
        raise self.refuse(f"the variable `{e.name}`, which is not defined here", e)

    def visit_IntImm(self, e: IntImm) -> str:
        if e.dtype.is_bool:
            return "true" if e.value else "false"
        return str(e.value)

    def visit_FloatImm(self, e: FloatImm) -> str:
        return float_text(e.value, e.dtype)

    def visit_StringImm(self, e: StringImm) -> str:
        return self.unit.string(e.value)

    # Arithmetic

    def visit_Add(self, e: BinaryOp) -> str:
        return self.arithmetic(e, "add", "fadd")

    def visit_Sub(self, e: BinaryOp) -> str:
        return self.arithmetic(e, "sub", "fsub")

    def visit_Mul(self, e: BinaryOp) -> str:
        return self.arithmetic(e, "mul", "fmul")

    def arithmetic(self, e: BinaryOp, integer: str, floating: str) -> str:
        a, b = self.visit(e.a), self.visit(e.b)
        dtype = e.dtype
        if dtype.is_float:
            return self.rounded(dtype, self.code.op(f"{floating} contract {value_type(dtype)} {a}, {b}"))
        if dtype.is_bool or not dtype.is_integral:
            raise self.refuse(
                f"`{type(e).__name__}` of `{dtype}`", e, "use logical operators, or cast to an integer"
            )
        flag = " nsw" if self.indexing and dtype.is_int else ""
        return self.code.op(f"{integer}{flag} {value_type(dtype)} {a}, {b}")

    def visit_Div(self, e: BinaryOp) -> str:
        return self.division(e, "div")

    def visit_Mod(self, e: BinaryOp) -> str:
        return self.division(e, "mod")

    def visit_FloorDiv(self, e: BinaryOp) -> str:
        return self.division(e, "floordiv")

    def visit_FloorMod(self, e: BinaryOp) -> str:
        return self.division(e, "floormod")

    def division(self, e: BinaryOp, kind: arith.Division) -> str:
        a, b = self.visit(e.a), self.visit(e.b)
        dtype = e.dtype
        if dtype.is_float:
            return arith.float_divide(self, kind, dtype, a, b)
        if dtype.is_bool or not dtype.is_integral:
            raise self.refuse(f"`{type(e).__name__}` of `{dtype}`", e)
        return arith.divide(self, kind, dtype, a, b, arith.constant(e.b))

    def visit_Min(self, e: BinaryOp) -> str:
        return self.extreme(e, "lt")

    def visit_Max(self, e: BinaryOp) -> str:
        return self.extreme(e, "gt")

    def extreme(self, e: BinaryOp, order: str) -> str:
        a, b = self.visit(e.a), self.visit(e.b)
        t = self.type(e)
        better = self.code.op(f"{self.comparison(e.dtype, order, 'o' + order)} {t} {a}, {b}")
        return self.code.op(f"select {vector('i1', e.dtype)} {better}, {t} {a}, {t} {b}")

    def visit_LShift(self, e: BinaryOp) -> str:
        a, b = self.visit(e.a), self.visit(e.b)
        return arith.shift(self, True, e.dtype, a, b, arith.constant(e.b))

    def visit_RShift(self, e: BinaryOp) -> str:
        a, b = self.visit(e.a), self.visit(e.b)
        return arith.shift(self, False, e.dtype, a, b, arith.constant(e.b))

    def bitwise(self, e: BinaryOp, name: str) -> str:
        a, b = self.visit(e.a), self.visit(e.b)
        if not e.dtype.is_integral:
            raise self.refuse(f"`{type(e).__name__}` of `{e.dtype}`", e)
        return self.code.op(f"{name} {self.type(e)} {a}, {b}")

    def visit_BitwiseAnd(self, e: BinaryOp) -> str:
        return self.bitwise(e, "and")

    def visit_BitwiseOr(self, e: BinaryOp) -> str:
        return self.bitwise(e, "or")

    def visit_BitwiseXor(self, e: BinaryOp) -> str:
        return self.bitwise(e, "xor")

    def visit_BitwiseNot(self, e: BitwiseNot) -> str:
        value = self.visit(e.a)
        if not e.dtype.is_integral:
            raise self.refuse(f"`BitwiseNot` of `{e.dtype}`", e)
        return self.invert(e.dtype, value)

    def invert(self, dtype: DType, value: str) -> str:
        bits = 1 if dtype.is_bool else dtype.bits
        ones = "true" if bits == 1 else "-1"
        t = value_type(dtype)
        element = f"i{bits}"
        return self.code.op(f"xor {t} {value}, {splat(element, ones, dtype)}")

    # Comparison and logic

    def comparison(self, dtype: DType, order: str, ordered: str) -> str:
        if dtype.is_float:
            return f"fcmp {ordered}"
        if order in ("eq", "ne"):
            return f"icmp {order}"
        return f"icmp {'s' if dtype.is_int else 'u'}{order}"

    def compare(self, e: BinaryOp) -> str:
        a, b = self.visit(e.a), self.visit(e.b)
        order, ordered = COMPARE[type(e).__name__]
        return self.code.op(f"{self.comparison(e.a.dtype, order, ordered)} {self.type(e.a)} {a}, {b}")

    visit_EQ = visit_NE = visit_LT = visit_LE = visit_GT = visit_GE = compare

    def visit_And(self, e: And) -> str:
        return self.logical(e, True)

    def visit_Or(self, e: Or) -> str:
        return self.logical(e, False)

    def logical(self, e: BinaryOp, conjunction: bool) -> str:
        """Both operands where that is cheap and harmless, else the second only when it counts."""
        a = self.visit(e.a)
        if e.dtype.is_vector:
            return self.code.op(f"{'and' if conjunction else 'or'} {self.type(e)} {a}, {self.visit(e.b)}")
        if is_harmless(e.b):
            b = self.visit(e.b)
            yes, no = (b, "false") if conjunction else ("true", b)
            return self.code.op(f"select i1 {a}, i1 {yes}, i1 {no}")
        code = self.code
        more, done = code.name("more"), code.name("done")
        before = code.block
        code.branch(a, *((more, done) if conjunction else (done, more)))
        code.label(more)
        b = self.visit(e.b)
        after = code.block
        code.label(done)
        known = "false" if conjunction else "true"
        return code.op(f"phi i1 [ {known}, %{before} ], [ {b}, %{after} ]")

    def visit_Not(self, e: Not) -> str:
        return self.invert(e.dtype, self.visit(e.a))

    def visit_Select(self, e: Select) -> str:
        c, a, b = self.visit(e.condition), self.visit(e.true_value), self.visit(e.false_value)
        kind = vector("i1", e.condition.dtype)
        return self.code.op(f"select {kind} {c}, {self.type(e)} {a}, {self.type(e)} {b}")

    def lazy(self, condition: Expr, yes: Expr, no: Expr) -> str:
        """`yes` or `no`, of which only the one taken is evaluated."""
        if condition.dtype.is_vector or (is_harmless(yes) and is_harmless(no)):
            return self.visit_Select(Select(condition, yes, no))
        code = self.code
        c = self.visit(condition)
        then, other, join = code.name("then"), code.name("else"), code.name("join")
        code.branch(c, then, other)
        code.label(then)
        a = self.visit(yes)
        from_then = code.block
        code.jump(join)
        code.label(other)
        b = self.visit(no)
        from_other = code.block
        code.jump(join)
        code.label(join)
        t = value_type(yes.dtype)
        return code.op(f"phi {t} [ {a}, %{from_then} ], [ {b}, %{from_other} ]")

    # Binding and conversion

    def visit_Let(self, e: Let) -> str:
        self.bind(e.var, e.value)
        return self.visit(e.body)

    def bind(self, var: Var, value: Expr) -> None:
        if isinstance(var.ty, BufferType):
            raise self.refuse(f"a binding of the buffer `{var.name}`", var)
        old, self.indexing = self.indexing, False
        result = self.visit(value)
        self.indexing = old
        if not isinstance(var.ty, PointerType) and not isinstance(value.ty, PointerType | BufferType):
            result = arith.cast(self, value.dtype, var.dtype, result)
        self.values[var] = result

    def visit_Cast(self, e: Cast) -> str:
        value = self.visit(e.value)
        return arith.cast(self, e.value.dtype, e.dtype, value, bounded=is_clamped(e.value, e.dtype))

    # Vectors

    def visit_Ramp(self, e: Ramp) -> str:
        base, stride = self.visit(e.base), self.visit(e.stride)
        element = value_type(e.base.dtype)
        self.check_vector(e.dtype, e)
        t = self.type(e)
        flag = " nsw" if self.indexing and e.base.dtype.is_int else ""
        steps = self.steps(element, e.dtype)
        walk = self.code.op(f"mul{flag} {t} {self.spread(stride, element, e.dtype)}, {steps}")
        return self.code.op(f"add{flag} {t} {self.spread(base, element, e.dtype)}, {walk}")

    def steps(self, element: str, dtype: DType) -> str:
        """The numbers of the lanes: 0, 1, 2, ..."""
        if not dtype.scalable:
            return "<" + ", ".join([f"{element} {k}" for k in range(dtype.lanes)]) + ">"
        t = vector(element, dtype)
        name = self.unit.declare(f"llvm.stepvector.nxv{dtype.lanes}{element}", f"{t} ()")
        return self.code.op(f"call {t} {name}()")

    def visit_Broadcast(self, e: Broadcast) -> str:
        self.check_vector(e.dtype, e)
        value = self.visit(e.value)
        self.type(e)
        return self.spread(value, value_type(e.value.dtype), e.dtype) if e.dtype.is_vector else value

    def visit_Shuffle(self, e: Shuffle) -> str:
        picked = [arith.constant(i) for i in e.indices]
        if len(e.vectors) == 1 and e.vectors[0].dtype.is_vector and len(picked) > 1 and None not in picked:
            value, t = self.visit(e.vectors[0]), self.type(e.vectors[0])
            if all(0 <= k < e.vectors[0].dtype.lanes for k in picked):  # type: ignore[operator]
                mask = ", ".join([f"i32 {k}" for k in picked])
                return self.code.op(f"shufflevector {t} {value}, {t} poison, <{len(picked)} x i32> <{mask}>")
        parts = []
        for v in e.vectors:
            value, t = self.visit(v), self.type(v)
            if v.dtype.lanes == 1:
                parts.append(value)
            else:
                parts += [self.code.op(f"extractelement {t} {value}, i64 {k}") for k in range(v.dtype.lanes)]
        picks = []
        for i in e.indices:
            k = arith.constant(i)
            if k is None or not 0 <= k < len(parts):
                raise self.refuse("a Shuffle whose indices are not constants within its vectors", e)
            picks.append(parts[k])
        return self.gathered(picks, value_type(e.dtype.element))

    def gathered(self, lanes: list[str], element: str) -> str:
        """A vector of these scalars."""
        if len(lanes) == 1:
            return lanes[0]
        t = f"<{len(lanes)} x {element}>"
        value = "poison"
        for k, lane in enumerate(lanes):
            value = self.code.op(f"insertelement {t} {value}, {element} {lane}, i64 {k}")
        return value

    # Memory

    def flat_index(self, mem: Memory, indices: tuple[Expr, ...]) -> Expr:
        """The one index of an access in cells; several indices count along the strides."""
        ty = mem.ty
        if len(indices) == 1 and not ty.strides:
            return indices[0]
        if not indices:
            return IntImm("int64", 0)
        if any(i.dtype.is_vector for i in indices):
            raise self.refuse("a vector access with several indices")
        total: Expr | None = None
        for k, index in enumerate(indices):
            term: Expr = Cast("int64", index)
            steps = [ty.strides[k]] if ty.strides else list(ty.shape[k + 1 :])
            for step in steps:
                term = Mul(term, Cast("int64", step))
            total = term if total is None else Add(total, term)
        assert total is not None
        return total

    def visit_BufferLoad(self, e: BufferLoad) -> str:
        mem = self.buffer(e.buffer, e)
        index = self.flat_index(mem, e.indices)
        dtype = e.dtype
        address = self.contiguous(mem, index)
        if address is not None:
            raw = self.code.op(f"load {memory_type(dtype)}, ptr {address}, align {self.natural(dtype)}")
            return self.from_memory(dtype, raw)
        cell = memory_element(dtype)
        if self.scattered(mem, index):
            t, ptrs, every = memory_type(dtype), vector("ptr", dtype), self.every_lane(dtype)
            name = f"llvm.masked.gather.{vector_suffix(dtype)}.{pointers_suffix(dtype)}"
            name = self.unit.declare(name, f"{t} ({ptrs}, i32, {vector('i1', dtype)}, {t})")
            place = f"{ptrs} {self.addresses(mem, index)}, i32 {self.natural(dtype)}"
            return self.from_memory(dtype, self.code.op(f"call {t} {name}({place}, {every}, {t} poison)"))
        lanes = []
        for position in self.lane_positions(mem, index):
            place = self.address(mem, position)
            lanes.append(self.code.op(f"load {cell}, ptr {place}, align {self.natural(dtype)}"))
        return self.from_memory(dtype, self.gathered(lanes, cell))

    def contiguous(self, mem: Memory, index: Expr) -> str | None:
        """The address of the first cell if the cells lie side by side, else None."""
        if index.dtype.is_vector:
            ramp = as_ramp(index)
            if ramp is None or arith.constant(ramp[1]) != 1:
                return None
            first, count = ramp[0], index.dtype.lanes
        else:
            first, count = index, 1
        position = self.index(first)
        self.check_bounds(mem, position, count)
        return self.address(mem, self.scaled(position, mem.ty.dtype.lanes))

    def scattered(self, mem: Memory, index: Expr) -> bool:
        """Whether an access is best left to the machine's gather or scatter."""
        if index.dtype.scalable:
            return True
        wide = memory_element(mem.ty.dtype) in ("float", "double", "i32", "i64")
        return wide and mem.ty.dtype.lanes == 1 and not self.context.checked and as_ramp(index) is None

    def every_lane(self, dtype: DType) -> str:
        """The mask that lets all lanes through, with its type."""
        return f"{vector('i1', dtype)} {splat('i1', 'true', dtype)}"

    def addresses(self, mem: Memory, index: Expr) -> str:
        """The addresses of the cells at a vector of indices."""
        value, kind = self.index(index), vector("i64", index.dtype)
        cell = memory_element(mem.ty.dtype)
        return self.code.op(f"getelementptr inbounds {cell}, ptr {mem.pointer}, {kind} {value}")

    def scaled(self, position: str, lanes: int) -> str:
        """An index of elements as an index of lanes."""
        return position if lanes == 1 else self.code.op(f"mul nsw i64 {position}, {lanes}")

    def lane_positions(self, mem: Memory, index: Expr) -> list[str]:
        """The index of each lane of a scattered access."""
        value, count = self.index(index), index.dtype.lanes
        inner = mem.ty.dtype.lanes
        out = []
        for k in range(count):
            position = self.code.op(f"extractelement <{count} x i64> {value}, i64 {k}")
            self.check_bounds(mem, position, 1)
            first = self.scaled(position, inner)
            out.append(first)
            out += [self.code.op(f"add nsw i64 {first}, {j}") for j in range(1, inner)]
        return out

    def check_bounds(self, mem: Memory, position: str, count: int) -> None:
        """In a checked build: leave with an error where cells lie outside the buffer."""
        if not self.context.checked:
            return
        size = self.cells(mem)
        limit = size if count == 1 else self.code.op(f"sub i64 {size}, {count - 1}")
        low = self.code.op(f"icmp sge i64 {position}, 0")
        high = self.code.op(f"icmp slt i64 {position}, {limit}")
        ok = self.code.op(f"and i1 {low}, {high}")
        name = next((v.name for v, m in self.memory.items() if m is mem), "")
        self.require(ok, self.site("bounds", buffer=name), position, size)

    def cells(self, mem: Memory) -> str:
        """The number of elements of a buffer, as an i64."""
        total = "1"
        for k, extent in enumerate(mem.ty.shape):
            n = self.index(extent)
            if mem.ty.strides and k < len(mem.ty.strides):
                last = self.code.op(f"sub i64 {n}, 1")
                reach = self.code.op(f"mul i64 {last}, {self.index(mem.ty.strides[k])}")
                total = self.code.op(f"add i64 {total}, {reach}")
            else:
                total = self.code.op(f"mul i64 {total}, {n}") if total != "1" else n
        return total

    def visit_Call(self, e: Call) -> str:
        from .rules import emit_call

        return emit_call(self, e)


def as_ramp(e: Expr) -> tuple[Expr, Expr] | None:
    """(base, stride) of an index vector that grows evenly, or None."""
    match e:
        case Ramp(base=base, stride=stride):
            return base, stride
        case Broadcast(value=value):
            return value, IntImm(value.dtype, 0)
        case Add(a=a, b=b):
            return _join(as_ramp(a), as_ramp(b), Add)
        case Sub(a=a, b=b):
            return _join(as_ramp(a), as_ramp(b), Sub)
        case Mul(a=a, b=b):
            one, two = as_ramp(a), as_ramp(b)
            if one is None or two is None:
                return None
            for x, y in ((one, two), (two, one)):
                if arith.constant(y[1]) == 0:
                    return Mul(x[0], y[0]), fold(Mul, x[1], y[0])
    return None


def _join(
    a: tuple[Expr, Expr] | None, b: tuple[Expr, Expr] | None, node: type[Add] | type[Sub]
) -> tuple[Expr, Expr] | None:
    if a is None or b is None:
        return None
    return node(a[0], b[0]), fold(node, a[1], b[1])


def fold(node: type[BinaryOp], a: Expr, b: Expr) -> Expr:
    """a (op) b, computed where both are constant."""
    x, y = arith.constant(a), arith.constant(b)
    if x is None or y is None:
        return node(a, b)
    value = x + y if node is Add else x - y if node is Sub else x * y
    return IntImm(a.dtype, a.dtype.wrap(value))


def is_clamped(e: Expr, dtype: DType) -> bool:
    """Whether `min` and `max` keep a float, and NaN, within the range of an integer type.

    The outer one must have its constant behind: then it is what NaN becomes.
    """
    if not isinstance(e, Min | Max) or not e.dtype.is_float or dtype.is_bool or not dtype.is_integral:
        return False
    inner = e.a
    if not isinstance(inner, Max if isinstance(e, Min) else Min):
        return False
    bounds = [v for v in map(float_constant, (e.b, inner.a, inner.b)) if v is not None]
    return len(bounds) == 2 and dtype.min_value - 1 < min(bounds) and max(bounds) < dtype.max_value + 1


def float_constant(e: Expr) -> float | None:
    """The value of a float constant, of each lane where it is a vector; else None."""
    if isinstance(e, Broadcast):
        e = e.value
    return e.value if isinstance(e, FloatImm) else None


HARMLESS = frozenset(
    {"EQ", "NE", "LT", "LE", "GT", "GE", "Add", "Sub", "Mul", "Min", "Max", "And", "Or", "Not"}
)
HARMLESS_LIMIT = 16


def is_harmless(e: Expr) -> bool:
    """Whether evaluating this needlessly costs little and can neither fail nor be seen."""
    left = HARMLESS_LIMIT
    stack = [e]
    while stack:
        node = stack.pop()
        left -= 1
        if left < 0:
            return False
        match node:
            case Var() | IntImm() | FloatImm():
                pass
            case Cast(value=value) | Not(a=value) | Broadcast(value=value):
                stack.append(value)
            case FloorDiv(a=a, b=b) | FloorMod(a=a, b=b):
                if (arith.constant(b) or 0) <= 0:
                    return False
                stack.append(a)
            case BinaryOp(a=a, b=b) if type(node).__name__ in HARMLESS:
                stack += [a, b]
            case _:
                return False
    return True
