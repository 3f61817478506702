"""Walking and rewriting: `Visitor`, `Rewriter` and what is built from them.

Both look up a method by the class of the node, `visit_<ClassName>`, in a table that is filled
once per visitor class; a node class without a method of its own takes that of its nearest base
class, and in the end the default, which goes through the fields.  Variables are visited where
they are used; where one is defined, `define` is called instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from ..errors import Diagnostic, IRError
from ..node import Attrs, Field, Node, NodeMeta, nodes_inside, runs_deep, visit_order
from .expr import Expr, GlobalVar, IterVar, Var, as_expr
from .function import BaseFunc, Functions, IRModule
from .op import Op
from .stmt import AttrStmt, BlockRef, SBlock, SeqStmt, Stmt
from .types import BufferType, FuncType, PrimType, Type

N = TypeVar("N", bound=Node)
_SIMPLE = (Var, GlobalVar, Op, PrimType)


def child_fields(cls: NodeMeta) -> tuple[Field, ...]:
    """The fields of a class that may hold nodes, definitions first.

    Fields that equality ignores are left out, and so is what a variable, an operator or a scalar
    type holds: those stand for themselves.
    """
    if set(_SIMPLE).intersection(cls.__mro__):
        return ()
    return tuple(f for f in visit_order(cls) if f.kind != "leaf" and not f.ignored)


def defines_vars(field: Field) -> bool:
    """Whether this field holds variables that the node itself defines (not only nodes that define some)."""
    if field.defines is None:
        return False
    hint = field.hint if field.kind == "node" else next(iter(getattr(field.hint, "__args__", ())), None)
    return isinstance(hint, NodeMeta) and issubclass(hint, Var)


def definitions(node: Node) -> list[Var]:
    """The variables that this node itself defines; symbols in their types are not listed."""
    found: list[Var] = []
    for name, many, _ in _definers(type(node)):
        if many:
            found += getattr(node, name)
        else:
            found.append(getattr(node, name))
    return found


def brings_symbols(node: Node) -> bool:
    """Whether the types of what the node defines define symbols: parameters, matches, casts."""
    return any(symbols for _, _, symbols in _definers(type(node)))


_DEFINERS: dict[type, tuple[tuple[str, bool, bool], ...]] = {}


def _definers(cls: NodeMeta) -> tuple[tuple[str, bool, bool], ...]:
    found = _DEFINERS.get(cls)
    if found is None:
        rows = tuple((f.name, f.kind == "nodes", _symbols(f)) for f in child_fields(cls) if defines_vars(f))
        found = _DEFINERS[cls] = rows
    return found


# Going through the fields is generated as straight-line code per node class: the shapes of fields
# are known, and this is what every pass spends its time on. The text holds field names only.


def _is_type(field: Field) -> bool:
    return field.kind == "node" and isinstance(field.hint, NodeMeta) and issubclass(field.hint, Type)


def _compiled(name: str, lines: list[str], env: dict[str, Any]) -> Callable[..., Any]:
    space = {"PrimType": PrimType, "Node": Node, **env}
    exec("\n".join(lines), space)
    made: Callable[..., Any] = space[name]
    return made


def _make_visit(cls: NodeMeta) -> Callable[..., None]:
    lines = ["def visit_fields(self, node):"]
    for f in child_fields(cls):
        get = f"node.{f.name}"
        if defines_vars(f):
            lines.append(f"    self.define_all({get if f.kind == 'nodes' else f'({get},)'}, {_symbols(f)})")
        elif _is_type(f):
            lines += [f"    if {get}.__class__ is not PrimType:", f"        self.visit({get})"]
        elif f.kind == "node":
            lines.append(f"    self.visit({get})")
        elif f.kind == "maybe":
            lines += [f"    if {get} is not None:", f"        self.visit({get})"]
        elif f.kind == "nodes":
            lines += [f"    for child in {get}:", "        self.visit(child)"]
        elif f.kind == "attrs":
            lines += [f"    if {get}._items:", f"        self.visit_value({get})"]
        else:
            lines.append(f"    self.visit_value({get})")
    return _compiled("visit_fields", [*lines, "    return None"], {})


def _symbols(field: Field) -> bool:
    return bool(field.defines and field.defines.symbols)


def _make_rewrite(cls: NodeMeta) -> Callable[..., Any]:
    children = child_fields(cls)
    if not children:
        return _same
    lines = ["def rewrite_fields(self, node):"]
    changed = []
    for i, f in enumerate(children):
        old, new = f"old{i}", f"new{i}"
        lines.append(f"    {old} = node.{f.name}")
        if defines_vars(f):
            if f.kind == "nodes":
                lines.append(f"    {new} = self.define_all({old}, {_symbols(f)})")
            else:
                lines.append(f"    {new} = self.define_all(({old},), {_symbols(f)})[0]")
        elif _is_type(f):
            lines.append(f"    {new} = {old} if {old}.__class__ is PrimType else self.visit({old})")
        elif f.kind == "node":
            lines.append(f"    {new} = self.visit({old})")
        elif f.kind == "maybe":
            lines.append(f"    {new} = None if {old} is None else self.visit({old})")
        elif f.kind == "nodes":
            lines.append(f"    {new} = self.visit_tuple({old}) if {old} else {old}")
        elif f.kind == "attrs":
            lines.append(f"    {new} = self.visit_value({old}) if {old}._items else {old}")
        else:
            lines.append(f"    {new} = self.visit_value({old})")
        changed.append(f"{new} is {old}")
    lines += [f"    if {' and '.join(changed)}:", "        return node"]
    position = {f.name: i for i, f in enumerate(children)}
    args = [f"new{position[n]}" if n in position else f"node.{n}" for n in cls.fields]
    return _compiled("rewrite_fields", [*lines, f"    return cls({', '.join(args)})"], {"cls": cls})


def _same(self: Any, node: Node) -> Node:
    return node


class _Table(dict[type, Callable[..., Any]]):
    """From node class to method, filled as classes are met."""

    def __init__(self, owner: type, make: Callable[[NodeMeta], Callable[..., Any]]) -> None:
        super().__init__()
        self.owner = owner
        self.make = make

    def __missing__(self, cls: Any) -> Callable[..., Any]:
        if not isinstance(cls, NodeMeta):
            raise IRError(Diagnostic("not-a-node", f"a {cls.__name__} is not a node of the program"))
        for base in cls.__mro__:
            method = getattr(self.owner, f"visit_{base.__name__}", None)
            if method is not None and isinstance(base, NodeMeta):
                self[cls] = method
                return method
        found = self[cls] = _fields_method(self.make, cls)
        return found


_FIELDS: dict[tuple[Any, type], Callable[..., Any]] = {}


def _fields_method(make: Callable[[NodeMeta], Callable[..., Any]], cls: NodeMeta) -> Callable[..., Any]:
    found = _FIELDS.get((make, cls))
    if found is None:
        found = _FIELDS[make, cls] = make(cls)
    return found


class Visitor:
    """Looks at every node of a program, in order, each occurrence once.

    Call the visitor to start: `MyVisitor()(func)`; methods go on with `self.visit(child)`, or
    `self.visit_fields(node)` for all children.  What methods return is passed through.
    """

    _table: ClassVar[_Table]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._table = _Table(cls, _make_visit)

    @runs_deep
    def __call__(self, node: Node) -> Any:
        """Visit from outside: as `visit`, at any depth of the program."""
        return self.visit(node)

    def visit(self, node: Node) -> Any:
        """Go to the method for this class of node."""
        return self._table[node.__class__](self, node)

    def visit_fields(self, node: Node) -> None:
        """Visit the children of a node."""
        _fields_method(_make_visit, type(node))(self, node)

    def visit_value(self, value: Any) -> None:
        """Visit the nodes in a value: an attribute, a tuple, a mapping."""
        for node in nodes_inside(value):
            self.visit(node)

    def visit_IRModule(self, mod: IRModule) -> Any:
        """Visit the functions, then attributes and global infos. Names are not visited."""
        for func in mod.functions.values():
            self.visit(func)
        self.visit_value(mod.attrs)
        self.visit_value(mod.global_infos)

    def define_all(self, variables: tuple[Var, ...], symbols: bool) -> None:
        """Call `define` for each variable: scalars first, since types of buffers may mention them.

        With `symbols`, unknown variables in the types are defined there as well (the default
        does nothing about it).
        """
        if len(variables) > 1:
            variables = _scalars_first(variables)
        for var in variables:
            self.define(var)

    def define(self, var: Var) -> None:
        """A variable is defined here. The default visits the expressions in its type."""
        if var.ty.__class__ is not PrimType:
            self.visit(var.ty)


Visitor._table = _Table(Visitor, _make_visit)


def _scalars_first(variables: tuple[Var, ...]) -> tuple[Var, ...]:
    late = [v for v in variables if v.ty.__class__ is not PrimType]
    if not late or len(late) == len(variables):
        return variables
    return (*[v for v in variables if v.ty.__class__ is PrimType], *late)


class Rewriter:
    """Makes a changed copy of a program; what does not change keeps its identity.

    Methods return the new node (the same object for "no change"); a statement may become a
    SeqStmt, which joins the sequence around it.  When an expression in the type of a variable
    changes, the variable is renewed at its definition and its uses follow (`self.vars`).
    Call the rewriter to start: `MyRewriter()(func)`.
    """

    _table: ClassVar[_Table]
    vars: dict[Var, Expr]

    def __init__(self) -> None:
        self.vars = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._table = _Table(cls, _make_rewrite)

    @runs_deep
    def __call__(self, node: N) -> Any:
        """Rewrite from outside: as `visit`, at any depth of the program."""
        return self.visit(node)

    def visit(self, node: Any) -> Any:
        """Go to the method for this class of node."""
        return self._table[node.__class__](self, node)

    def visit_fields(self, node: Any) -> Any:
        """Rewrite the children; the node itself when none changes."""
        cls: NodeMeta = node.__class__
        return _fields_method(_make_rewrite, cls)(self, node)

    def visit_tuple(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        """Rewrite each node; the tuple itself when none changes."""
        made = [self.visit(item) for item in items]
        for new, old in zip(made, items):
            if new is not old:
                return tuple(made)
        return items

    def visit_value(self, value: Any) -> Any:
        """Rewrite the nodes in a value: an attribute, a tuple, a mapping."""
        if isinstance(value, Node):
            return self.visit(value)
        if type(value) is tuple:
            made = [self.visit_value(v) for v in value]
            return value if all(new is old for new, old in zip(made, value)) else tuple(made)
        if isinstance(value, Attrs | Functions):
            table = {k: self.visit_value(v) for k, v in value.items()}
            return value if all(table[k] is v for k, v in value.items()) else type(value)(table)  # type: ignore[arg-type]
        return value

    def visit_Var(self, var: Var) -> Any:
        """A use of a variable: what it was replaced by, or itself."""
        return self.vars.get(var, var)

    def visit_SeqStmt(self, stmt: SeqStmt) -> Any:
        """Rewrite each statement; sequences among the results join this one."""
        made = self.visit_tuple(stmt.seq)
        return stmt if made is stmt.seq else joined(made, stmt)

    def define_all(self, variables: tuple[Var, ...], symbols: bool) -> tuple[Var, ...]:
        """The new variables, each by `define`; scalars go first, since types of buffers may mention them."""
        if len(variables) == 1:
            new = self.define(variables[0])
            return variables if new is variables[0] else (new,)
        made = {var: self.define(var) for var in _scalars_first(variables)}
        if all(new is old for old, new in made.items()):
            return variables
        return tuple([made[v] for v in variables])

    def define(self, var: Var) -> Var:
        """A variable is defined here; the result takes its place.

        The default renews it where an expression in its type changes.
        """
        if var.ty.__class__ is PrimType:
            return var
        ty = self.visit(var.ty)
        if ty is var.ty:
            return var
        new = self.vars[var] = type(var)(var.name, ty, var.span)
        return new


Rewriter._table = _Table(Rewriter, _make_rewrite)


def joined(stmts: tuple[Stmt, ...], original: SeqStmt) -> Stmt:
    """A sequence in which nested sequences are opened; a single statement stands for itself."""
    flat: list[Stmt] = []
    for s in stmts:
        if isinstance(s, SeqStmt):
            flat += s.seq
        else:
            flat.append(s)
    return flat[0] if len(flat) == 1 else SeqStmt(flat, original.span)


def _make_children(cls: NodeMeta) -> Callable[[Any], list[Node]] | None:
    lines = ["def children(node):", "    found = []"]
    for f in child_fields(cls):
        get = f"node.{f.name}"
        if defines_vars(f):
            lines += [f"    for var in {get if f.kind == 'nodes' else f'({get},)'}:"]
            lines += ["        found.append(var)", "        if var.ty.__class__ is not PrimType:"]
            lines += ["            found.append(var.ty)"]
        elif _is_type(f):
            lines += [f"    if {get}.__class__ is not PrimType:", f"        found.append({get})"]
        elif f.kind == "node":
            lines.append(f"    found.append({get})")
        elif f.kind == "maybe":
            lines += [f"    if {get} is not None:", f"        found.append({get})"]
        elif f.kind == "nodes":
            lines.append(f"    found += {get}")
        elif f.kind == "attrs":
            lines += [f"    if {get}._items:", f"        found += nodes_inside({get})"]
        else:
            lines.append(f"    found += inside({get})")
    if len(lines) == 2:
        return None
    return _compiled(
        "children", [*lines, "    return found"], {"nodes_inside": nodes_inside, "inside": _inside}
    )


def _inside(value: Any) -> list[Node]:
    return list(value.values()) if isinstance(value, Functions) else nodes_inside(value)


class _Children(dict[type, Callable[[Any], list[Node]] | None]):
    def __missing__(self, cls: Any) -> Callable[[Any], list[Node]] | None:
        found = self[cls] = _make_children(cls)
        return found


_CHILDREN = _Children()


def children(node: Node) -> list[Node]:
    """The child nodes in order: definitions first, each followed by its type if that is not a scalar's.

    A use of a variable has no children.
    """
    below = _CHILDREN[type(node)]
    return below(node) if below is not None else []


def walk(node: Node, *, outer_first: bool = False) -> Iterator[Node]:
    """Every node below and with `node`, each object once, children before parents, no recursion.

    `outer_first` gives parents before children.  Types that are not scalar types are among the
    nodes where a variable is defined.
    """
    known: set[int] = set()
    stack: list[Any] = [node]
    while stack:
        top = stack.pop()
        if top.__class__ is tuple:
            yield top[0]
            continue
        if id(top) in known:
            continue
        known.add(id(top))
        expand = _CHILDREN[top.__class__]
        if outer_first or expand is None:
            yield top
        else:
            stack.append((top,))
        if expand is not None:
            below = expand(top)
            below.reverse()
            stack += below


def find(node: Node, kind: type[N] | tuple[type[N], ...]) -> list[N]:
    """Every node of this class, in program order, outer ones first, each object once."""
    return [n for n in walk(node, outer_first=True) if isinstance(n, kind)]


def type_vars(ty: Type) -> list[Var]:
    """The variables in the expressions of a type, in order, each once."""
    if ty.__class__ is PrimType:
        return []
    return [n for n in walk(ty, outer_first=True) if isinstance(n, Var)]


def symbol_vars(var: Var, *, everywhere: bool = True) -> list[Var]:
    """The symbols that the type of `var` can define, where it stands in a defining position.

    All scalar variables of the type; with `everywhere=False` only those that stand for themselves: in a
    buffer as a stride or the offset, elsewhere as a size.  In a piece of a program it is not known what is
    defined around it, and the sizes of a matched region usually come from there.
    """
    if everywhere:
        return scalars_in(var.ty)
    if isinstance(var.ty, BufferType):
        own = [*var.ty.strides, var.ty.elem_offset]
        return [v for v in own if isinstance(v, Var)]
    from .relax.types import shape_symbols

    return shape_symbols(var.ty)


def scalars_in(ty: Type) -> list[Var]:
    """The scalar variables in the expressions of a type: the symbols it may define."""
    return [v for v in type_vars(ty) if v.ty.__class__ is PrimType]


def free_vars(node: Node) -> list[Var]:
    """The variables used in `node` and defined nowhere inside, in order of their first use.

    What only the type of a free variable mentions is not listed, and neither are the symbols of a
    function's type, which belong to that type.
    """
    whole = isinstance(node, BaseFunc | IRModule)
    used: dict[Var, None] = {}
    defined: set[Var] = set()
    known: set[int] = set()
    stack: list[Node] = [node]
    while stack:
        n = stack.pop()
        if id(n) in known:
            continue
        known.add(id(n))
        if isinstance(n, Var):
            used[n] = None
            continue
        if n.__class__ is FuncType:
            own_symbols = set(function_symbols(n))
            used.update(dict.fromkeys([v for v in type_vars(n) if v not in own_symbols]))
            continue
        own = definitions(n)
        if own:
            defined.update(own)
            if brings_symbols(n):
                for var in own:
                    defined.update(symbol_vars(var, everywhere=whole))
        expand = _CHILDREN[n.__class__]
        if expand is not None:
            below = expand(n)
            below.reverse()
            stack += below
    return [v for v in used if v not in defined]


def function_symbols(ty: FuncType) -> list[Var]:
    """What the type of a function may define: the variables in its parameters' types.

    They are symbols, and parameters that hold the shape of another one.
    """
    found: dict[Var, None] = {}
    for arg in ty.arg_types or ():
        found.update(dict.fromkeys(type_vars(arg)))
    return list(found)


class Substitution(Rewriter):
    """The rewriter behind `substitute`; a subclass may do more along the way."""

    def __init__(self, mapping: Mapping[Var, Any]) -> None:
        self.vars = {v: e if isinstance(e, Expr) else as_expr(e, like=v) for v, e in mapping.items()}
        self.done: dict[int, Any] = {}

    def visit(self, node: Any) -> Any:
        done = self.done.get(id(node))
        if done is None:
            done = self._table[node.__class__](self, node)
            if isinstance(node, Expr):
                self.done[id(node)] = done
        return done

    def define(self, var: Var) -> Var:
        new = self.vars.get(var)
        if isinstance(new, Var):
            return new
        return super().define(var)


@runs_deep
def substitute(node: N, mapping: Mapping[Var, Any]) -> N:
    """`node` with each variable of the mapping replaced, all at once.

    Values are expressions or Python numbers.  Buffers defined inside whose type mentions a
    replaced variable are renewed, their uses too.  Where a mapped variable is defined inside, the
    definition follows when it is mapped to a variable.  Shared expressions stay shared.
    """
    if not mapping:
        return node
    result: N = Substitution(mapping).visit(node)
    return result


class _Renew(Rewriter):
    def __init__(self, whole: bool) -> None:
        super().__init__()
        self.whole = whole
        self.count = 0
        self.done: dict[int, Any] = {}

    def visit(self, node: Any) -> Any:
        done = self.done.get(id(node))
        if done is None:
            before = self.count
            done = self._table[node.__class__](self, node)
            # An expression that defines something is renewed at each of its places.
            if self.count == before and isinstance(node, Expr):
                self.done[id(node)] = done
        return done

    def define_all(self, variables: tuple[Var, ...], symbols: bool) -> tuple[Var, ...]:
        made: dict[Var, Var] = {}
        for var in _scalars_first(variables):
            if symbols and var.ty.__class__ is not PrimType:
                for symbol in symbol_vars(var, everywhere=self.whole):
                    if symbol not in self.vars:
                        self.define(symbol)
            made[var] = self.define(var)
        return tuple([made[v] for v in variables])

    def define(self, var: Var) -> Var:
        if var in self.vars:
            self.done.clear()
        self.count += 1
        ty = var.ty if var.ty.__class__ is PrimType else self.visit(var.ty)
        new = self.vars[var] = type(var)(var.name, ty, var.span)
        return new

    def visit_BaseFunc(self, func: BaseFunc) -> Any:
        outside, self.whole = self.whole, True
        new = self.scoped(func)
        self.whole = outside
        return new

    def visit_FuncType(self, ty: FuncType) -> Any:
        symbols = [v for v in function_symbols(ty) if v not in self.vars]
        return self.scoped(ty, symbols) if symbols else self.visit_fields(ty)

    def scoped(self, node: Any, symbols: Sequence[Var] = ()) -> Any:
        """The node with its own definitions, and these, renewed; they are forgotten behind it."""
        kept, self.vars = self.vars, dict(self.vars)
        self.done.clear()
        for symbol in symbols:
            self.define(symbol)
        new = self.visit_fields(node)
        self.vars = kept
        self.done.clear()
        return new

    def visit_SBlock(self, block: SBlock) -> Any:
        return self.visit_fields(block).replace(ref=BlockRef(block.name_hint))


@runs_deep
def renew_definitions(node: N) -> N:
    """A copy in which every variable and block defined inside is a fresh object, uses included.

    Variables that are free in `node` stay what they are, names stay too.
    """
    result: N = _Renew(isinstance(node, IRModule)).visit(node)
    return result


def scope_vars(node: Node) -> list[Var]:
    """The variables that become visible in the body of `node`: its own and those of its axes."""
    found = definitions(node)
    for f in child_fields(type(node)):
        if f.defines is not None and not defines_vars(f):
            if isinstance(node, AttrStmt) and not isinstance(node.node, IterVar):
                continue
            for inner in nodes_inside(getattr(node, f.name)):
                found += definitions(inner)
    return found


__all__ = [
    "Rewriter",
    "Substitution",
    "Visitor",
    "brings_symbols",
    "children",
    "definitions",
    "find",
    "free_vars",
    "function_symbols",
    "renew_definitions",
    "scope_vars",
    "substitute",
    "type_vars",
    "walk",
]
