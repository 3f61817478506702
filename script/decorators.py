"""The decorators at work in Python: `@T.prim_func`, `@I.ir_module`, `@T.macro`, `@T.jit`."""

from __future__ import annotations

import inspect
import sys
import types
from typing import Any

from ..errors import Diagnostic, ScriptError, UnsupportedError
from ..grammar import read_python
from ..grammar import tree as S
from ..node import runs_deep
from .decorator import Decorator
from .names import LiveNames
from .source import (
    Source,
    definition,
    enclosing_frames,
    exact_source,
    in_class_body,
    no_source,
    source_of,
)


def _function_tree(func: Any, name: str) -> tuple[Any, str]:
    code = func.__code__
    source = source_of(func, code.co_filename, code.co_firstlineno)
    return _read(func, source, name)


def _read(obj: Any, source: Source, name: str) -> tuple[Any, str]:
    reading = read_python(source.text, filename=source.file, line=source.line)
    node = definition(reading.tree, name)
    if node is None or not reading.ok:
        exact = exact_source(obj, source)
        if exact.text != source.text:
            reading = read_python(exact.text, filename=exact.file, line=exact.line)
            node = definition(reading.tree, name)
    errors = [d for d in reading.diagnostics if d.severity == "error"]
    if errors:
        raise ScriptError(*errors)
    if node is None:
        raise no_source(name, source.file)
    return node, reading.source


def _require_function(target: Any, word: str) -> None:
    if not inspect.isfunction(target):
        raise TypeError(f"{word} decorates functions, not {type(target).__name__} objects")


@runs_deep
def apply_prim_func(target: Any, options: dict[str, Any], depth: int) -> Any:
    """`@T.prim_func` on a function: a PrimFunc; in the body of a class the function itself."""
    _require_function(target, "T.prim_func")
    frame = _caller()
    if in_class_body(frame):
        return target
    from .entry import finish_function

    node, source = _function_tree(target, target.__name__)
    outer = LiveNames([target], enclosing_frames(target.__qualname__, frame, target.__code__.co_filename))
    return finish_function(node, outer, source, options, live=True)


@runs_deep
def apply_ir_module(target: Any, options: dict[str, Any], depth: int) -> Any:
    """`@I.ir_module` on a class: an IRModule."""
    return _module(target, options, "I.ir_module")


@runs_deep
def apply_rewriter(target: Any, options: dict[str, Any], depth: int) -> Any:
    """`@R.rewriter` on a class with the functions `pattern` and `replacement`: replaces one by the other."""
    from ..ir import IRModule
    from ..ir.relax.dpl import PatternMatchingRewriter

    mod = target if isinstance(target, IRModule) else _module(target, options, "R.rewriter")
    return PatternMatchingRewriter.from_module(mod)


def _module(target: Any, options: dict[str, Any], word: str) -> Any:
    if not inspect.isclass(target):
        raise TypeError(f"{word} decorates classes, not {type(target).__name__} objects")
    from .entry import finish_module

    frame = _caller()
    file = frame.f_code.co_filename
    source = source_of(target, file, frame.f_lineno)
    node, text = _read(target, source, target.__name__)
    functions = [f for f in vars(target).values() if inspect.isfunction(f)]
    frames = enclosing_frames(target.__qualname__, frame, file)
    outer = LiveNames(functions, frames, frame.f_globals)
    return finish_module(node, outer, text, options, live=True)


@runs_deep
def apply_function(target: Any, options: dict[str, Any], depth: int) -> Any:
    """`@R.function` on a function: a graph function; in the body of a class the function itself."""
    _require_function(target, "R.function")
    frame = _caller()
    if in_class_body(frame):
        return target
    from .entry import finish_function
    from .relax_function import GraphJob

    node, source = _function_tree(target, target.__name__)
    outer = LiveNames([target], enclosing_frames(target.__qualname__, frame, target.__code__.co_filename))
    return finish_function(node, outer, source, options, live=True, kind=GraphJob)


def apply_graph_macro(target: Any, options: dict[str, Any], depth: int) -> Any:
    """`@R.macro` on a function: a macro of graphs."""
    from .relax_macros import GraphMacro

    return _macro(GraphMacro, "R.macro", target, options)


def apply_macro(target: Any, options: dict[str, Any], depth: int) -> Any:
    """`@T.macro` on a function: a macro."""
    from .macros import Macro

    return _macro(Macro, "T.macro", target, options)


def _macro(kind: Any, word: str, target: Any, options: dict[str, Any]) -> Any:
    if not inspect.isfunction(target):
        raise ValueError(f"{word} decorates functions, not {type(target).__name__} objects")
    frame = _caller()
    if in_class_body(frame):
        return target
    node, source = _function_tree(target, target.__name__)
    outer = LiveNames([target], enclosing_frames(target.__qualname__, frame, target.__code__.co_filename))
    hygienic = bool(options.get("hygienic", True))
    if hygienic:
        outer.settle()
    return kind(node, hygienic, outer, {}, True, source)


def apply_jit(target: Any, options: dict[str, Any], depth: int) -> Any:
    """`@T.jit` on a function: a template."""
    from .entry import finish_jit

    _require_function(target, "T.jit")
    frame = _caller()
    node, source = _function_tree(target, target.__name__)
    outer = LiveNames([target], enclosing_frames(target.__qualname__, frame, target.__code__.co_filename))
    return finish_jit(node, outer, source, options, live=True)


def _caller() -> types.FrameType:
    """The frame that applies the decorator: the first one outside of this package's script room."""
    frame: types.FrameType | None = sys._getframe(1)
    package = __name__.rpartition(".")[0]
    root = package.rpartition(".")[0]
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not (module.startswith(f"{package}.") or module == f"{root}.node"):
            return frame
        frame = frame.f_back
    raise no_source("<decorator>", "<unknown>")


def apply_pyfunc(target: Any, options: dict[str, Any], depth: int) -> Any:
    """`@I.pyfunc` belongs to the graph dialect."""
    raise UnsupportedError(_PYFUNC)


_PYFUNC = Diagnostic(
    "unsupported", "`I.pyfunc` is not supported yet", notes=("it comes with the graph dialect",)
)
_PRIM_OPTIONS = ("private", "check_well_formed", "s_tir", "persistent", "name")
_GRAPH_OPTIONS = ("pure", "private", "check_well_formed", "name")

TIRX: dict[str, Decorator] = {
    "prim_func": Decorator("T.prim_func", "prim_func", _PRIM_OPTIONS, apply_prim_func),
    "jit": Decorator(
        "T.jit", "jit", ("private", "check_well_formed", "is_stir", "s_tir", "persistent"), apply_jit
    ),
    "macro": Decorator("T.macro", "macro", ("hygienic",), apply_macro),
    "inline": Decorator(
        "T.inline", "inline", ("definition_depth", "defining_var_table", "hygienic"), apply_macro
    ),
}
RELAX: dict[str, Decorator] = {
    "function": Decorator("R.function", "function", _GRAPH_OPTIONS, apply_function),
    "macro": Decorator("R.macro", "graph_macro", ("hygienic",), apply_graph_macro),
    "rewriter": Decorator("R.rewriter", "rewriter", ("check_well_formed",), apply_rewriter),
}
IR: dict[str, Decorator] = {
    "ir_module": Decorator("I.ir_module", "ir_module", ("check_well_formed", "s_tir"), apply_ir_module),
    "pyfunc": Decorator("I.pyfunc", "pyfunc", (), apply_pyfunc, unsupported=_PYFUNC),
}

__all__ = ["IR", "RELAX", "TIRX", "S"]
