"""The fuzzer: its mutations, its runner, and a sample of what it runs.

The full set is a command: `python -m loopwright.testing.fuzz --count 10000`.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from loopwright import grammar
from loopwright.testing import fuzz
from loopwright.testing.mutations import MUTATIONS, mutate

PROGRAM = """\
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), n: T.int32):
    for i, j in T.grid(8, 4):
        with T.sblock("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = A[vi, vj] * 2.0 + T.Cast("float32", n)
"""


@pytest.mark.parametrize("name", MUTATIONS)
def test_every_mutation_damages_and_can_be_repeated(name: str) -> None:
    made = [MUTATIONS[name](PROGRAM, random.Random(seed)) for seed in range(12)]
    assert made == [MUTATIONS[name](PROGRAM, random.Random(seed)) for seed in range(12)]
    assert sum(text != PROGRAM for text in made) >= (1 if name == "tabs" else 6)
    for text in ("", "\n", "x", "  x"):
        assert isinstance(MUTATIONS[name](text, random.Random(3)), str)


def test_changing_the_tree_gives_texts_that_can_be_read() -> None:
    made = [MUTATIONS["tree"](PROGRAM, random.Random(seed)) for seed in range(40)]
    readable = [text for text in made if grammar.read(text).ok]
    assert len(readable) > 25 and len(set(readable)) > 15


def test_definitions_of_a_file() -> None:
    tail = '@I.ir_module\nclass M:\n    """Text"""\n\n    z = 2\n\n\nmain(y)\n'
    source = f"import x\n\n\n{PROGRAM}\n\ny = 1\n\n{tail}"
    first, second = fuzz.definitions(source)
    assert first == PROGRAM
    assert second.startswith("@I.ir_module\nclass M:") and second.endswith("    z = 2\n")


def test_the_sources_of_programs() -> None:
    texts = fuzz.generated_programs(5, 1)
    assert len(texts) >= 5 and texts == fuzz.generated_programs(5, 1)
    again = list(fuzz.mutants(texts, 20, 2))
    assert again == list(fuzz.mutants(texts, 20, 2)) != list(fuzz.mutants(texts, 20, 3))
    paths = fuzz.checkout_paths()
    assert len(fuzz.programs_of(paths)) > 25 or not paths


@pytest.mark.slow
def test_damaged_programs_parse_or_are_refused() -> None:
    programs = [*fuzz.programs_of(fuzz.checkout_paths()), *fuzz.generated_programs(40, 1), PROGRAM]
    results = list(fuzz.run(fuzz.mutants(programs, 200, 4)))
    assert len(results) == 200
    assert [r for r in results if r.is_fault] == []
    counts = Counter(r.verdict for r in results)
    assert counts["parsed"] > 10 and counts["refused"] > 100


def test_workers_tell_hangs_signals_and_exceptions() -> None:
    with fuzz.Worker(seconds=20.0) as worker:
        assert worker.judge(PROGRAM).verdict == "parsed"
        assert worker.judge("@T.prim_func\ndef f(:\n").verdict == "refused"
        process = worker.process
        assert process is not None
        process.kill()
        process.wait()
        assert worker.judge(PROGRAM).verdict == "signal"
        assert worker.judge(PROGRAM).verdict == "parsed"
        worker.seconds = 0.0
        assert worker.judge(PROGRAM).verdict == "hang"
        worker.seconds = 20.0
        result = worker.judge("x" * 5)
        assert result.verdict == "refused" and not result.is_fault


def test_verdicts_in_this_process() -> None:
    assert fuzz.verdict(PROGRAM) == ("parsed", "")
    kind, detail = fuzz.verdict("x = ")
    assert (kind, detail) == ("refused", "syntax")


F = "@T.prim_func\ndef f("
FOUND = {
    "scope that is no text": F + "A: T.Buffer((), scope=T.Buffer)):\n    T.evaluate(0)\n",
    "alignment that is no number": F + "A: T.Buffer((), align='x')):\n    T.evaluate(0)\n",
    "pointer scope that is no text": F + "A: T.handle('int8', 3)):\n    T.evaluate(0)\n",
    "type variable without a name": "n = TypeVar(1)\n" + F + "A: T.Buffer((n,))):\n    T.evaluate(n)\n",
    "bits of a float": F + "x: T.float32):\n    T.evaluate(T.BitwiseNot(x))\n",
    "shift of a float": F + "x: T.float32):\n    T.evaluate(T.LShift(x, x))\n",
    "conjunction of numbers": F + "x: T.int32):\n    T.evaluate(T.And(x, x))\n",
    "arithmetic on pointers": F + "x: T.handle):\n    T.evaluate(T.Add(x, x))\n",
    "no_realize that is no bool": F + "):\n    with T.sblock('b', 'j'):\n        T.evaluate(0)\n",
    "name with a line end": (
        '@I.ir_module\nclass M:\n    @T.prim_func(name="\\n1")\n    def g(x: T.int32):\n'
        "        if T.float16(T.evaluate(0)) > T.float16(1):\n            T.evaluate(0)\n"
        "        else:\n            T.evaluate(0)\n"
    ),
    "comparison of nothing": F + "):\n    T.evaluate(T.GT(T.print(1), T.print(2)))\n",
    "word in an attribute": F + "):\n    T.Call('tirx.x', [], attrs={'k': [T.axis]}, ret_ty='int32')\n",
    "free variable in an attribute": F + "):\n    T.func_attr({'a': T.Buffer((2,))})\n",
}
"""The smallest texts of faults that fuzzing found; each is refused now."""


@pytest.mark.parametrize("text", FOUND.values(), ids=list(FOUND))
def test_faults_found_by_fuzzing_stay_mended(text: str) -> None:
    kind, detail = fuzz.verdict(text)
    assert kind == "refused", detail


KEPT = {
    "range of two types": (
        F + "A: T.Buffer(('j',)), B: T.Buffer((4,), 'bool'), n: T.int64):\n    j = T.int32()\n"
        "    with T.sblock('b'):\n        T.reads(A[B[0]:j], A[j:n])\n"
        "        T.writes()\n        T.evaluate(0)\n"
    ),
    "range that starts with a call": (
        F + "A: T.Buffer((8,))):\n    with T.sblock('b'):\n"
        "        i = T.axis.opaque(2, 0)\n        T.writes()\n"
        "        T.reads(A[T.call_pure_extern('int32', 'g', i):"
        "T.call_pure_extern('int32', 'g', i) + (i + 1)])\n"
        "        T.evaluate(0)\n"
    ),
    "axes without a binding": (
        F + "A: T.Buffer((8,))):\n    with T.sblock('b', no_realize=True):\n"
        "        i = T.axis.spatial(8, 0)\n        A[i] = 1.0\n"
    ),
    "factor without an offset": (
        F + "A: T.Buffer((8,), elem_offset=0, offset_factor=4)):\n"
        "    B = T.alloc_buffer((8,), elem_offset=0, offset_factor=4)\n"
    ),
    "blank lines around a backslash": "\n\n\\\n\n@T.prim_func\ndef f():\n    T.evaluate(0)\n",
    "truth as an index": F
    + (
        "A: T.Buffer((8,))):\n    with T.sblock('b'):\n"
        "        T.reads(A[0 != 3], A[T.bool(True)], A[2**31], A[2])\n"
        "        T.writes()\n        T.evaluate(A[1 > 2])\n"
    ),
    "long size": F + f"A: T.Buffer(('n', \"{'n - (' * 1500}n{')' * 1500}\"))):\n    T.evaluate(0)\n",
    "deep negation": F + f"x: T.int32):\n    T.evaluate({'~' * 1500}x)\n",
}
"""The smallest texts that parsed, but did not print, read or format back the same."""


@pytest.mark.parametrize("text", KEPT.values(), ids=list(KEPT))
def test_programs_that_were_not_kept_are_kept_now(text: str) -> None:
    assert fuzz.verdict(text) == ("parsed", "")


def test_mutate_names_what_it_did() -> None:
    text, names = mutate(PROGRAM, random.Random(5))
    assert isinstance(text, str) and set(names.split("+")) <= set(MUTATIONS)
