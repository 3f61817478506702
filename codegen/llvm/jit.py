"""llvmlite's part: target machines, optimisation, object code, loading it into the process."""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import threading
import warnings
from collections.abc import Collection, Mapping
from typing import Any

from ...errors import CodegenError, Diagnostic, InternalError
from .machine import Machine

_lock = threading.RLock()
_counter = itertools.count()


@functools.cache
def binding() -> Any:
    """llvmlite's binding, ready for the host."""
    import llvmlite.binding as llvm

    if llvm.llvm_version_info[0] < 20:
        llvm.initialize()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@functools.cache
def host() -> Machine:
    """This machine, with all its features."""
    llvm = binding()
    triple = llvm.get_process_triple()
    features = llvm.get_host_cpu_features()
    half = bool(features.get("f16c")) or triple.startswith(("aarch64", "arm64"))
    return Machine(triple, llvm.get_host_cpu_name(), features.flatten(), half)


def host_features() -> dict[str, bool]:
    """The features of this machine's processor."""
    return dict(binding().get_host_cpu_features())


def versions() -> str:
    """What else decides about object code: LLVM and llvmlite."""
    import llvmlite

    return f"llvm {binding().llvm_version_info} llvmlite {llvmlite.__version__}"


def target_machine(machine: Machine) -> Any:
    """A fresh LLVM target machine; llvmlite's are not for several threads."""
    llvm = binding()
    target = llvm.Target.from_triple(machine.triple)
    return target.create_target_machine(
        cpu=machine.cpu, features=machine.features, opt=3, reloc="pic", codemodel="default", jit=True
    )


def _optimised(text: str, machine: Machine) -> tuple[Any, Any]:
    llvm = binding()
    tm = target_machine(machine)
    try:
        module = llvm.parse_assembly(f'target triple = "{machine.triple}"\n{text}', llvm.create_context())
        module.verify()
    except RuntimeError as err:
        raise InternalError(Diagnostic("internal", f"LLVM refuses the emitted code: {err}")) from err
    options = llvm.create_pipeline_tuning_options(speed_level=machine.level)
    options.loop_vectorization = True
    options.slp_vectorization = True
    options.loop_interleaving = True
    options.loop_unrolling = True
    builder = llvm.create_pass_builder(tm, options)
    passes = builder.getModulePassManager()
    passes.run(module, builder)
    return module, tm


def compile_object(text: str, machine: Machine) -> bytes:
    """Optimised object code of a module in LLVM assembly."""
    with _lock:
        module, tm = _optimised(text, machine)
        return bytes(tm.emit_object(module))


def unknown_intrinsics(text: str, names: Collection[str]) -> list[str]:
    """Which of these functions of LLVM, declared in the text, LLVM does not have.

    It gives attributes to the declarations of those that it has.
    """
    with _lock:
        try:
            module = binding().parse_assembly(text, binding().create_context())
            module.verify()
        except RuntimeError:
            return []  # one that LLVM has is called wrongly
        found = {f.name: f for f in module.functions}
        return [n for n in names if n in found and not next(iter(found[n].attributes), None)]


def survives(text: str, machine: Machine) -> bool:
    """Whether compiling this ends without ending the process; tried in a copy of it where possible.

    Raises InternalError where LLVM refuses the text.
    """
    with _lock:
        _optimised(text, machine)
        if not hasattr(os, "fork"):
            return True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # other threads do not matter to the copy
            child = os.fork()
        if child == 0:
            try:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                compile_object(text, machine)
                os._exit(0)
            finally:
                os._exit(1)
        return os.waitpid(child, 0)[1] == 0


def assembly(text: str, machine: Machine) -> str:
    """The same as assembly of the target."""
    with _lock:
        module, tm = _optimised(text, machine)
        return str(tm.emit_assembly(module))


@functools.cache
def _engine() -> Any:
    llvm = binding()
    return llvm.create_lljit_compiler(target_machine(host()))


class Loaded:
    """Object code in this process; its addresses are valid while this object lives."""

    def __init__(self, image: bytes, symbols: list[str]) -> None:
        """Link the object. Raises InternalError where a symbol that it calls does not exist."""
        llvm = binding()
        builder = llvm.JITLibraryBuilder().add_object_img(image).add_current_process()
        for name in symbols:
            builder.export_symbol(name)
        with _lock:
            try:
                self._tracker = builder.link(_engine(), f"loopwright.{next(_counter)}")
            except RuntimeError as err:
                raise InternalError(Diagnostic("internal", f"the code cannot be linked: {err}")) from err

    def address(self, symbol: str) -> int:
        """The address of an exported symbol."""
        return int(self._tracker[symbol])

    def set_pointer(self, index: int, value: int) -> None:
        """Fill one of the process-dependent pointers of the object."""
        place = self.address("lw.slots") + 8 * index
        ctypes.c_uint64.from_address(place).value = value


def check_symbols(externs: Mapping[str, str]) -> None:
    """Raise CodegenError for the first external symbol (with a function that calls it) that is not here."""
    for name, function in externs.items():
        if binding().address_of_symbol(name) is None:
            raise CodegenError(
                Diagnostic(
                    "unknown-symbol",
                    f"`{function}` calls the external function `{name}`, which this process does not have",
                    help=("load its library first, with ctypes.CDLL(..., mode=ctypes.RTLD_GLOBAL)",),
                )
            )
