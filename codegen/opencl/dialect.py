"""OpenCL C 1.2, with the extensions that the target names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from ...dtype import DType
from ..c_like.dialect import Dialect
from ..c_like.expr import quoted
from ..c_like.text import Term, Unit, call
from ..c_like.types import integer
from . import rules
from .words import FAST_MATH, RESERVED

if TYPE_CHECKING:
    from ..c_like.core import Emitter
    from ..c_like.stmt import Statements

_SPACES = {"shared": "__local", "local": "__private", "constant": "__constant"}


def space(scope: str) -> str:
    """The address space of a storage scope."""
    return _SPACES.get(scope.partition(".")[0], "__global")


class OpenCL(Dialect):
    """OpenCL C."""

    name = "opencl"
    title = "opencl"
    types: ClassVar[Mapping[str, str]] = {
        "bool": "bool",
        "true": "true",
        "false": "false",
        "int8": "char",
        "int16": "short",
        "int32": "int",
        "int64": "long",
        "uint8": "uchar",
        "uint16": "ushort",
        "uint32": "uint",
        "uint64": "ulong",
        "float16": "half",
        "float32": "float",
        "float64": "double",
    }
    needs: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "half": ("#pragma OPENCL EXTENSION cl_khr_fp16 : enable",),
        "double": ("#pragma OPENCL EXTENSION cl_khr_fp64 : enable",),
    }
    axes: ClassVar[Mapping[str, str]] = {
        f"{what}Idx.{axis}": f"get_{name}_id({k})"
        for what, name in (("block", "group"), ("thread", "local"))
        for k, axis in enumerate("xyz")
    }
    kernel = "__kernel void"
    function = ""
    helper = "static inline"
    restrict = "restrict"
    bool_cell = "uchar"
    reserved = RESERVED
    rules = rules.RULES
    suffixes: ClassVar[Mapping[str, str]] = {"uint32": "u", "int64": "L", "uint64": "UL"}
    infinity: ClassVar[Mapping[int, str]] = {32: "INFINITY", 64: "(double)INFINITY"}
    nan: ClassVar[Mapping[int, str]] = {32: "NAN", 64: "(double)NAN"}
    widest = 64
    unaligned = True
    print_double = False
    print_long = "%l"
    dynamic_parameter = True

    def extension(self, name: str) -> bool:
        """Whether the target has an extension."""
        return name in (self.target.get("extensions") or ())

    def native_floats(self) -> frozenset[str]:
        return frozenset({"float16"} if self.extension("cl_khr_fp16") else ())

    def pointer(self, cell: str, scope: str, const: bool = False) -> str:
        return f"{space(scope)} const {cell}*" if const else f"{space(scope)} {cell}*"

    def near(self, scope: str) -> str:
        return space(scope).replace("__", "_")

    def shared(self, declaration: str) -> str:
        return f"__local {declaration} __attribute__((aligned(16)))"

    def bounds(self, threads: int | None, shape: tuple[int, int, int] | None) -> str:
        if shape is None:
            return ""
        return f"__attribute__((reqd_work_group_size({', '.join([str(n) for n in shape])})))"

    def math(self, unit: Unit, name: str, bits: int) -> str:
        name = {"round": "rint", "nearbyint": "rint"}.get(name, name)
        return FAST_MATH.get(name, name) if unit.fast and bits == 32 else name

    def small_constant(self, dtype: DType, value: float) -> str:
        if math.isfinite(value):
            return f"(half){value!r}f" if value >= 0 else f"(half)({value!r}f)"
        bits = 0x7C00 | (0x8000 if value < 0 else 0) | 0x200 * (value != value)
        return f"as_half((ushort){hex(bits)})"

    def vector(self, unit: Unit, dtype: DType, lanes: int) -> str:
        return f"{unit.cell(dtype)}{lanes}"

    def lane(self, dtype: DType, lanes: int, k: int) -> str:
        return f"s{k:x}"

    def load(self, m: Emitter, dtype: DType, lanes: int, address: Term, scope: str) -> str:
        return call(f"vload{lanes}", "0", address).text

    def store(self, m: Emitter, dtype: DType, address: Term, scope: str, cells: list[str]) -> str:
        value = f"({self.vector(m.unit, dtype, len(cells))})({', '.join(cells)})"
        return call(f"vstore{len(cells)}", value, "0", address).text + ";"

    def bits_to_float(self, unit: Unit, dtype: DType) -> tuple[str, str]:
        names = {"float32": ("as_float", "as_uint"), "float64": ("as_double", "as_ulong")}
        return {**names, "float16": ("as_half", "as_ushort")}[str(dtype)]

    def half_conversions(self) -> tuple[list[str], list[str]] | None:
        """Without arithmetic on it, the language can still load and store float16."""
        store = ["ushort bits;", "vstore_half_rte(x, 0, (half*)&bits);", "return bits;"]
        return ["return vload_half(0, (const half*)&x);"], store

    def narrow(self, unit: Unit, dtype: DType, source: DType) -> str | None:
        return "convert_half_rte"

    def before_barriers(self) -> list[str]:
        """PoCL makes wrong code of loops that begin with a barrier after code that differs by thread."""
        return ["barrier(CLK_LOCAL_MEM_FENCE);  // some compilers want one before a loop with barriers"]

    def fail(self, m: Emitter, message: str) -> None:
        if not getattr(m, "kernel", False):
            help = "assert in the kernel, whose thread ends then"
            raise m.refuse("an assertion in a function that a kernel calls", None, help)
        m.put(f"printf({quoted(message.replace('%', '%%') + chr(10))});")
        m.put("return;")

    def check_division(self, unit: Unit, dtype: DType) -> list[str]:
        """A division that has no result gives 0: on a processor it would end the process."""
        if dtype.is_uint:
            return ["if (b == 0) return 0;"]
        least = integer(unit, dtype, int(dtype.min_value)).text
        return [f"if (b == 0 || (b == -1 && a == {least})) return 0;"]

    def count_bits(self, leading_zeros: bool, bits: int) -> str:
        return "clz" if leading_zeros else "popcount"

    def atomic_add(self, m: Statements, dtype: DType, place: Term, value: Term) -> Term | None:
        text = str(dtype)
        if text in ("int32", "uint32"):
            return call("atomic_add", place, value)
        if text in ("int64", "uint64"):
            m.unit.header("#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable")
            return call("atom_add", place, value)
        return None

    def atomic_cas(self, m: Statements, dtype: DType, place: Term, old: Term, new: Term) -> Term | None:
        if str(dtype) in ("int32", "uint32"):
            return call("atomic_cmpxchg", place, old, new)
        if str(dtype) in ("int64", "uint64"):
            m.unit.header("#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable")
            return call("atom_cmpxchg", place, old, new)
        return None
