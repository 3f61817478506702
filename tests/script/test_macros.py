"""Macros in text: hygienic or not, local, with block names made unique, without endless expansion."""

from __future__ import annotations

import pytest

from loopwright.errors import ScriptError
from loopwright.script import parse

HEAD = "@T.macro(hygienic={})\ndef store(i):\n    A[i] = 1.0\n\n\n"
MAIN = '@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    store(2)\n'


def test_an_unhygienic_macro_sees_the_names_at_its_call() -> None:
    assert "A[2] = T.float32(1.0)" in parse(HEAD.format(False) + MAIN).script()


def test_a_hygienic_macro_does_not() -> None:
    with pytest.raises(ScriptError) as caught:
        parse(HEAD.format(True) + MAIN)
    found = caught.value.diagnostics[0]
    assert found.code == "undefined-name" and found.span is not None and found.span.line == 3
    assert found.related and found.related[0][0].line == 8


def test_blocks_of_a_macro_get_names_of_their_own() -> None:
    text = """
@T.macro
def put(buf, i):
    with T.sblock("s"):
        T.reads()
        T.writes(buf[i])
        buf[i] = 1.0


@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    put(A, 0)
    put(A, i=1)
"""
    printed = parse(text).script()
    assert 'T.sblock("s")' in printed and 'T.sblock("s_1")' in printed


def test_an_inline_function_sees_the_variables_around_it() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), n: T.int32):
    x: T.int32 = n

    @T.inline
    def add(k):
        A[x] = A[x] + k

    add(T.float32(2))
"""
    assert "A[x] = A[x] + T.float32(2.0)" in parse(text).script()


def test_expansion_is_bounded() -> None:
    lines = ["@T.macro\ndef m0(A):\n    A[0] = 1.0\n"]
    lines += [f"@T.macro\ndef m{i}(A):\n    m{i - 1}(A)\n    m{i - 1}(A)\n" for i in range(1, 40)]
    lines.append('@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    m39(A)\n')
    with pytest.raises(ScriptError) as caught:
        parse("\n".join(lines))
    assert caught.value.code == "static-limit"


def test_templates_of_a_text() -> None:
    text = """
@T.jit
def f(A: T.Buffer((N,), "float32"), N: T.constexpr, scale: T.constexpr = 2):
    for i in range(N):
        A[i] = A[i] * T.float32(scale)
"""
    template = parse(text)
    func = template.specialize(N=4)
    assert "range(4)" in func.script() and "T.float32(2.0)" in func.script()
    assert template.specialize(N=4) is func and template.specialize(N=5) is not func
    with pytest.raises(ValueError, match="has no value"):
        template.specialize()
    with pytest.raises(ValueError, match="no compile-time parameter"):
        template.specialize(N=4, M=3)
