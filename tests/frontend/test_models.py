"""The models of the benchmarks: against plain numpy, and compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import loopwright
from loopwright.runtime.vm import VirtualMachine
from loopwright.testing.graphs import evaluate
from loopwright.testing.models import benchmark_models, small_models

Weights = dict[str, Any]


def gelu(x: Any) -> Any:
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def linear(w: Weights, name: str, x: Any) -> Any:
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def norm(w: Weights, name: str, x: Any) -> Any:
    y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return y * w[f"{name}.weight"] + w[f"{name}.bias"]


def mlp(w: Weights, x: Any) -> Any:
    for name in ("0", "2"):
        x = np.maximum(linear(w, name, x), 0)
    return linear(w, "4", x)


def heads(x: Any, count: int) -> Any:
    return x.reshape(*x.shape[:2], count, -1).swapaxes(1, 2)


def attend(q: Any, k: Any, v: Any) -> Any:
    seen = softmax(q @ k.swapaxes(2, 3) / math.sqrt(q.shape[-1])) @ v
    return seen.swapaxes(1, 2).reshape(q.shape[0], q.shape[2], -1)


def bert4(w: Weights, ids: Any) -> Any:
    x = w["emb.weight"][ids] + w["pos"]
    for i in range(2):
        name = f"layers.{i}."
        q, k, v = [heads(linear(w, name + part, x), 2) for part in "qkv"]
        x = norm(w, name + "n1", x + linear(w, name + "o", attend(q, k, v)))
        x = norm(w, name + "n2", x + linear(w, name + "f2", gelu(linear(w, name + "f1", x))))
    return x


def gpt_decode(w: Weights, x: Any, pk: Any, pv: Any) -> Any:
    h = norm(w, "l.n1", x)
    q, k, v = [heads(linear(w, f"l.{part}", h), 2) for part in "qkv"]
    k, v = np.concatenate([pk, k], 2), np.concatenate([pv, v], 2)
    x = x + linear(w, "l.o", attend(q, k, v))
    return x + linear(w, "l.f2", gelu(linear(w, "l.f1", norm(w, "l.n2", x)))), k, v


def convolution(w: Weights, name: str, x: Any, stride: int, padding: int) -> Any:
    weight = w[f"{name}.weight"]
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], axis=(2, 3))
    return np.einsum("bchwij,ocij->bohw", windows[:, :, ::stride, ::stride], weight)


def batch_norm(w: Weights, name: str, x: Any) -> Any:
    scale, shift, mean, var = [
        w[f"{name}.{part}"][:, None, None] for part in ("weight", "bias", "running_mean", "running_var")
    ]
    return (x - mean) / np.sqrt(var + 1e-5) * scale + shift


def resnet18(w: Weights, x: Any) -> Any:
    x = np.maximum(batch_norm(w, "stem.1", convolution(w, "stem.0", x, 2, 3)), 0)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
    x = windows.max((4, 5))
    for i in range(8):
        name = f"body.{i}."
        stride = 2 if i in (2, 4, 6) else 1
        y = np.maximum(batch_norm(w, name + "b1", convolution(w, name + "c1", x, stride, 1)), 0)
        y = batch_norm(w, name + "b2", convolution(w, name + "c2", y, 1, 1))
        if f"{name}down.0.weight" in w:
            x = batch_norm(w, name + "down.1", convolution(w, name + "down.0", x, stride, 0))
        x = np.maximum(x + y, 0)
    return linear(w, "fc", x.mean((2, 3)))


MEANINGS = {"mlp": mlp, "resnet18": resnet18, "bert4": bert4, "gpt_decode": gpt_decode}


def several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


@pytest.mark.slow
@pytest.mark.parametrize("name", MEANINGS)
def test_graph_and_machine_against_double_precision(name: str) -> None:
    model = small_models()[name]
    mod, params = model.export()
    weights, inputs = model.random_weights(), model.random_inputs(n=3)
    model.module.load_state_dict(weights)
    arrays = [param.data for _, param in params]
    doubles = {key: value.astype(np.float64) for key, value in weights.items()}
    exact = [a.astype(np.float64) if a.dtype == np.float32 else a for a in inputs]
    want = several(MEANINGS[name](doubles, *exact))
    machine = VirtualMachine(loopwright.build(mod), "cpu")
    for found in (evaluate(mod, *inputs, *arrays, name="forward"), machine["forward"](*inputs, *arrays)):
        for f, w in zip(several(found), want, strict=True):
            array = f if isinstance(f, np.ndarray) else f.numpy()
            assert array.dtype == np.float32 and np.abs(array - w).max() < 1e-5


def test_models_of_the_benchmarks_have_the_sizes_of_their_peers() -> None:
    sizes = {
        name: sum(math.prod(p.shape) for p in model.module.parameters())
        for name, model in benchmark_models().items()
    }
    buffers = 2 * 4800  # running means and variances, which torch does not count as parameters
    assert sizes["mlp"] == 669_706 and sizes["resnet18"] == 11_689_512 + buffers
    assert sizes["gpt_decode"] == 789_760 and sizes["bert4"] == 1000 * 256 + 128 * 256 + 4 * 789_760
