"""llvmlite's part: target machines, optimisation, object code, loading it into the process."""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Collection, Iterable
from typing import Any

from ...errors import CodegenError, Diagnostic, InternalError, TargetError
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


@functools.cache
def _all_targets() -> None:
    binding().initialize_all_targets()
    binding().initialize_all_asmprinters()


@functools.cache
def known_names(triple: str) -> tuple[frozenset[str], frozenset[str]]:
    """The processors and the features that LLVM knows of a triple.

    Raises TargetError where it does not know the triple. LLVM tells them only on the error output, so
    another process asks.
    """
    ask = "import sys, llvmlite.binding as b; b.initialize_all_targets(); b.initialize_all_asmprinters(); "
    ask += "b.Target.from_triple(sys.argv[1]).create_target_machine(cpu='help')"
    found = subprocess.run([sys.executable, "-c", ask, triple], capture_output=True, text=True, check=False)
    if found.returncode:
        raise TargetError(Diagnostic("unknown-processor", f"LLVM does not know the triple `{triple}`"))
    names: tuple[set[str], set[str]] = (set(), set())
    section = 0
    for line in found.stderr.splitlines():
        section = 1 if line.startswith("Available features") else section
        if line.startswith("  ") and " - " in line:
            names[section].add(line.split()[0])
    return frozenset(names[0]), frozenset(names[1])


def target_machine(machine: Machine, shared: bool = False) -> Any:
    """A fresh LLVM target machine; llvmlite's are not for several threads.

    Its code is for this process, or `shared`, for a linker to place.
    """
    llvm = binding()
    if machine.foreign:
        _all_targets()
    target = llvm.Target.from_triple(machine.triple)
    return target.create_target_machine(
        cpu=machine.cpu,
        features=machine.features,
        opt=3,
        reloc="pic",
        codemodel="default",
        jit=not shared,
        abiname=machine.abi,
    )


def _optimised(text: str, machine: Machine, *more: str, shared: bool = False) -> tuple[Any, Any]:
    """The optimised module, into which the texts of further modules are linked, and its target machine."""
    llvm = binding()
    tm = target_machine(machine, shared)
    head = f'target triple = "{machine.triple}"\ntarget datalayout = "{tm.target_data}"\n'
    try:
        context = llvm.create_context()
        module = llvm.parse_assembly(head + text, context)
        for other in more:
            module.link_in(llvm.parse_assembly(head + other, context))
        if shared:
            _hide(module)
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


def _hide(module: Any) -> None:
    """Keep our own names to the module; other libraries have the same."""
    for value in (*module.functions, *module.global_variables):
        if value.name.startswith("lw.") and not value.is_declaration:
            value.linkage = "internal"


def compile_object(text: str, machine: Machine, *more: str, shared: bool = False) -> bytes:
    """Optimised object code of a module in LLVM assembly, linked with further ones."""
    with _lock:
        module, tm = _optimised(text, machine, *more, shared=shared)
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


def fork() -> int:
    """Copy the process, as `os.fork` does, while no other thread is in LLVM."""
    with _lock, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads do not matter to the copy
        return os.fork()


def _die_quietly() -> None:
    """Whatever ends this process leaves no words and no picture of its memory."""
    import faulthandler
    import resource

    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def survives(text: str, machine: Machine) -> bool:
    """Whether compiling this ends without ending the process; tried in a copy of it where possible.

    Raises InternalError where LLVM refuses the text.
    """
    with _lock:
        if not hasattr(os, "fork"):
            return True
        child = fork()
        if child == 0:
            try:
                _die_quietly()
                compile_object(text, machine)
                os._exit(0)
            finally:
                os._exit(1)
        status = os.waitpid(child, 0)[1]
        if status and not os.WIFSIGNALED(status):
            _optimised(text, machine)  # raises what is wrong with the text
        return status == 0


def assembly(text: str, machine: Machine, *more: str, shared: bool = False) -> str:
    """The same as assembly of the target."""
    with _lock:
        module, tm = _optimised(text, machine, *more, shared=shared)
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


def load_libraries(names: Iterable[str]) -> None:
    """Load shared libraries whose functions kernels call. Raises CodegenError for one that cannot be."""
    for name in names:
        try:
            ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
        except OSError as err:
            message = f"the shared library `{name}` cannot be loaded: {err}"
            raise CodegenError(Diagnostic("unknown-library", message)) from err


def missing_symbol(names: Iterable[str]) -> str | None:
    """The first of these symbols that the process does not have."""
    names = list(names)
    if names:
        _engine()  # LLVM looks through the process only from then on
    return next((name for name in names if binding().address_of_symbol(name) is None), None)
