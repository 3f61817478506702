"""The examples for GPUs are accepted by CUDA's compiler; that they run is tested with the documents."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import loopwright
from loopwright.codegen.cuda import compile as cuda
from loopwright.errors import MissingDependencyError
from loopwright.ir import PrimFunc

EXAMPLES = sorted((Path(__file__).parents[3] / "docs" / "examples").glob("gpu_*.py"))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_compiles(path: Path, arch: str) -> None:
    try:
        cuda.compiler()
    except MissingDependencyError as err:
        pytest.skip(f"no compiler for CUDA here: {err.diagnostics[0].message}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    [kernel] = [v for v in vars(example).values() if isinstance(v, PrimFunc)]
    text = loopwright.build(kernel, f"cuda -arch={arch}").source("ptx")
    assert f".target {arch}" in text
