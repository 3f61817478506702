"""Types of the graph dialect as annotations."""

from __future__ import annotations

from collections.abc import Iterable

from ..grammar.tree import CallExpr, Constant, Keyword, ListExpr, SExpr, TupleExpr
from ..ir import AnyType, Expr, FuncType, IntImm, TupleType, Type, Var, VDevice, free_vars
from ..ir.relax import ShapeExpr, ShapeType, TensorType
from .core import Printer, keyword, shows, string
from .layout import layout
from .literals import integer
from .values import value


def R(p: Printer, name: str) -> SExpr:
    """`R.name`"""
    return p.under(p.options.relax_prefix, name)


def scalar(p: Printer, e: Expr) -> SExpr:
    """A scalar where the reader expects one of a graph: a bare number is int64, a bare truth value bool."""
    if type(e) is IntImm:
        if e.dtype == "int64":
            return integer(e.value)
        if e.dtype.is_bool:
            return Constant(bool(e.value))
    return p.expr(e)


def sizes(p: Printer, values: Iterable[Expr]) -> tuple[SExpr, ...]:
    """The sizes of a shape."""
    return tuple([_size(p, e) for e in values])


def _size(p: Printer, e: Expr) -> SExpr:
    shown = scalar(p, e)
    if p.graph is None or not p.graph.quotes or isinstance(e, Var | IntImm):
        return shown
    if any(v.dtype == "int64" and id(v) not in p.graph.given for v in free_vars(e)):
        return string(str(layout(shown)))
    return shown


@shows(TensorType)
def _show_tensor_type(p: Printer, ty: TensorType) -> SExpr:
    args: tuple[SExpr, ...] = ()
    words: list[Keyword] = []
    if isinstance(ty.shape, ShapeExpr):
        args = (TupleExpr(sizes(p, ty.shape.values)),)
    elif ty.shape is not None:
        args = (p.expr(ty.shape),)
    if ty.dtype is not None:
        words.append(keyword("dtype", string(str(ty.dtype))))
    if ty.vdevice is not None:
        words.append(keyword("vdevice", vdevice(p, ty.vdevice)))
    if ty.shape is None and ty.ndim >= 0:
        words.append(keyword("ndim", Constant(ty.ndim)))
    return CallExpr(R(p, "Tensor"), args, tuple(words)) if args or words else R(p, "Tensor")


@shows(ShapeType)
def _show_shape_type(p: Printer, ty: ShapeType) -> SExpr:
    if ty.values is not None:
        return CallExpr(R(p, "Shape"), (ListExpr(sizes(p, ty.values)),))
    return CallExpr(R(p, "Shape"), (), (keyword("ndim", integer(ty.ndim)),))


@shows(TupleType)
def _show_tuple_type(p: Printer, ty: TupleType) -> SExpr:
    if p.graph is None:
        return p.call("Tuple", p.exprs(ty.fields_))
    return CallExpr(R(p, "Tuple"), p.exprs(ty.fields_)) if ty.fields_ else R(p, "Tuple")


@shows(FuncType)
def _show_func_type(p: Printer, ty: FuncType) -> SExpr:
    if p.graph is None and ty.arg_types is not None and ty.purity and ty.derive_func is None:
        return CallExpr(p.I("FuncType"), (ListExpr(p.exprs(ty.arg_types)), p.expr(ty.ret_type)))
    words: list[Keyword] = []
    args: tuple[SExpr, ...] = ()
    if ty.arg_types is not None:
        args = (TupleExpr(p.exprs(ty.arg_types)), p.expr(ty.ret_type), Constant(ty.purity))
    else:
        if not isinstance(ty.ret_type, AnyType):
            words.append(keyword("ret", p.expr(ty.ret_type)))
        if ty.purity:
            words.append(keyword("purity", Constant(True)))
    if ty.derive_func is not None:
        words.append(keyword("derive_func", value(p, ty.derive_func)))
    return CallExpr(R(p, "Callable"), args, tuple(words)) if args or words else R(p, "Callable")


def vdevice(p: Printer, device: VDevice) -> SExpr:
    """A virtual device as the module names it, `"cuda:0:global"`: its number among those of its kind."""
    infos = p.module.global_infos.get("vdevice", ()) if p.module is not None else ()
    kind = _kind(device)
    alike = [d for d in infos if isinstance(d, VDevice) and _kind(d) == kind]
    for number, known in enumerate(alike):
        if known is device or known.field_values() == device.field_values():
            return string(f"{kind}:{number}:{device.memory_scope}")
    return p.expr(device)


def _kind(device: VDevice) -> str:
    return str(getattr(device.target, "kind", device.target))


def type_list(p: Printer, ty: Type) -> SExpr:
    """The type of a result as `out_ty` takes it: a list for several results."""
    return ListExpr(p.exprs(ty.fields_)) if isinstance(ty, TupleType) else p.expr(ty)


def is_graph_type(ty: object) -> bool:
    """Whether a type belongs to the graph dialect, by itself or through a part."""
    if isinstance(ty, TupleType):
        return any(is_graph_type(f) for f in ty.fields_)
    if isinstance(ty, FuncType):
        return ty.arg_types is None or any(is_graph_type(t) for t in (*ty.arg_types, ty.ret_type))
    return isinstance(ty, TensorType | ShapeType | AnyType)


__all__ = ["R", "is_graph_type", "scalar", "sizes", "type_list", "vdevice"]
