"""Models: parameters, export, operators against numpy, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopwright import te
from loopwright.errors import DTypeError, IRError, UnsupportedError
from loopwright.frontend import nn
from loopwright.frontend.nn import op, spec
from loopwright.ir import IRModule, TupleType
from loopwright.ir.analysis import check_well_formed
from loopwright.ir.relax import ShapeType
from loopwright.script import tirx as T
from loopwright.testing.graphs import evaluate


def run(method: Any, *arrays: Any, symbolic: bool = False, **weights: Any) -> Any:
    """A function of nn tensors, exported and evaluated on arrays."""

    class Holder(nn.Module):
        def forward(self, *args: Any) -> Any:
            return method(*args)

    names = [f"a{i}" for i in range(len(arrays))]
    specs = [spec.Tensor(a.shape, str(a.dtype)) for a in arrays]
    made = spec.MethodSpec(lambda **given: method(*given.values()), names, specs)
    mod, params = Holder().export_tvm(spec.ModuleSpec(Holder(), ["forward"], [made]))
    well_formed(mod)
    return evaluate(mod, *arrays, name="forward")


def well_formed(mod: IRModule) -> None:
    assert [d for d in check_well_formed(mod) if d.severity == "error"] == []


def of(module: nn.Module, *arrays: Any, seed: int = 0) -> Any:
    """A module with random weights, evaluated; the result and the weights by name."""
    rng = np.random.default_rng(seed)
    for _, param in module.named_parameters():
        param.data = (rng.random(param.shape) + 0.5).astype(param.dtype)
    names = list(module.forward.__code__.co_varnames[1 : 1 + len(arrays)])  # type: ignore[attr-defined]
    table = {n: spec.Tensor(a.shape, str(a.dtype)) for n, a in zip(names, arrays)}
    mod, params = module.export({"forward": table})
    well_formed(mod)
    weights = {n: p.data for n, p in params}
    return evaluate(mod, *arrays, *weights.values(), name="forward"), weights


def random(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


class Net(nn.Module):
    def __init__(self) -> None:
        self.first = nn.Linear(6, 4)
        self.rest = nn.ModuleList([nn.ReLU(), nn.Linear(4, 2, bias=False)])
        self.extra = nn.ModuleDict({"scale": nn.ModuleList([])})
        self.loose = nn.ParameterList([nn.Parameter((2,))])
        self.named = nn.ParameterDict({"shift": nn.Parameter(("k", 2), "float16")})
        self.again = self.first

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return self.rest(self.first(x)) * self.loose[0]


SPEC = {"forward": {"x": spec.Tensor(["n", 6], "float32")}}


def test_names_of_parameters() -> None:
    net = Net()
    named = dict(net.named_parameters())
    assert list(named) == ["first.weight", "first.bias", "rest.1.weight", "loose.0", "named.shift"]
    assert list(net.state_dict(prefix="net"))[0] == "net.first.weight" and len(list(net.parameters())) == 5
    shape = named["named.shift"].shape
    assert shape[0].name == "k" and shape[1] == 2 and named["named.shift"].dtype == "float16"


def test_export_and_run() -> None:
    net = Net()
    mod, params = net.export_tvm(SPEC)
    well_formed(mod)
    func = mod["forward"]
    assert func.attrs["num_input"] == 1 and [p.name for p in func.params][:2] == ["x", "first_weight"]
    x, w, b, w2, s = random(3, 6), random(4, 6), random(4), random(2, 4), random(2)
    found = evaluate(mod, x, w, b, w2, s, np.ones((5, 2), np.float16), name="forward")
    assert np.allclose(found, np.maximum(x @ w.T + b, 0) @ w2.T * s, atol=1e-5)
    assert all(p._expr.name == "param" for _, p in params)  # parameters are free again


def test_modes_of_passing() -> None:
    class Stateful(nn.Module):
        def __init__(self) -> None:
            self.scale = nn.Parameter((4,))
            self.cache = nn.KVCache(8, [4])

        def step(self, x: nn.Tensor, count: Any) -> nn.Tensor:
            self.cache.append(x * self.scale)
            return self.cache.view(count)

    def export(**modes: str) -> IRModule:
        table = {"step": {"x": spec.Tensor([1, 4], "float32"), "count": int, "$": modes}}
        mod, _ = Stateful().export_tvm(table)
        well_formed(mod)
        return mod

    plain, packed = export(), export(param_mode="packed", effect_mode="packed")
    assert [p.name for p in plain["step"].params] == ["x", "count", "cache", "scale"]
    assert isinstance(plain["step"].params[1].ty, ShapeType) and plain["step"].attrs["num_input"] == 3
    assert [p.name for p in packed["step"].params] == ["x", "count", "packed_effects", "packed_params"]
    assert isinstance(packed["step"].params[3].ty, TupleType)
    for mod in (plain, packed):
        assert isinstance(mod["step"].ret_ty, TupleType) and mod["_initialize_effect"].params == ()
    with pytest.raises(IRError, match="used in a method that is being exported"):
        export(effect_mode="none")
    with pytest.raises(DTypeError, match="there is no mode 'pakced'"):
        export(param_mode="pakced")


def test_arguments_of_other_kinds() -> None:
    class Several(nn.Module):
        def forward(self, pair: list[nn.Tensor], other: nn.Object) -> Any:
            return [pair[0] + pair[1], (other, pair[1])]

    two = [spec.Tensor(["n"], "float32")] * 2
    mod, _ = Several().export_tvm({"forward": {"pair": two, "other": object}})
    well_formed(mod)
    a = np.ones(3, np.float32)
    total, (other, second) = evaluate(mod, (a, a), "kept", name="forward")
    assert total.tolist() == [2, 2, 2] and other == "kept" and second.tolist() == [1, 1, 1]


def test_weights_by_name() -> None:
    net = nn.Linear(3, 2)
    w, b = random(2, 3), random(2)
    assert net.load_state_dict({"weight": w, "bias": b}) == ([], [])
    assert net.weight.data is w
    other = nn.Linear(3, 2)
    other.load_state_dict(net.state_dict())
    assert other.weight.data is w
    with pytest.raises(IRError, match="do not fit the model"):
        net.load_state_dict({"weight": w, "baias": b})
    assert net.load_state_dict({"weight": w, "x": b}, strict=False) == (["bias"], ["x"])
    with pytest.raises(DTypeError, match="cannot hold an array of"):
        net.weight.data = b
    with pytest.raises(DTypeError, match="cannot hold an array of `float64`"):
        net.weight.data = w.astype("float64")


def test_other_dtypes() -> None:
    net = Net()
    net.to("float64")
    assert {p.dtype for p in net.parameters()} == {"float64"}
    held = nn.Linear(3, 2)
    held.weight.data = random(2, 3)
    with pytest.raises(IRError, match="holds data"):
        held.to("float16")
    mixed = nn.Linear(3, 2, dtype="float16", out_dtype="float32")
    mixed.to("float64")
    assert mixed.weight.dtype == "float64" and mixed.bias is not None and mixed.bias.dtype == "float32"


def close(found: Any, want: Any) -> None:
    assert found.shape == np.shape(want) and np.allclose(found, want, atol=1e-5)


def standard(x: Any, axes: Any) -> Any:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def test_layers() -> None:
    x = random(2, 4, 6)
    found, w = of(nn.LayerNorm(6), x)
    close(found, standard(x, -1) * w["weight"] + w["bias"])
    found, _ = of(nn.LayerNorm(6, elementwise_affine=False), x)
    close(found, standard(x, -1))
    found, w = of(nn.RMSNorm(6), x)
    close(found, x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w["weight"] + w["bias"])
    found, w = of(nn.GroupNorm(2, 4), x)
    groups = standard(x.reshape(2, 2, 12), 2).reshape(x.shape)
    close(found, groups * w["weight"][:, None] + w["bias"][:, None])
    found, w = of(nn.BatchNorm(4), x)
    mean, var = w["running_mean"][:, None], w["running_var"][:, None]
    close(found, (x - mean) / np.sqrt(var + 1e-5) * w["weight"][:, None] + w["bias"][:, None])
    ids = np.array([[1, 0], [2, 2]], np.int32)
    found, w = of(nn.Embedding(3, 5), ids)
    close(found, w["weight"][ids])
    close(of(nn.ModuleList([nn.Identity(), nn.ReLU()]), x)[0], np.maximum(x, 0))
    close(of(nn.SiLU(), x)[0], x / (1 + np.exp(-x)))
    close(of(nn.GELU(), np.zeros(2, np.float32))[0], [0, 0])


def test_convolutions() -> None:
    x = random(1, 2, 8)
    found, w = of(nn.Conv1D(2, 3, 3, padding=1), x)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, 3, axis=2)
    close(found, np.einsum("bcwk,ock->bow", windows, w["weight"]) + w["bias"][:, None])
    image = random(1, 2, 5, 5)
    found, w = of(nn.Conv2D(2, 4, 3, stride=2, bias=False), image)
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
    want = np.einsum("bchwij,ocij->bohw", windows, w["weight"])
    close(found, want)
    last = nn.Conv2D(2, 4, 3, stride=2, bias=True, data_layout="NHWC")
    assert last.weight.shape == [3, 3, 2, 4]
    found, w = of(last, np.ascontiguousarray(image.transpose(0, 2, 3, 1)))
    want = np.einsum("bchwij,ijco->bhwo", windows, w["weight"]) + w["bias"]
    close(found, want)
    assert run(lambda a, b: op.conv2d(a, b, padding="same"), image, random(2, 2, 3, 3)).shape == image.shape
    assert of(nn.Conv3D(1, 2, 2), random(1, 1, 3, 3, 3))[0].shape == (1, 2, 2, 2, 2)
    assert of(nn.ConvTranspose1D(2, 3, 4, stride=2), x)[0].shape == (1, 3, 18)
    assert of(nn.ConvTranspose2D(2, 3, 2, stride=2), image)[0].shape == (1, 3, 10, 10)


def test_attention() -> None:
    q, k, v = random(1, 3, 2, 4), random(1, 5, 2, 4), random(1, 5, 2, 4)

    def attend(q: Any, k: Any, v: Any, mask: Any = 0) -> Any:
        scores = np.einsum("bqhd,bkhd->bhqk", q, k) / 2 + mask
        p = np.exp(scores - scores.max(-1, keepdims=True))
        return np.einsum("bhqk,bkhd->bqhd", p / p.sum(-1, keepdims=True), v)

    close(run(op.scaled_dot_product_attention, q, k, v), attend(q, k, v))
    mask = random(1, 2, 3, 5)
    close(run(op.scaled_dot_product_attention, q, k, v, mask), attend(q, k, v, mask))
    causal = np.triu(np.full((5, 5), -np.inf), 1)
    found = run(lambda a: op.scaled_dot_product_attention(a, a, a, is_causal=True), k)
    close(found, attend(k, k, k, causal))
    x = random(2, 3, 8)
    found, w = of(nn.Attention(8, heads=2, dim_head=4, bias=True), x)
    heads = [(x @ w[f"to_{n}.weight"].T + w[f"to_{n}.bias"]).reshape(2, 3, 2, 4) for n in "qkv"]
    close(found, attend(*heads).reshape(2, 3, 8) @ w["to_out.0.weight"].T + w["to_out.0.bias"])
    y = random(2, 5, 6)
    found, w = of(nn.Attention(8, 6, heads=2, dim_head=4, out_bias=False, norm_num_groups=2), x, y)
    groups = standard(x.reshape(2, 3, 2, 4), (1, 3)).reshape(x.shape)
    states = groups * w["group_norm.weight"] + w["group_norm.bias"]
    q = (states @ w["to_q.weight"].T).reshape(2, 3, 2, 4)
    k, v = [(y @ w[f"to_{n}.weight"].T).reshape(2, 5, 2, 4) for n in "kv"]
    close(found, attend(q, k, v).reshape(2, 3, 8) @ w["to_out.0.weight"].T)


A, B = random(2, 6), random(2, 6)
OPERATORS = [
    (lambda a, b: a + b, A + B),
    (lambda a, b: 1 - a, 1 - A),
    (lambda a, b: a * 2.0 - b, A * 2 - B),
    (lambda a, b: 1 / (a * a + 1.0), 1 / (A * A + 1)),
    (lambda a, b: -a, -A),
    (lambda a, b: a < b, A < B),
    (lambda a, b: a >= 0.0, A >= 0),
    (lambda a, b: a.maximum(b).minimum(0.5), np.minimum(np.maximum(A, B), 0.5)),
    (lambda a, b: a @ b.permute_dims(1, 0), A @ B.T),
    (lambda a, b: a.reshape(3, -1), A.reshape(3, 4)),
    (lambda a, b: a.repeat(2, 1), A.repeat(2, 1)),
    (lambda a, b: a.astype("int32"), A.astype("int32")),
    (lambda a, b: op.sum(a, axis=1, keepdims=True), A.sum(1, keepdims=True)),
    (lambda a, b: op.max(a), A.max()),
    (lambda a, b: op.min(a, 0), A.min(0)),
    (lambda a, b: op.mean(a, [0, 1]), A.mean()),
    (lambda a, b: op.where(a > 0.0, b, 1.0), np.where(A > 0, B, 1)),
    (lambda a, b: op.concat([a, b], 1), np.concatenate([A, B], 1)),
    (lambda a, b: op.split(a, 3, 1)[1], A[:, 2:4]),
    (lambda a, b: op.chunk(a, 2, 1)[1], A[:, 3:]),
    (lambda a, b: op.squeeze(op.unsqueeze(a, 1), 1), A),
    (lambda a, b: op.broadcast_to(op.unsqueeze(a, 0), [3, 2, 6]), np.broadcast_to(A, (3, 2, 6))),
    (lambda a, b: op.take(a, op.arange(1, dtype="int32"), axis=0), A[:1]),
    (lambda a, b: op.triu(a, 1), np.triu(A, 1)),
    (lambda a, b: op.pad(a, [1, 0, 0, 2]), np.pad(A, ((1, 0), (0, 2)))),
    (lambda a, b: op.softmax(a, 0), np.exp(A) / np.exp(A).sum(0)),
    (lambda a, b: op.relu6(a * 9.0), np.clip(A * 9, 0, 6)),
    (lambda a, b: op.sqrt(op.square(a)), abs(A)),
    (lambda a, b: op.full([2, 2], 3.0) + op.ones([2, 2]) + op.zeros([2, 2]), np.full((2, 2), 4.0)),
    (lambda a, b: op.cumsum(a, axis=1), A.cumsum(1)),
    (lambda a, b: op.sort(a), np.sort(A)),
    (lambda a, b: op.topk(a, 2)[0], -np.sort(-A)[:, :2]),
    (lambda a, b: op.permute(a, [1, 0]), A.T),
    (
        lambda a, b: op.gelu(a, approximate="tanh"),
        0.5 * A * (1 + np.tanh(0.7978845608 * (A + 0.044715 * A**3))),
    ),
    (
        lambda a, b: op.max_pool2d(op.reshape(a, [1, 1, 2, 6]), 2),
        A.reshape(1, 1, 1, 2, 3, 2).max((3, 5)),
    ),
    (
        lambda a, b: op.avg_pool2d(op.reshape(a, [1, 1, 2, 6]), 2),
        A.reshape(1, 1, 1, 2, 3, 2).mean((3, 5)),
    ),
    (lambda a, b: op.adaptive_avg_pool2d(op.reshape(a, [1, 1, 2, 6]), 1), A.mean().reshape(1, 1, 1, 1)),
    (lambda a, b: op.interpolate(op.reshape(a, [1, 1, 2, 6]), scale_factor=1.0), A.reshape(1, 1, 2, 6)),
]


@pytest.mark.parametrize("number", range(len(OPERATORS)))
def test_operators(number: int) -> None:
    method, want = OPERATORS[number]
    close(run(method, A, B), want)


def test_time_steps() -> None:
    steps = np.array([0, 3], np.int32)
    found = run(lambda s: op.get_timestep_embedding(s, 5), steps)
    rates = np.exp(-np.log(10000) * np.arange(2) / 1)
    angles = steps[:, None] * rates
    close(found, np.concatenate([np.sin(angles), np.cos(angles), np.zeros((2, 1))], 1))


@T.prim_func(private=True)
def doubled(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.sblock("b"):
            vi = T.axis.spatial(4, i)
            b[vi] = a[vi] * T.float32(2)


def test_own_kernels() -> None:
    a = random(4)
    out = nn.Tensor.placeholder([4], "float32")
    close(run(lambda x: op.tensor_ir_op(doubled, "doubled", x, out), a), a * 2)
    close(run(lambda x: op.tensor_ir_inplace_op(doubled, "doubled", [x, x], 1, out), a), a * 2)

    def plus(x: Any, k: int) -> Any:
        return [te.compute(x.shape, lambda i: x[i] + k), te.compute(x.shape, lambda i: x[i] - k)]

    more, less = run(lambda x: op.tensor_expr_op(plus, "plus", [x, 3]), a)
    close(more, a + 3)
    close(less, a - 3)
    with pytest.raises(IRError, match="method that is being exported"):
        op.tensor_expr_op(plus, "plus", [out, 3])


def test_bad_input() -> None:
    net = Net()
    with pytest.raises(DTypeError, match="`Net` has no method `forwards`"):
        net.export_tvm({"forwards": {}})
    with pytest.raises(DTypeError, match="has no argument `y`"):
        net.export_tvm({"forward": {"y": int}})
    with pytest.raises(DTypeError, match="needs a specification of `x`"):
        net.export_tvm({"forward": {}})
    with pytest.raises(DTypeError, match="does not specify an argument"):
        net.export_tvm({"forward": {"x": 3}})
    with pytest.raises(DTypeError, match="is a table"):
        net.export_tvm(3)
    with pytest.raises(UnsupportedError, match="exported without `debug`"):
        op.debug_func("f")
    with pytest.raises(UnsupportedError, match="exported without `debug`"):
        op.print_(nn.Tensor.from_const(1.0))
    with pytest.raises(IRError, match="no method `forward`"):
        nn.Module()(3)
    with pytest.raises(DTypeError, match="must give tensors"):
        run(lambda a: "text", A)
    with pytest.raises(DTypeError, match="does not combine with a tensor"):
        run(lambda a: a + "text", A)
    with pytest.raises(DTypeError, match="there is no padding 'sama'"):
        run(lambda a: op.conv1d(a, a, padding="sama"), random(1, 2, 3))
    with pytest.raises(DTypeError, match="has a known shape and dtype"):
        nn.Tensor.from_ty(net.export_tvm(SPEC)[0]["forward"].ret_ty.replace(shape=None))
    with pytest.raises(UnsupportedError, match="antialias"):
        op.interpolate(nn.Tensor.placeholder([1, 1, 2, 2], "float32"), size=4, antialias=True)
