"""The strategies are measured: what they never produce is not tested, however many examples run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from loopwright import ir
from loopwright.dtype import DType, known_names
from loopwright.ir.op import all_records
from loopwright.node import MISSING, Node
from loopwright.testing import strategies
from loopwright.testing.strategies.scalars import AWKWARD_NAMES

# What no kernel program holds, with the reason.
ELSEWHERE = {
    "AnyType": "graph programs",
    "BinaryOp": "base class",
    "BlockRef": "made by SBlock",
    "BufferRegionType": "made by BufferRegion",
    "Comparison": "base class",
    "DummyGlobalInfo": "graph programs",
    "ExternFunc": "graph programs",
    "FuncType": "made by PrimFunc",
    "GenericConst": "graph programs",
    "GlobalInfo": "base class",
    "IndexMap": "arguments of schedule primitives",
    "Reduce": "tensor expressions",
    "StringType": "made by StringImm",
    "TensorMapType": "the native device layer",
    "TupleGetItem": "graph programs",
    "Tuple": "graph programs",
    "TupleType": "graph programs",
    "UnknownFunctionError": "an error",
    "VDevice": "graph programs",
    "CommReducer": "tensor expressions and cross-thread reductions",
}
BASES = {"Node", "Expr", "PrimExpr", "Stmt", "Type", "BaseFunc"}


def sample(strategy: SearchStrategy[Any], count: int, look: Callable[[Any], None]) -> None:
    """Show `count` examples of a strategy, always the same ones, to `look`."""

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def run(value: Any) -> None:
        look(value)

    run()


def count_nodes(node: Node, seen: Counter[str], fields: Counter[str]) -> None:
    """Count classes, fields away from their defaults, loop kinds, dtypes and names."""
    for n in ir.walk(node):
        cls = type(n)
        seen[cls.__name__] += 1
        for f in cls.field_table:
            if f.default is not MISSING and f.name != "span" and getattr(n, f.name) is not f.default:
                fields[f"{cls.__name__}.{f.name}"] += 1
        if isinstance(n, ir.For):
            seen[f"kind {n.kind.name}"] += 1
        if isinstance(n, ir.Var):
            seen[f"name {n.name}"] += 1
            count_type(n.ty, seen, fields)
        if isinstance(n, ir.IntImm | ir.FloatImm | ir.Cast) and isinstance(n.ty, ir.PrimType):
            seen[f"dtype {n.ty.dtype}"] += 1


def count_type(ty: ir.Type, seen: Counter[str], fields: Counter[str]) -> None:
    seen[type(ty).__name__] += 1
    for f in type(ty).field_table:
        value = getattr(ty, f.name)
        if f.default is not MISSING and value is not f.default and value != f.default:
            fields[f"{type(ty).__name__}.{f.name}"] += 1


@pytest.mark.slow
def test_programs_show_everything() -> None:
    seen: Counter[str] = Counter()
    fields: Counter[str] = Counter()
    sample(strategies.modules(), 500, lambda m: count_nodes(m, seen, fields))
    sample(strategies.prim_funcs(), 400, lambda f: count_nodes(f, seen, fields))
    classes = {n for n in ir.__all__ if isinstance(getattr(ir, n), type) and issubclass(getattr(ir, n), Node)}
    missing = {c for c in classes if not seen[c]} - BASES - ELSEWHERE.keys()
    assert missing == set()
    assert {k.name for k in ir.ForKind if not seen[f"kind {k.name}"]} == set()
    dtypes = set(known_names()) - {"handle", "void"}
    assert {d for d in dtypes if not seen[f"dtype {DType(d)}"]} == set()
    assert {n for n in AWKWARD_NAMES if not seen[f"name {n}"]} == set()
    wanted = {
        f"{c}.{f.name}"
        for c in classes - BASES - ELSEWHERE.keys()
        for f in getattr(ir, c).field_table
        if f.default is not MISSING and f.name not in ("span", "ref")
    }
    # Filled in by the constructors or by functions of modules, or reserved.
    reserved = {"BufferType.layout", "BufferType.allocated_addr", "IRModule.global_infos", "GlobalVar.ty"}
    reserved.add("Call.ty_args")  # of graphs
    assert {w for w in wanted if not fields[w]} - reserved == set()


@pytest.mark.slow
def test_every_operator_is_called() -> None:
    called: Counter[str] = Counter()

    def look(e: Any) -> None:
        for n in ir.walk(e):
            if isinstance(n, ir.Call) and isinstance(n.op, ir.Op):
                called[n.op.name] += 1

    for record in all_records():
        sample(strategies.calls(record), 12, look)
    assert {r.name for r in all_records() if not called[r.name]} == set()


def test_programs_are_well_formed() -> None:
    def look(f: Any) -> None:
        found = ir.check_well_formed(f)
        assert not found, "\n".join(d.render() for d in found)

    sample(strategies.prim_funcs(), 60, look)
    sample(strategies.prim_funcs(executable=True), 60, look)
    sample(strategies.modules(), 40, look)
