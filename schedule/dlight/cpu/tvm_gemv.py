"""TVM's schedule of a product of a matrix and a vector on processors, for those who ask for it by name."""

from __future__ import annotations

from ...schedule import Schedule
from ..blocks import extent_of
from ..rule import Taken
from ..vector_product import arrange, vector_product


def tvm_gemv(sch: Schedule) -> Taken | None:
    """Neighbouring results are the lanes of vectors; blocks of them run in parallel.

    Producers of the operands become part of the product; what is done with its results stays as it is.
    None for other functions, and where the terms of a result do not lie side by side in the matrix.
    """
    found = vector_product(sch)
    loops = None if found is None else arrange(sch, found.info)
    if found is None or loops is None or not loops.inner:
        return None
    rows, terms = extent_of(sch, loops.rows), extent_of(sch, loops.terms)
    group = extent_of(sch, loops.group) or 1
    lanes, steps = 64, 64
    if rows is not None and terms is not None:
        lanes, steps = (128, 64) if rows > terms * group else (64, 128)
    block, lane = sch.split(loops.rows, [None, lanes])
    outer, _ = sch.split(loops.terms, [None, steps])
    sch.split(loops.group, [None, min(group, 8)])
    sch.parallel(block)
    sch.vectorize(lane)
    sch.annotate(outer, "pragma_auto_unroll_max_step", 256)
    sch.annotate(outer, "pragma_unroll_explicit", 1)
    return Taken((found.block,), "a product with a vector, in the manner of TVM")
