"""Loading exported libraries and calling their functions, without a compiler."""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ..errors import Diagnostic
from . import threads
from .calling import Function
from .module import Module
from .sealed import LibraryError, check_machine, metadata_of

_THREADS: Final = ("__loopwright_launch", "__loopwright_pool")
_lock = threading.Lock()
_pools: list[tuple[int, threads.Pool, Any]] = []  # one at most; its code stays while its threads may run
_SETTER: Final = "TVMFFIErrorSetRaisedFromCStr"
_NOBODY = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p)(lambda kind, text: None)


def load_module(path: str | os.PathLike[str]) -> Module:
    """The functions of an exported library or object file.

    Raises LibraryError for a file that is no such library, is damaged, or is for another machine.
    """
    place = Path(path)
    data = _contents(place)
    metadata = metadata_of(data, place.name)
    if "device" in metadata:
        from .device_module import open_device

        return open_device(data, metadata)
    check_machine(metadata, place.name)
    if "vm" in metadata:
        from .vm.file import open_module

        return open_module(place, data, metadata, lambda names: _open(place, names, metadata["parallel"]))
    symbols = {name: f"__tvm_ffi_{name}" for name in metadata["functions"]}
    code = _open(place, list(symbols.values()), metadata["parallel"])
    functions = {
        name: Function(name, code.address(symbols[name]), row, code)
        for name, row in metadata["functions"].items()
    }
    return Module("library", functions, metadata=metadata)


def _contents(path: Path) -> Any:
    """The bytes of a file, as they lie on the disk."""
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _open(path: Path, symbols: Sequence[str], parallel: bool) -> _Object | _Shared:
    """The code of a library or object file in this process, with these symbols."""
    if path.suffix == ".o":
        code: _Object | _Shared = _Object(path, [*symbols, *(_THREADS if parallel else ())])
    else:
        code = _Shared(path)
    if parallel:
        _use_threads(code)
    return code


def _use_threads(code: _Object | _Shared) -> None:
    """Let the parallel loops of a library run on the pool of the first one that has some."""
    hook, table = (code.address(symbol) for symbol in _THREADS)
    launch, *parts = (ctypes.c_size_t * 5).from_address(table)
    with _lock:
        if not _pools:
            _pools.append((launch, threads.Pool(*parts), code))
        ctypes.c_size_t.from_address(hook).value = _pools[0][0]


def _unloadable(path: Path, err: Exception) -> LibraryError:
    return LibraryError(Diagnostic("damaged-library", f"`{path.name}` cannot be loaded: {err}"))


class _Shared:
    """A shared library in this process."""

    def __init__(self, path: Path) -> None:
        try:
            self._library = ctypes.CDLL(str(path.resolve()))
        except OSError as err:
            raise _unloadable(path, err) from err

    def address(self, symbol: str) -> int:
        """Where a function lies."""
        return ctypes.cast(getattr(self._library, symbol), ctypes.c_void_p).value or 0


class _Object:
    """An object file in this process, linked by LLVM."""

    def __init__(self, path: Path, symbols: Sequence[str]) -> None:
        from llvmlite import binding

        if binding.llvm_version_info[0] < 20:
            binding.initialize()
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        target = binding.Target.from_default_triple().create_target_machine(reloc="pic", jit=True)
        self._engine = binding.create_lljit_compiler(target)
        linking = binding.JITLibraryBuilder().add_object_img(path.read_bytes()).add_current_process()
        # The runtime of TVM-FFI may be absent, but LLVM wants the symbol. Calls from here never use it.
        linking.import_symbol(_SETTER, ctypes.cast(_NOBODY, ctypes.c_void_p).value)
        for symbol in symbols:
            linking.export_symbol(symbol)
        try:
            self._tracker = linking.link(self._engine, path.name)
        except RuntimeError as err:
            raise _unloadable(path, err) from err

    def address(self, symbol: str) -> int:
        """Where a function lies."""
        return int(self._tracker[symbol])
