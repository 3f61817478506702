"""Types of graph programs: tensors, shapes, scalars, tuples, functions."""

from __future__ import annotations

from ...dtype import DType
from ...ir import INT64, AnyType, Expr, FuncType, IntImm, PrimType, StringType, TupleType, Type, Var, VDevice
from ...ir.relax import ShapeType, TensorType
from .draw import Source
from .scalars import SCALAR_DTYPES, draw_name

COMMON = tuple(DType(n) for n in ("float32", "int64", "float16", "bool", "int32", "int8"))
EXACT = tuple(DType(n) for n in ("float32", "int32", "int64"))


def draw_symbols(source: Source, low: int = 0, high: int = 2) -> list[Var]:
    """New symbols."""
    return [Var(draw_name(source), INT64) for _ in range(source.integer(low, high))]


def draw_size(source: Source, symbols: list[Var], compound: bool = True) -> Expr:
    """A size: a small number, a symbol, or (with `compound`) what computes with one."""
    if not symbols or source.chance(2):
        return IntImm(INT64, source.integer(1, 4))
    symbol = source.pick(symbols)
    if compound and source.chance(4):
        other = source.pick((*symbols, IntImm(INT64, 2)))
        return source.pick((symbol + 1, symbol * other, symbol // 2 + other))
    return symbol


def draw_tensor(
    source: Source,
    symbols: list[Var],
    devices: list[VDevice] | None = None,
    *,
    executable: bool = False,
    compound: bool = True,
) -> TensorType:
    """The type of a tensor; in graphs that run one whose shape and dtype are known."""
    if executable:
        rank = source.integer(0, 3)
        return TensorType(
            [draw_size(source, symbols, compound) for _ in range(rank)],
            source.pick(EXACT),
        )
    dtype = source.pick(COMMON) if not source.chance(6) else source.pick((*SCALAR_DTYPES, None))
    device = source.pick(devices) if devices and source.chance(3) else None
    if source.chance(5):
        return TensorType(None, dtype, device, source.pick((2, -1, 0, 3)))
    return TensorType(
        [draw_size(source, symbols, compound) for _ in range(source.integer(0, 3))], dtype, device
    )


def draw_type(
    source: Source, symbols: list[Var], devices: list[VDevice] | None = None, depth: int = 2
) -> Type:
    """The type of any value of a graph."""
    if not source.chance(3):
        return draw_tensor(source, symbols, devices)
    if depth and source.chance(3):
        return TupleType(
            [draw_type(source, symbols, devices, depth - 1) for _ in range(source.integer(0, 3))]
        )
    if depth and source.chance(3):
        return draw_func_type(source, symbols)
    if source.chance(2):
        sizes = [draw_size(source, symbols) for _ in range(source.integer(0, 3))]
        return source.pick((ShapeType(sizes), ShapeType(ndim=2), ShapeType()))
    return source.pick(
        (AnyType(), INT64, PrimType("bool"), PrimType("float32"), StringType(), PrimType("int32"))
    )


def draw_func_type(source: Source, symbols: list[Var]) -> FuncType:
    """The type of a function: of any, or of one with parameters, which may bring symbols."""
    if source.chance(3):
        result = source.pick((AnyType(), draw_tensor(source, symbols)))
        return FuncType(None, result, source.chance(2), "name.of.rule" if source.chance(4) else None)
    own = [*symbols, *draw_symbols(source, 0, 1)]
    params = [draw_type(source, own, depth=0) for _ in range(source.integer(0, 2))]
    return FuncType(params, draw_type(source, symbols, depth=0), not source.chance(3))


__all__ = ["COMMON", "EXACT", "draw_func_type", "draw_size", "draw_symbols", "draw_tensor", "draw_type"]
