"""Visitors, rewriters and what is built from them."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.errors import IRError
from loopwright.ir import (
    Add,
    AllocBuffer,
    AttrStmt,
    BinaryOp,
    Bind,
    BlockRef,
    BufferLoad,
    BufferRegion,
    BufferStore,
    BufferType,
    Call,
    Evaluate,
    Expr,
    FloatImm,
    For,
    GlobalVar,
    IntImm,
    IRModule,
    IterVar,
    Let,
    MatchBufferRegion,
    Mul,
    PrimFunc,
    Range,
    Rewriter,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Var,
    Visitor,
    check_well_formed,
    children,
    definitions,
    find,
    free_vars,
    renew_definitions,
    structural_equal,
    substitute,
    walk,
)

# visitors


class Names(Visitor):
    def __init__(self):
        self.used, self.defined = [], []

    def visit_Var(self, var):
        self.used.append(var.name)

    def define(self, var):
        super().define(var)
        self.defined.append(var.name)


def sample():
    n, i, x = Var("n"), Var("i"), Var("x")
    a = Var("A", BufferType("float32", (n,)))
    body = SeqStmt([Bind(x, Add(i, n)), BufferStore(a, FloatImm("float32", 1.0), (x,))])
    return PrimFunc([a, n], For(i, 0, n, "serial", body))


def test_uses_and_definitions_are_told_apart():
    names = Names()
    names(sample())
    assert names.defined == ["n", "A", "i", "x"]
    assert names.used == ["n", "n", "i", "n", "A", "x"]


def test_a_method_serves_the_classes_below_its_own():
    class Seen(Visitor):
        def __init__(self):
            self.seen = []

        def visit_BinaryOp(self, node):
            self.seen.append(("binary", type(node).__name__))
            self.visit_fields(node)

        def visit_Mul(self, node):
            self.seen.append(("mul", "Mul"))
            self.visit_fields(node)

        def visit_Expr(self, node):
            self.seen.append(("expr", type(node).__name__))

    seen = Seen()
    seen(Mul(Add(Var("x"), Var("y")), IntImm("int32", 2)))
    assert seen.seen == [
        ("mul", "Mul"),
        ("binary", "Add"),
        ("expr", "Var"),
        ("expr", "Var"),
        ("expr", "IntImm"),
    ]


def test_subclasses_override_methods():
    class One(Visitor):
        def visit_Add(self, node):
            return "one"

    class Two(One):
        def visit_Add(self, node):
            return super().visit_Add(node) + " two"

    assert One()(Add(Var("x"), Var("y"))) == "one"
    assert Two()(Add(Var("x"), Var("y"))) == "one two"


def test_what_is_no_node_is_refused():
    with pytest.raises(IRError, match="a int is not a node"):
        Visitor()(3)


def test_attributes_are_visited():
    x = Var("x")
    names = Names()
    names(For(Var("i"), 0, 4, "serial", Evaluate(0), annotations={"k": [1, {"deep": x}]}))
    assert names.used == ["x"]


def test_functions_of_a_module_are_visited():
    names = Names()
    names(IRModule({"f": sample(), "g": Evaluate(Var("free"))}))
    assert names.used.count("free") == 1 and names.defined.count("A") == 1


# walking


@given(data=st.data())
def test_walk_gives_each_node_once_children_first(programs, data):
    func = data.draw(programs.funcs)
    order = list(walk(func))
    place = {id(n): i for i, n in enumerate(order)}
    assert len(place) == len(order)
    for node in order:
        for child in children(node):
            assert place[id(child)] < place[id(node)]
    assert order[-1] is func
    outer = list(walk(func, outer_first=True))
    assert outer[0] is func and {id(n) for n in outer} == set(place)


def test_find_is_in_program_order():
    func = sample()
    assert [type(n).__name__ for n in find(func, (For, Bind, BufferStore))] == ["For", "Bind", "BufferStore"]


# free variables


@given(data=st.data())
def test_whole_functions_have_no_free_variables(programs, data):
    func = data.draw(programs.funcs)
    assert free_vars(func) == []
    inside = {v for n in walk(func) for v in definitions(n)}
    assert all(v in inside or isinstance(v.ty, BufferType) or v.ty == "int32" for v in free_vars(func.body))


def test_free_variables_come_in_order_of_use():
    x, y, i = Var("x"), Var("y"), Var("i")
    assert free_vars(For(i, y, x, "serial", Evaluate(Add(i, y)))) == [y, x]
    assert free_vars(Let(x, y, Add(x, y))) == [y]


def test_the_type_of_a_free_buffer_is_not_looked_into():
    n = Var("n")
    a = Var("A", BufferType("float32", (n,)))
    assert free_vars(Evaluate(BufferLoad(a, (0,)))) == [a]
    assert free_vars(SeqStmt([AllocBuffer(a), Evaluate(0)])) == [n]


# rewriting


@given(data=st.data())
def test_a_rewriter_that_changes_nothing_gives_the_same_object(programs, data):
    mod = data.draw(programs.modules)
    assert Rewriter()(mod) is mod


@given(data=st.data())
def test_an_unchanged_part_keeps_its_identity(programs, data):
    func = data.draw(programs.funcs)

    class Bump(Rewriter):
        def visit_FloatImm(self, node):
            return FloatImm(node.ty, 1.0) if node.value == 0.0 else node

    new = Bump()(func)
    if not [n for n in find(func, FloatImm) if n.value == 0.0]:
        assert new is func
    assert new.params[0] is func.params[0]


def test_statements_may_become_sequences():
    class Double(Rewriter):
        def visit_Evaluate(self, node):
            return SeqStmt([node, node])

    body = SeqStmt([Evaluate(1), Bind(Var("x"), 1)])
    assert len(Double()(body).seq) == 3
    assert isinstance(Double()(For(Var("i"), 0, 1, "serial", Evaluate(1))).body, SeqStmt)


def test_spans_and_attributes_survive_rewriting():
    from loopwright.errors import Span

    span = Span("f.py", 1, 1, 1, 5)
    x, y = Var("x"), Var("y")
    loop = For(Var("i"), 0, x, "serial", Evaluate(0), annotations={"k": (1, x)}, span=span)
    new = substitute(loop, {x: y})
    assert new.span is span and new.annotations["k"][1] is y and new.loop_var is loop.loop_var


def test_a_buffer_whose_type_changes_is_renewed_with_its_uses():
    func = sample()
    n = func.params[1]
    new = substitute(func, {n: 16})
    a = new.params[0]
    assert a is not func.params[0] and int(a.ty.shape[0]) == 16
    assert find(new, BufferStore)[0].buffer is a
    assert free_vars(new) == []


def test_substitution_is_simultaneous_and_takes_numbers():
    x, y = Var("x"), Var("y", "float32")
    z = Var("z")
    assert structural_equal(substitute(Add(x, z), {x: z, z: x}), Add(z, x))
    assert structural_equal(substitute(y, {y: 2}), FloatImm("float32", 2.0))
    assert substitute(Add(x, z), {}).a is x
    expr = Add(x, z)
    assert substitute(expr, {y: 1.0}) is expr


def test_a_definition_follows_when_mapped_to_a_variable():
    i, j = Var("i"), Var("j")
    new = substitute(For(i, 0, 4, "serial", Evaluate(i)), {i: j})
    assert new.loop_var is j and new.body.value is j


def test_sharing_survives_substitution():
    x, y = Var("x"), Var("y")
    e = x
    for _ in range(200):
        e = Add(e, e)
    new = substitute(e, {x: y})
    assert len(list(walk(new))) == 201 and free_vars(new) == [y]


# fresh definitions


@given(data=st.data())
def test_renewed_programs_share_no_definition(programs, data):
    func = data.draw(programs.funcs)
    new = renew_definitions(func)
    assert structural_equal(func, new)
    old_vars = {n for n in walk(func) if isinstance(n, Var)}
    assert not old_vars & {n for n in walk(new) if isinstance(n, Var)}
    old_blocks = {b.ref for b in find(func, SBlock)}
    assert not old_blocks & {b.ref for b in find(new, SBlock)}
    assert check_well_formed(IRModule({"f": func, "g": new})) == []


@given(data=st.data())
def test_free_variables_are_not_renewed(programs, data):
    body = data.draw(programs.funcs).body
    assert free_vars(renew_definitions(body)) == free_vars(body)
    assert structural_equal(renew_definitions(body), body)


def test_names_and_types_are_kept():
    func = sample()
    new = renew_definitions(func)
    assert [p.name for p in new.params] == ["A", "n"]
    assert new.params[0].ty.shape[0] is new.params[1]


def test_a_let_shared_by_two_places_is_renewed_at_each():
    x, y = Var("x"), Var("y")
    let = Let(x, y, Add(x, x))
    new = renew_definitions(Evaluate(Add(let, let)))
    assert new.value.a.var is not new.value.b.var
    assert check_well_formed(PrimFunc([y], new)) == []


def test_symbols_of_a_matched_region_are_renewed():
    a = Var("A", BufferType("float32", (16,)))
    s = Var("s")
    view = Var("B", BufferType("float32", (4,), (s,)))
    match = MatchBufferRegion(view, BufferRegion(a, [Range(0, 4)]))
    block = SBlock([], [], [], "b", BufferStore(view, FloatImm("float32", 0.0), (s,)), match_buffers=[match])
    new = renew_definitions(block)
    (fresh,) = new.match_buffers
    assert fresh.buffer.ty.strides[0] is not s and new.body.indices[0] is fresh.buffer.ty.strides[0]
    assert new.ref is not block.ref and isinstance(new.ref, BlockRef)


def test_thread_axes_define_their_variable():
    tx = IterVar(Range(0, 4), Var("tx"), IterVar.THREAD_INDEX, "threadIdx.x")
    stmt = AttrStmt(tx, "thread_extent", 4, Evaluate(tx.var))
    assert free_vars(stmt) == []
    new = renew_definitions(stmt)
    assert new.node.var is not tx.var and new.body.value is new.node.var


def test_block_axes_are_renewed_with_their_uses():
    i = Var("i")
    axis = IterVar(Range(0, 4), Var("v"), IterVar.DATA_PAR)
    realize = SBlockRealize([i], True, SBlock([axis], [], [], "b", Evaluate(axis.var)))
    new = renew_definitions(realize)
    assert new.iter_values[0] is i
    assert new.block.body.value is new.block.iter_vars[0].var is not axis.var


def test_global_names_and_operators_are_visited():
    class Rename(Rewriter):
        def visit_GlobalVar(self, node):
            return GlobalVar(node.name + "_2")

    new = Rename()(Evaluate(Call(GlobalVar("f"), [1], "int32")))
    assert new.value.op.name == "f_2"


# deep programs


@pytest.mark.parametrize("name", ["chain", "statements", "loops"])
def test_deep_programs(programs, name):
    func = programs.deep[name]()
    a = func.params[0]
    b = Var("B", BufferType("float32", (16,)))

    def all_ways():
        assert sum(1 for _ in walk(func)) > 200
        assert Rewriter()(func) is func
        assert free_vars(func) == [] and free_vars(func.body) == [a]
        assert free_vars(substitute(func.body, {a: b})) == [b]
        assert free_vars(renew_definitions(func)) == []
        count = _Count()
        count(func)
        assert count.stores >= 1
        assert find(func, BufferStore)

    all_ways()
    failures: list[BaseException] = []

    def guarded():
        try:
            all_ways()
        except BaseException as err:
            failures.append(err)

    threads = [threading.Thread(target=guarded) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []


class _Count(Visitor):
    stores = 0

    def visit_BufferStore(self, node):
        self.stores += 1
        self.visit_fields(node)


def test_tables_are_per_class():
    assert isinstance(BinaryOp, type) and issubclass(BinaryOp, Expr)
    assert Names._table is not _Count._table
