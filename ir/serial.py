"""IR as JSON: a flat list of nodes, children before parents, shared nodes written once.

    {"format": "loopwright-ir", "version": 1, "root": ..., "nodes": [["Var", {"name": "i", ...}], ...]}

In a field, `{"node": 3}` is the node at that place of the list; a list is a tuple; numbers,
strings, true, false and null are themselves.  What JSON cannot say has a tag: `{"float": "nan"}`,
`{"int": "..."}` beyond 2**53, `{"attrs": {...}}`, `{"functions": [[name, function], ...]}`,
`{"dtype": ...}`, `{"array": {...}}` with the bytes in base64, `{"bytes": ...}`, `{"target": ...}`,
`{"span": [...]}`, `{"enum": [class, number]}`.  Fields at their default are left out.
Loading builds nodes through their constructors and runs nothing else.
"""

from __future__ import annotations

import base64
import binascii
import enum
import json
import math
import re
import sys
from collections.abc import Callable
from typing import Any, get_args

from ..dtype import DType
from ..errors import Diagnostic, IRError, LoopwrightError, Span
from ..node import Attrs, Node, NodeMeta, find_class, node_order
from ..target import Target
from .equal import array_content
from .function import Functions
from .op import Effect
from .stmt import ForKind

FORMAT = "loopwright-ir"
VERSION = 1
_ROOM = __name__.rsplit(".", 1)[0]
_EXACT = 1 << 53


def to_json(value: Any, *, spans: bool = True, indent: int | None = None) -> str:
    """The JSON text of a node (or attribute value); `from_json` makes an equal one of it.

    Without `spans` the places in source files are left out.  Raises IRError naming a value that
    has no JSON form.
    """
    nodes: list[Node] = []
    places: dict[int, int] = {}
    holder = value if isinstance(value, Node) else None
    writer = _Writer(places, spans)
    rows = []
    for node in node_order(holder) if holder is not None else _inside(value):
        if id(node) in places:
            continue
        rows.append(writer.node(node))
        places[id(node)] = len(nodes)
        nodes.append(node)
    document = {"format": FORMAT, "version": VERSION, "root": writer.value(value), "nodes": rows}
    if indent is None:
        return json.dumps(document, separators=(",", ":"), allow_nan=False)
    return json.dumps(document, indent=indent, allow_nan=False)


def _inside(value: Any) -> list[Node]:
    from ..node import nodes_inside

    found: list[Node] = []
    for node in nodes_inside(value):
        found += node_order(node)
    return found


class _Writer:
    def __init__(self, places: dict[int, int], spans: bool) -> None:
        self.places = places
        self.spans = spans

    def node(self, node: Node) -> list[Any]:
        cls = type(node)
        if find_class(_ROOM, cls.__name__) is not cls:
            raise _no_form(node)
        fields: dict[str, Any] = {}
        for f in cls.fields:
            item = getattr(node, f)
            if f in cls._defaults and item is cls._defaults[f] or (f == "span" and not self.spans):
                continue
            fields[f] = self.value(item)
        return [cls.__name__, fields]

    def value(self, value: Any) -> Any:
        if value is None or value is True or value is False or type(value) is str:
            return value
        if isinstance(value, Node):
            return {"node": self.places[id(value)]}
        if type(value) is int:
            return value if -_EXACT <= value <= _EXACT else {"int": hex(value)}
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if type(value) is tuple:
            return [self.value(v) for v in value]
        return self.tagged(value)

    def tagged(self, value: Any) -> dict[str, Any]:
        if isinstance(value, Attrs):
            return {"attrs": {k: self.value(v) for k, v in value.items()}}
        if isinstance(value, Functions):
            return {"functions": [[self.value(k), self.value(v)] for k, v in value.items()]}
        if isinstance(value, DType):
            return {"dtype": str(value)}
        if isinstance(value, Span):
            return {"span": [value.file, value.line, value.column, value.end_line, value.end_column]}
        if isinstance(value, Target):
            return {"target": value.export()}
        if type(value) in _ENUMS.values():
            return {"enum": [type(value).__name__, value.value]}
        if type(value) is bytes:
            return {"bytes": base64.b64encode(value).decode("ascii")}
        if hasattr(value, "tobytes") and hasattr(value, "dtype"):
            dtype, shape, content = array_content(value)
            text = base64.b64encode(content).decode("ascii")
            return {"array": {"dtype": dtype, "shape": list(shape), "data": text}}
        raise _no_form(value)


_ENUMS: dict[str, type[enum.Enum]] = {"ForKind": ForKind, "Effect": Effect}


def _no_form(value: Any) -> IRError:
    return IRError(Diagnostic("no-json", f"a {type(value).__name__} has no JSON form: {repr(value)[:80]}"))


def from_json(text: str | bytes) -> Any:
    """The node that `to_json` wrote. Raises IRError naming what is wrong with the text."""
    _check_nesting(text)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as err:
        raise _bad(f"this is not JSON: {err}") from err
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise _bad(f'this is not an object with "format": "{FORMAT}"')
    if document.get("version") != VERSION:
        raise _bad(f"format version {document.get('version')!r} is not known; this release reads {VERSION}")
    rows = document.get("nodes")
    if not isinstance(rows, list) or "root" not in document:
        raise _bad('"nodes" must be a list, and "root" must be there')
    reader = _Reader()
    for row in rows:
        reader.nodes.append(reader.node(row))
    reader.where = "root"
    return reader.value(document["root"])


_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]')
_MAX_NESTING = 500


def _check_nesting(text: str | bytes) -> None:
    """Refuse what would overflow the C stack of the JSON reader while `deep()` has raised the limit."""
    if sys.getrecursionlimit() <= 10_000:
        return
    depth = 0
    for token in _BRACKETS.finditer(text if isinstance(text, str) else text.decode("utf-8", "replace")):
        char = token.group()[0]
        depth += 1 if char in "[{" else -1 if char in "]}" else 0
        if depth > _MAX_NESTING:
            raise _bad(f"the text nests more than {_MAX_NESTING} brackets")


def _bad(text: str) -> IRError:
    return IRError(Diagnostic("bad-json", text))


class _Reader:
    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.where = ""

    def fault(self, text: str) -> IRError:
        return _bad(f"{self.where}: {text}")

    def node(self, row: Any) -> Node:
        self.where = f"nodes[{len(self.nodes)}]"
        if not (
            isinstance(row, list) and len(row) == 2 and isinstance(row[0], str) and isinstance(row[1], dict)
        ):
            raise self.fault("a node is written [class, {field: value}]")
        name, fields = row
        cls = _class(name)
        if cls is None:
            raise self.fault(f"there is no node class `{name}`")
        self.where += f" ({name})"
        unknown = [f for f in fields if f not in cls.fields]
        if unknown:
            raise self.fault(f"there is no field `{unknown[0]}`; the fields are {', '.join(cls.fields)}")
        missing = [f for f in cls.fields if f not in fields and f not in cls._defaults]
        if missing:
            raise self.fault(f"the field `{missing[0]}` is missing")
        values = [self.field(cls, f, fields) for f in cls.fields]
        try:
            made: Node = cls(*values)
        except LoopwrightError as err:
            raise self.fault(err.diagnostics[0].message) from err
        except (TypeError, ValueError, AttributeError, KeyError, OverflowError, IndexError) as err:
            raise self.fault(f"{type(err).__name__}: {err}") from err
        return made

    def field(self, cls: NodeMeta, name: str, fields: dict[str, Any]) -> Any:
        if name not in fields:
            return cls._defaults[name]
        value = self.value(fields[name])
        kind, hint = _kinds(cls)[name]
        fits = True
        if kind in ("node", "maybe", "attrs"):
            fits = isinstance(value, hint)
        elif kind == "nodes":
            fits = isinstance(value, tuple) and all(isinstance(v, hint) for v in value)
        elif kind == "leaf":
            fits = not isinstance(value, Node | Attrs)
        if not fits:
            raise self.fault(f"the field `{name}` cannot be {_brief(value, fields[name])}")
        return value

    def value(self, value: Any) -> Any:
        if isinstance(value, list):
            return tuple([self.value(v) for v in value])
        if not isinstance(value, dict):
            return value
        if len(value) != 1:
            raise self.fault(f"a value with a tag has one key, not {len(value)}")
        ((tag, content),) = value.items()
        if tag == "node":
            if type(content) is not int or not 0 <= content < len(self.nodes):
                raise self.fault(f"the reference to node {content!r} leads nowhere")
            return self.nodes[content]
        if tag == "attrs" and isinstance(content, dict):
            return Attrs({k: self.value(v) for k, v in content.items()})
        if tag == "functions" and isinstance(content, list):
            return self.functions(content)
        decode = _DECODE.get(tag)
        if decode is None:
            raise self.fault(f"there is no tag `{tag}` for {json.dumps(content)[:60]}")
        try:
            return decode(content)
        except LoopwrightError as err:
            raise self.fault(err.diagnostics[0].message) from err
        except (TypeError, ValueError, KeyError, binascii.Error) as err:
            raise self.fault(f"a bad {tag}: {err}") from err

    def functions(self, rows: list[Any]) -> Any:
        table = {}
        for row in rows:
            if not isinstance(row, list) or len(row) != 2:
                raise self.fault("functions are written [[name, function], ...]")
            name, func = self.value(row[0]), self.value(row[1])
            if not isinstance(name, Node) or not isinstance(func, Node):
                raise self.fault("functions are written [[name, function], ...]")
            table[name] = func
        return Functions(table)  # type: ignore[arg-type]


def _class(name: str) -> NodeMeta | None:
    from . import relax  # noqa: F401  its classes are found once it is loaded

    return find_class(_ROOM, name)


_KINDS: dict[NodeMeta, dict[str, tuple[str, Any]]] = {}


def _kinds(cls: NodeMeta) -> dict[str, tuple[str, Any]]:
    """What may stand in each field: its kind, and the class of the node or nodes."""
    found = _KINDS.get(cls)
    if found is None:
        found = _KINDS[cls] = {
            f.name: (f.kind, get_args(f.hint)[0] if f.kind == "nodes" else f.hint) for f in cls.field_table
        }
    return found


def _brief(value: Any, written: Any) -> str:
    return f"a {type(value).__name__}" if isinstance(value, Node) else json.dumps(written)[:80]


def _decode_int(content: Any) -> int:
    return int(content, 16)


def _decode_float(content: Any) -> float:
    if content not in ("nan", "inf", "-inf"):
        raise ValueError(f"{content!r} is not nan, inf or -inf")
    return float(content)


def _decode_span(content: Any) -> Span:
    file, *numbers = content
    if type(file) is not str or len(numbers) != 4 or any(type(n) is not int for n in numbers):
        raise ValueError("a span is a file and four numbers")
    return Span(file, *numbers)


def _decode_enum(content: Any) -> enum.Enum:
    name, number = content
    return _ENUMS[name](number)


def _decode_dtype(content: Any) -> DType:
    if type(content) is not str:
        raise ValueError("a dtype is a string")
    return DType(content)


def _decode_bytes(content: Any) -> bytes:
    return base64.b64decode(content, validate=True)


def _decode_array(content: Any) -> Any:
    import numpy as np

    kind = DType(content["dtype"]) if type(content["dtype"]) is str else None
    shape = content["shape"]
    if kind is None or any(type(n) is not int or n < 0 for n in shape):
        raise ValueError("an array has a dtype and a shape")
    data = _decode_bytes(content["data"])
    if len(data) != math.prod(shape) * kind.numpy().itemsize:
        raise ValueError(f"{len(data)} bytes do not fill the shape {tuple(shape)} of `{kind}`")
    array = np.frombuffer(data, dtype=kind.numpy()).reshape(shape)
    array.flags.writeable = False
    return array


def _decode_target(content: Any) -> Target:
    return Target(content)


_DECODE: dict[str, Callable[[Any], Any]] = {
    "int": _decode_int,
    "float": _decode_float,
    "span": _decode_span,
    "enum": _decode_enum,
    "dtype": _decode_dtype,
    "bytes": _decode_bytes,
    "array": _decode_array,
    "target": _decode_target,
}


__all__ = ["from_json", "to_json"]
