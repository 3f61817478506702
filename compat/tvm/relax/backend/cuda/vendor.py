"""Libraries of vendors: their functions import, and say when they are called that they are not supported."""

from __future__ import annotations

from typing import Any

from ......errors import Diagnostic, UnsupportedError


class VendorLibrary:
    """A function of a vendor's library. Calling it raises UnsupportedError."""

    __slots__ = ("__name__",)

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, *args: Any, **options: Any) -> Any:
        raise UnsupportedError(
            Diagnostic("unsupported", f"`{self.__name__}` is not supported: it needs a vendor's library")
        )


__all__ = ["VendorLibrary"]
