"""Graph functions and modules of both dialects."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ...ir import (
    BOOL,
    INT64,
    AnyType,
    BufferLoad,
    BufferStore,
    BufferType,
    DummyGlobalInfo,
    Evaluate,
    Expr,
    ExternFunc,
    For,
    ForKind,
    GlobalVar,
    IntImm,
    IRModule,
    PrimFunc,
    Stmt,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    Var,
    VDevice,
)
from ...ir.relax import (
    Function,
    If,
    MatchCast,
    RelaxOp,
    ShapeType,
    TensorType,
    tensor_constant,
)
from ...ir.relax.relations import erase_definitions
from ...target import Target
from .draw import Source
from .programs import draw_function
from .relax_scope import Maker, Surroundings
from .relax_types import draw_func_type, draw_size, draw_symbols, draw_tensor, draw_type
from .relax_values import CALLS, FREE, PLAIN, any_value, argument, effect, operator_call, tensor
from .scalars import draw_name


def draw_params(
    source: Source, executable: bool, around: Surroundings, nested: bool = False
) -> tuple[list[Var], list[Var]]:
    """Parameters, and the symbols that their types define; each symbol stands alone somewhere."""
    symbols = draw_symbols(source)
    types: list[Type] = []
    if symbols:
        types.append(
            TensorType(symbols, "float32") if executable or not source.chance(3) else ShapeType(symbols)
        )
    for _ in range(source.integer(0 if types else 1, 3)):
        if executable:
            types.append(draw_tensor(source, symbols, executable=True))
        else:
            types.append(draw_type(source, symbols, around.devices))
    params = [Var(draw_name(source), ty) for ty in types]
    if not executable and source.chance(4):
        size = Var(draw_name(source), INT64)  # a size that is a parameter by itself
        symbols = [*symbols, size]
        params = [*params, size, Var(draw_name(source), TensorType((size, size + 1)))]
    if not executable and not nested and source.chance(6):
        held = Var(draw_name(source), ShapeType(ndim=2))
        params = [*params, held, Var(draw_name(source), TensorType(held))]
    return params, symbols


def draw_bindings(m: Maker) -> None:
    """One to three blocks of bindings."""
    for _ in range(m.source.integer(0, 2)):
        m.begin(not m.source.chance(3))
        for _ in range(m.source.integer(1, 4)):
            draw_binding(m)
        m.end()


def draw_binding(m: Maker) -> None:
    """One binding."""
    source = m.source
    if source.chance(8) and draw_cast(m):
        return
    if m.depth < 2 and not m.dataflow and source.chance(6):
        draw_if(m)
        return
    if m.depth < 2 and not m.executable and source.chance(8):
        draw_nested(m)
        return
    if not m.quiet and source.chance(3):
        m.bind(effect(m))
        return
    makers = PLAIN if m.executable or not source.chance(2) else FREE
    if (m.around.graphs or m.around.kernels) and source.chance(3):
        makers = CALLS
    value = source.pick(makers)(m)
    if value is None:
        value = tensor(m)
    if isinstance(value.ty, TupleType) and value.ty.fields_ and source.chance(2):
        m.bind(TupleGetItem(m.bind(value), source.integer(0, len(value.ty.fields_) - 1)))
        return
    if not m.executable and source.chance(6):
        m.bind(value, weaker(value.ty))
    else:
        m.bind(value)


def weaker(ty: Type) -> Type:
    """A type that says less."""
    if isinstance(ty, TensorType) and ty.shape is not None:
        return TensorType(None, ty.dtype, ty.vdevice, ty.ndim)
    return AnyType()


def draw_cast(m: Maker) -> bool:
    """A match_cast; its new symbols are visible from here on."""
    source = m.source
    known = m.tensors()
    if not known:
        return False
    value = source.pick(known)
    old = value.ty
    assert isinstance(old, TensorType)
    fresh = draw_symbols(source, 1, 2)
    if old.ndim < 0:
        return _cast(m, value, TensorType(fresh, old.dtype), fresh)
    sizes: list[Var | None] = [source.pick((None, None, *fresh)) for _ in range(old.ndim)]
    if m.executable:  # a symbol for two sizes asks run time whether they are equal
        sizes = [None if any(s is t for t in sizes[:i]) else s for i, s in enumerate(sizes)]
    if old.sizes is None:
        filled = [s if s is not None else draw_size(source, fresh, False) for s in sizes]
    else:
        filled = [s if s is not None else d for s, d in zip(sizes, old.sizes)]
    used = [s for s in fresh if any(s is f for f in filled)]
    return _cast(m, value, TensorType(filled, old.dtype, old.vdevice), used)


def _cast(m: Maker, value: Var, ty: Type, fresh: list[Var]) -> bool:
    if not m.executable and m.source.chance(4):
        ty = TupleType([ty])
        value = m.bind(Tuple([value]))
    m.emit(MatchCast(m.new_var(ty), value, ty))
    m.symbols += fresh
    return True


def draw_if(m: Maker) -> None:
    """A branch; each side has bindings of its own."""
    conditions = [v for v in m.values if v.ty is BOOL or _is_flag(v.ty)]
    cond: Expr = tensor_constant(m.source.chance(2))
    if conditions and not m.source.chance(3):
        cond = m.source.pick(conditions)
    branches = []
    like = tensor(m)
    for _ in range(2):
        inner = m.inside()
        draw_bindings(inner)
        branches.append(inner.seq(_branch_value(inner, like)))
    m.bind(If(cond, *branches))


def _branch_value(m: Maker, like: Expr) -> Expr:
    alike = [v for v in m.values if v.ty == like.ty]
    if m.executable or not m.source.chance(3):
        return m.source.pick(alike) if alike else like
    return any_value(m)


def _is_flag(ty: Type) -> bool:
    return isinstance(ty, TensorType) and ty.ndim == 0 and ty.dtype is not None and ty.dtype.is_bool


def draw_nested(m: Maker) -> None:
    """A function inside of the function, which sees what is visible here."""
    pure = m.pure or not m.source.chance(3)
    params, symbols = draw_params(m.source, False, m.around, nested=True)
    inner = m.inside()
    inner.pure = pure
    inner.values += [p for p in params if p not in symbols]
    inner.symbols += symbols
    m.bind(draw_body(inner, params, pure, {} if not m.source.chance(4) else {"Primitive": 1}))


def draw_body(m: Maker, params: list[Var], pure: bool, attrs: dict[str, Any]) -> Function:
    """The function with these parameters, which the maker sees."""
    draw_bindings(m)
    result = tensor(m) if m.executable else argument(m)
    if m.executable and m.source.chance(3):
        result = Tuple([tensor(m), result])
    seq = m.seq(result)
    ret = erase_definitions(seq)
    if not m.executable and m.source.chance(5):
        ret = weaker(ret)
    return Function(params, seq, ret, pure, attrs)


def draw_graph(
    source: Source, executable: bool, name: str | None, around: Surroundings | None = None
) -> Function:
    """A graph function; its name is the attribute global_symbol unless it is private."""
    around = around or Surroundings()
    pure = executable or not source.chance(3)
    params, symbols = draw_params(source, executable, around)
    values = [p for p in params if p not in symbols]
    attrs: dict[str, Any] = {}
    if name is not None:
        attrs["global_symbol"] = name
    if not executable and source.chance(4):
        attrs[source.pick(("Composite", "num_input", "custom"))] = source.pick(("x", 1, 2.5, None, ("a", 1)))
    return draw_body(Maker(source, around, values, symbols, pure, executable), params, pure, attrs)


@st.composite
def relax_functions(draw: Any, executable: bool = False) -> Function:
    """Well-formed graph functions; executable ones run on arrays of small integers.

    Symbolic sizes of executable functions must be at least 1.
    """
    source = Source(draw)
    name = "main" if executable else source.pick(("main", None, "f", draw_name(source)))
    return draw_graph(source, executable, name)


@st.composite
def relax_modules(draw: Any, executable: bool = False) -> IRModule:
    """Modules of graph functions, kernels and external functions that call each other."""
    source = Source(draw)
    around = Surroundings()
    table: dict[GlobalVar, Any] = {}
    infos: dict[str, Any] = {}
    if not executable and source.chance(3):
        around.devices = [
            VDevice(Target(source.pick(("llvm", "cuda"))), k, source.pick(("global", "shared")))
            for k in range(source.integer(1, 3))
        ]
        infos = {"vdevice": tuple(around.devices), "other": (DummyGlobalInfo(),)}
    for k in range(source.integer(0, 2)):
        func = draw_kernel(source, f"kernel{k}", executable)
        var = GlobalVar(f"kernel{k}", func.ty)
        table[var] = func
        around.kernels.append((var, func))
    if not executable and source.chance(3):
        extern = ExternFunc("outside.name", draw_func_type(source, []) if source.chance(2) else AnyType())
        table[GlobalVar("outside", extern.ty)] = extern
    if not executable and source.chance(3):
        table[GlobalVar("loops")] = draw_function(source, name="loops")
    for k in range(source.integer(1, 3)):
        name = f"f{k}" if executable or not source.chance(3) else f"{draw_name(source)}_{k}"
        graph = draw_graph(source, executable, None if source.chance(4) else name, around)
        var = GlobalVar(name, graph.ty)
        table[var] = graph
        around.graphs.append((var, graph))
    return IRModule(table, {"custom": 1} if source.chance(4) else {}, infos)


def draw_kernel(source: Source, name: str, executable: bool) -> PrimFunc:
    """A kernel of two buffers of one type, as `call_tir` takes it; one that runs copies."""
    symbols = draw_symbols(source, 0, 1)
    shape = [draw_size(source, symbols, False) for _ in range(source.integer(0, 2))]
    x, y = (Var(draw_name(source), BufferType("float32", shape)) for _ in range(2))
    body: Stmt = Evaluate(0)
    if executable:
        index = [Var("i", INT64) for _ in shape]
        body = BufferStore(y, BufferLoad(x, index), index)
        for var, size in zip(reversed(index), reversed(shape)):
            body = For(var, IntImm(INT64, 0), size, ForKind.SERIAL, body)
    return PrimFunc([x, y], body, attrs={"global_symbol": name} if source.chance(2) else {})


@st.composite
def operator_calls(draw: Any, rec: RelaxOp) -> Function | None:
    """A graph function that calls this operator, or None where the operands that were drawn do not fit."""
    source = Source(draw)
    params, symbols = draw_params(source, False, Surroundings())
    values = [p for p in params if p not in symbols]
    m = Maker(source, Surroundings(), values, symbols, rec.pure)
    call = operator_call(m, rec)
    if call is None:
        return None
    m.bind(call)
    m.end()
    return Function(params, m.seq(m.values[-1]), AnyType(), rec.pure, {"global_symbol": "main"})


__all__ = ["draw_graph", "operator_calls", "relax_functions", "relax_modules"]
