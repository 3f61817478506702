"""Machine code of the interpreter: objects, registers, sizes.

See `machine_code.py`, which puts the parts together.
"""

from __future__ import annotations

TEXT = """@__loopwright_vm_table = global [$size x ptr] zeroinitializer, align 16
@__loopwright_vm_form1 = private constant [2 x i8] c"L\\00"
@__loopwright_vm_form2 = private constant [3 x i8] c"LO\\00"
@__loopwright_vm_form3 = private constant [4 x i8] c"LLL\\00"

declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyObject_CallFunction(ptr, ptr, ...)
declare i32 @PyObject_IsTrue(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyType_GenericAlloc(ptr, i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyErr_Occurred()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_NormalizeException(ptr, ptr, ptr)
declare i32 @PyException_SetTraceback(ptr, ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define internal ptr @word(ptr %base, i64 %k) alwaysinline {
  %p = getelementptr ptr, ptr %base, i64 %k
  %v = load ptr, ptr %p
  ret ptr %v
}
define internal i64 @number(ptr %base, i64 %k) alwaysinline {
  %p = getelementptr i64, ptr %base, i64 %k
  %v = load i64, ptr %p
  ret i64 %v
}
define internal ptr @field(ptr %o, i64 %at) alwaysinline {
  %p = getelementptr i8, ptr %o, i64 %at
  %v = load ptr, ptr %p
  ret ptr %v
}
define internal i32 @field32(ptr %o, i64 %at) alwaysinline {
  %p = getelementptr i8, ptr %o, i64 %at
  %v = load i32, ptr %p
  ret i32 %v
}
define internal void @drop(ptr %o) alwaysinline {
  %is = icmp ne ptr %o, null
  br i1 %is, label %yes, label %no
yes:
  call void @Py_DecRef(ptr %o)
  br label %no
no:
  ret void
}

; The value of an argument, borrowed; null where the register was not written.
define internal ptr @arg(ptr %i, ptr %regs, ptr %consts, i64 %k) alwaysinline {
  %args = call ptr @word(ptr %i, i64 3)
  %w = call i64 @number(ptr %args, i64 %k)
  %v = call ptr @value(ptr %regs, ptr %consts, i64 %w)
  ret ptr %v
}
define internal ptr @value(ptr %regs, ptr %consts, i64 %w) alwaysinline {
  %is = icmp sge i64 %w, 0
  %flip = xor i64 %w, -1
  %k = select i1 %is, i64 %w, i64 %flip
  %base = select i1 %is, ptr %regs, ptr %consts
  %v = call ptr @word(ptr %base, i64 %k)
  ret ptr %v
}

; Put a reference into the register of the result.
define internal void @put(ptr %i, ptr %regs, ptr %v) alwaysinline {
entry:
  %dst = call i64 @number(ptr %i, i64 1)
  %void = icmp slt i64 %dst, 0
  br i1 %void, label %lost, label %kept
lost:
  call void @Py_DecRef(ptr %v)
  ret void
kept:
  %p = getelementptr ptr, ptr %regs, i64 %dst
  %old = load ptr, ptr %p
  store ptr %v, ptr %p
  call void @drop(ptr %old)
  ret void
}

; Call the Python function of an instruction: 0, or 2 where it raised.
define internal i32 @python(ptr %i, ptr %regs, ptr %consts) noinline {
entry:
  %n = call i64 @number(ptr %i, i64 4)
  %room = add i64 %n, 1
  %list = alloca ptr, i64 %room
  %given = getelementptr ptr, ptr %list, i64 1
  %none = load ptr, ptr $none
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %fill ]
  %more = icmp ult i64 %k, %n
  br i1 %more, label %fill, label %go
fill:
  %v = call ptr @arg(ptr %i, ptr %regs, ptr %consts, i64 %k)
  %is = icmp ne ptr %v, null
  %some = select i1 %is, ptr %v, ptr %none
  %p = getelementptr ptr, ptr %given, i64 %k
  store ptr %some, ptr %p
  %next = add i64 %k, 1
  br label %loop
go:
  %f = call ptr @word(ptr %i, i64 2)
  %flag = or i64 %n, -9223372036854775808
  %made = call ptr @PyObject_Vectorcall(ptr %f, ptr %given, i64 %flag, ptr null)
  %good = icmp ne ptr %made, null
  br i1 %good, label %done, label %bad
done:
  call void @put(ptr %i, ptr %regs, ptr %made)
  ret i32 0
bad:
  ret i32 2
}

; A size: a number, or what a slot of the heap holds.
define internal i64 @size(ptr %codes, i64 %k, ptr %heap) alwaysinline {
  %at = shl i64 %k, 1
  %code = call i64 @number(ptr %codes, i64 %at)
  %after = add i64 %at, 1
  %x = call i64 @number(ptr %codes, i64 %after)
  %literal = icmp eq i64 %code, 0
  br i1 %literal, label %number, label %slot
number:
  ret i64 %x
slot:
  %held = call i64 @number(ptr %heap, i64 %x)
  ret i64 %held
}

; The data of the heap, an array or nothing.
define internal ptr @heap(ptr %o) alwaysinline {
entry:
  %none = load ptr, ptr $none
  %null = icmp eq ptr %o, null
  %absent = icmp eq ptr %o, %none
  %not = or i1 %null, %absent
  br i1 %not, label %no, label %yes
no:
  ret ptr null
yes:
  %data = call ptr @field(ptr %o, i64 $data)
  ret ptr %data
}

; Write the sizes to `dims`; the bytes that so many elements take, or -1 where a size is negative.
define internal i64 @sizes(ptr %codes, i64 %n, ptr %heap, ptr %dims, i64 %item) alwaysinline {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %more ]
  %total = phi i64 [ %item, %entry ], [ %product, %more ]
  %bad = phi i1 [ false, %entry ], [ %worse, %more ]
  %go = icmp ult i64 %k, %n
  br i1 %go, label %more, label %done
more:
  %d = call i64 @size(ptr %codes, i64 %k, ptr %heap)
  %p = getelementptr i64, ptr %dims, i64 %k
  store i64 %d, ptr %p
  %product = mul i64 %total, %d
  %negative = icmp slt i64 %d, 0
  %worse = or i1 %bad, %negative
  %next = add i64 %k, 1
  br label %loop
done:
  %result = select i1 %bad, i64 -1, i64 %total
  ret i64 %result
}

define internal i1 @is_array(ptr %o) alwaysinline {
entry:
  %some = icmp ne ptr %o, null
  br i1 %some, label %look, label %no
look:
  %kind = call ptr @field(ptr %o, i64 $type)
  %array = load ptr, ptr $ndarray
  %same = icmp eq ptr %kind, %array
  ret i1 %same
no:
  ret i1 false
}

; An array of these elements and sizes on this memory (null: its own).
define internal ptr @array(ptr %descr, i64 %n, ptr %dims, ptr %data) alwaysinline {
  %make = load ptr, ptr $new_array
  %kind = load ptr, ptr $ndarray
  %rank = trunc i64 %n to i32
  call void @Py_IncRef(ptr %descr)
  %own = icmp eq ptr %data, null
  %flags = select i1 %own, i32 0, i32 1281
  %made = call ptr %make(
    ptr %kind, ptr %descr, i32 %rank, ptr %dims, ptr null, ptr %data, i32 %flags, ptr null)
  ret ptr %made
}
define internal void @set_base(ptr %made, ptr %owner) alwaysinline {
  call void @Py_IncRef(ptr %owner)
  %p = getelementptr i8, ptr %made, i64 $base
  store ptr %owner, ptr %p
  ret void
}
"""

__all__ = ["TEXT"]
