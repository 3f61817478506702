"""What becomes of a kernel text before g++ reads it. Its lines stay where they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import count

from ...errors import CodegenError, Diagnostic

_AXES = {
    f"{name}.{axis}": f"lw_axis({3 * i + j})"
    for i, name in enumerate(("threadIdx", "blockIdx", "blockDim", "gridDim"))
    for j, axis in enumerate("xyz")
}
_KNOWN = frozenset(
    "assert.h cassert cfloat climits cmath cstddef cstdint cstdio cstring float.h limits.h math.h stddef.h "
    "stdint.h stdio.h string.h cuda.h cuda_pipeline.h cuda_pipeline_primitives.h cuda_runtime.h "
    "cuda_runtime_api.h device_launch_parameters.h math_constants.h".split()
)
"""Headers whose words `cuda_sim.h` has, as far as kernels need them."""

_TOKEN = re.compile(
    r"""
      (?P<include>^[ \t]*\#[ \t]*include[ \t]*[<"](?P<header>[^>"\n]*)[>"]) |
      (?P<skip>"(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | //[^\n]* | /\*.*?\*/ )
    | (?P<axis>\b(?:threadIdx|blockIdx|blockDim|gridDim)\s*\.\s*[xyz]\b)
    | (?P<shared>(?:\bextern\s+)?\b__shared__\b(?P<words>[^;={}()]*(?:\([^()]*\)[^;={}()]*)*);)
    """,
    re.X | re.S | re.M,
)
_ALIGN = re.compile(r"(?:__align__|alignas)\s*\([^()]*\)")
_DECLARATION = re.compile(r"(?P<type>.*?[\s*&>])(?P<name>[A-Za-z_]\w*)\s*(?P<sizes>(?:\[[^\]]*\]\s*)*)", re.S)


def prepare(text: str, kernels: Iterable[str]) -> str:
    """The text with shared arrays taken from the runtime, and with a function that launches each kernel.

    Raises CodegenError for a declaration of shared memory that is not one array or value.
    """
    numbers = count()
    changed = _TOKEN.sub(lambda m: "".join(_replacement(m, numbers)), text)
    entries = [f'extern "C" void lw_entry_{k}(void** args) {{ lw_call({k}, args); }}' for k in kernels]
    return "\n".join([changed, *entries, ""])


def _replacement(found: re.Match[str], numbers: Iterator[int]) -> Iterator[str]:
    if found["axis"]:
        yield _AXES["".join(found["axis"].split())]
    elif found["include"]:
        yield "" if found["header"] in _KNOWN else found["include"]
    elif found["shared"]:
        yield _shared(found["shared"], found["words"], next(numbers))
        yield "\n" * found["shared"].count("\n")
    else:
        yield found["skip"]


def _shared(whole: str, words: str, number: int) -> str:
    declaration = _DECLARATION.fullmatch(_ALIGN.sub(" ", words).strip())
    if declaration is None or "," in declaration["type"].split("<")[0]:
        message = f"the simulator cannot read the declaration `{' '.join(whole.split())}`"
        help = ("declare each shared array on its own: `__shared__ float name[64];`",)
        raise CodegenError(Diagnostic("unsupported-codegen", message, help=help))
    kind = " ".join(declaration["type"].replace("volatile", " ").split())
    name, sizes = declaration["name"], " ".join(declaration["sizes"].split())
    hint = f"volatile {kind}" if "volatile" in declaration["type"] else kind
    if whole.startswith("extern"):
        return f'{hint}* const {name} = static_cast<{hint}*>(lw_dynamic_shared("{name}"));'
    made = f"typedef {hint} lw_type_{number}{sizes};"
    place = f'lw_shared({number}, sizeof(lw_type_{number}), "{name}")'
    return f"{made} lw_type_{number}& {name} = *static_cast<lw_type_{number}*>({place});"
