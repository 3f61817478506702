"""Tensor intrinsics: what a piece of hardware computes, and how to say it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import ClassVar

from ..errors import ArgumentTypeError, ArgumentValueError, Diagnostic, suggest
from ..ir import PrimFunc, structural_equal
from ..ir.stmt import SBlock, SBlockRealize
from ..ir.types import BufferType

_SUPPLIERS: list[str | Callable[[], None]] = ["cuda", "cpu"]
"""Modules of `schedule.intrinsics`, imported when a name is unknown, and functions called then.

A module has `makers()`, what makes the pair of functions of each name, or `register_all()`.
"""


@dataclass(frozen=True, slots=True)
class TensorIntrin:
    """A description in plain loops and an implementation, over the same buffers.

    Both are functions whose body is one block without axes; that of the description holds loops
    with one block inside.
    """

    desc: PrimFunc
    impl: PrimFunc
    _known: ClassVar[dict[str, TensorIntrin]] = {}
    _makers: ClassVar[dict[str, Callable[[], tuple[PrimFunc, PrimFunc]]]] = {}

    @staticmethod
    def register(name: str, desc: PrimFunc, impl: PrimFunc, override: bool = False) -> TensorIntrin:
        """Make an intrinsic known to `Schedule.tensorize` under a name.

        Raises ArgumentTypeError for other things than functions, ArgumentValueError for a name that is
        taken (unless `override`) and for functions whose parameters or bodies do not fit.
        """
        for func in (desc, impl):
            if not isinstance(func, PrimFunc):
                raise ArgumentTypeError(
                    Diagnostic(
                        "argument-type", f"an intrinsic is made of PrimFuncs, not of {type(func).__name__}"
                    )
                )
        if name in TensorIntrin._known and not override:
            raise ArgumentValueError(
                Diagnostic(
                    "tensor-intrin", f"there is a tensor intrinsic `{name}` already", help=("override=True",)
                )
            )
        _check(name, desc, impl)
        made = TensorIntrin._known[name] = TensorIntrin(desc, impl)
        return made

    @staticmethod
    def get(name: str, allow_missing: bool = False) -> TensorIntrin | None:
        """The intrinsic of this name. Raises ArgumentValueError for an unknown one unless `allow_missing`."""
        while name not in TensorIntrin._known and name not in TensorIntrin._makers and _SUPPLIERS:
            _ask(_SUPPLIERS.pop(0))
        found = TensorIntrin._known.get(name)
        if found is None and name in TensorIntrin._makers:
            found = TensorIntrin.register(name, *TensorIntrin._makers[name]())
        if found is None and not allow_missing:
            near = suggest(name, [*TensorIntrin._known, *TensorIntrin._makers])
            raise ArgumentValueError(
                Diagnostic("tensor-intrin", f"there is no tensor intrinsic `{name}`", help=tuple(near))
            )
        return found


def _ask(supplier: str | Callable[[], None]) -> None:
    """Let a supplier register its intrinsics, or say how to make them."""
    if not isinstance(supplier, str):
        supplier()
        return
    module = import_module(f"..intrinsics.{supplier}", __name__)
    if hasattr(module, "makers"):
        TensorIntrin._makers.update(module.makers())
    else:
        module.register_all()


def supply(supplier: Callable[[], None]) -> None:
    """Call this once when an unknown intrinsic is asked for: it may register more."""
    _SUPPLIERS.append(supplier)


def root_block(func: PrimFunc) -> SBlock | None:
    """The block without axes that is the body of a description or implementation."""
    body = func.body
    if not isinstance(body, SBlockRealize) or body.block.iter_vars:
        return None
    inner = body.block.body
    plain = not (body.block.alloc_buffers or body.block.match_buffers)
    if plain and isinstance(inner, SBlockRealize) and not inner.block.iter_vars and not body.block.reads:
        return inner.block
    return body.block


def _check(name: str, desc: PrimFunc, impl: PrimFunc) -> None:
    def wrong(why: str) -> ArgumentValueError:
        return ArgumentValueError(Diagnostic("tensor-intrin", f"tensor intrinsic `{name}`: {why}"))

    if len(desc.params) != len(impl.params):
        raise wrong(
            f"the description has {len(desc.params)} parameters, the implementation {len(impl.params)}"
        )
    for a, b in zip(desc.params, impl.params):
        if not isinstance(a.ty, BufferType) or not isinstance(b.ty, BufferType):
            raise wrong(f"parameter `{a.name}` is not a buffer")
        same = len(a.ty.shape) == len(b.ty.shape) and all(
            structural_equal(x, y) for x, y in zip(a.ty.shape, b.ty.shape)
        )
        if a.ty.dtype != b.ty.dtype or not same:
            raise wrong(f"buffer `{a.name}` differs between description and implementation")
    for func in (desc, impl):
        if root_block(func) is None:
            raise wrong("a body is not one block without axes")
