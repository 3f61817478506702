"""Built-in functions that compare values with the types that a program declares.

Each gets a context as its last argument, a text of three lines: what is checked ("main: parameter 2 (y)"),
the declared type, and the sizes as the program writes them, with `; ` between.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...dtype import DType
from ...errors import ArgumentTypeError, ArgumentValueError, Diagnostic, LoopwrightError
from .values import Closure, describe


class MatchError(ArgumentValueError, RuntimeError):
    """A value has other sizes than the program declares; TVM's programs expect a RuntimeError."""


EQUAL, STORE, SKIP, SAME = 0, 1, 2, 3
"""What `match_shape` does with a size: compare with a number, keep in a slot, nothing, compare to a slot."""
LITERAL, LOAD = 0, 1
"""Where `make_shape` has a size from: a number, a slot."""
_LINES: Final = 3


def fault(kind: type[LoopwrightError], code: str, context: str, text: str, *help: str) -> LoopwrightError:
    """The error that says what is wrong with a value that has this context."""
    head, declared, _ = (context + "\n\n").split("\n", _LINES - 1)
    notes = (f"it is declared as {declared}",) if declared else ()
    return kind(Diagnostic(code, f"{head} {text}", notes=notes, help=help))


def size_text(context: str, index: int) -> str:
    """The size with this number as the program writes it, or nothing."""
    lines = context.split("\n")
    sizes = lines[2].split("; ") if len(lines) >= _LINES else []
    return sizes[index] if index < len(sizes) else ""


def check_tensor_info(value: Any, ndim: int, *rest: Any) -> None:
    """A tensor of this rank (-1: any); `rest` has the dtype, if it matters, and the context."""
    dtype = rest[0] if rest and isinstance(rest[0], DType) else None
    context = rest[-1] if rest and isinstance(rest[-1], str) else "the value"
    if not hasattr(value, "dtype") or not hasattr(value, "shape"):
        raise fault(ArgumentTypeError, "argument-type", context, f"must be a tensor, not {describe(value)}")
    if ndim >= 0 and value.ndim != ndim:
        text = f"must have {ndim} dimensions, not {value.ndim} (its shape is {value.shape})"
        raise fault(MatchError, "argument-rank", context, text)
    if dtype is not None and value.dtype != dtype.numpy():
        text = f"must have dtype `{dtype}`, not `{DType(value.dtype)}`"
        raise fault(ArgumentTypeError, "argument-dtype", context, text, "convert it with .astype(...)")


def check_shape_info(value: Any, ndim: int, context: str = "the value") -> None:
    """A shape of so many sizes (-1: any number)."""
    if not is_shape(value):
        raise fault(ArgumentTypeError, "argument-type", context, f"must be a shape, not {describe(value)}")
    if ndim >= 0 and len(value) != ndim:
        text = f"must have {ndim} sizes, not {len(value)}: it is {value}"
        raise fault(MatchError, "argument-rank", context, text)


def is_shape(value: Any) -> bool:
    """Whether a value is a tuple of integers."""
    return isinstance(value, tuple) and all(type(v) is int for v in value)


def check_prim_value_info(value: Any, dtype: DType, context: str = "the value") -> None:
    """A number of this dtype."""
    if isinstance(value, bool):
        good = dtype.is_bool
    elif isinstance(value, int):
        good = dtype.is_float or (not dtype.is_bool and dtype.min_value <= value <= dtype.max_value)
    else:
        good = isinstance(value, float) and dtype.is_float
    if not good:
        shown = repr(value) if isinstance(value, int | float) else describe(value)
        raise fault(
            ArgumentTypeError, "argument-type", context, f"must be a number of `{dtype}`, not {shown}"
        )


def check_tuple_info(value: Any, size: int, context: str = "the value") -> None:
    """A tuple of so many values."""
    if not isinstance(value, tuple):
        raise fault(ArgumentTypeError, "argument-type", context, f"must be a tuple, not {describe(value)}")
    if len(value) != size:
        text = f"must have {size} elements, not {len(value)}"
        raise fault(ArgumentValueError, "argument-value", context, text)


def check_string_info(value: Any, context: str = "the value") -> None:
    """A text."""
    if not isinstance(value, str):
        raise fault(ArgumentTypeError, "argument-type", context, f"must be a text, not {describe(value)}")


def check_func_info(value: Any, context: str = "the value") -> None:
    """Something that can be called."""
    if not isinstance(value, Closure) and not callable(value):
        raise fault(ArgumentTypeError, "argument-type", context, f"must be a function, not {describe(value)}")


def match_shape(value: Any, heap: Any, ndim: int, *rest: Any) -> None:
    """Compare the sizes of a tensor or shape with numbers and slots, and keep those that slots want.

    `rest` holds a code and a number for each size, then the context.
    """
    *codes, context = rest if len(rest) % 2 else (*rest, "the value")
    sizes: Sequence[int] = value.shape if hasattr(value, "shape") else value
    if len(sizes) != ndim:
        text = f"must have {ndim} dimensions, not {len(sizes)} (its shape is {tuple(sizes)})"
        raise fault(MatchError, "argument-rank", context, text)
    for k, size in enumerate(sizes):
        match_size(size, heap, codes[2 * k], codes[2 * k + 1], context, k, f"shape[{k}] ")


def match_prim_value(value: Any, heap: Any, code: int, number: int, context: str = "the value") -> None:
    """The same for a number."""
    match_size(int(value), heap, code, number, context, 0, "the value ")


def match_size(size: int, heap: Any, code: int, number: int, context: str, k: int, place: str) -> None:
    """Compare one size, or keep it. Raises ArgumentValueError for a code that says nothing."""
    if code not in (EQUAL, STORE, SKIP, SAME):
        text = f"{code} is no code for what to do with a size"
        raise ArgumentValueError(Diagnostic("argument-value", text))
    if code == STORE:
        heap[number] = size
    elif code != SKIP:
        wanted = number if code == EQUAL else int(heap[number])
        if size != wanted:
            name = size_text(context, k)
            shown = f" (`{name}`)" if name and name != str(wanted) else ""
            text = f"must have {place}{wanted}{shown}, not {size}"
            raise fault(MatchError, "argument-shape", context, text)


def make_shape(heap: Any, ndim: int, *codes: int) -> tuple[int, ...]:
    """A shape of numbers and slots; `codes` holds a code and a number for each size."""
    return tuple([make_prim_value(heap, code, x) for code, x in zip(codes[::2], codes[1::2])])


def make_prim_value(heap: Any, code: int, number: int) -> int:
    """A number, or that in a slot. Raises ArgumentValueError for a code that says nothing."""
    if code not in (LITERAL, LOAD):
        text = f"{code} is no code for where a size comes from"
        raise ArgumentValueError(Diagnostic("argument-value", text))
    return number if code == LITERAL else int(heap[number])


__all__ = [
    "MatchError",
    "check_func_info",
    "check_prim_value_info",
    "check_shape_info",
    "check_string_info",
    "check_tensor_info",
    "check_tuple_info",
    "fault",
    "is_shape",
    "make_prim_value",
    "make_shape",
    "match_prim_value",
    "match_shape",
]
