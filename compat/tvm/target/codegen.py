"""`tvm.target.codegen`: what the LLVM here is."""

from __future__ import annotations

from ...adapters import lacking


def llvm_version_major(allow_none: bool = False) -> int:
    """The major version of LLVM."""
    from llvmlite import binding

    return int(binding.llvm_version_info[0])


__getattr__ = lacking("tvm.target.codegen")

__all__ = ["llvm_version_major"]
