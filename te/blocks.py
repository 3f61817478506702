"""From a computed tensor to loops and blocks.

Axes whose range depends on other axes stand in a block inside the block of those: level by level,
each inner block takes the outer axes as axes of one element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ..ir import (
    INT32,
    Bind,
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    For,
    ForKind,
    IntImm,
    IterVar,
    Range,
    Reduce,
    SBlock,
    SBlockRealize,
    Stmt,
    Substitution,
    Var,
    free_vars,
    seq,
)
from ..ir import const as ir_const
from ..ir.analysis.regions import block_access_regions
from .operation import ComputeOp
from .simplify import Simplifier
from .tensor import ProducerLoad, Tensor

TRUE: Final = ir_const(True, "bool")
Build = Callable[[Mapping[Var, Any], Simplifier], Stmt]


class Translation(Substitution):
    """Replaces variables, and elements of tensors by elements of their buffers."""

    def __init__(self, variables: Mapping[Var, Any], buffers: Mapping[Tensor, Var]) -> None:
        super().__init__(variables)
        self.buffers = buffers

    def visit_ProducerLoad(self, e: ProducerLoad) -> Expr:
        """The element of the buffer."""
        return BufferLoad(self.buffers[e.producer], self.visit_tuple(e.indices), e.span)


class Level:
    """The axes that one block adds, and whether its block runs the initialiser."""

    __slots__ = ("axes", "initialises")

    def __init__(self, axes: list[IterVar], initialises: bool) -> None:
        self.axes = axes
        self.initialises = initialises


def levels_of(op: ComputeOp) -> list[Level]:
    """The axes by level: on the first one those whose range depends on no other axis, and so on."""
    depth: dict[Var, int] = {}
    for axis in (*op.axis, *op.reduce_axis):
        assert axis.dom is not None
        used = [*free_vars(axis.dom.min), *free_vars(axis.dom.extent)]
        depth[axis.var] = max([depth[v] + 1 for v in used if v in depth], default=0)
    count = max(depth.values(), default=0) + 1
    all_axes = [*op.axis, *op.reduce_axis]
    levels = [Level([a for a in all_axes if depth[a.var] == n], False) for n in range(count)]
    for level in levels:
        if any(a.iter_type == IterVar.COMM_REDUCE for a in level.axes):
            level.initialises = True
            break
    return levels


class ComputeLowering:
    """Makes the loops and blocks of one computed tensor."""

    def __init__(
        self,
        op: ComputeOp,
        symbols: Mapping[Var, Any],
        buffers: Mapping[Tensor, Var],
        annotations: Mapping[str, Any],
        unique: Callable[[str], str],
    ) -> None:
        self.op = op
        self.symbols = symbols
        self.buffers = buffers
        self.annotations = annotations
        self.unique = unique
        self.outputs = [buffers[t] for t in op.outputs()]
        self.levels = levels_of(op)

    def lower(self) -> Stmt:
        """The statement that computes all outputs."""
        op = self.op
        if isinstance(op.body[0], Reduce):
            reduction = op.body[0]
            if not op.reduce_axis:
                self.levels[0].initialises = True
            return self.nest([(op.name, lambda v, s: self.update(reduction, v, s))], 0, {})
        named = [op.name] if len(op.body) == 1 else [b.name for b in self.outputs]
        return self.nest([(name, self._storing(i)) for i, name in enumerate(named)], 0, {})

    def _storing(self, index: int) -> Build:
        def build(variables: Mapping[Var, Any], simplifier: Simplifier) -> Stmt:
            value = simplifier.value(self.translate(self.op.body[index], variables))
            return BufferStore(self.outputs[index], value, self.place(variables))

        return build

    def translate(self, e: Any, variables: Mapping[Var, Any]) -> Any:
        """The expression with these variables replaced, and elements of tensors by those of buffers."""
        return Translation({**self.symbols, **variables}, self.buffers)(e)

    def place(self, variables: Mapping[Var, Any]) -> list[Expr]:
        """The indices of the element that is computed."""
        return [variables[a.var] for a in self.op.axis]

    # loops and blocks

    def nest(self, bodies: Sequence[tuple[str, Build]], depth: int, outer: Mapping[Var, Any]) -> Stmt:
        """The loops of a level around its blocks; `outer` maps axes to those of the enclosing block."""
        simplifier = Simplifier()
        level = self.levels[depth]
        loops: list[tuple[Var, Range]] = []
        for axis in level.axes:
            assert axis.dom is not None
            low, extent = [
                simplifier.index(self.translate(e, outer)) for e in (axis.dom.min, axis.dom.extent)
            ]
            loops.append((Var(axis.var.name, extent.ty), Range(low, extent)))
        stmt = seq([self.block(name, build, depth, outer, loops) for name, build in bodies])
        for var, dom in reversed(loops):
            stmt = For(var, dom.min, dom.extent, ForKind.SERIAL, stmt)
        return stmt

    def block(
        self, name: str, build: Build, depth: int, outer: Mapping[Var, Any], loops: list[tuple[Var, Range]]
    ) -> Stmt:
        """The block of a level, with the next level inside unless it is the last one."""
        iter_vars: list[IterVar] = []
        values: list[Expr] = []
        variables: dict[Var, Any] = {}
        earlier = [a for level in self.levels[:depth] for a in level.axes]
        for axis in earlier:
            at = outer[axis.var]
            dom = Range(at, IntImm(at.ty, 1))
            self._add(axis, dom, at, iter_vars, values, variables)
        for axis, (loop_var, dom) in zip(self.levels[depth].axes, loops, strict=True):
            self._add(axis, dom, loop_var, iter_vars, values, variables)
        if not iter_vars:  # a single element: the block still needs an axis
            iter_vars.append(IterVar(Range(IntImm(INT32, 0), IntImm(INT32, 1)), Var("vi"), IterVar.DATA_PAR))
            values.append(IntImm(INT32, 0))
        simplifier = Simplifier()
        simplifier.bind(iter_vars)
        last = depth == len(self.levels) - 1
        own_name = self.unique(name if last else f"{name}_l{depth + 1}")
        body = build(variables, simplifier) if last else self.nest([(name, build)], depth + 1, variables)
        init = self.initialiser(variables, simplifier) if self.levels[depth].initialises else None
        made = SBlock(iter_vars, (), (), own_name, body, init, annotations=self.annotations)
        reads, writes = block_access_regions(made)
        return SBlockRealize(values, TRUE, made.replace(reads=reads, writes=writes))

    @staticmethod
    def _add(
        axis: IterVar,
        dom: Range,
        value: Expr,
        iter_vars: list[IterVar],
        values: list[Expr],
        variables: dict[Var, Any],
    ) -> None:
        new = Var(f"v_{axis.var.name}", dom.extent.ty)
        iter_vars.append(IterVar(dom, new, axis.iter_type, axis.thread_tag))
        values.append(value)
        variables[axis.var] = new

    # reductions

    def initialiser(self, variables: Mapping[Var, Any], simplifier: Simplifier) -> Stmt:
        """The stores of the start values."""
        reduction = self.op.body[0]
        assert isinstance(reduction, Reduce)
        starts = reduction.init or reduction.combiner.identity_element
        place = self.place(variables)
        made = [simplifier.value(self.translate(s, variables)) for s in starts]
        return seq([BufferStore(b, value, place) for b, value in zip(self.outputs, made)])

    def update(self, reduction: Reduce, variables: Mapping[Var, Any], simplifier: Simplifier) -> Stmt:
        """The stores of what is reduced so far, combined with one more element."""
        place = self.place(variables)
        combiner = reduction.combiner
        old = [BufferLoad(b, place) for b in self.outputs]
        new = [simplifier.value(self.translate(s, variables)) for s in reduction.source]
        inside = {**variables, **dict(zip(combiner.lhs, old)), **dict(zip(combiner.rhs, new))}
        combined = [self.translate(r, inside) for r in combiner.result]
        condition = simplifier.value(self.translate(reduction.condition, variables))
        if not (isinstance(condition, IntImm) and condition.value):
            combined = [Call("prim.if_then_else", (condition, c, o), o.ty) for c, o in zip(combined, old)]
        if len(combined) == 1:
            return BufferStore(self.outputs[0], combined[0], place)
        names = [Var(f"v_{b.name}", c.ty) for b, c in zip(self.outputs, combined)]
        binds: list[Stmt] = [Bind(v, c) for v, c in zip(names, combined)]
        return seq([*binds, *[BufferStore(b, v, place) for b, v in zip(self.outputs, names)]])
