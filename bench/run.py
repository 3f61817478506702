"""All benchmarks of the language and of calls, against their goals.

    python bench/run.py [language startup calls schedule parallel models] [--json]

Times are processor time unless a row says otherwise; run it on a quiet machine.
"""

from __future__ import annotations

import argparse

import calls
import language
import models
import parallel
import startup
from common import Row, show

import schedule

PARTS = {
    "language": language.rows,
    "startup": startup.rows,
    "calls": calls.rows,
    "schedule": schedule.rows,
    "parallel": parallel.rows,
    "models": models.rows,
}


def main() -> None:
    """Run the chosen parts and print their rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help=f"which of {', '.join(PARTS)}; all without one")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    args = parser.parse_args()
    unknown = [p for p in args.parts if p not in PARTS]
    if unknown:
        parser.error(f"unknown part {unknown[0]!r}; there are {', '.join(PARTS)}")
    rows: list[Row] = []
    for name in args.parts or PARTS:
        rows += PARTS[name]()
    show(rows, args.json)


if __name__ == "__main__":
    main()
