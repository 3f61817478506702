"""How fast text is read and printed, and how both grow with the size of a program."""

from __future__ import annotations

from common import Row, seconds


def chain_of_blocks(count: int) -> str:
    """A function of `count` elementwise blocks, each reading the one before."""
    lines = [
        "@I.ir_module",
        "class Module:",
        "    @T.prim_func(s_tir=True)",
        "    def main(X: T.Buffer((1024,)), Y: T.Buffer((1024,))):",
    ]
    lines += [f"        H{k} = T.sblock_alloc_buffer((1024,))" for k in range(count - 1)]
    for k in range(count):
        source = "X" if k == 0 else f"H{k - 1}"
        target = "Y" if k == count - 1 else f"H{k}"
        lines += [
            "        for i in range(1024):",
            f'            with T.sblock("b{k}"):',
            "                vi = T.axis.spatial(1024, i)",
            f"                T.reads({source}[vi])",
            f"                T.writes({target}[vi])",
            f"                {target}[vi] = {source}[vi] * T.float32(1.5)",
        ]
    return "\n".join(lines) + "\n"


def rows() -> list[Row]:
    """Reading through both readers, parsing, printing."""
    import loopwright
    from loopwright import grammar
    from loopwright.grammar.lark_reader import read_lark

    hundred, thousand = chain_of_blocks(100), chain_of_blocks(1000)
    lines = thousand.count("\n")
    module = loopwright.parse(thousand)
    edited = hundred.replace("T.float32(1.5)", "T.float32(2.5)", 1)
    parse_100 = seconds(lambda: loopwright.parse(hundred), 7)
    parse_1000 = seconds(lambda: loopwright.parse(thousand), 3)
    lark_time = seconds(lambda: read_lark(hundred), 3)
    print_1000 = seconds(lambda: module.script(), 3)
    many = many_functions(100)
    reader = grammar.Reader(many)
    changed = many.replace("T.float32(1.5)", "T.float32(2.5)", 1)
    texts = [changed, many]

    def edit() -> None:
        texts.reverse()
        reader.update(texts[0])

    return [
        Row("parse through ast", lines / parse_1000, "lines/s", 5000, True, f"{lines} lines"),
        Row("parse 100 blocks", parse_100 * 1e3, "ms", 100),
        Row("parse 1,000 blocks", parse_1000 * 1e3, "ms", 1000, note="linear: ten times 100 blocks"),
        Row("read through lark", edited.count("\n") / lark_time, "lines/s", 1500, True),
        Row(
            "read again after an edit", seconds(edit, 9) * 1e3, "ms", 30, note=f"{many.count(chr(10))} lines"
        ),
        Row("print 1,000 blocks", print_1000 * 1e3, "ms", 400),
    ]


def many_functions(count: int) -> str:
    """A module of `count` small functions, ten lines each."""
    text = ["@I.ir_module", "class Module:"]
    for k in range(count):
        text += [
            "    @T.prim_func(s_tir=True)",
            f"    def f{k}(X: T.Buffer((64, 64)), Y: T.Buffer((64, 64))):",
            "        for i, j in T.grid(64, 64):",
            f'            with T.sblock("b{k}"):',
            '                vi, vj = T.axis.remap("SS", [i, j])',
            "                T.reads(X[vi, vj])",
            "                T.writes(Y[vi, vj])",
            "                Y[vi, vj] = X[vi, vj] * T.float32(1.5)",
            "",
            "",
        ]
    return "\n".join(text) + "\n"
