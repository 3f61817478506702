"""Parallel loops: the loop becomes a function that the thread pool runs in pieces.

For each loop there are
  lw.loop.f.k  iterations from .. to; what they use of the function around them are its arguments,
               as `noalias` as they were there
  lw.task.f.k  one task of the pool: takes those arguments out of the environment and says which
               iterations are its own
and the loop's place in `f` fills the environment on its stack and launches.  A task that fails
reports like a function; of several reports that of the earliest iteration is kept.
"""

from __future__ import annotations

from ...ir import Call, Evaluate, For, GlobalVar, IntImm, Op, PrimType, Var, While, walk
from ...node import Node
from . import arith
from .core import Context, Memory
from .facts import CALLBACKS, OUTSIDE
from .stmt import Statements
from .text import Code, quoted
from .types import value_type

TASK_WORK = 16 * 1024
"""A task has about this many operations at least; what is smaller runs faster in place."""
_MANY = 1 << 40
_LEAVING = frozenset({"tirx.ret", "tirx.thread_return", "tirx.break_loop"})
_HEAD = ("ptr", "i32", "i32", "i64")
"""An environment starts with: the report to fill, a lock on it, the task that filled it, iterations."""

_REPORT = """define internal void @lw.report(ptr %env, i32 %task, ptr %mine) noinline cold {
entry:
  %lock = getelementptr { ptr, i32, i32, i64 }, ptr %env, i32 0, i32 1
  br label %try
try:
  %pair = cmpxchg ptr %lock, i32 0, i32 1 acquire monotonic
  %won = extractvalue { i32, i1 } %pair, 1
  br i1 %won, label %compare, label %try
compare:
  %place = getelementptr { ptr, i32, i32, i64 }, ptr %env, i32 0, i32 2
  %other = load i32, ptr %place
  %first = icmp ult i32 %task, %other
  br i1 %first, label %fill, label %done
fill:
  store i32 %task, ptr %place
  %report = load ptr, ptr %env
  call void @llvm.memcpy.p0.p0.i64(ptr %report, ptr %mine, i64 24, i1 false)
  br label %done
done:
  store atomic i32 0, ptr %lock release, align 4
  ret void
}"""

# Without a pool (the code runs without us) there is one task.
_LAUNCH = """define internal i32 @lw.launch(ptr %task, ptr %env, i64 %count, i64 %grain) {
entry:
  %launch = load ptr, ptr LAUNCH
  %here = icmp ne ptr %launch, null
  br i1 %here, label %ask, label %alone
ask:
  %threads = load ptr, ptr THREADS
  %limit = ptrtoint ptr %threads to i64
  %status = call i32 %launch(ptr %task, ptr %env, i64 %count, i64 %grain, i64 %limit)
  ret i32 %status
alone:
  %only = call i32 %task(i32 0, i32 1, ptr %env)
  ret i32 %only
}"""


class Task(Statements):
    """Emits the function of a parallel loop; names from around it become arguments when first used."""

    def __init__(self, outer: Statements) -> None:
        super().__init__(outer.context, outer.signature)
        self.outer = outer
        self.span = outer.span
        self.taken: dict[str, tuple[str, str]] = {}

    def take(self, register: str, kind: str) -> str:
        """The argument that stands for a register of the function around; constants stand for themselves."""
        if not register.startswith("%"):
            return register
        return self.taken.setdefault(register, (kind, f"%c{len(self.taken)}"))[1]

    def visit_Var(self, e: Var) -> str:
        known = self.outer.values.get(e)
        if e not in self.values and known is not None:
            kind = value_type(e.dtype) if isinstance(e.ty, PrimType) else "ptr"
            self.values[e] = self.take(known, kind)
        return super().visit_Var(e)

    def buffer(self, v: Var, node: object = None) -> Memory:
        known = self.outer.memory.get(v)
        if v not in self.memory and known is not None:
            pointer = self.take(known.pointer, "ptr")
            if known.pointer in self.outer.distinct:
                self.distinct.add(pointer)
            self.memory[v] = Memory(pointer, known.ty, known.aligned)
        return super().buffer(v, node)

    def finish(self) -> None:
        self.release(0)
        self.code.ret("i32 0")

    def emit_loop(self, name: str, s: For, first: str, stride: str, end: str) -> str:
        """The text of `name`, for iterations %from up to %to of a loop with these i64 bounds."""
        code, dtype = self.code, s.loop_var.dtype
        start, step = self.take(first, "i64"), self.take(stride, "i64")
        places = []
        for number in ("%from", "%to"):
            moved = number if step == "1" else code.op(f"mul i64 {number}, {step}")
            places.append(moved if start == "0" else code.op(f"add i64 {moved}, {start}"))
        if step != "1":
            least = self.unit.declare("llvm.umin.i64", "i64 (i64, i64)")
            if dtype.is_int:
                least = self.unit.declare("llvm.smin.i64", "i64 (i64, i64)")
            places[1] = code.op(f"call i64 {least}(i64 {places[1]}, i64 {self.take(end, 'i64')})")
        narrow = [self.narrow(v, s) for v in (places[0], step, places[1])]
        self.loop(s, narrow[0], narrow[1], narrow[2], False)
        self.finish()
        apart = all(inside in self.distinct for kind, inside in self.taken.values() if kind == "ptr")
        params = ["ptr noalias %err"]
        for kind, inside in self.taken.values():
            params.append(f"{kind} {'noalias ' if apart and kind == 'ptr' else ''}{inside}")
        params += ["i64 %from", "i64 %to"]
        wide = self.context.machine.wide
        return (
            f"define internal i32 {name}({', '.join(params)}) nounwind noinline{wide} {{\n{code.body()}\n}}"
        )

    def narrow(self, value: str, s: For) -> str:
        """An i64 in the type of the loop variable."""
        dtype = s.loop_var.dtype
        if dtype.bits == 64 or not value.startswith("%"):
            return value
        return self.code.op(f"trunc i64 {value} to {value_type(dtype)}")


def launch(m: Statements, s: For) -> bool:
    """Emit the launch of a parallel loop, unless it is better run in place, as a serial one: then False."""
    grain = 0 if isinstance(m, Task) else grain_of(m.context, s)
    if grain == 0:
        return False
    code, dtype = m.code, s.loop_var.dtype
    step = 1 if s.step is None else arith.constant(s.step)
    low, extent = arith.constant(s.min), arith.constant(s.extent)
    bounds = m.loop_bounds(s, value_type(dtype), low, extent, step)[:3]
    first, stride, end = [m.widen(v, dtype) if v.startswith("%") else v for v in bounds]
    task = Task(m)
    number = f"{m.function}.{len(m.unit.functions)}"
    loop, entry = quoted(f"lw.loop.{number}"), quoted(f"lw.task.{number}")
    m.unit.functions.append(task.emit_loop(loop, s, first, stride, end))
    m.unit.functions.append(_task_entry(m, loop, entry, task))
    count = _count(m, first, stride, end)
    kinds = [*_HEAD, *[kind for kind, _ in task.taken.values()]]
    env = code.stack(f"{{ {', '.join(kinds)} }}", "env")
    for k, (kind, value) in enumerate(zip(kinds, ("%err", "0", "-1", count, *task.taken))):
        code.do(f"store {kind} {value}, ptr {_field(code, kinds, env, k)}")
    text = _LAUNCH.replace("LAUNCH", m.unit.slot("launch")).replace("THREADS", m.unit.slot("threads"))
    run = m.unit.helper("lw.launch", text)
    m.succeed(code.op(f"call i32 {run}(ptr {entry}, ptr {env}, i64 {count}, i64 {grain})"))
    return True


def grain_of(context: Context, s: For) -> int:
    """How many iterations make a task worth its start; 0: the loop runs in place.

    So do loops that run Python (which one thread at a time can), that the function may be left from,
    and those with too little work to be divided.
    """
    if not context.parallel or not _outlines(context, s):
        return 0
    grain = max(1, TASK_WORK // max(1, work(s.body)))
    extent = arith.constant(s.extent)
    return 0 if extent is not None and extent < 2 * grain else grain


def _outlines(context: Context, s: For) -> bool:
    for node in walk(s.body):
        match node:
            case Call(op=Op(name=name)) if name in CALLBACKS:
                return False
            case Evaluate(value=Call(op=Op(name=name))) if name in _LEAVING:
                return False
            case Call(op=GlobalVar(name=name)) if name in context.facts and context.facts[name].runs_python:
                return False
    return True


def work(body: Node) -> int:
    """About how many operations a statement takes; loops of unknown length count as many."""
    total, stack = 0, [(body, 1)]
    while stack and total < _MANY:
        node, times = stack.pop()
        match node:
            case Var() | IntImm():
                continue
            case While() | Call(op=GlobalVar()):
                return _MANY
            case Call(op=Op(name=name)) if name in OUTSIDE:
                return _MANY
            case For(extent=extent, body=inner):
                count = arith.constant(extent)
                stack.append((inner, times * max(0, count)) if count is not None else (inner, _MANY))
                continue
        total += times
        for name in type(node).fields:
            if name not in ("span", "ty", "attrs", "annotations"):
                value = getattr(node, name)
                parts = value if isinstance(value, tuple) else (value,)
                stack += [(part, times) for part in parts if isinstance(part, Node)]
    return min(total, _MANY)


def _count(m: Statements, first: str, stride: str, end: str) -> str:
    """The number of iterations, not below 0."""
    if not any(v.startswith("%") for v in (first, stride, end)):
        return str(max(0, -((int(first) - int(end)) // int(stride))))
    code = m.code
    count = end if first == "0" else code.op(f"sub i64 {end}, {first}")
    if stride != "1":
        up = code.op(f"add i64 {count}, {code.op(f'sub i64 {stride}, 1')}")
        count = code.op(f"sdiv i64 {up}, {stride}")
    most = m.unit.declare("llvm.smax.i64", "i64 (i64, i64)")
    return code.op(f"call i64 {most}(i64 {count}, i64 0)")


def _field(code: Code, kinds: list[str], env: str, k: int) -> str:
    return code.op(f"getelementptr inbounds {{ {', '.join(kinds)} }}, ptr {env}, i32 0, i32 {k}")


def _task_entry(m: Statements, loop: str, entry: str, task: Task) -> str:
    """The function that the pool calls: iterations share out evenly, the first tasks have one more."""
    kinds = [*_HEAD, *[kind for kind, _ in task.taken.values()]]
    code = Code()
    mine = code.stack("[4 x i64], align 16", "err")
    loaded = [code.op(f"load {kind}, ptr {_field(code, kinds, '%env', k)}") for k, kind in enumerate(kinds)]
    # The fourth word of a report counts the calls that are open, so that recursion ends in time.
    depth = code.op(f"load i64, ptr {code.op(f'getelementptr i8, ptr {loaded[0]}, i64 24')}")
    code.do(f"store i64 {depth}, ptr {code.op(f'getelementptr i8, ptr {mine}, i64 24')}")
    number, tasks = code.op("zext i32 %task to i64"), code.op("zext i32 %tasks to i64")
    share = code.op(f"udiv i64 {loaded[3]}, {tasks}")
    rest = code.op(f"urem i64 {loaded[3]}, {tasks}")
    least = m.unit.declare("llvm.umin.i64", "i64 (i64, i64)")
    before = code.op(f"call i64 {least}(i64 {number}, i64 {rest})")
    start = code.op(f"add i64 {code.op(f'mul i64 {number}, {share}')}, {before}")
    one = code.op(f"zext i1 {code.op(f'icmp ult i64 {number}, {rest}')} to i64")
    end = code.op(f"add i64 {code.op(f'add i64 {start}, {share}')}, {one}")
    args = [f"ptr {mine}", *[f"{k} {v}" for k, v in zip(kinds[4:], loaded[4:])], f"i64 {start}", f"i64 {end}"]
    status = code.op(f"call i32 {loop}({', '.join(args)})")
    code.branch(code.op(f"icmp eq i32 {status}, 0"), "done", "failed", likely=True)
    code.label("failed")
    m.unit.declare("llvm.memcpy.p0.p0.i64", "void (ptr, ptr, i64, i1)")
    code.do(f"call void {m.unit.helper('lw.report', _REPORT)}(ptr %env, i32 %task, ptr {mine})")
    code.jump("done")
    code.label("done")
    code.ret(f"i32 {status}")
    return f"define internal i32 {entry}(i32 %task, i32 %tasks, ptr %env) nounwind {{\n{code.body()}\n}}"
