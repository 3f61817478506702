"""What exported code brings along, as LLVM assembly: looking at DLPack tensors, and raising errors.

An error goes to the runtime of TVM-FFI where the process has it.  Where it has not, or where the caller
set the type index of the result cell to 8 (a C string), the cell takes up the text, `kind: message`, in
memory that the caller frees.
"""

from __future__ import annotations

from .machine import Machine
from .text import Unit

INT, BOOL, FLOAT, POINTER, TENSOR_POINTER, TEXT, TENSOR = 1, 2, 3, 4, 7, 8, 70
"""Type indices of TVM-FFI."""
OBJECT_HEAD = 24
"""The bytes of an object before what it holds."""

A, B = "\x01", "\x02"
"""What stands in a text of an error for its two numbers."""

_TENSOR = """define internal ptr @lw.tensor(ptr %cell) {
  %kind = load i32, ptr %cell
  %place = getelementptr i8, ptr %cell, i64 8
  %v = load ptr, ptr %place
  %held = getelementptr i8, ptr %v, i64 24
  %plain = icmp eq i32 %kind, 7
  %object = icmp eq i32 %kind, 70
  %second = select i1 %object, ptr %held, ptr null
  %found = select i1 %plain, ptr %v, ptr %second
  ret ptr %found
}"""

_DATA = """define internal ptr @lw.data(ptr %tensor) {
  %start = load ptr, ptr %tensor
  %place = getelementptr i8, ptr %tensor, i64 OFFSET
  %offset = load i64, ptr %place
  %data = getelementptr i8, ptr %start, i64 %offset
  ret ptr %data
}"""

_ADDRESS = """define internal ptr @lw.address(ptr %cell) {
entry:
  %tensor = call ptr @lw.tensor(ptr %cell)
  %none = icmp eq ptr %tensor, null
  br i1 %none, label %plain, label %held
plain:
  %place = getelementptr i8, ptr %cell, i64 8
  %v = load ptr, ptr %place
  ret ptr %v
held:
  %data = call ptr @lw.data(ptr %tensor)
  ret ptr %data
}"""

_STRIDE = """define internal i64 @lw.stride(ptr %tensor, i64 %rank, i64 %d) {
entry:
  %p.strides = getelementptr i8, ptr %tensor, i64 STRIDES
  %strides = load ptr, ptr %p.strides
  %p.shape = getelementptr i8, ptr %tensor, i64 SHAPE
  %shape = load ptr, ptr %p.shape
  %given = icmp ne ptr %strides, null
  br i1 %given, label %read, label %start
read:
  %p.step = getelementptr i64, ptr %strides, i64 %d
  %step = load i64, ptr %p.step
  ret i64 %step
start:
  %first = add i64 %d, 1
  br label %loop
loop:
  %k = phi i64 [ %first, %start ], [ %next, %more ]
  %product = phi i64 [ 1, %start ], [ %larger, %more ]
  %again = icmp slt i64 %k, %rank
  br i1 %again, label %more, label %done
more:
  %p.n = getelementptr i64, ptr %shape, i64 %k
  %n = load i64, ptr %p.n
  %larger = mul i64 %product, %n
  %next = add i64 %k, 1
  br label %loop
done:
  ret i64 %product
}"""

_COMPACT = """define internal i1 @lw.compact(ptr %tensor, i64 %rank) {
entry:
  %p.strides = getelementptr i8, ptr %tensor, i64 STRIDES
  %strides = load ptr, ptr %p.strides
  %p.shape = getelementptr i8, ptr %tensor, i64 SHAPE
  %shape = load ptr, ptr %p.shape
  %free = icmp eq ptr %strides, null
  br i1 %free, label %yes, label %loop
loop:
  %k = phi i64 [ %rank, %entry ], [ %d, %next ]
  %want = phi i64 [ 1, %entry ], [ %more, %next ]
  %left = icmp sgt i64 %k, 0
  br i1 %left, label %look, label %yes
look:
  %d = sub i64 %k, 1
  %p.n = getelementptr i64, ptr %shape, i64 %d
  %n = load i64, ptr %p.n
  %p.s = getelementptr i64, ptr %strides, i64 %d
  %s = load i64, ptr %p.s
  %exact = icmp eq i64 %s, %want
  %short = icmp sle i64 %n, 1
  %good = or i1 %exact, %short
  br i1 %good, label %next, label %empty
next:
  %more = mul i64 %want, %n
  br label %loop
empty:
  %none = icmp eq i64 %want, 0
  br i1 %none, label %yes, label %no
yes:
  ret i1 true
no:
  ret i1 false
}"""

_DIGITS = """define internal ptr @lw.digits(ptr %to, i64 %value) cold noinline {
entry:
  %room = alloca [24 x i8]
  %negative = icmp slt i64 %value, 0
  %minus = sub i64 0, %value
  %size = select i1 %negative, i64 %minus, i64 %value
  br label %split
split:
  %rest = phi i64 [ %size, %entry ], [ %tens, %split ]
  %k = phi i64 [ 0, %entry ], [ %more, %split ]
  %tens = udiv i64 %rest, 10
  %whole = mul i64 %tens, 10
  %digit = sub i64 %rest, %whole
  %small = trunc i64 %digit to i8
  %char = add i8 %small, 48
  %place = getelementptr i8, ptr %room, i64 %k
  store i8 %char, ptr %place
  %more = add i64 %k, 1
  %again = icmp ne i64 %tens, 0
  br i1 %again, label %split, label %sign
sign:
  store i8 45, ptr %to
  %after = getelementptr i8, ptr %to, i64 1
  %start = select i1 %negative, ptr %after, ptr %to
  br label %copy
copy:
  %left = phi i64 [ %more, %sign ], [ %less, %copy ]
  %at = phi ptr [ %start, %sign ], [ %next, %copy ]
  %less = sub i64 %left, 1
  %from = getelementptr i8, ptr %room, i64 %less
  %c = load i8, ptr %from
  store i8 %c, ptr %at
  %next = getelementptr i8, ptr %at, i64 1
  %some = icmp ne i64 %less, 0
  br i1 %some, label %copy, label %done
done:
  ret ptr %next
}"""

_FILL = """define internal ptr @lw.fill(ptr %to, ptr %text, i64 %a, i64 %b) cold noinline {
entry:
  br label %loop
loop:
  %at = phi ptr [ %to, %entry ], [ %one, %plain ], [ %two, %number ]
  %from = phi ptr [ %text, %entry ], [ %next, %plain ], [ %next, %number ]
  %c = load i8, ptr %from
  %next = getelementptr i8, ptr %from, i64 1
  switch i8 %c, label %plain [ i8 0, label %done
    i8 1, label %number
    i8 2, label %number ]
plain:
  store i8 %c, ptr %at
  %one = getelementptr i8, ptr %at, i64 1
  br label %loop
number:
  %first = icmp eq i8 %c, 1
  %value = select i1 %first, i64 %a, i64 %b
  %two = call ptr @lw.digits(ptr %at, i64 %value)
  br label %loop
done:
  store i8 0, ptr %at
  ret ptr %at
}"""

_LENGTH = """define internal i64 @lw.length(ptr %text) cold noinline "no-builtins" {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %more, %loop ]
  %place = getelementptr i8, ptr %text, i64 %k
  %c = load i8, ptr %place
  %more = add i64 %k, 1
  %end = icmp eq i8 %c, 0
  br i1 %end, label %done, label %loop
done:
  ret i64 %k
}"""

_RAISE = """define internal i32 @lw.raise(ptr %table, i64 %site, i64 %a, i64 %b, ptr %result) cold noinline {
entry:
  %row = sub i64 %site, 1
  %p.kind = getelementptr { ptr, ptr }, ptr %table, i64 %row, i32 0
  %kind = load ptr, ptr %p.kind
  %p.text = getelementptr { ptr, ptr }, ptr %table, i64 %row, i32 1
  %text = load ptr, ptr %p.text
  %l.kind = call i64 @lw.length(ptr %kind)
  %l.text = call i64 @lw.length(ptr %text)
  %both = add i64 %l.kind, %l.text
  %room = add i64 %both, 256
  %buffer = call ptr @malloc(i64 %room)
  %failed = icmp eq ptr %buffer, null
  br i1 %failed, label %leave, label %write
write:
  %colon = call ptr @lw.fill(ptr %buffer, ptr %kind, i64 0, i64 0)
  store i8 58, ptr %colon
  %space = getelementptr i8, ptr %colon, i64 1
  store i8 32, ptr %space
  %message = getelementptr i8, ptr %colon, i64 2
  %end = call ptr @lw.fill(ptr %message, ptr %text, i64 %a, i64 %b)
  %asked = load i32, ptr %result
  %plain = icmp eq i32 %asked, 8
  %absent = icmp eq ptr SETTER, null
  %give = or i1 %plain, %absent
  br i1 %give, label %hand, label %set
hand:
  store i32 8, ptr %result
  %p.extra = getelementptr i8, ptr %result, i64 4
  store i32 0, ptr %p.extra
  %p.value = getelementptr i8, ptr %result, i64 8
  store i64 0, ptr %p.value
  store ptr %buffer, ptr %p.value
  br label %leave
set:
  CALL
  call void @free(ptr %buffer)
  br label %leave
leave:
  ret i32 -1
}"""

_SETTER = "TVMFFIErrorSetRaisedFromCStr"


def offsets(machine: Machine) -> dict[str, int]:
    """Where a DLTensor keeps its fields."""
    p = machine.pointer_bytes
    start = {"data": 0, "device": p, "rank": p + 8, "dtype": p + 12, "shape": p + 16, "strides": 2 * p + 16}
    return {**start, "offset": (3 * p + 23) // 8 * 8}


def add_helpers(unit: Unit, machine: Machine) -> None:
    """Give a unit the functions of this module."""
    places = offsets(machine)
    for text in (_TENSOR, _DATA, _ADDRESS, _STRIDE, _COMPACT, _DIGITS, _FILL, _LENGTH, _RAISE):
        for word in ("offset", "strides", "shape"):
            text = text.replace(f"i64 {word.upper()}", f"i64 {places[word]}")
        name = text.split("@")[1].split("(")[0]
        unit.helper(name, _with_setter(text, unit, machine))
    unit.declare("malloc", "ptr (i64)")
    unit.declare("free", "void (ptr)")


def _with_setter(text: str, unit: Unit, machine: Machine) -> str:
    """Only in ELF can a symbol be absent."""
    if "SETTER" not in text:
        return text
    if machine.format != "elf":
        return text.replace("SETTER", "null").replace("  CALL\n", "")
    unit.declared[_SETTER] = f"declare extern_weak void @{_SETTER}(ptr, ptr)"
    call = f"call void @{_SETTER}(ptr %kind, ptr %message)"
    return text.replace("SETTER", f"@{_SETTER}").replace("CALL", call)
