"""Programs written for TVM: after `install()` its module names lead to ours.

    import loopwright.compat

    loopwright.compat.install()
    import tvm
    from tvm.script import tirx as T

Each module below `compat/tvm` and `compat/tvm_ffi` answers for the peer's module of the same name.
It re-exports ours, with an adapter where a signature differs.  What we lack raises an ImportError or
AttributeError that names it; nothing is answered by a silent stand-in.
"""

from __future__ import annotations

import sys

from ..errors import Diagnostic, LoopwrightError
from ..runtime import threads
from . import finder, methods


class CompatError(LoopwrightError, RuntimeError):
    """The peer's names cannot be made to mean ours."""

    default_code = "compat"


def install() -> None:
    """Make `tvm` and `tvm_ffi` mean this package, for the whole process; a second call does nothing.

    Afterwards printed programs carry the peer's import lines, nodes have the peer's methods (`same_as`,
    `show`, `script` on every node), and `TVM_NUM_THREADS` is obeyed.  Raises CompatError when the peer
    itself is loaded.
    """
    taken = [n for n in finder.ROOTS if n in sys.modules and not finder.is_ours(sys.modules[n])]
    if taken:
        raise CompatError(
            Diagnostic(
                "compat",
                f"the module `{taken[0]}` is loaded already and is not ours",
                help=("call loopwright.compat.install() before the first `import tvm`",),
            )
        )
    finder.install()
    methods.give()
    if "TVM_NUM_THREADS" not in threads.VARIABLES:
        threads.VARIABLES.append("TVM_NUM_THREADS")


def uninstall() -> None:
    """Undo `install()`: the names lead nowhere again, printing has our import lines."""
    finder.uninstall()
    methods.take()
    threads.VARIABLES[:] = [v for v in threads.VARIABLES if v != "TVM_NUM_THREADS"]


def installed() -> bool:
    """Whether the peer's names lead to ours."""
    return finder.installed()


__all__ = ["CompatError", "install", "installed", "uninstall"]
