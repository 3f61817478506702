"""Convolutions over one, two and three dimensions, and their transposes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import te
from ..dtype import DType
from ..ir import Expr, Type, const
from ..ir import operators as arith
from ..ir.arith import Analyzer
from ..ir.relax import OpPattern, TensorType, relax_op
from ..ir.relax.op import Ints, Tensor
from . import nn_derivatives as derivatives
from .faults import shape_fault
from .infer import common_dtype, common_vdevice, show, tensor_type
from .layout import Layout, find_layout, from_plain, layout_of, to_plain, whole_sizes
from .nn_layouts import convolution
from .terms import total
from .window import SPATIAL, both_sides, element_of, not_negative, padded, per_dimension, positions, settled


def _prepare(op: str, count: int) -> Callable[[dict[str, Any]], None]:
    """One stride and dilation for each dimension, padding for each side, the result laid out as the data."""

    def prepare(values: dict[str, Any]) -> None:
        for name in ("strides", "dilation", "output_padding"):
            if name in values:
                values[name] = per_dimension(op, name, values[name], count)
        values["padding"] = both_sides(op, values["padding"], count)
        values["out_layout"] = values["out_layout"] or values["data_layout"]
        if values["groups"] < 1:
            shape_fault(op, f"`groups` must be positive, not {values['groups']}")

    return prepare


class _Operands:
    """Both operands of a convolution: their layouts, and the sizes of their whole dimensions."""

    def __init__(self, op: str, count: int, data: Tensor, weight: Tensor, layouts: Sequence[str]) -> None:
        spatial = SPATIAL[count]
        self.op = op
        self.data_type, self.weight_type = tensor_type(op, data, "data"), tensor_type(op, weight, "weight")
        self.data_layout = layout_of(op, layouts[0], "NC" + spatial, "data_layout")
        self.weight_layout = layout_of(op, layouts[1], "OI" + spatial, "kernel_layout")
        self.out_layout = layout_of(op, layouts[2], "NC" + spatial, "out_layout")
        self.data = whole_sizes(op, self.data_layout, self.data_type.ndim, self.data_type.sizes, "data")
        self.weight = whole_sizes(
            op, self.weight_layout, self.weight_type.ndim, self.weight_type.sizes, "weight"
        )

    def result(self, sizes: dict[str, Any] | None, out_dtype: DType | None) -> Type:
        """The type of the result whose whole dimensions have these sizes."""
        dtype = out_dtype or common_dtype(self.op, self.data_type, self.weight_type)
        device = common_vdevice(self.op, self.data_type, self.weight_type)
        if sizes is None:
            return TensorType(None, dtype, device, self.out_layout.ndim)
        not_negative(self.op, sizes, "the kernel")
        if not self.out_layout.divides(sizes):
            shape_fault(self.op, f'{show_one(sizes["C"])} channels have no layout "{self.out_layout.text}"')
        return TensorType(settled(self.out_layout.sizes(sizes)), dtype, device)


def _multiple(op: str, size: Expr, groups: int, what: str) -> None:
    if getattr(size, "value", 0) % groups:
        shape_fault(op, f"the {show_one(size)} {what} cannot be parted into {groups} groups")


def show_one(size: Any) -> str:
    """A size as messages write it."""
    return show([size])[1:-2]


def _agree(op: str, channels: Expr, wanted: Expr, groups: int) -> None:
    """Raise a ValueError when the data is known to have other channels than the kernel takes."""
    if Analyzer().can_prove(arith.not_equal(channels, wanted)):
        of = f" in each of {groups} groups" if groups > 1 else ""
        taken = show_one(wanted if groups == 1 else Analyzer().simplify(arith.floordiv(wanted, groups)))
        shape_fault(op, f"the data has {show_one(channels)} channels, but the kernel takes {taken}{of}")


def _infer(
    op: str,
    count: int,
    data: Tensor,
    weight: Tensor,
    strides: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
    layouts: Sequence[str],
    out_dtype: DType | None,
) -> Type:
    both = _Operands(op, count, data, weight, layouts)
    if both.data is None or both.weight is None:
        return both.result(None, out_dtype)
    _agree(op, both.data["C"], both.weight["I"] * groups, groups)
    _multiple(op, both.weight["O"], groups, "output channels")
    sizes = {"N": both.data["N"], "C": both.weight["O"]}
    for k, letter in enumerate(SPATIAL[count]):
        around = padding[k] + padding[count + k]
        sizes[letter] = positions(both.data[letter], both.weight[letter], strides[k], dilation[k], around)
    return both.result(sizes, out_dtype)


def _infer_transpose(
    op: str,
    count: int,
    data: Tensor,
    weight: Tensor,
    strides: Ints,
    padding: Ints,
    output_padding: Ints,
    dilation: Ints,
    groups: int,
    layouts: Sequence[str],
    out_dtype: DType | None,
) -> Type:
    both = _Operands(op, count, data, weight, layouts)
    if any(o >= s or o < 0 for o, s in zip(output_padding, strides)):
        shape_fault(op, f"`output_padding` {list(output_padding)} must be below `strides` {list(strides)}")
    if both.data is None or both.weight is None:
        return both.result(None, out_dtype)
    _agree(op, both.data["C"], both.weight["I"], 1)
    _multiple(op, both.weight["I"], groups, "input channels")
    sizes = {"N": both.data["N"], "C": both.weight["O"] * groups}
    for k, letter in enumerate(SPATIAL[count]):
        reach = (both.weight[letter] - 1) * dilation[k] + 1
        around = output_padding[k] - padding[k] - padding[count + k]
        sizes[letter] = settled([(both.data[letter] - 1) * strides[k] + reach + around])[0]
    return both.result(sizes, out_dtype)


_AXES = {"N": "nn", "C": "ff"}
_PLACES = ("yy", "xx", "zz")
_TAPS = ("ry", "rx", "rz")


def _names(layout: Layout, count: int) -> list[str]:
    """Names of the axes of a result: those of parts get their size."""
    by = {**_AXES, **dict(zip(SPATIAL[count], _PLACES))}
    return [by[letter] + ("" if part is None else f"_{part}") for letter, part in layout.axes]


def _convolve(
    count: int,
    data: te.Tensor,
    kernel: te.Tensor,
    channels: Any,
    strides: Ints,
    dilation: Ints,
    groups: int,
    layouts: Sequence[Layout],
    dtype: DType,
    name: str,
) -> te.Tensor:
    """The sum over the window of padded data times kernel; `channels` is the number of output channels."""
    of_data, of_kernel, of_out = layouts
    spatial = SPATIAL[count]
    whole, window = of_data.gather(data.shape), of_kernel.gather(kernel.shape)
    sizes = {"N": whole["N"], "C": channels}
    for k, letter in enumerate(spatial):
        sizes[letter] = positions(whole[letter], window[letter], strides[k], dilation[k], 0)
    shape = settled(of_out.sizes(sizes))

    def element(*indices: Any) -> Any:
        at = of_out.join(indices)
        taps = {s: te.reduce_axis((0, window[s]), r) for s, r in zip(spatial, _TAPS)}
        taps["C"] = te.reduce_axis((0, window["I"]), "rc")
        axes = [taps[letter] for letter in of_data.letters if letter != "N"]
        group = 0 if groups == 1 else arith.floordiv(at["C"], arith.floordiv(channels, groups)) * window["I"]
        place = {"N": at["N"], "C": group + taps["C"].var}
        tap = {"O": at["C"], "I": taps["C"].var}
        for k, s in enumerate(spatial):
            place[s] = at[s] * strides[k] + taps[s].var * dilation[k]
            tap[s] = taps[s].var
        known = [*zip(indices, shape), *[(r.var, window["I" if t == "C" else t]) for t, r in taps.items()]]
        a = element_of(data, of_data, place, known)
        b = element_of(kernel, of_kernel, tap, known)
        return total(arith.cast(a, dtype) * arith.cast(b, dtype), axes)

    made: te.Tensor = te.compute(shape, element, name, name, varargs_names=_names(of_out, count))
    return made


def _layouts(data_layout: str, kernel_layout: str, out_layout: str) -> tuple[Layout, Layout, Layout]:
    found = find_layout(data_layout), find_layout(kernel_layout), find_layout(out_layout)
    assert found[0] is not None and found[1] is not None and found[2] is not None
    return found[0], found[1], found[2]


def _te(count: int) -> Callable[..., te.Tensor]:
    def conv_te(
        data: te.Tensor,
        weight: te.Tensor,
        strides: Ints,
        padding: Ints,
        dilation: Ints,
        groups: int,
        data_layout: str,
        kernel_layout: str,
        out_layout: str,
        out_dtype: DType | None,
    ) -> te.Tensor:
        layouts = _layouts(data_layout, kernel_layout, out_layout)
        wide = padded(data, layouts[0], SPATIAL[count], padding, const(0, data.dtype))
        channels = layouts[1].gather(weight.shape)["O"]
        name = f"{'group_' if groups > 1 else ''}conv{count}d_{data_layout.lower()}"
        dtype = out_dtype or data.dtype
        return _convolve(count, wide, weight, channels, strides, dilation, groups, layouts, dtype, name)

    return conv_te


def _spread(data: te.Tensor, layout: Layout, strides: Sequence[int], letters: str) -> te.Tensor:
    """The data with zeros between its elements, so that these stand a stride apart."""
    whole, step = layout.gather(data.shape), dict(zip(letters, strides))
    wide = {k: (size - 1) * step[k] + 1 if k in step else size for k, size in whole.items()}

    def element(*indices: Any) -> Any:
        at = layout.join(indices)
        hits = [arith.equal(at[k] % s, 0) for k, s in step.items() if s > 1]
        place = {k: arith.floordiv(i, step.get(k, 1)) for k, i in at.items()}
        taken = data(*layout.indices(place))
        return arith.if_then_else(arith.all_(*hits), taken, const(0, data.dtype)) if hits else taken

    shape = settled(layout.sizes(wide))
    names = [f"i{k}" for k in range(layout.ndim)]
    made: te.Tensor = te.compute(shape, element, "data_dilate", "injective", varargs_names=names)
    return made


def _mirrored(weight: te.Tensor, layout: Layout, letters: str, groups: int) -> te.Tensor:
    """The kernel of the convolution that a transposed one is: mirrored, in the order O, I, dimensions.

    O counts all output channels, I those of a group.
    """
    window = layout.gather(weight.shape)
    inner, outer = arith.floordiv(window["I"], groups), window["O"]
    shape = [arith.mul(outer, groups), inner, *[window[s] for s in letters]]

    def element(o: Any, i: Any, *taps: Any) -> Any:
        group = 0 if groups == 1 else arith.floordiv(o, outer)
        place = {"O": o if groups == 1 else o % outer, "I": group * inner + i}
        place.update({s: window[s] - 1 - t for s, t in zip(letters, taps)})
        return weight(*layout.indices(place))

    names = [s.lower() for s in letters]
    made: te.Tensor = te.compute(shape, element, "kernel_transform", "injective", varargs_names=names)
    return made


def _transpose_te(count: int) -> Callable[..., te.Tensor]:
    def conv_transpose_te(
        data: te.Tensor,
        weight: te.Tensor,
        strides: Ints,
        padding: Ints,
        output_padding: Ints,
        dilation: Ints,
        groups: int,
        data_layout: str,
        kernel_layout: str,
        out_layout: str,
        out_dtype: DType | None,
    ) -> te.Tensor:
        of_data, of_kernel, of_out = _layouts(data_layout, kernel_layout, out_layout)
        letters = SPATIAL[count]
        window = of_kernel.gather(weight.shape)
        reach = [(window[s] - 1) * dilation[k] for k, s in enumerate(letters)]
        before = [r - padding[k] for k, r in enumerate(reach)]
        after = [r - padding[count + k] + output_padding[k] for k, r in enumerate(reach)]
        wide = _spread(data, of_data, strides, letters)
        wide = padded(
            wide, of_data, letters, [_plain(p) for p in (*before, *after)], const(0, data.dtype), "data_pad"
        )
        kernel = _mirrored(weight, of_kernel, letters, groups)
        plain = find_layout("OI" + letters)
        assert plain is not None
        ones = (1,) * count
        return _convolve(
            count,
            wide,
            kernel,
            kernel.shape[0],
            ones,
            dilation,
            groups,
            (of_data, plain, of_out),
            out_dtype or data.dtype,
            f"conv{count}d_transpose",
        )

    return conv_transpose_te


def _plain(size: Any) -> Any:
    return getattr(size, "value", size)


def _numpy(count: int) -> Callable[..., Any]:
    """Convolutions on numpy arrays: the window's elements one after the other, each for all places."""
    letters = SPATIAL[count]

    def conv_numpy(
        data: Any,
        weight: Any,
        strides: Ints,
        padding: Ints,
        dilation: Ints,
        groups: int,
        data_layout: str,
        kernel_layout: str,
        out_layout: str,
        out_dtype: DType | None,
    ) -> Any:
        import numpy as np

        exact = np.float64 if data.dtype.kind not in "iub" else np.int64
        x = to_plain(data, data_layout, "NC" + letters).astype(exact)
        w = to_plain(weight, kernel_layout, "OI" + letters).astype(exact)
        x = np.pad(x, [(0, 0), (0, 0), *zip(padding[:count], padding[count:])])
        reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilation)]
        places = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, strides)]
        out = np.zeros((x.shape[0], w.shape[0], *places), exact)
        for tap in np.ndindex(*w.shape[2:]):
            at = [
                slice(t * d, t * d + (n - 1) * s + 1, s) if n else slice(0, 0)
                for t, d, n, s in zip(tap, dilation, places, strides)
            ]
            seen = x[(slice(None), slice(None), *at)]
            for g in range(groups):
                own, mine = w.shape[1], w.shape[0] // groups
                part = seen[:, g * own : (g + 1) * own]
                one = w[(slice(g * mine, (g + 1) * mine), slice(None), *tap)]
                out[:, g * mine : (g + 1) * mine] += np.einsum("nc...,oc->no...", part, one)
        kind = data.dtype if out_dtype is None else out_dtype.numpy()
        return from_plain(out.astype(kind), "NC" + letters, out_layout)

    return conv_numpy


def _transpose_numpy(count: int) -> Callable[..., Any]:
    """Transposed convolutions on numpy arrays: each element of the data adds a kernel to the result."""
    letters = SPATIAL[count]

    def conv_transpose_numpy(
        data: Any,
        weight: Any,
        strides: Ints,
        padding: Ints,
        output_padding: Ints,
        dilation: Ints,
        groups: int,
        data_layout: str,
        kernel_layout: str,
        out_layout: str,
        out_dtype: DType | None,
    ) -> Any:
        import numpy as np

        exact = np.float64 if data.dtype.kind not in "iub" else np.int64
        x = to_plain(data, data_layout, "NC" + letters).astype(exact)
        w = to_plain(weight, kernel_layout, "IO" + letters).astype(exact)
        full = [
            max((n - 1) * s, 0) + (k - 1) * d + 1 + o
            for n, s, k, d, o in zip(x.shape[2:], strides, w.shape[2:], dilation, output_padding)
        ]
        out = np.zeros((x.shape[0], w.shape[1] * groups, *full), exact)
        own, mine = x.shape[1] // groups, w.shape[1]
        for tap in np.ndindex(*w.shape[2:]):
            at = [slice(t * d, t * d + n * s, s) for t, d, n, s in zip(tap, dilation, x.shape[2:], strides)]
            for g in range(groups):
                part = x[:, g * own : (g + 1) * own]
                one = w[(slice(g * own, (g + 1) * own), slice(None), *tap)]
                where = (slice(None), slice(g * mine, (g + 1) * mine), *at)
                room = out[where]
                room += np.einsum("nc...,co->no...", part, one)[tuple(slice(0, n) for n in room.shape)]
        kept = [slice(p, n - q) for p, q, n in zip(padding[:count], padding[count:], full)]
        out = out[(slice(None), slice(None), *kept)]
        kind = data.dtype if out_dtype is None else out_dtype.numpy()
        return from_plain(out.astype(kind), "NC" + letters, out_layout)

    return conv_transpose_numpy


def _parts(op: str, count: int, transposed: bool = False) -> dict[str, Any]:
    """What the records of convolutions over so many dimensions share."""
    return {
        "prepare": _prepare(op, count),
        "pattern": OpPattern.OUT_FUSIBLE,
        "te": _transpose_te(count) if transposed else _te(count),
        "numpy": _transpose_numpy(count) if transposed else _numpy(count),
        "layout": convolution,
        "mixed": "always",
    }


@relax_op("relax.nn.conv1d", **_parts("nn.conv1d", 1))
def conv1d(
    data: Tensor,
    weight: Tensor,
    strides: Ints = (1,),
    padding: Ints = (0,),
    dilation: Ints = (1,),
    groups: int = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "OIW",
    out_layout: str | None = None,
    out_dtype: DType | None = None,
) -> Type:
    """The sum of a window of the data times the kernel, the window at every place along the width.

    `padding` is one value, or what zeros stand before and after the data.  Groups of channels see only
    their own part of the data.
    """
    layouts = (data_layout, kernel_layout, out_layout or data_layout)
    return _infer("nn.conv1d", 1, data, weight, strides, padding, dilation, groups, layouts, out_dtype)


@relax_op("relax.nn.conv2d", gradient=derivatives.conv2d, **_parts("nn.conv2d", 2))
def conv2d(
    data: Tensor,
    weight: Tensor,
    strides: Ints = (1, 1),
    padding: Ints = (0, 0),
    dilation: Ints = (1, 1),
    groups: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str | None = None,
    out_dtype: DType | None = None,
) -> Type:
    """The sum of a window of the data times the kernel, the window at every place of height and width.

    `padding` is one value, two (both sides of the height, of the width) or four (top, left, bottom,
    right) of zeros around the data.  Groups of channels see only their own part of the data.
    """
    layouts = (data_layout, kernel_layout, out_layout or data_layout)
    return _infer("nn.conv2d", 2, data, weight, strides, padding, dilation, groups, layouts, out_dtype)


@relax_op("relax.nn.conv3d", **_parts("nn.conv3d", 3))
def conv3d(
    data: Tensor,
    weight: Tensor,
    strides: Ints = (1, 1, 1),
    padding: Ints = (0, 0, 0),
    dilation: Ints = (1, 1, 1),
    groups: int = 1,
    data_layout: str = "NCDHW",
    kernel_layout: str = "OIDHW",
    out_layout: str | None = None,
    out_dtype: DType | None = None,
) -> Type:
    """The sum of a window of the data times the kernel, at every place of depth, height and width.

    `padding` is one value, three (both sides of each dimension) or six (before all, after all) of zeros
    around the data.  Groups of channels see only their own part of the data.
    """
    layouts = (data_layout, kernel_layout, out_layout or data_layout)
    return _infer("nn.conv3d", 3, data, weight, strides, padding, dilation, groups, layouts, out_dtype)


@relax_op("relax.nn.conv1d_transpose", **_parts("nn.conv1d_transpose", 1, transposed=True))
def conv1d_transpose(
    data: Tensor,
    weight: Tensor,
    strides: Ints = (1,),
    padding: Ints = (0,),
    output_padding: Ints = (0,),
    dilation: Ints = (1,),
    groups: int = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "IOW",
    out_layout: str | None = None,
    out_dtype: DType | None = None,
) -> Type:
    """Each element of the data adds the kernel to the result, a stride from its neighbour's.

    `padding` is what is left out of the result before and after; `output_padding` makes it longer at its
    end, by less than a stride.
    """
    layouts = (data_layout, kernel_layout, out_layout or data_layout)
    given = (strides, padding, output_padding, dilation, groups, layouts, out_dtype)
    return _infer_transpose("nn.conv1d_transpose", 1, data, weight, *given)


@relax_op("relax.nn.conv2d_transpose", **_parts("nn.conv2d_transpose", 2, transposed=True))
def conv2d_transpose(
    data: Tensor,
    weight: Tensor,
    strides: Ints = (1, 1),
    padding: Ints = (0, 0),
    output_padding: Ints = (0, 0),
    dilation: Ints = (1, 1),
    groups: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "IOHW",
    out_layout: str | None = None,
    out_dtype: DType | None = None,
) -> Type:
    """Each element of the data adds the kernel to the result, a stride from its neighbours'.

    `padding` is what is left out of the result on all sides, as in a convolution; `output_padding` makes
    it larger at the end of height and width, by less than a stride.
    """
    layouts = (data_layout, kernel_layout, out_layout or data_layout)
    given = (strides, padding, output_padding, dilation, groups, layouts, out_dtype)
    return _infer_transpose("nn.conv2d_transpose", 2, data, weight, *given)


@relax_op("relax.nn.conv3d_transpose", **_parts("nn.conv3d_transpose", 3, transposed=True))
def conv3d_transpose(
    data: Tensor,
    weight: Tensor,
    strides: Ints = (1, 1, 1),
    padding: Ints = (0, 0, 0),
    output_padding: Ints = (0, 0, 0),
    dilation: Ints = (1, 1, 1),
    groups: int = 1,
    data_layout: str = "NCDHW",
    kernel_layout: str = "IODHW",
    out_layout: str | None = None,
    out_dtype: DType | None = None,
) -> Type:
    """Each element of the data adds the kernel to the result, a stride from its neighbours'.

    `padding` is what is left out of the result on all sides, as in a convolution; `output_padding` makes
    it larger at the end of each dimension, by less than a stride.
    """
    layouts = (data_layout, kernel_layout, out_layout or data_layout)
    given = (strides, padding, output_padding, dilation, groups, layouts, out_dtype)
    return _infer_transpose("nn.conv3d_transpose", 3, data, weight, *given)


__all__ = [
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
]
