"""How the families define operators: one line each, with signature, result type and doc."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ...dtype import DType
from ...errors import ArgumentTypeError, Diagnostic, suggest
from ...node import NO_ATTRS, Attrs
from ..expr import Call, Expr, IntImm, StringImm, Var, as_expr
from ..op import Effect, Op, OpRecord, register_op
from ..operators import call_type
from ..promote import match, operand
from ..types import HANDLE, BufferType, PointerType, PrimType, Type

Result = Type | str | Callable[..., Any]
_REQUIRED = object()


class Signature:
    """The parameters of a spelling, e.g. `"name, *args, width=32"`, and how arguments meet them."""

    __slots__ = ("defaults", "keyword_only", "name", "names", "rest", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text
        self.names: list[str] = []
        self.keyword_only: list[str] = []
        self.defaults: dict[str, Any] = {}
        self.rest: str | None = None
        for part in [p.strip() for p in text.split(",")] if text else []:
            word, _, default = part.partition("=")
            if word.startswith("*"):
                self.rest = word[1:]
                continue
            (self.keyword_only if self.rest is not None else self.names).append(word)
            if default:
                self.defaults[word] = ast.literal_eval(default)

    def bind(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """The values of the parameters in order, the rest arguments where the star stands.

        Raises ArgumentTypeError for a missing, superfluous or unknown argument.
        """
        if not keywords and len(args) == len(self.names) and not self.keyword_only:
            return args
        given = dict(keywords)
        span = given.pop("span", None)
        if "dtype" in given:
            # older releases gave the dtype by keyword to every operator, in front where one is needed
            if self.names[:1] == ["dtype"]:
                args = (given.pop("dtype"), *args)
            elif "dtype" not in self.names and "dtype" not in self.keyword_only:
                del given["dtype"]
        extra = args[len(self.names) :]
        if extra and not self.rest:
            if (
                len(extra) > 1
                or not (extra[0] is None or type(extra[0]).__name__ == "Span")
                or span is not None
            ):
                raise self._fault(f"takes {len(self.names)} arguments, {len(args)} were given")
            extra = ()
        values = [*args[: len(self.names)]]
        for word in self.names[len(values) :]:
            values.append(self._take(word, given))
        values += extra
        values += [self._take(word, given) for word in self.keyword_only]
        for word in given:
            if word in self.names:
                raise self._fault(f"the argument `{word}` was given twice")
            near = suggest(word, [*self.names, *self.keyword_only])
            raise self._fault(f"has no parameter `{word}`", near)
        return tuple(values)

    def _take(self, word: str, given: dict[str, Any]) -> Any:
        value = given.pop(word, self.defaults.get(word, _REQUIRED))
        if value is _REQUIRED:
            raise self._fault(f"needs the argument `{word}`")
        return value

    def _fault(self, text: str, near: tuple[str, ...] = ()) -> ArgumentTypeError:
        spelled = f"T.{self.name}({self.text})"
        return ArgumentTypeError(Diagnostic("argument-count", f"`{spelled}` {text}", help=near))


class Build:
    """The callable behind a spelling: binds the arguments, then makes the expression."""

    def __init__(self, signature: Signature, rule: Callable[..., Any], doc: str) -> None:
        self.signature, self.rule = signature, rule
        self.__doc__ = doc
        self.__name__ = signature.name

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.rule(*self.signature.bind(args, keywords))

    def __repr__(self) -> str:
        return f"<intrinsic T.{self.signature.name}({self.signature.text})>"


def value(x: Any) -> Expr:
    """An argument as an expression: numbers and strings as constants, None as the null pointer."""
    if isinstance(x, Expr):
        return x
    if x is None:
        return Call("tirx.reinterpret", (IntImm(PrimType("uint64"), 0),), HANDLE)
    if isinstance(x, DType | PrimType):
        return StringImm(str(x if isinstance(x, DType) else x.dtype))
    return as_expr(x)


def number(x: Any) -> Expr:
    """An argument that must be a scalar or vector. Raises DTypeError otherwise."""
    return operand(x)


def make(name: str, args: Any, ty: Type, attrs: Attrs = NO_ATTRS) -> Call:
    """The call of an operator on these arguments."""
    return Call(Op(name), tuple([value(a) for a in args]), ty, attrs)


def define(
    name: str,
    params: str,
    result: Result,
    doc: str,
    effect: Effect = Effect.PURE,
    *,
    script: str | None = "",
    rule: Callable[..., Any] | None = None,
    show: Callable[..., Any] | None = None,
    numpy: Callable[..., Any] | None = None,
    aliases: tuple[str, ...] = (),
    attrs: tuple[str, ...] = (),
) -> OpRecord:
    """Register an operator.

    `result` is the call's type: a type, "first" or "second" (that of an argument), "same" (one type
    that all arguments are promoted to), "dtype" (named by the first argument of the spelling), or a
    function of the arguments.  `rule` replaces all that and makes the expression itself.
    `script` is the spelling below `T`, by default the last part of the name; None: there is none.
    """
    if script == "":
        script = name.split(".", 1)[1]
    signature = Signature(script or name, params)
    build = Build(signature, rule or _rule(name, result), doc)
    return register_op(
        OpRecord(name, script, params, build, effect, doc, show, result == "dtype", numpy, aliases, attrs)
    )


def _rule(name: str, result: Result) -> Callable[..., Any]:
    if result == "dtype":
        return lambda dtype, *args: make(name, args, call_type(dtype))
    if result == "first":
        return lambda *args: _typed_by(name, args, 0)
    if result == "second":
        return lambda *args: _typed_by(name, args, 1)
    if result == "same":
        return lambda *args: _promoted(name, args)
    if isinstance(result, Type):
        return lambda *args: make(name, args, result)
    if callable(result):
        return lambda *args: make(name, args, result(*args))
    raise TypeError(f"{name}: unknown result {result!r}")


def _typed_by(name: str, args: tuple[Any, ...], index: int) -> Call:
    values = [value(a) for a in args]
    values[index] = number(values[index])
    return make(name, values, values[index].ty)


def _promoted(name: str, args: tuple[Any, ...]) -> Call:
    first = args[0]
    for other in args[1:]:
        first, _ = match(first, other)
    return make(name, [first, *[match(first, other)[1] for other in args[1:]]], first.ty)


def pointee(pointer: Any) -> tuple[Type, str]:
    """The element type and scope that a pointer, buffer or buffer element leads to."""
    ty = getattr(pointer, "ty", None)
    if isinstance(ty, PointerType):
        return ty.element_type, ty.storage_scope or "global"
    if isinstance(ty, BufferType):
        return PrimType(ty.dtype), ty.storage_scope
    return PrimType("void"), "global"


def buffer_of(x: Any) -> Var | None:
    """The buffer variable that this is, or None."""
    return x if isinstance(x, Var) and isinstance(x.ty, BufferType) else None
