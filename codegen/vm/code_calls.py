"""Machine code of the interpreter: its loop, and the functions that Python calls.

See `machine_code.py`, which puts the parts together.
"""

from __future__ import annotations

TEXT = """
; Run instructions until one returns: the value, or null, and then `where` has the number of the instruction.
define internal ptr @run(ptr %program, ptr %regs, ptr %where) noinline {
entry:
  %first = call ptr @word(ptr %program, i64 0)
  %consts = call ptr @word(ptr %program, i64 1)
  br label %loop
loop:
  %i = phi ptr [ %first, %entry ], [ %next, %step ], [ %target, %goto ], [ %chosen, %branch ]
  %op = load i64, ptr %i
  switch i64 %op, label %other [ $cases ]
$blocks
other:
  %rc.other = call i32 @python(ptr %i, ptr %regs, ptr %consts)
  br label %after
after:
  %rc = phi i32 [ %rc.other, %other ], $phis
  switch i32 %rc, label %other [ i32 0, label %step  i32 2, label %error ]
step:
  %next = getelementptr i8, ptr %i, i64 96
  br label %loop
null:
  %nd = call i64 @number(ptr %i, i64 1)
  %np = getelementptr ptr, ptr %regs, i64 %nd
  %nold = load ptr, ptr %np
  store ptr null, ptr %np
  call void @drop(ptr %nold)
  br label %step
goto:
  %target = call ptr @word(ptr %i, i64 5)
  br label %loop
if:
  %co = call ptr @arg(ptr %i, ptr %regs, ptr %consts, i64 0)
  %known = icmp ne ptr %co, null
  br i1 %known, label %truth, label %branch
truth:
  %t = call i32 @PyObject_IsTrue(ptr %co)
  %broken = icmp slt i32 %t, 0
  br i1 %broken, label %error, label %branch
branch:
  %taken = phi i32 [ 0, %if ], [ %t, %truth ]
  %yes = icmp ne i32 %taken, 0
  %false = call ptr @word(ptr %i, i64 5)
  %true = getelementptr i8, ptr %i, i64 96
  %chosen = select i1 %yes, ptr %true, ptr %false
  br label %loop
ret:
  %ro = call ptr @arg(ptr %i, ptr %regs, ptr %consts, i64 0)
  %rnone = load ptr, ptr $none
  %ris = icmp ne ptr %ro, null
  %rv = select i1 %ris, ptr %ro, ptr %rnone
  call void @Py_IncRef(ptr %rv)
  ret ptr %rv
error:
  %number = call i64 @number(ptr %i, i64 11)
  store i64 %number, ptr %where
  ret ptr null
}

; Tell Python where an error came from; it raises it again.
define internal ptr @traced(ptr %program, i64 %where) noinline {
  %t = alloca ptr
  %v = alloca ptr
  %b = alloca ptr
  call void @PyErr_Fetch(ptr %t, ptr %v, ptr %b)
  call void @PyErr_NormalizeException(ptr %t, ptr %v, ptr %b)
  %value = load ptr, ptr %v
  %trace = load ptr, ptr %b
  %has = icmp ne ptr %trace, null
  br i1 %has, label %set, label %go
set:
  %rc = call i32 @PyException_SetTraceback(ptr %value, ptr %trace)
  br label %go
go:
  %f = call ptr @word(ptr %program, i64 5)
  %again = call ptr (ptr, ptr, ...) @PyObject_CallFunction(
    ptr %f, ptr @__loopwright_vm_form2, i64 %where, ptr %value)
  %type = load ptr, ptr %t
  call void @drop(ptr %type)
  call void @drop(ptr %value)
  call void @drop(ptr %trace)
  ret ptr %again
}

define internal void @clear(ptr %regs, i64 %n) {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %more ]
  %go = icmp ult i64 %k, %n
  br i1 %go, label %more, label %done
more:
  %o = call ptr @word(ptr %regs, i64 %k)
  call void @drop(ptr %o)
  %next = add i64 %k, 1
  br label %loop
done:
  ret void
}

; A function for other functions of the machine: arguments and result as registers hold them.
define ptr @__loopwright_vm_inner(ptr %self, ptr %args, i64 %nargs, ptr %names) {
entry:
  %where = alloca i64
  %program = call ptr @field(ptr %self, i64 16)
  %n = call i64 @number(ptr %program, i64 2)
  %want = call i64 @number(ptr %program, i64 3)
  %room = add i64 %n, 1
  %regs = alloca ptr, i64 %room
  %bytes = mul i64 %room, 8
  call void @llvm.memset.p0.i64(ptr %regs, i8 0, i64 %bytes, i1 false)
  %plain = icmp eq ptr %names, null
  %right = icmp eq i64 %nargs, %want
  %good = and i1 %plain, %right
  br i1 %good, label %loop, label %wrong
wrong:
  %f = call ptr @word(ptr %program, i64 6)
  %bad = call ptr @PyObject_Vectorcall(ptr %f, ptr %args, i64 %nargs, ptr %names)
  ret ptr %bad
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %fill ]
  %more = icmp ult i64 %k, %want
  br i1 %more, label %fill, label %go
fill:
  %o = call ptr @word(ptr %args, i64 %k)
  call void @Py_IncRef(ptr %o)
  %p = getelementptr ptr, ptr %regs, i64 %k
  store ptr %o, ptr %p
  %next = add i64 %k, 1
  br label %loop
go:
  %value = call ptr @run(ptr %program, ptr %regs, ptr %where)
  call void @clear(ptr %regs, i64 %n)
  %ok = icmp ne ptr %value, null
  br i1 %ok, label %done, label %error
error:
  %at = load i64, ptr %where
  %again = call ptr @traced(ptr %program, i64 %at)
  ret ptr %again
done:
  ret ptr %value
}

; What a register holds for an argument from outside, a new reference, or null where Python must look.
; `known` has the dtype and the element type of tensors that came before.
define internal ptr @taken(ptr %o, ptr %known) {
entry:
  %kind = call ptr @field(ptr %o, i64 $type)
  %ndarray = load ptr, ptr $ndarray
  %is = icmp eq ptr %kind, %ndarray
  br i1 %is, label %array, label %other
other:
  %tensor = load ptr, ptr $tensor_type
  %is.tensor = icmp eq ptr %kind, %tensor
  br i1 %is.tensor, label %ours, label %plain
plain:
  %int = load ptr, ptr $int_type
  %float = load ptr, ptr $float_type
  %bool = load ptr, ptr $bool_type
  %text = load ptr, ptr $str_type
  %none = load ptr, ptr $none
  %c1 = icmp eq ptr %kind, %int
  %c2 = icmp eq ptr %kind, %float
  %c3 = icmp eq ptr %kind, %bool
  %c4 = icmp eq ptr %kind, %text
  %c5 = icmp eq ptr %o, %none
  %c12 = or i1 %c1, %c2
  %c34 = or i1 %c3, %c4
  %c1234 = or i1 %c12, %c34
  %c = or i1 %c1234, %c5
  br i1 %c, label %yes, label %no
ours:
  %at.a = load i64, ptr $tensor_array
  %at.t = load i64, ptr $tensor_dtype
  %at.d = load i64, ptr $tensor_device
  %a = call ptr @field(ptr %o, i64 %at.a)
  %t = call ptr @field(ptr %o, i64 %at.t)
  %d = call ptr @field(ptr %o, i64 %at.d)
  %cpu = load ptr, ptr $cpu
  %here = icmp eq ptr %d, %cpu
  %seen = call ptr @word(ptr %known, i64 0)
  %same = icmp eq ptr %t, %seen
  %fine = and i1 %here, %same
  br i1 %fine, label %elements, label %no
elements:
  %inner = call i1 @is_array(ptr %a)
  br i1 %inner, label %descr, label %no
descr:
  %de = call ptr @field(ptr %a, i64 $descr)
  %expected = call ptr @word(ptr %known, i64 1)
  %match = icmp eq ptr %de, %expected
  br i1 %match, label %array, label %no
array:
  %v = phi ptr [ %o, %entry ], [ %a, %descr ]
  %flags = call i32 @field32(ptr %v, i64 $flags)
  %masked = and i32 %flags, 257
  %compact = icmp eq i32 %masked, 257
  %dt = call ptr @field(ptr %v, i64 $descr)
  %po = getelementptr i8, ptr %dt, i64 $order
  %order = load i8, ptr %po
  %foreign = icmp eq i8 %order, 62
  %native = xor i1 %foreign, true
  %usable = and i1 %compact, %native
  br i1 %usable, label %yes, label %no
yes:
  %r = phi ptr [ %o, %plain ], [ %v, %array ]
  call void @Py_IncRef(ptr %r)
  ret ptr %r
no:
  ret ptr null
}

; The tensor on an array whose element type `known` has, a new reference that takes over that of the array.
define internal ptr @wrapped(ptr %v, ptr %dtype) {
entry:
  %rank = call i32 @field32(ptr %v, i64 $rank)
  %n = sext i32 %rank to i64
  %dims = call ptr @field(ptr %v, i64 $dims)
  %shape = call ptr @shape(ptr %dims, i64 %n)
  %type = load ptr, ptr $tensor_type
  %made = call ptr @PyType_GenericAlloc(ptr %type, i64 0)
  %a = icmp ne ptr %shape, null
  %b = icmp ne ptr %made, null
  %good = and i1 %a, %b
  br i1 %good, label %fill, label %bad
bad:
  call void @drop(ptr %shape)
  call void @drop(ptr %made)
  call void @Py_DecRef(ptr %v)
  ret ptr null
fill:
  %cpu = load ptr, ptr $cpu
  call void @Py_IncRef(ptr %cpu)
  call void @Py_IncRef(ptr %dtype)
  %at.a = load i64, ptr $tensor_array
  %at.t = load i64, ptr $tensor_dtype
  %at.d = load i64, ptr $tensor_device
  %at.s = load i64, ptr $tensor_shape
  %p.a = getelementptr i8, ptr %made, i64 %at.a
  %p.t = getelementptr i8, ptr %made, i64 %at.t
  %p.d = getelementptr i8, ptr %made, i64 %at.d
  %p.s = getelementptr i8, ptr %made, i64 %at.s
  store ptr %v, ptr %p.a
  store ptr %dtype, ptr %p.t
  store ptr %cpu, ptr %p.d
  store ptr %shape, ptr %p.s
  ret ptr %made
}

; A function for Python: METH_FASTCALL | METH_KEYWORDS.
define ptr @__loopwright_vm_outer(ptr %self, ptr %args, i64 %nargs, ptr %names) {
entry:
  %where = alloca i64
  %program = call ptr @field(ptr %self, i64 16)
  %n = call i64 @number(ptr %program, i64 2)
  %want = call i64 @number(ptr %program, i64 3)
  %known = call ptr @word(ptr %program, i64 7)
  %room = add i64 %n, 1
  %regs = alloca ptr, i64 %room
  %bytes = mul i64 %room, 8
  call void @llvm.memset.p0.i64(ptr %regs, i8 0, i64 %bytes, i1 false)
  %plain = icmp eq ptr %names, null
  %right = icmp eq i64 %nargs, %want
  %good = and i1 %plain, %right
  br i1 %good, label %loop, label %slow
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %fill ]
  %more = icmp ult i64 %k, %want
  br i1 %more, label %one, label %go
one:
  %o = call ptr @word(ptr %args, i64 %k)
  %kk = shl i64 %k, 1
  %pair = getelementptr ptr, ptr %known, i64 %kk
  %v = call ptr @taken(ptr %o, ptr %pair)
  %is = icmp ne ptr %v, null
  br i1 %is, label %fill, label %slow
fill:
  %p = getelementptr ptr, ptr %regs, i64 %k
  store ptr %v, ptr %p
  %next = add i64 %k, 1
  br label %loop
slow:
  call void @clear(ptr %regs, i64 %n)
  %f = call ptr @word(ptr %program, i64 4)
  %other = call ptr @PyObject_Vectorcall(ptr %f, ptr %args, i64 %nargs, ptr %names)
  ret ptr %other
go:
  %value = call ptr @run(ptr %program, ptr %regs, ptr %where)
  call void @clear(ptr %regs, i64 %n)
  %ok = icmp ne ptr %value, null
  br i1 %ok, label %result, label %error
error:
  %at = load i64, ptr %where
  %again = call ptr @traced(ptr %program, i64 %at)
  ret ptr %again
result:
  %isarray = call i1 @is_array(ptr %value)
  br i1 %isarray, label %array, label %give
array:
  %descr = call ptr @field(ptr %value, i64 $descr)
  %out = call ptr @word(ptr %program, i64 8)
  %seen = call ptr @word(ptr %out, i64 1)
  %same = icmp eq ptr %descr, %seen
  br i1 %same, label %wrap, label %give
wrap:
  %dtype = call ptr @word(ptr %out, i64 0)
  %tensor = call ptr @wrapped(ptr %value, ptr %dtype)
  ret ptr %tensor
give:
  %g = call ptr @word(ptr %program, i64 9)
  %list = alloca [2 x ptr]
  %first = getelementptr ptr, ptr %list, i64 1
  store ptr %value, ptr %first
  %given = call ptr @PyObject_Vectorcall(ptr %g, ptr %first, i64 -9223372036854775807, ptr null)
  call void @Py_DecRef(ptr %value)
  ret ptr %given
}
"""

__all__ = ["TEXT"]
