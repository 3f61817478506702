"""Operators of the registry that script has no word for; `T.Call` writes and reads them.

They are known here for what evaluating them may do.
"""

from __future__ import annotations

from typing import Any

from ..expr import Call
from ..op import Effect
from ..operators import call_type
from .define import define, make


def _general(name: str) -> Any:
    def rule(dtype: Any, *args: Any) -> Call:
        return make(name, args, call_type(dtype))

    return rule


_OPERATORS = {
    "atomic_add": (Effect.UPDATE, "Adds to memory atomically."),
    "tvm_context_id": (Effect.READ, "The context of the call."),
    "tvm_static_handle": (Effect.SPECIAL_ARGUMENT, "A handle kept between calls."),
    "prefetch": (Effect.UPDATE, "Asks for a region early."),
    "call_spirv_pure_glsl450": (Effect.PURE, "A call of a GLSL.std.450 function."),
    "texture2d_load": (Effect.UPDATE, "Reads a texture."),
    "texture2d_store": (Effect.UPDATE, "Writes a texture."),
    "nd_mem_alloc_with_scope": (Effect.UPDATE, "Memory with a shape in a scope."),
    "dma_copy": (Effect.UPDATE, "Starts a copy."),
    "dma_wait": (Effect.UPDATE, "Waits for copies."),
    "dma_start_group": (Effect.UPDATE, "Opens a group of copies."),
    "dma_end_group": (Effect.UPDATE, "Closes a group of copies."),
    "TVMBackendAnyListMoveFromPackedReturn": (Effect.UPDATE, "Moves a result into a value list."),
    "TVMBackendAnyListSetPackedArg": (Effect.UPDATE, "Takes an argument from a value list."),
}
for _name, (_effect, _doc) in _OPERATORS.items():
    define(
        f"tirx.{_name}",
        "dtype, *args",
        "dtype",
        _doc,
        _effect,
        script=None,
        rule=_general(f"tirx.{_name}"),
    )
