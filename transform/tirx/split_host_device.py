"""What a device runs becomes functions of their own, which the host launches."""

from __future__ import annotations

from typing import Any

from ...ir import (
    EQ,
    INT32,
    VOID,
    AllocBuffer,
    AssertStmt,
    AttrStmt,
    Bind,
    BufferType,
    Call,
    DeclBuffer,
    Evaluate,
    Expr,
    GlobalVar,
    IntImm,
    IRModule,
    IterVar,
    PointerType,
    PrimFunc,
    PrimType,
    Return,
    Stmt,
    StringImm,
    Var,
    const,
    seq,
)
from ...ir.visitor import Rewriter, Visitor, free_vars, renew_definitions, substitute, type_vars, walk
from ...target import Target
from ..common import buffer_type, cast_to, refuse, times
from ..registry import register_pass
from ..strides import element_count

_LAUNCH = "tirx.kernel_launch_params"
_DYNAMIC = "tirx.use_dyn_shared_memory"


@register_pass("tirx.SplitHostDevice")
def split_host_device(mod: IRModule) -> IRModule:
    """Device parts become functions `<name>_kernel`, and the host calls them.

    A device part is what the attribute `target` holds, or a `thread_extent` or `device_scope` that
    stands outside of one.  Calls of functions for another device become launches, with the extents
    of their thread axes as further arguments; calls of functions that another back end makes for the
    same device go by symbol.

    before:
        @I.ir_module
        class Module:
            @T.prim_func
            def main(A: T.Buffer((16,), "float32")):
                T.func_attr({"target": T.target("cuda", host="llvm")})
                with T.launch_thread("threadIdx.x", 16) as i:
                    A[i] = T.float32(0)

    after:
        @I.ir_module
        class Module:
            @T.prim_func
            def main(A: T.Buffer((16,), "float32")):
                T.func_attr({"target": T.target("cuda", host="llvm")})
                T.call_ffi_kernel("main_kernel", A.data, 16, launch_params=["threadIdx.x"])

            @T.prim_func
            def main_kernel(A_data: T.handle("float32")):
                T.func_attr({
                    "calling_conv": 2,
                    "target": T.target("cuda"),
                    "tirx.is_global_func": True,
                    "tirx.kernel_launch_params": ["threadIdx.x"],
                    "tirx.noalias": True,
                })
                A = T.decl_buffer((16,), data=A_data)
                with T.launch_thread("threadIdx.x", 16) as i:
                    A[i] = T.float32(0)
    """
    table: dict[GlobalVar, Any] = {}
    names = {g.name for g in mod.functions}
    for name, func in mod.functions.items():
        if isinstance(func, PrimFunc) and isinstance(func.attrs.get("target"), Target):
            outline = _Outline(name.name, func, names)
            table[name] = outline(func)
            table.update(outline.kernels)
        else:
            table[name] = func
    lowered = _lower_calls(table)
    if len(lowered) == len(mod.functions) and all(lowered[g] is f for g, f in mod.functions.items()):
        return mod
    return mod.replace(functions=lowered)


def _without_host(target: Target) -> Target:
    return Target({k: v for k, v in target.export().items() if k != "host"})


class _Outline(Rewriter):
    """Takes the device parts out of one function."""

    def __init__(self, name: str, func: PrimFunc, names: set[str]) -> None:
        super().__init__()
        self.name, self.func, self.names = name, func, names
        self.target: Target = func.attrs["target"]
        self.kernels: dict[GlobalVar, PrimFunc] = {}

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        if stmt.attr_key == "target" and isinstance(stmt.node, Target):
            return self.call(stmt.node, stmt.body)
        if stmt.attr_key in ("thread_extent", "device_scope") and self.target.device_kind != "cpu":
            return self.call(_without_host(self.target), stmt)
        return self.visit_fields(stmt)

    def call(self, target: Target, part: Stmt) -> Stmt:
        """The call of the part as a function of its own."""
        name = f"{self.name}_kernel"
        for k in range(1, len(self.names) + 1):
            if name not in self.names:
                break
            name = f"{self.name}_kernel_{k}"
        self.names.add(name)
        params, args, declared = _parameters(part)
        body = seq([*declared, part])
        on_cpu = target.device_kind == "cpu"
        attrs: dict[str, Any] = {"target": target, "tirx.noalias": True, "tirx.is_global_func": True}
        if _LAUNCH in self.func.attrs:
            attrs[_LAUNCH] = self.func.attrs[_LAUNCH]
        if self.func.attrs.get("s_tir"):
            attrs["s_tir"] = True
        if on_cpu:
            body = seq([body, Return(const(0, "int32"))])
        else:
            _check_returns(part, self.name)
        kernel = PrimFunc(params, body, INT32 if on_cpu else VOID, attrs)
        made = renew_definitions(kernel)
        symbol = GlobalVar(name, made.ty)
        self.kernels[symbol] = made
        call = Call(symbol, args, INT32 if on_cpu else VOID)
        if not on_cpu:
            return Evaluate(call)
        code = Var("kernel_error_code", "int32")
        fine = EQ(code, const(0, "int32"))
        message = [StringImm("Error executing compute kernel")]
        return seq([Bind(code, call), AssertStmt(StringImm("RuntimeError"), fine, message)])


def _check_returns(part: Stmt, name: str) -> None:
    for node in walk(part):
        if isinstance(node, Return) and node.value is not None:
            if not (isinstance(node.value, IntImm) and node.value.value == 0):
                raise refuse(
                    "kernel-return",
                    f"the device part of `{name}` returns a value; only 0, for a successful return, can be",
                    node,
                    "store the value in a buffer",
                )


def _parameters(part: Stmt) -> tuple[list[Var], list[Expr], list[Stmt]]:
    """The parameters for what the part uses from outside, the arguments, and its buffers declared."""
    used = dict.fromkeys(free_vars(part))
    for buffer in list(used):
        if isinstance(buffer.ty, BufferType):
            used.update(dict.fromkeys(type_vars(buffer.ty)))
    buffers = sorted([v for v in used if isinstance(v.ty, BufferType)], key=_name)
    others = sorted([v for v in used if not isinstance(v.ty, BufferType)], key=_order)
    pointers = [v for v in others if isinstance(v.ty, PointerType)]
    scalars = [v for v in others if not isinstance(v.ty, PointerType)]
    data: list[Var] = []
    args: list[Expr] = []
    declared: list[Stmt] = []
    for buffer in buffers:
        ty = buffer_type(buffer)
        pointer = PointerType(PrimType(ty.dtype), ty.storage_scope)
        data.append(Var(f"{buffer.name}_data", pointer))
        args.append(Call("tirx.buffer_data", (buffer,), pointer))
        declared.append(DeclBuffer(buffer, data[-1]))
    return [*data, *pointers, *scalars], [*args, *pointers, *scalars], declared


def _name(var: Var) -> str:
    return var.name


def _order(var: Var) -> tuple[int, str]:
    return (-var.dtype.bits if isinstance(var.ty, PrimType) else 0, var.name)


def _lower_calls(table: dict[GlobalVar, Any]) -> dict[GlobalVar, Any]:
    """The functions with calls across targets lowered, and what is called that way made visible."""
    callees = {g.name: f for g, f in table.items() if isinstance(f, PrimFunc)}
    lower = _Calls(callees)
    made = {g: lower(f) if isinstance(f, PrimFunc) else f for g, f in table.items()}
    for g, func in made.items():
        attrs = lower.visible.get(g.name)
        if attrs is not None:
            made[g] = func.with_attr(attrs)
    return made


def _own_target(func: PrimFunc) -> Target | None:
    target = func.attrs.get("target")
    return target.host or target if isinstance(target, Target) else None


class _Calls(Rewriter):
    def __init__(self, callees: dict[str, PrimFunc]) -> None:
        super().__init__()
        self.callees = callees
        self.visible: dict[str, dict[str, Any]] = {}
        self.own: Target | None = None

    def visit_PrimFunc(self, func: PrimFunc) -> Any:
        self.own = _own_target(func)
        return self.visit_fields(func)

    def visit_Call(self, call: Call) -> Any:
        call = self.visit_fields(call)
        name = call.op.name if isinstance(call.op, GlobalVar) else ""
        callee = self.callees.get(name)
        target = None if callee is None else callee.attrs.get("target")
        if callee is None or self.own is None or not isinstance(target, Target) or target == self.own:
            return call
        symbol = str(callee.attrs.get("global_symbol", name))
        attrs: dict[str, Any] = {"global_symbol": symbol, "tirx.is_global_func": True}
        self.visible[name] = attrs
        if target.device_kind == self.own.device_kind:
            return Call("tirx.call_extern", (StringImm(symbol), *call.args), call.ty, {}, call.span)
        launch = _Launch(callee)
        given = callee.attrs.get(_LAUNCH)
        tags = launch.tags if given is None else tuple(given)
        attrs.update({"calling_conv": 2, _LAUNCH: tags})
        fixed = dict(zip(callee.params, call.args))
        extents = [substitute(e, fixed) for tag, e in launch.extents.items() if tag in tags]
        if launch.shared is not None and _DYNAMIC in tags:
            extents.append(substitute(launch.shared, fixed))
        args = (StringImm(symbol), *call.args, *extents)
        return Call("tirx.call_ffi_kernel", args, INT32, {"launch_params": tags}, span=call.span)


class _Launch(Visitor):
    """The thread axes of a kernel with their extents, and how much shared memory it asks for."""

    def __init__(self, kernel: PrimFunc) -> None:
        self.extents: dict[str, Expr] = {}
        self.shared: Expr | None = None
        self.bound: dict[Var, Expr] = {}
        self(kernel)

    @property
    def tags(self) -> tuple[str, ...]:
        """What a launch gives, in order."""
        return (*self.extents, *([] if self.shared is None else [_DYNAMIC]))

    def visit_Bind(self, stmt: Bind) -> None:
        self.bound[stmt.var] = substitute(stmt.value, self.bound)

    def visit_AttrStmt(self, stmt: AttrStmt) -> None:
        if stmt.attr_key == "thread_extent" and isinstance(stmt.node, IterVar):
            self.extents.setdefault(stmt.node.thread_tag, substitute(stmt.value, self.bound))
        self.visit(stmt.body)

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> None:
        ty = buffer_type(stmt.buffer)
        if ty.storage_scope == "shared.dyn":
            size = substitute(element_count(ty), self.bound)
            bytes_of = const(-(-ty.dtype.bits * ty.dtype.lanes // 8), size.dtype)
            self.shared = cast_to(times(size, bytes_of), INT32)
