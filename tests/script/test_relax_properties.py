"""Properties of reading graphs: what nested expressions mean, and that damaged texts are refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright import ir
from loopwright.errors import ScriptError
from loopwright.ir import relax as rx
from loopwright.ir.relax.normal_form import is_atom, is_graph_call
from loopwright.script import check, parse
from loopwright.testing.graphs import evaluate
from loopwright.testing.strategies.relax import relax_functions

UNARY = {"R.negative": np.negative, "R.abs": np.abs, "R.tanh": np.tanh}
BINARY = {"+": np.add, "-": np.subtract, "*": np.multiply, "R.maximum": np.maximum, "R.minimum": np.minimum}


def trees() -> Any:
    """Expressions over x and y: a text, and what it computes."""
    leaves = st.sampled_from(
        [
            ("x", lambda x, y: x),
            ("y", lambda x, y: y),
            ('R.const(2, "float32")', lambda x, y: np.float32(2)),
            ("(x, y)[1]", lambda x, y: y),
        ]
    )

    def unary(name: str, a: Any) -> Any:
        return f"{name}({a[0]})", lambda x, y: UNARY[name](a[1](x, y))

    def binary(name: str, a: Any, b: Any) -> Any:
        text = f"{name}({a[0]}, {b[0]})" if name[0] == "R" else f"({a[0]} {name} {b[0]})"
        return text, lambda x, y: BINARY[name](a[1](x, y), b[1](x, y))

    def more(inner: Any) -> Any:
        return st.one_of(
            st.builds(unary, st.sampled_from(sorted(UNARY)), inner),
            st.builds(binary, st.sampled_from(sorted(BINARY)), inner, inner),
        )

    return st.recursive(leaves, more, max_leaves=12)


def all_calls(func: rx.Function) -> list[ir.Call]:
    """The calls of operators that are bound in a function."""
    found = [b.value for block in func.body.blocks for b in block.bindings if isinstance(b, rx.VarBinding)]
    return [value for value in found if is_graph_call(value)]  # type: ignore[misc]


@given(trees(), trees(), st.booleans())
def test_nested_expressions_mean_what_python_computes(first: Any, second: Any, flow: bool) -> None:
    lines = [f"z = {first[0]}", f"w = {second[0]}"]
    if flow:
        lines = ["with R.dataflow():", *[f"    {line}" for line in lines], "    R.output(z, w)"]
    lines.append("return (z, R.add(z, w))")
    body = "\n".join(f"    {line}" for line in lines)
    func = parse(
        f'@R.function\ndef main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")):\n{body}'
    )
    assert all(is_atom(arg) for call in all_calls(func) for arg in call.args)
    x, y = np.array([1.5, -2.0, 0.25], "float32"), np.array([-1.0, 3.0, 0.5], "float32")
    z, w = first[1](x, y), second[1](x, y)
    for made, wanted in zip(evaluate(func, x, y), (z, z + w), strict=True):
        np.testing.assert_allclose(np.broadcast_to(made, (3,)), np.broadcast_to(wanted, (3,)), rtol=1e-5)


@settings(max_examples=25)
@given(relax_functions(), st.data())
def test_damaged_texts_are_read_or_refused(func: rx.Function, data: st.DataObject) -> None:
    lines = func.script(show_meta=True).splitlines()
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(lines) - 1))
        words = lines[place].split(" ")
        word = data.draw(st.integers(0, len(words) - 1))
        other = data.draw(st.sampled_from(lines)).split(" ")
        words[word] = data.draw(
            st.sampled_from(["", "x", "0", "R.Tensor", '"n"', "(", "R.add(x)", "return", *other])
        )
        lines[place] = " ".join(words)
    text = "\n".join(lines)
    try:
        parse(text)
    except ScriptError as err:
        assert all(d.code != "internal" and d.message for d in err.diagnostics)
        assert [d.code for d in check(text) if d.severity == "error"] == [d.code for d in err.diagnostics]
