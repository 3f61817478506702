"""Scalar expressions in graph functions are computed by small kernels."""

from __future__ import annotations

from typing import Any

from ...ir import Call, Expr, FloatImm, GlobalVar, IntImm, IRModule, PrimFunc, PrimType, Var
from ...ir.relax import If, ShapeExpr, ShapeType, TensorType
from ...ir.relax.normal_form import is_graph_call
from ...ir.relax.rewrite import GraphRewriter
from ...ir.stmt import Return
from ...ir.visitor import free_vars, substitute
from ..registry import register_pass


@register_pass("relax.ComputePrimValue")
def compute_prim_value(mod: IRModule) -> IRModule:
    """A scalar expression that is no symbol and no constant becomes the call of a kernel that returns it.

    Sums and products of sizes are left to `VMShapeLower`, which computes all of a function in one kernel.

    before:
        @R.function
        def main(x: R.Tensor(("n",), dtype="float32")) -> R.Tensor(("n",), dtype="float32"):
            R.func_attr({"relax.force_pure": True})
            n = T.int64()
            _ = R.assert_op(n % 16 == 0, format="")
            return x
    after:
        @I.ir_module
        class Module:
            @T.prim_func(private=True, s_tir=True)
            def compute_symbolic_expr(n: T.int64) -> T.bool:
                T.func_attr({"tirx.is_host_func": True})
                return n % T.int64(16) == T.int64(0)

            @R.function
            def main(x: R.Tensor(("n",), dtype="float32")) -> R.Tensor(("n",), dtype="float32"):
                R.func_attr({"relax.force_pure": True})
                n = T.int64()
                cls = Module
                gv: T.bool = cls.compute_symbolic_expr(n)
                _ = R.assert_op(gv, format="")
                return x
    """
    return _Compute(mod)(mod)


class _Compute(GraphRewriter):
    def visit_Call(self, call: Call) -> Any:
        if not is_graph_call(call):
            return self.scalar(call)
        return super().visit_Call(call)

    def visit_tuple(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        made = [self.scalar(i) for i in items]
        return items if all(a is b for a, b in zip(made, items)) else tuple(made)

    def visit_If(self, e: If) -> Any:
        cond = self.builder.atom(self.scalar(e.cond))
        yes, no = self.visit(e.true_branch), self.visit(e.false_branch)
        same = cond is e.cond and yes is e.true_branch and no is e.false_branch
        return e if same else If(cond, yes, no, e.span)

    def visit_TensorType(self, ty: TensorType) -> Any:
        """Types keep their expressions."""
        return ty

    def visit_ShapeType(self, ty: ShapeType) -> Any:
        """Types keep their expressions."""
        return ty

    def visit_ShapeExpr(self, shape: ShapeExpr) -> Any:
        """Sizes are for `VMShapeLower`."""
        return shape

    def scalar(self, e: Any) -> Any:
        if not isinstance(e, Expr) or not isinstance(e.ty, PrimType) or is_graph_call(e):
            return self.visit(e)
        if isinstance(e, Var | IntImm | FloatImm) or (e.ty.dtype.is_int and e.ty.dtype.bits == 64):
            return self.visit(e)
        return self.computed(e)

    def computed(self, e: Expr) -> Expr:
        """The call of a kernel that returns the value of an expression."""
        symbols = list(dict.fromkeys(free_vars(e)))
        params = [Var(v.name, v.ty) for v in symbols]
        body = Return(substitute(e, dict(zip(symbols, params))))
        func = PrimFunc(params, body, e.ty, {"s_tir": True, "tirx.is_host_func": True})
        gvar: GlobalVar = self.builder.add_func(func, "compute_symbolic_expr")
        return Call(gvar, [self.vars.get(v, v) for v in symbols], e.ty)
