"""What code is made for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from ...errors import Diagnostic, TargetError, UnsupportedError, suggest
from ...target import Target


class Machine:
    """What code is made for.

    `half`: it converts float16 by itself; `level`: how hard LLVM works; `foreign`: why its code cannot
    run here, empty where it can; `fast`: elementary functions may be less exact;
    `abi`: how arguments are passed, empty for what the triple says.
    """

    __slots__ = ("abi", "cpu", "fast", "features", "foreign", "half", "level", "triple")

    def __init__(  # no dataclass: they load slowly
        self,
        triple: str,
        cpu: str,
        features: str,
        half: bool,
        level: int = 2,
        foreign: str = "",
        fast: bool = False,
        abi: str = "",
    ) -> None:
        self.triple = triple
        self.cpu = cpu
        self.features = features
        self.half = half
        self.level = level
        self.foreign = foreign
        self.abi = abi
        self.fast = fast

    def replace(self, **changes: Any) -> Machine:
        """The machine with some of its fields changed."""
        return Machine(**{name: changes.get(name, getattr(self, name)) for name in self.__slots__})

    @property
    def arch(self) -> str:
        """The architecture by LLVM's usual name."""
        return architecture(self.triple)

    @property
    def pointer_bytes(self) -> int:
        """The size of an address."""
        return 8 if "64" in self.arch or self.arch == "s390x" else 4

    @property
    def format(self) -> str:
        """The format of its object files: elf, macho, coff or wasm."""
        if self.arch.startswith("wasm"):
            return "wasm"
        return {"macos": "macho", "windows": "coff"}.get(system(self.triple), "elf")

    @property
    def pools(self) -> bool:
        """Whether exported code for it brings a thread pool along."""
        return self.format == "elf" and self.pointer_bytes == 8

    @property
    def named_features(self) -> tuple[str, ...]:
        """The features that are switched on by name or by a level of the processor, without their `+`."""
        given = self.features.split(",")
        on = {f[1:] for f in given if f.startswith("+")} | set(LEVELS.get(self.cpu, ()))
        return tuple(sorted(on - {f[1:] for f in given if f.startswith("-")}))

    @property
    def fma(self) -> bool:
        """Whether it has fused multiply-add."""
        return self.arch == "aarch64" or "fma" in self.named_features

    @property
    def vector_bits(self) -> int:
        """The width of its vectors, as far as LLVM likes to use it."""
        names = self.named_features
        if "avx512f" in names:
            return 512
        return 256 if "avx" in names else 128

    @property
    def wide(self) -> str:
        """The attribute that makes LLVM's own vectors as long as the machine's; it prefers shorter ones."""
        return ' "prefer-vector-width"="512"' if self.vector_bits == 512 else ""


# What the levels of x86-64 ask of a processor, as LLVM names its features.
_V2 = ("cx16", "popcnt", "sse4.2", "ssse3")
_V3 = (*_V2, "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4 = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")
_LIKE: dict[tuple[str, ...], str] = {
    (): "generic x86-64",
    _V2: "x86-64-v2 nehalem westmere silvermont goldmont",
    _V3: "x86-64-v3 haswell broadwell skylake alderlake raptorlake znver1 znver2 znver3",
    _V4: "x86-64-v4 skylake-avx512 cascadelake cooperlake icelake-client icelake-server tigerlake rocketlake "
    "sapphirerapids emeraldrapids graniterapids znver4 znver5",
}
LEVELS: dict[str, tuple[str, ...]] = {name: level for level, names in _LIKE.items() for name in names.split()}
"""The features that code for these processors may count on, as far as they are in a level of x86-64."""


def architecture(triple: str) -> str:
    """The architecture of a triple by LLVM's usual name."""
    first = triple.split("-")[0]
    return {"arm64": "aarch64", "amd64": "x86_64"}.get(first, first)


def system(triple: str) -> str:
    """The operating system of a triple, empty where it names none."""
    for part in triple.split("-")[1:]:
        for name, words in {"macos": ("darwin", "macos"), "windows": ("win",), "linux": ("linux",)}.items():
            if part.startswith(words):
                return name
        if part.startswith(("none", "wasi", "freebsd", "ios", "android")):
            return part
    return ""


def machine_for(
    target: Target,
    host: Machine,
    has: Mapping[str, bool],
    known: Callable[[str], tuple[Collection[str], Collection[str]]],
) -> Machine:
    """The machine that a target describes; `host` is this one, which `has` these features.

    `known` gives the processors and the features that LLVM knows of a triple. Raises TargetError with near
    names for others, UnsupportedError for floats outside registers.
    """
    if target.get("mfloat-abi", "hard") != "hard":
        raise UnsupportedError(
            Diagnostic(
                "unsupported-target", "floats are passed in registers: `mfloat-abi` can only be `hard`"
            )
        )
    triple = str(target.get("mtriple", "")) or host.triple
    level = min(3, max(0, int(target.get("opt-level", host.level))))
    fast = target.get("math", "accurate") == "fast"
    cpu = target.mcpu
    given = [f if f[:1] in "+-" else f"+{f}" for f in target.features]
    foreign = _other_platform(triple, host) or _lacking(cpu, given, host, has)
    if foreign:
        _check_names(cpu, given, *known(triple))
    elif cpu in ("", host.cpu):
        joined = ",".join([f for f in (host.features, *given) if f])
        half = (host.half or "+f16c" in given) and "-f16c" not in given
        return host.replace(features=joined, half=half, level=level, fast=fast)
    abi = str(target.get("mabi", ""))
    machine = Machine(triple, cpu or _plainest(triple), ",".join(given), False, level, foreign, fast, abi)
    return machine.replace(half=_converts_half(machine))


def _other_platform(triple: str, host: Machine) -> str:
    same_system = system(triple) in ("", system(host.triple))
    if architecture(triple) == host.arch and same_system:
        return ""
    return f"the triple `{triple}` is not this machine's, `{host.triple}`"


def _check_names(cpu: str, given: list[str], cpus: Collection[str], features: Collection[str]) -> None:
    """Raise TargetError for the first name that LLVM does not know."""
    for what, name, table in (("processor", cpu, cpus), *[("feature", f[1:], features) for f in given]):
        if name and name not in table:
            message = f"LLVM knows no {what} `{name}` of this architecture"
            raise TargetError(Diagnostic("unknown-processor", message, help=suggest(name, table)))


def _lacking(cpu: str, given: list[str], host: Machine, has: Mapping[str, bool]) -> str:
    """What this machine lacks of a processor of its own architecture."""
    if cpu and cpu != host.cpu:
        if cpu not in LEVELS:
            return f"this machine is a `{host.cpu}`, not a `{cpu}`"
        lacks = [f for f in LEVELS[cpu] if not has.get(f)]
        if lacks:
            return f"this machine lacks {', '.join(lacks)}, which `{cpu}` has"
    for f in given:
        if f.startswith("+") and not has.get(f[1:]):
            return f"this machine lacks the feature `{f[1:]}`"
    return ""


def _plainest(triple: str) -> str:
    """The least processor of an architecture."""
    arch = architecture(triple)
    return {"x86_64": "x86-64", "riscv64": "generic-rv64", "riscv32": "generic-rv32"}.get(arch, "generic")


def _converts_half(machine: Machine) -> bool:
    if machine.arch.startswith("aarch64"):
        return True
    return bool({"f16c", "zfh", "zfhmin", "fp16"} & set(machine.named_features))
