"""Random kernels of odd dtypes, extents and widths: device sources against the oracle, bit for bit.

All kernels of one language are one source.  `LOOPWRIGHT_KERNELS=N` takes N of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from loopwright.ir import PrimFunc
from loopwright.script import parse
from loopwright.testing.fuzz_kernels import Kernel, compare
from loopwright.testing.results import copies, sample_arguments
from loopwright.transform import lower
from loopwright.transform.device import kernels_of

COUNT = int(os.environ.get("LOOPWRIGHT_KERNELS", "8"))
SEED = 3


def program(number: int) -> PrimFunc:
    """A random kernel, its loops below a thread axis of one thread."""
    head, params, *body = Kernel(SEED, number).text.rstrip().split("\n")
    lines = [head, params.replace("def f(", f"def f{number}(")]
    lines += ['    for t in T.thread_binding(1, thread="threadIdx.x"):']
    for line in body:
        line = re.sub(r'(alloc_buffer\(.*?"\w+")\)', r'\1, scope="local")', line)
        lines.append("    " + line.replace("T.parallel", "range"))
    func = parse("\n".join(lines) + "\n")
    assert isinstance(func, PrimFunc)
    return func


def test_random_kernels_agree(language: str, load: Callable[..., Any]) -> None:
    functions, kernels = [program(n) for n in range(COUNT)], {}
    for func in functions:
        kernels |= kernels_of(lower(func, language))
    launch = load(language, kernels)
    faults = []
    for func in functions:
        arguments = sample_arguments(func, SEED)
        want, got = copies(arguments), copies(arguments)
        func.interpret(*want)
        name = f"{func.attrs['global_symbol']}_kernel"
        own = {p.name: a for p, a in zip(func.params, got)}
        launch(name, 1, 1, [own[p.name.removesuffix("_data")] for p in kernels[name].params])
        try:
            for k, (a, b) in enumerate(zip(want, got)):
                compare(k, a, b)
        except AssertionError as err:
            faults.append(f"{err}\n{func.script()}")
    assert not faults, "\n".join(faults)
