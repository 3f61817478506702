"""Devices: a kind and a number, with the numbers of the DLPack standard."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from ..errors import ArgumentTypeError, ArgumentValueError, Diagnostic, suggest

# DLPack's device types by our name of the kind.
KINDS: Final[dict[str, int]] = {
    "cpu": 1,
    "cuda": 2,
    "cuda_host": 3,
    "opencl": 4,
    "vulkan": 7,
    "metal": 8,
    "vpi": 9,
    "rocm": 10,
    "rocm_host": 11,
    "ext_dev": 12,
    "cuda_managed": 13,
    "oneapi": 14,
    "webgpu": 15,
    "hexagon": 16,
    "maia": 17,
    "trn": 18,
}
_NAMES: Final = {number: name for name, number in KINDS.items()}


class Device:
    """A place where tensors live, such as `Device("cpu")` or `Device("cuda:1")`; one object per place.

    Raises ArgumentValueError for an unknown kind or a number that is not one.
    """

    __slots__ = ("index", "kind")
    _interned: ClassVar[dict[tuple[str, int], Device]] = {}

    kind: str
    index: int

    def __new__(cls, spec: str | Device | tuple[int, int] = "cpu", index: int | None = None) -> Device:
        if isinstance(spec, Device):
            return spec
        kind, number = _read(spec)
        if index is not None:
            number = int(index)
        if number < 0:
            raise ArgumentValueError(Diagnostic("unknown-device", f"a device has no number {number}"))
        found = cls._interned.get((kind, number))
        if found is None:
            found = object.__new__(cls)
            object.__setattr__(found, "kind", kind)
            object.__setattr__(found, "index", number)
            found = cls._interned.setdefault((kind, number), found)
        return found

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("Device is immutable")

    def __str__(self) -> str:
        return f"{self.kind}:{self.index}"

    def __repr__(self) -> str:
        return f"Device({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (str(self),)

    @property
    def device_type(self) -> int:
        """DLPack's number of the kind."""
        return KINDS[self.kind]

    @property
    def dlpack(self) -> tuple[int, int]:
        """The pair that `__dlpack_device__` gives."""
        return KINDS[self.kind], self.index

    @property
    def exist(self) -> bool:
        """Whether this machine has the device and the package that reaches it."""
        if self.kind == "cpu":
            return self.index == 0
        if self.kind == "cuda":
            return self.index < _cuda_count()
        if self.kind == "opencl":
            return self.index < _opencl_count()
        return False


def _read(spec: object) -> tuple[str, int]:
    if isinstance(spec, tuple) and len(spec) == 2:
        number, index = spec
        if number not in _NAMES:
            raise ArgumentValueError(Diagnostic("unknown-device", f"DLPack has no device type {number}"))
        return _NAMES[number], int(index)
    if not isinstance(spec, str):
        raise ArgumentTypeError(Diagnostic("unknown-device", f"a {type(spec).__name__} is not a device"))
    kind, colon, index = spec.partition(":")
    if kind not in KINDS or (colon and not index.isdecimal()):
        notes = ("a device is a kind and a number, as in `cuda:1`",)
        near = suggest(kind, KINDS) if kind not in KINDS else ()
        raise ArgumentValueError(
            Diagnostic("unknown-device", f"`{spec}` is not a device", notes=notes, help=near)
        )
    return kind, int(index) if colon else 0


def _cuda_count() -> int:
    try:
        import cupy
    except ImportError:
        return 0
    try:
        return int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError:
        return 0


def _opencl_count() -> int:
    try:
        import pyopencl
    except ImportError:
        return 0
    try:
        return sum(len(platform.get_devices()) for platform in pyopencl.get_platforms())
    except pyopencl.Error:
        return 0


def cuda_arch(index: int = 0) -> str | None:
    """The architecture of a CUDA device, such as `sm_90`, asked of the driver; None where there is none."""
    import ctypes
    import sys

    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return None
    number, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(number), index):
        return None
    for value, attribute in ((major, 75), (minor, 76)):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
        if driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, number):
            return None
    return f"sm_{major.value}{minor.value}"


def device(spec: str | Device | tuple[int, int] = "cpu", index: int | None = None) -> Device:
    """The device that `spec` names; see `Device`."""
    return Device(spec, index)


def cpu(index: int = 0) -> Device:
    """The processor's memory."""
    return Device("cpu", index)


def cuda(index: int = 0) -> Device:
    """A CUDA device."""
    return Device("cuda", index)


def opencl(index: int = 0) -> Device:
    """An OpenCL device."""
    return Device("opencl", index)
