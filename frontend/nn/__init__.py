"""Models in Python: modules with parameters, whose methods become graph functions.

from loopwright.frontend import nn

class Net(nn.Module):
    def __init__(self):
        self.hidden = nn.Linear(784, 128)
        self.out = nn.Linear(128, 10)

    def forward(self, x: nn.Tensor):
        return nn.op.softmax(self.out(nn.op.relu(self.hidden(x))))

mod, params = Net().export_tvm({"forward": {"x": nn.spec.Tensor(["n", 784], "float32")}})
"""

from __future__ import annotations

from . import op, spec
from .core import (
    Effect,
    Module,
    ModuleDict,
    ModuleList,
    Parameter,
    ParameterDict,
    ParameterList,
    get_default_dtype,
)
from .modules import (
    GELU,
    Attention,
    BatchNorm,
    Conv1D,
    Conv2D,
    Conv3D,
    ConvTranspose1D,
    ConvTranspose2D,
    Embedding,
    GroupNorm,
    Identity,
    LayerNorm,
    Linear,
    ReLU,
    RMSNorm,
    SiLU,
)
from .op import *  # noqa: F403  nn.relu is nn.op.relu
from .op import __all__ as _operators
from .state import KVCache
from .tensor import Object, Tensor, wrap_nested

__all__ = [
    "GELU",
    "Attention",
    "BatchNorm",
    "Conv1D",
    "Conv2D",
    "Conv3D",
    "ConvTranspose1D",
    "ConvTranspose2D",
    "Effect",
    "Embedding",
    "GroupNorm",
    "Identity",
    "KVCache",
    "LayerNorm",
    "Linear",
    "Module",
    "ModuleDict",
    "ModuleList",
    "Object",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "RMSNorm",
    "ReLU",
    "SiLU",
    "Tensor",
    "get_default_dtype",
    "op",
    "spec",
    "wrap_nested",
    *_operators,
]
