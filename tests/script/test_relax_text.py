"""What texts of graph functions mean."""

from __future__ import annotations

from typing import Any

import pytest

from loopwright import ir
from loopwright.errors import ScriptError
from loopwright.ir import relax as rx
from loopwright.script import parse


def graph(text: str, **options: Any) -> rx.Function:
    found = parse(text, **options)
    assert isinstance(found, rx.Function)
    return found


def body(
    lines: str, params: str = 'x: R.Tensor((2, 3), "float32")', head: str = "@R.function"
) -> rx.Function:
    """The function whose body these lines are."""
    inner = "\n".join(f"    {line}" for line in lines.strip("\n").splitlines())
    return graph(f"{head}\ndef main({params}):\n{inner}\n")


def shown(func: rx.Function) -> list[str]:
    """The lines of the body as they are printed."""
    lines = func.script(show_all_ty=False).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("def "))
    return [line[4:] for line in lines[start + 1 :]]


def same(a: str, b: str, **options: Any) -> None:
    """Both bodies give equal functions."""
    ir.assert_structural_equal(body(a, **options), body(b, **options))


def test_nested_calls_are_named_in_order() -> None:
    found = body("return R.add(R.exp(x), R.add(x, R.exp(R.exp(x))))")
    assert shown(found) == [
        "gv = R.exp(x)",
        "gv1 = R.exp(x)",
        "gv2 = R.exp(gv1)",
        "gv3 = R.add(x, gv2)",
        "gv4 = R.add(gv, gv3)",
        "return gv4",
    ]


def test_names_inside_of_dataflow_blocks() -> None:
    found = body("with R.dataflow():\n    y = R.exp(R.exp(x))\n    R.output(y)\nreturn R.exp(y)")
    assert shown(found) == [
        "with R.dataflow():",
        "    lv = R.exp(x)",
        "    y = R.exp(lv)",
        "    R.output(y)",
        "gv = R.exp(y)",
        "return gv",
    ]
    flow = found.body.blocks[0]
    assert isinstance(flow, rx.DataflowBlock)
    assert [type(b.var) for b in flow.bindings] == [rx.DataflowVar, ir.Var]


def test_a_name_may_be_bound_again() -> None:
    same("y = R.exp(x)\ny = R.add(y, y)\nreturn y", "y = R.exp(x)\nz = R.add(y, y)\nreturn z")
    found = body("with R.dataflow():\n    y = R.exp(x)\n    y = R.exp(y)\n    R.output(y)\nreturn y")
    assert [type(b.var) for b in found.body.blocks[0].bindings] == [rx.DataflowVar, ir.Var]


def test_a_return_in_a_dataflow_block_gives_out() -> None:
    same(
        "with R.dataflow():\n    y = R.exp(x)\n    return R.exp(y)",
        "with R.dataflow():\n    y = R.exp(x)\n    z = R.exp(y)\n    R.output(z)\nreturn z",
    )


def test_tuples() -> None:
    same("t = (x, x)\nreturn t[1]", "t = R.tuple(x, x)\nu = R.TupleGetItem(t, 1)\nreturn u")
    same("a, b = R.exp(x), x\nreturn b", "a = R.exp(x)\nb = x\nreturn b")
    same(
        "a, b, c = R.split(x, 3, axis=1)\nreturn b",
        "t = R.split(x, 3, axis=1)\na = t[0]\nb = t[1]\nc = t[2]\nreturn b",
    )
    assert body("return (x, (x, 1), ())").ret_ty == ir.TupleType(
        [TENSOR, ir.TupleType([TENSOR, ir.INT64]), ir.UNIT]
    )


TENSOR = rx.TensorType((2, 3), "float32")


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("1", rx.tensor_constant(1)),
        ("2.5", rx.tensor_constant(2.5)),
        ("True", rx.tensor_constant(True)),
        ("(1, 2.5)", ir.Tuple([ir.const(1, "int64"), ir.const(2.5, "float64")])),
        ("R.const([1, 2], 'float16')", rx.tensor_constant([1, 2], "float16")),
        ("R.const('inf', 'float32')", rx.tensor_constant(float("inf"), "float32")),
        ("R.prim_value(3)", ir.const(3, "int64")),
        ("T.float16(3)", ir.const(3.0, "float16")),
        ("n + 1", None),
        ("R.str('a')", ir.StringImm("a")),
        ("R.dtype('float16')", rx.DataTypeImm("float16")),
        ("R.shape([2, 3])", rx.ShapeExpr([2, 3])),
        ("R.ExternFunc('f')", ir.ExternFunc(global_symbol="f")),
    ],
)
def test_values(value: str, wanted: Any) -> None:
    found = body(f"y = {value}\nreturn y", "n: R.Prim('int64')")
    binding = found.body.blocks[0].bindings[0]
    assert isinstance(binding, rx.VarBinding) and binding.var.name == "y"
    assert ir.structural_equal(binding.value, found.params[0] + 1 if wanted is None else wanted)


def test_annotations_give_literals_their_type() -> None:
    found = body('y: R.Prim("int32") = 3\nz: R.Tuple(T.float32, T.int8) = 2, 3\nreturn z')
    values = [b.value for b in found.body.blocks[0].bindings]  # type: ignore[attr-defined]
    assert ir.structural_equal(values[0], ir.const(3, "int32"))
    assert ir.structural_equal(values[1], ir.Tuple([ir.const(2.0, "float32"), ir.const(3, "int8")]))


def test_annotations_may_say_less() -> None:
    found = body('y: R.Tensor(dtype="float32", ndim=2) = R.exp(x)\nz: R.Any = y\nreturn z')
    assert found.ret_ty == ir.AnyType()
    assert found.body.blocks[0].bindings[0].var.ty == rx.TensorType(None, "float32", ndim=2)


def test_operators() -> None:
    same(
        "a = -x + x * x - x / x\nb = x ** x // x % x\nc = (x < x, x <= x, x > x, x >= x, x == x, x != x)\nreturn a",
        "a = R.subtract(R.add(R.negative(x), R.multiply(x, x)), R.divide(x, x))\n"
        "b = R.mod(R.floor_divide(R.power(x, x), x), x)\n"
        "c = (R.less(x, x), R.less_equal(x, x), R.greater(x, x), R.greater_equal(x, x), R.equal(x, x), "
        "R.not_equal(x, x))\nreturn a",
    )
    same('y = x.astype("float16")\nreturn y', 'y = R.astype(x, "float16")\nreturn y')
    same("x += x\nreturn x", "y = R.add(x, x)\nreturn y")
    same("return x @ R.permute_dims(x)", "return R.matmul(x, R.permute_dims(x))")


def test_types_of_parameters() -> None:
    found = graph(
        """
@R.function
def main(
    a: R.Tensor, b: R.Tensor("int8"), c: R.Tensor(ndim=2), d: R.Tensor([4, "n"], "float32"), e: R.Tuple,
    f: R.Tuple(R.Any, R.Object), g: R.Shape, h: R.Shape(["n", 2]), i: R.Shape(ndim=1), j: R.Prim("int64"),
    k: T.float32, l: R.Callable, m: R.Callable((R.Tensor,), R.Shape), o: None, p: R.Any(), q: R.Tensor(i),
):
    return a
"""
    )
    n = found.params[3].ty.shape[1]  # type: ignore[attr-defined]
    wanted = [
        rx.TensorType(None, None),
        rx.TensorType(None, "int8"),
        rx.TensorType(None, None, ndim=2),
        rx.TensorType([4, n]),
        ir.UNIT,
        ir.TupleType([ir.AnyType(), ir.AnyType()]),
        rx.ShapeType(),
        rx.ShapeType([n, 2]),
        rx.ShapeType(ndim=1),
        ir.INT64,
        ir.FLOAT32,
        ir.FuncType(None, ir.AnyType(), False),
        ir.FuncType([rx.TensorType(None, None)], rx.ShapeType()),
        ir.UNIT,
        ir.AnyType(),
        rx.TensorType(found.params[8], None),
    ]
    assert n.name == "n" and n.ty is ir.INT64
    for param, ty in zip(found.params, wanted, strict=True):
        assert ir.structural_equal(param.ty, ty), param.name


def test_symbols_are_one_variable() -> None:
    found = graph(
        """
m = TypeVar("m")
@R.function
def main(x: R.Tensor(("n + 1", m), "float32"), y: R.Tensor(("n",), "float32")) -> R.Tensor(("n * 2",), "float32"):
    n = T.int64()
    z = R.match_cast(x, R.Tensor((n * 2,), "float32"))
    return z
""",
        check_well_formed=False,
    )
    n = found.params[1].ty.shape[0]  # type: ignore[attr-defined]
    assert found.params[0].ty.shape[0].a is n  # type: ignore[attr-defined]
    assert found.ret_ty.shape[0].a is n  # type: ignore[attr-defined]
    assert found.body.blocks[0].bindings[0].ty.shape[0].a is n  # type: ignore[attr-defined]


def test_symbols_of_python_3_12() -> None:
    ir.assert_structural_equal(
        graph('@R.function\ndef main[n](x: R.Tensor((n, n * 2), "float32")):\n    return x'),
        graph('@R.function\ndef main(x: R.Tensor(("n", "n * 2"), "float32")):\n    return x'),
    )


def test_a_cast_defines_symbols_that_the_result_forgets() -> None:
    found = body(
        "m, n = T.int64(), T.int64()\ny = R.match_cast(x, R.Tensor((m, n), 'float32'))\nreturn y",
        "x: R.Tensor",
    )
    assert found.ret_ty == rx.TensorType(None, "float32", ndim=2)
    known = body("y = R.match_cast(x, R.Tensor((m,), 'float32'))\nreturn y", 'x: R.Tensor, s: R.Shape(["m"])')
    assert isinstance(known.ret_ty, rx.TensorType) and known.ret_ty.sizes is not None


def test_branches() -> None:
    lines = "if c:\n    y = R.exp(x)\n    z = R.exp(y)\nelse:\n    z = x\nreturn z"
    found = body(lines, 'x: R.Tensor((2, 3), "float32"), c: R.Tensor((), "bool")')
    binding = found.body.blocks[0].bindings[0]
    assert isinstance(binding, rx.VarBinding) and isinstance(binding.value, rx.If)
    assert binding.var.name == "z" and binding.var.ty == TENSOR
    then, orelse = binding.value.true_branch, binding.value.false_branch
    assert [b.var.name for b in then.blocks[0].bindings] == ["y", "z"] and then.body.name == "z"  # type: ignore[attr-defined]
    assert orelse.blocks == () and orelse.body is found.params[0]


def test_a_branch_that_python_decides() -> None:
    found = graph(
        "@R.function\ndef main(x: R.Tensor((2, 3), 'float32')):\n"
        "    if fast:\n        y = R.exp(x)\n    return y",
        extra_vars={"fast": True},
    )
    assert shown(found) == ["y = R.exp(x)", "return y"]


def test_branches_without_value() -> None:
    found = body(
        "if c:\n    R.print(x, format='a')\nelse:\n    R.print(x, format='b')\nreturn x",
        'x: R.Tensor((2, 3), "float32"), c: R.Prim("bool")',
        "@R.function(pure=False)",
    )
    assert found.body.blocks[0].bindings[0].var.ty == ir.UNIT


def test_a_bare_tuple_as_result_leaves_the_fields_open() -> None:
    text = "@R.function\ndef main(x: R.Tensor((2, 3), 'float32')) -> R.Tuple:\n    return {}"
    assert graph(text.format("(x, x)")).ret_ty == ir.TupleType([TENSOR, TENSOR])
    assert graph(text.format("R.tuple()")).ret_ty == ir.UNIT
    with pytest.raises(ScriptError, match="declares the result"):
        graph(text.format("x"))
    module = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor) -> R.Tuple:
        return Module.other(x)

    @R.function
    def other(x: R.Tensor) -> R.Tuple:
        y = Module.main(x)
        return R.tuple()
"""
    assert parse(module)["main"].ret_ty == ir.UNIT


def test_a_call_for_its_effect_leaves_names_alone() -> None:
    found = body("_ = R.exp(x)\nR.print(x)\nreturn _", head="@R.function(pure=False)")
    assert found.ret_ty == TENSOR


def test_deep_programs() -> None:
    many = 1000
    assert len(body(f"return {'R.exp(' * many}x{')' * many}").body.blocks[0].bindings) == many
    assert len(body("return " + " + ".join(["x"] * (many + 1))).body.blocks[0].bindings) == many


def test_kernels_called_as_they_are() -> None:
    text = """
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")):
        y = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0)
        Module.kernel(x, y)
        return y

    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32"), b: T.handle):
        B = T.match_buffer(b, (4,))
        for i in range(4):
            B[i] = A[i]
"""
    assert parse(text)["main"].body.blocks[0].bindings[1].var.ty == ir.UNIT
    with pytest.raises(ScriptError, match="must be of type"):
        parse(text.replace("x: R.Tensor((4,)", "x: R.Tensor((5,)"))


def test_functions_that_call_themselves_say_what_they_give() -> None:
    text = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor):
        return Module.other(x)

    @R.function
    def other(x: R.Tensor):
        return Module.main(x)
"""
    with pytest.raises(ScriptError, match="calls itself") as caught:
        parse(text)
    assert [d.code for d in caught.value.diagnostics] == ["annotation-required"]
    assert parse(text.replace("x: R.Tensor):", "x: R.Tensor) -> R.Tensor:"))


def test_nested_functions() -> None:
    found = body(
        "@R.function\n"
        'def inner(y: R.Tensor(("n", 3), "float32"), k: R.Prim("int64")) -> R.Tensor(("n", 3), "float32"):\n'
        "    z = inner(R.add(y, y), k - 1)\n"
        "    return z\n"
        "return inner(x, 3)"
    )
    first, second = found.body.blocks[0].bindings
    assert isinstance(first, rx.VarBinding) and isinstance(first.value, rx.Function)
    assert "global_symbol" not in first.value.attrs
    recursive = first.value.body.blocks[0].bindings[1].value  # type: ignore[attr-defined]
    assert recursive.op is first.var
    assert second.var.ty == TENSOR  # the symbol is solved by the argument


def test_closures_see_what_is_around() -> None:
    found = body(
        "y = R.exp(x)\n"
        "@R.function\n"
        "def inner(x: R.Tensor((2, 3), 'float32')):\n"
        "    return R.add(x, y)\n"
        "return inner(x)"
    )
    inner = found.body.blocks[0].bindings[1].value  # type: ignore[attr-defined]
    call = inner.body.blocks[0].bindings[0].value
    assert call.args == (inner.params[0], found.body.blocks[0].bindings[0].var)


def test_macros() -> None:
    text = """
@R.macro
def twice(y):
    y = R.exp(y)
    return R.exp(y)

@R.function
def main(x: R.Tensor((2, 3), "float32")):
    y = x
    z = twice(twice(x))
    return R.add(y, z)
"""
    found = parse(text)
    calls = [b.value.op.name for b in found.body.blocks[0].bindings if isinstance(b.value, ir.Call)]
    assert calls == ["relax.exp"] * 4 + ["relax.add"]
    assert found.body.blocks[0].bindings[-1].value.args[0].name == "y"
    with pytest.raises(ScriptError, match="returns nothing"):
        parse(text.replace("    return R.exp(y)\n", ""))


def test_attributes_and_purity() -> None:
    found = body(
        'R.func_attr({"a": 1, "b": [1, {"c": "d"}], "global_symbol": "other"})\nreturn x',
        head="@R.function(pure=False)",
    )
    assert not found.is_pure
    assert dict(found.attrs) == {"global_symbol": "other", "a": 1, "b": (1, {"c": "d"})}
    assert "global_symbol" not in body("return x", head="@R.function(private=True)").attrs


MODULE = """
@I.ir_module
class Module:
    I.module_attrs({"a": 1})
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0), I.vdevice("cuda", 1)]})
    outside = R.ExternFunc("symbol")

    @R.function
    def main(x: R.Tensor((4,), "float32", "cuda:1"), n: R.Prim("int64")):
        cls = Module
        y = R.call_tir(cls.kernel, (x, n), out_ty=R.Tensor((4,), "float32"))
        z = cls.later(y)
        w = Module.untyped(z)
        f = cls.later
        return (f(z), w, R.to_vdevice(x, "llvm"))

    @T.prim_func(private=True, s_tir=True)
    def kernel(A: T.Buffer((4,), "float32"), n: T.int64, B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] + T.Cast("float32", n)

    @R.function
    def later(x: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
        return Module.later(x)

    @R.function
    def untyped(x: R.Tensor):
        return R.exp(x)
"""


def test_modules_of_both_dialects() -> None:
    mod = parse(MODULE)
    main = mod["main"]
    device = mod.global_infos["vdevice"][2]
    assert main.params[0].ty.vdevice is device
    calls = [b.value for b in main.body.blocks[0].bindings]
    kernel, later, untyped, alias, local, moved = calls
    assert kernel.args[0].name == "kernel" and kernel.ty_args == (rx.TensorType((4,)),)
    assert later.ty == rx.TensorType((4,)) and untyped.ty == rx.TensorType(None, None)
    assert alias.name == "later" and local.op is main.body.blocks[0].bindings[3].var
    assert moved.ty.vdevice is mod.global_infos["vdevice"][0]
    ir.assert_structural_equal(parse(mod.script(show_meta=True)), mod)


def test_old_words() -> None:
    ir.assert_structural_equal(parse(MODULE.replace("out_ty=", "out_sinfo=")), parse(MODULE))
    same(
        "y = R.call_pure_packed('f', x, sinfo_args=(R.Object,))\nreturn y",
        "y = R.call_pure_packed('f', x, ty_args=R.Any)\nreturn y",
    )


def test_packed_calls_and_effects() -> None:
    found = body(
        "y = R.call_packed('f', x, 3, 'text', R.dtype('int8'), ty_args=R.Tensor((4,), 'float32'), mode=1)\n"
        "z = R.call_packed('f', x)\n"
        "R.print(x, format='{}')\n"
        "_ = R.assert_op(R.const(True), x, format='x: {}')\n"
        "return y",
        head="@R.function(pure=False)",
    )
    first, second, third, fourth = [b.value for b in found.body.blocks[0].bindings]  # type: ignore[attr-defined]
    assert first.ty == rx.TensorType((4,)) and dict(first.attrs) == {"mode": 1}
    assert second.ty == ir.AnyType()
    assert third.attrs["format"] == "{}" and fourth.op.name == "relax.assert_op"
    with pytest.raises(ScriptError) as caught:
        body("R.print(x)\nreturn x")
    assert caught.value.diagnostics[0].code == "impure-call" and caught.value.diagnostics[0].span.line == 3


def test_words_for_building() -> None:
    found = body(
        "R.emit(R.exp(x))\n"
        "y = R.emit_match_cast(x, R.Tensor((2, 3), 'float32'))\n"
        "z = R.emit_with_ty('relax.call_pure_packed', (R.ExternFunc('f'), y), R.Any)\n"
        "return z"
    )
    kinds = [type(b).__name__ for b in found.body.blocks[0].bindings]
    assert kinds == ["VarBinding", "MatchCast", "VarBinding", "VarBinding", "VarBinding"]


def test_rewriters() -> None:
    rewriter = parse(
        """
@R.rewriter
class Rewriter:
    @R.function
    def pattern(x: R.Tensor((2, 3), "float32")):
        return R.add(x, x)

    @R.function
    def replacement(x: R.Tensor((2, 3), "float32")):
        return R.multiply(x, R.const(2, "float32"))
"""
    )
    made = rewriter(body("y = R.add(x, x)\nreturn y"))
    assert shown(made)[0] == 'gv = R.multiply(x, R.const(2.0, "float32"))'


@pytest.mark.parametrize(
    "name", ["R.dist.redistribute(x)", "R.ccl.allreduce(x)", "R.DTensor((2,), 'float32')"]
)
def test_what_is_not_supported_is_named(name: str) -> None:
    with pytest.raises(ScriptError, match=name.partition("(")[0].rpartition(".")[0]) as caught:
        body(f"y = {name}\nreturn x")
    assert caught.value.diagnostics[0].code == "unsupported"


def test_every_operator_is_a_word() -> None:
    from loopwright.script import relax as R

    for rec in rx.all_ops():
        found: Any = R
        for part in rec.script.split("."):
            found = getattr(found, part)
        assert callable(found), rec.name


def test_errors_are_found_without_checking_types_twice() -> None:
    text = '@R.function(check_well_formed=False)\ndef main(x: R.Tensor((2, 3), "float32")) -> R.Shape:\n    return x'
    assert graph(text).ret_ty == rx.ShapeType()
    unchecked = text.replace("(check_well_formed=False)", "")
    assert graph(unchecked, check_well_formed=False).ret_ty == rx.ShapeType()
    module = "@I.ir_module(check_well_formed=False)\nclass Module:\n" + "".join(
        f"    {x}\n" for x in unchecked.splitlines()
    )
    assert parse(module)["main"].ret_ty == rx.ShapeType()
    with pytest.raises(ScriptError, match="declares the result"):
        graph(unchecked)
