"""The kernels of a graph module: each structure compiled once, and described for the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import TYPE_CHECKING, Any

from ...ir import (
    Add,
    BaseFunc,
    BufferType,
    Call,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    GlobalVar,
    IntImm,
    IRModule,
    Max,
    Min,
    Mul,
    PrimFunc,
    PrimType,
    Sub,
    Var,
    structural_hash,
    walk,
)
from ...runtime.vm.checks import EQUAL, SAME, SKIP, STORE
from ...runtime.vm.kernel import NUMBER, OPERATORS, SCALARS, SLOT, STORE_NARROW, TENSOR, NativeKernel
from ..llvm import cache
from ..llvm.build import Compiled, entry_name
from ..llvm.signature import Signature, dtype_of, signature
from ..workers import Progress, share

if TYPE_CHECKING:
    from ..build import Settings
    from ..lowering import Lowering

_SIGNS = {Add: "+", Sub: "-", Mul: "*", FloorDiv: "//", FloorMod: "%", Min: "min", Max: "max"}


def kernel_modules(mod: IRModule, wanted: Set[str]) -> tuple[dict[str, IRModule], dict[str, str]]:
    """A module for each wanted kernel that differs from the others, and for every one the name of its like.

    Kernels that call others of the module have these with them.
    """
    modules: dict[str, IRModule] = {}
    like: dict[str, str] = {}
    first: dict[int, str] = {}
    for gvar, func in mod.functions.items():
        if not isinstance(func, PrimFunc) or gvar.name not in wanted:
            continue
        callees = _callees(mod, func)
        bare = func.without_attr("global_symbol") if "global_symbol" in func.attrs else func
        same = first.setdefault(structural_hash(bare), gvar.name) if not callees else gvar.name
        like[gvar.name] = same
        if same == gvar.name:
            named = func.with_attr("global_symbol", gvar.name)
            modules[same] = IRModule({gvar: named, **callees})
    return modules, like


def _callees(mod: IRModule, func: PrimFunc) -> dict[GlobalVar, PrimFunc]:
    """The kernels that a kernel calls, and those that they call."""
    found: dict[GlobalVar, PrimFunc] = {}
    stack = [func]
    while stack:
        for node in walk(stack.pop().body):
            if isinstance(node, Call) and isinstance(node.op, GlobalVar) and node.op not in found:
                callee = mod[node.op]
                if isinstance(callee, PrimFunc) and callee is not func:
                    found[node.op] = callee.without_attr("global_symbol")
                    stack.append(callee)
    return found


class Kernels:
    """The compiled kernels of a module that are `wanted`, by name."""

    def __init__(self, mod: IRModule, settings: Settings, wanted: Set[str]) -> None:
        self.modules, self.like = kernel_modules(mod, wanted)
        self.settings = settings
        self.lowerings = {name: settings.lowering(one) for name, one in self.modules.items()}
        self.digests = {n: settings.digest(one, self.lowerings[n]) for n, one in self.modules.items()}
        self._fill_cache(self.modules)
        self.compiled = {name: self._compile(one, self.lowerings[name]) for name, one in self.modules.items()}

    def together(self) -> IRModule:
        """All kernels in one lowered module; one that others call too stays callable from outside."""
        table: dict[str, BaseFunc] = {}
        for lowered in self.lowerings.values():
            for g, func in lowered().functions.items():
                if "global_symbol" in func.attrs or g.name not in table:
                    table[g.name] = func
        return IRModule(table)

    def _fill_cache(self, modules: Mapping[str, IRModule]) -> None:
        """Let processes compile, side by side, what the disk cache lacks."""
        if cache.directory() is None:
            return
        missing = [n for n in modules if self.digests[n] is not None and cache.load(self.entry(n)) is None]
        progress = Progress("compiling kernels", len(missing))
        jobs = [(modules[n], self.lowerings[n]) for n in missing]

        def compile_one(k: int) -> None:
            self._compile(*jobs[k])

        share(len(jobs), compile_one, progress)
        progress.end()

    def entry(self, name: str) -> str:
        """What the disk cache calls a kernel's code."""
        s = self.settings
        return entry_name(str(self.digests[name]), s.machine, s.checked, False, True)

    def signature(self, name: str) -> Signature:
        """What a kernel takes."""
        func = self.modules[name][name]
        assert isinstance(func, PrimFunc)
        return signature(name, func)

    def _compile(self, one: IRModule, lowered: Lowering) -> Compiled:
        return self.settings.compiled(one, lowered, bare=True)

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """The kernels as Python calls them."""
        return {name: self.compiled[same].functions[same] for name, same in self.like.items()}

    def native(self, name: str) -> NativeKernel | None:
        """A kernel as the interpreter calls it."""
        same = self.like.get(name)
        return None if same is None else native_kernel(self.compiled[same].functions[same])

    def llvm(self) -> str:
        """The LLVM assembly of all."""
        return "\n".join([c.text() for c in self.compiled.values()])

    def explain(self) -> str:
        """Which default rule scheduled which block and why."""
        return "\n".join([lowered.explain() for lowered in self.lowerings.values()])


def native_kernel(function: Any) -> NativeKernel | None:
    """A compiled kernel as the interpreter calls it by address; None for one that Python must call."""
    from ..llvm.arguments import Entry

    entry = getattr(function, "__self__", None)
    if not isinstance(entry, Entry):
        return None
    name = entry.sig.name
    row = entry.library.meta["functions"][name]
    facts = describe(entry.sig, row)
    if facts is None or facts["result"] is not None or row["python"] or row["c"]:
        return None
    return NativeKernel(entry.library.code.address(f"lw.raw.{name}"), facts, entry.fail, entry)


def describe(sig: Signature, row: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments of a kernel as plain data; None where the interpreter does not know how to pass them."""
    slots = {v: k for k, v in enumerate((*sig.params, *sig.symbols))}
    known = {p for p in sig.params if isinstance(p.ty, PrimType)}
    params: list[Any] = []
    computed: list[Any] = []
    for k, p in enumerate(sig.params):
        ty = p.ty
        if isinstance(ty, PrimType):
            kind = SCALARS.get(str(ty.dtype))
            if kind is None:
                return None
            params.append([kind, None, [], False])
            continue
        if not isinstance(ty, BufferType) or ty.strides or ty.elem_offset is not None or ty.dtype.lanes > 1:
            return None
        codes: list[int] = []
        for axis, size in enumerate(ty.shape):
            if isinstance(size, IntImm):
                codes += [EQUAL, size.value]
            elif isinstance(size, Var) and size.dtype.bits in (32, 64) and size not in known:
                known.add(size)
                codes += [STORE if size.dtype.bits == 64 else STORE_NARROW, slots[size]]
            elif isinstance(size, Var) and size in slots and size in sig.symbols:
                codes += [SAME, slots[size]]
            else:
                program = _program(size, slots)
                if program is None:
                    return None
                codes += [SKIP, 0]
                computed.append([k, axis, program])
        params.append([TENSOR, str(ty.dtype), codes, k in row["written"]])
    if len(sig.results) > 1 or not known.issuperset(sig.symbols):
        return None
    result = str(dtype_of(sig.results[0])) if sig.results else None
    if result not in (None, *SCALARS):
        return None
    return {
        "params": params,
        "slots": len(slots),
        "computed": computed,
        "result": result,
        "conflicts": list(row["conflicts"]),
        "long": bool(row["loops"]),
    }


def _program(e: Expr, slots: Mapping[Var, int]) -> list[int] | None:
    """A size as the interpreter computes it, operands before their operators."""
    if isinstance(e, IntImm):
        return [NUMBER, e.value]
    if isinstance(e, Var):
        known = e.dtype.bits in (32, 64) and e in slots
        return [SLOT, slots[e]] if known else None
    if isinstance(e, Cast):
        return _program(e.value, slots)
    sign = _SIGNS.get(type(e))  # type: ignore[arg-type]
    if sign is None:
        return None
    a, b = _program(e.a, slots), _program(e.b, slots)  # type: ignore[attr-defined]
    if a is None or b is None or len(a) + len(b) > 120:
        return None
    return [*a, *b, OPERATORS[sign], 0]


__all__ = ["Kernels", "describe", "kernel_modules", "native_kernel"]
