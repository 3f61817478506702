"""`tvm.script.ir_builder.tirx`: the words of `T` as calls and context managers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..... import ir
from .....script import tirx as words
from .....script.language import TIRX
from .....script.stmt import Frame
from .....script.values import MISSING, Form, Namespace
from .base import FunctionFrame, IRBuilder, in_python, with_faults


def prim_func(*, is_private: bool = False, s_tir: bool = False, persistent: bool = False) -> FunctionFrame:
    """`with T.prim_func():` builds a function."""
    return FunctionFrame({"is_private": is_private, "s_tir": s_tir, "persistent": persistent})


def ptr(dtype: Any, storage_scope: str = "global") -> Any:
    """A fresh pointer variable."""
    return words.handle(dtype, storage_scope)


def var(dtype: Any, name: str = "") -> Any:
    """A fresh variable."""
    return ir.Var(name or "v", dtype)


class Assert:
    """`T.Assert(condition, message)`, as a call or around what follows."""

    def __init__(self, condition: Any, message: Any, error_kind: str = "RuntimeError") -> None:
        word = TIRX.lookup("Assert")
        builder = IRBuilder.current().builder
        with_faults(lambda: word.run(builder, condition, message, error_kind))

    def __enter__(self) -> None:
        """Nothing: the assertion stands before what follows."""

    def __exit__(self, *exc: object) -> None:
        """Nothing is left to close."""


def _word(form: Form) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        if not form.building:
            made = form.run(*args, **options)
            if not isinstance(made, Frame) and type(made).__name__ != "LoopFrame":
                return made
            return in_python(made, IRBuilder.current().builder)
        builder = IRBuilder.current().builder
        made = with_faults(lambda: form.run(builder, *args, **options))
        builder.fresh.clear()
        return in_python(made, builder)

    call.__name__ = form.script_name.rpartition(".")[2]
    return call


class Words:
    """A namespace such as `T.axis` with its words as calls."""

    def __init__(self, space: Namespace) -> None:
        self.space = space

    def __getattr__(self, name: str) -> Any:
        found = self.space.lookup(name)
        if found is MISSING:
            raise AttributeError(f"`{self.space.script_name}` has no `{name}`", name=name)
        return _in_builder(found)


def _in_builder(found: Any) -> Any:
    if isinstance(found, Namespace):
        return Words(found)
    if type(found) is Form:
        return _word(found)
    return found


def __getattr__(name: str) -> Any:
    """A word of `T`. Raises AttributeError for what is none."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _in_builder(getattr(words, name))


__all__ = ["Assert", "prim_func", "ptr", "var"]
