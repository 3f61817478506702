"""The thread pool of parallel loops, as LLVM assembly: `launch` and what a helping thread runs.

A launch cuts the iterations into tasks.  One word, the ticket, says what is left to take:

    epoch (32 bits) | seats for helpers (12 bits) | tasks left (20 bits)

The launcher writes the job, then the ticket, wakes who sleeps, and takes tasks like any helper.
Taking a task is one compare-and-swap, which proves that the job is still the one that the ticket
spoke of: a task that is taken and not finished keeps the job alive.  The launch ends when all *tasks*
are done; a helper that sleeps or waits for a processor holds nobody up.

Tasks are taken in order.  When one fails, all before it have been taken and run to their end, so
the first error in the order of the loop is always among those that occur; the rest is dropped.

A launch while another runs (from a task, or from another Python thread) does all of its tasks by
itself.  Waiting is short spinning, then sleeping on a word: through the kernel of Linux, elsewhere in
short naps.  The functions for that are pointers in `lw.pool.control`.
"""

from __future__ import annotations

import sys

_FUTEX = {"x86_64": 202, "aarch64": 98, "riscv64": 98, "powerpc64le": 221, "s390x": 238}
# What to call while spinning, and its type; assembly is no way, as llvmlite reads only that of x86.
_PAUSE = {
    "x86_64": ("call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"),
    "aarch64": ("call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)"),
    "arm64": ("call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)"),
}
SYMBOLS = ("lw.pool.launch", "lw.pool.worker", "lw.pool.wake", "lw.pool.reset", "lw.pool.control")

_FUTEX_TEXT = """
declare i64 @syscall(i64, ...)
define internal void @wait(ptr %word, i32 %seen) {
  call i64 (i64, ...) @syscall(i64 NUMBER, ptr %word, i32 128, i32 %seen, ptr null, ptr null, i32 0)
  ret void
}
define internal void @wake(ptr %word, i32 %count) {
  call i64 (i64, ...) @syscall(i64 NUMBER, ptr %word, i32 129, i32 %count, ptr null, ptr null, i32 0)
  ret void
}
"""

_NAP_TEXT = """
declare REST
define internal void @wait(ptr %word, i32 %seen) {
entry:
  br label %look
look:
  %time = phi i32 [ FIRST, %entry ], [ %longer, %nap ]
  %now = load atomic i32, ptr %word seq_cst, align 4
  %same = icmp eq i32 %now, %seen
  br i1 %same, label %nap, label %done
nap:
  call void NAP(i32 %time)
  %twice = mul i32 %time, 2
  %longer = call i32 @llvm.umin.i32(i32 %twice, i32 LAST)
  br label %look
done:
  ret void
}
define internal void @wake(ptr %word, i32 %count) {
  ret void
}
"""

_TEXT = """
%control = type { i32, i32, ptr, ptr, ptr }
@ticket = internal global i64 0, align 128
@pending = internal global i32 0, align 128
@waiting = internal global i32 0, align 128
@sleepers = internal global i32 0, align 128
@busy = internal global i32 0, align 128
@job = internal global { ptr, ptr, i32, i32 } zeroinitializer, align 128
@lw.pool.control = global %control { i32 0, i32 0, ptr null, ptr @wait, ptr @wake }, align 128

declare i64 @llvm.umin.i64(i64, i64)
declare i32 @llvm.umin.i32(i32, i32)
DECLARE_PAUSE

; The number of the task that was taken when `left` were left, run to its end.
define internal void @run(i64 %left) {
entry:
  %fn = load ptr, ptr @job
  %env = load ptr, ptr getelementptr (i8, ptr @job, i64 8)
  %tasks = load i32, ptr getelementptr (i8, ptr @job, i64 16)
  %behind = trunc i64 %left to i32
  %task = sub i32 %tasks, %behind
  %rc = call i32 %fn(i32 %task, i32 %tasks, ptr %env)
  %failed = icmp ne i32 %rc, 0
  br i1 %failed, label %drop, label %done
drop:
  store atomic i32 %rc, ptr getelementptr (i8, ptr @job, i64 20) monotonic, align 4
  %old = atomicrmw and ptr @ticket, i64 -1048576 acq_rel
  %rest = and i64 %old, 1048575
  %dropped = trunc i64 %rest to i32
  br label %done
done:
  %more = phi i32 [ 0, %entry ], [ %dropped, %drop ]
  %count = add i32 %more, 1
  %before = atomicrmw sub ptr @pending, i32 %count seq_cst
  %last = icmp eq i32 %before, %count
  br i1 %last, label %tell, label %exit
tell:
  %asleep = load atomic i32, ptr @waiting seq_cst, align 4
  %sleeps = icmp ne i32 %asleep, 0
  br i1 %sleeps, label %rouse, label %exit
rouse:
  %wake = load ptr, ptr getelementptr (i8, ptr @lw.pool.control, i64 24)
  call void %wake(ptr @pending, i32 1)
  br label %exit
exit:
  ret void
}

; Take tasks until none is left, or the ticket's part below the mask is not the wanted one.
define internal void @take(i64 %mask, i64 %want) {
entry:
  br label %look
look:
  %t = load atomic i64, ptr @ticket acquire, align 8
  %left = and i64 %t, 1048575
  %some = icmp ne i64 %left, 0
  %part = and i64 %t, %mask
  %same = icmp eq i64 %part, %want
  %go = and i1 %some, %same
  br i1 %go, label %claim, label %exit
claim:
  %less = sub i64 %t, 1
  %pair = cmpxchg ptr @ticket, i64 %t, i64 %less acq_rel acquire
  %won = extractvalue { i64, i1 } %pair, 1
  br i1 %won, label %work, label %look
work:
  call void @run(i64 %left)
  br label %look
exit:
  ret void
}

define void @lw.pool.worker() {
entry:
  br label %fresh
fresh:
  br label %look
look:
  %k = phi i32 [ 0, %fresh ], [ %k1, %rest ]
  %t = load atomic i64, ptr @ticket acquire, align 8
  %stop = load atomic i32, ptr @lw.pool.control seq_cst, align 4
  %ends = icmp ne i32 %stop, 0
  br i1 %ends, label %exit, label %ask
ask:
  %left = and i64 %t, 1048575
  %seats = and i64 %t, 4293918720
  %some = icmp ne i64 %left, 0
  %seat = icmp ne i64 %seats, 0
  %go = and i1 %some, %seat
  br i1 %go, label %claim, label %idle
claim:
  %less = sub i64 %t, 1048577
  %pair = cmpxchg ptr @ticket, i64 %t, i64 %less acq_rel acquire
  %won = extractvalue { i64, i1 } %pair, 1
  br i1 %won, label %work, label %fresh
work:
  call void @run(i64 %left)
  %epoch = and i64 %t, -4294967296
  call void @take(i64 -4294967296, i64 %epoch)
  br label %fresh
idle:
  %tired = icmp eq i32 %k, SPINS
  br i1 %tired, label %sleep, label %rest
rest:
  PAUSE
  %k1 = add i32 %k, 1
  br label %look
sleep:
  %s0 = atomicrmw add ptr @sleepers, i32 1 seq_cst
  %t2 = load atomic i64, ptr @ticket seq_cst, align 8
  %stop2 = load atomic i32, ptr @lw.pool.control seq_cst, align 4
  %stays = icmp eq i32 %stop2, 0
  %left2 = and i64 %t2, 1048575
  %seats2 = and i64 %t2, 4293918720
  %none2 = icmp eq i64 %left2, 0
  %full2 = icmp eq i64 %seats2, 0
  %nothing = or i1 %none2, %full2
  %may = and i1 %stays, %nothing
  br i1 %may, label %doze, label %up
doze:
  %high2 = lshr i64 %t2, 32
  %seen = trunc i64 %high2 to i32
  %wait = load ptr, ptr getelementptr (i8, ptr @lw.pool.control, i64 16)
  call void %wait(ptr WORD, i32 %seen)
  br label %up
up:
  %s1 = atomicrmw sub ptr @sleepers, i32 1 seq_cst
  br label %fresh
exit:
  ret void
}

; Let sleeping helpers look at the table.
define void @lw.pool.wake() {
  %old = atomicrmw add ptr @ticket, i64 4294967296 seq_cst
  %wake = load ptr, ptr getelementptr (i8, ptr @lw.pool.control, i64 24)
  call void %wake(ptr WORD, i32 2147483647)
  ret void
}

define void @lw.pool.reset() {
  store i64 0, ptr @ticket
  store i32 0, ptr @pending
  store i32 0, ptr @waiting
  store i32 0, ptr @sleepers
  store i32 0, ptr @busy
  store i64 0, ptr @lw.pool.control
  ret void
}

define i32 @lw.pool.launch(ptr %fn, ptr %env, i64 %n, i64 %grain, i64 %limit) {
entry:
  %most = udiv i64 %n, %grain
  %several = icmp ugt i64 %most, 1
  br i1 %several, label %ready, label %alone
ready:
  %known = load atomic i32, ptr getelementptr (i8, ptr @lw.pool.control, i64 4) monotonic, align 4
  %cold = icmp eq i32 %known, 0
  br i1 %cold, label %start, label %count
start:
  %starter = load ptr, ptr getelementptr (i8, ptr @lw.pool.control, i64 8)
  call void %starter()
  %started = load atomic i32, ptr getelementptr (i8, ptr @lw.pool.control, i64 4) monotonic, align 4
  br label %count
count:
  %have = phi i32 [ %known, %ready ], [ %started, %start ]
  %all = zext i32 %have to i64
  %top = sub i64 %limit, 1
  %fewer = call i64 @llvm.umin.i64(i64 %top, i64 4095)
  %helpers = sub i64 %all, 1
  %free = icmp sgt i64 %helpers, 0
  %allowed = icmp ne i64 %fewer, 0
  %joint = and i1 %free, %allowed
  br i1 %joint, label %enter, label %alone
enter:
  %pair = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %entered = extractvalue { i32, i1 } %pair, 1
  br i1 %entered, label %cut, label %alone
alone:
  %rc1 = call i32 %fn(i32 0, i32 1, ptr %env)
  ret i32 %rc1
cut:
  %useful = call i64 @llvm.umin.i64(i64 %helpers, i64 %fewer)
  %crew = add i64 %useful, 1
  %fine = mul i64 %crew, 4
  %tasks = call i64 @llvm.umin.i64(i64 %most, i64 %fine)
  %others = sub i64 %tasks, 1
  %seats = call i64 @llvm.umin.i64(i64 %useful, i64 %others)
  %number = trunc i64 %tasks to i32
  store ptr %fn, ptr @job
  store ptr %env, ptr getelementptr (i8, ptr @job, i64 8)
  store i32 %number, ptr getelementptr (i8, ptr @job, i64 16)
  store i32 0, ptr getelementptr (i8, ptr @job, i64 20)
  store i32 %number, ptr @pending
  %old = load atomic i64, ptr @ticket monotonic, align 8
  %high = lshr i64 %old, 32
  %next = add i64 %high, 1
  %e = shl i64 %next, 32
  %s = shl i64 %seats, 20
  %es = or i64 %e, %s
  %new = or i64 %es, %tasks
  store atomic i64 %new, ptr @ticket seq_cst, align 8
  %asleep = load atomic i32, ptr @sleepers seq_cst, align 4
  %some = icmp ne i32 %asleep, 0
  br i1 %some, label %rouse, label %work
rouse:
  %wake = load ptr, ptr getelementptr (i8, ptr @lw.pool.control, i64 24)
  %few = trunc i64 %seats to i32
  call void %wake(ptr WORD, i32 %few)
  br label %work
work:
  call void @take(i64 0, i64 0)
  br label %join
join:
  %k = phi i32 [ 0, %work ], [ %k1, %spin ]
  %p = load atomic i32, ptr @pending acquire, align 4
  %done = icmp eq i32 %p, 0
  br i1 %done, label %leave, label %more
more:
  %tired = icmp uge i32 %k, SPINS
  br i1 %tired, label %sleep, label %spin
spin:
  PAUSE
  %k1 = add i32 %k, 1
  br label %join
sleep:
  store atomic i32 1, ptr @waiting seq_cst, align 4
  br label %again
again:
  %p2 = load atomic i32, ptr @pending seq_cst, align 4
  %over = icmp eq i32 %p2, 0
  br i1 %over, label %awake, label %doze
doze:
  %wait = load ptr, ptr getelementptr (i8, ptr @lw.pool.control, i64 16)
  call void %wait(ptr @pending, i32 %p2)
  br label %again
awake:
  store atomic i32 0, ptr @waiting monotonic, align 4
  br label %leave
leave:
  %rc = load atomic i32, ptr getelementptr (i8, ptr @job, i64 20) acquire, align 4
  store atomic i32 0, ptr @busy release, align 4
  ret i32 %rc
}
"""


def text(triple: str, platform: str = sys.platform) -> str:
    """The pool for a machine; where the system has no futex, sleeping threads nap."""
    machine = triple.split("-")[0]
    number = _FUTEX.get(machine) if platform == "linux" else None
    if number is not None:
        waiting = _FUTEX_TEXT.replace("NUMBER", str(number))
    else:
        windows = platform == "win32"
        rest = "void @Sleep(i32)" if windows else "i32 @usleep(i32)"
        call = "call void @Sleep(i32 %time)" if windows else "%unused = call i32 @usleep(i32 %time)"
        first, last = ("1", "1") if windows else ("20", "1000")
        waiting = _NAP_TEXT.replace("call void NAP(i32 %time)", call).replace("REST", rest)
        waiting = waiting.replace("FIRST", first).replace("LAST", last)
    pause, declared = _PAUSE.get(machine, ('call void asm sideeffect "", ""()', ""))
    word = "getelementptr (i8, ptr @ticket, i64 4)" if sys.byteorder == "little" else "@ticket"
    body = _TEXT.replace("DECLARE_PAUSE", declared).replace("PAUSE", pause)
    return waiting + body.replace("SPINS", "2000").replace("WORD", word)


def standalone(triple: str) -> str:
    """The pool for exported code: who loads the code starts threads and lets its launches come here."""
    from .machine import system

    platform = {"linux": "linux", "windows": "win32"}.get(system(triple), "other")
    parts = ("launch", "worker", "wake", "reset", "control")
    table = ", ".join([f"ptr @lw.pool.{part}" for part in parts])
    return f"{text(triple, platform)}\n@__loopwright_pool = constant [{len(parts)} x ptr] [{table}]\n"
