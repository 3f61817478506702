"""`create_prim_func`: a loop program that computes tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..ir import (
    VOID,
    BufferType,
    Evaluate,
    Expr,
    IntImm,
    PrimFunc,
    PrimType,
    Reduce,
    SBlock,
    SBlockRealize,
    Stmt,
    Var,
    free_vars,
    renew_definitions,
    seq,
)
from ..ir import operators as op_
from ..node import Attrs, runs_deep
from .blocks import TRUE, ComputeLowering, Translation
from .faults import UnsupportedOperation, diagnostic, fault, type_fault
from .operation import ComputeOp, ExternOp, Operation, PlaceholderOp, ScanOp
from .tensor import Tensor

_LAYOUT_FREE = "layout_free_placeholders"


@runs_deep
def create_prim_func(ops: Sequence[Tensor | Var], index_dtype_override: Any = None) -> PrimFunc:
    """The function whose parameters are these tensors and scalars, in their order.

    It computes every tensor among them that is no placeholder, and what those need; each operation
    becomes a block (several where its axes depend on each other), tensors that are no parameters
    become buffers of the function.  With `index_dtype_override` all indices and sizes have that dtype.
    Symbols and axes are new variables, so that two functions share none.

    Raises TensorExpressionError when a placeholder is no parameter, when one stands twice, and when a
    variable is neither an axis nor known by the parameters; UnsupportedOperation for a scan.
    """
    args: list[Any] = list(ops) if isinstance(ops, list | tuple) else [ops]
    for arg in args:
        if not isinstance(arg, Tensor) and not (isinstance(arg, Var) and isinstance(arg.ty, PrimType)):
            raise type_fault(f"the parameters are tensors and scalar variables, not a {type(arg).__name__}")
    seen: set[Any] = set()
    for arg in args:
        if arg in seen:
            raise fault(f"`{arg.name}` stands twice among the parameters")
        seen.add(arg)
    func = _Program(args).function()
    if index_dtype_override is None:
        return func
    from .index_dtype import with_index_dtype

    return with_index_dtype(func, index_dtype_override)


def operations_of(tensors: Iterable[Tensor]) -> list[Operation]:
    """The operations that these tensors need, each once, those it needs before itself."""
    order: list[Operation] = []
    known: set[int] = set()
    stack: list[tuple[Operation, bool]] = [(t.op, False) for t in reversed(list(tensors))]
    while stack:
        op, done = stack.pop()
        if done:
            order.append(op)
        elif id(op) not in known:
            known.add(id(op))
            stack.append((op, True))
            stack += [(t.op, False) for t in reversed(op.input_tensors)]
    return order


class _Program:
    """A function in the making."""

    def __init__(self, args: Sequence[Any]) -> None:
        self.args = args
        self.tensors = [a for a in args if isinstance(a, Tensor)]
        self.operations = operations_of(self.tensors)
        self.buffers: dict[Tensor, Var] = {}
        self.allocated: list[Var] = []
        self.names: dict[str, int] = {}
        self.symbols = {v: Var(v.name, v.ty) for v in self._symbols()}
        self.layout_free: set[int] = set()

    def _symbols(self) -> list[Var]:
        """The scalar parameters, and the variables in the shapes of parameters."""
        found: dict[Var, None] = {a: None for a in self.args if isinstance(a, Var)}
        for tensor in self.tensors:
            for dim in tensor.shape:
                found.update(dict.fromkeys(free_vars(dim)))
        return list(found)

    def unique(self, name: str) -> str:
        """A block name not used yet."""
        if name not in self.names:
            self.names[name] = 0
            return name
        while True:
            self.names[name] += 1
            made = f"{name}_{self.names[name]}"
            if made not in self.names:
                self.names[made] = 0
                return made

    def function(self) -> PrimFunc:
        """The whole function."""
        for op in self.operations:
            if isinstance(op, ScanOp):
                raise _unsupported(op)
        self.declare_parameters()
        body = [self.lower(op) for op in self.operations if not isinstance(op, PlaceholderOp)]
        inner = self.root(seq(body)) if body else Evaluate(IntImm(PrimType("int32"), 0))
        params = [self.buffers[a] if isinstance(a, Tensor) else self.symbols[a] for a in self.args]
        attrs: dict[str, Any] = {"global_symbol": "main", "tirx.noalias": True, "s_tir": True}
        if self.layout_free:
            attrs["layout_free_buffers"] = tuple(sorted(self.layout_free))
        return PrimFunc(params, inner, VOID, attrs)

    def root(self, body: Stmt) -> Stmt:
        """The body in the block that allocates; a single block without axes serves as that itself."""
        if isinstance(body, SBlockRealize) and not body.block.iter_vars and not self.allocated:
            return body
        return SBlockRealize((), TRUE, SBlock((), (), (), "root", body, None, self.allocated))

    # buffers

    def declare_parameters(self) -> None:
        """A buffer for each tensor among the parameters, laid out as an extern operation wants it."""
        wanted: dict[Tensor, Var] = {}
        for op in self.operations:
            for tensor, buffer in _placeholders(op):
                wanted.setdefault(tensor, buffer)
        for tensor in self.tensors:
            if tensor in wanted:
                self.buffers[tensor] = self._like(tensor, wanted[tensor])
            else:
                self.buffers[tensor] = Var(tensor.name, BufferType(tensor.dtype, self.shape(tensor)))
        for op in self.operations:
            if isinstance(op, PlaceholderOp) and op.output(0) not in self.buffers:
                raise self._missing(op)

    def _like(self, tensor: Tensor, placeholder: Var) -> Var:
        """A parameter as an extern operation declared it; symbols that only it mentions are new."""
        ty = placeholder.ty
        assert isinstance(ty, BufferType)
        new = {v: Var(v.name, v.ty) for v in _layout_symbols(placeholder) if v not in self.symbols}
        mapping = {**self.symbols, **new}
        offset = None if ty.elem_offset is None else Translation(mapping, {})(ty.elem_offset)
        strides = tuple([Translation(mapping, {})(s) for s in ty.strides])
        made = ty.replace(shape=self.shape(tensor), strides=strides, elem_offset=offset)
        return Var(tensor.name, made)

    def _missing(self, op: PlaceholderOp) -> Exception:
        users = [o for o in self.operations if op.output(0) in o.input_tensors]
        user = f" It is read by `{users[0].name}`." if users else ""
        return fault(
            f"the placeholder `{op.name}` is no parameter of the function.{user}",
            help=("give it to create_prim_func together with the outputs",),
        )

    def shape(self, tensor: Tensor) -> tuple[Expr, ...]:
        """The extents of a tensor in the symbols of the function."""
        for dim in tensor.shape:
            self.check_known(tensor.op, dim, ())
        return tuple([Translation(self.symbols, {})(dim) for dim in tensor.shape])

    def check_known(self, op: Operation, e: Any, own: Iterable[Var]) -> None:
        """Raise TensorExpressionError for a variable in `e` that nothing defines."""
        known = set(own)
        for v in free_vars(e):
            if v in known or v in self.symbols:
                continue
            what = "buffer" if isinstance(v.ty, BufferType) else "variable"
            raise fault(
                f"`{op.name}` uses the {what} `{v.name}`, which nothing defines",
                place=op.place,
                notes=(
                    f"it is no axis of `{op.name}`, no parameter, and in the shape of none",
                    "an axis of reduction is known only inside its reduction, as in te.sum(..., axis=k)",
                )
                if what == "variable"
                else ("what an operation reads are tensors",),
            )

    def allocate(self, tensor: Tensor, ty: BufferType) -> None:
        """A buffer of the function for a tensor that is no parameter."""
        if tensor not in self.buffers:
            self.buffers[tensor] = Var(tensor.name, ty)
            self.allocated.append(self.buffers[tensor])

    # operations

    def lower(self, op: Operation) -> Stmt:
        """The statement that computes the outputs of an operation."""
        if isinstance(op, ComputeOp):
            return self.lower_compute(op)
        if isinstance(op, ExternOp):
            return self.lower_extern(op)
        raise _unsupported(op)

    def lower_compute(self, op: ComputeOp) -> Stmt:
        """Loops and blocks."""
        axes = [a.var for a in (*op.axis, *op.reduce_axis)]
        for axis in (*op.axis, *op.reduce_axis):
            self.check_known(op, axis.dom, axes)
        for e in op.body:
            parts = [*e.source, e.condition, *e.init, e.combiner] if isinstance(e, Reduce) else [e]
            for part in parts:
                self.check_known(op, part, axes)
        for tensor in op.outputs():
            self.allocate(tensor, BufferType(tensor.dtype, self.shape(tensor)))
        annotations = self.annotations(op)
        return ComputeLowering(op, self.symbols, self.buffers, annotations, self.unique).lower()

    def lower_extern(self, op: ExternOp) -> Stmt:
        """A block of the operation's statements."""
        for tensor in op.outputs():
            ty = op.output_placeholders[tensor.value_index].ty
            assert isinstance(ty, BufferType)
            shape = self.shape(tensor)
            made = BufferType(tensor.dtype, shape, (), None, ty.storage_scope, ty.data_alignment)
            self.allocate(tensor, made)
        mapping: dict[Var, Any] = dict(self.symbols)
        for tensor, placeholder in _placeholders(op):
            buffer = self.buffers[tensor]
            mapping[placeholder] = buffer
            mapping.update(_layout(placeholder, buffer))
        self.check_known(op, op.body, mapping)
        body = Translation(mapping, self.buffers)(renew_definitions(op.body))
        block = SBlock((), (), (), self.unique(op.name), body, annotations=self.annotations(op))
        return SBlockRealize((), TRUE, block)

    def annotations(self, op: Operation) -> Attrs:
        """The attributes of an operation, with buffers for tensors; notes parameters of free layout."""
        table = dict(op.attrs)
        free = table.pop(_LAYOUT_FREE, ())
        inner = []
        for tensor in free if isinstance(free, list | tuple) else (free,):
            if not isinstance(tensor, Tensor):
                raise fault(f"`{_LAYOUT_FREE}` of `{op.name}` lists tensors", place=op.place)
            if tensor in self.tensors:
                self.layout_free.add(self.args.index(tensor))
            else:
                inner.append(tensor)
        if inner:
            table[_LAYOUT_FREE] = tuple(inner)
        return Attrs({key: self._attribute(value, op) for key, value in table.items()})

    def _attribute(self, value: Any, op: Operation) -> Any:
        if isinstance(value, Tensor):
            if value not in self.buffers:
                raise fault(f"an attribute of `{op.name}` names a tensor that is not there", place=op.place)
            return self.buffers[value]
        if isinstance(value, tuple):
            return tuple([self._attribute(v, op) for v in value])
        if isinstance(value, Mapping):
            return Attrs({k: self._attribute(v, op) for k, v in value.items()})
        if isinstance(value, Expr):
            self.check_known(op, value, ())
            return Translation(self.symbols, self.buffers)(value)
        return value


def _unsupported(op: Operation) -> UnsupportedOperation:
    return UnsupportedOperation(
        diagnostic(
            f"Unsupported Operation: te.{op.kind}. `{op.name}` has no loop program",
            place=op.place,
            code=UnsupportedOperation.default_code,
            help=("write the loops in a T.prim_func and use it by te.extern_primfunc",),
        )
    )


def _placeholders(op: Operation) -> list[tuple[Tensor, Var]]:
    """Tensors with the buffers that an extern operation names them by."""
    if not isinstance(op, ExternOp):
        return []
    pairs = list(zip(op.inputs, op.input_placeholders))
    return pairs + list(zip(op.outputs(), op.output_placeholders))


def _layout_symbols(buffer: Var) -> list[Var]:
    """The variables that stand by themselves as a stride or the offset of a buffer."""
    ty = buffer.ty
    assert isinstance(ty, BufferType)
    return [v for v in (*ty.strides, ty.elem_offset) if isinstance(v, Var)]


def _layout(placeholder: Var, buffer: Var) -> dict[Var, Any]:
    """What the strides and the offset of a placeholder are in the buffer that it stands for."""
    ty = placeholder.ty
    assert isinstance(ty, BufferType) and isinstance(buffer.ty, BufferType)
    found: dict[Var, Any] = {}
    if isinstance(ty.elem_offset, Var):
        own = buffer.ty.elem_offset
        found[ty.elem_offset] = IntImm(ty.elem_offset.ty, 0) if own is None else own
    strides = buffer.strides or _compact(buffer.shape)
    for want, have in zip(ty.strides, strides):
        if isinstance(want, Var):
            found[want] = have
    return found


def _compact(shape: Sequence[Expr]) -> tuple[Expr, ...]:
    strides: list[Any] = []
    step: Any = IntImm(shape[-1].ty, 1) if shape else 1
    for dim in reversed(shape):
        strides.append(step)
        step = op_.mul(step, dim)
    return tuple(reversed(strides))
