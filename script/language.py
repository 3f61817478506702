"""The tables of the language: what `T`, `I`, `R` and the bare names of a text mean."""

from __future__ import annotations

from typing import Any

from .. import ir
from . import (
    decorators,
    loops,
    relax_types,
    relax_words,
    words_alloc,
    words_block,
    words_dtype,
    words_expr,
    words_ir,
    words_stmt,
)
from .static import TEXT_BUILTINS
from .values import MISSING, ConstexprNote, Form, Namespace, OptionalNote, Symbol


def _relax_table() -> Namespace:
    table = {**relax_types.words(), **relax_words.words(), **decorators.RELAX}
    return Namespace("R", table, relax_words.find_word(""), relax_words.known_words(""))


def _tirx_table() -> Namespace:
    table: dict[str, Any] = {}
    for more in (
        words_dtype.dtype_words(),
        words_expr.words(),
        words_alloc.words(),
        words_block.words(),
        words_stmt.words(),
        loops.WORDS,
    ):
        table.update(more)
    table.update(decorators.TIRX)
    table["meta_var"] = IR.table["meta_var"]
    table["Range"] = Form("T.Range", words_ir.make_range)
    table["constexpr"] = ConstexprNote()
    table["Optional"] = Form("T.Optional", OptionalNote)
    table["TypeVar"] = Form("TypeVar", Symbol)
    return Namespace("T", table, words_expr.find_word(""), words_expr.known_words(""))


def _ir_table() -> Namespace:
    return Namespace("I", {**words_ir.words(), **decorators.IR})


IR = _ir_table()
TIRX = _tirx_table()
RELAX = _relax_table()


def _root_table() -> Namespace:
    """`tvm`, as old texts write it: only what names the language's own tables."""
    load = Form("tvm.ir.load_json", words_ir.load_json)
    script = Namespace("tvm.script", {"tirx": TIRX, "tir": TIRX, "ir": IR, "relax": RELAX})
    target = Namespace("tvm.target", {"Target": TIRX.table["target"]})
    inner = Namespace("tvm.ir", {**IR.table, "load_json": load})
    return Namespace(
        "tvm", {"ir": inner, "script": script, "tirx": TIRX, "tir": TIRX, "relax": RELAX, "target": target}
    )


def _printed(name: str) -> Form:
    record = ir.script_record(name)
    assert record is not None
    return Form(name, words_expr.plain_arguments(record.build))


def make_table() -> dict[str, Any]:
    """The names that a text may use without definition."""
    out: dict[str, Any] = {name: Form(name, run) for name, run in TEXT_BUILTINS.items()}
    out["range"] = Form("range", loops.python_range)
    for word in ("print", "breakpoint"):
        out[word] = _printed(word)
    for name, table in (
        ("T", TIRX),
        ("tirx", TIRX),
        ("tir", TIRX),
        ("I", IR),
        ("ir", IR),
        ("R", RELAX),
        ("relax", RELAX),
    ):
        out[name] = table
    tile = TIRX.lookup("tile")
    if tile is not MISSING:
        out["Tx"] = tile
    axis = TIRX.lookup("Axis")
    if axis is not MISSING:
        out["Axis"] = axis
    out["TypeVar"] = TIRX.table["TypeVar"]
    out["tvm"] = _root_table()
    out["prim_func"] = TIRX.table["prim_func"]
    out["ir_module"] = IR.table["ir_module"]
    out["metadata"] = words_ir.AbsentMetadata()
    return out
