"""Rules for what is not the program's own: C functions, LLVM intrinsics, Python functions, printing."""

from __future__ import annotations

from ...dtype import DType
from ...ir import BufferType, Call, Expr, Op, PointerType, PrimType, StringImm, Var, const
from . import arith, workspace
from .expr import Expressions
from .math import KNOWN
from .rules import operator, rule
from .rules_math import elementary
from .types import is_small_float, value_type

# Outside functions


@rule("call_extern", "call_pure_extern")
def _call_extern(m: Expressions, e: Call) -> str:
    head = e.args[0]
    if not isinstance(head, StringImm):
        raise m.refuse(f"`{operator(e)}` without a name", e)
    if head.value in RESERVED or head.value.startswith(("lw.", "llvm.")):
        raise m.refuse(f"a call of the symbol `{head.value}`", e)
    args = [(outside_type(m, a), outside_value(m, a)) for a in e.args[1:]]
    void = isinstance(e.ty, PrimType) and e.ty.dtype.is_void
    result = "void" if void else outside_result(m, e)
    types = ", ".join([t for t, _ in args])
    symbol = m.unit.declare(head.value, f"{result} ({types})")
    if head.value not in m.unit.externs:
        m.unit.externs[head.value] = m.site("extern", symbol=head.value)
    text = f"call {result} {symbol}({', '.join([f'{t} {v}' for t, v in args])})"
    if void:
        m.code.do(text)
        return "0"
    out = m.code.op(text)
    return m.code.op(f"trunc i8 {out} to i1") if e.dtype.is_bool else out


RESERVED = frozenset({"malloc", "free", "PyObject_Vectorcall", "Py_IncRef", "PyObject_CallFunction"})


def outside_type(m: Expressions, e: Expr) -> str:
    """The type in which C code takes a value."""
    if isinstance(e, StringImm) or isinstance(e.ty, PointerType | BufferType):
        return "ptr"
    if e.dtype.is_bool:
        return "i8"
    if is_small_float(e.dtype):
        raise m.refuse(f"an argument of dtype `{e.dtype}` for C code", e, "cast it to float32")
    return value_type(e.dtype)


def outside_result(m: Expressions, e: Call) -> str:
    """The type in which C code gives the result."""
    if isinstance(e.ty, PointerType):
        return "ptr"
    if e.dtype.is_bool:
        return "i8"
    if is_small_float(e.dtype):
        raise m.refuse(f"a result of dtype `{e.dtype}` from C code", e, "let it return float32")
    return value_type(e.dtype)


def outside_value(m: Expressions, e: Expr) -> str:
    """The register with a value for C code."""
    value = m.visit(e)
    if not isinstance(e, StringImm) and not isinstance(e.ty, PointerType | BufferType) and e.dtype.is_bool:
        return m.code.op(f"zext i1 {value} to i8")
    return value


@rule("call_llvm_intrin", "call_llvm_pure_intrin")
def _llvm_intrinsic(m: Expressions, e: Call) -> str:
    head = e.args[0]
    if not isinstance(head, StringImm):
        raise m.refuse("an LLVM intrinsic given by number", e, "give its name as a string")
    name = head.value if head.value.startswith("llvm.") else f"llvm.{head.value}"
    family = name.split(".")[1]
    host = m.context.machine.triple.split("-")[0]
    ours = {"x86_64": "x86", "i686": "x86", "arm64": "aarch64"}.get(host, host)
    if family in FOREIGN and family != ours:
        raise m.refuse(f"the intrinsic `{name}` on `{host}`", e)
    base = name.split(".")[1]
    if base in KNOWN and e.dtype.is_float:
        # LLVM would call the C library for each lane.
        return m.rounded(e.dtype, elementary(m, base, e.dtype, *[m.visit(a) for a in e.args[1:]]))
    args = [(m.type(a) if not isinstance(a.ty, PointerType) else "ptr", m.visit(a)) for a in e.args[1:]]
    void = isinstance(e.ty, PrimType) and e.ty.dtype.is_void
    result = "void" if void else value_type(e.dtype)
    if family not in FOREIGN and not _has_suffix(name):
        name += "." + (
            arith.suffix(e.args[1].dtype) if void or name in BY_ARGUMENT else arith.suffix(e.dtype)
        )
    symbol = m.unit.declare(name, f"{result} ({', '.join([t for t, _ in args])})")
    m.unit.outside.add(name)
    text = f"call {result} {symbol}({', '.join([f'{t} {v}' for t, v in args])})"
    if void:
        m.code.do(text)
        return "0"
    return m.rounded(e.dtype, m.code.op(text))


FOREIGN = frozenset(
    {
        "x86",
        "aarch64",
        "arm",
        "nvvm",
        "amdgcn",
        "ppc",
        "riscv",
        "wasm",
        "hexagon",
        "mips",
        "s390",
        "bpf",
        "spv",
        "loongarch",
    }
)
BY_ARGUMENT = frozenset({"llvm.prefetch"})


def _has_suffix(name: str) -> bool:
    last = name.split(".")[-1]
    return last[:1] in "ifvp" and any(c.isdigit() for c in last)


@rule("tvm_call_packed", "tvm_call_cpacked", "call_packed")
def _packed(m: Expressions, e: Call) -> str:
    head = e.args[0]
    if not isinstance(head, StringImm):
        raise m.refuse("a packed call without a name", e)
    return callback(m, "packed", e, e.args[1:], name=head.value)


@rule("print")
def _print(m: Expressions, e: Call) -> str:
    return callback(m, "print", e, e.args)


@rule("print_buffer")
def _print_buffer(m: Expressions, e: Call) -> str:
    dtype = e.args[1].value if isinstance(e.args[1], StringImm) else "float32"
    shape = Call("tirx.tvm_stack_make_shape", e.args[5:], "handle")
    zero = const(0, dtype)
    array = Call("tirx.tvm_stack_make_array", (e.args[0], shape, 0, len(e.args) - 5, zero, 0), "handle")
    return callback(m, "print", e, (array,))


@rule("TVMBackendAllocWorkspace")
def _workspace(m: Expressions, e: Call) -> str:
    return m.code.op(f"call ptr {workspace.use(m.unit)}(i64 {m.index(e.args[2])})")


@rule("TVMBackendFreeWorkspace")
def _free_workspace(m: Expressions, e: Call) -> str:
    workspace.use(m.unit)
    m.code.do(f"call void @lw.give(ptr {m.visit(e.args[2])})")
    return "0"


@rule("dp4a")
def _dp4a(m: Expressions, e: Call) -> str:
    code, lanes = m.code, []
    for a in e.args[:2]:
        value = m.visit(a)
        if a.dtype.is_scalar:
            value = code.op(f"bitcast {m.type(a)} {value} to <4 x i8>")
        lanes.append(code.op(f"{'zext' if a.dtype.is_uint else 'sext'} <4 x i8> {value} to <4 x i32>"))
    product = code.op(f"mul <4 x i32> {lanes[0]}, {lanes[1]}")
    add = m.unit.declare("llvm.vector.reduce.add.v4i32", "i32 (<4 x i32>)")
    total = code.op(f"call i32 {add}(<4 x i32> {product})")
    acc = arith.cast(m, e.args[2].dtype, DType("int32"), m.visit(e.args[2]))
    return code.op(f"add i32 {total}, {acc}")


def callback(m: Expressions, kind: str, e: Call, args: tuple[Expr, ...], **what: str) -> str:
    """Hand the arguments to Python in 8-byte slots; leave where it raised."""
    if m.context.standalone:
        raise m.refuse(f"`{operator(e)}` in code for export", e, "it needs Python")
    kinds: list[list[str]] = []
    values: list[tuple[str, str]] = []
    for a in args:
        _pack(m, a, kinds, values)
    slots = m.code.stack(f"[{max(len(values), 1)} x i64], align 8", "slots")
    for k, (t, v) in enumerate(values):
        place = m.code.op(f"getelementptr i64, ptr {slots}, i64 {k}")
        m.code.do(f"store {t} {v}, ptr {place}, align 8")
    ty = e.ty
    scalar = isinstance(ty, PrimType) and not ty.dtype.is_void
    wanted = str(e.dtype) if (scalar or isinstance(ty, PointerType)) and e is not m.unused else "void"
    site = m.site(kind, args=kinds, result=wanted, **what)
    target = m.code.op(f"load ptr, ptr {m.unit.slot('callback')}")
    status = m.code.op(f"call i32 {target}(i64 {site}, ptr {slots})")
    m.require(m.code.op(f"icmp eq i32 {status}, 0"), 0)
    if wanted == "void":
        return "0"
    if isinstance(ty, PointerType):
        return m.code.op(f"load ptr, ptr {slots}")
    return m.from_slot(e.dtype, slots)


def _pack(m: Expressions, a: Expr, kinds: list[list[str]], values: list[tuple[str, str]]) -> None:
    if isinstance(a, StringImm):
        kinds.append(["str", a.value])
    elif isinstance(a, Var) and isinstance(a.ty, BufferType):
        mem = m.buffer(a, a)
        if mem.ty.strides:
            raise m.refuse(f"the strided buffer `{a.name}` in a packed call", a)
        kinds.append(["tensor", str(mem.ty.dtype), str(len(mem.ty.shape))])
        values.append(("ptr", mem.pointer))
        values += [("i64", m.index(n)) for n in mem.ty.shape]
    elif isinstance(a, Call) and isinstance(a.op, Op) and a.op.name == "tirx.tvm_stack_make_array":
        data, shape = a.args[0], a.args[1]
        dims = shape.args if isinstance(shape, Call) else ()
        dtype = a.args[4].dtype if len(a.args) > 4 else DType("float32")
        kinds.append(["tensor", str(dtype), str(len(dims))])
        values.append(("ptr", m.visit(data)))
        values += [("i64", m.index(n)) for n in dims]
    elif not isinstance(a.ty, PointerType) and not a.dtype.is_scalar:
        kinds.append(["vector", str(a.dtype.element), str(a.dtype.lanes)])
        value, t = m.visit(a), m.type(a)
        for k in range(a.dtype.lanes):
            values.append(m.for_slot(a.dtype.element, m.code.op(f"extractelement {t} {value}, i64 {k}")))
    elif isinstance(a.ty, PointerType):
        kinds.append(["handle"])
        values.append(("ptr", m.visit(a)))
    else:
        kinds.append(["scalar", str(a.dtype)])
        values.append(m.for_slot(a.dtype, m.visit(a)))
