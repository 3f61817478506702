"""The types of Schedule's methods, for type checkers and editors: `methods.pyi`, made from the primitives.

    python -m loopwright.schedule.methods_stub > schedule/methods.pyi

A test compares the file with what this module gives.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from collections.abc import Iterator

from .registry import PRIMITIVES, Primitive

_WIDTH = 110
_HEAD = '''# ruff: noqa: E501
"""The primitives as methods. Made by methods_stub.py: run it when a signature changes."""
'''


def methods_stub() -> str:
    """The text of `methods.pyi`: a class with a method for each primitive."""
    primitives = sorted(PRIMITIVES.values(), key=lambda p: p.name)
    methods = ["\n".join([*_definition(p), *_documentation(p)]) for p in primitives]
    return "\n".join([_HEAD, *_imports(primitives), "", "class Methods:", "\n\n".join(methods)]) + "\n"


def _definition(prim: Primitive) -> list[str]:
    """The `def` line, or one line a parameter where that is too long."""
    parts = ["self"]
    starred = False
    for p in prim.signature.parameters.values():
        star = "*" if p.kind is inspect.Parameter.VAR_POSITIONAL else ""
        if p.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred = starred or bool(star) or p.kind is inspect.Parameter.KEYWORD_ONLY
        default = "" if p.default is inspect.Parameter.empty else f" = {p.default!r}"
        parts.append(f"{star}{p.name}: {_given(p.annotation)}{default}")
    end = f") -> {_result(prim)}:"
    line = f"    def {prim.name}({', '.join(parts)}{end}"
    if len(line) <= _WIDTH:
        return [line]
    return [f"    def {prim.name}(", *[f"        {part}," for part in parts], f"    {end}"]


def _documentation(prim: Primitive) -> list[str]:
    """The docstring without its programs."""
    text = re.split(r"^(?:buffers|before):", prim.doc, maxsplit=1, flags=re.M)[0].strip()
    first, *rest = text.splitlines()
    if not rest:
        return [f'        """{first}"""']
    return [f'        """{first}', *[f"        {line}".rstrip() for line in rest], '        """']


def _given(annotation: str) -> str:
    """The type of an argument: where a block is taken, its name may be given."""
    return re.sub(r"\bSBlockRV\b", "SBlockRV | str", annotation)


def _result(prim: Primitive) -> str:
    """What the method gives: the second part of what the function gives after the state, or None."""
    annotation: str = prim.signature.return_annotation
    tree = ast.parse(annotation, mode="eval").body
    if isinstance(tree, ast.Subscript) and isinstance(tree.slice, ast.Tuple):
        return ast.unparse(tree.slice.elts[1])
    assert annotation == "State", f"what does `{prim.name}` give besides the state?"
    return "None"


def _imports(primitives: list[Primitive]) -> list[str]:
    """The imports of the names in the signatures, each from the module that defines it."""
    table: dict[str, set[str]] = {}
    for prim in primitives:
        for name in _names(prim):
            table.setdefault(prim.run.__globals__[name].__module__, set()).add(name)
    lines = [f"from {module} import {', '.join(sorted(table[module]))}" for module in sorted(table)]
    assert __package__ is not None
    root = __package__.split(".")[0]
    own = [line.replace(f"{__package__}.", ".").replace(f"{root}.", "..") for line in lines if root in line]
    return [*[line for line in lines if root not in line], "", *own]


def _names(prim: Primitive) -> Iterator[str]:
    """The names in a signature that are not those of built-in types."""
    annotations = [p.annotation for p in prim.signature.parameters.values()]
    for annotation in (*annotations, _result(prim)):
        for node in ast.walk(ast.parse(annotation)):
            if isinstance(node, ast.Name) and not hasattr(builtins, node.id):
                yield node.id


if __name__ == "__main__":
    print(methods_stub(), end="")
