"""The state of a schedule: an immutable module with what is known of it.

A primitive takes a state and gives a new one.  The state knows for each loop and block where it
stands; rewriting goes through `replace`, which rebuilds only the path to the root and updates
what is known for the changed part, so that a step costs what it changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import Diagnostic, InternalError
from ..ir import Expr, IntImm, IRModule, PrimFunc, Range, Var, substitute
from ..ir.analysis.blocks import BlockScope, ChildBlock, block_scope
from ..ir.arith import Analyzer
from ..ir.stmt import (
    AttrStmt,
    BlockRef,
    For,
    IfThenElse,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    While,
)
from ..node import runs_deep
from .handles import MARKS, Identity, LoopRV, SBlockRV
from .refusal import refuse

Standing = For | SBlockRealize


class Place(NamedTuple):
    """Where a loop or block stands: its node, the loop or block around it, its function."""

    node: Standing
    parent: Identity | None
    func: str


class State:
    """An immutable module, where its loops and blocks stand, values of sampled numbers, the seed."""

    __slots__ = (
        "_names",
        "_places",
        "_scopes",
        "check",
        "lost",
        "mod",
        "seed",
        "step",
        "values",
        "working_on",
    )
    mod: IRModule
    values: Mapping[Var, int]
    lost: Mapping[Identity, str]
    seed: int
    step: str
    working_on: str | None
    check: bool
    _places: dict[Identity, Place] | None
    _names: dict[tuple[str, str], tuple[BlockRef, ...]] | None
    _scopes: dict[BlockRef, tuple[SBlock, BlockScope]]

    def __init__(self, mod: IRModule, *, seed: int = 1, check: bool = True) -> None:
        for name, value in (
            ("mod", mod),
            ("values", {}),
            ("lost", {}),
            ("seed", seed),
            ("step", ""),
            ("working_on", None),
            ("check", check),
            ("_places", None),
            ("_names", None),
            ("_scopes", {}),
        ):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a schedule state is immutable; use .having(...)")

    def having(self, **changes: Any) -> State:
        """A copy with these fields changed; what is known of the module stays when `mod` does."""
        new = object.__new__(State)
        for name in State.__slots__:
            object.__setattr__(new, name, changes[name] if name in changes else getattr(self, name))
        if "mod" in changes and "_places" not in changes:
            object.__setattr__(new, "_places", None)
            object.__setattr__(new, "_names", None)
        return new

    # where things stand

    @property
    def places(self) -> Mapping[Identity, Place]:
        """Each loop variable and BlockRef of the module with its place."""
        found = self._places
        if found is None:
            found = find_places(self.mod)
            object.__setattr__(self, "_places", found)
        return found

    def place(self, of: LoopRV | SBlockRV | Identity) -> Place:
        """Where this stands. Raises Refused, saying which step consumed it, when it stands nowhere."""
        target = of.target if isinstance(of, LoopRV | SBlockRV) else of
        found = self.places.get(target) if not isinstance(target, str) else None
        if found is None:
            raise self._stale(target)
        return found

    def _stale(self, target: Any) -> Exception:
        if target in MARKS:
            return refuse("not-a-loop", f"the mark `{target}` is a compute location, not a loop")
        what = "loop" if isinstance(target, Var) else "block"
        step = self.lost.get(target)
        if step is None:
            return refuse("stale-handle", f"{what} `{target.name}` does not belong to this schedule")
        return refuse("stale-handle", f"{what} `{target.name}` no longer exists: {step} consumed it")

    def loop(self, of: LoopRV | Var) -> For:
        """The loop with this handle or variable. Raises Refused when it is gone."""
        node = self.place(of).node
        assert isinstance(node, For)
        return node

    def realize(self, of: SBlockRV | BlockRef) -> SBlockRealize:
        """The block with its bindings. Raises Refused when it is gone."""
        node = self.place(of).node
        assert isinstance(node, SBlockRealize)
        return node

    def block(self, of: SBlockRV | BlockRef) -> SBlock:
        """The block with this handle or reference. Raises Refused when it is gone."""
        return self.realize(of).block

    def func(self, of: LoopRV | SBlockRV | Identity) -> PrimFunc:
        """The function in which this stands."""
        func = self.mod[self.place(of).func]
        assert isinstance(func, PrimFunc)
        return func

    def ancestors(self, of: LoopRV | SBlockRV | Identity) -> Iterator[Place]:
        """The places of the loops and blocks around this one, inner ones first."""
        parent = self.place(of).parent
        while parent is not None:
            found = self.places[parent]
            yield found
            parent = found.parent

    def loops(self, of: LoopRV | SBlockRV | Identity) -> list[For]:
        """The loops around this one up to the enclosing block, outer ones first; itself not included."""
        found: list[For] = []
        for above in self.ancestors(of):
            if not isinstance(above.node, For):
                break
            found.append(above.node)
        found.reverse()
        return found

    def scope_root(self, of: LoopRV | SBlockRV | Identity) -> BlockRef:
        """The block in whose scope this stands. Raises Refused for the root block itself."""
        for above in self.ancestors(of):
            if isinstance(above.node, SBlockRealize):
                return block_ref(above.node.block)
        raise refuse("root-block", "the root block stands in no scope", self.place(of).node)

    def scope(self, of: SBlockRV | BlockRef) -> BlockScope:
        """The blocks directly in this block and the dependences between them (computed once)."""
        block = self.block(of)
        ref = block_ref(block)
        known = self._scopes.get(ref)
        if known is None or known[0] is not block:
            before = None if known is None else known[1]
            known = self._scopes[ref] = (block, block_scope(block, before))
        return known[1]

    def scope_around(self, of: LoopRV | SBlockRV | Identity) -> BlockScope:
        """The scope in which this stands."""
        return self.scope(self.scope_root(of))

    def standing(self, of: SBlockRV) -> tuple[BlockRef, BlockScope, ChildBlock]:
        """The block in whose scope this block stands, that scope, and how it stands there. Raises Refused."""
        ref = block_ref(self.block(of))
        root = self.scope_root(ref)
        scope = self.scope(root)
        return root, scope, scope.children[ref]

    def child_blocks(self, of: LoopRV | SBlockRV | Identity) -> list[SBlockRealize]:
        """The blocks directly below, with their bindings, in program order."""
        return child_realizes(self.place(of).node)

    def blocks_named(self, name: str, func: str) -> list[SBlockRealize]:
        """Every block of this name in a function."""
        known = self._names
        if known is None:
            table: dict[tuple[str, str], list[BlockRef]] = {}
            for one, p in self.places.items():
                if isinstance(one, BlockRef):
                    table.setdefault((p.func, _name(p)), []).append(one)
            known = {k: tuple(v) for k, v in table.items()}
            object.__setattr__(self, "_names", known)
        return [self.realize(ref) for ref in known.get((func, name), ())]

    def analyzer(self, of: LoopRV | SBlockRV | Identity, *, inside: bool = True) -> Analyzer:
        """An analyzer that knows the loops and block axes around this one (and its own, with `inside`)."""
        around: list[Standing] = [p.node for p in self.ancestors(of)]
        around.reverse()
        if inside:
            around.append(self.place(of).node)
        ana = Analyzer()
        for node in around:
            if isinstance(node, For):
                ana.bind(node.loop_var, Range(node.min, node.extent))
            else:
                for axis in node.block.iter_vars:
                    if axis.dom is not None:
                        ana.bind(axis.var, axis.dom)
        return ana

    # values

    def with_values(self, numbers: list[int]) -> tuple[State, list[Var]]:
        """A state that knows new integer variables with these values, and the variables."""
        made = [Var("v") for _ in numbers]
        return self.having(values={**self.values, **dict(zip(made, numbers))}), made

    def value(self, of: Any) -> Any:
        """The Python number that an integer, sampled number or expression of those is; else the expression.

        What remains an expression mentions variables of the program only.
        """
        if not isinstance(of, Expr):
            return of
        known = substitute(of, {v: IntImm(v.ty, n) for v, n in self.values.items()}) if self.values else of
        known = Analyzer().simplify(known) if known.dtype.is_integral else known
        return known.value if isinstance(known, IntImm) else known

    # rewriting

    @runs_deep
    def replace(self, old: Stmt, new: Stmt, *, inside: Identity | None = None) -> State:
        """A state in which the statement `new` stands where `old`, this very object, stood.

        `old` is a loop or block realization, or, with `inside`, any statement below that loop or
        block.  Identities in `new` keep their handles; those that are gone are remembered as
        consumed by the current step.
        """
        places = self.places
        if inside is None:
            at = places[identity(old)]
            inside, func = at.parent, at.func
        else:
            func = places[inside].func
        known = dict(places)
        before, after = old, new
        above = inside
        while above is not None:
            place = places[above]
            made = swap_below(place.node, before, after)
            known[above] = place._replace(node=made)
            before, after, above = place.node, made, place.parent
        primfunc = self.mod[func]
        assert isinstance(primfunc, PrimFunc)
        mod = self.mod.with_function(func, primfunc.replace(body=swap(primfunc.body, before, after)))
        if _same_below(old, new):
            own = identity(old)
            known[own] = Place(new, inside, func)  # type: ignore[arg-type]
            gone, fresh = {own}, {own}
        else:
            gone, fresh = _update(known, old, new, inside, func)
        lost = self.lost
        if gone - fresh or not lost.keys().isdisjoint(fresh):
            lost = dict(lost)
            for one in fresh:
                lost.pop(one, None)
            lost.update(dict.fromkeys(gone - fresh, self.step))
        names = self._names and _renamed(self._names, places, known, gone, fresh)
        return self.having(mod=mod, _places=known, _names=names, lost=lost)

    def replace_block(self, of: SBlockRV | BlockRef, block: SBlock) -> State:
        """A state in which this block is `block`, its bindings as they are."""
        realize = self.realize(of)
        return self.replace(realize, realize.replace(block=block))

    def replace_func(self, name: str, func: PrimFunc) -> State:
        """A state in which the function is this one; its places are found anew."""
        mod = self.mod.with_function(name, func)
        known = find_places(mod)
        lost = {k: v for k, v in self.lost.items() if k not in known}
        for one in self.places:
            if one not in known:
                lost[one] = self.step
        return self.having(mod=mod, _places=known, _names=None, lost=lost)


def _name(place: Place) -> str:
    node = place.node
    return node.block.name_hint if isinstance(node, SBlockRealize) else ""


def _renamed(
    names: dict[tuple[str, str], tuple[BlockRef, ...]],
    before: Mapping[Identity, Place],
    after: Mapping[Identity, Place],
    gone: set[Identity],
    fresh: set[Identity],
) -> dict[tuple[str, str], tuple[BlockRef, ...]]:
    """The table of names after these identities went and came."""
    made = dict(names)
    for one in gone:
        if isinstance(one, BlockRef):
            key = before[one].func, _name(before[one])
            rest = tuple([r for r in made[key] if r is not one])
            if rest:
                made[key] = rest
            else:
                del made[key]
    for one in fresh:
        if isinstance(one, BlockRef):
            key = after[one].func, _name(after[one])
            made[key] = (*made.get(key, ()), one)
    return made


def _same_below(old: Stmt, new: Stmt) -> bool:
    """Whether both are the same loop or block with the same statements below."""
    if isinstance(old, For) and isinstance(new, For):
        return old.loop_var is new.loop_var and old.body is new.body
    if isinstance(old, SBlockRealize) and isinstance(new, SBlockRealize):
        a, b = old.block, new.block
        return a.ref is b.ref and a.body is b.body and a.init is b.init
    return False


def identity(node: Stmt) -> Identity:
    """What names this loop or block."""
    if isinstance(node, For):
        return node.loop_var
    if isinstance(node, SBlockRealize):
        return block_ref(node.block)
    raise TypeError(f"a {type(node).__name__} has no identity")


def block_ref(block: SBlock) -> BlockRef:
    """The identity of a block."""
    assert block.ref is not None
    return block.ref


def bodies(node: Standing) -> tuple[Stmt, ...]:
    """The statements that stand below a loop or block."""
    if isinstance(node, For):
        return (node.body,)
    block = node.block
    return (block.body,) if block.init is None else (block.init, block.body)


def child_realizes(node: Standing) -> list[SBlockRealize]:
    """The blocks below a loop or block with no other block between, in program order."""
    found: list[SBlockRealize] = []
    stack: list[Stmt] = list(reversed(bodies(node)))
    while stack:
        top = stack.pop()
        if isinstance(top, SBlockRealize):
            found.append(top)
        elif isinstance(top, For):
            stack.append(top.body)
        else:
            stack.extend(reversed(_between(top)))
    return found


def _between(stmt: Stmt) -> tuple[Stmt, ...]:
    """The statements inside a statement that is neither loop nor block."""
    if isinstance(stmt, SeqStmt):
        return stmt.seq
    if isinstance(stmt, IfThenElse):
        return (stmt.then_case,) if stmt.else_case is None else (stmt.then_case, stmt.else_case)
    if isinstance(stmt, AttrStmt | While):
        return (stmt.body,)
    return ()


def _below(stmt: Stmt) -> Iterator[Standing]:
    """The loops and blocks in a statement with no other between, in program order."""
    stack = [stmt]
    while stack:
        top = stack.pop()
        if isinstance(top, For | SBlockRealize):
            yield top
        else:
            stack.extend(reversed(_between(top)))


def find_places(mod: IRModule) -> dict[Identity, Place]:
    """Where each loop and block of a module stands.

    Raises InternalError when one identity stands twice.
    """
    found: dict[Identity, Place] = {}
    for var, func in mod.functions.items():
        if isinstance(func, PrimFunc):
            _add(found, func.body, None, var.name)
    return found


def _add(found: dict[Identity, Place], stmt: Stmt, parent: Identity | None, func: str) -> None:
    stack: list[tuple[Standing, Identity | None]] = [(s, parent) for s in _below(stmt)]
    stack.reverse()
    while stack:
        node, above = stack.pop()
        own = identity(node)
        if own in found:
            raise _twice(own)
        found[own] = Place(node, above, func)
        below = [(s, own) for body in bodies(node) for s in _below(body)]
        stack.extend(reversed(below))


def _twice(own: Identity) -> InternalError:
    return InternalError(Diagnostic("internal", f"`{own.name}` is defined twice in the module"))


def _update(
    known: dict[Identity, Place], old: Stmt, new: Stmt, parent: Identity | None, func: str
) -> tuple[set[Identity], set[Identity]]:
    """Take the places in `old` out of the table, put those in `new` in; gives the identities of both.

    Subtrees that stand in both as the same object are not looked into.
    """
    kept: set[int] = set()
    fresh: dict[Identity, Place] = {}
    stack: list[tuple[Standing, Identity | None]] = [(s, parent) for s in _below(new)]
    while stack:
        node, above = stack.pop()
        own = identity(node)
        if own in fresh:
            raise _twice(own)
        before = known.get(own)
        fresh[own] = Place(node, above, func)
        if before is not None and before.node is node:
            kept.add(id(node))
            continue
        stack.extend([(s, own) for body in bodies(node) for s in _below(body)])
    gone: set[Identity] = set()
    below: list[Standing] = list(_below(old))
    while below:
        node = below.pop()
        gone.add(identity(node))
        if id(node) not in kept:
            below.extend([s for body in bodies(node) for s in _below(body)])
    for one in gone:
        known.pop(one, None)
    for one in fresh:
        if one in known:
            raise _twice(one)
    known.update(fresh)
    return gone, set(fresh)


def swap_below(node: Standing, old: Stmt, new: Stmt) -> Standing:
    """The loop or block with the statement `old` below it replaced."""
    if isinstance(node, For):
        return node.replace(body=swap(node.body, old, new))
    block = node.block
    if block.init is not None:
        init = _swapped(block.init, old, new)
        if init is not None:
            return node.replace(block=block.replace(init=init))
    return node.replace(block=block.replace(body=swap(block.body, old, new)))


def swap(stmt: Stmt, old: Stmt, new: Stmt) -> Stmt:
    """`stmt` with `old`, looked for outside loops and blocks, replaced by `new`.

    A sequence in place of a member joins the sequence around it.  Raises InternalError when it
    is not there.
    """
    made = _swapped(stmt, old, new)
    if made is None:
        raise InternalError(Diagnostic("internal", "the statement to replace does not stand here"))
    return made


def _swapped(stmt: Stmt, old: Stmt, new: Stmt) -> Stmt | None:
    if stmt is old:
        return new
    if isinstance(stmt, SeqStmt):
        # Most often it is a member; a long sequence is searched for that without a call for each.
        places = [i for i, s in enumerate(stmt.seq) if s is old] or range(len(stmt.seq))
        for i in places:
            made = _swapped(stmt.seq[i], old, new)
            if made is not None:
                inner = made.seq if isinstance(made, SeqStmt) else (made,)
                rest = (*stmt.seq[:i], *inner, *stmt.seq[i + 1 :])
                return rest[0] if len(rest) == 1 else stmt.replace(seq=rest)
    elif isinstance(stmt, IfThenElse):
        made = _swapped(stmt.then_case, old, new)
        if made is not None:
            return stmt.replace(then_case=made)
        if stmt.else_case is not None:
            made = _swapped(stmt.else_case, old, new)
            if made is not None:
                return stmt.replace(else_case=made)
    elif isinstance(stmt, AttrStmt | While):
        made = _swapped(stmt.body, old, new)
        if made is not None:
            return stmt.replace(body=made)
    return None
