"""Damaging programs: mutations of script text at the level of characters, tokens, lines and the surface tree.

Every mutation takes a text and a random source and gives another text, which may or may not be a
program.  They aim at what readers trip over: unclosed brackets, damaged indentation, awkward names
and numbers, deep nesting, huge constants, characters that Python or a terminal treats specially.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

from ..grammar import read
from ..grammar import tree as S
from ..node import runs_deep
from ..printer import layout

Mutation = Callable[[str, random.Random], str]

AWKWARD_CHARACTERS = (
    *"()[]{}\"'\\#@:;,.=`$?!~*\t\r\n\f\x00\x1a\x7f\x85\xa0\xad",
    "\ufeff",
    "\u200b",
    "\u200f",
    "\u2028",
    "\u202e",
    "\u0301",
    "\ud800",
    "\U0001f600",
    "\uff11",
    "\u0663",
    "\u00b2",
    "\uff08",
    "\u00e9",
    "\u212b",
    "\u2126",
    "\U0001d7d9",
)
AWKWARD_NAMES = (
    "T",
    "I",
    "R",
    "Tx",
    "cls",
    "metadata",
    "Module",
    "A",
    "i",
    "x",
    "_",
    "__",
    "None",
    "True",
    "lambda",
    "class",
    "def",
    "if",
    "else",
    "in",
    "not",
    "match",
    "print",
    "range",
    "len",
    "int",
    "str",
    "sum",
    "TypeVar",
    "self",
    "__class__",
    "__import__",
    "global_symbol",
    "\u00e9t\u00e9",
    "\u5909\u6570",
    "\ufb01",
    "n" * 3000,
    "T.int8",
    "T.float8_e4m3fn",
    "T.handle",
    "T.bool",
    "T.let",
    "T.constexpr",
    "T.Buffer",
    "T.axis",
    "T.grid",
    "T.serial",
    "T.evaluate",
    "T.ptx",
    "T.Ramp",
    "T.meta_var",
    "T.macro",
    "T.reads",
    "I.module_attrs",
    "I.ir_module",
    "R.Tensor",
    "A.data",
    "A.shape",
    "A.dtype",
    "A[0]",
    "A[0:2]",
    "x.y.z",
)
AWKWARD_NUMBERS = (
    "0",
    "-1",
    "1",
    "127",
    "128",
    "255",
    "2147483647",
    "2147483648",
    "-2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "10**100",
    "2**10**9",
    "1 << 10**9",
    "9**9**9**9",
    "7" * 5000,
    "0x" + "f" * 400,
    "0b1",
    "0o17",
    "0777",
    "1_0",
    "1__0",
    "0x",
    "1e",
    "1e999",
    "-1e999",
    "1e-999",
    "1e400j",
    "0.0",
    "-0.0",
    ".5",
    "5.",
    "3.4e38",
    "1j",
    "True",
    "None",
    "...",
    '"text"',
    'b"bytes"',
    'f"{x}"',
    "()",
    "(1,)",
    "[]",
    "{}",
    '"a" * 10**12',
    "[0] * 10**9",
    "(0,) * 10**9",
    'T.float32("nan")',
    'T.float16("inf")',
    "T.int64(2**63)",
    "T.uint8(-1)",
    "T.int8(1) // T.int8(0)",
    "T.bool(2)",
    "T.Broadcast(1, 0)",
    "T.Broadcast(1, 10**9)",
    "T.Ramp(0, 1, -4)",
    "sum(range(10**12))",
    "[i for i in range(10**12)]",
    "(lambda x: x)(3)",
    "lambda: 0",
)
OPERATORS = (
    *("+ - * / // % ** @ << >> & | ^ < <= > >= == != = := += -= //= **= -> . , : ; ( ) [ ] { } ~".split()),
    *("is", "is not", "in", "not in", "and", "or", "not", "if", "else", "for", "lambda", "await", "yield"),
)
_TOKEN = re.compile(r"\d[\w.]*|\w+|\"[^\"\n]*\"|'[^'\n]*'|\s+|[^\w\s]")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)?")
_NUMBER = re.compile(r"(?<![\w.])\d[\w.]*")


# Characters


def _place(text: str, rng: random.Random) -> int:
    return rng.randrange(len(text) + 1)


def delete_characters(text: str, rng: random.Random) -> str:
    """Without a short run of characters."""
    at = _place(text, rng)
    return text[:at] + text[at + rng.choice((1, 1, 1, 2, 8)) :]


def duplicate_characters(text: str, rng: random.Random) -> str:
    """A short run of characters twice."""
    at, n = _place(text, rng), rng.choice((1, 1, 2, 8, 40))
    return text[: at + n] + text[at:]


def swap_characters(text: str, rng: random.Random) -> str:
    """Two neighbours in the other order."""
    at = _place(text, rng)
    return text[:at] + text[at : at + 2][::-1] + text[at + 2 :]


def insert_character(text: str, rng: random.Random) -> str:
    """With an awkward character."""
    at = _place(text, rng)
    return text[:at] + rng.choice(AWKWARD_CHARACTERS) + text[at:]


def replace_character(text: str, rng: random.Random) -> str:
    """With an awkward character in place of another."""
    at = _place(text, rng)
    return text[:at] + rng.choice(AWKWARD_CHARACTERS) + text[at + 1 :]


def cut_off(text: str, rng: random.Random) -> str:
    """Only the beginning, or only the end."""
    at = _place(text, rng)
    return text[:at] if rng.random() < 0.7 else text[at:]


# Tokens


def _on_tokens(change: Callable[[list[str], int, random.Random], None]) -> Mutation:
    def mutate(text: str, rng: random.Random) -> str:
        tokens = _TOKEN.findall(text)
        places = [k for k, token in enumerate(tokens) if not token.isspace()]
        if not places:
            return text
        change(tokens, rng.choice(places), rng)
        return "".join(tokens)

    return mutate


def _delete_token(tokens: list[str], at: int, rng: random.Random) -> None:
    del tokens[at]


def _duplicate_token(tokens: list[str], at: int, rng: random.Random) -> None:
    tokens[at] = " ".join([tokens[at]] * rng.choice((2, 2, 3, 50)))


def _swap_tokens(tokens: list[str], at: int, rng: random.Random) -> None:
    other = rng.randrange(len(tokens))
    tokens[at], tokens[other] = tokens[other], tokens[at]


def _copy_token(tokens: list[str], at: int, rng: random.Random) -> None:
    tokens[at] = rng.choice(tokens)


def _operator(tokens: list[str], at: int, rng: random.Random) -> None:
    signs = [k for k, token in enumerate(tokens) if not (token[0].isalnum() or token.isspace())]
    tokens[rng.choice(signs) if signs else at] = f" {rng.choice(OPERATORS)} "


def _on_matches(pattern: re.Pattern[str], values: tuple[str, ...]) -> Mutation:
    def mutate(text: str, rng: random.Random) -> str:
        found = list(pattern.finditer(text))
        if not found:
            return text
        one, value = rng.choice(found), rng.choice(values)
        if rng.random() < 0.3 and pattern is _NAME:
            value = rng.choice(found)[0]
        if rng.random() < 0.2:
            return re.sub(rf"(?<!\w){re.escape(one[0])}(?!\w)", lambda _: value, text)
        return text[: one.start()] + value + text[one.end() :]

    return mutate


# Lines


def _on_lines(change: Callable[[list[str], int, random.Random], None]) -> Mutation:
    def mutate(text: str, rng: random.Random) -> str:
        lines = text.split("\n")
        change(lines, rng.randrange(len(lines)), rng)
        return "\n".join(lines)

    return mutate


def _delete_line(lines: list[str], at: int, rng: random.Random) -> None:
    del lines[at]


def _duplicate_line(lines: list[str], at: int, rng: random.Random) -> None:
    lines[at:at] = [lines[at]] * rng.choice((1, 1, 1, 30))


def _swap_lines(lines: list[str], at: int, rng: random.Random) -> None:
    other = rng.randrange(len(lines))
    lines[at], lines[other] = lines[other], lines[at]


def _move_line(lines: list[str], at: int, rng: random.Random) -> None:
    line = lines.pop(at)
    lines.insert(rng.randrange(len(lines) + 1), line)


def _indent(lines: list[str], at: int, rng: random.Random) -> None:
    for k in range(at, min(len(lines), at + rng.choice((1, 1, 2, 10)))):
        lines[k] = rng.choice(("    ", " ", "\t", "        ", "\f", "\u3000")) + lines[k]


def _dedent(lines: list[str], at: int, rng: random.Random) -> None:
    for k in range(at, min(len(lines), at + rng.choice((1, 1, 2, 10)))):
        lines[k] = lines[k][rng.choice((1, 4, 4, 8)) :] if lines[k][:1] == " " else lines[k]


def _tabs(lines: list[str], at: int, rng: random.Random) -> None:
    for k in range(at, len(lines)):
        lines[k] = re.sub(r"^( {4})+", lambda m: "\t" * (len(m[0]) // 4), lines[k])


def _join(lines: list[str], at: int, rng: random.Random) -> None:
    if at + 1 < len(lines):
        lines[at : at + 2] = [lines[at] + rng.choice(("", " ", "; ", "\\\n", "\\")) + lines[at + 1].lstrip()]


def _foreign(lines: list[str], at: int, rng: random.Random) -> None:
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    lines.insert(at, indent + rng.choice(FOREIGN))


FOREIGN = (
    "try:",
    "import os",
    "from __future__ import annotations",
    "del x",
    "global x",
    "nonlocal x",
    "async def f(): pass",
    "yield",
    "return",
    "return 1",
    "return A, A",
    "raise ValueError",
    "pass",
    "break",
    "continue",
    "while True:",
    "if True:",
    "else:",
    "elif x:",
    "for i in range(4):",
    "for i, i in T.grid(2, 2):",
    "for i in T.thread_binding(4, thread='threadIdx.x'):",
    "with T.sblock('root'):",
    "with T.sblock('b'):",
    "with T.init():",
    "with open('x') as f:",
    "class C: pass",
    "def f(): pass",
    "@T.prim_func",
    "@T.macro",
    "@T.jit",
    "@property",
    "x: T.int32",
    "x: T.int32 = 1",
    "x: T.let = 1",
    "x = y = 1",
    "x = A",
    "x = A[0:2]",
    "x += 1",
    "x, y = 1, 2",
    "*x, = 1, 2",
    "x := 1",
    "match x:",
    "type X = int",
    "T.reads(A[0])",
    "T.writes()",
    "T.where(x < 1)",
    "T.func_attr({'a': 1})",
    "T.evaluate(0)",
    "T.sblock_attr({'a': [1, {'b': (2,)}]})",
    "vi = T.axis.spatial(4, 0)",
    "vi, vj = T.axis.remap('SR', [i, j])",
    "B = T.match_buffer(A[0], ())",
    "B = T.alloc_buffer((1,), 'float32', scope='')",
    "B = T.decl_buffer((4,), data=A.data)",
    "B = T.sblock_alloc_buffer((10**30,))",
    "n = T.int32()",
    "n = TypeVar('n')",
    "n = T.meta_var([1, 2])",
    "assert 1",
    "assert x, 'm'",
    "assert x, ('RuntimeError', ['a'])",
    "T.attr({'k': 1})",
    "T.launch_thread('threadIdx.x', 4)",
    "Module.main(A)",
    "I.module_attrs({'a': 1})",
    "x = R.add(A, A)",
    "'''",
    '"""doc"""',
    "# comment",
    "\\",
    "(",
    "]",
    "}))",
    "...",
)


# Nesting


def nest(text: str, rng: random.Random) -> str:
    """With one name or number inside a deep nest."""
    found = [*_NAME.finditer(text), *_NUMBER.finditer(text)]
    if not found:
        return text
    one = rng.choice(found)
    depth = rng.choice((30, 120, 300, 1500, 4000))
    return text[: one.start()] + rng.choice(NESTS)(one[0], depth) + text[one.end() :]


NESTS: tuple[Callable[[str, int], str], ...] = (
    lambda x, n: "(" * n + x + ")" * n,
    lambda x, n: "[" * n + x + "]" * n,
    lambda x, n: "(" * n + x + "," + ")," * n,
    lambda x, n: "(" * n + x,
    lambda x, n: x + ")" * n,
    lambda x, n: "{" * n,
    lambda x, n: x + "[0]" * n,
    lambda x, n: x + ".a" * n,
    lambda x, n: x + "()" * n,
    lambda x, n: f"{x}[" * n + "0" + "]" * n,
    lambda x, n: "T.exp(" * n + x + ")" * n,
    lambda x, n: "-" * n + x,
    lambda x, n: "~" * n + x,
    lambda x, n: "not " * n + x,
    lambda x, n: " + ".join([x] * n),
    lambda x, n: " and ".join([x] * n),
    lambda x, n: " < ".join([x] * n),
    lambda x, n: "**".join([x] * n),
    lambda x, n: " - (".join([x] * n) + ")" * (n - 1),
    lambda x, n: f"{x} if {x} else " * n + x,
    lambda x, n: "lambda: " * n + x,
    lambda x, n: f"lambda x={x}: " * n + x,
    lambda x, n: f"[{x} for x in " * n + x + "]" * n,
    lambda x, n: f"[{x}" + f" for x in {x}" * min(n, 300) + "]",
    lambda x, n: "{0: " * n + x + "}" * n,
    lambda x, n: "*" * n + x,
    lambda x, n: ", ".join([x] * n),
    lambda x, n: f"f({', '.join([f'a{k}={x}' for k in range(n)])})",
    lambda x, n: '"' + "\\" * n + '"',
    lambda x, n: f'"{x}" ' * n,
)


def nest_lines(text: str, rng: random.Random) -> str:
    """With a line below a hundred headers."""
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    line = lines[at]
    lead = line[: len(line) - len(line.lstrip())]
    header = rng.choice(
        ("if 1:", "if x:", "for i in range(2):", "while 1:", "with T.attr(0, 'k', 1):", "with T.sblock():")
    )
    depth = rng.choice((10, 60, 99, 130, 400))
    made = [f"{lead}{' ' * k}{header}" for k in range(depth)]
    lines[at : at + 1] = [*made, f"{lead}{' ' * depth}{line.lstrip()}"]
    return "\n".join(lines)


# The surface tree


def _spots(tree: S.Surface) -> list[tuple[tuple[Any, ...], S.Surface]]:
    """Every node with the way to it: pairs of field and index (None: the field holds the node itself)."""
    found: list[tuple[tuple[Any, ...], S.Surface]] = []
    pending: list[tuple[tuple[Any, ...], S.Surface]] = [((), tree)]
    while pending:
        way, node = pending.pop()
        found.append((way, node))
        for name in type(node).fields:
            value = getattr(node, name)
            if isinstance(value, S.Surface):
                pending.append(((*way, (name, None)), value))
            elif isinstance(value, tuple):
                pending += [
                    ((*way, (name, k)), item) for k, item in enumerate(value) if isinstance(item, S.Surface)
                ]
    return found


def _put(node: Any, way: tuple[Any, ...], new: tuple[Any, ...]) -> Any:
    """`node` with what lies at the end of the way replaced by `new` (one node unless it is in a sequence)."""
    if not way:
        return new[0]
    (name, index), rest = way[0], way[1:]
    value = getattr(node, name)
    if index is None:
        return node.replace(**{name: _put(value, rest, new)})
    middle = new if not rest else (_put(value[index], rest, new),)
    return node.replace(**{name: (*value[:index], *middle, *value[index + 1 :])})


def _family(node: S.Surface) -> type:
    return next((t for t in (S.SExpr, S.SStmt) if isinstance(node, t)), type(node))


@runs_deep
def change_tree(text: str, rng: random.Random) -> str:
    """With a node of its tree deleted, duplicated, replaced by another of the tree, or swapped with it."""
    reading = read(text)
    if not reading.ok:
        return text
    spots = _spots(reading.tree)[1:]
    if not spots:
        return text
    way, node = rng.choice(spots)
    alike = [one for _, one in spots if isinstance(one, _family(node))]
    in_sequence = way[-1][1] is not None
    verb = rng.choice(("replace", "replace", "swap", "duplicate", "delete"))
    new: tuple[Any, ...] = (rng.choice(alike),)
    if in_sequence and verb == "delete":
        new = ()
    elif in_sequence and verb == "duplicate":
        new = (node, node)
    tree = _put(reading.tree, way, new)
    if verb == "swap":
        others = [w for w, one in spots if one is new[0] and w[: len(way)] != way and way[: len(w)] != w]
        tree = _put(tree, others[0], (node,)) if others else tree
    try:
        return layout(tree)
    except (ValueError, IndexError, TypeError, AttributeError):
        return text  # the damaged tree is no tree any more: a body without statements, say


MUTATIONS: dict[str, Mutation] = {
    "delete-characters": delete_characters,
    "duplicate-characters": duplicate_characters,
    "swap-characters": swap_characters,
    "insert-character": insert_character,
    "replace-character": replace_character,
    "cut-off": cut_off,
    "delete-token": _on_tokens(_delete_token),
    "duplicate-token": _on_tokens(_duplicate_token),
    "swap-tokens": _on_tokens(_swap_tokens),
    "copy-token": _on_tokens(_copy_token),
    "operator": _on_tokens(_operator),
    "name": _on_matches(_NAME, AWKWARD_NAMES),
    "number": _on_matches(_NUMBER, AWKWARD_NUMBERS),
    "value": _on_matches(_NAME, AWKWARD_NUMBERS),
    "delete-line": _on_lines(_delete_line),
    "duplicate-line": _on_lines(_duplicate_line),
    "swap-lines": _on_lines(_swap_lines),
    "move-line": _on_lines(_move_line),
    "indent": _on_lines(_indent),
    "dedent": _on_lines(_dedent),
    "tabs": _on_lines(_tabs),
    "join": _on_lines(_join),
    "foreign-line": _on_lines(_foreign),
    "nest": nest,
    "nest-lines": nest_lines,
    "tree": change_tree,
}
"""All mutations by name."""


def mutate(text: str, rng: random.Random) -> tuple[str, str]:
    """A damaged text (one mutation, sometimes two or three) and the names of the mutations."""
    names = [rng.choice(_CHOICES) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    for name in names:
        text = MUTATIONS[name](text, rng)
    return text, "+".join(names)


_CHOICES = (*MUTATIONS, "tree", "tree", "tree", "name", "number", "foreign-line")
