"""A function body as one region of device code."""

from __future__ import annotations

from ...ir import AttrStmt, PrimFunc, const
from ..registry import prim_func_pass

DEVICE_SCOPE = "device_scope"


@prim_func_pass("s_tir.DecorateDeviceScope")
def decorate_device_scope(func: PrimFunc) -> PrimFunc:
    """The whole body gets the attribute `device_scope`; a body that has it stays.

    before:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32")):
            A[0] = 1

    after:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32")):
            with T.attr(0, "device_scope", 0):
                A[0] = 1
    """
    if isinstance(func.body, AttrStmt) and func.body.attr_key == DEVICE_SCOPE:
        return func
    zero = const(0, "int32")
    return func.replace(body=AttrStmt(zero, DEVICE_SCOPE, zero, func.body))
