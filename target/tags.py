"""Names of known machines: the description that each stands for."""

from __future__ import annotations

import functools
from typing import Any, Final

# Chips by their architecture and the registers of a block; each name follows `nvidia/`.
_CHIPS: Final = """
sm_20 32768: geforce-gtx-465 geforce-gtx-470 geforce-gtx-480 geforce-gtx-480m geforce-gtx-570
  geforce-gtx-580 geforce-gtx-590 quadro-plex-7000 tesla-c2050 tesla-c2070 tesla-c2075
sm_21 32768: geforce-410m geforce-610m geforce-705m geforce-710m geforce-800m geforce-820m geforce-gt-415m
  geforce-gt-420m geforce-gt-430 geforce-gt-435m geforce-gt-440 geforce-gt-445m geforce-gt-520
  geforce-gt-520m geforce-gt-520mx geforce-gt-525m geforce-gt-540m geforce-gt-550m geforce-gt-555m
  geforce-gt-610 geforce-gt-620 geforce-gt-620m geforce-gt-625m geforce-gt-630 geforce-gt-630m
  geforce-gt-635m geforce-gt-640-gddr3 geforce-gt-720m geforce-gt-730-ddr3,128bit geforce-gts-450
  geforce-gtx-460 geforce-gtx-460m geforce-gtx-470m geforce-gtx-485m geforce-gtx-550-ti geforce-gtx-560-ti
  geforce-gtx-560m geforce-gtx-570m geforce-gtx-580m geforce-gtx-670m geforce-gtx-675m nvidia-nvs-310
  nvidia-nvs-315 nvs-4200m nvs-5200m nvs-5400m
sm_30 65536: geforce-gt-640m geforce-gt-640m-le geforce-gt-645m geforce-gt-650m geforce-gt-730m
  geforce-gt-735m geforce-gt-740 geforce-gt-740m geforce-gt-745m geforce-gt-750m geforce-gt-755m
  geforce-gtx-650 geforce-gtx-650-ti geforce-gtx-650-ti-boost geforce-gtx-660 geforce-gtx-660-ti
  geforce-gtx-660m geforce-gtx-670 geforce-gtx-670mx geforce-gtx-675mx geforce-gtx-680 geforce-gtx-680m
  geforce-gtx-680mx geforce-gtx-690 geforce-gtx-760 geforce-gtx-760m geforce-gtx-765m geforce-gtx-770
  geforce-gtx-770m geforce-gtx-780m geforce-gtx-860m-sm-30 geforce-gtx-870m geforce-gtx-880m nvidia-nvs-510
  quadro-410 quadro-k1100m quadro-k2000 quadro-k2000d quadro-k2100m quadro-k2200m quadro-k3100m quadro-k4000
  quadro-k4100m quadro-k420 quadro-k4200 quadro-k4200m quadro-k5000 quadro-k500m quadro-k5100m quadro-k5200m
  quadro-k600 quadro-k6000m tesla-k10
sm_35 65536: geforce-920m geforce-gt-640-gddr5 geforce-gt-705 geforce-gt-720 geforce-gt-730 geforce-gtx-780
  geforce-gtx-780-ti geforce-gtx-titan geforce-gtx-titan-black geforce-gtx-titan-z quadro-k510m quadro-k5200
  quadro-k6000 quadro-k610m tesla-k20 tesla-k40
sm_37 65536: tesla-k80
sm_50 65536: geforce-830m geforce-840m geforce-930m geforce-940m geforce-gtx-750 geforce-gtx-750-ti
  geforce-gtx-850m geforce-gtx-860m-sm-50 geforce-gtx-950m geforce-gtx-960m nvidia-nvs-810 quadro-k1200
  quadro-k2200 quadro-k620 quadro-k620m quadro-m1000m quadro-m1200 quadro-m2000m quadro-m3000m quadro-m4000m
  quadro-m5000m quadro-m500m quadro-m520 quadro-m600m
sm_52 65536: geforce-910m geforce-gtx-950 geforce-gtx-960 geforce-gtx-965m geforce-gtx-970 geforce-gtx-970m
  geforce-gtx-980 geforce-gtx-980-ti geforce-gtx-980m geforce-gtx-titan-x quadro-m2000 quadro-m2200
  quadro-m4000 quadro-m5000 quadro-m5500m quadro-m6000 quadro-m6000-24gb quadro-m620 tesla-m40 tesla-m60
sm_53 32768: jetson-nano jetson-tx1 tegra-x1
sm_60 65536: quadro-gp100 tesla-p100
sm_61 65536: geforce-gtx-1050 geforce-gtx-1060 geforce-gtx-1070 geforce-gtx-1070-ti geforce-gtx-1080
  geforce-gtx-1080-ti nvidia-titan-x nvidia-titan-xp p520 p620 quadro-p1000 quadro-p2000 quadro-p2200
  quadro-p3000 quadro-p3200 quadro-p400 quadro-p4000 quadro-p4200 quadro-p500 quadro-p5000 quadro-p5200
  quadro-p600 quadro-p6000 quadro-p620 tesla-p4 tesla-p40
sm_62 32768: jetson-tx2
sm_70 65536: nvidia-titan-v nvidia-v100 quadro-gv100
sm_75 65536: geforce-rtx-2060 geforce-rtx-2070 geforce-rtx-2080 geforce-rtx-2080-ti nvidia-t4
  nvidia-titan-rtx quadro-rtx-4000 quadro-rtx-5000 quadro-rtx-6000 quadro-rtx-8000 rtx-3000 rtx-4000
  rtx-5000 t1000 t2000
sm_80 65536: nvidia-a100 nvidia-a30
sm_86 65536: geforce-rtx-3060 geforce-rtx-3070 geforce-rtx-3070-ti geforce-rtx-3080 geforce-rtx-3080-ti
  geforce-rtx-3090 geforce-rtx-3090-ti nvidia-a10 nvidia-a10g nvidia-a16 nvidia-a2 nvidia-a40 rtx-a6000
sm_89 65536: geforce-rtx-4090
sm_90a 65536: h100 h200 nvidia-h100 nvidia-h200
sm_100a 65536: nvidia-b100
sm_120 65536: geforce-rtx-5060-ti
"""
_L2_MB: Final = {
    "geforce-rtx-4090": 72,
    "geforce-rtx-5060-ti": 32,
    "nvidia-a100": 40,
    "nvidia-b100": 50,
    "h100": 50,
    "h200": 50,
    "nvidia-h100": 50,
    "nvidia-h200": 50,
}
# Boards: the architecture of the chip, the processor and its cores.
_BOARDS: Final = {
    "jetson-agx-xavier": ("sm_72", "carmel", 8),
    "jetson-orin-nano": ("sm_87", "carmel", 6),
    "jetson-agx-orin-32gb": ("sm_87", "cortex-a78", 8),
    "jetson-agx-orin-64gb": ("sm_87", "cortex-a78", 12),
    "jetson-agx-thor": ("sm_110a", "neoverse-v3ae", 14),
}
# Under `arm/`: the model, the triple, the processor, features beside `+neon`.
_ARM: Final[dict[str, tuple[str, str, str, tuple[str, ...]]]] = {
    "pixel2": ("snapdragon835", "arm64-linux-android", "", ()),
    "mate10": ("kirin970", "arm64-linux-android", "", ()),
    "rasp3b": ("bcm2837", "armv7l-linux-gnueabihf", "", ()),
    "rasp4b": ("bcm2711", "armv8l-linux-gnueabihf", "cortex-a72", ()),
    "rasp4b64": ("bcm2711", "aarch64-linux-gnu", "cortex-a72", ()),
    "rk3399": ("rk3399", "aarch64-linux-gnu", "", ()),
    "pynq": ("pynq", "armv7a-linux-eabi", "", ()),
    "ultra96": ("ultra96", "aarch64-linux-gnu", "", ()),
    "beagleai": ("beagleai", "armv7a-linux-gnueabihf", "cortex-a15", ("+vfp4", "+thumb2")),
    "stm32mp1": ("stm32mp1", "armv7a-linux-gnueabihf", "cortex-a7", ("+vfp4", "+thumb2")),
    "thunderx": ("thunderx", "aarch64-linux-gnu", "thunderxt88", ("+crc", "+lse")),
}
_CLOUD: Final = {
    "large": ("skylake-avx512", 1),
    "xlarge": ("skylake-avx512", 2),
    "2xlarge": ("skylake-avx512", 4),
    "4xlarge": ("skylake-avx512", 8),
    "9xlarge": ("skylake-avx512", 18),
    "12xlarge": ("cascadelake", 24),
    "18xlarge": ("skylake-avx512", 36),
    "24xlarge": ("cascadelake", 48),
}
_ADRENO: Final = {
    "adreno-opencl": ("opencl", ()),
    "adreno-opencl-clml": ("opencl", ("clml",)),
    "adreno-opencl-texture": ("opencl", ("texture",)),
    "adreno-vulkan": ("vulkan", ()),
    "adreno-vulkan-texture": ("vulkan", ("texture",)),
}
# Under `riscv/`: what differs between the descriptions.
_RISCV: Final[dict[str, dict[str, Any]]] = {
    "sifive-e31": {"model": "sifive-e31", "mcpu": "sifive-e31", "mabi": "ilp32"},
    "sifive-e76": {"model": "sifive-e76", "mcpu": "sifive-e76", "mabi": "ilp32"},
    "sifive-u54": {"model": "sifive-u54", "mcpu": "sifive-u54", "mabi": "lp64d"},
    "sifive-u74": {"model": "sifive-u74", "mcpu": "sifive-u74", "mabi": "lp64d"},
    "licheepi3a": {"mcpu": "spacemit-x60", "mabi": "lp64d", "mfloat-abi": "hard", "num-cores": 8},
    "spacemit-k3": {"mcpu": "spacemit-x100", "mabi": "lp64d", "mfloat-abi": "hard", "num-cores": 8},
}


def _cuda(arch: str, registers: int, l2: int = 0, shared: int = 49152) -> dict[str, Any]:
    """A chip with CUDA; `l2` in MiB where it is known."""
    known = {"l2_cache_size_bytes": l2 << 20} if l2 else {}
    limits = {"max_shared_memory_per_block": shared, "max_threads_per_block": 1024}
    return {"kind": "cuda", "arch": arch, "registers_per_block": registers, **known, **limits}


def _arm(mcpu: str, cores: int = 0, triple: str = "aarch64-linux-gnu") -> dict[str, Any]:
    count = {"num-cores": cores} if cores else {}
    return {"kind": "llvm", "keys": ("arm_cpu", "cpu"), "mtriple": triple, "mcpu": mcpu, **count}


def _nvidia() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    arch, registers = "", 0
    for word in _CHIPS.split():
        if word.startswith("sm_"):
            arch = word
        elif word.endswith(":"):
            registers = int(word[:-1])
        else:
            found[f"nvidia/{word}"] = _cuda(arch, registers, _L2_MB.get(word, 0))
    for name, (arch, mcpu, cores) in _BOARDS.items():
        l2, shared = (32, 232448) if name == "jetson-agx-thor" else (0, 49152)
        found[f"nvidia/{name}"] = {**_cuda(arch, 65536, l2, shared), "host": _arm(mcpu, cores)}
    return found


def _qualcomm() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, (kind, more) in _ADRENO.items():
        keys = ("adreno", kind, "gpu", *more)
        found[f"qcom/{name}"] = {"kind": kind, "device": "adreno", "keys": keys}
    for version, megabytes in ((65, 0.25), (66, 0.25), (68, 4), (69, 8), (73, 8), (75, 8)):
        found[f"qcom/hexagon-v{version}"] = {
            "kind": "hexagon",
            "mtriple": "hexagon",
            "mcpu": f"hexagonv{version}",
            "mattr": (
                *(f"+hvxv{version}", "+hvx-length128b"),
                *(("+hvx-qfloat", "-hvx-ieee-fp") if version >= 68 else ()),
            ),
            "num-cores": 4,
            "vtcm-capacity": int(megabytes * (1 << 20)),
            **({"llvm-options": ("-force-hvx-float",)} if version == 68 else {}),
        }
    return found


def _apple() -> dict[str, dict[str, Any]]:
    def gpu(cpu: str, threads: int) -> dict[str, Any]:
        limits = {"max_threads_per_block": threads, "max_shared_memory_per_block": 32768}
        host = _arm(cpu, triple="arm64-apple-macos")
        return {"kind": "metal", "thread_warp_size": 32, **limits, "host": host}

    return {
        "apple/m1-gpu": gpu("apple-m1", 1024),
        "apple/m1-gpu-restricted": gpu("apple-m1", 256),
        "apple/m2-gpu": gpu("apple-m2", 1024),
    }


@functools.cache
def tags() -> dict[str, dict[str, Any]]:
    """The table of tags, to which `register_tag` adds."""
    found = {**_nvidia(), **_qualcomm(), **_apple()}
    for name, (mcpu, cores) in _CLOUD.items():
        keys = ("x86", "cpu")
        found[f"aws/cpu/c5.{name}"] = {"kind": "llvm", "keys": keys, "mcpu": mcpu, "num-cores": cores}
    for name, cores in (("2xlarge", 2), ("32xlarge", 32)):
        found[f"aws/trn1/trn1.{name}"] = {
            "kind": "trn",
            "num-cores": cores,
            "partition_size": 128,
            "max_sbuf_size_per_partition": 196608,
            "max_psum_size_per_partition": 16384,
        }
    for name, (model, triple, mcpu, more) in _ARM.items():
        row = {"kind": "llvm", "device": "arm_cpu", "model": model, "mtriple": triple}
        found[f"arm/{name}"] = {**row, **({"mcpu": mcpu} if mcpu else {}), "mattr": ("+neon", *more)}
    for name, row in _RISCV.items():
        triple = f"riscv{32 if row['mabi'] == 'ilp32' else 64}-unknown-linux-gnu"
        found[f"riscv/{name}"] = {"kind": "llvm", "device": "riscv_cpu", "mtriple": triple, **row}
    board = {**_arm("cortex-a72", 4), "mattr": ("+neon",)}
    found["raspberry-pi/4b-aarch64"] = {**board, "host": board}
    return found


__all__ = ["tags"]
