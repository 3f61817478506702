"""Other layouts of buffers and blocks, other storage, stated accesses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopwright.errors import ScheduleError
from loopwright.ir import IndexMap, IRModule, PrimFunc, Var, structural_equal
from loopwright.schedule import Schedule, Trace, replay
from loopwright.script import parse
from loopwright.script import tirx as T
from loopwright.testing.results import assert_same_results


def program(text: str) -> PrimFunc:
    made: Any = parse("@T.prim_func(s_tir=True)\n" + text)
    assert isinstance(made, PrimFunc)
    return made


def scheduled(func: PrimFunc) -> Schedule:
    return Schedule(func, debug_mask="all", error_render_level="fast")


def replays(func: PrimFunc, sch: Schedule) -> str:
    """Both forms of the trace give the program again; gives its text."""
    assert structural_equal(replay(sch.trace, func).mod, sch.mod)
    for again in (Trace.from_json(sch.trace.as_json()), Trace.from_python(str(sch.trace))):
        assert str(again) == str(sch.trace)
        assert structural_equal(replay(again, func).mod, sch.mod)
    return sch.mod.script()


def check(func: PrimFunc, sch: Schedule) -> str:
    assert_same_results(func, sch.mod["main"])
    return replays(func, sch)


def refused(func: PrimFunc, step: Any) -> str:
    """The code of the refusal; nothing has changed."""
    sch = scheduled(func)
    before: IRModule = sch.mod
    with pytest.raises(ScheduleError) as info:
        step(sch)
    assert sch.mod is before
    return str(info.value.code)


CHAIN = """
def main(A: T.Buffer(({n}, {m}), "float32"), C: T.Buffer(({n}, {m}), "float32")):
    B = T.sblock_alloc_buffer(({n}, {m}))
    for i, j in T.grid({n}, {m}):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid({n}, {m}):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0
"""


def chain(n: int = 6, m: int = 5) -> PrimFunc:
    return program(CHAIN.format(n=n, m=m))


# buffers


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(1, 7), st.integers(1, 7), st.integers(1, 4), st.integers(1, 4), st.booleans())
def test_tiles_with_padding(n: int, m: int, p: int, q: int, fused: bool) -> None:
    func = chain(n, m)
    sch = scheduled(func)

    def tiles(i: Any, j: Any) -> list[Any]:
        return [i // p, j // q, i % p * q + j % q] if fused else [i // p, j // q, i % p, j % q]

    try:
        sch.transform_layout("B", ("write", 0), tiles, pad_value=3.0)
    except ScheduleError as err:
        assert fused and m % q and err.code == "index-map"
        return
    text = check(func, sch)
    assert f"B = T.sblock_alloc_buffer(({-(-n // p)}, {-(-m // q)}, " in text


def test_padding_needs_a_value() -> None:
    assert (
        refused(chain(), lambda s: s.transform_layout("B", "B", lambda i, j: (i // 4, i % 4, j))) == "padding"
    )


def test_the_writer_of_everything_writes_padding_too() -> None:
    func = program("""
def main(A: T.Buffer((14, 4), "float32"), C: T.Buffer((14,), "float32")):
    B = T.sblock_alloc_buffer((14,))
    for i, k in T.grid(14, 4):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vi, vk]
    for i in range(14):
        with T.sblock("C"):
            vi = T.axis.spatial(14, i)
            C[vi] = B[vi]
""")
    sch = scheduled(func)
    block = sch.get_sblock("B")
    sch.transform_layout(block, "B", lambda i: (i // 4, i % 4), pad_value=lambda i, j: T.float32(1) * 2)
    assert [lp.extent.value for lp in map(sch.get, sch.get_loops(block))] == [4, 4, 4]
    check(func, sch)


@pytest.mark.parametrize("guard", ["T.where(i < 6)", "pass"])
def test_another_block_writes_padding_where_the_writer_cannot(guard: str) -> None:
    func = program(f"""
def main(A: T.Buffer((7,), "float32"), C: T.Buffer((7,), "float32"), D: T.Buffer((7,), "float32")):
    B = T.sblock_alloc_buffer((7,))
    for i in range(7):
        with T.sblock("B"):
            vi = T.axis.spatial(7, i)
            {guard}
            B[vi] = A[vi]
            D[vi] = A[vi]
    for i in range(6):
        with T.sblock("C"):
            vi = T.axis.spatial(7, i)
            C[vi] = B[vi]
""")
    sch = scheduled(func)
    sch.transform_layout("B", ("write", 0), lambda i: (i // 2, i % 2), pad_value=0.0)
    assert 'T.sblock("buffer_B_padding")' in check(func, sch)


def test_consumers_in_a_loop_around_both_stay() -> None:
    func = program("""
def main(A: T.Buffer((4, 7), "float32"), C: T.Buffer((4, 7), "float32")):
    B = T.sblock_alloc_buffer((4, 7))
    for i in range(4):
        for j in range(7):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
        for j in range(7):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj]
""")
    sch = scheduled(func)
    sch.transform_layout("B", ("write", 0), lambda i, j: (i, j // 4, j % 4), pad_value=0.0)
    assert 'T.sblock("C")' in check(func, sch)


@pytest.mark.parametrize("name", ["A", "C"])
def test_parameters_change_their_shape(name: str) -> None:
    func = chain(6, 5)
    sch = scheduled(func)
    block = "B" if name == "A" else "C"
    sch.transform_layout(block, name, lambda i, j: (j, i // 4, i % 4), pad_value=7.0)
    text = replays(func, sch)
    assert f'{name}: T.Buffer((5, 2, 4), "float32")' in text
    assert ("T.assume" in text) == (name == "A")
    index_map = sch.trace.insts[-1].arguments["index_map"]
    a = np.arange(30, dtype="float32").reshape(6, 5)
    given_a = index_map.map_array(a) if name == "A" else a
    if name == "A":
        given_a[:, 1, 2:] = 7
    c = np.zeros((5, 2, 4) if name == "C" else (6, 5), dtype="float32")
    func_now = sch.mod["main"]
    assert isinstance(func_now, PrimFunc)
    func_now.interpret(given_a, c)
    want = a * 2 + 1
    if name == "C":
        want = index_map.map_array(want)
        want[:, 1, 2:] = 7
    np.testing.assert_array_equal(c, want)


def test_a_size_must_stay_known() -> None:
    func = program("""
def main(a: T.handle, c: T.handle):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n,))
    C = T.match_buffer(c, (m,))
    for i in range(m):
        with T.sblock("C"):
            vi = T.axis.spatial(m, i)
            C[vi] = A[vi % n]
""")
    assert (
        refused(func, lambda s: s.transform_layout("C", "A", lambda i: (i // 4, i % 4), pad_value=0.0))
        == "size-undefined"
    )


def test_symbolic_sizes() -> None:
    func = program("""
def main(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,))
    C = T.match_buffer(c, (n,))
    B = T.sblock_alloc_buffer((n,))
    for i in range(n):
        with T.sblock("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] * 2.0
    for i in range(n):
        with T.sblock("C"):
            vi = T.axis.spatial(n, i)
            C[vi] = B[vi] + 1.0
""")
    for n in (1, 4, 6, 9):
        sch = scheduled(func)
        sch.transform_layout("B", "B", lambda i: (i // 4, i % 4), pad_value=0.0)
        a, c = np.arange(n, dtype="float32"), np.zeros(n, dtype="float32")
        assert_same_results(func, sch.mod["main"], a, c)
    replays(func, sch)


@pytest.mark.parametrize(
    ("index_map", "pad", "code"),
    [
        (lambda i: i, None, "index-map"),
        (lambda i, j: (i,), None, "index-map"),
        (lambda i, j: (i + j, j), None, "index-map"),
        (lambda i, j: (i // 2, j), None, "index-map"),
        (lambda i, j: (i - 1, j), None, "index-map"),
        (lambda i, j: (8 - i, j), None, "index-map"),
        (lambda i, j: (i, "separator", j), None, "index-map"),
        (lambda i, j: (i, nothing, j), None, "NameError"),  # type: ignore[name-defined]
        (3, None, "index-map"),
        (lambda i, j: (i // 4, i % 4, j), 0, "pad-value"),
        (lambda i, j: (i // 4, i % 4, j), "0", "pad-value"),
        (lambda i, j: (i // 4, i % 4, j), lambda i: T.float32(0), "pad-value"),
        (lambda i, j: (i // 4, i % 4, j), lambda i, j, k: i, "pad-value"),
    ],
)
def test_maps_that_are_none(index_map: Any, pad: Any, code: str) -> None:
    def step(sch: Schedule) -> None:
        try:
            sch.transform_layout("B", ("write", 0), index_map, pad)
        except NameError as err:
            raise ScheduleError(err.args[0]).__class__("NameError") from err

    if code == "NameError":
        with pytest.raises(NameError):
            scheduled(chain()).transform_layout("B", ("write", 0), index_map, pad)
    else:
        assert refused(chain(), step) == code


def test_any_number_of_indices() -> None:
    func = chain(4, 3)
    sch = scheduled(func)
    sch.transform_layout("B", "B", lambda *axes: list(reversed(axes)))
    assert "T.sblock_alloc_buffer((3, 4))" in check(func, sch)


def test_a_map_of_another_dtype() -> None:
    i, j = Var("i", "int64"), Var("j", "int64")
    func = chain(4, 3)
    sch = scheduled(func)
    sch.transform_layout("B", "B", IndexMap([i, j], [j, i % 2, i // 2]))
    check(func, sch)


def test_an_injective_map_may_be_assumed() -> None:
    func = chain(4, 3)
    sch = scheduled(func)
    sch.transform_layout("B", "B", lambda i, j: (i * 4 + j,), assume_injective_transform=True)
    check(func, sch)


@pytest.mark.parametrize("buffer", [("read", 3), ("both", 0), "Z", 0, ("write", "A")])
def test_buffers_that_are_none(buffer: Any) -> None:
    assert refused(chain(), lambda s: s.transform_layout("B", buffer, lambda i, j: (j, i))) == "buffer-index"


# blocks


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from([1, 2, 4, 6]), st.integers(1, 5), st.sampled_from([1, 2]), st.permutations([0, 1, 2]))
def test_axes_of_a_block(n: int, m: int, p: int, order: list[int]) -> None:
    func = chain(n, m)
    sch = scheduled(func)

    def axes(i: Any, j: Any) -> list[Any]:
        found = [i // p, i % p, j]
        return [found[k] for k in order]

    try:
        sch.transform_block_layout("B", axes)
    except ScheduleError as err:
        assert n % p and err.code == "index-map"
    check(func, sch)


REDUCE = """
def main(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 6):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk]
"""


def test_reduction_axes() -> None:
    func = program(REDUCE)
    sch = scheduled(func)
    sch.transform_block_layout("C", lambda i, k: (k, i // 2, i % 2))
    check(func, sch)
    assert refused(func, lambda s: s.transform_block_layout("C", lambda i, k: (i * 6 + k,))) == "axis-kind"
    assert (
        refused(func, lambda s: s.transform_block_layout("C", lambda i, k: (i, k // 4, k % 4))) == "index-map"
    )


def test_bindings_must_be_loops() -> None:
    def split(sch: Schedule) -> None:
        sch.split(sch.get_loops("C")[0], [2, 2])

    sch = scheduled(program(REDUCE))
    split(sch)
    before = sch.mod
    with pytest.raises(ScheduleError, match="binding-not-loops"):
        sch.transform_block_layout("C", lambda i, k: (k, i))
    assert sch.mod is before


# copies by axes


@pytest.mark.parametrize("mode", ["read", "write"])
def test_reindex_keeps_unit_axes(mode: str) -> None:
    func = program("""
def main(A: T.Buffer((1, 8), "float32"), C: T.Buffer((1, 9), "float32")):
    for i, j in T.grid(1, 8):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj + 1] = A[vi, vj // 2 + vj % 2 + vi]
""")
    sch = scheduled(func)
    sch.reindex("C", (mode, 0))
    assert f"{'A' if mode == 'read' else 'C'}_reindex = T.sblock_alloc_buffer((1, 8))" in check(func, sch)


def test_a_guarded_read_is_copied_where_it_is_inside() -> None:
    func = program("""
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((10,), "float32")):
    for i in range(10):
        with T.sblock("C"):
            vi = T.axis.spatial(10, i)
            C[vi] = T.if_then_else(1 <= vi and vi < 9, A[vi - 1], T.float32(0))
""")
    for step in ("reindex", "cache"):
        sch = scheduled(func)
        if step == "reindex":
            sch.reindex("C", "A")
        else:
            sch.reindex_cache_read("C", 0, "local", lambda i: (i,))
        assert "T.where(" in check(func, sch)
        other = scheduled(sch.mod["main"])  # the copy is not all written: nothing may copy it as a whole
        with pytest.raises(ScheduleError, match="uninitialized-read"):
            other.reindex("C", ("read", 0))


CONV = """
def main(A: T.Buffer((18,), "float32"), W: T.Buffer((3,), "float32"), C: T.Buffer((16,), "float32")):
    for i, k in T.grid(16, 3):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi + vk] * W[vk]
"""


@pytest.mark.parametrize(
    "index_map",
    [lambda i, k: (i + k,), lambda i, k: (k, i), lambda i, k: (i // 5, k, i % 5), lambda i, k: (i * 3 + k,)],
)
def test_windows_may_be_laid_out(index_map: Any) -> None:
    func = program(CONV)
    sch = scheduled(func)
    sch.reindex_cache_read("C", "A", "local", index_map)
    check(func, sch)


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (lambda s: s.reindex_cache_read("C", 0, "local", lambda i, k: (i // 2, k)), "not-injective"),
        (lambda s: s.reindex_cache_read("C", 0, "local", lambda i, k: (i - 1, k)), "index-map"),
        (lambda s: s.reindex_cache_read("C", 0, "local", lambda i: (i,)), "index-map"),
        (lambda s: s.reindex_cache_write("C", 0, "local", lambda i, k: (k, i)), "axis-kind"),
        (lambda s: s.reindex_cache_write("C", 0, "local", lambda i, k: (i // 2,)), "not-injective"),
        (lambda s: s.reindex("C", ("read", 7)), "buffer-index"),
        (lambda s: s.reindex("C", "B"), "buffer-index"),
    ],
)
def test_refused_copies_by_axes(step: Any, code: str) -> None:
    assert refused(program(CONV), step) == code


def test_different_accesses_have_no_common_layout() -> None:
    func = program("""
def main(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + A[vj, vi]
""")
    assert refused(func, lambda s: s.reindex("C", "A")) == "access-pattern"


def test_an_element_written_twice_is_not_copied_back() -> None:
    func = program("""
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(8):
        with T.sblock("C"):
            vi = T.axis.spatial(8, i)
            C[vi // 2] = A[vi]
""")
    assert refused(func, lambda s: s.reindex("C", "C")) == "not-injective"


# staging, storage, signatures


def test_staging_at_loops() -> None:
    func = program("""
def main(A: T.Buffer((6, 8), "float32"), B: T.Buffer((8, 5), "float32"), C: T.Buffer((6, 5), "float32")):
    for i, j, k_0, k_1 in T.grid(6, 5, 2, 4):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            vk = T.axis.reduce(8, k_0 * 4 + k_1)
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""")
    for level in range(4):
        sch = scheduled(func)
        loop = sch.get_loops("C")[level]
        sch.read_at(loop, "C", "A", "shared")
        sch.read_at(loop, "C", "B", "shared")
        sch.write_at(loop, "C", 0, "local")
        assert '"auto_copy": True' in check(func, sch)
    assert refused(func, lambda s: s.write_at(s.get_loops("C")[0], "C", 0, "no")) == "storage-scope"


def test_staging_needs_a_loop_around_the_block() -> None:
    def step(sch: Schedule) -> None:
        sch.read_at(sch.get_loops("B")[0], "C", 0, "shared")

    sch = scheduled(chain())
    with pytest.raises(ScheduleError, match="not-in-loop"):
        step(sch)


def test_storage_of_parameters_stays() -> None:
    func = chain()
    assert refused(func, lambda s: s.set_scope("C", 0, "shared")) == "not-allocated"
    assert refused(func, lambda s: s.unsafe_set_dtype("C", 0, "float16")) == "not-allocated"
    assert refused(func, lambda s: s.storage_align("C", 0, 0, 4, 0)) == "not-allocated"


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (lambda s: s.storage_align("B", 0, 2, 4, 1), "axis-range"),
        (lambda s: s.storage_align("B", 0, -3, 4, 1), "axis-range"),
        (lambda s: s.storage_align("B", 0, 0, 0, 1), "align-factor"),
        (lambda s: s.set_scope("B", 0, "void"), "storage-scope"),
        (lambda s: s.unsafe_set_dtype("B", 0, "float99"), "dtype"),
        (lambda s: s.unsafe_set_dtype("B", 0, "handle"), "dtype"),
        (lambda s: s.unsafe_hide_buffer_access("B", "read", [1]), "buffer-index"),
        (lambda s: s.unsafe_hide_buffer_access("B", "reads", [0]), "buffer-index"),
        (lambda s: s.annotate_buffer_access("B", 0, "read", lambda i, j: [i]), "buffer-ranges"),
        (lambda s: s.annotate_buffer_access("B", 0, "read", lambda i: [i, i]), "buffer-ranges"),
        (lambda s: s.annotate_buffer_access("B", 0, "read", lambda i, j: [(i, i, i), j]), "buffer-ranges"),
    ],
)
def test_bad_storage_and_signatures(step: Any, code: str) -> None:
    assert refused(chain(), step) == code


def test_an_alignment_is_replaced() -> None:
    func = chain()
    sch = scheduled(func)
    for axis, factor in ((-1, 4), (0, 8), (1, 16)):
        sch.storage_align("B", "B", axis, factor, 1)
    assert '{"buffer_dim_align": [[0, 1, 16, 1], [0, 0, 8, 1]]}' in check(func, sch)


def test_elements_of_another_type_are_cast() -> None:
    func = chain()
    sch = scheduled(func)
    sch.unsafe_set_dtype("B", 0, "float64")
    text = check(func, sch)
    assert 'T.Cast("float64"' in text and 'T.Cast("float32"' in text


def test_accesses_are_stated_and_hidden() -> None:
    func = chain()
    sch = scheduled(func)
    sch.annotate_buffer_access("B", "A", "read", lambda i, j: [(i, i + 1), (0, 5)])
    sch.unsafe_hide_buffer_access("C", "read", [0])
    text = check(func, sch)
    assert "T.reads(A[vi, 0:5])" in text and '"explicit_read_region": [0]' in text


JOINED = """def f(A: T.Buffer(("b", "m", 4), "float32"), C: T.Buffer(("b", "m", 4), "float32")):
    b, m = T.int32(), T.int32()
    B = T.sblock_alloc_buffer((b, m, 4))
    for i, j, k in T.grid(b, m, 4):
        with T.sblock("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[vi, vj, vk] + T.float32(1)
    for i, j, k in T.grid(b, m, 4):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            C[vi, vj, vk] = B[vi, vj, vk] * T.float32(2)
"""


def test_dimensions_of_unknown_size_are_joined() -> None:
    """Sizes are positive: i * m + j is no negative index, and both indices are inside what they came from."""
    func = program(JOINED)
    sch = scheduled(func)
    m = sch.get(sch.get_loops("B")[1]).extent
    sch.transform_layout("B", ("write", 0), lambda i, j, k: (i * m + j, k))
    assert "B = T.sblock_alloc_buffer((b * m, 4))" in check(func, sch)
    sch = scheduled(func)
    m = sch.get(sch.get_loops("B")[1]).extent
    sch.transform_block_layout("B", lambda i, j, k: (i * m + j, k))
    sch.reindex("B", ("read", 0))
    copy = sch.reindex("B", ("write", 0))
    sch.reverse_compute_inline("C")
    assert sch.get(copy).name_hint in (text := check(func, sch)) and "T.where" not in text
