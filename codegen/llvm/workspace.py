"""The allocator of compiled code, as LLVM assembly: large local buffers, kept for the next call.

A block has a size class, eight to an octave, and a list of free blocks for each class.  64 bytes
before the memory of a block stand where it begins (-16) and its class (-8); blocks below 16 KiB
have class 0 and go back to the C library at once.  All lists share a lock that nobody waits for:
who finds it taken asks the C library.  When a block would exceed the limit, all free blocks go back.

Linux is asked for huge pages for blocks from 4 MiB on: with small ones a processor spends more time
on finding pages than panels of a matrix product can bear.
"""

from __future__ import annotations

import sys

from .text import Unit

SYMBOLS = tuple([f"lw.memory.{what}" for what in ("take", "give", "release", "unlock", "table")])
FIELDS = ("fresh", "reused", "live_bytes", "cached_bytes", "limit")
"""What the table holds, each an int64."""

_ADVISE = """
declare i32 @madvise(ptr, i64, i32)
define internal void @advise(ptr %block, i64 %bytes) {
entry:
  %large = icmp uge i64 %bytes, 4194304
  br i1 %large, label %ask, label %exit
ask:
  %address = ptrtoint ptr %block to i64
  %far = add i64 %address, 65535
  %page = and i64 %far, -65536
  %gap = sub i64 %page, %address
  %length = sub i64 %bytes, %gap
  %place = getelementptr i8, ptr %block, i64 %gap
  %failed = call i32 @madvise(ptr %place, i64 %length, i32 14)
  br label %exit
exit:
  ret void
}
"""
_ADVISE_NOT = """
define internal void @advise(ptr %block, i64 %bytes) alwaysinline {
  ret void
}
"""

_TEXT = """
@lists = internal global [512 x ptr] zeroinitializer, align 128
@lock = internal global i32 0, align 128
@lw.memory.table = global [5 x i64] zeroinitializer, align 128

declare ptr @malloc(i64)
declare void @free(ptr)
declare i64 @llvm.ctlz.i64(i64, i1)

define internal void @count(i64 %field, i64 %by) alwaysinline {
  %place = getelementptr i64, ptr @lw.memory.table, i64 %field
  %old = atomicrmw add ptr %place, i64 %by monotonic
  ret void
}

define internal i1 @try() alwaysinline {
  %pair = cmpxchg ptr @lock, i32 0, i32 1 acquire monotonic
  %won = extractvalue { i32, i1 } %pair, 1
  ret i1 %won
}

define internal void @open() alwaysinline {
  store atomic i32 0, ptr @lock release, align 4
  ret void
}

; (class, bytes of its blocks) of a size from 16 KiB to 2^46; the class of smaller ones is 0
define internal { i64, i64 } @class(i64 %size) {
entry:
  %large = icmp uge i64 %size, 16384
  br i1 %large, label %round, label %small
small:
  %s = insertvalue { i64, i64 } zeroinitializer, i64 %size, 1
  ret { i64, i64 } %s
round:
  %less = sub i64 %size, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %less, i1 true)
  %shift = sub i64 60, %zeros
  %units = lshr i64 %less, %shift
  %number = mul i64 %shift, 8
  %class = add i64 %number, %units
  %up = add i64 %units, 1
  %bytes = shl i64 %up, %shift
  %r0 = insertvalue { i64, i64 } poison, i64 %class, 0
  %r1 = insertvalue { i64, i64 } %r0, i64 %bytes, 1
  ret { i64, i64 } %r1
}

; The bytes of a class.
define internal i64 @bytes(i64 %class) {
  %above = sub i64 %class, 8
  %shift = udiv i64 %above, 8
  %first = mul i64 %shift, 8
  %units = sub i64 %class, %first
  %up = add i64 %units, 1
  %bytes = shl i64 %up, %shift
  ret i64 %bytes
}

; Memory of so many bytes (below 2^46), aligned to 64, or null.
define noalias ptr @lw.memory.take(i64 %size) {
entry:
  %c = call { i64, i64 } @class(i64 %size)
  %class = extractvalue { i64, i64 } %c, 0
  %bytes = extractvalue { i64, i64 } %c, 1
  %kept = icmp ne i64 %class, 0
  br i1 %kept, label %look, label %fresh
look:
  %list = getelementptr ptr, ptr @lists, i64 %class
  %won = call i1 @try()
  br i1 %won, label %pop, label %fresh
pop:
  %head = load ptr, ptr %list
  %some = icmp ne ptr %head, null
  br i1 %some, label %have, label %none
have:
  %next = load ptr, ptr %head
  store ptr %next, ptr %list
  call void @open()
  %minus = sub i64 0, %bytes
  call void @count(i64 3, i64 %minus)
  call void @count(i64 1, i64 1)
  call void @count(i64 2, i64 %bytes)
  ret ptr %head
none:
  call void @open()
  br label %fresh
fresh:
  %room = add i64 %bytes, 128
  %start = call ptr @malloc(i64 %room)
  %failed = icmp eq ptr %start, null
  br i1 %failed, label %empty, label %lay
empty:
  ret ptr null
lay:
  %address = ptrtoint ptr %start to i64
  %far = add i64 %address, 127
  %place = and i64 %far, -64
  %gap = sub i64 %place, %address
  %block = getelementptr i8, ptr %start, i64 %gap
  %where = getelementptr i8, ptr %block, i64 -16
  store ptr %start, ptr %where
  %what = getelementptr i8, ptr %block, i64 -8
  store i64 %class, ptr %what
  br i1 %kept, label %counted, label %given
counted:
  call void @advise(ptr %block, i64 %bytes)
  call void @count(i64 0, i64 1)
  call void @count(i64 2, i64 %bytes)
  br label %given
given:
  ret ptr %block
}

define internal void @drop(ptr %block) {
  %where = getelementptr i8, ptr %block, i64 -16
  %start = load ptr, ptr %where
  call void @free(ptr %start)
  ret void
}

define void @lw.memory.give(ptr %block) {
entry:
  %what = getelementptr i8, ptr %block, i64 -8
  %class = load i64, ptr %what
  %kept = icmp ne i64 %class, 0
  br i1 %kept, label %known, label %free
known:
  %bytes = call i64 @bytes(i64 %class)
  %minus = sub i64 0, %bytes
  call void @count(i64 2, i64 %minus)
  %limit = load atomic i64, ptr getelementptr (i8, ptr @lw.memory.table, i64 32) monotonic, align 8
  %held = load atomic i64, ptr getelementptr (i8, ptr @lw.memory.table, i64 24) monotonic, align 8
  %sum = add i64 %held, %bytes
  %fits = icmp ule i64 %sum, %limit
  br i1 %fits, label %lock, label %full
full:
  call void @lw.memory.release()
  %alone = icmp ule i64 %bytes, %limit
  br i1 %alone, label %lock, label %free
lock:
  %won = call i1 @try()
  br i1 %won, label %push, label %free
push:
  %list = getelementptr ptr, ptr @lists, i64 %class
  %head = load ptr, ptr %list
  store ptr %head, ptr %block
  store ptr %block, ptr %list
  call void @open()
  call void @count(i64 3, i64 %bytes)
  ret void
free:
  call void @drop(ptr %block)
  ret void
}

; Give all free blocks back to the C library (unless another thread is at the lists).
define void @lw.memory.release() {
entry:
  %won = call i1 @try()
  br i1 %won, label %classes, label %exit
classes:
  %class = phi i64 [ 0, %entry ], [ %after, %next ]
  %list = getelementptr ptr, ptr @lists, i64 %class
  br label %blocks
blocks:
  %head = load ptr, ptr %list
  %some = icmp ne ptr %head, null
  br i1 %some, label %one, label %next
one:
  %rest = load ptr, ptr %head
  store ptr %rest, ptr %list
  call void @drop(ptr %head)
  %bytes = call i64 @bytes(i64 %class)
  %minus = sub i64 0, %bytes
  call void @count(i64 3, i64 %minus)
  br label %blocks
next:
  %after = add i64 %class, 1
  %again = icmp ult i64 %after, 512
  br i1 %again, label %classes, label %open
open:
  call void @open()
  br label %exit
exit:
  ret void
}

; For a child process: nobody is at the lists.
define void @lw.memory.unlock() {
  call void @open()
  ret void
}
"""

_USE = """define internal noalias ptr @lw.take(i64 %size) {
entry:
  %take = load ptr, ptr TAKE
  %here = icmp ne ptr %take, null
  br i1 %here, label %ask, label %alone
ask:
  %block = call ptr %take(i64 %size)
  ret ptr %block
alone:
  %room = add i64 %size, 128
  %start = call ptr @malloc(i64 %room)
  %failed = icmp eq ptr %start, null
  br i1 %failed, label %none, label %lay
none:
  ret ptr null
lay:
  %address = ptrtoint ptr %start to i64
  %far = add i64 %address, 127
  %place = and i64 %far, -64
  %gap = sub i64 %place, %address
  %inside = getelementptr i8, ptr %start, i64 %gap
  %where = getelementptr i8, ptr %inside, i64 -16
  store ptr %start, ptr %where
  ret ptr %inside
}
define internal void @lw.give(ptr %block) {
entry:
  %give = load ptr, ptr GIVE
  %here = icmp ne ptr %give, null
  br i1 %here, label %ask, label %alone
ask:
  call void %give(ptr %block)
  ret void
alone:
  %where = getelementptr i8, ptr %block, i64 -16
  %start = load ptr, ptr %where
  call void @free(ptr %start)
  ret void
}"""


def text(platform: str = sys.platform) -> str:
    """The allocator for a system."""
    return (_ADVISE if platform == "linux" else _ADVISE_NOT) + _TEXT


def use(unit: Unit) -> str:
    """The function of a unit that takes memory; `@lw.give` gives it back.

    They go to the allocator of the process, or where there is none (the code runs without us) to
    the C library.
    """
    unit.declare("malloc", "ptr (i64)")
    unit.declare("free", "void (ptr)")
    return unit.helper("lw.take", _USE.replace("TAKE", unit.slot("take")).replace("GIVE", unit.slot("give")))
