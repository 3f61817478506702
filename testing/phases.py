"""A kernel's block of threads, run in phases between barriers, in pure Python.

Within a phase threads may run in any order, so that an access of a cell by two of them, one writing, is a
race.  Only the plainest statements are known: it is the measure of the passes that place barriers.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import Diagnostic, UnsupportedError
from ..ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    AllocBuffer,
    And,
    AttrStmt,
    BinaryOp,
    Bind,
    Broadcast,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    DeclBuffer,
    Evaluate,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    For,
    IfThenElse,
    IntImm,
    IterVar,
    Max,
    Min,
    Mul,
    Not,
    Or,
    PrimFunc,
    Ramp,
    Select,
    SeqStmt,
    Stmt,
    Sub,
    Var,
    While,
)
from ..ir.visitor import walk

_OPERATORS: dict[type[Expr], Any] = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    FloorDiv: lambda a, b: a // b,
    FloorMod: lambda a, b: a % b,
    Min: min,
    Max: max,
    EQ: lambda a, b: a == b,
    NE: lambda a, b: a != b,
    LT: lambda a, b: a < b,
    LE: lambda a, b: a <= b,
    GT: lambda a, b: a > b,
    GE: lambda a, b: a >= b,
    And: lambda a, b: a and b,
    Or: lambda a, b: a or b,
}
Env = dict[Var, Any]
Step = Generator[tuple[Any, ...], Any, None]


def _unknown(name: str) -> UnsupportedError:
    return UnsupportedError(Diagnostic("unsupported", f"running a block in phases does not know `{name}`"))


class Race(AssertionError):
    """Two threads meet in a cell of shared memory, or do not all come to a barrier."""


class Block:
    """One block of threads with its shared memory; `run` goes through the body of a kernel."""

    def __init__(
        self, func: PrimFunc, arguments: Mapping[Var, Any], scopes: Sequence[str] = ("shared", "shared.dyn")
    ):
        self.memory: dict[Var, Any] = dict(arguments)
        self.scopes = scopes
        self.axes: dict[Var, int] = {}
        self.body = self._below(func.body)
        self.seen: dict[tuple[int, int], tuple[set[int], set[int]]] = {}
        self.barriers = 0

    def _below(self, body: Stmt) -> Stmt:
        """What stands below the axes of threads; blocks of threads are at 0."""
        before: list[Stmt] = []
        while True:
            if isinstance(body, AttrStmt) and isinstance(body.node, IterVar):
                assert isinstance(body.value, IntImm)
                self.axes[body.node.var] = 1 if "block" in body.node.thread_tag else body.value.value
                body = body.body
            elif isinstance(body, SeqStmt) and isinstance(body.seq[-1], AttrStmt):
                before += body.seq[:-1]
                body = body.seq[-1]
            else:
                return SeqStmt([*before, body]) if before else body

    def run(self) -> None:
        """Run all threads. Raises Race."""
        threads = []
        for number in range(int(np.prod(list(self.axes.values()), initial=1))):
            env: Env = {}
            rest = number
            for var, extent in reversed(self.axes.items()):
                env[var], rest = rest % extent, rest // extent
            threads.append(self._stmt(self.body, env, number))
        waiting: dict[int, tuple[Any, ...]] = {}
        answers: dict[int, Any] = dict.fromkeys(range(len(threads)))
        while answers:
            for number, answer in answers.items():
                try:
                    waiting[number] = threads[number].send(answer)
                except StopIteration:
                    waiting[number] = ("end", 0)
            answers = self._resume(waiting)

    def _resume(self, waiting: dict[int, tuple[Any, ...]]) -> dict[int, Any]:
        """What threads get that may go on; none when all have ended."""
        events = {event[:2] for event in waiting.values()}
        if events == {("end", 0)}:
            return {}
        if len(events) != 1:
            raise Race("not all threads come to the same barrier or shuffle")
        if next(iter(events))[0] == "barrier":
            self.barriers += 1
            self.seen = {}
            return dict.fromkeys(waiting)
        got: dict[int, Any] = {}
        for number, (_, _, name, value, lane, width) in waiting.items():
            start = number // width * width
            place = number % width
            source = {"": lane, "_down": place + lane, "_up": place - lane, "_xor": place ^ lane}[name]
            known = 0 <= source < width and start + source in waiting
            got[number] = waiting[start + source][3] if known else value
        return got

    def _stmt(self, stmt: Stmt, env: Env, me: int) -> Step:
        if isinstance(stmt, SeqStmt):
            for one in stmt.seq:
                yield from self._stmt(one, env, me)
        elif isinstance(stmt, For):
            low, count = (
                (yield from self._value(stmt.min, env, me)),
                (yield from self._value(stmt.extent, env, me)),
            )
            for i in range(low, low + count):
                env[stmt.loop_var] = i
                yield from self._stmt(stmt.body, env, me)
        elif isinstance(stmt, While):
            while (yield from self._value(stmt.condition, env, me)):
                yield from self._stmt(stmt.body, env, me)
        elif isinstance(stmt, IfThenElse):
            if (yield from self._value(stmt.condition, env, me)):
                yield from self._stmt(stmt.then_case, env, me)
            elif stmt.else_case is not None:
                yield from self._stmt(stmt.else_case, env, me)
        elif isinstance(stmt, AttrStmt):
            yield from self._stmt(stmt.body, env, me)
        elif isinstance(stmt, Bind):
            env[stmt.var] = yield from self._value(stmt.value, env, me)
        elif isinstance(stmt, AllocBuffer):
            self._allocate(stmt, env)
        elif isinstance(stmt, DeclBuffer):
            source = stmt.data.args[0] if isinstance(stmt.data, Call) else stmt.data
            dtype = stmt.buffer.ty.dtype.numpy()  # type: ignore[attr-defined]
            array = self._array(source, env)  # type: ignore[arg-type]
            env[stmt.buffer] = array.reshape(-1).view(dtype)
        elif isinstance(stmt, BufferStore):
            value = yield from self._value(stmt.value, env, me)
            index = yield from self._value(stmt.indices[0], env, me)
            array = self._touch(stmt.buffer, index, env, me, write=True)
            array[index] = value
        elif isinstance(stmt, Evaluate):
            yield from self._value(stmt.value, env, me, stmt)
        else:
            raise _unknown(type(stmt).__name__)

    def _allocate(self, stmt: AllocBuffer, env: Env) -> None:
        ty: Any = stmt.buffer.ty
        array = np.zeros([e.value for e in ty.shape], ty.dtype.numpy())
        if ty.storage_scope in self.scopes:
            self.memory.setdefault(stmt.buffer, array)
        else:
            env[stmt.buffer] = array

    def _array(self, buffer: Var, env: Env) -> Any:
        return env[buffer] if buffer in env else self.memory[buffer]

    def _touch(self, buffer: Var, index: Any, env: Env, me: int, *, write: bool) -> Any:
        """The array, the access noted. Raises Race."""
        array = self._array(buffer, env)
        if buffer.ty.storage_scope in self.scopes:  # type: ignore[attr-defined]
            base = array.__array_interface__["data"][0]
            for i in np.atleast_1d(index):
                for byte in range(base + int(i) * array.itemsize, base + (int(i) + 1) * array.itemsize):
                    readers, writers = self.seen.setdefault((0, byte), (set(), set()))
                    (writers if write else readers).add(me)
                    if writers and len(readers | writers) > 1:
                        raise Race(f"threads {sorted(readers | writers)} meet in `{buffer.name}`[{i}]")
        return array

    def _value(self, e: Expr, env: Env, me: int, stmt: Any = None) -> Generator[tuple[Any, ...], Any, Any]:
        if isinstance(e, IntImm | FloatImm):
            return e.value
        if isinstance(e, Var):
            return env[e] if e in env else self.memory[e]
        if isinstance(e, Cast):
            return (yield from self._value(e.value, env, me))
        if isinstance(e, Not):
            return not (yield from self._value(e.a, env, me))
        if isinstance(e, Ramp):
            base = yield from self._value(e.base, env, me)
            stride = yield from self._value(e.stride, env, me)
            return base + stride * np.arange(e.lanes.value)  # type: ignore[attr-defined]
        if isinstance(e, Broadcast):
            return (yield from self._value(e.value, env, me))
        if isinstance(e, Select):
            chosen = e.true_value if (yield from self._value(e.condition, env, me)) else e.false_value
            return (yield from self._value(chosen, env, me))
        if isinstance(e, BinaryOp):
            a = yield from self._value(e.a, env, me)
            if isinstance(e, And | Or) and bool(a) is isinstance(e, Or):
                return a
            b = yield from self._value(e.b, env, me)
            return _OPERATORS[type(e)](a, b)
        if isinstance(e, BufferLoad):
            index = yield from self._value(e.indices[0], env, me)
            return self._touch(e.buffer, index, env, me, write=False)[index]
        if isinstance(e, Call):
            return (yield from self._call(e, env, me, stmt))
        raise _unknown(type(e).__name__)

    def _masked(self, e: Call, env: Env, me: int, *, write: bool) -> Generator[tuple[Any, ...], Any, Any]:
        """A load or store of those lanes for which the mask holds."""
        buffer: Any = e.args[0]
        values = []
        for arg in e.args[1:]:
            values.append((yield from self._value(arg, env, me)))
        *value, index, mask = values
        array = self._touch(buffer, index[mask], env, me, write=write)
        if write:
            array[index[mask]] = np.broadcast_to(value[0], index.shape)[mask]
            return None
        got = np.zeros(index.shape, array.dtype)
        got[mask] = array[index[mask]]
        return got

    def _call(self, e: Call, env: Env, me: int, stmt: Any) -> Generator[tuple[Any, ...], Any, Any]:
        name = e.op.name  # type: ignore[union-attr]
        if name == "tirx.tvm_storage_sync":
            yield ("barrier", id(stmt))
            return None
        if name == "prim.if_then_else":
            chosen = e.args[1] if (yield from self._value(e.args[0], env, me)) else e.args[2]
            return (yield from self._value(chosen, env, me))
        if name in ("tirx.masked_load", "tirx.masked_store"):
            return (yield from self._masked(e, env, me, write=name == "tirx.masked_store"))
        if name == "tirx.tvm_warp_activemask":
            return (1 << 32) - 1
        if name.startswith("tirx.tvm_warp_shuffle"):
            value = yield from self._value(e.args[1], env, me)
            lane = yield from self._value(e.args[2], env, me)
            width = e.args[3].value  # type: ignore[attr-defined]
            return (yield ("shuffle", id(e), name.removeprefix("tirx.tvm_warp_shuffle"), value, lane, width))
        raise _unknown(name)


def barriers_of(func: PrimFunc) -> Iterator[Stmt]:
    """The barriers of a function."""

    for node in walk(func):
        if isinstance(node, Evaluate) and isinstance(node.value, Call):
            if getattr(node.value.op, "name", "") == "tirx.tvm_storage_sync":
                yield node


__all__ = ["Block", "Race", "barriers_of"]
