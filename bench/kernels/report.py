"""The results as a table, as JSON lines, and as a plot."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure import Times
from workloads import Workload

OURS = "loopwright"


@dataclass
class Result:
    """One kernel: the times of all that computed it rightly, and what went wrong with others."""

    workload: Workload
    times: dict[str, Times]
    faults: dict[str, str] = field(default_factory=dict)
    bandwidth: float = 0.0

    @property
    def best_peer(self) -> str | None:
        """The peer with the least time."""
        peers = [name for name in self.times if name != OURS]
        return min(peers, key=lambda name: self.times[name].least) if peers else None

    @property
    def ratio(self) -> float | None:
        """Our least time over that of the best peer."""
        best = self.best_peer
        if best is None or OURS not in self.times:
            return None
        return self.times[OURS].least / self.times[best].least

    @property
    def of_bandwidth(self) -> float | None:
        """How much of the bandwidth of a copy we use, for kernels that move memory."""
        if self.workload.work or OURS not in self.times or not self.bandwidth:
            return None
        return self.workload.traffic / self.times[OURS].least / self.bandwidth


def table(results: list[Result], names: list[str]) -> str:
    """A table in Markdown: median / least milliseconds of each, our ratio to the best peer, and the goal."""
    head = ["kernel", *names, "ours / best", "goal", "of copy"]
    rows = [head, ["---"] * len(head)]
    for r in results:
        cells = [_cell(r.times.get(n), r.faults.get(n, "")) for n in names]
        ratio = "" if r.ratio is None else f"{r.ratio:.2f}{'' if r.ratio <= r.workload.goal else ' missed'}"
        share = "" if r.of_bandwidth is None else f"{100 * r.of_bandwidth:.0f} %"
        rows.append([r.workload.name, *cells, ratio, f"{r.workload.goal:.2f}", share])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _cell(times: Times | None, fault: str) -> str:
    if times is None:
        return fault
    return f"{_short(times.median)} / {_short(times.least)}"


def _short(seconds: float) -> str:
    ms = seconds * 1e3
    return f"{ms:.3f}" if ms < 1 else f"{ms:.2f}" if ms < 10 else f"{ms:.1f}"


def lines(results: list[Result], threads: int) -> str:
    """One JSON object for each kernel and implementation."""
    found = []
    for r in results:
        for name, times in r.times.items():
            row: dict[str, Any] = {
                "kernel": r.workload.name,
                "implementation": name,
                "threads": threads,
                "median_s": times.median,
                "least_s": times.least,
                "repeats": len(times.seconds),
            }
            if r.workload.work:
                row["gflops"] = r.workload.work / times.median * 1e-9
            row["gbytes_per_s"] = r.workload.traffic / times.median * 1e-9
            if name == OURS:
                row |= {"ratio_to_best": r.ratio, "goal": r.workload.goal, "of_bandwidth": r.of_bandwidth}
            found.append(json.dumps(row))
        found += [
            json.dumps({"kernel": r.workload.name, "implementation": n, "fault": f})
            for n, f in r.faults.items()
        ]
    return "\n".join(found)


def plot(results: list[Result], path: Path) -> None:
    """Bars of our time over that of the best peer, with the goals, as a picture of the suffix's kind.

    Raises ImportError without matplotlib.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = [r for r in results if r.ratio is not None][::-1]
    figure, axes = pyplot.subplots(figsize=(8, 0.32 * len(shown) + 1.2))
    places = range(len(shown))
    colors = ["#2a7" if (r.ratio or 0) <= r.workload.goal else "#c63" for r in shown]
    axes.barh(places, [r.ratio or 0 for r in shown], color=colors)
    axes.scatter([r.workload.goal for r in shown], places, marker="|", s=160, color="black", label="goal")
    axes.axvline(1.0, color="gray", linewidth=0.8)
    axes.set_yticks(places, [f"{r.workload.name}  (best: {r.best_peer})" for r in shown], fontsize=8)
    axes.set_xlabel("our time / time of the best peer")
    axes.legend(loc="lower right")
    axes.set_title(f"Default schedules, {platform.machine()}", fontsize=10)
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
