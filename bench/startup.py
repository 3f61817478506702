"""What one waits for before the first result: imports, the first compile, the compile of a later process."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

from common import Row

IMPORT = "import time; t = time.perf_counter(); import loopwright; print(time.perf_counter() - t)"
KERNEL = '''
import time
import numpy, llvmlite.binding, ml_dtypes
import loopwright, loopwright.script, loopwright.codegen.llvm, loopwright.transform
TEXT = """
@T.prim_func
def kernel(a: T.Buffer((512, 512)), b: T.Buffer((512, 512)), c: T.Buffer((512, 512))):
{body}
"""
BLOCK = """
    for i, j in T.grid(512, 512):
        with T.sblock("block{k}"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(a[vi, vj], b[vi, vj])
            T.writes(c[vi, vj])
            c[vi, vj] = T.max(a[vi, vj] * b[vi, vj] + T.float32({k}), T.float32(0))
"""
text = TEXT.format(body="\\n".join(BLOCK.strip("\\n").format(k=k) for k in range(10)))
func = loopwright.parse(text)
start = time.process_time()
lib = loopwright.build(func)
lib["kernel"]
print(time.process_time() - start)
'''


def run(code: str, **env: str) -> float:
    """The number that a new process prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **env}
    )
    return float(done.stdout.split()[-1])


def rows() -> list[Row]:
    """Medians over new processes."""
    imports = statistics.median(run(IMPORT) for _ in range(5))
    with tempfile.TemporaryDirectory() as folder:
        cold = []
        for k in range(3):
            cold.append(run(KERNEL, LOOPWRIGHT_CACHE_DIR=os.path.join(folder, str(k))))
        warm = [run(KERNEL, LOOPWRIGHT_CACHE_DIR=os.path.join(folder, "0")) for _ in range(5)]
    return [
        Row("import loopwright", imports * 1e3, "ms", 150, note="wall time in a new process"),
        Row("compile a 64-line kernel, cold", statistics.median(cold) * 1e3, "ms", 300),
        Row("compile it again in a new process", statistics.median(warm) * 1e3, "ms", 10, note="disk cache"),
    ]
