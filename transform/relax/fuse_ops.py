"""Fusing kernels: groups of kernel calls become private functions, which `FuseTIR` makes one kernel each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...ir import BaseFunc, IRModule, TupleGetItem, Var
from ...ir.relax import DataflowBlock, DataflowVar, Function, OpPattern, VarBinding
from ...ir.relax.function_table import FunctionTable
from ..context import PassContext
from ..registry import register_pass
from .common import kernel_of, map_dataflow, operands
from .grouping import regroup
from .op_pattern import ATTR
from .partition import Node, partition


@register_pass("relax.FuseOps")
def fuse_ops(mod: IRModule, fuse_opt_level: int = -1) -> IRModule:
    """Kernel calls that fit together stand in a private function with the attribute "Primitive".

    The kernels' attribute "op_pattern" decides, see `AnnotateTIROpPattern`.  Only dataflow blocks are
    looked at.  At level 0 nothing is fused; the setting "relax.FuseOps.max_depth" bounds the size of groups.
    Idempotent: what is fused already stays as it is.

    before:
        @I.ir_module
        class Module:
            @T.prim_func(private=True)
            def exp(x: T.Buffer((T.int64(2),), "float32"), y: T.Buffer((T.int64(2),), "float32")):
                T.func_attr({"op_pattern": 0})
                for i in range(T.int64(2)):
                    with T.sblock("y"):
                        v = T.axis.spatial(T.int64(2), i)
                        y[v] = T.exp(x[v])

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                with R.dataflow():
                    a = R.call_tir(cls.exp, (x,), out_ty=R.Tensor((2,), "float32"))
                    b = R.call_tir(cls.exp, (a,), out_ty=R.Tensor((2,), "float32"))
                    R.output(b)
                return b

    after:
        @I.ir_module
        class Module:
            @T.prim_func(private=True, s_tir=True)
            def exp(x: T.Buffer((T.int64(2),), "float32"), y: T.Buffer((T.int64(2),), "float32")):
                T.func_attr({"op_pattern": 0})
                # with T.sblock("root"):
                for i in range(T.int64(2)):
                    with T.sblock("y"):
                        v = T.axis.spatial(T.int64(2), i)
                        T.reads(x[v])
                        T.writes(y[v])
                        y[v] = T.exp(x[v])

            @R.function(private=True)
            def fused_exp_exp(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                R.func_attr({"Primitive": True})
                cls = Module
                with R.dataflow():
                    a = R.call_tir(cls.exp, (x,), out_ty=R.Tensor((2,), "float32"))
                    b = R.call_tir(cls.exp, (a,), out_ty=R.Tensor((2,), "float32"))
                    R.output(b)
                return b

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                with R.dataflow():
                    b = cls.fused_exp_exp(x)
                    R.output(b)
                return b
    """
    if fuse_opt_level == 0:
        return mod
    max_depth = PassContext.current().get("relax.FuseOps.max_depth")
    kernels = {g.name: f for g, f in mod.functions.items()}
    table = FunctionTable(mod)
    changed = False
    for gvar, func in mod.functions.items():
        if isinstance(func, Function) and not {"Primitive", "Codegen"} & set(func.attrs):
            made = map_dataflow(func, lambda block: _fuse_block(block, kernels, table, max_depth))
            if made is not func:
                table.update(gvar, made)
                changed = True
    return table.module() if changed else mod


def _fuse_block(
    block: DataflowBlock, functions: Mapping[str, BaseFunc], table: FunctionTable, max_depth: int
) -> DataflowBlock:
    nodes = graph_of(block, functions)
    roots = partition(nodes, max_depth)
    sizes: dict[int, int] = {}
    for root in roots:
        sizes[root] = sizes.get(root, 0) + 1
    group_of = [root if sizes[root] > 1 else None for root in roots]
    kernels = {g for g, b in zip(group_of, block.bindings) if kernel_of(b.value) is not None}
    group_of = [g if g in kernels else None for g in group_of]
    return regroup(block, group_of, {g: {"Primitive": True} for g in kernels if g is not None}, table)


def graph_of(block: DataflowBlock, functions: Mapping[str, BaseFunc]) -> list[Node]:
    """The bindings of a block as nodes of a graph."""
    place: dict[Any, int] = {}
    nodes: list[Node] = []
    for i, binding in enumerate(block.bindings):
        var: Var = binding.var
        used = {place[v] for v in operands(binding.value) if v in place}
        for j in used:
            nodes[j].users.append(i)
        nodes.append(Node(_pattern(binding, functions, place), [], not isinstance(var, DataflowVar)))
        place[var] = i
    return nodes


def _pattern(binding: Any, functions: Mapping[str, BaseFunc], known: Mapping[Any, int]) -> OpPattern:
    value = binding.value
    if not isinstance(binding, VarBinding):
        return OpPattern.OPAQUE
    kernel = kernel_of(value)
    if kernel is not None:
        func = functions.get(kernel.name)
        attr = None if func is None else func.attrs.get(ATTR)
        return OpPattern.OPAQUE if attr is None else OpPattern(int(attr))
    # the field of a kernel's results goes with the kernel; that of any other tuple is taken outside
    if isinstance(value, TupleGetItem) and value.tuple_value in known:
        return OpPattern.INJECTIVE
    return OpPattern.OPAQUE


__all__ = ["fuse_ops", "graph_of"]
