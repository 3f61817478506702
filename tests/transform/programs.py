"""Programs for testing the passes: producers and consumers, reductions, vectors with dependences, jumps."""

from __future__ import annotations

from hypothesis import strategies as st

SIZE = 8


class _Writer:
    """Draws script text of loops over 8x8 buffers; indices are taken modulo 8 where they might leave."""

    def __init__(self, draw):
        self.draw = draw
        self.lines: list[str] = []
        self.count = 0

    def pick(self, *options):
        return self.draw(st.sampled_from(options))

    def number(self, low, high):
        return self.draw(st.integers(low, high))

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def index(self, loops):
        terms = [
            f"{v} * {self.number(1, 3)}" if self.number(0, 3) == 0 else v for v in loops if self.number(0, 1)
        ]
        if self.number(0, 2) == 0 or not terms:
            terms.append(str(self.number(0, 9)))
        text = " + ".join(terms)
        plain = len(terms) == 1 and terms[0] in loops
        if plain and self.number(0, 3):
            return text
        return f"({text}) % 8" if self.number(0, 2) else f"({text}) // {self.number(2, 4)} % 8"

    def value(self, loops, buffers, depth=2):
        kind = self.number(0, 6)
        if depth == 0 or kind == 0:
            return self.pick(*loops, str(self.number(-3, 9)))
        if kind <= 2:
            return f"{self.pick(*buffers)}[{self.index(loops)}, {self.index(loops)}]"
        a, b = self.value(loops, buffers, depth - 1), self.value(loops, buffers, depth - 1)
        if kind == 3:
            return f"T.if_then_else({self.condition(loops, buffers)}, {a}, {b})"
        if kind == 4:
            return f"T.Select({self.condition(loops, buffers)}, {a}, {b})"
        return (
            f"({a} {self.pick('+', '-', '*')} {b})"
            if self.number(0, 3)
            else f"T.{self.pick('min', 'max')}({a}, {b})"
        )

    def condition(self, loops, buffers):
        kind = self.number(0, 3)
        left = self.pick(*loops)
        if kind == 0:
            return f"{self.pick(*buffers)}[{self.index(loops)}, {self.index(loops)}] > {self.number(0, 4)}"
        if kind == 1 and len(loops) > 1:
            return f"{left} * {self.number(1, 4)} + {self.pick(*loops)} < {self.number(1, 20)}"
        if kind == 2:
            return f"{left} > {self.number(0, 3)} and {self.condition(loops, buffers)}"
        return f"{left} {self.pick('<', '>=', '==', '!=')} {self.number(0, 7)}"

    def block(self, indent, loops, buffers, target):
        """A block over the loops around it; sometimes a reduction over the innermost one."""
        pad = "    " * indent
        name = self.name("b")
        axes = [self.name("v") for _ in loops]
        reduces = len(loops) > 1 and self.number(0, 2) == 0
        self.lines.append(f"{pad}with T.sblock('{name}'):")
        for k, (axis, loop) in enumerate(zip(axes, loops)):
            kind = "reduce" if reduces and k == len(loops) - 1 else "opaque"
            self.lines.append(f"{pad}    {axis} = T.axis.{kind}(8, {loop})")
        if self.number(0, 3) == 0:
            self.lines.append(f"{pad}    T.where({self.condition(loops, ['A'])})")
        spatial = axes[:-1] if reduces else axes
        place = f"{target}[{self.index(spatial)}, {self.index(spatial)}]"
        if reduces:
            self.lines += [f"{pad}    with T.init():", f"{pad}        {place} = {self.number(0, 3)}"]
            self.lines.append(f"{pad}    {place} = {place} + {self.value(axes, buffers, 1)}")
        else:
            self.lines.append(f"{pad}    {place} = {self.value(axes, buffers)}")

    def statement(self, indent, loops, buffers, target, depth):
        pad = "    " * indent
        kind = self.number(0, 7)
        if depth and kind <= 3:
            self.loop(indent, loops, buffers, target, depth - 1)
        elif kind == 4 and loops:
            self.lines.append(f"{pad}if {self.condition(loops, buffers)}:")
            self.statement(indent + 1, loops, buffers, target, depth and depth - 1)
            if self.number(0, 1):
                self.lines.append(f"{pad}else:")
                self.statement(indent + 1, loops, buffers, target, 0)
        elif kind == 5 and loops:
            name = self.name("t")
            self.lines.append(f"{pad}{name}: T.let[T.int32] = {self.value(loops, buffers)}")
            place = f"{target}[{self.index(loops)}, {self.index(loops)}]"
            self.lines.append(f"{pad}{place} = {name} + {self.value(loops, buffers, 1)}")
        elif kind == 6 and loops:
            name = self.name("x")
            self.lines.append(f"{pad}{name}: T.int32 = {self.value(loops, buffers)}")
            inner = self.name("k")
            self.lines.append(f"{pad}for {inner} in range({self.number(1, 3)}):")
            self.lines.append(f"{pad}    {name} = {name} * 2 + {self.value([*loops, inner], buffers, 1)}")
            self.lines.append(f"{pad}{target}[{self.index(loops)}, {self.index(loops)}] = {name}")
        elif loops and self.number(0, 1):
            self.block(indent, loops, buffers, target)
        elif loops:
            self.lines.append(
                f"{pad}{target}[{self.index(loops)}, {self.index(loops)}] = {self.value(loops, buffers)}"
            )
        else:
            self.loop(indent, loops, buffers, target, depth)

    def loop(self, indent, loops, buffers, target, depth):
        pad, var = "    " * indent, self.name("i")
        kind = self.pick("range", "range", "range", "T.vectorized", "T.vectorized", "T.unroll", "T.parallel")
        start = self.number(0, 2) if self.number(0, 3) == 0 else 0
        step = f", step={self.number(1, 3)}" if kind != "range" and self.number(0, 4) == 0 else ""
        if kind == "range" and self.number(0, 4) == 0:
            step = f", {self.number(1, 3)}"
            self.lines.append(f"{pad}for {var} in range({start}, {self.number(start + 1, 8)}{step}):")
        else:
            self.lines.append(f"{pad}for {var} in {kind}({start}, {self.number(start + 1, 8)}{step}):")
        if kind in ("range", "T.unroll") and self.number(0, 5) == 0:
            jump = self.pick("break", "continue")
            self.lines += [f"{pad}    if {self.condition([*loops, var], buffers)}:", f"{pad}        {jump}"]
        for _ in range(self.number(1, 2)):
            self.statement(
                indent + 1,
                [*loops, var],
                buffers,
                target if self.number(0, 2) else self.pick(*buffers),
                depth,
            )


@st.composite
def programs(draw):
    """The text of a function of two int32 buffers; it may read cells that nothing was written to."""
    w = _Writer(draw)
    locals_ = [f"L{k}" for k in range(w.number(0, 2))]
    w.lines += [
        "@T.prim_func(s_tir=True)",
        "def f(A: T.Buffer((8, 8), 'int32'), B: T.Buffer((8, 8), 'int32')):",
    ]
    w.lines += [f"    {name} = T.sblock_alloc_buffer((8, 8), 'int32')" for name in locals_]
    known = ["A", "B"]
    for name in locals_:
        if w.number(0, 2):
            i, j = w.name("i"), w.name("j")
            w.lines += [
                f"    for {i}, {j} in T.grid(8, 8):",
                f"        {name}[{i}, {j}] = A[{i}, {j}] + {w.number(0, 9)}",
            ]
        known.append(name)
    if locals_ and w.number(0, 1):
        # producer and consumer under one loop, which an allocation may move into
        i, j, k = w.name("i"), w.name("j"), w.name("k")
        name, shift = locals_[0], w.number(0, 2)
        rows = w.pick(i, "0", f"({i} + {shift}) % 8")
        w.lines += [f"    for {i} in range(8):"]
        w.lines += [f"        for {j} in {w.pick('range', 'T.vectorized')}({w.pick(8, 8, 7)}):"]
        w.block(3, [i, j], ["A", "B"], name) if w.number(0, 2) == 0 else w.lines.append(
            f"            {name}[{i}, {j}] = A[{i}, {j}] * 2"
        )
        w.lines += [f"        for {k} in {w.pick('range', 'T.vectorized', 'T.unroll')}(8):"]
        w.lines += [
            f"            B[{i}, {k}] = {name}[{rows}, {w.pick(k, f'({k} + 1) % 8')}] + {name}[{i}, {k}]"
        ]
    for _ in range(w.number(1, 2)):
        w.statement(1, [], known, w.pick(*known), 3)
    return "\n".join(w.lines)
