"""Whatever the text: IR or a ScriptError, soon; and deep programs are no trouble."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright import ir
from loopwright.errors import ScriptError
from loopwright.script import check, parse

TEXT = """
@T.macro
def put(buf, i):
    buf[i] = 1.0


@I.ir_module
class M:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((16, "n"), "float32"), b: T.handle, n: T.int32):
        B = T.match_buffer(b, (16,), "float32", strides=("s0",), offset_factor=1)
        x: T.int32 = n + 1
        for i, j in T.grid(16, 8):
            with T.sblock("b"):
                vi, vj = T.axis.remap("SR", [i, j])
                T.where(i < 5)
                with T.init():
                    B[vi] = 0.0
                B[vi] = B[vi] + A[vi, vj] * T.Cast("float32", x)
        if x > 2 and n != 3:
            A[0, 0:4] = T.Broadcast(T.exp(B[0]), 4)
        put(B, M.g(x))

    @T.prim_func(private=True)
    def g(a: T.int32) -> T.int32:
        return T.Let(y * 2, where={y: a})
"""
TOKENS = re.findall(r"\w+|\s+|[^\w\s]", TEXT)
WORDS = sorted(
    set(TOKENS)
    | {
        "2**99999",
        "lambda x: x",
        "None",
        "1.5",
        "-1",
        "[]",
        "T.axis",
        "T.handle()",
        "T.Ramp(0, 1, 4)",
        "*A",
        "\x00",
    }
    | {
        "\x00",
        "T.reads",
        "T.constexpr",
        "T.jit",
        "tvm",
        "R.function",
        "metadata",
        "T.ptx",
        "é",
        "1e999",
        "Tx",
    }
)


def test_the_text_itself_is_fine() -> None:
    assert isinstance(parse(TEXT), ir.IRModule)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["put", "drop", "add"]), st.integers(0, len(TOKENS) - 1), st.sampled_from(WORDS)
        ),
        min_size=1,
        max_size=4,
    )
)
def test_mutated_texts_parse_or_raise_script_errors(changes: list[tuple[str, int, str]]) -> None:
    tokens = list(TOKENS)
    for kind, place, word in changes:
        tokens[place] = {"put": word, "drop": "", "add": tokens[place] + " " + word}[kind]
    text = "".join(tokens)
    try:
        parse(text)
    except ScriptError as err:
        for diagnostic in err.diagnostics:
            assert diagnostic.render()
    assert isinstance(check(text), list)


@given(st.text(max_size=60))
def test_any_text_parses_or_raises_script_errors(text: str) -> None:
    try:
        parse(text)
    except ScriptError:
        pass


FUNC = '@T.prim_func\ndef f(A: T.Buffer((4,), "int32"), n: T.int32):\n'


def test_deep_programs() -> None:
    chain = parse(FUNC + "    A[0] = " + " + ".join(["n"] * 5000) + "\n")
    assert isinstance(chain.body, ir.BufferStore)
    many = parse(FUNC + "    A[0] = n\n" * 5000)
    assert len(many.body.seq) == 5000
    text = FUNC
    for level in range(200):
        text += "    " * (level + 1) + f"for i{level} in range(4):\n"
    loops = parse(text + "    " * 201 + "A[i0] = i199\n")
    assert isinstance(loops.body, ir.For)


@pytest.mark.parametrize(
    "expression",
    [
        "2**10**9",
        "1 << 10**9",
        '"a" * 10**12',
        "sum(range(10**12))",
        "[0] * 10**9",
        "list(range(10**9))",
        "int('9' * 99999)",
    ],
)
def test_bounds_of_static_arithmetic(expression: str) -> None:
    start = time.perf_counter()
    with pytest.raises(ScriptError) as caught:
        parse(FUNC + f"    A[0] = {expression}\n")
    assert time.perf_counter() - start < 1.0
    assert caught.value.code == "static-limit"
    span = caught.value.diagnostics[0].span
    assert span is not None and span.line == 3
