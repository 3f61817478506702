"""What the places of compiled code report when they fail: kind of error, code, text with two numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Failure(NamedTuple):
    """The built-in error, our code if it is a Diagnostic's, and the text.

    In the text `{a}` and `{b}` stand for the two numbers of the report.
    """

    error: str
    code: str
    text: str


def failure(site: Mapping[str, Any]) -> Failure:
    """What a failing place says."""
    name = plain(site["function"])
    match site["kind"]:
        case "division":
            return Failure("ZeroDivisionError", "division", f"integer division by zero in `{name}`")
        case "division-overflow":
            text = f"integer division of the smallest value by -1 in `{name}` overflows"
            return Failure("ZeroDivisionError", "division", text)
        case "argument":
            return Failure(site["error"], site["code"], site["text"])
        case "assert":
            return Failure(site["error"], "", plain(site["message"]))
        case "loop-step":
            text = f"the step of loop `{plain(site['loop'])}` is {{a}}; it must be positive"
            return Failure("RuntimeError", "loop-step", text)
        case "bounds":
            place, limit = f"`{plain(site['buffer'])}` in `{name}`", "{b} elements"
            if "dimension" in site:
                place, limit = f"dimension {site['dimension']} of {place}", "extent {b}"
            return Failure("IndexError", "out-of-bounds", f"index {{a}} of {place} is outside its {limit}")
        case "memory":
            return Failure("MemoryError", "", f"`{name}` could not allocate a buffer of {{a}} bytes")
        case "recursion":
            return Failure("RecursionError", "", f"`{name}` calls itself too deeply")
    return Failure("RuntimeError", "execution", f"`{name}` failed")


def plain(text: str) -> str:
    """The text with its braces as they are."""
    return text.replace("{", "{{").replace("}", "}}")
