"""Every fault that a reader of scripts must name, in text and in decorated Python: code, place, names, help.

In a program below `§` stands right before the place that the diagnostic must point at; it is no part of it.
"""

from __future__ import annotations

import importlib.util
import itertools
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from loopwright.errors import Diagnostic, ScriptError, UnsupportedError
from loopwright.script import check, parse

HEADER = """\
from __future__ import annotations

from loopwright.script import ir as I
from loopwright.script import relax as R
from loopwright.script import tirx as T


"""


@dataclass(frozen=True)
class Fault:
    """A program with one fault: its code, words of its message, and words of its help and notes."""

    name: str
    code: str
    body: str
    says: tuple[str, ...]
    helps: tuple[str, ...] = ()
    whole: bool = False  # `body` is the whole text, not the body of a function
    text_only: bool = False  # Python itself refuses this before it reaches the decorator
    signature: str = 'A: T.Buffer((8, 8), "float32"), n: T.int32'

    @property
    def text(self) -> str:
        if self.whole:
            return textwrap.dedent(self.body)
        body = textwrap.indent(textwrap.dedent(self.body), "    ")
        return f"@T.prim_func\ndef main({self.signature}):\n{body}"


FAULTS = [
    Fault("unknown name", "undefined-name", "A[0, n] = §gain * 2.0\n", ("`gain`",)),
    Fault("near name", "undefined-name", "count = n\nA[0, §coumt] = 1.0\n", ("`coumt`",), ("`count`",)),
    Fault("unknown buffer", "undefined-name", "§C[0, n] = 1.0\n", ("`C`",), ("A", "T.alloc_buffer")),
    Fault("unknown attribute of T", "unknown-attribute", "A[0, n] = §T.expp(A[0, n])\n", ("expp",), ("exp",)),
    Fault("unknown attribute of T.axis", "unknown-attribute", "§T.axis.diagonal(8, n)\n", ("diagonal",)),
    Fault(
        "unknown attribute of I",
        "unknown-attribute",
        "T.evaluate(§I.vdevise())\n",
        ("vdevise",),
        ("vdevice",),
    ),
    Fault(
        "no annotation",
        "annotation-required",
        "T.evaluate(0)\n",
        ("`a`", "`main`"),
        ("T.Buffer",),
        signature="§a",
    ),
    Fault("odd annotation", "annotation", "T.evaluate(0)\n", (), signature="a: §3"),
    Fault(
        "loop over a buffer", "loop-form", "for i in §A:\n    T.evaluate(i)\n", ("`A`",), ("range", "T.grid")
    ),
    Fault("loop over a list", "loop-form", "for i in §[1, 2]:\n    T.evaluate(i)\n", ("list",), ("range",)),
    Fault(
        "too few loop names", "unpacking", "for §i, j in T.grid(2, 2, 2):\n    T.evaluate(i)\n", ("2", "3")
    ),
    Fault("chained assignment", "chained-assignment", "§x = y = 3\n", ("=",)),
    Fault("name twice", "duplicate-target", "for i, §i in T.grid(2, 2):\n    T.evaluate(i)\n", ("`i`",)),
    Fault("too few indices", "index-count", "§A[0] = 1.0\n", ("`A`", "2", "1")),
    Fault("too many indices", "index-count", "A[0, 0] = §A[0, 1, n]\n", ("`A`", "2", "3")),
    Fault("float index", "index-type", "A[0, 0] = §A[A[0, 0], 0]\n", ("`A`", "float32")),
    Fault("index of a scalar", "not-a-buffer", "A[0, 0] = §n[0]\n", ("`n`",)),
    Fault("text as a value", "type-mismatch", '§A[0, 0] = "text"\n', ("`A`", "str")),
    Fault("buffer as a value", "type-mismatch", "§A[0, 0] = A\n", ("`A`",), ("A[i]",)),
    Fault(
        "reads twice",
        "duplicate-declaration",
        """\
        with T.sblock("b"):
            T.reads(A[0, 0])
            §T.reads(A[0, 1])
            T.writes(A[0, 0])
            A[0, 0] = 1.0
        """,
        ("T.reads",),
    ),
    Fault(
        "writes twice",
        "duplicate-declaration",
        """\
        with T.sblock("b"):
            T.writes(A[0, 0])
            §T.writes(A[0, 0])
            A[0, 0] = 1.0
        """,
        ("T.writes",),
    ),
    Fault(
        "init twice",
        "duplicate-declaration",
        """\
        with T.sblock("b"):
            with T.init():
                A[0, 0] = 1.0
            with §T.init():
                A[0, 0] = 1.0
            A[0, 0] = 1.0
        """,
        ("T.init",),
    ),
    Fault(
        "block attributes twice",
        "duplicate-declaration",
        """\
        with T.sblock("b"):
            T.sblock_attr({"a": 1})
            §T.sblock_attr({"a": 2})
            A[0, 0] = 1.0
        """,
        ("a",),
    ),
    Fault(
        "function attribute twice",
        "duplicate-declaration",
        """\
        T.func_attr({"x": 1})
        §T.func_attr({"x": 2})
        """,
        ("x",),
    ),
    Fault("axis outside a block", "outside-block", "v = §T.axis.spatial(8, n)\n", ("T.axis",), ("T.sblock",)),
    Fault("reads outside a block", "outside-block", "§T.reads(A[0, 0])\n", ("T.reads",), ("T.sblock",)),
    Fault(
        "remap of an unknown kind",
        "axis-kind",
        """\
        for i in range(8):
            with T.sblock("b"):
                v = §T.axis.remap("X", [i])
                A[v, 0] = 1.0
        """,
        ("X",),
    ),
    Fault(
        "remap of no variable",
        "axis-remap",
        """\
        for i in range(8):
            with T.sblock("b"):
                v = §T.axis.remap("S", [i + 1])
                A[v, 0] = 1.0
        """,
        ("variable",),
    ),
    Fault(
        "used after its loop",
        "undefined-name",
        "for i in range(8):\n    A[i, 0] = 1.0\nA[§i, 0] = 0.0\n",
        ("`i`",),
    ),
    Fault(
        "used after its branch", "undefined-name", "if n > 0:\n    x: T.int32 = 1\nA[§x, 0] = 0.0\n", ("`x`",)
    ),
    Fault("float condition", "condition-type", "if §A[0, 0]:\n    A[0, 0] = 1.0\n", ("bool", "float32")),
    Fault(
        "float loop condition",
        "condition-type",
        "while §A[0, 0] * 2.0:\n    A[0, 0] = 1.0\n",
        ("bool", "float32"),
    ),
    Fault("float choice", "condition-type", "A[0, 0] = A[0, 1] if §A[0, 2] else 0.0\n", ("bool", "float32")),
    Fault("try", "unsupported-syntax", "§try:\n    A[0, 0] = 1.0\nfinally:\n    A[0, 1] = 1.0\n", ("try",)),
    Fault("del", "unsupported-syntax", "§del n\n", ("del",)),
    Fault("global", "unsupported-syntax", "§global m\n", ("global",), text_only=True),
    Fault("import", "unsupported-syntax", "§import math\n", ("import",)),
    Fault("class in a function", "unsupported-syntax", "§class C:\n    pass\n", ("C",)),
    Fault("function in a function", "undecorated", "§def helper():\n    pass\n", ("`helper`",), ("T.macro",)),
    Fault(
        "plain function in a module",
        "undecorated",
        """\
        @I.ir_module
        class Module:
            §def plain(A: T.Buffer((8,), "float32")):
                A[0] = 1.0
        """,
        ("`plain`",),
        ("T.prim_func",),
        whole=True,
    ),
    Fault(
        "plain class",
        "undecorated",
        """\
        §class Module:
            @T.prim_func
            def f(A: T.Buffer((8,), "float32")):
                A[0] = 1.0
        """,
        ("`Module`",),
        ("I.ir_module",),
        whole=True,
        text_only=True,
    ),
    Fault(
        "plain function",
        "undecorated",
        """\
        §def f(A: T.Buffer((8,), "float32")):
            A[0] = 1.0
        """,
        ("`f`",),
        ("T.prim_func",),
        whole=True,
        text_only=True,
    ),
    Fault(
        "unknown decorator",
        "unknown-decorator",
        """\
        @§T.exp
        def f(A: T.Buffer((8,), "float32")):
            A[0] = 1.0
        """,
        ("exp",),
        whole=True,
        text_only=True,
    ),
    Fault("vector with a value", "annotation", "§v: T.float32[4] = 1.0\n", ("vector",)),
    Fault("let without a value", "annotation", "§x: T.let\n", ("T.let", "`x`")),
    Fault("handle as a scalar", "annotation", "p: §T.handle = A.data\n", ("`p`",), ("T.let",)),
    Fault(
        "unknown symbol in a shape",
        "undefined-name",
        "A[m + §q] = 1.0\n",
        ("`q`",),
        signature='A: T.Buffer(("m",), "float32")',
    ),
    Fault(
        "symbol of two types",
        "symbol-type",
        "§m = T.int64()\n",
        ("`m`", "int32", "int64"),
        signature='A: T.Buffer(("m",), "float32")',
    ),
    Fault(
        "unknown function",
        "unknown-function",
        """\
        @I.ir_module
        class Module:
            @T.prim_func
            def f(A: T.Buffer((8,), "float32")):
                §Module.h(A)
        """,
        ("`h`",),
        whole=True,
    ),
    Fault(
        "module attribute twice",
        "duplicate-declaration",
        """\
        @I.ir_module
        class Module:
            I.module_attrs({"a": 1})
            §I.module_attrs({"a": 2})

            @T.prim_func
            def f(A: T.Buffer((8,), "float32")):
                A[0] = 1.0
        """,
        ("a",),
        whole=True,
        text_only=True,
    ),
    Fault(
        "graph function",
        "annotation-required",
        """\
        @I.ir_module
        class Module:
            @R.function
            def main(§x):
                return x
        """,
        ("`x`", "`main`"),
        ("R.Tensor",),
        whole=True,
        text_only=True,
    ),
    Fault("native layer", "unsupported", "tx = §T.thread_id([32])\n", ("T.thread_id",)),
    Fault("wrong word argument", "wrong-arguments", "B = §T.alloc_buffer()\n", ("T.alloc_buffer",)),
    Fault("too many operands", "argument-count", "A[0, 0] = §T.exp(A[0, 0], A[0, 1])\n", ("T.exp", "1", "2")),
    Fault("break outside a loop", "outside-loop", "§break\n", ("break",), text_only=True),
    Fault("huge constant", "static-limit", "A[0, 0] = §2**10**9\n", ("bits",)),
    Fault("integer division", "integer-division", "A[0, n] = §n / 2\n", ("/",), ("//",)),
    Fault("unknown dtype", "unknown-dtype", 'A[0, 0] = §T.Cast("float33", n)\n', ("float33",), ("float32",)),
    Fault("literal out of range", "literal-range", "A[0, 0] = §T.int8(300)\n", ("300", "int8")),
    Fault("wrong result", "return-type", "§return A\n", (), signature='A: T.Buffer((8,), "float32")'),
]


def marked(fault: Fault, before: str = "") -> tuple[str, int, int]:
    """The program, and line and column of the mark."""
    text = before + fault.text
    head, _, _ = text.partition("§")
    return text.replace("§", ""), head.count("\n") + 1, len(head) - head.rfind("\n")


def assert_names(found: Diagnostic, fault: Fault, file: str, line: int, column: int) -> None:
    shown = found.render()
    assert found.code == fault.code, shown
    assert found.span is not None and found.span.file == file
    assert (found.span.line, found.span.column) == (line, column), shown
    for word in fault.says:
        assert word in found.message, shown
    more = " ".join((*found.help, *found.notes))
    for word in fault.helps:
        assert word in more, shown
    assert len(shown.splitlines()) <= 12
    assert "^" in shown


@pytest.mark.parametrize("fault", FAULTS, ids=[f.name for f in FAULTS])
def test_faults_in_text(fault: Fault) -> None:
    text, line, column = marked(fault)
    with pytest.raises(ScriptError) as caught:
        parse(text, filename="kernels.py")
    assert_names(caught.value.diagnostics[0], fault, "kernels.py", line, column)
    assert len(caught.value.diagnostics) == 1, str(caught.value)
    assert (caught.value.filename, caught.value.lineno, caught.value.offset) == ("kernels.py", line, column)
    assert [d for d in check(text, filename="kernels.py") if d.severity == "error"] == [
        *caught.value.diagnostics
    ]


_numbers = itertools.count()


def load(folder: Path, source: str) -> ModuleType:
    """Import a file with this source."""
    path = folder / f"kernels_{next(_numbers)}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PYTHON = [f for f in FAULTS if not f.text_only]


@pytest.mark.parametrize("fault", PYTHON, ids=[f.name for f in PYTHON])
def test_faults_in_decorated_python(fault: Fault, tmp_path: Path) -> None:
    text, line, column = marked(fault, HEADER)
    with pytest.raises(ScriptError) as caught:
        load(tmp_path, text)
    first = caught.value.diagnostics[0]
    assert first.span is not None
    assert_names(first, fault, first.span.file, line, column)
    assert Path(first.span.file).parent == tmp_path
    assert len(caught.value.diagnostics) == 1, str(caught.value)


def test_places_in_nested_and_indented_code(tmp_path: Path) -> None:
    source = HEADER + textwrap.dedent("""\
        def outer(k):
            class Holder:
                @staticmethod
                def make():
                    @T.prim_func
                    # a comment with é and 日本
                    def kernel(A: T.Buffer((8,), "float32")):
                        for i in range(8):
                            A[i] = "é日" if k else unknown + 1.0
                    return kernel
            return Holder.make()

        try:
            outer(0)
        except SyntaxError as err:
            fault = err
        """)
    found = load(tmp_path, source).fault.diagnostics[0]
    assert found.code == "undefined-name" and "`unknown`" in found.message
    row = source.split("\n")[found.span.line - 1]
    assert row[found.span.column - 1 :].startswith("unknown")


def test_every_fault_of_a_file_is_told_at_once() -> None:
    head = "@T.prim_func\ndef f(A: T.Buffer((8,), 'float32')):\n"
    text = head + "    A[0] = x1\n    A[1 = 2\n    A[2] = x2\n    A[3] ? 3\n"
    with pytest.raises(ScriptError) as caught:
        parse(text)
    assert [(d.code, d.span.line) for d in caught.value.diagnostics if d.span] == [
        ("syntax", 4),  # the bracket; what is behind it is read all the same
        ("syntax", 6),
        ("undefined-name", 3),
        ("undefined-name", 5),
    ]


SYNTAX = [
    ("missing colon", "@T.prim_func\ndef f(A: T.Buffer((8,)))§\n    A[0] = 1.0\n", "`:`"),
    ("unclosed bracket", "@T.prim_func\ndef f(A: T.Buffer((8,))):\n    A[0] = T.exp§(1.0\n", "`(`"),
    ("bracket too many", "@T.prim_func\ndef f(A: T.Buffer((8,))):\n    A[0] = 1.0§)\n", "`)`"),
    ("no body", "@T.prim_func\ndef f(A: T.Buffer((8,))):\n§A\n", "indented block"),
    (
        "odd indent",
        "@T.prim_func\ndef f(A: T.Buffer((8,))):\n    A[0] = 1.0\n      §A[1] = 1.0\n",
        "indented",
    ),
    (
        "assignment as a condition",
        "@T.prim_func\ndef f(n: T.int32):\n    if n §= 1:\n        T.evaluate(n)\n",
        "`=`",
    ),
    ("unclosed string", '@T.prim_func\ndef f(n: T.int32):\n    T.evaluate(§"a)\n', "string"),
    ("odd character", "@T.prim_func\ndef f(n: T.int32):\n    T.evaluate(n §? 1)\n", "`?`"),
    ("walrus", "@T.prim_func\ndef f(n: T.int32):\n    T.evaluate(m §:= n)\n", ":="),
    ("yield", "@T.prim_func\ndef f(n: T.int32):\n    §yield n\n", "`yield`"),
]


@pytest.mark.parametrize(("text", "word"), [s[1:] for s in SYNTAX], ids=[s[0] for s in SYNTAX])
def test_faults_of_syntax(text: str, word: str) -> None:
    head, _, _ = text.partition("§")
    with pytest.raises(ScriptError) as caught:
        parse(text.replace("§", ""))
    first = caught.value.diagnostics[0]
    assert first.span is not None
    assert (first.span.line, first.span.column) == (head.count("\n") + 1, len(head) - head.rfind("\n")), str(
        first.render()
    )
    assert word in first.message + " ".join(first.help), first.render()


def test_storing_another_dtype_converts_and_warns_when_it_loses() -> None:
    head = '@T.prim_func\ndef f(A: T.Buffer((8,), "int32"), x: T.float32, n: T.int8):\n'
    text = head + "    A[0] = n\n    A[1] = x\n"
    (found,) = check(text)
    assert (found.code, found.severity) == ("lossy-store", "warning")
    assert found.span is not None and found.span.line == 4 and "`float32`" in found.message
    func = parse(text)
    assert [(type(s.value).__name__, s.value.dtype) for s in func.body.seq] == [("Cast", "int32")] * 2


ILL_FORMED = """
@T.prim_func{options}
def f(A: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("b"):
            vi = T.axis.spatial(8, i)
            T.reads()
            T.writes(A[vi])
            A[i] = 1.0
"""


def test_ill_formed_programs_name_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(ScriptError) as caught:
        parse(ILL_FORMED.format(options=""))
    found = caught.value.diagnostics[0]
    assert found.code == "loop-variable-in-block" and "`i`" in found.message and "`b`" in found.message
    assert found.span is not None and found.span.line == 9
    assert parse(ILL_FORMED.format(options="(check_well_formed=False)")) is not None
    assert parse(ILL_FORMED.format(options=""), check_well_formed=False) is not None
    with pytest.raises(ScriptError) as live:
        load(tmp_path, HEADER + ILL_FORMED.format(options=""))
    assert live.value.diagnostics[0].code == found.code
    assert live.value.lineno == 9 + HEADER.count("\n")


@pytest.mark.parametrize(
    "name", ["T.ptx.mma", "T.thread_id", "T.TileLayout", "Tx.copy", "T.tile.add", "R.dist"]
)
def test_waiting_names_are_named(name: str) -> None:
    with pytest.raises(ScriptError) as caught:
        parse(f'@T.prim_func\ndef f(A: T.Buffer((8,), "float32")):\n    {name}(A, A)\n')
    found = caught.value.diagnostics[0]
    assert found.code in ("unsupported", "unknown-attribute", "undefined-name")
    part = {"Tx.copy": "T.tile"}.get(name, name.removesuffix(".mma").removesuffix(".add"))
    assert part in found.message, found.render()
    assert found.span is not None and (found.span.line, found.span.column) == (3, 5)


def test_wrong_use_of_the_decorators() -> None:
    from loopwright.script import ir as I
    from loopwright.script import tirx as T

    with pytest.raises(TypeError, match="decorates functions, not int"):
        T.prim_func(3)
    with pytest.raises(TypeError, match="decorates functions, not type"):
        T.prim_func(Fault)
    with pytest.raises(TypeError, match="decorates classes, not function"):
        I.ir_module(marked)
    with pytest.raises(ValueError, match="decorates functions, not int"):
        T.macro(3)
    with pytest.raises(TypeError, match="T.prim_func has no option 'privat'; it has private"):
        T.prim_func(privat=True)


# Functions without a source


EXEC = """
from loopwright.script import tirx as T
@T.prim_func
def kernel(A: T.Buffer((8,), "float32")):
    A[0] = 1.0
"""


@pytest.mark.parametrize("name", ["<string>", "<stdin>", "<ipython-input-0>", "gone.py"])
def test_functions_without_a_source_say_so(name: str) -> None:
    with pytest.raises(ScriptError) as caught:
        exec(compile(EXEC, name, "exec"), {"__name__": "somewhere"})
    found = caught.value.diagnostics[0]
    assert found.code == "no-source" and "`kernel`" in found.message and name in found.message
    assert any("parse" in h for h in found.help)
    assert any("exec" in n for n in found.notes)


def test_modules_without_a_source_say_so() -> None:
    text = (
        "from loopwright.script import ir as I, tirx as T\n@I.ir_module\nclass Module:\n"
        "    @T.prim_func\n    def f(A: T.Buffer((8,), 'float32')):\n        A[0] = 1.0\n"
    )
    with pytest.raises(ScriptError) as caught:
        exec(compile(text, "<string>", "exec"), {"__name__": "somewhere"})
    assert caught.value.code == "no-source" and "`Module`" in str(caught.value)


def test_the_interpreter_started_with_a_command_says_so() -> None:
    done = subprocess.run([sys.executable, "-c", EXEC], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "no-source" in done.stderr and "parse(text)" in done.stderr


def test_a_changed_file_is_not_taken_for_the_source(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text("# nothing of the kind is here\n" * 20)
    with pytest.raises(ScriptError) as caught:
        exec(compile(EXEC, str(path), "exec"), {"__name__": "somewhere"})
    assert caught.value.code == "no-source"


def test_unsupported_errors_are_not_implemented_errors() -> None:
    assert issubclass(UnsupportedError, NotImplementedError) and issubclass(ScriptError, SyntaxError)


def test_blocks_are_allowed_in_every_function() -> None:
    """The peer refuses these without `s_tir=True`; here the attribute is added."""
    func = parse(
        "@T.prim_func\ndef f(A: T.Buffer((8,), 'float32')):\n    B = T.sblock_alloc_buffer((8,))\n"
        "    for i in range(8):\n        with T.sblock('b'):\n            vi = T.axis.spatial(8, i)\n"
        "            B[vi] = A[vi]\n"
    )
    assert func.attrs["s_tir"] is True
