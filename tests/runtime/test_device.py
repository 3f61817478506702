from __future__ import annotations

import pickle

import pytest

from loopwright.errors import ArgumentTypeError, ArgumentValueError
from loopwright.runtime import Device, cpu, cuda, device
from loopwright.runtime.device import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_one_object_per_place(kind: str) -> None:
    one = Device(kind, 3)
    assert one is Device(f"{kind}:3") is Device(one) is Device(one.dlpack) is pickle.loads(pickle.dumps(one))
    assert (one.kind, one.index, one.device_type) == (kind, 3, KINDS[kind])
    assert str(one) == f"{kind}:3" and eval(repr(one)) is one


def test_short_forms() -> None:
    assert device("cpu") is cpu() is Device("cpu:0")
    assert cuda(1) is Device("cuda:1")
    assert cpu().exist and not Device("cpu:1").exist and not Device("vulkan").exist


@pytest.mark.parametrize("spec", ["llvm", "cuda:x", "", "cuda:-1", (99, 0), ("cpu", 0)])
def test_what_is_no_device(spec: object) -> None:
    with pytest.raises(ArgumentValueError, match="device"):
        Device(spec)  # type: ignore[arg-type]


def test_near_names_and_other_types() -> None:
    with pytest.raises(ArgumentValueError, match="did you mean `cuda`"):
        Device("cudda:1")
    with pytest.raises(ArgumentTypeError):
        Device(1.5)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        cpu().kind = "cuda"  # type: ignore[misc]
