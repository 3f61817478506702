"""Reading a printed trace back; the text is read as a surface tree and never executed."""

from __future__ import annotations

from typing import Any

from ..errors import Diagnostic, ScriptError, Span, suggest
from ..grammar import read
from ..grammar import tree as t
from ..ir import Expr, IndexMap, PrimType, Var, as_expr, walk
from ..node import runs_deep
from .handles import MARKS, LoopRV, SBlockRV
from .instruction import Instruction, InstructionKind
from .names import Names
from .registry import PRIMITIVES
from .trace import Trace
from .trace_text import show_value


@runs_deep
def read_trace(text: str) -> Trace:
    """The trace that a script says: bare calls, or a function of them.

    Raises ScriptError naming the first line that is no step.
    """
    reading = read(text, filename="<trace>")
    if reading.diagnostics:
        raise ScriptError(*reading.diagnostics)
    return _Reader(text).steps(reading.tree.body)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.names = Names()
        self.trace = Trace()

    def fault(self, message: str, span: Span | None, *help: str) -> ScriptError:
        return ScriptError(Diagnostic("trace", message, span, help=help, source=self.text))

    def steps(self, body: tuple[t.SStmt, ...]) -> Trace:
        for s in body:
            if isinstance(s, t.FunctionDef):
                self.steps(s.body)
            elif isinstance(s, t.Assign):
                self._step(s.value, _targets(s))
            elif isinstance(s, t.ExprStmt):
                if isinstance(s.value, t.Constant):
                    continue
                self._step(s.value, ())
            elif isinstance(s, t.KeywordStmt) or isinstance(s, t.Comment | t.Blank | t.ImportStmt):
                continue
            else:
                raise self.fault("this is no step of a trace", s.span)
        return self.trace

    def _step(self, call: t.SExpr, targets: tuple[t.SExpr, ...]) -> None:
        if (
            not isinstance(call, t.CallExpr)
            or not isinstance(call.func, t.Attribute)
            or not isinstance(call.func.value, t.Name)
        ):
            raise self.fault("a step is a call of a method of the schedule", call.span)
        name = call.func.attr
        if name not in PRIMITIVES:
            raise self.fault(f"there is no primitive `{name}`", call.span, *suggest(name, PRIMITIVES))
        prim = PRIMITIVES[name]
        args = tuple([self.value(a) for a in call.args])
        kwargs = {k.name: self.value(k.value) for k in call.keywords if k.name is not None}
        if name == "get_output_blocks" and "block" in kwargs:  # the peer's text calls it so
            kwargs["scope_block"] = kwargs.pop("block")
        arguments = prim.bind(args, kwargs)
        decision = arguments.pop("decision", None)
        outputs: list[Any] = []
        for target in targets:
            if not isinstance(target, t.Name):
                raise self.fault("the results of a step are names", target.span)
            outputs.append(_handle(target.id))
            self.names.add(outputs[-1], target.id)
        self.trace.append(Instruction(InstructionKind(prim), arguments, outputs), decision)

    def value(self, e: t.SExpr) -> Any:
        """The value of an argument: a literal, handles, lists of them, an expression, a lambda."""
        if isinstance(e, t.Constant):
            return e.value
        if isinstance(e, t.Name):
            found = self.names.by_name.get(e.id)
            if found is None:
                raise self.fault(f"`{e.id}` is not a result of an earlier step", e.span)
            return found
        if isinstance(e, t.ListExpr):
            return [self.value(v) for v in e.elts]
        if isinstance(e, t.TupleExpr):
            return tuple([self.value(v) for v in e.elts])
        if isinstance(e, t.DictExpr):
            keys = [None if k is None else self.value(k) for k in e.keys]
            return dict(zip(keys, [self.value(v) for v in e.values_]))
        if isinstance(e, t.UnaryExpr) and e.op == "-" and isinstance(e.operand, t.Constant):
            return -e.operand.value
        return self._other(e)

    def _other(self, e: t.SExpr) -> Any:
        from ..printer import layout
        from ..script import parse

        variables = {n: h for n, h in self.names.by_name.items() if isinstance(h, Var)}
        text = str(layout(e))
        if isinstance(e, t.Lambda):
            return self._index_map(e)
        made = parse(text, start="expression", extra_vars=variables)
        if not isinstance(made, Expr | IndexMap):
            raise self.fault("this is no argument of a step", e.span)
        return made

    def _index_map(self, e: t.Lambda) -> IndexMap:
        """The map; names that are not its own stay free: the primitive looks for them where it is applied.

        Text does not say of which integers its indices are: of 64 bits where 32 would have to be widened.
        """
        from ..printer import layout

        casts = str(layout(e)).count("T.Cast(")
        made = self._map_of(e, "int32")
        return made if show_value(made, self.names).count("T.Cast(") == casts else self._map_of(e, "int64")

    def _map_of(self, e: t.Lambda, dtype: str) -> IndexMap:
        from ..printer import layout
        from ..script import parse

        own = [p.name for p in e.params]
        used = [n.id for n in walk(e.body) if isinstance(n, t.Name) and n.id != "T"]
        known = {n: Var(n, PrimType(dtype)) for n in (*own, *used)}
        rows = e.body.elts if isinstance(e.body, t.TupleExpr | t.ListExpr) else (e.body,)
        final = [parse(str(layout(r)), start="expression", extra_vars=known) for r in rows]
        return IndexMap([known[n] for n in own], [as_expr(f) for f in final])


def _targets(s: t.Assign) -> tuple[t.SExpr, ...]:
    found: list[t.SExpr] = []
    for target in s.targets:
        found.extend(target.elts if isinstance(target, t.TupleExpr) else [target])
    return tuple(found)


def _handle(name: str) -> Any:
    """A handle that stands for a result of the step, told by its name: b, l or v and a number."""
    if name in MARKS:
        return LoopRV(name)
    if name.startswith("b"):
        from ..ir.stmt import BlockRef

        return SBlockRV(BlockRef(name))
    return LoopRV(Var(name)) if name.startswith("l") else Var(name)
