"""`tvm.script.ir_builder.relax.ir`: the words of `R` as calls and context managers."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from ...... import ir
from ......ir import relax
from ......node import Attrs
from ......script import relax as words
from ......script.names import TextNames
from ......script.relax_builder import GraphBuilder
from ......script.relax_statements import DataflowFrame
from ......script.values import Form, set_active_builder
from ..base import IRBuilder, with_faults

py_print = builtins.print


def _graph() -> GraphBuilder:
    builder = IRBuilder.current().builder
    if not isinstance(builder, GraphBuilder):
        raise ValueError("this belongs in `with R.function():`")
    return builder


class FunctionFrame:
    """`with R.function():`"""

    def __init__(self, is_pure: bool = True, is_private: bool = False) -> None:
        self.pure = is_pure
        self.private = is_private
        self.owner = IRBuilder.current()
        self.builder = GraphBuilder(TextNames(), [], live=True)
        self.before: Any = None

    def __enter__(self) -> FunctionFrame:
        self.before = self.owner.builder
        self.owner.builder = self.builder
        set_active_builder(self.builder)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.owner.builder = self.before
        set_active_builder(self.before)
        if kind is not None:
            return
        func = self._function()
        if self.owner.module is not None:
            self.owner.module.add(str(func.attrs.get("global_symbol", "main")), func)
        else:
            self.owner.result = func

    def _function(self) -> relax.Function:
        b = self.builder
        if b.result is None:
            raise ValueError("the function has no result: say `R.func_ret_value(...)`")
        attrs = {k: v for k, v in b.attrs.items() if k != "global_symbol" or not self.private}
        body = relax.SeqExpr(b.blocks.end_scope(), b.result)
        found, wanted = b.result_type(body), b.ret_type
        ret = found if wanted is None or relax.is_base_of(wanted, found) else wanted
        return relax.Function(b.params, body, ret, self.pure, Attrs(attrs))


function = FunctionFrame


def func_name(name: str) -> None:
    """The name of the function."""
    _graph().attrs["global_symbol"] = name


def func_ret_ty(ret_ty: Any) -> None:
    """Say the type of the result."""
    _graph().ret_type = ret_ty


def func_ret_value(value: Any) -> None:
    """End the function with this result."""
    b = _graph()
    b.result = with_faults(lambda: b.returned(value))


def arg(name: str, ty: Any) -> ir.Var:
    """A parameter."""
    made = ir.Var(name, ty)
    _graph().params.append(made)
    return made


class DataflowContext:
    """`with R.dataflow() as df:`; `df.output_vars` are what it gives out."""

    def __init__(self) -> None:
        self.builder = _graph()
        self.frame = DataflowFrame()
        self.output_vars: list[ir.Var] = []

    def __enter__(self) -> DataflowContext:
        with_faults(lambda: self.frame.enter(self.builder, None))
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            flow = self.builder.dataflow
            with_faults(lambda: self.frame.leave(self.builder, None))
            self.output_vars = list((flow.outputs or {}).values()) if flow is not None else []


dataflow = DataflowContext


class BranchFrame:
    """`with R.Then():` and `with R.Else():`"""

    def __init__(self, place: str) -> None:
        self.builder = _graph()
        self.place = place

    def __enter__(self) -> None:
        self.builder.blocks.begin_scope()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        blocks = self.builder.blocks.end_scope()
        if kind is None:
            if not blocks:
                raise ValueError(f"`R.{self.place}` binds nothing")
            last: Any = blocks[-1].bindings[-1]
            self.builder.branches[-1][self.place] = relax.SeqExpr(blocks, last.var)


class IfFrame:
    """`with R.If(condition) as frame:` with `R.Then` and `R.Else` inside; `frame.var` is its value."""

    def __init__(self, condition: Any) -> None:
        self.builder = _graph()
        self.condition = condition
        self.var: Any = None

    def __enter__(self) -> IfFrame:
        self.builder.branches.append({})
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        parts = self.builder.branches.pop()
        if kind is None:
            if set(parts) != {"Then", "Else"}:
                raise ValueError("`R.If` needs `R.Then` and `R.Else`")
            made = relax.If(self.builder.argument(self.condition), parts["Then"], parts["Else"])
            self.var = self.builder.bind("", made, None)


If = IfFrame


def Then() -> BranchFrame:
    """The branch that is taken where the condition holds."""
    return BranchFrame("Then")


def Else() -> BranchFrame:
    """The branch that is taken where it does not."""
    return BranchFrame("Else")


def _word(form: Form) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        if not form.building:
            return form.run(*args, **options)
        builder = _graph()
        made = with_faults(lambda: form.run(builder, *args, **options))
        builder.fresh.clear()
        return made

    call.__name__ = form.script_name.rpartition(".")[2]
    return call


def __getattr__(name: str) -> Any:
    """A word of `R`. Raises AttributeError for what is none."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(words, name)
    return _word(found) if type(found) is Form else found


__all__ = [
    "Else",
    "If",
    "Then",
    "arg",
    "dataflow",
    "func_name",
    "func_ret_ty",
    "func_ret_value",
    "function",
    "py_print",
]
