"""The rule for products of matrices."""

from __future__ import annotations

from ...schedule import Schedule
from ..program import facts
from ..rule import Taken
from . import registers, tensor_cores
from .common import attempt_all, bind_flat
from .machine import GpuMachine
from .product import Product, common_form, find_product


def matmul(sch: Schedule, machine: GpuMachine) -> Taken | None:
    """A product of matrices, or a batch of them, in tiles that stay in registers for the whole sum.

    Copies of the operands in shared memory run ahead where the device can do so.  The tiles are computed by
    tensor cores where they know the types, otherwise by all threads; what does not fill them is padded with
    zeros.
    """
    return schedule_product(sch, machine, moving=False)


def schedule_product(sch: Schedule, machine: GpuMachine, moving: bool) -> Taken | None:
    """Schedule the function if it is a product, and nothing else that combines values; None otherwise."""
    found = find_product(sch, moving)
    if found is None:
        return None
    product = common_form(sch, *found)
    why = _on_tensor_cores(sch, product, machine) or registers.schedule(sch, product, machine)
    for rv in product.rest:
        bind_flat(sch, sch.get_loops(rv), machine.threads)
    return Taken((product.block, *product.rest), why)


def _on_tensor_cores(sch: Schedule, product: Product, machine: GpuMachine) -> str | None:
    types = tensor_cores.types_of(facts(sch, product.block), machine)
    tile = tensor_cores.choose(*product.sizes(sch)[:2], machine)
    if (
        types is None
        or tile is None
        or not attempt_all(sch, tensor_cores.schedule, sch, product, types, tile)
    ):
        return None
    return f"a product: blocks of {tile.rows} by {tile.columns} on tensor cores"
