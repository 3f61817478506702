"""Groups of bindings become functions: each group one private function, called once in its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...ir import Call, Expr, GenericConst, Op, PrimType, Tuple, TupleGetItem, Var
from ...ir.relax import (
    Binding,
    DataflowBlock,
    DataflowVar,
    Function,
    SeqExpr,
    ShapeExpr,
    VarBinding,
    shape_symbols,
)
from ...ir.relax.function_table import FunctionTable
from ...ir.visitor import Substitution, type_vars
from .common import kernel_of, operands


class Group:
    """Bindings that become one function, which gives `outputs` of them."""

    def __init__(self, members: Sequence[VarBinding], outputs: Sequence[Var]) -> None:
        self.members = members
        self.outputs = outputs


def group_outputs(members: Sequence[Any], used_outside: Iterable[Var]) -> list[Var]:
    """The variables of a group that others need, in order; the last one where nobody needs any."""
    outside = set(used_outside)
    found = [b.var for b in members if not isinstance(b.var, DataflowVar) or b.var in outside]
    return found or [members[-1].var]


def group_name(members: Sequence[VarBinding]) -> str:
    """A name that lists what the group calls; shortened where it is too long."""
    words = ["fused"]
    for binding in members:
        value = binding.value
        kernel = kernel_of(value)
        if kernel is not None:
            words.append(kernel.name)
        elif isinstance(value, Call) and isinstance(value.op, Op):
            words.append(value.op.name.replace(".", "_"))
    name = "_".join(words)
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}_{len(members)}"


_LONGEST = 80


def make_group(
    group: Group, attrs: Mapping[str, Any], bind_constants: bool = False
) -> tuple[Function, tuple[Expr, ...]]:
    """The function of a group, all of its variables and symbols new, and the arguments of its call.

    What the group uses and does not bind is a parameter, constants too unless they are to be bound inside.
    Symbols that no parameter's type defines are handed over as a shape behind the others.
    """
    own = {b.var for b in group.members}
    args: dict[int, Expr] = {}
    symbols: dict[Var, None] = {}
    for binding in group.members:
        for used in operands(binding.value):
            if isinstance(used, Var) and isinstance(used.ty, PrimType):
                symbols[used] = None
            elif used not in own and not (bind_constants and isinstance(used, GenericConst)):
                args.setdefault(id(used), used)
        for ty in (binding.var.ty, *getattr(binding.value, "ty_args", ())):
            symbols.update(dict.fromkeys(v for v in type_vars(ty) if isinstance(v.ty, PrimType)))
    defined = {s for arg in args.values() for s in shape_symbols(arg.ty)}
    inherited = [s for arg in args.values() for s in type_vars(arg.ty) if isinstance(s.ty, PrimType)]
    handed = [s for s in dict.fromkeys([*symbols, *inherited]) if s not in defined]
    maker = _Maker([*defined, *handed])
    params = [maker.param(arg, i) for i, arg in enumerate(args.values())]
    if handed:
        shape = ShapeExpr(handed)
        params.append(Var("symbols", maker.visit(shape.ty)))
        return maker.function(group, params, attrs), (*args.values(), shape)
    return maker.function(group, params, attrs), tuple(args.values())


class _Maker(Substitution):
    """Translates the bindings of a group into the function: other variables, other symbols."""

    def __init__(self, symbols: Iterable[Var]) -> None:
        super().__init__({s: Var(s.name, s.ty) for s in symbols})
        self.constants: dict[int, Var] = {}

    def param(self, arg: Expr, position: int) -> Var:
        """The parameter that stands for a value from outside."""
        made = Var(arg.name if isinstance(arg, Var) else f"param_{position}", self.visit(arg.ty))
        if isinstance(arg, Var):
            self.vars[arg] = made
        else:
            self.constants[id(arg)] = made
        return made

    def visit_GenericConst(self, value: GenericConst) -> Expr:
        """A constant, which is a parameter."""
        return self.constants.get(id(value), value)

    def function(self, group: Group, params: Sequence[Var], attrs: Mapping[str, Any]) -> Function:
        """The function of the group with these parameters."""
        outputs = set(group.outputs) if len(group.outputs) == 1 else set()
        bindings: list[Binding] = []
        for b in group.members:
            value = self.visit(b.value)
            self.vars[b.var] = var = _kind(b.var in outputs)(b.var.name, self.visit(b.var.ty))
            bindings.append(VarBinding(var, value))
        result = [self.vars[v] for v in group.outputs]
        if len(result) == 1:
            body = result[0]
        else:
            body = Var("gv", Tuple(result).ty)
            bindings.append(VarBinding(body, Tuple(result)))
        seq = SeqExpr([DataflowBlock(bindings)], body)
        return Function(params, seq, body.ty, True, attrs)


def _kind(is_output: bool) -> type[Var]:
    return Var if is_output else DataflowVar


def regroup(
    block: DataflowBlock,
    group_of: Sequence[Any],
    attrs_of: Mapping[Any, Mapping[str, Any]],
    table: FunctionTable,
    bind_constants: bool = False,
) -> DataflowBlock:
    """The block with each group replaced by the call of a private function, which `table` lists.

    `group_of` gives each binding's group, None for a binding that stays.  `attrs_of` gives the attributes
    of the groups' functions.
    """
    members: dict[Any, list[Any]] = {}
    for binding, key in zip(block.bindings, group_of):
        if key is not None:
            members.setdefault(key, []).append(binding)
    if not members:
        return block
    owner: dict[Any, Any] = {b.var: key for b, key in zip(block.bindings, group_of)}
    outside: dict[Any, list[Var]] = {key: [] for key in members}
    for binding, key in zip(block.bindings, group_of):
        for used in operands(binding.value):
            home = owner.get(used)
            if home is not None and home != key:
                outside[home].append(used)  # type: ignore[arg-type]
    units: dict[Any, list[Binding]] = {}
    for key, group in members.items():
        outputs = group_outputs(group, outside[key])
        units[key] = _call_group(Group(group, outputs), attrs_of[key], table, bind_constants)
    return DataflowBlock(_ordered(block, group_of, members, units), block.span)


def _call_group(
    group: Group, attrs: Mapping[str, Any], table: FunctionTable, bind_constants: bool
) -> list[Binding]:
    func, args = make_group(group, attrs, bind_constants)
    gvar = table.add(func, group_name(group.members))
    if len(group.outputs) == 1:
        var = group.outputs[0]
        return [VarBinding(var, Call(gvar, args, var.ty))]
    whole = DataflowVar("lv", Tuple(group.outputs).ty)
    made: list[Binding] = [VarBinding(whole, Call(gvar, args, whole.ty))]
    return made + [VarBinding(v, TupleGetItem(whole, i)) for i, v in enumerate(group.outputs)]


def _ordered(
    block: DataflowBlock,
    group_of: Sequence[Any],
    members: Mapping[Any, list[Any]],
    units: Mapping[Any, list[Binding]],
) -> list[Binding]:
    """The bindings in order: a group stands where its last member stood, earlier where one needs it."""
    place: dict[Any, int] = {b.var: i for i, b in enumerate(block.bindings)}
    last = {key: place[group[-1].var] for key, group in members.items()}
    done: set[Any] = set()
    out: list[Binding] = []

    def emit(start: int) -> None:
        stack: list[tuple[int, bool]] = [(start, False)]
        open_units: set[Any] = set()
        while stack:
            i, ready = stack.pop()
            key = group_of[i]
            unit = ("one", i) if key is None else ("group", key)
            if unit in done:
                continue
            if ready:
                done.add(unit)
                out.extend([block.bindings[i]] if key is None else units[key])
                continue
            assert unit not in open_units, "two groups need each other's results"
            open_units.add(unit)
            stack.append((i, True))
            for b in [block.bindings[i]] if key is None else members[key]:
                for used in operands(b.value):
                    at = place.get(used)
                    if at is not None and (key is None or group_of[at] != key):
                        stack.append((at, False))

    for i, key in enumerate(group_of):
        if key is None or last[key] == i:
            emit(i)
    return out


__all__ = ["Group", "group_name", "group_outputs", "make_group", "regroup"]
