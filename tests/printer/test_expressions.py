from __future__ import annotations

import pytest

from loopwright.ir import (
    EQ,
    GT,
    LT,
    Add,
    And,
    BitwiseNot,
    Broadcast,
    BufferLoad,
    BufferRegion,
    BufferType,
    Call,
    Cast,
    CommReducer,
    Div,
    FloatImm,
    FloorDiv,
    FloorMod,
    GlobalVar,
    IndexMap,
    IntImm,
    IterVar,
    Let,
    LShift,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Op,
    Or,
    PointerType,
    PrimType,
    Ramp,
    Range,
    Select,
    Shuffle,
    Sub,
    TupleType,
    Var,
)
from loopwright.printer import script

x, y, f = Var("x"), Var("y", "int64"), Var("f", "float32")
b = Var("b", "bool")
A = Var("A", BufferType("float32", (16, 16)))
B = Var("B", BufferType("int8", (4, x), storage_scope="shared"))
S = Var("S", BufferType("float32", ()))


def one(value, dtype="int32"):
    return IntImm(dtype, value)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (Add(x, 1), "x + 1"),
        (Sub(x, Sub(x, 1)), "x - (x - 1)"),
        (Sub(Sub(x, x), 1), "x - x - 1"),
        (Mul(Add(x, 1), 2), "(x + 1) * 2"),
        (Mul(-1, x), "-1 * x"),
        (Sub(x, -1), "x - -1"),
        (FloorDiv(x, 4), "x // 4"),
        (FloorMod(x, 4), "x % 4"),
        (Div(x, 3), "T.Div(x, 3)"),
        (Div(f, 2.0), "f / T.float32(2.0)"),
        (Mod(x, 2), "T.truncmod(x, 2)"),
        (Min(x, 3), "T.min(x, 3)"),
        (Max(f, f), "T.max(f, f)"),
        (LShift(Add(x, 1), 2), "x + 1 << 2"),
        (BitwiseNot(x), "~x"),
        (EQ(LT(x, 3), LT(x, 4)), "(x < 3) == (x < 4)"),
        (Not(And(LT(x, 3), GT(x, 1))), "not (x < 3 and x > 1)"),
        (And(And(b, LT(x, 3)), b), "b and x < 3 and b"),
        (And(b, And(LT(x, 3), b)), "b and (x < 3 and b)"),
        (And(Or(b, LT(x, 3)), b), "(b or x < 3) and b"),
        (Cast("float16", x), 'T.Cast("float16", x)'),
        (Select(LT(x, 3), x, one(1)), "T.Select(x < 3, x, 1)"),
        (Ramp(x, 1, 4), "T.Ramp(x, 1, 4)"),
        (Broadcast(f, 4), "T.Broadcast(f, 4)"),
        (Shuffle((x, x), (1, 0)), "T.Shuffle([x, x], [1, 0])"),
        (Let(x, one(3), Add(x, x)), "T.Let(x + x, where={x: 3})"),
        (BufferLoad(A, (x, 1)), "A[x, 1]"),
        (BufferLoad(S, ()), "S[()]"),
        (BufferLoad(A, (x, Ramp(0, 1, 4))), "A[x, T.Ramp(0, 1, 4)]"),
        (BufferRegion(A, (Range(0, 4), Range(x, 1))), "A[0:4, x]"),
        (BufferRegion(A, (Range(x, 4), Range(2, 6))), "A[x:x + 4, 2:8]"),
        (BufferRegion(A, (Range(3, x), Range(x, Sub(1, x)))), "A[3:3 + x, x:x + (1 - x)]"),
        (Range(1, 8), "I.Range(1, 9)"),
        (
            IterVar(Range(0, 8), x, 1, "threadIdx.x"),
            'T.iter_var(x, T.Range(0, 8), "ThreadIndex", "threadIdx.x")',
        ),
        (IterVar(None, x, 0), 'T.iter_var(x, None, "DataPar", "")'),
        (GlobalVar("g"), 'I.GlobalVar("g")'),
        (Op("tirx.exp"), 'I.Op("tirx.exp")'),
    ],
)
def test_spellings(node, text):
    assert script(node) == text


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (Add(one(1), one(2)), "T.Add(1, 2)"),
        (LT(one(1), one(2)), "T.LT(1, 2)"),
        (Div(FloatImm("float32", 1), FloatImm("float32", 2)), "T.Div(T.float32(1.0), T.float32(2.0))"),
        (Max(one(1), one(2)), "T.Max(1, 2)"),
        (Mod(one(7), one(2)), "T.Mod(7, 2)"),
        (Not(one(1, "bool")), "T.Not(T.bool(True))"),
        (BitwiseNot(one(3)), "T.BitwiseNot(3)"),
        (And(one(1, "bool"), one(0, "bool")), "T.And(T.bool(True), T.bool(False))"),
        # folded by TVM's reader, not by ours
        (Add(x, 0), "T.Add(x, 0)"),
        (Mul(one(1), x), "T.Mul(1, x)"),
        (FloorDiv(x, 1), "T.FloorDiv(x, 1)"),
        (LShift(x, 0), "T.LShift(x, 0)"),
        (And(b, one(1, "bool")), "T.And(b, T.bool(True))"),
    ],
)
def test_what_a_sign_would_fold_prints_by_name(node, text):
    assert script(node) == text


def test_logic_on_vectors_prints_by_name():
    v = Broadcast(b, 4)
    assert script(And(v, v)) == "T.And(T.Broadcast(b, 4), T.Broadcast(b, 4))"
    assert script(Not(v)) == "T.Not(T.Broadcast(b, 4))"


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (PrimType("int32"), "T.int32"),
        (PrimType("float32x4"), "T.float32x4"),
        (PrimType("int8xvscalex16"), "T.int8xvscalex16"),
        (PointerType(PrimType("void")), "T.handle"),
        (PointerType(PrimType("float32"), "global"), 'T.handle("float32", "global")'),
        (PointerType(PrimType("void"), "shared"), 'T.handle(storage_scope="shared")'),
        (TupleType((PrimType("int32"),)), "T.Tuple(T.int32)"),
        (
            BufferType("int8", (4, 2), strides=(2, 1), elem_offset=3),
            'T.Buffer((4, 2), "int8", strides=(2, 1), elem_offset=3)',
        ),
    ],
)
def test_types(node, text):
    assert script(node) == text


def test_maps_and_reducers():
    i, j = Var("i", "int64"), Var("j", "int64")
    mapping = IndexMap((i, j), (FloorDiv(i, IntImm("int64", 4)), j))
    assert script(mapping) == "T.index_map(lambda i, j: (i // T.int64(4), j))"
    inverse = IndexMap((x,), (x,))
    assert script(inverse) == 'T.index_map(lambda x: (x,), index_dtype="int32")'
    both = script(IndexMap((i,), (i,), IndexMap((i,), (i,))))
    assert both == "T.index_map(lambda i: (i,), inverse_index_map=T.index_map(lambda i: (i,)))"
    p, q = Var("x", "float32"), Var("y", "float32")
    zero = FloatImm("float32", 0)
    assert (
        script(CommReducer((p,), (q,), (Add(p, q),), (zero,)))
        == "T.comm_reducer(lambda x, y: x + y, [T.float32(0.0)])"
    )


def test_calls():
    data = Call("tirx.buffer_data", (A,), PointerType(PrimType("float32"), "global"))
    assert script(data) == "A.data"
    odd = Call("tirx.buffer_data", (A,), PointerType(PrimType("int8"), "global"))
    assert script(odd) == 'T.Call("tirx.buffer_data", [A], ret_ty=T.handle("int8", "global").ty)'
    assert script(Call("tirx.exp", (f,), "float32")) == "T.exp(f)"
    assert script(Call("tirx.exp", (f,), "float64")) == 'T.Call("tirx.exp", [f], ret_ty="float64")'
    unknown = Call("test.unknown", (f, A), "int32", {"k": 1})
    assert script(unknown) == 'T.Call("test.unknown", [f, A], attrs={"k": 1}, ret_ty="int32")'
    assert script(Call(GlobalVar("g"), (x,), "int32")) == 'T.Call(I.GlobalVar("g"), [x], ret_ty="int32")'


def test_every_operator_prints_as_itself_or_in_full():
    from loopwright.ir import all_records

    for record in all_records():
        text = script(Call(record.name, (), "int32"))
        assert text.startswith("T."), text
