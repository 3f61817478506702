"""Functions in the calling convention that every language can call: cells in, a status out."""

from __future__ import annotations

from typing import Any

from ...ir import (
    INT32,
    VOID,
    AttrStmt,
    BufferType,
    Call,
    Evaluate,
    Expr,
    For,
    ForKind,
    GlobalVar,
    IRModule,
    Op,
    PointerType,
    PrimFunc,
    Return,
    Stmt,
    StringImm,
    Var,
    const,
    seq,
)
from ...ir.visitor import Rewriter
from ...target import Target
from ..common import refuse
from ..registry import register_pass
from .ffi_fields import Kind, cell_of, put_cell
from .packed_arguments import Arguments

PREFIX = "__tvm_ffi_"
"""What the exported symbol of a packed function begins with."""
_HOSTS = ("llvm", "c", "cuda_host")


@register_pass("tirx.MakePackedAPI")
def make_packed_api(mod: IRModule) -> IRModule:
    """Functions that are visible outside take their arguments from cells, check them and give a status.

    The signature becomes `(self_handle, args, num_args, result) -> int32`, the symbol gets the prefix
    `__tvm_ffi_`, and the target becomes that of the host.  Calls of such a function from others
    become packed calls; private functions and kernels of devices stay as they are.

    before:
        @I.ir_module
        class Module:
            @T.prim_func
            def answer() -> T.int64:
                T.func_attr({"target": T.target("llvm")})
                return T.int64(42)

    after:
        @I.ir_module
        class Module:
            @T.prim_func
            def answer(
                self_handle: T.handle, args: T.handle, num_args: T.int32, result: T.handle("void", "global")
            ) -> T.int32:
                T.func_attr({
                    "calling_conv": 1,
                    "global_symbol": "__tvm_ffi_answer",
                    "target": T.target("llvm"),
                })
                assert num_args == 0, (
                    "TypeError", ["Expected ", "0", " arguments", " when calling:\\n  `", "answer()", "`"]
                )
                with T.attr(0, "compute_scope", "answer_compute_"):
                    T.tvm_struct_set(result, 0, 13, 1)
                    T.tvm_struct_set(result, 0, 14, 0)
                    T.tvm_struct_set(result, 0, 15, T.Cast("int64", T.int64(42)))
                    return 0
                return 0
    """
    packed = {g.name: f for g, f in mod.functions.items() if isinstance(f, PrimFunc) and _is_entry(f)}
    if not packed:
        return mod
    calls = _PackedCalls({name: _symbol(f) for name, f in packed.items()})
    table: dict[GlobalVar, Any] = {}
    for name, func in mod.functions.items():
        new: Any = calls(func) if isinstance(func, PrimFunc) else func
        table[name] = _packed(new) if name.name in packed else new
    return mod.replace(functions=table)


def _is_entry(func: PrimFunc) -> bool:
    if "global_symbol" not in func.attrs or func.attrs.get("calling_conv", 0) != 0:
        return False
    target = func.attrs.get("target")
    if not isinstance(target, Target):
        raise refuse(
            "function-without-target",
            f"the function `{func.attrs['global_symbol']}` has no attribute `target`",
            func,
            "run tirx.BindTarget first",
        )
    return target.host is not None or target.kind in _HOSTS


def _symbol(func: PrimFunc) -> str:
    return PREFIX + str(func.attrs["global_symbol"])


def _packed(func: PrimFunc) -> PrimFunc:
    name = str(func.attrs["global_symbol"])
    target = func.attrs["target"]
    handle, count = Var("self_handle", "handle"), Var("num_args", "int32")
    cells, result = Var("args", "handle"), Var("result", PointerType(VOID, "global"))
    arguments = Arguments(name, func.params, cells, count, target.device_kind)
    body = _Returns(result)(func.body)
    scope: Stmt = AttrStmt(const(0, "int32"), "compute_scope", StringImm(f"{name}_compute_"), body)
    for p in func.params:
        if isinstance(p.ty, BufferType):
            scope = AttrStmt(p, "storage_alignment", const(p.ty.data_alignment, "int32"), scope)
    attrs = {**func.attrs, "calling_conv": 1, "global_symbol": PREFIX + name, "target": target.host or target}
    done = Return(const(0, "int32"))
    return PrimFunc(
        (handle, cells, count, result),
        seq([*arguments.statements(), scope, done]),
        INT32,
        attrs,
        func.span,
    )


class _Returns(Rewriter):
    """Values that the function returns go into the cell `result`; what it returns says that all went well."""

    def __init__(self, result: Var) -> None:
        super().__init__()
        self.result = result
        self.parallel = False

    def visit_For(self, loop: For) -> Any:
        before, self.parallel = self.parallel, self.parallel or loop.kind is ForKind.PARALLEL
        new = self.visit_fields(loop)
        self.parallel = before
        return new

    def visit_Return(self, stmt: Return) -> Any:
        return self._give(stmt.value, stmt)

    def visit_Evaluate(self, stmt: Evaluate) -> Any:
        call = stmt.value
        if isinstance(call, Call) and isinstance(call.op, Op) and call.op.name == "tirx.ret":
            return self._give(call.args[0] if call.args else None, stmt)
        return stmt

    def _give(self, value: Expr | None, stmt: Stmt) -> Stmt:
        if self.parallel:
            raise refuse("return-placement", "a parallel loop cannot return", stmt, "use range")
        made: list[Stmt] = []
        if value is None:
            made += put_cell(self.result, 0, Kind.NONE, const(0, "int64"))
        else:
            made += put_cell(self.result, 0, *cell_of(value))
        return seq([*made, Return(const(0, "int32"), stmt.span)])


class _PackedCalls(Rewriter):
    """Calls of functions that are packed now, by their symbols."""

    def __init__(self, symbols: dict[str, str]) -> None:
        super().__init__()
        self.symbols = symbols

    def visit_Call(self, call: Call) -> Any:
        call = self.visit_fields(call)
        symbol = self.symbols.get(call.op.name) if isinstance(call.op, GlobalVar) else None
        if symbol is None:
            return call
        return Call("tirx.tvm_call_cpacked", (StringImm(symbol), *call.args), call.ty, {}, call.span)
