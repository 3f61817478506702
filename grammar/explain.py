"""Words for a token that does not fit."""

from __future__ import annotations

import difflib

from ..errors import Diagnostic, Span
from .machine import Machine
from .tokens import Token

LACKING = {
    ":=": "an assignment inside an expression (`:=`) is",
    "async": "`async` is",
    "await": "`await` is",
    "del": "`del` is",
    "except": "`except` is",
    "finally": "`finally` is",
    "global": "`global` is",
    "nonlocal": "`nonlocal` is",
    "raise": "`raise` is",
    "try": "`try` is",
    "yield": "`yield` is",
}
_OPERATORS = frozenset("+ - * / // % @ ** << >> & | ^ < <= > >= == != in is and or".split())
_STATEMENT_WORDS = tuple(
    "for while if elif else with def class return assert import pass break continue from".split()
)
_EXPRESSION_WORDS = (
    "and",
    "or",
    "not",
    "in",
    "is",
    "if",
    "else",
    "for",
    "lambda",
    "None",
    "True",
    "False",
    "as",
)
HEADERS = frozenset(("for", "while", "if", "elif", "else", "with", "def", "class"))
_NAMES = {
    "NAME": "a name",
    "NEWLINE": "the end of the line",
    "INDENT": "an indented block",
    "DEDENT": "the end of the block",
    "$END": "the end of the text",
    "STRING": "a string",
    "NUMBER": "a number",
    "AUGMENTED": "an assignment",
    "HEAD": "a kind of target",
    "OPTION": "an attribute with `-` before its name",
    "VALUE": "a value",
    "WITH_OPEN": "`(`",
    "WITH_CLOSE": "`)`",
}


def explain(machine: Machine, token: Token, before: list[Token], source: str, file: str) -> Diagnostic:
    """The diagnostic for a token that the machine just refused; `before` are the line's tokens up to it."""
    accepted = set(machine.accepted())
    span = Span(file, *token.start, *token.end)
    if token.kind in LACKING:
        message = f"{LACKING[token.kind]} not part of the language"
        return Diagnostic("unsupported-syntax", message, span, source=source)
    if token.kind == "else" and not before and "for" in accepted:
        message = "this `else` belongs to no `if`; loops have none in the language"
        return Diagnostic("unsupported-syntax", message, span, source=source)
    if (
        len(before) == 1
        and before[0].text in ("match", "type")
        and token.kind in ("NAME", "NUMBER", "STRING")
    ):
        message = f"`{before[0].text}` statements are not part of the language"
        span = Span(file, *before[0].start, *before[0].end)
        return Diagnostic("unsupported-syntax", message, span, source=source)
    found = _NAMES.get(token.kind) if token.kind in _NAMES and token.kind != "NAME" else f"`{token.text}`"
    if token.kind in ("STRING", "NUMBER"):
        found = f"`{token.text}`" if len(token.text) < 30 and "\n" not in token.text else found
    first = before[0].kind if before else token.kind
    if ":" in accepted and first in HEADERS and token.kind == "NEWLINE":
        message = f"expected `:` at the end of the `{first}` line"
    else:
        message = f"expected {expected(accepted)}, found {found}"
    return Diagnostic("syntax", message, span, help=_help(token, before, accepted), source=source)


def expected(accepted: set[str]) -> str:
    """The kinds of token that would fit, in words, the most telling first."""
    words = []
    if "NUMBER" in accepted:
        words.append("an expression")
        if "for" in accepted:
            words = ["a statement"]
        accepted = accepted & {")", "]", "}", ":", "NEWLINE"}
    elif "NAME" in accepted:
        words.append("a name")
    for kind in (")", "]", "}", ":", ",", "=", "INDENT", "NEWLINE", "HEAD", "OPTION", "VALUE"):
        if kind in accepted:
            words.append(_NAMES.get(kind, f"`{kind}`"))
    rest = accepted - set(")]}:,=") - _OPERATORS - set(_NAMES)
    if "+" in accepted and "NUMBER" not in accepted:
        words.append("an operator")
        rest -= {".", "(", "[", "if", "not", ";", "for"}
    words += [f"`{kind}`" for kind in sorted(rest) if kind != "ERROR"][:4]
    if not words:
        return "something else"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _help(token: Token, before: list[Token], accepted: set[str]) -> tuple[str, ...]:
    if token.kind == "=" and "==" in accepted:
        return ("`=` assigns, `==` compares",)
    if token.kind == "NEWLINE" and before and before[-1].kind in _OPERATORS:
        return ("an expression goes on behind a line end only inside brackets",)
    candidates = [(before[-1], _STATEMENT_WORDS if len(before) == 1 else _EXPRESSION_WORDS)] if before else []
    for given, words in [*candidates, (token, _EXPRESSION_WORDS)]:
        if given.kind == "NAME" and len(given.text) > 2:
            near = difflib.get_close_matches(given.text, words, n=2, cutoff=0.66)
            near = [word for word in near if given is not token or word in accepted]
            if near:
                return (f"did you mean {' or '.join(f'`{word}`' for word in near)}?",)
    return ()
