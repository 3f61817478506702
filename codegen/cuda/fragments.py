"""Rules for fragments of tensor cores that only their own instructions can take apart (WMMA)."""

from __future__ import annotations

from ...dtype import DType
from ...ir import AllocBuffer, BufferType, Call, Expr, Op, StringImm, Var, walk
from ..c_like import arith
from ..c_like.rules import Rule, into, operator
from ..c_like.stmt import Statements
from ..c_like.text import ATOM, Lanes, Term, call

RULES: dict[str, Rule] = {}
rule = into(RULES)

WMMA = "nvcuda::wmma"
_SHAPED = ("tirx.tvm_load_matrix_sync", "tirx.tvm_fill_fragment", "tirx.tvm_store_matrix_sync")


def allocate(m: Statements, s: AllocBuffer) -> None:
    """Declare the fragments that a buffer stands for, of the shape and layout that its uses tell."""
    ty = s.buffer.ty
    assert isinstance(ty, BufferType)
    shape, layout = _use(m, s)
    matrix = ty.storage_scope.removeprefix("wmma.")
    rows, columns, depth = shape
    tile = {"matrix_a": rows * depth, "matrix_b": depth * columns, "accumulator": rows * columns}.get(matrix)
    if tile is None:
        raise m.refuse(f"a buffer in `{ty.storage_scope}` memory", s)
    count = m.length(s, ty)
    if count % tile:
        raise m.refuse(f"`{s.buffer.name}`, which is no whole number of fragments of {tile} elements", s)
    m.unit.header("#include <mma.h>")
    name = m.names.fresh(s.buffer.name)
    kind = f"{WMMA}::{matrix}, {rows}, {columns}, {depth}, {_element(m, ty.dtype, matrix, s)}"
    if matrix != "accumulator":
        kind += f", {WMMA}::{layout}"
    m.put(f"{WMMA}::fragment<{kind}> {name}[{count // tile}];")
    m.fragments[s.buffer] = name


def _element(m: Statements, dtype: DType, matrix: str, node: AllocBuffer) -> str:
    text = str(dtype)
    if text == "float32" and matrix != "accumulator":
        return f"{WMMA}::precision::tf32"
    known = (
        ("float16", "float32", "int32")
        if matrix == "accumulator"
        else ("float16", "bfloat16", "int8", "uint8")
    )
    if text not in known or m.dialect.carried(dtype):
        raise m.refuse_dtype(f"fragments of `{dtype}`", node)
    return m.unit.cell(dtype)


def _use(m: Statements, s: AllocBuffer) -> tuple[tuple[int, int, int], str]:
    """The shape of the product that a buffer's fragments belong to, and the layout they are loaded in."""
    shape, layout = None, "row_major"
    for node in walk(m.facts.func.body):
        if isinstance(node, Call) and isinstance(node.op, Op) and node.op.name in _SHAPED:
            if m.facts.root(node.args[0]) is not s.buffer:
                continue
            sizes = tuple([arith.constant(a) for a in node.args[1:4]])
            if shape not in (None, sizes) or None in sizes:
                raise m.refuse(f"fragments `{s.buffer.name}` of several shapes", s)
            shape = sizes
            if node.op.name == "tirx.tvm_load_matrix_sync" and isinstance(node.args[7], StringImm):
                layout = node.args[7].value
    if shape is None:
        raise m.refuse(f"fragments `{s.buffer.name}` that nothing loads, fills or stores", s)
    return shape, layout  # type: ignore[return-value]


def _fragment(m: Statements, pointer: Expr, index: Expr) -> Term:
    """A fragment by number."""
    found = m.fragments.get(m.facts.root(pointer))
    if found is None:
        raise m.refuse(
            "an operation on fragments of something else", pointer, "allocate them in `wmma` memory"
        )
    return Term(f"{found}[{m.index(index).text}]", ATOM)


def _layout(m: Statements, e: Call) -> str:
    word = e.args[7].value if isinstance(e.args[7], StringImm) else ""
    if word not in ("row_major", "col_major"):
        raise m.refuse(f"`{operator(e)}` in the layout `{word}`", e)
    return f"{WMMA}::mem_{word}"


@rule("tvm_load_matrix_sync")
def _load(m: Statements, e: Call) -> Lanes:
    fragment = _fragment(m, e.args[0], e.args[4])
    args = [fragment, m.value(e.args[5]), m.index(e.args[6])]
    buffer: Var = m.facts.root(e.args[0])
    ty = buffer.ty
    assert isinstance(ty, BufferType)
    if ty.storage_scope == "wmma.accumulator":
        return [call(f"{WMMA}::load_matrix_sync", *args, _layout(m, e))]
    m.put(f"{call(f'{WMMA}::load_matrix_sync', *args).text};")
    if str(ty.dtype) == "float32":
        f = fragment.text
        m.put(f"for (int i = 0; i < {f}.num_elements; ++i) {f}.x[i] = {WMMA}::__float_to_tf32({f}.x[i]);")
    return []


@rule("tvm_store_matrix_sync")
def _store(m: Statements, e: Call) -> Lanes:
    fragment = _fragment(m, e.args[0], e.args[4])
    parts = [m.value(e.args[5]), fragment, m.index(e.args[6])]
    return [call(f"{WMMA}::store_matrix_sync", *parts, _layout(m, e))]


@rule("tvm_fill_fragment")
def _fill(m: Statements, e: Call) -> Lanes:
    buffer = m.facts.root(e.args[0])
    value = arith.cast(m, e.args[5].dtype, buffer.dtype, m.value(e.args[5]))
    return [call(f"{WMMA}::fill_fragment", _fragment(m, e.args[0], e.args[4]), value)]


@rule("tvm_mma_sync")
def _mma(m: Statements, e: Call) -> Lanes:
    parts = [_fragment(m, e.args[k], e.args[k + 1]) for k in (0, 2, 4, 6)]
    return [call(f"{WMMA}::mma_sync", *parts)]
