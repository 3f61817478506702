# ruff: noqa: E501
"""The primitives as methods. Made by methods_stub.py: run it when a signature changes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..dtype import DType
from ..ir.expr import Expr, IndexMap, Var
from .handles import LoopRV, SBlockRV

class Methods:
    def add_unit_loop(self, block_or_loop: LoopRV | SBlockRV | str) -> LoopRV:
        """Put a loop of one iteration around a block or loop.

        Every handle is kept.
        """

    def annotate(
        self,
        block_or_loop: LoopRV | SBlockRV | str,
        ann_key: str,
        ann_val: str | int | float | Expr | Sequence[Any] | Mapping[str, Any],
    ) -> None:
        """Set an annotation of a loop or block; one that is there already stays as it is.

        Every handle is kept.
        """

    def annotate_buffer_access(
        self,
        block: SBlockRV | str,
        buffer_index: int | str | Var,
        buf_type: str,
        gen_new_ranges: Callable[..., Any] | IndexMap,
    ) -> None:
        """State what part of a buffer a block reads or writes, in place of what analysis finds.

        `gen_new_ranges` takes the axes and gives for each dimension an index, or begin and end.  The
        caller answers for it that all accesses are inside.  Every handle is kept.
        """

    def bind(self, loop: LoopRV, thread_axis: str) -> None:
        """Run the iterations of a loop on the threads of an axis: blockIdx, threadIdx or vthread.

        Every handle is kept.
        """

    def blockize(
        self,
        target: LoopRV | SBlockRV | str | Sequence[SBlockRV | str],
        preserve_unit_iters: bool = True,
    ) -> SBlockRV:
        """Make a block of a loop with all that stands in it, or of a block or several that stand in a row.

        Each axis of the block inside is divided into an outer and an inner part.  Of a reduction the
        initialiser moves to the new block.  Every handle is kept, the block's handle names the inner
        block; the result is the outer one.
        """

    def cache_index(self, block: SBlockRV | str, storage_scope: str, cse_thresh: int = 0) -> list[SBlockRV]:
        """Compute the indices of what a block loads into buffers, at the start of its scope.

        With `cse_thresh` up to 1 each index that is no plain axis; above, each part of an index that occurs
        so many times.  Every handle is kept; those of the new blocks are returned, none where there is nothing.
        """

    def cache_inplace(
        self,
        block: SBlockRV | str,
        read_buffer_index: int | str | Var,
        storage_scope: str,
    ) -> list[SBlockRV]:
        """Let a block that reads and writes a buffer work on a copy: copied in just before it, back just after.

        Every handle is kept; those of the two new blocks are returned, first the one before the block.
        """

    def cache_read(
        self,
        block: SBlockRV | str,
        read_buffer_index: int | str | Var,
        storage_scope: str,
        consumer_blocks: Sequence[SBlockRV | str] | None = None,
    ) -> SBlockRV:
        """Copy a buffer that the block reads to a new buffer, and let its readers read that.

        The copy is made once the buffer is written, before the first reader; all readers in the scope take
        it, or those given (before a buffer is written, the readers of what was in it).  Every handle is
        kept; the new block's is returned.
        """

    def cache_write(
        self,
        block: SBlockRV | str,
        write_buffer_index: int | str | Var,
        storage_scope: str,
        consumer_blocks: Sequence[SBlockRV | str] | None = None,
    ) -> SBlockRV:
        """Let the block write a new buffer, which another block then copies to the old one.

        Consumers that are given read the new buffer.  The copy is made before the first other consumer of
        the block, at the end of the scope where there is none.  Every handle is kept; the new block's is
        returned.
        """

    def compute_at(
        self,
        block: SBlockRV | str,
        loop: LoopRV,
        preserve_unit_loops: bool = False,
        index: int = -1,
    ) -> None:
        """Compute a block inside a loop of its consumers, each time what they need in that iteration.

        `index` is the place among the statements of the loop: -1 the last possible, -2 the first.  The
        block's handle is kept; those of the loops that held only it are consumed; all others are kept.
        `loop` may be a mark of `sample_compute_location`: the block stays where it is, or is inlined.
        """

    def compute_inline(self, block: SBlockRV | str) -> None:
        """Put the value that a block computes where it is read; the block and its buffer are gone.

        The block's handle and those of loops that held only it are consumed; all others are kept.
        """

    def decompose_padding(self, block: SBlockRV | str, loop: LoopRV) -> SBlockRV:
        """Fill with the constant just before a loop, and let the block copy only what is inside.

        The block's handle names the copy; the result is the block that fills; all handles are kept.
        """

    def decompose_reduction(self, block: SBlockRV | str, loop: LoopRV) -> SBlockRV:
        """Run the initialiser of a reduction block as a block of its own, just before a loop around it.

        The block's handle names the update, which no longer has an initialiser; the result is the
        block of the initialiser; all handles are kept.  Where only the scope sees the results all of them are
        initialised, and reductions of them need no longer leave out those without a step.
        """

    def enter_postproc(self) -> None:
        """Mark in the trace where postprocessing starts; the program stays as it is."""

    def fuse(self, *loops: LoopRV, preserve_unit_iters: bool = True) -> LoopRV:
        """Make one loop of loops that stand directly in each other, outermost first.

        Handles of the fused loops are consumed; all others are kept.
        """

    def fuse_reduction_epilogue(
        self,
        reduction_block: SBlockRV | str,
        epilogue_block: SBlockRV | str,
    ) -> None:
        """Let a sum store what its consumer computes of it: the sum plus a bias, its ReLU, or clipped.

        A bias becomes the initial value.  What is not linear is stored anew in each step of the
        reduction, from the sum so far, so that the last step leaves the right result.  The handle of
        the epilogue is consumed; all others are kept.
        """

    def get_child_blocks(self, block_or_loop: SBlockRV | str | LoopRV) -> list[SBlockRV]:
        """The blocks directly below a block or loop, in program order."""

    def get_consumers(self, block: SBlockRV | str) -> list[SBlockRV]:
        """The blocks of the same scope that read (or later write) what this one writes."""

    def get_loops(self, block: SBlockRV | str) -> list[LoopRV]:
        """The loops around a block, up to the block around it, outer ones first."""

    def get_output_blocks(self, scope_block: SBlockRV | str) -> list[SBlockRV]:
        """The blocks below, at any depth, that write what the block directly around them does not allocate."""

    def get_producers(self, block: SBlockRV | str) -> list[SBlockRV]:
        """The blocks of the same scope that write what this one reads (or writes later)."""

    def get_sblock(self, name: str, func_name: str | None = None) -> SBlockRV:
        """The block of this name in a function (by default the one being worked on)."""

    def loop_partition(
        self,
        loop: LoopRV,
        factors: Sequence[int | Expr | None],
        preserve_unit_iters: bool = True,
    ) -> list[LoopRV]:
        """Cut a loop into loops over consecutive ranges of these lengths.

        One length may be None or -1 and becomes what is left; without, what is left is a further loop.
        Each loop stands in a block of its own, all of them in one.  Handles of the loop and of what
        stands in it are consumed.
        """

    def merge(self, *loops: LoopRV) -> LoopRV:
        """Make one nest of nests that stand side by side, each given by its innermost loop.

        What stood in them keeps its order; names are those of the nest given first.  Handles of the loops of
        all nests are consumed; all others are kept.
        """

    def pad_einsum(self, block: SBlockRV | str, padding: Sequence[int]) -> None:
        """Let the axes of a block run to multiples of these numbers; what it reads is padded with zeros.

        What it writes is cut back to the old size.  Every handle is kept.
        """

    def parallel(self, loop: LoopRV) -> None:
        """Run the iterations of a loop on several threads.

        Every handle is kept.
        """

    def read_at(
        self,
        loop: LoopRV,
        block: SBlockRV | str,
        read_buffer_index: int | str | Var,
        storage_scope: str,
    ) -> SBlockRV:
        """Copy what the blocks in a loop read of a buffer, in each iteration, with one block marked `auto_copy`.

        Every handle is kept; the new block's is returned.
        """

    def reindex(self, block: SBlockRV | str, buffer: tuple[str, int] | str | Var) -> SBlockRV:
        """Let a block access a copy of a buffer that has its axes as dimensions: those that index the buffer.

        A buffer read is copied before the block, one written after it.  Every handle is kept; the new
        block's is returned.
        """

    def reindex_cache_read(
        self,
        block: SBlockRV | str,
        read_buffer_index: int | str | Var,
        storage_scope: str,
        index_map: IndexMap | Callable[..., Any],
    ) -> SBlockRV:
        """Copy what a block reads of a buffer to a new buffer in the layout that `index_map` gives over its axes.

        Every handle is kept; the new block's is returned.
        """

    def reindex_cache_write(
        self,
        block: SBlockRV | str,
        write_buffer_index: int | str | Var,
        storage_scope: str,
        index_map: IndexMap | Callable[..., Any],
    ) -> SBlockRV:
        """Let a block write a new buffer in the layout that `index_map` gives over its axes, and copy that back.

        Every handle is kept; the new block's is returned.
        """

    def reorder(self, *ordered_loops: LoopRV) -> None:
        """Let loops of one chain stand in this order; others between them keep their places.

        Every handle is kept.
        """

    def reorder_block_iter_var(self, block: SBlockRV | str, new_order: Sequence[int]) -> None:
        """Let the axes of a block stand in this order (positions of the old axes).

        Every handle is kept.
        """

    def reverse_compute_at(
        self,
        block: SBlockRV | str,
        loop: LoopRV,
        preserve_unit_loops: bool = False,
        index: int = -1,
    ) -> None:
        """Compute a block inside a loop of its producers, each time what their results of that iteration allow.

        `index` is the place among the statements of the loop: -1 the last possible, -2 the first.  The
        block's handle is kept; those of the loops that held only it are consumed; all others are kept.
        `loop` may be a mark of `sample_compute_location`: the block stays where it is, or is inlined.
        """

    def reverse_compute_inline(self, block: SBlockRV | str) -> None:
        """Let the producer of what a block reads compute the block's result at once.

        The producer keeps its handle and name; the block's handle and those of loops that held only
        it are consumed; all others are kept.
        """

    def rfactor(self, loop: LoopRV, factor_axis: int) -> SBlockRV:
        """Compute a reduction in two steps: partial results for each iteration of a loop, then their reduction.

        Partial results go to a new buffer with the loop as dimension `factor_axis` (negative: from the
        end).  The order in which values are combined changes, so of equal extremes argmin and argmax may
        keep another.  Handles of the block and of the loops around it name the second step; those of
        other loops of the reduction are consumed; the result is the block of the partial results.
        """

    def rolling_buffer(self, block: SBlockRV | str, write_buffer_index: int) -> None:
        """Fold a buffer to the window that moves over it, and compute only what is new in each iteration.

        Axes that follow the loop of the window become opaque: their order counts from now on.  Every
        handle is kept.
        """

    def sample_categorical(
        self,
        candidates: Sequence[int],
        probs: Sequence[float],
        decision: int | None = None,
    ) -> Var:
        """One of the candidates, drawn by weight; the decision is its position."""

    def sample_compute_location(self, block: SBlockRV | str, decision: int | None = None) -> LoopRV:
        """A loop at which the block may be computed, or one of the marks: root (-1), inline (-2).

        The decision counts the candidate loops from the outermost.  A decision that is not possible
        here counts as root.
        """

    def sample_partitioned_tile(
        self,
        loop: LoopRV,
        n: int,
        partition_pos: int = 0,
        innerpart_factor: int = 1,
        decision: Sequence[int] | None = None,
    ) -> list[Var]:
        """`n` factors whose product is the loop's extent.

        The product of those from `partition_pos` on is a multiple of `innerpart_factor`; where that
        cannot be, or the extent is not constant, the factors are trivial.
        """

    def sample_perfect_tile(
        self,
        loop: LoopRV,
        n: int,
        max_innermost_factor: int = 16,
        decision: Sequence[int] | None = None,
    ) -> list[Var]:
        """`n` factors whose product is the loop's extent, the innermost at most the limit (-1: none).

        A decision whose product is wrong is repaired from the inside out.  For an extent that is not
        constant the factors are -1, 1, ..., 1.
        """

    def set_scope(self, block: SBlockRV | str, buffer_index: int | str | Var, storage_scope: str) -> None:
        """Keep a buffer that the block writes in another storage scope; views of it follow.

        Every handle is kept.
        """

    def split(
        self,
        loop: LoopRV,
        factors: Sequence[int | Expr | None],
        preserve_unit_iters: bool = True,
        disable_predication: bool = False,
    ) -> list[LoopRV]:
        """Split a loop into nested loops with these extents, outermost first.

        One factor may be None or -1: it becomes what is needed.  Where the product is larger than the
        extent, blocks below get a predicate, unless `disable_predication` says that the caller knows
        better.  The loop's handle is consumed; all others are kept.
        """

    def storage_align(
        self,
        block: SBlockRV | str,
        buffer_index: int | str | Var,
        axis: int,
        factor: int,
        offset: int,
    ) -> None:
        """Ask that the stride of a dimension of a written buffer be `k * factor + offset`, when it gets memory.

        Every handle is kept.
        """

    def tensorize(
        self,
        block_or_loop: LoopRV | SBlockRV | str,
        tensor_intrin: str,
        preserve_unit_iters: bool = True,
    ) -> None:
        """Let a registered intrinsic compute what a block, or a loop with all in it, computes.

        A loop is made a block first (as by `blockize`).  Handles of what stands in the block are
        consumed; all others are kept.  Raises a ValueError for an intrinsic that is not registered.
        """

    def transform_block_layout(self, block: SBlockRV | str, index_map: IndexMap | Callable[..., Any]) -> None:
        """Run a block over the axes that an index map, which is one to one, makes of its axes.

        The loops that bound the axes are consumed, with their kinds and annotations; the new ones are serial.
        All other handles are kept.
        """

    def transform_layout(
        self,
        block: SBlockRV | str,
        buffer: tuple[str, int] | str | Var,
        index_map: IndexMap | Callable[..., Any],
        pad_value: int | float | Expr | IndexMap | Callable[..., Any] | None = None,
        *,
        assume_injective_transform: bool = False,
    ) -> None:
        """Store each element of a buffer at the indices that the map gives for its old ones.

        Where the new shape has room for more elements, these get the pad value: of new indices, or a
        constant.  A parameter changes its shape; padding in one that is only read is assumed to hold
        the value.  Every handle is kept, but loops that run over padding, too, are consumed.
        `assume_injective_transform` leaves out the check that the map is one to one.
        """

    def unannotate(self, block_or_loop: LoopRV | SBlockRV | str, ann_key: str) -> None:
        """Remove an annotation of a loop or block. Refused when it has none of this key.

        Every handle is kept.
        """

    def unroll(self, loop: LoopRV) -> None:
        """Write out the iterations of a loop one after another; always allowed.

        Every handle is kept.
        """

    def unsafe_hide_buffer_access(
        self,
        block: SBlockRV | str,
        buf_type: str,
        buf_index_array: Sequence[int],
    ) -> None:
        """Take regions out of what a block is said to read or write: later steps do not see these accesses.

        Every handle is kept.
        """

    def unsafe_set_dtype(
        self,
        block: SBlockRV | str,
        buffer_index: int | str | Var,
        dtype: str | DType,
    ) -> None:
        """Keep the elements of a written buffer in another type, cast at each access: results may change.

        Every handle is kept.
        """

    def vectorize(self, loop: LoopRV) -> None:
        """Run the iterations of a loop as lanes of vectors.

        Every handle is kept.
        """

    def write_at(
        self,
        loop: LoopRV,
        block: SBlockRV | str,
        write_buffer_index: int | str | Var,
        storage_scope: str,
    ) -> SBlockRV:
        """Let a block in a loop write a new buffer, and copy what it wrote back in each iteration.

        The copy is one block marked `auto_copy`.  Every handle is kept; the new block's is returned.
        """
