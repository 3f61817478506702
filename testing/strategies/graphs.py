"""Graph functions that can be run: elementwise operators, sums, products, shapes, branches, symbolic sizes.

`graphs()` gives a module with a function `main`, and the arguments to call it with.  Values are small
integers, so that floats are exact whatever the order of additions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ...ir import Expr, IRModule, Var
from ...ir.relax import Function, If, TensorType, get_op, tensor_constant
from ...ir.relax.block_builder import BlockBuilder
from ...ir.types import INT64

_UNARY = ("negative", "abs", "square", "nn.relu", "sign")
_BINARY = ("add", "subtract", "multiply", "maximum", "minimum")
_LARGEST = 64
"""Values stay below: squares and products are drawn while they do."""


@dataclass(frozen=True)
class Graph:
    """A module and arguments for its `main`."""

    mod: IRModule
    args: tuple[Any, ...]


@dataclass
class _Value:
    """A tensor in the making: variable, sizes as expressions and as numbers, a bound of its elements."""

    var: Expr
    sizes: tuple[Any, ...]
    shape: tuple[int, ...]
    most: int


class _Maker:
    """Draws one graph."""

    def __init__(self, draw: Any, symbolic: bool) -> None:
        self.draw = draw
        self.bb = BlockBuilder()
        self.values: list[_Value] = []
        self.numbers = [draw(st.integers(1, 5)) for _ in range(2)]
        symbols = [Var("n", INT64), Var("m", INT64)]
        self.sizes = symbols if symbolic else list(self.numbers)
        self.flag = Var("flag", TensorType((), "bool"))

    def integer(self, low: int, high: int) -> int:
        return int(self.draw(st.integers(low, high)))

    def pick(self, values: Any) -> Any:
        return values[self.integer(0, len(values) - 1)]

    def array(self, shape: tuple[int, ...]) -> Any:
        count = int(np.prod(shape, dtype=int))
        cells = self.draw(st.lists(st.integers(-2, 2), min_size=count, max_size=count))
        return np.array(cells, "float32").reshape(shape)

    def inputs(self) -> list[tuple[Var, Any]]:
        """Parameters with their arguments; each symbol stands in one of them."""
        found = []
        for k in range(self.integer(1, 2)):
            sizes = (self.sizes[0], self.sizes[1]) if k == 0 else (self.sizes[self.integer(0, 1)],)
            shape = tuple([self.number(s) for s in sizes])
            var = Var(f"x{k}", TensorType(sizes, "float32"))
            self.values.append(_Value(var, sizes, shape, 2))
            found.append((var, self.array(shape)))
        return found

    def number(self, size: Any) -> int:
        """The value of a size."""
        for symbol, value in zip(self.sizes, self.numbers):
            if size is symbol:
                return int(value)
        return int(size)

    def emit(self, call: Any, shape: tuple[int, ...], most: int) -> None:
        var = self.bb.emit(call)
        self.values.append(_Value(var, var.ty.sizes, shape, most))  # type: ignore[attr-defined]

    def step(self) -> None:
        """Emit one operator on values that there are."""
        x = self.pick(self.values)
        kind = self.pick(
            ("unary", "binary", "sum", "matmul", "flatten", "concat", "split", "permute", "scale")
        )
        getattr(self, kind)(x)

    def unary(self, x: _Value) -> None:
        name = self.pick(_UNARY)
        if name == "square" and x.most**2 > _LARGEST:
            name = "abs"
        self.emit(get_op(f"relax.{name}")(x.var), x.shape, x.most**2 if name == "square" else x.most)

    def binary(self, x: _Value) -> None:
        y = self.pick([v for v in self.values if v.shape == x.shape and v.sizes == x.sizes] or [x])
        name = self.pick(_BINARY)
        if name == "multiply" and x.most * y.most > _LARGEST:
            name = "maximum"
        most = x.most * y.most if name == "multiply" else x.most + y.most
        self.emit(get_op(f"relax.{name}")(x.var, y.var), x.shape, most)

    def scale(self, x: _Value) -> None:
        self.emit(
            get_op("relax.add")(x.var, tensor_constant(float(self.integer(-2, 2)))), x.shape, x.most + 2
        )

    def sum(self, x: _Value) -> None:
        if not x.shape:
            return self.unary(x)
        axis, keep = self.integer(0, len(x.shape) - 1), bool(self.integer(0, 1))
        shape = x.shape[:axis] + ((1,) if keep else ()) + x.shape[axis + 1 :]
        self.emit(get_op("relax.sum")(x.var, axis=[axis], keepdims=keep), shape, x.most * x.shape[axis])

    def matmul(self, x: _Value) -> None:
        if len(x.shape) != 2 or not isinstance(x.sizes[1], int) and not hasattr(x.sizes[1], "value"):
            return self.permute(x)
        columns = self.integer(1, 3)
        weight = tensor_constant(self.array((x.shape[1], columns)))
        self.emit(get_op("relax.matmul")(x.var, weight), (x.shape[0], columns), 2 * x.most * x.shape[1])

    def flatten(self, x: _Value) -> None:
        shape = (int(np.prod(x.shape, dtype=int)),)
        self.emit(get_op("relax.flatten")(x.var), shape, x.most)

    def concat(self, x: _Value) -> None:
        if not x.shape:
            return self.unary(x)
        axis = self.integer(0, len(x.shape) - 1)
        shape = (*x.shape[:axis], 2 * x.shape[axis], *x.shape[axis + 1 :])
        self.emit(get_op("relax.concat")([x.var, x.var], axis=axis), shape, x.most)

    def split(self, x: _Value) -> None:
        even = [k for k, s in enumerate(x.sizes) if hasattr(s, "value") and s.value > 1]
        if not even:
            return self.unary(x)
        axis = even[0]
        half = (x.shape[axis] + 1) // 2
        parts = self.bb.emit(get_op("relax.split")(x.var, 2, axis))
        shape = (*x.shape[:axis], half, *x.shape[axis + 1 :])
        from ...ir import TupleGetItem

        self.emit(TupleGetItem(parts, 0), shape, x.most)

    def permute(self, x: _Value) -> None:
        self.emit(get_op("relax.permute_dims")(x.var), tuple(reversed(x.shape)), x.most)

    def branch(self, x: _Value) -> None:
        """One of two values by the flag."""
        from ...ir.relax import SeqExpr

        sides = [get_op(f"relax.{name}")(x.var, x.var) for name in ("add", "maximum")]
        self.emit(If(self.flag, *[SeqExpr((), s) for s in sides]), x.shape, 2 * x.most)


@st.composite
def graphs(draw: Any, most: int = 6) -> Graph:
    """A graph function with the arguments to call it with; see the head of this module."""
    made = _Maker(draw, bool(draw(st.integers(0, 1))))
    given = made.inputs()
    branches = bool(draw(st.integers(0, 1)))
    params = [var for var, _ in given] + ([made.flag] if branches else [])
    with made.bb.function("main", params):
        with made.bb.dataflow():
            inputs = len(made.values)
            for _ in range(draw(st.integers(1, most))):
                made.step()
            kept = [made.pick(made.values[inputs:]) for _ in range(draw(st.integers(1, 2)))]
            outputs = [made.bb.emit_output(v.var) for v in kept]
        results: list[Any] = list(outputs)
        if branches:
            made.branch(_Value(outputs[0], kept[0].sizes, kept[0].shape, kept[0].most))
            results[0] = made.values[-1].var
        made.bb.emit_func_output(results[0] if len(results) == 1 else tuple(results))
    mod = made.bb.get()
    assert isinstance(mod["main"], Function)
    flag = (np.array(bool(draw(st.integers(0, 1)))),) if branches else ()
    return Graph(mod, (*[value for _, value in given], *flag))


__all__ = ["Graph", "graphs"]
