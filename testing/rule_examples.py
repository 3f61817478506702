"""The examples in the documentation of scheduling rules, as functions."""

from __future__ import annotations

import re
import textwrap

from ..ir import PrimFunc


def rule_examples(doc: str) -> tuple[PrimFunc, PrimFunc | None]:
    """What stands under `before:` and, where there is such a part, under `after:`.

    Arrays are named by capital letters.  The last one that is written is the result, those written before are
    in between; the others are read.
    """
    from ..script import parse

    parts = re.split(r"^\s*(before|after):\n", doc, flags=re.MULTILINE)
    texts = dict(zip(parts[1::2], parts[2::2]))
    before = textwrap.dedent(texts["before"])
    sizes = _shapes(before)
    made = re.findall(r"(\w+)\[[^\]]*\] = ", before)
    read = [n for n in sizes if n not in made]
    result = made[-1]

    def dtype(name: str) -> str:
        if "int32" not in before:
            return "float32"
        return "int8" if f'T.Cast("int32", {name}[' in before else "int32"

    def function(text: str, temporaries: list[str]) -> PrimFunc:
        params = ", ".join([f'{n}: T.Buffer({sizes[n]}, "{dtype(n)}")' for n in [*read, result]])
        lines = [f"{n} = T.sblock_alloc_buffer({sizes[n]})" for n in temporaries]
        body = textwrap.indent("\n".join([*lines, textwrap.dedent(text)]), "    ")
        found = parse(f"@T.prim_func(s_tir=True)\ndef main({params}):\n{body}\n")
        assert isinstance(found, PrimFunc)
        return found

    inner = [n for n in dict.fromkeys(made) if n != result]
    after = texts.get("after")
    kept = [n for n in inner if after is not None and f"{n}[" in after]
    return function(before, inner), None if after is None else function(after, kept)


def _shapes(text: str) -> dict[str, tuple[int, ...]]:
    """The shape of each array of an example: how far its indices run."""
    found: dict[str, tuple[int, ...]] = {}
    ends: dict[str, int] = {}
    for line in text.splitlines():
        loops = re.match(r"\s*for (.*) in (?:T\.grid|range)\((.*)\):", line)
        if loops:
            names = [n.strip() for n in loops[1].split(",")]
            ends.update({"v" + n: int(e) for n, e in zip(names, loops[2].split(","))})
        for name, index in re.findall(r"\b([A-Z])\[([^\]]*)\]", line):
            terms = [i.split("+") for i in index.split(",")]
            found[name] = tuple(sum(ends[t.strip()] - 1 for t in term) + 1 for term in terms)
    return found


__all__ = ["rule_examples"]
