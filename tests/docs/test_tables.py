"""The tables that the documentation generates are complete."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from loopwright.ir.relax import all_ops

DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_of_graph_operators() -> None:
    spec = importlib.util.spec_from_file_location("docs_conf", DOCS / "conf.py")
    assert spec is not None and spec.loader is not None
    conf = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conf)
    source = [(DOCS / "graph_operators.md").read_text("utf8")]
    conf._fill_tables(None, "graph_operators", source)
    for rec in all_ops():
        row = next(line for line in source[0].splitlines() if line.startswith(f"| `R.{rec.script}("))
        assert row.count("|") - row.count("\\|") == 5
        assert rec.doc.split()[0] in row
