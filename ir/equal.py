"""Structural equality, and telling where two programs differ.

Two nodes are equal when they are of one class and their fields are, names of variables and spans
apart.  Variables correspond where both sides define them at the same place; free ones must be the
same object, or, with `map_free_vars`, correspond one to one with equal types.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..dtype import DType
from ..errors import Diagnostic, IRError
from ..node import Attrs, Node, runs_deep, visit_order
from .expr import GlobalVar, Var
from .function import BaseFunc, Functions
from .op import Op
from .stmt import AttrStmt, BlockRef, SBlock
from .types import FuncType, PrimType, Type
from .visitor import defines_vars, function_symbols

Path = tuple[Any, str] | None
"""Where a value stands: the path of what holds it, and the step from there, such as `.body` or `[2]`."""


class Difference:
    """The first place where two values differ: its path, both values, and what is different."""

    __slots__ = ("left", "path", "reason", "right")

    def __init__(self, path: Path, left: Any, right: Any, reason: str) -> None:
        self.path, self.left, self.right, self.reason = path, left, right, reason

    @property
    def where(self) -> str:
        """The path as text, from `<root>`."""
        steps: list[str] = []
        path = self.path
        while path is not None:
            path, step = path
            steps.append(step)
        return "<root>" + "".join(reversed(steps))


def structural_equal(a: Any, b: Any, *, map_free_vars: bool = False) -> bool:
    """Whether two nodes (or attribute values) are equal in all but names of variables and spans."""
    return _Comparison(map_free_vars).run(a, b) is None


def first_difference(a: Any, b: Any, *, map_free_vars: bool = False) -> Difference | None:
    """The first place where two nodes differ, or None when they are structurally equal."""
    return _Comparison(map_free_vars, paths=True).run(a, b)


def same_leaf(a: Any, b: Any) -> bool:
    """Whether two values that hold no nodes are equal in type and value; NaN equals NaN, 0.0 not -0.0."""
    if a is b:
        return True
    cls = a.__class__
    if cls is not b.__class__:
        return False
    if cls is float:
        return (a == b and math.copysign(1.0, a) == math.copysign(1.0, b)) or (a != a and b != b)
    if cls is tuple:
        return len(a) == len(b) and all(same_leaf(x, y) for x, y in zip(a, b))
    if hasattr(a, "tobytes"):
        return array_content(a) == array_content(b)
    return bool(a == b)


def array_content(value: Any) -> tuple[str, tuple[int, ...], bytes]:
    """What counts of a constant array: element type, shape, and the bytes in row-major order."""
    return str(value.dtype), tuple([int(n) for n in value.shape]), value.tobytes()


# One plan a class: (name, how to compare) with definitions last, since pairs are put on a stack.
_Plan = tuple[tuple[str, str, bool], ...]
_PLANS: dict[type, _Plan] = {}


def _plan(cls: Any) -> _Plan:
    found = _PLANS.get(cls)
    if found is None:
        rows = []
        for f in visit_order(cls):
            if f.ignored or f.name == "span":
                continue
            defined = defines_vars(f)
            rows.append((f.name, "defined" if defined else f.kind, bool(f.defines and f.defines.symbols)))
        found = _PLANS[cls] = tuple(reversed(rows))
    return found


_END = object()


class _Forget:
    """On the stack behind a function or its type: what it defines for itself."""

    __slots__ = ("left", "right")

    def __init__(self, left: list[Var], right: list[Var]) -> None:
        self.left, self.right = left, right


class _Comparison:
    """One comparison: a stack of pairs still to compare, and the variables matched so far."""

    def __init__(self, map_free: bool, paths: bool = False) -> None:
        self.map_free = map_free
        self.paths = paths
        self.left: dict[int, Any] = {}
        self.right: dict[int, Any] = {}
        self.moved = map_free  # whether equal objects may still mean different variables
        self.symbols = 0  # inside the type of a definition that brings its own symbols
        self.seen: set[tuple[int, int]] = set()
        self.stack: list[tuple[Any, Any, Path]] = []

    def run(self, a: Any, b: Any) -> Difference | None:
        stack = self.stack
        stack.append((a, b, None))
        while stack:
            a, b, path = stack.pop()
            if a is b:
                if a is _END:
                    self.symbols -= 1
                    continue
                if not self.moved:
                    continue
            cls = a.__class__
            if cls is not b.__class__:
                if cls is _Forget:
                    self.forget(a)
                    continue
                reason: str | None = f"a {_kind(a)} and a {_kind(b)}"
            elif cls in _LEAVES:
                reason = None if same_leaf(a, b) else "different values"
            else:
                reason = (_SPECIAL.get(cls) or self.special(cls))(self, a, b, path)
            if reason is not None:
                return Difference(path, a, b, reason)
        return None

    def special(self, cls: type) -> _Method:
        """How values of a class not met before are compared."""
        nearest = next((_SPECIAL[base] for base in cls.__mro__ if base in _SPECIAL), None)
        default: _Method = _Comparison.node if issubclass(cls, Node) else _Comparison.leaf
        _SPECIAL[cls] = nearest or default
        return _SPECIAL[cls]

    def step(self, path: Path, text: str) -> Path:
        return (path, text) if self.paths else None

    def node(self, a: Node, b: Node, path: Path) -> str | None:
        pair = (id(a), id(b))
        if pair in self.seen:
            return None
        self.seen.add(pair)
        stack, paths = self.stack, self.paths
        for name, kind, symbols in _plan(a.__class__):
            x, y = getattr(a, name), getattr(b, name)
            if kind == "leaf":
                if x is not y and not same_leaf(x, y):
                    stack.append((x, y, self.step(path, f".{name}")))
            elif kind == "defined":
                reason = self.definitions(x, y, symbols, self.step(path, f".{name}"))
                if reason is not None:
                    return reason
            elif x is not y or self.moved:
                stack.append((x, y, (path, f".{name}") if paths else None))
        return None

    def definitions(self, x: Any, y: Any, symbols: bool, path: Path) -> str | None:
        """Match the variables of a defining field, then compare their types."""
        many = x.__class__ is tuple
        if not many:
            x, y = (x,), (y,)
        if len(x) != len(y):
            return f"{len(x)} and {len(y)} variables are defined"
        for a, b in zip(x, y):
            if a.__class__ is not b.__class__:
                return f"a {_kind(a)} and a {_kind(b)} are defined"
            self.match(a, b)
        later: list[tuple[Any, Any, Path]] = []
        for i, (a, b) in enumerate(zip(x, y)):
            if a.ty is not b.ty or (self.moved and a.ty.__class__ is not PrimType):
                here = self.step(path, f"[{i}]") if many else path
                later.append((a.ty, b.ty, self.step(here, ".ty")))
        if later:
            if symbols:
                self.symbols += 1
                self.stack.append((_END, _END, None))
            self.stack += reversed(later)
        return None

    def match(self, a: Any, b: Any) -> None:
        """From here on `a` on the left is `b` on the right, whatever they were before."""
        old, back = self.left.get(id(a)), self.right.get(id(b))
        if old is b and back is a:
            return
        if old is not None or back is not None:
            self.seen.clear()
            if old is not None:
                self.right.pop(id(old), None)
            if back is not None:
                self.left.pop(id(back), None)
        self.left[id(a)] = b
        self.right[id(b)] = a
        if a is not b:
            self.moved = True

    def variable(self, a: Var, b: Var, path: Path) -> str | None:
        known, back = self.left.get(id(a)), self.right.get(id(b))
        if known is not None or back is not None:
            if known is b and back is a:
                return None
            return "variables defined at different places"
        if self.map_free or self.symbols:
            self.match(a, b)
            self.stack.append((a.ty, b.ty, self.step(path, ".ty")))
            return None
        return None if a is b else "different free variables"

    def func_type(self, a: FuncType, b: FuncType, path: Path) -> str | None:
        """Symbols of the parameters that mean nothing outside belong to the type alone."""
        new = self.own(function_symbols(a), function_symbols(b))
        if len(new.left) == len(new.right):
            for x, y in zip(new.left, new.right):
                self.match(x, y)
                self.stack.append((x.ty, y.ty, self.step(path, ".arg_types")))
        return self.node(a, b, path)

    def func(self, a: BaseFunc, b: BaseFunc, path: Path) -> str | None:
        """The symbols of a function belong to it, though its type mentions them elsewhere, too."""
        if isinstance(a.ty, FuncType) and isinstance(b.ty, FuncType):
            self.own(function_symbols(a.ty), function_symbols(b.ty))
        return self.node(a, b, path)

    def own(self, a: list[Var], b: list[Var]) -> _Forget:
        """Those that mean nothing outside; what they stand for is forgotten behind the node."""
        new = _Forget(
            [v for v in a if id(v) not in self.left],
            [v for v in b if id(v) not in self.right],
        )
        if new.left or new.right:
            self.stack.append((new, None, None))
        return new

    def forget(self, own: _Forget) -> None:
        for v in own.left:
            self.left.pop(id(v), None)
        for v in own.right:
            self.right.pop(id(v), None)
        self.seen.clear()

    def block(self, a: SBlock, b: SBlock, path: Path) -> str | None:
        if a.ref is not None and b.ref is not None:
            self.match(a.ref, b.ref)
        return self.node(a, b, path)

    def block_ref(self, a: BlockRef, b: BlockRef, path: Path) -> str | None:
        known = self.left.get(id(a))
        if known is not None:
            return None if known is b else "references to different blocks"
        if self.map_free:
            self.match(a, b)
            return None
        return None if a is b and id(b) not in self.right else "references to different blocks"

    def attr_stmt(self, a: AttrStmt, b: AttrStmt, path: Path) -> str | None:
        # An axis as node is visible in the body: it goes first, which is on top of the stack.
        for name in ("body", "value", "attr_key", "node"):
            self.stack.append((getattr(a, name), getattr(b, name), self.step(path, f".{name}")))
        return None

    def same_name(self, a: Any, b: Any, path: Path) -> str | None:
        return None if a.name == b.name else "different names"

    def identical(self, a: Any, b: Any, path: Path) -> str | None:
        return None if a is b else "different types" if isinstance(a, Type | DType) else "different operators"

    def leaf(self, a: Any, b: Any, path: Path) -> str | None:
        return None if same_leaf(a, b) else "different values"

    def sequence(self, a: tuple[Any, ...], b: tuple[Any, ...], path: Path) -> str | None:
        stack, paths = self.stack, self.paths
        common = min(len(a), len(b))
        if len(a) != len(b):
            stack.append((len(a), len(b), self.step(path, ".length")))
        for i in range(common - 1, -1, -1):
            stack.append((a[i], b[i], (path, f"[{i}]") if paths else None))
        return None

    def attrs(self, a: Attrs, b: Attrs, path: Path) -> str | None:
        missing = [k for k in (*a, *b) if k not in a or k not in b]
        if missing:
            side = "left" if missing[0] in a else "right"
            return f"the key {missing[0]!r} is only on the {side}"
        for key in sorted(a, reverse=True):
            self.stack.append((a[key], b[key], self.step(path, f"[{_quoted(key)}]")))
        return None

    def functions(self, a: Functions, b: Functions, path: Path) -> str | None:
        one, two = {g.name: f for g, f in a.items()}, {g.name: f for g, f in b.items()}
        missing = [k for k in (*one, *two) if k not in one or k not in two]
        if missing:
            side = "left" if missing[0] in one else "right"
            return f"the function `{missing[0]}` is only on the {side}"
        for key in sorted(one, reverse=True):
            self.stack.append((one[key], two[key], self.step(path, f"[{_quoted(key)}]")))
        return None


_LEAVES = frozenset({int, float, bool, str, bytes, type(None)})
_Method = Callable[[_Comparison, Any, Any, Path], str | None]
_SPECIAL: dict[type, _Method] = {
    Var: _Comparison.variable,
    GlobalVar: _Comparison.same_name,
    PrimType: _Comparison.identical,
    Op: _Comparison.identical,
    DType: _Comparison.identical,
    FuncType: _Comparison.func_type,
    BaseFunc: _Comparison.func,
    SBlock: _Comparison.block,
    BlockRef: _Comparison.block_ref,
    AttrStmt: _Comparison.attr_stmt,
    tuple: _Comparison.sequence,
    Attrs: _Comparison.attrs,
    Functions: _Comparison.functions,
}


def _quoted(text: str) -> str:
    from json import dumps

    return dumps(text, ensure_ascii=False)


def _kind(value: Any) -> str:
    return type(value).__name__


@runs_deep
def explain_difference(a: Any, b: Any, *, map_free_vars: bool = False) -> str | None:
    """None for structurally equal nodes; otherwise where they first differ and how, both sides shown.

    The place is an access path such as `<root>.functions["f"].body.seq[2].value`.  Programs are
    printed around the difference, with a mark under it.
    """
    found = first_difference(a, b, map_free_vars=map_free_vars)
    if found is None:
        return None
    lines = [f"the programs differ at {found.where}: {found.reason}"]
    for side, root, value in (("left", a, found.left), ("right", b, found.right)):
        lines.append(f"{side}: {_brief(value)}")
        lines += [f"    {line}" for line in _marked(root, _nodes_on(root, found.path))]
    return "\n".join(lines)


def assert_structural_equal(a: Any, b: Any, *, map_free_vars: bool = False) -> None:
    """Raise IRError (a ValueError) with the explanation unless the nodes are structurally equal."""
    text = explain_difference(a, b, map_free_vars=map_free_vars)
    if text is not None:
        raise IRError(Diagnostic("not-equal", text))


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."


def _nodes_on(root: Any, path: Path) -> list[Node]:
    """The nodes on the way from the root to the place, innermost first."""
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(step)
    nodes, value = [], root
    for step in reversed(steps):
        if isinstance(value, Node):
            nodes.append(value)
        value = _follow(value, step)
    if isinstance(value, Node) and not isinstance(value, Type):
        nodes.append(value)
    nodes.reverse()
    return nodes


def _follow(value: Any, step: str) -> Any:
    if step == ".length":
        return None
    if step.startswith("."):
        return getattr(value, step[1:], None)
    from json import loads

    key = loads(step[1:-1])
    if isinstance(value, Functions):
        return next((f for g, f in value.items() if g.name == key), None)
    try:
        return value[key]
    except (KeyError, IndexError, TypeError):
        return None


def _marked(root: Any, nodes: list[Node]) -> list[str]:
    """The printed lines around the innermost of the nodes that has a text, with a mark under it."""
    if not nodes or not isinstance(root, Node):
        return []
    try:
        from ..printer import show

        text = show(root)
        place = next((text.places(n)[0] for n in nodes if text.places(n)), None)
    except Exception:  # the explanation of a difference must not fail because one side cannot be printed
        return []
    lines = str(text).split("\n")
    if place is None:
        return lines[:_CONTEXT]
    start, end = place
    row = text.count("\n", 0, start)
    column = start - (text.rfind("\n", 0, start) + 1)
    width = max(1, min(end - start, len(lines[row]) - column))
    mark = " " * column + "^" * width
    return [*lines[max(0, row - _CONTEXT // 2) : row + 1], mark, *lines[row + 1 : row + 3]]


_CONTEXT = 8


__all__ = [
    "Difference",
    "assert_structural_equal",
    "explain_difference",
    "first_difference",
    "structural_equal",
]
