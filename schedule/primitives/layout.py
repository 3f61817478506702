"""Changing the layout of a buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ...errors import LoopwrightError
from ...ir import (
    LE,
    BufferLoad,
    BufferType,
    Expr,
    IndexMap,
    IntImm,
    PrimFunc,
    PrimType,
    SBlockRealize,
    Var,
    const,
    walk,
)
from ...ir.arith import Analyzer
from ...ir.arith.intset import IntervalSet, eval_set
from ...ir.stmt import BlockRef
from ...ir.visitor import type_vars
from ..buffers import allocator, buffer_at, buffer_type, one_type
from ..handles import SBlockRV
from ..index_maps import index_map_of, read_map, with_names
from ..layout_padding import add_padding
from ..refusal import Reason, Refused, refuse
from ..registry import primitive
from ..relayout import Relayout
from ..rewrite import is_const
from ..state import State, block_ref
from .reindex import buffer_of
from .storage import replace_allocated

_MODES = ("read", "write")


def _prepare(state: State, arguments: dict[str, Any]) -> dict[str, Any]:
    mode, index = buffer_of(state, arguments["block"], arguments["buffer"])
    node = state.block(arguments["block"])
    buffer = buffer_at(state, arguments["block"], index, mode)
    shape = buffer_type(buffer).shape
    dtype = shape[0].dtype if shape else "int32"
    made = index_map_of(arguments["index_map"], len(shape), node, dtype=dtype)
    made = with_names(made, state, arguments["block"])
    pad = _pad_map(arguments["pad_value"], len(made.final_indices), buffer, dtype, node)
    pad = None if pad is None else with_names(pad, state, arguments["block"])
    return {**arguments, "buffer": (mode, index), "index_map": made, "pad_value": pad}


def _pad_map(given: Any, rank: int, buffer: Var, dtype: Any, at: Any) -> IndexMap | None:
    """The value of padding as a map from new indices."""
    if isinstance(given, IndexMap):
        value = given.final_indices[0] if len(given.final_indices) == 1 else None
        wanted = buffer_type(buffer).dtype
        if isinstance(value, IntImm) and wanted.is_integral:
            # A trace's text says a plain number, whatever its type.
            return IndexMap(
                [Var(v.name, PrimType(dtype)) for v in given.initial_indices], [const(value.value, wanted)]
            )
        same = {e.dtype for e in (*given.initial_indices, *given.final_indices)}
        return given.with_dtype(dtype) if len(same) == 1 and given.initial_indices else given
    if given is None:
        return None
    variables = [Var(f"indices_{k}", PrimType(dtype)) for k in range(rank)]
    value = given
    if callable(given) and not isinstance(given, Expr):
        try:
            value = given(*variables)
        except (TypeError, LoopwrightError) as err:
            raise refuse("pad-value", f"the pad value cannot be computed: {err}", at) from err
    wanted = buffer_type(buffer).dtype
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool | int | float):
        fits = wanted.is_float if isinstance(value, float) else wanted.is_integral
        value = const(value, wanted) if fits else const(value)
    if not isinstance(value, Expr):
        raise refuse("pad-value", f"a pad value is one value, not {value!r}", at)
    return IndexMap(variables, [value])


def _encode(arguments: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    mode, index = arguments["buffer"]
    attrs = [index, _MODES.index(mode), arguments["pad_value"], arguments["assume_injective_transform"]]
    return [arguments["block"], arguments["index_map"]], attrs


def _decode(inputs: list[Any], attrs: list[Any]) -> dict[str, Any]:
    return {
        "block": inputs[0],
        "index_map": read_map(inputs[1]),
        "buffer": (_MODES[int(attrs[1])], attrs[0]),
        "pad_value": read_map(attrs[2]) if len(attrs) > 2 else None,
        "assume_injective_transform": bool(attrs[3]) if len(attrs) > 3 else False,
    }


@primitive(inputs=("block", "index_map"), prepare=_prepare, encode=_encode, decode=_decode)
def transform_layout(
    state: State,
    block: SBlockRV,
    buffer: tuple[str, int] | str | Var,
    index_map: IndexMap | Callable[..., Any],
    pad_value: int | float | Expr | IndexMap | Callable[..., Any] | None = None,
    *,
    assume_injective_transform: bool = False,
) -> State:
    """Store each element of a buffer at the indices that the map gives for its old ones.

    Where the new shape has room for more elements, these get the pad value: of new indices, or a
    constant.  A parameter changes its shape; padding in one that is only read is assumed to hold
    the value.  Every handle is kept, but loops that run over padding, too, are consumed.
    `assume_injective_transform` leaves out the check that the map is one to one.

    buffers: A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")
    before:
        C = T.sblock_alloc_buffer((16,))
        for i in range(16):
            with T.sblock("C"):
                vi = T.axis.spatial(16, i)
                C[vi] = A[vi] + 1.0
        for i in range(16):
            with T.sblock("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = C[vi] * 2.0
    steps:
        sch.transform_layout("C", ("write", 0), lambda i: (i // 4, i % 4))
    after:
        C = T.sblock_alloc_buffer((4, 4))
        for i in range(16):
            with T.sblock("C"):
                vi = T.axis.spatial(16, i)
                C[vi // 4, vi % 4] = A[vi] + 1.0
        for i in range(16):
            with T.sblock("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = C[vi // 4, vi % 4] * 2.0
    """
    mode, index = cast("tuple[Any, Any]", buffer)
    old = buffer_at(state, block, index, str(mode))
    owner = allocator(state, block.target, old)
    func = state.func(block)
    if owner is None and old not in func.params:
        text = f"`{old.name}` is a view of another buffer, whose layout cannot change by itself"
        raise refuse("not-allocated", text, state.block(block))
    assert isinstance(index_map, IndexMap)
    ty = buffer_type(old)
    node = state.block(block)
    if ty.strides or ty.elem_offset is not None:
        raise refuse("strided-buffer", f"`{old.name}` has strides or an offset of its own", node)
    shape = _new_shape(index_map, ty, old, node)
    inverse, padding = _checked_inverse(index_map, ty, old, node, assume_injective_transform)
    if padding is not None and pad_value is None:
        raise refuse(
            "padding",
            f"in its new layout `{old.name}` would have room for more elements: where {_shown(padding)}",
            node,
            help="say with `pad_value` what they hold",
        )
    new = Var(old.name, ty.replace(shape=shape), old.span)
    if padding is not None:
        assert isinstance(pad_value, IndexMap)
        _check_pad(pad_value, new, node)
    place = owner if owner is not None else _root(state, block)
    if padding is not None and inverse is not None and isinstance(pad_value, IndexMap):
        state = add_padding(state, place, (old, new), inverse, padding, pad_value)
    relayout = Relayout(old, new, index_map, state.analyzer(place))
    if owner is not None:
        return replace_allocated(state, owner, old, new, relayout)
    return _replace_parameter(state, block, old, new, relayout)


def _root(state: State, block: SBlockRV) -> BlockRef:
    """The outermost block around a block."""
    found = block.target
    for above in state.ancestors(block):
        if isinstance(above.node, SBlockRealize):
            found = block_ref(above.node.block)
    return found


def _replace_parameter(state: State, block: SBlockRV, old: Var, new: Var, relayout: Relayout) -> State:
    func = state.func(block)
    params = tuple([new if p is old else p for p in func.params])
    lost = _undefined(params, func)
    if lost is not None:
        text = f"size `{lost.name}` would not be given by the shape of any parameter"
        raise refuse("size-undefined", text, state.block(block))
    made: PrimFunc = func.replace(params=params, body=relayout(func.body))
    return state.replace_func(state.place(block.target).func, made)


def _undefined(params: tuple[Var, ...], func: PrimFunc) -> Var | None:
    """A size of the old parameters that the new ones do not define by themselves."""
    given: set[Var] = set(params)
    for p in params:
        if isinstance(p.ty, BufferType):
            ends = [*p.ty.shape, *p.ty.strides, p.ty.elem_offset]
            given.update([e for e in ends if isinstance(e, Var)])
    for p in func.params:
        for v in type_vars(p.ty):
            if v not in given:
                return v
    return None


# the map


def _new_shape(index_map: IndexMap, ty: BufferType, buffer: Var, at: Any) -> list[Expr]:
    """The shape in the new layout, every index from 0. Raises Refused where it is not known."""
    try:
        shape = index_map.map_shape(ty.shape) if ty.shape else [const(1)] * len(index_map.final_indices)
    except LoopwrightError as err:
        raise _no_map(buffer, at, err) from err
    ana = Analyzer()
    domain = {}
    for v, size in zip(index_map.initial_indices, ty.shape):
        last = ana.simplify(one_type(size, v)[0] - 1)
        if isinstance(size, Var):
            ana.bind_bound(size, low=1)  # a buffer with elements
        domain[v] = IntervalSet(const(0, v.dtype), last)
    for e in index_map.final_indices:
        low = eval_set(e, domain, ana).min
        if low is None or not ana.can_prove(LE(const(0, low.dtype), low)):
            text = f"the map may give negative indices of `{buffer.name}`"
            raise refuse("index-map", text, at)
    return shape


def _checked_inverse(
    index_map: IndexMap, ty: BufferType, buffer: Var, at: Any, assume: bool
) -> tuple[IndexMap | None, Expr | None]:
    """The inverse map and where the new layout has no old element (None: nowhere)."""
    if assume or not ty.shape:
        return None, None
    try:
        inverse, padding = index_map.non_surjective_inverse(ty.shape)
    except LoopwrightError as err:
        raise _no_map(buffer, at, err) from err
    return inverse, None if is_const(padding, 0) else padding


def _no_map(buffer: Var, at: Any, err: LoopwrightError) -> Refused:
    text = f"the map is not known to give each element of `{buffer.name}` a place of its own"
    notes = (str(err.diagnostics[0].message),) if err.diagnostics else ()
    return Refused(Reason("index-map", text, at, (), notes))


def _check_pad(pad: IndexMap, buffer: Var, at: Any) -> None:
    ty = buffer_type(buffer)
    if len(pad.initial_indices) != len(ty.shape) or len(pad.final_indices) != 1:
        raise refuse("pad-value", f"the pad value is one value of {len(ty.shape)} indices", at)
    value = pad.final_indices[0]
    if value.dtype is not ty.dtype:
        text = f"the pad value is `{value.dtype}`, the elements of `{buffer.name}` are `{ty.dtype}`"
        raise refuse("pad-value", text, at)
    if [n for n in walk(value) if isinstance(n, BufferLoad)]:
        raise refuse("pad-value", "the pad value reads memory", at)


def _shown(e: Expr) -> str:
    from ...printer import script

    return f"`{script(e)}`"
