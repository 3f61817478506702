"""Data types of scalars and vectors: interned values `(code, bits, lanes, scalable)`.

Strings such as ``float32x4`` or ``int8xvscalex16`` appear only at API borders; `DType(text)`
reads them and gives the one object for that type, so types are compared by identity.  A
comparison with a string reads the string, which is what people write in tests.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, ClassVar, Final

from .errors import Diagnostic, DTypeError, suggest

if TYPE_CHECKING:
    import numpy as np

# DLPack type codes; the key is the spelling without bits.
CODES: Final[dict[str, int]] = {
    "int": 0,
    "uint": 1,
    "float": 2,
    "handle": 3,
    "bfloat": 4,
    "bool": 6,
    "float8_e3m4": 7,
    "float8_e4m3": 8,
    "float8_e4m3b11fnuz": 9,
    "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11,
    "float8_e5m2": 12,
    "float8_e5m2fnuz": 13,
    "float8_e8m0fnu": 14,
    "float6_e2m3fn": 15,
    "float6_e3m2fn": 16,
    "float4_e2m1fn": 17,
}
_NAMES: Final = {code: name for name, code in CODES.items()}
_SMALL_FLOATS: Final = tuple(name for name, code in CODES.items() if code >= 7)
_PATTERN: Final = re.compile(
    r"(?:(?P<small>float[864]_e\w+?)|(?P<kind>int|uint|float|bfloat)(?P<bits>[1-9]\d{0,2})"
    r"|(?P<word>bool|handle|void))(?:x(?P<scale>vscalex)?(?P<lanes>[1-9]\d{0,5}))?",
    re.ASCII,
)
# The smallest and largest finite value of each float format, and whether it has infinity and NaN.
_RANGES: Final[dict[str, tuple[float, float, str]]] = {
    "float16": (-65504.0, 65504.0, "inf nan"),
    "float32": (-3.4028234663852886e38, 3.4028234663852886e38, "inf nan"),
    "float64": (-1.7976931348623157e308, 1.7976931348623157e308, "inf nan"),
    "bfloat16": (-3.3895313892515355e38, 3.3895313892515355e38, "inf nan"),
    "float8_e3m4": (-15.5, 15.5, "inf nan"),
    "float8_e4m3": (-240.0, 240.0, "inf nan"),
    "float8_e4m3b11fnuz": (-30.0, 30.0, "nan"),
    "float8_e4m3fn": (-448.0, 448.0, "nan"),
    "float8_e4m3fnuz": (-240.0, 240.0, "nan"),
    "float8_e5m2": (-57344.0, 57344.0, "inf nan"),
    "float8_e5m2fnuz": (-57344.0, 57344.0, "nan"),
    "float8_e8m0fnu": (2.0**-127, 2.0**127, "nan"),
    "float6_e2m3fn": (-7.5, 7.5, ""),
    "float6_e3m2fn": (-28.0, 28.0, ""),
    "float4_e2m1fn": (-6.0, 6.0, ""),
}
_WIDTHS: Final = {"int": (1, 2, 4, 8, 16, 32, 64), "float": (16, 32, 64), "bfloat": (16,)}


class DTypeValueError(DTypeError, ValueError):
    """A text spells no dtype, or a dtype has no such size."""

    default_code = "type-mismatch"


class DType:
    """The type of a scalar or vector value; one object per type.

    `is_int` is a signed integer, `is_uint` an unsigned one but not bool, `is_integral` any of these
    or bool; `is_float` a floating format of any size; `is_scalar` has one lane, `is_vector` more
    or a run-time number of them (`scalable`: `lanes` times vscale).
    """

    __slots__ = (
        "__weakref__",
        "_text",
        "bits",
        "code",
        "is_bool",
        "is_float",
        "is_handle",
        "is_int",
        "is_integral",
        "is_scalar",
        "is_uint",
        "is_vector",
        "is_void",
        "lanes",
        "scalable",
    )
    _interned: ClassVar[dict[tuple[int, int, int, bool], DType]] = {}
    _parsed: ClassVar[dict[str, DType]] = {}

    code: int
    bits: int
    lanes: int
    scalable: bool
    is_int: bool
    is_uint: bool
    is_bool: bool
    is_integral: bool
    is_float: bool
    is_handle: bool
    is_void: bool
    is_scalar: bool
    is_vector: bool
    _text: str

    def __new__(cls, spec: str | DType | Any = "float32") -> DType:
        """The type that `spec` spells: a string, a DType, or a numpy dtype or scalar type.

        Raises DTypeError when there is no such type.
        """
        if type(spec) is DType:
            return spec
        if not isinstance(spec, str):
            return from_numpy(spec)
        found = cls._parsed.get(spec)
        if found is None:
            found = cls._parsed[spec] = _parse(spec)
        return found

    @classmethod
    def of(cls, code: int, bits: int, lanes: int = 1, scalable: bool = False) -> DType:
        """The interned type with these parts; `lanes` is the multiple of vscale if `scalable`.

        Raises DTypeError when there is no such type.
        """
        key = (code, bits, lanes, bool(scalable))
        found = cls._interned.get(key)
        if found is None:
            _check_parts(*key)
            found = object.__new__(cls)
            for name, value in _parts(*key).items():
                object.__setattr__(found, name, value)
            found = cls._interned.setdefault(key, found)
        return found

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("DType is immutable")

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"DType({self._text!r})"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, str):
            return self._text == other or _find(other) is self
        if isinstance(other, DType):
            return False
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> tuple[Any, ...]:
        return DType.of, (self.code, self.bits, self.lanes, self.scalable)

    @property
    def kind(self) -> str:
        """The spelling without bits and lanes: `int`, `float`, `float8_e4m3fn`, ..."""
        return _NAMES[self.code]

    @property
    def element(self) -> DType:
        """The type of one lane."""
        return self if self.is_scalar else DType.of(self.code, self.bits)

    def with_lanes(self, lanes: int, scalable: bool = False) -> DType:
        """The vector type with this element type."""
        return DType.of(self.code, self.bits, lanes, scalable)

    def with_bits(self, bits: int) -> DType:
        return DType.of(self.code, bits, self.lanes, self.scalable)

    @property
    def itemsize(self) -> int:
        """Bytes of one value stored by itself. Raises DTypeError for scalable vectors."""
        if self.scalable:
            raise DTypeValueError(f"the size of `{self}` is only known at run time")
        return max(1, (storage_bits(self) * self.lanes + 7) // 8)

    @property
    def min_value(self) -> int | float:
        """The smallest finite value. Raises DTypeError where there is none."""
        if self.is_int:
            return -(1 << (self.bits - 1))
        if self.is_integral:
            return 0
        return _range(self)[0]

    @property
    def max_value(self) -> int | float:
        """The largest finite value. Raises DTypeError where there is none."""
        if self.is_int:
            return (1 << (self.bits - 1)) - 1
        if self.is_bool:
            return 1
        if self.is_uint:
            return (1 << self.bits) - 1
        return _range(self)[1]

    def wrap(self, value: int) -> int:
        """An integer reduced modulo two's complement into this integer type's range."""
        if self.is_bool:
            return int(value != 0)
        value &= (1 << self.bits) - 1
        if self.is_int and value >> (self.bits - 1):
            value -= 1 << self.bits
        return value

    def round(self, value: float) -> float:
        """The value of this float type nearest to `value` (ties to even, overflow as ml_dtypes does)."""
        if self.code == 2 and self.bits == 64:
            return float(value)
        import numpy as np

        return float(nearest(np.array(value, dtype=np.float64), self))

    def numpy(self) -> np.dtype[Any]:
        """The numpy dtype of one lane (ml_dtypes for the formats numpy lacks).

        Raises DTypeError for handle and void.
        """
        return _numpy(self.element)


def storage_bits(dtype: DType) -> int:
    """Bits that one lane takes in memory: bool is a byte, a handle 64 bits, void none."""
    return 8 if dtype.is_bool else dtype.bits


def _check_parts(code: int, bits: int, lanes: int, scalable: bool) -> None:
    name = _NAMES.get(code)
    if name is None:
        raise DTypeError(Diagnostic("unknown-dtype", f"there is no dtype of code {code}"))
    if name in ("int", "uint"):
        widths: tuple[int, ...] = _WIDTHS["int"]
    elif name in _WIDTHS:
        widths = _WIDTHS[name]
    else:
        widths = {"handle": (0, 64), "bool": (8,)}.get(name) or (int(name[5]),)
    if bits not in widths:
        raise DTypeError(Diagnostic("unknown-dtype", f"there is no `{name}` type of {bits} bits"))
    if not 1 <= lanes <= 65535:
        raise DTypeError(Diagnostic("lanes", f"{lanes} lanes are not possible; 1 to 65535 are"))
    if code == 3 and bits == 0 and (lanes != 1 or scalable):
        raise DTypeError(Diagnostic("lanes", "there are no vectors of `void`"))


def _parts(code: int, bits: int, lanes: int, scalable: bool) -> dict[str, Any]:
    """Everything that a DType keeps, computed once."""
    return {
        "code": code,
        "bits": bits,
        "lanes": lanes,
        "scalable": scalable,
        "is_int": code == 0,
        "is_uint": code == 1,
        "is_bool": code == 6,
        "is_integral": code in (0, 1, 6),
        "is_float": code in (2, 4) or code >= 7,
        "is_handle": code == 3 and bits != 0,
        "is_void": code == 3 and bits == 0,
        "is_scalar": lanes == 1 and not scalable,
        "is_vector": lanes > 1 or scalable,
        "_text": _spell(code, bits, lanes, scalable),
    }


def nearest(values: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """float64 values as the nearest ones of a float type, rounded once, ties to even.

    Releases of ml_dtypes differ here: older ones go through float32 and round twice.  Rounding to
    odd in float32 first makes the second rounding exact in all of them.
    """
    import numpy as np

    with np.errstate(all="ignore"):
        if dtype.code == 2:
            return values.astype(dtype.element.numpy())
        near = values.astype(np.float32)
        back, bits = near.astype(np.float64), near.view(np.int32)
        step = np.where(np.abs(back) < np.abs(values), bits + 1, bits - 1)
        inexact = (back != values) & ~np.isnan(values) & (bits & 1 == 0)
        odd = np.where(inexact, step, bits).astype(np.int32).view(np.float32)
        return odd.astype(dtype.element.numpy())


def _spell(code: int, bits: int, lanes: int, scalable: bool) -> str:
    if code == 3:
        base = "handle" if bits else "void"
    elif code in (0, 1, 2, 4):
        base = f"{_NAMES[code]}{bits}"
    else:
        base = _NAMES[code]
    if scalable:
        return f"{base}xvscalex{lanes}"
    return f"{base}x{lanes}" if lanes != 1 else base


def _unknown(text: str) -> DTypeError:
    near = suggest(text, known_names())
    return DTypeValueError(Diagnostic("unknown-dtype", f"`{text}` is not a dtype", help=near))


def known_names() -> list[str]:
    """The names of all scalar types."""
    names = [f"{kind}{bits}" for kind in ("int", "uint") for bits in _WIDTHS["int"]]
    names += [f"float{bits}" for bits in _WIDTHS["float"]]
    return [*names, "bfloat16", "bool", *_SMALL_FLOATS, "handle", "void"]


def _find(text: str) -> DType | None:
    """The type that this text spells, or None."""
    found = DType._parsed.get(text)
    if found is None and _PATTERN.fullmatch(text):
        try:
            found = DType(text)
        except DTypeError:
            return None
    return found


def _parse(text: str) -> DType:
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise _unknown(text)
    lanes = int(match["lanes"]) if match["lanes"] else 1
    if match["lanes"] is not None and not 1 <= lanes <= 65535:
        raise DTypeError(Diagnostic("unknown-dtype", f"`{text}` has {lanes} lanes; 1 to 65535 are possible"))
    scalable = match["scale"] is not None
    if match["small"]:
        code = CODES.get(match["small"])
        if code is None:
            raise _unknown(text)
        return DType.of(code, int(match["small"][5]), lanes, scalable)
    if match["word"]:
        word = match["word"]
        bits = {"bool": 8, "handle": 64, "void": 0}[word]
        if word == "void" and match["lanes"] is not None:
            raise _unknown(text)
        return DType.of(6 if word == "bool" else 3, bits, lanes, scalable)
    kind, bits = match["kind"], int(match["bits"])
    if bits not in _WIDTHS["int" if kind == "uint" else kind]:
        raise _unknown(text)
    return DType.of(CODES[kind], bits, lanes, scalable)


def from_numpy(spec: Any) -> DType:
    """The type of a numpy dtype (or what numpy takes for one). Raises DTypeError when there is none."""
    import numpy as np

    if spec is bool:
        return DType("bool")
    if spec is None:
        raise DTypeError(Diagnostic("unknown-dtype", "`None` is not a dtype"))
    try:
        name = np.dtype(spec).name
    except TypeError as err:
        raise DTypeError(Diagnostic("unknown-dtype", f"`{spec!r}` is not a dtype")) from err
    return DType(name)


_numpy_types: dict[DType, Any] = {}


def _numpy(dtype: DType) -> Any:
    found = _numpy_types.get(dtype)
    if found is None:
        import numpy as np

        if dtype.code == 3:
            raise DTypeError(f"numpy has no type for `{dtype}`")
        if dtype.code in (0, 1) and dtype.bits < 8 or dtype.code == 4 or dtype.code >= 7:
            import ml_dtypes

            if not hasattr(ml_dtypes, str(dtype)):
                found = np.dtype(np.int8 if dtype.is_int else np.uint8)
            else:
                found = np.dtype(getattr(ml_dtypes, str(dtype)))
        else:
            found = np.dtype(str(dtype))
        _numpy_types[dtype] = found
    return found


def _range(dtype: DType) -> tuple[float, float, str]:
    found = _RANGES.get(str(dtype.element))
    if found is None:
        raise DTypeError(f"`{dtype}` has no smallest or largest value")
    return found


def fits(dtype: DType, value: float) -> bool:
    """Whether a literal of this value may have this type (infinity and NaN fit formats that have them)."""
    if dtype.is_integral:
        return isinstance(value, int) and dtype.min_value <= value <= dtype.max_value
    if not dtype.is_float:
        return False
    low, high, specials = _range(dtype)
    if math.isfinite(value):
        return abs(value) <= high
    return ("nan" if math.isnan(value) else "inf") in specials
