"""Statements to C: stores, loops, choices, memory, checks, calls inside the module."""

from __future__ import annotations

import re
from typing import Any

from ...dtype import DType
from ...ir import (
    AllocBuffer,
    AssertStmt,
    AttrStmt,
    Bind,
    Break,
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    Continue,
    DeclBuffer,
    Effect,
    Evaluate,
    Expr,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    IterVar,
    Op,
    PointerType,
    Range,
    Return,
    SeqStmt,
    Stmt,
    StringImm,
    Type,
    Var,
    While,
    call_effect,
    walk,
)
from ..llvm.expr import as_ramp
from . import arith, formats
from .core import Context, Memory
from .expr import Expressions, plus
from .facts import Facts
from .rules import emit_call
from .text import SUM, Lanes, Term, call, convert, infix, prefix
from .types import integer, lane_bytes

ALIGNED = 16
"""What shared arrays, and pointers that a kernel is given, are a multiple of."""


class Statements(Expressions):
    """Emits the body of one function; see `emit.py`."""

    def __init__(self, context: Context, name: str, facts: Facts, kernel: bool) -> None:
        super().__init__(context, name)
        self.facts = facts
        self.kernel = kernel
        self.head: list[str] = []
        """Declarations that a function begins with."""
        self.axes: dict[str, Term] = {}
        self.static_shared = 0
        self.dynamic: str | None = None
        self.fragments: dict[Var, str] = {}
        """Buffers that only rules of the language can access, by their names."""
        self.loops = 0

    # Simple statements

    def visit_SeqStmt(self, s: SeqStmt) -> None:
        for part in s.seq:
            self.visit(part)

    def visit_Evaluate(self, s: Evaluate) -> None:
        value = s.value
        if isinstance(value, IntImm):
            return
        self.at(s if s.span is not None else value)
        if isinstance(value, Call) and isinstance(value.op, Op):
            name = value.op.name.partition(".")[2]
            if name in ("break_loop", "continue_loop"):
                return self.leave_loop(name.partition("_")[0], s)
            if name in ("ret", "thread_return"):
                return self.leave_function(value.args[0] if value.args else None)
        self.unused = value
        self.watch(value)
        self.visit(value)
        self.unused = None
        return None

    def watch(self, *values: Expr) -> None:
        """Before a statement with these values: where a call in them changes memory, loads keep order."""
        self.loaded = {}
        self.strict = any(
            isinstance(n, Call) and n is not self.unused and changes(n) for v in values for n in walk(v)
        )

    def visit_Bind(self, s: Bind) -> None:
        self.at(s)
        self.watch(s.value)
        self.bind(s.var, s.value)

    def visit_BufferStore(self, s: BufferStore) -> None:
        self.at(s)
        self.watch(s.value, *s.indices)
        mem = self.buffer(s.buffer, s)
        index = self.flat_index(mem, s.indices)
        count = index.dtype.lanes * mem.ty.dtype.lanes
        element, source = mem.ty.dtype.element, s.value.dtype.element
        lanes = [arith.cast(self, source, element, x) for x in self.lanes(s.value)]
        if len(lanes) == 1 and count > 1:
            lanes = [self.once(lanes[0], element)] * count
        cells = [formats.to_cell(self.unit, element, x) for x in lanes]
        if count == 1:
            self.put(f"{mem.cell(self.index(index)).text} = {cells[0].text};")
            return
        first = self.contiguous(mem, index)
        if first is None:
            for place, cell in zip(self.places(mem, index), cells):
                self.put(f"{mem.cell(place).text} = {cell.text};")
            return
        for offset, width in self.pieces(mem, index, count):
            part = [c.text for c in cells[offset : offset + width]]
            if width == 1:
                self.put(f"{mem.cell(plus(first, offset)).text} = {part[0]};")
                continue
            address = infix(mem.pointer, "+", plus(first, offset), SUM)
            self.put(self.dialect.store(self, element, address, mem.scope, part))

    def visit_AssertStmt(self, s: AssertStmt) -> None:
        self.at(s)
        self.watch(s.condition)
        condition = self.value(s.condition)
        kind = s.kind.value if isinstance(s.kind, StringImm) else "AssertionError"
        message = f"{kind}: {''.join([p.value for p in s.message_parts])}"
        self.put(f"if ({prefix('!', condition).text}) {{")
        self.depth += 1
        self.dialect.fail(self, message)
        self.depth -= 1
        self.put("}")

    # Threads

    def visit_AttrStmt(self, s: AttrStmt) -> None:
        if s.attr_key == "virtual_thread":
            raise self.refuse("virtual threads", s, "lower them with `tirx.LowerVirtualThread` first")
        if s.attr_key == "thread_extent" and isinstance(s.node, IterVar):
            self.axis(s.node, s.value)
        self.visit(s.body)

    def axis(self, node: IterVar, extent: Any) -> None:
        """Let the variable of a thread axis stand for the thread's place on it."""
        var, tag = node.var, node.thread_tag
        if var in self.values:
            return
        if var not in self.facts.used:
            self.values[var] = [Term("0")]
            return
        if isinstance(extent, Expr):
            self.analyzer.bind(var, Range(0, extent))
        known = self.axes.get(f"{tag}:{var.dtype}")
        if known is None:
            spelled = self.dialect.axes.get(tag)
            if spelled is None:
                raise self.refuse(f"the thread axis `{tag}`", node)
            kind = self.type(var.dtype)
            hint = var.name if re.fullmatch(r"\w+", var.name) else tag.replace(".", "_")
            known = self.named(kind, hint, convert(kind, Term(spelled)))
            self.axes[f"{tag}:{var.dtype}"] = known
        self.values[var] = [known]

    # Memory

    def visit_AllocBuffer(self, s: AllocBuffer) -> None:
        self.at(s)
        ty = s.buffer.ty
        assert isinstance(ty, BufferType)
        special = self.dialect.find_scope(ty.storage_scope)
        if special is not None:
            special(self, s)
        elif ty.storage_scope == "shared.dyn":
            self.dynamic_shared(s, ty)
        elif ty.storage_scope.startswith("shared"):
            cell, count = self.unit.cell(ty.dtype), self.length(s, ty)
            name = self.names.fresh(s.buffer.name)
            self.head.append(f"{self.dialect.shared(f'{cell} {name}[{count}]')};")
            self.static_shared += -(-count * lane_bytes(ty.dtype) // ALIGNED) * ALIGNED
            self.memory[s.buffer] = Memory(Term(name), ty, ty.storage_scope, ALIGNED)
        elif ty.storage_scope in ("local", "warp") or ty.storage_scope.startswith("local"):
            cell, count = self.unit.cell(ty.dtype), self.length(s, ty)
            name = self.names.fresh(s.buffer.name)
            single = count == 1 and s.buffer not in self.facts.escaped
            if single:
                self.scalars.add(name)
            size = lane_bytes(ty.dtype)
            self.put(
                f"{cell} {name};" if single else f"{self.dialect.local(f'{cell} {name}[{count}]', size)};"
            )
            self.memory[s.buffer] = Memory(Term(name), ty, "local", size, single)
        else:
            what = f"a buffer in `{ty.storage_scope}` memory inside of a kernel (`{s.buffer.name}`)"
            raise self.refuse(what, s, "let the host allocate it, or use `shared` or `local` memory")

    def length(self, s: AllocBuffer, ty: BufferType) -> int:
        """The number of cells of an array. Raises CodegenError where it is not constant."""
        count = ty.dtype.lanes
        for n in ty.shape:
            known = arith.constant(n)
            if known is None or known < 0:
                raise self.refuse(f"the size of `{s.buffer.name}`, which is not constant", s)
            count *= known
        return max(count, 1)

    def dynamic_shared(self, s: AllocBuffer, ty: BufferType) -> None:
        """The one array of dynamic shared memory."""
        if self.dynamic is not None:
            help = "merge them with `tirx.MergeSharedMemoryAllocations` first"
            raise self.refuse("several buffers in `shared.dyn` memory", s, help)
        self.dynamic = name = self.names.fresh(s.buffer.name)
        cell = self.unit.cell(ty.dtype)
        if not self.dialect.dynamic_parameter:
            self.head.append(f"extern {self.dialect.shared(f'{cell} {name}[]')};")
        else:
            raw = self.dynamic = self.names.fresh(f"{name}_bytes")
            kind = self.dialect.pointer(cell, "shared")
            self.head.append(f"{kind} {name} = ({kind}){raw};")
        self.memory[s.buffer] = Memory(Term(name), ty, "shared.dyn", ALIGNED)

    def visit_DeclBuffer(self, s: DeclBuffer) -> None:
        self.at(s)
        ty = s.buffer.ty
        assert isinstance(ty, BufferType)
        if ty.elem_offset is not None and arith.constant(ty.elem_offset) != 0:
            offset: Term | None = self.index(ty.elem_offset)
        else:
            offset = None
        source = s.data
        pointer, aligned = self.value(source), self.known_alignment(source)
        element = source.ty.element_type if isinstance(source.ty, PointerType) else None
        scope = ty.storage_scope
        if isinstance(source.ty, PointerType) and source.ty.storage_scope:
            scope = source.ty.storage_scope
        same = self.cell_of(element) == self.unit.cell(ty.dtype)
        if not same or not pointer.simple or offset is not None:
            kind = self.dialect.pointer(self.unit.cell(ty.dtype), scope, s.buffer in self.facts.read_only)
            if not same:
                pointer = convert(kind, pointer)
            if offset is not None:
                pointer, aligned = infix(pointer, "+", offset, SUM), lane_bytes(ty.dtype)
            name = self.names.fresh(s.buffer.name)
            self.put(f"{kind} {name} = {pointer.text};")
            pointer = Term(name)
        self.memory[s.buffer] = Memory(pointer, ty, scope, max(aligned, lane_bytes(ty.dtype)))

    def known_alignment(self, e: Expr) -> int:
        """A number of bytes, a power of two, that a pointer is a multiple of."""
        match e:
            case Var() if e in self.memory:
                return self.memory[e].aligned
            case Var() if self.kernel and e in self.facts.pointers:
                return ALIGNED
            case Call(op=Op(name="tirx.buffer_data")):
                return self.known_alignment(e.args[0])
            case Call(op=Op(name="tirx.ptr_byte_offset" | "tirx.handle_add_byte_offset")):
                with self.analyzer.mode(data=False):
                    found = self.analyzer.modular(e.args[1])
                known = self.known_alignment(e.args[0])
                while found.coeff % known or found.base % known:
                    known //= 2
                return known
            case Call(op=Op(name="tirx.address_of")) if isinstance(e.args[0], BufferLoad):
                load = e.args[0]
                mem = self.buffer(load.buffer, load)
                return self.alignment(mem, self.flat_index(mem, load.indices))
        return 1

    def pointer_type(self, ty: Type) -> str:
        """How the type of a pointer is spelled."""
        assert isinstance(ty, PointerType)
        return self.dialect.pointer(self.cell_of(ty.element_type), ty.storage_scope)

    def address(self, e: Expr) -> Term:
        """The address of an element."""
        assert isinstance(e, BufferLoad)
        mem = self.buffer(e.buffer, e)
        index = self.flat_index(mem, e.indices)
        if index.dtype.is_vector:
            ramp = as_ramp(index)
            index = ramp[0] if ramp is not None else index
        position = self.index(index)
        if mem.ty.dtype.lanes > 1:
            position = Term(f"{position.at(SUM + 1)} * {mem.ty.dtype.lanes}", SUM + 1)
        return mem.pointer if position.text == "0" else infix(mem.pointer, "+", position, SUM)

    # Control flow

    def body(self, s: Stmt) -> None:
        """A statement inside of braces."""
        self.depth += 1
        self.known.append({})
        with self.analyzer.scope():
            self.visit(s)
        self.known.pop()
        self.depth -= 1

    def visit_IfThenElse(self, s: IfThenElse) -> None:
        self.at(s)
        self.watch(s.condition)
        self.put(f"if ({self.value(s.condition).text}) {{")
        self.body(s.then_case)
        if s.else_case is not None:
            self.put("} else {")
            self.body(s.else_case)
        self.put("}")

    def visit_For(self, s: For) -> None:
        self.at(s)
        if s.kind not in (ForKind.SERIAL, ForKind.UNROLLED):
            help = (
                "lower the function first" if s.kind is not ForKind.PARALLEL else "bind it to a thread axis"
            )
            raise self.refuse(f"a loop of kind `{s.kind.name.lower()}`", s, help)
        dtype = s.loop_var.dtype
        extent, low = arith.constant(s.extent), arith.constant(s.min)
        if extent is not None and extent <= 0:
            return
        step = 1 if s.step is None else arith.constant(s.step)
        if step is not None and step <= 0:
            raise self.refuse("a loop whose step is not positive", s)
        self.prepare(s)
        self.watch(s.min, s.extent)
        first, end = self.range_of(s, low, extent)
        kind = self.type(dtype)
        stride = "" if s.step is None else self.once(self.operand(s.step, dtype), dtype, "step").text
        name = self.names.fresh(s.loop_var.name)
        self.values[s.loop_var] = [Term(name)]
        self.analyzer.bind(s.loop_var, Range(s.min, s.extent))
        if s.kind is ForKind.UNROLLED:
            self.put("#pragma unroll")
        elif "disable_unroll" in s.annotations:
            self.put("#pragma unroll 1")
        following = f"{name} += {stride}" if stride else f"++{name}"
        self.put(f"for ({kind} {name} = {first.text}; {name} < {end.text}; {following}) {{")
        self.loops += 1
        self.body(s.body)
        self.loops -= 1
        self.put("}")

    def range_of(self, s: For, low: int | None, extent: int | None) -> tuple[Term, Term]:
        """The first value of a loop variable, and the end of its values, as they are before the loop."""
        dtype = s.loop_var.dtype
        if low is not None and extent is not None:
            if not dtype.min_value <= low and low + extent <= dtype.max_value:
                raise self.refuse(f"a loop whose bounds leave `{dtype}`", s)
            return integer(self.unit, dtype, low), integer(self.unit, dtype, low + extent)
        first, count = self.operand(s.min, dtype), self.operand(s.extent, dtype)
        if low != 0:
            first = self.once(first, dtype, f"{s.loop_var.name}_begin")
            count = infix(first, "+", count, SUM)
        return first, self.once(count, dtype, f"{s.loop_var.name}_end")

    def operand(self, e: Expr, dtype: DType) -> Term:
        """An index value in the type of a loop variable."""
        return arith.cast(self, e.dtype, dtype, self.index(e))

    def prepare(self, s: For | While) -> None:
        """What the language wants before an outermost loop that has barriers."""
        lines = [] if self.loops else self.dialect.before_barriers()
        if lines and any(isinstance(n, Call) and is_barrier(n) for n in walk(s.body)):
            for line in lines:
                self.put(line)

    def visit_While(self, s: While) -> None:
        self.at(s)
        self.prepare(s)
        self.watch(s.condition)
        before, lanes = self.captured(s.condition)
        self.loops += 1
        if before:
            self.put("while (1) {")
            self.lines += before
            self.depth += 1
            self.put(f"if ({prefix('!', lanes[0]).text}) break;")
            self.depth -= 1
        else:
            self.put(f"while ({lanes[0].text}) {{")
        self.body(s.body)
        self.loops -= 1
        self.put("}")

    def leave_loop(self, word: str, node: object) -> None:
        """`break` or `continue`."""
        if not self.loops:
            raise self.refuse(f"`{word}` outside a loop", node)
        self.put(f"{word};")

    def visit_Break(self, s: Break) -> None:
        self.at(s)
        self.leave_loop("break", s)

    def visit_Continue(self, s: Continue) -> None:
        self.at(s)
        self.leave_loop("continue", s)

    # Leaving and calling

    def visit_Call(self, e: Call) -> Lanes:
        return emit_call(self, e)

    def visit_Return(self, s: Return) -> None:
        self.at(s)
        self.leave_function(s.value)

    def leave_function(self, value: Expr | None) -> None:
        """`return`, of a kernel without a value."""
        result = self.facts.func.ret_type
        if self.kernel or value is None or result == "void":
            self.put("return;")
            return
        self.watch(value)
        lane = self.value(value)
        if not isinstance(result, PointerType):
            lane = arith.cast(self, value.dtype, result.dtype, lane)  # type: ignore[attr-defined]
        self.put(f"return {lane.text};")

    def call_function(self, name: str, e: Call) -> Lanes:
        """A call of another function of the module."""
        callee = self.context.functions.get(name)
        if callee is None:
            raise self.refuse(f"a call of `{name}`, which is no function of this module", e)
        if len(e.args) != len(callee.params):
            raise self.refuse(
                f"a call of `{name}` with {len(e.args)} arguments; it takes {len(callee.params)}", e
            )
        args: Lanes = []
        known: dict[Var, Term] = {}
        for p, a in zip(callee.params, e.args):
            args.append(self.argument(p, a, known))
        for v in Facts(callee).symbols:
            if v not in known:
                raise self.refuse(f"a call of `{name}` that leaves its size `{v.name}` unknown", e)
            args.append(known[v])
        return [call(self.context.names[name], *args)]

    def argument(self, p: Var, a: Expr, known: dict[Var, Term]) -> Term:
        """One argument of an inner call; sizes of a buffer argument define the callee's symbols."""
        if isinstance(p.ty, BufferType):
            if isinstance(a, Var) and isinstance(a.ty, BufferType):
                for mine, theirs in zip(a.ty.shape, p.ty.shape):
                    if isinstance(theirs, Var):
                        known.setdefault(theirs, self.operand(mine, theirs.dtype))
            return self.address(a) if isinstance(a, BufferLoad) else self.visit(a)[0]
        value = self.value(a)
        if isinstance(p.ty, PointerType):
            return value
        value = arith.cast(self, a.dtype, p.dtype, value)
        known[p] = value
        return value


def is_barrier(e: Call) -> bool:
    """Whether threads of a block wait for each other in a call."""
    return isinstance(e.op, Op) and e.op.name in _BARRIERS


_BARRIERS = frozenset(
    f"tirx.{n}" for n in ("tvm_storage_sync", "cuda.cta_sync", "cuda.syncthreads_and", "cuda.syncthreads_or")
)


def changes(e: Call) -> bool:
    """Whether memory may be another after a call: one that is given pointers, or lets other threads go on."""
    if call_effect(e) is not Effect.UPDATE:
        return False
    return is_barrier(e) or any(isinstance(a.ty, PointerType | BufferType) for a in e.args)
