"""Small rewritings of operators."""

from __future__ import annotations

from typing import Any

from ... import te
from ...ir import Call, Expr, GenericConst, IRModule, TupleGetItem, Var, const
from ...ir.intrin import call_intrin
from ...ir.operators import max_, min_
from ...ir.relax import get_op, same_sizes, tensor_constant
from ...ir.relax.analysis import remove_all_unused
from ...ir.relax.rewrite import rewrite_functions
from ...ops.derivatives import R
from ..registry import register_pass
from .call_rules import CallRules, apply_rules, rank_of, sizes_of


@register_pass("relax.RemoveRedundantReshape")
def remove_redundant_reshape(mod: IRModule) -> IRModule:
    """A tensor is reshaped once, and not at all where its shape stays.

    Idempotent.

    before:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((3, 2), "float32"):
            with R.dataflow():
                a = R.reshape(x, (6,))
                b = R.reshape(a, (3, 2))
                R.output(b)
            return b

    after:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((3, 2), "float32"):
            with R.dataflow():
                b = R.reshape(x, R.shape([3, 2]))
                R.output(b)
            return b
    """

    def rule(graph: CallRules, call: Call) -> Expr | None:
        x = call.args[0]
        have, want = sizes_of(x), sizes_of(call)
        if have is not None and want is not None and same_sizes(have, want):
            return x
        inner = graph.called(x, "relax.reshape")
        return None if inner is None or want is None else R.reshape(inner.args[0], want)

    return apply_rules(mod, {"relax.reshape": rule})


@register_pass("relax.FoldBatchnormToConv2D")
def fold_batchnorm_to_conv2d(mod: IRModule) -> IRModule:
    """The normalisation of a convolution's result over a batch is part of its weights and a bias.

    Where the weights are constant and the statistics are given; only the first result may be used.
    Idempotent.

    before:
        @R.function
        def main(x: R.Tensor((1, 1, 4, 4), "float32")) -> R.Tensor((1, 1, 4, 4), "float32"):
            with R.dataflow():
                c = R.nn.conv2d(x, R.const([[[[1.0]]]], "float32"))
                n = R.nn.batch_norm(
                    c,
                    R.const([2.0], "float32"),
                    R.const([3.0], "float32"),
                    R.const([0.0], "float32"),
                    R.const([1.0], "float32"),
                    axis=1,
                    epsilon=0.0,
                    training=False,
                )
                y = n[0]
                R.output(y)
            return y

    after:
        @R.function
        def main(x: R.Tensor((1, 1, 4, 4), "float32")) -> R.Tensor((1, 1, 4, 4), "float32"):
            with R.dataflow():
                c = R.nn.conv2d(x, R.const([[[[2.0]]]], "float32"))
                y = R.add(c, R.const([[[[3.0]]]], "float32"))
                R.output(y)
            return y
    """
    made: IRModule = _FoldBatchNorm({})(mod)
    return mod if made is mod else rewrite_functions(made, remove_all_unused)


class _FoldBatchNorm(CallRules):
    def visit_TupleGetItem(self, e: TupleGetItem) -> Expr:
        """The first result of the normalisation of a convolution."""
        made: Any = self.visit_fields(e)
        norm = self.called(made.tuple_value, "relax.nn.batch_norm") if made.index == 0 else None
        conv = None if norm is None else self.called(norm.args[0], "relax.nn.conv2d")
        values = [] if norm is None else [self.constant(a) for a in norm.args[1:]]
        weight = None if conv is None else self.constant(conv.args[1])
        if norm is None or conv is None or weight is None or any(v is None for v in values):
            return made
        out_layout = conv.attrs["out_layout"] or conv.attrs["data_layout"]
        if norm.attrs["training"] or out_layout.find("C") != norm.attrs["axis"] % rank_of(norm.args[0]):
            return made
        return self.folded(norm, conv, weight, values)

    def constant(self, e: Expr) -> Any:
        """The array of a constant, or None."""
        found = self.lookup(e) if isinstance(e, Var) else e
        return found.value if isinstance(found, GenericConst) else None

    def folded(self, norm: Any, conv: Any, weight: Any, values: list[Any]) -> Expr:
        """The convolution with scaled weights, and a bias."""
        import numpy as np

        gamma, beta, mean, variance = [np.asarray(v, "float64") for v in values]
        scale = 1.0 / np.sqrt(variance + norm.attrs["epsilon"])
        if norm.attrs["scale"]:
            scale = scale * gamma
        shift = -mean * scale + (beta if norm.attrs["center"] else 0.0)
        channel = conv.attrs["kernel_layout"].index("O")
        along = [-1 if i == channel else 1 for i in range(weight.ndim)]
        scaled = tensor_constant((weight * scale.reshape(along)).astype(weight.dtype))
        made = get_op("relax.nn.conv2d").again(conv, [conv.args[0], scaled])
        axis = norm.attrs["axis"] % rank_of(norm.args[0])
        beside = [-1 if i == axis else 1 for i in range(rank_of(norm.args[0]))]
        return R.add(made, tensor_constant(shift.reshape(beside).astype(weight.dtype)))


@register_pass("relax.FastMathTransform")
def fast_math_transform(mod: IRModule) -> IRModule:
    """exp, tanh and erf are kernels that are quicker and less exact (a relative error of about 1e-6).

    For float32 only.  Idempotent.

    before:
        @R.function
        def main(x: R.Tensor((2,), "float64")) -> R.Tensor((2,), "float64"):
            y = R.exp(x)
            return y

    after:
        @R.function
        def main(x: R.Tensor((2,), "float64")) -> R.Tensor((2,), "float64"):
            y = R.exp(x)
            return y
    """

    def rule_of(name: str) -> Any:
        def rule(graph: CallRules, call: Call) -> Expr | None:
            if call.ty.dtype != "float32" or sizes_of(call) is None:  # type: ignore[attr-defined]
                return None
            return graph.builder.call_te(_KERNELS[name], call.args[0], primfunc_name_hint=f"fast_{name}")

        return rule

    return apply_rules(mod, {f"relax.{name}": rule_of(name) for name in _KERNELS})


def _elementwise(function: Any) -> Any:
    return lambda x: te.compute(x.shape, lambda *i: function(x(*i)), name="fast")


def _number(value: float) -> Expr:
    return const(value, "float32")


def _fast_exp(x: Any) -> Any:
    """2 ** n * p(f) with x / ln 2 = n + f, p a polynomial on [-0.5, 0.5]; n becomes the exponent's bits."""
    scaled = max_(min_(x, _number(88.0)), _number(-87.0)) * _number(1.4426950408889634)
    whole = te.floor(scaled + _number(0.5))
    f = (scaled - whole) * _number(0.6931471805599453)
    value: Any = _number(1.0 / 720)
    for factor in (1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0):
        value = value * f + _number(factor)
    bits = (whole.astype("int32") + 127) << 23
    return value * call_intrin("float32", "tirx.reinterpret", bits)


def _fast_tanh(x: Any) -> Any:
    """1 - 2 / (exp(2 x) + 1), which is exact to float32 where that is 1."""
    return _number(1.0) - _number(2.0) / (_fast_exp(x * _number(2.0)) + _number(1.0))


def _fast_erf(x: Any) -> Any:
    """1 - p(t) exp(-x * x) with t = 1 / (1 + 0.3275911 abs(x)), of the sign of x."""
    t = _number(1.0) / (_number(1.0) + _number(0.3275911) * te.abs(x))
    value: Any = _number(1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        value = value * t + _number(factor)
    positive = _number(1.0) - value * t * _fast_exp(_number(0.0) - x * x)
    return te.select(x < _number(0.0), _number(0.0) - positive, positive)


_KERNELS = {"exp": _elementwise(_fast_exp), "tanh": _elementwise(_fast_tanh), "erf": _elementwise(_fast_erf)}

__all__ = ["fast_math_transform", "fold_batchnorm_to_conv2d", "remove_redundant_reshape"]
