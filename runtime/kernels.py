"""Source for devices, and what loads and launches it: nothing here knows the compiler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from ..dtype import DType
    from .device import Device


SHARED = "tirx.use_dyn_shared_memory"
"""The name of the bytes of dynamic shared memory among what a launch gives."""


class KernelParam(NamedTuple):
    """A parameter of a kernel: a pointer to elements of the dtype, or a scalar."""

    name: str
    dtype: str
    pointer: bool
    scope: str = "global"
    written: bool = True


class Kernel(NamedTuple):
    """A kernel in a source text.

    `launch` are the names of what a launch gives after the arguments, in order: thread axes such as
    `blockIdx.x`, and `tirx.use_dyn_shared_memory` for the bytes of dynamic shared memory.  `max_threads` is
    the most threads a block may have, as the source promises it; `static_shared` are the bytes of shared
    memory that the source declares.  In OpenCL dynamic shared memory is a further parameter of the
    source, which the driver gives.
    """

    name: str
    params: tuple[KernelParam, ...]
    launch: tuple[str, ...]
    max_threads: int | None = None
    static_shared: int = 0


class DeviceSource(NamedTuple):
    """Text in one language (`cuda`, `hip`, `opencl`) with the kernels that it defines.

    `files` are the paths of the script files, by what the comments with script lines call them.
    """

    language: str
    text: str
    kernels: tuple[Kernel, ...]
    files: Mapping[str, str] = {}


Dim3 = tuple[int, int, int]


class Launchable(Protocol):
    """A loaded kernel."""

    def __call__(self, grid: Dim3, block: Dim3, args: Sequence[Any], shared: int = 0) -> None:
        """Start the kernel: one argument for each parameter; an array, or None, for a pointer.

        Raises ExecutionError where it cannot be started.
        """


class Driver(Protocol):
    """What reaches a kind of device: its arrays, and kernels on them.

    Arrays have `shape`, `dtype`, `strides` (in bytes), `ndim`, `size`, `nbytes`, `flags.c_contiguous`,
    `reshape`, `view`; those on devices also `get()` and `set(host)`.  Formats that numpy itself lacks lie in
    them as their bits.
    """

    kind: str
    array: Any

    def item(self, dtype: DType) -> Any:
        """The numpy type of stored elements."""

    def take(self, value: Any) -> Any:
        """The array on the memory of a value.

        Raises ArgumentTypeError for what is no array, ArgumentValueError for one that lies elsewhere; the
        message goes on after the name of the argument.
        """

    def share(self, value: Any) -> tuple[Any, DType]:
        """The same, with the dtype of the elements, which the array may hold as bits."""

    def empty(self, shape: Sequence[int], item: Any, like: Any = None) -> Any:
        """A compact array of undefined contents, where another array lies, or on a `Device`."""

    def copy(self, array: Any) -> Any:
        """A compact array with equal elements."""

    def assign(self, to: Any, source: Any) -> None:
        """Copy the elements of an array to one of the same shape."""

    def writeable(self, array: Any) -> bool:
        """Whether kernels may write to it."""

    def plain(self, array: Any) -> bool:
        """Whether kernels can take its memory as it lies; else they get a copy."""

    def flat(self, array: Any) -> Any:
        """What kernels that know the strides of an array take for it: its memory from the first element on.

        Raises ArgumentValueError where there are elements before the first.
        """

    def start(self, array: Any) -> int:
        """A number for the first byte of an array; those of bytes of the same memory follow each other."""

    def device(self, array: Any) -> Device:
        """Where an array lies."""

    def using(self, values: Sequence[Any]) -> AbstractContextManager[Any]:
        """A context in which launches go where these arguments lie, in the order of the caller's stream."""

    def wait(self) -> None:
        """Let all that was started end."""

    def load(
        self, code: DeviceSource, binaries: Mapping[str, Callable[[], bytes]] | None = None
    ) -> Mapping[str, Launchable]:
        """The kernels of a source, by name; `binaries` gives it compiled, by format (`cubin`, `ptx`).

        Raises CodegenError where the driver refuses it.
        """
