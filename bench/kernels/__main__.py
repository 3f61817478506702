"""Kernels under default schedules against the libraries that are installed, in one run.

    python bench/kernels [NAME ...] [--peers numpy torch ...] [--threads 1] [--repeats 7]
                         [--json FILE] [--plot FILE]

A name picks the kernels whose names contain it. Times are median / least, in milliseconds: of the processor
on one thread, of the clock on several.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import bandwidth, difference, take_turns, with_threads
from report import OURS, Result, lines, plot, table
from workloads import Workload, all_workloads


class Own:
    """Our side: the program as it stands, built with default schedules."""

    name = OURS

    def prepare(self, w: Workload, inputs: list[Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
        """A call of the built kernel, and its result."""
        import numpy as np

        import loopwright
        from loopwright.runtime import tensor

        func = loopwright.build(loopwright.parse(w.program))["main"]
        arrays = [
            tensor(x).numpy() for x in (*inputs, np.zeros(w.shape, w.dtype))
        ]  # aligned memory, as peers'
        return (lambda: func(*arrays)), lambda: arrays[-1]


def measure(w: Workload, implementations: list[Any], repeats: int, threads: int, copy: float) -> Result:
    """Check and time a kernel by all implementations."""
    import numpy as np

    inputs = w.inputs(np.random.default_rng(7))
    wanted = w.meaning(*inputs)
    runs: dict[str, Callable[[], Any]] = {}
    faults: dict[str, str] = {}
    for one in implementations:
        try:
            made = one.prepare(w, inputs)
            if made is None:
                continue
            made[0]()
            worst = difference(made[1](), wanted)
        except Exception as err:
            if one.name == OURS:
                raise
            faults[one.name] = type(err).__name__
            continue
        if worst > w.tolerance:
            faults[one.name] = f"off by {worst:.1e}"
        else:
            runs[one.name] = made[0]
    return Result(w, take_turns(runs, repeats, threads), faults, copy)


def main() -> None:
    """Run the chosen kernels and show the results."""
    from peers import PEERS, installed

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*")
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), default=installed())
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    args = parser.parse_args()
    with_threads(args.threads)
    chosen = [w for w in all_workloads() if not args.names or any(n in w.name for n in args.names)]
    if not chosen:
        parser.error(f"no kernel is called so; there are {', '.join(w.name for w in all_workloads())}")
    implementations = [*[PEERS[name][1](args.threads) for name in args.peers], Own()]
    names = [one.name for one in implementations]
    copy = bandwidth(args.repeats, args.threads)
    print(f"copy: {copy * 1e-9:.1f} GB/s", flush=True)
    results = []
    for w in chosen:
        results.append(measure(w, implementations, args.repeats, args.threads, copy))
        print(table(results[-1:], names).splitlines()[-1], file=sys.stderr, flush=True)
        gc.collect()
    print(table(results, names))
    if args.json:
        args.json.write_text(lines(results, args.threads) + "\n", encoding="utf-8")
    if args.plot:
        plot(results, args.plot)


if __name__ == "__main__":
    main()
