"""From programs to modules of callables: `build`, and the function behind calling a PrimFunc."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentTypeError, ArgumentValueError, Diagnostic, IRError, TargetError, UnsupportedError
from ..ir import BaseFunc, ExternFunc, IRModule, PrimFunc, structural_hash
from ..node import runs_deep
from ..runtime import Module, threads
from ..target import Target
from .collector import collector_paused
from .lowering import Lowering

if TYPE_CHECKING:
    from .llvm.build import Compiled
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
    **graph: Any,
) -> Module:
    """Compile a module (or one function) for a target; the result's functions are called by name.

    A module with graph functions becomes a `runtime.vm.VMModule`, which a `VirtualMachine` runs; `graph` are
    the options of `codegen.vm.build_graph`: `params`, `relax_pipeline`, `exec_mode`.

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
        return _build_device(module, target, checked, num_threads, schedule, pipeline, graph)
    settings = Settings(target, checked, num_threads, schedule, pipeline)
    if not all(isinstance(f, PrimFunc | ExternFunc) for f in module.functions.values()):
        from .vm.build import build_graph

        return build_graph(module, settings, **graph)
    _no_graph_options(graph)
    return settings.module(module)


def _build_device(
    module: IRModule,
    target: Target,
    checked: bool,
    num_threads: int | None,
    schedule: str | None,
    pipeline: Sequence[Callable[[IRModule], IRModule]] | None,
    graph: dict[str, Any],
) -> Module:
    """As `build`, for a target that is a device."""
    from .device.build import KINDS, DevicePlan, check_options, complete
    from .device.graph import build_device_graph, is_graph

    if target.kind not in KINDS:
        known = ", ".join([f"`{k}`" for k in ("llvm", *KINDS)])
        text = f"there is no back end for the target kind `{target.kind}`"
        raise UnsupportedError(Diagnostic("unsupported-target", text, help=(f"there are: {known}",)))
    check_options(target, checked, num_threads)
    target = complete(target)
    if is_graph(module):
        return build_device_graph(module, target, schedule, pipeline, **graph)
    _no_graph_options(graph)
    return DevicePlan(module, target, schedule, pipeline).module()


def _no_graph_options(graph: dict[str, Any]) -> None:
    """Raise ArgumentTypeError for options that only modules with graph functions have."""
    if graph:
        text = f"a module without graph functions is built without `{next(iter(graph))}`"
        raise ArgumentTypeError(Diagnostic("unknown-option", text))


class Settings:
    """What is the same for all programs of one build."""

    def __init__(
        self,
        target: Target,
        checked: bool = False,
        num_threads: int | None = None,
        schedule: str | None = "default",
        pipeline: Sequence[Callable[[IRModule], IRModule]] | None = None,
    ) -> None:
        from .llvm import jit
        from .llvm.machine import machine_for

        self.target, self.checked, self.schedule, self.pipeline = target, checked, schedule, pipeline
        self.machine = machine_for(target, jit.host(), jit.host_features(), jit.known_names)
        self.limit = int(target.get("num-cores", 0))
        if num_threads is not None:
            self.limit = threads.checked(num_threads, "`num_threads`")

    def lowering(self, module: IRModule) -> Lowering:
        """The lowering of a program."""
        return Lowering(module, self.target, self.checked, self.schedule, self.pipeline)

    def digest(self, module: IRModule, lowered: Lowering) -> str | None:
        """What tells the code of a program from that of others; None where nothing does."""
        return digest_of(module, self.target, lowered)

    def compiled(self, module: IRModule, lowered: Lowering, bare: bool = False) -> Compiled:
        """The code of a program."""
        from .llvm.build import compile_module

        with collector_paused():
            digest = self.digest(module, lowered)
            place = place_of(module)
            return compile_module(
                module, lowered, digest, place, self.checked, self.machine, self.limit, bare
            )

    def module(self, module: IRModule) -> Module:
        """The built module."""
        lowered, machine = self.lowering(module), self.machine

        def exporter() -> Exporter:
            from .llvm.export import Exporter  # brings the emitter, which code from the cache does not need

            return Exporter(module, lowered, machine, self.checked)

        if machine.foreign:
            foreign = exporter()
            texts = {"llvm": foreign.llvm, "asm": foreign.assembly}
            functions = {name: Elsewhere(name, machine.foreign) for name in foreign.signatures}
            return Module("llvm", functions, sources=_under_all_names(texts), write=foreign.write)

        def write(path: Path, *, linker: str | None = None) -> Path:
            return exporter().write(path, linker=linker)

        compiled = self.compiled(module, lowered)
        texts = {"llvm": compiled.text, "asm": compiled.assembly, "schedule": lowered.explain}
        return Module("llvm", compiled.functions, sources=_under_all_names(texts), write=write)


def _under_all_names(texts: dict[str, Callable[[], str]]) -> dict[str, Callable[[], str]]:
    """The texts by every name that they go by."""
    return {**texts, "ll": texts["llvm"], "s": texts["asm"]}


def digest_of(module: IRModule, target: Target, lowered: Lowering) -> str | None:
    """What tells the code of a program from that of others; None where nothing does."""
    key = lowered.key
    return None if key is None else f"{structural_hash(module)} {target} {_names(module)} {key}"


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
    if isinstance(mod, BaseFunc) and not isinstance(mod, ExternFunc):
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


def place_of(mod: IRModule) -> str:
    """Where the module's text stands: equal programs elsewhere report errors elsewhere."""
    spans = [f.body.span or f.span for f in mod.functions.values() if isinstance(f, PrimFunc)]
    return " ".join([str(s) for s in spans])
