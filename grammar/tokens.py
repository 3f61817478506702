"""Text to tokens, a statement line at a time, for the lark reader.

Spelling follows Python's tokenizer, the same on every version of Python. A fault in a line is kept
with the line, and reading goes on behind it; nothing here raises.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from keyword import kwlist
from typing import NamedTuple

Place = tuple[int, int]
KEYWORDS = frozenset(kwlist)

_D = r"[0-9](?:_?[0-9])*"
_NUMBER = (
    r"0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+"
    rf"|(?:(?:{_D})?\.{_D}|{_D}\.)(?:[eE][-+]?{_D})?[jJ]?|{_D}[eE][-+]?{_D}[jJ]?|{_D}[jJ]"
    r"|0(?:_?0)*|[1-9](?:_?[0-9])*"
)
_STRING = (
    r'[A-Za-z]{0,2}(?:"{3}[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"{3}'
    r"|'{3}[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'{3}"
    r'|"(?!"")[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'(?!'')[^'\\\n]*(?:\\.[^'\\\n]*)*')"
)
_OPERATOR = r"\*\*=?|//=?|>>=?|<<=?|\.\.\.|->|:=|[-+*/%@&|^=<>!]=|[-+*/%@&|^=<>~:;,.()\[\]{}]"
_MASTER = re.compile(
    rf"(?P<space>(?:[ \t\f]|\\\n)+)|(?P<string>{_STRING})"
    r"|(?P<name>[A-Za-z_\x80-\ud7ff\ue000-\U0010ffff][A-Za-z0-9_\x80-\ud7ff\ue000-\U0010ffff]*)"
    rf"|(?P<number>{_NUMBER})|(?P<operator>{_OPERATOR})|(?P<newline>\n)|(?P<comment>\#[^\n]*)",
    re.S,
)
_TAIL = re.compile(r"[ \t\f]*(?:\#[^\n]*)?\Z")
_SPACE = re.compile(r"[ \t\f]*")
_SKIPPED = re.compile(r"(?:[ \t\f]*(?:\#[^\n]*)?\n)+")
_AFTER_NUMBER = re.compile(r"[A-Za-z0-9_\x80-\U0010ffff]")
_REST_OF_NUMBER = re.compile(r"[A-Za-z0-9_.\x80-\ud7ff\ue000-\U0010ffff]+")
_WORD_AFTER_NUMBER = re.compile(r"and|else|for|i[fns]|not|or")
_OPEN_STRING = re.compile(r"""[A-Za-z]{0,2}("{3}|'{3}|"|')""")
_PREFIXES = frozenset(("", "r", "u", "b", "br", "rb"))
_FORMATTED = frozenset(("f", "fr", "rf", "t", "tr", "rt"))
_NEVER_INSIDE = re.compile(
    r"[ \t\f]*(?:def|class|return|while|with|assert|pass|break|continue|import|raise|try|del|global)\b"
)
_AUGMENTED = frozenset(("+=", "-=", "*=", "/=", "//=", "%=", "@=", "**=", "<<=", ">>=", "&=", "|=", "^="))
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_BRACKETS = frozenset("()[]{}")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


class Token(NamedTuple):
    """A terminal of the grammar (`kind`), its text and its range."""

    kind: str
    text: str
    start: Place
    end: Place


class LexicalFault(NamedTuple):
    """What no token can be made of."""

    message: str
    start: Place
    end: Place
    help: str = ""


@dataclass(slots=True)
class Line:
    """A logical line: its tokens without the closing NEWLINE, and how indentation changes before it."""

    tokens: list[Token] = field(default_factory=list)
    dedents: int = 0
    indent: bool = False
    depth: int = 0
    start: int = 0
    end: int = 0
    fault: LexicalFault | None = None
    unclosed: bool = False


class Tokenizer:
    """Cuts a text into logical lines.

    With `indented` the first line may stand anywhere; its indentation counts as none.
    """

    def __init__(self, source: str, *, indented: bool = False) -> None:
        self.source = source
        self.at = 0
        self.line = 1
        self.line_start = 0
        self.impatient = False
        self.indents: list[tuple[int, int]] = [(0, 0)]
        self.base_pending = indented

    def lines(self) -> Iterator[Line]:
        """The logical lines in order; at the end a line without tokens that closes all blocks."""
        source = self.source
        while True:
            skipped = _SKIPPED.match(source, self.at)
            if skipped:
                self.line += skipped[0].count("\n")
                self.at = self.line_start = skipped.end()
            if _TAIL.match(source, self.at):
                break
            line = Line(start=self.at)
            width = self._indentation()
            if source[self.at : self.at + 1] not in ("", "\n", "#"):
                self._compare(line, width)
            self._logical_line(line)
            if line.tokens or line.fault:
                yield line
        yield Line(dedents=len(self.indents) - 1, start=len(source), end=len(source))

    def place(self, at: int) -> Place:
        """The place of an offset on the present line."""
        return (self.line, at - self.line_start + 1)

    def _indentation(self) -> tuple[int, int]:
        """Step over space; how wide it is, with tabs of eight columns and of one."""
        column = other = kept = kept_other = 0
        source, at = self.source, self.at
        while at < len(source):
            c = source[at]
            if c == " ":
                column, other = column + 1, other + 1
            elif c == "\t":
                column, other = (column // 8 + 1) * 8, other + 1
            elif c == "\f":
                column = other = 0
            elif c == "\\" and source.startswith("\n", at + 1):
                kept, kept_other = kept or column, kept_other or other
                at += 1
                self.line += 1
                self.line_start = at + 1
            else:
                break
            at += 1
        self.at = at
        return (kept or column, kept_other or other)

    def _compare(self, line: Line, mine: tuple[int, int]) -> None:
        """Note how the blocks change with a line that is indented so far."""
        here = self.place(self.at)
        if self.base_pending:
            self.base_pending = False
            self.indents = [mine]
        top = self.indents[-1]
        if mine[0] > top[0]:
            mixed = mine[1] <= top[1]
            self.indents.append(mine)
            line.indent = True
        else:
            while len(self.indents) > 1 and mine[0] < self.indents[-1][0]:
                self.indents.pop()
                line.dedents += 1
            mixed = mine[1] != self.indents[-1][1]
            if mine[0] != self.indents[-1][0]:
                mixed = False
                line.fault = LexicalFault("this indentation matches no block above", (here[0], 1), here)
        if mixed:
            line.fault = LexicalFault("tabs and spaces are mixed in the indentation", (here[0], 1), here)
        line.depth = len(self.indents) - 1

    def _logical_line(self, line: Line) -> None:
        """Fill in the tokens of a line."""
        source, size, match, append = self.source, len(self.source), _MASTER.match, line.tokens.append
        brackets: list[Token] = []
        number, line_start, at = self.line, self.line_start, self.at
        begin = (at, number)
        while at < size:
            found = match(source, at)
            if found is None:
                kind, text, end = "bad", "", at + 1
            else:
                kind, text, end = found.lastgroup or "", found[0], found.end()
            start = (number, at - line_start + 1)
            if kind == "name" and text.isascii():
                name_kind = text if text in KEYWORDS else "NAME"
                append(Token(name_kind, text, start, (number, end - line_start + 1)))
            elif kind == "operator":
                operator = "AUGMENTED" if text in _AUGMENTED else text
                append(Token(operator, text, start, (number, end - line_start + 1)))
                if text in _BRACKETS:
                    _count_brackets(brackets, line)
            elif kind == "comment" or (kind == "space" and "\n" not in text):
                pass
            elif kind == "newline":
                if not brackets or self._must_be_unclosed(end, line):
                    break
                number, line_start = number + 1, end
            elif kind == "string" and text[0] in "\"'" and "\n" not in text and text.isascii():
                append(Token("STRING", text, start, (number, end - line_start + 1)))
            elif kind == "number" and not _AFTER_NUMBER.match(source, end):
                append(Token("NUMBER", text, start, (number, end - line_start + 1)))
            else:
                self.line, self.line_start = number, line_start
                end = self._odd(kind, at, end, line)
                number, line_start = self.line, self.line_start
            at = end
        if brackets:
            at, number = self._unclosed(brackets[-1], line, *begin)
        line.end = at
        self.at = self.line_start = min(at + 1, size)
        self.line = number + 1
        if line.tokens and line.tokens[0].kind == "with":
            _mark_with_brackets(line.tokens)

    def _odd(self, kind: str, at: int, end: int, line: Line) -> int:
        """What is seldom: long tokens, prefixes, names beyond ASCII, faults; gives the new end."""
        text = self.source[at:end]
        start = self.place(at)
        if kind == "bad":
            return self._bad(at, line)
        if kind == "name":
            line.tokens.append(_foreign(text, start, line))
            return end
        if kind == "number":
            token = Token("NUMBER", text, start, self.place(end))
            line.tokens.append(token)
            if _WORD_AFTER_NUMBER.match(self.source, end):
                return end
            return _rest_of_number(self.source, end, token, line)
        if "\n" in text:
            self.line += text.count("\n")
            self.line_start = self.source.rfind("\n", 0, end) + 1
        if kind == "string":
            token = Token("STRING", text, start, self.place(end))
            line.tokens.append(token)
            _check_string(token, line)
        return end

    def _must_be_unclosed(self, at: int, line: Line) -> bool:
        """Whether the line at `at` cannot stand inside brackets."""
        if _NEVER_INSIDE.match(self.source, at):
            return True
        return self.impatient and self._may_be_statement(at, line)

    def _may_be_statement(self, at: int, line: Line) -> bool:
        """Whether the physical line at `at` looks like one behind a whole statement."""
        space = _SPACE.match(self.source, at)
        assert space is not None
        after = self.source[space.end() : space.end() + 1]
        return after not in ("", "\n", "#", ")", "]", "}") and space.end() - at < line.tokens[0].start[1]

    def _unclosed(self, bracket: Token, line: Line, at: int, number: int) -> tuple[int, int]:
        """Report a bracket that is never closed; the line end at which the statement is given up."""
        self.impatient = line.unclosed = True
        at = _line_end(self.source, at)
        while at < len(self.source) and not self._may_be_statement(at + 1, line):
            at = _line_end(self.source, at + 1)
            number += 1
        if line.fault is None or line.fault.start[0] > number:  # what is behind will be read again
            help = f"close it with `{_PAIRS[bracket.text]}`"
            line.fault = LexicalFault(f"`{bracket.text}` is never closed", bracket.start, bracket.end, help)
        line.tokens = [t for t in line.tokens if t.start[0] <= number]
        return at, number

    def _bad(self, at: int, line: Line) -> int:
        """Step over what no token starts with."""
        start = self.place(at)
        opened = _OPEN_STRING.match(self.source, at)
        if opened is None:
            character = self.source[at]
            shown = f"`{character}`" if character.isprintable() else f"U+{ord(character):04X}"
            message = f"the character {shown} has no meaning here"
            line.fault = line.fault or LexicalFault(message, start, (start[0], start[1] + 1))
            return at + 1
        row_end = _line_end(self.source, at)
        end, message = row_end, "this string is not closed on its line"
        if len(opened[1]) == 3:
            line.unclosed = True
            end, message = len(self.source), "this string is never closed"
        token = Token("STRING", '""', start, self.place(row_end))
        line.fault = line.fault or LexicalFault(message, start, token.end, f"close it with `{opened[1]}`")
        line.tokens.append(token)
        self.line += self.source.count("\n", at, end)
        self.line_start = self.source.rfind("\n", 0, end) + 1
        return end


def _count_brackets(brackets: list[Token], line: Line) -> None:
    """Follow the bracket that was just read."""
    token = line.tokens[-1]
    if token.text in _PAIRS:
        brackets.append(token)
    elif not brackets:
        line.fault = line.fault or LexicalFault(f"`{token.text}` closes nothing", token.start, token.end)
    elif _PAIRS[(opening := brackets.pop()).text] != token.text:
        message = f"`{token.text}` does not close the `{opening.text}` of line {opening.start[0]}"
        line.fault = line.fault or LexicalFault(message, token.start, token.end)


def _foreign(text: str, start: Place, line: Line) -> Token:
    """A name with letters beyond ASCII, in the form in which names are compared."""
    name = unicodedata.normalize("NFKC", text)
    end = (start[0], start[1] + len(text))
    if not name.isidentifier():
        bad = next((c for c in text if not ("_" + c).isidentifier()), text[0])
        shown = f"`{bad}`" if bad.isprintable() else f"U+{ord(bad):04X}"
        line.fault = line.fault or LexicalFault(f"the character {shown} has no meaning here", start, end)
    elif name in KEYWORDS:
        line.fault = line.fault or LexicalFault(f"`{text}` reads as the keyword `{name}`", start, end)
    return Token("NAME", name, start, end)


def _line_end(source: str, at: int) -> int:
    end = source.find("\n", at)
    return len(source) if end < 0 else end


def _check_string(token: Token, line: Line) -> None:
    """Refuse prefixes that strings of the language cannot have, and halves of characters."""
    text = token.text
    prefix = text[: min(i for i in (text.find('"'), text.find("'")) if i >= 0)].lower()
    message = ""
    if prefix in _FORMATTED:
        message = f"{'formatted' if 'f' in prefix else 'template'} strings are not part of the language"
    elif prefix not in _PREFIXES:
        message = f"`{prefix}` is no prefix of a string"
    elif _SURROGATE.search(text):
        message = "this string holds half of a character, which no file can hold"
    if message:
        line.fault = line.fault or LexicalFault(message, token.start, token.end)


def _rest_of_number(source: str, end: int, token: Token, line: Line) -> int:
    rest = _REST_OF_NUMBER.match(source, end)
    stop = rest.end() if rest else end + 1
    last = (token.end[0], token.end[1] + stop - end)
    text = token.text + source[end:stop]
    line.fault = line.fault or LexicalFault(f"`{text[:40]}` is not a number", token.start, last)
    return stop


def _mark_with_brackets(tokens: list[Token]) -> None:
    """Tell the brackets around the items of a `with` from those of an expression."""
    if len(tokens) < 3 or tokens[1].kind != "(":
        return
    depth = commas = 0
    in_lambda = False
    for place in range(1, len(tokens)):
        kind = tokens[place].kind
        if kind in ("(", "[", "{"):
            depth += 1
        elif kind in (")", "]", "}"):
            depth -= 1
            if depth == 0:
                break
        elif depth == 1 and (in_lambda or kind == "lambda"):
            in_lambda = kind != ":"
        elif depth == 1:
            commas += kind in (",", "as")
            if kind in ("for", "async") or (kind == "*" and tokens[place - 1].kind in (",", "(")):
                return
    else:
        return
    if commas and place + 1 < len(tokens) and tokens[place + 1].kind == ":":
        tokens[1] = tokens[1]._replace(kind="WITH_OPEN")
        tokens[place] = tokens[place]._replace(kind="WITH_CLOSE")
