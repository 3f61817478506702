"""The kinds of targets: their attributes with types, keys, first values, and the device they run on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

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
    **{f"l{level}_cache_size_bytes": int for level in (1, 2, 3)},
    "mabi": str,
    "math": str,
    "mattr": tuple,
    "mcpu": str,
    "mfloat-abi": str,
    "mtriple": str,
    "num-cores": int,
    "opt-level": int,
    "vector-width": int,
}
CHOICES: Final = {"math": ("accurate", "fast")}
"""Attributes that are one of some words."""
_CUDA: Final[dict[str, type]] = {
    "arch": str,
    "mcpu": str,
    "registers_per_block": int,
    "l2_cache_size_bytes": int,
    "tf32": bool,
}
_OPENCL: Final = {
    "extensions": tuple,
    "image_base_address_alignment": int,
    "texture_depth_limit": int,
    "texture_spatial_limit": int,
}
_VULKAN: Final[dict[str, type]] = {
    "device_name": str,
    "device_type": str,
    "driver_name": str,
    "driver_version": int,
    "mattr": tuple,
    **{f"max_block_size_{axis}": int for axis in "xyz"},
    "max_per_stage_descriptor_storage_buffer": int,
    "max_push_constants_size": int,
    "max_spirv_version": int,
    "max_storage_buffer_range": int,
    "max_uniform_buffer_range": int,
    "supported_subgroup_operations": int,
    **{
        f"supports_{what}": bool
        for what in (
            *("float16", "float32", "float64", "int8", "int16", "int32", "int64"),
            *("8bit_buffer", "16bit_buffer", "storage_buffer_storage_class", "push_descriptor"),
            *("dedicated_allocation", "integer_dot_product", "cooperative_matrix"),
        )
    },
    "vulkan_api_version": int,
}


class Kind:
    """What the table knows of one kind.

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
        limits: Mapping[str, Any] | None = None,
    ) -> None:
        self.keys = keys
        self.device = device
        self.attrs = {**_COMMON, **attrs}
        self.defaults = dict(defaults or {})
        self.limits = dict(limits or {})


def _gpu(
    name: str,
    sizes: tuple[int, int, int],
    attrs: Mapping[str, type] | None = None,
    limits: tuple[str, ...] = (),
    **more: Any,
) -> Kind:
    """A kind of GPU with its warp, threads and shared memory; `limits` names those that are no attributes."""
    warp, threads, shared = sizes
    known = {"thread_warp_size": warp, "max_num_threads": threads, "max_threads_per_block": threads}
    if shared:
        known["max_shared_memory_per_block"] = shared
    defaults = {**{k: v for k, v in known.items() if k not in limits}, **more}
    return Kind((name, "gpu"), name, {**_GPU, **(attrs or {})}, defaults, {k: known[k] for k in limits})


_SIMULATOR: Final = {"seed": int, "num-cores": int, "steps": int, "checks": bool}
_BLOCK: Final = ("max_threads_per_block", "max_shared_memory_per_block")

KINDS: Final[dict[str, Kind]] = {
    "llvm": Kind(("cpu",), "cpu", _LLVM),
    "c": Kind(
        ("cpu",),
        "cpu",
        {"mcpu": str, "march": str, "constants-byte-alignment": int, "workspace-byte-alignment": int},
    ),
    "cuda": _gpu("cuda", (32, 1024, 49152), _CUDA, _BLOCK),
    "cuda-sim": _gpu("cuda", (32, 1024, 49152), {**_CUDA, **_SIMULATOR}, _BLOCK),
    "cuda_host": Kind(("cpu",), "cpu", {}),
    "nvptx": _gpu("cuda", (32, 1024, 49152), {"mcpu": str, "mtriple": str}, _BLOCK),
    "rocm": _gpu("rocm", (64, 256, 65536), {"mcpu": str, "mtriple": str, "mattr": tuple}),
    "opencl": _gpu(
        "opencl",
        (1, 256, 16384),
        _OPENCL,
        image_base_address_alignment=64,
        max_function_args=128,
        texture_depth_limit=2048,
        texture_spatial_limit=16384,
    ),
    "metal": _gpu("metal", (16, 256, 32768), max_function_args=31),
    "vulkan": _gpu("vulkan", (1, 256, 0), _VULKAN, supports_int32=True, supports_float32=True),
    "webgpu": _gpu(
        "webgpu",
        (1, 256, 32768),
        {"supports_subgroups": bool},
        ("max_threads_per_block",),
        supports_subgroups=False,
    ),
    "hexagon": Kind(
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
    "ext_dev": Kind((), "ext_dev", {}),
    "trn": Kind(
        (),
        "trn",
        {
            "num-cores": int,
            "partition_size": int,
            "max_sbuf_size_per_partition": int,
            "max_psum_size_per_partition": int,
        },
    ),
    "composite": Kind((), "cpu", {"devices": tuple}),
    "test": Kind((), "cpu", {}, {"feature.is_test": True}),
}


def list_kinds() -> tuple[str, ...]:
    """The names of all kinds."""
    return tuple(KINDS)


def spelling(name: str, known: Mapping[str, Any]) -> str | None:
    """The key that a name means, `-` and `_` being the same; None where there is none."""
    for text in (name, name.replace("_", "-"), name.replace("-", "_")):
        if text in known:
            return text
    return None


def keys_of(name: str, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a target that names none: those of its kind, before them the family that is known."""
    keys = KINDS[name].keys
    device = values.get("device", "")
    if keys == ("cpu",):
        family = {"arm_cpu": "arm_cpu", "riscv_cpu": "riscv_cpu"}.get(device) or _family(values)
        return (family, *keys) if family else keys
    return ("adreno", *keys) if device == "adreno" else keys


def _family(values: Mapping[str, Any]) -> str | None:
    arch = values.get("mtriple", "").split("-")[0]
    if arch.startswith(("arm", "aarch64")) or values.get("mcpu", "").startswith("cortex-m"):
        return "arm_cpu"
    return None


__all__ = ["KINDS", "Kind", "keys_of", "list_kinds", "spelling"]
