"""Operators with several results or with statistics become plain operators."""

from __future__ import annotations

from typing import Any

from ...ir import Call, Expr, ExternFunc, IRModule, Tuple, Var
from ...ir.relax import RelaxOp, ShapeExpr, ShapeType, get_op, tensor_constant
from ...ops.derivatives import R
from ..registry import register_pass
from .call_rules import CallRules, Rule, apply_rules, rank_of


@register_pass("relax.DecomposeOpsForInference")
def decompose_ops_for_inference(mod: IRModule, func_name: str | None = None) -> IRModule:
    """Batch normalisation uses the moving statistics, and is plain arithmetic; shapes from tensors are casts.

    In the function named, or in all.  Idempotent.

    before:
        @R.function
        def main(k: R.Tensor((1,), "int64")) -> R.Shape(ndim=1):
            s = R.tensor_to_shape(k)
            return s

    after:
        @R.function
        def main(k: R.Tensor((1,), "int64")) -> R.Shape(ndim=1):
            x = T.int64()
            gv = R.call_pure_packed("vm.builtin.tensor_to_shape", k, ty_args=(R.Shape(ndim=1),))
            gv1 = R.match_cast(gv, R.Shape([x]))
            s = R.shape([x])
            return s
    """
    return _in(mod, func_name, {"relax.nn.batch_norm": _with_moving, "relax.tensor_to_shape": _shape})


@register_pass("relax.DecomposeOpsForTraining")
def decompose_ops_for_training(mod: IRModule, func_name: str | None = None) -> IRModule:
    """Batch and layer normalisation are plain arithmetic, of which gradients are known.

    Batch normalisation uses the statistics of the batch, and updates the moving ones.  In the function named,
    or in all.  Idempotent.

    before:
        @R.function
        def main(
            x: R.Tensor((2, 3), "float32"), g: R.Tensor((3,), "float32"), b: R.Tensor((3,), "float32")
        ) -> R.Tensor((2, 3), "float32"):
            y = R.nn.layer_norm(x, g, b, axes=-1)
            return y

    after:
        @R.function
        def main(
            x: R.Tensor((2, 3), "float32"), g: R.Tensor((3,), "float32"), b: R.Tensor((3,), "float32")
        ) -> R.Tensor((2, 3), "float32"):
            gv = R.mean(x, axis=[1], keepdims=True)
            gv1 = R.subtract(x, gv)
            gv2 = R.variance(x, axis=[1], keepdims=True)
            gv3 = R.add(gv2, R.const(9.999999747378752e-06, "float32"))
            gv4 = R.sqrt(gv3)
            gv5 = R.divide(gv1, gv4)
            gv6 = R.expand_dims(g, axis=[0])
            gv7 = R.multiply(gv5, gv6)
            gv8 = R.expand_dims(b, axis=[0])
            y = R.add(gv7, gv8)
            return y
    """
    return _in(mod, func_name, {"relax.nn.batch_norm": _with_batch, "relax.nn.layer_norm": _layer_norm})


def _in(mod: IRModule, name: str | None, rules: dict[str, Rule]) -> IRModule:
    if name is None:
        return apply_rules(mod, rules)
    part = IRModule({mod.get_global_var(name): mod[name]})
    made = apply_rules(part, rules)
    return mod if made is part else mod.with_function(name, made[name])


def _beside(value: Expr, axes: tuple[int, ...], ndim: int) -> Expr:
    """A tensor over these axes, ready to be combined with one of all axes."""
    others = tuple([d for d in range(ndim) if d not in axes])
    return R.expand_dims(value, others) if others else value


def _normalised(
    data: Expr, mean: Expr, variance: Expr, gamma: Expr, beta: Expr, attrs: Any, axes: tuple[int, ...]
) -> Expr:
    """(data - mean) / sqrt(variance + epsilon) * gamma + beta; gamma and beta lie over `axes`."""
    ndim = rank_of(data)
    epsilon = tensor_constant(attrs["epsilon"], data.ty.dtype)  # type: ignore[attr-defined]
    out = R.divide(R.subtract(data, mean), R.sqrt(R.add(variance, epsilon)))
    if attrs["scale"]:
        out = R.multiply(out, _beside(gamma, axes, ndim))
    return R.add(out, _beside(beta, axes, ndim)) if attrs["center"] else out


def _with_moving(graph: CallRules, call: Call) -> Expr | None:
    data, gamma, beta, mean, variance = call.args
    ndim = rank_of(data)
    if ndim < 0:
        return None
    axes = (call.attrs["axis"] % ndim,)
    m, v = _beside(mean, axes, ndim), _beside(variance, axes, ndim)
    return Tuple([_normalised(data, m, v, gamma, beta, call.attrs, axes), mean, variance])


def _with_batch(graph: CallRules, call: Call) -> Expr | None:
    data, gamma, beta, mean, variance = call.args
    ndim = rank_of(data)
    if ndim < 0:
        return None
    axis = call.attrs["axis"] % ndim
    others = [d for d in range(ndim) if d != axis]
    now = [graph.builder.emit(op(data, axis=others)) for op in (R.mean, R.variance)]
    m, v = [_beside(value, (axis,), ndim) for value in now]
    out = _normalised(data, m, v, gamma, beta, call.attrs, (axis,))
    dtype = mean.ty.dtype  # type: ignore[attr-defined]
    keep = tensor_constant(1.0 - call.attrs["momentum"], dtype)
    take = tensor_constant(call.attrs["momentum"], dtype)
    moved = [R.add(R.multiply(keep, old), R.multiply(take, new)) for old, new in zip((mean, variance), now)]
    return Tuple([out, *moved])


def _layer_norm(graph: CallRules, call: Call) -> Expr | None:
    data, gamma, beta = call.args
    ndim = rank_of(data)
    axes = tuple([a % ndim for a in call.attrs["axes"]]) if ndim >= 0 else ()
    if ndim < 0 or list(axes) != sorted(axes):
        return None
    mean, variance = [op(data, axis=axes, keepdims=True) for op in (R.mean, R.variance)]
    return _normalised(data, mean, variance, gamma, beta, call.attrs, axes)


def _shape(graph: CallRules, call: Call) -> Expr | None:
    ty = call.ty
    if not isinstance(ty, ShapeType) or ty.ndim < 0:
        return None
    rec: RelaxOp = get_op("relax.call_pure_packed")
    found = graph.builder.emit(
        rec(ExternFunc("vm.builtin.tensor_to_shape"), call.args[0], ty_args=ShapeType(ndim=ty.ndim))
    )
    sizes = [Var("x", "int64") for _ in range(ty.ndim)]
    graph.builder.match_cast(found, ShapeType(sizes))
    return ShapeExpr(sizes)


__all__ = ["decompose_ops_for_inference", "decompose_ops_for_training"]
