from __future__ import annotations

import textwrap

import pytest

from loopwright.ir import (
    INT32,
    VOID,
    Add,
    BufferType,
    Call,
    DummyGlobalInfo,
    Evaluate,
    ExternFunc,
    For,
    GlobalVar,
    IntImm,
    IRModule,
    Mul,
    PointerType,
    PrimFunc,
    PrimType,
    Return,
    SeqStmt,
    StringImm,
    TensorMapType,
    Var,
    VDevice,
)
from loopwright.printer import script


def block(text):
    return textwrap.dedent(text).strip("\n")


def text_of(node, **options):
    """The printed text below the header."""
    text = script(node, **options)
    return text.split("\n\n", 1)[1]


def func(params=(), body=None, **attrs):
    return PrimFunc(params, Evaluate(0) if body is None else body, None, attrs)


def buffer(name, *args, **more):
    return Var(name, BufferType(*args, **more))


def signature(*params, body=None):
    """The printed lines up to the end of the signature's declarations."""
    return text_of(func(params, body)).replace("@T.prim_func(private=True)\n", "")


def test_headers():
    assert script(func()).startswith("# from loopwright.script import tirx as T\n\n@T.prim_func")
    assert script(func(), header="tvm").startswith(
        "# from tvm.script import tirx as T\n# from tvm.tirx.layout import Axis\n\n"
    )
    prefixed = script(func(), extra_config={"tirx.prefix": "S"})
    assert prefixed.startswith("# from loopwright.script import tirx as S\n\n@S.prim_func")
    whole = script(IRModule({"f": func(), "g": ExternFunc(global_symbol="sym")}), ir_prefix="X")
    assert whole.startswith(
        "# from loopwright.script import ir as X\n"
        "# from loopwright.script import tirx as T\n"
        "# from loopwright.script import relax as R\n\n@X.ir_module"
    )


@pytest.mark.parametrize(
    ("attrs", "lines"),
    [
        ({}, ["@T.prim_func(private=True)", "def main():", "    T.evaluate(0)"]),
        ({"global_symbol": "f"}, ["@T.prim_func", "def f():", "    T.evaluate(0)"]),
        (
            {"global_symbol": "f", "s_tir": True},
            ["@T.prim_func(s_tir=True)", "def f():", "    T.evaluate(0)"],
        ),
        (
            {"global_symbol": "a.b", "z": 1, "c": (1, "x")},
            [
                "@T.prim_func",
                "def a_b():",
                '    T.func_attr({"c": [1, "x"], "global_symbol": "a.b", "z": 1})',
                "    T.evaluate(0)",
            ],
        ),
        (
            {"s_tir": False},
            ["@T.prim_func(private=True)", "def main():", '    T.func_attr({"s_tir": False})'],
        ),
        (
            {"global_symbol": "if"},
            ["@T.prim_func", "def if_1():", '    T.func_attr({"global_symbol": "if"})'],
        ),
    ],
)
def test_names_and_attributes(attrs, lines):
    assert text_of(func(**attrs)).split("\n")[: len(lines)] == lines


def test_attribute_values_keep_their_types():
    values = {
        "a": IntImm("int32", 3),
        "b": 3,
        "c": True,
        "d": IntImm("bool", 1),
        "e": None,
        "f": 1.5,
        "g": float("inf"),
        "h": {"k": ("x", {})},
        "i": StringImm("s"),
        "j": "s",
        "k": PrimType("int8").dtype,
        "l": -0.0,
        "m": -(2**70),
    }
    row = text_of(func(**values)).split("\n")[2].strip()
    assert row == (
        'T.func_attr({"a": T.int32(3), "b": 3, "c": True, "d": T.bool(True), "e": None, "f": 1.5, '
        '"g": float("inf"), "h": {"k": ["x", {}]}, "i": I.StringImm("s"), "j": "s", "k": T.dtype("int8"), '
        '"l": -0.0, "m": -1180591620717411303424})'
    )


def test_parameters():
    params = (
        buffer("A", "int8", (4, 4), (8, 1), 2, "shared", 16, 4),
        Var("x", "float32x4"),
        Var("p", PointerType(PrimType("float32"), "global")),
        Var("h", PointerType(VOID)),
        Var("t", TensorMapType()),
    )
    assert signature(*params).split("\n")[0] == (
        'def main(A: T.Buffer((4, 4), "int8", strides=(8, 1), elem_offset=2, scope="shared", align=16, '
        'offset_factor=4), x: T.float32x4, p: T.handle("float32", "global"), h: T.handle, t: T.TensorMap()):'
    )
    returning = PrimFunc((), Return(IntImm("int32", 1)), INT32)
    assert text_of(returning).split("\n")[1:] == ["def main() -> T.int32:", "    return 1"]


def test_int32_symbols_are_quoted_where_they_are_new():
    n, m = Var("n"), Var("m")
    A = buffer("A", "float32", (n, Mul(n, 2)))
    B = buffer("B", "float32", (Add(n, m), m))
    assert signature(A, B, body=Evaluate(Add(n, m))) == block("""
        def main(A: T.Buffer(("n", n * 2), "float32"), B: T.Buffer(("n + m", m), "float32")):
            n = T.int32()
            m = T.int32()
            T.evaluate(n + m)
    """)
    both = buffer("A", "float32", (n, m))
    assert signature(both).split("\n")[1] == "    n, m = T.int32(), T.int32()"


def test_a_scalar_parameter_may_be_a_dimension():
    n = Var("n")
    A = buffer("A", "float32", (n, Mul(n, 2)))
    assert signature(n, A).split("\n")[0] == 'def main(n: T.int32, A: T.Buffer((n, n * 2), "float32")):'
    assert signature(A, n).split("\n")[0] == 'def main(A: T.Buffer(("n", n * 2), "float32"), n: T.int32):'


def test_int64_symbols_are_type_variables():
    n = Var("n", "int64")
    f = func((buffer("A", "float32", (n, Mul(n, 2), 3)),), Evaluate(n))
    assert script(f) == block("""
        # from typing import TypeVar
        # from loopwright.script import tirx as T

        n = TypeVar("n")
        @T.prim_func(private=True)
        def main(A: T.Buffer((n, "n * T.int64(2)", 3), "float32")):
            T.evaluate(n)
    """)
    assert script(f, extra_config={"script.use_pep695": True}) == block("""
        from __future__ import annotations

        # from loopwright.script import tirx as T

        @T.prim_func(private=True)
        def main[n](A: T.Buffer((n, n * T.int64(2), 3), "float32")):
            T.evaluate(n)
    """)


def test_one_type_variable_serves_all_functions_of_a_module():
    def one(*more):
        n = Var("n", "int64")
        return func((buffer("A", "float32", (n, *more)),), global_symbol="f")

    text = script(
        IRModule({"f": one(), "g": one(Var("n", "int64"), Var("m", "int64")), "h": func((Var("n"),))})
    )
    head = text.split("\n\n")[1].split("\n")
    assert head[:4] == ['n = TypeVar("n")', 'm = TypeVar("m")', 'n_1 = TypeVar("n_1")', "@I.ir_module"]
    assert "def g(A: T.Buffer((n, n_1, m)" in text
    assert "def h(n: T.int32)" in text


def test_a_quoted_symbol_is_never_named_like_a_type_variable():
    wide, narrow, stride = Var("n", "int64"), Var("n"), Var("n")
    f = func((buffer("A", "float32", (wide,)),), global_symbol="f")
    g = func((buffer("B", "float32", (narrow, 4), (stride, 1)),), global_symbol="g")
    text = script(IRModule({"f": f, "g": g}))
    assert 'def g(B: T.Buffer(("n_1", 4), "float32", strides=("n_2", 1)))' in text


def test_symbols_of_strides_and_offsets():
    s, off = Var("s"), Var("off")
    A = buffer("A", "float32", (4, 4), (s, 1), off)
    assert signature(A, body=Evaluate(Add(s, off))) == block("""
        def main(A: T.Buffer((4, 4), "float32", strides=("s", 1), offset_factor=1)):
            T.evaluate(A.strides[0] + A.elem_offset)
    """)
    B = buffer("B", "float32", (s,))
    assert signature(A, B, body=Evaluate(s)).split("\n")[0] == (
        'def main(A: T.Buffer((4, 4), "float32", strides=("s", 1), offset_factor=1), '
        'B: T.Buffer((s,), "float32")):'
    )
    wide = buffer("A", "float32", (IntImm("int64", 4),), (), off)
    assert signature(wide).split("\n")[:2] == [
        'def main(A: T.Buffer((T.int64(4),), "float32", elem_offset="off")):',
        "    off = T.int32()",
    ]


def test_modules():
    call = Call(GlobalVar("g"), (IntImm("int32", 1),), VOID)
    other = Call(GlobalVar("g"), (IntImm("int32", 1),), "int32")
    x = Var("x")
    mod = IRModule(
        {
            "main": func((), SeqStmt([Evaluate(call), Evaluate(other)]), global_symbol="main"),
            "g": func((x,), Evaluate(x)),
            "ext": ExternFunc(global_symbol="sym"),
            "z": func(global_symbol="renamed"),
        },
        {"b": 1, "a": (1, 2)},
        {"v": (VDevice("llvm", 0, "global"),), "dummy": (DummyGlobalInfo(),)},
    )
    assert text_of(mod) == block("""
        @I.ir_module
        class Module:
            I.module_attrs({"a": [1, 2], "b": 1})
            I.module_global_infos({"dummy": [I.dummy_global_info()], "v": [I.vdevice("llvm", 0, "global")]})
            @T.prim_func(private=True)
            def g(x: T.int32):
                T.evaluate(x)

            @T.prim_func
            def z():
                T.func_attr({"global_symbol": "renamed"})
                T.evaluate(0)

            ext = R.ExternFunc("sym")
            @T.prim_func
            def main():
                Module.g(1)
                T.Call(I.GlobalVar("g"), [1], ret_ty="int32")
    """)
    assert "class Hello:" in script(mod, name="Hello") and "Hello.g(1)" in script(mod, name="Hello")
    assert script(IRModule({})).endswith("@I.ir_module\nclass Module:\n    pass")


def test_names_that_def_cannot_say():
    mod = IRModule({"a b": func(global_symbol="a b"), "a_b": func(global_symbol="a_b"), "if": func()})
    assert text_of(mod) == block("""
        @I.ir_module
        class Module:
            @T.prim_func(name="a b")
            def a_b():
                T.evaluate(0)

            @T.prim_func(name="a_b")
            def a_b_1():
                T.evaluate(0)

            @T.prim_func(name="if", private=True)
            def if_1():
                T.evaluate(0)
    """)


def test_the_module_name_is_no_variable():
    x = Var("Module")
    assert "def f(Module_1: T.int32)" in script(IRModule({"f": func((x,), Evaluate(x))}))
    assert "def main(Module: T.int32)" in script(func((x,), Evaluate(x)))


def test_free_variables_of_a_function():
    n, i = Var("n"), Var("i")
    f = func((), SeqStmt([For(i, 0, n, 0, Evaluate(n)), Evaluate(0)]))
    assert text_of(f).split("\n")[2:5] == [
        "    n = T.int32()",
        "    for i in range(n):",
        "        T.evaluate(n)",
    ]
