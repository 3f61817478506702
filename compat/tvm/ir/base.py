"""`tvm.ir.base`: spans, equality, JSON."""

from __future__ import annotations

from typing import Any

from .... import te
from ....errors import Diagnostic, IRError
from ....errors import Span as _Span
from ....ir import from_json, structural_hash, to_json
from ....node import Attrs, Node
from ...access import AccessPath, mismatch, plain
from ...adapters import adapts, lacking
from ...methods import SourceName


class SequentialSpan:
    """Several spans of one node; ours have one each."""

    __slots__ = ("spans",)

    def __init__(self, spans: Any) -> None:
        self.spans = tuple(spans)


class EnvFunc:
    """A registered function as a value; `get` finds it by name."""

    @staticmethod
    def get(name: str) -> Any:
        """The registered function. Raises UnknownFunctionError when there is none."""
        from ....runtime import get_global_func

        return get_global_func(name)


@adapts(_Span)
def Span(source_name: Any, line: int, end_line: int, column: int, end_column: int) -> _Span:
    """A span, in the peer's order of arguments."""
    return _Span(getattr(source_name, "name", source_name), line, column, end_line, end_column)


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Whether two values are structurally equal."""
    return mismatch(lhs, rhs, map_free_vars) is None


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise ValueError unless both are structurally equal; both sides are printed, the places marked."""
    found = mismatch(lhs, rhs, map_free_vars)
    if found is None:
        return
    left, right = (_shown(value, path) for value, path in zip((lhs, rhs), found))
    raise NotEqualError(
        f"StructuralEqual check failed, caused by lhs at {found[0]}:\n{left}\nand rhs at {found[1]}:\n{right}"
    )


class NotEqualError(IRError):
    """Two values are not structurally equal."""

    default_code = "not-equal"

    def __init__(self, *diagnostics: Diagnostic | str) -> None:
        super().__init__(*diagnostics)

    def __str__(self) -> str:
        return "\n".join(d.message for d in self.diagnostics)


def _shown(value: Any, path: AccessPath) -> str:
    try:
        return str(value.script(path_to_underline=[path], syntax_sugar=False))
    except (AttributeError, TypeError, ValueError):
        return str(value)


def save_json(node: Any) -> str:
    """The node, tensor or operation as JSON text (ours: the peer's does not read it)."""
    if isinstance(node, te.Tensor | te.Operation):
        return te.save_json(node)
    return to_json(plain(node))


def load_json(json_str: str) -> Any:
    """What `save_json` wrote."""
    from .attrs import DictAttrs

    found = from_json(json_str)
    if te.is_encoded(found):
        return te.decode(found)
    return DictAttrs(found) if type(found) is Attrs else found


__getattr__ = lacking("tvm.ir.base")

__all__ = [
    "EnvFunc",
    "Node",
    "SequentialSpan",
    "SourceName",
    "Span",
    "assert_structural_equal",
    "load_json",
    "save_json",
    "structural_equal",
    "structural_hash",
]
