"""Small programs for the tests of ir: random ones, and deep ones of a given size."""

from __future__ import annotations

import math
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import strategies as st

from loopwright.ir import (
    LT,
    Add,
    AllocBuffer,
    AttrStmt,
    Bind,
    BufferLoad,
    BufferRegion,
    BufferStore,
    BufferType,
    Call,
    Cast,
    DeclBuffer,
    Evaluate,
    FloatImm,
    For,
    IfThenElse,
    IntImm,
    IRModule,
    IterVar,
    Let,
    MatchBufferRegion,
    Max,
    Mul,
    PrimFunc,
    Range,
    SBlock,
    SBlockRealize,
    Select,
    SeqStmt,
    Var,
    While,
)

FLOATS = (0.0, -0.0, 1.5, math.inf, -math.inf, math.nan, 5e-324, 3.0e38, 0.1)
ATTRS = (1, True, 1.0, -0.0, math.nan, None, "text", (1, (2.0, "x")), 1 << 80, {"deep": [1, {"k": True}]})


def f32(value: float) -> FloatImm:
    return FloatImm("float32", value)


class Builder:
    """Makes one random well-formed function; `names` decides what variables are called."""

    def __init__(self, rng: Random, suffix: str = "") -> None:
        self.rng = rng
        self.suffix = suffix
        self.count = 0

    def var(self, name: str, ty: object = "int32") -> Var:
        self.count += 1
        return Var(f"{name}{self.suffix}", ty)

    def index(self, scope: list[Var], depth: int = 2) -> object:
        rng = self.rng
        if depth == 0 or not scope or rng.random() < 0.3:
            return IntImm("int32", rng.randrange(-3, 9))
        if rng.random() < 0.4:
            return rng.choice(scope)
        if rng.random() < 0.15:
            var = self.var("t")
            return Let(var, self.index(scope, depth - 1), self.index([*scope, var], depth - 1))
        op = rng.choice([Add, Mul, Max])
        return op(self.index(scope, depth - 1), self.index(scope, depth - 1))

    def value(self, scope: list[Var], buffers: list[Var], depth: int = 2) -> object:
        rng = self.rng
        if depth == 0 or rng.random() < 0.2:
            return f32(rng.choice(FLOATS))
        kind = rng.randrange(5)
        if kind == 0 and buffers:
            buffer = rng.choice(buffers)
            return BufferLoad(buffer, [self.index(scope) for _ in buffer.ty.shape])
        if kind == 1:
            return Cast("float32", self.index(scope))
        if kind == 2:
            attrs = {"k": rng.choice(ATTRS)} if rng.random() < 0.5 else {}
            return Call("tirx.exp", [self.value(scope, buffers, depth - 1)], "float32", attrs)
        if kind == 3:
            cond = LT(self.index(scope), self.index(scope))
            return Select(cond, self.value(scope, buffers, depth - 1), f32(0.0))
        return Add(self.value(scope, buffers, depth - 1), self.value(scope, buffers, depth - 1))

    def store(self, scope: list[Var], buffers: list[Var]) -> object:
        buffer = self.rng.choice(buffers)
        return BufferStore(buffer, self.value(scope, buffers), [self.index(scope) for _ in buffer.ty.shape])

    def block(self, scope: list[Var], buffers: list[Var]) -> object:
        rng = self.rng
        axes = [self.var("v") for _ in range(rng.randrange(3))]
        inner = [*scope, *axes] if not axes else axes
        local = self.var("local", BufferType("float32", (4,)))
        stride = self.var("s")
        view = self.var("view", BufferType("float32", (2,), (stride,)))
        source = BufferRegion(local, [Range(0, 2)])
        block = SBlock(
            [IterVar(Range(0, 8), v, rng.choice([0, 2])) for v in axes],
            [],
            [source] if rng.random() < 0.5 else [],
            rng.choice(["a", "b"]),
            self.stmts(inner, [local, view], 1),
            self.store(inner, [local]) if rng.random() < 0.4 else None,
            [local],
            [MatchBufferRegion(view, source)],
            {"note": rng.choice(ATTRS)},
        )
        return SBlockRealize([self.index(scope) for _ in axes], True, block)

    def stmt(self, scope: list[Var], buffers: list[Var], depth: int) -> object:
        rng = self.rng
        kind = rng.randrange(7) if depth else 6
        if kind == 0:
            var = self.var("i")
            annotations = {"unroll": rng.choice(ATTRS)} if rng.random() < 0.3 else {}
            loop_kind = rng.choice(["serial", "parallel", "unroll", "vectorize"])
            body = self.stmts([*scope, var], buffers, depth - 1)
            return For(var, 0, self.index(scope), loop_kind, body, annotations=annotations)
        if kind == 1:
            cond = LT(self.index(scope), self.index(scope))
            other = self.store(scope, buffers) if rng.random() < 0.5 else None
            return IfThenElse(cond, self.stmts(scope, buffers, depth - 1), other)
        if kind == 2:
            return While(LT(self.index(scope), self.index(scope)), self.stmts(scope, buffers, depth - 1))
        if kind == 3:
            tx = IterVar(Range(0, 4), self.var("tx"), IterVar.THREAD_INDEX, "threadIdx.x")
            body = self.stmts([*scope, tx.var], buffers, depth - 1)
            return AttrStmt(tx, "thread_extent", 4, body)
        if kind == 4:
            return self.block(scope, buffers)
        if kind == 5:
            return Evaluate(Call("tirx.call_extern", ["f", self.index(scope)], "int32"))
        return self.store(scope, buffers)

    def stmts(self, scope: list[Var], buffers: list[Var], depth: int) -> object:
        rng = self.rng
        scope, buffers = list(scope), list(buffers)
        made: list[object] = []
        for _ in range(rng.randrange(1, 4)):
            kind = rng.randrange(6)
            if kind == 0:
                var = self.var("x")
                made.append(Bind(var, self.index(scope)))
                scope.append(var)
            elif kind == 1:
                buffer = self.var("buf", BufferType("float32", (self.index(scope, 1), 4)))
                made.append(AllocBuffer(buffer, {"align": 16}))
                buffers.append(buffer)
            elif kind == 2:
                buffer = self.var("alias", BufferType("float32", (16,)))
                pointer = self.rng.choice(buffers).data
                made.append(DeclBuffer(buffer, pointer))
                buffers.append(buffer)
            made.append(self.stmt(scope, buffers, depth))
        return made[0] if len(made) == 1 else SeqStmt(made)

    def func(self) -> PrimFunc:
        n, m = self.var("n"), self.var("m")
        a = self.var("A", BufferType("float32", (n, Mul(m, IntImm("int32", 2))), (m, 1)))
        b = self.var("B", BufferType("float32", (n,)))
        params = [a, b, m] if self.rng.random() < 0.5 else [m, a, b]
        attrs = {"global_symbol": "main", "note": self.rng.choice(ATTRS)}
        return PrimFunc(params, self.stmts([n, m], [a, b], 2), "void", attrs)


def chain(terms: int) -> PrimFunc:
    """A function whose one store adds up this many terms."""
    a = Var("A", BufferType("float32", (16,)))
    load = BufferLoad(a, (0,))
    value = load
    for _ in range(terms):
        value = Add(value, BufferLoad(a, (1,)))
    return PrimFunc([a], BufferStore(a, value, (0,)))


def statements(count: int) -> PrimFunc:
    """A function of this many statements: bindings, each used by a store."""
    a = Var("A", BufferType("float32", (16,)))
    made: list[object] = []
    for _ in range(count // 2):
        x = Var("x")
        made += [Bind(x, IntImm("int32", 1)), BufferStore(a, f32(1.0), (x,))]
    return PrimFunc([a], SeqStmt(made))


def loops(count: int) -> PrimFunc:
    """A function of this many nested loops."""
    a = Var("A", BufferType("float32", (16,)))
    around = [Var("i") for _ in range(count)]
    body: object = BufferStore(a, f32(1.0), (around[-1],))
    for var in reversed(around):
        body = For(var, 0, 2, "serial", body)
    return PrimFunc([a], body)


@pytest.fixture(scope="session")
def programs() -> SimpleNamespace:
    """`funcs`: random functions; `twins`: pairs equal but for names; `deep`: deep programs by name."""
    seeds = st.integers(0, 2**32 - 1)
    return SimpleNamespace(
        func=lambda seed, suffix="": Builder(Random(seed), suffix).func(),
        funcs=seeds.map(lambda seed: Builder(Random(seed)).func()),
        twins=seeds.map(lambda s: (Builder(Random(s)).func(), Builder(Random(s), "_2").func())),
        modules=seeds.map(
            lambda s: IRModule(
                {"f": Builder(Random(s)).func(), "g": Builder(Random(s + 1)).func()}, {"a": ATTRS[s % 10]}
            )
        ),
        chain=chain,
        statements=statements,
        loops=loops,
        deep={
            "chain": lambda: chain(5_000),
            "statements": lambda: statements(5_000),
            "loops": lambda: loops(200),
        },
    )
