from __future__ import annotations

import ast
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.command.format import format_source
from loopwright.command.main import main
from loopwright.command.sources import Source, cut, find_segments, parse_python, paste

MODULE = '''\
"""A module.

@T.prim_func
def not_a_kernel(): pass
"""
import numpy as np
from loopwright.script import ir as I, tirx as T

N   =  4 # odd   spacing stays

@T.prim_func( private=True )
def scale(A : T.Buffer((N,),"float32") , B:T.Buffer((N,),'float32')):
    # a comment
    for i in range( N ):   # trailing
        B[i]=A[i]*T.float32( 2 )


def make( x ):
    @T.prim_func
    def inner(A : T.Buffer((4,), "float32")):
        """doc
  string"""
        A[0]=T.float32( 1 )
    return inner

@I.ir_module
class Mod:
  @T.prim_func
  def add(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
    for i in range(4):
      b[i] = (a[i] + T.float32(1))

x = [1,
   2]'''

TEXT = """\
# from loopwright.script import tirx as T

@T.prim_func
def matmul(a: T.Buffer(("n", 8)), b: T.Buffer((8, "m")), c: T.Buffer(("n", "m"))):
    n = T.int32()
    m = T.int32()
    for i, j, k in T.grid(n, m, 8):
        with T.sblock("c"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                c[vi, vj] = T.float32(0)
            c[vi, vj] = c[vi, vj] + a[vi, vk] * b[vk, vj]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: Any) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernels.py").write_text(MODULE)
    (tmp_path / "matmul.py").write_text(TEXT)
    (tmp_path / "bad.py").write_text(MODULE.replace("B[i]=A[i]", "B[i]=C[i]"))
    return tmp_path


def stdin(monkeypatch: Any, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8"))


# --- finding objects


def test_objects_are_found_where_they_stand() -> None:
    source = Source("kernels.py", MODULE)
    segments = find_segments(source, parse_python(source))
    assert [(s.name, s.indent) for s in segments] == [("scale", ""), ("inner", "    "), ("Mod", "")]
    scanned = find_segments(source, None)
    assert scanned[-3:] == segments
    for segment in segments:
        assert paste(source, segment, cut(source, segment)) == MODULE
    assert "\n  string" in cut(source, segments[1]) and "\n    A[0]" in cut(source, segments[1])


@given(st.sampled_from(["from loopwright.script import tirx as X", "import loopwright.script.tirx as X"]))
def test_aliases_count(line: str) -> None:
    source = Source("a.py", f"{line}\n@X.prim_func\ndef f(): pass\n@T.prim_func\ndef g(): pass\n")
    assert [s.name for s in find_segments(source, parse_python(source))] == ["f"]


# --- format


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_format_keeps_every_other_byte(folder: Path, newline: str, encoding: str) -> None:
    head = "# coding: latin-1\n" if encoding == "latin-1" else ""
    text = f"{head}s = 'é'\n{MODULE}"
    path = folder / "k.py"
    path.write_bytes(text.replace("\n", newline).encode(encoding))
    assert main(["format", "k.py"]) == 0
    new = path.read_bytes().decode(encoding)
    assert new.count("\n") == new.count(newline)
    new = new.replace(newline, "\n")
    before, after = Source("k.py", text), Source("k.py", new)
    old_parts = find_segments(before, parse_python(before))
    new_parts = find_segments(after, parse_python(after))
    assert rest(before, old_parts) == rest(after, new_parts)
    assert "    # a comment\n" in new and "# trailing" in new and "B[i] = A[i] * T.float32(2)" in new
    assert "\n  string" in new and "@T.prim_func(private=True)\ndef scale(" in new
    assert main(["format", "--check", "k.py"]) == 0


def rest(source: Source, segments: list[Any]) -> list[str]:
    inside = {n for s in segments for n in range(s.start, s.end)}
    return [line for n, line in enumerate(source.lines) if n not in inside]


def test_format_twice_changes_nothing() -> None:
    once, faults = format_source(Source("k.py", MODULE))
    assert not faults and format_source(Source("k.py", once)) == (once, [])
    ast.parse(once)


def test_format_check_and_diff_write_nothing(folder: Path, capsys: Any) -> None:
    assert main(["format", "--check", "."]) == 1
    assert "would change kernels.py" in capsys.readouterr().out
    assert main(["format", "--diff", "kernels.py"]) == 1
    out = capsys.readouterr().out
    assert "-        B[i]=A[i]*T.float32( 2 )\n" in out and "+        B[i] = A[i] * T.float32(2)\n" in out
    assert (folder / "kernels.py").read_text() == MODULE


def test_format_standard_input(monkeypatch: Any, capfdbinary: Any) -> None:
    stdin(monkeypatch, "@T.prim_func\ndef f( ):\n  T.evaluate( 0 )\n")
    assert main(["format", "-"]) == 0
    assert capfdbinary.readouterr().out == b"@T.prim_func\ndef f():\n    T.evaluate(0)\n"


def test_format_leaves_what_it_cannot_read(folder: Path, capsys: Any) -> None:
    broken = MODULE.replace("for i in range( N ):", "for i in range( N :")
    (folder / "broken.py").write_text(broken)
    assert main(["format", "broken.py"]) == 1
    assert "broken.py:14:" in capsys.readouterr().err
    assert "for i in range( N :" in (folder / "broken.py").read_text()


# --- check


def test_check_sees_only_decorated_objects(folder: Path, capsys: Any) -> None:
    assert main(["check", "kernels.py", "matmul.py"]) == 0
    assert "2 files, 4 kernels, no errors" in capsys.readouterr().err
    assert main(["check", "bad.py"]) == 1
    err = capsys.readouterr().err
    assert "error[undefined-name]" in err and "bad.py:15:14" in err and "B[i]=C[i]*T.float32( 2 )" in err


def test_check_reports_places_as_json(folder: Path, capsys: Any) -> None:
    assert main(["check", "--json", "-q", "."]) == 1
    rows = [json.loads(row) for row in capsys.readouterr().out.splitlines()]
    assert rows and rows[0]["span"]["line"] == 15 and rows[0]["code"] == "undefined-name"


def test_check_of_captured_values(folder: Path, capsys: Any) -> None:
    text = MODULE.replace("N   =  4 # odd   spacing stays", "N = int(np.sqrt(16))")
    (folder / "captured.py").write_text(text)
    assert main(["check", "captured.py"]) == 0
    assert "captured.py:scale" in capsys.readouterr().err
    assert main(["check", "--run", "captured.py"]) == 0
    (folder / "captured.py").write_text(text.replace("B[i]=A[i]", "B[i]=C[i]"))
    assert main(["check", "captured.py"]) == 0
    assert main(["check", "--run", "captured.py"]) == 1
    assert "captured.py:15:14" in capsys.readouterr().err


def test_check_standard_input(monkeypatch: Any, capsys: Any) -> None:
    stdin(monkeypatch, TEXT.replace("a[vi, vk]", "a[vi, vk, 0]"))
    assert main(["check", "-"]) == 1
    assert "<stdin>:12:" in capsys.readouterr().err


# --- show and run


def test_explain_names_rule_and_block(folder: Path, capsys: Any):
    assert main(["explain", "matmul.py:matmul"]) == 0
    said = capsys.readouterr().out
    assert "matmul takes `c`" in said and "sch." in said
    assert main(["explain", "matmul.py:nothing"]) == 2


def test_timeline_prints_a_table_and_writes_a_page(folder: Path, capsys: Any):
    assert main(["timeline", "matmul.py:matmul", "--html", "page.html"]) == 0
    table = capsys.readouterr().out
    assert table.startswith("matmul\n")
    assert "  tirx.FlattenBuffer" in table
    page = (folder / "page.html").read_text()
    assert "<h2>matmul</h2>" in page
    assert "<code>s_tir.LowerInitBlock</code>" in page
    assert main(["timeline", "matmul.py", "--html", "no/such/folder.html"]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_show_after_schedule_has_the_loops_of_a_build(folder: Path, capsys: Any):
    assert main(["show", "matmul.py:matmul", "--after", "schedule"]) == 0
    assert "T.sblock" in capsys.readouterr().out


def test_show(folder: Path, capsys: Any) -> None:
    assert main(["show", "matmul.py"]) == 0
    assert "def matmul(" in capsys.readouterr().out
    assert main(["show", "kernels.py:add"]) == 0
    out = capsys.readouterr().out
    assert "def add(" in out and "class" not in out
    assert main(["show", "kernels.py"]) == 0
    out = capsys.readouterr().out
    assert "def scale(" in out and "class Module" in out
    assert main(["show", "matmul.py", "--json"]) == 0
    json.loads(capsys.readouterr().out)
    assert main(["show", "matmul.py", "--after", "all"]) == 0
    assert "T.sblock" not in capsys.readouterr().out
    assert main(["show", "matmul.py", "--emit", "llvm"]) == 0
    assert "define" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["show", "absent.py"], "`absent.py` cannot be read"),
        (["show", "kernels.py:skale"], "did you mean `scale`"),
        (["show", "matmul.py", "--after", "tirx.FlatenBuffer"], "did you mean `tirx.FlattenBuffer`"),
        (["show", "matmul.py", "--after", "all", "--target", "lvm"], "did you mean `llvm`"),
        (["show", "empty.py"], "no kernels"),
        (["show", "raises.py"], "running `raises.py` fails: ZeroDivisionError"),
        (["run", "kernels.py"], "has 2 kernels"),
        (["run", "matmul.py", "-i", "kernels.py"], "no .npy file for `a`"),
        (["run", "matmul.py", "-i", "q=1"], "no parameter `q`"),
        (["run", "matmul.py"], "depends on `n`"),
        (
            ["run", "matmul.py", "-i", "a=a.npy", "-i", "a.npy", "-i", "a.npy", "-i", "a.npy"],
            "4 inputs for 3",
        ),
        (["run", "matmul.py", "-i", "a=a.npy", "-i", "b=a.npy"], "must have shape[1] 8"),
        (["run", "matmul.py", "-i", "a.npy", "-i", "b.npy", "-o", "x.npy", "-o", "y.npy"], "no array for"),
        (["run", "bad.py:scale"], "undefined-name"),
        (["check", "nowhere"], "`nowhere` does not exist"),
    ],
)
def test_mistakes_get_diagnostics(folder: Path, capsys: Any, argv: list[str], words: str) -> None:
    (folder / "empty.py").write_text("import os\n")
    (folder / "raises.py").write_text("from loopwright.script import tirx as T\n\n1 / 0\n")
    np.save("a.npy", np.ones((2, 7), "float32"))
    np.save("b.npy", np.ones((8, 3), "float32"))
    code = main(argv)
    err = capsys.readouterr().err
    assert code in (1, 2) and words in err and "error[" in err and "Traceback" not in err


@pytest.mark.parametrize("how", [[], ["--interpret"], ["--time"]])
def test_run_on_arrays(folder: Path, capsys: Any, how: list[str]) -> None:
    a, b = np.arange(16, dtype="float32").reshape(2, 8), np.ones((8, 3), "float32")
    np.save("a.npy", a)
    np.save("b.npy", b)
    argv = ["run", "matmul.py:matmul", "--input", "a.npy", "--input", "b=b.npy", "--output", "c.npy", *how]
    assert main(argv) == 0
    assert (np.load("c.npy") == a @ b).all()
    err = capsys.readouterr().err
    assert "c (2, 3) float32 -> c.npy" in err and ("median" in err) == ("--time" in how)
    assert main(["run", "kernels.py:add", "-i", "v.npy"]) == 2
    np.save("v.npy", np.zeros(4, "float32"))
    assert main(["run", "kernels.py:add", "-i", "v.npy"]) == 0
    assert capsys.readouterr().out == "b = [1. 1. 1. 1.]\n"


# --- the rest


def test_doctor(capsys: Any) -> None:
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    for word in (
        "Python",
        "numpy",
        "lark",
        "llvmlite",
        "ml_dtypes",
        "LLVM",
        "object cache",
        "CUDA",
        "OpenCL",
        "PyTorch",
    ):
        assert word in out
    assert "compiled and right" in out and "Traceback" not in out


def test_as_a_program() -> None:
    done = subprocess.run([sys.executable, "-m", "loopwright", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("loopwright ")
    done = subprocess.run([sys.executable, "-m", "loopwright", "frmat"], capture_output=True, text=True)
    assert done.returncode == 2 and "invalid choice" in done.stderr
