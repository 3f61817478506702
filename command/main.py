"""The commands and their options."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .. import __version__
from ..errors import LoopwrightError
from .report import FAULTS, USAGE, complain_of

_EPILOG = """\
exit codes: 0 all well, 1 faults found (or files would change), 2 wrong usage

examples:
  python -m loopwright check kernels.py src/
  python -m loopwright format --diff kernels.py
  python -m loopwright show kernels.py:matmul
  python -m loopwright explain kernels.py:matmul
  python -m loopwright timeline kernels.py:matmul --html passes.html
  python -m loopwright run kernels.py:matmul --input a.npy --input b.npy --output c.npy
  python -m loopwright doctor
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m loopwright",
        description="Check, format, show and run programs written in loopwright's script language.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"loopwright {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    _add_check(commands)
    _add_format(commands)
    _add_show(commands)
    _add_explain(commands)
    _add_timeline(commands)
    _add_run(commands)
    commands.add_parser("doctor", help="say what is usable on this machine, and why the rest is not")
    return parser


Commands = argparse._SubParsersAction


def _add_check(commands: Commands[argparse.ArgumentParser]) -> None:
    text = (
        "Read the decorated objects of Python files without running them and report every fault. "
        "Other parts of the files are not looked at."
    )
    parser = commands.add_parser("check", help="report the faults of kernels in files", description=text)
    parser.add_argument("paths", nargs="+", metavar="path", help="a file, a folder, or - for standard input")
    parser.add_argument("--json", action="store_true", help="one JSON object a line for each fault")
    parser.add_argument("--run", action="store_true", help="run the files, so that captured values are known")
    parser.add_argument("-q", "--quiet", action="store_true", help="no summary")


def _add_format(commands: Commands[argparse.ArgumentParser]) -> None:
    text = (
        "Lay out the decorated objects of Python files. Every other byte of the files stays; comments stay."
    )
    parser = commands.add_parser("format", help="lay out kernels in files", description=text)
    parser.add_argument("paths", nargs="+", metavar="path", help="a file, a folder, or - for standard input")
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit with 1 if a file would change"
    )
    parser.add_argument("--diff", action="store_true", help="change nothing; print what would change")
    parser.add_argument("--width", type=int, default=100, metavar="N", help="longest line (default 100)")


def _add_show(commands: Commands[argparse.ArgumentParser]) -> None:
    text = (
        "Print the program of a file as script. A Python module is run to get its kernels; "
        "a file of script text is read. Only that of the given name is shown where there is one."
    )
    parser = commands.add_parser("show", help="print kernels as script", description=text)
    parser.add_argument(
        "what", metavar="FILE[:name]", help="a file (- for standard input) and a kernel's name"
    )
    parser.add_argument(
        "--after",
        metavar="PASS",
        help="as `build` lowers it, up to this pass (`schedule`: the chosen loops, `all`: everything)",
    )
    parser.add_argument(
        "--target", default="llvm", metavar="T", help="the target to lower for (default llvm)"
    )
    parser.add_argument("--emit", metavar="FORM", help="the code that is built instead: llvm or asm")
    parser.add_argument("--json", action="store_true", help="the JSON form instead of script")
    parser.add_argument("--width", type=int, metavar="N", help="break lines longer than this")


def _add_explain(commands: Commands[argparse.ArgumentParser]) -> None:
    text = "Say which default rule chooses the loops of which block, why, and by which steps of a schedule."
    parser = commands.add_parser("explain", help="say how loops are chosen by default", description=text)
    parser.add_argument(
        "what", metavar="FILE[:name]", help="a file (- for standard input) and a kernel's name"
    )
    parser.add_argument("--target", default="llvm", metavar="T", help="what to compile for (default llvm)")


def _add_timeline(commands: Commands[argparse.ArgumentParser]) -> None:
    text = (
        "Compile the kernels of a file and print how long each phase took: reading the text, choosing loops, "
        "each pass of lowering, writing LLVM assembly, making machine code."
    )
    parser = commands.add_parser(
        "timeline", help="say how long compiling takes, pass by pass", description=text
    )
    parser.add_argument(
        "what", metavar="FILE[:name]", help="a file (- for standard input) and a kernel's name"
    )
    parser.add_argument("--target", default="llvm", metavar="T", help="what to compile for (default llvm)")
    parser.add_argument(
        "--html", metavar="PAGE", help="also write a page with the program after each pass to this file"
    )


def _add_run(commands: Commands[argparse.ArgumentParser]) -> None:
    text = (
        "Run a kernel on arrays from .npy files. Inputs go to the parameters in order, or by name; "
        "array parameters without an input are made, filled with zeros, in the shape that the others imply."
    )
    parser = commands.add_parser("run", help="run a kernel on arrays", description=text)
    parser.add_argument("what", metavar="FILE:name", help="a file and a kernel's name")
    parser.add_argument(
        *("-i", "--input"),
        action="append",
        default=[],
        metavar="[NAME=]VALUE",
        help="a .npy file or a number, for the next parameter or that of this name",
    )
    parser.add_argument(
        *("-o", "--output"),
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="where to save the next array without an input, or that of this name, as .npy",
    )
    parser.add_argument("--target", default="llvm", metavar="T", help="what to compile for (default llvm)")
    parser.add_argument("--interpret", action="store_true", help="run in plain Python, with all checks")
    parser.add_argument("--time", action="store_true", help="say how long a call takes")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code."""
    options = _parser().parse_args(argv)
    try:
        return _run(options)
    except LoopwrightError as err:
        complain_of(err)
        return USAGE if err.code in ("file", "usage") else FAULTS
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAULTS
    except KeyboardInterrupt:
        return 130


def _run(options: argparse.Namespace) -> int:
    match options.command:
        case "check":
            from .check import run_check

            return run_check(options.paths, as_json=options.json, quiet=options.quiet, run=options.run)
        case "format":
            from .format import run_format

            return run_format(options.paths, check=options.check, diff=options.diff, width=options.width)
        case "show":
            from .show import run_show

            return run_show(
                options.what,
                after=options.after,
                target=options.target,
                emit=options.emit,
                as_json=options.json,
                width=options.width,
            )
        case "explain":
            from .explain import run_explain

            return run_explain(options.what, target=options.target)
        case "timeline":
            from .timeline import run_timeline

            return run_timeline(options.what, target=options.target, page=options.html)
        case "run":
            from .execute import run_run

            return run_run(
                options.what,
                options.input,
                options.output,
                target=options.target,
                interpret=options.interpret,
                time=options.time,
            )
        case _:
            from .doctor import run_doctor

            return run_doctor()
