"""The words of `R`: operators by their records, values, what builds bindings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtype import DType
from ..errors import Diagnostic, DTypeError, UnsupportedError
from ..ir import Call, Expr, FloatImm, IntImm, StringImm, Tuple, TupleGetItem, TupleType, Var
from ..ir.relax import (
    DataTypeImm,
    RelaxOp,
    ShapeExpr,
    all_ops,
    find_composed,
    find_op,
    prim_value,
    tensor_constant,
)
from ..ir.relax.op import Param, as_argument
from ..runtime.device import KINDS, Device
from .builder import attr_value
from .faults import describe, fault
from .relax_builder import Casting, GraphBuilder
from .relax_statements import DataflowFrame
from .relax_types import device, note_type
from .symbols import dimension
from .values import (
    MISSING,
    Form,
    Namespace,
    Symbol,
    WaitingForm,
    active_builder,
)
from .words_expr import plain
from .words_ir import extern_func

_OLD_KEYWORDS = {"out_sinfo": "out_ty", "sinfo_args": "ty_args"}


def _plain(value: Any) -> Any:
    """An argument with dtype words as dtypes and type variables as symbols, inside of sequences too."""
    if isinstance(value, list | tuple):
        return type(value)([_plain(v) for v in value])
    if isinstance(value, Symbol) or type(value).__name__ == "TypeVar":
        return dimension(value)
    return plain(value)


def _type(value: Any) -> Any:
    """A stated type or several: words of types as the types they mean."""
    if isinstance(value, list | tuple):
        return type(value)([_type(v) for v in value])
    return note_type(value, "a stated type")


def operator_word(rec: RelaxOp) -> Form:
    """The word of an operator."""
    params = {p.name: p for p in rec.params}
    places = list(params.values())
    stated = any(p.is_type for p in places)
    last = next((i for i, p in enumerate(places) if p.variadic), len(places) - 1)  # it takes the rest

    def converted(param: Param | None, value: Any) -> Any:
        if param is None or param.is_operand:
            return _plain(value)
        if param.is_type:
            return _type(value)
        if rec.name == "relax.to_vdevice":
            return device(value)
        return _attribute(value)

    def run(*args: Any, **kwargs: Any) -> Call:
        _not_in_kernel(rec.script)
        words = {_OLD_KEYWORDS.get(k, k) if stated else k: v for k, v in kwargs.items()}
        given = [converted(places[min(i, last)] if places else None, a) for i, a in enumerate(args)]
        return rec(*given, **{k: converted(params.get(k), v) for k, v in words.items()})

    run.__wrapped__ = rec.infer  # type: ignore[attr-defined]
    return Form(f"R.{rec.script}", run)


def _attribute(value: Any) -> Any:
    """An attribute of a call: constants of the language as the values of Python that they stand for."""
    if isinstance(value, StringImm | IntImm | FloatImm):
        return value.value
    if isinstance(value, list | tuple):
        return type(value)([_attribute(v) for v in value])
    return _plain(value)


def _device(kind: Any, index: Any = None) -> Any:
    return Device((int(kind), int(index or 0))) if isinstance(kind, int | IntImm) else Device(kind, index)


def _not_in_kernel(word: str) -> None:
    builder = active_builder()
    if builder is not None and builder.kernel:
        raise fault(
            "outside-graph",
            f"`R.{word}` computes whole tensors, and a kernel computes elements",
            builder.span,
            help=("use a word of `T`, or move the call into an `@R.function`",),
        )


def call_packed(func: Any, *args: Any, ty_args: Any = None, sinfo_args: Any = None, **attrs: Any) -> Call:
    """`R.call_packed("symbol", x, ty_args=(R.Tensor,))`: a call of an external function."""
    from ..ir.relax import call_packed as make

    stated = sinfo_args if ty_args is None else ty_args
    types = None if stated is None else _type(stated)
    return make(
        func,
        *[_plain(a) for a in args],
        ty_args=types,
        **{k: attr_value(_plain(v)) for k, v in attrs.items()},
    )


# values


def const(value: Any, dtype: Any = None) -> Expr:
    """`R.const(2.5, "float32")`: a tensor constant."""
    kind = _plain(dtype)
    if isinstance(value, str):
        value = float(value)
    return tensor_constant(value, kind)


def shape(values: Any) -> ShapeExpr:
    """`R.shape([n, 4])`."""
    if not isinstance(values, list | tuple):
        raise DTypeError(Diagnostic("type-mismatch", f"a shape is a list of sizes, not {describe(values)}"))
    return ShapeExpr([dimension(v) for v in values])


def dtype_value(dtype: Any) -> DataTypeImm:
    """`R.dtype("float32")`: a dtype as a value."""
    return DataTypeImm(DType(_plain(dtype)))


def tuple_value(*fields: Any) -> Tuple:
    """`R.tuple(a, b)`."""
    return Tuple([as_argument(_plain(f)) for f in fields])


def prim(value: Any, dtype: Any = None) -> Expr:
    """`R.prim_value(3)`: a scalar; integers are int64, floats float64."""
    return prim_value(_plain(value), _plain(dtype))


def match_cast(value: Any, ty: Any) -> Casting:
    """`R.match_cast(x, R.Tensor((n, 4), "float32"))`."""
    return Casting(as_argument(value), note_type(ty, "the type of R.match_cast"))


# what is said about the function


def _graph(b: Any, word: str) -> GraphBuilder:
    if not isinstance(b, GraphBuilder):
        raise fault("outside-graph", f"`{word}` belongs in an `@R.function`", getattr(b, "span", None))
    return b


def dataflow(b: Any, /) -> DataflowFrame:
    """`with R.dataflow():`."""
    _graph(b, "R.dataflow")
    return DataflowFrame()


def output(b: Any, /, *values: Any) -> None:
    """`R.output(a, b)`: what is seen after a dataflow block."""
    _graph(b, "R.output").output(values)


def func_attr(b: Any, /, attrs: Any) -> None:
    """`R.func_attr({"a": 1})`. Raises a Fault for a key given twice."""
    b = _graph(b, "R.func_attr")
    if not hasattr(attrs, "items"):
        raise fault("invalid-argument", f"attributes are a dictionary, not {describe(attrs)}", b.span)
    for key, value in attrs.items():
        if key == "global_symbol":
            if not b.implicit_symbol:
                raise fault(
                    "private-symbol",
                    "a private function has no `global_symbol`",
                    b.span,
                    help=("leave `private=True` out, or the attribute",),
                )
        elif key in b.attrs:
            raise fault("duplicate-declaration", f"the attribute `{key}` is given twice", b.span)
        b.attrs[str(key)] = attr_value(_plain(value))


# what builds bindings


def emit(b: Any, /, value: Any, annotate_ty: Any = None) -> Var:
    """`R.emit(value)`: bind it to a new variable."""
    b = _graph(b, "R.emit")
    ty = None if annotate_ty is None else note_type(annotate_ty)
    made: Var = b.make(b.bind("", value, b.span, ty))
    return made


def emit_with_ty(b: Any, /, op: Any, args: Any, ty_args: Any) -> Var:
    """`R.emit_with_ty(op, args, types)`: bind a call that states its types."""
    from ..ir import Op

    b = _graph(b, "R.emit_with_ty")
    types = tuple(_type(ty_args if isinstance(ty_args, list | tuple) else [ty_args]))
    given = args.fields_ if isinstance(args, Tuple) else args
    op = Op(op) if isinstance(op, str) else op
    result = types[0] if len(types) == 1 else TupleType(types)
    return emit(b, Call(op, [as_argument(_plain(a)) for a in given], result, None, types, b.span))


def emit_match_cast(b: Any, /, value: Any, ty: Any) -> Var:
    """`R.emit_match_cast(value, type)`: bind the value under the type."""
    b = _graph(b, "R.emit_match_cast")
    made: Var = b.make(b.match_cast("", match_cast(value, ty), b.span))
    return made


def emit_var_binding(b: Any, /, binding: Any) -> Var:
    """`R.emit_var_binding(binding)`: add a binding as it is."""
    b = _graph(b, "R.emit_var_binding")
    b.blocks.emit_normalized(binding)
    if b.dataflow is not None:
        b.dataflow.vars.add(binding.var)
    made: Var = b.make(binding.var)
    return made


def emit_te(b: Any, /, func: Any, *args: Any, **kwargs: Any) -> Expr:
    """`R.emit_te(function, x)`: the call of a kernel made from tensor expressions."""
    b = _graph(b, "R.emit_te")
    if b.functions is None:
        raise fault(
            "outside-module",
            "`R.emit_te` adds a kernel to the module, and this function is in none",
            b.span,
            help=("put the function into a class below `@I.ir_module`",),
        )
    return b.blocks.call_te(func, *[_plain(a) for a in args], **{k: _plain(v) for k, v in kwargs.items()})


_BUILDING: dict[str, Callable[..., Any]] = {
    "dataflow": dataflow,
    "output": output,
    "func_attr": func_attr,
    "emit": emit,
    "emit_with_ty": emit_with_ty,
    "emit_match_cast": emit_match_cast,
    "emit_var_binding": emit_var_binding,
    "emit_te": emit_te,
}
_VALUES: dict[str, Callable[..., Any]] = {
    "const": const,
    "shape": shape,
    "str": StringImm,
    "dtype": dtype_value,
    "tuple": tuple_value,
    "prim_value": prim,
    "match_cast": match_cast,
    "call_packed": call_packed,
    "ExternFunc": extern_func,
    "TupleGetItem": lambda tuple_value, index: TupleGetItem(tuple_value, int(index)),
    "ShapeExpr": shape,
    "device": lambda device_type, index=None: str(_device(device_type, index)),
}
_ALIASES = {"stop_lift_params": "builtin.stop_lift_params"}
_DISTRIBUTED = ("dist", "ccl")
_FRAMES = {
    "If": "write an `if` statement",
    "Then": "write an `if` statement",
    "Else": "write an `if` statement",
    "SeqExpr": "write its bindings",
    "arg": "write a parameter",
    "func_name": "name the function by `def`",
    "func_ret_ty": "annotate the result: `-> R.Tensor(...)`",
    "func_ret_value": "write `return`",
}
"""Words that build a graph without a source, and what a source has for them."""


def composed_word(name: str, function: Callable[..., Expr]) -> Form:
    """The word of a function that makes calls of operators."""

    def run(*args: Any, **kwargs: Any) -> Expr:
        _not_in_kernel(name)
        return function(*[_plain(a) for a in args], **{k: _plain(v) for k, v in kwargs.items()})

    run.__wrapped__ = function  # type: ignore[attr-defined]
    return Form(f"R.{name}", run)


def words() -> dict[str, Any]:
    """The words of `R` that are no operators."""
    out: dict[str, Any] = {n: Form(f"R.{n}", run, building=True) for n, run in _BUILDING.items()}
    out.update({n: Form(f"R.{n}", run) for n, run in _VALUES.items()})
    for kind in KINDS:
        out[kind] = Form(f"R.{kind}", lambda dev_id=0, kind=kind: str(_device(kind, dev_id)))
    for name in _DISTRIBUTED:
        why = Diagnostic(
            "unsupported", f"`R.{name}` is not supported: distributed programs are not part of this compiler"
        )
        out[name] = WaitingForm(f"R.{name}", UnsupportedError(why))
    for name, instead in _FRAMES.items():
        why = Diagnostic("unsupported", f"`R.{name}` has no place in a function", help=(instead,))
        out[name] = WaitingForm(f"R.{name}", UnsupportedError(why))
    return out


def find_word(prefix: str) -> Callable[[str], Any]:
    """The lookup of operators below a prefix: `R.add`, `R.nn` and in it `R.nn.relu`."""

    def find(name: str) -> Any:
        rec = find_op(f"relax.{prefix}{_ALIASES.get(name, name) if not prefix else name}")
        inner = f"{prefix}{name}."
        if any(op.script.startswith(inner) for op in all_ops()):
            return Namespace(f"R.{prefix}{name}", {}, find_word(inner), known_words(inner))
        if rec is not None:
            return operator_word(rec)
        made = find_composed(prefix + name)
        return MISSING if made is None else composed_word(prefix + name, made)

    return find


def known_words(prefix: str) -> Callable[[], list[str]]:
    """The names of operators and groups of operators below a prefix."""

    def known() -> list[str]:
        return [
            op.script.removeprefix(prefix).partition(".")[0]
            for op in all_ops()
            if op.script.startswith(prefix)
        ]

    return known


__all__ = ["find_word", "known_words", "operator_word", "words"]
