"""Machine code of the interpreter: tensors, storages, views, checks of shapes.

See `machine_code.py`, which puts the parts together.
"""

from __future__ import annotations

TEXT = """; A new tensor: element type, rank, sizes, heap, bytes of an element; large ones are left to Python.
define internal i32 @new_tensor(ptr %i, ptr %regs, ptr %consts) {
entry:
  %descr = call ptr @word(ptr %i, i64 5)
  %n = call i64 @number(ptr %i, i64 6)
  %codes = call ptr @word(ptr %i, i64 7)
  %hw = call i64 @number(ptr %i, i64 8)
  %item = call i64 @number(ptr %i, i64 9)
  %ho = call ptr @value(ptr %regs, ptr %consts, i64 %hw)
  %heap = call ptr @heap(ptr %ho)
  %dims = alloca [32 x i64]
  %bytes = call i64 @sizes(ptr %codes, i64 %n, ptr %heap, ptr %dims, i64 %item)
  %small = icmp ult i64 %bytes, $smallest
  br i1 %small, label %make, label %leave
leave:
  ret i32 1
make:
  %made = call ptr @array(ptr %descr, i64 %n, ptr %dims, ptr null)
  %good = icmp ne ptr %made, null
  br i1 %good, label %done, label %bad
bad:
  ret i32 2
done:
  call void @put(ptr %i, ptr %regs, ptr %made)
  ret i32 0
}

; Storage: where the kept one (word 5: object and bytes) is large enough and nobody has it, that one.
define internal i32 @storage(ptr %i, ptr %regs, ptr %consts) {
entry:
  %cache = call ptr @word(ptr %i, i64 5)
  %n = call i64 @number(ptr %i, i64 6)
  %codes = call ptr @word(ptr %i, i64 7)
  %hw = call i64 @number(ptr %i, i64 8)
  %item = call i64 @number(ptr %i, i64 9)
  %ho = call ptr @value(ptr %regs, ptr %consts, i64 %hw)
  %heap = call ptr @heap(ptr %ho)
  %dims = alloca [32 x i64]
  %bytes = call i64 @sizes(ptr %codes, i64 %n, ptr %heap, ptr %dims, i64 %item)
  %kept = load ptr, ptr %cache
  %is = icmp ne ptr %kept, null
  br i1 %is, label %look, label %fresh
look:
  %count = load i32, ptr %kept
  %alone = icmp eq i32 %count, 1
  %have = call i64 @number(ptr %cache, i64 1)
  %fits = icmp sge i64 %have, %bytes
  %four = mul i64 %bytes, 4
  %most = add i64 %four, 65536
  %near = icmp sle i64 %have, %most
  %positive = icmp sge i64 %bytes, 0
  %a = and i1 %alone, %fits
  %b = and i1 %near, %positive
  %use = and i1 %a, %b
  br i1 %use, label %take, label %fresh
take:
  call void @Py_IncRef(ptr %kept)
  call void @put(ptr %i, ptr %regs, ptr %kept)
  ret i32 0
fresh:
  %f = call ptr @word(ptr %i, i64 2)
  %made = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr %f, ptr @__loopwright_vm_form1, i64 %bytes)
  %good = icmp ne ptr %made, null
  br i1 %good, label %keep, label %bad
bad:
  ret i32 2
keep:
  %old = load ptr, ptr %cache
  store ptr %made, ptr %cache
  %room = getelementptr i64, ptr %cache, i64 1
  store i64 %bytes, ptr %room
  call void @drop(ptr %old)
  call void @Py_IncRef(ptr %made)
  call void @put(ptr %i, ptr %regs, ptr %made)
  ret i32 0
}

; A tensor on a storage: element type, rank, sizes, heap, bytes of an element, offset.
define internal i32 @tensor(ptr %i, ptr %regs, ptr %consts) {
entry:
  %o = call ptr @arg(ptr %i, ptr %regs, ptr %consts, i64 0)
  %some = icmp ne ptr %o, null
  br i1 %some, label %look, label %leave
look:
  %kind = call ptr @field(ptr %o, i64 $type)
  %want = load ptr, ptr $storage_type
  %same = icmp eq ptr %kind, %want
  br i1 %same, label %go, label %leave
leave:
  ret i32 1
go:
  %descr = call ptr @word(ptr %i, i64 5)
  %n = call i64 @number(ptr %i, i64 6)
  %codes = call ptr @word(ptr %i, i64 7)
  %hw = call i64 @number(ptr %i, i64 8)
  %item = call i64 @number(ptr %i, i64 9)
  %offset = call i64 @number(ptr %i, i64 10)
  %ho = call ptr @value(ptr %regs, ptr %consts, i64 %hw)
  %heap = call ptr @heap(ptr %ho)
  %dims = alloca [32 x i64]
  %over = alloca i32
  %bytes = call i64 @sizes(ptr %codes, i64 %n, ptr %heap, ptr %dims, i64 %item)
  %p.a = load i64, ptr $storage_address
  %p.s = load i64, ptr $storage_size
  %o.a = call ptr @field(ptr %o, i64 %p.a)
  %o.s = call ptr @field(ptr %o, i64 %p.s)
  %address = call i64 @PyLong_AsLongLongAndOverflow(ptr %o.a, ptr %over)
  %room = call i64 @PyLong_AsLongLongAndOverflow(ptr %o.s, ptr %over)
  %end = add i64 %bytes, %offset
  %fits = icmp ule i64 %end, %room
  %positive = icmp sge i64 %bytes, 0
  %good = and i1 %fits, %positive
  br i1 %good, label %make, label %leave
make:
  %start = add i64 %address, %offset
  %data = inttoptr i64 %start to ptr
  %made = call ptr @array(ptr %descr, i64 %n, ptr %dims, ptr %data)
  %is = icmp ne ptr %made, null
  br i1 %is, label %done, label %bad
bad:
  ret i32 2
done:
  call void @set_base(ptr %made, ptr %o)
  call void @put(ptr %i, ptr %regs, ptr %made)
  ret i32 0
}

; The memory of an array under other sizes, where they are as many elements.
define internal i32 @reshape(ptr %i, ptr %regs, ptr %consts) {
entry:
  %o = call ptr @arg(ptr %i, ptr %regs, ptr %consts, i64 0)
  %is = call i1 @is_array(ptr %o)
  br i1 %is, label %go, label %leave
leave:
  ret i32 1
go:
  %n = call i64 @number(ptr %i, i64 6)
  %codes = call ptr @word(ptr %i, i64 7)
  %hw = call i64 @number(ptr %i, i64 8)
  %ho = call ptr @value(ptr %regs, ptr %consts, i64 %hw)
  %heap = call ptr @heap(ptr %ho)
  %dims = alloca [32 x i64]
  %want = call i64 @sizes(ptr %codes, i64 %n, ptr %heap, ptr %dims, i64 1)
  %rank = call i32 @field32(ptr %o, i64 $rank)
  %wide = sext i32 %rank to i64
  %shape = call ptr @field(ptr %o, i64 $dims)
  %have = call i64 @elements(ptr %shape, i64 %wide)
  %same = icmp eq i64 %want, %have
  br i1 %same, label %make, label %leave
make:
  %descr = call ptr @field(ptr %o, i64 $descr)
  %data = call ptr @field(ptr %o, i64 $data)
  %made = call ptr @array(ptr %descr, i64 %n, ptr %dims, ptr %data)
  %good = icmp ne ptr %made, null
  br i1 %good, label %done, label %bad
bad:
  ret i32 2
done:
  %p.f = getelementptr i8, ptr %made, i64 $flags
  %f.new = load i32, ptr %p.f
  %f.old = call i32 @field32(ptr %o, i64 $flags)
  %f.keep = or i32 %f.old, -1025
  %f.set = and i32 %f.new, %f.keep
  store i32 %f.set, ptr %p.f
  call void @set_base(ptr %made, ptr %o)
  call void @put(ptr %i, ptr %regs, ptr %made)
  ret i32 0
}
define internal i64 @elements(ptr %dims, i64 %n) alwaysinline {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %more ]
  %total = phi i64 [ 1, %entry ], [ %product, %more ]
  %go = icmp ult i64 %k, %n
  br i1 %go, label %more, label %done
more:
  %d = call i64 @number(ptr %dims, i64 %k)
  %product = mul i64 %total, %d
  %next = add i64 %k, 1
  br label %loop
done:
  ret i64 %total
}

; An array of this element type (null: any) and rank (-1: any).
define internal i32 @check_tensor(ptr %i, ptr %regs, ptr %consts) {
entry:
  %o = call ptr @arg(ptr %i, ptr %regs, ptr %consts, i64 0)
  %is = call i1 @is_array(ptr %o)
  br i1 %is, label %go, label %leave
leave:
  ret i32 1
go:
  %want = call ptr @word(ptr %i, i64 5)
  %n = call i64 @number(ptr %i, i64 6)
  %descr = call ptr @field(ptr %o, i64 $descr)
  %any = icmp eq ptr %want, null
  %same = icmp eq ptr %want, %descr
  %a = or i1 %any, %same
  %rank = call i32 @field32(ptr %o, i64 $rank)
  %wide = sext i32 %rank to i64
  %free = icmp slt i64 %n, 0
  %equal = icmp eq i64 %wide, %n
  %b = or i1 %free, %equal
  %good = and i1 %a, %b
  br i1 %good, label %done, label %leave
done:
  ret i32 0
}

; Compare sizes with numbers (0) and slots (3), keep them (1; 5: in 32 bits), or do nothing (2).
define internal i1 @match(ptr %dims, i64 %n, ptr %codes, ptr %slots) alwaysinline {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %same ]
  %go = icmp ult i64 %k, %n
  br i1 %go, label %one, label %yes
one:
  %d = call i64 @number(ptr %dims, i64 %k)
  %at = shl i64 %k, 1
  %code = call i64 @number(ptr %codes, i64 %at)
  %after = add i64 %at, 1
  %x = call i64 @number(ptr %codes, i64 %after)
  switch i64 %code, label %same [ i64 0, label %number  i64 1, label %keep  i64 3, label %slot
    i64 5, label %narrow ]
narrow:
  %fits = icmp slt i64 %d, 2147483648
  br i1 %fits, label %keep, label %no
number:
  %eq = icmp eq i64 %d, %x
  br i1 %eq, label %same, label %no
keep:
  %p = getelementptr i64, ptr %slots, i64 %x
  store i64 %d, ptr %p
  br label %same
slot:
  %held = call i64 @number(ptr %slots, i64 %x)
  %eq2 = icmp eq i64 %d, %held
  br i1 %eq2, label %same, label %no
same:
  %next = add i64 %k, 1
  br label %loop
yes:
  ret i1 true
no:
  ret i1 false
}
define internal i32 @match_shape(ptr %i, ptr %regs, ptr %consts) {
entry:
  %o = call ptr @arg(ptr %i, ptr %regs, ptr %consts, i64 0)
  %is = call i1 @is_array(ptr %o)
  br i1 %is, label %go, label %leave
leave:
  ret i32 1
go:
  %n = call i64 @number(ptr %i, i64 6)
  %rank = call i32 @field32(ptr %o, i64 $rank)
  %wide = sext i32 %rank to i64
  %equal = icmp eq i64 %wide, %n
  br i1 %equal, label %look, label %leave
look:
  %codes = call ptr @word(ptr %i, i64 7)
  %hw = call i64 @number(ptr %i, i64 8)
  %ho = call ptr @value(ptr %regs, ptr %consts, i64 %hw)
  %heap = call ptr @heap(ptr %ho)
  %dims = call ptr @field(ptr %o, i64 $dims)
  %good = call i1 @match(ptr %dims, i64 %n, ptr %codes, ptr %heap)
  br i1 %good, label %done, label %leave
done:
  ret i32 0
}

; A shape as a tuple.
define internal i32 @make_shape(ptr %i, ptr %regs, ptr %consts) {
entry:
  %n = call i64 @number(ptr %i, i64 6)
  %codes = call ptr @word(ptr %i, i64 7)
  %hw = call i64 @number(ptr %i, i64 8)
  %ho = call ptr @value(ptr %regs, ptr %consts, i64 %hw)
  %heap = call ptr @heap(ptr %ho)
  %dims = alloca [32 x i64]
  %bytes = call i64 @sizes(ptr %codes, i64 %n, ptr %heap, ptr %dims, i64 1)
  %made = call ptr @shape(ptr %dims, i64 %n)
  %good = icmp ne ptr %made, null
  br i1 %good, label %done, label %bad
bad:
  ret i32 2
done:
  call void @put(ptr %i, ptr %regs, ptr %made)
  ret i32 0
}
define internal ptr @shape(ptr %dims, i64 %n) {
entry:
  %made = call ptr @PyTuple_New(i64 %n)
  %good = icmp ne ptr %made, null
  br i1 %good, label %loop, label %bad
bad:
  ret ptr null
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %more ]
  %go = icmp ult i64 %k, %n
  br i1 %go, label %more, label %done
more:
  %d = call i64 @number(ptr %dims, i64 %k)
  %o = call ptr @PyLong_FromLongLong(i64 %d)
  %rc = call i32 @PyTuple_SetItem(ptr %made, i64 %k, ptr %o)
  %next = add i64 %k, 1
  br label %loop
done:
  ret ptr %made
}

; A number from the heap.
define internal i32 @make_number(ptr %i, ptr %regs, ptr %consts) {
  %codes = call ptr @word(ptr %i, i64 7)
  %hw = call i64 @number(ptr %i, i64 8)
  %ho = call ptr @value(ptr %regs, ptr %consts, i64 %hw)
  %heap = call ptr @heap(ptr %ho)
  %v = call i64 @size(ptr %codes, i64 0, ptr %heap)
  %made = call ptr @PyLong_FromLongLong(i64 %v)
  call void @put(ptr %i, ptr %regs, ptr %made)
  ret i32 0
}

define internal i32 @copy(ptr %i, ptr %regs, ptr %consts) {
entry:
  %o = call ptr @arg(ptr %i, ptr %regs, ptr %consts, i64 0)
  %none = load ptr, ptr $none
  %is = icmp ne ptr %o, null
  %v = select i1 %is, ptr %o, ptr %none
  call void @Py_IncRef(ptr %v)
  call void @put(ptr %i, ptr %regs, ptr %v)
  ret i32 0
}
"""

__all__ = ["TEXT"]
