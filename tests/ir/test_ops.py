"""The operator registry: spellings build and show the same calls, effects, evaluation, waiting names."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright import ir
from loopwright.dtype import DType
from loopwright.errors import ArgumentTypeError, DTypeError, IRError, UnsupportedError
from loopwright.ir import intrin
from loopwright.ir.buffer import decl_buffer
from loopwright.ir.op import Effect, Keywords, OpRecord, spelling
from loopwright.ir.ops import waiting

i, j = ir.Var("i"), ir.Var("j")
f, g = ir.Var("f", "float32"), ir.Var("g", "float32")
half, double = ir.Var("e", "float16"), ir.Var("d", "float64")
u, u64 = ir.Var("u", "uint32"), ir.Var("u64", "uint64")
b = ir.Var("b", "bool")
v4, iv4 = ir.Var("v4", "float32x4"), ir.Var("iv4", "int32x4")
h = ir.Var("h", ir.HANDLE)
A, B = decl_buffer((8, 8), name="A"), decl_buffer((64,), "int8", "B", scope="shared")
MASK = ir.Broadcast(ir.const(True), 4)

FLOATS = st.sampled_from([f, g, half, double, v4, f + 1])
INTEGERS = st.sampled_from([i, j, u, i * 2])
NUMBERS = st.one_of(FLOATS, INTEGERS)
INDEX = st.one_of(st.sampled_from([i, j]), st.integers(0, 64))
POINTERS = st.sampled_from([h, A.data, B.data, A.ptr_to((0, i))])
BOOLS = st.one_of(st.sampled_from([b, i < 3]), st.booleans())
TEXT = st.sampled_from(["name", "tvm.contrib.f", "x y"])
DTYPES = st.sampled_from(["int32", "float32", "float16", "handle", "void", "", "uint8", "float32x4"])
SCALARS = st.sampled_from(["int32", "float32", "uint8"])
ANY = st.one_of(NUMBERS, POINTERS, BOOLS, TEXT, st.none(), st.integers(-3, 3), st.floats(width=32))
REDUCTION = st.sampled_from(["sum", "max", "min"])

BY_PARAMETER = {
    "cond": BOOLS, "pred": BOOLS, "predicate": BOOLS, "guard": BOOLS, "t": st.just(f),
    "f": st.sampled_from([g, 1, 0.5]),
    "data": POINTERS, "handle": POINTERS, "ptr": POINTERS, "addr": POINTERS, "res_addr": POINTERS,
    "arr": POINTERS,
    "list_handle": POINTERS, "dst": POINTERS, "src": POINTERS, "src_addr": POINTERS, "dst_addr": POINTERS,
    "shared_ptr": POINTERS, "global_ptr": POINTERS, "local_ptr": POINTERS, "dst_ptr": POINTERS,
    "src_ptr": POINTERS,
    "buffer_ptr": POINTERS, "buffer_var": POINTERS, "scratch": POINTERS, "fragment": POINTERS,
    "name": TEXT, "func_name": TEXT, "param_name": TEXT, "storage_scope": TEXT, "fmt": TEXT, "reg_name": TEXT,
    "op": REDUCTION, "dtype": DTYPES, "ptype": SCALARS, "rw_mask": st.sampled_from([1, 2, 3, "r", "rw"]),
    "dtype_str": st.sampled_from(["shape", "array", "arg_value", "tensormap"]),
    "bits": st.sampled_from([32, 64]),
    "obj": st.sampled_from([A, B, i, A[i, 2]]), "load": st.just(A[i, j]), "buffer": st.just(A), "x": NUMBERS,
    "value": NUMBERS, "reg": FLOATS, "var": NUMBERS, "layout": TEXT, "vec1": st.just(u), "vec2": st.just(u),
}  # fmt: skip


def by_names(rec: OpRecord):
    """Arguments for the record's spelling, from the names of its parameters."""
    parts = []
    for word in [p.strip() for p in rec.params.split(",")] if rec.params else []:
        name = word.partition("=")[0]
        if name.startswith("*"):
            parts.append(("rest", st.lists(ANY, max_size=3)))
        else:
            parts.append((name, BY_PARAMETER.get(name, INDEX)))
    return st.tuples(*[s.map(lambda v, k=k: v if k == "rest" else [v]) for k, s in parts]).map(
        lambda groups: (tuple(v for group in groups for v in group), {})
    )


def fixed(*choices):
    return st.sampled_from([c if isinstance(c[-1], dict) else (c, {}) for c in choices])


MMA = ("m8n8k4", "row", "col", "fp16", "fp16", "fp32", A.data, 0, A.data, 0, A.data, i, False)
SPECIAL = {
    "tirx.call_ffi_kernel": fixed(
        (("k", A), {"launch_params": ["threadIdx.x"]}), ((h,), {"launch_params": [], "ret_ty": "void"})
    ),
    "tirx.cuda.func_call": fixed(
        (("g", i), {"source_code": "void g(int);"}),
        (("g",), {"source_code": "int g();", "return_type": "int32"}),
    ),
    "tirx.cuda.ldg": fixed((A.data, "float32"), (h, "float32x4")),
    "tirx.get_active_lane_mask": fixed(("uint1xvscalex4", i, j), ("boolx4", i, 64)),
    "tirx.masked_load": fixed(("float32x4", A, 0, ir.Ramp(0, 1, 4), MASK)),
    "tirx.masked_store": fixed((A, v4, i, ir.Ramp(0, 1, 4), MASK)),
    "tirx.print_buffer": fixed((A.data, "float32", False, True, 2, 8, 8)),
    "tirx.ptx_legacy.ldmatrix": fixed(
        (True, 4, ".b16", A.data, 0, B.data, i), ("float16", True, 4, ".b16", A.data, 0, B.data, i)
    ),
    "tirx.ptx_legacy.mma": fixed(MMA, ("float32", *MMA), (*MMA, "xor"), (MMA, {"operator": "xor"})),
    "tirx.reinterpret": fixed(("int32", f), ("handle", ir.Var("k", "int64")), ("float32", 5), ("uint8x4", u)),
    "tirx.vectorlow": fixed(("float32x2", v4)),
    "tirx.vectorhigh": fixed(("float32x2", v4)),
    "tirx.vectorcombine": fixed(("float32x8", v4, v4)),
    "tirx.q_multiply_shift": fixed((i, j, 31, 1)),
    "tirx.isnullptr": fixed((h,), (A.data,)),
    "tirx.popcount": fixed((i,), (u,), (iv4,)),
    "prim.clz": fixed((i,), (u,), (ir.Var("k", "int64"),), (iv4,)),
    "tirx.tvm_struct_set": fixed((h, 0, 1, i)),
}
for _name in ("pow", "atan2", "fmod", "hypot", "copysign", "nextafter"):
    SPECIAL[f"tirx.{_name}"] = fixed((f, g), (f, 2), (2.5, f), (half, f), (v4, f), (double, 0.1))
SPECIAL["tirx.ldexp"] = fixed((f, i), (v4, 2))
SPECIAL["tirx.fma"] = fixed((f, g, 1.0), (f, 2, half))
for _name in (
    "prim.ceil",
    "tirx.floor",
    "tirx.trunc",
    "tirx.round",
    "tirx.nearbyint",
    "tirx.fabs",
    "tirx.isnan",
):
    SPECIAL[_name] = FLOATS.map(lambda x: ((x,), {}))

RECORDS = ir.all_records()
SPELLED = [r for r in RECORDS if r.script is not None]


def calls(rec: OpRecord):
    """Arguments of the record's spelling."""
    return SPECIAL.get(rec.name, by_names(rec))


def assert_shows_itself(rec: OpRecord, call: ir.Call) -> None:
    """The spelling of a call builds exactly this call again."""
    shown = spelling(call)
    assert shown is not None and shown.name == rec.script, call
    again = rec.build(*shown.args, **shown.keywords)
    assert ir.structural_equal(again, call, map_free_vars=False)


@pytest.mark.parametrize("rec", SPELLED, ids=lambda r: r.name)
@settings(max_examples=12)
@given(st.data())
def test_build_and_show_are_inverse(rec, data):
    args, keywords = data.draw(calls(rec))
    call = rec.build(*args, **keywords)
    built = isinstance(call, ir.Call) and call.op.name == rec.name
    if not built:  # a constant condition chooses at once, and the like
        assert rec.name in ("prim.if_then_else", "prim.likely"), call
        return
    assert rec.effect == ir.call_effect(call)
    assert_shows_itself(rec, call)


@pytest.mark.parametrize("rec", SPELLED, ids=lambda r: r.name)
def test_every_spelling_is_exercised(rec):
    """The strategies of this file can build each operator, so the test above is no empty promise."""
    produced = []

    @settings(max_examples=30)
    @given(calls(rec))
    def collect(case):
        e = rec.build(*case[0], **case[1])
        produced.append(isinstance(e, ir.Call) and e.op.name == rec.name)

    collect()
    assert any(produced)


@pytest.mark.parametrize("rec", RECORDS, ids=lambda r: r.name)
def test_records_are_complete(rec):
    assert rec.doc.endswith(".") and rec.name == ir.record(rec.name).name
    assert isinstance(rec.effect, Effect)
    for key in (rec.script, *rec.aliases):
        assert key is None or ir.script_record(key) is rec
    assert rec.script is None or not waiting.is_waiting(rec.script)


def test_registry_names_the_peers_operators():
    names = {r.name for r in RECORDS}
    assert {"prim.ceil", "prim.clz", "prim.if_then_else", "prim.likely", "prim.log2", "prim.vscale"} <= names
    assert len([n for n in names if n.startswith("tirx.")]) >= 180
    assert ir.script_record("call_packed").name == "tirx.tvm_call_packed"
    assert ir.script_record("tvm_call_packed") is ir.script_record("call_packed")
    assert ir.script_record("nothing_like_this") is None
    with pytest.raises(IRError, match="tirx.exp"):
        ir.record("tirx.expp")


def test_effects():
    effects = {r.name: r.effect for r in RECORDS}
    assert effects["tirx.exp"] is Effect.PURE and effects["prim.likely"] is Effect.ANNOTATION
    assert effects["tirx.call_extern"] is Effect.OPAQUE and effects["tirx.masked_load"] is Effect.READ
    assert (
        effects["tirx.tvm_access_ptr"] is Effect.SPECIAL_ARGUMENT and effects["tirx.assume"] is Effect.EMBED
    )
    assert effects["tirx.break_loop"] is Effect.CONTROL
    assert ir.call_effect(ir.Call(ir.GlobalVar("f"), (), "void")) is Effect.OPAQUE
    assert ir.call_effect(ir.Call("some.unknown", (), "void")) is Effect.OPAQUE


def build(spelled, *args, **keywords):
    return ir.script_record(spelled).build(*args, **keywords)


def test_result_types():
    assert build("exp", i).dtype == "int32" and build("exp", v4).dtype == "float32x4"
    assert build("isnan", v4).dtype == "boolx4"
    assert build("clz", ir.Var("k", "int64")).dtype == "int64" and build("clz", u).dtype == "int32"
    assert (
        build("call_extern", "", "foo").ty is ir.VOID
        and build("call_extern", "handle", "foo").ty is ir.HANDLE
    )
    pointer = build("address_of", B[0]).ty
    assert (pointer.element_type, pointer.storage_scope) == (ir.PrimType("int8"), "shared")
    assert build("tvm_access_ptr", "float32", B.data, 0, 4, "r").ty.storage_scope == "shared"
    assert build("tvm_stack_alloca", "shape", 2).ty.element_type == "int64"
    assert build("undef").dtype == "int32" and build("vscale").dtype == "int32"
    assert build("fmod", f, 2).args[1].dtype == "float32"
    assert build("tvm_warp_shuffle", u, half, 0, 32, 32).dtype == "float16"
    assert build("ptx_legacy.ldmatrix", True, 4, ".b16", A.data, 0, B.data, 0).dtype == "int8"


def test_constants_are_computed_where_the_peer_computes_them():
    one = ir.const(1.5, "float32")
    assert build("floor", one).value == 1.0 and build("ceil", one).value == 2.0
    assert build("round", ir.const(2.5, "float32")).value == 2.0
    assert build("trunc", ir.const(-2.5, "float32")).value == -2.0
    assert math.copysign(1, build("ceil", ir.const(-0.5, "float32")).value) == -1.0
    assert build("floor", i) is i and build("isnan", i).value == 0 and build("isnan", one).value == 0
    assert build("likely", True).value == 1 and build("abs", -3).value == 3
    assert type(build("exp", one)) is ir.Call
    for value in (math.inf, math.nan):
        folded = build("floor", ir.const(value, "float32")).value
        assert folded == value or math.isnan(folded)
    assert spelling(ir.Call("tirx.floor", (one,), one.ty)) is None


def test_calls_without_a_spelling():
    assert spelling(ir.Call("tirx.exp", (i,), "float32")) is None
    assert spelling(ir.Call("tirx.isinf", (f,), "bool")) is None
    assert spelling(ir.Call("tirx.exp", (f,), "float32", {"a": 1})) is None
    assert spelling(ir.Call("tirx.tvm_storage_sync", ("shared",), "void")) is None
    assert spelling(ir.Call("not.an.operator", (f,), "float32")) is None
    assert spelling(ir.Call(ir.GlobalVar("f"), (f,), "float32")) is None


def test_keywords_and_counts_of_arguments():
    assert build("tvm_storage_sync", storage_scope="shared").args[2].value == -1
    assert build("exp", x=f, span=None).args == (f,)
    assert build("if_then_else", cond=b, t=i, f=1).args[2].value == 1
    assert build("exp", f, None).args == (f,)
    for args, keywords in (((), {}), ((f, g), {}), ((f,), {"y": 1}), ((f,), {"x": f})):
        with pytest.raises(ArgumentTypeError, match="T.exp"):
            build("exp", *args, **keywords)
    with pytest.raises(ArgumentTypeError, match="launch_params"):
        build("call_ffi_kernel", "k")


def test_bad_arguments_are_named():
    with pytest.raises(DTypeError, match="access mask"):
        build("tvm_access_ptr", "float32", A.data, 0, 4, "x")
    with pytest.raises(DTypeError, match="2 indices and a mask"):
        build("masked_load", "float32x4", A, 0, MASK)
    with pytest.raises(DTypeError, match="needs a buffer"):
        build("masked_store", i, v4, 0, MASK)
    with pytest.raises(DTypeError, match="differ in size"):
        build("reinterpret", "int64", f)
    with pytest.raises(DTypeError, match="cannot be passed"):
        build("call_extern", "int32", "foo", A[0, 0:4])
    with pytest.raises(DTypeError, match="address_of"):
        build("address_of", i + 1)
    with pytest.raises(DTypeError, match="ptx_legacy.mma"):
        build("ptx_legacy.mma", *MMA[:-1])
    with pytest.raises(DTypeError, match="power"):
        build("pow", i, j)
    with pytest.raises(UnsupportedError, match="ldg"):
        build("cuda.ldg", A.data, "float32", dst=B.data)


def test_buffers_in_packed_calls():
    strided = decl_buffer((i, j), "float16", "S", strides=(j, 1), elem_offset=4)
    call = build("call_packed", "f", strided, 1, "text", None)
    array = call.args[1]
    assert array.op.name == "tirx.tvm_stack_make_array" and array.args[0].op.name == "tirx.buffer_data"
    assert array.args[1].args == (i, j) and array.args[2].args[0] is j
    assert array.args[3].value == 2 and array.args[4].dtype == "float16" and array.args[5].value == 4
    assert call.args[3].value == "text" and call.args[4].ty is ir.HANDLE
    assert_shows_itself(ir.record("tirx.tvm_call_packed"), call)


def test_shown_keywords():
    rec = ir.record("tirx.cuda.func_call")
    shown = rec.show(rec.build("g", i, source_code="int g(int);", return_type="int32"))
    assert isinstance(shown[-1], Keywords) and set(shown[-1]) == {"source_code", "return_type"}


# What operators compute


def evaluate(name, *args):
    return ir.record(name).numpy(*args)


REAL = {
    "tirx.exp": math.exp, "tirx.exp2": math.exp2, "tirx.log1p": math.log1p, "tirx.sin": math.sin,
    "tirx.cos": math.cos,
    "tirx.tanh": math.tanh, "tirx.atan": math.atan, "tirx.asinh": math.asinh, "tirx.erf": math.erf,
    "tirx.sqrt": math.sqrt, "prim.log2": lambda x: math.log2(x) if x else -math.inf,
    "tirx.rsqrt": lambda x: 1 / math.sqrt(x) if x else math.inf,
    "tirx.sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "tirx.exp10": lambda x: 10.0**x, "prim.ceil": math.ceil, "tirx.floor": math.floor, "tirx.round": round,
    "tirx.trunc": math.trunc, "tirx.nearbyint": round, "tirx.fabs": abs, "tirx.cosh": math.cosh,
    "tirx.sinh": math.sinh,
    "tirx.tan": math.tan,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", sorted(REAL))
def test_functions_of_reals(name, dtype):
    kind = DType(dtype)
    x = np.array([0.0, 0.25, 0.5, 1.0, 1.5, 2.5, 3.75]).astype(kind.numpy())
    got = evaluate(name, x)
    assert got.dtype == x.dtype
    expected = np.array([REAL[name](float(v)) for v in x])
    tolerance = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}[dtype]
    np.testing.assert_allclose(got.astype(np.float64), expected, rtol=tolerance)


def test_integer_operands_are_truncated():
    assert evaluate("tirx.exp", np.int32(2)) == 7
    assert evaluate("tirx.exp", np.int8(100)) == 127


@given(st.integers(-(2**31), 2**31 - 1))
def test_bit_counts(n):
    word = n & 0xFFFFFFFF
    assert evaluate("tirx.popcount", np.int32(n)) == bin(word).count("1")
    assert evaluate("prim.clz", np.int32(n)) == 32 - word.bit_length()
    assert evaluate("prim.clz", np.uint32(word)) == 32 - word.bit_length()
    assert evaluate("prim.clz", np.uint8(word & 255)) == 8 - (word & 255).bit_length()


@given(
    st.floats(width=32, allow_nan=False, allow_infinity=False), st.integers(-100, 100), st.integers(-100, 100)
)
def test_fused_multiply_add_rounds_once(x, y, z):
    exact = Fraction(x) * y + z
    assert evaluate("tirx.fma", np.float64(x), np.float64(y), np.float64(z)) == float(exact)
    single = evaluate("tirx.fma", np.float32(x), np.float32(y), np.float32(z))
    with np.errstate(over="ignore"):
        near = np.float32(float(exact))  # rounded twice, so at most one place away
    assert single.dtype == np.float32
    assert single == near or abs(single - near) <= abs(np.spacing(single))


def test_fused_multiply_add_is_not_two_roundings():
    x, y, z = np.float32(1 + 2**-12), np.float32(1 + 2**-12), np.float32(-(1 + 2**-11))
    assert evaluate("tirx.fma", x, y, z) == np.float32(2**-24)
    assert evaluate("tirx.fma", np.int32(3), np.int32(4), np.int32(5)) == 17


@given(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1), st.integers(-4, 4))
def test_fixed_point_product(x, y, s):
    got = int(evaluate("tirx.q_multiply_shift", np.int32(x), np.int32(y), np.int32(31), np.int32(s)))
    exact = x * y / 2**31 / 2**s
    wrapped = (round(exact) - got) % 2**32
    assert wrapped in (0, 1, 2**32 - 1)
    per_axis = evaluate(
        "tirx.q_multiply_shift_per_axis", *map(np.int32, (x, y, 2, 3, 31)), np.bool_(False), np.bool_(True)
    )
    assert per_axis == evaluate("tirx.q_multiply_shift", *map(np.int32, (x, y, 31, 3)))


def test_other_evaluations():
    assert evaluate("tirx.ldexp", np.float32(1.5), np.int32(3)) == 12
    assert evaluate("tirx.fmod", np.float32(-5), np.float32(3)) == -2
    assert evaluate("tirx.copysign", np.float32(2), np.float32(-0.0)) == -2
    assert evaluate("tirx.pow", np.float32(2), np.float32(10)) == 1024
    assert evaluate("tirx.nextafter", np.float32(1), np.float32(2)) == np.float32(1 + 2**-23)
    assert evaluate("tirx.isnan", np.float32(math.nan)) and not evaluate("tirx.isinf", np.float32(1))
    lanes = np.array([1, 2, 3, 4], np.int8)
    assert evaluate("tirx.dp4a", lanes, lanes, np.int32(5)) == 35
    assert evaluate("tirx.dp4a", np.uint32(0x01020304), np.uint32(0x01010101), np.int32(0)) == 10
    x = np.arange(4)
    assert list(evaluate("tirx.vectorlow", x)) == [0, 1] and list(evaluate("tirx.vectorhigh", x)) == [2, 3]
    assert list(evaluate("tirx.vectorcombine", x, x)) == [0, 1, 2, 3] * 2


# Functions that are no operators


def test_limits():
    assert intrin.min_value("int8").value == -128 and intrin.max_value("uint64").value == 2**64 - 1
    assert intrin.max_value("float8_e4m3fn").value == 448.0 and intrin.max_value("float16").value == 65504.0
    assert math.isinf(intrin.infinity("bfloat16").value)
    for dtype in ("int32", "float8_e4m3fn", "float4_e2m1fn"):
        with pytest.raises(DTypeError, match="no infinity"):
            intrin.infinity(dtype)


def test_predicates_expand():
    infinite = intrin.isinf(f)
    assert type(infinite) is ir.And and type(infinite.a) is ir.EQ and type(infinite.b) is ir.Not
    assert type(intrin.isfinite(f)) is ir.And
    assert intrin.isinf(i).value == 0 and intrin.isfinite(i).value == 1
    assert intrin.isfinite(v4).dtype == "boolx4"
    assert type(intrin.isinf(half).b.a.args[0]) is ir.Cast


def test_general_calls():
    call = intrin.call_intrin("float32", "tirx.exp", f, attrs={"a": 1})
    assert call.op.name == "tirx.exp" and dict(call.attrs) == {"a": 1}
    assert intrin.call_intrin("float32", "tir.exp", f).op.name == "tirx.exp"
    assert intrin.call_intrin("float32", ir.Op("tirx.exp"), f).args == (f,)
    general = intrin.make_call("any.name", [f, 1], ret_ty="int32")
    assert general.op.name == "any.name" and general.dtype == "int32" and general.args[1].value == 1
    with pytest.raises(UnsupportedError, match="ptx"):
        intrin.call_intrin("int32", "tirx.ptx.mov", f)
    with pytest.raises(IRError, match="no operator"):
        intrin.call_intrin("int32", "tirx.expo", f)


def test_helpers():
    helpers = intrin.HELPERS
    assert not set(helpers) & set(ir.script_names())
    assert type(helpers["floordiv"](i, 4)) is ir.FloorDiv and helpers["floordiv"](-7, 4).value == -2
    assert type(helpers["min"](i, i)) is ir.Min and helpers["max"](1, 2).value == 2
    assert type(helpers["truncdiv"](i, 1)) is ir.Div
    assert helpers["cuda.warp_max"](f, width=16).args[2].value == 16
    assert helpers["cuda.cta_sum"](f, 4, A.data).args[1].value == "sum"
    reducer = helpers["comm_reducer"](lambda x, y: x + y, [ir.const(0.0)])
    assert [v.name for v in (*reducer.lhs, *reducer.rhs)] == ["x", "y"] and type(reducer.result[0]) is ir.Add
    with pytest.raises(IRError, match="twice as many"):
        helpers["comm_reducer"](lambda x: x, [ir.const(0.0)])
    mapped = helpers["index_map"](lambda a, b: (b, a + 1), inverse_index_map=lambda a, b: (b - 1, a))
    assert mapped.final_indices[0] is mapped.initial_indices[1] and mapped.inverse_index_map is not None
    axis = helpers["iter_var"]("ax", (0, 16), "CommReduce", "")
    assert axis.iter_type == ir.IterVar.COMM_REDUCE and axis.dom.extent.value == 16
    nested = helpers["Let"](i + j, {i: 1, j: i + 2})
    assert nested.var is i and nested.body.var is j
    assert type(helpers["ret"](i)) is ir.Return
    span = helpers["Range"](2, i)
    assert type(span.extent) is ir.Sub
    with pytest.raises(IRError, match="size"):
        helpers["static_assert"](False, "size")


@pytest.mark.parametrize(
    "name", ["ptx", "ptx.add", "metal.simdgroup_load", "cuda.tcgen05.x", "cta_id", "call_kernel"]
)
def test_waiting_names(name):
    assert waiting.is_waiting(name)
    assert f"T.{name}" in str(waiting.unsupported(name))


def test_supported_names_do_not_wait():
    for name in ("ptx_legacy.mma", "cuda.cta_sync", "exp", "s_tir.ldg32", "cuda"):
        assert not waiting.is_waiting(name)
