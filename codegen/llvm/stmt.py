"""Statements to LLVM: stores, loops, choices, memory, checks, calls inside the module."""

from __future__ import annotations

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
    Evaluate,
    Expr,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    Op,
    PointerType,
    PrimType,
    Return,
    SeqStmt,
    Stmt,
    StringImm,
    Tuple,
    Var,
    While,
)
from . import arith, workspace
from .core import DEPTH_LIMIT, STACK_LIMIT, STACK_TOTAL, Context, Memory
from .expr import Expressions
from .rules_atomic import prefetch_ahead
from .signature import Signature, inner_type
from .streaming import settle, stream, streamed
from .types import lane_bytes, memory_element, memory_type, pointers_suffix, value_type, vector, vector_suffix

LONG_BODY = 128
"""How many accesses an innermost loop may have for LLVM to look at all pairs of them."""
OPAQUE = 'call void asm sideeffect "", ""() inaccessiblememonly nounwind willreturn'
"""No instruction, which touches no memory of ours, but which LLVM does not look into."""


class Statements(Expressions):
    """Emits the body of one function; see `emit_function`."""

    def __init__(self, context: Context, signature: Signature) -> None:
        super().__init__(context, signature.name)
        self.signature = signature
        self.loops: list[tuple[str, str, int]] = []
        self.last_loop = 0
        self.streamed: frozenset[Var] = frozenset()
        self.reserved = 0
        self.recursive = context.facts[signature.name].recursive

    def emit_function(self, name: str, body: Stmt, noalias: bool) -> str:
        """The text of the inner function; it returns 0, or 1 after filling the report `%err`."""
        params = ["ptr noalias %err"]
        for k, v in enumerate((*self.signature.params, *self.signature.symbols)):
            t = inner_type(v)
            register = f"%p{k}"
            if isinstance(v.ty, BufferType):
                params.append(f"ptr {'noalias ' if noalias else ''}%p{k}")
                self.memory[v] = Memory(register, v.ty, 1)
                if noalias:
                    self.distinct.add(register)
            else:
                params.append(f"{t} {register}")
                self.values[v] = register
        if self.signature.results:
            params.append("ptr noalias %ret")
        if self.recursive:
            self.guard_depth()
        self.visit(body)
        if not self.code.closed:
            self.finish()
        wide = self.context.machine.wide
        return f"define internal i32 {name}({', '.join(params)}) nounwind{wide} {{\n{self.code.body()}\n}}"

    def guard_depth(self) -> None:
        """Count the calls that are open; refuse to go on before the stack ends."""
        slot = self.code.op("getelementptr i8, ptr %err, i64 24")
        depth = self.code.op(f"load i64, ptr {slot}")
        self.require(self.code.op(f"icmp slt i64 {depth}, {DEPTH_LIMIT}"), self.site("recursion"))
        self.code.do(f"store i64 {self.code.op(f'add i64 {depth}, 1')}, ptr {slot}")

    def finish(self) -> None:
        """Release memory and leave the function successfully."""
        self.release(0)
        if self.recursive:
            slot = self.code.op("getelementptr i8, ptr %err, i64 24")
            depth = self.code.op(f"load i64, ptr {slot}")
            self.code.do(f"store i64 {self.code.op(f'sub i64 {depth}, 1')}, ptr {slot}")
        self.code.ret("i32 0")

    def release(self, keep: int) -> None:
        """Free what was allocated after the first `keep` allocations (they stay on the list)."""
        for pointer in reversed(self.frees[keep:]):
            self.code.do(f"call void @lw.give(ptr {pointer})")

    # Simple statements

    def visit_SeqStmt(self, s: SeqStmt) -> None:
        keep = len(self.frees)
        for part in s.seq:
            if self.code.closed:
                break
            self.visit(part)
        if not self.code.closed:
            self.release(keep)
        del self.frees[keep:]

    def at(self, s: Stmt) -> None:
        """Reports from here on name this statement."""
        if s.span is not None:
            self.span = s.span

    def visit_Evaluate(self, s: Evaluate) -> None:
        self.at(s)
        value = s.value
        if isinstance(value, IntImm):
            return
        if isinstance(value, Call) and isinstance(value.op, Op):
            name = value.op.name.partition(".")[2]
            if name == "break_loop":
                return self.leave_loop(0, s)
            if name == "continue_loop":
                return self.leave_loop(1, s)
            if name in ("ret", "thread_return"):
                return self.leave_function(value.args[0] if value.args else None)
        self.unused = value
        self.visit(value)
        self.unused = None
        return None

    def visit_Bind(self, s: Bind) -> None:
        self.at(s)
        self.bind(s.var, s.value)

    def visit_BufferStore(self, s: BufferStore) -> None:
        self.at(s)
        mem = self.buffer(s.buffer, s)
        index = self.flat_index(mem, s.indices)
        dtype = s.value.dtype
        value = self.visit(s.value)
        expected = mem.ty.dtype.element.with_lanes(
            index.dtype.lanes * mem.ty.dtype.lanes, index.dtype.scalable
        )
        if dtype.is_scalar and expected.is_vector:
            value = self.spread(value, value_type(dtype), expected)
            dtype = dtype.with_lanes(expected.lanes, expected.scalable)
        value = arith.cast(self, dtype, expected, value)
        raw = self.to_memory(expected, value)
        align = self.natural(expected)
        address = self.contiguous(mem, index)
        if address is not None and s.buffer in self.streamed and expected == s.value.dtype:
            stream(self, s, raw, address, align)
            return
        if address is not None:
            self.code.do(f"store {memory_type(expected)} {raw}, ptr {address}, align {align}")
            return
        cell, t = memory_element(expected), memory_type(expected)
        if self.scattered(mem, index):
            ptrs, mask = vector("ptr", expected), self.every_lane(expected)
            name = f"llvm.masked.scatter.{vector_suffix(expected)}.{pointers_suffix(expected)}"
            name = self.unit.declare(name, f"void ({t}, {ptrs}, i32, {vector('i1', expected)})")
            place = f"{ptrs} {self.addresses(mem, index)}, i32 {align}"
            self.code.do(f"call void {name}({t} {raw}, {place}, {mask})")
            return
        for k, position in enumerate(self.lane_positions(mem, index)):
            lane = self.code.op(f"extractelement {t} {raw}, i64 {k}")
            self.code.do(f"store {cell} {lane}, ptr {self.address(mem, position)}, align {align}")

    def visit_AssertStmt(self, s: AssertStmt) -> None:
        self.at(s)
        ok = self.visit(s.condition)
        message = "".join([p.value for p in s.message_parts])
        kind = s.kind.value if isinstance(s.kind, StringImm) else "AssertionError"
        self.require(ok, self.site("assert", error=kind, message=message))

    def visit_AttrStmt(self, s: AttrStmt) -> None:
        if s.attr_key in ("thread_extent", "virtual_thread"):
            raise self.refuse(f"the attribute `{s.attr_key}`", s, "thread axes need a GPU target")
        self.visit(s.body)

    # Memory

    def visit_AllocBuffer(self, s: AllocBuffer) -> None:
        self.at(s)
        ty = s.buffer.ty
        assert isinstance(ty, BufferType)
        cell = memory_element(ty.dtype)
        size = lane_bytes(ty.dtype) * ty.dtype.lanes
        count: int | None = 1
        for n in ty.shape:
            known = arith.constant(n)
            count = None if count is None or known is None else count * known
        if count is not None and count < 0:
            raise self.refuse(f"the negative size of `{s.buffer.name}`", s)
        # Functions that call themselves keep their frames small: there may be many of them.
        most, total = (1024, 2048) if self.recursive else (STACK_LIMIT, STACK_TOTAL)
        if count is not None and count * size <= most and self.reserved + count * size <= total:
            self.reserved += count * size
            register = self.code.stack(f"[{max(count, 1) * ty.dtype.lanes} x {cell}], align 64", "local")
        else:
            register = self.heap(ty, size)
        self.distinct.add(register)
        self.memory[s.buffer] = Memory(register, ty, 64)

    def heap(self, ty: BufferType, size: int) -> str:
        """Memory from the allocator, aligned to 64 bytes, released at the end of the scope."""
        code = self.code
        total, good = str(size), "true"
        multiply = self.unit.declare("llvm.smul.with.overflow.i64", "{ i64, i1 } (i64, i64)")
        for n in ty.shape:
            extent = self.index(n)
            pair = code.op(f"call {{ i64, i1 }} {multiply}(i64 {total}, i64 {extent})")
            total = code.op(f"extractvalue {{ i64, i1 }} {pair}, 0")
            fits = code.op(f"xor i1 {code.op(f'extractvalue {{ i64, i1 }} {pair}, 1')}, true")
            fits = code.op(f"and i1 {fits}, {code.op(f'icmp sge i64 {extent}, 0')}")
            good = code.op(f"and i1 {good}, {fits}")
        small = code.op(f"icmp ult i64 {total}, {1 << 46}")
        self.require(code.op(f"and i1 {good}, {small}"), self.site("memory"), total)
        block = code.op(f"call noalias align 64 ptr {workspace.use(self.unit)}(i64 {total})")
        self.require(code.op(f"icmp ne ptr {block}, null"), self.site("memory"), total)
        self.frees.append(block)
        return block

    def visit_DeclBuffer(self, s: DeclBuffer) -> None:
        self.at(s)
        ty = s.buffer.ty
        assert isinstance(ty, BufferType)
        self.memory[s.buffer] = Memory(self.visit(s.data), ty, 1)

    # Control flow

    def visit_IfThenElse(self, s: IfThenElse) -> None:
        self.at(s)
        code = self.code
        condition = self.visit(s.condition)
        then, join = code.name("then"), code.name("endif")
        other = code.name("else") if s.else_case is not None else join
        code.branch(condition, then, other)
        code.label(then)
        self.scope(s.then_case)
        code.jump(join)
        if s.else_case is not None:
            code.label(other)
            self.scope(s.else_case)
            code.jump(join)
        code.label(join)

    def scope(self, body: Stmt) -> None:
        """A body whose allocations end with it."""
        keep = len(self.frees)
        self.visit(body)
        if not self.code.closed:
            self.release(keep)
        del self.frees[keep:]

    def visit_For(self, s: For) -> None:
        self.at(s)
        if s.kind not in (ForKind.SERIAL, ForKind.PARALLEL, ForKind.UNROLLED):
            raise self.refuse(f"a loop of kind `{s.kind.name.lower()}`", s, "lower the function first")
        from . import parallel

        dtype = s.loop_var.dtype
        t = value_type(dtype)
        step = 1 if s.step is None else arith.constant(s.step)
        low, extent = arith.constant(s.min), arith.constant(s.extent)
        if extent is not None and extent <= 0:
            return
        if s.kind is ForKind.PARALLEL and parallel.launch(self, s):
            return
        self.loop(s, *self.loop_bounds(s, t, low, extent, step))

    def loop(self, s: For, first: str, stride: str, end: str, known: bool) -> None:
        """The loop from `first` up to `end`; `known`: it runs, and its counter stays inside its type."""
        code, dtype = self.code, s.loop_var.dtype
        t = value_type(dtype)
        header, latch, exit = code.name("loop"), code.name("next"), code.name("exit")
        signed = "s" if dtype.is_int else "u"
        if not known:
            code.branch(code.op(f"icmp {signed}lt {t} {first}, {end}"), header, exit)
        before = code.block
        code.label(header)
        first_line = len(code.lines)
        counter, following = code.name("%i"), code.name("%n")
        code.do(f"{counter} = phi {t} [ {first}, %{before} ], [ {following}, %{latch} ]")
        self.values[s.loop_var] = counter
        prefetch_ahead(self, s, counter)
        around, own = self.streamed, streamed(s)
        self.streamed = around | own
        self.loops.append((exit, latch, len(self.frees)))
        self.loop_names.append(s.loop_var.name)
        self.scope(s.body)
        self.loop_names.pop()
        self.loops.pop()
        self.streamed = around
        code.label(latch)
        self.plain_if_long(first_line)
        if stride == "1" or known:
            code.do(f"{following} = add n{signed}w {t} {counter}, {stride}")
            again = code.op(f"icmp {signed}lt {t} {following}, {end}")
        else:
            left = code.op(f"sub {t} {end}, {counter}")
            again = code.op(f"icmp ugt {t} {left}, {stride}")
            code.do(f"{following} = add {t} {counter}, {stride}")
        mark = self.loop_metadata(s)
        code.lines.append(f"  br i1 {again}, label %{header}, label %{exit}{mark}")
        code.closed = True
        code.label(exit)
        if own:
            settle(self)

    def plain_if_long(self, first: int) -> None:
        """Keep LLVM from analysing the accesses of an innermost loop in pairs where there are many.

        Deciding whether such a loop can be vectorized, or loads be carried around it, takes it
        seconds for a few hundred accesses, and more when it then does so.
        """
        lines = self.code.lines
        inner, self.last_loop = self.last_loop > first, len(lines)
        if inner or len(lines) - first < LONG_BODY:
            return
        accesses = sum([1 for text in lines[first:] if " load " in text or text.startswith("  store ")])
        if accesses > LONG_BODY:
            self.code.do(OPAQUE)

    def loop_bounds(
        self, s: For, t: str, low: int | None, extent: int | None, step: int | None
    ) -> tuple[str, str, str, bool]:
        """First value, step, end, and whether the loop is known to run and to end inside its type."""
        dtype = s.loop_var.dtype
        stride = str(step)
        if step is None:
            assert s.step is not None
            stride = self.operand(s.step, dtype)
            positive = self.code.op(f"icmp {'sgt' if dtype.is_int else 'ugt'} {t} {stride}, 0")
            self.require(positive, self.site("loop-step", loop=s.loop_var.name), self.widen(stride, dtype))
        elif step <= 0:
            raise self.refuse("a loop whose step is not positive", s)
        if low is not None and extent is not None:
            end = low + extent
            if not dtype.min_value <= low and end <= dtype.max_value:
                raise self.refuse(f"a loop whose bounds leave `{dtype}`", s)
            return str(low), stride, str(end), step is not None and end + step <= dtype.max_value
        first = self.operand(s.min, dtype)
        count = self.operand(s.extent, dtype)
        if low == 0:
            return first, stride, count, False
        flag = "nsw" if dtype.is_int else "nuw"
        return first, stride, self.code.op(f"add {flag} {t} {first}, {count}"), False

    def operand(self, e: Expr, dtype) -> str:  # type: ignore[no-untyped-def]
        """An index value in the type of a loop variable."""
        old, self.indexing = self.indexing, True
        value = self.visit(e)
        self.indexing = old
        return arith.cast(self, e.dtype, dtype, value)

    def loop_metadata(self, s: For) -> str:
        """Hints of the loop's annotations for LLVM, as the end of its branch."""
        hints = []
        if "disable_unroll" in s.annotations:
            hints.append('!"llvm.loop.unroll.disable"')
        return self.unit.loop_hint(hints) if hints else ""

    def visit_While(self, s: While) -> None:
        self.at(s)
        code = self.code
        head, body, exit = code.name("while"), code.name("do"), code.name("exit")
        code.label(head)
        code.branch(self.visit(s.condition), body, exit)
        code.label(body)
        self.loops.append((exit, head, len(self.frees)))
        self.scope(s.body)
        self.loops.pop()
        code.jump(head)
        code.label(exit)

    def leave_loop(self, which: int, node: object) -> None:
        """Jump out of (0) or to the next round of (1) the innermost loop."""
        if not self.loops:
            raise self.refuse("`break` or `continue` outside a loop", node)
        target = self.loops[-1]
        self.release(target[2])
        self.code.jump(target[which])  # type: ignore[arg-type]

    def visit_Break(self, s: Break) -> None:
        self.leave_loop(0, s)

    def visit_Continue(self, s: Continue) -> None:
        self.leave_loop(1, s)

    # Leaving and calling

    def visit_Return(self, s: Return) -> None:
        self.at(s)
        self.leave_function(s.value)

    def leave_function(self, value: Expr | None) -> None:
        results = self.signature.results
        if results:
            if value is None:
                raise self.refuse("a return without a value from a function that has a result")
            fields = value.fields_ if isinstance(value, Tuple) else (value,)
            if len(fields) != len(results):
                raise self.refuse("a return of another number of values than the function's type says")
            ready = []
            for e, ty in zip(fields, results):
                v = self.visit(e)
                if isinstance(ty, PrimType):
                    v = arith.cast(self, e.dtype, ty.dtype, v)
                    ready.append(self.for_slot(ty.dtype, v))
                else:
                    ready.append(("ptr", v))
            for k, (t, v) in enumerate(ready):
                place = "%ret" if k == 0 else self.code.op(f"getelementptr i64, ptr %ret, i64 {k}")
                self.code.do(f"store {t} {v}, ptr {place}, align 8")
        elif value is not None and not isinstance(value, IntImm):
            self.visit(value)
        self.finish()

    def call_function(self, name: str, e: Call) -> str:
        """A call of another function of this module."""
        callee = self.context.signatures.get(name)
        if callee is None:
            raise self.refuse(f"a call of `{name}`, which is no function of this module", e)
        if len(e.args) != len(callee.params):
            raise self.refuse(
                f"a call of `{name}` with {len(e.args)} arguments; it takes {len(callee.params)}", e
            )
        args = ["ptr %err"]
        known: dict[Var, str] = {}
        for p, a in zip(callee.params, e.args):
            args.append(self.argument(p, a, known, callee, e))
        for v in callee.symbols:
            if v not in known:
                raise self.refuse(f"a call of `{name}` that leaves its size `{v.name}` unknown", e)
            args.append(f"{inner_type(v)} {known[v]}")
        slots = ""
        if callee.results:
            slots = self.code.stack(f"[{len(callee.results)} x i64], align 8", "result")
            args.append(f"ptr {slots}")
        from .emit import inner_name

        status = self.code.op(f"call i32 {inner_name(name, False)}({', '.join(args)})")
        self.succeed(status)
        if not callee.results or e is self.unused:
            return "0"
        if callee.tuple_result:
            raise self.refuse(f"the several results of `{name}` inside an expression", e)
        result = callee.results[0]
        if not isinstance(result, PrimType):
            return self.code.op(f"load ptr, ptr {slots}")
        return self.from_slot(result.dtype, slots)

    def succeed(self, status: str) -> None:
        """Go on where a call succeeded; otherwise fail with the report that it filled."""
        good, bad = self.code.name("ok"), self.code.name("bad")
        self.code.branch(self.code.op(f"icmp eq i32 {status}, 0"), good, bad, likely=True)
        self.exit(bad, [])
        self.code.label(good)

    def argument(self, p: Var, a: Expr, known: dict[Var, str], callee: Signature, e: Call) -> str:
        """One argument of an inner call; sizes of a buffer argument define the callee's symbols."""
        if isinstance(p.ty, BufferType):
            if isinstance(a, BufferLoad):
                a = Call("tirx.address_of", (a,), "handle")
            if isinstance(a, Var) and isinstance(a.ty, BufferType):
                if a.ty.dtype is not p.ty.dtype:
                    raise self.refuse(f"`{a.name}` as `{p.name}` of `{callee.name}`: the dtypes differ", e)
                if len(a.ty.shape) == len(p.ty.shape):
                    for mine, theirs in zip(a.ty.shape, p.ty.shape):
                        if isinstance(theirs, Var) and theirs in callee.symbols and theirs not in known:
                            known[theirs] = self.operand(mine, theirs.dtype)
            elif not isinstance(a.ty, PointerType):
                raise self.refuse(f"a value as the buffer `{p.name}` of `{callee.name}`", e)
            return f"ptr {self.visit(a)}"
        value = self.visit(a)
        if isinstance(p.ty, PointerType):
            return f"ptr {value}"
        return f"{inner_type(p)} {arith.cast(self, a.dtype, p.dtype, value)}"
