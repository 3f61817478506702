"""Random kernels of odd dtypes, extents and vector widths: machine code against the oracle.

    python -m loopwright.testing.fuzz_kernels --count 10000 [--seed 1] [--jobs 2]

Each kernel is made from its seed and number alone, built and run in a worker process, and its results
must be those of the oracle, bit for bit but for the bits of a NaN.  A kernel that the back end refuses
by name (`unsupported-codegen`) is counted apart.  A fault is another result, any other exception, a
signal, or a kernel that takes longer than a minute; its program is printed.  The exit status is 1 where
there was one.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import CodegenError

INTEGERS = ("int1", "int2", "int4", "int8", "int16", "int32", "int64")
UNSIGNED = ("uint1", "uint2", "uint4", "uint8", "uint16", "uint32", "uint64")
FLOATS = (
    *("float16", "bfloat16", "float32", "float64", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz"),
    *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    *("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"),
)
DTYPES = (*INTEGERS, *UNSIGNED, *FLOATS, "bool")
EXTENTS = (1, 2, 3, 4, 5, 7, 8, 12, 13, 16, 17, 31, 32, 33, 63, 64, 65, 100, 129)
KINDS = ("range", "T.vectorized", "T.vectorized", "T.vectorized", "T.unroll", "T.parallel")
SECONDS = 60
BATCH = 25


class Kernel:
    """The text of one random kernel; the buffers `A`, `B` are read, `P` holds positions, `C` is written."""

    def __init__(self, seed: int, number: int) -> None:
        self.rng = random.Random(f"{seed} {number}")
        self.n = self.pick(EXTENTS)
        self.dtypes = {name: self.pick(DTYPES) for name in "ABC"}
        self.lines = [
            "@T.prim_func",
            "def f(" + ", ".join([f'{k}: T.Buffer(({self.n},), "{d}")' for k, d in self.dtypes.items()]),
        ]
        self.lines[1] += f', P: T.Buffer(({self.n},), "int32")):'
        for _ in range(self.rng.randint(1, 2)):
            self.pick((self.plain, self.split, self.nest, self.reduction, self.local))()
        self.text = "\n".join(self.lines) + "\n"

    def pick(self, options: Sequence[Any]) -> Any:
        return self.rng.choice(options)

    # Loops

    def loop(self, extent: int, *kinds: str) -> str:
        kind = self.pick(kinds or KINDS)
        if kind == "T.unroll" and extent >= 64:
            kind = "range"
        return f"for i in {kind}({extent}):"

    def plain(self) -> None:
        """One loop over all elements, perhaps with a branch by lane."""
        self.lines.append(f"    {self.loop(self.n)}")
        self.body(2, "i")

    def split(self) -> None:
        """Vectors of an odd width, the last one guarded."""
        width = self.pick((2, 3, 4, 5, 7, 8, 16, 17, 32))
        self.lines.append(f"    for o in range({-(-self.n // width)}):")
        self.lines.append(f"        for i in T.vectorized({width}):")
        self.lines.append(f"            if o * {width} + i < {self.n}:")
        self.store(4, f"(o * {width} + i)")

    def nest(self) -> None:
        """A serial loop inside a loop over all elements."""
        self.lines += [f"    {self.loop(self.n)}", f"        for k in range({self.rng.randint(1, 3)}):"]
        self.body(3, "i")

    def reduction(self) -> None:
        """A sum or an extreme over all elements."""
        dtype = self.dtypes["C"]
        self.lines.append(f"    {self.loop(self.n, 'range', 'T.vectorized', 'T.unroll')}")
        value = self.value(dtype, "i", 1)
        how = f"T.max(C[0], {value})" if dtype == "bool" or self.rng.random() < 0.3 else f"C[0] + {value}"
        self.lines.append(f"        C[0] = {how}")

    def local(self) -> None:
        """A buffer of the kernel's own between two loops."""
        dtype = self.pick(DTYPES)
        name = f"L{len(self.lines)}"
        self.lines.append(f'    {name} = T.alloc_buffer(({self.n},), "{dtype}")')
        self.lines += [f"    {self.loop(self.n)}", f"        {name}[i] = {self.value(dtype, 'i', 2)}"]
        value = self.cast(f"{name}[{self.n - 1} - i]", dtype, self.dtypes["C"])
        self.lines += [f"    {self.loop(self.n)}", f"        C[i] = {value}"]

    # Statements

    def body(self, depth: int, at: str) -> None:
        if self.rng.random() < 0.5:
            return self.store(depth, at)
        self.lines.append("    " * depth + f"if {self.condition(at)}:")
        self.store(depth + 1, at)
        if self.rng.random() < 0.4:
            self.lines.append("    " * depth + "else:")
            self.store(depth + 1, at)
        return None

    def store(self, depth: int, at: str) -> None:
        self.lines.append("    " * depth + f"C[{at}] = {self.value(self.dtypes['C'], at, 3)}")

    # Expressions

    def index(self, at: str) -> str:
        forms = (
            at,
            at,
            at,
            f"{self.n - 1} - {at}",
            f"{at} * 3 % {self.n}",
            f"P[{at}] % {self.n}",
            f"{at} // 2",
        )
        return str(self.pick(forms))

    def condition(self, at: str) -> str:
        kind = self.rng.randint(0, 3)
        if kind == 0:
            return f"{at} % {self.rng.randint(2, 4)} == {self.rng.randint(0, 1)}"
        if kind == 1:
            return f"P[{self.index(at)}] > {self.rng.randint(-2, 2)}"
        if kind == 2:
            return f"{at} < {self.rng.randint(0, self.n)}"
        return f"({at} > {self.rng.randint(0, 2)} and P[{at}] < {self.rng.randint(-1, 3)})"

    def value(self, dtype: str, at: str, depth: int) -> str:
        kind = self.rng.randint(0, 7)
        if depth == 0 or kind <= 1:
            name = self.pick("AB")
            return self.cast(f"{name}[{self.index(at)}]", self.dtypes[name], dtype)
        if kind == 2:
            other = self.pick(DTYPES)
            return self.cast(self.value(other, at, depth - 1), other, dtype)
        a, b = self.value(dtype, at, depth - 1), self.value(dtype, at, depth - 1)
        if kind == 3:
            return f"T.Select({self.condition(at)}, {a}, {b})"
        if kind == 4:
            return f"T.if_then_else({self.condition(at)}, {a}, {b})"
        if dtype == "bool":
            return f"({a} {self.pick(('and', 'or'))} {b})"
        if kind == 5:
            return f"T.{self.pick(('min', 'max'))}({a}, {b})"
        if dtype not in FLOATS and kind == 6 and dtype not in ("int1", "uint1"):
            return f"({a} {self.pick(('&', '|', '^'))} {b})"
        return f"({a} {self.pick('+-*')} {b})"

    def cast(self, text: str, source: str, target: str) -> str:
        return text if source == target else f'T.Cast("{target}", {text})'


def check(text: str, seed: int) -> None:
    """Run a kernel both ways. Raises AssertionError where the results differ."""
    from ..codegen import build
    from ..ir import PrimFunc
    from ..script import parse
    from .results import copies, sample_arguments

    func = parse(text)
    assert isinstance(func, PrimFunc)
    arguments = sample_arguments(func, seed)
    want, got = copies(arguments), copies(arguments)
    func.interpret(*want)
    build(func)["f"](*got)
    for k, (a, b) in enumerate(zip(want, got)):
        compare(k, a, b)


def compare(number: int, want: Any, got: Any) -> None:
    """Check that two arrays hold the same values, zeros by sign. Raises AssertionError."""
    import numpy as np

    with np.errstate(all="ignore"):
        x, y = (a.astype(np.float64) if a.dtype.kind not in "biu" else a for a in (want, got))
        same = (x == y) | ((x != x) & (y != y))
        if x.dtype.kind == "f":
            same &= np.signbit(x) == np.signbit(y)
    same |= (x != x) & (y != y)
    bad = np.nonzero(~same)[0]
    assert not len(bad), f"argument {number} at {bad[0]}: {got[bad[0]]}, not {want[bad[0]]}"


def work(seed: int, first: int, count: int) -> None:
    """Check kernels one after another; a line before each and one after it."""
    for number in range(first, first + count):
        print("start", number, flush=True)
        try:
            check(Kernel(seed, number).text, number)
        except CodegenError as err:
            refused = err.diagnostics[0].code == "unsupported-codegen"
            print("refused" if refused else "fault", repr(str(err)), flush=True)
        except Exception:
            print("fault", repr(traceback.format_exc(limit=-3)), flush=True)
        else:
            print("good", flush=True)


class Worker:
    """A process that checks a batch of kernels."""

    def __init__(self, seed: int, first: int, count: int) -> None:
        self.seed, self.first, self.count = seed, first, count
        command = [sys.executable, "-m", __spec__.name if __spec__ else __name__, "--work"]
        command += [str(first), "--count", str(count), "--seed", str(seed)]
        environment = {**os.environ, "LOOPWRIGHT_CACHE": "0"}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)

    def faults(self) -> Iterator[tuple[int, str]]:
        """Wait; the kernels that went wrong, with what happened.

        Where the process died, the kernels after the one at fault are left: `rest` says from where on.
        """
        self.rest = self.first + self.count
        self.refused = 0
        try:
            text, _ = self.process.communicate(timeout=SECONDS * self.count)
        except subprocess.TimeoutExpired:
            self.process.kill()
            text, _ = self.process.communicate()
        number, done = self.first, True
        for line in text.splitlines():
            word, _, rest = line.partition(" ")
            if word == "start":
                number, done = int(rest), False
            else:
                done = True
                self.refused += word == "refused"
                if word == "fault":
                    yield number, str(rest).encode().decode("unicode_escape")
        if not done or self.process.returncode:
            self.rest = number + 1
            yield number, f"the process ended with status {self.process.returncode}"


def run(count: int, seed: int, jobs: int, report: Callable[[str], None]) -> int:
    """Check so many kernels; the number of faults, each of which is reported with its program."""
    waiting = [(first, min(BATCH, count - first)) for first in range(0, count, BATCH)][::-1]
    running: list[Worker] = []
    faults = done = refused = 0
    while waiting or running:
        while waiting and len(running) < jobs:
            running.append(Worker(seed, *waiting.pop()))
        worker = running.pop(0)
        for number, what in worker.faults():
            faults += 1
            report(f"kernel {number} of seed {seed}: {what}\n{Kernel(seed, number).text}")
        done += worker.rest - worker.first
        refused += worker.refused
        left = worker.first + worker.count - worker.rest
        if left:
            waiting.append((worker.rest, left))
    report(f"{done} kernels, {faults} faults, {refused} refused by name")
    return faults


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; 1 where there was a fault."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--work", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.work is not None:
        work(args.seed, args.work, args.count)
        return 0
    return int(run(args.count, args.seed, args.jobs, print) > 0)


if __name__ == "__main__":
    sys.exit(main())
