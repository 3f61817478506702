"""Calls other than of the language's own words: functions of the module, macros, lambdas, captured Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import LoopwrightError, Span
from ..grammar import tree as S
from ..ir import VOID, BaseFunc, Call, Expr, ExternFunc, FuncType, GlobalVar, Var
from ..node import Node
from .expr import TABLE, as_sequence, evaluate
from .faults import Fault, Poisoned, describe, fault, located
from .static import MAX_ITEMS, MAX_MACRO_DEPTH, limit
from .values import MISSING, BoundMethod, Form, Meta, WaitingForm, set_active_builder

if TYPE_CHECKING:
    from .builder import Builder


def call_other(b: Builder, func: Any, args: list[Any], kwargs: dict[str, Any], node: S.CallExpr) -> Any:
    """The value of a call whose callee is no word of the language. Raises a located Fault."""
    span = node.span
    b.span = span
    try:
        if isinstance(func, BoundMethod):
            return _call_method(func, args, kwargs, span)
        if isinstance(func, GlobalVar):
            return b.call_global(func, args, kwargs, span)
        if isinstance(func, LambdaValue):
            return func(*args, **kwargs)
        expand = getattr(type(func), "expand_in", None)
        if expand is not None:
            return expand(func, b, args, kwargs, span)
        if isinstance(func, WaitingForm):
            raise func.error()
        if isinstance(func, BaseFunc) and not isinstance(func, ExternFunc):
            raise fault(
                "foreign-function",
                "a function can call functions of its own module only",
                span,
                help=("put both into one class below `@I.ir_module` and call `Module.name(...)`",),
            )
        if isinstance(func, Expr):
            return b.call_value(func, args, kwargs, span)
        if b.live and callable(func) and not isinstance(func, Node):
            return _call_python(b, func, args, kwargs)
    except Exception as err:
        raise located(err, span, f"`{_callee(node.func)}`") from None
    raise fault("not-callable", f"{describe(func)} cannot be called", span)


def _callee(node: S.SExpr) -> str:
    if isinstance(node, S.Name):
        return node.id
    if isinstance(node, S.Attribute):
        return f"{_callee(node.value)}.{node.attr}"
    return "this call"


def _call_method(method: BoundMethod, args: list[Any], kwargs: dict[str, Any], span: Span | None) -> Any:
    try:
        return method.run(*args, **kwargs)
    except TypeError as err:
        text = None if isinstance(err, LoopwrightError) else wrong_arguments(method.run, args, kwargs, 0)
        if text is not None:
            raise fault("wrong-arguments", f"`{method.script_name}`: {text[0]}", span, help=text[1]) from None
        raise


def call_global(func: GlobalVar, args: list[Any], kwargs: dict[str, Any], span: Span | None) -> Call:
    """A call of a function of the module, with its result type and its arguments checked."""
    if kwargs:
        raise fault("wrong-arguments", f"`{func.name}` takes its arguments by position", span)
    ty = func.ty
    if isinstance(ty, FuncType) and ty.arg_types is not None:
        from ..ir.promote import convert, operand
        from .values import is_scalar

        if len(args) != len(ty.arg_types):
            raise fault(
                "wrong-arguments",
                f"`{func.name}` takes {len(ty.arg_types)} arguments, not {len(args)}",
                span,
            )
        made = []
        for value, wanted in zip(args, ty.arg_types):
            if isinstance(value, bool | int | float):
                like = Var("like", wanted)
                value = operand(value, like=like if is_scalar(like) else None)
                if is_scalar(like):
                    value = convert(value, like.dtype)
            made.append(value)
        args = made
    result = ty.ret_type if isinstance(ty, FuncType) else VOID
    return Call(func, args, result, span=span)


def _call_python(b: Builder, func: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    before = set_active_builder(b)
    try:
        return func(*args, **kwargs)
    finally:
        set_active_builder(before)


def wrong_arguments(run: Any, args: Any, kwargs: Any, skip: int) -> tuple[str, tuple[str, ...]] | None:
    """What is wrong with the arguments of a call and the signature, or None when they fit."""
    try:
        signature = inspect.signature(run)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*([None] * skip), *args, **kwargs)
    except TypeError as err:
        shown = [str(p).split(":")[0].split(" =")[0] for p in list(signature.parameters.values())[skip:]]
        return str(err), (f"its parameters are ({', '.join(shown)})",)
    return None


class LambdaValue:
    """A lambda of the script; calling it evaluates its body with the parameters bound."""

    def __init__(self, b: Builder, node: S.Lambda) -> None:
        self.builder = b
        self.node = node
        self.names = dict(b.names)
        self.script_name = "lambda"

    @property
    def __signature__(self) -> inspect.Signature:
        kinds = {
            "star": inspect.Parameter.VAR_POSITIONAL,
            "kwstar": inspect.Parameter.VAR_KEYWORD,
            "kwonly": inspect.Parameter.KEYWORD_ONLY,
        }
        return inspect.Signature(
            [
                inspect.Parameter(p.name, kinds.get(p.kind, inspect.Parameter.POSITIONAL_OR_KEYWORD))
                for p in self.node.params
            ]
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The value of the body for these arguments. Raises a Fault."""
        b = self.builder
        bound = bind_params(b, self.node.params, list(args), kwargs, self.node.span, "lambda")
        before = b.names
        b.names = {**self.names, **bound}
        b.macro_depth += 1
        try:
            if b.macro_depth > MAX_MACRO_DEPTH:
                raise fault("static-limit", "lambdas call each other too deeply", self.node.span)
            return evaluate(b, self.node.body)
        finally:
            b.macro_depth -= 1
            b.names = before


def bind_params(
    b: Builder,
    params: tuple[S.Param, ...],
    args: list[Any],
    kwargs: dict[str, Any],
    span: Span | None,
    name: str,
) -> dict[str, Any]:
    """Arguments by parameter name. Raises a Fault when they do not fit."""
    bound: dict[str, Any] = {}
    rest, words = list(args), dict(kwargs)
    for p in params:
        if p.kind == "star":
            bound[p.name], rest = tuple(rest), []
        elif p.kind == "kwstar":
            bound[p.name], words = words, {}
        elif p.kind != "kwonly" and rest:
            bound[p.name] = rest.pop(0)
            if p.name in words:
                raise fault("wrong-arguments", f"`{name}` gets the argument `{p.name}` twice", span)
        elif p.name in words:
            bound[p.name] = words.pop(p.name)
        elif p.default is not None:
            bound[p.name] = evaluate(b, p.default)
        else:
            raise fault("wrong-arguments", f"`{name}` lacks the argument `{p.name}`", span)
    if rest or words:
        extra = f"the argument `{next(iter(words))}`" if words else f"{len(rest)} arguments"
        raise fault("wrong-arguments", f"`{name}` gets {extra} too many", span)
    return bound


def assign_names(b: Builder, target: S.SExpr, value: Any, into: dict[str, Any]) -> None:
    """Bind the names of a target to Python values."""
    if isinstance(target, S.Name):
        into[target.id] = value
    elif isinstance(target, S.TupleExpr | S.ListExpr):
        values = as_sequence(value, target.span)
        if len(values) != len(target.elts):
            raise fault("unpacking", f"{len(target.elts)} names for {len(values)} values", target.span)
        for part, item in zip(target.elts, values):
            assign_names(b, part, item, into)
    else:
        raise fault("syntax", "this target is not possible here", target.span)


def comprehension(b: Builder, node: S.Comprehension) -> Any:
    """The list, tuple or dict that a comprehension over Python values makes. Raises a Fault."""
    before = b.names
    b.names = dict(before)
    out: list[Any] = []
    steps = [0]
    try:
        _clauses(b, node, 0, out, steps)
    finally:
        b.names = before
    return dict(out) if node.kind == "dict" else out


def _clauses(b: Builder, node: S.Comprehension, level: int, out: list[Any], steps: list[int]) -> None:
    if level == len(node.clauses):
        value = evaluate(b, node.elt)
        out.append((evaluate(b, node.key), value) if node.key is not None else value)
        return
    clause = node.clauses[level]
    for item in as_sequence(evaluate(b, clause.iter), clause.iter.span):
        steps[0] += 1
        if steps[0] > MAX_ITEMS:
            raise located(limit(f"the comprehension takes more than {MAX_ITEMS} steps"), node.span)
        assign_names(b, clause.target, item, b.names)
        wanted = True
        for condition in clause.conditions:
            test = evaluate(b, condition)
            if isinstance(test, Expr):
                raise fault(
                    "not-constant", "a condition in a comprehension must be a Python value", condition.span
                )
            wanted = wanted and bool(test)
        if wanted:
            _clauses(b, node, level + 1, out, steps)


class _LiveLocals(dict[str, Any]):
    """The names of the kernel for Python's own evaluation of a formatted string."""

    def __init__(self, b: Builder) -> None:
        super().__init__()
        self.builder = b

    def __missing__(self, name: str) -> Any:
        try:
            return TABLE[S.Name](self.builder, S.Name(name))
        except (Fault, Poisoned):
            raise KeyError(name) from None


def format_string(b: Builder, node: S.FString) -> str:
    """The text of a formatted string in decorated Python. Raises a Fault in text, which is never executed."""
    if not b.live:
        raise fault("unsupported", "formatted strings are possible in decorated Python only", node.span)
    try:
        return str(eval(node.text, {}, _LiveLocals(b)))  # the user's own source, in the user's process
    except Exception as err:
        raise located(err, node.span) from None


__all__ = ["MISSING", "Form", "LambdaValue", "Meta", "call_other", "comprehension", "format_string"]
