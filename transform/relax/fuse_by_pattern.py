"""Fusing what patterns match into functions for external compilers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...ir import Expr, IRModule, Var
from ...ir.relax import DataflowBlock, Function, VarBinding
from ...ir.relax.dpl import CallPattern, Pattern, TupleGetItemPattern, TuplePattern, parse_pattern
from ...ir.relax.dpl.match import Matcher
from ...ir.relax.function_table import FunctionTable
from ..common import refuse
from ..registry import register_pass
from .common import map_dataflow, operands
from .contraction import Contraction
from .grouping import regroup
from .merge_composite import wrap_composite


@dataclass(frozen=True, slots=True)
class PatternCheckContext:
    """What the check of a fusion pattern may look at.

    The matched value, what the named patterns matched, the matched bindings, the variables that use each
    variable of the block, and the variable of each matched value.
    """

    matched_expr: Expr
    annotated_expr: Mapping[str, Expr]
    matched_bindings: Mapping[Var, Expr]
    var_usages: Mapping[Var, Sequence[Var]]
    value_to_bound_var: Mapping[Expr, Var]


@dataclass(frozen=True, slots=True)
class FusionPattern:
    """A pattern to fuse: the function made of it gets the attribute "Composite", which is its name.

    A pattern may be a text, see `loopwright.ir.relax.dpl.text`; its names are named patterns then.
    `check` may refuse a match; `attrs_getter` gives further attributes from what the named patterns matched.
    """

    name: str
    pattern: Pattern | str
    annotation_patterns: Mapping[str, Pattern] = field(default_factory=dict)
    check: Callable[[PatternCheckContext], bool] | None = None
    attrs_getter: Callable[[Mapping[str, Expr]], Mapping[str, Any]] | None = None


@register_pass("relax.FuseOpsByPattern")
def fuse_ops_by_pattern(
    mod: IRModule,
    patterns: Sequence[FusionPattern | tuple[Any, ...]],
    bind_constants: bool = True,
    annotate_codegen: bool = False,
    entry_functions: Sequence[str] | None = None,
) -> IRModule:
    """What a pattern matches in a dataflow block is a function, whose attribute "Composite" is its name.

    Patterns are tried in their order, each from the end of the block.  A match is left where a check refuses
    it, or where its function and what is outside of it would need each other.  Constants stand inside, unless
    `bind_constants` is False.  With `annotate_codegen` each function is wrapped into one with the attribute
    "Codegen", the part of the name before its first dot.  Idempotent.

    with: patterns=[("ext.dense", "nn.relu(matmul(_, _))")]
    before:
        @R.function
        def main(
            x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 4), "float32")
        ) -> R.Tensor((2, 4), "float32"):
            with R.dataflow():
                a = R.matmul(x, w)
                b = R.nn.relu(a)
                R.output(b)
            return b

    after:
        @I.ir_module
        class Module:
            @R.function(private=True)
            def fused_relax_matmul_relax_nn_relu(
                x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 4), "float32")
            ) -> R.Tensor((2, 4), "float32"):
                R.func_attr({"Composite": "ext.dense", "Primitive": True})
                with R.dataflow():
                    a = R.matmul(x, w)
                    b = R.nn.relu(a)
                    R.output(b)
                return b

            @R.function
            def main(
                x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 4), "float32")
            ) -> R.Tensor((2, 4), "float32"):
                cls = Module
                with R.dataflow():
                    b = cls.fused_relax_matmul_relax_nn_relu(x, w)
                    R.output(b)
                return b
    """
    rules = [_parsed(p if isinstance(p, FusionPattern) else FusionPattern(*p)) for p in patterns]
    for name in entry_functions or ():
        if name not in mod:
            raise refuse("unknown-function", f"the module has no function `{name}` to be an entry", mod)
    table = FunctionTable(mod)
    for gvar, func in mod.functions.items():
        if not isinstance(func, Function) or {"Composite", "Codegen", "Primitive"} & set(func.attrs):
            continue
        if entry_functions is not None and gvar.name not in entry_functions:
            continue
        made = map_dataflow(func, lambda block: _fuse(block, rules, table, bind_constants))
        if made is not func:
            table.update(gvar, made)
    result = table.module()
    if all(result.functions.get(g) is f for g, f in mod.functions.items()):
        return mod
    return wrap_composite(result) if annotate_codegen else result


def _parsed(rule: FusionPattern) -> FusionPattern:
    if not isinstance(rule.pattern, str):
        return rule
    pattern, names = parse_pattern(rule.pattern)
    return FusionPattern(
        rule.name, pattern, {**names, **rule.annotation_patterns}, rule.check, rule.attrs_getter
    )


def _fuse(
    block: DataflowBlock, rules: Sequence[FusionPattern], table: FunctionTable, bind_constants: bool
) -> DataflowBlock:
    graph = Contraction(block)
    attrs: dict[int, dict[str, Any]] = {}
    for rule in rules:
        for i in range(len(block.bindings) - 1, -1, -1):
            if graph.group_of[i] is None and isinstance(block.bindings[i], VarBinding):
                found = _matched(rule, graph, i)
                if found is not None:
                    members, more = found
                    graph.join(members)
                    attrs[max(members)] = {"Composite": rule.name, "Primitive": True, **more}
    return regroup(block, graph.group_of, attrs, table, bind_constants)


def _matched(rule: FusionPattern, graph: Contraction, i: int) -> tuple[set[int], Mapping[str, Any]] | None:
    """The bindings that a pattern matches with binding i as its result, and attributes for their function."""
    values = graph.values()
    matcher = Matcher(values)
    binding = graph.bindings[i]
    assert isinstance(rule.pattern, Pattern)
    if not matcher.match(rule.pattern, binding.var):
        return None
    members = {i}
    for pattern, expr in matcher.found.items():
        if isinstance(pattern, CallPattern | TuplePattern | TupleGetItemPattern) and isinstance(expr, Var):
            at = graph.place.get(expr)
            if at is None or graph.group_of[at] is not None:
                return None
            members.add(at)
    if not graph.joinable(members):
        return None
    annotated = {n: matcher.found[p] for n, p in rule.annotation_patterns.items() if p in matcher.found}
    if rule.check is not None:
        bindings = {graph.bindings[m].var: graph.bindings[m].value for m in sorted(members)}
        shown = {n: values.get(e, e) if isinstance(e, Var) else e for n, e in annotated.items()}
        context = PatternCheckContext(
            binding.value, shown, bindings, _users(graph), {e: v for v, e in bindings.items()}
        )
        if not rule.check(context):
            return None
    return members, dict(rule.attrs_getter(annotated)) if rule.attrs_getter else {}


def _users(graph: Contraction) -> dict[Var, list[Var]]:
    """The variables of a block that use each variable."""
    users: dict[Var, list[Var]] = {}
    for b in graph.bindings:
        for used in dict.fromkeys(operands(b.value)):
            if isinstance(used, Var):
                users.setdefault(used, []).append(b.var)
    return users


__all__ = ["FusionPattern", "PatternCheckContext", "fuse_ops_by_pattern"]
