"""A lowered module to LLVM assembly, with the plain data that running it needs.

For each function `f` with a global symbol there are
  lw.body.f   the work; pointers are `noalias` in the ordinary variant
  lw.entry.f  the work without `noalias`, in the variant for overlapping arguments
  lw.raw.f    the same behind an array of 8-byte slots, for ctypes
  lw.py.f     a METH_FASTCALL function that checks the arguments (see wrapper.py)
and `lw.alias.f` where another function of the module calls it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...errors import CodegenError, Diagnostic, Span
from ...ir import BufferType, IRModule, PointerType, PrimFunc, StringImm
from ...node import runs_deep
from . import rules_atomic, rules_cells, rules_math, rules_memory, rules_outside  # noqa: F401  they fill the table
from .core import Context
from .facts import Facts, module_facts
from .machine import Machine
from .signature import Signature, exported, inner_type, signature
from .stmt import Statements
from .text import Code, Unit, quoted


@dataclass(frozen=True)
class Emitted:
    """LLVM assembly and what must be known to load it. `meta` is plain data for JSON."""

    text: str
    meta: dict[str, Any]
    outside: frozenset[str]
    spans: list[Span | None]


def inner_name(name: str, noalias: bool) -> str:
    """The symbol of an inner function, as LLVM reads it."""
    return quoted(f"lw.{'body' if noalias else 'alias'}.{name}")


def may_conflict(sig: Signature, facts: Facts, func: PrimFunc) -> tuple[bool, bool]:
    """(pointers may be `noalias`, arguments must be compared for overlap first)."""
    buffers = [i for i, p in enumerate(sig.params) if isinstance(p.ty, BufferType)]
    handles = any(isinstance(p.ty, PointerType) for p in sig.params)
    written = facts.written | facts.escaped
    if handles:
        return bool(func.attrs.get("tirx.noalias")), False
    return True, len(buffers) > 1 and any(i in written for i in buffers)


@runs_deep
def emit_module(
    mod: IRModule,
    machine: Machine,
    *,
    checked: bool = False,
    overlapping: bool = False,
    standalone: bool = False,
    bare: bool = False,
) -> Emitted:
    """The assembly of a lowered module; `overlapping` makes the variant for overlapping arguments.

    `standalone` code is for other processes and languages: its entries are those of `export_entry.py`.
    `bare` code has no entry for Python or other languages, only that with slots.

    Raises CodegenError naming the function and what it cannot express.
    """
    funcs = {g.name: f for g, f in mod.functions.items() if isinstance(f, PrimFunc)}
    unit = Unit(standalone)
    facts = module_facts(mod)
    signatures = {name: signature(name, f) for name, f in funcs.items()}
    # Iterations were found independent for buffers that share no memory.
    parallel = not overlapping and (machine.pools or not standalone)
    context = Context(unit, machine, funcs, signatures, facts, checked, parallel, standalone)
    public = exported(mod)
    if not public:
        raise CodegenError(
            Diagnostic(
                "no-functions",
                "the module has no function that could be called",
                help=("give a function the attribute `global_symbol`, or do not make it private",),
            )
        )
    inside = _called_inside(facts, public)
    table: dict[str, Any] = {}
    if not standalone:
        unit.slot("callback")
    for name in (*public, *[n for n in funcs if n not in public]):
        func, sig = funcs[name], signatures[name]
        noalias, compare = may_conflict(sig, facts[name], func)
        if name in public and not overlapping:
            unit.functions.append(
                Statements(context, sig).emit_function(inner_name(name, True), func.body, noalias)
            )
        if name in inside or (name in public and overlapping):
            unit.functions.append(
                Statements(context, sig).emit_function(inner_name(name, False), func.body, False)
            )
        if name in public:
            unit.functions += _entries(context, sig, compare, overlapping, bare)
            table[name] = _row(facts[name], compare)
    if standalone and not bare:
        from .export_entry import add_failures

        add_failures(unit, overlapping)
    meta = {
        "bare": bare,
        "functions": table,
        "sites": unit.sites,
        "slots": [list(s) for s in unit.slots],
        "externs": unit.externs,
        "libraries": _libraries(mod),
    }
    return Emitted(unit.text(), meta, frozenset(unit.outside), unit.spans)


def _row(facts: Facts, compare: bool) -> dict[str, Any]:
    """What must be known to call a function."""
    return {
        "written": sorted(facts.written),
        "conflicts": sorted(facts.written | facts.escaped) if compare else [],
        "python": facts.runs_python,
        "c": facts.runs_c,
        "loops": facts.loops,
    }


def _entries(
    context: Context, sig: Signature, compare: bool, overlapping: bool, bare: bool = False
) -> list[str]:
    """What a function is called by from outside."""
    if overlapping:
        raw = [] if context.standalone else [_raw_entry(sig, False)]
        return [*raw, _plain_entry(sig)]
    if context.standalone and bare:
        return [_raw_entry(sig, True, quoted(exported_kernel(sig.name)))]
    if context.standalone:
        from .export_entry import emit_entry

        return [emit_entry(context, sig, compare)]
    if bare:
        return [_raw_entry(sig, True)]
    from .wrapper import emit_wrapper

    return [_raw_entry(sig, True), emit_wrapper(context, sig, compare)]


def _libraries(mod: IRModule) -> list[str]:
    """The shared libraries that the attribute `link` of the module and its functions name."""
    found: dict[str, None] = {}
    for attrs in (mod.attrs, *[f.attrs for f in mod.functions.values() if isinstance(f, PrimFunc)]):
        named = attrs.get("link", ())
        for one in (named,) if isinstance(named, str | StringImm) else named:
            found[one.value if isinstance(one, StringImm) else str(one)] = None
    return list(found)


def _called_inside(facts: dict[str, Facts], public: dict[str, PrimFunc]) -> set[str]:
    """The functions that another function reachable from outside calls."""
    seen: set[str] = set()
    stack = list(public)
    while stack:
        for callee, _ in facts[stack.pop()].callees:
            if callee not in seen and callee in facts:
                seen.add(callee)
                stack.append(callee)
    return seen


def exported_kernel(name: str) -> str:
    """The symbol of a kernel's entry in bare code for other processes."""
    return f"__loopwright_kernel_{name}"


def _raw_entry(sig: Signature, noalias: bool, symbol: str = "") -> str:
    symbol = symbol or quoted("lw.raw." + sig.name)
    code = Code()
    args = ["ptr %err"]
    inputs = (*sig.params, *sig.symbols)
    for k, v in enumerate(inputs):
        place = "%slots" if k == 0 else code.op(f"getelementptr i64, ptr %slots, i64 {k}")
        t = inner_type(v)
        if t in ("i1", "i2", "i4"):
            value = code.op(f"trunc i8 {code.op(f'load i8, ptr {place}')} to {t}")
        else:
            value = code.op(f"load {t}, ptr {place}")
        args.append(f"{t} {value}")
    if sig.results:
        args.append(f"ptr {code.op(f'getelementptr i64, ptr %slots, i64 {len(inputs)}')}")
    status = code.op(f"call i32 {inner_name(sig.name, noalias)}({', '.join(args)})")
    code.ret(f"i32 {status}")
    return f"define i32 {symbol}(ptr %slots, ptr %err) nounwind {{\n{code.body()}\n}}"


def _plain_entry(sig: Signature) -> str:
    inputs = [inner_type(v) for v in (*sig.params, *sig.symbols)] + (["ptr"] if sig.results else [])
    params = ", ".join(["ptr %err", *[f"{t} %p{k}" for k, t in enumerate(inputs)]])
    code = Code()
    status = code.op(f"call i32 {inner_name(sig.name, False)}({params})")
    code.ret(f"i32 {status}")
    return f"define i32 {quoted('lw.entry.' + sig.name)}({params}) nounwind {{\n{code.body()}\n}}"
