"""Tensors are kept in other layouts, where operators are quicker in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...ir import Call, Expr, IndexMap, IRModule, Tuple, TupleGetItem, TupleType, Type, Var
from ...ir.relax import DataflowVar, Function, RelaxOp, SeqExpr, TensorType, VarBinding, op_of
from ...ir.relax.relations import erase_definitions
from ...ir.relax.rewrite import GraphRewriter
from ...ops.derivatives import R
from ...ops.layout import find_layout
from ...ops.layout_rules import Layout, plain
from ..common import refuse
from ..registry import register_pass

Desired = Mapping[str, Sequence[str]]


@register_pass("relax.ConvertLayout")
def convert_layout(
    mod: IRModule, desired_layouts: Desired, layout_cb: Callable[[Call], Desired] | None = None
) -> IRModule:
    """Operators named in `desired_layouts` get these layouts: of data, of weights, of the result.

    What follows them in a dataflow block keeps the layout as far as its operator knows how; tensors are
    transposed where one asks for another layout, and are as before outside of the block.  `layout_cb` gives
    the layouts for a single call instead.  Idempotent.

    with: desired_layouts={"relax.nn.conv2d": ["NHWC", "OHWI"]}
    before:
        @R.function
        def main(
            x: R.Tensor((1, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32")
        ) -> R.Tensor((1, 4, 6, 6), "float32"):
            with R.dataflow():
                c = R.nn.conv2d(x, w)
                d = R.nn.relu(c)
                R.output(d)
            return d

    after:
        @R.function
        def main(
            x: R.Tensor((1, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32")
        ) -> R.Tensor((1, 4, 6, 6), "float32"):
            with R.dataflow():
                lv = R.permute_dims(x, axes=[0, 2, 3, 1])
                lv1 = R.permute_dims(w, axes=[0, 2, 3, 1])
                c = R.nn.conv2d(lv, lv1, data_layout="NHWC", kernel_layout="OHWI", out_layout="NHWC")
                lv2 = R.nn.relu(c)
                d = R.permute_dims(lv2, axes=[0, 3, 1, 2])
                R.output(d)
            return d
    """
    for name, layouts in desired_layouts.items():
        for text in layouts:
            if find_layout(text) is None:
                raise refuse("invalid-argument", f"`{text}` for `{name}` is no layout", mod)
    made: IRModule = _Converter(desired_layouts, layout_cb)(mod)
    return made


class _Converter(GraphRewriter):
    """`kept` holds the layouts of the new dataflow variables that are not plain."""

    def __init__(self, desired: Desired, callback: Callable[[Call], Desired] | None) -> None:
        super().__init__()
        self.desired = desired
        self.callback = callback
        self.kept: dict[Var, Layout] = {}
        self.plain: dict[Var, Expr] = {}

    def wants(self, func: Function) -> bool:
        """Fused groups stay as they are."""
        return not {"Primitive", "Composite", "Codegen"} & set(func.attrs)

    def visit_Function(self, func: Function) -> Any:
        """A function; the type of what it gives is derived anew."""
        made = super().visit_Function(func)
        return made if made is func else made.replace(ret_ty=erase_definitions(made.body))

    def visit_SeqExpr(self, seq: SeqExpr) -> Any:
        """A sequence; what is transposed inside is not known outside."""
        outer = dict(self.plain)
        made = super().visit_SeqExpr(seq)
        self.plain = outer
        return made

    def visit_Var(self, var: Var) -> Any:
        """A use of a tensor as it was."""
        new = super().visit_Var(var)
        if new in self.kept:
            if new not in self.plain:
                self.plain[new] = self.builder.atom(self.plainly(new, self.kept[new]))
            return self.plain[new]
        return new

    def plainly(self, value: Expr, layout: Layout) -> Expr:
        """A value in the plain layout."""
        if isinstance(layout, tuple):
            return Tuple([self.plainly(TupleGetItem(value, i), f) for i, f in enumerate(layout)])
        return value if layout is None else transposed(value, layout, plain(_rank(layout)))

    def as_kept(self, e: Expr) -> tuple[Expr, Layout]:
        """An operand as it is kept, and its layout."""
        if isinstance(e, Tuple):
            parts = [self.as_kept(f) for f in e.fields_]
            return Tuple([p for p, _ in parts]), tuple([layout for _, layout in parts])
        new = self.vars.get(e, e) if isinstance(e, Var) else e
        if new in self.kept:
            return new, self.kept[new]  # type: ignore[index]
        return self.visit(e), _plain_of(e.ty)

    def visit_VarBinding(self, binding: VarBinding) -> None:
        """Emit the binding in the layouts that its operator's rule chooses."""
        value = binding.value
        rec = op_of(value)
        if isinstance(value, TupleGetItem):
            whole, layouts = self.as_kept(value.tuple_value)
            if isinstance(layouts, tuple) and layouts[value.index] != _plain_of(value.ty):
                self.emit(binding, TupleGetItem(whole, value.index), layouts[value.index])
                return
        if not isinstance(value, Call) or rec is None or rec.layout is None:
            super().visit_VarBinding(binding)
        else:
            self.call(binding, rec, value)

    def call(self, binding: VarBinding, rec: RelaxOp, call: Call) -> None:
        """Emit an operator's call."""
        values = rec.values(call)
        names = [p.name for p in rec.params if p.is_operand]
        present = [n for n in names if values[n] is not None]
        if any(p.variadic for p in rec.params):
            super().visit_VarBinding(binding)
            return
        operands = {n: self.as_kept(values[n]) for n in present}
        desired = self.desired if self.callback is None else {**self.desired, **(self.callback(call) or {})}
        given = [operands[n][1] if n in operands else None for n in names]
        choice = rec.layout(values, given, desired.get(rec.name))  # type: ignore[misc]
        wanted = dict(zip(names, choice.operands))
        same = all(wanted[n] is None or wanted[n] == _plain_of(values[n].ty) for n in present)
        if same and not choice.attrs:
            super().visit_VarBinding(binding)
            return
        new = {n: self.bring(*operands[n], wanted[n]) for n in present}
        self.emit(binding, rec.make({**values, **new, **choice.attrs}, call.span), choice.result)

    def bring(self, value: Expr, have: Layout, want: Layout) -> Expr:
        """A value in the layout asked for."""
        if isinstance(have, tuple) and isinstance(want, tuple):
            fields = value.fields_ if isinstance(value, Tuple) else None
            parts = fields or [TupleGetItem(value, i) for i in range(len(have))]
            return Tuple([self.bring(p, h, w) for p, h, w in zip(parts, have, want)])
        if have is None or want is None or have == want:
            return value
        return self.builder.atom(transposed(value, have, want))

    def emit(self, binding: VarBinding, value: Expr, layout: Layout) -> None:
        """Emit a binding whose value is kept in this layout; one that is seen outside is plain."""
        var = binding.var
        if layout is None or layout == _plain_of(var.ty):
            self.rebind(binding, value)
        elif isinstance(var, DataflowVar):
            value = self.builder.normalize(value)
            new = self.renew(var, value.ty)
            self.builder.emit_normalized(VarBinding(new, value, binding.span))
            self.kept[new] = layout
        else:
            self.rebind(binding, self.plainly(self.builder.emit(value), layout))


def _plain_of(ty: Type) -> Layout:
    if isinstance(ty, TupleType):
        return tuple([_plain_of(f) for f in ty.fields_])
    return plain(ty.ndim) if isinstance(ty, TensorType) else None


def _rank(layout: str) -> int:
    return len({c.upper() for c in layout if c.isalpha()})


def transposed(value: Expr, have: str, want: str) -> Expr:
    """A tensor that is kept in one layout, kept in another one."""
    if have == want:
        return value
    if have.isupper() and want.isupper():
        return R.permute_dims(value, axes=[have.index(c) for c in want])
    source, target = find_layout(have), find_layout(want)
    assert source is not None and target is not None

    places = [Var(f"i{k}", "int64") for k in range(source.ndim)]
    return R.layout_transform(value, IndexMap(places, target.indices(source.join(places))))


__all__ = ["convert_layout", "transposed"]
