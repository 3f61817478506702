"""Models from `frontend.nn` through the default pipeline: latency, time to be ready, exactness, memory.

    python bench/models.py [mlp resnet18 bert4 gpt_decode] [--mode bytecode] [--peers FOLDER] [--json]

Weights are bound as constants.  Latencies are the medians of turns, one thread, processor time.  A model is made
ready in processes of its own, on all cores, by the clock: with an empty cache, and again.  Memory is what
loading an exported model and running it adds to a fresh process.  `--peers` names a folder whose
`models.py` builds the same models in torch: their weights are taken over, and torch and onnxruntime take
turns with ours in one process, where they are installed.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from common import Row, show
from kernels.measure import take_turns

REPEAT = 15


def several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple | list) else [value]


def built(name: str, weights: Mapping[str, Any], mode: str, threads: int | None) -> tuple[Any, float]:
    """The compiled model, and the seconds that took, by the clock."""
    import loopwright
    from loopwright.testing.models import benchmark_models

    model = benchmark_models()[name]
    model.module.load_state_dict(weights, strict=False)
    mod, params = model.export()
    func = mod["forward"]
    count = len(model.inputs)
    values = {var: param.data for var, (_, param) in zip(func.params[count:], params)}
    mod = mod.with_function("forward", func.bind_params(values))
    start = time.perf_counter()
    made = loopwright.build(mod, num_threads=threads, exec_mode=mode)
    return made, time.perf_counter() - start


def ours(name: str, weights: Mapping[str, Any], inputs: list[Any], mode: str) -> Callable[[], Any]:
    """What runs the model."""
    from loopwright.runtime.vm import VirtualMachine

    forward = VirtualMachine(built(name, weights, mode, 1)[0], "cpu")["forward"]
    return lambda: forward(*inputs)


def child(*args: str, **environment: str) -> dict[str, float]:
    """What this program prints as JSON in a process of its own."""
    command = [sys.executable, __file__, *args]
    done = subprocess.run(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def make_ready(name: str, mode: str, path: str) -> dict[str, float]:
    """In a process of its own: build the model, and export it."""
    from loopwright.testing.models import benchmark_models

    made, seconds = built(name, benchmark_models()[name].random_weights(), mode, None)
    if path:
        made.export(path)
    return {"seconds": seconds}


def measure_memory(name: str, path: str) -> dict[str, float]:
    """In a process of its own: megabytes that loading an exported model and running it add."""
    import numpy as np

    import loopwright.runtime as runtime
    from loopwright.runtime.vm import VirtualMachine

    inputs = [np.array(x) for x in json.loads(Path(path).with_suffix(".json").read_text())]
    kinds = json.loads(Path(path).with_suffix(".dtypes").read_text())
    inputs = [x.astype(kind) for x, kind in zip(inputs, kinds)]
    before = resident()
    VirtualMachine(runtime.load_module(path), "cpu")["forward"](*inputs)
    return {"megabytes": resident() - before}


def resident() -> float:
    """Megabytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def ready_rows(name: str, mode: str, inputs: list[Any]) -> list[Row]:
    """Seconds from graph to runnable, without and with what the cache has; memory of the exported model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.so")
        path.with_suffix(".json").write_text(json.dumps([x.tolist() for x in inputs]))
        path.with_suffix(".dtypes").write_text(json.dumps([str(x.dtype) for x in inputs]))
        cache = {"LOOPWRIGHT_CACHE_DIR": str(Path(folder, "cache"))}
        cold = child("--ready", name, "--mode", mode, **cache)["seconds"]
        again = child("--ready", name, "--mode", mode, "--path", str(path), **cache)["seconds"]
        memory = child("--memory", name, "--path", str(path))["megabytes"]
    return [
        Row(f"{name}: ready", cold, "s", 6.0),
        Row(f"{name}: ready from the cache", again, "s", 0.5),
        Row(f"{name}: memory", memory, "MB", 72.0 if name == "resnet18" else None),
    ]


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
        others["ours"] = run = ours(name, weights, inputs, mode)
        worst = max(float(np.abs(f.numpy() - w).max()) for f, w in zip(several(run()), want))
        times = {who: t.median * 1e3 for who, t in take_turns(others, REPEAT, 1).items()}
        goal = times.get("onnxruntime")
        found.append(Row(f"{name}: latency", times.pop("ours"), "ms", goal and 1.1 * goal))
        found += [Row(f"{name}: {other}", ms, "ms") for other, ms in times.items()]
        found.append(Row(f"{name}: error", worst * 1e6, "1e-6", 100.0))
        found += ready_rows(name, mode, inputs)
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
    parser.add_argument("--ready", help=argparse.SUPPRESS)
    parser.add_argument("--memory", help=argparse.SUPPRESS)
    parser.add_argument("--path", default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.ready or args.memory:
        one = (
            make_ready(args.ready, args.mode, args.path)
            if args.ready
            else measure_memory(args.memory, args.path)
        )
        print(json.dumps(one))
        return
    show(rows(args.models, args.mode, Peers(args.peers) if args.peers else None), args.json)


if __name__ == "__main__":
    main()
