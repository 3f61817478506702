"""The reader that defines the language: lark's tables over hand-fed tokens, with recovery.

A fault costs the statement in which it stands, which becomes `Unsupported("Error", text)`; the
statements around and inside it are read all the same. Nothing raises, on any text.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..errors import Diagnostic, Span
from ..node import runs_deep
from . import build, build_statements
from . import tree as t
from .explain import HEADERS, explain
from .machine import Machine, Program
from .reading import Reading, plain
from .tables import load_table
from .tokens import LexicalFault, Line, Token, Tokenizer
from .trivia import attach, scan

MOST = 100  # diagnostics of one text
_CONTINUING = ("else", "elif", "except", "finally")  # without the header before them they say nothing new


@lru_cache(maxsize=1)
def _program() -> Program:
    makers: dict[str, Any] = {**vars(build), **vars(build_statements)}
    return Program(load_table("script", ("module",)), "module", makers)


@runs_deep
def read_lark(
    source: str, filename: str = "<text>", start: str = "module", *, to_end: bool = False
) -> Reading:
    """Read any text: the tree of what could be read, and its faults in order."""
    source = plain(source)
    run = _Run(source, filename, start != "module")
    body = run.statements()
    lines = source.split("\n")
    whole = Span(filename, 1, 1, len(lines), len(lines[-1]) + 1)
    if start == "expression" and not run.builder.diagnostics:
        real = [s for s in body if not isinstance(s, (t.Comment, t.Blank))]
        if len(real) != 1 or not isinstance(real[0], t.ExprStmt):
            place = real[-1].span if real else whole
            run.builder.fault("expected a single expression", place)
    tree = attach(t.ModuleTree(body, whole), scan(source), source, to_end=to_end)
    return Reading(tree, _in_order(run.builder.diagnostics), source, run.whole)


def _in_order(found: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The diagnostics by place, each once."""
    once = {(d.code, d.message, d.span): d for d in found}
    return tuple(sorted(once.values(), key=_place)[:MOST])


def _place(d: Diagnostic) -> tuple[int, int]:
    return (d.span.line, d.span.column) if d.span else (0, 0)


class _Run:
    """One reading of one text."""

    def __init__(self, source: str, filename: str, indented: bool) -> None:
        self.source = source
        self.file = filename
        self.builder = build.Builder(filename, source)
        self.machine = Machine(_program(), self.builder)
        self.tokenizer = Tokenizer(source, indented=indented)
        self.saved = self.machine.save()
        self.saved_at = 0
        self.pending: list[Token] = []  # the tokens since then, when they are decorators
        self.whole = True
        self.fed: list[bool] = []  # for each open indentation, whether the machine knows of it
        self.decorating = False
        self.lost_header = False  # the line before had a fault, so it may have been a header
        self.lost_headers: set[int] = set()  # depths at which the last header had a fault

    def statements(self) -> tuple[t.SStmt, ...]:
        """Read everything."""
        for line in self.tokenizer.lines():
            self.blocks(line)
            if line.tokens:
                self.line(line)
            elif line.fault:
                self.report(line.fault)
        machine = self.machine
        if not machine.feed(self.mark("$END")):
            raise AssertionError("a text always ends at a statement")
        body: tuple[t.SStmt, ...] = machine.values[-2]
        return body

    def mark(self, kind: str) -> Token:
        """A token without text behind the last one."""
        end = self.machine.last_end
        return Token(kind, "", end, end)

    def blocks(self, line: Line) -> None:
        """Close and open blocks as the line's indentation says."""
        machine = self.machine
        if self.decorating and (line.dedents or line.indent or not line.tokens):
            self.fault_at(line, "expected a definition after the decorator")
            self.whole = False
            self.give_up(self.tokenizer.source[self.saved_at : line.start], self.mark("ERROR"))
        if not line.indent and self.wants_block():
            self.whole = self.whole and bool(line.tokens)
            self.fault_at(line, "expected an indented block")
            machine.feed(self.mark("INDENT"))
            self.give_up("", self.mark("ERROR"), restore=False)
            machine.feed(self.mark("DEDENT"))
        for _ in range(line.dedents):
            if self.fed and self.fed.pop():
                machine.feed(self.mark("DEDENT"))
        if line.indent:
            wanted = self.wants_block()
            self.fed.append(wanted)
            if wanted:
                machine.feed(self.mark("INDENT"))
            elif not self.lost_header:
                line.fault = line.fault or LexicalFault(
                    "this line is indented, but no block starts here",
                    line.tokens[0].start,
                    line.tokens[0].end,
                )

    def wants_block(self) -> bool:
        return "INDENT" in self.machine.program.actions[self.machine.states[-1]]

    def line(self, line: Line) -> None:
        """Read one line of tokens."""
        machine, tokens = self.machine, line.tokens
        if not self.decorating:
            self.saved, self.saved_at, self.pending = machine.save(), line.start, []
        self.decorating = self.lost_header = False
        orphan = tokens[0].kind in _CONTINUING and line.depth in self.lost_headers
        if not orphan:
            self.lost_headers.discard(line.depth)
        if line.fault is None:
            feed = machine.feed
            for token in tokens:
                if not feed(token):
                    break
            else:
                token = self.mark("NEWLINE")
                if feed(token):
                    self.decorating = tokens[0].kind == "@"
                    self.pending += [*tokens, token]
                    return
            if not orphan:
                before = tokens[: tokens.index(token)] if token.kind != "NEWLINE" else tokens
                self.rewind(before)
                self.note(explain(machine, token, before, self.source, self.file))
        else:
            self.whole = self.whole and not line.unclosed
            self.report(line.fault)
        first = self.pending[0] if self.pending else tokens[0]
        last = tokens[-1]
        text = self.source[self.saved_at : line.end]
        self.give_up(text, Token("ERROR", "", first.start, last.end))
        self.lost_header = True
        if last.kind == ":" or tokens[0].kind in HEADERS:
            self.lost_headers.add(line.depth)

    def rewind(self, before: list[Token]) -> None:
        """Undo what a token did before it was found not to fit: the state must tell what would have."""
        self.machine.restore(self.saved)
        for token in (*self.pending, *before):
            self.machine.feed(token)

    def give_up(self, text: str, place: Token, *, restore: bool = True) -> None:
        """Put a statement of kind Error in place of what was read since the last whole statement."""
        if restore:
            self.machine.restore(self.saved)
        self.decorating = False
        indent = text[: len(text) - len(text.lstrip(" \t\f"))]
        lines = [row.removeprefix(indent) for row in text.rstrip().split("\n")]
        if not self.machine.feed(Token("ERROR", "\n".join(lines), place.start, place.end)):
            raise AssertionError("an Error can stand wherever a statement can")

    def fault_at(self, line: Line, message: str) -> None:
        """Note a fault at the first token of a line, or at the end of the text."""
        end = self.machine.last_end
        start, stop = (line.tokens[0].start, line.tokens[0].end) if line.tokens else (end, end)
        self.note(Diagnostic("syntax", message, Span(self.file, *start, *stop), source=self.source))

    def report(self, fault: LexicalFault) -> None:
        """Note what the tokenizer found."""
        lacking = "not part of the language" in fault.message
        code = "unsupported-syntax" if lacking else "syntax"
        help = (fault.help,) if fault.help else ()
        span = Span(self.file, *fault.start, *fault.end)
        self.note(Diagnostic(code, fault.message, span, help=help, source=self.source))

    def note(self, diagnostic: Diagnostic) -> None:
        if len(self.builder.diagnostics) < 10 * MOST:
            self.builder.diagnostics.append(diagnostic)
