"""The `before:` and `after:` in each primitive's documentation are run."""

from __future__ import annotations

import re
import textwrap

import pytest

from loopwright.ir import explain_difference, structural_equal
from loopwright.schedule import PRIMITIVES, Schedule, replay
from loopwright.script import parse
from loopwright.testing.results import assert_same_results

_PART = re.compile(r"^(buffers|before|steps|after):[ ]*(.*)$")


def parts_of(doc: str) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in doc.splitlines():
        match = _PART.match(line)
        if match:
            current = found.setdefault(match[1], [])
            if match[2]:
                current.append(match[2])
        elif current is not None:
            if line and not line.startswith(" "):
                current = None
            else:
                current.append(line)
    return {k: textwrap.dedent("\n".join(v)).strip() for k, v in found.items()}


def program(body: str, buffers: str, like: str) -> object:
    if not buffers:
        ranks = dict.fromkeys("AB", 1)
        for name, index in re.findall(r"\b([A-D])\[([^\]]*)\]", like):
            ranks[name] = index.count(",") + 1
        alloc = set(re.findall(r"\b(\w+) = T\.sblock_alloc_buffer", like))
        shape = {1: "(64,)", 2: "(8, 16)", 3: "(4, 4, 4)"}
        buffers = ", ".join(
            [f'{n}: T.Buffer({shape[r]}, "float32")' for n, r in sorted(ranks.items()) if n not in alloc]
        )
    head = f"@T.prim_func(s_tir=True)\ndef main({buffers}):\n"
    return parse(head + textwrap.indent(body, "    ") + "\n")


EXAMPLES = {name: parts_of(prim.doc) for name, prim in PRIMITIVES.items()}


@pytest.mark.parametrize("name", sorted([n for n, p in EXAMPLES.items() if "after" in p]))
def test_example(name: str) -> None:
    parts = EXAMPLES[name]
    like = parts["before"] + "\n" + parts["after"]
    before = program(parts["before"], parts.get("buffers", ""), like)
    after = program(parts["after"], parts.get("buffers", ""), like)
    sch = Schedule(before, debug_mask="all", seed=1)
    exec(parts["steps"], {"sch": sch})  # the documentation's own text
    assert structural_equal(sch.mod["main"], after), explain_difference(sch.mod["main"], after)
    assert structural_equal(replay(sch.trace, before).mod, sch.mod)
    assert_same_results(before, sch.mod["main"])


def test_changing_primitives_have_examples() -> None:
    lacking = [n for n, p in EXAMPLES.items() if "after" not in p and not PRIMITIVES[n].pure]
    assert lacking == ["enter_postproc"]
