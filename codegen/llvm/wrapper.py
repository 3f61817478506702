"""The function that CPython calls: METH_FASTCALL | METH_KEYWORDS, all checks in machine code.

It takes exact numpy arrays, ints, floats and bools whose values fit, by position.  Anything else
goes, with the very same arguments, to a Python function (`Entry.slow`) that converts what can be
converted and raises precise errors for the rest.  Nothing here raises by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...dtype import DType
from ...ir import BufferType, Expr, IntImm, PointerType, PrimType, Var
from . import arith
from .core import Context
from .exchange import VIEW, dtype_word, view_function
from .expr import Expressions
from .layout import ALIGNED, CONTIGUOUS, DATA, DESCR, DIMS, FLAGS, HEAD, RANK, STRIDES, TYPE, WRITEABLE
from .signature import Signature, dtype_of, inner_type
from .text import quoted
from .types import lane_bytes, value_type

RELEASE_ABOVE = 64 * 1024
"""Calls on arrays of more bytes than this release the GIL."""


@dataclass
class _Array:
    """A buffer argument while its checks are emitted."""

    param: Var
    data: str
    dims: list[str] = field(default_factory=list)
    strides: list[str] = field(default_factory=list)


class Wrapper(Expressions):
    """Emits one wrapper; expressions in shapes are evaluated by the ordinary rules."""

    def __init__(self, context: Context, sig: Signature) -> None:
        super().__init__(context, sig.name)
        self.sig = sig
        self.pending: list[str] = []
        self.later: list[tuple[Expr, str, int]] = []
        self.arrays: list[_Array] = []
        self.inputs: dict[Var, str] = {}
        self.view = ""

    def require(self, ok: str, site: int, a: str = "0", b: str = "0") -> None:
        """A shape expression that cannot be evaluated is left to the slow path."""
        self.pending.append(ok)
        self.settle()

    def must(self, condition: str) -> None:
        """Add a condition to those that the next `settle` tests together."""
        self.pending.append(condition)

    def settle(self) -> None:
        """Go on where all pending conditions hold, else to the slow path."""
        if not self.pending:
            return
        total = self.pending[0]
        for c in self.pending[1:]:
            total = self.code.op(f"and i1 {total}, {c}")
        self.pending = []
        good = self.code.name("ok")
        self.code.branch(total, good, "slow", likely=True)
        self.code.label(good)

    def slot(self, *what: str) -> str:
        """The process's pointer to something."""
        return self.code.op(f"load ptr, ptr {self.unit.slot(*what)}")

    def field(self, t: str, base: str, offset: int) -> str:
        """A field of an object."""
        place = self.code.op(f"getelementptr i8, ptr {base}, i64 {offset}") if offset else base
        return self.code.op(f"load {t}, ptr {place}")

    # Arguments

    def scalar(self, p: Var, o: str, kind: str) -> None:
        """A Python number for a scalar parameter."""
        dtype = dtype_of(p.ty)
        code = self.code
        if dtype.is_bool:
            yes = code.op(f"icmp eq ptr {o}, {self.slot('true')}")
            no = code.op(f"icmp eq ptr {o}, {self.slot('false')}")
            self.must(code.op(f"or i1 {yes}, {no}"))
            value = yes
        elif dtype.is_float:
            self.must(code.op(f"icmp eq ptr {kind}, {self.slot('type', 'float')}"))
            self.settle()
            value = arith.cast(self, DType("float64"), dtype, self.field("double", o, HEAD))
        else:
            self.must(code.op(f"icmp eq ptr {kind}, {self.slot('type', 'int')}"))
            self.settle()
            value = self.integer(o, dtype)
        self.values[p] = value
        self.inputs[p] = value

    def integer(self, o: str, dtype: DType) -> str:
        code = self.code
        flag = code.stack("i32, align 4", "over")
        get = self.unit.declare("PyLong_AsLongLongAndOverflow", "i64 (ptr, ptr)")
        wide = code.op(f"call i64 {get}(ptr {o}, ptr {flag})")
        self.must(code.op(f"icmp eq i32 {code.op(f'load i32, ptr {flag}')}, 0"))
        low, high = int(dtype.min_value), min(int(dtype.max_value), (1 << 63) - 1)
        if dtype.bits < 64 or dtype.is_uint:
            self.must(code.op(f"icmp sge i64 {wide}, {low}"))
            self.must(code.op(f"icmp sle i64 {wide}, {high}"))
        self.settle()
        return wide if dtype.bits == 64 else code.op(f"trunc i64 {wide} to {value_type(dtype)}")

    def array(self, p: Var, o: str, kind: str, written: bool) -> None:
        """An array for a buffer parameter: type, dtype, rank, layout, then its shape."""
        ty = p.ty
        assert isinstance(ty, BufferType)
        code = self.code
        self.settle()
        lanes = ty.dtype.lanes
        rank = len(ty.shape) + (lanes > 1)
        ours = code.op(f"icmp eq ptr {kind}, {self.slot('type', 'ndarray')}")
        # Tensors pack elements below a byte; the slow path unpacks them.
        other = "" if ty.strides or lanes > 1 or ty.dtype.bits < 8 else code.name("other")
        numpy, checked = code.name("numpy"), code.name("array")
        code.branch(ours, numpy, other or "slow", likely=True)
        code.label(numpy)
        singleton = self.slot("dtype", str(ty.dtype.element))
        self.must(code.op(f"icmp eq ptr {self.field('ptr', o, DESCR)}, {singleton}"))
        self.must(code.op(f"icmp eq i32 {self.field('i32', o, RANK)}, {rank}"))
        mask = ALIGNED | (WRITEABLE if written else 0) | (0 if ty.strides else CONTIGUOUS)
        flags = code.op(f"and i32 {self.field('i32', o, FLAGS)}, {mask}")
        self.must(code.op(f"icmp eq i32 {flags}, {mask}"))
        self.settle()
        data, dims = self.field("ptr", o, DATA), self.field("ptr", o, DIMS)
        if other:
            data, dims = self.foreign(ty, o, kind, (data, dims), other, checked)
        found = _Array(p, data)
        self.arrays.append(found)
        found.dims = [self.field("i64", dims, 8 * k) for k in range(rank)]
        if ty.strides:
            steps = self.field("ptr", o, STRIDES)
            found.strides = [self.field("i64", steps, 8 * k) for k in range(rank)]
            if lanes > 1:
                self.must(code.op(f"icmp eq i64 {found.strides[-1]}, {lane_bytes(ty.dtype)}"))
        if lanes > 1:
            self.must(code.op(f"icmp eq i64 {found.dims[-1]}, {lanes}"))
        size = lane_bytes(ty.dtype) * lanes
        for extent, value in zip(ty.shape, found.dims):
            self.extent(extent, value, 1)
        for step, value in zip(ty.strides, found.strides):
            self.extent(step, value, size)
        if isinstance(ty.elem_offset, Var) and ty.elem_offset in self.sig.symbols:
            self.values.setdefault(ty.elem_offset, "0")

    def foreign(
        self, ty: BufferType, o: str, kind: str, ours: tuple[str, str], other: str, checked: str
    ) -> tuple[str, str]:
        """Data and shape of a numpy array or, in the block `other`, of a tensor with an exchange table."""
        code = self.code
        from_numpy = code.block
        code.jump(checked)
        code.label(other)
        if not self.view:
            self.view = code.stack(VIEW, "view")
        args = f"ptr {o}, ptr {kind}, ptr {self.view}, i32 {len(ty.shape)}, i32 {dtype_word(ty.dtype)}"
        dims = code.op(f"call ptr {view_function(self.unit)}({args}, i64 {lane_bytes(ty.dtype) - 1})")
        self.must(code.op(f"icmp ne ptr {dims}, null"))
        self.settle()
        data = code.op(f"load ptr, ptr {self.view}")
        from_other = code.block
        code.label(checked)
        pairs = zip(ours, (data, dims))
        a, b = [code.op(f"phi ptr [ {x}, %{from_numpy} ], [ {y}, %{from_other} ]") for x, y in pairs]
        return a, b

    def extent(self, expected: Expr, value: str, unit: int) -> None:
        """Compare a size with its expression, or let it define its symbol."""
        code = self.code
        if isinstance(expected, IntImm):
            self.must(code.op(f"icmp eq i64 {value}, {expected.value * unit}"))
        elif isinstance(expected, Var) and expected in self.sig.symbols and expected not in self.values:
            if unit > 1:
                self.must(code.op(f"icmp eq i64 {code.op(f'srem i64 {value}, {unit}')}, 0"))
                value = code.op(f"sdiv i64 {value}, {unit}")
            dtype = expected.dtype
            if dtype.bits < 64:
                self.must(code.op(f"icmp sle i64 {value}, {int(dtype.max_value)}"))
                if unit > 1:
                    self.must(code.op(f"icmp sge i64 {value}, {int(dtype.min_value)}"))
                value = code.op(f"trunc i64 {value} to {value_type(dtype)}")
            self.values[expected] = value
        else:
            self.later.append((expected, value, unit))

    def compare_later(self) -> None:
        """The sizes whose expressions need symbols that other arguments define."""
        for expected, value, unit in self.later:
            wanted = self.index(expected)
            if unit > 1:
                wanted = self.code.op(f"mul i64 {wanted}, {unit}")
            self.must(self.code.op(f"icmp eq i64 {wanted}, {value}"))
        for a in self.arrays:
            offset = a.param.ty.elem_offset  # type: ignore[attr-defined]
            pointer = a.data
            if offset is not None and arith.constant(offset) != 0 and offset not in self.sig.symbols:
                back = self.code.op(f"mul i64 {self.index(offset)}, {-lane_bytes(a.param.dtype)}")
                pointer = self.code.op(f"getelementptr i8, ptr {pointer}, i64 {back}")
            self.inputs[a.param] = pointer
        self.settle()

    # Overlap

    def ranges(self, a: _Array) -> tuple[str, str]:
        """The first address of an array and the one after its last."""
        ty = a.param.ty
        assert isinstance(ty, BufferType)
        code = self.code
        size = lane_bytes(ty.dtype)
        start = code.op(f"ptrtoint ptr {a.data} to i64")
        if not a.strides:
            total: str = str(size)
            for known, value in zip((*ty.shape, IntImm("int64", ty.dtype.lanes)), a.dims):
                extent = arith.constant(known)
                if extent is not None and total.isdigit():
                    total = str(int(total) * extent)
                else:
                    total = code.op(f"mul i64 {total}, {value}")
            return start, code.op(f"add i64 {start}, {total}")
        low, high = start, code.op(f"add i64 {start}, {size}")
        for n, step in zip(a.dims, a.strides):
            reach = code.op(f"mul i64 {code.op(f'sub i64 {n}, 1')}, {step}")
            back = code.op(f"icmp slt i64 {reach}, 0")
            low = code.op(f"add i64 {low}, {code.op(f'select i1 {back}, i64 {reach}, i64 0')}")
            high = code.op(f"add i64 {high}, {code.op(f'select i1 {back}, i64 0, i64 {reach}')}")
        return low, high

    def overlap(self) -> str | None:
        """Whether a written array shares memory with another; None if that need not be asked."""
        facts = self.context.facts[self.sig.name]
        conflicts = facts.written | facts.escaped
        numbers = {p: k for k, p in enumerate(self.sig.params)}
        spans = [(numbers[a.param] in conflicts, *self.ranges(a)) for a in self.arrays]
        code = self.code
        found = None
        for i, (w, low, high) in enumerate(spans):
            for w2, low2, high2 in spans[i + 1 :]:
                if not (w or w2):
                    continue
                one = code.op(f"icmp ult i64 {low}, {high2}")
                two = code.op(f"icmp ult i64 {low2}, {high}")
                both = code.op(f"and i1 {one}, {two}")
                found = both if found is None else code.op(f"or i1 {found}, {both}")
        return found

    def may_release(self) -> bool:
        """Whether the call may take long enough to let other Python threads run meanwhile."""
        facts = self.context.facts[self.sig.name]
        return self.must_release() or (facts.loops and not facts.runs_python and bool(self.arrays))

    def must_release(self) -> bool:
        """Whether C code in a helping thread may want the GIL, which its launcher must not hold then."""
        facts = self.context.facts[self.sig.name]
        return facts.parallel and facts.runs_c

    def total_bytes(self) -> str:
        """The size of all arrays, a measure of the work."""
        total = "0"
        for a in self.arrays:
            size = str(lane_bytes(a.param.dtype))
            for n in a.dims:
                size = self.code.op(f"mul i64 {size}, {n}")
            total = self.code.op(f"add i64 {total}, {size}")
        return total

    # Result

    def result(self, slots: str) -> str:
        """The Python object to return."""
        values = [self.boxed(k, dtype_of(r), slots) for k, r in enumerate(self.sig.results)]
        if not self.sig.results:
            none = self.slot("none")
            self.code.do(f"call void {self.unit.declare('Py_IncRef', 'void (ptr)')}(ptr {none})")
            return none
        if not self.sig.tuple_result:
            return values[0]
        made = self.code.op(f"call ptr {self.unit.declare('PyTuple_New', 'ptr (i64)')}(i64 {len(values)})")
        put = self.unit.declare("PyTuple_SetItem", "i32 (ptr, i64, ptr)")
        for k, v in enumerate(values):
            self.code.op(f"call i32 {put}(ptr {made}, i64 {k}, ptr {v})")
        return made

    def boxed(self, k: int, dtype: DType, slots: str) -> str:
        code = self.code
        place = code.op(f"getelementptr i64, ptr {slots}, i64 {k}") if k else slots
        if dtype.is_bool:
            wide = code.op(f"zext i8 {code.op(f'load i8, ptr {place}')} to i64")
            return code.op(f"call ptr {self.unit.declare('PyBool_FromLong', 'ptr (i64)')}(i64 {wide})")
        if dtype.is_handle:
            address = code.op(f"load i64, ptr {place}")
            return code.op(
                f"call ptr {self.unit.declare('PyLong_FromUnsignedLongLong', 'ptr (i64)')}(i64 {address})"
            )
        value = self.from_slot(dtype, place)
        if dtype.is_float:
            wide = arith.cast(self, dtype, DType("float64"), value)
            return code.op(
                f"call ptr {self.unit.declare('PyFloat_FromDouble', 'ptr (double)')}(double {wide})"
            )
        maker = "PyLong_FromLongLong" if dtype.is_int else "PyLong_FromUnsignedLongLong"
        return code.op(f"call ptr {self.unit.declare(maker, 'ptr (i64)')}(i64 {self.widen(value, dtype)})")

    # The whole

    def emit(self, compare: bool) -> str:
        code = self.code
        sig = self.sig
        self.must(code.op(f"icmp eq i64 %nargs, {len(sig.params)}"))
        self.must(code.op("icmp eq ptr %names, null"))
        self.settle()
        written = self.context.facts[sig.name].written
        for k, p in enumerate(sig.params):
            o = self.field("ptr", "%args", 8 * k)
            if isinstance(p.ty, PointerType):
                self.must(code.op(f"icmp eq ptr {o}, {self.slot('none')}"))
                self.inputs[p] = self.values[p] = "null"
                continue
            kind = self.field("ptr", o, TYPE)
            if isinstance(p.ty, PrimType):
                self.scalar(p, o, kind)
            else:
                self.array(p, o, kind, k in written)
        if any(v not in self.values for v in sig.symbols):
            self.must("false")
            for v in sig.symbols:
                self.values.setdefault(v, "0")
        self.compare_later()
        return self.call(compare)

    def call(self, compare: bool) -> str:
        code = self.code
        sig = self.sig
        report = code.stack("[4 x i64], align 16", "err")
        if any(f.recursive for f in self.context.facts.values()):
            code.do(f"store i64 0, ptr {code.op(f'getelementptr i8, ptr {report}, i64 24')}")
        slots = code.stack(f"[{max(len(sig.results), 1)} x i64], align 16", "ret")
        args = [f"ptr {report}"]
        args += [
            f"{inner_type(v)} {self.inputs.get(v) or self.values[v]}" for v in (*sig.params, *sig.symbols)
        ]
        if sig.results:
            args.append(f"ptr {slots}")
        overlapping = self.overlap() if compare else None
        values = []
        if overlapping is not None:
            code.branch(overlapping, "overlap", "apart")
            code.label("overlap")
            other = self.slot("overlapping", sig.name)
            self.must(code.op(f"icmp ne ptr {other}, null"))
            self.settle()
            values.append((code.op(f"call i32 {other}({', '.join(args)})"), code.block))
            code.jump("called")
            code.label("apart")
        run = f"call i32 {quoted('lw.body.' + sig.name)}({', '.join(args)})"
        if self.may_release():
            large = "true"
            if not self.must_release():
                large = code.op(f"icmp ugt i64 {self.total_bytes()}, {RELEASE_ABOVE}")
            code.branch(large, "release", "hold")
            code.label("release")
            save = self.unit.declare("PyEval_SaveThread", "ptr ()")
            restore = self.unit.declare("PyEval_RestoreThread", "void (ptr)")
            state = code.op(f"call ptr {save}()")
            values.append((code.op(run), code.block))
            code.do(f"call void {restore}(ptr {state})")
            code.jump("called")
            code.label("hold")
        values.append((code.op(run), code.block))
        code.label("called")
        status = code.op("phi i32 " + ", ".join([f"[ {v}, %{b} ]" for v, b in values]))
        code.branch(code.op(f"icmp eq i32 {status}, 0"), "fine", "failed", likely=True)
        code.label("fine")
        code.ret(f"ptr {self.result(slots)}")
        code.label("failed")
        numbers = [self.field("i64", report, 8 * k) for k in range(3)]
        form = self.unit.string("LLL")
        helper = self.unit.declare("PyObject_CallFunction", "ptr (ptr, ptr, ...)")
        listed = ", ".join([f"i64 {n}" for n in numbers])
        raised = code.op(
            f"call ptr (ptr, ptr, ...) {helper}(ptr {self.slot('fail', sig.name)}, ptr {form}, {listed})"
        )
        code.ret(f"ptr {raised}")
        code.label("slow")
        forward = self.unit.declare("PyObject_Vectorcall", "ptr (ptr, ptr, i64, ptr)")
        given = f"ptr {self.slot('slow', sig.name)}, ptr %args, i64 %nargs, ptr %names"
        code.ret(f"ptr {code.op(f'call ptr {forward}({given})')}")
        head = f"define ptr {quoted('lw.py.' + sig.name)}(ptr %self, ptr %args, i64 %nargs, ptr %names)"
        return f"{head} {{\n{code.body()}\n}}"


def emit_wrapper(context: Context, sig: Signature, compare: bool) -> str:
    """The text of the wrapper; `compare`: overlapping arguments take the other variant."""
    return Wrapper(context, sig).emit(compare)
