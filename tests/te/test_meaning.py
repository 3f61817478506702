"""Generated tensor expressions: the program computes what the expressions say, element by element."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import loopwright
from loopwright import te
from loopwright.ir import For, IRModule, IterVar, Var, check_well_formed, find, structural_equal, walk

SIZES = st.integers(1, 3)
LEAVES = ("load", "index", "const")


@st.composite
def expressions(draw, inputs, axes, depth=2):
    """A tree of tuples: an expression of elements of the inputs (by rank) and of the axes."""
    kind = draw(
        st.sampled_from(LEAVES if depth == 0 else (*LEAVES, "load", "+", "-", "*", "min", "max", "select"))
    )
    if kind == "load":
        which = draw(st.integers(0, len(inputs) - 1))
        return ("load", which, tuple(draw(places(axes)) for _ in range(inputs[which])))
    if kind == "index" and axes:
        return ("index", draw(st.integers(0, axes - 1)))
    if kind in ("index", "const"):
        return ("const", draw(st.integers(-3, 3)))
    parts = [draw(expressions(inputs, axes, depth - 1)) for _ in range(2)]
    if kind == "select":
        return ("select", draw(expressions(inputs, axes, depth - 1)), *parts)
    return (kind, *parts)


@st.composite
def places(draw, axes):
    """An index: a sum of axes with factors, and a constant; the size is taken modulo when it is used."""
    return tuple(draw(st.integers(-2, 2)) for _ in range(axes)), draw(st.integers(-2, 2))


def evaluate(tree, axes, loads, ops):
    """The value of a tree: expression nodes or Python numbers, as `ops` has it."""
    kind, *rest = tree
    if kind == "const":
        return rest[0]
    if kind == "index":
        return axes[rest[0]]
    if kind == "load":
        which, indices = rest
        load, shape = loads[which]
        where = []
        for (factors, constant), size in zip(indices, shape):
            total = constant
            for factor, axis in zip(factors, axes):
                total = total + axis * factor
            where.append(total % size)
        return load(*where)
    values = [evaluate(part, axes, loads, ops) for part in rest]
    if kind == "select":
        return ops["select"](values[0] > 0, values[1], values[2])
    if kind in "+-*":
        return {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}[kind](*values)
    return ops[kind](*values)


SYMBOLIC = {
    "min": lambda a, b: te.min(a, b) if not isinstance(a, int) or not isinstance(b, int) else min(a, b),
    "max": lambda a, b: te.max(a, b) if not isinstance(a, int) or not isinstance(b, int) else max(a, b),
    "select": lambda c, a, b: te.if_then_else(c, te.const(a) if isinstance(a, int) else a, b),
}
PLAIN = {"min": min, "max": max, "select": lambda c, a, b: a if c else b}
REDUCERS = {
    "sum": (te.sum, lambda values: sum(values)),
    "prod": (te.prod, lambda values: int(np.prod(values, dtype=object)) if values else 1),
    "min": (te.min, lambda values: min(values, default=2**31 - 1)),
    "max": (te.max, lambda values: max(values, default=-(2**31))),
}


@st.composite
def stages(draw, ranks):
    """One computed tensor: its shape, what it reduces by, over what sizes, where, and its expressions."""
    shape = tuple(draw(st.lists(SIZES, max_size=2)))
    reducer = draw(st.sampled_from([None, None, *REDUCERS]))
    reduced = tuple(draw(st.lists(SIZES, min_size=1, max_size=2))) if reducer else ()
    axes = len(shape) + len(reduced)
    tree = draw(expressions(ranks, axes))
    where = draw(st.none() | expressions(ranks, axes, 1)) if reducer else None
    start = draw(st.none() | expressions(ranks, len(shape), 1)) if reducer else None
    triangle = bool(reducer) and bool(shape) and draw(st.booleans())
    return shape, reducer, reduced, tree, where, start, triangle


@st.composite
def programs(draw):
    """Input shapes, and stages that read the inputs and each other."""
    inputs = [tuple(draw(st.lists(SIZES, max_size=2))) for _ in range(draw(st.integers(1, 2)))]
    ranks = [len(s) for s in inputs]
    made = []
    for _ in range(draw(st.integers(1, 3))):
        made.append(draw(stages(list(ranks))))
        ranks.append(len(made[-1][0]))
    return inputs, made


def clamp(value, ops):
    return ops["max"](ops["min"](value, 9), -9)


def build(program):
    """The placeholders and the tensors of all stages."""
    inputs, made = program
    tensors = [te.placeholder(s, "int32", f"in{n}") for n, s in enumerate(inputs)]
    count = len(tensors)
    for n, (shape, reducer, reduced, tree, where, start, triangle) in enumerate(made):
        loads = [(t, [int(d) for d in t.shape]) for t in tensors]

        def value(*axes, loads=loads, stage=made[n], n=n):
            shape, reducer, reduced, tree, where, start, triangle = stage
            over = [te.reduce_axis((0, size), f"k{n}_{i}") for i, size in enumerate(reduced)]
            if triangle:
                over[0] = te.reduce_axis((0, axes[0] + 1), "t")
            every = [*axes, *[k.var for k in over]]
            result = evaluate(tree, every, loads, SYMBOLIC)
            result = te.const(result) if isinstance(result, int) else result
            if reducer is None:
                return clamp(result, SYMBOLIC)
            condition = None if where is None else _condition(evaluate(where, every, loads, SYMBOLIC))
            init = None if start is None else evaluate(start, list(axes), loads, SYMBOLIC)
            return REDUCERS[reducer][0](clamp(result, SYMBOLIC), axis=over, where=condition, init=init)

        tensors.append(te.compute(shape, value, f"stage{n}"))
    return tensors[:count], tensors[count:]


def _condition(value):
    return te.const(value > 0, "bool") if isinstance(value, int) else value > 0


def meaning(program, arrays):
    """The arrays of all stages, computed with Python's numbers."""
    inputs, made = program
    known = list(arrays)
    for shape, reducer, reduced, tree, where, start, triangle in made:
        loads = [(lambda *i, a=a: int(a[i]), a.shape) for a in known]
        out = np.zeros(shape, "int64")
        for at in np.ndindex(*shape):
            if reducer is None:
                out[at] = clamp(evaluate(tree, at, loads, PLAIN), PLAIN)
                continue
            sizes = (at[0] + 1, *reduced[1:]) if triangle else reduced
            values = []
            for over in itertools.product(*[range(size) for size in sizes]):
                every = (*at, *over)
                if where is None or evaluate(where, every, loads, PLAIN) > 0:
                    values.append(clamp(evaluate(tree, every, loads, PLAIN), PLAIN))
            if start is not None:
                values.insert(0, evaluate(start, at, loads, PLAIN))
            out[at] = REDUCERS[reducer][1](values)
        known.append(out)
    return known[len(inputs) :]


def run(func, arrays, shapes):
    outs = [np.zeros(s, "int32") for s in shapes]
    func.interpret(*[np.array(a) for a in arrays], *outs)
    return outs


def data_for(program, seed):
    rng = np.random.default_rng(seed)
    return [rng.integers(-4, 5, s).astype("int32") for s in program[0]]


@given(programs(), st.integers(0, 99))
def test_the_function_computes_what_the_expressions_say(program, seed):
    placeholders, outputs = build(program)
    arrays = data_for(program, seed)
    wanted = meaning(program, arrays)
    func = te.create_prim_func([*placeholders, *outputs])
    assert check_well_formed(IRModule({"main": func})) == []
    text = func.script()
    assert structural_equal(loopwright.parse(text), func)
    for got, want in zip(run(func, arrays, [w.shape for w in wanted]), wanted):
        np.testing.assert_array_equal(got, want)


@given(programs(), st.integers(0, 99))
def test_tensors_that_are_no_parameters_are_computed_too(program, seed):
    placeholders, outputs = build(program)
    arrays = data_for(program, seed)
    want = meaning(program, arrays)[-1]
    func = te.create_prim_func([*placeholders, outputs[-1]])
    assert check_well_formed(IRModule({"main": func})) == []
    np.testing.assert_array_equal(run(func, arrays, [want.shape])[0], want)


@given(programs(), st.integers(0, 99))
def test_an_index_dtype_changes_indices_and_no_result(program, seed):
    placeholders, outputs = build(program)
    arrays = data_for(program, seed)
    wanted = meaning(program, arrays)
    func = te.create_prim_func([*placeholders, *outputs], index_dtype_override="int64")
    assert check_well_formed(IRModule({"main": func})) == []
    assert {loop.loop_var.dtype for loop in find(func, For)} <= {"int64"}
    assert {axis.var.dtype for axis in find(func, IterVar)} <= {"int64"}
    assert all(d.dtype == "int64" for p in func.params for d in p.shape)
    for got, want in zip(run(func, arrays, [w.shape for w in wanted]), wanted):
        np.testing.assert_array_equal(got, want)


@given(programs())
def test_two_functions_of_the_same_tensors_are_equal_and_share_no_variable(program):
    placeholders, outputs = build(program)
    one = te.create_prim_func([*placeholders, *outputs])
    two = te.create_prim_func([*placeholders, *outputs])
    assert structural_equal(one, two)
    both = IRModule(
        {"one": one.with_attr("global_symbol", "one"), "two": two.with_attr("global_symbol", "two")}
    )
    assert check_well_formed(both) == []
    assert not {v for v in walk(one) if isinstance(v, Var)} & {v for v in walk(two) if isinstance(v, Var)}


@given(programs())
def test_json_brings_an_equal_program_back(program):
    placeholders, outputs = build(program)
    loaded = te.load_json(te.save_json(outputs[-1]))
    assert str(loaded) == str(outputs[-1])
    again = {t.name: t for op in _operations(loaded.op) for t in op.outputs()}
    args = [again.get(p.name) for p in placeholders]
    used = [p for p, a in zip(placeholders, args) if a is not None]
    one = te.create_prim_func([*used, outputs[-1]])
    assert structural_equal(te.create_prim_func([*[a for a in args if a is not None], loaded]), one)


def _operations(op):
    yield op
    for tensor in op.input_tensors:
        yield from _operations(tensor.op)


def test_several_results_are_reduced_together():
    def combine(x, y):
        first = te.if_then_else(x[1] >= y[1], x[0], y[0])
        return first, te.max(x[1], y[1])

    argmax = te.comm_reducer(combine, lambda i, v: (te.const(-1, i), te.min_value(v)), name="argmax")
    n, m = te.var("n"), te.var("m")
    index, value = te.placeholder((n, m), "int32", "index"), te.placeholder((n, m), "float32", "value")
    k = te.reduce_axis((0, m), "k")
    which, largest = te.compute((n,), lambda i: argmax((index[i, k], value[i, k]), axis=k), name="argmax")
    func = te.create_prim_func([index, value, which, largest])
    values = np.random.default_rng(0).permutation(12).reshape(3, 4).astype("float32")
    places = np.tile(np.arange(4, dtype="int32"), (3, 1))
    got, top = np.zeros(3, "int32"), np.zeros(3, "float32")
    func.interpret(places, values, got, top)
    np.testing.assert_array_equal(got, values.argmax(1))
    np.testing.assert_array_equal(top, values.max(1))


@pytest.mark.parametrize("dtype", ["int8", "int32", "float32"])
def test_symbolic_shapes_run_at_every_size(dtype):
    n = te.var("n")
    a = te.placeholder((n,), dtype, "a")
    padded = te.compute(
        (n + 2,),
        lambda i: te.if_then_else(te.all(i >= 1, i - 1 < n), a[i - 1], te.const(0, dtype)),
        name="padded",
    )
    b = te.compute((n,), lambda i: padded[i] + padded[i + 1] + padded[i + 2], name="b")
    func = te.create_prim_func([a, b])
    for size in (1, 2, 5):
        x = np.arange(size).astype(dtype)
        out = np.zeros(size, dtype)
        func.interpret(x, out)
        np.testing.assert_array_equal(out, np.convolve(x, [1, 1, 1])[1:-1].astype(dtype))
