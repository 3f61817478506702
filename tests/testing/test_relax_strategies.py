"""The strategies of graph programs are measured: what they never produce is not tested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from loopwright import ir
from loopwright.ir import relax
from loopwright.node import MISSING, Node
from loopwright.testing import strategies

NODES = (
    relax.BindingBlock,
    relax.DataflowBlock,
    relax.DataflowVar,
    relax.DataTypeImm,
    relax.Function,
    relax.If,
    relax.MatchCast,
    relax.SeqExpr,
    relax.ShapeExpr,
    relax.ShapeType,
    relax.TensorType,
    relax.VarBinding,
    ir.AnyType,
    ir.DummyGlobalInfo,
    ir.ExternFunc,
    ir.FuncType,
    ir.GenericConst,
    ir.StringImm,
    ir.StringType,
    ir.Tuple,
    ir.TupleGetItem,
    ir.TupleType,
    ir.VDevice,
)
FORMS = {
    "a bare statement",
    "a branch",
    "a branch inside of a branch",
    "a call of a closure",
    "a call of a function of the module",
    "a call of an external function",
    "a constant of several numbers",
    "a constant of one number",
    "a function inside of a function",
    "a private function",
    "a variable of a weaker type",
    "an alias",
    "an output of a dataflow block",
    "effects",
    "the module's other name",
    "a symbol that is a parameter",
    "a symbol in an expression",
}


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


class Count:
    """What the programs that were looked at hold."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.fields: Counter[str] = Counter()
        self.forms: Counter[str] = Counter()
        self.ops: Counter[str] = Counter()

    def look(self, program: Node) -> None:
        """Count one program."""
        nodes: dict[int, Node] = {}
        for n in ir.walk(program):
            nodes[id(n)] = n
            if isinstance(n, ir.Var):
                nodes.update({id(t): t for t in ir.walk(n.ty)})
        if isinstance(program, ir.IRModule):
            nodes.update({id(d): d for infos in program.global_infos.values() for d in infos})
        for node in nodes.values():
            self.seen[type(node).__name__] += 1
            for f in type(node).field_table:
                if f.default is not MISSING and f.name != "span" and getattr(node, f.name) != f.default:
                    self.fields[f"{type(node).__name__}.{f.name}"] += 1
            self.node(node)
        text = program.script() if isinstance(program, ir.IRModule | ir.BaseFunc) else ""
        self.forms["the module's other name"] += "cls = Module" in text
        self.forms["a bare statement"] += "\n    R.print(" in text or "\n        R.print(" in text

    def node(self, n: Node) -> None:
        forms = self.forms
        match n:
            case relax.VarBinding(var, value):
                self.binding(var, value)
            case relax.Function():
                forms["a private function"] += "global_symbol" not in n.attrs
                sizes = {v for p in n.params for v in ir.type_vars(p.ty)}
                forms["a symbol that is a parameter"] += any(p in sizes for p in n.params)
                forms["a symbol in an expression"] += any(
                    isinstance(s, ir.Add) for p in n.params for s in getattr(p.ty, "sizes", None) or ()
                )
            case relax.DataflowBlock():
                forms["an output of a dataflow block"] += any(
                    not isinstance(b.var, relax.DataflowVar) for b in n.bindings
                )
            case relax.If():
                inner = [*ir.find(n.true_branch, relax.If), *ir.find(n.false_branch, relax.If)]
                forms["a branch inside of a branch"] += bool(inner)
            case ir.GenericConst():
                one = n.ty.ndim == 0
                forms[f"a constant of {'one number' if one else 'several numbers'}"] += 1
            case ir.Call():
                self.call(n)

    def binding(self, var: ir.Var, value: ir.Expr) -> None:
        forms = self.forms
        forms["an alias"] += isinstance(value, ir.Var)
        forms["a branch"] += isinstance(value, relax.If)
        forms["a function inside of a function"] += isinstance(value, relax.Function)
        forms["a variable of a weaker type"] += not ir.structural_equal(var.ty, value.ty)

    def call(self, call: ir.Call) -> None:
        forms = self.forms
        forms["a call of a function of the module"] += isinstance(call.op, ir.GlobalVar)
        forms["a call of an external function"] += isinstance(call.op, ir.ExternFunc)
        forms["a call of a closure"] += isinstance(call.op, ir.Var)
        if isinstance(call.op, ir.Op):
            self.ops[call.op.name] += 1
            rec = relax.find_op(call.op.name)
            forms["effects"] += rec is not None and not rec.pure


@pytest.mark.slow
def test_graphs_show_everything() -> None:
    count = Count()
    sample(strategies.relax_modules(), 300, count.look)
    sample(strategies.relax_functions(), 300, count.look)
    assert {c.__name__ for c in NODES if not count.seen[c.__name__]} == set()
    assert {f for f in FORMS if not count.forms[f]} == set()
    wanted = {
        f"{c.__name__}.{f.name}"
        for c in NODES
        for f in c.field_table
        if f.default is not MISSING and f.name != "span"
    }
    assert {w for w in wanted if not count.fields[w]} - {"ExternFunc.attrs"} == set()
    kernels = (
        "relax.call_tir",
        "relax.call_tir_inplace",
        "relax.call_tir_with_grad",
        "relax.call_dps_packed",
    )
    packed = ("relax.call_pure_packed", "relax.call_inplace_packed", "relax.to_vdevice", "relax.print")
    assert {name for name in (*kernels, *packed) if not count.ops[name]} == set()
    assert len([name for name in count.ops if name.startswith("relax.")]) > 40


@pytest.mark.slow
def test_graphs_that_run_show_much() -> None:
    count = Count()
    sample(strategies.relax_functions(executable=True), 200, count.look)
    wanted = ("If", "MatchCast", "Tuple", "TupleGetItem", "DataflowBlock", "GenericConst")
    assert {name for name in wanted if not count.seen[name]} == set()
    names = ("sum", "matmul", "reshape", "concat", "split", "permute_dims", "astype", "add", "where")
    assert {name for name in names if not count.ops[f"relax.{name}"]} == set()
