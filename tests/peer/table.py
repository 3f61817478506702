"""Counting what both sides did, and the table of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Row:
    """The steps of one primitive."""

    drawn: int = 0
    accepted: int = 0
    wrong: int = 0
    ours: int = 0
    equal: int = 0


@dataclass(slots=True)
class Table:
    """All that was counted, and the steps to look at.

    `lost` were accepted by the peer and not by us, `peer_wrong` changed what the program computes on the
    peer, `answers` are questions that we answer otherwise, `crashes` ended the peer's process.
    """

    rows: dict[str, Row] = field(default_factory=lambda: defaultdict(Row))
    lost: list[dict[str, Any]] = field(default_factory=list)
    peer_wrong: list[dict[str, Any]] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)
    crashes: list[dict[str, Any]] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    sequences: int = 0
    whole: int = 0

    def shares(self) -> tuple[float, float]:
        """Per cent of the steps, and of the sequences, that the peer accepts rightly and we accept."""
        accepted = sum([r.accepted for r in self.rows.values()])
        ours = sum([r.ours for r in self.rows.values()])
        return 100 * ours / max(1, accepted), 100 * self.whole / max(1, self.sequences)

    def __str__(self) -> str:
        lines = [f"{'primitive':26}{'drawn':>7}{'peer':>7}{'wrong':>7}{'ours':>7}{'share':>8}{'equal':>8}"]
        for name, row in sorted(self.rows.items()):
            lines.append(_line(name, row))
        steps, whole = self.shares()
        lines.append(f"steps: {steps:.1f} % of what the peer accepts; whole sequences: {whole:.1f} %")
        lines.append(f"{self.sequences} sequences, {sum([r.accepted for r in self.rows.values()])} steps")
        lines += _causes("accepted by the peer and not by us", self.lost)
        lines += _causes("accepted by the peer with another result (not counted)", self.peer_wrong)
        lines += _causes("questions that we answer otherwise (not counted)", self.answers)
        lines += _causes("crashes of the peer", self.crashes)
        return "\n".join(lines)


def _line(name: str, row: Row) -> str:
    share = f"{100 * row.ours / row.accepted:.1f} %" if row.accepted else "-"
    equal = f"{100 * row.equal / row.ours:.0f} %" if row.ours else "-"
    numbers = f"{row.drawn:7}{row.accepted:7}{row.wrong:7}{row.ours:7}"
    return f"{name:26}{numbers}{share:>8}{equal:>8}"


def _causes(title: str, records: list[dict[str, Any]]) -> list[str]:
    if not records:
        return []
    counts = Counter([(r["primitive"], r["cause"]) for r in records])
    first = {(r["primitive"], r["cause"]): r["sequence"] for r in reversed(records)}
    lines = [f"{title}:"]
    for key, count in counts.most_common():
        lines.append(f"  {count:5} {key[0]}: {key[1]}   (such as sequence {first[key]})")
    return lines
