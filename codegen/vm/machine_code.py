"""The bytecode interpreter as LLVM assembly.

It walks decoded instructions (see `runtime/vm/native.py`, which lays them out) and does itself what is
common: checks, shapes, memory, calls of kernels by address.  An instruction that finds something else leaves
it to the Python function that stands in it, with the same arguments, and so do all others.  Registers hold
references to Python objects; tensors are numpy arrays.

An instruction has 12 words: operation, register of the result, Python function, arguments, their number,
six words of its own, and its number in the bytecode.  An argument is the number of a register, or ~k for
constant k.
Sizes are pairs of words: 0 and a number, or 1 and a slot of the heap.
"""

from __future__ import annotations

from string import Template

from ...runtime.vm.layout import OPERATIONS, TABLE
from . import code_calls, code_kernels, code_memory, code_values

_HEAD = 16
_FIELDS = {
    "type": 8,
    "data": _HEAD,
    "rank": 24,
    "dims": 32,
    "base": 48,
    "descr": 56,
    "flags": 64,
    "order": 26,
}


def text() -> str:
    """The assembly, with the places of fields and the numbers of operations."""
    simple = [name for name in OPERATIONS if name not in ("python", "goto", "if", "ret", "null")]
    places = {
        name: "@__loopwright_vm_table"
        if k == 0
        else f"getelementptr (ptr, ptr @__loopwright_vm_table, i64 {k})"
        for k, name in enumerate(TABLE)
    }
    cases = "  ".join(
        [f"i64 {OPERATIONS.index(n)}, label %{n if n not in simple else 'op.' + n}" for n in OPERATIONS[1:]]
    )
    blocks = "\n".join(
        [
            f"op.{n}:\n  %rc.{n} = call i32 @{n}(ptr %i, ptr %regs, ptr %consts)\n  br label %after"
            for n in simple
        ]
    )
    phis = ", ".join([f"[ %rc.{n}, %op.{n} ]" for n in simple])
    whole = "\n".join([code_values.TEXT, code_memory.TEXT, code_kernels.TEXT, code_calls.TEXT])
    more = {"size": str(len(TABLE)), "cases": cases, "blocks": blocks, "phis": phis, "smallest": "65536"}
    fields = {name: str(place) for name, place in _FIELDS.items()}
    return Template(whole).substitute({**places, **fields, **more})


SYMBOLS = ("__loopwright_vm_table", "__loopwright_vm_inner", "__loopwright_vm_outer")

__all__ = ["SYMBOLS", "text"]
