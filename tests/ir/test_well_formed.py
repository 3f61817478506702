"""The rules of the language, each with a program that breaks it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.errors import IRError, Span
from loopwright.ir import (
    LT,
    Add,
    AllocBuffer,
    AssertStmt,
    AttrStmt,
    Bind,
    Break,
    BufferLoad,
    BufferRegion,
    BufferStore,
    BufferType,
    Call,
    Continue,
    DeclBuffer,
    Evaluate,
    FloatImm,
    For,
    GlobalVar,
    IfThenElse,
    IntImm,
    IRModule,
    IterVar,
    Let,
    MatchBufferRegion,
    PrimFunc,
    Range,
    Return,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Var,
    While,
    assert_well_formed,
    check_well_formed,
)
from loopwright.ir.analysis.well_formed import CODES

ONE = FloatImm("float32", 1.0)


def buffer(name="A", shape=(16,), dtype="float32"):
    return Var(name, BufferType(dtype, shape))


def codes(program):
    return [d.code for d in check_well_formed(program)]


def func(*stmts, params=(), ret="void"):
    return PrimFunc(params, stmts[0] if len(stmts) == 1 else SeqStmt(stmts), ret)


def loop(body, kind="serial", var=None, extent=4):
    return For(Var("i") if var is None else var, 0, extent, kind, body)


def block(body, axes=(), values=(), **more):
    iters = [IterVar(Range(0, 4), v, IterVar.DATA_PAR) for v in axes]
    return SBlockRealize(values, True, SBlock(iters, [], [], "b", body, **more))


@given(data=st.data())
def test_generated_programs_are_well_formed(programs, data):
    assert check_well_formed(data.draw(programs.funcs)) == []


@given(data=st.data())
def test_a_function_under_two_names_defines_everything_twice(programs, data):
    one = data.draw(programs.funcs)
    found = check_well_formed(IRModule({"f": one, "g": one}))
    assert {d.code for d in found} <= {"duplicate-definition", "duplicate-block"} and found


A, N, I, J, V, X = buffer(), Var("n"), Var("i"), Var("j"), Var("v"), Var("x")
B = buffer("B")
STORE = BufferStore(A, ONE, (0,))

BREAK = Call("tirx.break_loop", [], "void")

FAULTS = {
    "a free variable": (func(Evaluate(N)), ["undefined-name"]),
    "a free buffer": (func(STORE), ["undefined-name"]),
    "a loop variable after its loop": (func(loop(Evaluate(I), var=I), Evaluate(I)), ["undefined-name"]),
    "a loop variable in its own extent": (func(loop(Evaluate(0), var=I, extent=I)), ["undefined-name"]),
    "a binding after its sequence": (
        func(loop(SeqStmt([Bind(X, 1), Evaluate(X)])), Evaluate(X)),
        ["undefined-name"],
    ),
    "a binding that uses itself": (func(Bind(X, Add(X, X)), Evaluate(0)), ["undefined-name"]),
    "a binding before its definition": (func(Evaluate(X), Bind(X, 1)), ["undefined-name"]),
    "a let outside its body": (func(Evaluate(Add(Let(X, 1, X), X))), ["undefined-name"]),
    "a buffer used before it is allocated": (func(STORE, AllocBuffer(A)), ["undefined-name"]),
    "a symbol in an allocation": (func(AllocBuffer(buffer("A", (N,)))), ["undefined-name"]),
    "a loop variable twice": (
        func(loop(STORE, var=I), loop(STORE, var=I), params=[A]),
        ["duplicate-definition"],
    ),
    "nested loops over one variable": (func(loop(loop(Evaluate(I), var=I), var=I)), ["duplicate-definition"]),
    "a parameter twice": (func(Evaluate(0), params=[N, N]), ["duplicate-parameter"]),
    "a block twice": (func(block(Evaluate(0)), params=[A]), []),
    "a break outside of loops": (func(Break()), ["break-placement"]),
    "a continue outside of loops": (func(Continue()), ["break-placement"]),
    "a break call outside of loops": (
        func(Evaluate(Call("tirx.break_loop", [], "void"))),
        ["break-placement"],
    ),
    "a break out of a parallel loop": (func(loop(Break(), "parallel")), ["break-placement"]),
    "a break out of a block": (func(loop(block(Break(), [V], [I]), var=I)), ["break-placement"]),
    "a return out of a parallel loop": (func(loop(Return(), "parallel")), ["return-placement"]),
    "a return out of a block": (func(loop(block(Return(), [V], [I]), var=I)), ["return-placement"]),
    "a value from a void function": (func(Return(1)), ["return-type"]),
    "no value": (func(Return(), ret="int32"), ["return-type"]),
    "a value of another type": (func(Return(ONE), ret="int32"), ["return-type"]),
    "a store of another type": (
        func(BufferStore(A, IntImm("int32", 1), (0,)), params=[A]),
        ["type-mismatch"],
    ),
    "a float index": (func(BufferStore(A, ONE, (ONE,)), params=[A]), ["index-type"]),
    "a float index of a load": (func(Evaluate(BufferLoad(A, (ONE,))), params=[A]), ["index-type"]),
    "a binding of another type": (func(Bind(X, ONE), Evaluate(0)), ["type-mismatch"]),
    "a let of another type": (func(Evaluate(Let(X, ONE, X))), ["type-mismatch"]),
    "a loop over a float": (func(loop(Evaluate(0), var=Var("f", "float32"))), ["loop-dtype"]),
    "an extent of another type": (func(loop(Evaluate(0), extent=IntImm("int64", 4))), ["type-mismatch"]),
    "an assertion of a number": (func(AssertStmt("ValueError", IntImm("int32", 1))), ["condition-type"]),
    "data that is no pointer": (func(DeclBuffer(A, IntImm("int32", 1)), STORE), ["buffer-data"]),
    "a loop variable in a block with axes": (
        func(loop(block(BufferStore(A, ONE, (I,)), [V], [I]), var=I), params=[A]),
        ["loop-variable-in-block"],
    ),
    "a loop variable in the region of a block": (
        func(
            loop(
                SBlockRealize(
                    [I],
                    True,
                    SBlock([IterVar(Range(0, 4), V, 0)], [], [BufferRegion(A, [Range(I, 1)])], "b", STORE),
                ),
                var=I,
            ),
            params=[A],
        ),
        ["loop-variable-in-block"],
    ),
    "an outer loop variable in a nested block": (
        func(loop(block(block(Evaluate(J), [J], [I]), [V], [I]), var=I)),
        ["loop-variable-in-block"],
    ),
    "an axis in the values of its own block": (
        func(loop(block(Evaluate(0), [V, X], [I, V]), var=I)),
        ["undefined-name"],
    ),
    "a float axis value": (func(block(Evaluate(0), [V], [ONE])), ["block-binding"]),
    "a float axis": (func(block(Evaluate(0), [Var("v", "float32")], [0])), ["block-axis"]),
    "a statement that is an expression": (func(loop(IntImm("int32", 1))), ["wrong-node"]),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_found(name):
    program, wanted = FAULTS[name]
    assert codes(program) == wanted


def test_a_block_occurs_once():
    one = block(Evaluate(0))
    assert codes(func(one, one)) == ["duplicate-block"]


ALLOWED = {
    "axes bound to loops": func(loop(block(BufferStore(A, ONE, (V,)), [V], [I]), var=I), params=[A]),
    "a block without axes in a loop": func(loop(block(BufferStore(A, ONE, (I,))), var=I), params=[A]),
    "an axis in a nested block": func(
        loop(block(block(BufferStore(A, ONE, (V,))), [V], [I]), var=I), params=[A]
    ),
    "a loop inside a block around a block without axes": func(
        loop(block(loop(block(BufferStore(A, ONE, (J,))), var=J), [V], [I]), var=I), params=[A]
    ),
    "a binding outside of a block with axes": func(
        loop(SeqStmt([Bind(X, Add(I, I)), block(BufferStore(A, ONE, (X,)), [V], [I])]), var=I), params=[A]
    ),
    "a size in the domain of an axis": func(loop(block(Evaluate(0), [V], [I], alloc_buffers=[B]), var=I)),
    "symbols of parameters": func(
        loop(STORE, extent=N), params=[A, buffer("B", (N, Add(N, N))), buffer("C", (N,))]
    ),
    "a scalar parameter after the buffer": func(loop(STORE, extent=N), params=[A, buffer("B", (N,)), N]),
    "a break in a loop": func(loop(IfThenElse(LT(I, N), Break()), var=I), params=[N]),
    "a break in a while loop": func(While(LT(N, 3), SeqStmt([Continue(), Break()])), params=[N]),
    "a continue in a parallel loop": func(loop(Continue(), "parallel")),
    "a return in a loop": func(loop(Return(1)), ret="int32"),
    "symbols of a matched region": func(
        block(
            Evaluate(X),
            match_buffers=[
                MatchBufferRegion(Var("M", BufferType("float32", (4,), (X,))), BufferRegion(A, [Range(0, 4)]))
            ],
        ),
        params=[A],
    ),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_allowed(name):
    assert check_well_formed(ALLOWED[name]) == []


def test_a_thread_axis_may_be_launched_again():
    tx = IterVar(Range(0, 4), Var("tx"), IterVar.THREAD_INDEX, "threadIdx.x")
    launches = [AttrStmt(tx, "thread_extent", 4, Evaluate(tx.var)) for _ in range(2)]
    nested = AttrStmt(tx, "thread_extent", 4, launches[0])
    assert check_well_formed(func(*launches)) == [] and check_well_formed(func(nested)) == []
    assert codes(func(launches[0], Evaluate(tx.var))) == ["undefined-name"]


def caller(*args, name="g"):
    return func(Evaluate(Call(GlobalVar(name), args, "void")), params=[B])


CALLEE = func(STORE, params=[A, N])


def test_calls_between_functions():
    def module(call):
        return codes(IRModule({"f": call, "g": CALLEE}))

    assert module(caller(B, 1)) == []
    assert module(caller(B.data, 1)) == []
    assert module(caller(B, 1, name="h")) == ["unknown-function"]
    assert module(caller(B)) == ["argument-count"]
    assert module(caller(B, ONE)) == ["argument-type"]
    assert module(caller(1, 1)) == ["argument-type"]
    assert codes(caller(B, 1, name="h")) == []


def test_a_finding_tells_the_place():
    span = Span("k.py", 3, 5, 3, 9)
    program = IRModule({"main": func(Evaluate(0), Evaluate(N, span=span))})
    (found,) = check_well_formed(program)
    assert found.span == span
    assert found.message == "the variable `n` is not defined here"
    assert found.notes == ('at <root>.functions["main"].body.seq[1].value',)


def test_a_duplicate_tells_both_places():
    (found,) = check_well_formed(func(loop(STORE, var=I), loop(Evaluate(0), var=I), params=[A]))
    assert found.notes == ("first defined at <root>.body.seq[0]", "at <root>.body.seq[1].loop_var")
    assert "renew_definitions" in found.help[0]


def test_a_loop_variable_in_a_block_tells_the_block():
    program, _ = FAULTS["a loop variable in a block with axes"]
    (found,) = check_well_formed(program)
    assert "`i` is used inside block `b`" in found.message and "in block `b`" in found.notes[0]


def test_every_fault_is_reported_once():
    uses = [Evaluate(N) for _ in range(10)]
    assert codes(func(*uses, Evaluate(X))) == ["undefined-name", "undefined-name"]


def test_the_assertion_carries_every_finding():
    assert_well_formed(func(Evaluate(0)))
    with pytest.raises(IRError) as caught:
        assert_well_formed(func(Evaluate(N), Break()))
    assert [d.code for d in caught.value.diagnostics] == ["undefined-name", "break-placement"]


def test_only_programs_are_checked():
    with pytest.raises(IRError, match="a IntImm is not a module or function"):
        check_well_formed(IntImm("int32", 1))


def test_every_code_has_a_test():
    """Every code is produced by a program above, and none is produced that is not listed."""
    text = Path(__file__).read_text(encoding="utf-8")
    missing = [c for c in CODES if f'"{c}"' not in text]
    assert missing == []
    for program, wanted in FAULTS.values():
        assert set(codes(program)) <= set(CODES) and wanted is not None


@pytest.mark.parametrize("name", ["chain", "statements", "loops"])
def test_deep_programs(programs, name):
    program = programs.deep[name]()
    results = [check_well_formed(program)]
    thread = threading.Thread(target=lambda: results.append(check_well_formed(program)))
    thread.start()
    thread.join()
    assert results == [[], []]


def test_many_findings_stay_fast():
    bad = [Bind(Var("x"), ONE) for _ in range(2_000)]
    assert len(check_well_formed(func(*bad, *bad))) > 2_000
