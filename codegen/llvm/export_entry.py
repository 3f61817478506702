"""The function of an exported library that other languages call, by the convention of TVM-FFI.

    int32_t __tvm_ffi_<name>(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result)

It checks everything that it uses and gives 0, or -1 for an error (see `export_text.py`).
"""

from __future__ import annotations

from ...dtype import DType
from ...errors import CodegenError, Diagnostic
from ...ir import BufferType, Expr, IntImm, PointerType, PrimType, Var
from . import arith
from .arguments import describe, describe_extent
from .core import Context, Emitter
from .exchange import dtype_word
from .export_text import BOOL, FLOAT, INT, POINTER, A, B, add_helpers, offsets
from .signature import Signature, dtype_of, inner_type
from .sites import failure, plain
from .text import Unit, quoted
from .types import lane_bytes, value_type
from .wrapper import Wrapper, _Array

_DEVICES = (1, 3, 11)
"""DLPack's memory that the processor reads: its own, pinned, managed."""


class Entry(Wrapper):
    """Emits the entry of one function."""

    def __init__(self, context: Context, sig: Signature) -> None:
        super().__init__(context, sig)
        self.fields = offsets(context.machine)
        self.sizes: list[tuple[int, str, Expr, str]] = []
        self.code.entry.append("  %err = alloca [4 x i64], align 16")
        add_helpers(self.unit, context.machine)

    # Failing

    def require(self, ok: str, site: int, a: str = "0", b: str = "0") -> None:
        """Go on where `ok` holds; otherwise report the site."""
        Emitter.require(self, ok, site, a, b)

    def exit(self, label: str, report: list[tuple[int, str]]) -> None:
        """A block that fills the report and goes to where it is raised."""
        cold = self.code.cold
        cold.append(f"{label}:")
        for offset, value in report:
            slot = f"%{self.code.name('e')}"
            cold.append(f"  {slot} = getelementptr i8, ptr %err, i64 {offset}")
            cold.append(f"  store i64 {value}, ptr {slot}")
        cold.append("  br label %failed")

    def expect(self, ok: str, error: str, code: str, text: str, a: str = "0", b: str = "0") -> None:
        """Go on where `ok` holds; the text names the two numbers as `{a}` and `{b}`."""
        self.require(ok, self.site("argument", error=error, code=code, text=text), a, b)

    def about(self, k: int) -> str:
        """How an error speaks of a parameter."""
        return plain(f"{self.sig.name}: argument {k + 1} ({self.sig.names[k]})")

    # Arguments

    def cell(self, k: int) -> tuple[str, str]:
        """The address and the type index of an argument."""
        place = self.code.op(f"getelementptr i8, ptr %args, i64 {16 * k}")
        return place, self.code.op(f"load i32, ptr {place}")

    def among(self, kind: str, *indices: int) -> str:
        """Whether a type index is one of these."""
        found = [self.code.op(f"icmp eq i32 {kind}, {n}") for n in indices]
        total = found[0]
        for one in found[1:]:
            total = self.code.op(f"or i1 {total}, {one}")
        return total

    def number(self, k: int, p: Var) -> None:
        """A scalar argument, converted to the type of its parameter."""
        code, dtype, (cell, kind) = self.code, dtype_of(p.ty), self.cell(k)
        allowed = (INT, BOOL, FLOAT) if dtype.is_float else (INT, BOOL)
        text = f"{self.about(k)} must be {'a number' if dtype.is_float else 'an integer'} for `{dtype}`"
        self.expect(self.among(kind, *allowed), "TypeError", "argument-type", text)
        wide = self.field("i64", cell, 8)
        if dtype.is_float:
            real = self.field("double", cell, 8)
            whole = code.op(f"sitofp i64 {wide} to double")
            is_real = code.op(f"icmp eq i32 {kind}, {FLOAT}")
            value = code.op(f"select i1 {is_real}, double {real}, double {whole}")
            value = arith.cast(self, DType("float64"), dtype, value)
        elif dtype.is_bool:
            value = code.op(f"icmp ne i64 {wide}, 0")
        else:
            value = self.in_range(wide, dtype, f"{self.about(k)} is {{a}}, outside the range of `{dtype}`")
        self.values[p] = self.inputs[p] = value

    def in_range(self, wide: str, dtype: DType, text: str, code: str = "argument-value") -> str:
        """A 64-bit value as an integer type that can hold it."""
        low, high = int(dtype.min_value), min(int(dtype.max_value), (1 << 63) - 1)
        if dtype.bits < 64 or dtype.is_uint:
            above = self.code.op(f"icmp sge i64 {wide}, {low}")
            below = self.code.op(f"icmp sle i64 {wide}, {high}")
            self.expect(self.code.op(f"and i1 {above}, {below}"), "ValueError", code, text, wide)
        return wide if dtype.bits == 64 else self.code.op(f"trunc i64 {wide} to {value_type(dtype)}")

    def pointer(self, k: int, p: Var) -> None:
        """An address: a plain one, none, or that of a tensor's elements."""
        cell, kind = self.cell(k)
        ok = self.among(kind, 0, POINTER, 7, 70)
        self.expect(ok, "TypeError", "argument-type", f"{self.about(k)} must be a pointer")
        self.inputs[p] = self.values[p] = self.code.op(f"call ptr @lw.address(ptr {cell})")

    def tensor(self, k: int, p: Var) -> None:
        """A tensor: kind, rank, dtype, device, layout, memory, then its shape."""
        ty, code, who = p.ty, self.code, self.about(k)
        assert isinstance(ty, BufferType)
        rank, size = len(ty.shape), lane_bytes(ty.dtype)
        t = code.op(f"call ptr @lw.tensor(ptr {self.cell(k)[0]})")
        some = code.op(f"icmp ne ptr {t}, null")
        self.expect(some, "TypeError", "argument-type", f"{who} must be a tensor")
        found = self.field("i32", t, self.fields["rank"])
        wide = code.op(f"sext i32 {found} to i64")
        text = f"{who} must have {rank} dimensions, not {{a}}"
        self.expect(code.op(f"icmp eq i32 {found}, {rank}"), "ValueError", "argument-rank", text, wide)
        self.element_type(t, ty.dtype, who)
        device = self.field("i32", t, self.fields["device"])
        text = f"{who} lies on a device of type {{a}}; this function was compiled for the CPU"
        place = code.op(f"sext i32 {device} to i64")
        self.expect(self.among(device, *_DEVICES), "ValueError", "argument-device", text, place)
        data = code.op(f"call ptr @lw.data(ptr {t})")
        array = _Array(p, data)
        self.arrays.append(array)
        shape = self.field("ptr", t, self.fields["shape"])
        array.dims = [self.field("i64", shape, 8 * d) for d in range(rank)]
        self.memory_of(data, array.dims, size, who)
        if ty.strides:
            steps = [code.op(f"call i64 @lw.stride(ptr {t}, i64 {rank}, i64 {d})") for d in range(rank)]
            bytes_ = size * ty.dtype.lanes
            array.strides = [code.op(f"mul i64 {s}, {bytes_}") for s in steps]
        else:
            ok = code.op(f"call i1 @lw.compact(ptr {t}, i64 {rank})")
            self.expect(ok, "ValueError", "argument-strides", f"{who} must be compact, without gaps")
            steps = []
        for d, (extent, value) in enumerate(zip(ty.shape, array.dims)):
            self.measure(k, f"shape[{d}]", extent, value)
        for d, (step, value) in enumerate(zip(ty.strides, steps)):
            self.measure(k, f"strides[{d}]", step, value)
        if ty.dtype.lanes > 1:
            array.dims.append(str(ty.dtype.lanes))
            array.strides += [str(size)] if ty.strides else []
        if isinstance(ty.elem_offset, Var) and ty.elem_offset in self.sig.symbols:
            self.values.setdefault(ty.elem_offset, "0")

    def element_type(self, t: str, dtype: DType, who: str) -> None:
        """The dtype, whose code, bits and lanes DLPack keeps in 32 bits."""
        word = self.field("i32", t, self.fields["dtype"])
        ok = self.code.op(f"icmp eq i32 {word}, {dtype_word(dtype)}")
        wide = self.code.op(f"zext i32 {word} to i64")
        kind = self.code.op(f"and i64 {wide}, 255")
        bits = self.code.op(f"and i64 {self.code.op(f'lshr i64 {wide}, 8')}, 255")
        text = f"{who} must have dtype `{dtype}`, not elements of DLPack's type {{a}} with {{b}} bits"
        self.expect(ok, "TypeError", "argument-dtype", text, kind, bits)

    def memory_of(self, data: str, dims: list[str], size: int, who: str) -> None:
        """The address is aligned, and one where there are elements."""
        code = self.code
        address = code.op(f"ptrtoint ptr {data} to i64")
        low = code.op(f"and i64 {address}, {size - 1}")
        text = f"{who} must lie at a multiple of {size} bytes"
        self.expect(code.op(f"icmp eq i64 {low}, 0"), "ValueError", "argument-value", text)
        total = "1"
        for n in dims:
            total = code.op(f"mul i64 {total}, {n}")
        there = code.op(f"icmp ne i64 {address}, 0")
        ok = code.op(f"or i1 {there}, {code.op(f'icmp eq i64 {total}, 0')}")
        self.expect(ok, "ValueError", "argument-value", f"{who} has no memory")

    def measure(self, k: int, place: str, expected: Expr, value: str) -> None:
        """Let a size define its symbol, or compare it when all symbols are known."""
        if isinstance(expected, Var) and expected in self.sig.symbols and expected not in self.values:
            dtype = expected.dtype
            text = f"{self.about(k)} has {place} {{a}}, outside the range of `{dtype}`"
            self.values[expected] = self.in_range(value, dtype, text, "argument-shape")
        else:
            self.sizes.append((k, place, expected, value))

    def compare_later(self) -> None:
        """Compare the sizes whose expressions need symbols that other arguments define."""
        for k, place, expected, value in self.sizes:
            shown = plain(describe_extent(expected))
            more = "" if isinstance(expected, IntImm) else f" (`{shown}`)"
            wanted = self.index(expected)
            code = "argument-strides" if place.startswith("strides") else "argument-shape"
            text = f"{self.about(k)} must have {place} {{a}}{more}, not {{b}}"
            ok = self.code.op(f"icmp eq i64 {wanted}, {value}")
            self.expect(ok, "ValueError", code, text, wanted, value)
        super().compare_later()

    # The whole

    def emit(self, compare: bool) -> str:
        """The text of the entry."""
        code, sig = self.code, self.sig
        count = len(sig.params)
        given = code.op("sext i32 %nargs to i64")
        text = f"`{plain(describe(sig))}` takes {count} arguments but {{a}} were given"
        self.expect(code.op(f"icmp eq i64 {given}, {count}"), "TypeError", "argument-count", text, given)
        for k, p in enumerate(sig.params):
            if isinstance(p.ty, BufferType):
                self.tensor(k, p)
            elif isinstance(p.ty, PointerType):
                self.pointer(k, p)
            else:
                self.number(k, p)
        for v in sig.symbols:
            if v not in self.values:
                text = f"`{sig.name}` cannot be exported: no argument determines `{v.name}`"
                raise CodegenError(Diagnostic("unsupported-export", text, v.span))
        self.compare_later()
        return self.call(compare)

    def call(self, compare: bool) -> str:
        """The call of the body, and what becomes of its result."""
        code, sig = self.code, self.sig
        code.do(f"store i64 0, ptr {code.op('getelementptr i8, ptr %err, i64 24')}")
        slots = code.stack(f"[{max(len(sig.results), 1)} x i64], align 16", "ret")
        inputs = [(inner_type(v), self.inputs.get(v) or self.values[v]) for v in (*sig.params, *sig.symbols)]
        inputs = [("ptr", "%err"), *inputs, *([("ptr", slots)] if sig.results else [])]
        args = ", ".join([f"{t} {v}" for t, v in inputs])
        shared = self.overlap() if compare else None
        if shared is not None:
            code.branch(shared, "overlap", "apart")
            code.label("overlap")
            types = ", ".join([t for t, _ in inputs])
            other = self.unit.declare(f"lw.entry.{sig.name}", f"i32 ({types})")
            status = code.op(f"call i32 {other}({args})")
            code.branch(code.op(f"icmp eq i32 {status}, 0"), "done", "failed.overlapping", likely=True)
            code.label("apart")
        status = code.op(f"call i32 {quoted('lw.body.' + sig.name)}({args})")
        code.branch(code.op(f"icmp eq i32 {status}, 0"), "done", "failed", likely=True)
        code.label("done")
        self.give(slots)
        code.ret("i32 0")
        self.raising("failed", "@lw.failures")
        if shared is not None:
            table = "lw.failures.overlapping"
            self.unit.declared[table] = f"@{table} = external constant [0 x {{ ptr, ptr }}]"
            self.raising("failed.overlapping", "@lw.failures.overlapping")
        symbol = quoted(f"__tvm_ffi_{self.context.functions[sig.name].attrs['global_symbol']}")
        head = f"define i32 {symbol}(ptr %self, ptr %args, i32 %nargs, ptr %result)"
        return f"{head} nounwind {{\n{code.body()}\n}}"

    def raising(self, label: str, table: str) -> None:
        """A block that raises what the report says."""
        self.code.label(label)
        numbers = ", ".join([f"i64 {self.field('i64', '%err', 8 * n)}" for n in range(3)])
        self.code.ret(f"i32 {self.code.op(f'call i32 @lw.raise(ptr {table}, {numbers}, ptr %result)')}")

    def give(self, slots: str) -> None:
        """Put the result, if there is one, into its cell."""
        if not self.sig.results:
            return
        code, ty = self.code, self.sig.results[0]
        dtype = dtype_of(ty)
        kind = POINTER if dtype.is_handle else BOOL if dtype.is_bool else FLOAT if dtype.is_float else INT
        place = code.op("getelementptr i8, ptr %result, i64 8")
        code.do(f"store i64 {kind}, ptr %result")
        code.do(f"store i64 0, ptr {place}")
        value = self.from_slot(dtype, slots)
        if dtype.is_handle:
            code.do(f"store ptr {value}, ptr {place}")
        elif dtype.is_float:
            code.do(f"store double {arith.cast(self, dtype, DType('float64'), value)}, ptr {place}")
        else:
            code.do(f"store i64 {self.widen(value, dtype)}, ptr {place}")


def emit_entry(context: Context, sig: Signature, compare: bool) -> str:
    """The text of the entry; `compare`: overlapping arguments take the other variant.

    Raises CodegenError for a function that the convention has no form for.
    """
    plain = [isinstance(r, PointerType | PrimType) for r in sig.results]
    if sig.tuple_result or len(plain) > 1:
        text = f"`{sig.name}` returns several values, which an exported function cannot"
        raise CodegenError(Diagnostic("unsupported-export", text, help=("write them to a buffer",)))
    return Entry(context, sig).emit(compare)


def add_failures(unit: Unit, overlapping: bool) -> None:
    """The table of what failing places say: kind and text, in order of their numbers."""
    rows = []
    for site, span in zip(unit.sites, unit.spans):
        found = failure(site)
        place = "" if span is None else f" ({span})"
        rows.append([unit.string(found.error), unit.string(found.text.format(a=A, b=B) + place)])
    cells = ", ".join([f"{{ ptr, ptr }} {{ ptr {kind}, ptr {text} }}" for kind, text in rows])
    name = "lw.failures.overlapping" if overlapping else "lw.failures"
    value = f"[{cells}]" if rows else "zeroinitializer"
    unit.helper(name, f"@{name} = constant [{len(rows)} x {{ ptr, ptr }}] {value}")
