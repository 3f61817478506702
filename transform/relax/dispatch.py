"""Passes that send operators to libraries on some devices; on the CPU operators have kernels of their own."""

from __future__ import annotations

from ...ir import IRModule
from ..registry import register_pass


@register_pass("relax.DispatchSampling")
def dispatch_sampling(mod: IRModule) -> IRModule:
    """Nothing changes: sampling operators have kernels of their own, whose legalization makes them.

    On devices of other kinds libraries sample; there is no back end for these yet.

    before:
        @R.function
        def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            y = R.exp(x)
            return y
    after:
        @R.function
        def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            y = R.exp(x)
            return y
    """
    return mod


@register_pass("relax.DispatchSortScan")
def dispatch_sort_scan(mod: IRModule, index_bits: int | None = None) -> IRModule:
    """Nothing changes: sorts and scans have kernels of their own, whose legalization makes them.

    On devices of other kinds libraries sort; there is no back end for these yet.

    before:
        @R.function
        def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            y = R.cumsum(x, axis=0)
            return y
    after:
        @R.function
        def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            y = R.cumsum(x, axis=0)
            return y
    """
    return mod
