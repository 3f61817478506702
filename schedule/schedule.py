"""Schedule: checks arguments, runs primitives, records them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentTypeError, ArgumentValueError, Diagnostic
from ..ir import BaseFunc, Expr, For, IRModule, PrimFunc, SBlock, Var, renew_definitions
from ..node import deep
from .handles import Handle, LoopRV, SBlockRV
from .instruction import Instruction, InstructionKind
from .random import fork, fresh_seed, start
from .refusal import Reason, Refused, refuse, schedule_error
from .registry import PRIMITIVES, Param, Primitive
from .state import State
from .trace import Trace

if TYPE_CHECKING:
    from .methods import Methods
else:
    Methods = object  # primitives become methods when they register

_LEVELS = ("detail", "fast", "none")
_MASKS = {"none": 0, "all": 3}


class Schedule(Methods):
    """A module being scheduled: each primitive is a method and a step of the trace.

    `Schedule(mod)` takes an IRModule or a PrimFunc (which becomes the function `main`); what it is
    given is never changed.  A refused primitive raises ScheduleError and changes nothing.
    `debug_mask` ("none", "all" or bits: 1 places, 2 well-formedness) verifies after each step;
    `error_render_level` is "detail", "fast" or "none"; `enable_check=False` leaves out legality
    checks that need analysis.
    """

    __slots__ = ("__weakref__", "debug_mask", "error_render_level", "forgotten", "state", "trace")
    state: State
    trace: Trace
    error_render_level: str
    debug_mask: int

    def __init__(
        self,
        mod: IRModule | PrimFunc,
        *,
        seed: int | None = None,
        debug_mask: str | int = "none",
        error_render_level: str = "detail",
        enable_check: bool = True,
    ) -> None:
        if isinstance(mod, BaseFunc):
            mod = IRModule({"main": mod})
        if not isinstance(mod, IRModule):
            raise ArgumentTypeError(
                Diagnostic(
                    "argument-type", f"`Schedule` takes an IRModule or a PrimFunc, not {type(mod).__name__}"
                )
            )
        if error_render_level not in _LEVELS:
            raise ArgumentValueError(
                Diagnostic("option-value", f"`error_render_level` is one of {', '.join(_LEVELS)}")
            )
        if isinstance(debug_mask, str):
            if debug_mask not in _MASKS:
                raise ArgumentValueError(
                    Diagnostic("option-value", "`debug_mask` is 'none', 'all' or a number")
                )
            debug_mask = _MASKS[debug_mask]
        self.debug_mask = debug_mask
        self.error_render_level = error_render_level
        state = State(renew_definitions(mod), seed=start(seed), check=enable_check)
        if "main" in mod:
            state = state.having(working_on="main")
        self.state = state
        self.trace = Trace()
        self.forgotten: dict[int, Any] = {}
        self._verify()

    # the module

    @property
    def mod(self) -> IRModule:
        """The module as it is now."""
        return self.state.mod

    @property
    def func_working_on(self) -> Any:
        """The GlobalVar of the function in which `get_sblock` looks, or None."""
        name = self.state.working_on
        return None if name is None else self.mod.get_global_var(name)

    def work_on(self, func_name: str) -> None:
        """From now on `get_sblock` looks in this function. Raises IRError when there is none."""
        self.mod[func_name]
        self.state = self.state.having(working_on=func_name)

    def copy(self) -> Schedule:
        """An independent schedule in the same state; handles are good in both."""
        new = object.__new__(Schedule)
        new.debug_mask, new.error_render_level = self.debug_mask, self.error_render_level
        new.state = self.state.having(seed=self.fork_seed())
        new.trace = self.trace.copy()
        new.forgotten = dict(self.forgotten)
        return new

    __copy__ = copy

    def seed(self, seed: int) -> None:
        """Restart the random numbers; -1 for an arbitrary seed."""
        self.state = self.state.having(seed=fresh_seed() if seed == -1 else start(seed))

    def fork_seed(self) -> int:
        """A seed for another schedule; this one's random numbers go on elsewhere."""
        seed, other = fork(self.state.seed)
        self.state = self.state.having(seed=seed)
        return other

    # looking at handles

    def get(self, of: Any) -> Any:
        """What a handle stands for: the loop, the block, the number. Raises ScheduleError for a stale one."""
        try:
            self._remembered(of)
            if isinstance(of, SBlockRV):
                return self.state.block(of)
            if isinstance(of, LoopRV):
                return of.target if isinstance(of.target, str) else self.state.loop(of)
        except Refused as err:
            raise schedule_error(err.reason, "get", self.mod, self.error_render_level) from None
        if isinstance(of, Expr | int):
            return self.state.value(of)
        raise ArgumentTypeError(Diagnostic("argument-type", f"`get` takes a handle, not {type(of).__name__}"))

    def handle(self, node: For | SBlock) -> LoopRV | SBlockRV:
        """A handle for a loop or block of the module as it is now."""
        target = node.loop_var if isinstance(node, For) else node.ref
        if target not in self.state.places:
            raise ArgumentValueError(
                Diagnostic("argument-value", "the node does not stand in the scheduled module")
            )
        return LoopRV(target) if isinstance(node, For) else SBlockRV(target)

    def can_decompose_padding(self, block: SBlockRV | str, loop: LoopRV) -> bool:
        """Whether `decompose_padding` would be accepted; a question, so it is not recorded."""
        from .primitives.decompose_padding import can_decompose_padding

        if isinstance(block, str):
            count = len(self.trace)
            block = self._call(PRIMITIVES["get_sblock"], (block,), {})
            while len(self.trace) > count:
                self.trace.pop()
        assert isinstance(block, SBlockRV)
        return can_decompose_padding(self.state, block, loop)

    def remove_rv(self, rand_var: Any) -> None:
        """Forget this very handle or sampled number: using it is refused from now on."""
        self.forgotten[id(rand_var)] = rand_var
        if isinstance(rand_var, Var):
            values = {k: v for k, v in self.state.values.items() if k is not rand_var}
            self.state = self.state.having(values=values)

    def _remembered(self, handle: Any) -> None:
        if id(handle) in self.forgotten:
            raise refuse("stale-handle", f"the handle `{handle!r}` was removed")

    # running primitives

    def run(self, inst: Instruction, decision: Any = None) -> list[Any]:
        """Run an instruction with this decision and record it; gives its outputs, flat."""
        prim = inst.kind.primitive
        arguments = dict(inst.arguments)
        if prim.samples:
            arguments["decision"] = decision
        return _flat(self._apply(prim, arguments))

    def _call(self, prim: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        arguments = prim.bind(args, kwargs)
        return self._apply(prim, arguments)

    def _apply(self, prim: Primitive, arguments: dict[str, Any]) -> Any:
        saved, count = self.state, len(self.trace)
        try:
            for p in prim.params:
                if p.handles:
                    arguments[p.name] = self._checked(prim, p, arguments[p.name])
            if prim.prepare is not None:
                arguments = prim.prepare(self.state, arguments)
            return self._run(prim, arguments)
        except BaseException as err:
            self.state = saved
            while len(self.trace) > count:
                self.trace.pop()
            if isinstance(err, Refused):
                error = schedule_error(err.reason, prim.name, saved.mod, self.error_render_level)
                raise error from None
            raise

    def _run(self, prim: Primitive, arguments: dict[str, Any]) -> Any:
        step = f"step {len(self.trace) + 1}, `{prim.name}`,"
        given = {k: _resolved(v, self.state) for k, v in arguments.items()}
        with deep():
            result = _invoke(prim, self.state.having(step=step), given)
        state, outputs, decision = _parts(result)
        before, self.state = self.state, _marked(self.state.mod, state)
        if state.mod is not before.mod:
            self._verify()
        recorded = {k: v for k, v in arguments.items() if k != "decision"}
        self.trace.append(Instruction(InstructionKind(prim), recorded, _flat(outputs)), decision)
        return outputs

    def _checked(self, prim: Primitive, p: Param, value: Any) -> Any:
        """The handle or handles given for a parameter; names of blocks become handles."""
        if isinstance(value, list | tuple):
            return type(value)([self._checked(prim, p, v) for v in value])
        if isinstance(value, str) and SBlockRV in p.handles:
            return self._call(PRIMITIVES["get_sblock"], (value,), {})
        self._remembered(value)
        if isinstance(value, p.handles) or (value is None and not p.required):
            return value
        what = " or ".join([h.__name__ for h in p.handles])
        given = "a block" if isinstance(value, SBlockRV) else "a loop" if isinstance(value, LoopRV) else None
        raise ArgumentTypeError(
            Diagnostic(
                "argument-type",
                f"`{prim.name}`: parameter `{p.name}` takes a {what}, not {given or type(value).__name__}",
            )
        )

    def _verify(self) -> None:
        if self.debug_mask & 1:
            from .verify import verify_places

            verify_places(self.state)
        if self.debug_mask & 2:
            from ..ir.analysis import assert_well_formed

            assert_well_formed(self.mod)

    # showing

    def show(self, style: str | None = None, black_format: bool = False) -> None:
        """Print the module and the trace, in colour on a terminal; with `black_format` lines are wrapped."""
        from .view import print_text

        print_text(f"{self.mod.script(width=88 if black_format else None)}\n\n{self.trace}", style)

    def loop_tree(self) -> str:
        """The loops and blocks as a tree of text, a line each."""
        from .view import loop_tree

        return loop_tree(self.mod)

    def show_loops(self) -> None:
        """Print the loops and blocks as a tree."""
        print(self.loop_tree())

    def _repr_html_(self) -> str:
        from .view import html_of

        return html_of(self.mod.script()) + html_of(str(self.trace))

    def __repr__(self) -> str:
        names = ", ".join([g.name for g in self.mod.functions])
        return f"Schedule({names}; {len(self.trace)} steps)"


def _invoke(prim: Primitive, state: State, given: Mapping[str, Any]) -> Any:
    args: list[Any] = [state]
    kwargs: dict[str, Any] = {}
    for p in prim.params:
        if p.star:
            args.extend(given[p.name])
        else:
            kwargs[p.name] = given[p.name]
    return prim.run(*args, **kwargs)


def _marked(before: IRModule, state: State) -> State:
    """The state with functions that are new since `before` counting as scheduled."""
    if state.mod is before:
        return state
    functions = {
        g: f
        if f is before.get(g.name) or not isinstance(f, PrimFunc) or f.scheduled
        else f.replace(scheduled=True)
        for g, f in state.mod.functions.items()
    }
    if all(f is state.mod.functions[g] for g, f in functions.items()):
        return state
    mod = state.mod.replace(functions=functions)
    return state.having(mod=mod, _places=state._places, _names=state._names)


def _parts(result: Any) -> tuple[State, Any, Any]:
    if isinstance(result, State):
        return result, None, None
    if len(result) == 2:
        return result[0], result[1], None
    state, outputs, decision = result
    return state, outputs, decision


def _flat(outputs: Any) -> list[Any]:
    if outputs is None:
        return []
    return list(outputs) if isinstance(outputs, list | tuple) else [outputs]


def _resolved(value: Any, state: State) -> Any:
    """The argument with sampled numbers replaced by their values."""
    if not state.values or isinstance(value, Handle):
        return value
    if isinstance(value, Expr):
        if any(v in state.values for v in _vars_of(value)):
            return state.value(value)
        return value
    if isinstance(value, list | tuple):
        return type(value)([_resolved(v, state) for v in value])
    if isinstance(value, dict):
        return {k: _resolved(v, state) for k, v in value.items()}
    return value


def _vars_of(e: Expr) -> list[Var]:
    """The variables of an expression."""
    from ..ir import walk

    return [n for n in walk(e) if isinstance(n, Var)]


def _method(prim: Primitive) -> Callable[..., Any]:
    def method(self: Schedule, *args: Any, **kwargs: Any) -> Any:
        return self._call(prim, args, kwargs)

    method.__name__ = prim.name
    method.__qualname__ = f"Schedule.{prim.name}"
    method.__doc__ = prim.doc
    method.__module__ = prim.run.__module__
    parameters = list(prim.signature.parameters.values())
    import inspect

    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    method.__signature__ = prim.signature.replace(parameters=[own, *parameters])  # type: ignore[attr-defined]
    return method


def install_methods() -> None:
    """Make every registered primitive a method of Schedule."""
    for prim in PRIMITIVES.values():
        if not hasattr(Schedule, prim.name):
            setattr(Schedule, prim.name, _method(prim))


__all__ = ["Reason", "Schedule", "install_methods"]
