"""Does the peer understand what we print, and as the same program?

    python tests/conformance/peer_reads_ours.py --corpus DIR --peer-python PYTHON [--out FILE.json]

For each program of a harvested corpus (HASH.json with the peer's text, HASH.graph with its object):
we read the peer's text and print the program anew; the peer reads *our* text and compares what it
got with its own recorded object.  Programs that match `--without` are left out; what we cannot read
or print counts as not equal.  The peer runs in processes of its own, given by `--peer-python` or
CONFORMANCE_PEER_PYTHON.  See tests/conformance.md.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WITHOUT = r"@R\.|TileLayout|\bTx\.|T\.ptx"


def peer() -> None:
    """The peer's side: reads a text and a graph a line, says whether they are equal."""
    import tvm  # type: ignore[import-not-found,unused-ignore]
    import tvm.relax  # type: ignore[import-not-found,unused-ignore]
    import tvm_ffi  # type: ignore[import-not-found,unused-ignore]

    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        job = json.loads(line)
        reply: dict[str, Any] = {"equal": False}
        try:
            own = tvm.ir.load_json(Path(job["graph"]).read_text(encoding="utf-8"))
        except BaseException as err:  # a graph that the peer itself cannot load is no fault of ours
            replies.write(json.dumps({"no_graph": str(err)[-200:]}) + "\n")
            continue
        try:
            read = tvm.script.from_source(job["text"], check_well_formed=False)
            found = tvm_ffi.get_first_structural_mismatch(own, read, map_free_vars=True)
            reply["equal"] = found is None
            if found is not None:
                reply["cause"] = "differs at " + re.sub(r"\[\d+\]", "[]", str(found[0]))[-90:]
        except BaseException as err:
            lines = [t.strip() for t in str(err).splitlines() if "error" in t.lower()] or [str(err)]
            reply["cause"] = f"{type(err).__name__}: {lines[-1][:160]}"
        replies.write(json.dumps(reply) + "\n")


class Peer:
    """A process with the peer; a crash costs one program, a new process goes on."""

    def __init__(self, python: str) -> None:
        self.python = python
        self.process: subprocess.Popen[str] | None = None

    def ask(self, job: dict[str, str]) -> dict[str, Any]:
        """The peer's answer about one program."""
        if self.process is None:
            self.process = subprocess.Popen(
                [self.python, "-u", __file__, "--serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            code = self.process.wait()
            self.process = None
            return {"equal": False, "cause": f"the peer's process ended ({code})"}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process."""
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
            self.process.wait()


def programs(folder: Path, without: str, limit: int) -> Iterator[tuple[str, str, Path]]:
    """Hash, text and graph of each program that counts."""
    rows = []
    for path in sorted(folder.glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        text, graph = record.get("script"), path.with_suffix(".graph")
        if text and graph.exists() and not (without and re.search(without, text)):
            rows.append((record["hash"], text, graph))
    if limit and len(rows) > limit:
        rows = [rows[int(k * len(rows) / limit)] for k in range(limit)]
    yield from rows


def our_text(text: str) -> str:
    """The program read by us and printed anew, with the peer's import lines."""
    import loopwright

    made = loopwright.parse(text, check_well_formed=False)
    return str(made.script(show_meta=True, header="tvm"))


def main() -> None:
    """Compare, print a table of causes, and fail below `--at-least` per cent."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    options.add_argument("--corpus", default=os.environ.get("CONFORMANCE_CORPUS"))
    options.add_argument("--peer-python", default=os.environ.get("CONFORMANCE_PEER_PYTHON"))
    options.add_argument("--without", default=WITHOUT, help="leave out programs whose text matches")
    options.add_argument("--limit", type=int, default=0, help="only this many programs, evenly spread")
    options.add_argument("--at-least", type=float, default=0.0, help="fail below this share (per cent)")
    options.add_argument("--causes", type=int, default=25)
    options.add_argument("--out")
    options.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = options.parse_args()
    if args.serve:
        peer()
        return
    if not args.corpus or not args.peer_python:
        options.error("give --corpus and --peer-python (CONFORMANCE_CORPUS, CONFORMANCE_PEER_PYTHON)")
    process = Peer(args.peer_python)
    results: dict[str, dict[str, Any]] = {}
    for name, text, graph in programs(Path(args.corpus), args.without, args.limit):
        try:
            printed = our_text(text)
        except Exception as err:
            results[name] = {"equal": False, "cause": f"ours: {str(err).splitlines()[0][:120]}"}
            continue
        results[name] = process.ask({"text": printed, "graph": str(graph.resolve())})
    process.close()
    counted = {k: r for k, r in results.items() if "no_graph" not in r}
    equal = sum([bool(r["equal"]) for r in counted.values()])
    share = 100 * equal / max(1, len(counted))
    print(f"{len(counted)} programs, {equal} read by the peer as its own object: {share:.1f} %")
    if len(results) > len(counted):
        print(f"{len(results) - len(counted)} left out: the peer cannot load its own record")
    causes: dict[str, list[str]] = collections.defaultdict(list)
    for key, reply in counted.items():
        if not reply["equal"]:
            causes[reply.get("cause", "?")].append(key)
    for cause, hit in sorted(causes.items(), key=lambda item: -len(item[1]))[: args.causes]:
        print(f"  {len(hit):5} {cause}   (such as {hit[0]})")
    if args.out:
        Path(args.out).write_text(json.dumps({"share": share, "programs": results}), encoding="utf-8")
    if share < args.at_least:
        raise SystemExit(f"below {args.at_least} %")


if __name__ == "__main__":
    main()
