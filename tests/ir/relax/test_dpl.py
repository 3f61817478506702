"""The pattern language of graphs."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright.errors import IRError, ScriptError
from loopwright.ir import TupleGetItem, TupleType
from loopwright.ir.relax import TensorType, get_op
from loopwright.ir.relax.analysis import get_var2val
from loopwright.ir.relax.dpl import (
    FunctionPattern,
    PatternContext,
    PatternMatchingRewriter,
    has_attr,
    has_dtype,
    is_call_dps_packed,
    is_call_packed,
    is_call_tir,
    is_const,
    is_dfv,
    is_expr,
    is_gv,
    is_op,
    is_shape,
    is_tuple,
    is_tuple_get_item,
    is_var,
    make_fused_bias_activation_pattern,
    parse_pattern,
    reject,
    rewrite_bindings,
    rewrite_call,
    wildcard,
)
from loopwright.script import from_source
from loopwright.testing.graph_inputs import arguments
from loopwright.testing.graphs import evaluate

MODULE = """
from loopwright.script import ir as I, relax as R, tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True)
    def kernel(x: T.Buffer((T.int64(2), T.int64(2)), "float32"), y: T.Buffer((T.int64(2), T.int64(2)), "float32")):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((2, 2), "float32"), w: R.Tensor((2, 2), "float32"), v: R.Tensor((2, 2), "float32")):
        cls = Module
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.matmul(x, v)
            c = R.add(a, b)
            d = R.add(R.const(1.0), c)
            e = R.nn.softmax(d, axis=1)
            t = (e, x)
            f = t[0]
            k = R.call_tir(cls.kernel, (f,), out_ty=R.Tensor((2, 2), "float32"))
            p = R.call_dps_packed("outside", (k,), out_ty=R.Tensor((2, 2), "float32"))
            r = R.reshape(p, (4,))
            R.output(r)
        return r

    @R.function
    def plain(x: R.Tensor((2, 2), "float32"), w: R.Tensor((2, 2), "float32"), v: R.Tensor((2, 2), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.matmul(x, v)
            c = R.add(a, b)
            d = R.exp(c)
            R.output(d)
        return d
"""


@pytest.fixture(scope="module")
def mod():
    return from_source(MODULE)


@pytest.fixture
def values(mod):
    func = mod["main"]
    return {v.name: v for v in get_var2val(func)}, get_var2val(func)


X = wildcard()
MATCHES = {
    "call": ("c", is_op("relax.add")(wildcard(), wildcard()), True),
    "nested": (
        "c",
        is_op("relax.add")(is_op("relax.matmul")(X, wildcard()), is_op("relax.matmul")(X, wildcard())),
        True,
    ),
    "the same value twice": ("a", is_op("relax.matmul")(X, X), False),
    "operands of a sum in either order": (
        "d",
        is_op("relax.add")(is_op("relax.add")(wildcard(), wildcard()), is_const()),
        True,
    ),
    "operands of a product in one order": ("a", is_op("relax.matmul")(is_const(), wildcard()), False),
    "too few operands": ("a", is_op("relax.matmul")(wildcard()), False),
    "more operands may follow": ("a", is_op("relax.matmul")(wildcard(), varg_default_wildcard=True), True),
    "constant": ("d", is_op("relax.add")(is_const(), wildcard()), True),
    "or": ("a", is_op("relax.exp")(wildcard()) | is_op("relax.matmul")(wildcard(), wildcard()), True),
    "and": ("a", is_var("a") & is_op("relax.matmul")(wildcard(), wildcard()), True),
    "not": ("a", ~is_op("relax.matmul")(wildcard(), wildcard()), False),
    "reject": ("a", reject(is_op("relax.add")(wildcard(), wildcard())), True),
    "variable": ("a", is_var("b"), False),
    "dataflow variable": ("a", is_dfv(), True),
    "name of a function": ("a", is_gv(), False),
    "attribute": ("e", is_op("relax.nn.softmax")(wildcard()).has_attr({"axis": 1}), True),
    "other attribute": ("e", has_attr({"axis": 0}), False),
    "dtype": ("e", has_dtype("float32"), True),
    "other dtype": ("e", has_dtype("float16"), False),
    "shape": ("e", wildcard().has_shape((2, 2)), True),
    "other shape": ("e", wildcard().has_shape((2, 3)), False),
    "type": ("e", wildcard().has_ty(TensorType(None, "float32", None, 2)), True),
    "tuple": ("t", is_tuple([wildcard(), is_var("x")]), True),
    "tuple in any order": ("t", is_tuple([is_var("x"), wildcard()], unordered=True), True),
    "tuple in this order": ("t", is_tuple([is_var("x"), wildcard()]), False),
    "field": ("f", is_tuple_get_item(wildcard(), 0), True),
    "any field": ("f", is_tuple_get_item(is_tuple([wildcard(), wildcard()])), True),
    "other field": ("f", is_tuple([wildcard(), wildcard()])[1], False),
    "kernel": ("k", is_call_tir("kernel", [wildcard()]), True),
    "other kernel": ("k", is_call_tir("other"), False),
    "external": ("p", is_call_dps_packed("outside"), True),
    "packed": ("p", is_call_packed("outside"), False),
    "sizes": ("r", is_op("relax.reshape")(wildcard(), is_shape([4])), True),
    "other sizes": ("r", is_op("relax.reshape")(wildcard(), is_shape([2, 2])), False),
    "bias": ("d", make_fused_bias_activation_pattern("relax.add", with_bias=True), True),
}


@pytest.mark.parametrize("case", MATCHES)
def test_patterns(values, case):
    names, bound = values
    name, pattern, expected = MATCHES[case]
    assert pattern.match(names[name], bound) == expected
    assert pattern.dup().match(names[name], bound) == expected


def test_a_pattern_sees_through_variables_only_where_it_is_told(values):
    names, bound = values
    pattern = is_op("relax.matmul")(wildcard(), wildcard())
    assert not pattern.match(names["a"]) and pattern.match(bound[names["a"]])


def test_what_parts_matched_is_reported(values):
    names, bound = values
    left, right = wildcard(), wildcard()
    found = is_op("relax.add")(left, right).extract_matched_expr(names["c"], bound)
    assert found[left] is names["a"] and found[right] is names["b"]


def test_functions_and_equal_expressions(mod):
    func = mod["plain"]
    assert FunctionPattern([wildcard() for _ in range(3)], wildcard()).match(func)
    assert not FunctionPattern([wildcard()] * 2, wildcard()).match(func)
    add = get_op("relax.add")
    x, w = func.params[:2]
    assert is_expr(add(x, w)).match(add(x, w)) and not is_expr(add(x, w)).match(add(w, x))


TEXTS = {
    "add(_, _)": ("c", True),
    "add(matmul(x, _), matmul(x, _))": ("c", True),
    "matmul(x, x)": ("a", False),
    "matmul(_, ...)": ("a", True),
    "exp(_) | R.matmul(_, var)": ("a", True),
    "~relax.add(_, _) & matmul(_, _)": ("a", True),
    "nn.softmax(_, axis=1)": ("e", True),
    "nn.softmax(_, axis=-1)": ("e", False),
    'dtype(_, "float32")': ("e", True),
    "shape(_, (2, 3))": ("e", False),
    "(_, var)": ("t", True),
    "(_, var)[1]": ("f", False),
    'kernel("kernel", _)': ("k", True),
    'extern("outside", ...)': ("p", True),
    "add(const, _)": ("d", True),
}


@pytest.mark.parametrize("text", TEXTS)
def test_patterns_as_text(values, text):
    names, bound = values
    name, expected = TEXTS[text]
    assert parse_pattern(text)[0].match(names[name], bound) == expected


@pytest.mark.parametrize("text", ["1 + 2", "f(", "x.y", "add(x)[y]", "(lambda: 1)(x)", ""])
def test_texts_that_are_no_pattern(text):
    with pytest.raises(ScriptError):
        parse_pattern(text)


def test_names_of_a_text():
    assert list(parse_pattern("add(matmul(x, w), x)")[1]) == ["x", "w"]


def same(mod, made):
    args = arguments(mod["plain"])
    np.testing.assert_allclose(
        evaluate(made, *args, name="plain"), evaluate(mod, *args, name="plain"), rtol=1e-5
    )


def test_calls_are_rewritten(mod):
    a, b = wildcard(), wildcard()
    pattern = is_op("relax.exp")(is_op("relax.add")(a, b))
    exp, multiply = get_op("relax.exp"), get_op("relax.multiply")
    made = rewrite_call(pattern, lambda e, found: multiply(exp(found[a]), exp(found[b])), mod["plain"])
    same(mod, mod.with_function("plain", made))
    words = [b.value.op.name for b in made.body.blocks[0].bindings]
    assert words == ["relax.matmul", "relax.matmul", "relax.exp", "relax.exp", "relax.multiply"]


def test_a_rewriter_that_gives_nothing_is_refused(mod):
    with pytest.raises(IRError, match="must give an expression"):
        rewrite_call(is_op("relax.exp")(wildcard()), lambda e, found: None, mod["plain"])


def parallel():
    with PatternContext() as context:
        x, w, v = wildcard(), wildcard(), wildcard()
        first, second = is_op("relax.matmul")(x, w), is_op("relax.matmul")(x, v)
        x.used_by(first, 0)
        x.used_by(second, 0)
        w.only_used_by(first, 1)
        v.only_used_by(second, 1)
    return context, x, w, v, first, second


def test_bindings_are_rewritten_together(mod):
    context, x, w, v, first, second = parallel()
    concat, matmul, split = [get_op(f"relax.{n}") for n in ("concat", "matmul", "split")]

    def rewriter(found, bindings):
        parts = split(matmul(found[x], concat((found[w], found[v]), axis=1)), 2, axis=1)
        return {found[first]: TupleGetItem(parts, 0), found[second]: TupleGetItem(parts, 1)}

    made = rewrite_bindings(context, rewriter, mod["plain"])
    same(mod, mod.with_function("plain", made))
    assert sum(getattr(b.value, "op", None) == matmul.op for b in made.body.blocks[0].bindings) == 1


def block(mod, name):
    return mod[name].body.blocks[0]


def test_constraints_between_patterns(mod):
    dfb = block(mod, "plain")
    with PatternContext() as context:
        chain = is_op("relax.matmul")(wildcard(), wildcard()) ^ is_op("relax.add")(wildcard(), wildcard())
        chain >> is_op("relax.exp")(wildcard())
    assert {v.name for v in context.match_dfb(dfb).values()} >= {"c", "d"}
    with PatternContext() as context:
        is_op("relax.matmul")(wildcard(), wildcard()) >> is_op("relax.exp")(wildcard())
    assert context.match_dfb(dfb) is None
    with PatternContext() as context:
        x = is_var("x")
        x >> is_op("relax.matmul")(x, wildcard())
    assert context.match_dfb(dfb) is None  # the other product uses it too
    with PatternContext() as context:
        x = is_var("x")
        x.fork_to(is_op("relax.matmul")(x, wildcard()), is_op("relax.matmul")(x, wildcard()))
        with PatternContext(incremental=True) as inner:
            x.used_by(is_op("relax.exp")(x))
    assert context.match_dfb(dfb) is not None and inner.match_dfb(dfb) is None


def test_shapes_that_must_agree(mod):
    for other, expected in (
        (is_op("relax.matmul")(wildcard(), wildcard()), True),
        (is_op("relax.reshape")(wildcard(), wildcard()), False),
    ):
        with PatternContext() as context:
            first = is_op("relax.add")(wildcard(), wildcard())
            other.used_by(first) if expected else is_op("relax.call_dps_packed")(
                wildcard(), wildcard()
            ).used_by(other)
            first.used_by(is_op("relax.add")(wildcard(), wildcard()))
            first.same_shape_as(other)
        assert (context.match_dfb(block(mod, "main")) is not None) == expected


def test_a_constraint_needs_a_context():
    with pytest.raises(IRError, match="outside of any context"):
        wildcard().used_by(wildcard())


RULES = """
from loopwright.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def pattern(x: R.Tensor(("n", "k"), "float32"), w: R.Tensor(("k", "m"), "float32"), v: R.Tensor(("k", "m"), "float32")):
        return (R.matmul(x, w), R.matmul(x, v))

    @R.function
    def replacement(x: R.Tensor(("n", "k"), "float32"), w: R.Tensor(("k", "m"), "float32"), v: R.Tensor(("k", "m"), "float32")):
        c = R.concat((w, v), axis=1)
        p = R.matmul(x, c)
        s = R.split(p, 2, axis=1)
        return (s[0], s[1])
"""


def test_functions_as_rules(mod):
    rule = PatternMatchingRewriter.from_module(from_source(RULES))
    made = rule(mod)
    same(mod, made)
    assert (
        len(
            [
                b
                for b in made["plain"].body.blocks[0].bindings
                if getattr(b.value, "op", None) == get_op("relax.matmul").op
            ]
        )
        == 1
    )
    assert isinstance(made["plain"].body.ty, TensorType) and not isinstance(made["plain"].body.ty, TupleType)


def test_rules_are_joined(mod):
    a = wildcard()
    exp, sin, cos = [get_op(f"relax.{n}") for n in ("exp", "sin", "cos")]
    first = PatternMatchingRewriter.from_pattern(is_op("relax.exp")(a), lambda e, found: sin(found[a]))
    second = PatternMatchingRewriter.from_pattern(is_op("relax.sin")(a), lambda e, found: cos(found[a]))
    made = (first | second)(mod["plain"])
    assert made.body.blocks[0].bindings[-1].value.op == cos.op
    assert first(exp(mod["plain"].params[0])).op == sin.op


def test_a_replacement_waits_for_its_operands():
    rule = PatternMatchingRewriter.from_module(from_source(RULES))
    late = from_source(
        """
from loopwright.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def plain(x: R.Tensor((2, 2), "float32"), w: R.Tensor((2, 2), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            v = R.exp(a)
            b = R.matmul(x, v)
            c = R.add(a, b)
            R.output(c)
        return c
"""
    )
    assert rule(late) is late


def test_rules_bring_private_functions_along(mod):
    rule = from_source(
        """
from loopwright.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def pattern(x: R.Tensor((2, 2), "float32")):
        return R.exp(x)

    @R.function
    def replacement(x: R.Tensor((2, 2), "float32")):
        cls = Module
        return cls.main(x)

    @R.function(private=True)
    def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
        y = R.exp(R.add(x, R.const(0.0)))
        return y
"""
    )
    made = PatternMatchingRewriter.from_module(rule)(mod)
    same(mod, made)
    assert len(made.functions) == len(mod.functions) + 1
    public = rule.with_function("main", rule["main"].with_attr("global_symbol", "main"))
    with pytest.raises(ValueError, match="publicly exposed"):
        PatternMatchingRewriter.from_module(public)
