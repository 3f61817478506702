"""Which device tensors are on: hints become types, devices are exchanged, kernels learn of memory scopes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import BufferType, Call, IRModule, Op, PrimFunc, Tuple, TupleType, Type, Var, VDevice
from ...ir.relax import (
    Function,
    MatchCast,
    TensorType,
    VarBinding,
    op_of,
)
from ...ir.relax.rewrite import GraphRewriter, rewrite_functions
from ...ir.visitor import Rewriter, substitute, walk
from ...target import Target
from ..common import refuse
from ..registry import register_pass
from .common import kernel_of, operands

MOVES = ("relax.to_vdevice",)
HINT = "relax.hint_on_device"


@register_pass("relax.RealizeVDevice")
def realize_vdevice(mod: IRModule) -> IRModule:
    """The types of tensors say which device they are on; `R.hint_on_device` is gone.

    A hint holds for all tensors that operators tie to the one hinted at; `R.to_vdevice` cuts the tie.
    Raises PassError where two devices meet.  Idempotent.

    before:
        @I.ir_module
        class Module:
            I.module_global_infos({"vdevice": [I.vdevice("llvm")]})

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                with R.dataflow():
                    a = R.hint_on_device(x, I.vdevice("llvm"))
                    b = R.exp(a)
                    R.output(b)
                return b

    after:
        @I.ir_module
        class Module:
            I.module_global_infos(
                {"vdevice": [I.vdevice({"keys": ["cpu"], "kind": "llvm", "tag": ""}, 0, "global")]}
            )
            @R.function
            def main(
                x: R.Tensor((2,), dtype="float32", vdevice="llvm:0:global")
            ) -> R.Tensor((2,), dtype="float32", vdevice="llvm:0:global"):
                with R.dataflow():
                    a = x
                    b = R.exp(a)
                    R.output(b)
                return b
    """
    return rewrite_functions(mod, _realized)


def _realized(func: Function) -> Function:
    ties = _Ties()
    for param in func.params:
        ties.state(param, param.ty)
    for n in walk(func):
        if isinstance(n, VarBinding | MatchCast):
            ties.bind(n)
    body = func.body.body
    for v in operands(body):
        if isinstance(v, Var) and isinstance(func.ret_ty, TensorType) and func.ret_ty.vdevice is not None:
            ties.place(v, func.ret_ty.vdevice)
    made = _Placed(ties)(func)
    if made is func:
        return func
    return made.replace(ret_ty=made.body.ty) if _has_device(made.body.ty) else made


def _has_device(ty: Type) -> bool:
    if isinstance(ty, TupleType):
        return any(map(_has_device, ty.fields_))
    return isinstance(ty, TensorType) and ty.vdevice is not None


class _Ties:
    """Groups of variables whose tensors are on one device."""

    def __init__(self) -> None:
        self.root: dict[Var, Var] = {}
        self.device: dict[Var, VDevice] = {}

    def find(self, var: Var) -> Var:
        """The variable that stands for the group."""
        while self.root.get(var, var) is not var:
            var = self.root[var]
        return var

    def place(self, var: Var, device: VDevice) -> None:
        """The group of a variable is on this device. Raises PassError where it is on another."""
        top = self.find(var)
        known = self.device.setdefault(top, device)
        if known is not device and known != device and not _same(known, device):
            text = f"`{var.name}` is to be on two devices"
            raise refuse("device-conflict", text, var, "move it by `R.to_vdevice`")

    def tie(self, a: Var, b: Var) -> None:
        """Both are on one device."""
        x, y = self.find(a), self.find(b)
        if x is y:
            return
        self.root[y] = x
        device = self.device.pop(y, None)
        if device is not None:
            self.place(x, device)

    def state(self, var: Var, ty: Type) -> None:
        """Take in what the type of a variable says."""
        if isinstance(ty, TensorType) and ty.vdevice is not None:
            self.place(var, ty.vdevice)

    def bind(self, binding: Any) -> None:
        """Take in a binding."""
        self.state(binding.var, binding.var.ty)
        value = binding.value
        name = value.op.name if isinstance(value, Call) and isinstance(value.op, Op) else ""
        if name in MOVES:
            return
        used = [v for v in operands(value) if isinstance(v, Var) and isinstance(v.ty, TensorType | TupleType)]
        if not isinstance(value, Call | Var | Tuple) and not hasattr(value, "tuple_value"):
            return
        for v in used:
            if isinstance(binding.var.ty, TensorType | TupleType):
                self.tie(v, binding.var)
        if name == HINT:
            self.place(binding.var, _device(value))


def _device(hint: Any) -> VDevice:
    """The device that a hint names."""
    return as_device(hint.attrs["dst_vdevice"], hint.attrs["memory_scope"])


def as_device(device: VDevice | str, memory_scope: str = "global") -> VDevice:
    """The device, or the one that a text such as "cuda:0" names."""
    if isinstance(device, VDevice):
        return device
    kind, _, number = str(device).partition(":")
    return VDevice(Target(kind), int(number or 0), memory_scope)


def _same(a: VDevice, b: VDevice) -> bool:
    same_place = a.vdevice_id == b.vdevice_id and a.memory_scope == b.memory_scope
    return same_place and str(a.target) == str(b.target)


class _Placed(GraphRewriter):
    """Gives variables the devices of their groups."""

    def __init__(self, ties: _Ties) -> None:
        super().__init__()
        self.ties = ties

    def typed(self, var: Var, ty: Type) -> Type:
        """The type with the device of the variable's group."""
        device = self.ties.device.get(self.ties.find(var))
        if isinstance(ty, TupleType):
            fields = [self.typed(var, f) for f in ty.fields_]
            return ty if all(a is b for a, b in zip(fields, ty.fields_)) else TupleType(fields)
        if device is None or not isinstance(ty, TensorType) or ty.vdevice is not None:
            return ty
        return TensorType(ty.shape, ty.dtype, device, ty.ndim)

    def define(self, var: Var) -> Var:
        """A parameter."""
        var_ty = self.typed(var, var.ty)
        return var if var_ty is var.ty else self.renew(var, var_ty)

    def visit_VarBinding(self, binding: VarBinding) -> None:
        """A hint is another name; other values get their device."""
        value = binding.value
        if isinstance(value, Call) and isinstance(value.op, Op) and value.op.name == HINT:
            self.rebind(binding, self.visit(value.args[0]))
            return
        made = self.visit(value)
        ty = self.typed(binding.var, made.ty)
        if isinstance(made, Call) and ty is not made.ty and op_of(made) is not None:
            made = made.replace(ty=ty, ty_args=(ty,) if made.ty_args else ())
        self.rebind(binding, made)


@register_pass("relax.UpdateVDevice")
def update_vdevice(mod: IRModule, new_vdevice: VDevice | str, index: int) -> IRModule:
    """The device of this number among the module's devices is another one, in all types too.

    Raises PassError where the module has no such device.  Idempotent.

    with: new_vdevice="opencl", index=0
    before:
        @I.ir_module
        class Module:
            I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda")]})

            @R.function
            def main(x: R.Tensor((2,), "float32", "llvm")) -> R.Tensor((2,), "float32", "llvm"):
                return x

    after:
        @I.ir_module
        class Module:
            I.module_global_infos({"vdevice": [I.vdevice("opencl"), I.vdevice("cuda")]})

            @R.function
            def main(x: R.Tensor((2,), "float32", "opencl")) -> R.Tensor((2,), "float32", "opencl"):
                return x
    """
    new_vdevice = as_device(new_vdevice)
    devices = mod.global_infos.get("vdevice", ())
    if not 0 <= index < len(devices):
        text = f"the module has {len(devices)} devices, none of number {index}"
        raise refuse("unknown-device", text, mod)
    old = devices[index]
    if old is new_vdevice:
        return mod
    changed = _Exchange(old, new_vdevice)
    table = {g: changed(f) if isinstance(f, Function) else f for g, f in mod.functions.items()}
    listed = tuple([new_vdevice if i == index else d for i, d in enumerate(devices)])
    return mod.replace(functions=table, global_infos={**mod.global_infos, "vdevice": listed})


class _Exchange(Rewriter):
    def __init__(self, old: VDevice, new: VDevice) -> None:
        super().__init__()
        self.old = old
        self.new = new

    def visit_VDevice(self, device: VDevice) -> VDevice:
        """The new device in the place of the old one."""
        return self.new if device is self.old or _same(device, self.old) else device


@register_pass("relax.SpecializePrimFuncBasedOnCallSite")
def specialize_primfunc_based_on_call_site(mod: IRModule) -> IRModule:
    """Kernels have the memory scopes of the devices that their callers' tensors are on.

    Raises PassError where two callers want different scopes of one kernel.  Idempotent.

    before:
        @I.ir_module
        class Module:
            @T.prim_func(private=True)
            def exp(x: T.Buffer((T.int64(2),), "float32"), y: T.Buffer((T.int64(2),), "float32")):
                for i in range(T.int64(2)):
                    with T.sblock("y"):
                        v = T.axis.spatial(T.int64(2), i)
                        y[v] = T.exp(x[v])

    after:
        @I.ir_module
        class Module:
            @T.prim_func(private=True, s_tir=True)
            def exp(x: T.Buffer((T.int64(2),), "float32"), y: T.Buffer((T.int64(2),), "float32")):
                # with T.sblock("root"):
                for i in range(T.int64(2)):
                    with T.sblock("y"):
                        v = T.axis.spatial(T.int64(2), i)
                        T.reads(x[v])
                        T.writes(y[v])
                        y[v] = T.exp(x[v])
    """
    functions = {g.name: f for g, f in mod.functions.items()}
    wanted: dict[str, tuple[str, ...]] = {}
    for func in mod.functions.values():
        for n in walk(func):
            kernel = kernel_of(n) if isinstance(n, Call) else None
            if kernel is None or not isinstance(functions.get(kernel.name), PrimFunc):
                continue
            scopes = _scopes(n)
            if wanted.setdefault(kernel.name, scopes) != scopes:
                text = f"calls of `{kernel.name}` want different memory scopes"
                raise refuse("device-conflict", text, n, "call copies of the kernel")
    if all(s == "global" for scopes in wanted.values() for s in scopes):
        return mod
    table = {g: _with_scopes(f, wanted.get(g.name, ())) for g, f in mod.functions.items()}
    return mod.replace(functions=table)


def _scopes(call: Any) -> tuple[str, ...]:
    """The memory scopes of the arguments and results of a kernel's call, in order."""
    out = call.ty_args[0]
    types = [a.ty for a in call.args[1].fields_] + list(out.fields_ if isinstance(out, TupleType) else (out,))
    return tuple([_scope(t) for t in types])


def _scope(ty: Type) -> str:
    device = ty.vdevice if isinstance(ty, TensorType) else None
    return device.memory_scope if device is not None else "global"


def _with_scopes(func: Any, scopes: Sequence[str]) -> Any:
    if not isinstance(func, PrimFunc) or all(s == "global" for s in scopes):
        return func
    new: dict[Var, Var] = {}
    for param, scope in zip(func.params, scopes):
        if isinstance(param.ty, BufferType) and param.ty.storage_scope != scope:
            new[param] = Var(param.name, param.ty.replace(storage_scope=scope), param.span)
    if not new:
        return func
    params = [new.get(p, p) for p in func.params]
    return func.replace(params=params, body=substitute(func.body, new))


@register_pass("relax.UpdateParamType")
def update_param_type(mod: IRModule, ty_func: Any) -> IRModule:
    """Parameters have the types that `ty_func(param)` gives, where it is not None; the rest is derived anew.

    Idempotent where the types given are.

    with: ty_func=lambda param: param.ty.replace(dtype="float64")
    before:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            y = R.exp(x)
            return y

    after:
        @R.function
        def main(x: R.Tensor((2,), "float64")) -> R.Tensor((2,), "float64"):
            y = R.exp(x)
            return y
    """
    return rewrite_functions(mod, lambda func: _Retyped(ty_func)(func))


class _Retyped(GraphRewriter):
    def __init__(self, ty_func: Any) -> None:
        super().__init__()
        self.ty_func = ty_func

    def define(self, var: Var) -> Var:
        """A parameter."""
        ty = self.ty_func(var)
        return super().define(var) if ty is None or ty == var.ty else self.renew(var, ty)


__all__ = [
    "realize_vdevice",
    "specialize_primfunc_based_on_call_site",
    "update_param_type",
    "update_vdevice",
]
