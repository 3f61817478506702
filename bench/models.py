"""Models from `frontend.nn` through the default pipeline: latency, time to be ready, exactness.

    python bench/models.py [mlp resnet18 bert4 gpt_decode] [--mode bytecode] [--peers FOLDER] [--json]

One thread, processor time, weights bound as constants.  `--peers` names a folder whose `models.py` builds
the same models in torch: their weights are taken over, and torch and onnxruntime run beside ours in the
same process, where they are installed.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from common import Row, show

REPEAT = 15


def latency(run: Callable[[], object]) -> float:
    """The median processor time of a call in milliseconds, after two that are not counted."""
    run()
    run()
    times = []
    for _ in range(REPEAT):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return statistics.median(times) * 1e3


def several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple | list) else [value]


def ours(
    name: str, weights: Mapping[str, Any], inputs: list[Any], mode: str
) -> tuple[Callable[[], Any], float]:
    """What runs the model, and the seconds until it can."""
    import loopwright
    from loopwright.runtime.vm import VirtualMachine
    from loopwright.testing.models import benchmark_models

    model = benchmark_models()[name]
    model.module.load_state_dict(weights, strict=False)
    start = time.process_time()
    mod, params = model.export()
    func = mod["forward"]
    count = len(model.inputs)
    values = {var: param.data for var, (_, param) in zip(func.params[count:], params)}
    mod = mod.with_function("forward", func.bind_params(values))
    machine = VirtualMachine(loopwright.build(mod, num_threads=1, exec_mode=mode), "cpu")
    forward = machine["forward"]
    forward(*inputs)
    return lambda: forward(*inputs), time.process_time() - start


def oracle(name: str, weights: Mapping[str, Any], inputs: list[Any]) -> list[Any]:
    """The outputs by numpy, operator by operator."""
    from loopwright.testing.graphs import evaluate
    from loopwright.testing.models import benchmark_models

    model = benchmark_models()[name]
    model.module.load_state_dict(weights, strict=False)
    mod, params = model.export()
    return several(evaluate(mod, *inputs, *[p.data for _, p in params], name="forward"))


class Peers:
    """The same models of torch, as a folder's `models.py` builds them."""

    def __init__(self, folder: str) -> None:
        sys.path.insert(0, folder)
        sys.modules.pop("models", None)
        sys.modules.pop("common", None)
        self.models = importlib.import_module("models")

    def build(self, name: str) -> tuple[Any, dict[str, Any], list[str]]:
        """The module, its inputs by name, the names of its outputs."""
        import torch

        torch.set_num_threads(1)
        found: tuple[Any, dict[str, Any], list[str]] = self.models.build(name)
        return found

    def runners(
        self, module: Any, inputs: dict[str, Any], outputs: list[str]
    ) -> dict[str, Callable[[], Any]]:
        """What runs the module in torch and in onnxruntime."""
        import torch

        given = tuple(torch.from_numpy(v) for v in inputs.values())

        def in_torch() -> Any:
            with torch.inference_mode():
                return module(*given)

        found: dict[str, Callable[[], Any]] = {"torch": in_torch}
        try:
            import onnxruntime
        except ImportError:
            return found
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "model.onnx")
            torch.onnx.export(
                module,
                given,
                path,
                input_names=list(inputs),
                output_names=outputs,
                opset_version=17,
                dynamo=False,
            )
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        found["onnxruntime"] = lambda: session.run(outputs, inputs)
        return found

    def exact(self, module: Any, inputs: dict[str, Any]) -> list[Any]:
        """The outputs in double precision."""
        import torch

        given = [torch.from_numpy(v) for v in inputs.values()]
        exact = copy.deepcopy(module).double()
        with torch.inference_mode():
            made = exact(*[g.double() if g.is_floating_point() else g for g in given])
        return [m.numpy() for m in several(made)]


def rows(names: list[str] | None = None, mode: str = "compiled", peers: Peers | None = None) -> list[Row]:
    """The figures of the models; onnxruntime's latency is the goal where it is there."""
    import numpy as np

    from loopwright.testing.models import benchmark_models

    found: list[Row] = []
    for name in names or list(benchmark_models()):
        model = benchmark_models()[name]
        others: dict[str, Callable[[], Any]] = {}
        if peers is None:
            weights, inputs = model.random_weights(), model.random_inputs()
            want = oracle(name, weights, inputs)
        else:
            module, table, outputs = peers.build(name)
            weights, inputs = dict(module.state_dict()), list(table.values())
            want = peers.exact(module, table)
            others = peers.runners(module, table, outputs)
        times = {other: latency(run) for other, run in others.items()}
        run, ready = ours(name, weights, inputs, mode)
        worst = max(float(np.abs(f.numpy() - w).max()) for f, w in zip(several(run()), want))
        goal = times.get("onnxruntime")
        found.append(Row(f"{name}: latency", latency(run), "ms", goal and 1.1 * goal))
        found += [Row(f"{name}: {other}", ms, "ms") for other, ms in times.items()]
        found.append(Row(f"{name}: ready", ready, "s", 6.0))
        found.append(Row(f"{name}: error", worst * 1e6, "1e-6", 100.0))
    return found


def main() -> None:
    """Run the chosen models and print their rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", help="names of models; all without one")
    parser.add_argument("--mode", choices=("bytecode", "compiled"), default="compiled")
    parser.add_argument("--peers", help="a folder whose models.py builds the same models in torch")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    args = parser.parse_args()
    show(rows(args.models, args.mode, Peers(args.peers) if args.peers else None), args.json)


if __name__ == "__main__":
    main()
