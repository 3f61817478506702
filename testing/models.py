"""Models of the benchmarks and tests in `frontend.nn`: a perceptron, ResNet-18, an encoder, a decoder step.

Attributes are called as in the same models of torch, so that `load_state_dict` takes over its weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..frontend import nn
from ..frontend.nn import op
from ..ir import IRModule


class Perceptron(nn.ModuleList):
    """Linear layers of these sizes with ReLU between them."""

    def __init__(self, *sizes: int) -> None:
        layers: list[nn.Module] = []
        for i, (size, following) in enumerate(zip(sizes, sizes[1:])):
            layers += [nn.ReLU()] if i else []
            layers.append(nn.Linear(size, following))
        super().__init__(layers)


class MaxPool(nn.Module):
    """The largest of each 3 by 3 window, every second one."""

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        """The smaller image."""
        return op.max_pool2d(x, 3, 2, 1)


class Residual(nn.Module):
    """Two convolutions with what they are given added to the result."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        self.c1 = nn.Conv2D(inputs, outputs, 3, stride, 1, bias=False)
        self.b1 = nn.BatchNorm(outputs)
        self.c2 = nn.Conv2D(outputs, outputs, 3, 1, 1, bias=False)
        self.b2 = nn.BatchNorm(outputs)
        self.down: nn.ModuleList | None = None
        if stride != 1 or inputs != outputs:
            shortcut = nn.Conv2D(inputs, outputs, 1, stride, bias=False)
            self.down = nn.ModuleList([shortcut, nn.BatchNorm(outputs)])

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        """The block of the network."""
        y = op.relu(self.b1(self.c1(x)))
        y = self.b2(self.c2(y))
        return op.relu(y + (x if self.down is None else self.down(x)))


class ResNet18(nn.Module):
    """The residual network of 18 layers, for images (n, 3, height, width)."""

    def __init__(self, classes: int = 1000, width: int = 64) -> None:
        stem = nn.Conv2D(3, width, 7, 2, 3, bias=False)
        self.stem = nn.ModuleList([stem, nn.BatchNorm(width), nn.ReLU(), MaxPool()])
        blocks: list[nn.Module] = []
        channels = width
        for factor, stride in ((1, 1), (2, 2), (4, 2), (8, 2)):
            outputs = width * factor
            blocks += [Residual(channels, outputs, stride), Residual(outputs, outputs, 1)]
            channels = outputs
        self.body = nn.ModuleList(blocks)
        self.fc = nn.Linear(channels, classes)

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        """The scores of the classes."""
        return self.fc(op.mean(self.body(self.stem(x)), [2, 3]))


class Layer(nn.Module):
    """A transformer's layer: attention, then two linear maps with GELU between them."""

    def __init__(self, hidden: int, heads: int, inner: int) -> None:
        self.heads = heads
        self.size = hidden // heads
        self.q, self.k, self.v, self.o = [nn.Linear(hidden, hidden) for _ in range(4)]
        self.f1, self.f2 = nn.Linear(hidden, inner), nn.Linear(inner, hidden)
        self.n1, self.n2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)

    def split(self, x: nn.Tensor) -> nn.Tensor:
        """(batch, positions, hidden) as (batch, heads, positions, size)."""
        batch, positions, _ = x.shape
        return op.permute_dims(op.reshape(x, [batch, positions, self.heads, self.size]), [0, 2, 1, 3])

    def attend(self, q: nn.Tensor, k: nn.Tensor, v: nn.Tensor) -> nn.Tensor:
        """The attention of (batch, heads, positions, size), as (batch, positions, hidden)."""
        scores = op.matmul(q, op.permute_dims(k, [0, 1, 3, 2])) / math.sqrt(self.size)
        seen = op.permute_dims(op.matmul(op.softmax(scores), v), [0, 2, 1, 3])
        return op.reshape(seen, [seen.shape[0], seen.shape[1], self.heads * self.size])

    def mlp(self, x: nn.Tensor) -> nn.Tensor:
        """The two linear maps."""
        return self.f2(op.gelu(self.f1(x)))

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        """The layer of an encoder, which normalises after adding."""
        x = self.n1(
            x + self.o(self.attend(self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))))
        )
        return self.n2(x + self.mlp(x))


class Encoder(nn.Module):
    """Embedded tokens and positions through layers."""

    def __init__(
        self, tokens: int = 1000, positions: int = 128, hidden: int = 256, heads: int = 4, layers: int = 4
    ) -> None:
        self.emb = nn.Embedding(tokens, hidden)
        self.pos = nn.Parameter((1, positions, hidden))
        self.layers = nn.ModuleList([Layer(hidden, heads, 4 * hidden) for _ in range(layers)])

    def forward(self, ids: nn.Tensor) -> nn.Tensor:
        """The hidden states of (batch, positions) tokens."""
        return self.layers(self.emb(ids) + self.pos)


class Decode(nn.Module):
    """One step of a decoder block: the keys and values so far come in, and go out with those of the step."""

    def __init__(self, hidden: int = 256, heads: int = 8) -> None:
        self.l = Layer(hidden, heads, 4 * hidden)

    def forward(self, x: nn.Tensor, pk: nn.Tensor, pv: nn.Tensor) -> tuple[nn.Tensor, nn.Tensor, nn.Tensor]:
        """The new hidden state, keys and values."""
        layer = self.l
        h = layer.n1(x)
        q, k, v = layer.split(layer.q(h)), layer.split(layer.k(h)), layer.split(layer.v(h))
        k, v = op.concat([pk, k], 2), op.concat([pv, v], 2)
        x = x + layer.o(layer.attend(q, k, v))
        return x + layer.mlp(layer.n2(x)), k, v


@dataclass(frozen=True, slots=True)
class Model:
    """A model with the arguments of its `forward`: a shape and a dtype by name."""

    module: nn.Module
    inputs: Mapping[str, tuple[tuple[int | str, ...], str]]

    def export(self) -> tuple[IRModule, list[tuple[str, nn.Parameter]]]:
        """The module whose function `forward` takes the inputs, then the weights; the weights by name."""
        spec = {name: nn.spec.Tensor(shape, dtype) for name, (shape, dtype) in self.inputs.items()}
        return self.module.export({"forward": spec})

    def random_weights(self, seed: int = 0) -> dict[str, Any]:
        """Weights by name, as large as training starts with; variances are positive."""
        import numpy as np

        rng = np.random.default_rng(seed)
        made = {}
        for name, param in self.module.named_parameters():
            fan = math.prod(param.shape[1:]) if len(param.shape) > 1 else 4
            value = rng.standard_normal(param.shape) / math.sqrt(fan)
            value = np.abs(value) + 0.5 if name.endswith("running_var") else value
            made[name] = value.astype(param.dtype)
        return made

    def random_inputs(self, seed: int = 1, **sizes: int) -> list[Any]:
        """Arguments; integers are below 16, symbols have the sizes given."""
        import numpy as np

        rng = np.random.default_rng(seed)
        made = []
        for shape, dtype in self.inputs.values():
            dims = [sizes[s] if isinstance(s, str) else s for s in shape]
            floats = rng.standard_normal(dims) if dtype.startswith("float") else rng.integers(0, 16, dims)
            made.append(floats.astype(dtype))
        return made


def benchmark_models() -> dict[str, Model]:
    """The models that benchmarks run, by name."""
    f32 = "float32"
    cache = ((1, 8, 127, 32), f32)
    return {
        "mlp": Model(Perceptron(784, 512, 512, 10), {"x": ((32, 784), f32)}),
        "resnet18": Model(ResNet18(), {"x": ((1, 3, 224, 224), f32)}),
        "bert4": Model(Encoder(), {"ids": ((1, 128), "int64")}),
        "gpt_decode": Model(Decode(), {"x": ((1, 1, 256), f32), "pk": cache, "pv": cache}),
    }


def small_models() -> dict[str, Model]:
    """The same models, so small that tests can afford them; the perceptron's batch is a symbol."""
    f32 = "float32"
    cache = ((1, 2, 5, 4), f32)
    return {
        "mlp": Model(Perceptron(12, 16, 8, 5), {"x": (("n", 12), f32)}),
        "resnet18": Model(ResNet18(10, 4), {"x": ((1, 3, 32, 32), f32)}),
        "bert4": Model(Encoder(16, 6, 8, 2, 2), {"ids": ((1, 6), "int64")}),
        "gpt_decode": Model(Decode(8, 2), {"x": ((1, 1, 8), f32), "pk": cache, "pv": cache}),
    }


__all__ = [
    "Decode",
    "Encoder",
    "Layer",
    "Model",
    "Perceptron",
    "ResNet18",
    "Residual",
    "benchmark_models",
    "small_models",
]
