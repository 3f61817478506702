"""Machines with and without machine code."""

from __future__ import annotations

import pytest

from loopwright.runtime.vm import VirtualMachine


@pytest.fixture(params=["machine code", "python"])
def machine(request):
    """Makes a machine of a module: run by machine code, or by the interpreter in Python."""

    def make(module):
        vm = VirtualMachine(module)
        if request.param == "python":
            vm.set_instrument(lambda *args: 0)
        return vm

    return make
