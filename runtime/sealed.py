"""Files of exported libraries: machine code with what a loader must know, and a checksum."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from ..errors import Diagnostic, LoopwrightError
from .processor import architecture, lacking, system

MAGIC: Final = b"loopwright library\x001"
_TAIL: Final = 8 + 32 + len(MAGIC)
_SECTION: Final = b"loopwright"


class LibraryError(LoopwrightError, ValueError):
    """A file is no library that can be loaded here."""

    default_code = "damaged-library"


def sealed(image: bytes, metadata: Mapping[str, Any], wasm: bool = False) -> bytes:
    """The file of a library: machine code, then what a loader must know, and a checksum of both.

    Linkers and loaders do not look at what follows the end of an ELF file; in WebAssembly it is a section.
    """
    text = json.dumps(metadata, sort_keys=True).encode()
    if wasm:
        size = 1 + len(_SECTION) + len(text) + _TAIL
        image += b"\0" + _leb128(size) + bytes([len(_SECTION)]) + _SECTION
    body = image + text + len(text).to_bytes(8, "little")
    return body + hashlib.blake2b(body, digest_size=32).digest() + MAGIC


def _leb128(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def metadata_of(data: Any, name: str) -> dict[str, Any]:
    """What the file of a library tells; `data` are its bytes, which are not copied.

    Raises LibraryError for a file of another kind and a damaged one.
    """
    with memoryview(data) as view:
        if len(view) < _TAIL or bytes(view[-len(MAGIC) :]) != MAGIC:
            message = f"`{name}` is no library that loopwright exported"
            help = ("`module.export(...)` writes libraries; cutting or stripping makes them useless",)
            raise LibraryError(Diagnostic("foreign-library", message, help=help))
        end = len(view) + 8 - _TAIL
        with view[:end] as body:
            good = hashlib.blake2b(body, digest_size=32).digest() == bytes(view[end : -len(MAGIC)])
            size = int.from_bytes(body[-8:], "little")
            if not good:
                raise LibraryError(
                    Diagnostic("damaged-library", f"`{name}` is damaged: its checksum does not match")
                )
            found: dict[str, Any] = json.loads(bytes(body[-8 - size : -8]))
    return found


def check_machine(metadata: Mapping[str, Any], name: str) -> None:
    """Raise LibraryError where the code of a library cannot run here."""
    triple = metadata["triple"]
    arch = {"arm64": "aarch64", "amd64": "x86_64"}.get(triple.split("-")[0], triple.split("-")[0])
    names = {"linux": "linux", "darwin": "macos", "macos": "macos", "windows": "windows"}
    place = next((names[word] for part in triple.split("-")[1:] for word in names if word in part), system())
    if (arch, place) != (architecture(), system()):
        here = f"{architecture()}, {system()}"
        message = f"`{name}` was made for `{triple}`, which is not this machine ({here})"
        raise LibraryError(Diagnostic("library-machine", message))
    lacks = lacking(metadata["features"])
    if lacks:
        message = f"`{name}` needs {', '.join([f'`{f}`' for f in lacks])}, which this processor lacks"
        help = ("export it for a plainer processor, such as `llvm -mcpu=x86-64-v3`",)
        raise LibraryError(Diagnostic("library-machine", message, help=help))
