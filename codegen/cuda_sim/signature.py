"""Kernels written by hand: their parameters, read from the text."""

from __future__ import annotations

import re

from ...errors import CodegenError, Diagnostic
from ...runtime.kernels import DeviceSource, Kernel, KernelParam

_DTYPES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "__half": "float16",
    "__nv_bfloat16": "bfloat16",
    "bool": "bool",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "long long": "int64",
    "int8_t": "int8",
    "int16_t": "int16",
    "int32_t": "int32",
    "int64_t": "int64",
    "uint8_t": "uint8",
    "uint16_t": "uint16",
    "uint32_t": "uint32",
    "uint64_t": "uint64",
    "size_t": "uint64",
    "float2": "float32",
    "float4": "float32",
    "int2": "int32",
    "int4": "int32",
}
_KERNEL = re.compile(
    r"__global__\s+(?:void\s+)?(?:__launch_bounds__\s*\(\s*(?P<threads>\d+)[^()]*\)\s*)?(?:void\s+)?"
    r"(?P<name>\w+)\s*\((?P<params>[^()]*)\)\s*\{"
)
_QUALIFIER = re.compile(r"\b(?:const|volatile|signed|__restrict__|restrict)\b")


def read_kernels(text: str) -> DeviceSource:
    """The source that a CUDA text is, with the kernels that it defines.

    Raises CodegenError for a parameter of a type that is not known, and where there is no kernel.
    """
    kernels = []
    for found in _KERNEL.finditer(text):
        params = [_parameter(part) for part in found["params"].split(",") if part.strip()]
        most = int(found["threads"]) if found["threads"] else None
        kernels.append(Kernel(found["name"], tuple(params), (), most))
    if not kernels:
        raise CodegenError(Diagnostic("no-function", "the text defines no kernel", help=_HELP))
    return DeviceSource("cuda", text, tuple(kernels))


_HELP = ('a kernel is written `extern "C" __global__ void name(float* a, int n) { ... }`',)


def _parameter(text: str) -> KernelParam:
    words = _QUALIFIER.sub(" ", text.replace("*", " * ")).split()
    kind, name = " ".join([w for w in words[:-1] if w != "*"]), words[-1]
    unsigned = kind.startswith("unsigned")
    dtype = _DTYPES.get((kind.removeprefix("unsigned").strip() or "int") if unsigned else kind)
    if dtype is None or "*" == name:
        message = f"the type of the parameter `{' '.join(text.split())}` is not known"
        raise CodegenError(Diagnostic("unsupported-parameter", message, help=_HELP))
    return KernelParam(name, f"u{dtype}" if unsigned else dtype, "*" in words, written="const" not in text)
