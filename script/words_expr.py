"""Expression words: node constructors, operators by their records, helpers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .. import ir
from ..dtype import DType
from ..errors import Diagnostic, DTypeError, Span
from ..ir import (
    Call,
    Expr,
    FloatImm,
    IntImm,
    IterVar,
    Op,
    PrimType,
    StringImm,
    Type,
    Var,
    as_expr,
    script_record,
)
from ..ir.operators import if_then_else as choose
from ..ir.promote import match, operand
from .faults import describe
from .values import MISSING, DTypeForm, Form, HandleForm, LazyForm, Namespace, WaitingForm, type_of_note

_NOTES = (DTypeForm, HandleForm)


def plain(value: Any) -> Any:
    """A dtype word as its dtype or type; a block axis as its variable; other values unchanged."""
    if isinstance(value, DTypeForm):
        return value.dtype if not value.dtype.is_handle else value.type
    if isinstance(value, HandleForm):
        return value.type
    return value


def plain_arguments(run: Callable[..., Any]) -> Callable[..., Any]:
    """The function with dtype words among its arguments made plain."""

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        for value in args:
            if isinstance(value, _NOTES):
                args = tuple([plain(a) for a in args])
                break
        if kwargs:
            kwargs = {k: plain(v) for k, v in kwargs.items()}
        return run(*args, **kwargs)

    wrapper.__wrapped__ = run  # type: ignore[attr-defined]
    return wrapper


def operator_word(name: str, record: Any) -> Form:
    """The word of an operator; a `dtype=` keyword, as older programs write it, is taken for its place."""
    names = [p.split("=")[0].strip() for p in record.params.split(",")]
    build = plain_arguments(record.build)
    if "dtype" in names[1:]:
        return Form(name, build)
    first = names[0] == "dtype"

    def run(*args: Any, **kwargs: Any) -> Any:
        if "dtype" in kwargs:
            dtype = kwargs.pop("dtype")
            args = (dtype, *args) if first else args
        return build(*args, **kwargs)

    run.__wrapped__ = record.build  # type: ignore[attr-defined]
    return Form(name, run)


def if_then_else(cond: Any, t: Any, f: Any, span: Span | None = None, *, dtype: Any = None) -> Any:
    """`t if cond else f` of expressions: lazy; a constant condition stays in the program."""
    if isinstance(cond, IntImm) and cond.dtype.is_bool:
        if isinstance(t, Expr) and isinstance(f, Expr) and not isinstance(t.ty, PrimType):
            return Call("prim.if_then_else", (cond, t, f), t.ty, span=span)
        t, f = match(t, f)
        return Call("prim.if_then_else", (cond, t, f), t.ty, span=span)
    return choose(cond, t, f, span)


def control_call(name: str, span: Span | None) -> Call:
    """`break` and `continue`: the calls that they are."""
    return Call(Op(name), (), ir.VOID, span=span)


def _binary_node(cls: Any) -> Callable[..., Any]:
    def run(a: Any, b: Any, span: Any = None) -> Any:
        return cls(*_pair(a, b))

    return run


def _pair(a: Any, b: Any) -> tuple[Expr, Expr]:
    """Both operands as expressions, a number with the type of the other; nothing else is converted."""
    a = a.var if isinstance(a, IterVar) else a
    b = b.var if isinstance(b, IterVar) else b
    if not isinstance(a, Expr):
        a = operand(a, like=b)
    if not isinstance(b, Expr):
        b = operand(b, like=a)
    return a, b


def cast_node(dtype: Any, value: Any, span: Any = None) -> Expr:
    """`T.Cast(dtype, value)`: the node; nothing folds."""
    ty = type_of_note(dtype)
    if ty is None:
        raise DTypeError(Diagnostic("unknown-dtype", f"{describe(dtype)} is no dtype"))
    return ir.Cast(ty, operand(value) if not isinstance(value, Expr) else value)


def select(condition: Any, true_value: Any, false_value: Any, span: Any = None) -> Expr:
    """`T.Select(c, a, b)`: both values are evaluated."""
    a, b = _pair(true_value, false_value)
    if a.ty is not b.ty and isinstance(a.ty, PrimType) and isinstance(b.ty, PrimType):
        a, b = match(a, b)
    return ir.Select(condition, a, b)


def shuffle(vectors: Any, indices: Any, span: Any = None) -> Expr:
    """`T.Shuffle(vectors, indices)`."""
    return ir.Shuffle([as_expr(v) for v in vectors], [as_expr(i) for i in indices])


def int_imm(dtype: Any, value: int, span: Any = None) -> Expr:
    """`T.IntImm(dtype, value)`."""
    return IntImm(type_of_note(dtype), value)


def float_imm(dtype: Any, value: float, span: Any = None) -> Expr:
    """`T.FloatImm(dtype, value)`."""
    return FloatImm(type_of_note(dtype), value)


def make_var(name: Any = None, ty: Any = None, span: Any = None, *, name_hint: Any = None) -> Var:
    """`T.Var(name, type)`."""
    from .words_dtype import fresh

    made = type_of_note(ty) if ty is not None else ir.INT32
    if made is None:
        raise DTypeError(Diagnostic("unknown-dtype", f"{describe(ty)} is no type"))
    return fresh(Var(str(name or name_hint or "v"), made))


def target(config: Any, host: Any = None) -> Any:
    """`T.target(config)`: a compilation target as an attribute."""
    from ..target import Target

    return Target(_text_keys(config), _text_keys(host)) if host is not None else Target(_text_keys(config))


def _text_keys(config: Any) -> Any:
    return {str(k): _text_keys(v) for k, v in config.items()} if isinstance(config, dict) else config


def type_annotation(dtype: Any) -> Any:
    """`T.type_annotation(dtype)`: an element type as an argument of a pointer intrinsic."""
    record = script_record("type_annotation")
    assert record is not None
    return record.build(plain(dtype))


def _let(expr: Any, where: Any) -> Any:
    from ..ir.intrin import HELPERS

    return HELPERS["Let"](expr, where)


def let_call(b: Any, node: Any) -> Any:
    """`T.Let(body, where={x: value})`: a name that means nothing yet is a variable of the value's type."""
    from ..grammar import tree as S
    from .expr import evaluate
    from .faults import fault, located

    body = node.args[0] if node.args else next((k.value for k in node.keywords if k.name == "expr"), None)
    where = next((k.value for k in node.keywords if k.name == "where"), None)
    if where is None and len(node.args) == 2:
        where = node.args[1]
    if body is None or where is None or len(node.args) + len(node.keywords) != 2:
        raise fault("wrong-arguments", "`T.Let` takes a body and `where={variable: value}`", node.span)
    before = b.names
    names = dict(before)
    pairs: dict[Any, Any] = {}
    if isinstance(where, S.DictExpr):
        for key, item in zip(where.keys, where.values_):
            value = as_expr(evaluate(b, item))
            if isinstance(key, S.Name) and key.id not in before:
                var: Any = Var(key.id, value.ty, key.span)
                names[key.id] = var
            else:
                var = MISSING if key is None else evaluate(b, key)
            if not isinstance(var, Var):
                raise fault("invalid-argument", "`T.Let` gives values to variables", node.span)
            pairs[var] = value
    else:
        pairs = evaluate(b, where)
    b.names = names
    try:
        return _let(evaluate(b, body), pairs)
    except Exception as err:
        raise located(err, node.span) from None
    finally:
        b.names = before


def node_words() -> dict[str, Any]:
    """The constructors of nodes by their names below `T`."""
    out: dict[str, Any] = {}
    binary = "Add Sub Mul Div Mod FloorDiv FloorMod Min Max LShift RShift BitwiseAnd BitwiseOr BitwiseXor"
    for name in (binary + " EQ NE LT LE GT GE And Or").split():
        out[name] = Form(f"T.{name}", _binary_node(getattr(ir, name)))
    for name in ("Not", "BitwiseNot"):
        out[name] = Form(f"T.{name}", getattr(ir, name))
    out["Cast"] = Form("T.Cast", cast_node)
    out["Select"] = Form("T.Select", select)
    for name, short in (("Ramp", "ramp"), ("Broadcast", "broadcast")):
        out[name] = out[short] = Form(f"T.{name}", getattr(ir, name))
    out["Shuffle"] = Form("T.Shuffle", shuffle)
    out["IntImm"] = Form("T.IntImm", int_imm)
    out["FloatImm"] = Form("T.FloatImm", float_imm)
    out["StringImm"] = Form("T.StringImm", StringImm)
    out["BufferLoad"] = Form("T.BufferLoad", ir.BufferLoad)
    out["CommReducer"] = Form("T.CommReducer", ir.CommReducer)
    out["Reduce"] = out["reduce"] = Form("T.reduce", ir.Reduce)
    out["IterVar"] = Form("T.IterVar", ir.IterVar)
    out["Var"] = Form("T.Var", make_var)
    out["if_then_else"] = Form("T.if_then_else", if_then_else)
    out["target"] = Form("T.target", target)
    out["Let"] = LazyForm("T.Let", _let, let_call)
    return out


def helper_words() -> dict[str, Any]:
    """The helpers that are no operators, `T.cuda.warp_sum` and its like in their own namespaces."""
    from ..ir.intrin import HELPERS

    return {name: Form(f"T.{name}", plain_arguments(run)) for name, run in HELPERS.items() if "." not in name}


def find_word(prefix: str) -> Callable[[str], Any]:
    """A function that finds names below `T` (or below `T.cuda`, ...) in the registry of operators."""

    def find(name: str) -> Any:
        from ..ir.intrin import HELPERS
        from ..ir.ops import waiting
        from .words_dtype import find_dtype_word

        dotted = f"{prefix}{name}"
        record = script_record(dotted)
        if record is not None:
            return operator_word(f"T.{dotted}", record)
        if prefix and dotted in HELPERS:
            return Form(f"T.{dotted}", plain_arguments(HELPERS[dotted]))
        if any(known.startswith(f"{dotted}.") for known in ir.script_names()):
            return Namespace(f"T.{dotted}", {}, find_word(f"{dotted}."), known_words(f"{dotted}."))
        if waiting.is_waiting(dotted):
            return WaitingForm(f"T.{dotted}", waiting.unsupported(dotted))
        if not prefix:
            word = find_dtype_word(name)
            if word is not None:
                return word
        return MISSING

    return find


def known_words(prefix: str) -> Callable[[], list[str]]:
    """A function that lists the names below a prefix."""

    def known() -> list[str]:
        names = [n[len(prefix) :] for n in ir.script_names() if n.startswith(prefix)]
        return [n for n in names if "." not in n]

    return known


def words() -> Mapping[str, Any]:
    """The words of this module by their names below `T`."""
    return {**helper_words(), **node_words()}


__all__ = ["DType", "Type", "find_word", "if_then_else", "words"]
