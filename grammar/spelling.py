"""How the language spells literal values."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

_DIGITS = 10**4000  # above it str() of an integer may refuse; hexadecimal digits have no limit


def spelling(value: Any) -> str:
    """The literal for a Python value: double quotes, shortest floats, exact escapes.

    Infinities, NaN and complex numbers with a real part have no literal; what is given for them is
    an expression that Python evaluates to the value.
    """
    kind = type(value)
    if kind is str:
        return _string(value)
    if kind is int:
        return repr(value) if -_DIGITS < value < _DIGITS else hex(value)
    if kind is float and (value != value or value in (float("inf"), float("-inf"))):
        return f'float("{value!r}")'
    if kind is bytes:
        return "b" + _double(repr(value)[1:])
    return "..." if value is ... else repr(value)


def _string(value: str) -> str:
    if value.isidentifier() and value.isascii():
        return f'"{value}"'
    return _double(repr(value))


def _double(text: str) -> str:
    """Python's own spelling, in double quotes."""
    if text[0] == '"':
        return text
    return '"' + text[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'


_STRING = re.compile(
    r"""[A-Za-z]{0,3}(?:"{3}(?:[^"\\]|\\.|"(?!""))*"{3}|'{3}(?:[^'\\]|\\.|'(?!''))*'{3}"""
    r"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')""",
    re.S,
)
_BETWEEN = re.compile(r"(?:\s|\\\n|#[^\n]*)*")


def join_strings(text: str) -> str:
    """Adjacent string literals of `text`, joined by one space; a single one comes back as it is."""
    parts = []
    place = 0
    while place < len(text):
        found = _STRING.match(text, place)
        if found is None:
            return text
        parts.append(found[0])
        place = _BETWEEN.match(text, found.end()).end()  # type: ignore[union-attr]
    return " ".join(parts)


_ESCAPE = re.compile(r"\\(\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|.)", re.S)
_SIMPLE = {"\n": "", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "n": "\n"}
_SIMPLE |= {"r": "\r", "t": "\t", "v": "\v"}


def string_value(token: str) -> str | bytes:
    """The value of one string literal that is not formatted; raises ValueError with a reason.

    Like Python's own, but the same on every version: unknown escapes stay as they are.
    """
    quote = min(i for i in (token.find('"'), token.find("'")) if i >= 0)
    prefix = token[:quote].lower()
    width = 3 if token[quote : quote + 3] in ('"""', "'''") else 1
    body = token[quote + width : -width]
    binary = "b" in prefix
    if binary and not body.isascii():
        raise ValueError("bytes can only contain ASCII characters")
    if "\\" in body and "r" not in prefix:
        body = _ESCAPE.sub(_unescape_byte if binary else _unescape, body)
    return body.encode("latin-1") if binary else body


def _unescape(found: re.Match[str]) -> str:
    what = found[1]
    if what in _SIMPLE:
        return _SIMPLE[what]
    head = what[0]
    if head in "01234567":
        return chr(int(what, 8))
    if len(what) > 1 and head in "xuU":
        code = int(what[1:], 16)
        if code > 0x10FFFF:
            raise ValueError(f"`\\{what}` is no character")
        return chr(code)
    if len(what) > 1:
        try:
            return unicodedata.lookup(what[2:-1])
        except KeyError:
            raise ValueError(f"`\\{what}` names no character") from None
    if head in "xuUN":
        raise ValueError(f"the escape `\\{head}` is not complete")
    return found[0]


def _unescape_byte(found: re.Match[str]) -> str:
    what = found[1]
    if what in _SIMPLE:
        return _SIMPLE[what]
    if what[0] in "01234567":
        return chr(int(what, 8) & 0xFF)
    if what[0] == "x":
        if len(what) == 1:
            raise ValueError("the escape `\\x` is not complete")
        return chr(int(what[1:], 16))
    return found[0]
