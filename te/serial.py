"""Tensors and operations as attribute values, which have a JSON form, and back.

An operation is a mapping of its parts; operations stand in a list, those needed first.  In its
expressions a buffer stands for each tensor, listed beside the operations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..dtype import DType
from ..ir import BufferLoad, BufferType, Expr, IterVar, Rewriter, Var, from_json, to_json
from ..node import Attrs, Node, runs_deep
from .axes import Axis
from .create import operations_of
from .faults import type_fault
from .operation import ComputeOp, ExternOp, Operation, PlaceholderOp, ScanOp
from .tensor import ProducerLoad, Tensor

_MARK: Final = "te.operations"
_TENSOR: Final = "te.tensor"


def save_json(value: Tensor | Operation) -> str:
    """The JSON text of a tensor or an operation, with all that it needs."""
    return to_json(encode(value))


def load_json(text: str) -> Any:
    """The tensor or operation that `save_json` wrote. Raises IRError or TensorTypeError for other texts."""
    return decode(from_json(text))


@runs_deep
def encode(value: Tensor | Operation) -> Attrs:
    """A tensor or operation as a mapping of plain values and nodes."""
    if not isinstance(value, Tensor | Operation):
        raise type_fault(f"a {type(value).__name__} is neither a tensor nor an operation")
    root = value.op if isinstance(value, Tensor) else value
    operations = _all_operations(root)
    places = {id(op): i for i, op in enumerate(operations)}
    buffers = {t: Var(t.name, BufferType(t.dtype, t.shape)) for op in operations for t in op.outputs()}
    writer = _Writer(places, buffers)
    rows = tuple([Attrs(writer.operation(op)) for op in operations])
    index = value.value_index if isinstance(value, Tensor) else None
    listed = tuple([tuple([buffers[t] for t in op.outputs()]) for op in operations])
    return Attrs({_MARK: rows, "buffers": listed, "root": places[id(root)], "output": index})


def is_encoded(value: Any) -> bool:
    """Whether this is what `encode` gives."""
    return isinstance(value, Mapping) and _MARK in value


@runs_deep
def decode(value: Any) -> Any:
    """The tensor or operation that `encode` wrote. Raises TensorTypeError for other values."""
    if not is_encoded(value):
        raise type_fault("this is no tensor expression")
    reader = _Reader()
    for row, buffers in zip(value[_MARK], value["buffers"], strict=True):
        op = reader.operation(row)
        reader.operations.append(op)
        reader.tensors.update({id(b): op.output(i) for i, b in enumerate(buffers)})
    op = reader.operations[value["root"]]
    return op if value["output"] is None else op.output(value["output"])


def _all_operations(root: Operation) -> list[Operation]:
    """The operations below one, those needed first; states and attributes of scans too."""
    found: dict[int, Operation] = {}
    waiting = [root]
    while waiting:
        top = waiting.pop()
        for op in operations_of([top.output(0)]):
            if id(op) not in found:
                found[id(op)] = op
                waiting += [t.op for t in _mentioned(op)]
    ordered = operations_of([op.output(0) for op in found.values() if op is not root])
    return [*[op for op in ordered if op is not root], root]


def _mentioned(op: Operation) -> list[Tensor]:
    mentioned = _tensors_in(op.attrs)
    if isinstance(op, ScanOp):
        mentioned += [*op.state_placeholder, *op.inputs]
    return mentioned


def _tensors_in(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = tuple(value.values())
    return [t for v in value for t in _tensors_in(v)] if isinstance(value, tuple) else []


class _Writer(Rewriter):
    def __init__(self, places: Mapping[int, int], buffers: Mapping[Tensor, Var]) -> None:
        super().__init__()
        self.places = places
        self.buffers = buffers

    def visit_ProducerLoad(self, e: ProducerLoad) -> Expr:
        """The element of the buffer that stands for the tensor."""
        return BufferLoad(self.buffers[e.producer], self.visit_tuple(e.indices), e.span)

    def visit_IterVar(self, axis: IterVar) -> IterVar:
        """The axis as a plain node."""
        dom = None if axis.dom is None else self.visit(axis.dom)
        return IterVar(dom, axis.var, axis.iter_type, axis.thread_tag, axis.span)

    def tensor(self, t: Tensor) -> tuple[int, int]:
        """A reference to a tensor."""
        return self.places[id(t.op)], t.value_index

    def attribute(self, value: Any) -> Any:
        """An attribute with references for tensors."""
        if isinstance(value, Tensor):
            return Attrs({_TENSOR: self.tensor(value)})
        if isinstance(value, Mapping):
            return Attrs({k: self.attribute(v) for k, v in value.items()})
        if isinstance(value, tuple):
            return tuple([self.attribute(v) for v in value])
        return self.visit(value) if isinstance(value, Node) else value

    def operation(self, op: Operation) -> dict[str, Any]:
        """The parts of an operation."""
        row: dict[str, Any] = {"kind": op.kind, "name": op.name, "tag": op.tag}
        row["attrs"] = self.attribute(op.attrs)
        if isinstance(op, PlaceholderOp):
            row.update(shape=op.shape, dtype=op.dtype)
        elif isinstance(op, ComputeOp):
            row.update(axis=self.visit_tuple(op.axis), body=self.visit_tuple(op.body))
        elif isinstance(op, ExternOp):
            row.update(ins=op.input_placeholders, outs=op.output_placeholders, body=op.body)
            row["inputs"] = tuple([self.tensor(t) for t in op.inputs])
        elif isinstance(op, ScanOp):
            row["axis"] = self.visit(op.scan_axis)
            for key in ("init", "update", "state_placeholder", "inputs"):
                row[key] = tuple([self.tensor(t) for t in getattr(op, key)])
        return row


class _Reader(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self.operations: list[Operation] = []
        self.tensors: dict[int, Tensor] = {}

    def visit_BufferLoad(self, e: BufferLoad) -> Expr:
        """The element of the tensor that the buffer stands for."""
        tensor = self.tensors.get(id(e.buffer))
        places = self.visit_tuple(e.indices)
        return BufferLoad(e.buffer, places, e.span) if tensor is None else ProducerLoad(tensor, places)

    def visit_IterVar(self, axis: IterVar) -> IterVar:
        """The axis with its operators."""
        dom = None if axis.dom is None else self.visit(axis.dom)
        return Axis(dom, axis.var, axis.iter_type, axis.thread_tag, axis.span)

    def referred(self, refs: Sequence[tuple[int, int]]) -> list[Tensor]:
        """The tensors of references."""
        return [self.operations[op].output(index) for op, index in refs]

    def attribute(self, value: Any) -> Any:
        """An attribute with its tensors."""
        if isinstance(value, Mapping):
            if set(value) == {_TENSOR}:
                return self.referred([value[_TENSOR]])[0]
            return Attrs({k: self.attribute(v) for k, v in value.items()})
        if isinstance(value, tuple):
            return tuple([self.attribute(v) for v in value])
        return self.visit(value) if isinstance(value, Node) else value

    def operation(self, row: Mapping[str, Any]) -> Operation:
        """The operation that has these parts. Raises TensorTypeError for an unknown kind."""
        kind, name, tag = row["kind"], row["name"], row["tag"]
        attrs = self.attribute(row["attrs"])
        if kind == "PlaceholderOp":
            return PlaceholderOp(name, row["shape"], DType(row["dtype"]))
        if kind == "ComputeOp":
            return ComputeOp(name, tag, attrs, self.visit_tuple(row["axis"]), self.visit_tuple(row["body"]))
        if kind == "ExternOp":
            inputs = self.referred(row["inputs"])
            return ExternOp(name, tag, attrs, inputs, row["ins"], row["outs"], row["body"])
        if kind == "ScanOp":
            parts = [self.referred(row[k]) for k in ("init", "update", "state_placeholder", "inputs")]
            return ScanOp(name, tag, attrs, self.visit(row["axis"]), *parts)
        raise type_fault(f"there is no kind of operation `{kind}`")
