"""Each fused group becomes one kernel: its kernels' blocks one after another, with buffers between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ...ir import (
    AllocBuffer,
    BaseFunc,
    BufferType,
    Call,
    Expr,
    GlobalVar,
    IntImm,
    IRModule,
    PrimFunc,
    PrimType,
    SBlock,
    SBlockRealize,
    Stmt,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    Var,
    const,
    seq,
)
from ...ir.analysis.regions import block_access_regions
from ...ir.expr import BinaryOp
from ...ir.operators import cast, fold_constants
from ...ir.relax import (
    Binding,
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    Function,
    ShapeExpr,
    ShapeType,
    TensorType,
    VarBinding,
    get_op,
)
from ...ir.relax.variable_kinds import merge_aliases
from ...ir.visitor import Substitution, renew_definitions, walk
from ..common import refuse
from ..registry import register_pass
from .common import BlockRewriter, kernel_of
from .dead_code import remove_unused_functions

TRUE: Final = const(True, "bool")


@register_pass("relax.FuseTIR")
def fuse_tir(mod: IRModule) -> IRModule:
    """Each function with the attribute "Primitive" is one kernel, called by `R.call_tir`.

    Results of inner kernels become buffers of the new one, symbolic sizes are unified, and kernels that
    nobody calls any more are gone.  Raises PassError for a fused function that holds something else than
    kernel calls.  Idempotent.

    before:
        @I.ir_module
        class Module:
            @T.prim_func(private=True)
            def exp(x: T.Buffer((T.int64(2),), "float32"), y: T.Buffer((T.int64(2),), "float32")):
                for i in range(T.int64(2)):
                    with T.sblock("y"):
                        v = T.axis.spatial(T.int64(2), i)
                        y[v] = T.exp(x[v])

            @R.function(private=True)
            def fused(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                R.func_attr({"Primitive": True})
                cls = Module
                with R.dataflow():
                    a = R.call_tir(cls.exp, (x,), out_ty=R.Tensor((2,), "float32"))
                    b = R.call_tir(cls.exp, (a,), out_ty=R.Tensor((2,), "float32"))
                    R.output(b)
                return b

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                y = cls.fused(x)
                return y

    after:
        @I.ir_module
        class Module:
            @T.prim_func(private=True, s_tir=True)
            def fused(x: T.Buffer((T.int64(2),), "float32"), b: T.Buffer((T.int64(2),), "float32")):
                T.func_attr({"tirx.noalias": True})
                # with T.sblock("root"):
                a = T.sblock_alloc_buffer((T.int64(2),))
                for i in range(T.int64(2)):
                    with T.sblock("y"):
                        v = T.axis.spatial(T.int64(2), i)
                        T.reads(x[v])
                        T.writes(a[v])
                        a[v] = T.exp(x[v])
                for i in range(T.int64(2)):
                    with T.sblock("y_1"):
                        v = T.axis.spatial(T.int64(2), i)
                        T.reads(a[v])
                        T.writes(b[v])
                        b[v] = T.exp(a[v])

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                y = R.call_tir(cls.fused, (x,), out_ty=R.Tensor((2,), "float32"))
                return y
    """
    functions = {g.name: f for g, f in mod.functions.items()}
    fused: dict[str, Fused] = {}
    for gvar, func in mod.functions.items():
        if isinstance(func, Function) and func.attrs.get("Primitive"):
            fused[gvar.name] = _Fusion(gvar, func, functions).run()
    if not fused:
        return mod
    rewriter = BlockRewriter(lambda block: _with_kernel_calls(block, fused))
    table: dict[GlobalVar, BaseFunc] = {}
    for gvar, func in mod.functions.items():
        if gvar.name in fused:
            one = fused[gvar.name]
            table[one.gvar] = one.func
        else:
            made = rewriter(func) if isinstance(func, Function) else func
            table[gvar] = merge_aliases(made) if made is not func and isinstance(made, Function) else made
    return remove_unused_functions(mod.replace(functions=table))


class Fused:
    """A fused kernel, and which of the group's arguments it takes.

    `places` are paths into the arguments: (2, 0) is the first field of the third one.  `in_place` gives
    for each result the number of the argument that it is written into, -1 for a new tensor.
    """

    def __init__(
        self, gvar: GlobalVar, func: PrimFunc, places: Sequence[tuple[int, ...]], in_place: Sequence[int]
    ) -> None:
        self.gvar = gvar
        self.func = func
        self.places = places
        self.in_place = in_place


class _Fusion:
    """Makes the kernel of one group."""

    def __init__(self, gvar: GlobalVar, func: Function, functions: Mapping[str, BaseFunc]) -> None:
        self.gvar = gvar
        self.func = func
        self.functions = functions
        self.values: dict[Var, Any] = {}  # a buffer, a scalar, or a tuple of those for each variable
        self.inputs: dict[Var, tuple[int, ...]] = {}
        self.scalars: dict[Var, tuple[int, ...]] = {}
        self.allocated: list[Var] = []
        self.body: list[Stmt] = []
        self.names: set[str] = set()

    def run(self) -> Fused:
        """The kernel and how it is called."""
        for i, param in enumerate(self.func.params):
            self.values[param] = self.parameter(param.name, param.ty, (i,))
        for block in self.func.body.blocks:
            for binding in block.bindings:
                self.bind(binding)
        outputs = list(_flat(self.value(self.func.body.body)))
        return self.finish(outputs)

    def finish(self, outputs: list[Var]) -> Fused:
        """The kernel with these results."""
        if len(set(outputs)) < len(outputs):
            raise refuse("fused-group", f"`{self.gvar.name}` gives one tensor twice", self.func)
        used = {n for stmt in self.body for n in walk(stmt) if isinstance(n, Var)}
        inputs = [b for b in self.inputs if b in used or b in outputs]
        in_place = [inputs.index(b) if b in inputs else -1 for b in outputs]
        fresh = [b for b in outputs if b not in inputs]
        inner = [b for b in self.allocated if b not in outputs]
        attrs: dict[str, Any] = {"tirx.noalias": True}
        if any(isinstance(n, SBlock) for stmt in self.body for n in walk(stmt)):
            attrs["s_tir"] = True
            body: Stmt = SBlockRealize((), TRUE, SBlock((), (), (), "root", seq(self.body), None, inner))
        else:
            body = seq([*[AllocBuffer(b) for b in inner], *self.body])
        func = PrimFunc([*inputs, *self.scalars, *fresh], body, None, attrs)
        places = [*[self.inputs[b] for b in inputs], *self.scalars.values()]
        return Fused(GlobalVar(self.gvar.name, func.ty), func, places, in_place)

    def parameter(self, name: str, ty: Type, place: tuple[int, ...]) -> Any:
        """What a parameter stands for; tuples are taken apart, shapes into their sizes."""
        if isinstance(ty, TupleType):
            fields = enumerate(ty.fields_)
            return tuple([self.parameter(f"{name}_{i}", f, (*place, i)) for i, f in fields])
        if isinstance(ty, TensorType):
            made = self.buffer(name, ty)
            self.inputs[made] = place
            return made
        if isinstance(ty, ShapeType) and ty.values is not None:
            for i, size in enumerate(ty.values):
                if isinstance(size, Var):
                    self.scalars[size] = (*place, i)
            return ty.values
        if isinstance(ty, PrimType):
            made = Var(name, ty)
            self.scalars[made] = place
            return made
        raise refuse("fused-group", f"`{name}` of `{self.gvar.name}` is no tensor", self.func)

    def buffer(self, name: str, ty: TensorType) -> Var:
        """A buffer for a tensor of this type."""
        if ty.sizes is None or ty.dtype is None:
            text = f"the shape of `{name}` in the fused function `{self.gvar.name}` is not known"
            raise refuse("fused-group", text, self.func)
        return Var(name, BufferType(ty.dtype, ty.sizes))

    # bindings

    def bind(self, binding: Any) -> None:
        """Take in one binding of the group."""
        value = binding.value
        kernel = kernel_of(value)
        func = None if kernel is None else self.functions.get(kernel.name)
        if isinstance(func, PrimFunc):
            self.values[binding.var] = self.call(binding.var, value, func)
        elif isinstance(value, Var | Tuple | TupleGetItem) and isinstance(binding, VarBinding):
            self.values[binding.var] = self.value(value)
        else:
            text = f"the fused function `{self.gvar.name}` holds `{binding.var.name}`, which calls no kernel"
            raise refuse("fused-group", text, value, "run `relax.LegalizeOps` before")

    def value(self, e: Expr) -> Any:
        """What an argument stands for."""
        if isinstance(e, Var) and e in self.values:
            return self.values[e]
        if isinstance(e, Tuple):
            return tuple([self.value(f) for f in e.fields_])
        if isinstance(e, TupleGetItem):
            return self.value(e.tuple_value)[e.index]
        if isinstance(e, ShapeExpr):
            return tuple([self.value(v) for v in e.values])
        if isinstance(e.ty, PrimType):
            scalars = {v: s for v, s in self.values.items() if isinstance(v.ty, PrimType)}
            return Substitution(scalars).visit(e)
        text = f"the fused function `{self.gvar.name}` uses a {type(e).__name__}, which is no parameter of it"
        raise refuse("fused-group", text, e)

    def call(self, var: Var, call: Call, kernel: PrimFunc) -> Any:
        """The results of a kernel, whose statements join the body."""
        args = list(_flat(self.value(call.args[1])))
        out_ty: Any = call.ty_args[0]
        types = out_ty.fields_ if isinstance(out_ty, TupleType) else (out_ty,)
        reused = call.attrs.get("inplace_indices", (-1,) * len(types))
        mapping: dict[Var, Any] = {}
        for param, value in zip(kernel.params, args):
            _match(param, value, mapping)
        outputs = [args[place] if place >= 0 else None for place in reused]
        fresh = iter(kernel.params[len(args) :])
        for i, (ty, place) in enumerate(zip(types, reused)):
            if place < 0:
                made = self.buffer(var.name if len(types) == 1 else f"{var.name}_{i}", ty)
                _match(next(fresh), made, mapping)
                self.allocated.append(made)
                outputs[i] = made
        self.take(kernel, mapping)
        return tuple(outputs) if isinstance(out_ty, TupleType) else outputs[0]

    def take(self, kernel: PrimFunc, mapping: Mapping[Var, Any]) -> None:
        """Append the kernel's statements, with these buffers and scalars for its parameters."""
        body = renew_definitions(_Inlined(mapping, self.names)(kernel.body))
        if isinstance(body, SBlockRealize) and not body.block.iter_vars and _is_root(body.block):
            self.allocated += body.block.alloc_buffers
            body = body.block.body
        self.body.append(body)


def _match(param: Var, value: Any, mapping: dict[Var, Any]) -> None:
    """Let a buffer or scalar stand for a parameter, and its sizes for the symbols in the parameter's type."""
    mapping[param] = value
    if isinstance(param.ty, BufferType):
        for size, known in zip(param.ty.shape, value.ty.shape, strict=True):
            if isinstance(size, Var):
                mapping.setdefault(size, cast(known, size.dtype))


def _is_root(block: SBlock) -> bool:
    return block.init is None and not block.match_buffers and not block.annotations


class _Inlined(Substitution):
    """A kernel's body with other buffers, sizes and block names; constants are folded."""

    def __init__(self, mapping: Mapping[Var, Any], names: set[str]) -> None:
        super().__init__(mapping)
        self.names = names

    def visit_BinaryOp(self, e: BinaryOp) -> Expr:
        """An operator, folded where sizes have become constants."""
        made: Any = self.visit_fields(e)
        if made is e or not (isinstance(made.a, IntImm) and isinstance(made.b, IntImm)):
            return made
        return fold_constants(type(made), made.a, made.b) or made

    def visit_SBlock(self, block: SBlock) -> Any:
        """A block by a name of its own."""
        made = self.visit_fields(block)
        if len({r.buffer for r in made.reads}) < len(made.reads):
            made = made.replace(reads=block_access_regions(made.replace(reads=()))[0])
        name, number = block.name_hint, 0
        if name == "root":
            return made
        while name in self.names:
            number += 1
            name = f"{block.name_hint}_{number}"
        self.names.add(name)
        return made if name == block.name_hint else made.replace(name_hint=name)


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for field in value:
            yield from _flat(field)
    else:
        yield value


def _with_kernel_calls(block: BindingBlock, fused: Mapping[str, Fused]) -> BindingBlock:
    """The block with `R.call_tir` of the kernel in the place of each call of a fused function."""
    made: list[Binding] = []
    kind = DataflowVar if isinstance(block, DataflowBlock) else Var
    for binding in block.bindings:
        value = getattr(binding, "value", None)
        if isinstance(value, Call) and isinstance(value.op, GlobalVar) and value.op.name in fused:
            arguments = _Arguments(value.args, kind)
            call = _kernel_call(value, fused[value.op.name], arguments)
            made += [*arguments.before, binding.replace(value=call)]
        else:
            made.append(binding)
    same = len(made) == len(block.bindings) and all(map(_is, made, block.bindings))
    return block if same else block.replace(bindings=made)


def _is(a: Any, b: Any) -> bool:
    return a is b


def _kernel_call(call: Call, fused: Fused, arguments: _Arguments) -> Call:
    args = Tuple([arguments.at(tuple(place)) for place in fused.places])
    if all(i < 0 for i in fused.in_place):
        return get_op("relax.call_tir")(fused.gvar, args, call.ty, span=call.span)
    return get_op("relax.call_tir_inplace")(
        fused.gvar, args, inplace_indices=fused.in_place, out_ty=call.ty, span=call.span
    )


class _Arguments:
    """The arguments of a call, taken apart: fields of tuple variables are named in bindings `before` it."""

    def __init__(self, args: Sequence[Expr], kind: type[Var]) -> None:
        self.known: dict[tuple[int, ...], Expr] = {(i,): a for i, a in enumerate(args)}
        self.kind = kind
        self.before: list[Binding] = []

    def at(self, place: tuple[int, ...]) -> Expr:
        """The part that a path leads to."""
        if place not in self.known:
            self.known[place] = self.field(self.at(place[:-1]), place[-1])
        return self.known[place]

    def field(self, value: Any, index: int) -> Expr:
        """A field of a tuple, or a size of a shape."""
        if isinstance(value, Tuple):
            return value.fields_[index]
        if isinstance(value.ty, ShapeType):
            sizes: Any = value.values if isinstance(value, ShapeExpr) else value.ty.values
            return sizes[index]
        taken = TupleGetItem(value, index)
        var = self.kind("lv", taken.ty)
        self.before.append(VarBinding(var, taken))
        return var


__all__ = ["fuse_tir"]
