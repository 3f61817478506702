"""Feeding damaged programs to the reader: each must parse or raise ScriptError, and nothing else.

    python -m loopwright.testing.fuzz --count 10000 [--seed 1] [--jobs 2] [FILE OR FOLDER ...]

Programs come from the strategies of this room, from the files given (Python files; the decorated
definitions in them) and, in a checkout, from docs/examples and tests/golden.  Each is damaged by
`mutations` and read in a worker process with bounded memory, ten seconds of work a program.  A fault is any
other exception, a signal, a hang, a warning of Python's, a diagnostic whose place lies outside of
the text, a program that parses, but does not print and parse back equal, a text that the two readers
read differently, or one whose formatted form reads as another tree.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import selectors
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..node import runs_deep
from .mutations import mutate

SECONDS = 10.0
MEMORY = 3 << 30
BATCH = 50
_PATIENCE = 12  # how many times longer a program may take on a busy machine than it works


@dataclass(frozen=True)
class Result:
    """What became of one text: "parsed", "refused", or a fault, which `detail` describes."""

    verdict: str
    detail: str
    text: str
    mutation: str = ""
    seconds: float = 0.0

    @property
    def is_fault(self) -> bool:
        """Whether this must not happen."""
        return self.verdict not in ("parsed", "refused")


# Programs


def generated_programs(count: int, seed: int) -> list[str]:
    """Printed programs from `strategies.modules()` and `strategies.prim_funcs()`."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded
    from hypothesis import strategies as st

    from .strategies import modules, prim_funcs

    texts: list[str] = []

    @seeded(seed)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.one_of(modules(), prim_funcs(), prim_funcs(executable=True)))
    def collect(program: Any) -> None:
        texts.append(program.script(show_meta=True))

    collect()
    return texts


_DEFINITION = re.compile(r"^@(?:T|I|tirx|ir)\.(?:prim_func|ir_module|jit|macro|inline)\b", re.MULTILINE)
_NEXT = re.compile(r"^(?=[^\s@#)\]}])", re.MULTILINE)


def definitions(source: str) -> list[str]:
    """The decorated definitions at the top of a Python file, each as a text."""
    found = []
    for match in _DEFINITION.finditer(source):
        header = _NEXT.search(source, match.end())
        if header is None:
            continue
        after = _NEXT.search(source, source.find("\n", header.end()) + 1)
        found.append(source[match.start() : after.start() if after else len(source)].rstrip() + "\n")
    return found


def programs_of(paths: Iterable[Path]) -> list[str]:
    """The programs in files and folders: whole golden texts, and the definitions in Python files."""
    texts = []
    for path in paths:
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        for file in files:
            source = file.read_text(encoding="utf-8")
            texts += [source] if "golden" in file.parts else definitions(source)
    return texts


def checkout_paths() -> list[Path]:
    """The folders of programs that lie beside the package in a checkout; none in an installation."""
    root = Path(__file__).resolve().parent.parent
    return [p for p in (root / "docs" / "examples", root / "tests" / "golden") if p.is_dir()]


def mutants(programs: Sequence[str], count: int, seed: int) -> Iterator[tuple[str, str]]:
    """So many damaged programs with the names of their mutations; the same for the same seed."""
    rng = random.Random(seed)
    for _ in range(count):
        yield mutate(rng.choice(programs), rng)


# The check of one text, in the worker


def verdict(text: str) -> tuple[str, str]:
    """What becomes of a text: "parsed", "refused", or the kind of fault with its description."""
    import traceback

    from ..errors import ScriptError
    from ..script import parse

    try:
        made = parse(text, filename="<fuzz>")
    except ScriptError as err:
        return _readers(text) or _refusal(err, text)
    except BaseException as err:
        frames = traceback.extract_tb(err.__traceback__)
        where = " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(frames[-4:]))
        return "exception", f"{type(err).__name__}: {str(err)[:300]} at {where}"
    try:
        return _readers(text) or _back(made, parse)
    except BaseException as err:
        frames = traceback.extract_tb(err.__traceback__)
        where = " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(frames[-4:]))
        return "round-trip", f"{type(err).__name__}: {str(err)[:1500]} at {where}"


@runs_deep
def _readers(text: str) -> tuple[str, str] | None:
    """A fault where the readers differ, or where formatting changes the tree."""
    from ..grammar import read, same_tree
    from ..grammar.ast_reader import read_ast
    from ..grammar.lark_reader import read_lark
    from ..printer import layout

    fast = read_ast(text)
    if fast is None:
        return None
    exact = read_lark(text)
    if fast.diagnostics != exact.diagnostics:
        return "readers", f"only one finds a fault\n{[d.render() for d in exact.diagnostics]}"
    if not same_tree(fast.tree, exact.tree, spans=True):
        return "readers", "the trees differ"
    formatted = layout(fast.tree, width=100)
    if not same_tree(read(formatted).tree, fast.tree):
        return "format", f"the formatted text reads as another tree\n{formatted[:1500]}"
    if layout(read(formatted).tree, width=100) != formatted:
        return "format", f"formatting again changes the text\n{formatted[:1500]}"
    return None


def _refusal(err: Any, text: str) -> tuple[str, str]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for found in err.diagnostics:
        span = found.span
        if span is None:
            return "no-place", found.render()
        if not (1 <= span.line <= len(lines) and 1 <= span.column <= len(lines[span.line - 1]) + 2):
            return "wrong-place", found.render()
        if found.code == "internal" or len(found.render().splitlines()) > 12:
            return "diagnostic", found.render()
    return "refused", err.code


def _back(made: Any, parse: Any) -> tuple[str, str]:
    from ..ir import IRModule, PrimFunc, explain_difference, structural_equal

    if not isinstance(made, IRModule | PrimFunc):
        return "parsed", type(made).__name__
    text = made.script(show_meta=True)
    back = parse(text)
    if not structural_equal(made, back):
        return "round-trip", f"{explain_difference(made, back)}\n{text[:2000]}"
    if back.script(show_meta=True) != text:
        return "round-trip", f"printing again gives another text\n{text[:2000]}"
    return "parsed", ""


def work(seconds: float, memory: int) -> None:
    """Read texts as JSON lines from standard input; say the verdict of each on standard output."""
    import faulthandler
    import warnings

    faulthandler.enable()
    warnings.simplefilter("error")
    _bound_memory(memory)
    _say({"ready": True})
    for line in sys.stdin:
        text = json.loads(line)
        begun = time.perf_counter()
        _bound_time(seconds)
        kind, detail = verdict(text)
        _bound_time(0)
        _say({"verdict": kind, "detail": detail, "seconds": time.perf_counter() - begun})


def _bound_memory(memory: int) -> None:
    try:
        import resource
    except ImportError:  # no such limit on Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _bound_time(seconds: float) -> None:
    """End this process when it has worked for so long; time in which it waits for a processor is free."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


# The runner


class Worker:
    """A process that reads texts; a new one is started when one dies or hangs."""

    def __init__(self, seconds: float = SECONDS, memory: int = MEMORY) -> None:
        self.seconds = seconds
        self.memory = memory
        self.process: subprocess.Popen[str] | None = None

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "loopwright.testing.fuzz", "--worker", str(self.memory)]
        command += ["--seconds", str(self.seconds)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        if self._answer(self.process, 120.0) is None:
            errors = self._end(self.process)
            raise RuntimeError(f"the worker does not start\n{errors}")
        return self.process

    def judge(self, text: str, mutation: str = "") -> Result:
        """What becomes of a text."""
        process = self.process or self._start()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(text) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            pass
        answer = self._answer(process, _PATIENCE * self.seconds)
        if answer is None:
            hangs = process.poll() is None or process.returncode == -getattr(signal, "SIGVTALRM", 0)
            return self._lost(process, "hang" if hangs else "signal", text, mutation)
        return Result(answer["verdict"], answer["detail"], text, mutation, answer["seconds"])

    def _answer(self, process: subprocess.Popen[str], seconds: float) -> Any:
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(seconds):
                return None
        line = process.stdout.readline()
        if not line:
            process.wait()
            return None
        return json.loads(line)

    def _lost(self, process: subprocess.Popen[str], kind: str, text: str, mutation: str) -> Result:
        errors = self._end(process)
        return Result(kind, f"exit status {process.returncode}\n{errors}", text, mutation)

    def _end(self, process: subprocess.Popen[str]) -> str:
        process.kill()
        _, errors = process.communicate()
        self.process = None
        return errors[-1500:]

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.communicate()  # closing its input ends it
            self.process = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def run(
    texts: Iterable[tuple[str, str]], jobs: int = 1, seconds: float = SECONDS, memory: int = MEMORY
) -> Iterator[Result]:
    """The results of texts (pairs of text and a word about it), in order, from so many workers."""
    from concurrent.futures import ThreadPoolExecutor

    workers = [Worker(seconds, memory) for _ in range(jobs)]
    waiting = iter(texts)

    def share(worker: Worker, part: list[tuple[str, str]]) -> list[Result]:
        return [worker.judge(text, word) for text, word in part]

    try:
        with ThreadPoolExecutor(jobs) as pool:
            while True:
                parts = [[one for _, one in zip(range(BATCH), waiting)] for _ in workers]
                for results in pool.map(share, workers, parts):
                    yield from results
                if not parts[-1]:
                    return
    finally:
        for worker in workers:
            worker.close()


def smallest(result: Result, seconds: float = SECONDS, tries: int = 400) -> str:
    """A smaller text with the same kind of fault: lines, then characters, are taken away while it stays."""
    head = result.detail.split("\n")[0].rpartition(" at ")[2]
    with Worker(seconds) as worker:

        def same(text: str) -> bool:
            got = worker.judge(text)
            return got.verdict == result.verdict and head in got.detail

        text = result.text
        for separator in ("\n", ""):
            parts = text.split(separator) if separator else list(text)
            size = max(1, len(parts) // 2)
            while size and tries > 0:
                at = 0
                while at < len(parts) and tries > 0:
                    tries -= 1
                    fewer = parts[:at] + parts[at + size :]
                    if same(separator.join(fewer)):
                        parts = fewer
                    else:
                        at += size
                size //= 2
            text = separator.join(parts)
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit status is 1 when a fault was found."""
    parser = argparse.ArgumentParser(prog="python -m loopwright.testing.fuzz", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("paths", nargs="*", type=Path, help="Python files or folders of programs")
    parser.add_argument("--count", type=int, default=10_000, help="how many damaged programs (10000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="worker processes (2)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time limit of a program (10)")
    parser.add_argument("--save", type=Path, help="folder for the texts that are faults")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker is not None:
        work(options.seconds, options.worker)
        return 0
    programs = programs_of([*options.paths, *checkout_paths()])
    programs += generated_programs(max(50, min(options.count // 20, 1000)), options.seed)
    begun = time.perf_counter()
    counts: Counter[str] = Counter()
    faults: dict[str, Result] = {}
    slowest = 0.0
    todo = mutants(programs, options.count, options.seed)
    for number, result in enumerate(run(todo, options.jobs, options.seconds)):
        counts[result.verdict] += 1
        slowest = max(slowest, result.seconds)
        if result.is_fault:
            kind = f"{result.verdict}: {_signature(result)}"
            counts[f"  {kind}"] += 1
            if kind not in faults or len(result.text) < len(faults[kind].text):
                faults[kind] = result
            if options.save is not None:
                options.save.mkdir(parents=True, exist_ok=True)
                place = options.save / f"{result.verdict}-{options.seed}-{number}.txt"
                place.write_text(result.text, encoding="utf-8", errors="surrogatepass")
    for kind, result in faults.items():
        print(f"=== {kind} ({result.mutation})\n{result.detail}\n--- text\n{result.text[:1500]!a}")
    for name, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"{count:7} {name}")
    print(f"{options.count} programs in {time.perf_counter() - begun:.0f} s, the slowest {slowest:.1f} s")
    return 1 if faults else 0


def _signature(result: Result) -> str:
    lines = result.detail.split("\n")
    where = lines[0].rpartition(" at ")[2] if result.verdict in ("exception", "round-trip") else ""
    return where or re.sub(r"\d+", "N", lines[0])[:120]


if __name__ == "__main__":
    sys.exit(main())
