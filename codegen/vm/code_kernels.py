"""Machine code of the interpreter: calls of kernels by their addresses.

See `machine_code.py`, which puts the parts together.
"""

from __future__ import annotations

TEXT = """; A size that a kernel computes of constants and slots: pairs of an operation and a number.
define internal i64 @evaluate(ptr %code, i64 %n, ptr %slots) {
entry:
  %stack = alloca [64 x i64]
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %done ]
  %top = phi i64 [ 0, %entry ], [ %after, %done ]
  %go = icmp ult i64 %k, %n
  br i1 %go, label %one, label %end
one:
  %at = shl i64 %k, 1
  %op = call i64 @number(ptr %code, i64 %at)
  %at1 = add i64 %at, 1
  %x = call i64 @number(ptr %code, i64 %at1)
  %leaf = icmp ult i64 %op, 2
  br i1 %leaf, label %push, label %binary
push:
  %slot = icmp eq i64 %op, 1
  br i1 %slot, label %load, label %literal
load:
  %held = call i64 @number(ptr %slots, i64 %x)
  br label %literal
literal:
  %v = phi i64 [ %x, %push ], [ %held, %load ]
  %place = getelementptr i64, ptr %stack, i64 %top
  store i64 %v, ptr %place
  %up = add i64 %top, 1
  br label %done
binary:
  %i1 = sub i64 %top, 1
  %i0 = sub i64 %top, 2
  %p1 = getelementptr i64, ptr %stack, i64 %i1
  %p0 = getelementptr i64, ptr %stack, i64 %i0
  %b = load i64, ptr %p1
  %a = load i64, ptr %p0
  switch i64 %op, label %add [
    i64 3, label %sub  i64 4, label %mul  i64 5, label %div
    i64 6, label %mod  i64 7, label %min  i64 8, label %max ]
add:
  %r.add = add i64 %a, %b
  br label %store
sub:
  %r.sub = sub i64 %a, %b
  br label %store
mul:
  %r.mul = mul i64 %a, %b
  br label %store
div:
  %z1 = icmp eq i64 %b, 0
  %d1 = select i1 %z1, i64 1, i64 %b
  %q = sdiv i64 %a, %d1
  %m1 = srem i64 %a, %d1
  %s1 = xor i64 %m1, %d1
  %n1 = icmp slt i64 %s1, 0
  %nz1 = icmp ne i64 %m1, 0
  %f1 = and i1 %n1, %nz1
  %c1 = sext i1 %f1 to i64
  %r.div = add i64 %q, %c1
  br label %store
mod:
  %z2 = icmp eq i64 %b, 0
  %d2 = select i1 %z2, i64 1, i64 %b
  %m2 = srem i64 %a, %d2
  %s2 = xor i64 %m2, %d2
  %n2 = icmp slt i64 %s2, 0
  %nz2 = icmp ne i64 %m2, 0
  %f2 = and i1 %n2, %nz2
  %c2 = select i1 %f2, i64 %d2, i64 0
  %r.mod = add i64 %m2, %c2
  br label %store
min:
  %l3 = icmp slt i64 %a, %b
  %r.min = select i1 %l3, i64 %a, i64 %b
  br label %store
max:
  %l4 = icmp sgt i64 %a, %b
  %r.max = select i1 %l4, i64 %a, i64 %b
  br label %store
store:
  %r = phi i64 [ %r.add, %add ], [ %r.sub, %sub ], [ %r.mul, %mul ], [ %r.div, %div ],
    [ %r.mod, %mod ], [ %r.min, %min ], [ %r.max, %max ]
  store i64 %r, ptr %p0
  br label %done
done:
  %after = phi i64 [ %up, %literal ], [ %i1, %store ]
  %next = add i64 %k, 1
  br label %loop
end:
  %result = load i64, ptr %stack
  ret i64 %result
}

; A scalar for a kernel: 1 int64, 2 int32, 3 float64, 4 float32, 5 bool. Whether it is one.
define internal i1 @scalar(ptr %o, i64 %kind, ptr %slot) {
entry:
  %over = alloca i32
  %some = icmp ne ptr %o, null
  br i1 %some, label %look, label %no
look:
  %type = call ptr @field(ptr %o, i64 $type)
  switch i64 %kind, label %no [
    i64 1, label %int  i64 2, label %int  i64 3, label %float  i64 4, label %float  i64 5, label %bool ]
int:
  %long = load ptr, ptr $int_type
  %is = icmp eq ptr %type, %long
  br i1 %is, label %number, label %no
number:
  %v = call i64 @PyLong_AsLongLongAndOverflow(ptr %o, ptr %over)
  %flag = load i32, ptr %over
  %inside = icmp eq i32 %flag, 0
  br i1 %inside, label %width, label %no
width:
  %short = trunc i64 %v to i32
  %back = sext i32 %short to i64
  %narrow = icmp eq i64 %back, %v
  %wide = icmp eq i64 %kind, 1
  %fits = or i1 %narrow, %wide
  store i64 %v, ptr %slot
  ret i1 %fits
float:
  %real = load ptr, ptr $float_type
  %isf = icmp eq ptr %type, %real
  br i1 %isf, label %take, label %no
take:
  %pd = getelementptr i8, ptr %o, i64 16
  %d = load double, ptr %pd
  %double = icmp eq i64 %kind, 3
  br i1 %double, label %whole, label %half
whole:
  store double %d, ptr %slot
  ret i1 true
half:
  %s = fptrunc double %d to float
  store float %s, ptr %slot
  ret i1 true
bool:
  %true = load ptr, ptr $true
  %false = load ptr, ptr $false
  %t = icmp eq ptr %o, %true
  %f = icmp eq ptr %o, %false
  %b = zext i1 %t to i8
  store i8 %b, ptr %slot
  %either = or i1 %t, %f
  ret i1 %either
no:
  ret i1 false
}

; A kernel: its description has the address, the number of parameters and of slots, the parameters, the
; function that raises, the comparisons of computed sizes and their number, whether it may run long, and the
; parameters that it writes and their number: these must not share memory with others.
; A parameter has 6 words: 0 for a tensor or the kind of a scalar, element type, rank, sizes, flags, item.
define internal i32 @kernel(ptr %i, ptr %regs, ptr %consts) {
entry:
  %desc = call ptr @word(ptr %i, i64 5)
  %n = call i64 @number(ptr %desc, i64 1)
  %room = call i64 @number(ptr %desc, i64 2)
  %params = call ptr @word(ptr %desc, i64 3)
  %err = alloca [4 x i64]
  %slots = alloca i64, i64 %room
  %ends = alloca i64, i64 %room
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %taken ]
  %work = phi i64 [ 0, %entry ], [ %sum, %taken ]
  %go = icmp ult i64 %k, %n
  br i1 %go, label %one, label %checks
one:
  %at = mul i64 %k, 6
  %param = getelementptr i64, ptr %params, i64 %at
  %kind = load i64, ptr %param
  %o = call ptr @arg(ptr %i, ptr %regs, ptr %consts, i64 %k)
  %slot = getelementptr i64, ptr %slots, i64 %k
  %is.tensor = icmp eq i64 %kind, 0
  br i1 %is.tensor, label %array, label %scalar
scalar:
  %fits = call i1 @scalar(ptr %o, i64 %kind, ptr %slot)
  br i1 %fits, label %taken, label %leave
array:
  %is = call i1 @is_array(ptr %o)
  br i1 %is, label %look, label %leave
look:
  %want = call ptr @word(ptr %param, i64 1)
  %descr = call ptr @field(ptr %o, i64 $descr)
  %c1 = icmp eq ptr %want, %descr
  %rank = call i64 @number(ptr %param, i64 2)
  %r = call i32 @field32(ptr %o, i64 $rank)
  %wide = sext i32 %r to i64
  %c2 = icmp eq i64 %wide, %rank
  %mask64 = call i64 @number(ptr %param, i64 4)
  %mask = trunc i64 %mask64 to i32
  %flags = call i32 @field32(ptr %o, i64 $flags)
  %masked = and i32 %flags, %mask
  %c3 = icmp eq i32 %masked, %mask
  %c12 = and i1 %c1, %c2
  %c = and i1 %c12, %c3
  br i1 %c, label %dims, label %leave
dims:
  %data = call ptr @field(ptr %o, i64 $data)
  store ptr %data, ptr %slot
  %codes = call ptr @word(ptr %param, i64 3)
  %shape = call ptr @field(ptr %o, i64 $dims)
  %good = call i1 @match(ptr %shape, i64 %rank, ptr %codes, ptr %slots)
  br i1 %good, label %count, label %leave
count:
  %many = call i64 @elements(ptr %shape, i64 %rank)
  %item = call i64 @number(ptr %param, i64 5)
  %bytes = mul i64 %many, %item
  %begin = ptrtoint ptr %data to i64
  %last = add i64 %begin, %bytes
  %p.end = getelementptr i64, ptr %ends, i64 %k
  store i64 %last, ptr %p.end
  br label %taken
taken:
  %plus = phi i64 [ 0, %scalar ], [ %bytes, %count ]
  %sum = add i64 %work, %plus
  %next = add i64 %k, 1
  br label %loop
leave:
  ret i32 1
checks:
  %rows = call ptr @word(ptr %desc, i64 5)
  %m = call i64 @number(ptr %desc, i64 6)
  br label %check
check:
  %j = phi i64 [ 0, %checks ], [ %j1, %fine ]
  %left = icmp ult i64 %j, %m
  br i1 %left, label %compare, label %overlaps
compare:
  %ra = mul i64 %j, 4
  %row = getelementptr i64, ptr %rows, i64 %ra
  %which = call i64 @number(ptr %row, i64 0)
  %axis = call i64 @number(ptr %row, i64 1)
  %code = call ptr @word(ptr %row, i64 2)
  %length = call i64 @number(ptr %row, i64 3)
  %po = call ptr @arg(ptr %i, ptr %regs, ptr %consts, i64 %which)
  %pd = call ptr @field(ptr %po, i64 $dims)
  %has = call i64 @number(ptr %pd, i64 %axis)
  %should = call i64 @evaluate(ptr %code, i64 %length, ptr %slots)
  %eq = icmp eq i64 %has, %should
  br i1 %eq, label %fine, label %leave
fine:
  %j1 = add i64 %j, 1
  br label %check
overlaps:
  %written = call ptr @word(ptr %desc, i64 8)
  %many.w = call i64 @number(ptr %desc, i64 9)
  br label %outer
outer:
  %wi = phi i64 [ 0, %overlaps ], [ %wi1, %apart ]
  %w.more = icmp ult i64 %wi, %many.w
  br i1 %w.more, label %target, label %run
target:
  %w = call i64 @number(ptr %written, i64 %wi)
  %w.start = call i64 @number(ptr %slots, i64 %w)
  %w.end = call i64 @number(ptr %ends, i64 %w)
  br label %inner
inner:
  %q = phi i64 [ 0, %target ], [ %q1, %other ]
  %q.more = icmp ult i64 %q, %n
  br i1 %q.more, label %pair, label %apart
pair:
  %q.at = mul i64 %q, 6
  %q.kind = call i64 @number(ptr %params, i64 %q.at)
  %q.tensor = icmp eq i64 %q.kind, 0
  %q.self = icmp ne i64 %q, %w
  %q.look = and i1 %q.tensor, %q.self
  br i1 %q.look, label %range, label %other
range:
  %q.start = call i64 @number(ptr %slots, i64 %q)
  %q.end = call i64 @number(ptr %ends, i64 %q)
  %q.low = icmp ult i64 %w.start, %q.end
  %q.high = icmp ult i64 %q.start, %w.end
  %q.both = and i1 %q.low, %q.high
  br i1 %q.both, label %leave, label %other
other:
  %q1 = add i64 %q, 1
  br label %inner
apart:
  %wi1 = add i64 %wi, 1
  br label %outer
run:
  %zero = getelementptr i64, ptr %err, i64 3
  store i64 0, ptr %zero
  %fn = call ptr @word(ptr %desc, i64 0)
  %long = call i64 @number(ptr %desc, i64 7)
  %may = icmp ne i64 %long, 0
  %much = icmp ugt i64 %work, 65536
  %release = and i1 %may, %much
  br i1 %release, label %free, label %hold
free:
  %thread = call ptr @PyEval_SaveThread()
  %rc1 = call i32 %fn(ptr %slots, ptr %err)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %ran
hold:
  %rc2 = call i32 %fn(ptr %slots, ptr %err)
  br label %ran
ran:
  %rc = phi i32 [ %rc1, %free ], [ %rc2, %hold ]
  %ok = icmp eq i32 %rc, 0
  br i1 %ok, label %done, label %failed
failed:
  %raise = call ptr @word(ptr %desc, i64 4)
  %e0 = call i64 @number(ptr %err, i64 0)
  %e1 = call i64 @number(ptr %err, i64 1)
  %e2 = call i64 @number(ptr %err, i64 2)
  %raised = call ptr (ptr, ptr, ...) @PyObject_CallFunction(
    ptr %raise, ptr @__loopwright_vm_form3, i64 %e0, i64 %e1, i64 %e2)
  ret i32 2
done:
  ret i32 0
}
"""

__all__ = ["TEXT"]
