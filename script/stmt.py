"""Building statements: one function per kind of surface statement, found in a table by type.

A faulty statement becomes a diagnostic and building goes on behind it; the names that it would have
defined are poisoned, so that one fault is reported once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..dtype import DType
from ..errors import LoopwrightError, Span
from ..grammar import tree as S
from ..ir import (
    INT32,
    AssertStmt,
    Bind,
    BufferRegion,
    Call,
    Evaluate,
    Expr,
    GlobalVar,
    IfThenElse,
    IntImm,
    IterVar,
    Mul,
    PrimType,
    Ramp,
    Return,
    SeqStmt,
    Stmt,
    StringImm,
    Tuple,
    Type,
    Var,
    While,
    const,
)
from ..ir.operators import again
from ..ir.promote import operand
from .arith import binary, compare
from .calling import assign_names
from .expr import ONE, access, as_sequence, call_value, check_indices, evaluate, indices_of
from .extent import distance
from .faults import Poisoned, describe, fault, located
from .sequence import build_statements, target_names
from .values import (
    MISSING,
    Cell,
    DTypeForm,
    Form,
    LetForm,
    Meta,
    SliceValue,
    SteppedRegion,
    Symbol,
    VectorNote,
    is_buffer,
    is_pointer,
    is_scalar,
    type_of_note,
)

if TYPE_CHECKING:
    from .builder import Builder


def build_body(b: Builder, body: Sequence[S.SStmt]) -> None:
    """Build the statements one after another; each fault is collected and building goes on."""
    build_statements(b, body, TABLE)


def _nothing(b: Builder, node: S.SStmt) -> None:
    return None


def _expression(b: Builder, node: S.ExprStmt) -> None:
    value_node = node.value
    if type(value_node) is S.Constant and isinstance(value_node.value, str) or _is_ellipsis(value_node):
        return
    value = call_value(b, value_node) if type(value_node) is S.CallExpr else evaluate(b, value_node)
    add_value(b, value, node.span)


def _is_ellipsis(node: S.SExpr) -> bool:
    return type(node) is S.Constant and node.value is ...


def add_value(b: Builder, value: Any, span: Span | None) -> None:
    """Add what an expression on a line of its own says."""
    if value is None or isinstance(value, Meta) or b.is_fresh(value):
        return
    if isinstance(value, Frame):
        value.cover_rest(b, span)
    elif isinstance(value, Stmt):
        b.emit(value)
    elif isinstance(value, BufferRegion):
        raise fault("invalid-statement", "a region on a line of its own says nothing", span)
    elif isinstance(value, Expr):
        if type(value) is Var and not isinstance(value.ty, PrimType):
            raise fault("invalid-statement", f"{describe(value)} on a line of its own says nothing", span)
        b.emit(Evaluate(value, span))
    elif isinstance(value, bool | int | float):
        b.emit(Evaluate(operand(value), span))
    elif isinstance(value, IterVar):
        return
    elif isinstance(value, list | tuple):
        for item in value:
            add_value(b, item, span)
    elif isinstance(value, Form):
        raise fault("invalid-statement", f"`{value.script_name}` is not called", span, help=("add `(...)`",))
    elif isinstance(value, str) or b.live:
        return
    else:
        raise fault("invalid-statement", f"{describe(value)} on a line of its own says nothing", span)


class Frame:
    """The value of a word that covers statements: `with frame:` or, as a statement, the rest of the scope."""

    script_name = "this word"
    can_cover_rest = False

    def enter(self, b: Builder, span: Span | None) -> Any:
        """Open the scope of the body; gives what `as` names."""
        raise NotImplementedError

    def leave(self, b: Builder, span: Span | None) -> None:
        """Close the scope and add the statement."""
        raise NotImplementedError

    def wrap(self, b: Builder, span: Span | None) -> Callable[[Stmt], Stmt]:
        """The statement around a body, for covering the rest of a scope."""
        raise NotImplementedError

    def cover_rest(self, b: Builder, span: Span | None) -> Any:
        """Let the word cover the rest of the innermost scope; gives what the call's value is."""
        if not self.can_cover_rest:
            raise fault(
                "with-needed",
                f"`{self.script_name}` needs a body",
                span,
                help=(f"write `with {self.script_name}(...):`",),
            )
        b.wrap_rest(self.wrap(b, span))
        return None


class WrapFrame(Frame):
    """A frame that wraps its body in one statement and opens an ordinary scope."""

    can_cover_rest = True

    def __init__(self, script_name: str, wrap: Callable[[Stmt], Stmt], value: Any = None) -> None:
        self.script_name = script_name
        self._wrap = wrap
        self.value = value

    def enter(self, b: Builder, span: Span | None) -> Any:
        """Open a scope."""
        b.open("with")
        return self.value

    def leave(self, b: Builder, span: Span | None) -> None:
        """Add the wrapped body."""
        b.emit(self._wrap(b.close()))

    def wrap(self, b: Builder, span: Span | None) -> Callable[[Stmt], Stmt]:
        """The wrapping itself."""
        return self._wrap

    def cover_rest(self, b: Builder, span: Span | None) -> Any:
        """Cover the rest; the frame's value is the call's value."""
        b.wrap_rest(self._wrap)
        return self.value


# assignments


def _assign(b: Builder, node: S.Assign) -> None:
    if len(node.targets) > 1:
        raise fault(
            "chained-assignment",
            "`a = b = c` is not part of the language",
            node.span,
            help=("write one assignment a line",),
        )
    target = node.targets[0]
    value_node = node.value
    if type(target) is S.Subscript:
        assign_element(b, target, evaluate(b, value_node), node.span)
        return
    value = call_value(b, value_node) if type(value_node) is S.CallExpr else evaluate(b, value_node)
    if type(value_node) is S.CallExpr and type(target) is S.Name and _is_new_symbol(b, value):
        b.define(target.id, value, target.span)
        return
    assign(b, target, value, node)


def _is_new_symbol(b: Builder, value: Any) -> bool:
    """Whether a call outside of the language made this variable, such as `te.var()`: a symbol of its own."""
    if type(value) is not Var or not isinstance(value.ty, PrimType) or b.is_fresh(value):
        return False
    return not any(known is value for known in b.names.values())


def assign(b: Builder, target: S.SExpr, value: Any, node: Any) -> None:
    """Let a target mean a value: a name, several names, an element."""
    if isinstance(value, Frame):
        value = value.cover_rest(b, node.span)
    if type(target) is S.Name:
        assign_name(b, target, value, node.span)
    elif isinstance(target, S.TupleExpr | S.ListExpr):
        names = target_names(target.elts)
        twice = next((n for n in names if names.count(n) > 1), None)
        if twice is not None:
            raise fault("duplicate-target", f"`{twice}` stands twice on the left", target.span)
        values = unpack(target, value)
        for part, item in zip(target.elts, values):
            if isinstance(part, S.Starred):
                assign_name(b, part.value, Meta(item), node.span)
            else:
                assign(b, part, item, node)
    elif type(target) is S.Subscript:
        assign_element(b, target, value, node.span)
    elif type(target) is S.Attribute:
        raise fault("invalid-target", "an attribute cannot be assigned", target.span)
    else:
        raise fault("invalid-target", "this cannot be assigned", target.span)


def unpack(target: S.TupleExpr | S.ListExpr, value: Any) -> list[Any]:
    """The values for several targets, one of which may be starred. Raises a Fault when the counts differ."""
    values = list(value) if isinstance(value, Meta) else as_sequence(value, target.span)
    wanted = len(target.elts)
    star = next((i for i, e in enumerate(target.elts) if isinstance(e, S.Starred)), None)
    if star is not None and len(values) >= wanted - 1:
        tail = wanted - star - 1
        middle = [v.value if isinstance(v, Meta) else v for v in values[star : len(values) - tail]]
        return [*values[:star], middle, *values[len(values) - tail :]]
    if len(values) != wanted:
        raise fault("unpacking", f"{wanted} names for {len(values)} values", target.span)
    return values


def assign_name(b: Builder, target: Any, value: Any, span: Span | None) -> None:
    """`name = value`: what it does depends on what the value is."""
    name = target.id
    where = target.span
    if type(value) is Meta:
        b.define(name, value, where)
        return
    if isinstance(value, Cell):
        if b.is_fresh(value.buffer):
            b.name_value(value.buffer, name, where)
        b.define(name, value, where)
        return
    if b.is_fresh(value):
        _assign_fresh(b, name, value, where)
        return
    known = b.names.get(name, MISSING)
    cell = known.buffer if type(known) is Cell else known if is_single(known) else None
    if cell is not None and (isinstance(value, bool | int | float) or is_scalar(value)):
        b.span = span
        b.store(cell, value, (0,))
        return
    if isinstance(value, IterVar | BufferRegion | SteppedRegion | Type | DType | Form) or is_buffer(value):
        b.define(name, value, where)
        return
    if isinstance(value, bool | int | float) or is_scalar(value) and not isinstance(value, BufferRegion):
        declare_scalar(b, name, value, span, where)
        return
    if isinstance(value, Expr):
        if is_pointer(value) or isinstance(value, Tuple | Call):
            bind(b, name, value, span, where)
            return
        if isinstance(value, GlobalVar):
            b.define(name, value, where)
            return
    if value is None:
        raise fault("no-value", "this call has no value to assign", span)
    b.define(name, value, where)


def is_single(value: Any) -> bool:
    """Whether this is a buffer of one element, which may be assigned by its name."""
    return (
        is_buffer(value)
        and len(value.ty.shape) == 1
        and isinstance(value.ty.shape[0], IntImm)
        and value.ty.shape[0].value == 1
    )


def _assign_fresh(b: Builder, name: str, value: Any, where: Span | None) -> None:
    """A variable that the value's own word made: it takes the name; a known symbol stays itself."""
    if type(value) is Var and isinstance(value.ty, PrimType):
        symbol = b.symbols.get(name)
        if symbol is not None and b.names.get(name, symbol) is symbol and id(value) in b.fresh:
            if symbol.ty is not value.ty:
                raise fault(
                    "symbol-type",
                    f"the symbol `{name}` has dtype `{symbol.dtype}`, not `{value.dtype}`",
                    where,
                )
            del b.fresh[id(value)]
            b.define(name, symbol, where)
            return
    b.name_value(value, name, where)
    b.define(name, value, where)


def declare_scalar(b: Builder, name: str, value: Any, span: Span | None, where: Span | None) -> None:
    """`x = e`: a mutable scalar with the type of e; in an old program a binding."""
    value = operand(value)
    if b.old or value.dtype.is_vector or value.dtype.is_handle:
        bind(b, name, value, span, where)
        return
    if name in b.scopes[-1].before:
        b.define(name, value, where)  # raises where the name is taken
    b.span = span
    cell = b.scalar(name, value.dtype)
    b.store(cell.buffer, value, (0,))
    b.define(name, cell, where)


def bind(
    b: Builder, name: str, value: Expr, span: Span | None, where: Span | None, ty: Type | None = None
) -> Var:
    """Bind a name to a value for the rest of the scope."""
    known = b.names.get(name)
    if not b.old and isinstance(known, Var) and is_pointer(known) and name in b.scopes[-1].before:
        raise fault("immutable", f"the pointer `{name}` cannot be assigned again", where)
    var = Var(name, ty or value.ty, where)
    if b.old and name in b.scopes[-1].before:
        b.names[name] = MISSING
        del b.names[name]
    b.define(name, var, where)
    b.emit(Bind(var, value, span))
    return var


def assign_element(b: Builder, target: S.Subscript, value: Any, span: Span | None) -> None:
    """`A[i, j] = value`, `A[0:8:2] = value`."""
    base = target.value
    found = b.names.get(base.id, MISSING) if type(base) is S.Name else MISSING
    if type(found) is Cell:
        buffer: Any = found.buffer
    else:
        buffer = evaluate(b, base)
    if not is_buffer(buffer):
        if b.live and isinstance(buffer, list | dict):
            buffer[evaluate(b, target.index)] = value
            return
        raise fault("not-a-buffer", f"{describe(buffer)} has no elements to assign", target.span)
    indices = indices_of(b, target.index)
    for position, index in enumerate(indices):
        if type(index) is SliceValue:
            indices[position] = slice_ramp(buffer, index, position, target.span)
    check_indices(buffer, indices, target.span)
    b.span = target.span if len(indices) != len(buffer.ty.shape) else span
    b.store(buffer, value, indices)


def slice_ramp(buffer: Var, index: SliceValue, position: int, span: Span | None) -> Any:
    """A slice in a store as the vector of its indices."""
    shape = buffer.ty.shape  # type: ignore[attr-defined]
    lower = 0 if index.lower is None else index.lower
    upper = shape[position] if index.upper is None and position < len(shape) else index.upper
    step = 1 if index.step is None else index.step
    extent = distance(lower, upper)
    if not isinstance(step, int | IntImm) or int(step) == 0:
        raise fault("lanes", "a slice in a store needs a constant step", span)
    if isinstance(extent, Expr) and not isinstance(extent, IntImm):
        return _long_ramp(lower, extent, int(step), span)
    lanes = -(-int(extent) // int(step))
    if lanes < 1:
        raise fault("lanes", "the slice is empty", span)
    return lower if lanes == 1 else Ramp(operand(lower), step, lanes)


def _long_ramp(lower: Any, extent: Expr, step: int, span: Span | None) -> Ramp:
    """The indices of a slice whose length is a multiple of vscale."""
    lanes: Any = extent
    if step != 1:
        known = isinstance(extent, Mul) and isinstance(extent.b, IntImm)
        if not known or extent.b.value != step:  # type: ignore[attr-defined]
            raise fault("lanes", "a slice in a store needs a constant length", span)
        lanes = extent.a  # type: ignore[attr-defined]
    try:
        return Ramp(operand(lower), step, lanes)
    except LoopwrightError:
        raise fault("lanes", "a slice in a store needs a constant length", span) from None


def _annotated(b: Builder, node: S.AnnAssign) -> None:
    target = node.target
    if not isinstance(target, S.Name):
        raise fault("invalid-target", "only a name can be annotated", target.span)
    note = evaluate(b, node.annotation)
    if isinstance(note, LetForm):
        _let(b, target, note, node)
    elif isinstance(note, VectorNote):
        if node.value is not None:
            raise fault(
                "annotation",
                "a local vector cannot have a value here",
                node.span,
                help=("assign its elements",),
            )
        from .words_alloc import alloc_local

        buffer = alloc_local(b, note.shape, note.dtype)
        b.name_value(buffer, target.id, target.span)
        b.define(target.id, buffer, target.span)
    else:
        _scalar(b, target, note, node)


def _let(b: Builder, target: S.Name, note: LetForm, node: S.AnnAssign) -> None:
    if node.value is None:
        name = target.id
        raise fault(
            "annotation",
            f"`{name}` is a `T.let` and needs a value",
            node.span,
            help=(f"write `{name}: T.let = value`",),
        )
    value = evaluate(b, node.value)
    wanted = None if note.type_note is None else type_of_note(note.type_note)
    if note.type_note is not None and wanted is None:
        raise fault("annotation", f"{describe(note.type_note)} is no type", node.annotation.span)
    made = let_value(value, wanted, node.span)
    bind(b, target.id, made, node.span, target.span, wanted)


def let_value(value: Any, wanted: Type | None, span: Span | None) -> Expr:
    """The value of a binding as an expression of the wanted type."""
    if isinstance(value, IterVar):
        value = value.var
    if is_buffer(value) or isinstance(value, BufferRegion):
        raise fault("type-mismatch", f"{describe(value)} cannot be bound", span)
    if isinstance(wanted, PrimType):
        from ..ir.promote import convert

        made = operand(value, like=Var("like", wanted))
        return made if made.ty is wanted else convert(made, wanted.dtype)
    if isinstance(value, Expr):
        return value
    if isinstance(value, tuple):
        return Tuple(value)
    return operand(value)


def _scalar(b: Builder, target: S.Name, note: Any, node: S.AnnAssign) -> None:
    wanted = type_of_note(note) if not isinstance(note, str) else None
    if isinstance(note, str):
        wanted = PrimType(DType(note.removeprefix("T.")))
    if not isinstance(wanted, PrimType) or wanted.dtype.code == 3 or is_buffer(note):
        raise fault(
            "annotation",
            f"{describe(note)} cannot annotate the scalar `{target.id}`",
            node.annotation.span,
            help=(f"scalars are numbers; bind pointers with `{target.id}: T.let[T.handle(...)] = ...`",),
        )
    value = None if node.value is None else evaluate(b, node.value)
    known = b.names.get(target.id, MISSING)
    if target.id in b.scopes[-1].before and known is not MISSING and type(known) is not Cell:
        b.define(target.id, Cell, target.span)  # raises where the name is taken
    b.span = node.span
    cell = b.scalar(target.id, wanted.dtype)
    if value is not None:
        b.store(cell.buffer, value, (0,))
    scope = b.scopes[-1]
    scope.before.setdefault(target.id, b.names.get(target.id, MISSING))
    b.names[target.id] = cell


def _augmented(b: Builder, node: S.AugAssign) -> None:
    target = node.target
    value = evaluate(b, node.value)
    old = _target_value(b, target)
    try:
        if isinstance(old, Expr) and type(target) is S.Subscript:  # the store has the same indices
            old = again(old)
        new = binary(node.op, old, value, node.span)
    except Exception as err:
        raise located(err, node.span) from None
    if type(target) is S.Subscript:
        assign_element(b, target, new, node.span)
    elif isinstance(target, S.Name):
        known = b.names.get(target.id, MISSING)
        if type(known) is Meta or not isinstance(old, Expr):
            scope = b.scopes[-1]
            scope.before.setdefault(target.id, known)
            b.names[target.id] = Meta(new)
        elif type(known) is not Cell:
            raise fault(
                "immutable",
                f"`{target.id}` cannot be changed",
                target.span,
                help=("declare a mutable scalar: `x: T.int32 = ...`",),
            )
        else:
            b.span = node.span
            b.store(known.buffer, new, (0,))
    else:
        raise fault("invalid-target", "this cannot be assigned", target.span)


def _target_value(b: Builder, target: S.SExpr) -> Any:
    if type(target) is S.Subscript:
        base = target.value
        found = b.names.get(base.id, MISSING) if isinstance(base, S.Name) else MISSING
        buffer = found.buffer if type(found) is Cell else evaluate(b, base)
        if is_buffer(buffer):
            indices = indices_of(b, target.index)
            if any(type(i) is SliceValue for i in indices):
                raise fault("type-mismatch", "a slice cannot be updated in place", target.span)
            return access(b, buffer, indices, target.span)
    return evaluate(b, target)


# control flow


def _for(b: Builder, node: S.ForStmt) -> None:
    from .loops import build_for

    build_for(b, node)


def _while(b: Builder, node: S.WhileStmt) -> None:
    test = evaluate(b, node.test)
    condition = as_condition(test, node.test.span)
    b.open("while")
    b.loop_depth += 1
    try:
        build_body(b, node.body)
    finally:
        b.loop_depth -= 1
        body = b.close()
    b.emit(While(condition, body, node.span))


def as_condition(value: Any, span: Span | None) -> Expr:
    """The value as a condition: a bool, or an integer compared with zero. Raises a Fault."""
    if isinstance(value, bool):
        return const(value, "bool")
    if isinstance(value, IterVar):
        value = value.var
    if isinstance(value, int):
        return const(bool(value), "bool")
    if is_scalar(value) and value.dtype.is_scalar:
        if value.dtype.is_bool:
            found: Expr = value
            return found
        if value.dtype.is_integral:
            made: Expr = compare("!=", value, 0, span)
            return made
    raise fault(
        "condition-type",
        f"a condition must be a bool, not {describe(value)}",
        span,
        help=("compare it, as in `x != 0`",),
    )


def _if(b: Builder, node: S.IfStmt) -> None:
    test = evaluate(b, node.test)
    if not isinstance(test, Expr | IterVar):
        build_inline(b, node.body if test else node.orelse)
        return
    condition = as_condition(test, node.test.span)
    b.open("if")
    try:
        build_body(b, node.body)
    finally:
        then = b.close()
    orelse = None
    if node.orelse:
        b.open("else")
        try:
            build_body(b, node.orelse)
        finally:
            orelse = b.close()
    b.emit(IfThenElse(condition, then, orelse, node.span))


def build_inline(b: Builder, body: Sequence[S.SStmt]) -> None:
    """The branch that Python chose, as if it stood there alone."""
    build_body(b, body)


def _with(b: Builder, node: S.WithStmt) -> None:
    entered: list[Frame] = []
    try:
        for item in node.items:
            b.span = item.context.span
            value = evaluate(b, item.context)
            if not isinstance(value, Frame):
                raise fault("with-frame", f"{describe(value)} cannot stand after `with`", item.context.span)
            result = value.enter(b, item.context.span)
            entered.append(value)
            if item.target is not None:
                if result is None:
                    raise fault(
                        "with-frame",
                        f"`{value.script_name}` gives nothing that `as` could name",
                        item.target.span,
                    )
                names: dict[str, Any] = {}
                assign_names(b, item.target, result, names)
                for name, one in names.items():
                    b.name_value(one, name, item.target.span)
                    b.define(name, one, item.target.span)
            elif result is not None and isinstance(result, Var):
                b.fresh.pop(id(result), None)
        build_body(b, node.body)
    finally:
        while entered:
            frame = entered.pop()
            try:
                frame.leave(b, node.span)
            except Exception as err:
                b.report(err, node.span)


def _assert(b: Builder, node: S.AssertStatement) -> None:
    test = evaluate(b, node.test)
    kind, parts = "RuntimeError", [""]
    if node.msg is not None:
        message = evaluate(b, node.msg)
        if isinstance(message, str | StringImm):
            parts = [message if isinstance(message, str) else message.value]
        elif isinstance(message, tuple) and len(message) == 2 and isinstance(message[0], str | StringImm):
            kind = message[0] if isinstance(message[0], str) else message[0].value
            found = message[1]
            parts = list(found) if isinstance(found, list | tuple) else [found]
        else:
            raise fault("assert-message", "the message must be a text or (kind, [texts])", node.msg.span)
    for part in parts:
        if not isinstance(part, str | StringImm):
            raise fault("assert-message", f"{describe(part)} is no text", node.span)
    b.emit(AssertStmt(StringImm(kind), as_condition(test, node.test.span), tuple(parts), node.span))


def _return(b: Builder, node: S.ReturnStmt) -> None:
    if b.macro_depth:
        raise fault(
            "macro-return",
            "a macro cannot return",
            node.span,
            help=("its statements are pasted at the call",),
        )
    if node.value is None:
        b.emit(Return(None, node.span))
        return
    value = evaluate(b, node.value)
    if value is None:
        if isinstance(node.value, S.CallExpr):
            raise fault("return-type", "this call has no value to return", node.span)
        b.emit(Return(None, node.span))
        return
    b.span = node.span
    b.emit(Return(return_value(b, value, node.span), node.span))


def return_value(b: Builder, value: Any, span: Span | None) -> Expr:
    """The value of a return statement, converted to the declared result type."""
    if isinstance(value, tuple | list):
        return Tuple([return_value_plain(v) for v in value])
    if is_buffer(value) or isinstance(value, BufferRegion) or isinstance(value, str):
        raise fault("return-type", f"{describe(value)} cannot be returned", span)
    wanted = b.ret_type
    if isinstance(wanted, PrimType) and not wanted.dtype.is_void:
        return let_value(value, wanted, span)
    return return_value_plain(value)


def return_value_plain(value: Any) -> Expr:
    """A value as an expression of its own type."""
    return value if isinstance(value, Expr) else operand(value)


def _keyword(b: Builder, node: S.KeywordStmt) -> None:
    if node.word == "pass":
        return
    if b.loop_depth == 0:
        raise fault("outside-loop", f"`{node.word}` stands outside of a loop", node.span)
    name = "tirx.break_loop" if node.word == "break" else "tirx.continue_loop"
    from .words_expr import control_call

    b.emit(Evaluate(control_call(name, node.span), node.span))


def _import(b: Builder, node: S.ImportStmt) -> None:
    raise fault("unsupported-syntax", "`import` is not possible in a function", node.span)


def _function(b: Builder, node: S.FunctionDef) -> None:
    from .macros import define_local_macro

    define_local_macro(b, node)


def _class(b: Builder, node: S.ClassDef) -> None:
    raise fault("unsupported-syntax", f"the class `{node.name}` is not possible in a function", node.span)


def _outer_names(b: Builder, node: S.Unsupported) -> None:
    """`nonlocal a, b`: the names are from around, as all free names are; each must mean something there."""
    for name in node.text.partition("#")[0].replace(",", " ").split()[1:]:
        b.lookup(name, node.span)


def _unsupported(b: Builder, node: S.Unsupported) -> None:
    if node.kind == "Error":
        raise Poisoned  # the reader reported it
    if node.kind in ("Global", "Nonlocal"):
        _outer_names(b, node)
        return
    word = _WORDS.get(node.kind, node.kind)
    raise fault("unsupported-syntax", f"`{word}` is not part of the language", node.span)


_WORDS = {
    "AsyncFor": "async",
    "AsyncFunctionDef": "async",
    "AsyncWith": "async",
    "Delete": "del",
    "Match": "match",
    "Raise": "raise",
    "Try": "try",
    "TryStar": "try",
    "TypeAlias": "type",
}
"""The first word of the statements of Python that the language lacks, by their name in Python's own tree."""


TABLE: dict[type, Callable[[Any, Any], None]] = {
    S.Comment: _nothing,
    S.Blank: _nothing,
    S.ExprStmt: _expression,
    S.Assign: _assign,
    S.AnnAssign: _annotated,
    S.AugAssign: _augmented,
    S.ForStmt: _for,
    S.WhileStmt: _while,
    S.IfStmt: _if,
    S.WithStmt: _with,
    S.AssertStatement: _assert,
    S.ReturnStmt: _return,
    S.KeywordStmt: _keyword,
    S.ImportStmt: _import,
    S.FunctionDef: _function,
    S.ClassDef: _class,
    S.Unsupported: _unsupported,
}

__all__ = ["DTypeForm", "Frame", "ONE", "INT32", "SeqStmt", "Symbol", "WrapFrame", "build_body"]
