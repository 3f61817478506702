"""The peer's side: reads a request a line, answers a line. Run by the peer's interpreter.

Requests: `{"op": "start", "text": ...}` begins a schedule of a program, `{"op": "step", "step": ...}`
makes its calls on a copy and keeps it when all are accepted, `{"op": "back"}` takes the last step
back.  An answer says `accepted`, and then `text`, the decisions of the calls that sample and the
answers of the calls that ask; or else `error`.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from calls import make, outcome
from programs import INTRINSICS
from tvm import s_tir, tirx  # type: ignore[import-not-found,unused-ignore]
from tvm.script import from_source  # type: ignore[import-not-found,unused-ignore]


def f32(value: float) -> Any:
    """A constant."""
    return tirx.FloatImm("float32", value)


class Server:
    """The schedule that the requests speak of."""

    def __init__(self) -> None:
        self.now: Any = None
        self.before: Any = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """What to reply. Whatever the peer raises is a refusal."""
        try:
            return {"accepted": True, **getattr(self, request["op"])(request)}
        except Exception as err:
            lines = [line.strip() for line in str(err).splitlines() if line.strip()] or [""]
            return {"accepted": False, "error": f"{type(err).__name__}: {lines[-1][:300]}"}

    def start(self, request: dict[str, Any]) -> dict[str, Any]:
        """Begin a schedule of the program."""
        self.now = s_tir.Schedule(from_source(request["text"]), seed=1, error_render_level="fast")
        self.before = None
        return {"text": self.now.mod.script(show_meta=True)}

    def step(self, request: dict[str, Any]) -> dict[str, Any]:
        """Make the calls of a step."""
        sch = self.now.copy()
        results: list[Any] = []
        answers: list[Any] = []
        decisions: list[Any] = []
        for one in request["step"]:
            results.append(make(sch, one, results, f32))
            answers.append(outcome(sch, one["call"], results[-1]))
            decisions.append(self._decision(sch) if one["call"].startswith("sample_") else None)
        text = sch.mod.script(show_meta=True)
        self.before, self.now = self.now, sch
        return {"text": text, "answers": answers, "decisions": decisions}

    def back(self, _: dict[str, Any]) -> dict[str, Any]:
        """Take the last step back."""
        self.now = self.before
        return {}

    def _decision(self, sch: Any) -> Any:
        """What the call made last has drawn."""
        drawn = sch.trace.get_decision(sch.trace.insts[-1])
        return int(drawn) if not hasattr(drawn, "__len__") else [int(d) for d in drawn]


def main() -> None:
    """Serve until the requests end."""
    for name, (desc, impl) in INTRINSICS.items():
        s_tir.TensorIntrin.register(name, from_source(desc), from_source(impl))
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    server = Server()
    for line in sys.stdin:
        replies.write(json.dumps(server.answer(json.loads(line))) + "\n")


if __name__ == "__main__":
    main()
