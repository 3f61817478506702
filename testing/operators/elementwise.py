"""Cases of operators on elements."""

from __future__ import annotations

from .spec import Case, case, tensor

FLOATS = ("float32", "float16", "bfloat16", "float64")
INTEGERS = ("int8", "uint8", "int32", "int64")
_FUNCTIONS = {
    "normal": "atan asinh cos cosh erf exp sigmoid sin sinh tan tanh".split(),
    "unit": "acos asin atanh".split(),
    "positive": "log rsqrt sqrt".split(),
    "above one": ["acosh"],
}
_ROUNDINGS = "abs ceil floor round trunc negative sign square".split()
_ARITHMETIC = "add subtract multiply maximum minimum".split()
_COMPARISONS = "equal not_equal less less_equal greater greater_equal".split()


def _unary() -> list[Case]:
    cases = []
    for values, names in _FUNCTIONS.items():
        for name in names:
            cases += [case(f"relax.{name}", tensor("n", 4, dtype=d, values=values), ulps=4) for d in FLOATS]
    for name in _ROUNDINGS:
        cases += [case(f"relax.{name}", tensor("n", 4, dtype=d, values="special")) for d in FLOATS]
        cases += [case(f"relax.{name}", tensor("n", 4, dtype=d)) for d in INTEGERS]
    for name in ("isfinite", "isinf", "isnan"):
        cases += [case(f"relax.{name}", tensor("n", 12, dtype=d, values="special")) for d in FLOATS]
        cases += [case(f"relax.{name}", tensor("n", dtype="int32"))]
    cases += [case("relax.bitwise_not", tensor("n", 4, dtype=d)) for d in (*INTEGERS, "bool")]
    cases += [
        case("relax.logical_not", tensor("n", 4, dtype="bool")),
        case("relax.abs", tensor(dtype="bool")),
    ]
    cases += [case("relax.exp", tensor(values="normal"), ulps=4), case("relax.negative", tensor())]
    cases += [case("relax.clip", tensor("n", 4, dtype=d), -1, 2) for d in ("float32", "int8", "float16")]
    return [*cases, case("relax.clip", tensor("n", 12, values="special"), -1.5, 3.0)]


def _binary() -> list[Case]:
    cases = []
    for name in (*_ARITHMETIC, *_COMPARISONS):
        for d in ("float32", *INTEGERS, "float16", "bfloat16", "float64"):
            cases.append(case(f"relax.{name}", tensor("n", 4, dtype=d), tensor("m", 1, 4, dtype=d)))
        cases.append(case(f"relax.{name}", tensor("n", 12, values="special"), tensor(12, values="special")))
    for name in (*_ARITHMETIC, *_COMPARISONS, "divide", "floor_divide", "mod", "floor_mod"):
        cases.append(case(f"relax.{name}", tensor("n", 4, "m"), tensor(1, 4, 1, values="nonzero"), ulps=2))
    for name in _COMPARISONS:
        cases.append(case(f"relax.{name}", tensor("n", 4), tensor(4, dtype="int32")))
    for name in ("divide", "floor_divide", "mod", "floor_mod"):
        for d in ("float32", "int32", "int8", "float64"):
            x, y = tensor("n", "m", dtype=d), tensor("m", dtype=d, values="nonzero")
            cases.append(case(f"relax.{name}", x, y, ulps=2))
        x, y = tensor("n", dtype="uint8"), tensor("n", dtype="uint8", values="positive")
        cases.append(
            case(f"relax.{name}", x, tensor("n", dtype="uint8", values=lambda rng, s: rng.integers(1, 9, s)))
        )
    for d in ("int32", "uint8", "int64"):
        cases.append(case("relax.power", tensor("n", dtype=d), tensor("n", dtype=d)))
    for d in ("float32", "float16", "float64"):
        cases += [
            case("relax.power", tensor("n", 4, dtype=d, values="positive"), tensor(4, dtype=d), ulps=8),
            case("relax.atan2", tensor("n", 4, dtype=d, values="normal"), tensor("n", 1, dtype=d), ulps=4),
            case("relax.log_add_exp", tensor("n", dtype=d, values="normal"), tensor("n", dtype=d), ulps=4),
        ]
    cases.append(
        case("relax.log_add_exp", tensor("n", 12, values="special"), tensor(12, values="special"), ulps=4)
    )
    for name in ("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"):
        cases.append(case(f"relax.{name}", tensor("n", 4, dtype="bool"), tensor("m", 1, 1, dtype="bool")))
        cases.append(case(f"relax.{name}", tensor("n", 4, dtype="bool"), tensor(1, 4, dtype="bool")))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        cases += [case(f"relax.{name}", tensor("n", dtype=d), tensor("n", dtype=d)) for d in INTEGERS]
    for name in ("left_shift", "right_shift"):
        cases += [
            case(f"relax.{name}", tensor("n", dtype=d), tensor("n", dtype=d, values="counts"))
            for d in INTEGERS
        ]
        cases.append(
            case(f"relax.{name}", tensor("n", 4, dtype="int32"), tensor(1, 4, dtype="int32", values="counts"))
        )
    for name in ("power", "log_add_exp"):
        x, y = tensor("n", 4, values="positive"), tensor("n", 1, values="unit")
        cases.append(case(f"relax.{name}", x, y, ulps=8))
    return [*cases, case("relax.add", tensor(), tensor("n")), case("relax.add", tensor("n"), tensor("n"))]


def _ternary() -> list[Case]:
    cases = []
    for d in ("float32", "int32", "float16", "bool"):
        chosen = tensor("n", 1, dtype="bool", values="bools")
        cases.append(case("relax.where", chosen, tensor("m", 1, 4, dtype=d), tensor(4, dtype=d)))
        cases.append(case("relax.where", chosen, tensor("n", 4, dtype=d), tensor("n", 4, dtype=d)))
        if d != "bool":
            cases.append(case("relax.ewise_fma", *[tensor("n", 4, dtype=d)] * 3))
    return cases


def _creation() -> list[Case]:
    one = tensor(dtype="float32")
    cases = [
        case("relax.full", ("n", 3), one),
        case("relax.full", ("n",), 7, dtype="int8"),
        case("relax.full", (), one, dtype="bool"),
        case("relax.full_like", tensor("n", 3), tensor(dtype="int32")),
        case("relax.full_like", tensor("n", 3), 2.5, dtype="float16"),
    ]
    for name in ("ones", "zeros"):
        cases += [case(f"relax.{name}", ("n", 3), dtype=d) for d in ("float32", "int64", "bool", "bfloat16")]
        cases += [
            case(f"relax.{name}_like", tensor("n", "m", dtype="int8")),
            case(f"relax.{name}_like", tensor(), dtype="int32"),
        ]
    for begin, end, step in ((5, None, 1), (1, 6, 2), (6, 1, -2), (1, "n", 3), ("n", 1, -1), (3, "n", 1)):
        cases.append(case("relax.arange", begin, end, step))
    cases += [
        case("relax.arange", 0.5, 3.0, 0.25),
        case("relax.arange", "n", None, 1, dtype="float32"),
        case("relax.arange", 1, 5.5, 2, dtype="int8"),
        case("relax.eye", "n"),
        case("relax.eye", "n", 4, 1, dtype="int32"),
        case("relax.eye", 3, "m", -1, dtype="float16"),
        case("relax.eye_like", tensor("n", 4)),
        case("relax.eye_like", tensor(3, "n"), -1, dtype="bool"),
        case("relax.hamming_window", 10, True, 0.54, 0.46, dtype="float32", ulps=2),
        case("relax.hamming_window", 9, False, 0.5, 0.5, dtype="float64", ulps=8),
        case("relax.hamming_window", 1, False, 0.54, 0.46, dtype="float16", ulps=2),
    ]
    for name in ("tril", "triu"):
        cases += [
            case(f"relax.{name}", tensor("n", 4)),
            case(f"relax.{name}", tensor(2, "n", "m", dtype="int8"), 1),
            case(f"relax.{name}", tensor("n", 3, dtype="float16"), -1),
        ]
    indices = tensor("n", 2, dtype="int32", values=lambda rng, shape: rng.integers(-1, 6, shape))
    return [
        *cases,
        case("relax.one_hot", indices, 1.0, 0.0, depth=5),
        case("relax.one_hot", indices, 2, -1, depth=4, axis=0),
        case("relax.one_hot", tensor("n", dtype="uint8"), True, False, depth=3, axis=1),
    ]


def _datatype() -> list[Case]:
    kinds = ("float32", "float16", "bfloat16", "float64", "int8", "int64", "bool")
    pairs = [(a, b) for a in kinds for b in kinds if a != b]
    cases = [case("relax.astype", tensor("n", 4, dtype=a), dtype=b) for a, b in pairs]
    cases += [
        case("relax.astype", tensor("n", values="positive"), dtype=d) for d in ("int32", "float8_e4m3fn")
    ]
    return [*cases, case("relax.wrap_param", tensor(), dtype="float16")]


def _quantized() -> list[Case]:
    data, scale = tensor("n", 3, values="normal"), tensor(3, values="positive")
    cases = [
        case("relax.quantize", data, scale, tensor(3, dtype="int8")),
        case("relax.quantize", data, tensor(1, values="positive"), tensor(dtype="int32"), axis=0),
        case(
            "relax.quantize",
            tensor("n", 3, values=lambda rng, s: rng.normal(0, 300, s)),
            1.0,
            tensor(dtype="int8"),
        ),
    ]
    for out in ("uint8", "int16", "uint16", "float8_e4m3fn"):
        cases.append(case("relax.quantize", data, scale, tensor(3, dtype="int8"), axis=1, out_dtype=out))
    half = tensor(values="positive", dtype="float16")
    cases.append(case("relax.quantize", tensor("n", 3, dtype="float16"), half, tensor(dtype="int8")))
    for d in ("int8", "uint8", "int32", "float16"):
        small = tensor("n", 3, dtype=d)
        cases += [
            case("relax.dequantize", small, scale, tensor(3, dtype="int8"), ulps=1),
            case("relax.dequantize", small, half, tensor(dtype="int8"), axis=0, out_dtype="float16", ulps=1),
        ]
    return cases


def _activations() -> list[Case]:
    cases = []
    for d in FLOATS:
        x = tensor("n", 4, dtype=d, values="normal")
        cases += [case(f"relax.nn.{name}", x, ulps=6) for name in ("gelu", "gelu_tanh", "selu", "silu")]
        cases += [
            case("relax.nn.leakyrelu", x, ulps=1),
            case("relax.nn.softplus", x, ulps=6),
            case("relax.nn.softplus", x, beta=2.0, threshold=1.0, ulps=6),
            case("relax.nn.softmax", x, ulps=4),
            case("relax.nn.log_softmax", x, ulps=8),
        ]
    cases += [case("relax.nn.relu", tensor("n", 12, dtype=d, values="special")) for d in FLOATS]
    cases += [case("relax.nn.relu", tensor("n", dtype=d)) for d in ("int8", "uint8")]
    x = tensor("n", 3, "m", values="normal")
    for name in ("softmax", "log_softmax"):
        cases += [case(f"relax.nn.{name}", x, axis=axis, ulps=8) for axis in (0, 1, -2)]
    return [
        *cases,
        case("relax.nn.prelu", tensor("n", 3), tensor(3)),
        case("relax.nn.prelu", tensor("n", 3, 2), tensor("n"), axis=0),
        case("relax.nn.prelu", tensor("n", 3, dtype="float16"), tensor(1, dtype="float16"), axis=-1),
    ]


CASES = [
    *_unary(),
    *_binary(),
    *_ternary(),
    *_creation(),
    *_datatype(),
    *_quantized(),
    *_activations(),
]
