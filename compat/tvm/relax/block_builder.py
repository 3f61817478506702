"""`tvm.relax.block_builder`: making graphs binding by binding."""

from __future__ import annotations

from ....ir.relax import BindingBlock
from ....ir.relax import BlockBuilder as _BlockBuilder
from ...adapters import lacking


class BlockBuilder(_BlockBuilder):
    """The builder, with the peer's way to make blocks outside of functions."""

    def _begin_binding_block(self) -> None:
        """Begin a block; what is emitted goes to it until it ends."""
        self.begin_scope()

    def _begin_dataflow_block(self) -> None:
        """Begin a dataflow block."""
        self.begin_scope()
        self.open_block(True)

    def _end_block(self) -> BindingBlock:
        """End the block that began last."""
        blocks = self.end_scope()
        return blocks[-1] if blocks else BindingBlock(())


__getattr__ = lacking("tvm.relax.block_builder")

__all__ = ["BlockBuilder"]
