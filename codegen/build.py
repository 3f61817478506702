"""From programs to modules of callables: `build`, and the function behind calling a PrimFunc."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import Diagnostic, IRError, UnsupportedError
from ..ir import BaseFunc, IRModule, PrimFunc, structural_hash
from ..node import runs_deep
from ..runtime import Module
from ..target import Target
from .collector import collector_paused


@runs_deep
def build(mod: IRModule | BaseFunc, target: Target | str = "llvm", *, checked: bool = False) -> Module:
    """Compile a module (or one function) for a target; the result's functions are called by name.

    `checked` adds a bounds check to every access of a buffer (OutOfBoundsError).  Compiled code is
    kept in the process and on disk, so that building an equal program again is cheap; building
    one program from several threads compiles it once.

    Raises CodegenError or PassError where the program cannot be expressed, UnsupportedError for a
    target without a back end, TargetError for a processor that is not the one here.
    """
    target = Target(target)
    module = as_module(mod)
    if target.kind != "llvm":
        raise UnsupportedError(
            Diagnostic(
                "unsupported-target",
                f"there is no back end for the target kind `{target.kind}` yet",
                help=('build for "llvm", the CPU',),
            )
        )
    from ..transform import lower
    from .guards import lower_checked
    from .llvm import jit
    from .llvm.build import compile_module
    from .llvm.machine import machine_for

    machine = machine_for(target, jit.host(), jit.host_features())

    def lowered() -> IRModule:
        return lower_checked(module) if checked else lower(module, target)

    with collector_paused():
        digest = f"{structural_hash(module)} {target} {_names(module)}"
        compiled = compile_module(module, lowered, digest, _place(module), checked, machine)
    sources: dict[str, Callable[[], str]] = {"llvm": compiled.text, "asm": compiled.assembly}
    return Module("llvm", compiled.functions, sources=sources)


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
