"""A structural hash that is the same in every process and on every machine.

Structurally equal nodes have equal hashes.  A variable counts by how many definitions are
visible where it is defined, a free one by the order of its first use, so names do not matter and
neither does whether parts are shared.
"""

from __future__ import annotations

import enum
import math
import struct
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from ..dtype import DType
from ..node import Attrs, Node, runs_deep, visit_order
from .equal import array_content
from .expr import Expr, GlobalVar, Var
from .function import BaseFunc, Functions
from .stmt import BlockRef, SBlock, Stmt
from .types import FuncType, PrimType
from .visitor import defines_vars, function_symbols

_SIZE = 16


@runs_deep
def structural_hash(value: Any) -> int:
    """The hash of a node or attribute value, a number of 128 bits; equal programs hash equal."""
    return int.from_bytes(_Hasher().hash(value), "big")


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=_SIZE).digest()


# One plan a class: (name, kind, symbols) with definitions first, and whether what the class
# defines stays visible after the node itself.
_Plan = tuple[bytes, tuple[tuple[str, str, bool], ...], bool]
_PLANS: dict[type, _Plan] = {}


def _plan(cls: Any) -> _Plan:
    found = _PLANS.get(cls)
    if found is None:
        rows = []
        lasting = False
        for f in visit_order(cls):
            if f.ignored or f.name == "span":
                continue
            kind = "defined" if defines_vars(f) else f.kind
            rows.append((f.name, kind, bool(f.defines and f.defines.symbols)))
            where = f.defines.where if f.defines else ()
            lasting = lasting or "rest" in where or "shape-symbols" in where
            lasting = lasting or ("self" in where and not issubclass(cls, Stmt))
        found = _PLANS[cls] = (cls.__name__.encode() + b"(", tuple(rows), lasting)
    return found


class _Hasher:
    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}  # visible variables: their place among the visible ones
        self.free: dict[int, int] = {}
        self.depth = 0
        self.symbols = False
        self.done: dict[tuple[int, int], bytes] = {}

    def hash(self, value: Any) -> bytes:
        return (_METHODS.get(value.__class__) or _method(value.__class__))(self, value)

    def node(self, node: Node) -> bytes:
        key = (id(node), self.depth)
        found = self.done.get(key)
        if found is not None:
            return found
        head, rows, lasting = _plan(node.__class__)
        depth = self.depth
        parts = [head]
        for name, kind, symbols in rows:
            value = getattr(node, name)
            if kind == "defined":
                parts.append(self.define_all(value if value.__class__ is tuple else (value,), symbols))
            else:
                value_class = value.__class__
                parts.append((_METHODS.get(value_class) or _method(value_class))(self, value))
        if not lasting and not self.symbols:  # symbols may be defined deep inside of a size
            self.depth = depth
        digest = _digest(b"".join(parts))
        if self.depth == depth and isinstance(node, Expr):
            self.done[key] = digest
        return digest

    def define_all(self, variables: tuple[Var, ...], symbols: bool) -> bytes:
        for var in variables:
            self.define(var)
        outside, self.symbols = self.symbols, symbols
        parts = [_method(v.ty.__class__)(self, v.ty) for v in variables]
        self.symbols = outside
        return _digest(b"define" + b"".join(parts))

    def func_type(self, ty: FuncType) -> bytes:
        """Symbols of the parameters that mean nothing outside belong to the type alone."""
        own = [v for v in function_symbols(ty) if id(v) not in self.numbers]
        depth = self.depth
        for v in own:
            self.define(v)
        digest = self.node(ty)
        self.depth = depth
        self.forget(own)
        return digest

    def func(self, func: BaseFunc) -> bytes:
        """The symbols of a function belong to it, though its type mentions them elsewhere, too."""
        symbols = function_symbols(func.ty) if isinstance(func.ty, FuncType) else []
        own = [v for v in symbols if id(v) not in self.numbers]
        digest = self.node(func)
        self.forget(own)
        return digest

    def forget(self, own: list[Var]) -> None:
        if own:
            for v in own:
                self.numbers.pop(id(v), None)
            self.done.clear()

    def define(self, var: Any) -> None:
        """Number a variable by how many are visible; what was computed with another number is dropped."""
        key = id(var)
        if self.numbers.get(key, self.depth) != self.depth or key in self.free:
            self.done.clear()
        self.numbers[key] = self.depth
        self.depth += 1

    def variable(self, var: Var) -> bytes:
        number = self.numbers.get(id(var))
        if number is not None:
            return b"bound%d;" % number
        if self.symbols:
            self.define(var)
            return b"symbol" + _method(var.ty.__class__)(self, var.ty)
        number = self.free.get(id(var))
        if number is None:
            number = self.free[id(var)] = len(self.free)
        return b"free%d;" % number

    def block(self, block: SBlock) -> bytes:
        depth = self.depth
        if block.ref is not None:
            self.define(block.ref)
        digest = self.node(block)
        self.depth = depth
        return digest

    def block_ref(self, ref: BlockRef) -> bytes:
        number = self.numbers.get(id(ref))
        return b"ref%d;" % number if number is not None else b"ref?;"

    def named(self, node: GlobalVar) -> bytes:
        return b"global" + self.text(node.name)

    def scalar_type(self, ty: PrimType) -> bytes:
        return b"type:" + str(ty.dtype).encode() + b";"

    def dtype(self, dtype: DType) -> bytes:
        return b"dtype:" + str(dtype).encode() + b";"

    def sequence(self, items: tuple[Any, ...]) -> bytes:
        parts = [b"tuple%d;" % len(items)]
        for item in items:
            parts.append((_METHODS.get(item.__class__) or _method(item.__class__))(self, item))
        return b"".join(parts)

    def attrs(self, attrs: Attrs) -> bytes:
        parts = [b"attrs%d;" % len(attrs)]
        for key in sorted(attrs):
            value = attrs[key]
            parts += [self.text(key), _method(value.__class__)(self, value)]
        return b"".join(parts)

    def functions(self, functions: Functions) -> bytes:
        table = {g.name: f for g, f in functions.items()}
        parts = [b"functions%d;" % len(table)]
        for name in sorted(table):
            parts.append(self.text(name))
            func = table[name]
            depth = self.depth
            parts.append(_method(func.__class__)(self, func))
            self.depth = depth
        return b"".join(parts)

    def text(self, text: str) -> bytes:
        data = text.encode("utf-8", "surrogatepass")
        return b"str%d;" % len(data) + data

    def data(self, data: bytes) -> bytes:
        return b"bytes%d;" % len(data) + data

    def integer(self, value: int) -> bytes:
        return b"int%d;" % value

    def boolean(self, value: bool) -> bytes:
        return b"bool%d;" % value

    def real(self, value: float) -> bytes:
        return b"float" + (b"nan     " if math.isnan(value) else struct.pack(">d", value))

    def nothing(self, value: None) -> bytes:
        return b"None;"

    def other(self, value: Any) -> bytes:
        name = type(value).__name__.encode()
        if isinstance(value, enum.Enum):
            return b"enum:" + name + b":" + str(value.value).encode() + b";"
        if hasattr(value, "tobytes"):
            dtype, shape, content = array_content(value)
            return _digest(b"array:" + f"{dtype}{shape}".encode() + content)
        return b"other:" + name + b":" + self.text(str(value))


_Method = Callable[[Any, Any], bytes]
_METHODS: dict[type, _Method] = {
    Var: _Hasher.variable,
    GlobalVar: _Hasher.named,
    PrimType: _Hasher.scalar_type,
    FuncType: _Hasher.func_type,
    BaseFunc: _Hasher.func,
    DType: _Hasher.dtype,
    SBlock: _Hasher.block,
    BlockRef: _Hasher.block_ref,
    tuple: _Hasher.sequence,
    Attrs: _Hasher.attrs,
    Functions: _Hasher.functions,
    str: _Hasher.text,
    bytes: _Hasher.data,
    int: _Hasher.integer,
    bool: _Hasher.boolean,
    float: _Hasher.real,
    type(None): _Hasher.nothing,
}


def _method(cls: type) -> _Method:
    """The method for a class of values, kept for the next time."""
    found = _METHODS.get(cls)
    if found is None:
        found = _Hasher.node if issubclass(cls, Node) else _Hasher.other
        nearest = next((b for b in cls.__mro__ if b in _METHODS and issubclass(b, Node)), None)
        found = _METHODS[cls] = found if nearest is None else _METHODS[nearest]
    return found
