"""CUDA C++: the words of the language."""

from __future__ import annotations

import math
import re
from collections import ChainMap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ...dtype import DType
from ..c_like.dialect import Dialect
from ..c_like.expr import quoted
from ..c_like.text import Term, Unit, call, convert
from ..c_like.types import lane_bytes
from . import fragments, ptx, rules
from .words import FAST_MATH, RESERVED

if TYPE_CHECKING:
    from ..c_like.core import Emitter
    from ..c_like.stmt import Statements


class Cuda(Dialect):
    """CUDA C++."""

    name = "cuda"
    title = "cuda"
    types: ClassVar[Mapping[str, str]] = {
        "bool": "bool",
        "true": "true",
        "false": "false",
        "int8": "signed char",
        "int16": "short",
        "int32": "int",
        "int64": "long long",
        "uint8": "unsigned char",
        "uint16": "unsigned short",
        "uint32": "unsigned int",
        "uint64": "unsigned long long",
        "float16": "half",
        "bfloat16": "__nv_bfloat16",
        "float32": "float",
        "float64": "double",
    }
    needs: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "half": ("#include <cuda_fp16.h>",),
        "__nv_bfloat16": ("#include <cuda_bf16.h>",),
    }
    axes: ClassVar[Mapping[str, str]] = {
        f"{what}Idx.{axis}": f"{what}Idx.{axis}" for what in ("block", "thread") for axis in "xyz"
    }
    kernel = 'extern "C" __global__ void'
    function = "__device__"
    helper = "static __device__ __forceinline__"
    restrict = "__restrict__"
    bool_cell = "bool"
    reserved = RESERVED
    rules = ChainMap(rules.RULES, fragments.RULES, ptx.RULES)
    suffixes: ClassVar[Mapping[str, str]] = {"uint32": "u", "int64": "LL", "uint64": "ULL"}
    infinity: ClassVar[Mapping[int, str]] = {
        32: "__int_as_float(0x7f800000)",
        64: "__longlong_as_double(0x7ff0000000000000LL)",
    }
    nan: ClassVar[Mapping[int, str]] = {
        32: "__int_as_float(0x7fc00000)",
        64: "__longlong_as_double(0x7ff8000000000000LL)",
    }
    widest = 16
    unaligned = False
    print_long = "%ll"
    trap = "__trap"

    @property
    def arch(self) -> int:
        """The compute capability, 80 for `sm_80`."""
        found = re.search(r"\d+", str(self.target.get("arch", "")))
        return int(found.group()) if found else 80

    def native_floats(self) -> frozenset[str]:
        return frozenset({"float16", "bfloat16"} if self.arch >= 80 else {"float16"})

    def pointer(self, cell: str, scope: str, const: bool = False) -> str:
        return f"const {cell}*" if const else f"{cell}*"

    def shared(self, declaration: str) -> str:
        return f"__shared__ __align__(16) {declaration}"

    def local(self, declaration: str, size: int) -> str:
        return declaration if size >= 4 else f"__align__(4) {declaration}"  # tensor cores take words

    def bounds(self, threads: int | None, shape: tuple[int, int, int] | None) -> str:
        return "" if threads is None else f"__launch_bounds__({threads})"

    def math(self, unit: Unit, name: str, bits: int) -> str:
        name = {"round": "rint", "nearbyint": "rint"}.get(name, name)
        if bits == 64:
            return name
        return FAST_MATH.get(name, f"{name}f") if unit.fast else f"{name}f"

    def small_constant(self, dtype: DType, value: float) -> str:
        half = str(dtype) == "float16"
        if math.isfinite(value):
            return f"__float2half({value!r}f)" if half else f"__float2bfloat16({value!r}f)"
        bits = (
            (0x7C00 if half else 0x7F80)
            | (0x8000 if value < 0 else 0)
            | (0x200 if half else 0x40) * (value != value)
        )
        return f"__ushort_as_{'half' if half else 'bfloat16'}({hex(bits)})"

    def _native_vector(self, dtype: DType, lanes: int) -> str | None:
        """The language's own type for a vector of cells."""
        text = str(dtype)
        if text == "float16" and lanes == 2:
            return "half2"
        if text == "bfloat16" and lanes == 2 and not self.carried(dtype):
            return "__nv_bfloat162"
        stems = {
            "signed char": "char",
            "unsigned char": "uchar",
            "short": "short",
            "unsigned short": "ushort",
        }
        stems |= {
            "int": "int",
            "unsigned int": "uint",
            "long long": "longlong",
            "unsigned long long": "ulonglong",
        }
        stems |= {"float": "float", "double": "double"}
        stem = stems.get(self.cell_type(dtype))
        return f"{stem}{lanes}" if stem is not None and lanes in (2, 4) else None

    def vector(self, unit: Unit, dtype: DType, lanes: int) -> str:
        cell = unit.cell(dtype)
        native = self._native_vector(dtype, lanes)
        if native is not None:
            return native
        name = f"lw_{re.sub(r'^__nv_|signed ', '', cell).replace('unsigned ', 'u')}{lanes}"
        fields = ", ".join([f"s{k}" for k in range(lanes)])
        return unit.part(
            name, f"struct __align__({lanes * lane_bytes(dtype)}) {name} {{ {cell} {fields}; }};"
        )

    def lane(self, dtype: DType, lanes: int, k: int) -> str:
        return "xyzw"[k] if self._native_vector(dtype, lanes) is not None else f"s{k}"

    def load(self, m: Emitter, dtype: DType, lanes: int, address: Term, scope: str) -> str:
        return f"*(const {self.vector(m.unit, dtype, lanes)}*){address.at(10)}"

    def store(self, m: Emitter, dtype: DType, address: Term, scope: str, cells: list[str]) -> str:
        kind = self.vector(m.unit, dtype, len(cells))
        values = ", ".join(cells)
        if kind == "half2":
            value = f"__halves2half2({values})"
        elif kind == "__nv_bfloat162":
            value = f"__halves2bfloat162({values})"
        else:
            value = f"{kind}{{{values}}}" if kind.startswith("lw_") else f"make_{kind}({values})"
        return f"*({kind}*){address.at(10)} = {value};"

    def bits_to_float(self, unit: Unit, dtype: DType) -> tuple[str, str]:
        return {
            "float32": ("__uint_as_float", "__float_as_uint"),
            "float64": ("__longlong_as_double", "__double_as_longlong"),
            "float16": ("__ushort_as_half", "__half_as_ushort"),
            "bfloat16": ("__ushort_as_bfloat16", "__bfloat16_as_ushort"),
        }[str(dtype)]

    def narrow(self, unit: Unit, dtype: DType, source: DType) -> str | None:
        half = str(dtype) == "float16"
        if source.bits == 64:
            return "__double2half" if half else "__double2bfloat16"
        return "__float2half_rn" if half else "__float2bfloat16_rn"

    def fail(self, m: Emitter, message: str) -> None:
        """A macro, so that the simulator reports the place where it stands."""
        lines = ["#ifdef LW_CUDA_SIM", "#define lw_fail(message) lw_assert_failed(message)", "#else"]
        lines += [f'#define lw_fail(message) (printf("%s\\n", message), {self.trap}())', "#endif"]
        m.unit.part("lw_fail", "\n".join(lines))
        m.put(f"lw_fail({quoted(message)});")

    def check_division(self, unit: Unit, dtype: DType) -> list[str]:
        return []

    def count_bits(self, leading_zeros: bool, bits: int) -> str:
        return ("__clz" if leading_zeros else "__popc") + ("ll" if bits == 64 else "")

    def atomic_add(self, m: Statements, dtype: DType, place: Term, value: Term) -> Term | None:
        text = str(dtype)
        if text == "int64":
            wide = "unsigned long long"
            return convert("long long", call("atomicAdd", convert(f"{wide}*", place), convert(wide, value)))
        if text in ("int32", "uint32", "uint64", "float32", "float64") or text in self.native:
            return call("atomicAdd", place, value)
        return None

    def atomic_cas(self, m: Statements, dtype: DType, place: Term, old: Term, new: Term) -> Term | None:
        text = str(dtype)
        if text == "int64":
            wide = "unsigned long long"
            parts = [convert(f"{wide}*", place), convert(wide, old), convert(wide, new)]
            return convert("long long", call("atomicCAS", *parts))
        if text in ("int32", "uint32", "uint64"):
            return call("atomicCAS", place, old, new)
        return None

    def shuffle(self, way: str, mask: Term, value: Term, lane: Term, width: Term) -> Term:
        """A shuffle of 32 or 64 bits; `way` is empty, `up`, `down` or `xor`."""
        return call(f"__shfl_{way}_sync" if way else "__shfl_sync", mask, value, lane, width)

    def find_scope(self, scope: str) -> Any:
        return fragments.allocate if scope.startswith("wmma.") else None
