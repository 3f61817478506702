"""What code may count on here: the architecture and the features of the processor, without a compiler."""

from __future__ import annotations

import functools
import platform
import sys
from pathlib import Path
from typing import Final

_INFO = Path("/proc/cpuinfo")
# Features that code generation uses, by LLVM's name; after `=` what Linux calls them.
_X86: Final = """
    sse3=pni ssse3 sse4.1=sse4_1 sse4.2=sse4_2 sse4a popcnt lzcnt=abm bmi=bmi1 bmi2 adx movbe cx16 f16c fma
    fma4 xop aes pclmul=pclmulqdq sha=sha_ni gfni vaes vpclmulqdq avx avx2 avxvnni=avx_vnni
    avx512f avx512cd avx512bw avx512dq avx512vl avx512ifma avx512vbmi avx512vbmi2=avx512_vbmi2
    avx512vnni=avx512_vnni avx512bitalg=avx512_bitalg avx512vpopcntdq=avx512_vpopcntdq avx512bf16=avx512_bf16
    avx512fp16=avx512_fp16 avx512vp2intersect=avx512_vp2intersect
    amx-tile=amx_tile amx-int8=amx_int8 amx-bf16=amx_bf16 amx-fp16=amx_fp16
"""
_ARM: Final = """
    neon=asimd fp-armv8=fp fullfp16=asimdhp fp16fml=asimdfhm dotprod=asimddp rdm=asimdrdm bf16 i8mm
    lse=atomics crc=crc32 aes sha2 jsconv=jscvt complxnum=fcma rcpc=lrcpc sve sve2 sve-bf16=svebf16 sme sme2
"""
_RISCV: Final = "m a f d c v zba zbb zbs zfh zfhmin zvfh zvfhmin zicond"


def _table(text: str) -> dict[str, str]:
    return {llvm: linux or llvm for llvm, _, linux in [word.partition("=") for word in text.split()]}


_TABLES: Final = {
    "x86_64": _table(_X86),
    "aarch64": _table(_ARM),
    "riscv64": _table(_RISCV),
}


def architecture() -> str:
    """The architecture of this process, by LLVM's usual name."""
    machine = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)


def system() -> str:
    """The operating system: linux, macos, windows or what Python calls it."""
    return {"darwin": "macos", "win32": "windows"}.get(sys.platform, sys.platform)


def lacking(features: list[str]) -> list[str]:
    """Which of these features of LLVM this processor lacks, of those that decide whether code runs."""
    table = _TABLES.get(architecture(), {})
    here = present()
    return [f for f in features if f in table and f not in here]


@functools.cache
def present() -> frozenset[str]:
    """The features that decide whether code runs and that this processor has, by LLVM's name."""
    try:
        words = _words(_INFO.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        from llvmlite import binding

        return frozenset([name for name, on in binding.get_host_cpu_features().items() if on])
    return frozenset([llvm for llvm, linux in _TABLES.get(architecture(), {}).items() if linux in words])


def _words(text: str) -> set[str]:
    """The words for features in what Linux tells of the first processor."""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return set(value.split())
        if key.strip() == "isa":
            first, *rest = value.strip().split("_")
            return {*first[4:], *rest}
    return set()
