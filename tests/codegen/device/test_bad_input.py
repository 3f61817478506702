"""What cannot be built or run for a device: each is a named error at the script's place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright
from loopwright import Target
from loopwright.errors import LoopwrightError
from loopwright.script import tirx as T


@T.prim_func
def plain(a: T.Buffer((8,), "float32")):
    for i in T.thread_binding(8, thread="threadIdx.x"):
        a[i] = 1.0


@T.prim_func
def large_block(a: T.Buffer((4096,), "float32")):
    for i in T.thread_binding(4096, thread="threadIdx.x"):
        a[i] = 1.0


@T.prim_func
def much_memory(a: T.Buffer((64,), "float32")):
    for i in T.thread_binding(64, thread="threadIdx.x"):
        with T.sblock("all"):
            T.reads(a[0:64])
            T.writes(a[0:64])
            s = T.alloc_buffer((1 << 20,), "float32", scope="shared")
            s[i] = a[i]
            s[i + 500000] = a[i]
            T.tvm_storage_sync("shared")
            a[i] = s[63 - i] + s[500063 - i]


@T.prim_func
def two_extents(a: T.Buffer((64,), "float32")):
    for b in T.thread_binding(2, thread="blockIdx.x"):
        for i in T.thread_binding(32, thread="threadIdx.x"):
            a[i] = 1.0
        for j in T.thread_binding(16, thread="threadIdx.x"):
            a[b * 16 + j] = 2.0


@T.prim_func
def on_the_host(a: T.Buffer((64,), "float32")):
    a[0] = 1.0
    for i in T.thread_binding(64, thread="threadIdx.x"):
        a[i] = 1.0


@T.prim_func
def small_elements(a: T.Buffer((64,), "int4")):
    for i in T.thread_binding(64, thread="threadIdx.x"):
        a[i] = T.int4(1)


@T.prim_func
def with_offset(data: T.handle):
    a = T.match_buffer(data, (64,), "float32", elem_offset=4)
    for i in T.thread_binding(64, thread="threadIdx.x"):
        a[i] = 1.0


@T.prim_func
def gives(a: T.Buffer((8,), "float32")) -> T.int32:
    for i in T.thread_binding(8, thread="threadIdx.x"):
        a[i] = 1.0
    return T.int32(1)


BAD: list[tuple[Any, str, dict[str, Any], str, str]] = [
    (large_block, "cuda", {}, "device-limit", "4096"),
    (large_block, "opencl", {}, "device-limit", "4096"),
    (much_memory, "cuda", {}, "device-limit", "shared"),
    (two_extents, "cuda", {}, "thread-extent", "threadIdx.x"),
    (on_the_host, "cuda", {}, "host-access", "`a`"),
    (small_elements, "opencl", {}, "unsupported-dtype", "`int4`"),
    (with_offset, "cuda", {}, "unsupported-parameter", "an offset"),
    (gives, "opencl", {}, "unsupported-codegen", "returning a value"),
    (plain, "llvm", {}, "thread-on-cpu", "threadIdx.x"),
    (plain, "metal", {}, "unsupported-target", "`metal`"),
    (plain, "vulkan", {}, "unsupported-target", "`vulkan`"),
    (plain, "webgpu", {}, "unsupported-target", "`webgpu`"),
    (plain, "cuda", {"checked": True}, "unsupported-option", "`checked`"),
    (plain, "cuda-sim", {"num_threads": 2}, "unsupported-option", "`num_threads`"),
    (plain, "opencl", {"params": {}}, "unknown-option", "`params`"),
    (plain, "opencl", {"schedule": "other"}, "option-value", "`schedule`"),
]


@pytest.mark.parametrize("case", BAD, ids=lambda c: f"{c[0].attrs['global_symbol']} {c[1]} {c[3]}")
def test_building_it_is_an_error(case: Any) -> None:
    func, target, options, code, text = case
    with pytest.raises(LoopwrightError, match=text) as caught:
        loopwright.build(func, target, **options)
    assert caught.value.code == code
    if not options and "target" not in code:
        place = caught.value.diagnostics[0].span
        assert place is not None and place.file.endswith("test_bad_input.py")


@pytest.mark.parametrize(
    "text", ["llvm -arch=sm_80", "llvm -max_threads_per_block=3", "opencl -arch=sm_80", "cuda -seed=3"]
)
def test_options_of_another_kind_of_target(text: str) -> None:
    with pytest.raises(LoopwrightError, match="has no attribute") as caught:
        Target(text)
    assert caught.value.code == "unknown-attribute"


@pytest.mark.slow
def test_no_driver() -> None:
    """Building needs no device; calling does."""
    from loopwright.runtime import Device

    if Device("cuda").exist:
        pytest.skip("there is a CUDA device")
    with pytest.raises(ImportError) as caught:
        loopwright.build(plain, "cuda")["plain"](np.zeros(8, "float32"))
    assert caught.value.code in ("missing-driver", "missing-dependency")  # type: ignore[attr-defined]
    assert "help" in str(caught.value)
