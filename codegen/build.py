"""From programs to modules of callables: `build`, and the function behind calling a PrimFunc."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentValueError, Diagnostic, IRError, TargetError, UnsupportedError
from ..ir import BaseFunc, IRModule, PrimFunc, structural_hash
from ..node import runs_deep
from ..runtime import Module, threads
from ..target import Target
from .collector import collector_paused
from .lowering import Lowering

if TYPE_CHECKING:
    from .llvm.export import Exporter


@runs_deep
def build(
    mod: IRModule | BaseFunc,
    target: Target | str = "llvm",
    *,
    checked: bool = False,
    num_threads: int | None = None,
    schedule: str | None = "default",
    pipeline: Sequence[Callable[[IRModule], IRModule]] | None = None,
) -> Module:
    """Compile a module (or one function) for a target; the result's functions are called by name.

    Functions that nobody scheduled get the loops that default rules choose, which may add floats in
    another order; with `schedule=None`, and in checked builds, loops stay as they are.
    `checked` adds a bounds check to every access of a buffer (OutOfBoundsError).  Compiled code is kept in
    the process and on disk, so that building an equal program again is cheap; building one program from
    several threads compiles it once.  Parallel loops use at most `num_threads` threads, by default the
    target's `num-cores`, or where it has none all that `runtime.threads` allows.

    `pipeline` has the passes to run instead of `transform.CPU_PIPELINE`; code that passes of your own
    took part in is not kept, since they may change.

    A module for another machine can be exported and looked at; calling its functions is a TargetError.

    Raises CodegenError or PassError where the program cannot be expressed, UnsupportedError for a
    target without a back end, TargetError for a processor or a feature that LLVM does not know.
    """
    target = Target(target)
    module = as_module(mod)
    if schedule not in ("default", None):
        raise ArgumentValueError(
            Diagnostic("option-value", f'`schedule` is "default" or None, not {schedule!r}')
        )
    if target.kind != "llvm":
        raise UnsupportedError(
            Diagnostic(
                "unsupported-target",
                f"there is no back end for the target kind `{target.kind}` yet",
                help=('build for "llvm", the CPU',),
            )
        )
    from .llvm import jit
    from .llvm.build import compile_module
    from .llvm.machine import machine_for

    machine = machine_for(target, jit.host(), jit.host_features(), jit.known_names)
    lowered = Lowering(module, target, checked, schedule, pipeline)
    limit = int(target.get("num-cores", 0))
    if num_threads is not None:
        limit = threads.checked(num_threads, "`num_threads`")

    def exporter() -> Exporter:
        from .llvm.export import Exporter  # brings the emitter, which code from the cache does not need

        return Exporter(module, lowered, machine, checked)

    if machine.foreign:
        foreign = exporter()
        texts = {"llvm": foreign.llvm, "asm": foreign.assembly}
        functions = {name: Elsewhere(name, machine.foreign) for name in foreign.signatures}
        return Module("llvm", functions, sources=_under_all_names(texts), write=foreign.write)

    def write(path: Path, *, linker: str | None = None) -> Path:
        return exporter().write(path, linker=linker)

    with collector_paused():
        key = lowered.key
        digest = None if key is None else f"{structural_hash(module)} {target} {_names(module)} {key}"
        compiled = compile_module(module, lowered, digest, _place(module), checked, machine, limit)
    texts = {"llvm": compiled.text, "asm": compiled.assembly, "schedule": lowered.explain}
    return Module("llvm", compiled.functions, sources=_under_all_names(texts), write=write)


def _under_all_names(texts: dict[str, Callable[[], str]]) -> dict[str, Callable[[], str]]:
    """The texts by every name that they go by."""
    return {**texts, "ll": texts["llvm"], "s": texts["asm"]}


class Elsewhere:
    """A function of a module for another machine: calling it here is an error."""

    def __init__(self, name: str, reason: str) -> None:
        self.__name__ = name
        self.reason = reason

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise TargetError."""
        help = ("export the module with `.export(...)` and run it there", "or build it for `llvm`")
        message = f"`{self.__name__}` cannot run here: {self.reason}"
        raise TargetError(Diagnostic("foreign-target", message, help=help))


def as_module(mod: Any) -> IRModule:
    """The module to build. A function alone is called by its global symbol, or `main` if it is private."""
    if isinstance(mod, PrimFunc):
        if "global_symbol" not in mod.attrs:
            mod = mod.with_attr("global_symbol", "main")
        return IRModule.from_expr(mod)
    if isinstance(mod, IRModule):
        return mod
    raise IRError(
        Diagnostic(
            "not-a-module",
            f"a {type(mod).__name__} cannot be built",
            help=("pass an IRModule or a PrimFunc, such as a function decorated with T.prim_func",),
        )
    )


def _names(mod: IRModule) -> str:
    """The parameters' names, which keywords and errors use; equality of programs leaves them out."""
    funcs = [f for f in mod.functions.values() if isinstance(f, PrimFunc)]
    return repr([[p.name for p in f.params] for f in funcs])


def _place(mod: IRModule) -> str:
    """Where the module's text stands: equal programs elsewhere report errors elsewhere."""
    spans = [f.body.span or f.span for f in mod.functions.values() if isinstance(f, PrimFunc)]
    return " ".join([str(s) for s in spans])
