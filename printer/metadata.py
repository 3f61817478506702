"""Constants without a literal form, kept beside the program: `metadata["constant"][i]`.

`script(show_meta=True)` puts them in front as an assignment of plain literals:

    metadata = {"constant": [{"dtype": "float32", "shape": [2, 3], "data": "<base64>"}]}

The data are the elements in row-major order, little-endian, without compression.  `decode` reads
such a text or its surface tree; nothing is executed.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, Final

from ..dtype import DType
from ..errors import Diagnostic, DTypeError, ScriptError, Span
from ..grammar import tree as t

if TYPE_CHECKING:
    import numpy as np

KEY: Final = "constant"
TVM_KEY: Final = "ir.GenericConst"
OMITTED: Final = "# Metadata omitted. Use show_meta=True in script() method to show it."


class Constants:
    """The constants that one text refers to; equal ones share a number."""

    __slots__ = ("_numbers", "arrays")

    def __init__(self) -> None:
        self.arrays: list[Any] = []
        self._numbers: dict[tuple[str, tuple[int, ...], bytes], int] = {}

    def number(self, value: Any) -> int:
        """The number of a constant (an array, or what converts to one)."""
        import numpy as np

        array = np.asarray(value)
        key = (array.dtype.name, array.shape, array.tobytes())
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.arrays)
            self.arrays.append(array)
        return found


def key(header: str) -> str:
    """The key of constants in a text with the import lines of `header`."""
    return TVM_KEY if header == "tvm" else KEY


def encode(arrays: list[Any], key: str = KEY) -> t.DictExpr:
    """The literal that holds these arrays."""
    return _dict({key: t.ListExpr(tuple([_entry(a) for a in arrays]))})


def _dict(items: dict[str, t.SExpr]) -> t.DictExpr:
    return t.DictExpr(tuple([t.Constant(k) for k in items]), tuple(items.values()))


def _entry(array: np.ndarray[Any, Any]) -> t.SExpr:
    import numpy as np

    little = np.ascontiguousarray(array)
    if little.dtype.byteorder == ">":
        little = little.astype(little.dtype.newbyteorder("<"))
    return _dict(
        {
            "dtype": t.Constant(str(DType(array.dtype))),
            "shape": t.ListExpr(tuple([t.Constant(n) for n in array.shape])),
            "data": t.Constant(base64.b64encode(little.tobytes()).decode("ascii")),
        }
    )


def decode(source: str | t.Surface) -> dict[str, list[Any]]:
    """The metadata that a text or surface tree holds: key to arrays, read-only.

    Takes the literal itself, the assignment `metadata = ...`, or a whole text that holds it; a text
    without metadata gives an empty dictionary.  Raises ScriptError at the place of what is malformed.
    """
    tree = _literal(source)
    if tree is None:
        return {}
    if not isinstance(tree, t.DictExpr):
        raise _fault(tree, "metadata is a dictionary of lists")
    found: dict[str, list[Any]] = {}
    for key, items in zip(tree.keys, tree.values_):
        if not isinstance(key, t.Constant) or not isinstance(key.value, str):
            raise _fault(key or tree, "the keys of metadata are strings")
        if not isinstance(items, t.ListExpr):
            raise _fault(items, "metadata is a dictionary of lists")
        found[key.value] = [_array(item) for item in items.elts]
    return found


def _literal(source: str | t.Surface) -> t.SExpr | None:
    if isinstance(source, str):
        from ..grammar import read

        source = read(source).tree
    if isinstance(source, t.ModuleTree):
        for stmt in source.body:
            if isinstance(stmt, t.Assign) and _is_metadata(stmt):
                return stmt.value
        only = source.body[0] if len(source.body) == 1 else None
        return only.value if isinstance(only, t.ExprStmt) and isinstance(only.value, t.DictExpr) else None
    if isinstance(source, t.Assign):
        return source.value
    return source if isinstance(source, t.SExpr) else None


def _is_metadata(stmt: t.Assign) -> bool:
    target = stmt.targets[0]
    return len(stmt.targets) == 1 and isinstance(target, t.Name) and target.id == "metadata"


def _array(item: t.SExpr) -> Any:
    import numpy as np

    fields = _fields(item)
    dtype, shape, data = fields["dtype"], fields["shape"], fields["data"]
    if not isinstance(dtype, t.Constant) or not isinstance(data, t.Constant):
        raise _fault(item, "`dtype` and `data` are strings")
    if not isinstance(shape, t.ListExpr):
        raise _fault(shape, "`shape` is a list of numbers")
    dims: list[Any] = [d.value if isinstance(d, t.Constant) else None for d in shape.elts]
    if not all(type(d) is int for d in dims):
        raise _fault(shape, "`shape` is a list of numbers")
    try:
        kind = DType(str(dtype.value)).numpy()
        raw = base64.b64decode(str(data.value), validate=True)
        array = np.frombuffer(raw, dtype=kind.newbyteorder("<")).reshape(dims)
    except (DTypeError, binascii.Error, ValueError) as err:
        raise _fault(item, f"the constant cannot be decoded: {err}") from err
    array = array.astype(kind, copy=False)
    array.flags.writeable = False
    return array


def _fields(item: t.SExpr) -> dict[str, t.SExpr]:
    found = {}
    if isinstance(item, t.DictExpr):
        for key, value in zip(item.keys, item.values_):
            if isinstance(key, t.Constant):
                found[key.value] = value
    for name in ("dtype", "shape", "data"):
        if name not in found:
            raise _fault(item, f"a constant of metadata needs `{name}`")
    return found


def _fault(node: t.Surface, message: str) -> ScriptError:
    span: Span | None = node.span
    return ScriptError(Diagnostic("metadata", message, span))
