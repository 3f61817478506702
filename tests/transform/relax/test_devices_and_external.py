"""Devices of tensors, external compilers, and small passes."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright.errors import PassError
from loopwright.ir import PrimFunc, VDevice
from loopwright.ir.analysis import assert_well_formed
from loopwright.ir.relax import TensorType
from loopwright.ir.relax.dpl import is_op, wildcard
from loopwright.runtime import register_func
from loopwright.target import Target
from loopwright.transform import get_pass


def run(name, mod, **options):
    made = get_pass(f"relax.{name}")(mod, **options)
    assert_well_formed(made)
    return made


DEVICES = """
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            a = R.hint_on_device(x, "cuda:0")
            b = R.add(a, y)
            c = R.exp(b)
            R.output(c)
        return c
"""


def test_hints_become_types(graphs):
    made = run("RealizeVDevice", graphs.module(DEVICES))
    func = made["main"]
    assert all(p.ty.vdevice is not None for p in func.params) and func.ret_ty.vdevice is not None
    assert "hint_on_device" not in graphs.calls(made)


def test_two_devices_are_refused(graphs):
    text = DEVICES.replace(
        "b = R.add(a, y)", 'd = R.hint_on_device(y, "llvm:0")\n            b = R.add(a, d)'
    )
    with pytest.raises(PassError, match="two devices"):
        run("RealizeVDevice", graphs.module(text))


def test_a_device_is_exchanged(graphs):
    made = run("RealizeVDevice", graphs.module(DEVICES))
    old = made["main"].params[0].ty.vdevice
    made = made.replace(global_infos={"vdevice": (old,)})
    new = VDevice(Target("llvm"), 1, "global")
    made = get_pass("relax.UpdateVDevice")(made, new_vdevice=new, index=0)
    assert made["main"].params[1].ty.vdevice.vdevice_id == 1
    with pytest.raises(PassError, match="number 3"):
        get_pass("relax.UpdateVDevice")(made, new_vdevice=new, index=3)


def test_kernels_learn_of_scopes(graphs):
    mod = graphs.module(DEVICES.replace('"cuda:0"', '"cuda:0", memory_scope="shared"'))
    mod = run("LegalizeOps", run("RealizeVDevice", mod))
    made = get_pass("relax.SpecializePrimFuncBasedOnCallSite")(mod)
    scopes = {
        p.ty.storage_scope for f in made.functions.values() if isinstance(f, PrimFunc) for p in f.params
    }
    assert scopes == {"shared"}


def test_parameters_get_other_types(graphs):
    mod = graphs.module(DEVICES.replace('R.hint_on_device(x, "cuda:0")', "x"))
    made = run("UpdateParamType", mod, ty_func=lambda p: TensorType((2, 3), "float64"))
    assert str(made["main"].ret_ty.dtype) == "float64"


def test_external_compilers_get_their_functions(graphs):
    mod = graphs.module(
        """
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            b = R.add(x, R.const(np.ones((2, 3), "float32")))
            c = R.exp(b)
            R.output(c)
        return c
""".replace('np.ones((2, 3), "float32")', "1.5")
    )
    pattern = ("ext.addexp", is_op("relax.exp")(is_op("relax.add")(wildcard(), wildcard())))
    mod = run("FuseOpsByPattern", mod, patterns=[pattern], annotate_codegen=True)
    with pytest.raises(PassError, match=r"relax\.ext\.ext"):
        run("RunCodegen", mod)
    seen = []

    def compile_all(functions, options, names):
        seen.append((functions, options, names))
        return ["module"]

    register_func("relax.ext.ext", compile_all, override=True)
    made = run("RunCodegen", mod, target_options={"ext": {"level": 3}})
    [(functions, options, names)] = seen
    assert (
        len(functions) == 1
        and options == {"level": 3}
        and list(names.values()) == [f"{functions[0].attrs['global_symbol']}_ext_const_0"]
    )
    assert made.attrs["external_mods"] == ("module",)
    assert list(made.attrs["const_name_to_constant"]) == list(names.values())
    assert graphs.calls(made) == ["call_dps_packed"]
    more = get_pass("relax.AttachExternModules")(made, extern_modules=["other"])
    assert more.attrs["external_mods"] == ("module", "other")


def test_workspaces_are_made_by_callers(graphs):
    made = run(
        "AllocateWorkspace",
        graphs.module(
            """
    @R.function
    def region(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Codegen": "ext", "WorkspaceSize": 64})
        y = R.exp(x)
        return y

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        y = cls.region(x)
        z = cls.region(y)
        return z
"""
        ),
    )
    assert graphs.calls(made) == ["builtin.alloc_tensor", "region", "region"]
    assert len(made["region"].params) == 2 and "WorkspaceSize" not in made["region"].attrs


def test_order_of_bindings(graphs):
    text = """
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.sin(x)
            c = R.cos(a)
            d = R.tanh(b)
            e = R.add(c, d)
            R.output(e)
        return e
"""
    expected = {
        ("depth-first", "from-inputs"): ["exp", "cos", "sin", "tanh", "add"],
        ("breadth-first", "from-inputs"): ["exp", "sin", "cos", "tanh", "add"],
        ("depth-first", "from-outputs"): ["exp", "cos", "sin", "tanh", "add"],
        ("breadth-first", "from-outputs"): ["sin", "exp", "tanh", "cos", "add"],
    }
    for (order, direction), words in expected.items():
        made = graphs.check(text, "TopologicalSort", order=order, direction=direction, again=False)
        assert graphs.calls(made) == words, (order, direction)


def test_operands_that_die_are_written_into(graphs):
    made = graphs.check(
        """
    @R.function
    def main(x: R.Tensor((2, "n"), "float32"), y: R.Tensor((2, "n"), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.add(a, y)
            c = R.nn.relu(b)
            d = R.multiply(c, b)
            out = (d, d)
            R.output(out)
        return out
""",
        "DataflowUseInplaceCalls",
    )
    assert graphs.calls(made) == ["exp", "add_inplace", "nn.relu", "multiply_inplace"]


NORM = """
    @R.function
    def main(
        x: R.Tensor((2, 3, 4), "float32"),
        g: R.Tensor((3,), "float32"),
        b: R.Tensor((3,), "float32"),
        m: R.Tensor((3,), "float32"),
        v: R.Tensor((3,), "float32"),
    ):
        with R.dataflow():
            n = R.nn.batch_norm(x, g, b, m, v, axis=1, training={training})
            R.output(n)
        return n
"""


def test_normalisation_is_decomposed(graphs):
    random = np.random.default_rng(0)
    args = [random.random(s).astype("float32") for s in ((2, 3, 4), 3, 3, 3, 3)]
    made = graphs.check(NORM.format(training=False), "DecomposeOpsForInference", args=args, rtol=1e-4)
    assert "nn.batch_norm" not in graphs.calls(made)
    made = graphs.check(NORM.format(training=True), "DecomposeOpsForTraining", args=args, rtol=1e-4)
    assert "nn.batch_norm" not in graphs.calls(made)


def test_shapes_from_tensors_are_casts(graphs):
    text = """
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), k: R.Tensor((2,), "int64")) -> R.Tensor(ndim=2, dtype="float32"):
        s = R.tensor_to_shape(k)
        y = R.reshape(x, s)
        z = R.add(y, R.const(1.0))
        return z
"""
    mod = graphs.module(text)
    made = run("DecomposeOpsForInference", mod)
    assert "tensor_to_shape" not in graphs.calls(made)
    assert made["main"].body.ty.ndim == 2
