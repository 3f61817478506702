"""Whether a scheduled program computes what it should: run by the oracle, in two orders."""

from __future__ import annotations

from typing import Any

import numpy as np

from loopwright.errors import LoopwrightError
from loopwright.ir import For, ForKind, PrimFunc, Rewriter, SBlockRealize, free_vars, substitute, walk
from loopwright.testing.results import copies, sample_arguments

_FREE = (ForKind.PARALLEL, ForKind.VECTORIZED, ForKind.THREAD_BINDING)


class Meaning:
    """What a program makes of some arguments."""

    def __init__(self, func: PrimFunc) -> None:
        self.arguments = sample_arguments(func)
        self.want = self._run(func)

    def fault(self, func: PrimFunc) -> str | None:
        """How the function differs from the program, or None: also with its parallel loops run backwards."""
        turned = backwards(func)
        orders = [("", func), ("the iterations of a parallel loop are not independent: ", turned)]
        for order, one in orders[: 1 if turned is func else 2]:
            try:
                got = self._run(one)
            except LoopwrightError as err:
                return f"{order}{err.code}"
            except (ArithmeticError, IndexError, MemoryError, TypeError, ValueError) as err:
                return f"{order}{type(err).__name__}"
            if not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(self.want, got)):
                return f"{order}other results"
        return None

    def _run(self, func: PrimFunc) -> list[Any]:
        arguments = copies(self.arguments)
        func.interpret(*arguments)
        return arguments


def backwards(func: PrimFunc) -> PrimFunc:
    """The function with the loops turned round that may run at once; itself where there are none.

    Threads that share a reduction stay in order: the first of them initialises.
    """
    return _Backwards().visit(func)


class _Backwards(Rewriter):
    def visit_For(self, stmt: For) -> Any:
        made = self.visit_fields(stmt)
        if not isinstance(made, For) or made.kind not in _FREE:
            return made
        var = made.loop_var
        for n in walk(made.body):
            if isinstance(n, SBlockRealize) and n.block.init is not None:
                for axis, value in zip(n.block.iter_vars, n.iter_values):
                    if int(axis.iter_type) != 0 and var in free_vars(value):
                        return made
        turned = made.min + made.min + made.extent - 1 - var
        return made.replace(body=substitute(made.body, {var: turned}))
