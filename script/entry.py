"""From text to IR: `parse`, `check`, and the last steps that decorators share with them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from ..errors import Diagnostic, InternalError, ScriptError, Span
from ..grammar import read
from ..grammar import tree as S
from ..ir import BaseFunc, Expr, IRModule, PrimFunc, Stmt
from ..node import runs_deep
from .builder import Builder, finish
from .decorator import Decorator
from .expr import call_value, evaluate
from .faults import Poisoned, fault
from .function import FunctionJob
from .jit import JitFunction
from .macros import define_macro
from .module import MACROS, ModuleJob, function_decorator, job_class, unsupported_decorator
from .names import Outer, TextNames, language_table
from .stmt import build_body
from .values import set_active_builder


@runs_deep
def parse(
    text: str,
    *,
    filename: str = "<text>",
    extra_vars: Mapping[str, Any] | None = None,
    start: str = "module",
    check_well_formed: bool = True,
) -> Any:
    """The module, function or fragment that a text says; nothing in the text is executed.

    `extra_vars` are values that names in the text may mean.  `start` is "module", "statements" (gives
    a statement) or "expression".  Raises ScriptError with every fault that was found.
    """
    if not isinstance(text, str):
        raise TypeError(f"parse takes a text, not a {type(text).__name__}")
    if start not in ("module", "statements", "expression"):
        raise ValueError(f"start is module, statements or expression, not {start!r}")
    diagnostics, results = _parse(text, filename, extra_vars, start, check_well_formed)
    errors = [d for d in diagnostics if d.severity == "error"]
    if errors:
        raise ScriptError(*errors)
    if not results:
        whole = Span(filename, 1, 1, 1, 1)
        raise ScriptError(
            Diagnostic(
                "empty", "the text defines nothing", whole, help=("write a function below `@T.prim_func`",)
            )
        )
    return results[0] if len(results) == 1 else _together(results, filename)


@runs_deep
def check(
    text: str, *, filename: str = "<text>", extra_vars: Mapping[str, Any] | None = None
) -> list[Diagnostic]:
    """Every finding in a text, warnings included; recovers from faults, for editors."""
    diagnostics, _ = _parse(text, filename, extra_vars, "module", True)
    return diagnostics


def _parse(
    text: str, filename: str, extra_vars: Mapping[str, Any] | None, start: str, check_well_formed: bool
) -> tuple[list[Diagnostic], list[Any]]:
    try:
        reading = read(text, start=start, filename=filename)
        job = TextJob(reading, filename, extra_vars or {}, check_well_formed)
        if start == "expression" and not reading.ok and "\n" in text.strip():
            reading = read(text, start="statements", filename=filename)
            job = TextJob(reading, filename, extra_vars or {}, check_well_formed)
        results = job.run(start)
    except ScriptError as err:
        return [_with_source(d, text) for d in err.diagnostics], []
    except (RecursionError, MemoryError):
        whole = Span(filename, 1, 1, 1, 1)
        return [Diagnostic("too-deep", "this program is nested too deeply", whole)], []
    return [_with_source(d, reading.source) for d in job.diagnostics], results


def _with_source(found: Diagnostic, source: str) -> Diagnostic:
    return found if found.source is not None else dataclasses.replace(found, source=source)


def _together(results: list[Any], filename: str) -> Any:
    if all(isinstance(r, BaseFunc) for r in results):
        names = [str(r.attrs.get("global_symbol", f"main_{i}")) for i, r in enumerate(results)]
        return IRModule(dict(zip(names, results)))
    whole = Span(filename, 1, 1, 1, 1)
    raise ScriptError(Diagnostic("several-definitions", f"the text defines {len(results)} things", whole))


class TextJob:
    """One text on its way to IR."""

    def __init__(
        self, reading: Any, filename: str, extra_vars: Mapping[str, Any], check_well_formed: bool
    ) -> None:
        self.tree: S.ModuleTree = reading.tree
        self.source: str = reading.source
        self.diagnostics: list[Diagnostic] = list(reading.diagnostics)
        self.readable = reading.ok
        self.names = TextNames(extra_vars)
        self.check = check_well_formed
        self.filename = filename

    def run(self, start: str) -> list[Any]:
        """What the text defines."""
        body = self.tree.body
        definitions = [s for s in body if isinstance(s, S.FunctionDef | S.ClassDef)]
        if start == "module" and (definitions or not self.readable):
            return self._definitions(body)
        return self._fragment(body, start)

    def _definitions(self, body: tuple[S.SStmt, ...]) -> list[Any]:
        results = []
        for stmt in body:
            b = Builder(self.names, self.diagnostics, live=False)
            if isinstance(stmt, S.FunctionDef):
                b.guard(lambda s=stmt, b=b: results.append(self._function(b, s)), stmt.span)  # type: ignore[misc]
            elif isinstance(stmt, S.ClassDef):
                b.guard(lambda s=stmt, b=b: results.append(self._class(b, s)), stmt.span)  # type: ignore[misc]
            else:
                b.guard(lambda s=stmt, b=b: self._statement(b, s), stmt.span)  # type: ignore[misc]
        return [r for r in results if r is not None]

    def _function(self, b: Builder, node: S.FunctionDef) -> Any:
        before = set_active_builder(b)
        try:
            decorator = function_decorator(b, node)
        finally:
            set_active_builder(before)
        if decorator.kind in MACROS:
            self.names.defined[node.name] = define_macro(b, node, decorator)
            return None
        if decorator.kind == "jit":
            return finish_jit(node, self.names, self.source, decorator.options, live=False)
        kind, options = job_class(decorator, node), self._options(decorator)
        job = kind(node, self.names, self.diagnostics, live=False, options=options, source=self.source)
        made = job.complete()
        if made is not None:
            self._verify(made, options)
        return made

    def _class(self, b: Builder, node: S.ClassDef) -> Any:
        decorator = class_decorator(b, node)
        options = self._options(decorator)
        job = ModuleJob(node, self.names, self.diagnostics, live=False, options=options, source=self.source)
        made = job.build()
        if made is not None:
            self._verify(made, options)
        if made is not None and decorator.kind == "rewriter":
            from ..ir.relax.dpl import PatternMatchingRewriter

            return PatternMatchingRewriter.from_module(made)
        return made

    def _options(self, decorator: Decorator) -> dict[str, Any]:
        """The options of a decorator; what is not checked for the whole text is not checked here."""
        return decorator.options if self.check else {**decorator.options, "check_well_formed": False}

    def _verify(self, made: Any, options: Mapping[str, Any]) -> None:
        if self.readable and options.get("check_well_formed", True):
            self.diagnostics += well_formed_faults(made)

    def _statement(self, b: Builder, stmt: S.SStmt) -> None:
        if isinstance(stmt, S.ImportStmt):
            self.names.defined.update(imported_names(stmt.text))
            return
        if isinstance(stmt, S.Comment | S.Blank):
            return
        if isinstance(stmt, S.ExprStmt) and isinstance(stmt.value, S.Constant):
            return
        if isinstance(stmt, S.Assign) and len(stmt.targets) == 1 and isinstance(stmt.targets[0], S.Name):
            name = stmt.targets[0].id
            if name == "metadata" and isinstance(stmt.value, S.DictExpr):
                from ..printer.metadata import decode
                from .words_ir import constants

                self.names.defined[name] = constants(decode(stmt))
                return
            value = (
                call_value(b, stmt.value) if isinstance(stmt.value, S.CallExpr) else evaluate(b, stmt.value)
            )
            self.names.defined[name] = value
            return
        if isinstance(stmt, S.Unsupported) and stmt.kind == "Error":
            raise Poisoned
        raise fault("unsupported-syntax", "this statement is not possible outside of a function", stmt.span)

    # fragments

    def _fragment(self, body: tuple[S.SStmt, ...], start: str) -> list[Any]:
        b = Builder(self.names, self.diagnostics, live=False)
        b.loop_depth = 1
        before = set_active_builder(b)
        try:
            body = tuple([s for s in body if not self._setup(b, s)])
            if start == "expression":
                return self._expression(b, body)
            build_body(b, body)
            made: Stmt = finish(b.scopes[0])
            return [made] if any(not isinstance(s, S.Comment | S.Blank) for s in body) else []
        finally:
            set_active_builder(before)

    def _setup(self, b: Builder, stmt: S.SStmt) -> bool:
        """Whether a line of a fragment is no statement of it: imports, metadata, type variables."""
        if isinstance(stmt, S.ImportStmt):
            self.names.defined.update(imported_names(stmt.text))
            return True
        if isinstance(stmt, S.Assign) and len(stmt.targets) == 1 and isinstance(stmt.targets[0], S.Name):
            value = stmt.value
            if stmt.targets[0].id == "metadata" or (
                isinstance(value, S.CallExpr)
                and isinstance(value.func, S.Name)
                and value.func.id == "TypeVar"
            ):
                b.guard(lambda: self._statement(b, stmt), stmt.span)
                return True
        return False

    def _expression(self, b: Builder, body: tuple[S.SStmt, ...]) -> list[Any]:
        rest = [s for s in body if not isinstance(s, S.Comment | S.Blank)]
        if not rest or not isinstance(rest[-1], S.ExprStmt):
            return []
        build_body(b, rest[:-1])
        last = rest[-1]
        made: list[Any] = []

        def run() -> None:
            from ..ir import as_expr

            value = evaluate(b, last.value)
            if isinstance(value, bool | int | float | str):
                value = as_expr(value)
            made.append(value)

        b.guard(run, last.span)
        return made


_IMPORT = re.compile(r"\s*from\s+\w+\.script\s+import\s+(.*)")


def imported_names(text: str) -> dict[str, Any]:
    """What an import line of the language names: its tables under other names. Nothing is imported."""
    found = _IMPORT.fullmatch(text.replace("(", " ").replace(")", " ").replace("\n", " "))
    names: dict[str, Any] = {}
    for part in found[1].split(",") if found else ():
        words = part.split()
        if (
            len(words) == 3
            and words[1] == "as"
            and words[0] in ("ir", "tirx", "tir", "relax", "prim_func", "ir_module")
        ):
            names[words[2]] = language_table()[words[0]]
    return names


def class_decorator(b: Builder, node: S.ClassDef) -> Decorator:
    """The decorator of a class. Raises a Fault when it is neither `@I.ir_module` nor `@R.rewriter`."""
    found = [evaluate(b, d) for d in node.decorators]
    kinds = ("ir_module", "rewriter")
    if len(found) != 1 or not isinstance(found[0], Decorator) or found[0].kind not in kinds:
        if len(found) == 1 and isinstance(found[0], Decorator) and found[0].unsupported is not None:
            raise unsupported_decorator(found[0], node)
        raise fault(
            "undecorated",
            f"the class `{node.name}` is no module",
            node.span,
            help=("put `@I.ir_module` above it",),
        )
    decorator: Decorator = found[0]
    return decorator


def well_formed_faults(made: IRModule | BaseFunc) -> list[Diagnostic]:
    """The errors that the check of well-formedness finds."""
    from ..ir.analysis import check_well_formed

    return [d for d in check_well_formed(made) if d.severity == "error"]


def _raise(diagnostics: list[Diagnostic], source: str) -> None:
    errors = [_with_source(d, source) for d in diagnostics if d.severity == "error"]
    if errors:
        raise ScriptError(*errors)


def finish_function(
    node: S.FunctionDef,
    outer: Outer,
    source: str,
    options: dict[str, Any],
    *,
    live: bool,
    kind: type[FunctionJob] = FunctionJob,
) -> Any:
    """The function of a decorated definition. Raises ScriptError with every fault."""
    diagnostics: list[Diagnostic] = []
    job = kind(node, outer, diagnostics, live=live, options=options, source=source)
    made = job.complete()
    _raise(diagnostics, source)
    if made is None:
        raise InternalError(f"`{node.name}` gave neither a function nor a fault")
    if options.get("check_well_formed", True):
        _raise(well_formed_faults(made), source)
    return made


def finish_module(
    node: S.ClassDef, outer: Outer, source: str, options: dict[str, Any], *, live: bool
) -> IRModule:
    """The module of a decorated class. Raises ScriptError with every fault."""
    diagnostics: list[Diagnostic] = []
    made = ModuleJob(node, outer, diagnostics, live=live, options=options, source=source).build()
    _raise(diagnostics, source)
    if made is None:
        raise InternalError(f"`{node.name}` gave neither a module nor a fault")
    if options.get("check_well_formed", True):
        _raise(well_formed_faults(made), source)
    return made


def finish_jit(
    node: S.FunctionDef, outer: Outer, source: str, options: dict[str, Any], *, live: bool
) -> JitFunction:
    """The template of a decorated definition."""

    def done(made: PrimFunc, diagnostics: list[Diagnostic]) -> PrimFunc:
        if options.get("check_well_formed", True):
            _raise(well_formed_faults(made), source)
        return made

    return JitFunction(node, outer, live=live, options=options, source=source, finish=done)


def detached_builder() -> Builder:
    """A builder for evaluating expressions outside of any function."""
    return Builder(TextNames(), [], live=False)


__all__ = ["Expr", "check", "parse"]
