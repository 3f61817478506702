"""Which schedules that the peer accepts do we accept?

    python tests/peer/schedules.py --peer PYTHON [--count 1000] [--seed 0] [--out FILE.json]

Random steps are aimed at random small programs and made on the peer, in a process of its own; what
the peer refuses is dropped.  What it accepts is made on ours.  The oracle runs both programs: a step
after which the peer's program computes something else is not counted, and taken back.  After a step
that only the peer accepts we go on from the peer's program.  See tests/conformance.md.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

import draw_blocks
import draw_data
import draw_loops
from calls import Step, make, outcome
from draw import DRAWS, Draw, Nothing, draw
from judge import Meaning
from link import Peer
from programs import EXTRA, INTRINSICS
from table import Table
from view import view

from loopwright import parse
from loopwright.errors import LoopwrightError
from loopwright.ir import FloatImm, IRModule, PrimFunc, structural_equal
from loopwright.schedule import Schedule
from loopwright.schedule.tensor_intrin import TensorIntrin
from loopwright.testing.strategies.scheduled import AIMS, TEMPLATES, program

FAMILIES = (draw_loops, draw_blocks, draw_data)
PROGRAMS = sorted([*TEMPLATES, *EXTRA])
CHANGES = ("unsafe_set_dtype", "transform_layout")
"""Primitives that may change what the program computes, or its parameters: the peer's result is the measure."""
UNSAFE = ("unsafe_hide_buffer_access",)
"""Primitives after which a schedule may go wrong: they are taken back."""
GOALS = {
    "fuse_reduction_epilogue": ("bias_sum",),
    "pad_einsum": ("padded",),
    "rolling_buffer": ("pooled", "stencil"),
    "tensorize": ("elementwise",),
}
"""Programs that suit a primitive, beside those that the table of the strategies names."""
RARE = (
    "cache_index",
    "cache_inplace",
    "compute_at",
    "compute_inline",
    "decompose_padding",
    "fuse_reduction_epilogue",
    "merge",
    "reverse_compute_at",
    "reverse_compute_inline",
    "rfactor",
    "rolling_buffer",
    "tensorize",
)
"""Primitives that fit in few places: more sequences aim at them."""


class Run:
    """Sequences on both sides, counted."""

    def __init__(self, peer: Peer, seed: int, length: int) -> None:
        self.peer, self.seed, self.length = peer, seed, length
        self.table = Table()

    def sequence(self, number: int) -> None:
        """Draw and make a sequence of steps."""
        rng = random.Random(f"{self.seed}:{number}")
        goals = [*sorted(DRAWS), *RARE * 4]
        goal = goals[number % len(goals)]
        suited = [*GOALS.get(goal, ()), *[n for n, aims in AIMS.items() if goal in aims]]
        name = rng.choice(suited) if suited and rng.random() < 0.8 else rng.choice(PROGRAMS)
        sizes = {s: rng.choice([2, 3, 4, 4, 6, 8]) for s in "nmk"}
        text = EXTRA[name].format(**sizes) if name in EXTRA else program(name, **sizes).script(header="tvm")
        one = Sequence(self, number, rng, text)
        for _ in range(self.length):
            one.go_on(goal if rng.random() < 0.3 else None)
        self.table.sequences += 1
        self.table.whole += one.whole


class Sequence:
    """One program, scheduled by the peer and by us."""

    def __init__(self, run: Run, number: int, rng: random.Random, text: str) -> None:
        self.table, self.peer, self.number, self.rng = run.table, run.peer, number, rng
        reply = self.peer.start(text)
        if not reply["accepted"]:
            raise SystemExit(f"the peer cannot begin with sequence {number}: {reply['error']}")
        self.text = reply["text"]
        self.theirs = parse(self.text, check_well_formed=False)
        self.ours = Schedule(self.theirs, error_render_level="fast")
        self.meaning = Meaning(_main(self.ours.mod))
        self.whole = True

    def go_on(self, goal: str | None) -> None:
        """One more step that the peer accepts, where a few tries find one."""
        d = Draw(self.rng, view(self.theirs))
        for _ in range(4):
            name = goal or self.rng.choice(sorted(DRAWS))
            try:
                step = draw(name, d)
            except Nothing:
                continue
            self.table.rows[name].drawn += 1
            reply = self.peer.step(step)
            if reply["accepted"]:
                self._compare(name, step, reply)
                return
            self.table.refused[f"{name}: {reply['error']}"] += 1
            if reply.get("crashed"):
                self._note(self.table.crashes, name, step, reply["error"], "")

    def _compare(self, name: str, step: Step, reply: dict[str, Any]) -> None:
        """Make on ours what the peer has accepted, and judge both."""
        before = self.ours.copy()
        try:
            theirs = parse(reply["text"], check_well_formed=False)
        except LoopwrightError as err:
            self.table.rows[name].wrong += 1
            self._note(self.table.peer_wrong, name, step, f"no valid program: {err.code}", str(err))
            self.peer.back(self.text)
            return
        refusal = self._made(name, step, reply)
        meaning, fault = self._judged(name, _main(theirs))
        if fault is not None:
            self.table.rows[name].wrong += 1
            self._note(self.table.peer_wrong, name, step, fault, refusal[1] if refusal else "ours accepts")
            if refusal is None and (own := meaning.fault(_main(self.ours.mod))):
                self._lose(name, step, f"ours computes something else, as the peer: {own}", "")
            self.peer.back(self.text)
            self.ours = before
            return
        self.table.rows[name].accepted += 1
        equal = refusal is None and structural_equal(self.ours.mod, theirs)
        if refusal is None and not equal and (own := meaning.fault(_main(self.ours.mod))):
            refusal = f"ours computes something else: {own}", ""
        if refusal is None:
            self.table.rows[name].ours += 1
            self.table.rows[name].equal += equal
        else:
            self._lose(name, step, *refusal)
            self.ours = Schedule(theirs, error_render_level="fast")
        if name in UNSAFE:
            self.peer.back(self.text)
            self.ours = before
        else:
            self.text, self.theirs, self.meaning = reply["text"], theirs, meaning

    def _judged(self, name: str, theirs: PrimFunc) -> tuple[Meaning, str | None]:
        """What the program must mean after the step, and how the peer's differs from it."""
        fault = self.meaning.fault(theirs)
        if fault is not None and name in CHANGES:
            try:
                return Meaning(theirs), None
            except LoopwrightError as err:
                fault = err.code
        return self.meaning, fault

    def _made(self, name: str, step: Step, reply: dict[str, Any]) -> tuple[str, str] | None:
        """Make the step on ours; gives what went wrong, in short and in full."""
        results: list[Any] = []
        for one, decision, answer in zip(step, reply["decisions"], reply["answers"]):
            given = {**one["kw"], "decision": decision} if decision is not None else one["kw"]
            try:
                results.append(make(self.ours, {**one, "kw": given}, results, _f32))
                own = outcome(self.ours, one["call"], results[-1])
            except LoopwrightError as err:
                return f"{one['call']} refused: {err.code}", str(err)
            except IndexError as err:
                return f"{one['call']}: the loop is not there", str(err)
            if own != answer:
                self._note(self.table.answers, name, step, "another answer", f"{own} instead of {answer}")
        return None

    def _lose(self, name: str, step: Step, cause: str, text: str) -> None:
        self.whole = False
        self._note(self.table.lost, name, step, cause, text)

    def _note(self, records: list[dict[str, Any]], name: str, step: Step, cause: str, text: str) -> None:
        what = {"primitive": name, "cause": cause, "message": text, "sequence": self.number, "step": step}
        programs = {"before": self.text, "peer": self.peer.text, "ours": self.ours.mod.script()}
        records.append(what | programs)


def _f32(value: float) -> FloatImm:
    return FloatImm("float32", value)


def _main(mod: IRModule) -> PrimFunc:
    func = mod["main"]
    assert isinstance(func, PrimFunc)
    return func


def main() -> None:
    """Run the sequences, or as many as there are until Ctrl-C, print the table, and fail below `--at-least`."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    options.add_argument("--peer", required=True, help="the interpreter that has the peer")
    options.add_argument("--count", type=int, default=1000, help="sequences")
    options.add_argument("--first", type=int, default=0, help="the number of the first sequence")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--length", type=int, default=8, help="steps that a sequence tries")
    options.add_argument("--at-least", type=float, default=0.0)
    options.add_argument("--out", help="file for the steps that were lost, with their programs")
    args = options.parse_args()
    for name, (desc, impl) in INTRINSICS.items():
        TensorIntrin.register(name, parse(desc), parse(impl))
    peer = Peer(args.peer)
    run = Run(peer, args.seed, args.length)
    try:
        for number in range(args.first, args.first + args.count):
            run.sequence(number)
    except KeyboardInterrupt:
        print("stopped")
    peer.close()
    print(run.table)
    if args.out:
        table = run.table
        records: dict[str, Any] = {
            "lost": table.lost,
            "answers": table.answers,
            "peer_wrong": table.peer_wrong,
            "crashes": table.crashes,
        }
        records["refused by the peer"] = dict(table.refused.most_common())
        Path(args.out).write_text(json.dumps(records, indent=1), encoding="utf-8")
    if run.table.shares()[0] < args.at_least:
        raise SystemExit(f"below {args.at_least} %")


if __name__ == "__main__":
    main()
