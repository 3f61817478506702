"""The same kernels by other libraries: a call that computes into memory given before, and its result.

`prepare(workload, inputs)` of each gives both, or None where the library has nothing of the kind.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from workloads import Arrays, Workload

Prepared = tuple[Callable[[], Any], Callable[[], Any]]


class Numpy:
    """Numpy, with results in given arrays where it offers that."""

    def __init__(self, threads: int) -> None:
        self.name = "numpy"

    def prepare(self, w: Workload, inputs: Arrays) -> Prepared | None:
        """See the head of this module."""
        out = np.empty(w.shape, w.dtype)
        made: dict[str, Callable[..., Any]] = {
            "gemm": lambda a, b: np.matmul(a, b, out=out),
            "int8_gemm": lambda a, b: np.copyto(
                out, a.astype("float32") @ b.astype("float32"), casting="unsafe"
            ),
            "softmax": lambda x: self.softmax(x, out),
            "layer_norm": lambda x, g, b: self.layer_norm(x, g, b, out),
            "rms_norm": lambda x, g: np.multiply(
                x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5), g, out=out
            ),
            "row_sum": lambda x: x.sum(-1, out=out),
            "argmax": lambda x: x.argmax(-1, out=out),
            "transpose": lambda x: np.copyto(out, x.T),
            "chain": lambda x: self.chain(x, out),
            "add": lambda a, b: np.add(a, b, out=out),
            "embedding": lambda table, i: np.take(table, i, axis=0, out=out, mode="clip"),
        }
        run = made.get(w.kind)
        return None if run is None else ((lambda: run(*inputs)), lambda: out)

    @staticmethod
    def softmax(x: Any, out: Any) -> None:
        """Softmax of rows."""
        np.subtract(x, x.max(-1, keepdims=True), out=out)
        np.exp(out, out=out)
        out /= out.sum(-1, keepdims=True)

    @staticmethod
    def layer_norm(x: Any, g: Any, b: Any, out: Any) -> None:
        """Layer norm of rows."""
        np.subtract(x, x.mean(-1, keepdims=True), out=out)
        out /= np.sqrt((out * out).mean(-1, keepdims=True) + np.float32(1e-5))
        out *= g
        out += b

    @staticmethod
    def chain(x: Any, out: Any) -> None:
        """The six operations."""
        np.multiply(x, np.float32(1.1), out=out)
        out += np.float32(0.3)
        np.maximum(out, 0, out=out)
        out *= out
        out -= x
        out *= np.float32(0.5)


class Torch:
    """Torch as it runs operators, or with `compiled` as TorchInductor compiles them."""

    def __init__(self, threads: int, compiled: bool = False) -> None:
        import torch

        torch.set_num_threads(threads)
        self.torch = torch
        self.compiled = compiled
        self.name = "inductor" if compiled else "torch"

    def functions(self, w: Workload) -> dict[str, Callable[..., Any]]:
        """What each kind is in torch."""
        torch = self.torch
        F = torch.nn.functional
        scale = w.shape[-1] ** -0.5
        size = w.sizes
        by_hand = self.compiled
        return {
            "gemm": torch.mm,
            "int8_gemm": torch._int_mm,
            "conv2d": lambda x, k: F.conv2d(x, k, None, size["stride"], size["pad"], 1, size["groups"]),
            "attention": (lambda q, k, v: torch.softmax(q @ k.transpose(1, 2) * scale, -1) @ v)
            if by_hand
            else (lambda q, k, v: F.scaled_dot_product_attention(q[None], k[None], v[None])[0]),
            "softmax": lambda x: torch.softmax(x, -1),
            "bias_gelu": lambda x, b: F.gelu(x + b),
            "layer_norm": lambda x, g, b: F.layer_norm(x, x.shape[-1:], g, b, 1e-5),
            "rms_norm": (lambda x, g: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * g)
            if by_hand
            else (lambda x, g: F.rms_norm(x, x.shape[-1:], g, 1e-5)),
            "row_sum": lambda x: x.sum(-1),
            "argmax": lambda x: x.argmax(-1),
            "transpose": lambda x: x.t().contiguous(),
            "chain": lambda x: (torch.square(torch.relu(x * 1.1 + 0.3)) - x) * 0.5,
            "add": torch.add,
            "embedding": lambda table, i: F.embedding(i, table),
        }

    def prepare(self, w: Workload, inputs: Arrays) -> Prepared | None:
        """See the head of this module."""
        torch = self.torch
        if self.compiled and w.kind in ("gemm", "int8_gemm", "conv2d"):
            return None  # the same library calls
        tensors = [torch.from_numpy(x) for x in inputs]
        run = self.functions(w).get(w.kind)
        if run is None:
            return None
        if self.compiled:
            torch._dynamo.reset()
            run = torch.compile(run, dynamic=False)
        else:
            run = self.into(w, run)
        kept: list[Any] = [None]

        def call() -> None:
            with torch.inference_mode():
                kept[0] = run(*tensors)

        return call, lambda: kept[0].numpy()

    def into(self, w: Workload, run: Callable[..., Any]) -> Callable[..., Any]:
        """The operator with a result given before, where it takes one."""
        torch = self.torch
        out = torch.empty(w.shape, dtype=getattr(torch, w.dtype))
        made: dict[str, Callable[..., Any]] = {
            "gemm": lambda a, b: torch.mm(a, b, out=out),
            "row_sum": lambda x: torch.sum(x, -1, out=out),
            "argmax": lambda x: torch.argmax(x, -1, out=out),
            "transpose": lambda x: out.copy_(x.t()),
            "softmax": lambda x: torch._softmax(x, -1, False, out=out),
            "add": lambda a, b: torch.add(a, b, out=out),
        }
        return made.get(w.kind, run)


class Onnx:
    """ONNX Runtime on a graph of the operators that the kernel needs."""

    def __init__(self, threads: int) -> None:
        import onnxruntime

        self.runtime = onnxruntime
        self.threads = threads
        self.name = "onnxruntime"

    @staticmethod
    def nodes(w: Workload) -> list[tuple[str, str, str, dict[str, Any]]] | None:
        """Operators as (name, inputs, result, attributes)."""
        size = w.sizes
        last = {"axis": -1}
        table: dict[str, list[tuple[str, str, str, dict[str, Any]]]] = {
            "gemm": [("MatMul", "a b", "y", {})],
            "int8_gemm": [("MatMulInteger", "a b", "y", {})],
            "softmax": [("Softmax", "a", "y", last)],
            "bias_gelu": [("Add", "a b", "h", {}), ("Gelu", "h", "y", {})],
            "layer_norm": [("LayerNormalization", "a b c", "y", {**last, "epsilon": 1e-5})],
            "row_sum": [("ReduceSum", "a ends", "y", {"keepdims": 0})],
            "argmax": [("ArgMax", "a", "y", {**last, "keepdims": 0})],
            "transpose": [("Transpose", "a", "y", {"perm": [1, 0]})],
            "conv2d": [
                (
                    "Conv",
                    "a b",
                    "y",
                    {
                        "pads": [size.get("pad", 0)] * 4,
                        "strides": [size.get("stride", 1)] * 2,
                        "group": size.get("groups", 1),
                    },
                )
            ],
            "attention": [
                ("Transpose", "b", "kt", {"perm": [0, 2, 1]}),
                ("MatMul", "a kt", "s", {}),
                ("Mul", "s scale", "t", {}),
                ("Softmax", "t", "p", last),
                ("MatMul", "p c", "y", {}),
            ],
            "embedding": [("Gather", "a b", "y", {"axis": 0})],
            "add": [("Add", "a b", "y", {})],
        }
        return table.get(w.kind)

    def prepare(self, w: Workload, inputs: Arrays) -> Prepared | None:
        """See the head of this module."""
        nodes = self.nodes(w)
        if nodes is None:
            return None
        from onnx import helper, numpy_helper

        names = "abc"[: len(inputs)]
        used = {name for _, given, _, _ in nodes for name in given.split()}
        constants = {"ends": np.array([-1]), "scale": np.array(w.shape[-1] ** -0.5, "float32")}
        kinds = [helper.np_dtype_to_tensor_dtype(x.dtype) for x in (*inputs, np.empty(0, w.dtype))]
        shapes = [x.shape for x in inputs]
        values = [helper.make_tensor_value_info(*v) for v in zip((*names, "y"), kinds, (*shapes, w.shape))]
        graph = helper.make_graph(
            [helper.make_node(op, given.split(), [out], **attrs) for op, given, out, attrs in nodes],
            "kernel",
            values[:-1],
            values[-1:],
            [numpy_helper.from_array(v, k) for k, v in constants.items() if k in used],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
        model.ir_version = 9
        options = self.runtime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        session = self.runtime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        binding = session.io_binding()
        value = self.runtime.OrtValue.ortvalue_from_numpy
        for name, x in zip(names, inputs):
            binding.bind_ortvalue_input(name, value(x))
        out = value(np.zeros(w.shape, w.dtype))
        binding.bind_ortvalue_output("y", out)
        return (lambda: session.run_with_iobinding(binding)), out.numpy


class Numba:
    """The loops that a user of numba would write, fast math and parallel rows."""

    def __init__(self, threads: int) -> None:
        import numba

        numba.set_num_threads(threads)
        self.name = "numba"
        self.kernels = numba_kernels()

    def prepare(self, w: Workload, inputs: Arrays) -> Prepared | None:
        """See the head of this module."""
        kernel = self.kernels.get(w.kind)
        if kernel is None:
            return None
        out = np.empty(w.shape, w.dtype)
        return (lambda: kernel(*inputs, out)), lambda: out


def numba_kernels() -> dict[str, Callable[..., Any]]:
    """Kernels by kind."""
    import numba

    compiled = numba.njit(parallel=True, fastmath=True)
    rows = numba.prange
    zero, one, half = np.float32(0), np.float32(1), np.float32(0.5)
    small = np.float32(1e-5)

    @compiled
    def softmax(x: Any, out: Any) -> None:
        for i in rows(x.shape[0]):
            top = x[i, 0]
            for j in range(x.shape[1]):
                top = max(top, x[i, j])
            total = zero
            for j in range(x.shape[1]):
                e = math.exp(x[i, j] - top)
                out[i, j] = e
                total += e
            factor = one / total
            for j in range(x.shape[1]):
                out[i, j] *= factor

    @compiled
    def layer_norm(x: Any, g: Any, b: Any, out: Any) -> None:
        n = np.float32(x.shape[1])
        for i in rows(x.shape[0]):
            total = zero
            for j in range(x.shape[1]):
                total += x[i, j]
            mean = total / n
            spread = zero
            for j in range(x.shape[1]):
                spread += (x[i, j] - mean) * (x[i, j] - mean)
            factor = one / np.float32(math.sqrt(spread / n + small))
            for j in range(x.shape[1]):
                out[i, j] = (x[i, j] - mean) * factor * g[j] + b[j]

    @compiled
    def rms_norm(x: Any, g: Any, out: Any) -> None:
        n = np.float32(x.shape[1])
        for i in rows(x.shape[0]):
            total = zero
            for j in range(x.shape[1]):
                total += x[i, j] * x[i, j]
            factor = one / np.float32(math.sqrt(total / n + small))
            for j in range(x.shape[1]):
                out[i, j] = x[i, j] * factor * g[j]

    @compiled
    def bias_gelu(x: Any, b: Any, out: Any) -> None:
        root = np.float32(0.5**0.5)
        for i in rows(x.shape[0]):
            for j in range(x.shape[1]):
                y = x[i, j] + b[j]
                out[i, j] = half * y * (one + math.erf(y * root))

    @compiled
    def row_sum(x: Any, out: Any) -> None:
        for i in rows(x.shape[0]):
            total = zero
            for j in range(x.shape[1]):
                total += x[i, j]
            out[i] = total

    @compiled
    def transpose(x: Any, out: Any) -> None:
        side = 32
        for i in rows(x.shape[0] // side):
            for j in range(x.shape[1] // side):
                for b in range(j * side, j * side + side):
                    for a in range(i * side, i * side + side):
                        out[b, a] = x[a, b]

    @compiled
    def chain(x: Any, out: Any) -> None:
        for i in rows(x.shape[0]):
            t = max(x[i] * np.float32(1.1) + np.float32(0.3), zero)
            out[i] = (t * t - x[i]) * half

    @compiled
    def add(a: Any, b: Any, out: Any) -> None:
        for i in rows(a.shape[0]):
            out[i] = a[i] + b[i]

    @compiled
    def embedding(table: Any, index: Any, out: Any) -> None:
        for i in rows(index.shape[0]):
            for j in range(table.shape[1]):
                out[i, j] = table[index[i], j]

    made = (softmax, layer_norm, rms_norm, bias_gelu, row_sum, transpose, chain, add, embedding)
    return {f.__name__: f for f in made}


class Tvm:
    """Apache TVM with its defaults for this machine."""

    def __init__(self, threads: int) -> None:
        import tvm

        self.tvm = tvm
        self.name = "tvm"

    def prepare(self, w: Workload, inputs: Arrays) -> Prepared | None:
        """See the head of this module."""
        if w.work > 1e9:
            return None  # its default takes seconds for each call
        tvm = self.tvm
        mod = tvm.IRModule({"main": tvm.script.from_source(w.program)})
        processor = tvm.get_global_func("target.llvm_get_system_cpu")()
        func = tvm.compile(mod, tvm.target.Target({"kind": "llvm", "mcpu": processor}))["main"]
        device = tvm.cpu()
        arrays = [tvm.runtime.tensor(x, device) for x in (*inputs, np.zeros(w.shape, w.dtype))]
        return (lambda: func(*arrays)), arrays[-1].numpy


PEERS: dict[str, tuple[str, Callable[[int], Any]]] = {
    "numpy": ("numpy", Numpy),
    "torch": ("torch", Torch),
    "inductor": ("torch", lambda threads: Torch(threads, compiled=True)),
    "onnxruntime": ("onnxruntime", Onnx),
    "numba": ("numba", Numba),
    "tvm": ("tvm", Tvm),
}
"""Peers by name: the module that must be installed, and how to make one."""


def installed() -> list[str]:
    """The peers that can run here."""
    return [name for name, (module, _) in PEERS.items() if importlib.util.find_spec(module) is not None]
