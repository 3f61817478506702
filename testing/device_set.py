"""Default schedules for devices on every family of kernels: compiled, run, compared.

    python -m loopwright.testing.device_set [FAMILY ...] [--targets cuda-sim,opencl,sm_80,sm_90]

Each family of `strategies/kernels.py`, in each of its types, with sizes as numbers and as symbols, gets its
default schedule.  For `sm_...` the CUDA C is compiled by NVRTC or nvcc; on `cuda-sim`, `opencl` and, where
there is a device, `cuda` it runs, and the results must be those of the plain loops as machine code (whose
back end has checks of its own against the oracle).  The exit status is 1 where something failed.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from ..ir import IRModule, PrimFunc
from ..target import Target
from .devices import on_device, tolerance
from .results import assert_same_results, sample_arguments
from .strategies.kernels import KERNELS, KINDS, kernel

SIZES = (18, 20, 40, 5)
LIMITED = {("attention", "float16")}
"""Kernels whose sums leave what a type holds."""


def family(name: str, sizes: Sequence[int]) -> dict[str, PrimFunc]:
    """The kernels of a family by a name that says type and sizes."""
    numbers: Mapping[str, int | None] = dict(zip("nmkc", sizes))
    symbols: Mapping[str, int | None] = dict.fromkeys("nmkc")
    found = {}
    for kind in KINDS:
        if (name, kind) not in LIMITED:
            for how, chosen in (("numbers", numbers), ("symbols", symbols)):
                found[f"{kind}_{how}".replace(" ", "_")] = kernel(name, chosen, kind)
    return found


def check_family(name: str, target: str, sizes: Sequence[int] = SIZES) -> list[str]:
    """What went wrong with a family on a target, a text for each kernel; nothing where all is well."""
    from ..codegen import build

    functions = family(name, sizes)
    device = Target(f"cuda -arch={target}" if target.startswith("sm_") else target)
    module = IRModule({n: f.with_attr("global_symbol", n) for n, f in functions.items()})
    built = build(module, device)
    if target.startswith("sm_"):
        built.source("ptx")
        return []
    plain = build(module, schedule=None)
    faults = []
    for n, func in functions.items():
        arguments = sample_arguments(func, sizes=dict(zip("nmkc", sizes)))
        allowed = max(tolerance(func), 1e-5 if "float32" in n or "softmax" in name else 0.0)
        try:
            assert_same_results(plain[n], on_device(built[n], device.kind), *arguments, tolerance=allowed)
        except Exception as err:
            faults.append(f"{name}, {n}, {target}: {type(err).__name__}: {err}")
    return faults


def main(arguments: Sequence[str] | None = None) -> int:
    """Check what the options say; the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("families", nargs="*", help="names or parts of names; all where none is given")
    parser.add_argument("--targets", default="cuda-sim,opencl,sm_80,sm_90")
    parser.add_argument("--sizes", nargs=4, type=int, default=SIZES)
    options = parser.parse_args(arguments)
    names = [n for n in KERNELS if not options.families or any(part in n for part in options.families)]
    failed: list[Any] = []
    for name in names:
        for target in options.targets.split(","):
            start = time.monotonic()
            try:
                faults = check_family(name, target, options.sizes)
            except Exception:
                faults = [f"{name}, {target}: {traceback.format_exc()}"]
            failed += faults
            told = "right" if not faults else f"{len(faults)} FAULTS"
            print(f"{name:34}{target:10}{told:10}{time.monotonic() - start:6.1f} s", flush=True)
            for fault in faults:
                print(fault[:3000], flush=True)
    print(f"{len(names)} families, {len(failed)} faults")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
