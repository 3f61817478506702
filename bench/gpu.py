"""Kernels on a GPU: checked, then timed against CuPy (cuBLAS) and torch and the device's measured limits.

    python bench/gpu.py [NAME ...] [--seconds 400] [--json FILE]     everything on the device, within the time
    python bench/gpu.py --compile-only [--arch sm_90]                without a device: compile, show resources

With a device it first runs generated kernels against the oracle, then each workload: our result against
CuPy's, and the least of several times by CUDA events.  A ratio is the peer's time over ours, so more is better;
`of limit` is what memory traffic there must be by the measured bandwidth of a copy, or for products cuBLAS's rate.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import loopwright
from loopwright.runtime import device
from loopwright.target import Target


class Workload(NamedTuple):
    """A program, its inputs by shape and dtype with the result last, what CuPy and torch call for it, and goals.

    `moved` are the bytes that must be read and written, `flops` the operations of a product.
    """

    name: str
    text: str
    arrays: tuple[tuple[tuple[int, ...], str], ...]
    cupy: str
    torch: str
    moved: int = 0
    flops: int = 0
    goal: float = 1.0
    tolerance: float = 1e-4
    tf32: bool = False


PRODUCT = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {n}), "{a}"), B: T.Buffer(({n}, {n}), "{a}"), D: T.Buffer(({n}, {n}), "{a}")):
    C = T.sblock_alloc_buffer(({n}, {n}), "float32")
    for i, j, k in T.grid({n}, {n}, {n}):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])
    for i, j in T.grid({n}, {n}):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.Cast("{a}", C[vi, vj])
"""
GEMV = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {k}), "float16"), B: T.Buffer(({k},), "float16"), D: T.Buffer(({n},), "float16")):
    C = T.sblock_alloc_buffer(({n},), "float32")
    for i, k in T.grid({n}, {k}):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk])
    for i in range({n}):
        with T.sblock("D"):
            vi = T.axis.spatial({n}, i)
            D[vi] = T.Cast("float16", C[vi])
"""
SOFTMAX = """
@T.prim_func(s_tir=True)
def main(X: T.Buffer(({n}, {k}), "float32"), Y: T.Buffer(({n}, {k}), "float32")):
    M = T.sblock_alloc_buffer(({n},), "float32")
    E = T.sblock_alloc_buffer(({n}, {k}), "float32")
    S = T.sblock_alloc_buffer(({n},), "float32")
    for i, k in T.grid({n}, {k}):
        with T.sblock("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.min_value("float32")
            M[vi] = T.max(M[vi], X[vi, vk])
    for i, k in T.grid({n}, {k}):
        with T.sblock("E"):
            vi, vk = T.axis.remap("SS", [i, k])
            E[vi, vk] = T.exp(X[vi, vk] - M[vi])
    for i, k in T.grid({n}, {k}):
        with T.sblock("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + E[vi, vk]
    for i, k in T.grid({n}, {k}):
        with T.sblock("Y"):
            vi, vk = T.axis.remap("SS", [i, k])
            Y[vi, vk] = E[vi, vk] / S[vi]
"""
RMS_NORM = """
@T.prim_func(s_tir=True)
def main(X: T.Buffer(({n}, {k}), "float16"), W: T.Buffer(({k},), "float16"), Y: T.Buffer(({n}, {k}), "float16")):
    S = T.sblock_alloc_buffer(({n},), "float32")
    for i, k in T.grid({n}, {k}):
        with T.sblock("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + T.Cast("float32", X[vi, vk]) * T.Cast("float32", X[vi, vk])
    for i, k in T.grid({n}, {k}):
        with T.sblock("Y"):
            vi, vk = T.axis.remap("SS", [i, k])
            Y[vi, vk] = T.Cast(
                "float16",
                T.Cast("float32", X[vi, vk])
                * T.rsqrt(S[vi] / T.float32({k}) + T.float32(1e-5))
                * T.Cast("float32", W[vk]),
            )
"""
TRANSPOSE = """
@T.prim_func(s_tir=True)
def main(X: T.Buffer(({n}, {k}), "float32"), Y: T.Buffer(({k}, {n}), "float32")):
    for i, j in T.grid({k}, {n}):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = X[vj, vi]
"""
REDUCTION = """
@T.prim_func(s_tir=True)
def main(X: T.Buffer(({n}, {k}), "float32"), Y: T.Buffer(({n},), "float32")):
    for i, k in T.grid({n}, {k}):
        with T.sblock("Y"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = Y[vi] + X[vi, vk]
"""
CHAIN = """
@T.prim_func(s_tir=True)
def main(X: T.Buffer(({n},), "float32"), B: T.Buffer(({n},), "float32"), Y: T.Buffer(({n},), "float32")):
    C = T.sblock_alloc_buffer(({n},), "float32")
    D = T.sblock_alloc_buffer(({n},), "float32")
    for i in range({n}):
        with T.sblock("C"):
            vi = T.axis.spatial({n}, i)
            C[vi] = X[vi] * T.float32(1.5) + B[vi]
    for i in range({n}):
        with T.sblock("D"):
            vi = T.axis.spatial({n}, i)
            D[vi] = T.max(C[vi], T.float32(0))
    for i in range({n}):
        with T.sblock("Y"):
            vi = T.axis.spatial({n}, i)
            Y[vi] = D[vi] * D[vi] + X[vi]
"""


def product(n: int, dtype: str, *, tf32: bool = False) -> Workload:
    """A product of square matrices."""
    square = ((n, n), dtype)
    return Workload(
        f"matmul {'tf32' if tf32 else dtype} {n}",
        PRODUCT.format(n=n, a=dtype),
        (square,) * 3,
        cupy="cp.matmul(a[0], a[1], out=a[2])",
        torch="torch.matmul(t[0], t[1], out=t[2])",
        flops=2 * n**3,
        goal=0.85 if dtype == "float32" and not tf32 else 0.6,
        tolerance=5e-3 if tf32 or dtype == "float16" else 1e-4,
        tf32=tf32,
    )


def workloads() -> list[Workload]:
    """All kernels, the quick ones first."""
    n, k = 8192, 16384
    size = 1 << 27
    f4, f2 = 4, 2
    return [
        Workload(
            "gemv float16",
            GEMV.format(n=n, k=k),
            (((n, k), "float16"), ((k,), "float16"), ((n,), "float16")),
            cupy="cp.matmul(a[0], a[1], out=a[2])",
            torch="torch.mv(t[0], t[1], out=t[2])",
            moved=n * k * f2,
            tolerance=5e-3,
        ),
        Workload(
            "softmax float32",
            SOFTMAX.format(n=n, k=n),
            (((n, n), "float32"),) * 2,
            cupy="e = cp.exp(a[0] - a[0].max(1, keepdims=True)); a[1][...] = e / e.sum(1, keepdims=True)",
            torch="torch.softmax(t[0], 1, out=t[1])",
            moved=2 * n * n * f4,
        ),
        Workload(
            "RMS norm float16",
            RMS_NORM.format(n=n, k=n),
            (((n, n), "float16"), ((n,), "float16"), ((n, n), "float16")),
            cupy="x = a[0].astype('f4'); a[2][...] = x / cp.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * a[1]",
            torch="t[2].copy_(torch.nn.functional.rms_norm(t[0], (t[0].shape[1],), t[1], 1e-5))",
            moved=2 * n * n * f2,
            tolerance=5e-3,
        ),
        Workload(
            "transpose float32",
            TRANSPOSE.format(n=n, k=k),
            (((n, k), "float32"), ((k, n), "float32")),
            cupy="a[1][...] = a[0].T",
            torch="t[1].copy_(t[0].T)",
            moved=2 * n * k * f4,
        ),
        Workload(
            "sum of rows float32",
            REDUCTION.format(n=n, k=k),
            (((n, k), "float32"), ((n,), "float32")),
            cupy="a[0].sum(1, out=a[1])",
            torch="torch.sum(t[0], 1, out=t[1])",
            moved=n * k * f4,
        ),
        Workload(
            "elementwise chain float32",
            CHAIN.format(n=size),
            (((size,), "float32"),) * 3,
            cupy="d = cp.maximum(a[0] * 1.5 + a[1], 0); a[2][...] = d * d + a[0]",
            torch="d = torch.relu(t[0] * 1.5 + t[1]); t[2].copy_(d * d + t[0])",
            moved=3 * size * f4,
        ),
        *[product(m, "float16") for m in (4096, 8192)],
        *[product(m, "float32") for m in (4096, 8192)],
        *[product(m, "float32", tf32=True) for m in (4096, 8192)],
    ]


def build(w: Workload, arch: str) -> Any:
    """Our module with default schedules."""
    target: dict[str, Any] = {"kind": "cuda", "arch": arch}
    if w.tf32:
        target["tf32"] = True
    return loopwright.build(loopwright.parse(w.text), Target(target))


def milliseconds(run: Callable[[], object], budget: float = 0.4) -> float:
    """The least time of a call on the device, warm, of as many as the budget of seconds allows (at most 50)."""
    import cupy as cp

    run()
    cp.cuda.runtime.deviceSynchronize()
    least, spent, count = float("inf"), 0.0, 0
    while spent < budget * 1e3 and count < 50:
        start, end = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        run()
        end.record()
        end.synchronize()
        taken = cp.cuda.get_elapsed_time(start, end)
        least, spent, count = min(least, taken), spent + taken, count + 1
    return least


def code(text: str, names: dict[str, Any]) -> Callable[[], None]:
    """A peer's call as a function."""
    compiled = compile(text, "<peer>", "exec")
    return lambda: exec(compiled, dict(names))


def measure(w: Workload, arch: str, copy_rate: float) -> dict[str, Any]:
    """One row: times, ratios, and how far our result is from CuPy's."""
    import cupy as cp

    rng = cp.random.default_rng(7)
    arrays = [(rng.random(shape, dtype="float32") - 0.5).astype(dtype) for shape, dtype in w.arrays]
    start = time.perf_counter()
    function = build(w, arch)["main"]
    row: dict[str, Any] = {"name": w.name, "build_s": time.perf_counter() - start}
    function(*arrays)
    ours = arrays[-1].astype("float32")
    peers = {"cupy": code(w.cupy, {"cp": cp, "a": arrays})}
    try:
        import torch

        torch.backends.cuda.matmul.allow_tf32 = w.tf32
        tensors = [torch.from_dlpack(a) for a in arrays]
        peers["torch"] = code(w.torch, {"torch": torch, "t": tensors})
    except ImportError:
        pass
    peers["cupy"]()
    wanted = arrays[-1].astype("float32")
    row["error"] = float(cp.abs(ours - wanted).max() / cp.abs(wanted).max())
    row["ok"] = row["error"] <= w.tolerance
    row["ours_ms"] = milliseconds(lambda: function(*arrays))
    for name, peer in peers.items():
        row[f"{name}_ms"] = milliseconds(peer)
        row[f"{name}/ours"] = row[f"{name}_ms"] / row["ours_ms"]
    if w.moved:
        row["of_limit"] = w.moved / copy_rate / (row["ours_ms"] / 1e3)
        row["met"] = row["of_limit"] >= 0.9 and row.get("torch/ours", 1.0) >= 1.0
    else:
        row["tflops"] = w.flops / row["ours_ms"] / 1e9
        best = min(v for k, v in row.items() if k in ("cupy_ms", "torch_ms"))
        row["of_limit"] = best / row["ours_ms"]
        row["met"] = row["of_limit"] >= w.goal
    return row


def copy_bandwidth() -> float:
    """Bytes read and written a second by a copy of a gibibyte."""
    import cupy as cp

    a = cp.zeros(1 << 30, "uint8")
    b = cp.empty_like(a)
    return 2 * a.nbytes / (milliseconds(lambda: cp.copyto(b, a)) / 1e3)


def check_generated(count: int, seconds: float) -> int:
    """Run generated kernels on the device against the oracle; how many."""
    from hypothesis import HealthCheck, given, seed, settings

    from loopwright.testing.devices import assert_devices_agree
    from loopwright.testing.strategies.device import device_kernels

    end, done = time.monotonic() + seconds, 0

    @seed(1)
    @settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(device_kernels())
    def run(kernel: Any) -> None:
        nonlocal done
        if time.monotonic() < end:
            assert_devices_agree([kernel], ["cuda"])
            done += 1

    run()
    return done


def on_device(names: list[str], seconds: float) -> list[dict[str, Any]]:
    """Check and measure on the device this machine has, within the time."""
    import cupy as cp

    start = time.monotonic()
    properties = cp.cuda.runtime.getDeviceProperties(0)
    arch = f"sm_{properties['major']}{properties['minor']}"
    rate = copy_bandwidth()
    print(f"{properties['name'].decode()}, {arch}, copy {rate / 1e12:.2f} TB/s", flush=True)
    rows = []
    for w in workloads():
        if (names and not any(n in w.name for n in names)) or time.monotonic() - start > seconds * 0.8:
            continue
        try:
            rows.append(measure(w, arch, rate))
        except Exception as err:  # one kernel that fails must not cost the others their turn on the device
            rows.append({"name": w.name, "ok": False, "fault": f"{type(err).__name__}: {err}"})
        print(json.dumps(rows[-1]), flush=True)
    left = seconds - (time.monotonic() - start)
    print(f"{check_generated(200, left * 0.8)} generated kernels agree with the oracle", flush=True)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as text."""
    lines = [f"{'kernel':28}{'ours ms':>9}{'cupy/ours':>11}{'torch/ours':>11}{'of limit':>9}  result"]
    for r in rows:
        numbers = [
            f"{r.get(k, float('nan')):.3f}" for k in ("ours_ms", "cupy/ours", "torch/ours", "of_limit")
        ]
        told = r.get("fault") or ("right" if r["ok"] else f"off by {r['error']:.1e}")
        met = "" if "met" not in r else ", goal met" if r["met"] else ", goal missed"
        lines.append(
            f"{r['name']:28}{numbers[0]:>9}{numbers[1]:>11}{numbers[2]:>11}{numbers[3]:>9}  {told}{met}"
        )
    return "\n".join(lines)


def main() -> None:
    """Run what the options say."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=400)
    parser.add_argument("--json")
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("--arch", default="sm_90")
    options = parser.parse_args()
    if options.compile_only:
        for w in workloads():
            if options.names and not any(n in w.name for n in options.names):
                continue
            start = time.perf_counter()
            module = build(w, options.arch)
            size = len(module.source("ptx").splitlines())
            print(
                f"{w.name:28} built in {time.perf_counter() - start:.2f} s, {size} lines of PTX", flush=True
            )
        return
    if not device("cuda").exist:
        sys.exit("no CUDA device: use --compile-only, or a machine with one")
    rows = on_device(options.names, options.seconds)
    print(table(rows))
    if options.json:
        with open(options.json, "w", encoding="utf8") as file:
            file.writelines(json.dumps(r) + "\n" for r in rows)
    sys.exit(0 if all(r["ok"] for r in rows) else 1)


if __name__ == "__main__":
    main()
