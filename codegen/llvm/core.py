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
from .types import is_small_float, lane_bytes, memory_element, value_type, vector

STACK_LIMIT = 16 * 1024
"""Local buffers above this many bytes come from the allocator."""
STACK_TOTAL = 256 * 1024
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
        self.frees: list[str] = []
        self.span: Span | None = None

    def visit(self, node: Any) -> Any:
        """Emit a node: the register of an expression's value, None for a statement."""
        method = self.table.get(node.__class__)
        if method is None:
            raise self.refuse(f"`{type(node).__name__}`", node)
        return method(self, node)

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
        return self.code.op(f"{kind} {value_type(dtype)} {value} to {vector('i64', dtype.lanes)}")

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
            t = vector("i8", dtype.lanes)
            return self.code.op(
                f"icmp ne {t} {raw}, zeroinitializer" if dtype.lanes > 1 else f"icmp ne i8 {raw}, 0"
            )
        if is_small_float(dtype):
            name = small_floats.decode(self.unit, dtype, dtype.lanes, self.context.machine.half)
            store = vector(memory_element(dtype), dtype.lanes)
            return self.code.op(f"call {value_type(dtype)} {name}({store} {raw})")
        return raw

    def to_memory(self, dtype: DType, value: str) -> str:
        """The bits of a value for memory."""
        if dtype.is_bool:
            return self.code.op(f"zext {value_type(dtype)} {value} to {vector('i8', dtype.lanes)}")
        if is_small_float(dtype):
            store = vector(memory_element(dtype), dtype.lanes)
            return self.code.op(f"call {store} {self.encoder(dtype)}({value_type(dtype)} {value})")
        return value

    def encoder(self, dtype: DType) -> str:
        """The function that turns a float32 into the bits of a small format."""
        memory_element(dtype)
        return small_floats.encode(self.unit, dtype, dtype.lanes, self.context.machine.half)

    def spread(self, value: str, element: str, lanes: int) -> str:
        """A vector with this scalar in every lane."""
        t = f"<{lanes} x {element}>"
        first = self.code.op(f"insertelement {t} poison, {element} {value}, i64 0")
        return self.code.op(f"shufflevector {t} {first}, {t} poison, <{lanes} x i32> zeroinitializer")

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

    def address(self, mem: Memory, lane: str) -> str:
        """The address of a lane (an i64 index of scalar cells)."""
        if lane == "0":
            return mem.pointer
        return self.code.op(
            f"getelementptr inbounds {memory_element(mem.ty.dtype)}, ptr {mem.pointer}, i64 {lane}"
        )

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
        cold.extend([f"  call void @free(ptr {p})" for p in reversed(self.frees)])
        cold.append("  ret i32 1")

    def site(self, kind: str, **what: Any) -> int:
        """A numbered place for reports; the span of the statement goes with it."""
        return self.unit.site(self.span, kind=kind, function=self.function, **what)
