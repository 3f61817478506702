"""`tvm.relax.testing.vm`: functions by name that tests of the virtual machine call."""

from __future__ import annotations

from typing import Any

from .....runtime import Tensor, register_func, tensor
from ....adapters import lacking


def _array(x: Any) -> Any:
    return x.numpy() if isinstance(x, Tensor) else x


def _register(name: str, function: Any) -> None:
    register_func(f"test.vm.{name}", function, override=True)


_register("move", lambda x: x)
_register("add", lambda a, b: tensor(_array(a) + _array(b)))
_register("mul", lambda a, b: tensor(_array(a) * _array(b)))
_register("equal_zero", lambda a: tensor(_array(a) == 0))
_register("subtract_one", lambda a: tensor(_array(a) - 1))
_register("add_scalar", lambda a, b: a + b)
_register("get_device_id", lambda device: device.index)


def _identity(a: Tensor, b: Tensor) -> None:
    b.copyfrom(a)


def _tile(a: Tensor, b: Tensor) -> None:
    import numpy as np

    b.copyfrom(np.tile(a.numpy(), (1, 2)))


_register("identity", _identity)
_register("tile", _tile)


def check_saved_func(vm: Any, func_name: str, *inputs: Any) -> Any:
    """The result of a function, which is equal to that of the same call saved."""
    import numpy as np

    vm.save_function(func_name, "saved_func", *inputs)
    direct, saved = vm[func_name](*inputs), vm["saved_func"]()
    _compare(np, saved, direct)
    return direct


def _compare(np: Any, a: Any, b: Any) -> None:
    if isinstance(a, tuple):
        for x, y in zip(a, b, strict=True):
            _compare(np, x, y)
        return
    np.testing.assert_allclose(_array(a), _array(b))


__getattr__ = lacking("tvm.relax.testing.vm")

__all__ = ["check_saved_func"]
