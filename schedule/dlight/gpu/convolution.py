"""The rule for convolutions."""

from __future__ import annotations

from ...schedule import Schedule
from ..rule import Taken
from .machine import GpuMachine
from .matmul import schedule_product


def convolution(sch: Schedule, machine: GpuMachine) -> Taken | None:
    """A convolution as a product: rows are the places in images, the sum runs over the window and channels.

    What is multiplied is copied from the images to shared memory as needed.  One without a sum over
    channels is no product of matrices, and left to others.
    """
    return schedule_product(sch, machine, moving=True)
