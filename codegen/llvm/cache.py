"""Object code kept on disk: one file an entry, checksummed, private, bounded, safe to delete.

`LOOPWRIGHT_CACHE_DIR` names another folder; `LOOPWRIGHT_CACHE=0` (or an empty folder name) turns
the cache off.  Whatever goes wrong with the disk only costs time: nothing here raises.
"""

from __future__ import annotations

import functools
import hashlib
import json
import mmap
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

MAGIC = b"loopwright object 1\n"
LIMIT_BYTES = 256 * 1024 * 1024
_PER_SWEEP = 32
_stores = 0


def directory() -> Path | None:
    """The folder of the cache, or None where it is off."""
    if os.environ.get("LOOPWRIGHT_CACHE", "1").lower() in ("0", "off", "no", "false"):
        return None
    chosen = os.environ.get("LOOPWRIGHT_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) if chosen else None
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "loopwright"


def key(*parts: str) -> str:
    """The name of an entry made from everything that decides about it."""
    text = "\0".join([sources_digest(), *parts])
    return hashlib.blake2b(text.encode(), digest_size=20).hexdigest()


@functools.cache
def sources_digest() -> str:
    """A hash of the sources of the rooms that turn IR into code.

    Reading them all takes longer than loading an object, so the cache keeps the hash for a state of
    the files: their names, sizes, times and inodes.
    """
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    files: list[tuple[str, bytes]] = []
    for room in ("codegen", "transform", "ir", "schedule", "target", "ops", "te"):
        _list_sources(os.path.join(root, room), files)
    path = os.path.join(root, "dtype.py")
    files.append((path, _state(path, functools.partial(os.stat, path))))
    state = hashlib.blake2b(b"\0".join([s for _, s in files]), digest_size=20).hexdigest()
    known = load(f"sources-{state}")
    if known is not None and isinstance(known[1].get("digest"), str):
        return str(known[1]["digest"])
    digest = hashlib.blake2b(digest_size=20)
    for path, _ in files:
        try:
            with open(path, "rb", buffering=0) as file:
                digest.update(path[len(root) :].encode() + b"\0" + file.read())
        except OSError:
            digest.update(b"absent")
    found = digest.hexdigest()
    store(f"sources-{state}", b"", {"digest": found})
    return found


def _list_sources(folder: str, files: list[tuple[str, bytes]]) -> None:
    """Add the Python files below a folder, in the order of their names, each with its state."""
    try:
        entries = sorted(os.scandir(folder), key=lambda e: e.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.endswith(".py"):
            files.append((entry.path, _state(entry.path, entry.stat)))
        elif "." not in entry.name and entry.name != "__pycache__":
            _list_sources(entry.path, files)


def _state(path: str, stat: Callable[[], os.stat_result]) -> bytes:
    try:
        info = stat()
    except OSError:
        return b"absent"
    return f"{path} {info.st_size} {info.st_mtime_ns} {info.st_ctime_ns} {info.st_ino}".encode()


def load(name: str) -> tuple[bytes, dict[str, Any]] | None:
    """The object code and data of an entry, or None where it is absent or damaged."""
    found = _load(name, Path.read_bytes)
    return None if found is None else (bytes(found[0]), found[1])


def load_mapped(name: str) -> tuple[Any, dict[str, Any]] | None:
    """The same with the code as a view of the file, for entries with large contents."""
    return _load(name, _mapped)


def _mapped(path: Path) -> Any:
    with path.open("rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _load(name: str, read: Callable[[Path], Any]) -> tuple[Any, dict[str, Any]] | None:
    folder = directory()
    if folder is None:
        return None
    path = folder / name[:2] / name
    try:
        if not _ours(folder):
            return None
        data = read(path)
    except (OSError, ValueError):  # nothing can be mapped of an empty file
        return None
    found = _unpack(memoryview(data))
    if found is None:
        _remove(path)
        return None
    try:
        os.utime(path)
    except OSError:
        pass
    return found


def _ours(folder: Path) -> bool:
    """Only a folder that nobody else can write to may give us code to run."""
    if not hasattr(os, "getuid"):
        return True
    info = folder.stat()
    return info.st_uid == os.getuid() and not info.st_mode & 0o022


def _unpack(data: memoryview) -> tuple[memoryview, dict[str, Any]] | None:
    head = len(MAGIC) + 32 + 8
    if len(data) < head or bytes(data[: len(MAGIC)]) != MAGIC:
        return None
    checksum = bytes(data[len(MAGIC) : len(MAGIC) + 32])
    rest = data[len(MAGIC) + 32 :]
    if hashlib.blake2b(rest, digest_size=32).digest() != checksum:
        return None
    size = int.from_bytes(rest[:8], "little")
    try:
        meta = json.loads(bytes(rest[8 : 8 + size]))
    except ValueError:
        return None
    return (rest[8 + size :], meta) if isinstance(meta, dict) else None


def store(name: str, image: bytes, meta: dict[str, Any], more: Sequence[Any] = ()) -> None:
    """Keep an entry, whose code goes on with the buffers `more`; readers see all of it or nothing."""
    global _stores
    folder = directory()
    if folder is None:
        return
    text = json.dumps(meta).encode()
    text += b" " * (-(len(MAGIC) + 40 + len(text)) % 64)  # the code begins at an aligned place
    parts = [len(text).to_bytes(8, "little"), text, image, *more]
    checksum = hashlib.blake2b(digest_size=32)
    for part in parts:
        checksum.update(part)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _ours(folder):
            return
        place = folder / name[:2]
        place.mkdir(mode=0o700, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=place, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines([MAGIC, checksum.digest(), *parts])
            os.replace(temporary, place / name)
        except OSError:
            _remove(Path(temporary))
            return
    except OSError:
        return
    _stores += 1
    if _stores % _PER_SWEEP == 1:
        sweep()


def sweep(limit: int = LIMIT_BYTES) -> None:
    """Remove the entries that were used longest ago until the rest is within the limit."""
    folder = directory()
    if folder is None:
        return
    entries = []
    try:
        for path in folder.glob("??/*"):
            info = path.stat()
            entries.append((info.st_mtime, info.st_size, path))
    except OSError:
        return
    total = sum([size for _, size, _ in entries])
    for _, size, path in sorted(entries):
        if total <= limit:
            break
        _remove(path)
        total -= size


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        pass
