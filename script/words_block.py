"""Blocks: `T.sblock`, its axes, regions, predicate, attributes and initialiser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..dtype import DType
from ..errors import Diagnostic, DTypeError, Span, UnsupportedError
from ..ir import (
    INT32,
    BufferLoad,
    BufferRegion,
    Expr,
    IntImm,
    IterVar,
    PrimType,
    Range,
    SBlock,
    SBlockRealize,
    Stmt,
    Var,
    const,
)
from ..ir.promote import convert, operand
from ..node import Attrs
from .builder import BlockState, Builder, attr_value
from .expr import point
from .extent import range_of
from .faults import describe, fault
from .stmt import Frame, as_condition
from .values import Form, Namespace, SteppedRegion, is_buffer

if TYPE_CHECKING:
    pass

TRUE = const(True, "bool")


class BlockFrame(Frame):
    """`with T.sblock(name):`"""

    def __init__(self, name: str, no_realize: bool, script_name: str) -> None:
        self.name = name
        self.no_realize = no_realize
        self.script_name = script_name

    def enter(self, b: Builder, span: Span | None) -> Any:
        """Open the block's scope."""
        b.has_block = True
        b.open("block", BlockState(b.block_name(self.name), not self.no_realize))
        return None

    def leave(self, b: Builder, span: Span | None) -> None:
        """Close it and add the block."""
        state = b.scopes[-1].block
        assert state is not None
        body = b.close()
        made = make_block(state, body, self.no_realize, span)
        if len(b.scopes) == 1 and isinstance(made, SBlockRealize) and not state.iter_vars:
            # where it is all of the function it is the root block, whose regions are not inferred
            b.root_block = made, state.reads is None, state.writes is None
        b.emit(made)


def make_block(state: BlockState, body: Stmt, no_realize: bool, span: Span | None) -> Stmt:
    """The block that its words described; regions that were left out are inferred."""
    reads, writes = state.reads, state.writes
    block = SBlock(
        state.iter_vars,
        reads or (),
        writes or (),
        state.name,
        body,
        state.init,
        state.alloc_buffers,
        state.match_buffers,
        attr_value(state.annotations or {}),
        None,
        span,
    )
    if reads is None or writes is None:
        block = infer_regions(block, reads is None, writes is None)
    if no_realize:
        return block
    predicate = TRUE if state.predicate is None else state.predicate
    return SBlockRealize(state.iter_values, predicate, block, span)


def without_inferred(realize: SBlockRealize, reads: bool, writes: bool) -> SBlockRealize:
    """The root block with those regions empty that its text leaves out."""
    block = realize.block
    block = block.replace(reads=() if reads else block.reads, writes=() if writes else block.writes)
    return realize.replace(block=block)


def infer_regions(block: SBlock, reads: bool, writes: bool) -> SBlock:
    """The block with the regions that its body touches filled in."""
    from ..ir.analysis.regions import block_access_regions

    found_reads, found_writes = block_access_regions(block)
    return block.replace(
        reads=found_reads if reads else block.reads, writes=found_writes if writes else block.writes
    )


class InitFrame(Frame):
    """`with T.init():`"""

    script_name = "T.init"

    def __init__(self, b: Builder) -> None:
        state = b.block("T.init")
        if state.init is not None:
            raise _twice("T.init", b)
        self.state = state

    def enter(self, b: Builder, span: Span | None) -> Any:
        """Open its scope."""
        b.open("init")
        return None

    def leave(self, b: Builder, span: Span | None) -> None:
        """Close it: the statements are the initialiser."""
        self.state.init = b.close()


def _twice(word: str, b: Builder) -> Any:
    return fault("duplicate-declaration", f"`{word}` stands twice in this block", b.span)


def sblock(b: Builder, /, name: str = "", no_realize: bool = False, exec_scope: str = "") -> BlockFrame:
    """`with T.sblock("name"):`"""
    if exec_scope:
        raise UnsupportedError(
            Diagnostic(
                "unsupported", "`exec_scope` of T.sblock is not supported yet: it is of the device layer"
            )
        )
    if not isinstance(name, str):
        raise DTypeError(Diagnostic("invalid-argument", f"a block's name is a text, not {describe(name)}"))
    if not isinstance(no_realize, bool):
        raise DTypeError(Diagnostic("invalid-argument", f"no_realize is a bool, not {describe(no_realize)}"))
    return BlockFrame(name, no_realize, "T.sblock")


# axes


def _domain(dom: Any, dtype: Any) -> Range:
    if isinstance(dom, Range):
        return dom
    if isinstance(dom, tuple | list):
        if len(dom) != 2:
            raise DTypeError(Diagnostic("axis-domain", "a domain is an extent or a pair (begin, end)"))
        return range_of(dom[0], dom[1])
    return Range(0, dom)


def _axis(word: str, kind: int) -> Callable[..., Var]:
    def run(b: Builder, /, dom: Any, binding: Any = None, dtype: Any = "int32") -> Var:
        state = b.block(f"T.axis.{word}")
        if binding is None:
            if state.realized:
                raise fault(
                    "wrong-arguments",
                    f"`T.axis.{word}` misses its binding, the value that the axis takes",
                    b.span,
                    help=("only blocks with `no_realize=True` have axes without one",),
                )
            binding = 0
        domain = _domain(dom, dtype)
        value = operand(binding)
        ty = _axis_type(domain, value, dtype)
        return add_axis(b, state, _converted(domain, ty), kind, value, ty)

    return run


def _axis_type(domain: Range, value: Expr, dtype: Any) -> PrimType:
    wanted = DType(str(dtype))
    made = domain.extent.dtype
    if not isinstance(domain.extent, IntImm) or made is not INT32.dtype:
        return PrimType(made)
    if wanted is not INT32.dtype:
        return PrimType(wanted)
    return PrimType(value.dtype if value.dtype.is_integral and not isinstance(value, IntImm) else made)


def _converted(domain: Range, ty: PrimType) -> Range:
    if domain.extent.ty is ty and domain.min.ty is ty:
        return domain
    return Range(convert(domain.min, ty.dtype), convert(domain.extent, ty.dtype))


def add_axis(b: Builder, /, state: BlockState, domain: Range, kind: int, value: Expr, ty: PrimType) -> Var:
    """Add an axis to the block; gives its variable, to be named by the assignment."""
    if value.ty is not ty:
        value = convert(value, ty.dtype)
    var: Var = b.make(Var("v", ty, b.span))
    state.iter_vars.append(IterVar(domain, var, kind, "", b.span))
    state.iter_values.append(value)
    return var


def remap(b: Builder, /, kinds: str, bindings: Any, dtype: Any = "int32") -> Any:
    """`T.axis.remap("SR", [i, k])`: one axis for each loop variable, with the loop's range."""
    state = b.block("T.axis.remap")
    if not isinstance(kinds, str) or not isinstance(bindings, list | tuple):
        raise DTypeError(
            Diagnostic("axis-remap", 'T.axis.remap takes a text such as "SR" and a list of loop variables')
        )
    if len(kinds) != len(bindings):
        raise DTypeError(Diagnostic("axis-remap", f"{len(kinds)} kinds for {len(bindings)} variables"))
    made = []
    for letter, binding in zip(kinds, bindings):
        kind = _KINDS.get(letter)
        if kind is None:
            raise DTypeError(
                Diagnostic("axis-kind", f"`{letter}` is no kind of axis", help=("S: spatial, R: reduction",))
            )
        binding = binding.var if isinstance(binding, IterVar) else binding
        domain = b.loop_ranges.get(binding) if isinstance(binding, Var) else None
        if domain is None:
            raise DTypeError(
                Diagnostic(
                    "axis-remap",
                    f"{describe(binding)} is no loop variable",
                    help=("use T.axis.spatial or T.axis.reduce",),
                )
            )
        made.append(add_axis(b, state, domain, kind, binding, binding.ty))  # type: ignore[arg-type]
    return made[0] if len(made) == 1 else tuple(made)


_KINDS = {"S": IterVar.DATA_PAR, "R": IterVar.COMM_REDUCE}


# regions and the rest


def _regions(word: str) -> Callable[..., None]:
    def run(b: Builder, /, *regions: Any) -> None:
        state = b.block(f"T.{word}")
        if getattr(state, word) is not None:
            raise _twice(f"T.{word}", b)
        if len(regions) == 1 and isinstance(regions[0], list | tuple):
            regions = tuple(regions[0])
        setattr(state, word, [as_region(r, b.span) for r in regions])

    return run


def as_region(value: Any, span: Span | None) -> BufferRegion:
    """A region, an element or a whole buffer as a region. Raises a Fault for other values."""
    if isinstance(value, BufferRegion):
        return value
    if isinstance(value, BufferLoad):
        return BufferRegion(value.buffer, [point(i) for i in value.indices], value.span)
    if is_buffer(value):
        return BufferRegion(value, [Range(const(0, s.dtype), s) for s in value.ty.shape], span)
    if isinstance(value, SteppedRegion):
        raise fault("region", "a region has no step", span)
    raise fault(
        "region", f"{describe(value)} is no region of a buffer", span, help=("write A[i, j] or A[0:n, j]",)
    )


def where(b: Builder, /, predicate: Any) -> None:
    """`T.where(condition)`: the block runs only where it holds."""
    state = b.block("T.where")
    if state.predicate is not None:
        raise _twice("T.where", b)
    state.predicate = as_condition(predicate, b.span)


def sblock_attr(b: Builder, /, attrs: Any) -> None:
    """`T.sblock_attr({...})`: annotations of the block."""
    state = b.block("T.sblock_attr")
    if not isinstance(attrs, dict | Attrs):
        raise DTypeError(
            Diagnostic("invalid-argument", f"annotations are a dictionary, not {describe(attrs)}")
        )
    old = state.annotations or {}
    for key in attrs:
        if key in old:
            raise fault("duplicate-declaration", f"the annotation `{key}` is given twice", b.span)
    state.annotations = {**old, **attrs}


def words() -> Mapping[str, Any]:
    """The words of this module by their names below `T`."""
    spatial = Form("T.axis.spatial", _axis("spatial", IterVar.DATA_PAR), building=True)
    reduce = Form("T.axis.reduce", _axis("reduce", IterVar.COMM_REDUCE), building=True)
    axis = Namespace(
        "T.axis",
        {
            "spatial": spatial,
            "S": spatial,
            "reduce": reduce,
            "R": reduce,
            "scan": Form("T.axis.scan", _axis("scan", IterVar.ORDERED), building=True),
            "opaque": Form("T.axis.opaque", _axis("opaque", IterVar.OPAQUE), building=True),
            "remap": Form("T.axis.remap", remap, building=True),
        },
    )
    return {
        "axis": axis,
        "sblock": Form("T.sblock", sblock, building=True),
        "block": Form("T.block", sblock, building=True, old=True),
        "init": Form("T.init", InitFrame, building=True),
        "reads": Form("T.reads", _regions("reads"), building=True),
        "writes": Form("T.writes", _regions("writes"), building=True),
        "where": Form("T.where", where, building=True),
        "sblock_attr": Form("T.sblock_attr", sblock_attr, building=True),
        "block_attr": Form("T.block_attr", sblock_attr, building=True, old=True),
    }
