"""What a well-formed program is: the rules of the language as an executable definition.

Constructors check what one node can know (operand types, ranks, bool conditions).  Here is the
rest: every variable and block is defined once in a module and used only where it is visible,
blocks reach loops around them through their axes alone, types agree between nodes, jumps stand
where they mean something, and calls between functions fit.
"""

from __future__ import annotations

from typing import Any, get_args

from ...dtype import DType
from ...errors import Diagnostic, IRError
from ...node import Attrs, Node, runs_deep
from ...target import Target
from ..expr import (
    BufferLoad,
    BufferRegion,
    Call,
    Expr,
    GlobalVar,
    IndexMap,
    IterVar,
    Let,
    Reduce,
    Var,
    access_type,
)
from ..function import BaseFunc, ExternFunc, IRModule, PrimFunc
from ..op import Op
from ..stmt import (
    AllocBuffer,
    AssertStmt,
    AttrStmt,
    Bind,
    BlockRef,
    Break,
    BufferStore,
    Continue,
    DeclBuffer,
    For,
    ForKind,
    IfThenElse,
    MatchBufferRegion,
    Return,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    While,
)
from ..types import VOID, BufferType, PointerType, PrimType, Type
from ..visitor import Visitor, brings_symbols, child_fields, children, definitions, type_vars

CODES = (
    "argument-count",
    "argument-type",
    "block-axis",
    "block-binding",
    "break-placement",
    "buffer-data",
    "condition-type",
    "duplicate-block",
    "duplicate-definition",
    "duplicate-parameter",
    "index-type",
    "loop-dtype",
    "loop-variable-in-block",
    "return-placement",
    "return-type",
    "type-mismatch",
    "undefined-name",
    "unknown-function",
    "wrong-node",
)
"""The code of every finding of `check_well_formed`; graphs have some more, see `relax_well_formed`."""


@runs_deep
def check_well_formed(program: IRModule | BaseFunc) -> list[Diagnostic]:
    """Everything that is wrong with a module or function; an empty list when it is well formed.

    In a single function, calls to other functions of its module are not checked.
    """
    if not isinstance(program, IRModule | BaseFunc) or isinstance(program, ExternFunc):
        raise IRError(Diagnostic("not-a-program", f"a {type(program).__name__} is not a module or function"))
    checker = _checker(program)
    checker.visit(program)
    return checker.found


def _checker(program: IRModule | BaseFunc) -> Checker:
    """A checker for the dialects in the program; that of graphs is loaded where there are some."""
    funcs = program.functions.values() if isinstance(program, IRModule) else (program,)
    if all(isinstance(f, PrimFunc | ExternFunc) for f in funcs):
        return Checker(program)
    from .relax_well_formed import GraphChecker

    return GraphChecker(program)


def assert_well_formed(program: IRModule | BaseFunc) -> None:
    """Raise IRError with every finding unless the module or function is well formed."""
    found = check_well_formed(program)
    if found:
        raise IRError(*found)


class Checker(Visitor):
    """Visits a program and collects findings."""

    def __init__(self, program: Node) -> None:
        self.program = program
        self.found: list[Diagnostic] = []
        self.stack: list[Node] = []
        self.threads: set[int] = set()  # the variables of thread axes of the function
        self.defined: set[int] = set()  # every variable and block that was defined so far
        self.visible: dict[int, int] = {}  # visible variables: their place in the trail
        self.trail: list[Var] = []
        self.loops: set[int] = set()  # variables of loops
        self.barrier = 0  # loop variables below this place of the trail are outside the current block
        self.blocks: list[SBlock] = []
        self.around: list[Stmt] = []  # loops around, and blocks with axes
        self.func: PrimFunc | None = None
        self.funcs: dict[str, Any] = {}

    # reporting

    def report(
        self, code: str, message: str, node: Node, *notes: str, help: str | None = None, use: bool = False
    ) -> None:
        """Add a finding. The span of a variable is its definition's; a `use` has that of what holds it."""
        span = None if use else getattr(node, "span", None)
        for outer in reversed(self.stack):
            if not (use and isinstance(outer, Var)):
                span = span or getattr(outer, "span", None)
        if len(self.found) < _PLACES:
            place = f"at {self.path(node)}"
            if self.blocks:
                place += f", in block `{self.blocks[-1].name_hint}`"
            notes = (*notes, place)
        self.found.append(Diagnostic(code, message, span, notes=notes, help=(help,) if help else ()))

    def path(self, last: Node) -> str:
        """The access path of the node being visited, or of a direct child of it."""
        chain = self.stack if self.stack and last is self.stack[-1] else [*self.stack, last]
        return _path(chain)

    def first(self, thing: Var | BlockRef) -> tuple[str, ...]:
        """A note on where a variable or block is defined first."""
        if len(self.found) >= _PLACES:
            return ()
        stack: list[tuple[Node, Any]] = [(self.program, None)]
        while stack:
            node, above = stack.pop()
            if any(thing is d for d in _defined_by(node)):
                chain = [node]
                while above is not None:
                    node, above = above
                    chain.append(node)
                return (f"first defined at {_path(chain[::-1])}",)
            stack += reversed([(child, (node, above)) for child in children(node)])
        return ()

    # definitions and uses

    def visit(self, node: Any) -> Any:
        self.stack.append(node)
        if self.fits(node):
            self._table[node.__class__](self, node)
        self.stack.pop()

    def fits(self, node: Node) -> bool:
        """Whether every field holds a node of the class that it is declared with."""
        fine = True
        for name, kind, hint in _expected(type(node)):
            value = getattr(node, name)
            for item in value if kind == "nodes" else (value,):
                if not isinstance(item, hint):
                    fine = False
                    wanted = getattr(hint, "__name__", str(hint))
                    text = f"the field `{name}` of {_kind(node)} holds a {_kind(item)}, not a {wanted}"
                    self.report("wrong-node", text, node)
        return fine

    def define_all(self, variables: tuple[Var, ...], symbols: bool) -> None:
        late = [v for v in variables if isinstance(v.ty, BufferType)]
        for var in variables:
            if not isinstance(var.ty, BufferType):
                self.define(var)
        for var in late:
            if symbols:
                for symbol in type_vars(var.ty):
                    if id(symbol) not in self.visible:
                        self.add(symbol)
            self.define(var)

    def define(self, var: Var) -> None:
        """A definition: once in the module; its type sees what is visible before it."""
        if var.ty.__class__ is not PrimType:
            self.visit(var.ty)
        self.add(var)

    def add(self, var: Var, *, again: bool = False) -> None:
        if id(var) in self.defined and not again:
            text = f"`{var.name}` is defined twice"
            self.report("duplicate-definition", text, var, *self.first(var), help=_RENEW)
        self.defined.add(id(var))
        self.visible[id(var)] = len(self.trail)
        self.trail.append(var)

    def leave(self, mark: int) -> None:
        """The end of a scope that began when the trail had this length."""
        while len(self.trail) > mark:
            self.visible.pop(id(self.trail.pop()), None)

    def scoped(self, *nodes: Node | None) -> None:
        for node in nodes:
            if node is not None:
                mark = len(self.trail)
                self.visit(node)
                self.leave(mark)

    def visit_Var(self, var: Var) -> None:
        place = self.visible.get(id(var))
        if place is None:
            what = "buffer" if isinstance(var.ty, BufferType) else "variable"
            notes = self.first(var) if id(var) in self.defined else ()
            text = f"the {what} `{var.name}` is not defined here"
            self.report("undefined-name", text, var, *notes, use=True)
            self.visible[id(var)] = len(self.trail)  # one report each
        elif place < self.barrier and id(var) in self.loops:
            name = next(b.name_hint for b in reversed(self.blocks) if b.iter_vars)
            self.report(
                "loop-variable-in-block",
                f"the loop variable `{var.name}` is used inside block `{name}`, which lies in that loop",
                var,
                help=f"bind an axis of the block to `{var.name}` and use the axis",
                use=True,
            )

    def visit_value(self, value: Any) -> None:
        """An attribute's value holds plain values, nodes, and sequences and mappings of them."""
        if type(value) is Attrs:
            for item in _leaves(value):
                if not (item is None or isinstance(item, bool | int | float | str | DType | Target | Node)):
                    text = f"an attribute holds a {type(item).__name__}, which is no value of the language"
                    self.report("wrong-node", text, self.stack[-1])
        super().visit_value(value)

    # functions

    def visit_IRModule(self, mod: IRModule) -> None:
        self.funcs = {g.name: f for g, f in mod.functions.items()}
        self.visit_value(mod.attrs)
        for func in mod.functions.values():
            if isinstance(func, PrimFunc):
                self.visit(func)

    def visit_PrimFunc(self, func: PrimFunc) -> None:
        self.func = func
        self.threads = set()
        known: set[int] = set()
        for param in func.params:
            if id(param) in known:
                self.report("duplicate-parameter", f"the parameter `{param.name}` occurs twice", param)
            known.add(id(param))
        self.define_all(tuple({id(p): p for p in func.params}.values()), True)
        if func.ret_type.__class__ is not PrimType:
            self.visit(func.ret_type)
        self.visit_value(func.attrs)
        self.scoped(func.body)
        self.leave(0)
        self.visible.clear()

    # statements

    def visit_SeqStmt(self, stmt: SeqStmt) -> None:
        mark = len(self.trail)
        for s in stmt.seq:
            self.visit(s)
        self.leave(mark)

    def visit_Bind(self, stmt: Bind) -> None:
        self.visit(stmt.value)
        self.same_type("type-mismatch", stmt.var, stmt.value, f"`{stmt.var.name}`", stmt)
        self.define(stmt.var)

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> None:
        self.define(stmt.buffer)
        self.visit_value(stmt.annotations)

    def visit_DeclBuffer(self, stmt: DeclBuffer) -> None:
        self.visit(stmt.data)
        if not _is_pointer(stmt.data.ty):
            text = f"the data of buffer `{stmt.buffer.name}` is {_show(stmt.data.ty)}, not a pointer"
            self.report("buffer-data", text, stmt)
        self.define(stmt.buffer)

    def visit_AttrStmt(self, stmt: AttrStmt) -> None:
        mark = len(self.trail)
        self.visit_value(stmt.value)
        axis = stmt.node
        if isinstance(axis, IterVar):
            # A thread axis may be launched more than once in a function; it is the same thread each time.
            if axis.dom is not None:
                self.visit(axis.dom)
            if id(axis.var) not in self.visible:
                self.add(axis.var, again=id(axis.var) in self.threads)
                self.threads.add(id(axis.var))
        else:
            self.visit_value(axis)
        self.visit(stmt.body)
        self.leave(mark)

    def visit_For(self, loop: For) -> None:
        mark = len(self.trail)
        for part in (loop.min, loop.extent, loop.step):
            if part is not None:
                self.visit(part)
                self.same_type("type-mismatch", loop.loop_var, part, f"the loop `{loop.loop_var.name}`", loop)
        if not _is_integer(loop.loop_var.ty):
            text = f"the loop variable `{loop.loop_var.name}` is {_show(loop.loop_var.ty)}, not an integer"
            self.report("loop-dtype", text, loop)
        if loop.thread_binding is not None and loop.thread_binding.dom is not None:
            self.visit(loop.thread_binding.dom)
        self.visit_value(loop.annotations)
        self.define(loop.loop_var)
        self.loops.add(id(loop.loop_var))
        self.around.append(loop)
        self.visit(loop.body)
        self.around.pop()
        self.leave(mark)

    def visit_While(self, loop: While) -> None:
        self.visit(loop.condition)
        self.around.append(loop)
        self.scoped(loop.body)
        self.around.pop()

    def visit_IfThenElse(self, stmt: IfThenElse) -> None:
        self.visit(stmt.condition)
        self.scoped(stmt.then_case, stmt.else_case)

    def visit_AssertStmt(self, stmt: AssertStmt) -> None:
        self.visit_fields(stmt)
        if not _is_bool(stmt.condition.ty):
            text = f"the condition of an assertion is {_show(stmt.condition.ty)}, not bool"
            self.report("condition-type", text, stmt)

    def visit_BufferStore(self, stmt: BufferStore) -> None:
        self.visit_fields(stmt)
        self.check_indices(stmt.buffer, stmt.indices, stmt)
        wanted = access_type(stmt.buffer, stmt.indices)
        if not _same(wanted, stmt.value.ty):
            text = f"`{stmt.buffer.name}` takes {_show(wanted)} here, but the value is {_show(stmt.value.ty)}"
            self.report("type-mismatch", text, stmt, help="convert the value with T.Cast")

    def visit_Return(self, stmt: Return) -> None:
        self.visit_fields(stmt)
        for outer in self.around:
            if isinstance(outer, SBlock):
                self.report("return-placement", f"block `{outer.name_hint}` cannot return", stmt)
            elif isinstance(outer, For) and outer.kind in (ForKind.PARALLEL, ForKind.VECTORIZED):
                kind = outer.kind.name.lower()
                self.report("return-placement", f"a {kind} loop cannot return", stmt)
        wanted = self.func.ret_type if self.func is not None else VOID
        given = VOID if stmt.value is None else stmt.value.ty
        if not _same(wanted, given):
            text = f"the function returns {_show(wanted)}, but {_show(given)} is returned here"
            self.report("return-type", text, stmt)

    def visit_Break(self, stmt: Break) -> None:
        self.jump("break", stmt)

    def visit_Continue(self, stmt: Continue) -> None:
        self.jump("continue", stmt)

    def jump(self, word: str, node: Node) -> None:
        inner = self.around[-1] if self.around else None
        text = None
        if inner is None:
            text = f"`{word}` stands outside of every loop"
        elif isinstance(inner, SBlock):
            text = f"`{word}` cannot leave block `{inner.name_hint}`"
        elif isinstance(inner, For) and word == "break" and inner.kind not in _ORDERED:
            text = f"`break` cannot leave a {inner.kind.name.lower()} loop"
        if text is not None:
            self.report("break-placement", text, node)

    # blocks

    def visit_SBlockRealize(self, stmt: SBlockRealize) -> None:
        for value in stmt.iter_values:
            self.visit(value)
            if not _is_integer(value.ty):
                text = (
                    f"an axis of block `{stmt.block.name_hint}` is bound to {_show(value.ty)}, not an integer"
                )
                self.report("block-binding", text, stmt)
        if len(stmt.iter_values) != len(stmt.block.iter_vars):
            axes, values = len(stmt.block.iter_vars), len(stmt.iter_values)
            text = f"block `{stmt.block.name_hint}` has {axes} axes but {values} values"
            self.report("block-binding", text, stmt)
        self.visit(stmt.predicate)
        self.visit(stmt.block)

    def visit_SBlock(self, block: SBlock) -> None:
        mark, barrier = len(self.trail), self.barrier
        self.name_block(block)
        for axis in block.iter_vars:
            self.visit(axis)
        for buffer in block.alloc_buffers:
            self.define(buffer)
        self.visit_value(block.annotations)
        self.blocks.append(block)
        if block.iter_vars:
            self.barrier = len(self.trail)
            self.around.append(block)
        for match in block.match_buffers:
            self.visit(match)
        for region in (*block.reads, *block.writes):
            self.visit(region)
        self.scoped(block.init, block.body)
        if block.iter_vars:
            self.around.pop()
        self.blocks.pop()
        self.barrier = barrier
        self.leave(mark)

    def name_block(self, block: SBlock) -> None:
        ref: BlockRef | None = block.ref
        if ref is None:
            return
        if id(ref) in self.defined:
            text = f"block `{block.name_hint}` occurs twice"
            self.report("duplicate-block", text, block, *self.first(ref), help=_RENEW)
        self.defined.add(id(ref))

    def visit_MatchBufferRegion(self, match: MatchBufferRegion) -> None:
        self.visit(match.source)
        self.define_all((match.buffer,), True)

    def visit_IterVar(self, axis: IterVar) -> None:
        if axis.dom is not None:
            self.visit(axis.dom)
        if not _is_integer(axis.var.ty):
            text = f"the axis `{axis.var.name}` is {_show(axis.var.ty)}, not an integer"
            self.report("block-axis", text, axis)
        self.define(axis.var)

    # expressions

    def visit_BufferLoad(self, load: BufferLoad) -> None:
        self.visit_fields(load)
        self.check_indices(load.buffer, load.indices, load)

    def visit_BufferRegion(self, region: BufferRegion) -> None:
        self.visit_fields(region)
        for r in region.region:
            self.check_indices(region.buffer, (r.min, r.extent), region)

    def check_indices(self, buffer: Var, indices: tuple[Expr, ...], node: Node) -> None:
        for index in indices:
            if not _is_integer(index.ty):
                text = f"an index of `{buffer.name}` is {_show(index.ty)}, not an integer"
                self.report("index-type", text, node)

    def visit_Let(self, let: Let) -> None:
        mark = len(self.trail)
        self.visit(let.value)
        self.same_type("type-mismatch", let.var, let.value, f"`{let.var.name}`", let)
        self.define(let.var)
        self.visit(let.body)
        self.leave(mark)

    def visit_Reduce(self, reduce: Reduce) -> None:
        mark = len(self.trail)
        self.visit_fields(reduce)
        self.leave(mark)

    def visit_IndexMap(self, index_map: IndexMap) -> None:
        mark = len(self.trail)
        self.visit_fields(index_map)
        self.leave(mark)

    def visit_Call(self, call: Call) -> None:
        if isinstance(call.op, Op):
            self.visit_fields(call)
            word = _JUMPS.get(call.op.name)
            if word is not None:
                self.jump(word, call)
        elif isinstance(call.op, GlobalVar):
            for arg in call.args:
                self.visit(arg)
            self.check_call(call, call.op)
        else:
            self.visit_fields(call)

    def check_call(self, call: Call, callee: GlobalVar) -> None:
        if not isinstance(self.program, IRModule):
            return
        func = self.funcs.get(callee.name)
        if func is None:
            from ...errors import suggest

            near = suggest(callee.name, self.funcs)
            text = f"the module has no function `{callee.name}`"
            self.report("unknown-function", text, call, help=near[0] if near else None)
            return
        if not isinstance(func, PrimFunc):
            return
        if len(func.params) != len(call.args):
            text = f"`{callee.name}` takes {len(func.params)} arguments, not {len(call.args)}"
            self.report("argument-count", text, call)
            return
        for param, arg in zip(func.params, call.args):
            if not _passes(param.ty, arg.ty):
                what = f"the parameter `{param.name}` of `{callee.name}`"
                text = f"{what} is {_show(param.ty)}, not {_show(arg.ty)}"
                self.report("argument-type", text, call)

    def same_type(self, code: str, var: Var, value: Expr, what: str, node: Node) -> None:
        if not _same(var.ty, value.ty) and not _is_packed_call(value):
            self.report(code, f"{what} is {_show(var.ty)}, but the value is {_show(value.ty)}", node)


_PLACES = 50
"""So many findings tell their access path; finding it takes time."""
_RENEW = "call renew_definitions on the copy"
_ORDERED = (ForKind.SERIAL, ForKind.UNROLLED)
_JUMPS = {"tirx.break_loop": "break", "tirx.continue_loop": "continue"}
_EXPECTED: dict[type, tuple[tuple[str, str, Any], ...]] = {}


def _expected(cls: Any) -> tuple[tuple[str, str, Any], ...]:
    found = _EXPECTED.get(cls)
    if found is None:
        rows = [
            (f.name, f.kind, get_args(f.hint)[0] if f.kind == "nodes" else f.hint)
            for f in child_fields(cls)
            if f.kind in ("node", "maybe", "nodes") and not issubclass(cls, Type)
        ]
        found = _EXPECTED[cls] = tuple(rows)
    return found


def _leaves(value: Any) -> list[Any]:
    """What lies in an attribute's value below its sequences and mappings."""
    found, pending = [], [value]
    while pending:
        item = pending.pop()
        if isinstance(item, Attrs):
            pending += item.values()
        elif isinstance(item, tuple):
            pending += item
        else:
            found.append(item)
    return found


def _path(chain: list[Node]) -> str:
    return "<root>" + "".join([_step(outer, inner) for outer, inner in zip(chain, chain[1:])])


def _step(outer: Node, inner: Node) -> str:
    """How `inner` is reached from `outer`, as far as it is a field or in one."""
    for name in type(outer).fields:
        value = getattr(outer, name)
        if value is inner:
            return f".{name}"
        if isinstance(value, tuple):
            for i, item in enumerate(value):
                if item is inner:
                    return f".{name}[{i}]"
                if isinstance(item, Var) and item.ty is inner:
                    return f".{name}[{i}].ty"
        elif isinstance(value, Attrs):
            for key, item in value.items():
                if item is inner:
                    return f'.{name}["{key}"]'
        elif isinstance(value, Var) and value.ty is inner:
            return f".{name}.ty"
    if isinstance(outer, IRModule):
        return next((f'.functions["{g.name}"]' for g, f in outer.functions.items() if f is inner), "")
    return next(iter(_inner_steps(outer, inner)), "")


def _inner_steps(outer: Node, inner: Node) -> list[str]:
    """For a variable that a part of `outer` defines: the path through the type or the axis."""
    for name in type(outer).fields:
        value = getattr(outer, name)
        for i, item in enumerate(value if isinstance(value, tuple) else (value,)):
            place = f".{name}[{i}]" if isinstance(value, tuple) else f".{name}"
            if isinstance(item, IterVar) and item.var is inner:
                return [f"{place}.var"]
            if isinstance(item, Var) and isinstance(item.ty, BufferType) and isinstance(inner, Var):
                for part in ("shape", "strides"):
                    for k, dim in enumerate(getattr(item.ty, part)):
                        if dim is inner:
                            return [f"{place}.ty.{part}[{k}]"]
    return []


def _defined_by(node: Node) -> list[Any]:
    found: list[Any] = [*definitions(node)]
    for var in definitions(node):
        if var.ty.__class__ is not PrimType and brings_symbols(node):
            found += type_vars(var.ty)
    if isinstance(node, SBlock):
        found.append(node.ref)
    return found


def _kind(value: Any) -> str:
    return type(value).__name__


def _show(ty: Type) -> str:
    if isinstance(ty, PrimType):
        return f"`{ty.dtype}`"
    if isinstance(ty, BufferType):
        return f"a buffer of `{ty.dtype}` with {len(ty.shape)} dimensions"
    if isinstance(ty, PointerType):
        return "a pointer"
    return f"a {type(ty).__name__}"


def _is_integer(ty: Type) -> bool:
    return isinstance(ty, PrimType) and ty.dtype.is_integral


def _is_bool(ty: Type) -> bool:
    return isinstance(ty, PrimType) and ty.dtype.is_bool


def _is_pointer(ty: Type) -> bool:
    return isinstance(ty, PointerType) or (isinstance(ty, PrimType) and ty.dtype.is_handle)


def _same(a: Type, b: Type) -> bool:
    """Whether a value of type `b` may stand for one of type `a`: pointers are alike, others equal."""
    return a is b or (_is_pointer(a) and _is_pointer(b)) or bool(a == b)


def _is_packed_call(value: Expr) -> bool:
    """What a function of the runtime returns is known to the caller only."""
    return isinstance(value, Call) and isinstance(value.op, Op) and "packed" in value.op.name


def _passes(param: Type, arg: Type) -> bool:
    if isinstance(param, BufferType) and isinstance(arg, BufferType):
        return param.dtype is arg.dtype and len(param.shape) == len(arg.shape)
    if isinstance(param, BufferType) or _is_pointer(param):
        return _is_pointer(arg) or isinstance(arg, BufferType)
    return _same(param, arg)


__all__ = ["CODES", "Checker", "assert_well_formed", "check_well_formed"]
