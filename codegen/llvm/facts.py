"""What must be known of the functions of a module before they are emitted.

For each function: which buffer parameters it may write, which it hands to code that is not
ours, whether it runs Python or C code, and which functions of the module it calls.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...ir import (
    AllocBuffer,
    Bind,
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    DeclBuffer,
    Expr,
    For,
    ForKind,
    GlobalVar,
    IntImm,
    IRModule,
    Let,
    Op,
    PointerType,
    PrimFunc,
    Var,
    While,
)
from ...node import Node
from .signature import variables

POINTER_MAKERS = frozenset(
    {
        "tirx.buffer_data",
        "tirx.address_of",
        "tirx.ptr_byte_offset",
        "tirx.handle_add_byte_offset",
        "tirx.masked_load",
        "tirx.masked_store",
        "tirx.isnullptr",
        "tirx.reinterpret",
    }
)
CALLBACKS = frozenset({"tirx.tvm_call_packed", "tirx.tvm_call_cpacked", "tirx.print", "tirx.print_buffer"})
ATOMIC = frozenset({"tirx.atomic_add", "tirx.cuda.atomic_add", "tirx.cuda.atomic_cas"})
OUTSIDE = frozenset({"tirx.call_extern", "tirx.call_pure_extern"})


@dataclass
class Facts:
    """Facts of one function; parameters by number."""

    written: set[int] = field(default_factory=set)
    escaped: set[int] = field(default_factory=set)
    callees: list[tuple[str, list[set[int]]]] = field(default_factory=list)
    runs_python: bool = False
    runs_c: bool = False
    recursive: bool = False
    loops: bool = False
    parallel: bool = False


def module_facts(mod: IRModule) -> dict[str, Facts]:
    """The facts of every PrimFunc of the module, calls between them followed."""
    table = {g.name: _Scan(f).facts for g, f in mod.functions.items() if isinstance(f, PrimFunc)}
    changed = True
    while changed:
        changed = False
        for facts in table.values():
            for name, roots in facts.callees:
                callee = table.get(name)
                if callee is None:
                    continue
                for mine, theirs in ((facts.written, callee.written), (facts.escaped, callee.escaped)):
                    new = set().union(*[r for i, r in enumerate(roots) if i in theirs]) - mine
                    if new:
                        mine |= new
                        changed = True
                for trait in ("runs_python", "runs_c", "parallel"):
                    if getattr(callee, trait) and not getattr(facts, trait):
                        setattr(facts, trait, True)
                        changed = True
    for name, facts in table.items():
        facts.recursive = _reaches(table, name)
    return table


def _reaches(table: dict[str, Facts], start: str) -> bool:
    """Whether a function can call itself, directly or not."""
    seen: set[str] = set()
    stack = [n for n, _ in table[start].callees]
    while stack:
        name = stack.pop()
        if name == start:
            return True
        if name not in seen and name in table:
            seen.add(name)
            stack.extend([n for n, _ in table[name].callees])
    return False


class _Scan:
    """One pass over a function in program order, following pointers back to parameters."""

    def __init__(self, func: PrimFunc) -> None:
        self.facts = Facts()
        self.roots: dict[Var, set[int]] = {
            p: {i} for i, p in enumerate(func.params) if isinstance(p.ty, BufferType | PointerType)
        }
        stack: list[object] = [func.body]
        while stack:
            node = stack.pop()
            if isinstance(node, tuple):
                stack.extend(reversed(node))
            elif isinstance(node, Node) and not isinstance(node, Var):
                self.look(node)
                stack.extend(
                    [
                        getattr(node, f)
                        for f in reversed(type(node).fields)
                        if f not in ("span", "ty", "attrs")
                    ]
                )

    def roots_of(self, e: Expr) -> set[int]:
        if isinstance(e, BufferLoad):  # of which the address is taken: what its indices read stays as it is
            return self.roots.get(e.buffer, set())
        found: set[int] = set()
        if isinstance(e, Call) and isinstance(e.op, Op) and e.op.name in POINTER_MAKERS:
            return found.union(
                *[self.roots_of(a) for a in e.args if isinstance(a, BufferLoad) or _pointer(a)]
            )
        for v in variables(e):
            found |= self.roots.get(v, set())
        return found

    def look(self, node: Node) -> None:
        match node:
            case DeclBuffer(buffer=buffer, data=data):
                self.roots[buffer] = self.roots_of(data)
            case Bind(var=var, value=value) | Let(var=var, value=value) if isinstance(
                value.ty, PointerType | BufferType
            ):
                self.roots[var] = self.roots_of(value)
            case AllocBuffer():
                pass
            case BufferStore(buffer=buffer):
                self.facts.written |= self.roots.get(buffer, set())
            case Call(op=Op(name=name)):
                self.call(name, node)
            case Call(op=GlobalVar(name=name)):
                self.facts.callees.append(
                    (name, [self.roots_of(a) if _pointer(a) else set() for a in node.args])
                )
            case For(kind=kind):
                self.facts.loops = True
                self.facts.parallel |= kind is ForKind.PARALLEL
            case While():
                self.facts.loops = True

    def call(self, name: str, node: Call) -> None:
        if name == "tirx.masked_store":
            self.facts.written |= self.roots_of(node.args[0])
        elif name == "tirx.tvm_access_ptr":
            mask = node.args[-1]
            if not isinstance(mask, IntImm) or mask.value & 2:
                self.facts.written |= self.roots_of(node.args[1])
            self.facts.escaped |= self.roots_of(node.args[1])
        elif name in ATOMIC:
            self.facts.written |= self.roots_of(node.args[0])
        elif name not in POINTER_MAKERS:
            for arg in node.args:
                if _pointer(arg):
                    self.facts.escaped |= self.roots_of(arg)
        if name in CALLBACKS:
            self.facts.runs_python = True
        if name in OUTSIDE:
            self.facts.runs_c = True


def _pointer(e: Expr) -> bool:
    return isinstance(e.ty, PointerType | BufferType) and not isinstance(e, BufferLoad)
