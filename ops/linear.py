"""Products of matrices and vectors: matmul, outer, einsum, and linear, which is made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import ir, te
from ..dtype import DType
from ..ir import Call, Expr, Type
from ..ir.arith import Analyzer
from ..ir.relax import OpPattern, TensorType, composed, get_op, relax_op, same_sizes
from ..ir.relax.op import Tensor, Tensors
from .faults import shape_fault, type_fault
from .infer import broadcast, common_dtype, common_vdevice, constant, is_one, show, tensor_type, tensor_types
from .reshape import broadcast_index, expand_dims, permute_dims, shape_like, squeeze
from .sizes import is_zero


def _result_dtype(op: str, a: TensorType, b: TensorType, out_dtype: DType | None) -> DType | None:
    return common_dtype(op, a, b) if out_dtype is None else out_dtype


def _matmul_rank(a: int, b: int) -> int:
    if a < 0 or b < 0:
        return -1
    if a == 1 or b == 1:
        return max(a, b) - (2 if a == b else 1)
    return max(a, b)


def _matmul_te(x1: te.Tensor, x2: te.Tensor, out_dtype: DType | None = None) -> te.Tensor:
    dtype = out_dtype or x1.dtype
    depth = te.reduce_axis((0, x1.shape[-1]), "k")
    rows, columns = x1.shape[:-1][-1:], () if x2.ndim == 1 else x2.shape[-1:]
    outer1, outer2 = x1.shape[:-2], x2.shape[:-2]
    batch = broadcast("matmul", outer1, outer2)
    if batch is None:
        shape_fault("matmul", f"whether {show(outer1)} and {show(outer2)} broadcast is not known")

    shape = [*batch, *rows, *columns]
    if is_zero(x1.shape[-1]):
        return te.compute(shape, lambda *i: ir.const(0, dtype), name="matmul")

    def element(*i: Any) -> Any:
        b, rest = list(i[: len(batch)]), list(i[len(batch) :])
        row, column = rest[: len(rows)], rest[len(rows) :]
        left = x1(*broadcast_index(b, outer1, batch), *row, depth)
        right = x2(*broadcast_index(b, outer2, batch), depth, *column)
        return te.sum(ir.mul(ir.cast(left, dtype), ir.cast(right, dtype)), axis=depth)

    return te.compute(shape, element, name="matmul")


def _matmul_numpy(x1: Any, x2: Any, out_dtype: DType | None = None) -> Any:
    import numpy as np

    dtype = x1.dtype if out_dtype is None else out_dtype.numpy()
    if dtype.kind in "?iu" or dtype in (np.float32, np.float64):
        return np.matmul(x1.astype(dtype), x2.astype(dtype))
    return np.matmul(x1.astype("float64"), x2.astype("float64")).astype(dtype)


def _matmul_gradient(var: Any, call: Call, grad: Expr, builder: Any) -> list[Any]:
    from .collapse import collapse_sum_to

    a, b = call.args
    left, right = a.ty.ndim, b.ty.ndim  # type: ignore[attr-defined]
    if left < 0 or right < 0:
        shape_fault("matmul", "the gradient needs the ranks of the operands")
    full = grad
    if right == 1:
        full = expand_dims(full, -1)
    if left == 1:
        full = expand_dims(full, -2)
    wide_a = expand_dims(a, 0) if left == 1 else a
    wide_b = expand_dims(b, 1) if right == 1 else b
    found = [matmul(full, _transposed(wide_b)), matmul(_transposed(wide_a), full)]
    made = []
    for g, operand, ndim, gone in ((found[0], a, left, -2), (found[1], b, right, -1)):
        if ndim == 1:
            g = squeeze(g, [gone])
        made.append(g if _same_sizes(g, operand) else collapse_sum_to(g, shape_like(operand)))
    return made


def _same_sizes(a: Any, b: Any) -> bool:
    return a.ty.sizes is not None and b.ty.sizes is not None and same_sizes(a.ty.sizes, b.ty.sizes)


def _transposed(x: Expr) -> Expr:
    axes = list(range(x.ty.ndim))  # type: ignore[attr-defined]
    axes[-2:] = [axes[-1], axes[-2]]
    return permute_dims(x, axes)


@relax_op(
    "relax.matmul",
    pattern=OpPattern.OUT_FUSIBLE,
    te=_matmul_te,
    numpy=_matmul_numpy,
    gradient=_matmul_gradient,
    mixed="always",
)
def matmul(x1: Tensor, x2: Tensor, out_dtype: DType | None = None) -> Type:
    """The product of matrices; dimensions before the last two broadcast, vectors count as one row or column.

    The product is summed in `out_dtype`, by default the dtype of the operands.
    """
    a, b = tensor_type("matmul", x1, "x1"), tensor_type("matmul", x2, "x2")
    dtype = _result_dtype("matmul", a, b, out_dtype)
    device = common_vdevice("matmul", a, b)
    for ty, name in ((a, "x1"), (b, "x2")):
        if ty.ndim == 0:
            shape_fault("matmul", f"`{name}` is a scalar; a product takes vectors and matrices")
    ndim = _matmul_rank(a.ndim, b.ndim)
    if a.sizes is None or b.sizes is None:
        return TensorType(None, dtype, device, ndim)
    depth1, depth2 = a.sizes[-1], b.sizes[-1] if b.ndim == 1 else b.sizes[-2]
    if Analyzer().can_prove(ir.not_equal(depth1, depth2)):
        text = f"the shapes {show(a.sizes)} and {show(b.sizes)} do not multiply"
        shape_fault("matmul", f"{text}: {show([depth1])} columns against {show([depth2])} rows")
    batch = broadcast("matmul", a.sizes[:-2], b.sizes[:-2])
    if batch is None:
        return TensorType(None, dtype, device, ndim)
    rows = a.sizes[-2:-1]
    columns = () if b.ndim == 1 else b.sizes[-1:]
    return TensorType((*batch, *rows, *columns), dtype, device)


@composed("linear")
def linear(data: Any, weight: Any, bias: Any = None, out_dtype: DType | str | None = None) -> Expr:
    """`data` times the transposed weight, plus the bias if there is one: R.matmul, R.permute_dims, R.add."""
    found = matmul(data, permute_dims(weight), out_dtype=out_dtype)
    return found if bias is None else get_op("relax.add")(found, bias)


def _outer_te(x1: te.Tensor, x2: te.Tensor) -> te.Tensor:
    return te.compute([x1.shape[0], x2.shape[0]], lambda i, j: ir.mul(x1[i], x2[j]), name="outer")


def _outer_numpy(x1: Any, x2: Any) -> Any:
    return x1[:, None] * x2[None, :]


@relax_op("relax.outer", pattern=OpPattern.BROADCAST, te=_outer_te, numpy=_outer_numpy, mixed="always")
def outer(x1: Tensor, x2: Tensor) -> Type:
    """The products of each element of a vector with each of another."""
    a, b = tensor_type("outer", x1, "x1"), tensor_type("outer", x2, "x2")
    dtype, device = common_dtype("outer", a, b), common_vdevice("outer", a, b)
    for ty, name in ((a, "x1"), (b, "x2")):
        if ty.ndim not in (-1, 1):
            shape_fault("outer", f"`{name}` has {ty.ndim} dimensions; it must be a vector")
    if a.sizes is None or b.sizes is None:
        return TensorType(None, dtype, device, 2)
    return TensorType((a.sizes[0], b.sizes[0]), dtype, device)


class Subscripts:
    """The letters of an einsum, the dots as letters of their own.

    inputs   the letters of each operand
    output   the letters of the result
    summed   the letters that are summed over
    """

    def __init__(self, text: str, ranks: Sequence[int]) -> None:
        self.text = text
        left, arrow, right = text.replace(" ", "").partition("->")
        terms = left.split(",")
        if len(terms) != len(ranks):
            self.refuse(f"has {len(terms)} terms for {len(ranks)} operands")
        dots = [r - len(t.replace("...", "")) if "..." in t else 0 for t, r in zip(terms, ranks)]
        rest = [f"\x00{k}" for k in range(max(dots, default=0))]
        self.inputs = [self.letters(t, rest[len(rest) - d :] if d > 0 else []) for t, d in zip(terms, dots)]
        for letters, rank, term in zip(self.inputs, ranks, terms):
            if rank >= 0 and len(letters) != rank:
                self.refuse(f"names {len(letters)} dimensions in `{term}`, the operand has {rank}")
        seen = [c for letters in self.inputs for c in letters]
        if arrow:
            self.output = self.letters(right, rest)
        else:
            self.output = rest + sorted({c for c in seen if seen.count(c) == 1 and c not in rest})
        unknown = [c for c in self.output if c not in seen]
        if unknown or len(set(self.output)) != len(self.output):
            self.refuse("must name each dimension of the result once, and only known ones")
        self.summed = [c for c in dict.fromkeys(seen) if c not in self.output]

    def letters(self, term: str, rest: list[str]) -> list[str]:
        """The letters of one term, with those for its dots."""
        before, dots, after = term.partition("...")
        found = [*before, *(rest if dots else []), *after]
        if not all(c in rest or (c.isalpha() and c.isascii()) for c in found):
            self.refuse("may have letters, commas, `...` and one `->`")
        return found

    def refuse(self, text: str) -> None:
        """Raise a ValueError."""
        shape_fault("einsum", f'"{self.text}" {text}')

    def sizes(self, shapes: Sequence[Any]) -> Mapping[str, Any]:
        """The size of each letter: 1 gives way to another. Raises a ValueError where two constants differ."""
        found: dict[str, Any] = {}
        for letters, shape in zip(self.inputs, shapes):
            for c, s in zip(letters, shape):
                have = found.get(c)
                if have is None or is_one(have):
                    found[c] = s
                elif not is_one(s) and constant(s) is not None and constant(have) not in (None, constant(s)):
                    self.refuse(f"gives `{c}` the sizes {constant(have)} and {constant(s)}")
        return found


def _einsum_te(operands: Sequence[te.Tensor], subscripts: str) -> te.Tensor:
    found = Subscripts(subscripts, [t.ndim for t in operands])
    sizes = found.sizes([t.shape for t in operands])
    names = {c: f"k{n}" for n, c in enumerate(found.summed)}
    axes = {c: te.reduce_axis((0, sizes[c]), names[c]) for c in found.summed}

    shape = [sizes[c] for c in found.output]
    if any(is_zero(sizes[c]) for c in found.summed):
        return te.compute(shape, lambda *i: ir.const(0, operands[0].dtype), name="T_einsum")

    def element(*i: Any) -> Any:
        place = {**dict(zip(found.output, i)), **axes}
        value: Any = None
        for t, letters in zip(operands, found.inputs):
            whole = [sizes[c] for c in letters]
            factor = t(*broadcast_index([place[c] for c in letters], t.shape, whole))
            value = factor if value is None else ir.mul(value, factor)
        return te.sum(value, axis=list(axes.values())) if axes else value

    return te.compute(shape, element, name="T_einsum")


def _einsum_numpy(operands: Sequence[Any], subscripts: str) -> Any:
    import numpy as np

    dtype = operands[0].dtype
    if dtype.kind not in "?iu" and dtype not in (np.float32, np.float64):
        return np.einsum(subscripts, *[x.astype("float64") for x in operands]).astype(dtype)
    return np.asarray(np.einsum(subscripts, *operands)).astype(dtype)


def _prepare_einsum(values: dict[str, Any]) -> None:
    """A single tensor becomes a tuple of one."""
    if isinstance(values["operands"].ty, TensorType):
        values["operands"] = ir.Tuple([values["operands"]])


@relax_op(
    "relax.einsum", prepare=_prepare_einsum, pattern=OpPattern.OUT_FUSIBLE, te=_einsum_te, numpy=_einsum_numpy
)
def einsum(operands: Tensors, subscripts: str) -> Type:
    """The product of the operands, its dimensions named by letters, summed over those the result lacks.

    Without `->` the result has the letters that stand once, in alphabetical order.  `...` stands for
    dimensions without a letter, which broadcast.
    """
    types, dtype = _operand_types(operands)
    device = common_vdevice("einsum", *types)
    if any(ty.ndim < 0 for ty in types):
        return TensorType(None, dtype, device)
    found = Subscripts(subscripts, [ty.ndim for ty in types])
    if any(ty.sizes is None for ty in types):
        return TensorType(None, dtype, device, len(found.output))
    sizes = found.sizes([ty.sizes for ty in types])
    return TensorType(tuple([sizes[c] for c in found.output]), dtype, device)


def _operand_types(operands: Any) -> tuple[tuple[TensorType, ...], DType | None]:
    types = tensor_types("einsum", operands, "operands")
    dtypes = {ty.dtype: None for ty in types}
    if len({d for d in dtypes if d is not None}) > 1:
        names = " and ".join([f"`{d}`" for d in dtypes])
        type_fault("einsum", f"the operands have the dtypes {names}", "convert them with `R.astype`")
    return types, None if None in dtypes else next(iter(dtypes))


__all__ = ["Subscripts", "einsum", "linear", "matmul", "outer"]
