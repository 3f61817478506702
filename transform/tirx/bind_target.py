"""Which target each function is built for, and which one is the entry."""

from __future__ import annotations

from typing import Any

from ...ir import AttrStmt, Call, For, ForKind, GlobalVar, IRModule, PrimFunc
from ...ir.visitor import Rewriter, Visitor
from ...target import Target
from ..common import refuse
from ..registry import register_pass


@register_pass("tirx.BindTarget")
def bind_target(mod: IRModule, target: Any) -> IRModule:
    """Each PrimFunc gets the attribute `target`; one that has it keeps it and takes the host.

    A function that is not visible outside gets the target without its host where it is called from
    device code, and the host where it is called from host code; one called from both is copied, and
    the copy for the host is called `<name>_host`.

    with: target="llvm"

    before:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32")):
            A[0] = 1

    after:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32")):
            T.func_attr({"target": T.target("llvm")})
            A[0] = 1
    """
    chosen = target if isinstance(target, Target) else Target(target)
    callers = _Callers()
    for func in mod.functions.values():
        if isinstance(func, PrimFunc) and _is_public(func):
            callers(func)
    device = Target({k: v for k, v in chosen.export().items() if k != "host"})
    table: dict[GlobalVar, Any] = {}
    copies: dict[GlobalVar, GlobalVar] = {}
    for name, func in mod.functions.items():
        if not isinstance(func, PrimFunc):
            table[name] = func
        elif "target" in func.attrs:
            table[name] = _with_host(func, chosen)
        elif _is_public(func):
            table[name] = func.with_attr("target", chosen)
        elif chosen.host is None or name.name not in callers.host:
            table[name] = func.with_attr("target", device)
        elif name.name not in callers.device:
            table[name] = func.with_attr("target", chosen.host)
        else:
            table[name] = func.with_attr("target", device)
            copies[name] = GlobalVar(f"{name.name}_host", name.ty)
            table[copies[name]] = func.with_attr("target", chosen.host)
    if copies:
        rename = _CallOnHost(copies)
        table = {g: rename(f) if isinstance(f, PrimFunc) and _is_public(f) else f for g, f in table.items()}
    if len(table) == len(mod.functions) and all(table[g] is f for g, f in mod.functions.items()):
        return mod
    return mod.replace(functions=table)


def _with_host(func: PrimFunc, target: Target) -> PrimFunc:
    own = func.attrs["target"]
    if target.host is None or own.host is not None or not _is_public(func):
        return func
    bound: PrimFunc = func.with_attr("target", own.with_host(target.host))
    return bound


def _is_public(func: PrimFunc) -> bool:
    return "global_symbol" in func.attrs


def _is_device_part(stmt: AttrStmt | For) -> bool:
    if isinstance(stmt, AttrStmt):
        return stmt.attr_key == "thread_extent"
    return stmt.kind is ForKind.THREAD_BINDING


class _Callers(Visitor):
    """The names of the functions that are called from the host's parts and from the device's."""

    def __init__(self) -> None:
        self.host: set[str] = set()
        self.device: set[str] = set()
        self.on_device = False

    def _inside(self, stmt: Any) -> None:
        before, self.on_device = self.on_device, self.on_device or _is_device_part(stmt)
        self.visit_fields(stmt)
        self.on_device = before

    visit_AttrStmt = visit_For = _inside

    def visit_Call(self, call: Call) -> None:
        if isinstance(call.op, GlobalVar):
            (self.device if self.on_device else self.host).add(call.op.name)
        self.visit_fields(call)


class _CallOnHost(Rewriter):
    """Calls outside the device's parts go to the copies for the host."""

    def __init__(self, copies: dict[GlobalVar, GlobalVar]) -> None:
        super().__init__()
        self.copies = {old.name: new for old, new in copies.items()}

    def _inside(self, stmt: Any) -> Any:
        return stmt if _is_device_part(stmt) else self.visit_fields(stmt)

    visit_AttrStmt = visit_For = _inside

    def visit_Call(self, call: Call) -> Any:
        call = self.visit_fields(call)
        new = self.copies.get(call.op.name) if isinstance(call.op, GlobalVar) else None
        return call if new is None else call.replace(op=new)


@register_pass("tirx.AnnotateEntryFunc")
def annotate_entry_func(mod: IRModule) -> IRModule:
    """The module's only PrimFunc, or its only one that is visible outside, gets `tirx.is_entry_func`.

    before:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32")):
            A[0] = 1

    after:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32")):
            T.func_attr({"tirx.is_entry_func": True})
            A[0] = 1
    """
    every = [(g, f) for g, f in mod.functions.items() if isinstance(f, PrimFunc)]
    found = every if len(every) == 1 else [(g, f) for g, f in every if _is_public(f)]
    if not found:
        return mod
    if len(found) > 1:
        names = ", ".join([f"`{g.name}`" for g, _ in found])
        raise refuse(
            "several-entries",
            f"the module has several functions that are visible outside: {names}",
            found[1][1],
            "make the others private, or run tirx.Filter",
        )
    name, func = found[0]
    if func.attrs.get("tirx.is_entry_func"):
        return mod
    return mod.with_function(name, func.with_attr("tirx.is_entry_func", True))
