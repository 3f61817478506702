"""The base of the emitters: values, memory, failing exits, and what a function stands in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ...dtype import DType
from ...errors import CodegenError, Diagnostic, Span
from ...ir import BufferType, Expr, IntImm, PrimFunc, Var
from . import small_floats
from .facts import Facts
from .machine import Machine
from .signature import Signature
from .text import Code, Unit
from .types import (
    MAX_LANES,
    is_narrow,
    is_small_float,
    lane_bytes,
    memory_element,
    memory_type,
    value_type,
    vector,
)

STACK_LIMIT = 16 * 1024
"""Local buffers above this many bytes come from the allocator."""
STACK_TOTAL = 256 * 1024
CODE_LIMIT = 200_000
"""Longer functions take LLVM minutes and gigabytes."""
DEPTH_LIMIT = 1000
"""How deep functions of a module may call themselves."""


@dataclass(frozen=True)
class Context:
    """The module that a function stands in."""

    unit: Unit
    machine: Machine
    functions: Mapping[str, PrimFunc]
    signatures: Mapping[str, Signature]
    facts: Mapping[str, Facts]
    checked: bool
    parallel: bool = True
    standalone: bool = False


@dataclass(frozen=True)
class Memory:
    """A buffer as the emitter sees it."""

    pointer: str
    ty: BufferType
    aligned: int


class Emitter:
    """State while one function is emitted, and the operations every part needs."""

    table: ClassVar[dict[type, Callable[[Any, Any], Any]]] = {}

    def __init_subclass__(cls) -> None:
        from ... import ir

        table = {}
        for name in dir(cls):
            node = getattr(ir, name.removeprefix("visit_"), None)
            if name.startswith("visit_") and isinstance(node, type):
                table[node] = getattr(cls, name)
        cls.table = table

    def __init__(self, context: Context, name: str) -> None:
        self.context = context
        self.unit = context.unit
        self.function = name
        self.code = Code()
        self.values: dict[Var, str] = {}
        self.memory: dict[Var, Memory] = {}
        self.indexing = False
        self.loop_names: list[str] = []
        self.frees: list[str] = []
        self.distinct: set[str] = set()
        self.span: Span | None = None

    def visit(self, node: Any) -> Any:
        """Emit a node: the register of an expression's value, None for a statement."""
        if len(self.code.lines) > CODE_LIMIT:
            raise self.too_long()
        method = self.table.get(node.__class__)
        if method is None:
            raise self.refuse(f"`{type(node).__name__}`", node)
        return method(self, node)

    def too_long(self) -> CodegenError:
        """The error for a function that would become too much code."""
        where = f" in the loop over `{self.loop_names[-1]}`" if self.loop_names else ""
        return CodegenError(
            Diagnostic(
                "code-size",
                f"`{self.function}` becomes more than {CODE_LIMIT} instructions{where}",
                self.span,
                help=("unroll and vectorize less, or split the function into several",),
            )
        )

    def refuse(self, what: str, node: Any = None, help: str = "") -> CodegenError:
        """The error for something this back end cannot express."""
        span = getattr(node, "span", None) or self.span
        return CodegenError(
            Diagnostic(
                "unsupported-codegen",
                f"the llvm back end does not support {what} (in `{self.function}`)",
                span,
                help=(help,) if help else (),
            )
        )

    # Values

    def type(self, e: Expr) -> str:
        """The LLVM type of an expression's value."""
        return value_type(e.dtype)

    def index(self, e: Expr) -> str:
        """An index expression as an i64; overflow inside it is undefined."""
        if isinstance(e, IntImm):
            return str(e.value)
        old, self.indexing = self.indexing, True
        value = self.visit(e)
        self.indexing = old
        return self.widen(value, e.dtype)

    def widen(self, value: str, dtype: DType) -> str:
        """An integer as an i64 (lanes kept)."""
        if dtype.bits == 64 and not dtype.is_bool:
            return value
        kind = "sext" if dtype.is_int else "zext"
        return self.code.op(f"{kind} {value_type(dtype)} {value} to {vector('i64', dtype)}")

    def rounded(self, dtype: DType, value: str) -> str:
        """A float32 result rounded to the small format `dtype`; other types as they are."""
        if not is_small_float(dtype):
            return value
        name = small_floats.rounding(self.unit, dtype, dtype.lanes, self.context.machine.half)
        t = value_type(dtype)
        return self.code.op(f"call {t} {name}({t} {value})")

    def from_memory(self, dtype: DType, raw: str) -> str:
        """The value of the bits read from memory."""
        if dtype.is_bool:
            zero = "zeroinitializer" if dtype.is_vector else "0"
            return self.code.op(f"icmp ne {vector('i8', dtype)} {raw}, {zero}")
        if is_narrow(dtype) and not is_small_float(dtype):
            cells, bits = (vector(f"i{n}", dtype.lanes) for n in (8, dtype.bits))
            raw = self.code.op(f"trunc {cells} {raw} to {bits}")
        return self.from_bits(dtype, raw)

    def from_bits(self, dtype: DType, raw: str) -> str:
        """The value of its bits: a small float from an integer as in memory, others as they are."""
        if not is_small_float(dtype):
            return raw
        name = small_floats.decode(self.unit, dtype, dtype.lanes, self.context.machine.half)
        return self.code.op(f"call {value_type(dtype)} {name}({memory_type(dtype)} {raw})")

    def to_memory(self, dtype: DType, value: str) -> str:
        """The bits of a value for memory."""
        if dtype.is_bool:
            return self.code.op(f"zext {value_type(dtype)} {value} to {vector('i8', dtype)}")
        value = self.to_bits(dtype, value)
        if is_narrow(dtype) and not is_small_float(dtype):
            cells, bits = (vector(f"i{n}", dtype.lanes) for n in (8, dtype.bits))
            value = self.code.op(f"zext {bits} {value} to {cells}")
        return value

    def to_bits(self, dtype: DType, value: str) -> str:
        """The bits of a value: of a small float as an integer as in memory, others as they are."""
        if not is_small_float(dtype):
            return value
        name = small_floats.encode(self.unit, dtype, dtype.lanes, self.context.machine.half)
        return self.code.op(f"call {memory_type(dtype)} {name}({value_type(dtype)} {value})")

    def from_slot(self, dtype: DType, place: str) -> str:
        """A scalar out of an 8-byte slot, where small floats are float32 and narrow integers a byte."""
        t = value_type(dtype)
        if not (dtype.is_integral and is_narrow(dtype)):
            return self.code.op(f"load {t}, ptr {place}, align 8")
        return self.code.op(f"trunc i8 {self.code.op(f'load i8, ptr {place}, align 8')} to {t}")

    def for_slot(self, dtype: DType, value: str) -> tuple[str, str]:
        """Type and value of a scalar as a slot takes it."""
        t = value_type(dtype)
        if not (dtype.is_integral and is_narrow(dtype)):
            return t, value
        return "i8", self.code.op(f"{'sext' if dtype.is_int else 'zext'} {t} {value} to i8")

    def spread(self, value: str, element: str, lanes: int | DType) -> str:
        """A vector with this scalar in every lane."""
        t, kind = vector(element, lanes), vector("i32", lanes)
        first = self.code.op(f"insertelement {t} poison, {element} {value}, i64 0")
        return self.code.op(f"shufflevector {t} {first}, {t} poison, {kind} zeroinitializer")

    def check_vector(self, dtype: DType, node: Any) -> None:
        """Refuse vectors of too many lanes, and of a length that only the machine knows where it has none."""
        if dtype.lanes > MAX_LANES:
            raise CodegenError(
                Diagnostic(
                    "unsupported-dtype",
                    f"`{dtype}` has more than {MAX_LANES} lanes",
                    getattr(node, "span", None) or self.span,
                    help=("split the loop before vectorizing the inner one",),
                )
            )
        if dtype.scalable and not {"sve", "sve2", "sme", "v"} & set(self.context.machine.named_features):
            raise CodegenError(
                Diagnostic(
                    "unsupported-dtype",
                    f"scalable vectors such as `{dtype}` need a target with SVE or RISC-V V",
                    getattr(node, "span", None) or self.span,
                    help=("use vectors of fixed length, or name the feature: `-mattr=+sve`",),
                )
            )

    def any_lane(self, condition: str, lanes: int) -> str:
        """Whether a condition holds in some lane."""
        if lanes == 1:
            return condition
        name = self.unit.declare(f"llvm.vector.reduce.or.v{lanes}i1", f"i1 (<{lanes} x i1>)")
        return self.code.op(f"call i1 {name}(<{lanes} x i1> {condition})")

    # Memory

    def buffer(self, v: Var, node: Any = None) -> Memory:
        """Where a buffer lies."""
        found = self.memory.get(v)
        if found is None:
            raise self.refuse(f"the buffer `{v.name}`, which is not defined here", node)
        return found

    def address(self, mem: Memory, lane: str, inside: bool = True) -> str:
        """The address of a lane (an i64 index of scalar cells), `inside` the buffer if it is accessed."""
        if lane == "0":
            return mem.pointer
        flag = " inbounds" if inside else ""
        cell = memory_element(mem.ty.dtype)
        return self.code.op(f"getelementptr{flag} {cell}, ptr {mem.pointer}, i64 {lane}")

    def natural(self, dtype: DType) -> int:
        """The alignment that every cell of this type has."""
        return lane_bytes(dtype)

    # Exits

    def require(self, ok: str, site: int, a: str = "0", b: str = "0") -> None:
        """Go on where `ok` holds; otherwise leave the function and report the site with two numbers."""
        good, bad = self.code.name("ok"), self.code.name("bad")
        self.code.branch(ok, good, bad, likely=True)
        self.exit(bad, [(0, str(site)), (8, a), (16, b)])
        self.code.label(good)

    def exit(self, label: str, report: list[tuple[int, str]]) -> None:
        """A block at the end of the function that fills the report, frees memory and fails."""
        cold = self.code.cold
        cold.append(f"{label}:")
        for offset, value in report:
            slot = f"%{self.code.name('e')}"
            cold.append(f"  {slot} = getelementptr i8, ptr %err, i64 {offset}")
            cold.append(f"  store i64 {value}, ptr {slot}")
        cold.extend([f"  call void @lw.give(ptr {p})" for p in reversed(self.frees)])
        cold.append("  ret i32 1")

    def site(self, kind: str, **what: Any) -> int:
        """A numbered place for reports; the span of the statement goes with it."""
        return self.unit.site(self.span, kind=kind, function=self.function, **what)
