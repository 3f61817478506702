"""A sequence of bindings under construction."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...ir import Expr, ExternFunc, GlobalVar, PrimFunc, PrimType, Type, Var, VDevice
from ...ir.relax import (
    Binding,
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    Function,
    SeqExpr,
    TensorType,
    VarBinding,
)
from .draw import Source
from .scalars import draw_name


@dataclass
class Surroundings:
    """What a graph function may refer to in its module."""

    kernels: list[tuple[GlobalVar, PrimFunc]] = field(default_factory=list)
    graphs: list[tuple[GlobalVar, Function]] = field(default_factory=list)
    externs: list[tuple[GlobalVar, ExternFunc]] = field(default_factory=list)
    devices: list[VDevice] = field(default_factory=list)


@dataclass
class Maker:
    """Names the values of one sequence.

    `values` are the visible variables, `symbols` the visible sizes; `pure` says that the function has no
    effects, `executable` keeps to what runs on arrays.
    """

    source: Source
    around: Surroundings
    values: list[Var]
    symbols: list[Var]
    pure: bool = True
    executable: bool = False
    depth: int = 0
    blocks: list[BindingBlock] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    dataflow: bool = False

    @property
    def quiet(self) -> bool:
        """Whether nothing here may have an effect."""
        return self.pure or self.dataflow

    def tensors(self) -> list[Var]:
        """The visible tensors."""
        return [v for v in self.values if isinstance(v.ty, TensorType)]

    def scalars(self) -> list[Var]:
        """The visible scalars and sizes."""
        return [*self.symbols, *[v for v in self.values if isinstance(v.ty, PrimType)]]

    def new_var(self, ty: Type) -> Var:
        """A new variable; in a dataflow block mostly one of the block only."""
        kind = DataflowVar if self.dataflow and not self.source.chance(3) else Var
        return kind(draw_name(self.source), ty)

    def emit(self, binding: Binding) -> Var:
        """Append a binding; its variable is visible from here on."""
        self.bindings.append(binding)
        self.values.append(binding.var)
        return binding.var

    def bind(self, value: Expr, ty: Type | None = None) -> Var:
        """A new variable for a value."""
        return self.emit(VarBinding(self.new_var(value.ty if ty is None else ty), value))

    def begin(self, dataflow: bool) -> None:
        """Begin a block."""
        self.dataflow = dataflow

    def end(self) -> None:
        """End the block; what only it sees is forgotten."""
        self.blocks.append((DataflowBlock if self.dataflow else BindingBlock)(self.bindings))
        self.bindings, self.dataflow = [], False
        self.values = [v for v in self.values if not isinstance(v, DataflowVar)]

    def seq(self, value: Expr) -> SeqExpr:
        """The whole, with this value."""
        return SeqExpr(self.blocks, value)

    def inside(self) -> Maker:
        """A sequence inside of this one: of a branch or function."""
        return Maker(
            self.source,
            self.around,
            list(self.values),
            list(self.symbols),
            self.pure,
            self.executable,
            self.depth + 1,
        )


__all__ = ["Maker", "Surroundings"]
