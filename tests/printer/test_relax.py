"""Graph functions as text; the texts are those that the peer prints for these programs, but for the header."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest

from loopwright.errors import UnsupportedError
from loopwright.ir import (
    AnyType,
    BufferType,
    Call,
    Evaluate,
    ExternFunc,
    FloatImm,
    FuncType,
    GlobalVar,
    IntImm,
    IRModule,
    PrimFunc,
    PrimType,
    StringImm,
    Tuple,
    TupleGetItem,
    TupleType,
    Var,
    VDevice,
)
from loopwright.ir.relax import (
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    DataTypeImm,
    Function,
    If,
    MatchCast,
    SeqExpr,
    ShapeExpr,
    ShapeType,
    TensorType,
    VarBinding,
    get_op,
    tensor_constant,
)
from loopwright.node import Node
from loopwright.printer import script
from loopwright.target import Target

EXP, ADD = get_op("relax.exp"), get_op("relax.add")
N, M = Var("n", "int64"), Var("m", "int64")


def tensor(name: str, *shape: Any, dtype: str | None = "float32", kind: type[Var] = Var) -> Var:
    return kind(name, TensorType(shape, dtype))


def block(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


def body(node: Any, **options: Any) -> str:
    """The text without the import lines."""
    lines = script(node, **options).split("\n")
    while lines[0].startswith("#") or not lines[0]:
        del lines[0]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("ty", "text"),
    [
        (TensorType((N, 3), "float32"), 'R.Tensor((n, 3), dtype="float32")'),
        (TensorType((), "int8"), 'R.Tensor((), dtype="int8")'),
        (TensorType((N * 2 + 1,), None), "R.Tensor((n * 2 + 1,))"),
        (TensorType(None, "float32", ndim=2), 'R.Tensor(dtype="float32", ndim=2)'),
        (TensorType(None, None), "R.Tensor"),
        (TensorType(Var("s", ShapeType(ndim=2)), "float32"), 'R.Tensor(s, dtype="float32")'),
        (ShapeType((N, 4)), "R.Shape([n, 4])"),
        (ShapeType(ndim=2), "R.Shape(ndim=2)"),
        (ShapeType(), "R.Shape(ndim=-1)"),
        (TupleType([TensorType(None, None), AnyType()]), "R.Tuple(R.Tensor, R.Any)"),
        (
            FuncType([TensorType((N,), None)], ShapeType((N,)), True),
            "R.Callable((R.Tensor((n,)),), R.Shape([n]), True)",
        ),
        (FuncType(None, AnyType(), False), "R.Callable"),
        (FuncType(None, TensorType(None, None), True), "R.Callable(ret=R.Tensor, purity=True)"),
        (FuncType(None, AnyType(), False, "rule"), 'R.Callable(derive_func="rule")'),
    ],
)
def test_types(ty: Any, text: str) -> None:
    assert script(ty) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.5, 'R.const(1.5, "float32")'),
        (True, 'R.const(True, "bool")'),
        (-3, 'R.const(-3, "int32")'),
        (np.float32("inf"), 'R.const("inf", "float32")'),
        (np.float64("nan"), 'R.const("nan", "float64")'),
        (np.float16(-0.0), 'R.const(-0.0, "float16")'),
        (np.float32(0.1), 'R.const(0.10000000149011612, "float32")'),
        (
            np.uint8(3),
            'metadata["constant"][0]\n# Metadata omitted. Use show_meta=True in script() method to show it.',
        ),
        (
            np.array([1.0], "float32"),
            'metadata["constant"][0]\n# Metadata omitted. Use show_meta=True in script() method to show it.',
        ),
    ],
)
def test_constants(value: Any, text: str) -> None:
    assert script(tensor_constant(value)) == text


def test_constants_as_the_peer_names_them() -> None:
    text = script(tensor_constant(np.array([1.0], "float32")), header="tvm")
    assert text.startswith('metadata["ir.GenericConst"][0]')


def test_a_function() -> None:
    x, y, c = tensor("x", N, 4), tensor("y", N + 1, M), tensor("c", dtype="bool")
    lv = tensor("lv", N, 4, kind=DataflowVar)
    gv, a, r = tensor("gv", N, 4), tensor("a", N, 4), tensor("r", N, 4)
    then = tensor("r_then", N, 4)
    func = Function(
        [x, y, c],
        SeqExpr(
            [
                DataflowBlock([VarBinding(lv, EXP(x)), VarBinding(gv, ADD(lv, tensor_constant(1.0)))]),
                BindingBlock(
                    [
                        VarBinding(a, x),
                        VarBinding(r, If(c, SeqExpr([BindingBlock([VarBinding(then, EXP(a))])], then), a)),
                    ]
                ),
            ],
            Tuple([r, gv]),
        ),
        None,
        attrs={"global_symbol": "main", "b": (1, "x", 2.5), "a": None},
    )
    assert script(func) == block("""
        # from typing import TypeVar
        # from loopwright.script import relax as R

        m = TypeVar("m")
        n = TypeVar("n")
        @R.function
        def main(x: R.Tensor((n, 4), dtype="float32"), y: R.Tensor(("n + 1", m), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tuple(R.Tensor((n, 4), dtype="float32"), R.Tensor((n, 4), dtype="float32")):
            R.func_attr({"a": None, "b": [1, "x", 2.5]})
            with R.dataflow():
                lv: R.Tensor((n, 4), dtype="float32") = R.exp(x)
                gv: R.Tensor((n, 4), dtype="float32") = R.add(lv, R.const(1.0, "float32"))
                R.output(gv)
            a: R.Tensor((n, 4), dtype="float32") = x
            if c:
                r_then: R.Tensor((n, 4), dtype="float32") = R.exp(a)
                r: R.Tensor((n, 4), dtype="float32") = r_then
            else:
                r: R.Tensor((n, 4), dtype="float32") = a
            return (r, gv)
    """)
    assert "lv = R.exp(x)" in script(func, show_all_ty=False)
    assert "def main[n, m](" in script(func, extra_config={"script.use_pep695": True})


def function(params: Any, bindings: Any, result: Any, **more: Any) -> Function:
    return Function(params, SeqExpr([BindingBlock(bindings)], result), more.pop("ret", None), **more)


def values(*bound: Any, params: Any = (), **more: Any) -> list[str]:
    """The bindings of a function that binds these values in turn."""
    found = [VarBinding(Var(f"v{i}", e.ty), e) for i, e in enumerate(bound)]
    text = body(function(params, found, tensor_constant(1), **more))
    return [line.strip() for line in text.split("\n") if " = " in line and "TypeVar" not in line]


def test_values() -> None:
    x, t = tensor("x", 4), Var("t", TupleType([TensorType((4,), "float32"), TensorType((4,), "float32")]))
    b = Var("b", "int32")
    assert values(
        Tuple([x, x]),
        Tuple([x]),
        Tuple([Tuple([x, x]), x]),
        TupleGetItem(t, 1),
        ShapeExpr([N, 4]),
        StringImm("s"),
        DataTypeImm("float32"),
        IntImm("int64", 7),
        IntImm("int32", 7),
        IntImm("bool", 1),
        FloatImm("float64", 0.5),
        N * 2 + 1,
        b + 1,
        params=[x, t, b, tensor("y", N)],
    ) == [
        'v0: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")) = x, x',
        'v1: R.Tuple(R.Tensor((4,), dtype="float32")) = (x,)',
        'v2: R.Tuple(R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")), '
        'R.Tensor((4,), dtype="float32")) = (x, x), x',
        'v3: R.Tensor((4,), dtype="float32") = t[1]',
        "v4: R.Shape([n, 4]) = R.shape([n, 4])",
        'v5: I.StringType() = R.str("s")',
        'v6: R.Any = R.dtype("float32")',
        "v7: T.int64 = 7",
        "v8: T.int32 = T.int32(7)",
        "v9: T.bool = True",
        "v10: T.float64 = T.float64(0.5)",
        "v11: T.int64 = n * 2 + 1",
        "v12: T.int32 = b + 1",
    ]


def test_calls_by_record() -> None:
    x = tensor("x", 4, 4)
    assert values(
        get_op("relax.sum")(x, [0, 1], True),
        get_op("relax.reshape")(x, [2, 8]),
        get_op("relax.astype")(x, "float16"),
        get_op("relax.concat")([x, x], 0),
        get_op("relax.permute_dims")(x),
        get_op("relax.split")(x, 2, 1),
        get_op("relax.clip")(x, 0, 1.5),
        params=[x],
    ) == [
        'v0: R.Tensor((1, 1), dtype="float32") = R.sum(x, axis=[0, 1], keepdims=True)',
        'v1: R.Tensor((2, 8), dtype="float32") = R.reshape(x, R.shape([2, 8]))',
        'v2: R.Tensor((4, 4), dtype="float16") = R.astype(x, dtype="float16")',
        'v3: R.Tensor((8, 4), dtype="float32") = R.concat((x, x), axis=0)',
        'v4: R.Tensor((4, 4), dtype="float32") = R.permute_dims(x, axes=None)',
        'v5: R.Tuple(R.Tensor((4, 2), dtype="float32"), R.Tensor((4, 2), dtype="float32")) = '
        "R.split(x, indices_or_sections=2, axis=1)",
        'v6: R.Tensor((4, 4), dtype="float32") = R.clip(x, 0, T.float64(1.5))',
    ]


def test_calls_of_functions() -> None:
    x, f = tensor("x", 4), Var("f", FuncType(None, AnyType(), True))
    ty = x.ty
    assert values(
        Call(ExternFunc("p"), (x, IntImm("int64", 3), StringImm("s")), ty, {"axis": 3}, (ty,)),
        Call(ExternFunc("p"), (x,), AnyType()),
        get_op("relax.call_pure_packed")("p", x, [x, x], ty_args=(ty, AnyType())),
        get_op("relax.call_dps_packed")("p", [x], [ty, ty]),
        Call(f, (x,), AnyType()),
        Call("relax.unheard_of", (x,), ty, {"k": 1}),
        params=[x, f],
        is_pure=False,
    ) == [
        'v0: R.Tensor((4,), dtype="float32") = R.call_packed("p", x, 3, R.str("s"), axis=3, '
        'ty_args=(R.Tensor((4,), dtype="float32"),))',
        'v1: R.Any = R.call_packed("p", x)',
        'v2: R.Tuple(R.Tensor((4,), dtype="float32"), R.Any) = R.call_pure_packed("p", x, (x, x), '
        'ty_args=(R.Tensor((4,), dtype="float32"), R.Any))',
        'v3 = R.call_dps_packed("p", (x,), out_ty=[R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")])',
        "v4: R.Any = f(x)",
        'v5: R.Tensor((4,), dtype="float32") = T.Call("relax.unheard_of", [x], attrs={"k": 1}, '
        'ret_ty=R.Tensor((4,), dtype="float32"))',
    ]


def test_a_module() -> None:
    x, y, z = tensor("x", N), tensor("y", N), tensor("z", N)
    kernel = PrimFunc([Var("A", BufferType("float32", (4,)))], Evaluate(0), attrs={"s_tir": True})
    lv = Call("relax.call_tir", (GlobalVar("k"), Tuple([x])), y.ty, None, (y.ty,))
    other = tensor("x", M)
    callee = GlobalVar("a", FuncType([other.ty], other.ty))
    mod = IRModule(
        {
            "main": function([x], [VarBinding(y, lv), VarBinding(z, Call(callee, (y,), y.ty))], z),
            "k": kernel,
            "a": Function([other], other, None, attrs={"global_symbol": "a"}),
            "e": ExternFunc("sym", FuncType(None, AnyType(), False)),
        },
        {"x": 1},
        {"vdevice": [VDevice(Target("llvm"), 0, "global")]},
    )
    assert body(mod).split("\n", 3)[3] == block("""
        class Module:
            I.module_attrs({"x": 1})
            I.module_global_infos({"vdevice": [I.vdevice({"keys": ["cpu"], "kind": "llvm", "tag": ""}, 0, "global")]})
            @T.prim_func(private=True, s_tir=True)
            def k(A: T.Buffer((4,), "float32")):
                T.evaluate(0)

            e = R.ExternFunc("sym", R.Callable)
            @R.function
            def a(x: R.Tensor((m,), dtype="float32")) -> R.Tensor((m,), dtype="float32"):
                return x

            @R.function(private=True)
            def main(x: R.Tensor((n,), dtype="float32")) -> R.Tensor((n,), dtype="float32"):
                cls = Module
                y = R.call_tir(cls.k, (x,), out_ty=R.Tensor((n,), dtype="float32"))
                z: R.Tensor((n,), dtype="float32") = cls.a(y)
                return z
    """)
    assert "    self = Net\n" in body(mod, module_alias="self", name="Net")


def test_functions_inside_of_functions() -> None:
    x, k = tensor("x", N, 4), Var("n", "int64")
    a, b = tensor("a", k, 4), tensor("b", k, 4)
    inner = function([a], [VarBinding(b, EXP(a))], b)
    f = Var("inner", inner.ty)
    z = tensor("z", N, 4)
    text = body(function([x], [VarBinding(f, inner), VarBinding(z, Call(f, (x,), z.ty))], z))
    assert text == block("""
        n = TypeVar("n")
        @R.function(private=True)
        def main(x: R.Tensor((n, 4), dtype="float32")) -> R.Tensor((n, 4), dtype="float32"):
            n_1 = TypeVar("n_1")
            @R.function
            def inner(a: R.Tensor((n_1, 4), dtype="float32")) -> R.Tensor((n_1, 4), dtype="float32"):
                b: R.Tensor((n_1, 4), dtype="float32") = R.exp(a)
                return b

            z: R.Tensor((n, 4), dtype="float32") = inner(x)
            return z
    """)


def test_symbols_of_the_body_and_casts() -> None:
    x, k = tensor("x", N), Var("k", "int64")
    y = tensor("y", k)
    lines = body(function([x], [MatchCast(y, x, y.ty)], x)).split("\n")
    assert lines[3:5] == [
        "    k = T.int64()",
        '    y: R.Tensor((k,), dtype="float32") = R.match_cast(x, R.Tensor((k,), dtype="float32"))',
    ]


def test_values_of_the_unit_type_are_statements() -> None:
    x, u = tensor("x", 4), Var("u", TupleType([]))
    call = get_op("relax.print")(x, format="{}")
    text = body(function([x], [VarBinding(u, call)], x, is_pure=False))
    assert '\n    R.print(x, format=R.str("{}"))\n' in text
    used = body(function([x], [VarBinding(u, call)], u, is_pure=False))
    assert '\n    u: R.Tuple = R.print(x, format=R.str("{}"))\n' in used


def test_sizes_that_are_parameters_are_not_quoted() -> None:
    n = Var("n", "int64")
    text = body(Function([tensor("x", n, n + 1), n], n, None))
    assert 'def main(x: R.Tensor((n, n + 1), dtype="float32"), n: T.int64) -> T.int64:' in text


def test_devices_by_their_number_among_their_kind() -> None:
    devices = [VDevice(Target("llvm"), 0, "global"), VDevice(Target("llvm"), 5, "shared")]
    x = Var("x", TensorType((4,), "float32", devices[1]))
    mod = IRModule({"main": Function([x], x, None)}, {}, {"vdevice": devices})
    assert 'vdevice="llvm:1:shared"' in script(mod)


def test_names_by_scope() -> None:
    x = tensor("cls", 4)
    again, third = tensor("x", 4), tensor("x", 4)
    text = body(function([x], [VarBinding(again, EXP(x)), VarBinding(third, EXP(again))], third))
    assert "cls_1: R.Tensor" in text and "    x_1: R.Tensor" in text


def test_pieces() -> None:
    x, y = tensor("x", N), tensor("y", N)
    assert script(EXP(x)) == "R.exp(x)"
    assert script(EXP(x), verbose_expr=True) == block("""
        n = T.int64()
        x: R.Tensor((n,), dtype="float32")
        R.exp(x)
    """)
    assert script(DataflowBlock([VarBinding(y, EXP(x))])) == block("""
        n = T.int64()
        x: R.Tensor((n,), dtype="float32")
        with R.dataflow():
            y: R.Tensor((n,), dtype="float32") = R.exp(x)
            R.output(y)
    """)
    assert script(SeqExpr([BindingBlock([VarBinding(y, EXP(x))])], y)).endswith("= R.exp(x)\ny")
    assert script(ShapeExpr([N, 3])) == "R.shape([n, 3])"
    assert script(Tuple([x, x])) == "(x, x)"


def test_what_must_be_bound_first() -> None:
    x, c = tensor("x", 4), Var("c", PrimType("bool"))
    nested: Node = function([x, c], [VarBinding(tensor("y", 4), EXP(If(c, x, x)))], x)
    with pytest.raises(UnsupportedError, match="no spelling for a If inside of an expression"):
        script(nested)
