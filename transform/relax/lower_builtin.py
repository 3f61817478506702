"""Operators of memory, shapes and closures become functions of the virtual machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dtype import DType
from ...ir import Call, Expr, IRModule, StringImm, Tuple
from ...ir.relax import get_op
from ...ir.relax.rewrite import GraphRewriter
from ...runtime.device import KINDS
from ..registry import register_pass
from .vm_calls import called, number, packed, parts, with_machine

_RULES: dict[str, Callable[[Call], Expr]] = {}


def _rule(name: str) -> Callable[[Callable[[Call], Expr]], Callable[[Call], Expr]]:
    def enter(rule: Callable[[Call], Expr]) -> Callable[[Call], Expr]:
        _RULES[f"relax.{name}"] = rule
        return rule

    return enter


@register_pass("relax.LowerRuntimeBuiltin", "relax.VMBuiltinLower")
def lower_runtime_builtin(mod: IRModule) -> IRModule:
    """What the virtual machine does itself is a call of its functions, `R.vm.*` or `vm.builtin.*`.

    before:
        @R.function
        def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((2, 2), dtype="float32"):
            R.func_attr({"relax.force_pure": True})
            y = R.reshape(x, R.shape([2, 2]))
            R.memory.kill_tensor(x)
            return y
    after:
        @R.function
        def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((2, 2), dtype="float32"):
            R.func_attr({"relax.force_pure": True})
            y = R.call_packed(
                "vm.builtin.reshape", x, R.shape([2, 2]), ty_args=(R.Tensor((2, 2), dtype="float32"),)
            )
            R.vm.kill_object(x)
            return y
    """
    return _Lower()(mod)


class _Lower(GraphRewriter):
    def visit_Call(self, call: Call) -> Any:
        call = super().visit_Call(call)
        rule = _RULES.get(called(call))
        return call if rule is None else rule(call)


def _field(call: Call) -> Expr:
    """A number from a tensor's header."""
    name = StringImm(called(call).rpartition(".")[2])
    return packed("vm.builtin.tensor_field", name, *call.args, ty=call.ty, span=call.span)


for _name in ("ndim", "shape_i", "stride_i", "byte_offset", "elem_offset"):
    _rule(f"inspect.tensor_{_name}")(_field)
for _name in ("dtype_code", "dtype_bits", "dtype_lanes"):
    _rule(f"inspect.tensor_{_name}")(_field)


@_rule("memory.alloc_storage")
def _storage(call: Call) -> Expr:
    v = parts(call)
    return get_op("relax.vm.alloc_storage")(
        v["size"], v["virtual_device_index"], DType("uint8"), v["storage_scope"], span=call.span
    )


@_rule("memory.alloc_tensor")
def _tensor(call: Call) -> Expr:
    v = parts(call)
    return get_op("relax.vm.alloc_tensor")(
        v["storage"], v["offset"], v["shape"], v["dtype"], v["runtime_device_ind"], span=call.span
    )


@_rule("memory.kill_tensor")
@_rule("memory.kill_storage")
def _kill(call: Call) -> Expr:
    return get_op("relax.vm.kill_object")(call.args[0], span=call.span)


def _same(name: str) -> Callable[[Call], Expr]:
    return lambda call: packed(name, *call.args, ty=call.ty, span=call.span)


for _op in ("reshape", "shape_of", "tensor_to_shape", "shape_to_tensor"):
    _rule(_op)(_same(f"vm.builtin.{_op}"))
_rule("memory.ensure_zero_offset")(_same("vm.builtin.ensure_zero_offset"))
_rule("builtin.stop_lift_params")(lambda call: call.args[0])


@_rule("memory.view")
def _view(call: Call) -> Expr:
    v = parts(call)
    ty: Any = call.ty
    shape = v["shape"] if v["shape"] is not None else ty.shape
    dtype = v["dtype"] if v["dtype"] is not None else ty.dtype
    offset = v["relative_byte_offset"]
    made = get_op("relax.call_pure_packed")
    given = [v["data"], shape, dtype, number(0) if offset is None else offset]
    return made("runtime.TVMTensorCreateView", *given, ty_args=(call.ty,), span=call.span)


@_rule("to_vdevice")
def _to_device(call: Call) -> Expr:
    v = parts(call)
    place = v["dst_vdevice"]
    kind = KINDS["cpu"] if place is None or place.target is None else _device_number(place.target)
    index = 0 if place is None else place.vdevice_id
    return packed("vm.builtin.to_device", v["data"], number(kind), number(index), ty=call.ty, span=call.span)


def _device_number(target: Any) -> int:
    """The number of the kind of device that a target is for."""
    from ...target import Target

    kind = Target(target).kind
    return KINDS.get({"llvm": "cpu", "c": "cpu", "nvptx": "cuda"}.get(kind, kind), KINDS["cpu"])


@_rule("hint_on_device")
def _hint(call: Call) -> Expr:
    return call.args[0]


@_rule("make_closure")
def _make_closure(call: Call) -> Expr:
    return packed("vm.builtin.make_closure", *_flat(call), ty=call.ty, span=call.span)


@_rule("invoke_closure")
@_rule("invoke_pure_closure")
def _invoke_closure(call: Call) -> Expr:
    return with_machine("vm.builtin.invoke_closure", *_flat(call), ty=call.ty, span=call.span)


@_rule("call_py_func")
def _py_func(call: Call) -> Expr:
    return packed("vm.builtin.call_py_func", *_flat(call), ty=call.ty, span=call.span)


def _flat(call: Call) -> list[Expr]:
    """The function that is called, and the fields of the tuple of its arguments."""
    func, args = call.args
    assert isinstance(args, Tuple)
    return [func, *args.fields_]


@_rule("print")
def _print(call: Call) -> Expr:
    return packed(
        "relax.run.print", StringImm(call.attrs.get("format", "")), *call.args, ty=call.ty, span=call.span
    )


@_rule("assert_op")
def _assert(call: Call) -> Expr:
    v = parts(call)
    values = v["format_args"]
    rest = values.fields_ if isinstance(values, Tuple) else values or ()
    return packed(
        "relax.run.assert_op", v["condition"], StringImm(v["format"]), *rest, ty=call.ty, span=call.span
    )
