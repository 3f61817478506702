"""The builder: words of the language used as context managers and calls, inside `with IRBuilder()`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from ..... import ir
from .....errors import Diagnostic, ScriptError
from .....script.builder import Builder, finish, set_name
from .....script.faults import Fault, Poisoned
from .....script.function import needs_root, returned_type
from .....script.loops import LoopFrame
from .....script.names import TextNames
from .....script.stmt import Frame
from .....script.values import Meta, set_active_builder
from .....script.words_block import TRUE
from ....adapters import lacking


class IRBuilder:
    """Collects what is built inside `with IRBuilder() as ib:`; `ib.get()` gives it afterwards."""

    _stack: list[IRBuilder] = []

    def __init__(self) -> None:
        self.builder = new_builder()
        self.module: ModuleFrame | None = None
        self.function: Any = None
        self.result: Any = None
        self._before: Any = None

    def __enter__(self) -> IRBuilder:
        IRBuilder._stack.append(self)
        self._before = set_active_builder(self.builder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        IRBuilder._stack.pop()
        set_active_builder(self._before)
        if kind is None and self.result is None:
            self.result = finish(self.builder.scopes[0])

    @staticmethod
    def current() -> IRBuilder:
        """The innermost builder. Raises ValueError outside of any."""
        if not IRBuilder._stack:
            raise ValueError("no IRBuilder is active")
        return IRBuilder._stack[-1]

    @staticmethod
    def is_in_scope() -> bool:
        """Whether a builder is active."""
        return bool(IRBuilder._stack)

    def get(self) -> Any:
        """What was built: a module, a function or a statement. Raises ValueError before the end."""
        if self.result is None:
            raise ValueError("nothing was built yet")
        return self.result

    @staticmethod
    def name(s: str, v: Any) -> Any:
        """Give a variable its name."""
        target = v.var if isinstance(v, ir.IterVar) else v
        if isinstance(target, ir.Var):
            set_name(target, s)
        return v

    @staticmethod
    def name_many(s: Sequence[str], vs: Sequence[Any]) -> list[Any]:
        """Give several variables their names."""
        return [IRBuilder.name(name, value) for name, value in zip(s, vs)]


def new_builder() -> Builder:
    """A builder of the script room, for words called from Python."""
    return Builder(TextNames(), [], live=True)


def current_builder() -> Builder:
    """The builder at work. Raises ValueError outside of `with IRBuilder()`."""
    return IRBuilder.current().builder


class Context:
    """A frame of the language as a Python context manager."""

    def __init__(self, frame: Frame, builder: Builder) -> None:
        self.frame = frame
        self.builder = builder

    def __enter__(self) -> Any:
        with_faults(lambda: setattr(self, "value", self.frame.enter(self.builder, None)))
        return self.value

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            with_faults(lambda: self.frame.leave(self.builder, None))

    value: Any = None


class LoopContext:
    """A loop word as a context manager: gives the loop variable, or several."""

    def __init__(self, frame: LoopFrame, builder: Builder) -> None:
        self.frame = frame
        self.builder = builder
        self.variables: list[Any] = []

    def __enter__(self) -> Any:
        loops = self.frame.loops
        self.variables = [ir.Var("v", loop.type) for loop in loops]
        for var, loop in zip(self.variables, loops):
            self.builder.loop_ranges[var] = ir.Range(loop.min, loop.extent)
        self.builder.open("for")
        self.builder.loop_depth += 1
        return self.variables[0] if len(loops) == 1 else tuple(self.variables)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is not None:
            return
        self.builder.loop_depth -= 1
        body = self.builder.close()
        for var, loop in reversed(list(zip(self.variables, self.frame.loops))):
            axis = None
            if loop.kind is ir.ForKind.THREAD_BINDING:
                tag = ir.Var(loop.tag, loop.type)
                axis = ir.IterVar(None, tag, ir.IterVar.THREAD_INDEX, loop.tag)
            body = ir.For(var, loop.min, loop.extent, loop.kind, body, loop.step, axis, loop.annotations)
        self.builder.emit(body)


class FunctionFrame:
    """`with T.prim_func():`"""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.owner = IRBuilder.current()
        self.builder = new_builder()
        self.before: Builder | None = None

    def __enter__(self) -> FunctionFrame:
        self.before = self.owner.builder
        self.owner.builder = self.builder
        set_active_builder(self.builder)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        assert self.before is not None
        self.owner.builder = self.before
        set_active_builder(self.before)
        if kind is not None:
            return
        func = self._function()
        if self.owner.module is not None:
            self.owner.module.add(str(self.builder.attrs.get("global_symbol", "main")), func)
        else:
            self.owner.result = func

    def _function(self) -> ir.PrimFunc:
        b = self.builder
        body = finish(b.scopes[0])
        if needs_root(b, body):
            root = ir.SBlock((), (), (), "root", body, None, b.root.alloc_buffers)
            body = ir.SBlockRealize((), TRUE, root)
        attrs = dict(b.attrs)
        if self.options.get("s_tir") or b.has_block:
            attrs["s_tir"] = True
        if self.options.get("is_private") or self.options.get("private"):
            attrs.pop("global_symbol", None)
        ret = b.ret_type if b.ret_type is not None else returned_type(body)
        return ir.PrimFunc(b.params, body, ret, attrs)


class ModuleFrame:
    """`with I.ir_module():`"""

    def __init__(self) -> None:
        self.owner = IRBuilder.current()
        self.functions: dict[str, Any] = {}
        self.attrs: dict[str, Any] = {}
        self.infos: dict[str, Any] = {}

    def __enter__(self) -> ModuleFrame:
        self.owner.module = self
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.owner.module = None
        if kind is None:
            self.owner.result = ir.IRModule(self.functions, self.attrs, self.infos)

    def add(self, name: str, func: Any) -> None:
        """Add a function. Raises ValueError for a name that is taken."""
        if name in self.functions:
            raise ValueError(f"the function {name!r} is defined already")
        self.functions[name] = func


def with_faults(run: Callable[[], Any]) -> Any:
    """Run a word; what it finds wrong becomes a ScriptError."""
    try:
        return run()
    except Fault as err:
        raise ScriptError(err.diagnostic) from None
    except Poisoned:
        raise ScriptError(Diagnostic("syntax", "this uses what was reported as faulty")) from None


def in_python(value: Any, builder: Builder) -> Any:
    """A word's value as Python code uses it: frames as context managers."""
    if isinstance(value, LoopFrame):
        return LoopContext(value, builder)
    if isinstance(value, Frame):
        return Context(value, builder)
    return value.value if isinstance(value, Meta) else value


__getattr__ = lacking("tvm.script.ir_builder.base")

__all__ = ["IRBuilder"]
