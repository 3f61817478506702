"""Bytecode as text and as data, and what no machine can run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.codegen.vm import ExecBuilder
from loopwright.dtype import DType
from loopwright.runtime.vm import BytecodeError, Executable, VirtualMachine, parse_bytecode, same_bytecode
from loopwright.runtime.vm.bytecode import Call, Function, Goto, If, Operand, Ret

CONSTANTS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 70), 1 << 70),
    st.floats(allow_nan=False),
    st.text(),
    st.sampled_from([DType("float32"), DType("bfloat16"), DType("int4")]),
    st.lists(st.integers(0, 9), max_size=3).map(tuple),
    st.lists(st.integers(-5, 5), max_size=4).map(lambda v: np.array(v, "int16")),
)
NAMES = st.one_of(
    st.sampled_from(["vm.builtin.copy", "add", "@", "a b", 'q"']), st.text(min_size=1, max_size=5)
)


@st.composite
def executables(draw):
    """Bytecode whose registers, constants, functions and jumps exist; not meant to be run."""
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    constants = draw(st.lists(CONSTANTS, max_size=4))
    functions, code = [Function(n) for n in names[1:]], []
    size, registers = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    kinds = [(0, registers), (2, len(constants)), (3, len(names))]
    operand = st.one_of(
        *[st.integers(0, n - 1).map(lambda v, k=k: Operand(k, v)) for k, n in kinds if n],
        st.integers(-(1 << 55), (1 << 55) - 1).map(lambda v: Operand(1, v)),
    )
    for k in range(size):
        jump = st.integers(1, size - k)
        code.append(
            draw(
                st.one_of(
                    st.builds(
                        Call,
                        st.integers(0, len(names) - 1),
                        st.lists(operand, max_size=3).map(tuple),
                        st.integers(0, registers - 1),
                    ),
                    jump.map(Goto),
                    st.builds(If, st.integers(0, registers - 1), jump),
                )
            )
        )
    code.append(Ret(draw(st.integers(0, registers - 1))))
    params = tuple(draw(st.lists(NAMES, max_size=registers, unique=True)))
    main = Function(names[0], "vm", params, registers, 0, len(code))
    return Executable((main, *functions), tuple(constants), tuple(code))


@given(executables())
def test_bytecode_prints_and_parses_back(exe):
    text = exe.as_text(constants=True)
    again = parse_bytecode(text)
    assert same_bytecode(again, exe)
    assert again.as_text(constants=True) == text


def test_large_arrays_are_left_out_unless_asked_for():
    ib = ExecBuilder()
    with ib.function("main"):
        ib.emit_call("vm.builtin.copy", [np.arange(100)], ib.r(0))
        ib.emit_ret(ib.r(0))
    exe = ib.get()
    with pytest.raises(BytecodeError, match=r"data of the constant c\[0\] are not in the text"):
        parse_bytecode(exe.as_text())
    assert same_bytecode(parse_bytecode(exe.as_text(), exe.constants), exe)
    assert same_bytecode(parse_bytecode(exe.as_text(constants=True)), exe)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("  ret %0", "below the head of a function"),
        ("@main() registers 1:\n  jump 3", "no instruction"),
        ("@main() registers 1:\n  call f in: x dst: %0\n  ret %0\n@f packed", "`x` is no argument"),
        ("@main() registers 1:\n  call f in: %0 dst: %0\n  ret %0", "there is no function `f`"),
        ("@main() registers 1:\n  ret %q", "`%q` is no register"),
        ("c[1] = 3", "numbered from 0"),
        ('c[0] = tensor float32 (2,) "AAA="', "do not fit"),
        ("c[0] = dtype nothing", "no dtype"),
        ("c[0] = [", "no constant"),
        ("@main( registers", "no head"),
    ],
)
def test_a_text_that_says_no_bytecode_is_refused_at_its_line(text, message):
    with pytest.raises(BytecodeError, match=message) as caught:
        parse_bytecode(text)
    assert caught.value.diagnostics[0].span is not None


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ([Ret(5)], "no register %5"),
        ([Goto(7), Ret(0)], "leaves it"),
        ([If(0, -3), Ret(0)], "leaves it"),
        ([Call(9, ()), Ret(0)], "no function 9"),
        ([Call(0, (Operand(2, 0),)), Ret(0)], r"no constant c\[0\]"),
        ([Call(0, ())], "does not end in ret"),
    ],
)
def test_bytecode_that_refers_to_what_is_not_there_is_refused(code, message):
    with pytest.raises(BytecodeError, match=message):
        Executable((Function("main", "vm", (), 1, 0, len(code)),), (), tuple(code))


def test_python_that_builds_the_bytecode_again():
    ib = ExecBuilder()
    with ib.function("main", 1, ["x"]):
        ib.emit_call("vm.builtin.make_tuple", [ib.r(0), ib.imm(3), "text", (1, 2), ib.f("main")], ib.r(1))
        ib.emit_if(ib.r(0), 2)
        ib.emit_goto(1)
        ib.emit_ret(ib.r(1))
    exe = ib.get()
    other = ExecBuilder()
    exec(exe.as_python(), {"ib": other, "DType": DType})
    assert same_bytecode(other.get(), exe)
    assert "4" in exe.stats()


def test_misuse_of_the_builder_is_named():
    ib = ExecBuilder()
    with pytest.raises(BytecodeError, match="stand inside"):
        ib.emit_ret(ib.r(0))
    with pytest.raises(BytecodeError, match="2 names"), ib.function("f", 1, ["a", "b"]):
        pass
    with pytest.raises(BytecodeError, match="is no constant"):
        ib.c(object())
    with pytest.raises(BytecodeError, match="does not fit"):
        ib.imm(1 << 60)
    with ib.function("f"):
        ib.emit_ret(ib.void_arg())
        with pytest.raises(BytecodeError, match="not complete"), ib.function("g"):
            pass
    with pytest.raises(BytecodeError, match="two functions `f`"), ib.function("f"):
        pass
    with pytest.raises(BytecodeError, match="%3 is read before"), ib.function("h"):
        ib.emit_ret(ib.r(3))
    assert VirtualMachine(ib.get())["f"]() is None
