"""Bytecode laid out for the interpreter in machine code.

That interpreter is `codegen/vm/machine_code.py`; a built module brings it along.  What it does not do
itself is a Python function in the instruction.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...dtype import DType
from ..tensor import packed_bits
from . import checks
from .builtins import BUILTINS
from .bytecode import CONSTANT, IMMEDIATE, REGISTER, VM, VOID, Call, Function, Goto, If, Operand, Ret
from .interpreter import check_count, traced
from .layout import MOST_DIMS, OPERATIONS, TABLE, WORDS, table
from .values import Storage, give_out

if TYPE_CHECKING:
    from .machine import VirtualMachine

_NUMBERS = {name: k for k, name in enumerate(OPERATIONS)}
_SMALL = 64 * 1024
"""Larger tensors come from the store of blocks, which Python asks."""


_provider: list[Callable[[], Code | None]] = []


def provide(code: Callable[[], Code | None]) -> None:
    """Let machines of modules that bring no interpreter of their own use the one that this function gives."""
    _provider[:] = [code]


def provided() -> Code | None:
    """The interpreter of this process, if there is one."""
    return _provider[0]() if _provider and table() is not None else None


class Code:
    """The loaded interpreter: where its table and its two entries are, and what keeps it in the process."""

    def __init__(self, at: Callable[[str], int], owner: Any) -> None:
        self.inner, self.outer = at("__loopwright_vm_inner"), at("__loopwright_vm_outer")
        self.owner = owner
        values = table()
        assert values is not None
        words = (ctypes.c_int64 * len(TABLE)).from_address(at("__loopwright_vm_table"))
        for k, name in enumerate(TABLE):
            words[k] = values[name]


class Dims(NamedTuple):
    """Where the sizes of a shape come from: pairs of a code and a number, and the register of the heap."""

    codes: tuple[int, ...]
    heap: int | None

    @property
    def rank(self) -> int:
        """The number of sizes."""
        return len(self.codes) // 2

    def shape(self, heap: Any) -> tuple[int, ...]:
        """The sizes."""
        return checks.make_shape(heap, self.rank, *self.codes)


class Native:
    """The functions of a machine as the interpreter runs them."""

    def __init__(self, vm: VirtualMachine, code: Code) -> None:
        self.vm = vm
        self.code = code
        self.programs: dict[int, Program] = {}

    def program(self, number: int) -> Program:
        """The program of a function, laid out when it is first wanted."""
        found = self.programs.get(number)
        if found is None:
            found = self.programs[number] = Program(self, number)
            found.fill()
        return found


class Program:
    """One function: its instructions and all they refer to."""

    def __init__(self, native: Native, number: int) -> None:
        self.native, self.number = native, number
        self.vm = native.vm
        self.info = self.vm.executable.functions[number]
        self.words = _new_words()
        self.kept: list[Any] = []
        self.consts: list[Any] = []
        self.known: dict[int, int] = {}
        self.words.program = self
        self.inner = _method(self.info, self.words, native.code.inner)
        self.outer = _method(self.info, self.words, native.code.outer)

    def keep(self, value: Any) -> int:
        """The address of an object that lives as long as the program."""
        self.kept.append(value)
        return id(value)

    def array(self, values: Sequence[int]) -> int:
        """The address of new words."""
        made = (ctypes.c_int64 * max(len(values), 1))(*values)
        self.kept.append(made)
        return ctypes.addressof(made)

    def const(self, value: Any) -> int:
        """An argument that is a constant."""
        at = self.known.get(id(value))
        if at is None:
            at = self.known[id(value)] = len(self.consts)
            self.consts.append(value)
        return ~at

    def fill(self) -> None:
        """Lay the function out."""
        params = len(self.info.params)
        rows = Layout(self).rows()
        flat = [word for row in rows for word in row]
        code = (ctypes.c_int64 * len(flat))(*flat)
        start = ctypes.addressof(code)
        target = _NUMBERS["goto"], _NUMBERS["if"]
        for k in range(0, len(flat), WORDS):
            if code[k] in target:
                code[k + 5] = start + 8 * WORDS * code[k + 5]
        self.kept.append(code)
        pairs = (ctypes.c_int64 * (2 * max(params, 1)))()
        result = (ctypes.c_int64 * 2)()
        self.kept += [pairs, result]
        words = self.words
        words[0], words[1] = start, self.array([id(c) for c in self.consts])
        words[2], words[3] = self.info.registers, params
        words[4], words[5] = self.keep(Slow(self, pairs)), self.keep(self.fail)
        words[6] = self.keep(self.miscounted)
        words[7], words[8] = ctypes.addressof(pairs), ctypes.addressof(result)
        words[9] = self.keep(Give(self, result))

    def fail(self, pc: int, err: BaseException) -> Any:
        """Raise an error again with its place."""
        raise traced(err, self.vm, self.info, pc) if isinstance(err, Exception) else err

    def miscounted(self, *args: Any) -> Any:
        """Raise what a wrong number of arguments raises."""
        check_count(self.info, len(args))
        raise TypeError(f"`{self.info.name}` takes no keywords here")


class Slow:
    """A call whose arguments Python must look at first."""

    def __init__(self, program: Program, pairs: Any) -> None:
        self.program, self.pairs = program, pairs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Convert the arguments, run the function, convert its result."""
        from .machine import bind, take_all

        info = self.program.info
        values = bind(info.name, info.params, args, kwargs) if kwargs else args
        taken = take_all(info, values)
        for k, (given, value) in enumerate(zip(values, taken)):
            self.learn(k, given, value)
        return give_out(self.program.inner(*taken))

    def learn(self, k: int, given: Any, value: Any) -> None:
        """Next time, a tensor of this dtype needs no look."""
        if getattr(given, "_array", None) is value and value is not None and not packed_bits(given.dtype):
            self.program.kept += [given.dtype, value.dtype]
            self.pairs[2 * k], self.pairs[2 * k + 1] = id(given.dtype), id(value.dtype)


class Give:
    """A result that Python must look at first."""

    def __init__(self, program: Program, result: Any) -> None:
        self.program, self.result = program, result

    def __call__(self, value: Any) -> Any:
        """The result as callers see it; the next tensor of this dtype needs no look."""
        import numpy as np

        given = give_out(value)
        if type(value) is np.ndarray and given._array is value and given.dtype.lanes == 1:
            self.program.kept += [given.dtype, value.dtype]
            self.result[0], self.result[1] = id(given.dtype), id(value.dtype)
        return given


def _new_words() -> Any:
    """The words of a program; the array takes attributes, and is the `self` of its functions."""
    return (ctypes.c_int64 * 10)()


def _method(info: Function, words: Any, address: int) -> Callable[..., Any]:
    """A CPython function of machine code, called with these words as its `self`."""

    class Method(ctypes.Structure):
        _fields_ = (
            ("name", ctypes.c_char_p),
            ("call", ctypes.c_void_p),
            ("flags", ctypes.c_int),
            ("doc", ctypes.c_char_p),
        )

    text = f"{info.name}({', '.join(info.params)})\n--\n\n"
    method = Method(info.name.encode(), address, 0x82, text.encode())
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    words.program.kept.append(method)
    made: Callable[..., Any] = new(ctypes.addressof(method), words, None)
    return made


class Layout:
    """Lays out the instructions of one function."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.vm = program.vm
        self.exe = self.vm.executable
        self.info = program.info
        self.body = [one for _, one in self.exe.body(self.info)]
        self.facts = Facts(self.body, self.exe.constants, [f.name for f in self.exe.functions])

    def rows(self) -> list[list[int]]:
        """The words of each instruction."""
        self.pairs = self.facts.pairs()
        self.sized_users: set[int] = set()
        rows = [self.row(k, one) for k, one in enumerate(self.body)]
        for k, one in enumerate(self.body):
            if not isinstance(one, Call) or self.facts.name(k) != "vm.builtin.make_shape":
                continue
            users = self.facts.uses.get(one.dst, [])
            if users and self.sized_users.issuperset(users):
                rows[k] = self.words("null", k, one.dst)  # they take the sizes from where they come
        return rows

    def dims(self, operand: Operand, k: int) -> Dims | None:
        """Where an instruction has its sizes from, if not from the shape itself."""
        found = self.facts.dims(operand, k)
        if found is not None:
            self.sized_users.add(k)
        return found

    def row(self, k: int, one: Any) -> list[int]:
        """The words of one instruction."""
        match one:
            case Ret(value):
                return self.words("ret", k, args=[Operand(REGISTER, value)])
            case Goto(offset):
                return self.words("goto", k, own=[k + offset])
            case If(cond, offset):
                return self.words("if", k, args=[Operand(REGISTER, cond)], own=[k + offset])
        name = self.exe.functions[one.func].name
        rule = _RULES.get(name)
        made = rule(self, k, one) if rule is not None else None
        if made is None and name in self.vm.module.kernels:
            made = self.kernel(k, one, name)
        return self.python(k, one) if made is None else made

    def words(
        self,
        name: str,
        k: int,
        dst: int = VOID,
        function: Any = None,
        args: Sequence[Operand] = (),
        own: Sequence[int] = (),
    ) -> list[int]:
        """An instruction of these parts."""
        p = self.program
        listed = [self.arg(a) for a in args]
        place = p.array(listed) if listed else 0
        call = 0 if function is None else p.keep(function)
        to = -1 if dst == VOID else dst
        row = [_NUMBERS[name], to, call, place, len(listed), *own]
        return [*row, *[0] * (WORDS - 1 - len(row)), self.info.start + k]

    def arg(self, a: Operand) -> int:
        """An argument: a register, or ~k for constant k."""
        if a.kind == REGISTER and a.value not in (VOID, VM):
            return a.value
        if a.kind == REGISTER:
            return self.program.const(self.vm if a.value == VM else None)
        if a.kind == CONSTANT:
            return self.program.const(self.exe.constants[a.value])
        return self.program.const(a.value if a.kind == IMMEDIATE else self.vm.value_of(a.value))

    def python(self, k: int, one: Call) -> list[int]:
        """A call of a Python function."""
        callee = self.exe.functions[one.func]
        if callee.kind == "vm":
            function: Any = self.program.native.program(one.func).inner
        else:
            function = self.vm.late(one.func)
        return self.words("python", k, one.dst, function, one.args)

    def kernel(self, k: int, one: Call, name: str) -> list[int] | None:
        """A call of a kernel by its address."""
        kernel = self.vm.module.kernels[name]
        described = self.vm.module.native_kernel(name)
        if described is None or described.count != len(one.args) or one.dst != VOID:
            return None
        return self.words("kernel", k, function=kernel, args=one.args, own=[described.words(self.program)])

    def heap_word(self, dims: Dims) -> int:
        """The heap as an argument: its register, or nothing."""
        return self.program.const(None) if dims.heap is None else dims.heap

    def sized(self, dims: Dims, item: int) -> list[int]:
        """The words that say sizes: their number, where they come from, the heap, bytes of an element."""
        return [dims.rank, self.program.array(dims.codes), self.heap_word(dims), item]

    def heap_arg(self, dims: Dims) -> list[Operand]:
        """The heap as an argument of the Python function."""
        return [Operand(REGISTER, VOID if dims.heap is None else dims.heap)]


class Facts:
    """What holds of the registers of a function wherever they are used."""

    def __init__(self, body: Sequence[Any], constants: Sequence[Any], names: Sequence[str]) -> None:
        self.body, self.constants, self.names = body, constants, names
        self.writes: dict[int, list[int]] = {}
        self.uses: dict[int, list[int]] = {}
        self.blocks: list[int] = []
        starts = {k + o for k, one in enumerate(body) if (o := _jump(one))}
        block = 0
        for k, one in enumerate(body):
            block += k in starts
            self.blocks.append(block)
            block += isinstance(one, Goto | If)
            if isinstance(one, Call):
                if one.dst != VOID:
                    self.writes.setdefault(one.dst, []).append(k)
                for a in one.args:
                    if a.kind == REGISTER:
                        self.uses.setdefault(a.value, []).append(k)
            else:
                register = one.value if isinstance(one, Ret) else one.cond if isinstance(one, If) else VOID
                self.uses.setdefault(register, []).append(k)

    def made_by(self, register: int, name: str, k: int) -> Call | None:
        """The call of this function that surely wrote the register before instruction `k`.

        Kills do not count: nobody uses a register after them.
        """
        calls = [w for w in self.writes.get(register, []) if self.name(w) != "vm.builtin.null_value"]
        if len(calls) != 1 or self.name(calls[0]) != name:
            return None
        at = calls[0]
        killed = any(at < w < k for w in self.writes[register] if w != at)
        before = at < k and (self.blocks[at] == self.blocks[k] or self.blocks[at] == 0)
        one = self.body[at]
        return one if before and not killed and isinstance(one, Call) else None

    def pairs(self) -> dict[int, int]:
        """Storages that one tensor alone stands on, each with that tensor: their instructions' numbers."""
        found: dict[int, int] = {}
        for k, one in enumerate(self.body):
            if not isinstance(one, Call) or self.name(k) != "vm.builtin.alloc_storage":
                continue
            if len(one.args) != 5 or one.dst == VOID:
                continue
            users = self.uses.get(one.dst, [])
            if len(users) != 1 or self.made_by(one.dst, "vm.builtin.alloc_storage", users[0]) is not one:
                continue
            if self._alone(one, k, self.body[users[0]], users[0]):
                found[k] = users[0]
        return found

    def _alone(self, storage: Call, k: int, tensor: Any, at: int) -> bool:
        """Whether a tensor may have memory of its own instead of this storage."""
        if self.name(at) != "vm.builtin.alloc_tensor" or tensor.args[0] != Operand(REGISTER, storage.dst):
            return False
        if len(tensor.args) < 4 or tensor.args[1] != Operand(IMMEDIATE, 0):
            return False
        types = [self.dtype(storage.args[3]), self.dtype(tensor.args[3])]
        room, dims = self.dims(storage.args[1], k), self.dims(tensor.args[2], at)
        if room is None or dims is None or None in types or self.text(storage.args[4]) != "global":
            return False
        if (room.heap is None) != (dims.heap is None):
            return False  # it is bounded: the tensor must not be larger
        if room.heap is not None:
            return True
        have, want = [
            math.prod(d.codes[1::2]) * t.numpy().itemsize
            for d, t in zip((room, dims), types)
            if t is not None
        ]
        return 0 <= want <= have < _SMALL

    def dtype(self, a: Operand) -> DType | None:
        """A dtype among the arguments."""
        value = self.constants[a.value] if a.kind == CONSTANT else None
        return value if isinstance(value, DType) else None

    def text(self, a: Operand) -> str | None:
        """A text among the arguments."""
        value = self.constants[a.value] if a.kind == CONSTANT else None
        return value if isinstance(value, str) else None

    def name(self, k: int) -> str:
        """What an instruction calls."""
        one = self.body[k]
        return self.names[one.func] if isinstance(one, Call) else ""

    def slots(self, register: int, k: int) -> int:
        """How many slots the heap in this register surely has."""
        made = self.made_by(register, "vm.builtin.alloc_shape_heap", k)
        if made is None or len(made.args) != 2 or made.args[1].kind != IMMEDIATE:
            return 0
        return made.args[1].value

    def dims(self, operand: Operand, k: int) -> Dims | None:
        """Where the sizes of a shape come from, where that is sure."""
        if operand.kind == CONSTANT:
            value = self.constants[operand.value]
            if not checks.is_shape(value) or len(value) > MOST_DIMS:
                return None
            return Dims(tuple([n for v in value for n in (checks.LITERAL, v)]), None)
        if operand.kind != REGISTER:
            return None
        made = self.made_by(operand.value, "vm.builtin.make_shape", k)
        if made is None:
            return None
        return self.codes(made.args[0], made.args[2:], k, checks.LOAD)

    def codes(self, heap: Operand, given: Sequence[Operand], k: int, *loads: int) -> Dims | None:
        """Codes of sizes that the machine code may follow: their slots are there."""
        if len(given) % 2 or len(given) > 2 * MOST_DIMS or any(a.kind != IMMEDIATE for a in given):
            return None
        codes = tuple([a.value for a in given])
        known = {checks.LITERAL, *loads} | ({checks.SKIP} if checks.SAME in loads else set())
        if not known.issuperset(codes[::2]):
            return None
        wanted = [n for code, n in zip(codes[::2], codes[1::2]) if code in loads]
        register = heap.value if heap.kind == REGISTER and heap.value not in (VOID, VM) else None
        if wanted and (register is None or not 0 <= min(wanted) <= max(wanted) < self.slots(register, k)):
            return None
        return Dims(codes, register if wanted else None)


def _jump(one: Any) -> int:
    return one.offset if isinstance(one, Goto) else one.false_offset if isinstance(one, If) else 0


_Rule = Callable[[Layout, int, Call], "list[int] | None"]
_RULES: dict[str, _Rule] = {}


def _rule(name: str) -> Callable[[_Rule], _Rule]:
    def enter(rule: _Rule) -> _Rule:
        _RULES[f"vm.builtin.{name}"] = rule
        return rule

    return enter


def _register(a: Operand) -> bool:
    return a.kind == REGISTER and a.value not in (VOID, VM)


def _element(layout: Layout, dtype: DType) -> int:
    return layout.program.keep(dtype.numpy())


@_rule("null_value")
def _null(layout: Layout, k: int, one: Call) -> list[int] | None:
    return None if one.dst == VOID else layout.words("null", k, one.dst)


@_rule("copy")
def _copy(layout: Layout, k: int, one: Call) -> list[int] | None:
    return layout.words("copy", k, one.dst, args=one.args) if len(one.args) == 1 else None


@_rule("alloc_shape_heap")
def _heap(layout: Layout, k: int, one: Call) -> list[int] | None:
    if len(one.args) != 2 or one.args[1].kind != IMMEDIATE or not 0 < one.args[1].value < 4096:
        return None
    dims = Dims((checks.LITERAL, one.args[1].value), None)
    own = [_element(layout, DType("int64")), *layout.sized(dims, 8)]
    return layout.words("new_tensor", k, one.dst, BUILTINS["vm.builtin.alloc_shape_heap"], one.args, own)


@_rule("check_tensor_info")
def _check_tensor(layout: Layout, k: int, one: Call) -> list[int] | None:
    if not 2 <= len(one.args) <= 4 or not _register(one.args[0]) or one.args[1].kind != IMMEDIATE:
        return None
    dtype = layout.facts.dtype(one.args[2]) if len(one.args) > 2 else None
    own = [0 if dtype is None else _element(layout, dtype), one.args[1].value]
    return layout.words("check_tensor", k, VOID, checks.check_tensor_info, one.args, own)


@_rule("match_shape")
def _match(layout: Layout, k: int, one: Call) -> list[int] | None:
    if len(one.args) < 3 or not _register(one.args[0]) or one.args[2].kind != IMMEDIATE:
        return None
    rank = one.args[2].value
    given = one.args[3 : 3 + 2 * rank]
    dims = layout.facts.codes(one.args[1], given, k, checks.STORE, checks.SAME)
    if dims is None or len(given) != 2 * rank:
        return None
    return layout.words("match_shape", k, VOID, checks.match_shape, one.args, [0, *layout.sized(dims, 1)])


@_rule("make_shape")
def _make_shape(layout: Layout, k: int, one: Call) -> list[int] | None:
    dims = layout.facts.codes(one.args[0], one.args[2:], k, checks.LOAD) if len(one.args) > 1 else None
    if dims is None:
        return None
    return layout.words("make_shape", k, one.dst, checks.make_shape, one.args, [0, *layout.sized(dims, 1)])


@_rule("make_prim_value")
def _make_number(layout: Layout, k: int, one: Call) -> list[int] | None:
    dims = layout.facts.codes(one.args[0], one.args[1:], k, checks.LOAD) if len(one.args) == 3 else None
    if dims is None:
        return None
    return layout.words(
        "make_number", k, one.dst, checks.make_prim_value, one.args, [0, *layout.sized(dims, 1)]
    )


@_rule("alloc_storage")
def _storage(layout: Layout, k: int, one: Call) -> list[int] | None:
    if len(one.args) != 5 or one.dst == VOID:
        return None
    dtype, dims = layout.facts.dtype(one.args[3]), layout.dims(one.args[1], k)
    if k in layout.pairs:
        return layout.words("null", k, one.dst)
    if dims is None or dtype is None or layout.facts.text(one.args[4]) != "global":
        layout.sized_users.discard(k)
        return None
    cache = Cache()
    own = [layout.program.keep(cache) and cache.address, *layout.sized(dims, dtype.numpy().itemsize)]
    return layout.words("storage", k, one.dst, Storage, (), own)


class Cache:
    """A kept storage and its bytes, as the machine code sees them; gives the storage up at its own end."""

    def __init__(self) -> None:
        self.words = (ctypes.c_int64 * 2)()
        self.address = ctypes.addressof(self.words)

    def __del__(self) -> None:
        held = self.words[0]
        if held:
            self.words[0] = 0
            ctypes.pythonapi.Py_DecRef(ctypes.c_void_p(held))


@_rule("alloc_tensor")
def _tensor(layout: Layout, k: int, one: Call) -> list[int] | None:
    if not 4 <= len(one.args) <= 5 or not _register(one.args[0]) or one.args[1].kind != IMMEDIATE:
        return None
    dims, dtype = layout.dims(one.args[2], k), layout.facts.dtype(one.args[3])
    if dims is None or dtype is None or one.dst == VOID or one.args[1].value < 0:
        layout.sized_users.discard(k)
        return None
    item = dtype.numpy().itemsize
    own = [_element(layout, dtype), *layout.sized(dims, item)]
    if k in layout.pairs.values():
        fresh = Fresh(dims, dtype)
        return layout.words("new_tensor", k, one.dst, fresh, layout.heap_arg(dims), own)
    offset = one.args[1].value
    function = OnStorage(dims, dtype, offset)
    args = [one.args[0], *layout.heap_arg(dims)]
    return layout.words("tensor", k, one.dst, function, args, [*own, offset])


class Fresh:
    """Makes a tensor with memory of its own."""

    def __init__(self, dims: Dims, dtype: DType) -> None:
        self.dims, self.dtype = dims, dtype

    def __call__(self, heap: Any) -> Any:
        """The tensor."""
        shape = self.dims.shape(heap)
        size = self.dtype.numpy().itemsize
        for n in shape:
            size *= n
        return BUILTINS["vm.builtin.alloc_tensor"](Storage(max(size, 0)), 0, shape, self.dtype)


class OnStorage:
    """Makes a tensor on a storage; raises where it is too small."""

    def __init__(self, dims: Dims, dtype: DType, offset: int) -> None:
        self.dims, self.dtype, self.offset = dims, dtype, offset

    def __call__(self, storage: Any, heap: Any) -> Any:
        """The tensor."""
        return BUILTINS["vm.builtin.alloc_tensor"](storage, self.offset, self.dims.shape(heap), self.dtype)


@_rule("reshape")
def _reshape(layout: Layout, k: int, one: Call) -> list[int] | None:
    if len(one.args) != 2 or not _register(one.args[0]) or one.dst == VOID:
        return None
    dims = layout.dims(one.args[1], k)
    if dims is None:
        return None

    def function(value: Any, heap: Any) -> Any:
        return BUILTINS["vm.builtin.reshape"](value, dims.shape(heap))

    own = [0, *layout.sized(dims, 1)]
    return layout.words("reshape", k, one.dst, function, [one.args[0], *layout.heap_arg(dims)], own)


__all__ = ["Code", "Native", "Program", "provide", "provided"]
