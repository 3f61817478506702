"""The base of surface and IR nodes: immutable slotted values with described fields.

A node class states its fields as annotations; the metaclass makes slots, `__match_args__`, a
fast `__init__` and the field table that visiting, equality, hashing, JSON and pickling share:

    class For(Stmt):
        loop_var: Annotated[Var, Defines("body")]
        ...
        span: Annotated[Span | None, IGNORED] = None

Sequences are tuples (lists are turned into tuples by `_coerce`), mappings are `Attrs`.  A
class may define `_coerce(...)`, which gets the values of all fields but derived ones and
returns them converted and checked, and `_derive(self)`, which computes its derived fields.
`span` always stands last.
"""

from __future__ import annotations

import builtins
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar, Union, get_args, get_origin

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Defines:
    """Marks a field whose variables are defined by this node, visible in the named fields.

    "rest" means the statements after this one in the same sequence; "self" the other fields of
    the node.  With `symbols`, variables that occur in the types of the defined ones and are not
    in scope yet are defined there too (the sizes of a buffer parameter).
    """

    where: tuple[str, ...]
    symbols: bool

    def __init__(self, *where: str, symbols: bool = False) -> None:
        object.__setattr__(self, "where", where)
        object.__setattr__(self, "symbols", symbols)


class _Mark:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


IGNORED = _Mark("IGNORED")
"""Marks a field that structural equality and hashing leave out (spans, name hints)."""
DERIVED = _Mark("DERIVED")
"""Marks a field computed from the others (`ty` of most expressions); not part of `__init__`."""


@dataclass(frozen=True, slots=True)
class Field:
    """What the shared algorithms know of one field.

    `hint` is the resolved type without marks.  `kind` sums it up: "leaf" (no node inside),
    "node", "maybe" (a node or None), "nodes" (a tuple of nodes), "attrs", or "any".
    """

    name: str
    defines: Defines | None
    ignored: bool
    default: Any
    hint: Any
    kind: str

    @property
    def has_default(self) -> bool:
        return self.default is not MISSING


MISSING: Any = _Mark("MISSING")


class Attrs(Mapping[str, Any]):
    """An immutable mapping from strings; keeps its order, which equality ignores.

    Lists among the values become tuples, other mappings become Attrs, at any depth.
    """

    __slots__ = ("__weakref__", "_items")
    _items: dict[str, Any]

    def __init__(self, items: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        table = {**(items or {}), **more}
        for key, value in table.items():
            if isinstance(value, list | tuple | dict):
                table[key] = _frozen(value)
            if type(key) is not str:
                raise TypeError(f"the keys of Attrs are strings, not {type(key).__name__}")
        object.__setattr__(self, "_items", table)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("Attrs is immutable")

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"Attrs({self._items!r})"

    def __hash__(self) -> int:
        return hash(frozenset(self._items))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Mapping) and self._items == dict(other))

    def __copy__(self) -> Attrs:
        return self

    def __deepcopy__(self, memo: Any) -> Attrs:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Attrs, (self._items,)

    def set(self, **items: Any) -> Attrs:
        """A copy with these items added or replaced."""
        return Attrs({**self._items, **items})

    def without(self, *keys: str) -> Attrs:
        """A copy lacking these keys; absent ones are no error."""
        return Attrs({k: v for k, v in self._items.items() if k not in keys})


def _frozen(value: Any) -> Any:
    if isinstance(value, list) or type(value) is tuple:
        if any(isinstance(v, list | tuple | dict) for v in value):
            return tuple([_frozen(v) for v in value])
        return value if isinstance(value, tuple) else tuple(value)
    return Attrs(value) if isinstance(value, dict) else value


NO_ATTRS = Attrs()


class NodeMeta(type):
    """Turns annotations into slots, `__match_args__`, `__init__` and `fields`."""

    fields: tuple[str, ...]
    derived: tuple[str, ...]
    _defaults: dict[str, Any]

    def __new__(mcls, name: str, bases: tuple[type, ...], ns: dict[str, Any], **kwargs: Any) -> NodeMeta:
        annotations = ns.get("__annotations__", {})
        own = [n for n, a in annotations.items() if not str(a).startswith("ClassVar")]
        defaults = {n: ns.pop(n) for n in own if n in ns}
        derived = [n for n in own if "DERIVED" in str(annotations[n])]
        base = next((b for b in bases if isinstance(b, NodeMeta)), None)
        inherited = base.fields if base else ()
        slots = [n for n in own if n not in (inherited + (base.derived if base else ()))]
        ns.setdefault("__slots__", tuple(slots))
        cls = super().__new__(mcls, name, bases, ns, **kwargs)
        names = [n for n in (*(i for i in inherited if i not in own), *own) if n not in derived]
        if "span" in names:
            names = [n for n in names if n != "span"] + ["span"]
        cls.fields = tuple(names)
        own_derived = tuple(n for n in (base.derived if base else ()) if n not in own) + tuple(derived)
        cls.derived = own_derived
        cls._defaults = {**(base._defaults if base else {}), **defaults}
        type.__setattr__(cls, "__match_args__", cls.fields)
        if "__init__" not in ns:
            cls.__init__ = _make_init(cls)  # type: ignore[misc]
        _CLASSES.setdefault((_room(cls.__module__), name), cls)
        return cls

    @property
    def field_table(cls) -> tuple[Field, ...]:
        """The description of each field, in order; definitions stand first in `visit_order`."""
        return _field_table(cls)


def _make_init(cls: NodeMeta) -> Callable[..., None]:
    env: dict[str, Any] = {"defaults": cls._defaults}
    params, body = [], []
    for f in cls.fields:
        params.append(f"{f}=defaults[{f!r}]" if f in cls._defaults else f)
        env[f"set_{f}"] = getattr(cls, f).__set__
    if any("=" in a and "=" not in b for a, b in zip(params, params[1:], strict=False)):
        raise TypeError(f"{cls.__name__}: a field without default follows one with a default")
    if hasattr(cls, "_coerce"):
        names = [f for f in cls.fields if f != "span"]
        if names:
            env["coerce"] = cls._coerce
            body.append(f"    {', '.join(names)}, = coerce({', '.join(names)})")
    body += [f"    set_{f}(self, {f})" for f in cls.fields]
    for d in cls.derived:
        env[f"set_{d}"] = getattr(cls, d).__set__
        env["derive"] = cls._derive  # type: ignore[attr-defined]
        body.append(f"    set_{d}(self, derive(self))")
    source = f"def __init__(self, {', '.join(params)}):\n" + "\n".join(body or ["    pass"])
    exec(source, env)  # the text is made of the class's own field names only
    init: Callable[..., None] = env["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


_TABLES: dict[type, tuple[Field, ...]] = {}
_CLASSES: dict[tuple[str, str], NodeMeta] = {}


def _room(module: str) -> str:
    return ".".join(module.split(".")[:2])


def find_class(room: str, name: str) -> NodeMeta | None:
    """The node class of this name defined in a room such as "loopwright.ir", or None."""
    return _CLASSES.get((room, name))


class _Names(dict[str, Any]):
    """Names for evaluating annotations.

    A node class that the module imports for type checkers only is found by its name; anything
    else unknown counts as Any.
    """

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            return getattr(builtins, name)
        return find_class(_room(self["__name__"]), name) or Any


_PLAIN = (object, tuple, list, dict, set, frozenset)


def _kind(hint: Any) -> str:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        parts = {_kind(p) for p in get_args(hint) if p is not type(None)}
        if len(parts) != 1:
            return "any"
        kind = parts.pop()
        optional = type(None) in get_args(hint)
        return kind if not optional or kind == "leaf" else "maybe" if kind == "node" else "any"
    if origin is tuple:
        args = get_args(hint)
        inner = _kind(args[0]) if len(args) == 2 and args[1] is Ellipsis else "any"
        return {"leaf": "leaf", "node": "nodes"}.get(inner, "any")
    if isinstance(hint, NodeMeta):
        return "node"
    if hint is Attrs:
        return "attrs"
    plain = isinstance(hint, type) and hint not in _PLAIN and not issubclass(hint, Mapping)
    return "leaf" if plain and hint is not Any else "any"


def _field_table(cls: NodeMeta) -> tuple[Field, ...]:
    found = _TABLES.get(cls)
    if found is None:
        rows = []
        for name in cls.fields:
            owner = next(c for c in cls.__mro__ if name in c.__dict__.get("__annotations__", {}))
            hint = owner.__annotations__[name]
            if isinstance(hint, str):
                hint = eval(hint, {}, _Names(vars(sys.modules[owner.__module__])))  # the module's own text
            marks = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
            hint = get_args(hint)[0] if marks else hint
            defines = next((m for m in marks if isinstance(m, Defines)), None)
            default = cls._defaults.get(name, MISSING)
            rows.append(Field(name, defines, IGNORED in marks, default, hint, _kind(hint)))
        found = _TABLES[cls] = tuple(rows)
    return found


def visit_order(cls: NodeMeta) -> tuple[Field, ...]:
    """The fields of a class in the order in which algorithms should look at them: definitions first."""
    table = cls.field_table
    return tuple(f for f in table if f.defines) + tuple(f for f in table if not f.defines)


class Node(metaclass=NodeMeta):
    """An immutable value with described fields; `==` is identity unless a class says otherwise."""

    __slots__ = ("__weakref__",)
    fields: ClassVar[tuple[str, ...]] = ()

    if TYPE_CHECKING:
        # Constructors convert what they are given (lists, numbers, dtype strings), so their declared
        # signature would refuse what they accept; the metaclass makes the real one.
        def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; use .replace({name}=...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def replace(self: N, **changes: Any) -> N:
        """A copy with these fields replaced."""
        cls = type(self)
        unknown = [c for c in changes if c not in cls.fields]
        if unknown:
            raise TypeError(f"{cls.__name__} has no field {unknown[0]!r}; it has {', '.join(cls.fields)}")
        return cls(*[changes[f] if f in changes else getattr(self, f) for f in cls.fields])

    def field_values(self) -> tuple[Any, ...]:
        """The field values in order."""
        return tuple([getattr(self, f) for f in type(self).fields])

    def __repr__(self) -> str:
        return _show(self, 3)

    def __copy__(self: N) -> N:
        return self

    def __deepcopy__(self: N, memo: Any) -> N:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _last, (_pickle_order(self),)


N = TypeVar("N", bound=Node)


def _show(value: Any, depth: int) -> str:
    if isinstance(value, tuple):
        inner = [_show(v, depth - 1) for v in value[:4]] + ["..."] * (len(value) > 4)
        return f"({', '.join(inner)}{',' * (len(value) == 1)})" if depth > 0 else "(...)"
    if not isinstance(value, Node):
        return repr(value)
    cls = type(value)
    if cls.__repr__ is not Node.__repr__:
        return repr(value)
    if depth <= 0:
        return f"{cls.__name__}(...)"
    shown = []
    for f in cls.fields:
        item = getattr(value, f)
        if f != "span" and not (f in cls._defaults and item is cls._defaults[f]):
            shown.append(f"{f}={_show(item, depth - 1)}")
    return f"{cls.__name__}({', '.join(shown)})"


# Pickling recurses, so deep programs must not be pickled by following their fields.  A node is
# written as the list of all nodes below it, children first; each is written as a `_Shallow`, whose
# own parts are references to the `_Shallow`s before it.  There is one `_Shallow` a node while a
# pickler remembers it, so nodes shared within one pickle, variables above all, stay shared.


class _Shallow:
    __slots__ = ("__weakref__", "node")

    def __init__(self, node: Node) -> None:
        self.node = node

    def __reduce__(self) -> tuple[Any, ...]:
        cls = type(self.node)
        return cls, tuple([_shallow_value(v) for v in self.node.field_values()])


_shallow: weakref.WeakValueDictionary[int, _Shallow] = weakref.WeakValueDictionary()
_shallow_lock = threading.Lock()


def _shallow_of(node: Node) -> _Shallow:
    with _shallow_lock:
        found = _shallow.get(id(node))
        if found is None:
            found = _shallow[id(node)] = _Shallow(node)
        return found


def _shallow_value(value: Any) -> Any:
    if isinstance(value, Node):
        return _shallow_of(value)
    if type(value) is tuple:
        return tuple([_shallow_value(v) for v in value])
    if isinstance(value, Mapping) and type(value) is not dict:
        return type(value)({_shallow_value(k): _shallow_value(v) for k, v in value.items()})  # type: ignore[call-arg]
    return value


def nodes_inside(value: Any) -> list[Node]:
    """The nodes in a field's value: itself, or those in its tuples and mappings, keys included."""
    if isinstance(value, Node):
        return [value]
    found: list[Node] = []
    if type(value) is tuple:
        for v in value:
            found += nodes_inside(v)
    elif isinstance(value, Mapping):
        for k, v in value.items():
            found += nodes_inside(k) if isinstance(k, Node) else []
            found += nodes_inside(v)
    return found


def node_order(root: Node) -> list[Node]:
    """Every node reachable through fields, each once, children before parents; no recursion."""
    order: list[Node] = []
    known: set[int] = set()
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif id(node) not in known:
            known.add(id(node))
            stack.append((node, True))
            for f in reversed(type(node).fields):
                value = getattr(node, f)
                if value is not None and type(value) not in _LEAVES:
                    stack += [(n, False) for n in reversed(nodes_inside(value)) if id(n) not in known]
    return order


_LEAVES = frozenset({str, int, float, bool, bytes})


def _pickle_order(root: Node) -> list[_Shallow]:
    return [_shallow_of(n) for n in node_order(root)]


def _last(nodes: list[Any]) -> Any:
    return nodes[-1]


_DEEP_LIMIT = 400_000


class deep:
    """A context in which deep programs do not overflow Python's recursion limit.

    Python-to-Python calls of 3.11 and later use no C stack, so only the limit has to be
    raised.  Nesting is allowed; the old limit comes back when the outermost context ends.
    """

    _lock: ClassVar[threading.Lock] = threading.Lock()
    _users: ClassVar[int] = 0
    _old: ClassVar[int] = 1000

    def __enter__(self) -> None:
        with deep._lock:
            if deep._users == 0:
                deep._old = sys.getrecursionlimit()
                sys.setrecursionlimit(max(deep._old, _DEEP_LIMIT))
            deep._users += 1

    def __exit__(self, *exc: object) -> None:
        with deep._lock:
            deep._users -= 1
            if deep._users == 0:
                sys.setrecursionlimit(deep._old)


def runs_deep(function: F) -> F:
    """Decorator for public entry points: the function runs under `deep()`."""
    import functools

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with deep():
            return function(*args, **kwargs)

    return wrapper  # type: ignore[return-value]
