"""From lowered device functions to a source text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import Diagnostic, UnsupportedError
from ...ir import BufferType, Expr, IRModule, PointerType, PrimFunc, PrimType, Var
from ...node import runs_deep
from ...runtime.kernels import DeviceSource, Kernel, KernelParam
from ...target import Target
from ...transform.context import PassContext
from . import arith, formats
from .core import Context, Memory
from .dialect import Dialect
from .facts import Facts
from .stmt import ALIGNED, Statements
from .text import Names, Term, Unit
from .types import lane_bytes

_DYNAMIC = "tirx.use_dyn_shared_memory"
_LAUNCH = "tirx.kernel_launch_params"


def dialect_of(target: Target) -> Dialect:
    """The language for a target. Raises UnsupportedError where there is none."""
    if target.kind in ("cuda", "cuda-sim"):
        from ..cuda import Cuda

        return Cuda(target)
    if target.kind == "rocm":
        from ..cuda import Hip

        return Hip(target)
    if target.kind == "opencl":
        from ..opencl import OpenCL

        return OpenCL(target)
    message = f"no source can be made for the target `{target.kind}`"
    help = ("targets of this kind: cuda, cuda-sim, rocm, opencl",)
    raise UnsupportedError(Diagnostic("unsupported", message, help=help))


@runs_deep
def emit(functions: IRModule | Mapping[str, PrimFunc], target: Target | str) -> DeviceSource:
    """The source of lowered device functions in the target's language.

    Kernels are those functions that have launch parameters; the others are what kernels call.
    Raises CodegenError, at the script's place, for what the language cannot express.
    """
    target = Target(target)
    if isinstance(functions, IRModule):
        functions = {g.name: f for g, f in functions.functions.items() if isinstance(f, PrimFunc)}
    dialect = dialect_of(target)
    unit = Unit(dialect, bool(PassContext.current().get("tirx.enable_fast_math")))
    names = Names(dialect.reserved)
    spelled = {name: names.fresh(str(f.attrs.get("global_symbol", name))) for name, f in functions.items()}
    context = Context(unit, functions, spelled)
    kernels = []
    for name, func in functions.items():
        if _LAUNCH in func.attrs:
            kernels.append(_kernel(context, name, func))
        else:
            _function(context, name, func)
    return DeviceSource(dialect.name, unit.text(), tuple(kernels), unit.files)


def _kernel(context: Context, name: str, func: PrimFunc) -> Kernel:
    """Emit a kernel; its record."""
    facts, dialect = Facts(func), context.unit.dialect
    m = Statements(context, name, facts, kernel=True)
    noalias = bool(func.attrs.get("tirx.noalias"))
    params = _parameters(m, facts, noalias)
    m.visit(func.body)
    threads, shape = _threads(facts)
    head = f"{dialect.kernel} {dialect.bounds(threads, shape)}".rstrip()
    texts = [text for text, _ in params]
    if m.dynamic is not None and dialect.dynamic_parameter:
        texts.append(f"{dialect.pointer('void', 'shared')} {m.dynamic}")
    _finish(context, m, f"{head} {context.names[name]}({', '.join(texts)})")
    launch = tuple([str(x) for x in func.attrs[_LAUNCH]])
    return Kernel(context.names[name], tuple([p for _, p in params]), launch, threads, m.static_shared)


def _function(context: Context, name: str, func: PrimFunc) -> None:
    """Emit a function that kernels call."""
    facts, dialect = Facts(func), context.unit.dialect
    m = Statements(context, name, facts, kernel=False)
    params = _parameters(m, facts, noalias=False)
    result = func.ret_type
    if isinstance(result, PointerType):
        kind = m.pointer_type(result)
    elif isinstance(result, PrimType):
        kind = "void" if result.dtype.is_void else m.type(result.dtype)
    else:
        raise m.refuse("a function with several results", func)
    m.visit(func.body)
    head = f"{dialect.function} {kind} {context.names[name]}({', '.join([text for text, _ in params])})"
    context.unit.prototypes.append(f"{head.strip()};")
    _finish(context, m, head.strip())


def _finish(context: Context, m: Statements, head: str) -> None:
    lines = [f"  {line}" for line in m.head] + m.lines
    context.unit.functions.append("\n".join([f"{head} {{", *lines, "}"]))


def _parameters(m: Statements, facts: Facts, noalias: bool) -> list[tuple[str, KernelParam]]:
    """The parameters as text and as records; what they are called in the source is known from now on."""
    out = []
    for p in (*facts.func.params, *facts.symbols):
        ty: Any = p.ty
        if isinstance(ty, PointerType | BufferType):
            out.append(_pointer(m, facts, p, noalias))
            continue
        out.append(_scalar(m, p))
    return out


def _scalar(m: Statements, p: Var) -> tuple[str, KernelParam]:
    """A scalar parameter; one of a format that the language lacks comes as a float and is rounded first."""
    dtype, dialect = p.dtype, m.dialect
    kind = dialect.bool_cell if dtype.is_bool else m.type(dtype)
    name = m.names.fresh(p.name)
    value, passed = Term(name), str(dtype)
    if dtype.is_bool and dialect.bool_cell != dialect.types["bool"]:
        value = Term(f"({name} != 0)")
    elif dialect.carried(dtype):
        value, passed = Term(m.names.fresh(f"{p.name}_rounded")), "float32"
        m.head.append(f"const {kind} {value.text} = {formats.rounded(m.unit, dtype, Term(name)).text};")
    m.values[p] = [value]
    return f"{kind} {name}", KernelParam(name, passed, False, written=False)


def _pointer(m: Statements, facts: Facts, p: Var, noalias: bool) -> tuple[str, KernelParam]:
    """A pointer parameter; it is called as the buffer that it is seen through, where there is just one."""
    ty: Any = p.ty
    scope = ty.storage_scope or "global"
    if m.kernel and scope not in ("global", "constant"):
        help = "allocate the buffer inside of the kernel"
        raise m.refuse(f"a kernel that is given `{scope}` memory (`{p.name}`)", p, help)
    element: Any = ty.element_type if isinstance(ty, PointerType) else PrimType(ty.dtype)
    views = facts.views.get(p, [])
    hint = views[0].name if len(views) == 1 and p.name in (f"{views[0].name}_data", views[0].name) else p.name
    name = m.names.fresh(hint)
    const = p in facts.read_only
    kind = m.dialect.pointer(m.cell_of(element), scope, const)
    dtype = str(element.dtype) if isinstance(element, PrimType) else "void"
    if isinstance(ty, BufferType):
        m.memory[p] = Memory(Term(name), ty, scope, ALIGNED if m.kernel else lane_bytes(ty.dtype))
    else:
        m.values[p] = [Term(name)]
    text = f"{kind} {m.dialect.restrict} {name}" if noalias else f"{kind} {name}"
    return text, KernelParam(name, dtype, True, scope, not const)


def _threads(facts: Facts) -> tuple[int | None, tuple[int, int, int] | None]:
    """The threads of a block, and its shape, where they are constant."""
    shape = []
    for axis in "xyz":
        extent: Expr | None = facts.extents.get(f"threadIdx.{axis}")
        known = 1 if extent is None else arith.constant(extent)
        if known is None:
            return None, None
        shape.append(known)
    return shape[0] * shape[1] * shape[2], (shape[0], shape[1], shape[2])
