"""`python -m loopwright.compat PROGRAM [arguments]`: run a program that was written for TVM."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from . import install

USAGE = """usage: python -m loopwright.compat PROGRAM [ARGUMENT ...]
       python -m loopwright.compat -m MODULE [ARGUMENT ...]

Runs a Python program as `python PROGRAM` does; in it the names of TVM (`import tvm`) mean loopwright."""


def main(arguments: Sequence[str]) -> int:
    """Run the program; gives the exit status. What the program raises goes through."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    by_module = arguments[0] == "-m"
    if by_module and len(arguments) < 2:
        print(USAGE, file=sys.stderr)
        return 2
    program, *rest = arguments[1:] if by_module else arguments
    if not by_module and not Path(program).exists():
        print(f"error: there is no program `{program}`", file=sys.stderr)
        return 2
    install()
    sys.argv = [program, *rest]
    if by_module:
        sys.path[0] = ""
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(program).resolve().parent)
        runpy.run_path(program, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
