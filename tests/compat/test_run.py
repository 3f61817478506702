"""`python -m loopwright.compat PROGRAM`: programs that import tvm run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import loopwright

PROGRAM = """
import sys
import helper
import tvm
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.sblock("B"):
            v = T.axis.spatial(4, i)
            C[v] = A[v] + 1.0

sch = tvm.s_tir.Schedule(f)
sch.vectorize(sch.get_loops("B")[0])
print(sys.argv[1:], __name__, helper.NAME, "T.vectorized" in sch.mod.script())
"""


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    home = str(Path(loopwright.__file__).parent.parent)
    paths = [home, *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([p for p in paths if p])}
    command = [sys.executable, "-m", "loopwright.compat", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment)


def test_a_program_runs_as_its_own_main(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "helper.py").write_text("NAME = 'beside'\n")
    (folder / "program.py").write_text(PROGRAM)
    done = run(str(folder / "program.py"), "a", "-b", cwd=tmp_path)
    assert done.stdout.strip() == "['a', '-b'] __main__ beside True", done.stderr
    done = run("-m", "program", "c", cwd=folder)
    assert done.stdout.strip() == "['c'] __main__ beside True", done.stderr


def test_without_a_program_the_usage_is_said(tmp_path):
    assert "usage" in run(cwd=tmp_path).stderr
    assert run(cwd=tmp_path).returncode == 2
    assert run("--help", cwd=tmp_path).returncode == 0
    missing = run("absent.py", cwd=tmp_path)
    assert missing.returncode == 2 and "no program `absent.py`" in missing.stderr
