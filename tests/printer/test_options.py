from __future__ import annotations

import pytest

from loopwright.errors import ArgumentTypeError, ArgumentValueError
from loopwright.ir import Add, Evaluate, For, PrimFunc, Var
from loopwright.printer import highlight, script

x = Var("x")
LOOP = PrimFunc((x,), For(Var("i"), 0, 8, 0, Evaluate(Add(x, 1))))


def test_faults_name_what_is_wrong():
    with pytest.raises(ArgumentTypeError, match="no option `indent`"):
        script(x, indent=2)
    with pytest.raises(ArgumentValueError, match="no key `tir.prefix`"):
        script(x, extra_config={"tir.prefix": "T"})
    with pytest.raises(ArgumentValueError, match="'loopwright' or 'tvm'"):
        script(x, header="numpy")
    with pytest.raises(ArgumentValueError, match="cannot be a prefix"):
        script(x, ir_prefix="1")
    with pytest.raises(ArgumentValueError, match="at least 1"):
        script(x, indent_spaces=0)
    for bad in (3, "x", None, [x]):
        with pytest.raises(ArgumentTypeError, match="has no script"):
            script(bad)


def test_none_is_the_default():
    assert script(LOOP, name=None, width=None, extra_config=None) == script(LOOP)


def test_indentation_and_line_numbers():
    assert script(LOOP, indent_spaces=2).split("\n")[-1] == "    T.evaluate(x + 1)"
    assert script(LOOP, print_line_numbers=True) == "\n".join(
        [f"{n} {row}" for n, row in enumerate(script(LOOP).split("\n"), 1)]
    )


def test_names():
    assert "def other(" in script(LOOP, name="other")
    assert f"x_0x{id(x):x} + 1" in script(LOOP, show_object_address=True)


def test_width_breaks_long_lines():
    params = [Var(f"parameter_{i}") for i in range(8)]
    text = script(PrimFunc(params, Evaluate(0)), width=60)
    assert max([len(row) for row in text.split("\n")]) <= 60
    assert max([len(row) for row in script(PrimFunc(params, Evaluate(0))).split("\n")]) > 60


def test_node_script_is_the_same():
    assert LOOP.script(indent_spaces=2) == script(LOOP, indent_spaces=2)


def test_colours():
    pytest.importorskip("pygments")
    for style in ("light", "dark", "ansi", "monokai"):
        shown = highlight("for i in range(3): pass", style)
        assert "\x1b[" in shown and not shown.endswith("\n")
    with pytest.raises(ArgumentValueError, match="no style `nope`"):
        highlight("x", "nope")
