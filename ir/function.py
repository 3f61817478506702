"""Functions and modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from ..errors import ArgumentValueError, Diagnostic, IRError, Span, suggest
from ..node import DERIVED, IGNORED, NO_ATTRS, Attrs, Defines, Node
from .expr import Expr, GlobalVar, Var, func_type
from .stmt import Stmt
from .types import VOID, AnyType, BufferType, PointerType, PrimType, TupleType, Type, as_type


class BaseFunc(Expr):
    """Base of the functions of a module; each has `attrs`."""

    attrs: Attrs = NO_ATTRS

    def with_attr(self, key: str | Mapping[str, Any], value: Any = None) -> Any:
        """A copy with this attribute (or these attributes) set."""
        items = dict(key) if isinstance(key, Mapping) else {key: value}
        return self.replace(attrs=self.attrs.set() if not items else Attrs({**self.attrs, **items}))

    def without_attr(self, key: str) -> Any:
        """A copy lacking this attribute."""
        return self.replace(attrs=self.attrs.without(key))

    def script(self, **options: Any) -> str:
        """The function as script; see `loopwright.printer.script` for the options."""
        from ..printer import script

        return script(self, **options)


class PrimFunc(BaseFunc):
    """A loop program: parameters (buffers, scalars, handles), a body, a result type.

    Attributes of note: "global_symbol" (its exported name), "s_tir" (it contains blocks),
    "tirx.noalias".  Symbols in the shapes of buffer parameters are defined there.
    `scheduled` says that somebody chose the order of the loops, so that no default rule may; it is no
    part of the program, and text does not show it.
    Calling it compiles it for the arguments and runs it; `interpret` runs it in plain Python.
    """

    # `compiled` holds what calling made of the function; it is no part of the program.
    __slots__ = ("body", "compiled", "params", "ret_type", "scheduled")

    params: Annotated[tuple[Var, ...], Defines("body", symbols=True)]
    body: Stmt
    ret_type: Type = VOID
    attrs: Attrs = NO_ATTRS
    scheduled: Annotated[bool, IGNORED] = False
    ty: Annotated[Type, DERIVED]

    @staticmethod
    def _coerce(params: Any, body: Any, ret_type: Any, attrs: Any, scheduled: Any) -> tuple[Any, ...]:
        ret = VOID if ret_type is None else as_type(ret_type)
        attrs = attrs if type(attrs) is Attrs else Attrs(attrs or {})
        return tuple(params), body, ret, attrs, bool(scheduled)

    def _derive(self) -> Type:
        return func_type(self.params, self.ret_type)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compile for the arguments' device on first use, check the arguments, run."""
        try:
            run = self.compiled  # type: ignore[attr-defined]
        except AttributeError:
            from ..codegen import compiled

            run = compiled(self, args, kwargs)
        try:
            return run(*args, **kwargs)
        except ArgumentValueError as err:
            if err.code != "argument-device":
                raise
            error = err
        from ..codegen import elsewhere

        return elsewhere(self, error, args, kwargs)

    def specialize(self, values: Mapping[Any, Any]) -> PrimFunc:
        """The function with these parameters fixed; see `loopwright.ir.specialize`."""
        from .specialize import specialize

        return specialize(self, values)

    def interpret(self, *args: Any, **kwargs: Any) -> Any:
        """Run in plain Python with bounds, initialisation and overflow checks (the oracle)."""
        from ..codegen.python import interpret

        return interpret(self, args, kwargs)


class ExternFunc(BaseFunc):
    """A function known by its symbol only."""

    global_symbol: str
    ty: Type = AnyType()
    attrs: Attrs = NO_ATTRS


class GlobalInfo(Node):
    """Base of named facts that a module lists."""


class DummyGlobalInfo(GlobalInfo):
    """A placeholder."""


class VDevice(GlobalInfo):
    """A virtual device: target, number and memory scope."""

    target: Any = None
    vdevice_id: int = 0
    memory_scope: str = "global"


class IRModule(Node):
    """Functions by name, with attributes and global infos."""

    functions: Mapping[GlobalVar, BaseFunc]
    attrs: Attrs = NO_ATTRS
    global_infos: Attrs = NO_ATTRS
    span: Annotated[Span | None, IGNORED] = None

    @staticmethod
    def _coerce(functions: Any, attrs: Any, global_infos: Any) -> tuple[Any, ...]:
        table = {k if isinstance(k, GlobalVar) else GlobalVar(k): v for k, v in dict(functions).items()}
        names: set[str] = set()
        for g in table:
            if g.name in names:
                raise IRError(Diagnostic("duplicate-function", f"two functions are called `{g.name}`"))
            names.add(g.name)
        infos = {k: tuple(v) for k, v in dict(global_infos or {}).items()}
        return Functions(table), Attrs(attrs or {}), Attrs(infos)

    def __getitem__(self, name: str | GlobalVar) -> BaseFunc:
        """The function of this name. Raises KeyError (as IRError) with near names."""
        found = self.get(name)
        if found is None:
            text = name if isinstance(name, str) else name.name
            known = [g.name for g in self.functions]
            raise UnknownFunctionError(
                Diagnostic(
                    "unknown-function", f"the module has no function `{text}`", help=suggest(text, known)
                )
            )
        return found

    def get(self, name: str | GlobalVar) -> BaseFunc | None:
        """The function of this name, or None."""
        text = name if isinstance(name, str) else name.name
        return next((f for g, f in self.functions.items() if g.name == text), None)

    def __contains__(self, name: str | GlobalVar) -> bool:
        return self.get(name) is not None

    def __iter__(self) -> Iterator[GlobalVar]:
        return iter(self.functions)

    def get_global_var(self, name: str) -> GlobalVar:
        """The GlobalVar of this name. Raises as `mod[name]` does."""
        self[name]
        return next(g for g in self.functions if g.name == name)

    def get_global_vars(self) -> tuple[GlobalVar, ...]:
        """All names, sorted."""
        return tuple(sorted(self.functions, key=lambda g: g.name))

    def with_function(self, name: str | GlobalVar, func: BaseFunc) -> IRModule:
        """A copy in which this name means `func`."""
        table = dict(self.functions)
        key = name if isinstance(name, GlobalVar) else next((g for g in table if g.name == name), None)
        same = (
            next((g for g in table if g.name == key.name), key) if key is not None else GlobalVar(str(name))
        )
        table[same] = func
        return self.replace(functions=table)

    def map_prim_funcs(self, change: Any) -> IRModule:
        """A copy in which each PrimFunc f is `change(f)`; this module itself when nothing changes."""
        table = {g: change(f) if isinstance(f, PrimFunc) else f for g, f in self.functions.items()}
        if all(table[g] is f for g, f in self.functions.items()):
            return self
        return self.replace(functions=table)

    def script(self, **options: Any) -> str:
        """The module as script; see `loopwright.printer.script` for the options."""
        from ..printer import script

        return script(self, **options)

    @staticmethod
    def from_expr(func: BaseFunc) -> IRModule:
        """A module of this one function, named by its global_symbol or `main`."""
        name = str(func.attrs.get("global_symbol", "main"))
        return IRModule({GlobalVar(name, func.ty if isinstance(func.ty, Type) else VOID): func})


class UnknownFunctionError(IRError, KeyError):
    """A module has no function of this name."""

    default_code = "unknown-function"

    __str__ = IRError.__str__


class Functions(Mapping[GlobalVar, BaseFunc]):
    """An immutable mapping from names to functions, in order of definition."""

    __slots__ = ("_items",)
    _items: dict[GlobalVar, BaseFunc]

    def __init__(self, items: Mapping[GlobalVar, BaseFunc]) -> None:
        self._items = dict(items)

    def __getitem__(self, key: GlobalVar) -> BaseFunc:
        return self._items[key]

    def __iter__(self) -> Iterator[GlobalVar]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __reduce__(self) -> tuple[Any, ...]:
        return Functions, (self._items,)


def buffer_params(func: PrimFunc) -> tuple[Var, ...]:
    """The parameters that are buffers."""
    return tuple(p for p in func.params if isinstance(p.ty, BufferType))


__all__ = [
    "BaseFunc",
    "DummyGlobalInfo",
    "ExternFunc",
    "Functions",
    "GlobalInfo",
    "IRModule",
    "PointerType",
    "PrimFunc",
    "PrimType",
    "TupleType",
    "UnknownFunctionError",
    "VDevice",
    "buffer_params",
]
