"""Running bytecode: values, control flow, memory, errors; in machine code and in Python alike."""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref

import numpy as np
import pytest

import loopwright
from loopwright.codegen.vm import ExecBuilder
from loopwright.dtype import DType
from loopwright.errors import ArgumentTypeError, ArgumentValueError, ExecutionError
from loopwright.runtime import Tensor, from_dlpack, memory, remove_global_func, tensor
from loopwright.runtime.vm import Closure, VirtualMachine, parse_bytecode

CONTEXT = 'main: parameter 1 (x)\nR.Tensor((2, n), "float32")\n2; n'


@pytest.fixture
def packed():
    """Registers functions for a test."""
    names = []

    def register(name, function):
        loopwright.register_func(name, function, override=True)
        names.append(name)

    yield register
    for name in names:
        remove_global_func(name)


def add_into(a, b, c):
    c.numpy()[...] = a.numpy() + b.numpy()


def adder(size=1024):
    """main(x, y): checks both, adds them into a tensor of its own."""
    ib = ExecBuilder()
    with ib.function("main", 2, ["x", "y"]):
        ib.emit_call("vm.builtin.alloc_shape_heap", [ib.vm_state(), ib.imm(1)], ib.r(2))
        for k, (code, name) in enumerate([(1, "x"), (3, "y")]):
            context = CONTEXT.replace("parameter 1 (x)", f"parameter {k + 1} ({name})")
            args = [ib.r(k), ib.imm(2), DType("float32"), context]
            ib.emit_call("vm.builtin.check_tensor_info", args)
            codes = [ib.imm(v) for v in (0, 2, code, 0)]
            ib.emit_call("vm.builtin.match_shape", [ib.r(k), ib.r(2), ib.imm(2), *codes, context])
        args = [ib.vm_state(), (size,), ib.imm(0), DType("uint8"), "global"]
        ib.emit_call("vm.builtin.alloc_storage", args, ib.r(3))
        codes = [ib.imm(v) for v in (0, 2, 1, 0)]
        ib.emit_call("vm.builtin.make_shape", [ib.r(2), ib.imm(2), *codes], ib.r(4))
        args = [ib.r(3), ib.imm(0), ib.r(4), DType("float32"), ib.imm(0)]
        ib.emit_call("vm.builtin.alloc_tensor", args, ib.r(5))
        ib.emit_call("test.add_into", [ib.r(0), ib.r(1), ib.r(5)])
        ib.emit_ret(ib.r(5))
    return ib.get()


def test_arguments_and_results(machine, packed):
    packed("test.add_into", add_into)
    vm = machine(adder())
    x = np.arange(6, dtype="float32").reshape(2, 3)
    for given in (x, tensor(x), memoryview(x), np.asfortranarray(x), x[::1].astype(">f4")):
        result = vm["main"](given, x)
        assert isinstance(result, Tensor) and result.dtype == "float32" and result.shape == (2, 3)
        np.testing.assert_array_equal(result.numpy(), x + x)
        np.testing.assert_array_equal(np.asarray(result), x + x)
    assert np.shares_memory(from_dlpack(result).numpy(), result.numpy())
    np.testing.assert_array_equal(vm["main"](y=x, x=2 * x).numpy(), 3 * x)


def test_results_stay_what_they_are(machine, packed):
    packed("test.add_into", add_into)
    vm = machine(adder())
    x = np.ones((2, 3), "float32")
    results = [vm["main"](k * x, x) for k in range(20)]
    for k, result in enumerate(results):
        np.testing.assert_array_equal(result.numpy(), k + x)


@pytest.mark.parametrize(
    ("args", "kind", "words"),
    [
        (((2, 3),), ArgumentTypeError, "takes 2 arguments but 1 was given"),
        (((2, 3), (2, 4)), ArgumentValueError, r"parameter 2 \(y\) must have shape\[1\] 3 \(`n`\), not 4"),
        (((3, 3), (3, 3)), ArgumentValueError, r"parameter 1 \(x\) must have shape\[0\] 2, not 3"),
        (((2, 3, 1), (2, 3)), ArgumentValueError, r"parameter 1 \(x\) must have 2 dimensions, not 3"),
    ],
)
def test_wrong_shapes_name_parameter_symbol_and_values(machine, packed, args, kind, words):
    packed("test.add_into", add_into)
    vm = machine(adder())
    with pytest.raises(kind, match=words):
        vm["main"](*[np.ones(s, "float32") for s in args])
    assert vm["main"](np.ones((2, 1), "float32"), np.ones((2, 1), "float32")).shape == (2, 1)


def test_wrong_kinds_are_named(machine, packed):
    packed("test.add_into", add_into)
    vm = machine(adder())
    x = np.ones((2, 3), "float32")
    with pytest.raises(ArgumentTypeError, match=r"\(y\) must have dtype `float32`, not `float64`"):
        vm["main"](x, x.astype("float64"))
    with pytest.raises(ArgumentTypeError, match=r"\(x\) must be a tensor, not an int"):
        vm["main"](3, x)
    with pytest.raises(ArgumentTypeError, match=r"\(x\) is an? object, which"):
        vm["main"](object(), x)
    with pytest.raises(ArgumentTypeError, match="no parameter `z`"):
        vm["main"](x, z=x)
    with pytest.raises(ArgumentTypeError, match="misses `y`"):
        vm["main"](x=x)
    with pytest.raises(AttributeError, match="did you mean `main`"):
        vm["mian"]


def test_a_storage_that_is_too_small_says_so(machine, packed):
    packed("test.add_into", add_into)
    vm = machine(adder(size=24))
    small, large = np.ones((2, 3), "float32"), np.ones((2, 4), "float32")
    assert vm["main"](small, small).shape == (2, 3)
    with pytest.raises(ExecutionError, match="needs 32 bytes, but its storage has 24"):
        vm["main"](large, large)
    assert vm["main"](small, small).shape == (2, 3)


COUNT = """
@main(n) registers 3:
  call test.zero in: dst: %1
  call test.less in: %1, %0 dst: %2
  if %2, 3
  call test.next in: %1 dst: %1
  goto -3
  ret %1
@test.zero packed
@test.less packed
@test.next packed
"""


def test_jumps(machine, packed):
    packed("test.zero", lambda: 0)
    packed("test.less", lambda a, b: a < b)
    packed("test.next", lambda a: a + 1)
    assert machine(parse_bytecode(COUNT))["main"](17) == 17


def test_values_of_every_kind_pass_through(machine):
    exe = parse_bytecode("@main(x) registers 1:\n  ret %0")
    vm = machine(exe)
    for value in (3, 2.5, True, "text", None, (1, 2), ((1, "a"), None), 1 << 80):
        assert vm["main"](value) == value
    assert vm["main"]([1, 2]) == (1, 2)
    assert vm["main"](np.float32(2.5)) == 2.5
    x = np.arange(3)
    assert np.shares_memory(vm["main"](x).numpy(), x)
    a, b = vm["main"]((x, "s"))
    assert isinstance(a, Tensor) and b == "s"
    for dtype in ("bool", "int8", "uint16", "float16", "float64", "bfloat16"):
        y = np.zeros((2, 0, 3), DType(dtype).numpy())
        for given in (y, tensor(y)):
            result = vm["main"](given)
            assert result.dtype == dtype and result.shape == (2, 0, 3)


def test_packed_elements_of_four_bits(machine):
    vm = machine(parse_bytecode("@main(x) registers 1:\n  ret %0"))
    x = tensor(np.array([1, -3, 7], "int8"), "int4")
    for _ in range(3):
        result = vm["main"](x)
        assert result.dtype == "int4" and list(result.numpy()) == [1, -3, 7]


CLOSURES = """
c[0] = "text"

@main(x) registers 5:
  call vm.builtin.make_closure in: f[pair], %0, c[0] dst: %1
  call vm.builtin.invoke_closure in: %vm, %1, i5 dst: %2
  call pair in: i1, %2, %0 dst: %3
  call vm.builtin.make_tuple in: %1, %3 dst: %4
  ret %4
@pair(a, b, c) registers 4:
  call vm.builtin.make_tuple in: %0, %1, %2 dst: %3
  ret %3
@vm.builtin.make_closure packed
@vm.builtin.invoke_closure packed
@vm.builtin.make_tuple packed
"""


def test_closures_and_calls_between_functions(machine):
    vm = machine(parse_bytecode(CLOSURES))
    closure, value = vm["main"](7)
    assert isinstance(closure, Closure) and value == (1, (5, 7, "text"), 7)
    assert vm.invoke_closure(closure, 9) == (9, 7, "text")


def test_endless_recursion_ends_in_an_error(machine):
    vm = machine(parse_bytecode("@main(x) registers 2:\n  call main in: %0 dst: %1\n  ret %1"))
    with pytest.raises(RecursionError):
        vm["main"](1)


def test_errors_of_packed_functions_pass_with_their_place(machine, packed):
    def fails():
        raise KeyError("mine")

    packed("test.fails", fails)
    exe = parse_bytecode("@main() registers 1:\n  call test.fails in: dst: %0\n  ret %0\n@test.fails packed")
    with pytest.raises(KeyError, match="mine") as caught:
        machine(exe)["main"]()
    assert any("in `main`, instruction 0 (`test.fails`)" in note for note in caught.value.__notes__)


def test_a_function_may_be_registered_after_the_machine_is_made(machine, packed):
    exe = parse_bytecode("@main() registers 1:\n  call test.late in: dst: %0\n  ret %0\n@test.late packed")
    vm = machine(exe)
    with pytest.raises(AttributeError, match=r"test\.late"):
        vm["main"]()
    packed("test.late", lambda: 42)
    assert vm["main"]() == 42


def test_inputs_are_kept_for_stateful_calls(machine, packed):
    packed("test.add_into", add_into)
    vm = machine(adder())
    x = np.ones((2, 3), "float32")
    with pytest.raises(ArgumentValueError, match="no arguments were set"):
        vm.invoke_stateful("main")
    with pytest.raises(ArgumentValueError, match="not run yet"):
        vm.get_outputs("main")
    vm.set_input("main", x, y=2 * x)
    vm.invoke_stateful("main")
    np.testing.assert_array_equal(vm.get_outputs("main").numpy(), 3 * x)
    vm.save_function("main", "fixed", x, x)
    np.testing.assert_array_equal(vm["fixed"]().numpy(), 2 * x)
    vm.save_function("main", "quiet", x, x, include_return=False)
    assert vm["quiet"]() is None


def test_instruments_see_every_call_and_may_leave_it_out(packed):
    packed("test.add_into", add_into)
    vm = VirtualMachine(adder())
    seen = []

    def look(func, name, before, value, *args):
        seen.append((name, before))
        return 1 if name == "vm.builtin.match_shape" else 0

    vm.set_instrument(look)
    x = np.ones((2, 3), "float32")
    with pytest.raises(ValueError, match="broadcast"):
        vm["main"](x, x)  # the sizes were not kept
    assert ("vm.builtin.match_shape", True) in seen and ("vm.builtin.match_shape", False) not in seen
    vm.set_instrument(None)
    assert vm["main"](x, x).shape == (2, 3)


def test_profile_and_timing(packed):
    packed("test.add_into", add_into)
    vm = VirtualMachine(adder())
    x = np.ones((2, 3), "float32")
    steps = vm.profile("main", x, x)
    assert [s.name for s in steps][-1] == "test.add_into" and all(s.seconds >= 0 for s in steps)
    assert vm.time_evaluator("main", number=2, repeat=3)(x, x).mean > 0


def test_memory_of_results_is_given_back(machine, packed):
    packed("test.add_into", add_into)
    vm = machine(adder(size=1 << 20))
    x = np.ones((2, 1 << 14), "float32")
    for _ in range(5):
        vm["main"](x, x)
    gc.collect()
    before = memory.statistics().live_bytes
    for _ in range(20):
        vm["main"](x, x)
    gc.collect()
    assert memory.statistics().live_bytes <= before + (1 << 20)


def test_nothing_keeps_arguments_alive(machine, packed):
    packed("test.add_into", add_into)
    vm = machine(adder())
    x = tensor(np.ones((2, 3), "float32"))
    vm["main"](x, x)
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None


def test_a_machine_is_collected(packed):
    packed("test.add_into", add_into)
    vm = VirtualMachine(adder())
    x = np.ones((2, 3), "float32")
    vm["main"](x, x)
    gone = weakref.ref(vm)
    del vm
    gc.collect()
    assert gone() is None


def test_several_threads_run_one_function(machine, packed):
    packed("test.add_into", add_into)
    vm = machine(adder())
    faults = []

    def run(k):
        x = np.full((2, 8), k, "float32")
        for _ in range(200):
            if not (vm["main"](x, x).numpy() == 2 * k).all():
                faults.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not faults


def test_references_are_counted_rightly(packed):
    packed("test.add_into", add_into)
    vm = VirtualMachine(adder())
    f = vm["main"]
    x = np.ones((2, 3), "float32")
    f(x, x)

    def count(value):
        return ctypes.c_int32.from_address(id(value)).value

    before = [count(x), count(x.dtype)]
    for _ in range(1000):
        f(x, x)
        with pytest.raises(ArgumentValueError):
            f(x, x[:, :2].copy())
    gc.collect()
    assert count(x) == before[0] and abs(count(x.dtype) - before[1]) < 10


@pytest.mark.parametrize("code", ["match_shape", "make_shape"])
def test_slots_that_the_heap_lacks_are_no_crash(machine, code):
    ib = ExecBuilder()
    with ib.function("main", 1):
        ib.emit_call("vm.builtin.alloc_shape_heap", [ib.vm_state(), ib.imm(1)], ib.r(1))
        if code == "match_shape":
            ib.emit_call("vm.builtin.match_shape", [ib.r(0), ib.r(1), ib.imm(1), ib.imm(1), ib.imm(7), ""])
        else:
            ib.emit_call("vm.builtin.make_shape", [ib.r(1), ib.imm(1), ib.imm(1), ib.imm(7)], ib.r(2))
        ib.emit_ret(ib.r(0))
    with pytest.raises(IndexError):
        machine(ib.get())["main"](np.ones(3))


def test_a_module_without_graph_functions_is_refused():
    from loopwright.runtime import Module

    with pytest.raises(ArgumentTypeError, match="no graph functions"):
        VirtualMachine(Module("llvm", {}))
    with pytest.raises(ArgumentValueError, match="built for `cpu`; a virtual machine on `cuda:0`"):
        VirtualMachine(parse_bytecode("@main() registers 1:\n  ret %0"), "cuda")
    with pytest.raises(ArgumentValueError, match="memory_cfg"):
        VirtualMachine(parse_bytecode("@main() registers 1:\n  ret %0"), memory_cfg="other")


@pytest.mark.parametrize("call", ["match_shape", "make_shape"])
def test_codes_that_say_nothing_are_errors(machine, call):
    ib = ExecBuilder()
    with ib.function("main", 1):
        ib.emit_call("vm.builtin.alloc_shape_heap", [ib.vm_state(), ib.imm(1)], ib.r(1))
        codes = [ib.imm(1), ib.imm(5), ib.imm(9999)]
        given = [ib.r(1), *codes] if call == "make_shape" else [ib.r(0), ib.r(1), *codes, ""]
        ib.emit_call(f"vm.builtin.{call}", given, ib.r(2))
        ib.emit_ret(ib.r(2))
    with pytest.raises(ArgumentValueError, match="5 is no code"):
        machine(ib.get())["main"](np.ones(3))
