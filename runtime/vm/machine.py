"""The virtual machine: runs the functions of a built module.

vm = VirtualMachine(lib)
y = vm["main"](x)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import ArgumentTypeError, ArgumentValueError, Diagnostic
from ..device import Device
from ..module import BenchmarkResult, Module
from ..registry import PackedFunc, UnknownFunctionError, get_global_func
from .builtins import BUILTINS
from .bytecode import Executable, Function
from .interpreter import Interpreter, Step, check_count
from .module import VMModule
from .native import Native, provided
from .on_device import Place
from .values import CPU, Closure, give_out, take_in


class VirtualMachine:
    """The functions of a module on a device, called by name: `vm["main"](x)`.

    Functions take numpy arrays, tensors, whatever shares memory through DLPack, numbers, texts and tuples
    of them; results are tensors, numbers, shapes as tuples of integers, and tuples of those.
    Raises ArgumentTypeError for a module without graph functions.
    """

    def __init__(
        self,
        rt_mod: Module | Executable,
        device: Device | str | Sequence[Device | str] = "cpu",
        memory_cfg: str | Mapping[Any, str] | None = None,
    ) -> None:
        self.module = _module(rt_mod)
        self.executable = self.module.executable
        self.devices = _devices(device, self.module)
        self.place = None if self.devices[0] is CPU else Place(self.devices)
        _check_memory(memory_cfg)
        self._functions: list[Callable[..., Any] | None] = [None] * len(self.executable.functions)
        self._interpreter = Interpreter(self)
        code = None if self.place is not None else self.module.code or provided()
        self._native = None if code is None else Native(self, code)
        self._made: dict[str, Callable[..., Any]] = {}
        self._inputs: dict[str, tuple[Any, ...]] = {}
        self._outputs: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<VirtualMachine: {', '.join(self.executable.entries)}>"

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """The function of this name. Raises an AttributeError with near names where there is none."""
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = self._callable(name)
        return found

    def __contains__(self, name: str) -> bool:
        return name in self.executable.entries

    def _callable(self, name: str) -> Callable[..., Any]:
        number = self.executable.index(name)
        return Entry(self, number) if self._observed else self._native.program(number).outer  # type: ignore[union-attr]

    @property
    def _observed(self) -> bool:
        """Whether the interpreter in Python runs functions: somebody looks, or there is no other."""
        return self._native is None or self._interpreter.instrument is not None

    # What interpreters ask

    def run(self, name: str, args: tuple[Any, ...]) -> Any:
        """The result of a function on values as registers hold them."""
        number = self.executable.index(name)
        if self._observed or self._interpreter.steps is not None:
            return self._interpreter.run(number, args)
        assert self._native is not None
        return self._native.program(number).inner(*args)

    def late(self, number: int) -> Callable[..., Any]:
        """As `function`; one that does not exist yet is looked for when it is called."""
        try:
            return self.function(number)
        except UnknownFunctionError:
            return lambda *args: self.function(number)(*args)

    def function(self, number: int) -> Callable[..., Any]:
        """The function behind a row of the table that has no bytecode: a kernel, built in, or registered.

        It takes and gives values as registers hold them. Raises UnknownFunctionError where there is none.
        """
        found = self._functions[number]
        if found is None:
            found = self._functions[number] = self._find(self.executable.functions[number].name)
        return found

    def _find(self, name: str) -> Callable[..., Any]:
        kernel = self.module.kernels.get(name)
        if kernel is not None:
            return kernel if self.place is None else self.place.kernel(kernel)
        if name in BUILTINS:
            other = None if self.place is None else self.place.builtin(name)
            return other or BUILTINS[name]
        for imported in self.module.imports:
            if name in imported:
                return self.outside(imported[name])
        get_global_func(name)
        return lambda *args: self.outside(get_global_func(name))(*args)

    def outside(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function for callers outside, taking and giving values as registers hold them."""

        def call(*args: Any) -> Any:
            return self.take_in(function(*[give_out(a) for a in args]), "the result")

        return call

    def take_in(self, value: Any, what: str = "the argument") -> Any:
        """The value as registers hold it; see `values.take_in`."""
        return take_in(value, what) if self.place is None else self.place.take_in(value, what)

    def constant(self, number: int) -> Any:
        """A constant of the module as registers hold it."""
        value = self.executable.constants[number]
        return value if self.place is None else self.place.constant(number, value)

    def value_of(self, number: int) -> Any:
        """A function of the table as a value."""
        f = self.executable.functions[number]
        return Closure(f.name, ()) if f.kind == "vm" else self.function(number)

    # What users do besides calling

    def invoke_closure(self, closure: Any, *args: Any) -> Any:
        """Call a closure that a function gave."""
        values = [self.take_in(a) for a in args]
        return give_out(BUILTINS["vm.builtin.invoke_closure"](self, closure, *values))

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Keep arguments for `invoke_stateful`. Raises as calling does for a wrong number of them."""
        f = self.executable.functions[self.executable.index(func_name)]
        values = bind(f.name, f.params, args, kwargs)
        self._inputs[func_name] = tuple([self.take_in(v) for v in values])

    def invoke_stateful(self, func_name: str) -> None:
        """Run a function on the arguments that were set; `get_outputs` has the result."""
        if func_name not in self._inputs:
            self.executable.index(func_name)
            help = (f'call `vm.set_input("{func_name}", ...)` first',)
            text = f"no arguments were set for `{func_name}`"
            raise ArgumentValueError(Diagnostic("no-value", text, help=help))
        self._outputs[func_name] = self.run(func_name, self._inputs[func_name])

    def get_outputs(self, func_name: str) -> Any:
        """The result of the last `invoke_stateful`. Raises ArgumentValueError where there was none."""
        if func_name not in self._outputs:
            help = (f'call `vm.invoke_stateful("{func_name}")` first',)
            raise ArgumentValueError(Diagnostic("no-value", f"`{func_name}` was not run yet", help=help))
        return give_out(self._outputs[func_name])

    def save_function(
        self, func_name: str, saved_name: str, *args: Any, include_return: bool = True, **kwargs: Any
    ) -> None:
        """Keep a call of a function as a function without parameters, `vm[saved_name]`."""
        f = self.executable.functions[self.executable.index(func_name)]
        values = tuple([self.take_in(v) for v in bind(f.name, f.params, args, kwargs)])
        check_count(f, len(values))

        def saved() -> Any:
            result = self.run(func_name, values)
            return give_out(result) if include_return else None

        saved.__name__ = saved_name
        self._made[saved_name] = saved

    def set_instrument(self, instrument: str | Callable[..., Any] | None) -> None:
        """Let a function see every call: `f(func, name, before_run, ret_value, *args)`; None: nobody.

        A call before which it gives `SKIP_RUN` (1) is left out. A text names a registered function.
        """
        if isinstance(instrument, str):
            instrument = get_global_func(instrument)
        if isinstance(instrument, PackedFunc):
            instrument = instrument.__wrapped__
        self._interpreter.instrument = instrument
        self._made.clear()

    def profile(self, func_name: str, *args: Any, **kwargs: Any) -> list[Step]:
        """The steps of one call: function, number of the instruction, what it called, seconds."""
        f = self.executable.functions[self.executable.index(func_name)]
        values = tuple([self.take_in(v) for v in bind(f.name, f.params, args, kwargs)])
        self._interpreter.run(self.executable.index(func_name), values)
        self._interpreter.steps = []
        try:
            self._interpreter.run(self.executable.index(func_name), values)
            return self._interpreter.steps
        finally:
            self._interpreter.steps = None

    def time_evaluator(
        self,
        func_name: str,
        dev: Any = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
        **options: Any,
    ) -> Callable[..., BenchmarkResult]:
        """A function that times calls with the arguments it gets; see `Module.time`."""
        wait = None if self.place is None else self.place.driver.wait
        timed = Module("vm", {func_name: self[func_name]}, wait=wait)
        return timed.time_evaluator(func_name, dev, number, repeat, min_repeat_ms)


class Entry:
    """A function of a machine, as Python calls it."""

    def __init__(self, vm: VirtualMachine, number: int) -> None:
        self.vm = vm
        self.number = number
        self.info = vm.executable.functions[number]
        self.__name__ = self.info.name

    def __repr__(self) -> str:
        return f"<graph function {self.info.name}({', '.join(self.info.params)})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it. Raises ArgumentTypeError or ArgumentValueError, naming the parameter."""
        info = self.info
        values = bind(info.name, info.params, args, kwargs) if kwargs else args
        return give_out(self.vm._interpreter.run(self.number, take_all(info, values, self.vm.take_in)))


def take_all(
    info: Function, values: Sequence[Any], take: Callable[[Any, str], Any] = take_in
) -> tuple[Any, ...]:
    """Arguments as registers hold them. Raises as calling does, naming the parameter."""
    check_count(info, len(values))
    named = zip(info.params, values)
    return tuple([take(v, f"{info.name}: parameter {k + 1} ({p})") for k, (p, v) in enumerate(named)])


def bind(name: str, params: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """The arguments in the order of the parameters. Raises ArgumentTypeError where they do not fit."""
    if not kwargs:
        return tuple(args)
    bound = dict(zip(params, args))
    for key, value in kwargs.items():
        if key not in params or key in bound:
            text = f"`{name}` has no parameter `{key}`" if key not in params else f"two values for `{key}`"
            raise ArgumentTypeError(
                Diagnostic("argument-name", text, notes=(f"parameters: {', '.join(params)}",))
            )
        bound[key] = value
    missing = [p for p in params if p not in bound]
    if missing:
        text = f"`{name}` misses {', '.join([f'`{p}`' for p in missing])}"
        raise ArgumentTypeError(Diagnostic("argument-count", text))
    return tuple([bound[p] for p in params])


def _module(given: Any) -> VMModule:
    if isinstance(given, VMModule):
        return given
    if isinstance(given, Executable):
        return VMModule(given, {})
    help = ("build a module that has a function of the graph dialect",)
    text = f"a {type(given).__name__} has no graph functions"
    if isinstance(given, Module):
        text = f"the module of kind `{given.kind}` has no graph functions"
    raise ArgumentTypeError(Diagnostic("not-a-module", text, help=help))


def _devices(given: Any, module: VMModule) -> tuple[Device, ...]:
    """The devices of a machine, the CPU last. Raises ArgumentValueError where the module runs elsewhere."""
    listed = given if isinstance(given, list | tuple) else [given]
    found = [Device(d) for d in listed]
    if not found or found[0].kind != module.device:
        where = f"`{found[0]}`" if found else "no device"
        text = f"the module was built for `{module.device}`; a virtual machine on {where} cannot run it"
        help = (f'make the machine so: `VirtualMachine(module, "{module.device}")`',)
        raise ArgumentValueError(Diagnostic("argument-device", text, help=help))
    return tuple(dict.fromkeys([*found, CPU]))


def _check_memory(given: Any) -> None:
    kinds = given.values() if isinstance(given, Mapping) else [given]
    for kind in kinds:
        if kind not in (None, "naive", "pooled"):
            text = f'`memory_cfg` is "naive" or "pooled", not {kind!r}'
            raise ArgumentValueError(Diagnostic("option-value", text))


__all__ = ["Entry", "VirtualMachine", "bind"]
