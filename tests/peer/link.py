"""A process with the peer in it; where it dies, a new one goes on."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from calls import Step

SERVER = Path(__file__).with_name("server.py")


class Peer:
    """The peer's schedule of one program at a time."""

    def __init__(self, python: str) -> None:
        self.python = python
        self.process: subprocess.Popen[str] | None = None
        self.text = ""

    def start(self, text: str) -> dict[str, Any]:
        """Begin a schedule of this program."""
        return self._ask({"op": "start", "text": text})

    def step(self, step: Step) -> dict[str, Any]:
        """Make a step; after a crash the schedule begins anew from the program as it was."""
        before = self.text
        reply = self._ask({"op": "step", "step": step})
        if reply.get("crashed"):
            self.start(before)
        return reply

    def back(self, text: str) -> None:
        """Take the last step back, to the program `text`."""
        self._ask({"op": "back"})
        self.text = text

    def close(self) -> None:
        """End the process."""
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process = None

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.process is None:
            self.process = subprocess.Popen(
                [self.python, "-u", str(SERVER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            code = self.process.wait()
            self.process = None
            return {"accepted": False, "crashed": True, "error": f"the process ended ({code})"}
        reply: dict[str, Any] = json.loads(line)
        self.text = reply.get("text", self.text)
        return reply
