"""Equality, hashing, renewing and free variables of graphs."""

from __future__ import annotations

from typing import Any

from loopwright import ir
from loopwright.ir import Call, FuncType, Tuple, Var
from loopwright.ir.relax import (
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    Function,
    If,
    MatchCast,
    SeqExpr,
    ShapeExpr,
    TensorType,
    VarBinding,
    get_op,
)

EXP, ADD = get_op("relax.exp"), get_op("relax.add")


def tensor(name: str = "x", *shape: Any, kind: type[Var] = Var) -> Var:
    return kind(name, TensorType(shape or (4,), "float32"))


def same(a: Any, b: Any) -> bool:
    equal = ir.structural_equal(a, b)
    assert not equal or ir.structural_hash(a) == ir.structural_hash(b)
    assert (ir.explain_difference(a, b) is None) == equal
    return equal


def chain(kind: type[Var] = Var, block: type[BindingBlock] = BindingBlock, swap: bool = False) -> Function:
    x, y = tensor("x"), tensor("y", kind=kind)
    z = tensor("z")
    value = ADD(y, x) if swap else ADD(x, y)
    return Function([x], SeqExpr([block([VarBinding(y, EXP(x)), VarBinding(z, value)])], z), None)


def test_names_do_not_count_and_places_do() -> None:
    assert same(chain(), chain())
    assert not same(chain(), chain(swap=True))
    assert not same(chain(), chain(block=DataflowBlock))
    assert not same(chain(DataflowVar, DataflowBlock), chain(block=DataflowBlock))


def test_a_size_of_a_parameter_is_no_later_variable() -> None:
    def shape(swap: bool) -> Function:
        n, m = Var("n", "int64"), Var("m", "int64")
        x = tensor("x", n)
        result = ShapeExpr([n if swap else m])
        return Function([x], SeqExpr([BindingBlock([VarBinding(m, n + 1)])], result), None)

    assert ir.structural_hash(shape(False)) != ir.structural_hash(shape(True))
    assert same(shape(False), shape(False)) and not same(shape(False), shape(True))


def two_blocks(swap: bool) -> SeqExpr:
    x = tensor("x")
    a, b, c = tensor("a"), tensor("b"), tensor("c")
    value = ADD(b, a) if swap else ADD(a, b)
    blocks = [DataflowBlock([VarBinding(v, EXP(x))]) for v in (a, b)]
    return Function([x], SeqExpr([*blocks, BindingBlock([VarBinding(c, value)])], c), None).body


def test_what_a_block_binds_is_seen_in_later_blocks() -> None:
    assert ir.structural_hash(two_blocks(False)) != ir.structural_hash(two_blocks(True))


def test_blocks_are_joined() -> None:
    x, a, b = tensor("x"), tensor("a"), tensor("b")
    one, two = VarBinding(a, EXP(x)), VarBinding(b, EXP(a))
    seq = SeqExpr([BindingBlock([]), BindingBlock([one]), DataflowBlock([]), BindingBlock([two])], b)
    assert len(seq.blocks) == 1 and seq.blocks[0].bindings == (one, two)
    flows = SeqExpr([DataflowBlock([one]), DataflowBlock([two])], b)
    assert len(flows.blocks) == 2


def function_type(swap: bool = False) -> FuncType:
    n, m = Var("n", "int64"), Var("m", "int64")
    return FuncType([TensorType((n, m), "float32")], TensorType((m, n) if swap else (n, m), "float32"))


def test_the_symbols_of_a_function_type_are_its_own() -> None:
    assert same(function_type(), function_type())
    assert not same(function_type(), function_type(swap=True))
    assert ir.free_vars(Function([Var("f", function_type())], Tuple([]), None)) == []
    ty = function_type()
    renewed = ir.renew_definitions(Function([Var("f", ty)], Tuple([]), None))
    assert not set(ir.type_vars(ty)) & set(ir.type_vars(renewed.params[0].ty))


def test_symbols_from_outside_are_not() -> None:
    n, k = Var("n", "int64"), Var("k", "int64")

    def outer(inner_size: Any) -> Function:
        x, y = tensor("x", n), tensor("y", k)
        ty = FuncType([TensorType((inner_size,), "float32")], TensorType((inner_size,), "float32"))
        return Function([x, y, Var("f", ty)], x, None)

    assert same(outer(n), outer(n))
    assert not same(outer(n), outer(k))


def nested(size_of_alias: bool) -> Function:
    x, n = tensor("x"), Var("n", "int64")
    a = tensor("a", n)
    inner = Function([a], a, None)
    f, g = Var("f", inner.ty), Var("g", inner.ty if size_of_alias else function_type())
    block = BindingBlock([VarBinding(f, inner), VarBinding(g, f)])
    return Function([x], SeqExpr([block], x), None)


def test_functions_inside_of_functions() -> None:
    func = nested(True)
    assert same(func, nested(True)) and not same(func, nested(False))
    renewed = ir.renew_definitions(func)
    assert same(func, renewed)
    old = {id(v) for n in ir.walk(func) for v in ir.definitions(n)}
    assert not old & {id(v) for n in ir.walk(renewed) for v in ir.definitions(n)}


def test_renewing_and_substituting_keep_the_class_of_a_variable() -> None:
    n = Var("n", "int64")
    x, y = tensor("x", n), tensor("y", n, kind=DataflowVar)
    func = Function([x], SeqExpr([DataflowBlock([VarBinding(y, EXP(x))])], x), None)
    for changed in (ir.renew_definitions(func), ir.substitute(func, {n: 4})):
        (binding,) = changed.body.blocks[0].bindings
        assert type(binding.var) is DataflowVar and binding.var is not y


def test_free_variables_of_pieces() -> None:
    n, k = Var("n", "int64"), Var("k", "int64")
    x, y, z = tensor("x", n), tensor("y", n), tensor("z", k)
    seq = SeqExpr([BindingBlock([VarBinding(y, EXP(x)), MatchCast(z, y, z.ty)])], z)
    assert ir.free_vars(Function([x], seq, None)) == []
    assert x in ir.free_vars(seq) and y not in ir.free_vars(seq) and k not in ir.free_vars(seq)
    c = Var("c", "bool")
    assert set(ir.free_vars(If(c, seq, x))) >= {c, x}
    assert ir.free_vars(Call("relax.exp", (x,), x.ty)) == [x, n]


def test_branches_do_not_leak_into_each_other() -> None:
    def branches(swap: bool) -> Function:
        c, x = Var("c", "bool"), tensor("x")
        a, b, out = tensor("a"), tensor("b"), tensor("out")
        one = SeqExpr([BindingBlock([VarBinding(a, EXP(x))])], a)
        two = SeqExpr([BindingBlock([VarBinding(b, EXP(x))])], x if swap else b)
        return Function([c, x], SeqExpr([BindingBlock([VarBinding(out, If(c, one, two))])], out), None)

    assert same(branches(False), branches(False)) and not same(branches(False), branches(True))
