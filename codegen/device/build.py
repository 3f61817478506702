"""Programs to modules for devices: schedule, lower, emit, compile; loading waits for the first call."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ...errors import Diagnostic, UnsupportedError
from ...ir import IRModule, PrimFunc
from ...runtime import Module
from ...runtime.device import cuda_arch
from ...runtime.device_module import Code, Loaded, described, device_functions, loader, source_of
from ...runtime.drivers import driver
from ...runtime.kernels import DeviceSource, Launchable
from ...target import Target
from ..collector import collector_paused
from ..llvm import cache
from ..lowering import Lowering
from .host import host_program

KINDS: Final = {"cuda": "cuda", "cuda-sim": "cuda", "opencl": "opencl", "rocm": "hip"}
"""The kinds of targets for devices, each with the language of its source."""


_KEPT = 256
_codes: OrderedDict[str, Code] = OrderedDict()
_lock = threading.RLock()


class DeviceLowering(Lowering):
    """Lowering for a device: functions for the host that launch those for the device."""

    def lowered(self, module: IRModule) -> IRModule:
        """The scheduled module, lowered and split."""
        from ...transform import get_pass, lower

        if self.pipeline is not None:  # passes for devices look at the function's target
            bound = self.target if self.target.host is not None else self.target.with_host("llvm")
            module = get_pass("tirx.BindTarget", target=bound)(module)
        return lower(module, self.target, self.pipeline)


class DeviceCode:
    """A lowered module as source for the device and programs for the host."""

    def __init__(self, lowered: IRModule, target: Target) -> None:
        self.target = target
        self.device: dict[str, PrimFunc] = {}
        self.host: dict[str, PrimFunc] = {}
        for g, func in lowered.functions.items():
            if isinstance(func, PrimFunc) and _is_for_device(func):
                self.device[str(func.attrs.get("global_symbol", g.name))] = func
            elif isinstance(func, PrimFunc) and "global_symbol" in func.attrs:
                self.host[g.name] = func

    def source(self, shared: bool = False) -> DeviceSource:
        """The source. Raises CodegenError for what the language cannot express.

        With `shared` the arguments of kernels may share memory.
        """
        from ..c_like import emit

        table = self.device
        if shared:
            table = {name: f.with_attr("tirx.noalias", False) for name, f in table.items()}
        return emit(table, self.target)

    def programs(self, source: DeviceSource) -> list[dict[str, Any]]:
        """The programs that launch the kernels of a source. Raises CodegenError for what they cannot do."""
        launched = [name for name, f in self.device.items() if "tirx.kernel_launch_params" in f.attrs]
        names = dict(zip(launched, [k.name for k in source.kernels], strict=True))
        return [host_program(name, func, self.device, names) for name, func in self.host.items()]


def _is_for_device(func: PrimFunc) -> bool:
    own = func.attrs.get("target")
    return func.attrs.get("calling_conv") == 2 or (
        isinstance(own, Target) and own.host is None and "gpu" in own.keys
    )


class DevicePlan:
    """A module on its way to a device: source, host programs, binaries; kept in the disk cache.

    Source that a compiler at hand refuses is a CodegenError here; the driver is wanted at the first call.
    """

    def __init__(
        self,
        module: IRModule,
        target: Target,
        schedule: str | None = "default",
        pipeline: Sequence[Callable[[IRModule], IRModule]] | None = None,
    ) -> None:
        self.target = target
        module, self.on_host = parted(module)
        self.lowering = DeviceLowering(module, target, False, schedule, pipeline)
        self.name = _name(module, target, self.lowering)
        self.source, self.programs = self._made_or_kept()
        self.binaries = binaries_of(self.source, target)
        if "cubin" in self.binaries and self.source.kernels and _can_compile():
            self.binaries["cubin"]()

    @staticmethod
    def is_kept(
        module: IRModule, target: Target, schedule: str | None = "default", pipeline: Any = None
    ) -> bool:
        """Whether the disk cache has the source of such a module."""
        module, _ = parted(module)
        name = _name(module, target, DeviceLowering(module, target, False, schedule, pipeline))
        return name is not None and cache.load(name) is not None

    def compile(self) -> None:
        """Compile what needs no device; the disk cache keeps it."""
        if self.target.kind == "cuda-sim":
            self.kernels.loaded()

    @functools.cached_property
    def code(self) -> DeviceCode:
        """The lowered module."""
        with collector_paused():
            return DeviceCode(self.lowering(), self.target)

    def _made_or_kept(self) -> tuple[DeviceSource, list[dict[str, Any]]]:
        """Source and programs of the module."""
        found = None if self.name is None else cache.load(self.name)
        if found is not None:
            return source_of(found[1]), found[1]["programs"]
        source = self.code.source()
        programs = self.code.programs(source)
        if self.name is not None:
            cache.store(self.name, b"", described(self.target.kind, source, programs, {}))
        return source, programs

    def texts(self) -> dict[str, Callable[[], str]]:
        """The texts of the module by format."""
        texts: dict[str, Callable[[], str]] = {self.source.language: lambda: self.source.text}
        if "ptx" in self.binaries:
            texts["ptx"] = lambda: self.binaries["ptx"]().decode()
        texts["schedule"] = self.lowering.explain
        return texts

    def functions(self) -> dict[str, Callable[..., Any]]:
        """The functions by name, those that run on the CPU too."""
        made = device_functions(self.programs, self.kernels)
        return {**build_on_host(self.on_host, self.target), **made}

    @functools.cached_property
    def kernels(self) -> Code:
        """The kernels, loaded when they are wanted; those of an equal program in this process."""
        with _lock:
            found = _codes.get(str(self.name))
            if found is None:
                found = self._new_kernels()
                if self.name is not None:
                    _codes[self.name] = found
                    while len(_codes) > _KEPT:
                        _codes.popitem(last=False)
            return found

    def _new_kernels(self) -> Code:
        target = self.target
        if target.kind == "rocm":
            return Code(_hip_only)
        if target.kind == "cuda-sim":
            return Code(
                lambda: (driver("cpu"), _simulated(self.source, target)),
                lambda: _simulated(self.code.source(shared=True), target),
            )

        def overlapping() -> Mapping[str, Launchable]:
            source = self.code.source(shared=True)
            return driver(target.kind).load(source, binaries_of(source, target))

        return Code(loader(target.kind, self.source, self.binaries), overlapping)

    def write(self, path: Path, *, linker: str | None = None) -> Path:
        """Write the module to a file; see `export.write_device`."""
        from .export import write_device

        return write_device(path, self)

    def module(self) -> Module:
        """The module; the code for the device is an import too, where programs for TVM look for it."""
        kind, texts = self.target.kind, self.texts()
        return Module(
            kind,
            self.functions(),
            sources=texts,
            imports=[Module(kind, {}, sources=texts)],
            write=self.write,
            wait=self.kernels.wait,
        )


def _name(module: IRModule, target: Target, lowering: Lowering) -> str | None:
    """What the disk cache calls a module; None where nothing tells it from others."""
    from ..build import digest_of, place_of

    digest = digest_of(module, target, lowering)
    return None if digest is None else cache.key("device", digest, place_of(module))


def build_on_host(module: IRModule, target: Target) -> Mapping[str, Callable[..., Any]]:
    """The functions of a module that run on the CPU, built for the host of a target."""
    from ..build import Settings

    if not module.functions:
        return {}
    return Settings(target.host or Target("llvm")).module(module).functions


def parted(module: IRModule) -> tuple[IRModule, IRModule]:
    """The module without the functions that say that they run on the CPU, and these."""
    on_host = {
        g: f
        for g, f in module.functions.items()
        if isinstance(f, PrimFunc) and (f.attrs.get("tirx.is_host_func") or _is_cpu(f.attrs.get("target")))
    }
    if not on_host:
        return module, IRModule({})
    rest = {g: f for g, f in module.functions.items() if g not in on_host}
    return module.replace(functions=rest), IRModule(on_host)


def _is_cpu(target: Any) -> bool:
    return target is not None and "cpu" in Target(target).keys


def _simulated(source: DeviceSource, target: Target) -> Mapping[str, Launchable]:
    from ..cuda_sim import load

    found: Mapping[str, Launchable] = load(source, target)
    return found


def _hip_only() -> Loaded:
    help = ('`module.source("hip")` has the source', "build for `cuda`, `opencl` or `cuda-sim` to run it")
    raise UnsupportedError(
        Diagnostic(
            "unsupported-target", "kernels for `rocm` are emitted and compiled, but not run", help=help
        )
    )


def binaries_of(source: DeviceSource, target: Target) -> dict[str, Callable[[], bytes]]:
    """What compiles a source, by format."""
    if target.kind != "cuda":
        return {}
    arch = str(target.get("arch"))

    def compiled(form: str) -> Callable[[], bytes]:
        def make() -> bytes:
            from ..cuda.compile import compile_cuda

            return compile_cuda(source.text, arch, form, source.files)

        return functools.cache(make)

    return {"cubin": compiled("cubin"), "ptx": compiled("ptx")}


def complete(target: Target) -> Target:
    """The target with an architecture, if it is for CUDA: that of the first device, or `sm_80`."""
    if target.kind not in ("cuda", "cuda-sim") or target.get("arch"):
        return target
    arch = cuda_arch() if target.kind == "cuda" else None
    return Target({**target.export(), "arch": arch or "sm_80"})


def _can_compile() -> bool:
    from ..cuda.compile import has_compiler

    return has_compiler()


def check_options(target: Target, checked: bool, num_threads: int | None) -> None:
    """Raise UnsupportedError for options of `build` that only the CPU knows."""
    for name, given in (("checked", checked), ("num_threads", num_threads is not None)):
        if given:
            text = f"the option `{name}` of `build` is for the CPU; the target is `{target.kind}`"
            help = ('`build(..., "cuda-sim")` reports accesses out of bounds',) if name == "checked" else ()
            raise UnsupportedError(Diagnostic("unsupported-option", text, help=help))


__all__ = [
    "KINDS",
    "DeviceCode",
    "DeviceLowering",
    "DevicePlan",
    "build_on_host",
    "check_options",
    "complete",
    "parted",
]
