"""Straight runs of kernel calls become one kernel that calls them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...ir import (
    AllocBuffer,
    BufferType,
    Call,
    DeclBuffer,
    Evaluate,
    Expr,
    GenericConst,
    GlobalVar,
    IRModule,
    PrimFunc,
    PrimType,
    SeqStmt,
    Stmt,
    Var,
)
from ...ir.relax import Binding, SeqExpr, ShapeExpr, TensorType, VarBinding
from ...ir.relax.rewrite import GraphRewriter, bindings_of
from ...ir.types import UNIT
from ...ir.visitor import free_vars, substitute
from ..registry import register_pass
from .vm_calls import called

_ALLOC = "relax.builtin.alloc_tensor"


@register_pass("relax.JoinKernels")
def join_kernels(mod: IRModule) -> IRModule:
    """Calls of kernels that follow each other become the call of one kernel, which makes those calls.

    Tensors that only they use are local buffers of the new kernel.  `build(exec_mode="compiled")` runs this
    pass behind `CallTIRRewrite`: of a graph function without control flow one kernel remains.

    before:
        @I.ir_module
        class Module:
            @T.prim_func(private=True)
            def exp(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
                for i in range(4):
                    y[i] = T.exp(x[i])

            @R.function
            def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
                R.func_attr({"relax.force_pure": True})
                cls = Module
                a = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
                cls.exp(x, a)
                b = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
                cls.exp(a, b)
                return b
    after:
        @I.ir_module
        class Module:
            @T.prim_func(private=True)
            def exp(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
                for i in range(4):
                    y[i] = T.exp(x[i])

            @T.prim_func(private=True)
            def main_run(x: T.Buffer((T.int64(4),), "float32"), b: T.Buffer((T.int64(4),), "float32")):
                T.func_attr({"tirx.noalias": True})
                a = T.alloc_buffer((T.int64(4),), "float32")
                Module.exp(x, a)
                Module.exp(a, b)

            @R.function
            def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
                R.func_attr({"relax.force_pure": True})
                cls = Module
                b = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
                cls.main_run(x, b)
                return b
    """
    return _Join(mod)(mod)


@dataclass
class _Run:
    """A run of bindings: allocations, calls of kernels, names of tensors, and views of them."""

    bindings: list[VarBinding] = field(default_factory=list)
    calls: int = 0


class _Join(GraphRewriter):
    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self.kernels = {
            g.name
            for g, f in mod.functions.items()
            if isinstance(f, PrimFunc) and f.ret_type == PrimType("void")
        }
        self.hint = "run"

    def visit_Function(self, func: Any) -> Any:
        self.hint = f"{func.attrs.get('global_symbol', 'graph')}_run"
        return super().visit_Function(func)

    def visit_SeqExpr(self, seq: SeqExpr) -> Any:
        bindings = bindings_of(seq)
        runs = self.runs(bindings)
        if not runs:
            return super().visit_SeqExpr(seq)
        self.builder.begin_scope()
        try:
            self.builder.open_block(False)
            done: set[int] = set()
            for k, binding in enumerate(bindings):
                run = runs.get(k)
                if run is not None:
                    later = bindings[k + len(run.bindings) :]
                    self.join(run, _used(later, seq.body))
                    done.update(range(k, k + len(run.bindings)))
                elif k not in done:
                    self.visit(binding)
            body = self.result(seq)
        finally:
            blocks = self.builder.end_scope()
        return SeqExpr(blocks, body, seq.span)

    def runs(self, bindings: list[Binding]) -> dict[int, _Run]:
        """The runs of at least two calls, by the number of their first binding."""
        found: dict[int, _Run] = {}
        start, run = 0, _Run()
        for k, binding in enumerate(bindings):
            kind = self.kind(binding)
            if kind and isinstance(binding, VarBinding):
                if not run.bindings:
                    start = k
                run.bindings.append(binding)
                run.calls += kind == "call"
            elif run.bindings:
                found[start], run = run, _Run()
        if run.bindings:
            found[start] = run
        return {k: r for k, r in found.items() if r.calls > 1}

    def kind(self, binding: Binding) -> str:
        """What a binding of a run is: an allocation, a call, a name, a view; or nothing."""
        if not isinstance(binding, VarBinding):
            return ""
        value = binding.value
        name = called(value)
        if name == _ALLOC or name == "relax.reshape":
            assert isinstance(value, Call)
            known = isinstance(binding.var.ty, TensorType) and isinstance(binding.var.ty.shape, ShapeExpr)
            source = name == _ALLOC or _is_tensor(value.args[0])
            return ("alloc" if name == _ALLOC else "view") if known and source else ""
        if isinstance(value, Var) and _is_tensor(value):
            return "name"
        if isinstance(value, Call) and isinstance(value.op, GlobalVar) and value.op.name in self.kernels:
            good = all(_is_tensor(a) or isinstance(a.ty, PrimType) for a in value.args)
            return "call" if good and value.ty == UNIT else ""
        return ""

    def join(self, run: _Run, used: set[Var]) -> None:
        """Emit one call in place of a run."""
        made = _Kernel(run, used)
        for binding in made.outputs:
            self.visit(binding)
        gvar = self.builder.add_func(made.function(), self.hint)
        args = [self.visit(a) for a in (*made.inputs, *made.scalars, *[b.var for b in made.outputs])]
        self.builder.emit(Call(gvar, args, UNIT, span=run.bindings[0].span), "_")
        for binding in made.names:
            self.visit(binding)


def _used(bindings: list[Binding], body: Expr) -> set[Var]:
    found = set(free_vars(body))
    for b in bindings:
        found.update(free_vars(b.value))
    return found


def _is_tensor(e: Expr) -> bool:
    """Whether this is a variable or constant whose shape is written out."""
    ty = e.ty
    return (
        isinstance(e, Var | GenericConst) and isinstance(ty, TensorType) and isinstance(ty.shape, ShapeExpr)
    )


class _Kernel:
    """The new kernel of a run: what it takes and gives, and its body."""

    def __init__(self, run: _Run, used: set[Var]) -> None:
        self.run = run
        self.buffers: dict[Expr, Var] = {}
        self.inputs: list[Expr] = []
        self.outputs: list[VarBinding] = []
        self.names: list[VarBinding] = []
        self.symbols: dict[Var, Var] = {}
        self.scalars: list[Expr] = []
        base: dict[Expr, Expr] = {}
        allocs = {b.var: b for b in run.bindings if called(b.value) == _ALLOC}
        for binding in run.bindings:
            source = self.source(binding)
            if source is not None:
                base[binding.var] = base.get(source, source)
        wanted = {base.get(v, v) for v in used}
        self.outputs = [b for v, b in allocs.items() if v in wanted]
        needed = set(used)
        for binding in reversed(run.bindings):  # a name may be the name of a name
            source = self.source(binding)
            if source is not None and binding.var in needed:
                needed.update(free_vars(source))
                self.names.insert(0, binding)
        self.inner = [v for v in allocs if v not in wanted]
        for binding in run.bindings:
            for e in self.tensors(binding):
                first = base.get(e, e)
                if first not in allocs and first not in self.inputs:
                    self.inputs.append(first)

    @staticmethod
    def source(binding: VarBinding) -> Expr | None:
        """The tensor that a binding gives another name or shape."""
        value = binding.value
        if isinstance(value, Var):
            return value
        return value.args[0] if called(value) == "relax.reshape" else None  # type: ignore[attr-defined]

    def tensors(self, binding: VarBinding) -> list[Expr]:
        """The tensors that a binding uses."""
        source = self.source(binding)
        if source is not None:
            return [source]
        value = binding.value
        assert isinstance(value, Call)
        return [a for a in value.args if _is_tensor(a)] if isinstance(value.op, GlobalVar) else []

    def size(self, e: Expr) -> Expr:
        """A size or scalar in terms of the kernel's own symbols."""
        for v in free_vars(e):
            if v not in self.symbols:
                self.symbols[v] = Var(v.name, v.ty)
        return substitute(e, self.symbols)

    def buffer(self, e: Expr) -> Var:
        """A new buffer for a tensor."""
        ty = e.ty
        assert isinstance(ty, TensorType) and isinstance(ty.shape, ShapeExpr) and ty.dtype is not None
        name = e.name if isinstance(e, Var) else "constant"
        made = self.buffers[e] = Var(name, BufferType(ty.dtype, [self.size(s) for s in ty.shape.values]))
        return made

    def function(self) -> PrimFunc:
        """The kernel; `scalars` are the arguments for its scalar parameters then."""
        tensors = [self.buffer(e) for e in self.inputs]
        results = [self.buffer(b.var) for b in self.outputs]
        body: list[Stmt] = []
        for binding in self.run.bindings:
            body += self.statement(binding)
        alone = {s for b in (*tensors, *results) for s in b.ty.shape if isinstance(s, Var)}  # type: ignore[attr-defined]
        loose = {old: new for old, new in self.symbols.items() if new not in alone}
        self.scalars = list(loose)
        return PrimFunc([*tensors, *loose.values(), *results], SeqStmt(body), attrs={"tirx.noalias": True})

    def statement(self, binding: VarBinding) -> list[Stmt]:
        """What a binding of the run is in the kernel."""
        value = binding.value
        source = self.source(binding)
        if isinstance(value, Var):
            self.buffers[binding.var] = self.buffers[value]
            return []
        if source is not None:
            data = self.buffers[source].data
            return [DeclBuffer(self.buffer(binding.var), data)]
        if binding.var in self.inner:
            return [AllocBuffer(self.buffer(binding.var))]
        assert isinstance(value, Call)
        if not isinstance(value.op, GlobalVar):
            return []
        args = [self.buffers[a] if _is_tensor(a) else self.size(a) for a in value.args]
        return [Evaluate(Call(value.op, args, PrimType("void"), span=value.span))]
