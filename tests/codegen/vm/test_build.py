"""Graph functions from script to results: building, both modes, checks, files."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import loopwright
from loopwright.errors import ArgumentTypeError, ArgumentValueError, CodegenError, ExecutionError, PassError
from loopwright.runtime import load_module, remove_global_func
from loopwright.runtime.vm import VirtualMachine, VMModule, parse_bytecode, same_bytecode

MODES = pytest.mark.parametrize("mode", ["bytecode", "compiled"])


def build(text, **options):
    return loopwright.build(loopwright.parse(text), **options)


def machine(text, **options):
    return VirtualMachine(build(text, **options))


CHAIN = """
@R.function
def main(x: R.Tensor((2, "n"), "float32"), y: R.Tensor((2, "n"), "float32")) -> R.Tensor((2, "n"), "float32"):
    with R.dataflow():
        a = R.add(x, y)
        b = R.multiply(a, x)
        c = R.subtract(b, y)
        R.output(c)
    return c
"""


@MODES
@pytest.mark.parametrize("pipeline", ["default", "default_build"])
def test_one_function_serves_every_size(mode, pipeline):
    lib = build(CHAIN, exec_mode=mode, relax_pipeline=pipeline)
    assert isinstance(lib, VMModule)
    for n in (1, 7, 0, 64, 3):
        x, y = np.arange(2 * n, dtype="float32").reshape(2, n), np.ones((2, n), "float32")
        np.testing.assert_array_equal(lib["main"](x, y).numpy(), (x + y) * x - y)


def test_wrong_arguments_name_parameter_symbol_and_both_values():
    vm = machine(CHAIN)
    x = np.ones((2, 3), "float32")
    for args, kind, words in [
        ((x,), ArgumentTypeError, "takes 2 arguments but 1 was given"),
        ((x, x[:, :2]), ArgumentValueError, r"main: parameter 2 \(y\) must have shape\[1\] 3 \(`n`\), not 2"),
        ((x[0], x), ArgumentValueError, r"parameter 1 \(x\) must have 2 dimensions, not 1"),
        ((x, x.astype("int32")), ArgumentTypeError, "must have dtype `float32`, not `int32`"),
    ]:
        with pytest.raises(kind, match=words):
            vm["main"](*args)
    assert vm["main"](x, x).shape == (2, 3)


def test_straight_code_is_one_kernel_in_compiled_mode():
    lib = build(CHAIN, exec_mode="compiled", relax_pipeline="default_build")
    kernels = [f.name for f in lib.executable.functions if f.kind == "packed" and "." not in f.name]
    assert kernels == ["shape_func", "main_run"]
    assert "main_run" in lib.source("llvm")


BRANCHES = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), flag: R.Tensor((), "bool")) -> R.Tensor(("n", 4), "float32"):
    if flag:
        a = R.add(x, x)
        b = R.add(a, a)
        y = R.multiply(b, b)
    else:
        y = R.negative(x)
    return y
"""


@MODES
def test_branches(mode):
    vm = machine(BRANCHES, exec_mode=mode)
    x = np.arange(8, dtype="float32").reshape(2, 4)
    np.testing.assert_array_equal(vm["main"](x, np.array(True)).numpy(), (4 * x) ** 2)
    np.testing.assert_array_equal(vm["main"](x, np.array(False)).numpy(), -x)


CLOSURE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        @R.function
        def inner(z: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            w = R.add(z, y)
            return w
        a = inner(x)
        b = inner(a)
        return b

    @R.function
    def count(n: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
        cls = Module
        more = R.greater(n, R.const(0, "int32"))
        if more:
            less = R.subtract(n, R.const(1, "int32"))
            rest = cls.count(less)
            result = R.add(rest, n)
        else:
            result = R.const(0, "int32")
        return result
"""


@MODES
def test_closures_and_recursion(mode):
    vm = machine(CLOSURE, exec_mode=mode)
    x = np.arange(3, dtype="float32")
    np.testing.assert_array_equal(vm["main"](x, 2 * x).numpy(), 5 * x)
    assert vm["count"](np.array(10, "int32")).item() == 55


SHAPES = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), k: R.Tensor((2,), "int64"), m: T.int64) -> R.Tuple(
    R.Tensor(ndim=2, dtype="float32"), R.Shape(["n * 4", "n"]), T.int64
):
    n = T.int64()
    s = R.tensor_to_shape(k)
    y = R.reshape(x, s)
    shape = R.shape([n * 4, n])
    return (y, shape, m)
"""


def test_shapes_and_numbers_are_values():
    vm = machine(SHAPES)
    x = np.arange(12, dtype="float32").reshape(3, 4)
    y, shape, m = vm["main"](x, np.array([2, 6]), 5)
    np.testing.assert_array_equal(y.numpy(), x.reshape(2, 6))
    assert shape == (12, 3) and m == 5
    with pytest.raises(ArgumentValueError, match="12 elements"):
        vm["main"](x, np.array([2, 5]), 5)
    with pytest.raises(ArgumentTypeError, match=r"\(m\) must be a number of `int64`, not 2.5"):
        vm["main"](x, np.array([2, 6]), 2.5)


CAST = """
@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n", 2), "float32"):
    n = T.int64()
    y = R.call_packed("test.twice", x, ty_args=(R.Tensor(ndim=2, dtype="float32"),))
    z = R.match_cast(y, R.Tensor((n, 2), "float32"))
    w = R.add(z, z)
    return w
"""


@pytest.fixture
def twice():
    """A function whose result has two columns, or as many as `columns` says."""
    columns = [2]

    def run(x):
        return np.repeat(x.numpy()[:, None], columns[0], axis=1)

    loopwright.register_func("test.twice", run, override=True)
    yield columns
    remove_global_func("test.twice")


def test_what_only_run_time_can_refute_is_refuted(twice):
    vm = machine(CAST)
    x = np.arange(3, dtype="float32")
    np.testing.assert_array_equal(vm["main"](x).numpy(), np.stack([x, x], 1) * 2)
    twice[0] = 3
    with pytest.raises(ArgumentValueError, match=r"`z` of match_cast at .* must have shape\[1\] 2, not 3"):
        vm["main"](x)


def test_an_error_names_the_line_of_the_script(twice):
    remove_global_func("test.twice")
    loopwright.register_func("test.twice", lambda x: 1 / 0)
    with pytest.raises(ZeroDivisionError) as caught:
        machine(CAST)["main"](np.zeros(2, "float32"))
    assert any("`test.twice`" in note and "<text>:5" in note for note in caught.value.__notes__)


BOUNDED = """
@R.function
def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    R.func_attr({"tir_var_upper_bound": {"n": 16}})
    a = R.add(x, x)
    b = R.reshape(a, R.shape([-1, 1]))
    c = R.sum(b, axis=[1])
    d = R.add(c, a)
    return d
"""


def test_bounds_of_sizes_hold():
    vm = machine(BOUNDED, relax_pipeline="default_build")
    assert "c[" in vm.module.as_text()
    for n in (3, 16, 5):
        x = np.arange(n, dtype="float32")
        np.testing.assert_array_equal(vm["main"](x).numpy(), 4 * x)
    with pytest.raises(ExecutionError, match="needs 128 bytes, but its storage has 64"):
        vm["main"](np.zeros(32, "float32"))
    assert vm["main"](np.ones(7, "float32")).shape == (7,)


INPLACE = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def shift(x: T.Buffer((T.int64(8),), "float32"), y: T.Buffer((T.int64(8),), "float32")):
        for i in range(T.int64(7)):
            x[i + T.int64(1)] = y[i] + T.float32(1)

    @R.function(pure=False)
    def main(x: R.Tensor((8,), "float32"), y: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        cls = Module
        z = R.call_tir_inplace(cls.shift, (x, y), inplace_indices=[0], out_ty=R.Tensor((8,), "float32"))
        return z
"""


def test_kernels_in_place_and_arguments_that_overlap():
    vm = machine(INPLACE)
    x, y = np.zeros(8, "float32"), np.arange(8, dtype="float32")
    assert list(vm["main"](x, y).numpy()) == list(range(8)) and list(x) == list(range(8))
    x = np.zeros(8, "float32")
    assert list(vm["main"](x, x).numpy()) == list(range(8))
    frozen = np.zeros(8, "float32")
    frozen.flags.writeable = False
    with pytest.raises(ArgumentValueError, match="read-only"):
        vm["main"](frozen, y)


EFFECTS = """
@R.function(pure=False)
def main(x: R.Tensor((2,), "int32"), n: T.int64) -> R.Tensor((2,), "int32"):
    _ = R.print(x, n, format="x={} n={}")
    _1 = R.assert_op(n % 2 == 0, n, format="{} is odd")
    return x
"""


def test_printing_and_assertions(capsys):
    vm = machine(EFFECTS)
    vm["main"](np.array([1, 2], "int32"), 4)
    assert capsys.readouterr().out == "x=[1 2] n=4\n"
    with pytest.raises(AssertionError, match="3 is odd"):
        vm["main"](np.array([1, 2], "int32"), 3)


def test_equal_kernels_are_compiled_once():
    lib = build(
        """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def one(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            y[i] = x[i] + T.float32(1)

    @T.prim_func(private=True)
    def other(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for j in range(4):
            b[j] = a[j] + T.float32(1)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        y = R.call_tir(cls.one, (x,), out_ty=R.Tensor((4,), "float32"))
        z = R.call_tir(cls.other, (y,), out_ty=R.Tensor((4,), "float32"))
        return z
""",
        relax_pipeline="default_build",
    )
    assert lib.source("llvm").count("define i32 @lw.raw.") == 1
    assert list(lib["main"](np.zeros(4, "float32")).numpy()) == [2, 2, 2, 2]


def test_public_kernels_of_a_graph_module_can_be_called():
    lib = build(
        """
@I.ir_module
class Module:
    @T.prim_func
    def one(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            y[i] = x[i] + T.float32(1)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.call_tir(Module.one, (x,), out_ty=R.Tensor((4,), "float32"))
        return y
"""
    )
    x, y = np.zeros(4, "float32"), np.zeros(4, "float32")
    lib["one"](x, y)
    assert y[0] == 1 and lib["main"](x).numpy()[0] == 1


def test_constants_are_used_where_they_lie():
    text = """
@R.function
def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    y = R.call_packed("test.twice", w, ty_args=(R.Tensor((4,), "float32"),))
    return y
""".replace("@R.function", "@R.function(pure=False)")
    seen = []
    loopwright.register_func("test.twice", lambda w: seen.append(w.numpy()) or w, override=True)
    try:
        w = np.arange(4, dtype="float32")
        lib = build(text, params={"w": w}, relax_pipeline="default_build")
        lib["main"](np.zeros(4, "float32"))
        (constant,) = [c for c in lib.executable.constants if isinstance(c, np.ndarray)]
        assert np.shares_memory(seen[0], constant) and (constant == w).all()
    finally:
        remove_global_func("test.twice")


def test_wrong_options_are_named():
    mod = loopwright.parse(CHAIN)
    with pytest.raises(ArgumentValueError, match="exec_mode"):
        loopwright.build(mod, exec_mode="fast")
    with pytest.raises(PassError, match="no pipeline `defualt`"):
        loopwright.build(mod, relax_pipeline="defualt")
    with pytest.raises(CodegenError, match="relax.add"):
        loopwright.build(mod, relax_pipeline=None)
    kernel = "@T.prim_func\ndef f(x: T.Buffer((4,), 'float32')):\n    x[0] = T.float32(0)"
    with pytest.raises(ArgumentTypeError, match="relax_pipeline"):
        loopwright.build(loopwright.parse(kernel), relax_pipeline="zero")


FRESH = """
import sys
import numpy as np
from loopwright.runtime import load_module
from loopwright.runtime.vm import VirtualMachine
vm = VirtualMachine(load_module(sys.argv[1]))
x = np.arange(6, dtype="float32").reshape(2, 3)
assert (vm["main"](x, x).numpy() == (x + x) * x - x).all()
vm.set_instrument(lambda *args: 0)
assert (vm["main"](x, x).numpy() == (x + x) * x - x).all()
try:
    vm["main"](x, x[:, :2])
except ValueError as err:
    assert "3 (`n`), not 2" in str(err)
rooms = {name.split(".")[1] for name in sys.modules if name.startswith("loopwright.")}
print(sorted(rooms - {"runtime", "errors", "dtype", "target", "node"}))
"""


@pytest.mark.parametrize("suffix", [".so", ".o"])
@MODES
def test_a_file_runs_without_the_compiler(tmp_path, suffix, mode):
    lib = build(CHAIN, exec_mode=mode, relax_pipeline="default_build")
    path = lib.export(tmp_path / f"model{suffix}")
    again = load_module(path)
    assert same_bytecode(again.executable, lib.executable)
    found = subprocess.run(
        [sys.executable, "-c", FRESH, str(path)], capture_output=True, text=True, env=os.environ, check=False
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip() == "[]"


def test_constants_and_errors_of_kernels_survive_a_file(tmp_path):
    text = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def divide(x: T.Buffer((4,), "int32"), y: T.Buffer((4,), "int32"), z: T.Buffer((4,), "int32")):
        for i in range(4):
            z[i] = T.floordiv(x[i], y[i])

    @R.function
    def main(x: R.Tensor((4,), "int32"), w: R.Tensor((4,), "int32")) -> R.Tensor((4,), "int32"):
        y = R.call_tir(Module.divide, (w, x), out_ty=R.Tensor((4,), "int32"))
        return y
"""
    w = np.arange(0, 40, 10, dtype="int32")
    lib = build(text, params={"w": w}, relax_pipeline="default_build")
    again = load_module(lib.export(tmp_path / "model.o"))
    for module in (lib, again):
        assert list(module["main"](np.full(4, 5, "int32")).numpy()) == [0, 2, 4, 6]
        with pytest.raises(ZeroDivisionError, match="division by zero in `divide`"):
            module["main"](np.zeros(4, "int32"))
    (constant,) = [c for c in again.executable.constants if isinstance(c, np.ndarray)]
    assert (constant == w).all() and not constant.flags.writeable


def test_a_module_without_kernels_has_a_file(tmp_path):
    text = """
@R.function
def main(x: R.Tensor(("n", 2), "float32")) -> R.Shape(["n", 2]):
    n = T.int64()
    return R.shape([n, 2])
"""
    again = load_module(build(text).export(tmp_path / "model.o"))
    assert again["main"](np.zeros((3, 2), "float32")) == (3, 2)


def test_a_result_of_another_shape_than_declared_is_refused(twice):
    vm = machine(
        """
@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n", 2), "float32"):
    n = T.int64()
    y = R.call_packed("test.twice", x, ty_args=(R.Tensor(ndim=2, dtype="float32"),))
    return y
"""
    )
    assert vm["main"](np.zeros(3, "float32")).shape == (3, 2)
    twice[0] = 5
    with pytest.raises(ArgumentValueError, match=r"the returned value must have shape\[1\] 2, not 5"):
        vm["main"](np.zeros(3, "float32"))


def test_files_of_other_kinds_are_refused(tmp_path):
    lib = build(CHAIN)
    with pytest.raises(CodegenError, match="cannot be exported as `model.ll`"):
        lib.export(tmp_path / "model.ll")
    (tmp_path / "empty.so").write_bytes(b"")
    with pytest.raises(ValueError, match="no library"):
        load_module(tmp_path / "empty.so")


def test_bytecode_of_a_module_prints_and_parses():
    lib = build(CHAIN)
    text = lib.as_text(constants=True)
    assert same_bytecode(parse_bytecode(text), lib.executable)
    assert lib.source("bytecode") == lib.as_text() and "fused" in lib.stats() + lib.as_text()


DIVIDE = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def divide(x: T.Buffer((4,), "int32"), y: T.Buffer((4,), "int32"), z: T.Buffer((4,), "int32")):
        for i in range(4):
            z[i] = T.floordiv(x[i], y[i])

    @R.function
    def main(x: R.Tensor((4,), "int32"), w: R.Tensor((4,), "int32")) -> R.Tensor((4,), "int32"):
        y = R.call_tir(Module.divide, (w, x), out_ty=R.Tensor((4,), "int32"))
        return y
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache on the disk."""
    monkeypatch.setenv("LOOPWRIGHT_CACHE", "1")
    monkeypatch.setenv("LOOPWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_module_that_was_built_before_needs_no_passes(cache, monkeypatch):
    w = np.arange(0, 40, 10, dtype="int32")
    first = build(DIVIDE, params={"w": w})
    passes = []
    monkeypatch.setattr("loopwright.codegen.vm.build.emit_bytecode", lambda mod: passes.append(mod))
    again = build(DIVIDE, params={"w": w})
    assert same_bytecode(first.executable, again.executable) and not passes
    for module in (first, again):
        assert list(module["main"](np.full(4, 5, "int32")).numpy()) == [0, 2, 4, 6]
    monkeypatch.undo()
    with pytest.raises(ZeroDivisionError, match="division by zero in `divide`"):
        again["main"](np.zeros(4, "int32"))
    assert "floordiv" in again.source("llvm") or "sdiv" in again.source("llvm")


def test_other_constants_names_and_options_are_other_modules(cache):
    w = np.arange(0, 40, 10, dtype="int32")
    x = np.full(4, 5, "int32")
    assert list(build(DIVIDE, params={"w": w})["main"](x).numpy()) == [0, 2, 4, 6]
    assert list(build(DIVIDE, params={"w": 2 * w})["main"](x).numpy()) == [0, 4, 8, 12]
    renamed = build(DIVIDE.replace("main(x:", "main(first:").replace("(w, x)", "(w, first)"), params={"w": w})
    with pytest.raises(ArgumentTypeError, match=r"\(first\)"):
        renamed["main"](3)


def test_a_damaged_cache_costs_only_time(cache):
    w = np.arange(0, 40, 10, dtype="int32")
    build(DIVIDE, params={"w": w})
    for path in cache.glob("??/*"):
        path.write_bytes(path.read_bytes()[:-7])
    lib = build(DIVIDE, params={"w": w})
    assert list(lib["main"](np.full(4, 5, "int32")).numpy()) == [0, 2, 4, 6]


def test_kernels_are_compiled_by_several_processes(cache, monkeypatch):
    from loopwright.codegen import workers

    monkeypatch.setattr(workers, "core_count", lambda: 2)
    text = CHAIN.replace("R.multiply", "R.maximum")
    finished = []
    monkeypatch.setattr(workers.Progress, "__call__", lambda self, n: finished.append((n, self.total)))
    lib = build(text, relax_pipeline="default_build")
    assert finished[-1] == (4, 4)  # three operators, and the sizes
    x = np.ones((2, 3), "float32")
    np.testing.assert_array_equal(lib["main"](x, x).numpy(), np.ones((2, 3)))


def test_work_that_fails_in_another_process_is_left(monkeypatch):
    from loopwright.codegen import workers

    monkeypatch.setattr(workers, "core_count", lambda: 2)
    finished = []
    workers.share(5, lambda k: 1 // (k - 2), finished.append)
    assert finished[-1] == 5
    finished.clear()
    workers.share(1, lambda k: None, finished.append)
    assert not finished
