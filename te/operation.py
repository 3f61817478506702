"""Operations, which tensors are the outputs of, and the checks of a computed value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from ..dtype import DType
from ..errors import LoopwrightError
from ..ir import Expr, IterVar, PrimType, Range, Reduce, Stmt, Var, as_index, structural_equal, walk
from ..ir.promote import is_operand
from ..node import NO_ATTRS, Attrs, Node
from .faults import Place, call_place, fault, plural, type_fault
from .tag import effective_tag
from .tensor import ProducerLoad, Tensor


class Operation:
    """Base of operations. `place` is where the user's call stands, for errors."""

    __slots__ = ("__weakref__", "attrs", "name", "place", "tag")
    kind: ClassVar[str] = "Operation"
    attrs: Attrs
    name: str
    place: Place | None
    tag: str

    def __init__(self, name: str, tag: str, attrs: Mapping[str, Any] | None) -> None:
        if not isinstance(name, str) or not isinstance(tag, str):
            raise type_fault("the name and the tag of an operation are texts")
        self.name = name
        self.tag = effective_tag(tag) if self.kind != "PlaceholderOp" else tag
        self.attrs = Attrs(dict(attrs)) if attrs else NO_ATTRS
        self.place = call_place()

    @property
    def num_outputs(self) -> int:
        """How many tensors it gives."""
        return 1

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """The tensors that it reads, each once, in the order of their first use."""
        return ()

    def output_shape(self, index: int) -> tuple[Expr, ...]:
        """The shape of an output."""
        raise NotImplementedError

    def output_dtype(self, index: int) -> DType:
        """The dtype of an output."""
        raise NotImplementedError

    def output(self, index: int) -> Tensor:
        """The output of this number. Raises TensorExpressionError when there is none."""
        if not 0 <= index < self.num_outputs:
            raise fault(f"`{self.name}` has {plural(self.num_outputs, 'output')}, none with number {index}")
        return Tensor(self.output_shape(index), self.output_dtype(index), self, index)

    def outputs(self) -> tuple[Tensor, ...]:
        """All its outputs."""
        return tuple([self.output(i) for i in range(self.num_outputs)])

    def __repr__(self) -> str:
        return f"{self.kind}(name={self.name!r}, outputs={self.num_outputs})"


class PlaceholderOp(Operation):
    """A tensor that is given when the program runs."""

    __slots__ = ("dtype", "shape")
    kind = "PlaceholderOp"

    def __init__(self, name: str, shape: Sequence[Expr], dtype: DType) -> None:
        super().__init__(name, "", None)
        self.shape = tuple(shape)
        self.dtype = dtype

    def output_shape(self, index: int) -> tuple[Expr, ...]:
        return self.shape

    def output_dtype(self, index: int) -> DType:
        return self.dtype


class ComputeOp(Operation):
    """Values computed by expressions of the indices, one expression for each output."""

    __slots__ = ("_inputs", "axis", "body", "reduce_axis")
    kind = "ComputeOp"

    def __init__(
        self,
        name: str,
        tag: str,
        attrs: Mapping[str, Any] | None,
        axis: Sequence[IterVar],
        body: Sequence[Expr],
    ) -> None:
        super().__init__(name, tag, attrs)
        self.axis = tuple(axis)
        self.body = tuple(body)
        check_body(name, self.body)
        first = self.body[0]
        self.reduce_axis: tuple[IterVar, ...] = first.axis if isinstance(first, Reduce) else ()
        self._inputs = producers(self.body)

    @property
    def num_outputs(self) -> int:
        return len(self.body)

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        return self._inputs

    def output_shape(self, index: int) -> tuple[Expr, ...]:
        return tuple([_range(a).extent for a in self.axis])

    def output_dtype(self, index: int) -> DType:
        return self.body[index].dtype


def _range(axis: IterVar) -> Range:
    assert axis.dom is not None
    return axis.dom


class ExternOp(Operation):
    """Values stored by statements into buffers that stand for the outputs."""

    __slots__ = ("body", "input_placeholders", "inputs", "output_placeholders")
    kind = "ExternOp"

    def __init__(
        self,
        name: str,
        tag: str,
        attrs: Mapping[str, Any] | None,
        inputs: Sequence[Tensor],
        input_placeholders: Sequence[Var],
        output_placeholders: Sequence[Var],
        body: Stmt,
    ) -> None:
        super().__init__(name, tag, attrs)
        self.inputs = tuple(inputs)
        self.input_placeholders = tuple(input_placeholders)
        self.output_placeholders = tuple(output_placeholders)
        self.body = body

    @property
    def num_outputs(self) -> int:
        return len(self.output_placeholders)

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        return tuple(dict.fromkeys(self.inputs))

    def output_shape(self, index: int) -> tuple[Expr, ...]:
        return self.output_placeholders[index].shape

    def output_dtype(self, index: int) -> DType:
        return self.output_placeholders[index].dtype


class ScanOp(Operation):
    """Values along the first dimension, each computed of those before it."""

    __slots__ = ("init", "inputs", "scan_axis", "spatial_axis_", "state_placeholder", "update")
    kind = "ScanOp"

    def __init__(
        self,
        name: str,
        tag: str,
        attrs: Mapping[str, Any] | None,
        scan_axis: IterVar,
        init: Sequence[Tensor],
        update: Sequence[Tensor],
        state_placeholder: Sequence[Tensor],
        inputs: Sequence[Tensor],
    ) -> None:
        super().__init__(name, tag, attrs)
        self.scan_axis = scan_axis
        self.init = tuple(init)
        self.update = tuple(update)
        self.state_placeholder = tuple(state_placeholder)
        self.inputs = tuple(inputs)
        self.spatial_axis_: tuple[IterVar, ...] = tuple(
            [
                IterVar(Range(0, dim), Var(f"out{o}.i{i}", dim.ty), IterVar.OPAQUE)
                for o, tensor in enumerate(self.update)
                for i, dim in enumerate(tensor.shape[1:], 1)
            ]
        )

    @property
    def num_outputs(self) -> int:
        return len(self.update)

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        return tuple(dict.fromkeys((*self.init, *self.update)))

    def output_shape(self, index: int) -> tuple[Expr, ...]:
        return self.state_placeholder[index].shape

    def output_dtype(self, index: int) -> DType:
        return self.state_placeholder[index].dtype


def producers(exprs: Iterable[Node]) -> tuple[Tensor, ...]:
    """The tensors whose elements the expressions read, each once, in the order of their first use."""
    found: dict[Tensor, None] = {}
    for e in exprs:
        for node in walk(e, outer_first=True):
            if isinstance(node, ProducerLoad):
                found[node.producer] = None
    return tuple(found)


def check_body(name: str, body: Sequence[Expr]) -> None:
    """Raise TensorExpressionError unless reductions stand at the top only, and all outputs share one."""
    reductions = [e for e in body if isinstance(e, Reduce)]
    for e in body:
        inner = [e] if not isinstance(e, Reduce) else [*e.source, e.condition, *e.init, e.combiner]
        for part in inner:
            if any(isinstance(n, Reduce) for n in walk(part)):
                raise fault(
                    f"`{name}` uses a reduction within an expression; it must be all of the value",
                    notes=("a reduction is computed step by step, so it needs a tensor of its own",),
                    help=("reduce in one te.compute, and compute with that tensor in a second one",),
                )
    if not reductions:
        return
    if len(reductions) != len(body):
        raise fault(f"one output of `{name}` is a reduction and another is not", help=_TWO)
    first = reductions[0]
    for e in reductions[1:]:
        if not _same_reduction(first, e):
            raise fault(f"the outputs of `{name}` are different reductions", help=_TWO)
    if [e.value_index for e in reductions] != list(range(len(first.source))):
        raise fault(
            f"`{name}` reduces {plural(len(first.source), 'value')} together but gives "
            f"{plural(len(body), 'output')}",
            help=("return all results of the reduction, in their order",),
        )


_TWO = ("compute them in two te.compute calls",)


def _same_reduction(a: Reduce, b: Reduce) -> bool:
    """Whether these are results of one reduction over the same axes."""
    if len(a.axis) != len(b.axis) or any(x.var is not y.var for x, y in zip(a.axis, b.axis)):
        return False
    parts = [(a.combiner, b.combiner), (a.source, b.source), (a.condition, b.condition), (a.init, b.init)]
    return all(x is y or structural_equal(x, y) for x, y in parts)


def as_shape(shape: Any, name: str) -> tuple[Expr, ...]:
    """The extents that `shape` lists; a single one counts as a list of one.

    Raises TensorTypeError for what is no integer, TensorExpressionError for a negative extent.
    """
    dims = tuple(shape) if isinstance(shape, list | tuple) else (shape,)
    made = []
    for dim in dims:
        try:
            e = as_index(dim) if is_operand(dim) else None
        except LoopwrightError:
            e = None
        if e is None or e.dtype.is_bool or not e.dtype.is_scalar:
            raise type_fault(f"an extent of `{name}` is an integer, not {dim!r}")
        if getattr(e, "value", 0) < 0:
            raise fault(f"an extent of `{name}` is negative: {dim!r}")
        made.append(e)
    return tuple(made)


def as_dtype(dtype: Any) -> DType:
    """The dtype that is meant; None is float32."""
    if dtype is None:
        return DType("float32")
    return dtype.dtype if isinstance(dtype, PrimType) else DType(dtype)
