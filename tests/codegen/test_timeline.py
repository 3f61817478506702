"""Pipelines that users pass, and the timeline of compiling."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import loopwright
from loopwright.codegen.timeline import PHASES, Span, Timeline, timeline
from loopwright.codegen.timeline_page import page
from loopwright.errors import OutOfBoundsError
from loopwright.ir import IRModule
from loopwright.script import parse
from loopwright.transform import CPU_PIPELINE, Instrument, PassContext, PassTiming, get_pass, lower

TEXT = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 16)), B: T.Buffer((8, 16))):
    for i, j in T.grid(8, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
"""


def double(lib: Any) -> list[float]:
    a, b = np.ones((8, 16), np.float32), np.zeros((8, 16), np.float32)
    lib["main"](a, b)
    return sorted(set(b.ravel().tolist()))


@given(st.lists(st.sampled_from(["tirx.StmtSimplify", "tirx.RemoveNoOp", "tirx.HoistLoopStart"]), max_size=4))
def test_a_pipeline_without_optional_passes_gives_the_same_results(dropped: list[str]):
    chosen = tuple(one for one in CPU_PIPELINE if one.name not in dropped)
    assert double(loopwright.build(parse(TEXT), pipeline=chosen)) == [2.0]


def test_a_pass_of_the_users_takes_part_in_each_build():
    factor = 3

    def scale(mod: IRModule) -> IRModule:
        other = parse(TEXT.replace("T.float32(2)", f"T.float32({factor})"))
        return IRModule({"main": other.with_attr("global_symbol", "main")})

    mod = IRModule({"main": parse(TEXT)})
    assert double(loopwright.build(mod, pipeline=(scale, *CPU_PIPELINE))) == [3.0]
    factor = 4
    assert double(loopwright.build(mod, pipeline=(scale, *CPU_PIPELINE))) == [4.0]
    assert double(loopwright.build(mod)) == [2.0]


def test_options_of_passes_are_part_of_the_identity_of_code():
    def names(**options: Any) -> Any:
        return tuple(
            one.with_options(**options) if one.name == "tirx.StorageRewrite" else one for one in CPU_PIPELINE
        )

    few = loopwright.build(parse(TEXT), schedule=None, pipeline=names(min_bytes=0))
    many = loopwright.build(parse(TEXT), schedule=None, pipeline=names(min_bytes=64))
    assert few["main"] is not many["main"]
    again = loopwright.build(parse(TEXT), schedule=None, pipeline=names(min_bytes=64))
    assert again["main"] is many["main"]


@pytest.mark.parametrize("flatten", [True, False])
def test_checked_builds_check_under_any_pipeline(flatten: bool):
    func = parse("""
@T.prim_func
def main(A: T.Buffer((8,), "int32"), n: T.int32):
    for i in range(n):
        A[i] = i
""")
    chosen = tuple(one for one in CPU_PIPELINE if flatten or one.name != "tirx.FlattenBuffer")
    lib = loopwright.build(func, checked=True, pipeline=chosen)
    lib["main"](np.zeros(8, np.int32), 8)
    with pytest.raises(OutOfBoundsError):
        lib["main"](np.zeros(8, np.int32), 9)


def test_timing_tells_nesting_and_change():
    timing = PassTiming()
    mod = IRModule({"main": parse(TEXT)})

    class Around(Instrument):
        def run_before_pass(self, mod: Any, one: Any) -> None:
            if one.name == "tirx.StmtSimplify":
                get_pass("tirx.RemoveNoOp")(mod)

    with PassContext(instruments=[timing, Around()]):
        get_pass("tirx.StmtSimplify")(mod)
    inner, outer = timing.events
    assert (inner.name, inner.depth, outer.depth) == ("tirx.RemoveNoOp", 1, 0)
    assert not inner.changed
    assert outer.start <= inner.start
    assert inner.start + inner.seconds <= outer.start + outer.seconds


def test_a_timeline_has_all_phases_and_passes_in_order():
    found = timeline(parse(TEXT), title="double")
    assert tuple(s.name for s in found.spans if s.depth == 0) == PHASES
    assert [s.name for s in found.spans if s.depth == 1] == [one.name for one in CPU_PIPELINE]
    starts = [s.start for s in found.spans]
    assert starts == sorted(starts)
    programs = {s.name: s.program for s in found.spans if s.program is not None}
    assert "define" in programs["emit"]
    assert "T.sblock" not in programs["s_tir.LowerOpaqueBlock"]
    rows = found.render().splitlines()
    assert rows[0] == "double"
    assert len(rows) == len(found.spans) + 2
    own = timeline(parse(TEXT), schedule=None, pipeline=[*CPU_PIPELINE[:-1]])
    assert [s.name for s in own.spans if s.depth == 1] == [one.name for one in CPU_PIPELINE[:-1]]
    assert "schedule" not in [s.name for s in own.spans]


class Page(HTMLParser):
    """Checks that elements nest, and collects what the page refers to and says."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outside: list[str] = []
        self.words: list[str] = []
        self.bars = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.bars += tag == "i"
        self.outside += [value for name, value in attrs if name in ("src", "href")]
        if tag in ("script", "link", "img", "iframe"):
            self.outside.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)


@given(
    st.lists(
        st.builds(
            Span,
            st.text(min_size=1),
            st.floats(0, 10),
            st.floats(1e-6, 10),
            st.integers(0, 2),
            st.none() | st.text(min_size=1),
        ),
        min_size=1,
        max_size=4,
    ),
    st.text(min_size=1),
)
def test_pages_stand_alone_and_show_every_name_and_program(spans: list[Span], title: str):
    spans = [Span("all", 0.0, 20.0), *spans]
    text = page([Timeline(title, tuple(spans))])
    read = Page(text.replace("\r", " "))
    assert not read.open
    assert not read.outside
    assert "url(" not in text.partition("</style>")[0]
    assert "@import" not in text.partition("</style>")[0]
    assert read.bars == len(spans)
    shown = "".join(read.words)
    for part in (title, *[s.name for s in spans], *[s.program or "" for s in spans]):
        assert plain(part.replace("\r", " ")) in plain(shown)


def plain(text: str) -> str:
    """Without the characters that a reader of HTML changes."""
    return "".join([c for c in text if c.isprintable()])


def test_buffers_of_blocks_share_memory_when_lowered():
    lines = ["@T.prim_func(s_tir=True)", "def main(X: T.Buffer((1024,)), Y: T.Buffer((1024,))):"]
    lines += [f"    H{k} = T.sblock_alloc_buffer((1024,))" for k in range(6)]
    for k in range(7):
        source, target = ("X" if k == 0 else f"H{k - 1}"), ("Y" if k == 6 else f"H{k}")
        lines += [
            "    for i in range(1024):",
            f'        with T.sblock("b{k}"):',
            "            v = T.axis.spatial(1024, i)",
            f"            {target}[v] = {source}[1023 - v] + T.float32(1)",
        ]
    text = lower(parse("\n".join(lines))).script()
    assert text.count("T.alloc_buffer(") == 2
