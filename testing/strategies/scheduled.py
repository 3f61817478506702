"""Small programs to schedule, and for each the primitives that it was written for."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ...ir import PrimFunc
from ...script import parse
from . import templates_maps, templates_sums

TEMPLATES: dict[str, str] = {
    name.lower(): text
    for module in (templates_maps, templates_sums)
    for name, text in vars(module).items()
    if name.isupper() and not name.startswith("_")
}
"""The text of each program, with places for sizes."""

AIMS: dict[str, tuple[str, ...]] = {
    "argmax": ("rfactor", "decompose_reduction"),
    "bias": ("fuse_reduction_epilogue[bias]", "reverse_compute_inline"),
    "bias_relu": ("fuse_reduction_epilogue[relu]", "reverse_compute_at"),
    "clip": ("fuse_reduction_epilogue[clip]", "reverse_compute_inline"),
    "conv_2d": ("decompose_padding", "compute_at", "set_scope", "storage_align"),
    "conv_pad": ("decompose_padding", "compute_at", "compute_inline"),
    "dot": ("tensorize[loop]", "tensorize[no_unit_iters]"),
    "elementwise": ("compute_at", "compute_inline", "reverse_compute_at", "reverse_compute_inline"),
    "fold_max": ("rfactor", "decompose_reduction"),
    "fold_product": ("rfactor", "decompose_reduction"),
    "halo": ("rolling_buffer", "decompose_reduction"),
    "in_place": ("cache_inplace",),
    "indexed": ("cache_index", "annotate_buffer_access"),
    "lanes": ("tensorize[loop]", "tensorize[no_unit_iters]", "pad_einsum"),
    "long": ("unsafe_set_dtype", "transform_layout", "set_scope", "storage_align"),
    "matmul": ("decompose_reduction", "rfactor", "pad_einsum", "blockize"),
    "matmul_relu": ("reverse_compute_at", "decompose_reduction", "set_scope", "cache_write[consumers]"),
    "noted": ("unannotate", "transform_block_layout"),
    "outer": ("tensorize[loop]", "tensorize[no_unit_iters]", "blockize"),
    "pad": ("decompose_padding", "compute_inline"),
    "pool": ("rolling_buffer", "compute_at"),
    "row_sum": ("rfactor", "decompose_reduction", "sample_compute_location"),
    "siblings": ("merge",),
    "side_by_side": ("merge[two]",),
    "symbolic_in_place": ("cache_inplace", "blockize"),
    "symbolic_sum": ("rfactor", "decompose_reduction"),
    "three": ("merge", "cache_write[consumers]"),
    "tiled_dot": ("tensorize[block]",),
    "two_outputs": ("transform_layout", "storage_align", "set_scope"),
    "window": ("rolling_buffer", "read_at"),
}
"""The primitives, or steps, for which a program has rare places; the others are for anything."""

_SIZES = st.sampled_from([1, 2, 3, 4, 5, 6, 8])
_LANES = st.sampled_from([4, 8])


def program(name: str, **sizes: int) -> PrimFunc:
    """A program of the table with these sizes (4 where not given)."""
    made: Any = parse(TEMPLATES[name].format(**{"n": 4, "m": 4, "k": 4, "v": 4, **sizes}))
    assert isinstance(made, PrimFunc)
    return made


@st.composite
def named_programs(draw: st.DrawFn) -> tuple[str, PrimFunc]:
    """One of the programs with small sizes, and its name."""
    name = draw(st.sampled_from(sorted(TEMPLATES)))
    return name, program(name, n=draw(_SIZES), m=draw(_SIZES), k=draw(_SIZES), v=draw(_LANES))


def programs() -> st.SearchStrategy[PrimFunc]:
    """One of the programs with small sizes."""
    return named_programs().map(lambda found: found[1])
