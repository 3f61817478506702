"""From a lowered module, or a cached one, to callables."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...ir import IRModule, PrimFunc
from . import cache, jit, layout
from .arguments import Entry
from .guard import check_compiles, is_risky
from .library import Library, make_callable
from .machine import Machine
from .signature import exported, signature

if TYPE_CHECKING:
    from .emit import Emitted


class Compiled:
    """All functions of a module for this process; the variant for overlapping arguments is made on demand.

    `lower` gives the lowered module; it is asked only where the disk cache has no entry.  `threads`
    bounds those of its parallel loops; 0: as many as the process uses.  The functions of `bare` code are
    called through ctypes: they are for callers that know their addresses.
    """

    def __init__(
        self,
        mod: IRModule,
        lower: Callable[[], IRModule],
        digest: str | None,
        checked: bool,
        machine: Machine | None = None,
        threads: int = 0,
        bare: bool = False,
    ) -> None:
        self._lower = lower
        self._bare = bare
        self._digest = digest
        self._checked = checked
        self._threads = threads
        self._lock = threading.Lock()
        self._overlapping: Library | None = None
        self._lowered: IRModule | None = None
        self.machine = machine or jit.host()
        self.library = Library(*self._object(False), spans=self.spans, threads=threads)
        self.functions: dict[str, Callable[..., Any]] = {}
        fast = layout.fast_calls_possible() and not bare
        for name, func in exported(mod).items():
            made = self._callable(name, func, fast)
            self.functions[str(func.attrs["global_symbol"])] = made
            self.functions.setdefault(name, made)

    def _callable(self, name: str, func: PrimFunc, fast: bool) -> Callable[..., Any]:
        sig = signature(name, func)
        entry = Entry(sig, self.library, self.overlapping)
        slow = entry.slow
        if not fast:
            return slow
        for what, value in (("slow", slow), ("fail", entry.fail)):
            index = self.library.index(what, name)
            if index is not None:
                self.library.refer(index, value)
        entry.fast = make_callable(self.library, sig, slow, entry)
        return entry.fast

    def lowered(self) -> IRModule:
        """The lowered module."""
        if self._lowered is None:
            self._lowered = self._lower()
        return self._lowered

    def _object(self, overlapping: bool) -> tuple[bytes, dict[str, Any]]:
        name = None
        if self._digest is not None:
            name = entry_name(self._digest, self.machine, self._checked, overlapping, self._bare)
            found = cache.load(name)
            if found is not None:
                return found
        emitted, machine = self._compilable(overlapping)
        image = jit.compile_object(emitted.text, machine)
        if name is not None:
            cache.store(name, image, emitted.meta)
        return image, emitted.meta

    def _compilable(self, overlapping: bool) -> tuple[Emitted, Machine]:
        """The code, or its equal that LLVM can do where it would end the process on this: its own
        vectorisation has faults, and masked vectors of the narrowest floats are more than it can.

        Raises CodegenError where there is none.
        """
        machine, emitted = self.machine, self._emit(overlapping)
        if (
            is_risky(emitted.text, machine)
            and not emitted.outside
            and not jit.survives(emitted.text, machine)
        ):
            other = machine.replace(level=3)
            if jit.survives(emitted.text, other):
                return emitted, other
            emitted = self._emit(overlapping, in_order=True)
        check_compiles(emitted.text, emitted.outside, machine)
        return emitted, machine

    def _emit(self, overlapping: bool, in_order: bool = False) -> Emitted:
        from .emit import emit_module  # not loaded where the cache has the code

        lowered = self._lowered_in_order() if overlapping or in_order else self.lowered()
        options = {"checked": self._checked, "overlapping": overlapping, "bare": self._bare}
        return emit_module(lowered, self.machine, **options)

    def _lowered_in_order(self) -> IRModule:
        """The lowered module with vectorized loops run one iteration after another.

        Whether iterations are independent was decided for buffers that share no memory.
        """
        from ...transform import PassContext

        with PassContext(config={"tirx.disable_vectorize": True}):
            return self._lower()

    def overlapping(self) -> Library:
        """The variant for arguments that share memory, compiled when first needed."""
        with self._lock:
            if self._overlapping is None:
                library = Library(*self._object(True), spans=self.spans, overlapping=True)
                for name in library.meta["functions"]:
                    index = self.library.index("overlapping", name)
                    if index is not None:
                        self.library.code.set_pointer(index, library.code.address(f"lw.entry.{name}"))
                self._overlapping = library
            return self._overlapping

    def spans(self, overlapping: bool) -> list[Any]:
        """The place in the source of each reporting site, worked out when an error needs it."""
        return self._emit(overlapping).spans

    def text(self) -> str:
        """The LLVM assembly."""
        return self._emit(False).text

    def assembly(self) -> str:
        """The machine's assembly."""
        return jit.assembly(self.text(), self.machine)


def entry_name(digest: str, machine: Machine, checked: bool, overlapping: bool, bare: bool) -> str:
    """What the disk cache calls the code of a program."""
    options = f"{checked} {overlapping} {machine.half} {machine.level} {bare}"
    return cache.key(digest, machine.triple, machine.cpu, machine.features, jit.versions(), options)


_KEPT = 256
_compiled: OrderedDict[tuple[str, str, bool, int, bool], Compiled] = OrderedDict()
_lock = threading.RLock()


def compile_module(
    mod: IRModule,
    lower: Callable[[], IRModule],
    digest: str | None,
    place: str,
    checked: bool,
    machine: Machine | None = None,
    threads: int = 0,
    bare: bool = False,
) -> Compiled:
    """The compiled module; the same one again for an equal digest and place. Several threads compile once.

    Without a digest it is made anew and not kept.
    """
    if digest is None:
        return Compiled(mod, lower, None, checked, machine, threads, bare)
    key = (digest, place, checked, threads, bare)
    with _lock:
        found = _compiled.get(key)
        if found is None:
            found = _compiled[key] = Compiled(mod, lower, digest, checked, machine, threads, bare)
            while len(_compiled) > _KEPT:
                _compiled.popitem(last=False)
        else:
            _compiled.move_to_end(key)
        return found
