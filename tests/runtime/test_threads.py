"""The count of threads, and pools across forks and the end of a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from loopwright import compat
from loopwright.errors import ArgumentTypeError, ArgumentValueError
from loopwright.runtime import threads
from loopwright.target import core_count


@pytest.fixture(autouse=True)
def default_count() -> Iterator[None]:
    threads.set(None)
    yield
    threads.set(None)


def test_the_count_is_as_set_or_as_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOOPWRIGHT_NUM_THREADS", raising=False)
    assert threads.number() == core_count()
    monkeypatch.setenv("LOOPWRIGHT_NUM_THREADS", "3")
    assert threads.number() == 3
    threads.set(5)
    assert threads.number() == 5
    threads.set(None)
    assert threads.number() == 3


@pytest.mark.parametrize("text", ["many", "0", "-1", "1.5", "99999", "1" * 30])
def test_a_wrong_count_in_the_environment(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("LOOPWRIGHT_NUM_THREADS", text)
    with pytest.raises(ArgumentValueError, match="LOOPWRIGHT_NUM_THREADS") as caught:
        threads.number()
    assert caught.value.diagnostics[0].code == "thread-count"


@pytest.mark.parametrize(
    ("count", "kind"),
    [
        (0, ArgumentValueError),
        (5000, ArgumentValueError),
        ("2", ArgumentTypeError),
        (True, ArgumentTypeError),
    ],
)
def test_a_wrong_count(count: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="number of threads"):
        threads.set(count)
    assert threads.number() == core_count()


def test_the_peers_variable_counts_under_compat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_NUM_THREADS", "3")
    assert threads.number() == core_count()
    compat.install()
    try:
        import tvm

        assert threads.number() == 3 == tvm.runtime.num_threads()
        monkeypatch.setenv("LOOPWRIGHT_NUM_THREADS", "2")
        assert threads.number() == 2
    finally:
        compat.uninstall()
    monkeypatch.delenv("LOOPWRIGHT_NUM_THREADS")
    assert threads.number() == core_count()


PROGRAM = """
import os, sys, threading, time
import numpy as np
import loopwright
from loopwright.runtime import threads

f = loopwright.build(loopwright.parse('''
@T.prim_func
def main(A: T.Buffer((1000, 1000), "float32")):
    for i in T.parallel(1000):
        for j in range(1000):
            A[i, j] = A[i, j] + T.float32(1)
'''))["main"]
a = np.zeros((1000, 1000), np.float32)
f(a)
count = lambda: len([t for t in threading.enumerate() if t.name.startswith("loopwright-")])
assert count() == 2, count()
"""


def run(end: str, **env: str) -> subprocess.CompletedProcess[str]:
    code = PROGRAM + end
    variables = {**os.environ, "LOOPWRIGHT_NUM_THREADS": "3", **env}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=variables, timeout=60
    )


ENDS = {
    "the end of the file": ("", 0, ""),
    "sys.exit": ("sys.exit(7)", 7, ""),
    "an exception": ("raise KeyError('x')", 1, "KeyError: 'x'"),
    "a launch at exit": (
        "import atexit\natexit.register(lambda: (f(a), print(a[0, 0], count(), file=sys.stderr)))\n"
        "threads._close()",
        0,
        "2.0 0",
    ),
    "a running kernel": (
        "import threading\n"
        "def work():\n    while True: f(a)\n"
        "threading.Thread(target=work, daemon=True).start()\ntime.sleep(0.05)\nsys.exit(3)",
        3,
        "",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("end", ENDS.values(), ids=list(ENDS))
def test_processes_end_with_their_own_status(end: tuple[str, int, str]) -> None:
    done = run(end[0])
    assert (done.returncode, end[2] in done.stderr) == (end[1], True), done.stderr
    assert "Fatal" not in done.stderr and "ignored" not in done.stderr


FORK = """
import warnings
warnings.simplefilter("error")
other = threading.Thread(target=lambda: [f(b) for _ in range(300)])
b = np.zeros((1000, 1000), np.float32)
if {busy}:
    other.start()
for k in range(10):
    child = os.fork()
    if child == 0:
        before = a[0, 0]
        f(a)
        f(a)
        right = (a == before + 2).all() and count() == 2
        os._exit(0 if right else 5)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    f(a)
assert (a == 11).all() and count() == 2
if {busy}:
    other.join()
    assert (b == 300).all()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("busy", [False, True])
def test_a_fork_has_threads_of_its_own(busy: bool) -> None:
    if busy and sys.version_info >= (3, 12):
        text = FORK.replace(
            'simplefilter("error")', 'simplefilter("ignore")'
        )  # the other thread is the user's
    else:
        text = FORK
    done = run(text.replace("{busy}", str(busy)))
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_wrong_environment_is_reported_by_the_first_parallel_kernel() -> None:
    done = run("", LOOPWRIGHT_NUM_THREADS="lots")
    assert done.returncode == 1 and "the environment variable LOOPWRIGHT_NUM_THREADS is `lots`" in done.stderr
