"""The peer's names lead to ours, what we lack says its name, and uninstalling undoes everything."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
import types
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loopwright
import loopwright.compat
from loopwright import ir
from loopwright.compat import finder
from loopwright.compat.access import AccessPath, mismatch
from loopwright.testing.strategies import prim_funcs

KERNEL = """
@T.prim_func(s_tir=True)
def add_one(A: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.sblock("B"):
            vi = T.axis.spatial(16, i)
            A[vi] = A[vi] + T.float32(1.0)
"""


@pytest.fixture
def tvm() -> Iterator[types.ModuleType]:
    loopwright.compat.install()
    try:
        yield importlib.import_module("tvm")
    finally:
        loopwright.compat.uninstall()


def test_each_module_imports_under_both_names_and_is_one(tvm):
    for root in finder.ROOTS:
        path = importlib.import_module(f"loopwright.compat.{root}").__path__
        names = [root]
        pending = [(root, list(path))]
        while pending:
            prefix, folders = pending.pop()
            for info in pkgutil.iter_modules(folders):
                name = f"{prefix}.{info.name}"
                names.append(name)
                if info.ispkg:
                    pending.append((name, [f"{folders[0]}/{info.name}"]))
        for name in [*names, *finder.ELSEWHERE]:
            module = importlib.import_module(name)
            assert finder.is_ours(module), name
            assert module.__spec__ is not None and module.__spec__.name == module.__name__
            assert sys.modules[module.__name__] is module
            for public in getattr(module, "__all__", ()):
                assert hasattr(module, public), f"{name}.{public}"


@pytest.mark.parametrize(
    "name",
    ["tvm.s_tir.no_such", "tvm.te.no_such", "tvm.relax.no_such", "tvm.tirx.no_such", "tvm.nothing"],
)
def test_what_is_lacking_is_named(tvm, name):
    module, _, word = name.rpartition(".")
    with pytest.raises(AttributeError, match=word):
        getattr(importlib.import_module(module), word)


@pytest.mark.parametrize("name", ["tvm.contrib.nvcc", "tvm.relax.training", "tvm_ffi.cpp"])
def test_a_lacking_module_is_named(tvm, name):
    with pytest.raises(ModuleNotFoundError, match=name):
        importlib.import_module(name)


def test_uninstalling_leaves_no_trace():
    before = {name: dict(vars(cls)) for name, cls in vars(ir).items() if isinstance(cls, type)}
    loopwright.compat.install()
    loopwright.compat.install()
    assert loopwright.compat.installed()
    importlib.import_module("tvm.script")
    loopwright.compat.uninstall()
    assert not loopwright.compat.installed()
    assert not [n for n in sys.modules if n.partition(".")[0] in finder.ROOTS]
    after = {name: dict(vars(cls)) for name, cls in vars(ir).items() if isinstance(cls, type)}
    assert before == after
    with pytest.raises(ModuleNotFoundError):
        finder._FINDER.find_spec("tvm.no_such_module")


def test_the_peer_is_not_pushed_aside():
    sys.modules["tvm"] = types.ModuleType("tvm")
    try:
        with pytest.raises(loopwright.compat.CompatError, match="loaded already"):
            loopwright.compat.install()
    finally:
        del sys.modules["tvm"]
    assert not loopwright.compat.installed()


def test_other_imports_are_left_alone(tvm):
    assert finder._FINDER.find_spec("json") is None
    assert importlib.util.find_spec("tvmx") is None


def test_printing_has_the_import_lines_of_the_peer(tvm):
    func = tvm.script.from_source(KERNEL)
    assert func.script().startswith(
        "# from tvm.script import tirx as T\n# from tvm.tirx.layout import Axis\n"
    )
    assert str(func) == repr(func) == func.script()
    assert tvm.script.from_source(func.script()).same_as(func) is False
    tvm.ir.assert_structural_equal(tvm.script.from_source(func.script()), func)


@settings(max_examples=20)
@given(prim_funcs())
def test_what_compat_prints_parses_back(func):
    loopwright.compat.install()
    try:
        import tvm

        again = tvm.script.from_source(func.script(show_meta=True), check_well_formed=False)
        tvm.ir.assert_structural_equal(again, func, True)
    finally:
        loopwright.compat.uninstall()


@settings(max_examples=20)
@given(prim_funcs(), prim_funcs())
def test_a_mismatch_is_a_path_that_leads_somewhere(one, two):
    found, first = mismatch(one, two), ir.first_difference(one, two)
    if found is None:  # the peer does not compare the names of blocks
        assert first is None or first.path[1] == ".name_hint"
    else:
        assert first is not None and str(found[0]).startswith("<root>")


paths = st.lists(
    st.tuples(st.sampled_from(["attr", "item", "key"]), st.integers(0, 9)).map(
        lambda p: (p[0], f"f{p[1]}" if p[0] != "item" else p[1])
    )
)


@given(paths, paths)
def test_paths_are_equal_where_their_steps_are(a, b):
    assert (AccessPath(tuple(a)) == AccessPath(tuple(b))) == (a == b)
    made = AccessPath.root()
    for kind, value in a:
        made = {"attr": made.attr, "item": made.array_item, "key": made.map_item}[kind](value)
    assert made == AccessPath(tuple(a)) and hash(made) == hash(AccessPath(tuple(a)))


def test_nodes_have_the_signatures_of_the_peer(tvm):
    tirx = tvm.tirx
    i = tirx.Var("i", "int32")
    loop = tirx.For(i, 0, 8, tirx.ForKind.SERIAL, tirx.Evaluate(i), None, {"k": 1})
    assert isinstance(loop, tirx.For) and type(loop) is ir.For and dict(loop.annotations) == {"k": 1}
    axis = tirx.IterVar((0, 8), "v", tirx.IterVar.DataPar)
    assert axis.dom.extent.value == 8 and axis.var.name == "v"
    assert tvm.ir.Range(2, 10).extent.value == 8
    buffer = tirx.decl_buffer((8,), "float32")
    assert type(buffer) is tvm.ir.Var and tirx.is_buffer_var(buffer) and not tirx.is_buffer_var(i)
    assert tvm.ir.PrimType("int32") == i.ty
    with pytest.raises(TypeError, match="VoidPointerTy"):
        tvm.ir.PrimType("handle")
    with pytest.raises(TypeError, match="physical data binding"):
        tirx.DeclBuffer(buffer)
    nested = tirx.SeqStmt([tirx.SeqStmt([tirx.Evaluate(0), tirx.Evaluate(1)]), tirx.Evaluate(2)])
    assert [s.value.value for s in nested] == [1, 2]
    match loop:
        case tirx.For(loop_var=var):
            assert var is i
        case _:
            pytest.fail("an adapted class matches its nodes")


def test_operators_by_name(tvm):
    x = tvm.tirx.Var("x", "float32")
    assert str(tvm.tirx.exp(x)) == "T.exp(x)" and tvm.tirx.exp.__name__ == "exp"
    assert str(tvm.tirx.max(x, 1.0)) == "T.max(x, T.float32(1.0))"
    assert tvm.tirx.const(3, "int64").dtype == "int64"
    assert isinstance(tvm.tirx.max(x, tvm.te.reduce_axis((0, 4), "k")), tvm.tirx.Reduce)


def test_the_message_of_a_difference(tvm):
    one, two = [tvm.script.from_source(KERNEL.replace("1.0", value)) for value in ("1.0", "2.0")]
    with pytest.raises(ValueError) as caught:
        tvm.ir.assert_structural_equal(one, two)
    text = str(caught.value)
    assert text.startswith(
        "StructuralEqual check failed, caused by lhs at <root>.body.block.body.body.block.body"
    )
    assert text.count("^" * len("T.float32(1.0)")) == 2 and "and rhs at" in text


def test_programs_without_source_are_built(tvm):
    builder = importlib.import_module("tvm.script.ir_builder")
    T, I = builder.tirx, builder.ir
    with builder.IRBuilder() as ib:
        with I.ir_module(), T.prim_func():
            T.func_name("main")
            A = T.arg("A", T.Buffer((16,), "float32"))
            with T.grid(16) as i:
                ib.name("i", i)
                with T.If(i < 8), T.Then():
                    T.buffer_store(A, T.float32(1), [i])
    assert ib.get()["main"].script() == (
        "# from tvm.script import tirx as T\n# from tvm.tirx.layout import Axis\n\n"
        '@T.prim_func\ndef main(A: T.Buffer((16,), "float32")):\n    for i in range(16):\n'
        "        if i < 8:\n            A[i] = T.float32(1.0)"
    )
    with pytest.raises(ValueError):
        builder.IRBuilder.current()


def test_walking_any_node(tvm):
    ffi = importlib.import_module("tvm_ffi")
    func = tvm.script.from_source(KERNEL)
    seen = []
    assert ffi.structural_walk(func, seen.append) is None
    assert any(isinstance(n, ir.For) for n in seen) and seen[-1] is func
    stop = ffi.structural_walk(func, (ir.For, lambda n: ffi.VisitInterrupt(n)))
    assert isinstance(stop.value, ir.For)
    bigger = ffi.structural_map(func, (ir.FloatImm, lambda n: ir.FloatImm(n.ty, n.value + 1)))
    assert "T.float32(2.0)" in bigger.script()
    assert ffi.structural_hash(func) == ffi.structural_hash(tvm.script.from_source(KERNEL))


def test_kernels_run(tvm):
    import numpy as np

    built = tvm.compile(tvm.script.from_source(KERNEL), target="llvm")
    data = tvm.runtime.tensor(np.arange(16, dtype="float32"), tvm.cpu())
    built["add_one"](data)
    testing = importlib.import_module("tvm.testing")
    testing.assert_allclose(data.numpy(), np.arange(16) + 1)
    with pytest.raises(NotImplementedError, match="pipeline"):
        tvm.build(tvm.script.from_source(KERNEL), "llvm", pipeline="mine")


def test_json_and_attributes(tvm):
    node = tvm.ir.make_node("ir.DictAttrs", x=1, padding=(0, 0))
    again = tvm.ir.load_json(tvm.ir.save_json(node))
    assert again.x == 1 and again["padding"] == (0, 0) and isinstance(again, tvm.ir.DictAttrs)
    tvm.ir.assert_structural_equal(node, again)
    with pytest.raises(AttributeError, match="nothing"):
        _ = again.nothing
