"""Building a module from a class: statements first, then all signatures, then the bodies."""

from __future__ import annotations

from typing import Any

from ..errors import Diagnostic, suggest
from ..grammar import tree as S
from ..ir import BaseFunc, Expr, ExternFunc, FuncType, GlobalVar, IRModule
from ..ir.relax.function_table import FunctionTable
from ..node import Attrs
from .builder import Builder, attr_value
from .decorator import Decorator
from .expr import call_value, evaluate
from .faults import Fault, Poisoned, describe, fault
from .function import FunctionJob
from .names import Outer
from .sequence import target_names
from .values import ModuleRef, Symbol, set_active_builder
from .words_ir import NamedExtern

_set_ty = Expr.__dict__["ty"].__set__


class ModuleNames(Outer):
    """The names of a class body: its own first, then those around it."""

    def __init__(self, outer: Outer) -> None:
        self.outer = outer
        self.own: dict[str, Any] = {}

    def find(self, name: str) -> Any:
        """What the class defines, else what the name means outside."""
        if name in self.own:
            return self.own[name]
        return self.outer.find(name)

    def known(self) -> list[str]:
        """All names."""
        return [*self.own, *self.outer.known()]


class ModuleJob:
    """One class on its way to an IRModule."""

    def __init__(
        self,
        node: S.ClassDef,
        outer: Outer,
        diagnostics: list[Diagnostic],
        *,
        live: bool,
        options: dict[str, Any],
        source: str = "",
    ) -> None:
        self.node = node
        self.names = ModuleNames(outer)
        self.diagnostics = diagnostics
        self.live = live
        self.options = options
        self.source = source
        self.functions: dict[str, Any] = {}
        self.global_vars: dict[str, GlobalVar] = {}
        self.attrs: dict[str, Any] = {}
        self.infos: dict[str, tuple[Any, ...]] = {}
        self.jobs: dict[str, FunctionJob] = {}
        self.started: set[str] = set()
        self.finished: set[str] = set()
        self.kernels: FunctionTable | None = None
        self.builder = Builder(self.names, diagnostics, live=live)
        self.builder.module = self

    def build(self) -> IRModule | None:
        """The module, or None when there are faults."""
        faults = len(self.diagnostics)
        before = set_active_builder(self.builder)
        try:
            self.names.own[self.node.name] = ModuleRef(self.node.name, self.global_vars)
            definitions = [s for s in self.node.body if isinstance(s, S.FunctionDef)]
            for stmt in self.node.body:
                if not isinstance(stmt, S.FunctionDef):
                    self._guard(self._statement, stmt)
            for one in definitions:
                self._guard(self._declare, one)
            for job in self.jobs.values():
                self._declare_signature(job)
            for name in self.jobs:
                self.complete(name)
        finally:
            set_active_builder(before)
        if any(d.severity == "error" for d in self.diagnostics[faults:]):
            return None
        table: dict[GlobalVar, BaseFunc] = {self.global_vars[n]: f for n, f in self.functions.items()}
        if self.kernels is not None:
            table.update(self.kernels.functions)
        return IRModule(table, Attrs(self.attrs), Attrs(self.infos), self.node.span)

    def complete(self, name: str) -> None:
        """Build the body of a function, unless that was begun before."""
        if name in self.started:
            return
        self.started.add(name)
        made = self.jobs[name].complete()
        self.finished.add(name)
        if made is not None:
            self.functions[name] = made
            _set_ty(self.global_vars[name], made.ty)

    def settle(self, name: str) -> None:
        """Let the type of a function be known: build it first where its result has no annotation.

        Raises a Fault for a function that calls itself and does not say what it gives.
        """
        job = self.jobs.get(name)
        if job is None or not job.open_result:
            return
        if name in self.started and name not in self.finished:
            if job.builder.ret_type is not None:
                return
            raise fault(
                "annotation-required",
                f"`{name}` calls itself, so its result needs an annotation",
                self.builder.span,
                help=(f"write `def {name}(...) -> R.Tensor(...):`",),
            )
        self.complete(name)

    def kernel_table(self) -> FunctionTable:
        """Where graph functions put the kernels that they make; names of the module's functions are taken."""
        if self.kernels is None:
            self.kernels = FunctionTable(IRModule({}))
            self.kernels.names.taken.update(self.global_vars)
        return self.kernels

    def _guard(self, run: Any, stmt: Any) -> None:
        self.builder.guard(lambda: run(stmt), stmt.span)

    def _statement(self, stmt: S.SStmt) -> None:
        if isinstance(stmt, S.Comment | S.Blank) or isinstance(stmt, S.KeywordStmt) and stmt.word == "pass":
            return
        if isinstance(stmt, S.ExprStmt):
            if not isinstance(stmt.value, S.Constant):
                evaluate(self.builder, stmt.value)
            return
        if isinstance(stmt, S.Assign) and len(stmt.targets) == 1 and isinstance(stmt.targets[0], S.Name):
            name = stmt.targets[0].id
            value = (
                call_value(self.builder, stmt.value)
                if isinstance(stmt.value, S.CallExpr)
                else evaluate(self.builder, stmt.value)
            )
            self.define(name, value, stmt)
            return
        if isinstance(stmt, S.Unsupported) and stmt.kind == "Error":
            raise Poisoned
        raise fault("unsupported-syntax", "this statement is not possible in a module's class", stmt.span)

    def define(self, name: str, value: Any, stmt: Any) -> None:
        """Add what an assignment of the class defines: an extern function, a symbol, a value."""
        if isinstance(value, NamedExtern):
            self._new_global(value.name, None, stmt)
            self.functions[value.name] = value.func
        elif isinstance(value, ExternFunc):
            self._new_global(name, value.ty if isinstance(value.ty, FuncType) else None, stmt)
            self.functions[name] = value
        elif isinstance(value, BaseFunc):
            self._new_global(name, value.ty if isinstance(value.ty, FuncType) else None, stmt)
            self.functions[name] = value
        else:
            self.names.own[name] = value

    def _new_global(self, name: str, ty: Any, stmt: Any) -> GlobalVar:
        if name in self.global_vars:
            raise fault("duplicate-function", f"the module has two functions called `{name}`", stmt.span)
        made = GlobalVar(name) if ty is None else GlobalVar(name, ty)
        self.global_vars[name] = made
        self.names.own[name] = made
        return made

    def _declare(self, node: S.FunctionDef) -> None:
        decorator = function_decorator(self.builder, node)
        if decorator.kind in MACROS:
            from .macros import define_macro

            self.names.own[node.name] = define_macro(self.builder, node, decorator)
            return
        kind = job_class(decorator, node)
        options = {**decorator.options}
        if not self.options.get("check_well_formed", True):
            options["check_well_formed"] = False
        name = str(options.get("name", node.name))
        self._new_global(name, None, node)
        self.names.own[node.name] = self.global_vars[name]
        if self.options.get("s_tir"):
            options.setdefault("s_tir", True)
        job = kind(node, self.names, self.diagnostics, live=self.live, options=options, source=self.source)
        job.join(self)
        self.jobs[name] = job

    def _declare_signature(self, job: FunctionJob) -> None:
        ty = job.declare()
        if ty is not None:
            _set_ty(self.names.own[job.node.name], ty)

    # the words of `I`

    def set_attrs(self, attrs: Any, allow_overwrite: bool) -> None:
        """`I.module_attrs({...})`. Raises a Fault for a key given twice."""
        if not isinstance(attrs, dict | Attrs):
            raise fault(
                "invalid-argument", f"attributes are a dictionary, not {describe(attrs)}", self.builder.span
            )
        for key, value in attrs.items():
            if key in self.attrs and not allow_overwrite:
                raise fault(
                    "duplicate-declaration", f"the module attribute `{key}` is given twice", self.builder.span
                )
            self.attrs[str(key)] = attr_value(value)

    def set_infos(self, infos: Any) -> None:
        """`I.module_global_infos({name: [infos]})`."""
        if not isinstance(infos, dict | Attrs):
            raise fault(
                "invalid-argument", f"global infos are a dictionary, not {describe(infos)}", self.builder.span
            )
        for key, values in infos.items():
            self.infos[str(key)] = tuple(values) if isinstance(values, list | tuple) else (values,)


MACROS = ("macro", "inline", "graph_macro")
"""The kinds of decorators whose functions are pasted at the call."""


def job_class(decorator: Decorator, node: Any) -> type[FunctionJob]:
    """What builds the function below this decorator. Raises a Fault when it decorates something else."""
    if decorator.kind == "function":
        from .relax_function import GraphJob

        return GraphJob
    if decorator.kind != "prim_func":
        raise unsupported_decorator(decorator, node)
    return FunctionJob


def function_decorator(b: Builder, node: S.FunctionDef) -> Decorator:
    """The decorator of a function definition. Raises a Fault when it has none of ours, or several."""
    if not node.decorators:
        raise fault(
            "undecorated",
            f"the function `{node.name}` has no decorator",
            node.span,
            help=("put `@T.prim_func` or `@R.function` above it",),
        )
    found: list[Decorator] = []
    for one in node.decorators:
        value = evaluate(b, one)
        if isinstance(value, Decorator):
            found.append(value)
        else:
            raise fault(
                "unknown-decorator",
                f"{describe(value)} is no decorator of the language",
                one.span,
                help=("functions take `@T.prim_func`, `@R.function`, `@T.jit`, or are macros",),
            )
    if len(found) > 1:
        raise fault("unknown-decorator", f"`{node.name}` has several decorators", node.span)
    return found[0]


def unsupported_decorator(decorator: Decorator, node: Any) -> Fault:
    """The fault for a decorator that does not belong here or is not supported yet."""
    if decorator.unsupported is not None:
        found = decorator.unsupported
        return Fault(Diagnostic("unsupported", found.message, node.span, notes=found.notes, help=found.help))
    return fault(
        "unknown-decorator",
        f"`{decorator.script_name}` does not decorate this",
        node.span,
        help=suggest(decorator.script_name, ("T.prim_func", "R.function", "I.ir_module")),
    )


__all__ = ["ModuleJob", "Symbol", "function_decorator", "target_names", "unsupported_decorator"]
