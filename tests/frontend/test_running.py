"""Compiled models: their methods, states and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopwright.errors import DTypeError, IRError, LoopwrightError
from loopwright.frontend import nn
from loopwright.frontend.nn import op, spec
from loopwright.runtime import register_func


class Stateful(nn.Module):
    def __init__(self) -> None:
        self.scale = nn.Parameter((4,))
        self.cache = nn.KVCache(1, [4])

    def step(self, x: nn.Tensor, count: Any) -> nn.Tensor:
        self.cache.append(x * self.scale)
        return self.cache.view(count)

    def peek(self, count: Any) -> nn.Tensor:
        return op.sum(self.cache.view(count), axis=0)


SPEC = {"step": {"x": spec.Tensor(["n", 4], "float32"), "count": int}, "peek": {"count": int}}


def test_methods_share_weights_and_state() -> None:
    model = Stateful()
    model.scale.data = np.arange(4, dtype=np.float32)
    run = model.jit(SPEC)
    rows = [np.random.default_rng(i).random((1 + i % 2, 4)).astype("float32") for i in range(5)]
    kept = np.zeros((0, 4), np.float32)
    first = None
    for row in rows:
        kept = np.concatenate([kept, row * model.scale.data])
        found = run.step(row, len(kept))
        first = found if first is None else first
        assert np.allclose(found, kept) and np.allclose(run["peek"](len(kept)), kept.sum(0), atol=1e-5)
    assert first is not None and np.allclose(first, kept[:1])  # what was given out stays
    with pytest.raises(LoopwrightError, match="has no view of shape"):
        run.step(rows[0], 99)
    with pytest.raises(DTypeError, match="there is no method `stop`"):
        run["stop"]
    with pytest.raises(AttributeError, match="there is no method 'stop'"):
        run.stop
    other = model.jit(SPEC, out_format="tensor")
    assert not isinstance(other.step(rows[0], 1), np.ndarray)


def test_values_are_shown_on_the_way(capsys: Any) -> None:
    seen: list[Any] = []

    @register_func("testing.nn.show", override=True)
    def show(place: str, x: Any, *rest: Any) -> None:
        seen.append((place, x.numpy().tolist(), *rest))

    class Shown(nn.Module):
        def forward(self, x: nn.Tensor, n: Any) -> nn.Tensor:
            y = x + 1.0
            op.debug_func("testing.nn.show", y, 1, 2.5, "text", n)
            op.print_(y)
            return y * 2.0

    table = {"forward": {"x": spec.Tensor([2], "float32"), "n": int}}
    run = Shown().jit(table, debug=True)
    assert run(np.zeros(2, np.float32), 7).tolist() == [2, 2]
    (place, *values), *_ = seen
    assert values == [[1.0, 1.0], 1, 2.5, "text", 7] and "test_running.py:" in place
    assert "[1. 1.]" in capsys.readouterr().out
    with pytest.raises(LoopwrightError, match="without `debug`"):
        Shown().export_tvm(table)


def test_what_a_model_must_have() -> None:
    with pytest.raises(IRError, match="`scale` holds no data"):
        Stateful().jit(SPEC)
    with pytest.raises(DTypeError, match="there is no format 'nunpy'"):
        Stateful().jit(SPEC, out_format="nunpy")
    packed = {"peek": {"count": int, "$": {"param_mode": "packed"}}}
    with pytest.raises(DTypeError, match="compiled with plain parameters"):
        Stateful().jit(packed)
    half = Stateful()
    half.scale.to("float16")
    with pytest.raises(DTypeError, match="a cache of `float32` cannot take a `float16`"):
        half.export_tvm({"step": {"x": spec.Tensor([1, 4], "float16"), "count": int}})


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("create", (np.zeros((2, 3)), (2, 4), 0), "cannot begin as"),
        ("create", (np.zeros((2, 3)), (2, 3), 3), "cannot begin as"),
        ("append", (np.zeros(3), np.zeros(3)), "is no cache"),
        ("view", (None, (1,)), "is no cache"),
    ],
)
def test_caches_refuse(name: str, args: Any, message: str) -> None:
    from loopwright.runtime import get_global_func

    with pytest.raises(LoopwrightError, match=message):
        get_global_func(f"vm.builtin.attention_kv_cache_{name}")(*args)
