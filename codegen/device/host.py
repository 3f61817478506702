"""Host functions to host programs: what the CPU does around launches, as data (`runtime/programs.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...dtype import DType
from ...errors import CodegenError, Diagnostic, Span
from ...ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    AllocBuffer,
    And,
    AssertStmt,
    AttrStmt,
    Bind,
    BitwiseAnd,
    BitwiseOr,
    BitwiseXor,
    BufferType,
    Call,
    Cast,
    DeclBuffer,
    Div,
    Evaluate,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    For,
    ForKind,
    GlobalVar,
    IfThenElse,
    IntImm,
    IRModule,
    LShift,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Op,
    Or,
    PointerType,
    PrimFunc,
    PrimType,
    Return,
    RShift,
    Select,
    SeqStmt,
    Stmt,
    StringImm,
    Sub,
    Var,
)
from ...node import runs_deep
from ..llvm.facts import module_facts
from ..llvm.signature import Signature, dtype_of, signature

_SIGNS: dict[type, str] = {
    Add: "+",
    Sub: "-",
    Mul: "*",
    FloorDiv: "//",
    FloorMod: "%",
    Div: "/",
    Mod: "tmod",
    Min: "min",
    Max: "max",
    EQ: "==",
    NE: "!=",
    LT: "<",
    LE: "<=",
    GT: ">",
    GE: ">=",
    And: "and",
    Or: "or",
    BitwiseAnd: "&",
    BitwiseOr: "|",
    BitwiseXor: "^",
    LShift: "<<",
    RShift: ">>",
}
_CALLS = {
    "tirx.if_then_else": "select",
    "tirx.shift_left": "<<",
    "tirx.shift_right": ">>",
    "tirx.bitwise_and": "&",
    "tirx.bitwise_or": "|",
    "tirx.bitwise_xor": "^",
    "tirx.likely": "",
}
AXES = ("blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z")
SHARED = "tirx.use_dyn_shared_memory"


class _Unknown(Exception):
    """An expression that host programs do not have."""


def number_expression(e: Expr, numbers: Mapping[Var, int]) -> Any:
    """A number as data, variables by their numbers."""
    match e:
        case IntImm(value=value):
            return bool(value) if e.dtype.is_bool else int(value)
        case FloatImm(value=value):
            return float(value)
        case Var() if e in numbers:
            return ["var", numbers[e]]
        case Cast(value=value):
            inner = number_expression(value, numbers)
            return inner if _same_numbers(value.dtype, e.dtype) else ["cast", str(e.dtype), inner]
        case Not():
            return ["not", number_expression(e.a, numbers)]
        case Select():
            parts = (e.condition, e.true_value, e.false_value)
            return ["select", *[number_expression(p, numbers) for p in parts]]
        case Call(op=Op(name=name), args=args) if name in _CALLS:
            found = [number_expression(a, numbers) for a in args]
            return [_CALLS[name], *found] if _CALLS[name] else found[0]
    sign = _SIGNS.get(type(e))
    if sign is None:
        raise _Unknown(f"a {type(e).__name__}" if not isinstance(e, Call) else f"`{_op(e)}`")
    if sign == "/" and e.dtype.is_integral:
        sign = "tdiv"
    return [sign, number_expression(e.a, numbers), number_expression(e.b, numbers)]  # type: ignore[attr-defined]


@runs_deep
def host_program(
    name: str, func: PrimFunc, device: Mapping[str, PrimFunc], kernels: Mapping[str, str]
) -> dict[str, Any]:
    """The program of a host function that launches these device functions.

    `kernels` are their names in the source. Raises CodegenError for what a host program cannot do.
    """
    return _Host(name, func, device, kernels).program()


class _Host:
    """Translates one function."""

    def __init__(
        self, name: str, func: PrimFunc, device: Mapping[str, PrimFunc], kernels: Mapping[str, str]
    ) -> None:
        self.sig: Signature = signature(str(func.attrs.get("global_symbol", name)), func)
        self.func, self.kernels = func, kernels
        self.numbers: dict[Var, int] = {}
        self.variables: list[list[str]] = []
        self.arrays: dict[Var, list[Any]] = {}
        self.memories = 0
        self.written: set[int] = set()
        self.facts = module_facts(IRModule({GlobalVar(k): f for k, f in device.items()}))
        self.span: Span | None = None

    def refuse(self, what: str, span: Span | None = None, *help: str) -> CodegenError:
        text = f"`{self.sig.name}`: {what} cannot be done by the host code of a device function"
        return CodegenError(Diagnostic("unsupported-codegen", text, span or self.span, help=help))

    def number(self, v: Var) -> int:
        """The number of a new variable."""
        self.numbers[v] = len(self.variables)
        self.variables.append([v.name, str(dtype_of(v.ty))])
        return self.numbers[v]

    def program(self) -> dict[str, Any]:
        """The whole."""
        if self.sig.results:
            raise self.refuse("returning a value", self.func.span, "write the result into a buffer")
        for k, p in enumerate(self.sig.params):
            if isinstance(p.ty, PrimType):
                self.number(p)
            else:
                self.arrays[p] = ["param", k]
        symbols = [self.number(v) for v in self.sig.symbols]
        body = self.stmt(self.func.body)
        params = [self.param(k, n, p) for k, (n, p) in enumerate(zip(self.sig.names, self.sig.params))]
        return {
            "name": self.sig.name,
            "params": params,
            "variables": self.variables,
            "symbols": symbols,
            "offsets": [self.numbers[v] for v in self.offsets()],
            "conflicts": sorted(self.written),
            "body": body,
        }

    def offsets(self) -> list[Var]:
        """The symbols that are offsets of buffers, which are 0 for arrays."""
        found = [p.ty.elem_offset for p in self.sig.params if isinstance(p.ty, BufferType)]
        return [v for v in dict.fromkeys(found) if isinstance(v, Var) and v in self.sig.symbols]

    def param(self, k: int, name: str, p: Var) -> dict[str, Any]:
        """The row of a parameter."""
        row: dict[str, Any] = {"name": name, "kind": "pointer", "dtype": str(dtype_of(p.ty))}
        if p.span is not None:
            s = p.span
            row["place"] = [s.file, s.line, s.column, s.end_line, s.end_column]
        if isinstance(p.ty, PrimType):
            return {**row, "kind": "scalar", "variable": self.numbers[p]}
        if isinstance(p.ty, BufferType):
            self.check_buffer(p, p.ty)
            shape = [self.expr(e) for e in p.ty.shape]
            strides = [self.expr(e) for e in p.ty.strides]
            row |= {"kind": "tensor", "shape": shape, "strides": strides, "written": k in self.written}
        return row

    def check_buffer(self, p: Var, ty: BufferType) -> None:
        offset = ty.elem_offset
        if offset is not None and not isinstance(offset, Var) and not _is_zero(offset):
            text = f"parameter `{p.name}` of `{self.sig.name}` has an offset, which devices do not take"
            raise CodegenError(Diagnostic("unsupported-parameter", text, p.span))
        if ty.dtype.bits < 8 and not ty.dtype.is_bool:
            text = f"parameter `{p.name}` of `{self.sig.name}` holds `{ty.dtype}`, which devices do not take"
            raise CodegenError(Diagnostic("unsupported-dtype", text, p.span))

    # Expressions

    def expr(self, e: Expr) -> Any:
        """A number as data. Raises CodegenError for what a host program cannot compute."""
        try:
            return number_expression(e, self.numbers)
        except _Unknown as err:
            raise self.refuse(str(err), e.span) from None

    def argument(self, e: Expr) -> Any:
        """An argument of a launch: an array or a number."""
        if isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == "tirx.buffer_data":
            e = e.args[0]
        if isinstance(e, Var) and e in self.arrays:
            return self.arrays[e]
        if isinstance(e.ty, PointerType | BufferType):
            raise self.refuse("passing a pointer that is not the start of a buffer", e.span)
        return self.expr(e)

    # Statements

    def stmt(self, s: Stmt) -> list[Any]:
        """The steps of a statement."""
        self.span = s.span or self.span
        match s:
            case SeqStmt(seq=parts):
                return [step for part in parts for step in self.stmt(part)]
            case Bind(var=var, value=value):
                if isinstance(var.ty, PointerType | BufferType):
                    self.arrays[var] = self.argument(value)
                    return []
                found = self.expr(value)
                return [["let", self.number(var), found]]
            case DeclBuffer(buffer=buffer, data=data):
                self.arrays[buffer] = self.argument(data)
                return []
            case AllocBuffer(buffer=buffer):
                return [self.alloc(buffer)]
            case AttrStmt(body=body):
                return self.stmt(body)
            case IfThenElse():
                other = self.stmt(s.else_case) if s.else_case is not None else []
                return [["if", self.expr(s.condition), self.stmt(s.then_case), other]]
            case For() if s.kind in (ForKind.SERIAL, ForKind.UNROLLED) and s.step is None:
                start, extent = self.expr(s.min), self.expr(s.extent)
                return [["for", self.number(s.loop_var), start, extent, self.stmt(s.body)]]
            case AssertStmt():
                text = "".join([p.value for p in s.message_parts if isinstance(p, StringImm)])
                kind = s.kind.value
                return [["assert", self.expr(s.condition), kind, text]]
            case Evaluate(value=Call() as call) if _op(call) == "tirx.call_ffi_kernel":
                return [self.launch(call)]
            case Evaluate(value=IntImm()):
                return []
            case Return(value=None | IntImm()):
                return []
        what = (
            f"`{_op(s.value)}`"
            if isinstance(s, Evaluate) and isinstance(s.value, Call)
            else f"a {type(s).__name__}"
        )
        raise self.refuse(what, s.span, "only launches, sizes, loops and conditions can stand around kernels")

    def alloc(self, buffer: Var) -> list[Any]:
        """Memory between kernels."""
        ty = buffer.ty
        assert isinstance(ty, BufferType)
        if ty.storage_scope != "global":
            raise self.refuse(f"memory `{buffer.name}` in the scope `{ty.storage_scope}`", buffer.span)
        k = self.memories
        self.memories += 1
        self.arrays[buffer] = ["memory", k]
        count: Any = ty.dtype.lanes
        for extent in ty.shape:
            e = self.expr(extent)
            count = count * e if isinstance(count, int) and isinstance(e, int) else ["*", count, e]
        return ["alloc", k, str(ty.dtype.element), count]

    def launch(self, call: Call) -> list[Any]:
        """The launch of a kernel."""
        symbol, *given = call.args
        assert isinstance(symbol, StringImm)
        name = symbol.value
        tags: Sequence[str] = call.attrs["launch_params"]
        count = len(given) - len(tags)
        sizes = {tag: self.expr(e) for tag, e in zip(tags, given[count:])}
        other = [t for t in tags if t not in AXES and t != SHARED]
        if other:
            raise self.refuse(f"a launch with the thread axis `{other[0]}`", call.span)
        args = [self.argument(a) for a in given[:count]]
        facts = self.facts[name]
        touched = facts.written | facts.escaped
        self.written |= {
            a[1] for k, a in enumerate(args) if k in touched and isinstance(a, list) and a[0] == "param"
        }
        dims = [sizes.get(axis, 1) for axis in AXES]
        return ["launch", self.kernels[name], dims[:3], dims[3:], sizes.get(SHARED, 0), args]


def _op(call: Call) -> str:
    return call.op.name if isinstance(call.op, Op) else str(getattr(call.op, "name", "?"))


def _is_zero(e: Expr) -> bool:
    return isinstance(e, IntImm) and e.value == 0


def _same_numbers(a: DType, b: DType) -> bool:
    """Whether each number of the first dtype is the same in the second."""
    if a.is_float or b.is_float or a.is_bool or b.is_bool:
        return a is b
    return bool(b.min_value <= a.min_value and a.max_value <= b.max_value)


__all__ = ["host_program", "number_expression"]
