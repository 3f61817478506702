"""Operators become calls of kernels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...ir import Call, Expr, IRModule, Op, TupleType, Type
from ...ir.relax import Function, TensorType, op_of
from ...ir.relax.block_builder import BlockBuilder
from ...ir.relax.rewrite import GraphRewriter
from ..registry import register_pass

Rule = Callable[[BlockBuilder, Call], Expr]


@register_pass("relax.LegalizeOps")
def legalize_ops(
    mod: IRModule,
    customize_legalize_map: Mapping[str, Rule] | None = None,
    skip_ops: Iterable[str] | None = None,
    enable_warning: bool = False,
) -> IRModule:
    """Each operator is the call of a kernel, or what else its record makes of it.

    Rules of `customize_legalize_map`, (BlockBuilder, Call) -> Expr by operator name, go first; the operators
    in `skip_ops` stay, and so do those whose operands' shapes or dtypes are not known, and those that have no
    kernel.  Equal operators on equal types share a kernel.  With `enable_warning` a warning names each
    operator that stays for want of a rule.  Idempotent, as far as the given rules are.

    before:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            y = R.exp(x)
            return y

    after:
        @I.ir_module
        class Module:
            @T.prim_func(private=True, s_tir=True)
            def exp(x: T.Buffer((T.int64(2),), "float32"), compute: T.Buffer((T.int64(2),), "float32")):
                T.func_attr({"tirx.noalias": True})
                # with T.sblock("root"):
                for i0 in range(T.int64(2)):
                    with T.sblock("compute"):
                        v_i0 = T.axis.spatial(T.int64(2), i0)
                        T.reads(x[v_i0])
                        T.writes(compute[v_i0])
                        compute[v_i0] = T.exp(x[v_i0])

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                y = R.call_tir(cls.exp, (x,), out_ty=R.Tensor((2,), "float32"))
                return y
    """
    custom, skipped = dict(customize_legalize_map or {}), frozenset(map(_name, skip_ops or ()))
    without_rule: set[str] = set()
    again = True
    while again:
        rewriter = _Legalize(custom, skipped)
        mod = rewriter(mod)
        # what a rule made of an operator may hold operators
        again, custom = rewriter.applied, {}
        without_rule |= rewriter.without_rule
    if enable_warning and without_rule:
        names = ", ".join(sorted(without_rule))
        warnings.warn(f"no rule legalizes these operators: {names}", stacklevel=2)
    return mod


def _name(op: str | Op) -> str:
    return op if isinstance(op, str) else op.name


class _Legalize(GraphRewriter):
    """One round; `applied` tells whether a rule made something other than a kernel's call."""

    def __init__(self, custom: Mapping[str, Rule], skipped: frozenset[str]) -> None:
        super().__init__()
        self.custom = custom
        self.skipped = skipped
        self.applied = False
        self.without_rule: set[str] = set()

    def wants(self, func: Function) -> bool:
        """Groups that an external compiler gets keep their operators."""
        return not {"Codegen", "Composite"} & set(func.attrs)

    def visit_Call(self, call: Call) -> Any:
        """The call of a kernel in the place of an operator."""
        call = super().visit_Call(call)
        rec = op_of(call)
        if rec is None or rec.name in self.skipped:
            return call
        rule = self.custom.get(rec.name)
        if rule is None and not all(_is_known_type(a.ty) for a in call.args):
            return call
        rule = rule or rec.legalize
        if rule is not None:
            made = rule(self.builder, call)
            self.applied = self.applied or made is not call
            return made
        if rec.te is None:
            self.without_rule.add(rec.name)
        elif _is_known_type(call.ty):
            return self.builder.call_kernel(call)
        return call


def _is_known_type(ty: Type) -> bool:
    if isinstance(ty, TupleType):
        return all(map(_is_known_type, ty.fields_))
    return not isinstance(ty, TensorType) or (ty.sizes is not None and ty.dtype is not None)


__all__ = ["legalize_ops"]
