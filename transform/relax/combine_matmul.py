"""Products of one tensor with several matrices become one product."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...ir import Call, Expr, IntImm, IRModule, Op, TupleGetItem, Var
from ...ir.relax import DataflowBlock, DataflowVar, same_sizes
from ...ir.relax.rewrite import GraphRewriter
from ...ops.derivatives import R
from ..registry import register_pass
from .call_rules import rank_of, sizes_of
from .common import operands

Check = Callable[[Var, Sequence[Var], Sequence[Var], Mapping[Var, Expr]], bool]
ACTIVATIONS = ("relax.nn.relu", "relax.nn.gelu", "relax.nn.silu")


@register_pass("relax.CombineParallelMatmul")
def combine_parallel_matmul(mod: IRModule, check: Check | None = None) -> IRModule:
    """Products of one tensor with several matrices are one product with the matrices side by side.

    Biases and activations that all of them are followed by are combined too; the result is split.  `check`
    may refuse: it gets the tensor, the matrices, the biases and what variables stand for.  Idempotent.

    before:
        @R.function
        def main(
            x: R.Tensor(
                (2, 3), "float32"), v: R.Tensor((3, 4), "float32"), w: R.Tensor((3, 5), "float32"
            )
        ) -> R.Tuple(R.Tensor((2, 4), "float32"), R.Tensor((2, 5), "float32")):
            with R.dataflow():
                a = R.matmul(x, v)
                b = R.matmul(x, w)
                c = (a, b)
                R.output(c)
            return c

    after:
        @R.function
        def main(
            x: R.Tensor((2, 3), "float32"),
            v: R.Tensor((3, 4), "float32"),
            w: R.Tensor((3, 5), "float32"),
        ) -> R.Tuple(R.Tensor((2, 4), "float32"), R.Tensor((2, 5), "float32")):
            with R.dataflow():
                lv = R.concat((v, w), axis=1)
                lv1 = R.matmul(x, lv)
                lv2 = R.split(lv1, indices_or_sections=[4], axis=1)
                a = lv2[0]
                b = lv2[1]
                c = a, b
                R.output(c)
            return c
    """
    made: IRModule = _Combine(check)(mod)
    return made


@dataclass(frozen=True, slots=True)
class Branch:
    """A product, the variable of its result, what follows it, and the variables on the way there."""

    matmul: Any
    result: Var
    bias: Expr | None = None
    activation: str = ""
    between: tuple[Var, ...] = ()


class _Combine(GraphRewriter):
    def __init__(self, check: Check | None) -> None:
        super().__init__()
        self.check = check

    def visit_DataflowBlock(self, block: DataflowBlock) -> None:
        """Emit the bindings, each group of products where the first of its results stood."""
        values = {b.var: b.value for b in block.bindings}
        place = {v: i for i, v in enumerate(values)}
        groups = [g for g in _groups(values, place) if self.accepts(g, values)]
        home = {branch.result: (group, i) for group in groups for i, branch in enumerate(group)}
        skipped = {v for group in groups for branch in group for v in branch.between}
        pieces: dict[int, Expr] = {}
        for binding in block.bindings:
            var = binding.var
            if var in home:
                group, index = home[var]
                if id(group) not in pieces:
                    pieces[id(group)] = self.builder.emit(self.combined(group))
                self.rebind(binding, TupleGetItem(pieces[id(group)], index))  # type: ignore[arg-type]
            elif var not in skipped:
                self.visit(binding)

    def accepts(self, group: Sequence[Branch], values: Mapping[Var, Expr]) -> bool:
        """Whether the user wants this group combined."""
        if self.check is None:
            return True
        rhs = [b.matmul.args[1] for b in group]
        return self.check(group[0].matmul.args[0], rhs, [b.bias for b in group if b.bias is not None], values)  # type: ignore[misc]

    def combined(self, group: Sequence[Branch]) -> Expr:
        """The product of all, in pieces."""
        first = group[0]
        x = self.visit(first.matmul.args[0])
        weights = [self.visit(b.matmul.args[1]) for b in group]
        whole = R.concat(weights, axis=rank_of(weights[0]) - 1)
        out: Expr = R.matmul(x, whole, out_dtype=first.matmul.attrs["out_dtype"])
        if first.bias is not None:
            out = R.add(out, R.concat([self.visit(b.bias) for b in group], axis=0))
        if first.activation:
            out = R.__getattr__(first.activation.removeprefix("relax."))(out)
        cuts, total = [], 0
        for b in group[:-1]:
            total += _width(b.matmul) or 0
            cuts.append(total)
        return R.split(out, tuple(cuts), axis=rank_of(out) - 1)


def _width(matmul: Any) -> int | None:
    """The number of columns, where it is a constant."""
    sizes = sizes_of(matmul.args[1])
    last = sizes[-1] if sizes else None
    return last.value if isinstance(last, IntImm) else None


def _groups(values: Mapping[Var, Any], place: Mapping[Var, int]) -> list[list[Branch]]:
    """Products that can be combined, each group as large as possible."""
    users: dict[Any, list[Var]] = {}
    for var, value in values.items():
        for used in dict.fromkeys(operands(value)):
            users.setdefault(used, []).append(var)
    groups: list[list[Branch]] = []
    for var, value in values.items():
        if _calls(value, "relax.matmul") and _width(value) is not None and rank_of(value.args[1]) >= 2:
            branch = _with_activation(_with_bias(Branch(value, var), values, users), values, users)
            group = next((g for g in groups if _alike(g[0].matmul, value)), None)
            if group is None:
                groups.append([branch])
            else:
                group.append(branch)
    ready = [_ready(_levelled(g), place) for g in groups]
    return [g for g in ready if len(g) > 1]


def _calls(value: Any, *names: str) -> bool:
    return isinstance(value, Call) and isinstance(value.op, Op) and value.op.name in names


def _alike(a: Any, b: Any) -> bool:
    """Whether two products may be one: the same tensor, matrices that differ in their columns only."""
    x, y = sizes_of(a.args[1]), sizes_of(b.args[1])
    assert x is not None and y is not None
    same = a.args[0] is b.args[0] and a.attrs["out_dtype"] == b.attrs["out_dtype"]
    return same and same_sizes(x[:-1], y[:-1])


def _follower(branch: Branch, users: Mapping[Any, list[Var]]) -> Var | None:
    """The only variable that uses the branch's result."""
    found = users.get(branch.result, ())
    return found[0] if len(found) == 1 and isinstance(branch.result, DataflowVar) else None


def _with_bias(branch: Branch, values: Mapping[Var, Any], users: Mapping[Any, list[Var]]) -> Branch:
    user = _follower(branch, users)
    value: Any = None if user is None else values[user]
    if user is None or not _calls(value, "relax.add"):
        return branch
    bias = value.args[1]
    if value.args[0] is not branch.result or rank_of(bias) != 1 or rank_of(branch.result) < 1:
        return branch
    sizes = sizes_of(bias)
    if sizes is None or not isinstance(sizes[0], IntImm) or sizes[0].value != _width(branch.matmul):
        return branch
    return Branch(branch.matmul, user, bias, "", (*branch.between, branch.result))


def _with_activation(branch: Branch, values: Mapping[Var, Any], users: Mapping[Any, list[Var]]) -> Branch:
    user = _follower(branch, users)
    if user is None or not _calls(values[user], *ACTIVATIONS):
        return branch
    name = values[user].op.name
    return Branch(branch.matmul, user, branch.bias, name, (*branch.between, branch.result))


def _levelled(group: Sequence[Branch]) -> list[Branch]:
    """The branches cut to what all of them have."""
    first = group[0]
    biased = [b.bias is not None for b in group]
    if any(biased) and not all(biased):
        return [Branch(b.matmul, (*b.between, b.result)[0]) for b in group]
    if any(b.activation != first.activation for b in group):
        keep = 2 if first.bias is not None else 1
        chains = [(*b.between, b.result)[:keep] for b in group]
        return [Branch(b.matmul, c[-1], b.bias, "", c[:-1]) for b, c in zip(group, chains)]
    return list(group)


def _ready(group: Sequence[Branch], place: Mapping[Var, int]) -> list[Branch]:
    """The branches whose operands are there where the first result is needed."""
    start = min(place[b.result] for b in group)
    parts = [(b.matmul.args[1], b.bias) for b in group]
    return [b for b, p in zip(group, parts) if all(place.get(e, -1) < start for e in p if isinstance(e, Var))]


__all__ = ["combine_parallel_matmul"]
