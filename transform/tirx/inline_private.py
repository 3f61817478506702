"""Calls of private functions are replaced by their bodies."""

from __future__ import annotations

from typing import Any

from ...ir import (
    Bind,
    BufferType,
    Call,
    DeclBuffer,
    Evaluate,
    Expr,
    GlobalVar,
    IRModule,
    Let,
    PrimFunc,
    PrimType,
    Return,
    Stmt,
    Var,
    seq,
)
from ...ir.buffer import pointer_to
from ...ir.visitor import Rewriter, renew_definitions, substitute, symbol_vars, walk
from ..common import is_steady
from ..loops import returns
from ..registry import register_pass


@register_pass("tirx.InlinePrivateFunctions")
def inline_private_functions(mod: IRModule) -> IRModule:
    """Private functions without a name outside are put in place of their calls, and go when none is left.

    One stays where it calls itself, has another target than the caller, returns in the middle, or
    takes a buffer whose sizes the call does not tell.

    before:
        @I.ir_module
        class Module:
            @T.prim_func
            def main(A: T.Buffer((4,), "int32")):
                Module.put(A.data, 5)

            @T.prim_func(private=True)
            def put(data: T.handle("int32"), x: T.int32):
                A = T.decl_buffer((4,), "int32", data=data)
                A[0] = x

    after:
        @I.ir_module
        class Module:
            @T.prim_func
            def main(A: T.Buffer((4,), "int32")):
                B = T.decl_buffer((4,), "int32", data=A.data)
                B[0] = 5
    """
    funcs = {g.name: f for g, f in mod.functions.items() if isinstance(f, PrimFunc)}
    calls = {name: _callees(f) for name, f in funcs.items()}
    plain = {n: f for n, f in funcs.items() if _can_inline(f) and not _reaches(n, n, calls)}
    if not any(called & set(plain) for called in calls.values()):
        return mod
    done: dict[str, PrimFunc] = {}
    for name in funcs:
        _expand(name, funcs, plain, done)
    left = {n for f in mod.functions.values() if not isinstance(f, PrimFunc) for n in _callees(f)}
    for name in [n for n in funcs if n not in plain]:
        left |= _callees(done[name])
    kept: dict[GlobalVar, Any] = {}
    for g, f in mod.functions.items():
        if g.name not in plain or not any(g.name in c for c in calls.values()) or _used(g.name, left, done):
            kept[g] = done.get(g.name, f)
    return mod.replace(functions=kept)


def _used(name: str, left: set[str], done: dict[str, PrimFunc]) -> bool:
    """Whether a function that stays still calls this one, directly or through others."""
    seen: set[str] = set()
    waiting = list(left)
    while waiting:
        one = waiting.pop()
        if one == name:
            return True
        if one in done and one not in seen:
            seen.add(one)
            waiting += _callees(done[one])
    return False


def _callees(func: Any) -> set[str]:
    return {n.op.name for n in walk(func) if isinstance(n, Call) and isinstance(n.op, GlobalVar)}


def _reaches(start: str, goal: str, calls: dict[str, set[str]]) -> bool:
    """Whether a function calls another one, through others if need be."""
    seen: set[str] = set()
    waiting = list(calls.get(start, ()))
    while waiting:
        one = waiting.pop()
        if one == goal:
            return True
        if one not in seen:
            seen.add(one)
            waiting += calls.get(one, ())
    return False


def _can_inline(func: PrimFunc) -> bool:
    if "global_symbol" in func.attrs or func.attrs.get("tirx.is_global_func"):
        return False
    if any(isinstance(p.ty, BufferType) and symbol_vars(p) for p in func.params):
        return False
    return isinstance(func.body, Return) or not returns(func.body)


def _expand(
    name: str, funcs: dict[str, PrimFunc], plain: dict[str, PrimFunc], done: dict[str, PrimFunc]
) -> PrimFunc:
    """The function with calls replaced, those in what it calls first."""
    if name not in done:
        bodies = {n: _expand(n, funcs, plain, done) for n in _callees(funcs[name]) if n in plain}
        done[name] = _Inline(funcs[name], bodies)(funcs[name]) if bodies else funcs[name]
    return done[name]


class _Inline(Rewriter):
    def __init__(self, caller: PrimFunc, bodies: dict[str, PrimFunc]) -> None:
        super().__init__()
        target = caller.attrs.get("target")
        self.bodies = {n: f for n, f in bodies.items() if f.attrs.get("target") == target}

    def _callee(self, call: Any) -> PrimFunc | None:
        if not isinstance(call, Call) or not isinstance(call.op, GlobalVar):
            return None
        func = self.bodies.get(call.op.name)
        return None if func is None else renew_definitions(func)

    def visit_Evaluate(self, stmt: Evaluate) -> Any:
        stmt = self.visit_fields(stmt)
        func = self._callee(stmt.value)
        if func is None or isinstance(func.body, Return):
            return stmt
        assert isinstance(stmt.value, Call)
        bound: list[Stmt] = []
        fixed: dict[Var, Expr] = {}
        for p, arg in zip(func.params, stmt.value.args, strict=True):
            if isinstance(p.ty, BufferType):
                bound.append(DeclBuffer(p, _pointer(arg)))
            elif isinstance(p.ty, PrimType) and not is_steady(arg):
                bound.append(Bind(p, arg))
            else:
                fixed[p] = arg
        return seq([*bound, substitute(func.body, fixed)])

    def visit_Call(self, call: Call) -> Any:
        call = self.visit_fields(call)
        func = self._callee(call)
        if func is None or not isinstance(func.body, Return) or func.body.value is None:
            return call
        if not all(isinstance(p.ty, PrimType) for p in func.params):
            return call
        value: Expr = func.body.value
        for p, arg in reversed(list(zip(func.params, call.args, strict=True))):
            value = Let(p, arg, value)
        return value


def _pointer(arg: Expr) -> Expr:
    """The pointer of a buffer that is handed over as a whole; pointers as they are."""
    if isinstance(arg, Var) and isinstance(arg.ty, BufferType):
        return Call("tirx.buffer_data", (arg,), pointer_to(arg))
    return arg
