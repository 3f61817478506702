"""JSON and pickling."""

from __future__ import annotations

import copy
import json
import math
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.dtype import DType
from loopwright.errors import IRError, Span
from loopwright.ir import (
    Add,
    Bind,
    BufferType,
    Effect,
    Evaluate,
    FloatImm,
    For,
    ForKind,
    GenericConst,
    IntImm,
    IRModule,
    Op,
    PrimFunc,
    PrimType,
    SBlock,
    SeqStmt,
    Var,
    VDevice,
    find,
    from_json,
    structural_equal,
    to_json,
    walk,
)
from loopwright.node import Attrs


@given(data=st.data())
def test_json_gives_an_equal_program_and_the_same_text(programs, data):
    mod = data.draw(programs.modules)
    text = to_json(mod)
    back = from_json(text)
    assert structural_equal(back, mod)
    assert to_json(back) == text
    assert [v.name for v in walk(back) if isinstance(v, Var)] == [
        v.name for v in walk(mod) if isinstance(v, Var)
    ]


@given(data=st.data())
def test_pickling_gives_an_equal_program(programs, data):
    mod = data.draw(programs.modules)
    for protocol in (2, pickle.HIGHEST_PROTOCOL):
        assert structural_equal(pickle.loads(pickle.dumps(mod, protocol)), mod)


@given(data=st.data())
def test_pieces_keep_their_free_variables_apart(programs, data):
    body = data.draw(programs.funcs).body
    assert structural_equal(from_json(to_json(body)), body, map_free_vars=True)
    assert structural_equal(pickle.loads(pickle.dumps(body)), body, map_free_vars=True)


@given(st.floats(), st.integers())
def test_numbers_are_exact(x, n):
    back = from_json(to_json(Attrs(x=x, n=n, f=FloatImm("float64", x))))
    assert type(back["x"]) is float and type(back["n"]) is int and back["n"] == n
    assert back["x"] == x and math.copysign(1, back["x"]) == math.copysign(1, x) or math.isnan(x)
    assert structural_equal(back, Attrs(x=x, n=n, f=FloatImm("float64", x)))


@given(st.text())
def test_strings_are_exact(text):
    assert from_json(to_json(Attrs({text: text})))[text] == text


def test_shared_nodes_stay_shared():
    x = Var("x")
    e = x
    for _ in range(100):
        e = Add(e, e)
    for back in (from_json(to_json(e)), pickle.loads(pickle.dumps(e))):
        assert len(list(walk(back))) == 101
        assert back.a is back.b


def test_variables_shared_by_two_roots_stay_one_object():
    x = Var("x")
    one, two, var = pickle.loads(pickle.dumps([Add(x, x), Bind(Var("y"), x), x]))
    assert one.a is var and one.b is var and two.value is var


def test_interned_nodes_come_back_as_themselves():
    for node in (PrimType("int32"), Op("tirx.exp")):
        assert pickle.loads(pickle.dumps(node)) is node
        assert from_json(to_json(node)) is node
    assert pickle.loads(pickle.dumps(DType("int8x4"))) is DType("int8x4")


def test_the_identity_of_blocks_survives():
    block = SBlock([], [], [], "b", Evaluate(0))
    ref, back = pickle.loads(pickle.dumps((block.ref, SeqStmt([block]))))
    assert find(back, SBlock)[0].ref is ref


def test_copies_of_a_node_are_the_node():
    func = PrimFunc([], Evaluate(0), "void", {"k": [1]})
    assert copy.copy(func) is func and copy.deepcopy(func) is func
    assert copy.deepcopy([func, func.attrs])[1] is func.attrs


def test_values_of_every_kind():
    import numpy as np

    span = Span("a.py", 1, 2, 3, 4)
    plain = {"a": None, "b": True, "c": 1, "d": 1.5, "e": "x", "f": (1, (2,)), "i": b"\x00\xff", "j": -0.0}
    more = {"g": DType("bfloat16"), "h": Attrs(k=()), "k": span, "l": ForKind.PARALLEL, "m": Effect.PURE}
    values = Attrs({**plain, **more}, n=IntImm("int64", 1 << 60), o=1 << 200, p=-math.inf)
    back = from_json(to_json(values))
    assert structural_equal(back, values) and back["l"] is ForKind.PARALLEL and back["k"] == span
    for dtype in ("float32", "int64", "bool", "float16"):
        const = GenericConst(PrimType("float32"), np.arange(6).reshape(2, 3).astype(dtype))
        assert structural_equal(from_json(to_json(const)), const)
        assert structural_equal(pickle.loads(pickle.dumps(const)), const)
    assert not from_json(to_json(const)).value.flags.writeable


def test_small_float_arrays():
    import ml_dtypes
    import numpy as np

    const = GenericConst(PrimType("float32"), np.array([1.0, -2.0], dtype=ml_dtypes.bfloat16))
    assert structural_equal(from_json(to_json(const)), const)


def test_targets_in_attributes():
    from loopwright.target import Target

    mod = IRModule({}, {"target": Target("llvm")}, {"vdevice": [VDevice(Target("cuda"), 1)]})
    assert structural_equal(from_json(to_json(mod)), mod)
    assert structural_equal(pickle.loads(pickle.dumps(mod)), mod)


def test_spans_are_kept_or_left_out():
    loop = Evaluate(0, span=Span("a.py", 1, 2, 3, 4))
    assert from_json(to_json(loop)).span == loop.span
    assert "a.py" not in to_json(loop, spans=False)


def test_the_format_is_stable():
    i = Var("i")
    text = to_json(For(i, 0, 4, "serial", Evaluate(i)))
    assert json.loads(text) == {
        "format": "loopwright-ir",
        "version": 1,
        "root": {"node": 5},
        "nodes": [
            ["PrimType", {"dtype": {"dtype": "int32"}}],
            ["Var", {"name": "i"}],
            ["IntImm", {"ty": {"node": 0}, "value": 0}],
            ["IntImm", {"ty": {"node": 0}, "value": 4}],
            ["Evaluate", {"value": {"node": 1}}],
            [
                "For",
                {
                    "loop_var": {"node": 1},
                    "min": {"node": 2},
                    "extent": {"node": 3},
                    "kind": {"enum": ["ForKind", 0]},
                    "body": {"node": 4},
                },
            ],
        ],
    }


def document(nodes, root=None, **more):
    root = {"node": len(nodes) - 1} if root is None else root
    return json.dumps({"format": "loopwright-ir", "version": 1, "root": root, "nodes": nodes, **more})


BAD = {
    "not JSON": ("{", "this is not JSON"),
    "another document": ("[]", "not an object with"),
    "another version": (document([], None, version=2), "version 2 is not known"),
    "no nodes": (document(3, {}), '"nodes" must be a list'),
    "unknown class": (document([["Nope", {}]]), "nodes[0]: there is no node class `Nope`"),
    "unknown field": (document([["Var", {"name": "x", "q": 1}]]), "nodes[0] (Var): there is no field `q`"),
    "missing field": (document([["Var", {}]]), "the field `name` is missing"),
    "wrong kind of field": (document([["Var", {"name": "x", "ty": 3}]]), "the field `ty` cannot be 3"),
    "wrong class in a field": (
        document([["PrimType", {"dtype": {"dtype": "int32"}}], ["Bind", {"var": {"node": 0}, "value": 1}]]),
        "the field `var` cannot be a PrimType",
    ),
    "bad reference": (document([["Evaluate", {"value": {"node": 7}}]]), "leads nowhere"),
    "forward reference": (document([["Evaluate", {"value": {"node": 0}}]]), "leads nowhere"),
    "unknown tag": (document([["Var", {"name": {"code": "x"}}]]), "there is no tag `code`"),
    "two tags": (document([["Var", {"name": {"a": 1, "b": 2}}]]), "has one key"),
    "unknown dtype": (document([["PrimType", {"dtype": {"dtype": "int33"}}]]), "`int33` is not a dtype"),
    "value out of range": (
        document([["PrimType", {"dtype": {"dtype": "int8"}}], ["IntImm", {"ty": {"node": 0}, "value": 300}]]),
        "outside the range",
    ),
    "bad array": (
        document([], {"array": {"dtype": "int8", "shape": [4], "data": "AA=="}}),
        "1 bytes do not fill",
    ),
    "bad base64": (document([], {"array": {"dtype": "int8", "shape": [1], "data": "%%"}}), "a bad array"),
    "bad float": (document([], {"float": "x"}), "not nan, inf or -inf"),
    "bad span": (document([], {"span": ["a", 1]}), "a bad span"),
    "bad enum": (document([], {"enum": ["ForKind", 77]}), "a bad enum"),
    "a row that is no row": (document([3]), "a node is written"),
    "nesting": ("[" * 100_000, "not JSON"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_json_is_an_error_naming_the_fault(name):
    text, message = BAD[name]
    with pytest.raises(IRError) as caught:
        from_json(text)
    assert message in str(caught.value) and caught.value.code == "bad-json"


def test_hostile_nesting_inside_a_deep_context():
    from loopwright.node import deep

    with deep(), pytest.raises(IRError, match="nests more than"):
        from_json("[" * 200_000)


@given(data=st.data())
def test_damaged_json_gives_a_program_or_an_error(programs, data):
    text = to_json(data.draw(programs.funcs))
    at = data.draw(st.integers(0, len(text) - 1))
    damaged = text[:at] + data.draw(st.sampled_from(["", "1", '"', "{", "]", "null", "Var"])) + text[at + 1 :]
    try:
        from_json(damaged)
    except IRError as err:
        assert err.code == "bad-json"


def test_what_has_no_json_form_is_named():
    with pytest.raises(IRError, match="a complex has no JSON form"):
        to_json(Attrs(k=1j))


@pytest.mark.parametrize("name", ["chain", "statements", "loops"])
def test_deep_programs(programs, name):
    func = programs.deep[name]()

    def both():
        assert structural_equal(from_json(to_json(func)), func)
        assert structural_equal(pickle.loads(pickle.dumps(func)), func)

    both()
    thread = ThreadPoolExecutor(1)
    thread.submit(both).result()
    thread.shutdown()


def test_pickling_from_several_threads():
    x = Var("x")
    expr = Add(x, x)
    results = []

    def work():
        for _ in range(50):
            results.append(pickle.loads(pickle.dumps([expr, x])))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 200 and all(e.a is v and e.b is v for e, v in results)


def test_types_in_json():
    buffer = Var("A", BufferType("float32", (Var("n"), 4), (4, 1), 0, "shared", 128, 2))
    assert structural_equal(from_json(to_json(buffer)), buffer, map_free_vars=True)
