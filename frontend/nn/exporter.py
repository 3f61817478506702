"""Models as modules of graph functions."""

from __future__ import annotations

from typing import Any

from ...errors import Diagnostic, DTypeError, noun
from ...ir import Expr, IRModule, PrimType, Tuple, TupleGetItem, TupleType, Var
from ...ir.relax import BlockBuilder, ShapeType, TensorType
from ...ir.relax.op import as_argument
from ...ir.types import AnyType
from . import spec as spec_
from .core import Effect, Module, Parameter
from .state import IOEffect
from .tensor import Object, Tensor, expr_of, sizes_of

Named = list[tuple[str, Parameter]]


def export(module: Module, spec: Any, debug: bool = False) -> tuple[IRModule, Named]:
    """The graph functions of the methods of a specification, and the parameters with their names.

    Each function takes the arguments, then the states, then the parameters; its attribute `num_input` says
    how many come before the parameters.  With states it gives its result and the new states, and a function
    `_initialize_effect` makes the first ones.  With `debug` there is a state `_io`, which orders what
    `nn.op.print_` and `nn.op.debug_func` show.
    """
    methods = spec_.ModuleSpec.from_raw(spec, module)
    exporter = _Exporter(module, debug)
    if exporter.effects:
        exporter.emit_init()
    for name, method in zip(methods.method_names, methods.method_specs):
        exporter.emit_method(name, method)
    return exporter.builder.get(), exporter.params


class _Exporter:
    def __init__(self, module: Module, debug: bool) -> None:
        self.builder = BlockBuilder()
        self.params: Named = list(module.named_parameters())
        self.io = IOEffect() if debug else None
        self.effects: list[tuple[str, Effect]] = [] if self.io is None else [("_io", self.io)]
        self.effects += module.named_effects()

    def emit_init(self) -> None:
        """The function that makes the states of the first call."""
        with self.builder.function("_initialize_effect", []):
            with self.builder.dataflow():
                states: list[Var] = []
                for name, effect in self.effects:
                    states += effect.emit_init(_identifier(name), self.builder)
                output = self.builder.emit_output(self.builder.emit(Tuple(states)))
            self.builder.emit_func_output(output)

    def emit_method(self, name: str, method: spec_.MethodSpec) -> None:
        """The function of a method."""
        inputs = _Inputs({})
        given = [inputs.take(arg, arg_spec) for arg, arg_spec in zip(method.arg_names, method.arg_specs)]
        states = _grouped([self._states(method)], method.effect_mode, "packed_effects")
        weights = _Weights(self.params, inputs.symbols, method.param_mode)
        params = [*inputs.vars, *states.vars, *weights.group.vars]
        attrs = {"num_input": len(inputs.vars) + len(states.vars)}
        with self.builder.function(name, params, attrs):
            with self.builder.dataflow(), weights:
                self._unpack(states, weights)
                arguments = [inputs.value(g, self.builder) for g in given]
                keywords = dict(zip(method.arg_names, arguments))
                result = _result(self._call(method, keywords), name)
                if self.effects and method.effect_mode != "none":
                    kept = [v for _, effect in self.effects for v in effect.finalize()]
                    result = Tuple([result, Tuple(kept)])
                output = self.builder.emit_output(result)
            self.builder.emit_func_output(output)

    def _call(self, method: spec_.MethodSpec, arguments: dict[str, Any]) -> Any:
        """What a method gives, while showing is possible."""
        if self.io is None or method.effect_mode == "none":
            return method.method(**arguments)
        IOEffect.active.append(self.io)
        try:
            return method.method(**arguments)
        finally:
            IOEffect.active.pop()

    def _states(self, method: spec_.MethodSpec) -> list[Var]:
        if method.effect_mode == "none":
            return []
        return [v for name, effect in self.effects for v in effect.create(_identifier(name))]

    def _unpack(self, states: _Group, weights: _Weights) -> None:
        """Emit the fields of what is passed as one tuple."""
        fields = states.unpack(self.builder)
        if states.packed is not None:
            for _, effect in self.effects:
                count = len(effect.create(""))
                effect.set_state(fields[:count])
                fields = fields[count:]
        weights.bind(weights.group.unpack(self.builder))


class _Group:
    """Variables that are passed each by itself, or as one tuple."""

    def __init__(self, inner: list[Var], packed: Var | None) -> None:
        self.inner = inner
        self.packed = packed

    @property
    def vars(self) -> list[Var]:
        """The parameters of the function."""
        return [self.packed] if self.packed is not None else self.inner

    def unpack(self, builder: BlockBuilder) -> list[Var]:
        """The variables inside; fields of the tuple are bound first."""
        if self.packed is None:
            return self.inner
        return [builder.emit(TupleGetItem(self.packed, i), v.name) for i, v in enumerate(self.inner)]


def _grouped(parts: list[list[Var]], mode: str, name: str) -> _Group:
    inner = [v for part in parts for v in part]
    packed = Var(name, TupleType([v.ty for v in inner])) if mode == "packed" and inner else None
    return _Group(inner, packed)


class _Weights:
    """The parameters of a model inside of one function: as a context, they stand for its variables."""

    def __init__(self, params: Named, symbols: dict[str, Var], mode: str) -> None:
        self.params = [] if mode == "none" else params
        self.before = [p._expr for _, p in self.params]
        made = []
        for name, param in self.params:
            shape: list[Any] = [s.name if isinstance(s, Var) else s for s in param.shape]
            ty = TensorType(sizes_of(shape, symbols), param.dtype)
            made.append(Var(_identifier(name), ty))
        self.group = _grouped([made], mode, "packed_params")

    def bind(self, variables: list[Var]) -> None:
        """Let the parameters stand for these variables."""
        for (_, param), var in zip(self.params, variables):
            param._expr = var

    def __enter__(self) -> None:
        """Nothing changes before `bind`."""

    def __exit__(self, *error: Any) -> None:
        for (_, param), expr in zip(self.params, self.before):
            param._expr = expr


class _Inputs:
    """The arguments of a method as parameters of its function."""

    def __init__(self, symbols: dict[str, Var]) -> None:
        self.symbols = symbols
        self.vars: list[Var] = []

    def take(self, name: str, spec: Any) -> tuple[Any, Var]:
        """Note the parameter for an argument."""
        var = Var(name, self.type(name, spec))
        self.vars.append(var)
        return spec, var

    def type(self, name: str, spec: Any) -> Any:
        """The type of the parameter for an argument."""
        if isinstance(spec, spec_.Tensor):
            return TensorType(sizes_of(spec.shape, self.symbols), spec.dtype)
        if isinstance(spec, spec_.Int):
            return ShapeType([self.symbols.setdefault(name, Var(name, PrimType("int64")))])
        if isinstance(spec, spec_.Tuple):
            return TupleType([self.type(f"{name}_{i}", e) for i, e in enumerate(spec.elements)])
        return AnyType()

    def value(self, given: tuple[Any, Expr], builder: BlockBuilder) -> Any:
        """What the method gets for an argument."""
        spec, expr = given
        if isinstance(spec, spec_.Int):
            assert isinstance(expr.ty, ShapeType) and expr.ty.values is not None
            return expr.ty.values[0]
        if isinstance(spec, spec_.Tuple):
            name = expr.name if isinstance(expr, Var) else "tuple"
            fields = [builder.emit(TupleGetItem(expr, i), f"{name}_{i}") for i in range(len(spec.elements))]
            return type(spec.elements)([self.value(g, builder) for g in zip(spec.elements, fields)])
        return Tensor(_expr=expr) if isinstance(spec, spec_.Tensor) else Object(_expr=expr)


def _result(value: Any, method: str) -> Expr:
    """What a method gave, as an expression. Raises DTypeError for what is no value of the graph."""
    if isinstance(value, list | tuple):
        return Tuple([_result(v, method) for v in value])
    if isinstance(value, Tensor | Object):
        made: Expr = expr_of(value)
        return made
    if isinstance(value, Expr | int | float):
        return as_argument(value)
    raise DTypeError(Diagnostic("type-mismatch", f"`{method}` must give tensors, it gave {noun(value)}"))


def _identifier(name: str) -> str:
    return name.replace(".", "_")


__all__ = ["export"]
