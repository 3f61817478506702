"""Reading text: Python's parser where it can, the lark reader where it has to."""

from __future__ import annotations

from ..node import runs_deep
from . import tree as t
from .ast_reader import read_ast
from .reading import Reading, no_collection, plain


@runs_deep
def read(source: str, *, start: str = "module", filename: str = "<text>") -> Reading:
    """The surface tree of a text and every fault found in it; never raises on bad text.

    `start` is "module", "statements" or "expression"; for the last the tree holds one `ExprStmt`.
    """
    with no_collection():
        reading = read_ast(source, filename, start)
        if reading is not None:
            return reading
        from .lark_reader import read_lark

        return read_lark(source, filename, start)


@runs_deep
def read_python(source: str, *, filename: str, line: int = 1) -> Reading:
    """Read a piece of a Python file, a decorated definition for instance, indented or not.

    `source` starts at line `line` of the file, as `inspect.getsource` gives it; spans are places in
    the file. Statements of Python that the language lacks become `Unsupported`.
    """
    source = plain(source)
    first = source.lstrip("\n").split("\n", 1)[0]
    indented = first[:1] in (" ", "\t")
    lead = "\n" * (line - 2) + "if 1:\n" if indented and line > 1 else "\n" * (line - 1)
    with no_collection():
        reading = read_ast(lead + source, filename, python=True)
        if reading is None:
            reading = read(lead + source, start="statements", filename=filename)
    body = reading.tree.body
    while body and isinstance(body[0], t.Blank):
        body = body[1:]
    if lead.endswith("if 1:\n") and body and isinstance(body[0], t.IfStmt):
        body = body[0].body + body[1:]
    return Reading(reading.tree.replace(body=body), reading.diagnostics, reading.source)
