"""Lowering keeps what programs compute, gives the form that back ends expect, and refuses by name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from loopwright.errors import ExecutionError, PassError
from loopwright.ir import (
    AllocBuffer,
    BufferLoad,
    BufferStore,
    For,
    ForKind,
    IRModule,
    Ramp,
    SBlock,
    check_well_formed,
    find,
    structural_equal,
)
from loopwright.script import parse
from loopwright.testing.results import assert_same_results, sample_arguments
from loopwright.testing.strategies import prim_funcs
from loopwright.transform import CPU_PIPELINE, PassContext, lower


class Writer:
    """Draws script text of loops over 8x8 buffers; indices are taken modulo 8 where they might leave."""

    def __init__(self, draw):
        self.draw = draw
        self.lines: list[str] = []
        self.count = 0

    def pick(self, *options):
        return self.draw(st.sampled_from(options))

    def number(self, low, high):
        return self.draw(st.integers(low, high))

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def index(self, loops):
        terms = [
            f"{v} * {self.number(1, 3)}" if self.number(0, 3) == 0 else v for v in loops if self.number(0, 1)
        ]
        if self.number(0, 2) == 0 or not terms:
            terms.append(str(self.number(0, 9)))
        text = " + ".join(terms)
        plain = len(terms) == 1 and terms[0] in loops
        if plain and self.number(0, 3):
            return text
        return f"({text}) % 8" if self.number(0, 2) else f"({text}) // {self.number(2, 4)} % 8"

    def value(self, loops, buffers, depth=2):
        kind = self.number(0, 6)
        if depth == 0 or kind == 0:
            return self.pick(*loops, str(self.number(-3, 9)))
        if kind <= 2:
            return f"{self.pick(*buffers)}[{self.index(loops)}, {self.index(loops)}]"
        a, b = self.value(loops, buffers, depth - 1), self.value(loops, buffers, depth - 1)
        if kind == 3:
            return f"T.if_then_else({self.condition(loops, buffers)}, {a}, {b})"
        if kind == 4:
            return f"T.Select({self.condition(loops, buffers)}, {a}, {b})"
        return (
            f"({a} {self.pick('+', '-', '*')} {b})"
            if self.number(0, 3)
            else f"T.{self.pick('min', 'max')}({a}, {b})"
        )

    def condition(self, loops, buffers):
        kind = self.number(0, 3)
        left = self.pick(*loops)
        if kind == 0:
            return f"{self.pick(*buffers)}[{self.index(loops)}, {self.index(loops)}] > {self.number(0, 4)}"
        if kind == 1 and len(loops) > 1:
            return f"{left} * {self.number(1, 4)} + {self.pick(*loops)} < {self.number(1, 20)}"
        if kind == 2:
            return f"{left} > {self.number(0, 3)} and {self.condition(loops, buffers)}"
        return f"{left} {self.pick('<', '>=', '==', '!=')} {self.number(0, 7)}"

    def block(self, indent, loops, buffers, target):
        """A block over the loops around it; sometimes a reduction over the innermost one."""
        pad = "    " * indent
        name = self.name("b")
        axes = [self.name("v") for _ in loops]
        reduces = len(loops) > 1 and self.number(0, 2) == 0
        self.lines.append(f"{pad}with T.sblock('{name}'):")
        for k, (axis, loop) in enumerate(zip(axes, loops)):
            kind = "reduce" if reduces and k == len(loops) - 1 else "opaque"
            self.lines.append(f"{pad}    {axis} = T.axis.{kind}(8, {loop})")
        if self.number(0, 3) == 0:
            self.lines.append(f"{pad}    T.where({self.condition(loops, ['A'])})")
        spatial = axes[:-1] if reduces else axes
        place = f"{target}[{self.index(spatial)}, {self.index(spatial)}]"
        if reduces:
            self.lines += [f"{pad}    with T.init():", f"{pad}        {place} = {self.number(0, 3)}"]
            self.lines.append(f"{pad}    {place} = {place} + {self.value(axes, buffers, 1)}")
        else:
            self.lines.append(f"{pad}    {place} = {self.value(axes, buffers)}")

    def statement(self, indent, loops, buffers, target, depth):
        pad = "    " * indent
        kind = self.number(0, 7)
        if depth and kind <= 3:
            self.loop(indent, loops, buffers, target, depth - 1)
        elif kind == 4 and loops:
            self.lines.append(f"{pad}if {self.condition(loops, buffers)}:")
            self.statement(indent + 1, loops, buffers, target, depth and depth - 1)
            if self.number(0, 1):
                self.lines.append(f"{pad}else:")
                self.statement(indent + 1, loops, buffers, target, 0)
        elif kind == 5 and loops:
            name = self.name("t")
            self.lines.append(f"{pad}{name}: T.let[T.int32] = {self.value(loops, buffers)}")
            place = f"{target}[{self.index(loops)}, {self.index(loops)}]"
            self.lines.append(f"{pad}{place} = {name} + {self.value(loops, buffers, 1)}")
        elif kind == 6 and loops:
            name = self.name("x")
            self.lines.append(f"{pad}{name}: T.int32 = {self.value(loops, buffers)}")
            inner = self.name("k")
            self.lines.append(f"{pad}for {inner} in range({self.number(1, 3)}):")
            self.lines.append(f"{pad}    {name} = {name} * 2 + {self.value([*loops, inner], buffers, 1)}")
            self.lines.append(f"{pad}{target}[{self.index(loops)}, {self.index(loops)}] = {name}")
        elif loops and self.number(0, 1):
            self.block(indent, loops, buffers, target)
        elif loops:
            self.lines.append(
                f"{pad}{target}[{self.index(loops)}, {self.index(loops)}] = {self.value(loops, buffers)}"
            )
        else:
            self.loop(indent, loops, buffers, target, depth)

    def loop(self, indent, loops, buffers, target, depth):
        pad, var = "    " * indent, self.name("i")
        kind = self.pick("range", "range", "range", "T.vectorized", "T.vectorized", "T.unroll", "T.parallel")
        start = self.number(0, 2) if self.number(0, 3) == 0 else 0
        step = f", step={self.number(1, 3)}" if kind != "range" and self.number(0, 4) == 0 else ""
        if kind == "range" and self.number(0, 4) == 0:
            step = f", {self.number(1, 3)}"
            self.lines.append(f"{pad}for {var} in range({start}, {self.number(start + 1, 8)}{step}):")
        else:
            self.lines.append(f"{pad}for {var} in {kind}({start}, {self.number(start + 1, 8)}{step}):")
        if kind in ("range", "T.unroll") and self.number(0, 5) == 0:
            jump = self.pick("break", "continue")
            self.lines += [f"{pad}    if {self.condition([*loops, var], buffers)}:", f"{pad}        {jump}"]
        for _ in range(self.number(1, 2)):
            self.statement(
                indent + 1,
                [*loops, var],
                buffers,
                target if self.number(0, 2) else self.pick(*buffers),
                depth,
            )


@st.composite
def programs(draw):
    """The text of a function of two int32 buffers; it may read cells that nothing was written to."""
    w = Writer(draw)
    locals_ = [f"L{k}" for k in range(w.number(0, 2))]
    w.lines += [
        "@T.prim_func(s_tir=True)",
        "def f(A: T.Buffer((8, 8), 'int32'), B: T.Buffer((8, 8), 'int32')):",
    ]
    w.lines += [f"    {name} = T.sblock_alloc_buffer((8, 8), 'int32')" for name in locals_]
    known = ["A", "B"]
    for name in locals_:
        if w.number(0, 2):
            i, j = w.name("i"), w.name("j")
            w.lines += [
                f"    for {i}, {j} in T.grid(8, 8):",
                f"        {name}[{i}, {j}] = A[{i}, {j}] + {w.number(0, 9)}",
            ]
        known.append(name)
    if locals_ and w.number(0, 1):
        # producer and consumer under one loop, which an allocation may move into
        i, j, k = w.name("i"), w.name("j"), w.name("k")
        name, shift = locals_[0], w.number(0, 2)
        rows = w.pick(i, "0", f"({i} + {shift}) % 8")
        w.lines += [f"    for {i} in range(8):"]
        w.lines += [f"        for {j} in {w.pick('range', 'T.vectorized')}({w.pick(8, 8, 7)}):"]
        w.block(3, [i, j], ["A", "B"], name) if w.number(0, 2) == 0 else w.lines.append(
            f"            {name}[{i}, {j}] = A[{i}, {j}] * 2"
        )
        w.lines += [f"        for {k} in {w.pick('range', 'T.vectorized', 'T.unroll')}(8):"]
        w.lines += [
            f"            B[{i}, {k}] = {name}[{rows}, {w.pick(k, f'({k} + 1) % 8')}] + {name}[{i}, {k}]"
        ]
    for _ in range(w.number(1, 2)):
        w.statement(1, [], known, w.pick(*known), 3)
    return "\n".join(w.lines)


def results(mod, *arrays):
    """What the function `f` leaves in its arguments, run by the oracle."""
    from loopwright.codegen.python import interpret

    copies = [a.copy() for a in arrays]
    interpret(mod["f"], copies, {}, module=mod)
    return copies


@given(programs())
def test_every_pass_keeps_what_a_program_computes(text):
    mod = IRModule.from_expr(parse(text))
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-4, 5, (8, 8)).astype("int32") for _ in range(2)]
    try:
        want = results(mod, *arrays)
    except ExecutionError:
        assume(False)
    for one in CPU_PIPELINE:
        before, mod = mod, one(mod)
        if mod is not before:
            assert check_well_formed(mod) == [], one.name
            for a, b in zip(want, results(mod, *arrays)):
                np.testing.assert_array_equal(b, a, err_msg=one.name)
    assert_lowered(mod)


@given(prim_funcs(executable=True))
def test_every_pass_keeps_what_generated_programs_compute(func):
    mod = IRModule.from_expr(func)
    name = next(iter(mod)).name
    arguments = sample_arguments(func)
    for one in CPU_PIPELINE:
        before, mod = mod, one(mod)
        if mod is not before:
            assert_same_results(before, mod, *arguments, name=name)


def assert_lowered(mod):
    """The form that back ends expect."""
    body = mod["f"].body
    assert not find(body, SBlock)
    for loop in find(body, For):
        assert loop.kind in (ForKind.SERIAL, ForKind.PARALLEL)
    for access in find(body, (BufferLoad, BufferStore)):
        assert len(access.indices) == 1
        assert not any(access.buffer is p for p in mod["f"].params)


def lowered(text):
    mod = lower(parse(text))
    assert check_well_formed(mod) == []
    assert_lowered(mod)
    return mod


def test_lowering_a_lowered_module_changes_nothing():
    mod = lowered("""
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16, 24), "float32"), C: T.Buffer((16,), "float32")):
    for i, k in T.grid(16, 24):
        with T.sblock("s"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
""")
    assert structural_equal(lower(mod), mod)


def test_the_guard_of_a_tail_splits_off_the_last_lanes():
    mod = lowered("""
@T.prim_func(s_tir=True)
def f(A: T.Buffer((13,), "float32"), B: T.Buffer((13,), "float32")):
    for i in range(4):
        for l in T.vectorized(4):
            with T.sblock("b"):
                T.where(i * 4 + l < 13)
                v = T.axis.spatial(13, i * 4 + l)
                B[v] = A[v] + T.float32(1)
""")
    assert len([s for s in find(mod["f"].body, BufferStore) if isinstance(s.indices[0], Ramp)]) == 1
    a = np.arange(13, dtype="float32")
    np.testing.assert_array_equal(results(mod, a, np.zeros_like(a))[1], a + 1)


def test_a_buffer_used_within_one_iteration_is_allocated_there_and_small():
    mod = lowered("""
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    B = T.sblock_alloc_buffer((16, 16), "float32")
    for i in range(16):
        for j in range(16):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(3)
        for j in range(16):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)
""")
    (loop, *_) = find(mod["f"].body, For)
    (alloc,) = find(loop, AllocBuffer)
    assert int(alloc.buffer.ty.shape[0]) == 16


def test_a_buffer_that_carries_values_over_iterations_stays_outside():
    mod = lowered("""
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    s = T.sblock_alloc_buffer((1,), "float32")
    for i in range(16):
        with T.sblock("c"):
            v = T.axis.opaque(16, i)
            T.reads(A[v], s[0])
            T.writes(s[0], B[v])
            if v == 0:
                s[0] = T.float32(0)
            s[0] = s[0] + A[v]
            B[v] = s[0]
""")
    (loop,) = find(mod["f"].body, For)
    assert not find(loop, AllocBuffer)
    a = np.ones(16, "float32")
    np.testing.assert_array_equal(results(mod, a, a)[1], np.arange(1, 17))


def test_a_jump_out_of_an_unrolled_loop_means_what_it_means_in_a_loop():
    mod = lowered("""
@T.prim_func
def f(o: T.Buffer((6,), "int32")):
    for i in T.unroll(6):
        if i == 3:
            break
        o[i] = 1
""")
    np.testing.assert_array_equal(results(mod, np.zeros(6, "int32"))[0], [1, 1, 1, 0, 0, 0])


@pytest.mark.parametrize(
    "body",
    [
        """
    with T.sblock("b"):
        v = T.axis.opaque(8, n[0])
        n[0] = 5
        A[v] = 1
        A[v + 1] = n[0]
""",
        """
    L = T.alloc_buffer((2, n[0]), "int32")
    for i, j in T.grid(2, n[0]):
        L[i, j] = i * 10 + j
    n[0] = 1
    A[0] = L[1, 2]
""",
        """
    for i in T.serial(n[0], n[0] + 4, step=2):
        n[0] = 0
        A[i] = n[0] + 1
""",
        """
    for k in range(n[0]):
        if k == 0:
            n[0] = 1
        A[k] = n[0]
""",
        """
    for k in range(n[0], n[0] + 1):
        n[0] = 0
        A[k] = 7
""",
        """
    x: T.let[T.int32] = n[0]
    n[0] = 4
    if x == n[0]:
        A[0] = 1
    A[x] = n[0] - x
""",
        """
    with T.sblock("b"):
        T.reads()
        T.writes(A[0:8])
        M = T.match_buffer(A[n[0]:n[0] + 4], (4,), "int32")
        n[0] = 0
        M[0] = 1
        M[1] = 2
""",
    ],
)
def test_what_is_read_from_memory_is_read_when_it_was(body):
    text = f"@T.prim_func(s_tir=True)\ndef f(n: T.Buffer((1,), 'int32'), A: T.Buffer((8,), 'int32')):{body}"
    mod = IRModule.from_expr(parse(text, check_well_formed=False))
    arrays = [np.array([3], "int32"), np.zeros(8, "int32")]
    want = results(mod, *arrays)
    for one in CPU_PIPELINE:
        mod = one(mod)
        for a, b in zip(want, results(mod, *arrays)):
            np.testing.assert_array_equal(b, a, err_msg=one.name)


def test_strides_and_offsets_count():
    mod = lowered("""
@T.prim_func(s_tir=True)
def f(a: T.Buffer((16, 16), "float32"), o: T.Buffer((16, 16), "float32")):
    for i, j in T.grid(4, 4):
        with T.sblock("t"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(a[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4])
            T.writes(o[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4])
            x = T.match_buffer(a[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4], (4, 4), strides=("s", "t"))
            y = T.match_buffer(o[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4], (4, 4))
            for p, q in T.grid(4, 4):
                y[p, q] = x[q, p]
""")
    a = np.arange(256, dtype="float32").reshape(16, 16)
    want = a.reshape(4, 4, 4, 4).transpose(0, 3, 2, 1).reshape(16, 16)
    np.testing.assert_array_equal(results(mod, a, np.zeros_like(a))[1], want)


@pytest.mark.parametrize(
    ("body", "code", "word"),
    [
        (
            "for i in T.thread_binding(4, thread='threadIdx.x'):\n        A[i] = 1",
            "thread-on-cpu",
            "threadIdx.x",
        ),
        ("for i in T.vectorized(n):\n        A[i] = 1", "vector-extent", "`i`"),
        (
            "for i in T.vectorized(4):\n        if A[i] > 0:\n            break\n        A[i] = 1",
            "vector-break",
            "`i`",
        ),
        ("for i in range(0, 4, -1):\n        A[i] = 1", "loop-step", "`i`"),
    ],
)
def test_what_cannot_be_lowered_is_refused_by_name(body, code, word):
    func = parse(
        f"@T.prim_func\ndef f(A: T.Buffer((4,), 'int32'), n: T.int32):\n    {body}", check_well_formed=False
    )
    with pytest.raises(PassError) as caught:
        lower(func)
    assert caught.value.code == code
    assert word in str(caught.value)


def test_a_size_that_no_argument_tells_is_refused():
    func = parse("""
@T.prim_func
def f(hx: T.handle, ho: T.handle):
    rows = T.int64()
    mystery = T.int64()
    x = T.match_buffer(hx, (rows,), "float32")
    o = T.match_buffer(ho, (rows * mystery,), "float32")
    for i in range(rows):
        o[i * mystery] = x[i]
""")
    with pytest.raises(PassError, match="mystery"):
        lower(func)


def test_vectorizing_can_be_switched_off():
    func = parse(
        "@T.prim_func\ndef f(A: T.Buffer((4,), 'int32')):\n    for i in T.vectorized(4):\n        A[i] = i"
    )
    with PassContext(config={"tirx.disable_vectorize": True}):
        assert len(find(lower(func), For)) == 1
    assert not find(lower(func), For)


def test_deep_programs_are_lowered():
    from loopwright.ir import Add, BufferType, FloatImm, IfThenElse, IntImm, PrimFunc, Var, seq
    from loopwright.ir.expr import LT

    A = Var("A", BufferType("float32", (8,)))
    e = BufferLoad(A, [0])
    for _ in range(5000):
        e = Add(e, FloatImm("float32", 1.0))
    nest = seq([BufferStore(A, e, [0])])
    for k in range(200):
        i = Var(f"i{k}")
        nest = For(i, 0, 2, 0, IfThenElse(LT(i, IntImm("int32", 1)), nest))
    func = PrimFunc(
        [A], seq([nest, *[BufferStore(A, FloatImm("float32", 1.0), [k % 8]) for k in range(300)]])
    )
    assert_lowered(lower(func.with_attr("global_symbol", "f")))


def test_loops_that_store_nothing_stay_loops():
    func = parse("""
@T.prim_func
def f():
    for i, j, k, l in T.grid(128, 128, 128, 128):
        T.evaluate(T.call_extern("void", "nothing"))
""")
    assert len(find(lower(func), For)) == 4


def test_a_packed_result_may_be_bound_to_a_pointer():
    func = parse("""
@T.prim_func
def f(A: T.Buffer((2,), "float32")):
    p: T.let[T.handle("float32")] = T.call_packed("testing.echo", A.data)
    A[1] = T.float32(1)
""")
    assert_lowered(lower(func.with_attr("global_symbol", "f")))
