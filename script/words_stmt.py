"""Statement words: function attributes, scoped attributes, threads, bindings, evaluation, stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import Diagnostic, DTypeError, Span, UnsupportedError
from ..ir import (
    INT32,
    AllocBuffer,
    AttrStmt,
    Bind,
    Break,
    BufferType,
    Continue,
    DeclBuffer,
    Evaluate,
    Expr,
    IfThenElse,
    IntImm,
    IterVar,
    PointerType,
    PrimType,
    Range,
    Return,
    Stmt,
    StringImm,
    Var,
    While,
)
from ..ir.promote import operand
from ..node import Attrs, Node
from .builder import Builder, attr_value
from .expr import check_indices
from .faults import describe, fault
from .stmt import Frame, WrapFrame, as_condition, let_value, slice_ramp
from .symbols import dimensions
from .values import Form, HandleForm, LetForm, SliceValue, is_buffer, type_of_note


def func_attr(b: Builder, /, attrs: Any) -> None:
    """`T.func_attr({...})`: attributes of the function."""
    if not isinstance(attrs, dict | Attrs):
        raise DTypeError(
            Diagnostic("invalid-argument", f"attributes are a dictionary, not {describe(attrs)}")
        )
    for key, value in attrs.items():
        if key in b.attrs and not (key == "global_symbol" and b.implicit_symbol):
            raise fault("duplicate-declaration", f"the attribute `{key}` is given twice", b.span)
        if key == "global_symbol":
            b.implicit_symbol = False
        made = attr_value(value)
        b.attrs[_new_key(key)] = made.value if isinstance(made, StringImm) else made


_TIR_KEYS = ("noalias", "is_entry_func", "is_global_func", "is_host_func", "is_scheduled", "persistent")


def _new_key(key: Any) -> str:
    if not isinstance(key, str):
        raise DTypeError(
            Diagnostic("invalid-argument", f"an attribute's name is a text, not {describe(key)}")
        )
    return f"tirx.{key[4:]}" if key.startswith("tir.") else key


def attr(b: Builder, /, node: Any, attr_key: Any = None, value: Any = None) -> Frame:
    """`T.attr(node, key, value)` or `T.attr({key: value, ...})`."""
    if isinstance(node, dict | Attrs) and attr_key is None:
        pairs = [(IntImm(INT32, 0), key, one) for key, one in node.items()]
        if not pairs:
            raise DTypeError(Diagnostic("invalid-argument", "T.attr needs at least one attribute"))
    else:
        if not isinstance(attr_key, str):
            raise DTypeError(Diagnostic("invalid-argument", "T.attr takes a node, a key and a value"))
        pairs = [(node, attr_key, value)]
    span = b.span
    made = [(_attr_node(n), str(k), _attr_value(v)) for n, k, v in pairs]

    def wrap(body: Stmt) -> Stmt:
        for one, key, what in reversed(made):
            body = AttrStmt(one, key, what, body, span)
        return body

    return WrapFrame("T.attr", wrap)


def _attr_node(node: Any) -> Any:
    if isinstance(node, dict):
        return attr_value(node)
    return StringImm(node) if isinstance(node, str) else node


def _attr_value(value: Any) -> Any:
    if value is None:
        return IntImm(INT32, 0)
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, dict | list | tuple):
        return attr_value(value)
    if isinstance(value, Node) or type(value).__name__ == "Target":
        return value
    return operand(value)


def hint(b: Builder, /, message: str = "", **attrs: Any) -> Frame:
    """`T.hint("message", a=1)`: free-form advice for what follows."""
    facts: dict[str, Any] = {"message": message} if message else {}
    facts.update(attrs)
    node, span = attr_value(facts), b.span
    return WrapFrame("T.hint", lambda body: AttrStmt(node, "tirx_hint", IntImm(INT32, 1), body, span))


def env_thread(b: Builder, /, thread_tag: str, dtype: Any = "int32") -> Var:
    """`T.env_thread("threadIdx.x")`: a thread variable to launch later."""
    ty = type_of_note(dtype)
    var: Var = b.make(Var("v", ty or INT32, b.span))
    b.thread_vars[var] = IterVar(None, var, IterVar.THREAD_INDEX, thread_tag, b.span)
    return var


_set_ty = Expr.__dict__["ty"].__set__


def launch_thread(b: Builder, /, thread: Any, extent: Any) -> Frame:
    """`T.launch_thread("blockIdx.x", n)`: what follows runs once for each thread."""
    if isinstance(thread, Var):
        thread = b.thread_vars.get(thread, thread)
    span = b.span
    amount = operand(extent)
    value: Any
    tag: str
    if isinstance(thread, IterVar):
        value, tag = thread.var, thread.thread_tag
        if isinstance(extent, Expr) and isinstance(extent.ty, PrimType) and extent.dtype.is_integral:
            _set_ty(value, extent.ty)  # the variable counts in the type of the extent
        amount = let_value(extent, value.ty, span)
        axis = IterVar(Range(IntImm(value.ty, 0), amount), value, IterVar.THREAD_INDEX, tag, span)
    elif isinstance(thread, str):
        ty = amount.ty if isinstance(amount.ty, PrimType) else INT32
        value = b.make(Var("v", ty, span))
        tag = thread
        axis = IterVar(Range(IntImm(ty, 0), amount), value, IterVar.THREAD_INDEX, thread, span)
    else:
        raise DTypeError(
            Diagnostic("thread-tag", f"{describe(thread)} is no thread", help=('write "threadIdx.x"',))
        )
    key = "virtual_thread" if tag.startswith("vthread") else "thread_extent"
    return WrapFrame("T.launch_thread", lambda body: AttrStmt(axis, key, amount, body, span), value)


def evaluate_word(b: Builder, /, value: Any) -> None:
    """`T.evaluate(e)`: an expression as a statement."""
    if isinstance(value, Stmt):
        b.emit(value)
    elif isinstance(value, str):
        b.emit(Evaluate(StringImm(value), b.span))
    elif is_buffer(value):
        raise fault(
            "type-mismatch",
            f"the buffer `{value.name}` is no value",
            b.span,
            help=(f"index it, as in `{value.name}[i]`, or take its pointer, `{value.name}.data`",),
        )
    elif isinstance(value, Expr):
        b.emit(Evaluate(value, b.span))
    elif value is not None:
        b.emit(Evaluate(operand(value), b.span))


def bind_word(b: Builder, /, value: Any, type_annotation: Any = None, *, var: Any = None) -> Any:
    """`T.Bind(value)`: a variable that stands for the value in the rest of the scope."""
    wanted = None if type_annotation is None else type_of_note(type_annotation)
    made = let_value(value, wanted, b.span)
    if var is None:
        var = b.make(Var("v", wanted or made.ty, b.span))
    b.emit(Bind(var, made, b.span))
    return var


def let_frame(b: Builder, /, *args: Any) -> Frame:
    """The old `with T.let(var, value):` and `with T.LetStmt(value) as var:`, as flat bindings."""
    if len(args) == 1:
        value = let_value(args[0], None, b.span)
        return LetFrame(b.make(Var("v", value.ty, b.span)), value)
    var, value = args
    if not isinstance(var, Var):
        raise DTypeError(Diagnostic("invalid-argument", f"T.let binds a variable, not {describe(var)}"))
    return LetFrame(var, let_value(value, var.ty, b.span))


class LetFrame(Frame):
    """A binding whose body is the rest of the enclosing statements."""

    script_name = "T.LetStmt"
    can_cover_rest = True

    def __init__(self, var: Var, value: Expr) -> None:
        self.var = var
        self.value = value

    def enter(self, b: Builder, span: Span | None) -> Any:
        """Bind; the body's statements follow in the same list."""
        b.emit(Bind(self.var, self.value, span))
        return self.var

    def leave(self, b: Builder, span: Span | None) -> None:
        """Nothing: scoping is flat."""

    def cover_rest(self, b: Builder, span: Span | None) -> Any:
        """Bind for the rest of the scope."""
        b.emit(Bind(self.var, self.value, span))
        return self.var


class AllocFrame(Frame):
    """The old `with T.allocate(...) as p:`, or as a statement: an allocation whose pointer is the value."""

    script_name = "T.allocate"
    can_cover_rest = True

    def __init__(self, buffer: Var, annotations: Any) -> None:
        self.buffer = buffer
        self.annotations = annotations

    def enter(self, b: Builder, span: Span | None) -> Any:
        """Open a scope and allocate in it."""
        b.open("with")
        b.emit(AllocBuffer(self.buffer, self.annotations, span))
        return self.buffer

    def leave(self, b: Builder, span: Span | None) -> None:
        """Add the scope's statements."""
        b.emit(b.close())

    def cover_rest(self, b: Builder, span: Span | None) -> Any:
        """Allocate for the rest of the scope."""
        b.emit(AllocBuffer(self.buffer, self.annotations, span))
        return self.buffer


def allocate(
    b: Builder,
    /,
    extents: Any,
    dtype: Any = "float32",
    scope: str = "global",
    condition: Any = None,
    annotations: Any = None,
) -> Frame:
    """The old `T.allocate(extents, dtype, scope)`."""
    from .words_alloc import dtype_of

    if condition is not None and not (condition is True or isinstance(condition, IntImm) and condition.value):
        raise UnsupportedError(
            Diagnostic("unsupported", "an allocation under a condition is not part of the language")
        )
    ty = BufferType(dtype_of(dtype), dimensions(extents), storage_scope=scope)
    return AllocFrame(b.make(Var("buffer", ty, b.span)), attr_value(annotations or {}))


def buffer_store(b: Builder, /, buffer: Any, value: Any, indices: Any, predicate: Any = None) -> None:
    """`T.buffer_store(A, value, [i, j])`."""
    if not is_buffer(buffer):
        raise fault("not-a-buffer", f"{describe(buffer)} has no elements to assign", b.span)
    made = list(indices) if isinstance(indices, list | tuple) else [indices]
    made = [SliceValue(i.start, i.stop, i.step) if isinstance(i, slice) else i for i in made]
    made = [slice_ramp(buffer, i, n, b.span) if type(i) is SliceValue else i for n, i in enumerate(made)]
    if predicate is not None:
        raise UnsupportedError(
            Diagnostic(
                "unsupported",
                "a store under a predicate is written T.masked_store",
                help=("T.masked_store(A, value, i, mask)",),
            )
        )
    check_indices(buffer, made, b.span)
    b.store(buffer, value, made)


def add_to_parent(b: Builder, /, stmt: Any) -> None:
    """`T.add_to_parent(stmt)`: an existing statement object."""
    if not isinstance(stmt, Stmt):
        raise DTypeError(Diagnostic("invalid-argument", f"{describe(stmt)} is no statement"))
    b.emit(stmt)


def ret(b: Builder, /, value: Any = None) -> None:
    """The old `T.ret(value)`."""
    from .stmt import return_value

    b.emit(Return(None if value is None else return_value(b, value, b.span), b.span))


def preflattened_buffer(b: Builder, /, *args: Any, **kwargs: Any) -> None:
    """The old `T.preflattened_buffer`, which has no counterpart."""
    raise UnsupportedError(
        Diagnostic(
            "unsupported", "`T.preflattened_buffer` is gone; declare the parameter with its real shape"
        )
    )


def realize(b: Builder, /, *args: Any, **kwargs: Any) -> None:
    """The old `T.realize`, which has no counterpart."""
    raise UnsupportedError(Diagnostic("unsupported", "`T.realize` is gone; use T.alloc_buffer"))


class BranchFrame(Frame):
    """`with T.While(c):`, `with T.If(c):`, `with T.Then():`, `with T.Else():`: the builder forms."""

    def __init__(self, script_name: str, condition: Expr | None = None) -> None:
        self.script_name = script_name
        self.condition = condition
        self.then: Stmt | None = None
        self.orelse: Stmt | None = None

    def enter(self, b: Builder, span: Span | None) -> Any:
        """Open the scope."""
        if self.script_name in ("T.Then", "T.Else"):
            if not b.branches:
                raise fault("with-frame", f"`{self.script_name}` belongs in `with T.If(...):`", span)
        elif self.script_name == "T.If":
            b.branches.append(self)
        b.open("with")
        if self.script_name == "T.While":
            b.loop_depth += 1
        return None

    def leave(self, b: Builder, span: Span | None) -> None:
        """Close it and add the statement, or hand the branch to its `T.If`."""
        body = b.close()
        if self.script_name == "T.While" and self.condition is not None:
            b.loop_depth -= 1
            b.emit(While(self.condition, body, span))
        elif self.script_name == "T.Then":
            b.branches[-1].then = body
        elif self.script_name == "T.Else":
            b.branches[-1].orelse = body
        else:
            b.branches.pop()
            if self.then is None or self.condition is None:
                raise fault("with-frame", "`with T.If(...):` needs a `with T.Then():`", span)
            b.emit(IfThenElse(self.condition, self.then, self.orelse, span))


def _condition_frame(name: str) -> Any:
    def run(b: Builder, /, condition: Any) -> Frame:
        return BranchFrame(name, as_condition(condition, b.span))

    return run


def assert_word(b: Builder, /, condition: Any, message: Any = "", error_kind: str = "RuntimeError") -> None:
    """`T.Assert(condition, message)`."""
    from ..ir import AssertStmt

    parts = list(message) if isinstance(message, list | tuple) else [message]
    b.emit(AssertStmt(StringImm(error_kind), as_condition(condition, b.span), tuple(parts), b.span))


def _jump(cls: type) -> Any:
    def run(b: Builder) -> None:
        if b.loop_depth == 0:
            raise fault("outside-loop", f"`T.{cls.__name__}` stands outside of a loop", b.span)
        b.emit(cls(b.span))

    return run


def func_name(b: Builder, /, name: str) -> None:
    """`T.func_name(name)`: the function's exported name."""
    b.attrs["global_symbol"] = name
    b.implicit_symbol = False


def func_ret(b: Builder, /, ret_type: Any) -> Any:
    """`T.func_ret(type)`: the function's result type."""
    b.ret_type = type_of_note(ret_type)
    return b.ret_type


def arg(b: Builder, /, name: str, obj: Any) -> Any:
    """`T.arg(name, variable)`: one more parameter."""
    if not isinstance(obj, Var):
        raise DTypeError(Diagnostic("invalid-argument", f"{describe(obj)} is no parameter"))
    b.params.append(obj)
    b.fresh.pop(id(obj), None)
    from .builder import set_name

    set_name(obj, name)
    return obj


def static_assert(condition: Any, message: str = "") -> None:
    """`T.static_assert(condition)`: a condition that must hold while the program is built."""
    from ..ir.promote import is_constant

    if isinstance(condition, Expr) and not is_constant(condition):
        raise DTypeError(Diagnostic("static-assert", "the condition is not known while the program is built"))
    holds = bool(condition.value) if isinstance(condition, Expr) else bool(condition)  # type: ignore[attr-defined]
    if not holds:
        raise DTypeError(
            Diagnostic(
                "static-assert", f"T.static_assert: {message}" if message else "T.static_assert failed"
            )
        )


def _then() -> Frame:
    return BranchFrame("T.Then")


def _else() -> Frame:
    return BranchFrame("T.Else")


def words() -> Mapping[str, Any]:
    """The words of this module by their names below `T`."""
    building: dict[str, Callable[..., Any]] = {
        "func_attr": func_attr,
        "attr": attr,
        "hint": hint,
        "env_thread": env_thread,
        "launch_thread": launch_thread,
        "evaluate": evaluate_word,
        "Bind": bind_word,
        "bind": bind_word,
        "buffer_store": buffer_store,
        "add_to_parent": add_to_parent,
        "Return": ret,
        "While": _condition_frame("T.While"),
        "If": _condition_frame("T.If"),
        "Assert": assert_word,
        "Break": _jump(Break),
        "Continue": _jump(Continue),
        "func_name": func_name,
        "func_ret": func_ret,
        "arg": arg,
    }
    old: dict[str, Callable[..., Any]] = {
        "allocate": allocate,
        "LetStmt": let_frame,
        "ret": ret,
        "preflattened_buffer": preflattened_buffer,
        "realize": realize,
    }
    out: dict[str, Any] = {name: Form(f"T.{name}", run, building=True) for name, run in building.items()}
    out |= {name: Form(f"T.{name}", run, building=True, old=True) for name, run in old.items()}
    out["let"] = LetForm(let_frame)
    out["static_assert"] = Form("T.static_assert", static_assert)
    out["Then"] = Form("T.Then", _then)
    out["Else"] = Form("T.Else", _else)
    return out


__all__ = ["BufferType", "DeclBuffer", "HandleForm", "PointerType", "words"]
