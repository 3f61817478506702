"""Cost, memory, effects, single assignment, copies, where accesses meet, limits of devices."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.errors import IRError
from loopwright.ir import (
    AllocBuffer,
    BufferLoad,
    BufferStore,
    Call,
    Effect,
    For,
    IntImm,
    IRModule,
    Let,
    SBlock,
    Var,
    walk,
)
from loopwright.ir.analysis import (
    access_regions,
    allocated_bytes,
    calculate_allocated_bytes,
    detect_buffer_access_lca,
    estimate_flops,
    find_anchor_block,
    gpu_faults,
    identify_memcpy,
    impure_reason,
    is_pure_function,
    read_write_regions,
    side_effect,
    verify_gpu_code,
    verify_memory,
    verify_ssa,
)
from loopwright.ir.analysis.uses import uses_below
from loopwright.script import parse
from loopwright.testing.strategies import prim_funcs

HEAD = """@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16, 16), "float32"), I: T.Buffer((16,), "int32"),
         n: T.int32):
"""


def program(body: str):
    return parse(HEAD + "".join([f"    {line}\n" for line in body.splitlines()]))


# cost

COSTS = {
    "for i in range(16):\n    A[i] = B[i, 0] * T.float32(2) + B[i, 1] / T.float32(3)": 48,
    "for i in range(16):\n    A[i] = T.exp(B[i, 3 - 1 + 1])": 0,
    "for i in range(16):\n    A[i] = T.exp(B[i, 0] + T.float32(1))": 16,
    "for i in range(16):\n    I[i] = I[i] % 3": 16,
    "for i in range(8):\n    A[i + 4] = A[i + 1]": 0,
    "for i in range(8):\n    for j in range(i + 1):\n        A[0] = A[0] + A[j]": 64,
    "for i in range(4):\n    if i < 2:\n        A[i] = A[i] + A[0]\n    else:\n        A[i] = A[i] * 2.0 + 1.0": 8,
    "A[T.Ramp(0, 1, 4)] = A[T.Ramp(4, 1, 4)] + T.Broadcast(T.float32(1), 4)": 4,
    "while A[0] + A[1] < T.float32(3):\n    A[0] = A[0] + A[1]": 1,
    "A[0] = T.Select(A[0] - A[1] > T.float32(0), A[0] + A[1], A[2])": 1,
    "T.evaluate(T.call_extern('int32', 'f', A[0] + A[1]))": 0,
}


@pytest.mark.parametrize("body", COSTS)
def test_operations_are_counted(body):
    assert estimate_flops(program(body)) == COSTS[body]


def test_blocks_count_without_their_initialisers_and_attributes_win():
    func = program("""for i, k in T.grid(4, 8):
    with T.sblock("b"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            A[vi] = T.float32(1) * B[0, 0]
        A[vi] = A[vi] + B[vi, vk] * B[0, vk]""")
    assert estimate_flops(func) == 64
    assert estimate_flops(IRModule({"a": func, "b": func.with_attr("estimated_flops", 7)})) == 71


@given(st.integers(0, 9), st.integers(1, 4))
def test_a_loop_multiplies(extent, terms):
    value = " + ".join(["A[0]"] * (terms + 1))
    assert estimate_flops(program(f"for i in range({extent}):\n    A[1] = {value}")) == extent * terms


# uses


@given(prim_funcs())
def test_uses_are_found_in_order_whatever_is_remembered(func):
    for node in (func.body, *[n.value for n in walk(func.body) if isinstance(n, BufferStore)], func.body):
        below = walk(node, outer_first=True)
        wanted = [n for n in below if isinstance(n, Var | BufferLoad | Call | Let)]
        found = uses_below(node)
        assert len(found) == len(wanted) and all(a is b for a, b in zip(found, wanted, strict=True))


# memory


@given(prim_funcs())
def test_memory_is_the_sum_of_the_allocations(func):
    wanted: dict[str, int] = {}
    for node in walk(func.body):
        buffers = [node.buffer] if isinstance(node, AllocBuffer) else []
        buffers += node.alloc_buffers if isinstance(node, SBlock) else []
        for buffer in buffers:
            if all(isinstance(e, IntImm) for e in buffer.shape):
                bits = math.prod([e.value for e in buffer.shape]) * buffer.dtype.bits * buffer.dtype.lanes
                scope = buffer.scope()
                wanted[scope] = wanted.get(scope, 0) + (bits + 7) // 8
    assert allocated_bytes(func) == wanted


def test_memory_by_function_and_scope():
    func = program("""x = T.alloc_buffer((4, 8), "float16", scope="shared")
y = T.alloc_buffer((n,), "float32")
for i in range(3):
    z = T.alloc_buffer((3,), "bool", scope="local")""")
    assert allocated_bytes(func) == {"shared": 64, "local": 3}
    assert calculate_allocated_bytes(func) == {"main": {"shared": 64, "local": 3}}
    assert calculate_allocated_bytes(IRModule({"f": func})) == {"f": {"shared": 64, "local": 3}}


# effects

PURE = {
    "T.evaluate(0)": True,
    "A[0] = T.float32(1)": False,
    "x = T.alloc_buffer((1,), 'float32')\nx[0] = A[0]": True,
    "x = T.alloc_buffer((1,), 'float32')\ny = T.decl_buffer((1,), 'float32', data=x.data)\ny[0] = A[0]": True,
    "y = T.decl_buffer((16,), 'float32', data=A.data)\ny[0] = A[0]": False,
    "T.evaluate(T.cos(A[0]))": True,
    "T.evaluate(T.call_pure_extern('int32', 'f'))": True,
    "T.evaluate(T.call_extern('int32', 'f'))": False,
}


@pytest.mark.parametrize("body", PURE)
def test_purity(body):
    func = program(body)
    assert is_pure_function(func) is PURE[body]
    assert (impure_reason(func) is None) is PURE[body]


def test_effects_are_ordered():
    func = program(
        "A[0] = A[1]\nT.evaluate(T.call_extern('int32', 'f', A[0]))\nT.evaluate(T.exp(T.float32(1)))"
    )
    first, second, third = func.body.block.body.seq if hasattr(func.body, "block") else func.body.seq
    assert side_effect(first.value) == Effect.READ
    assert side_effect(second) == Effect.UPDATE
    assert side_effect(third) == Effect.PURE


# single assignment


@given(prim_funcs())
def test_well_formed_programs_assign_once(func):
    assert verify_ssa(func)


def test_two_definitions_are_seen():
    from loopwright.ir import Add, Bind, Evaluate, Let, PrimFunc, SeqStmt, Var

    x = Var("x", "int32")
    twice = Let(x, IntImm(x.ty, 1), x)
    other = Let(x, IntImm(x.ty, 2), x)
    assert verify_ssa(PrimFunc([], Evaluate(Add(twice, twice))))
    assert not verify_ssa(PrimFunc([], Evaluate(Add(twice, other))))
    assert not verify_ssa(PrimFunc([x], SeqStmt([Bind(x, IntImm(x.ty, 1)), Evaluate(x)])))


# copies


def outer_loop(func) -> For:
    return next(n for n in reversed(list(walk(func))) if isinstance(n, For))


def copied(body: str):
    return identify_memcpy(outer_loop(program(body)))


def test_copies_are_found():
    whole = copied("for i in range(16):\n    A[i] = B[3, i]")
    assert [str(d.extent.value) for d in whole.source.region] == ["1", "16"]
    fused = copied("for i in range(16):\n    B[i // 4, i % 4] = A[i]")
    assert isinstance(fused, str)
    assert not isinstance(copied("for i, j in T.grid(4, 4):\n    A[i * 4 + j] = A[j + i * 4]"), str)
    assert not isinstance(copied("for j, i in T.grid(16, 16):\n    B[i, j] = B[i, j]"), str)


REASONS = {
    "for i in range(16):\n    A[i] = A[i] + T.float32(1)": "BufferLoad",
    "for i in range(16):\n    if i < n:\n        A[i] = B[0, i]": "BufferStore",
    "for i in range(8):\n    A[i] = A[i * 2]": "src indices",
    "for i in range(8):\n    A[i * 2] = A[i]": "dst indices",
    "for i, j in T.grid(16, 16):\n    B[i, j] = B[j, i]": "different source",
    "for i, j in T.grid(16, 16):\n    A[j] = B[i, j]": "bijective",
}


@pytest.mark.parametrize("body", REASONS)
def test_what_is_no_copy_says_why(body):
    found = copied(body)
    assert isinstance(found, str)
    assert REASONS[body] in found


@given(
    st.lists(st.integers(1, 4), min_size=2, max_size=3),
    st.permutations([0, 1, 2]),
    st.permutations([0, 1, 2]),
    st.integers(0, 3),
)
def test_a_copy_moves_one_stretch_in_order(extents, order, other, shift):
    names = "ijk"[: len(extents)]

    def place(by):
        scale, parts = 1, []
        for at in [p for p in by if p < len(extents)]:
            parts.append(f"{names[at]} * {scale}")
            scale *= extents[at]
        return " + ".join(parts)

    grid = ", ".join([str(e) for e in extents])
    func = parse(
        '@T.prim_func(s_tir=True)\ndef main(A: T.Buffer((99,), "float32"), C: T.Buffer((99,), "float32")):\n'
        f"    for {', '.join(names)} in T.grid({grid}):\n"
        f"        C[{place(order)} + {shift}] = A[{place(other)}]\n"
    )
    found = identify_memcpy(outer_loop(func))
    pairs = []
    for point in range(math.prod(extents)):
        values, rest = {}, point
        for name, extent in zip(names, extents):
            values[name], rest = rest % extent, rest // extent
        pairs.append((eval(place(other), {}, values), eval(place(order), {}, values)))
    same = len({b - a for a, b in pairs}) == 1
    assert isinstance(found, str) != same
    if same:
        assert found.dest.region[0].min.value == shift
        assert found.dest.region[0].extent.value == math.prod(extents)


# where accesses meet


@given(prim_funcs())
def test_accesses_meet_where_the_analysis_says(func):
    found = detect_buffer_access_lca(func)
    for buffer, place in found.items():
        inside = func if place is None else place
        for node in walk(func.body):
            if isinstance(node, BufferLoad | BufferStore) and node.buffer is buffer:
                assert any(n is node for n in walk(inside))


def test_reductions_and_thread_blocks_lift_the_place():
    func = program("""for i, k in T.grid(4, 8):
    with T.sblock("b"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            A[vi] = T.float32(0)
        A[vi] = A[vi] + B[vi, vk]
for b in T.thread_binding(4, "blockIdx.x"):
    for t in range(4):
        I[t] = b""")
    places = {b.name: p for b, p in detect_buffer_access_lca(func).items()}
    assert places["A"].loop_var.name == "i"
    assert places["B"].name_hint == "b"
    assert places["I"].loop_var.name == "b"


# regions


def test_accesses_through_pointers_are_kept_apart():
    func = program("""with T.sblock("b"):
    T.reads()
    T.writes()
    A[1] = B[0, 2]
    T.evaluate(T.call_extern("int32", "f", I.data))""")
    block = next(n for n in walk(func) if isinstance(n, SBlock) and n.name_hint == "b")
    reads, writes, opaque = access_regions(block, func.params)
    assert [r.buffer.name for r in (*reads, *writes, *opaque)] == ["B", "A", "I"]
    reads, writes = read_write_regions(block, func.params)
    assert [r.buffer.name for r in reads] == ["B", "I"]
    assert [r.buffer.name for r in writes] == ["A", "I"]
    assert not access_regions(block, ())[0]


# devices


def test_host_access_and_limits():
    func = program("""for b in T.thread_binding(4, "blockIdx.x"):
    s = T.alloc_buffer((64,), "float32", scope="shared")
    for t in T.thread_binding(128, "threadIdx.x"):
        s[t % 64] = A[0]""")
    assert verify_memory(func, "cuda")
    assert not verify_memory(program("A[0] = T.float32(1)"), "cuda")
    assert verify_memory(program("A[0] = T.float32(1)"))
    assert verify_gpu_code(func, {"max_threads_per_block": 128, "max_shared_memory_per_block": 256})
    assert not verify_gpu_code(func, {"max_threads_per_block": 127})
    assert "256 bytes of shared memory" in gpu_faults(func, {"max_shared_memory_per_block": 255})[0]
    assert gpu_faults(func, {"max_thread_x": 64})
    with pytest.raises(IRError, match="max_thread_x"):
        verify_gpu_code(func, {"max_threads_x": 1})


def test_the_anchor_is_the_reduction_that_computes_most():
    func = program("""for i, k in T.grid(4, 8):
    with T.sblock("small"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            A[vi] = T.float32(0)
        A[vi] = A[vi] + B[vi, vk]
for i, k in T.grid(16, 8):
    with T.sblock("large"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi, 0] = T.float32(0)
        B[vi, 0] = B[vi, 0] + B[vi, vk]""")
    assert find_anchor_block(IRModule({"main": func})).name_hint == "large"
    assert find_anchor_block(IRModule({"main": program("A[0] = T.float32(1)")})) is None


def test_a_thread_axis_belongs_to_one_function():
    from loopwright.ir import AttrStmt, Evaluate, PrimFunc, SeqStmt, Var, check_well_formed, iter_var

    t = Var("t", "int32")
    launch = AttrStmt(iter_var(t, (0, 4), 1, "threadIdx.x"), "thread_extent", IntImm(t.ty, 4), Evaluate(t))
    twice = PrimFunc([], SeqStmt([launch, launch]))
    assert not check_well_formed(twice)
    found = check_well_formed(IRModule({"f": twice, "g": PrimFunc([], launch)}))
    assert [d.code for d in found] == ["duplicate-definition"]
