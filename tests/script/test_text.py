"""What texts mean: each case is a text and the text that its program prints as."""

from __future__ import annotations

import re

import pytest

from loopwright import ir
from loopwright.errors import ScriptError
from loopwright.script import check, parse
from loopwright.testing.roundtrip import assert_roundtrip

SIGNATURE = 'A: T.Buffer((16,), "float32"), n: T.int32'


def body_of(text: str, signature: str = SIGNATURE) -> str:
    """The printed body of a function with this body."""
    lines = "\n".join("    " + line for line in text.strip().split("\n"))
    func = parse(f"@T.prim_func\ndef f({signature}):\n{lines}\n", check_well_formed=False)
    printed = assert_roundtrip(func)
    rest = printed.split("def f(", 1)[1].split(":\n", 1)[1]
    return "\n".join(line[4:] for line in rest.rstrip("\n").split("\n"))


SAME_TEXT = """
# scalar
x: T.int32 = n + 1
x = x + 2
A[x] = T.float32(0.0)
# let
x: T.let[T.int32] = n + 1
A[x] = T.float32(0.0)
# pointer
p: T.let[T.handle("float32", "global")] = A.data
T.call_extern("int32", "f", p)
# loops
for i in T.parallel(4):
    for j in T.vectorized(2, 4):
        A[i + j] = T.float32(0.0)
# steps
for i in range(2, 16, 4):
    A[i] = T.float32(0.0)
# down
for i in range(16, 0, -1):
    A[i] = T.float32(0.0)
# bounds
for i in range(n, n + 4):
    A[i] = T.float32(0.0)
# unroll
for i in T.serial(4, unroll=True):
    A[i] = T.float32(0.0)
# thread
for i in T.thread_binding(4, thread="threadIdx.x"):
    A[i] = T.float32(0.0)
# annotations
for i in T.serial(4, annotations={"a": [1, "b", {"c": True}]}):
    A[i] = T.float32(0.0)
# while
while n < 10:
    T.break_loop()
# branches
if n > 2:
    A[0] = T.float32(0.0)
else:
    A[0] = T.float32(1.0)
# assert
assert n > 1, ("ValueError", ["a", "b"])
# attr
with T.attr({"a": 1}):
    A[0] = T.float32(0.0)
A[1] = T.float32(0.0)
# attr tail
T.attr(A.data, "k", 1)
A[0] = T.float32(0.0)
# launch
bx = T.launch_thread("blockIdx.x", 4)
A[bx] = T.float32(0.0)
# slices
A[0:8:2] = T.Broadcast(T.float32(1.0), 4)
A[n:n + 4] = T.Broadcast(T.float32(1.0), 4)
# scalable
A[n:n + T.vscale() * 4] = T.Broadcast(T.float32(1.0), T.vscale() * 4)
# specials
A[0] = T.float32("inf")
A[1] = T.float32("-inf")
A[2] = T.float32("nan")
A[3] = T.float32(-0.0)
# casts
A[0] = T.Cast("float32", n)
A[1] = T.Cast("float32", T.Cast("int64", n) + T.int64(1))
# choice
A[0] = T.if_then_else(n > 2, A[1], T.float32(0.0))
A[1] = T.Select(n > 2, A[1], A[2])
# let expression
A[0] = T.Let(x + T.float32(1.0), where={x: A[1]})
# decl
B = T.decl_buffer((4,), data=A.data, strides=(2,))
B[0] = T.float32(0.0)
# view
B = A.view(4, 4)
B[0, 0] = T.float32(0.0)
# alloc
B = T.alloc_buffer((4, n), "int8", align=128)
C = T.alloc_shared((2,))
C[0] = T.float32(0.0)
# reducer
T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0.0)]), "reduce_scope", 0)
T.evaluate(0)
# nothing
T.evaluate(0)
# kept
A[0] = A[0] * T.float32(1.0)
"""


def cases(text: str) -> dict[str, str]:
    """The cases of a table: a comment line names each."""
    parts = re.split(r"^# (.*)\n", text.strip() + "\n", flags=re.MULTILINE)[1:]
    return {name: body.rstrip("\n") for name, body in zip(parts[::2], parts[1::2], strict=True)}


SAME = cases(SAME_TEXT)


@pytest.mark.parametrize("name", SAME)
def test_printed_text_comes_back(name: str) -> None:
    assert body_of(body_of(SAME[name])) == body_of(SAME[name])


@pytest.mark.parametrize("name", [n for n in SAME if n not in ("kept", "let expression")])
def test_canonical_text_is_unchanged(name: str) -> None:
    assert body_of(SAME[name]) == SAME[name]


MEANS_TEXT = """
# inferred scalar
x = n + 1
x += 2
#> prints
x: T.int32 = n + 1
x = x + 2
# python number
x = 3
x = 2.5
#> prints
x: T.int32 = 3
x = 2
# element update
A[n] += 1
#> prints
A[n] = A[n] + T.float32(1.0)
# minus
A[0] = -A[1]
#> prints
A[0] = A[1] * T.float32(-1.0)
# chain
if 0 < n < 4:
    A[0] = 1
#> prints
if 0 < n and n < 4:
    A[0] = T.float32(1.0)
# choice
A[0] = 1.0 if n > 2 else A[1]
#> prints
A[0] = T.if_then_else(n > 2, T.float32(1.0), A[1])
# python choice
if True:
    A[0] = 1
else:
    A[0] = 2
#> prints
A[0] = T.float32(1.0)
# folding
A[T.int32(2) + 3] = 2 / 4
#> prints
A[5] = T.float32(0.5)
# grid pair
for i in T.grid((2, 6)):
    A[i] = 0.0
#> prints
for i in range(2, 8):
    A[i] = T.float32(0.0)
# grid name
for ij in T.grid(2, 3):
    A[ij[0]] = 0.0
#> prints
for ij_0, ij_1 in T.grid(2, 3):
    A[ij_0] = T.float32(0.0)
# starred loops
for *ij, k in T.grid(2, 3, 4):
    A[ij[1]] = 0.0
#> prints
for ij_0, ij_1, k in T.grid(2, 3, 4):
    A[ij_1] = T.float32(0.0)
# starred index
idx = T.meta_var([n])
A[(*idx,)] = 0.0
#> prints
A[n] = T.float32(0.0)
# meta
k = T.meta_var(3)
A[k + 1] = 0.0
#> prints
A[4] = T.float32(0.0)
# comprehension
A[sum([i for i in range(4) if i % 2 == 0])] = 0.0
#> prints
A[2] = T.float32(0.0)
# lambda
f = lambda x, y=2: x * y
A[0] = f(A[1])
#> prints
A[0] = A[1] * T.float32(2.0)
# vector note
v: T.float32[4]
v[0] = 1
#> prints
v = T.alloc_local((4,))
v[0] = T.float32(1.0)
# one element
v = T.alloc_local((1,), 'int32')
v = 3
A[v[0]] = 0.0
#> prints
v: T.int32 = 3
A[v] = T.float32(0.0)
# print
print(A[0])
#> prints
T.print(A[0])
# branch names
if n > 1:
    t: T.let = n
    A[t] = 0.0
else:
    t: T.let = A[0]
    A[0] = t
#> prints
if n > 1:
    t: T.let[T.int32] = n
    A[t] = T.float32(0.0)
else:
    t: T.let[T.float32] = A[0]
    A[0] = t
# hint scope
with T.If(n > 1):
    with T.Then():
        A[0] = 1.0
#> prints
if n > 1:
    A[0] = T.float32(1.0)
"""

MEANS = {n: t.split("\n#> prints\n") for n, t in cases(MEANS_TEXT).items()}


@pytest.mark.parametrize("name", MEANS)
def test_text_means(name: str) -> None:
    given, printed = MEANS[name]
    assert body_of(given) == printed


def test_symbols_of_a_signature() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer(("m", "m * 2"), "float32"), B: T.Buffer((n, m), "float32"), n: T.int32, a: T.handle):
    C = T.match_buffer(a, ("k", m), "int8")
    k = T.int32()
    A[m - 1, 0] = B[n - 1, 0] + T.Cast("float32", C[k - 1, 0])
"""
    func = parse(text)
    assert [type(p.ty).__name__ for p in func.params] == [
        "BufferType",
        "BufferType",
        "PrimType",
        "BufferType",
    ]
    assert func.params[1].ty.shape[0] is func.params[2]
    assert func.params[0].ty.shape[0] is func.params[3].ty.shape[1]
    assert_roundtrip(func)


def test_type_variables_are_int64() -> None:
    rest = 'A: T.Buffer((n, "n * 2"), "float32")):\n    A[n - 1, 0] = 0.0\n'
    func = parse(f'n = TypeVar("n")\n@T.prim_func\ndef f({rest}')
    assert func.params[0].ty.shape[0].dtype == "int64"
    assert ir.structural_equal(func, parse(f"@T.prim_func\ndef f[n]({rest}"))


def test_blocks_infer_what_is_left_out() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16,), "float32")):
    for i, k in T.grid(16, 8):
        with T.sblock("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vi, vk]
"""
    func = parse(text)
    assert func.attrs["s_tir"] is True
    printed = assert_roundtrip(func)
    assert "T.reads(A[vi, vk])" in printed and "T.writes(B[vi])" in printed
    assert '# with T.sblock("root"):' in printed


def test_the_root_block_keeps_its_regions_empty() -> None:
    func = parse(
        '@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    with T.sblock("root"):\n        A[0] = 1.0\n'
    )
    assert func.body.block.reads == func.body.block.writes == ()


MODULE = """
@I.ir_module
class M:
    I.module_attrs({"a": 1})
    ext = R.ExternFunc("symbol")

    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        M.ext(A.data)
        A[0] = M.later(A[1], 2)
        A[1] = main2(3)

    @T.prim_func(private=True)
    def later(a: T.int32, b: T.int32) -> T.int32:
        return a if a > b else M.later(b, a)

    @T.prim_func(private=True)
    def main2(a: T.int32) -> T.int32:
        return a
"""


def test_modules_call_forward_and_each_other() -> None:
    module = parse(MODULE)
    assert sorted(g.name for g in module.functions) == ["ext", "later", "main", "main2"]
    assert isinstance(module["ext"], ir.ExternFunc)
    assert "global_symbol" not in module["later"].attrs and module["main"].attrs["global_symbol"] == "main"
    assert_roundtrip(module)


def test_extra_variables_are_values() -> None:
    text = '@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = A[1] * T.float32(SCALE)\n'
    for scale in (2.0, 5.0):
        func = parse(text, extra_vars={"SCALE": scale})
        assert func.body.value.b.value == scale

    def harmful() -> int:
        raise AssertionError("text is never executed")

    with pytest.raises(ScriptError, match="cannot be called"):
        parse(text.replace("T.float32(SCALE)", "SCALE()"), extra_vars={"SCALE": harmful})
    with pytest.raises(ScriptError, match="no `denominator`|has no"):
        parse(text.replace("SCALE", "SCALE.real.__class__"), extra_vars={"SCALE": 1})


def test_metadata_constants() -> None:
    import numpy as np

    text = """
metadata = {"constant": [{"dtype": "float32", "shape": [2], "data": "AACAPwAAAEA="}]}
@T.prim_func
def f():
    T.evaluate(metadata["constant"][0])
"""
    func = parse(text)
    assert isinstance(func.body.value, ir.GenericConst)
    assert np.array_equal(func.body.value.value, np.array([1, 2], "float32"))
    assert_roundtrip(func)


def test_metadata_of_the_peer() -> None:
    text = '''
metadata = tvm.ir.load_json("""{"root_index": 4, "nodes": [
  {"type": "ffi.String", "data": "ir.StringImm"}, {"type": "ffi.String", "data": "two\\\\nlines"},
  {"type": "ir.StringImm", "data": {"value": 1}}, {"type": "ffi.Array", "data": [2]},
  {"type": "ffi.Map", "data": [0, 3]}]}""")
@T.prim_func
def f(n: T.int32):
    assert n > 0, ("ValueError", [metadata["ir.StringImm"][0]])
'''
    assert parse(text).body.message_parts[0].value == "two\nlines"


def test_fragments() -> None:
    stmt = parse('A = T.Buffer((4,), "float32")\nfor i in range(4):\n    A[i] = 1.0\n', start="statements")
    assert isinstance(stmt, ir.For)
    assert isinstance(parse("1 + T.int64(2)", start="expression"), ir.IntImm)
    assert isinstance(parse("x = T.int32()\nx * 2", start="expression"), ir.Mul)
    with pytest.raises(ValueError, match="start is"):
        parse("1", start="word")


def test_an_empty_text_says_so() -> None:
    with pytest.raises(ScriptError, match="defines nothing"):
        parse("# only a comment\n")


def test_several_functions_make_a_module() -> None:
    text = "@T.prim_func\ndef f():\n    T.evaluate(0)\n\n@T.prim_func\ndef g():\n    T.evaluate(1)\n"
    module = parse(text)
    assert isinstance(module, ir.IRModule) and sorted(g.name for g in module) == ["f", "g"]


def test_a_lossy_store_is_a_warning() -> None:
    found = check('@T.prim_func\ndef f(A: T.Buffer((4,), "int32"), x: T.float32):\n    A[0] = x\n')
    assert [(d.code, d.severity) for d in found] == [("lossy-store", "warning")]
    assert found[0].span is not None and found[0].span.line == 3


def test_other_names_of_the_tables() -> None:
    text = "from loopwright.script import tirx as X, ir as J\n@X.prim_func\ndef f():\n    X.evaluate(0)\n"
    assert isinstance(parse(text), ir.PrimFunc)


def test_a_thread_variable_counts_in_the_type_of_its_extent() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((8,), "float32")):
    bx = T.env_thread("blockIdx.x")
    T.launch_thread(bx, T.int64(4))
    A[bx] = 1.0
"""
    func = parse(text)
    assert func.body.node.var.dtype == "int64"
    assert_roundtrip(func)


def test_intrinsics_take_dtype_as_a_keyword_too() -> None:
    given = 'T.evaluate(T.call_extern("f", A.data, dtype="int32"))\nT.evaluate(T.likely(n > 1, dtype="bool"))'
    assert body_of(given) == 'T.call_extern("int32", "f", A.data)\nT.likely(n > 1)'
