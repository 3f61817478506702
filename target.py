"""Targets: what code is built for, as a kind with checked attributes.

    Target("llvm")    Target("llvm -mcpu=znver4 -num-cores 8")    Target({"kind": "cuda", "arch": "sm_90"})

Tags name complete descriptions of known machines.  Nothing about the running machine is looked up
until `Target.detect()` asks for it.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import shlex
import threading
from collections.abc import Mapping
from typing import Any, Final

from .errors import Diagnostic, TargetError, suggest

_COMMON: Final[dict[str, type]] = {
    "device": str,
    "from_device": int,
    "keys": tuple,
    "libs": tuple,
    "model": str,
    "tag": str,
    "target_device_type": int,
}
_GPU: Final[dict[str, type]] = {
    "max_function_args": int,
    "max_num_threads": int,
    "max_shared_memory_per_block": int,
    "max_threads_per_block": int,
    "thread_warp_size": int,
}
_LLVM: Final[dict[str, type]] = {
    "cl-opt": tuple,
    "fast-math": bool,
    **{f"fast-math-{flag}": bool for flag in ("arcp", "contract", "ninf", "nnan", "nsz", "reassoc")},
    "jit": str,
    "mabi": str,
    "mattr": tuple,
    "mcpu": str,
    "mfloat-abi": str,
    "mtriple": str,
    "num-cores": int,
    "opt-level": int,
    "vector-width": int,
}
_CUDA: Final = {"arch": str, "mcpu": str, "registers_per_block": int, "l2_cache_size_bytes": int}
_OPENCL: Final = {
    "image_base_address_alignment": int,
    "texture_depth_limit": int,
    "texture_spatial_limit": int,
}
_VULKAN: Final[dict[str, type]] = {
    "max_spirv_version": int,
    "supported_subgroup_operations": int,
    **{
        f"supports_{what}": bool
        for what in (
            *("float16", "float32", "float64", "int8", "int16", "int32", "int64"),
            *("8bit_buffer", "16bit_buffer", "storage_buffer_storage_class", "push_descriptor"),
            *("dedicated_allocation", "integer_dot_product", "cooperative_matrix"),
        )
    },
}


class _Kind:
    """What the table knows of one kind: attributes with their types, keys, first values, the device.

    `defaults` are attributes of every target of the kind; `limits` are what `Target.get` answers
    where a target says nothing.
    """

    __slots__ = ("attrs", "defaults", "device", "keys", "limits")

    def __init__(
        self,
        keys: tuple[str, ...],
        device: str,
        attrs: Mapping[str, type],
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        self.keys = keys
        self.device = device
        self.attrs = {**_COMMON, **attrs}
        self.defaults = dict(defaults or {})
        self.limits: dict[str, Any] = {}


def _gpu(
    name: str, device: str, warp: int, threads: int, shared: int, attrs: Mapping[str, type] | None = None
) -> _Kind:
    limits = {"thread_warp_size": warp, "max_num_threads": threads, "max_threads_per_block": threads}
    if shared:
        limits["max_shared_memory_per_block"] = shared
    return _Kind((name, "gpu"), device, {**_GPU, **(attrs or {})}, limits)


_KINDS: Final[dict[str, _Kind]] = {
    "llvm": _Kind(("cpu",), "cpu", _LLVM),
    "c": _Kind(
        ("cpu",),
        "cpu",
        {"mcpu": str, "march": str, "constants-byte-alignment": int, "workspace-byte-alignment": int},
    ),
    "cuda": _gpu("cuda", "cuda", 32, 1024, 49152, _CUDA),
    "cuda_host": _Kind(("cpu",), "cpu", {}),
    "nvptx": _gpu("cuda", "cuda", 32, 1024, 49152, {"mcpu": str, "mtriple": str}),
    "rocm": _gpu("rocm", "rocm", 64, 256, 65536, {"mcpu": str, "mtriple": str, "mattr": tuple}),
    "opencl": _gpu("opencl", "opencl", 1, 256, 16384, _OPENCL),
    "metal": _gpu("metal", "metal", 16, 256, 32768),
    "vulkan": _gpu("vulkan", "vulkan", 1, 256, 0, _VULKAN),
    "webgpu": _gpu("webgpu", "webgpu", 1, 256, 32768, {"supports_subgroups": bool}),
    "hexagon": _Kind(
        ("hexagon", "cpu"),
        "hexagon",
        {
            "mcpu": str,
            "mattr": tuple,
            "mtriple": str,
            "llvm-options": tuple,
            "num-cores": int,
            "vtcm-capacity": int,
        },
    ),
    "ext_dev": _Kind((), "ext_dev", {}),
    "trn": _Kind(
        (),
        "trn",
        {"partition_size": int, "max_sbuf_size_per_partition": int, "max_psum_size_per_partition": int},
    ),
    "composite": _Kind((), "cpu", {"devices": tuple}),
    "test": _Kind((), "cpu", {}),
}
for _name, _limits in (
    ("cuda", ("max_threads_per_block", "max_shared_memory_per_block")),
    ("nvptx", ("max_threads_per_block", "max_shared_memory_per_block")),
    ("webgpu", ("max_threads_per_block",)),
):
    _KINDS[_name].limits = {_limit: _KINDS[_name].defaults.pop(_limit) for _limit in _limits}
_KINDS["opencl"].defaults.update(
    image_base_address_alignment=64,
    max_function_args=128,
    texture_depth_limit=2048,
    texture_spatial_limit=16384,
)
_KINDS["webgpu"].defaults["supports_subgroups"] = False
_KINDS["metal"].defaults["max_function_args"] = 31
_KINDS["vulkan"].defaults.update(supports_int32=True, supports_float32=True)


def _nvidia(arch: str, l2: int) -> dict[str, Any]:
    limits = {"max_shared_memory_per_block": 49152, "registers_per_block": 65536}
    return {"kind": "cuda", "arch": arch, "l2_cache_size_bytes": l2, **limits}


def _aws(cores: int) -> dict[str, Any]:
    return {"kind": "llvm", "keys": ("x86", "cpu"), "mcpu": "skylake-avx512", "num-cores": cores}


def _arm(mcpu: str, cores: int, triple: str = "aarch64-linux-gnu") -> dict[str, Any]:
    return {"kind": "llvm", "keys": ("arm_cpu", "cpu"), "mtriple": triple, "mcpu": mcpu, "num-cores": cores}


_TAGS: dict[str, dict[str, Any]] = {
    "nvidia/nvidia-v100": _nvidia("sm_70", 6 << 20),
    "nvidia/nvidia-t4": _nvidia("sm_75", 4 << 20),
    "nvidia/nvidia-a100": _nvidia("sm_80", 40 << 20),
    "nvidia/nvidia-a10g": _nvidia("sm_86", 6 << 20),
    "nvidia/geforce-rtx-3090": _nvidia("sm_86", 6 << 20),
    "nvidia/geforce-rtx-4090": _nvidia("sm_89", 72 << 20),
    "nvidia/nvidia-h100": _nvidia("sm_90a", 50 << 20),
    "aws/cpu/c5.large": _aws(1),
    "aws/cpu/c5.xlarge": _aws(2),
    "aws/cpu/c5.2xlarge": _aws(4),
    "aws/cpu/c5.4xlarge": _aws(8),
    "aws/cpu/c5.9xlarge": _aws(18),
    "raspberry-pi/4b-aarch64": _arm("cortex-a72", 4),
    "apple/m1-gpu": {
        "kind": "metal",
        "host": {**_arm("apple-m1", 8, "arm64-apple-macos")},
        "thread_warp_size": 32,
    },
}


class Target:
    """A kind of target with its attributes, immutable and hashable by value.

    `spec` is a kind, a tag, a command-line form (`"llvm -mcpu=znver4"`), a dict with "kind" (or "tag"),
    or its JSON text.  Raises TargetError with near names for unknown kinds, attributes and values.
    """

    __slots__ = ("_key", "attrs", "host", "keys", "kind", "tag")

    _key: tuple[Any, ...]
    kind: str
    tag: str
    keys: tuple[str, ...]
    attrs: Mapping[str, Any]
    host: Target | None

    def __init__(
        self, spec: str | Target | Mapping[str, Any], host: str | Target | Mapping[str, Any] | None = None
    ) -> None:
        config = _config(spec)
        name = config.pop("kind")
        kind = _KINDS.get(name)
        if kind is None:
            raise TargetError(
                Diagnostic(
                    "unknown-target",
                    f"`{name}` is not a kind of target",
                    help=suggest(name, [*_KINDS, *_TAGS]),
                )
            )
        inner = config.pop("host", None)
        outer = host if host is not None else inner
        values = {**kind.defaults, **{k: v for k, v in _checked(name, kind, config).items() if v is not None}}
        put = object.__setattr__
        put(self, "kind", name)
        put(self, "tag", values.pop("tag", ""))
        put(self, "keys", values.pop("keys", kind.keys))
        put(self, "attrs", values)
        put(self, "host", None if outer is None else Target(outer))
        put(self, "_key", (name, self.keys, tuple(sorted(values.items())), self.host))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("Target is immutable")

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Target) and self._key == other._key)

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        return json.dumps(self.export())

    def __repr__(self) -> str:
        return f"Target({self.export()!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Target, (self.export(),)

    def export(self) -> dict[str, Any]:
        """The target as a dict of JSON values, from which `Target` makes an equal one."""
        out: dict[str, Any] = {"kind": self.kind, "tag": self.tag, "keys": list(self.keys)}
        if self.host is not None:
            out["host"] = self.host.export()
        for name, value in self.attrs.items():
            out[name] = (
                [v.export() if isinstance(v, Target) else v for v in value]
                if isinstance(value, tuple)
                else value
            )
        return out

    def get(self, name: str, default: Any = None) -> Any:
        """The attribute of this name, `-` and `_` being the same, or the default."""
        found = _spelling(name, self.attrs)
        return _KINDS[self.kind].limits.get(name, default) if found is None else self.attrs[found]

    def with_host(self, host: str | Target | Mapping[str, Any]) -> Target:
        """The same target with another host."""
        return Target(self, host=host)

    @property
    def device_kind(self) -> str:
        """The kind of device the code runs on, as `runtime.Device` names it."""
        return _KINDS[self.kind].device

    @property
    def mcpu(self) -> str:
        """The processor's name as LLVM knows it; empty where none is given."""
        return str(self.get("mcpu", ""))

    @property
    def features(self) -> tuple[str, ...]:
        """The processor's features as LLVM spells them (`+avx2`), as far as given."""
        return tuple(self.get("mattr", ()))

    @property
    def num_cores(self) -> int:
        """The cores given, or those of this machine."""
        return int(self.get("num-cores", 0)) or core_count()

    @staticmethod
    def detect() -> Target:
        """The processor this runs on: kind llvm with cpu, features, triple and cores."""
        return _detect()

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """The innermost target of a `with` block in this thread.

        Without one: None, or TargetError unless `allow_none`.
        """
        stack = getattr(_scope, "stack", None)
        if stack:
            found: Target = stack[-1]
            return found
        if allow_none:
            return None
        raise TargetError(
            Diagnostic("no-target", "no target is in scope", help=('use `with Target("llvm"):`',))
        )

    def __enter__(self) -> Target:
        _scope.__dict__.setdefault("stack", []).append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _scope.stack.pop()


_scope = threading.local()


def register_tag(name: str, config: Mapping[str, Any], override: bool = False) -> Target:
    """Give a description a name. Raises TargetError when it is taken or the description is wrong."""
    if (name in _TAGS or name in _KINDS) and not override:
        raise TargetError(
            Diagnostic("duplicate-tag", f"the tag `{name}` is taken", help=("pass `override=True`",))
        )
    made = Target(config)
    _TAGS[name] = dict(config)
    return made


def list_tags() -> dict[str, Target]:
    """All tags with their targets."""
    return {name: Target(name) for name in _TAGS}


def list_kinds() -> tuple[str, ...]:
    """The names of all kinds."""
    return tuple(_KINDS)


def core_count() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@functools.cache
def _detect() -> Target:
    from llvmlite import binding

    found = sorted(name for name, on in binding.get_host_cpu_features().items() if on)
    machine = platform.machine().lower()
    own = "x86" if machine in ("x86_64", "amd64") else "arm_cpu" if machine in ("arm64", "aarch64") else None
    return Target(
        {
            "kind": "llvm",
            "keys": ((own,) if own else ()) + ("cpu",),
            "mcpu": binding.get_host_cpu_name(),
            "mtriple": binding.get_default_triple(),
            "mattr": tuple(f"+{name}" for name in found),
            "num-cores": core_count(),
        }
    )


def _config(spec: Any) -> dict[str, Any]:
    """The description as a dict with a kind; tags are looked up, values not yet checked."""
    if isinstance(spec, Target):
        return spec.export()
    if isinstance(spec, str):
        spec = _read(spec)
    if not isinstance(spec, Mapping):
        raise TargetError(Diagnostic("target", f"a {type(spec).__name__} is not a description of a target"))
    config = dict(spec)
    tag = config.get("tag")
    if tag and "kind" not in config:
        if tag not in _TAGS:
            raise TargetError(
                Diagnostic("unknown-target", f"there is no tag `{tag}`", help=suggest(tag, _TAGS))
            )
        config = {**_TAGS[tag], **config}
    if not isinstance(config.get("kind"), str):
        raise TargetError(Diagnostic("target", "a description of a target needs a `kind`"))
    return config


def _read(text: str) -> dict[str, Any]:
    text = text.strip()
    if text.startswith("{"):
        try:
            found = json.loads(text)
        except ValueError as err:
            raise TargetError(Diagnostic("target", f"the target is not JSON: {err}")) from err
        return dict(found)
    try:
        words = shlex.split(text)
    except ValueError as err:
        raise TargetError(Diagnostic("target", f"`{text}` is not a target: {err}")) from err
    if not words:
        raise TargetError(Diagnostic("target", "an empty string is not a target"))
    head = words[0]
    config: dict[str, Any] = {"kind": head} if head not in _TAGS else {**_TAGS[head], "tag": head}
    rest = words[1:]
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            raise TargetError(
                Diagnostic(
                    "target", f"`{word}` in `{text}` is no attribute", help=("attributes are `-name=value`",)
                )
            )
        name, equals, value = word.lstrip("-").partition("=")
        if not equals and rest and not _is_name(rest[0]):
            value, equals = rest.pop(0), "="
        config[name] = value if equals else True
    return config


def _is_name(word: str) -> bool:
    return word.startswith("-") and not word[1:2].isdigit()


def _spelling(name: str, known: Mapping[str, Any]) -> str | None:
    for text in (name, name.replace("_", "-"), name.replace("-", "_")):
        if text in known:
            return text
    return None


def _checked(kind: str, row: _Kind, config: Mapping[str, Any]) -> dict[str, Any]:
    out = {}
    for name, value in config.items():
        if name.startswith("feature."):
            out[name] = value
            continue
        known = _spelling(name, row.attrs)
        if known is None:
            help = suggest(name, row.attrs) or (f"it has: {', '.join(sorted(row.attrs))}",)
            raise TargetError(
                Diagnostic(
                    "unknown-attribute", f"a target of kind `{kind}` has no attribute `{name}`", help=help
                )
            )
        out[known] = _convert(known, value, row.attrs[known])
    return out


_WORDS: Final = {"true": True, "1": True, "false": False, "0": False}


def _convert(name: str, value: Any, wanted: type) -> Any:
    if value is None:
        return None
    if wanted is tuple:
        parts = value.split(",") if isinstance(value, str) else value
        if isinstance(parts, list | tuple):
            return tuple([Target(p) if isinstance(p, Mapping) else p for p in parts])
    elif wanted is bool:
        if isinstance(value, bool) or value in (0, 1):
            return bool(value)
        if isinstance(value, str) and value.lower() in _WORDS:
            return _WORDS[value.lower()]
    elif wanted is int:
        if isinstance(value, str) and value.lstrip("-").isdecimal():
            return int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return int(value)
    elif isinstance(value, str):
        return value
    words = {tuple: "a list", bool: "true or false", int: "an integer", str: "a string"}
    raise TargetError(
        Diagnostic("target-value", f"the attribute `{name}` takes {words[wanted]}, not `{value!r}`")
    )


__all__ = ["Target", "core_count", "list_kinds", "list_tags", "register_tag"]
