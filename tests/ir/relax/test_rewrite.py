"""GraphRewriter: what does not change stays, renewed variables, equal meaning after lowering operators."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given

from loopwright.ir import Call, IntImm, IRModule, Var
from loopwright.ir.analysis import check_well_formed
from loopwright.ir.relax import (
    BlockBuilder,
    DataflowVar,
    Function,
    GraphRewriter,
    TensorType,
    get_op,
    op_of,
)
from loopwright.testing.graphs import evaluate
from loopwright.testing.strategies.relax import relax_functions, relax_modules

exp, add = get_op("relax.exp"), get_op("relax.add")


class Nothing(GraphRewriter):
    """Changes nothing."""


class Lower(GraphRewriter):
    """Operators become kernels where they have tensor expressions."""

    def visit_Call(self, call: Call) -> Any:
        call = super().visit_Call(call)
        rec = op_of(call)
        return self.builder.call_kernel(call) if rec is not None and rec.te is not None else call


@given(relax_modules())
def test_where_nothing_changes_the_module_is_the_same(mod: IRModule) -> None:
    assert Nothing()(mod) is mod


@given(relax_functions(executable=True))
def test_lowered_operators_mean_the_same(func: Function) -> None:
    mod = IRModule({"main": func})
    sizes: dict[Var, int] = {}
    args = [_argument(p.ty, sizes) for p in func.params]
    want = evaluate(mod, *args)
    lowered = Lower()(mod)
    assert not [d for d in check_well_formed(lowered) if d.severity == "error"]
    _same(evaluate(lowered, *args), want)


def _argument(ty: Any, sizes: dict[Var, int]) -> Any:
    assert isinstance(ty, TensorType) and ty.sizes is not None and ty.dtype is not None
    shape = [s.value if isinstance(s, IntImm) else _size(s, sizes) for s in ty.sizes]
    return np.arange(1, 1 + int(np.prod(shape)), dtype=np.float64).reshape(shape).astype(ty.dtype.numpy())


def _size(size: Any, sizes: dict[Var, int]) -> int:
    from loopwright.codegen.python import evaluate as scalar
    from loopwright.ir import free_vars

    for var in free_vars(size):
        sizes.setdefault(var, 2 + len(sizes))
    return int(scalar(size, sizes))


def _same(found: Any, want: Any) -> None:
    if isinstance(want, tuple):
        for f, w in zip(found, want, strict=True):
            _same(f, w)
    else:
        assert found.dtype == want.dtype
        assert np.allclose(found, want, rtol=1e-5, atol=1e-5, equal_nan=True)


def test_a_rewriter_serves_several_modules() -> None:
    lower, x = Lower(), np.zeros((1, 4), np.float32)
    for _ in range(2):
        lowered = lower(_chain())
        assert len(lowered.functions) == 3 and np.allclose(evaluate(lowered, x), 1)


def _chain() -> IRModule:
    n = Var("n", "int64")
    x = Var("x", TensorType([n, 4]))
    bb = BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(exp(bb.emit(add(x, x), "twice")))
        bb.emit_func_output(out)
    return bb.get()


def test_renewed_symbols_reach_every_type() -> None:
    mod = _chain()
    func = mod["main"]
    assert isinstance(func, Function)
    n = func.params[0].ty.sizes[0]  # type: ignore[union-attr, attr-defined]

    class Fix(GraphRewriter):
        def visit_Function(self, func: Function) -> Any:
            self.vars[n] = IntImm("int64", 7)
            return super().visit_Function(func)

    new = Fix()(mod)["main"]
    wanted = TensorType([7, 4])
    first, second = new.body.blocks[0].bindings
    assert [v.ty for v in (*new.params, first.var, second.var)] == [wanted] * 3 and new.ret_ty == wanted
    assert type(first.var) is DataflowVar and first.var.name == "twice" and first.value.ty == wanted


def test_types_are_derived_anew_where_operands_change() -> None:
    class Half(GraphRewriter):
        def define(self, var: Var) -> Var:
            return self.renew(var, TensorType(var.ty.shape, "float16"))  # type: ignore[attr-defined]

    new = Half()(_chain())["main"]
    assert str(new.ret_ty.dtype) == "float16"
    assert not [d for d in check_well_formed(IRModule({"main": new})) if d.severity == "error"]


def test_bindings_may_be_dropped_and_put_before() -> None:
    class Twice(GraphRewriter):
        def visit_VarBinding(self, binding: Any) -> None:
            if binding.var.name == "twice":
                self.vars[binding.var] = self.visit(binding.value.args[0])
                return
            before = self.builder.emit(self.visit(binding.value), "before")
            self.rebind(binding, exp(before))

    func = Twice()(_chain())["main"]
    assert [b.var.name for b in func.body.blocks[0].bindings] == ["before", "gv"]
    x = np.zeros((1, 4), np.float32)
    assert np.allclose(evaluate(func, x), np.exp(np.exp(x)))


def test_only_wanted_functions_are_rewritten() -> None:
    class Never(Lower):
        def wants(self, func: Function) -> bool:
            return func.attrs.get("global_symbol") != "main"

    mod = _chain()
    assert Never()(mod) is mod and Lower()(mod) is not mod
