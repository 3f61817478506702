"""Replacing what patterns match."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar

from ....errors import ArgumentValueError, Diagnostic, DTypeError, IRError
from ...equal import structural_equal
from ...expr import Call, Expr, GlobalVar, Tuple, TupleGetItem, Var
from ...function import BaseFunc, IRModule
from ...visitor import Rewriter, find, free_vars
from ..analysis.purity import contains_impure_call
from ..analysis.unused import remove_all_unused
from ..block_builder import BlockBuilder
from ..expr import DataflowBlock, DataflowVar, Function, MatchCast, SeqExpr, VarBinding
from ..function_table import Names
from ..inline import emit_body
from ..normal_form import is_atom
from ..rewrite import GraphRewriter, rewrite_functions
from ..variable_kinds import merge_aliases
from .context import PatternContext
from .match import Matcher
from .pattern import CallPattern, ExprPattern, OrPattern, Pattern, TuplePattern, TypePattern, WildcardPattern

CallRewriter = Callable[[Expr, dict[Pattern, Expr]], Expr]
BindingsRewriter = Callable[[dict[Pattern, Var], dict[Var, Expr]], Mapping[Var, Expr]]

MOST_ROUNDS = 200
"""A rewriter that still changes a function after so many rounds is taken for endless."""


def rewrite_call(pattern: Pattern, rewriter: CallRewriter, func: Function) -> Function:
    """The function with each value that the pattern matches replaced, again until none is.

    The rewriter gets the value and what each pattern matched, and gives the new value, or the old one to
    leave it.  Values that are used no more are gone.  Raises IRError when it finds no end.
    """
    return _rewrite(
        func, lambda: _CallRewriter(pattern, lambda builder, found: rewriter(found[pattern], found))
    )


def _rewrite(func: Function, make: Callable[[], _CallRewriter]) -> Function:
    for _ in range(MOST_ROUNDS):
        change = make()
        made = change(func)
        if not change.changed:
            return func
        func = remove_all_unused(merge_aliases(made))
    raise IRError(
        Diagnostic("endless-rewriting", f"the rewriter of a pattern still matches after {MOST_ROUNDS} rounds")
    )


class _CallRewriter(GraphRewriter):
    """One round: `replace` gets the builder and what the patterns matched."""

    def __init__(
        self, pattern: Pattern, replace: Callable[[BlockBuilder, dict[Pattern, Expr]], Expr]
    ) -> None:
        super().__init__()
        self.pattern = pattern
        self.replace = replace
        self.changed = False

    def visit_VarBinding(self, binding: VarBinding) -> None:
        """Emit the binding, its value replaced where the pattern matches."""
        value = self.builder.normalize(self.visit(binding.value))
        new = self.replaced(value) if isinstance(value, Call | Tuple | TupleGetItem) else value
        if new is value:
            self.rebind(binding, value)
            return
        self.changed = True
        visible = isinstance(binding.var, DataflowVar) or not isinstance(new, DataflowVar)
        if isinstance(new, Var) and new.ty == binding.var.ty and visible:
            self.vars[binding.var] = new
        else:
            self.rebind(binding, new)

    def replaced(self, value: Expr) -> Expr:
        """What takes the place of a value; of alternatives, the first that the rewriter changes."""
        for alternative in _alternatives(self.pattern):
            matcher = Matcher(self.builder.values)
            if matcher.match(alternative, value):
                found = {**matcher.found, self.pattern: value}
                new = self.replace(self.builder, found)
                if not isinstance(new, Expr):
                    text = f"the rewriter of a pattern must give an expression, not a {type(new).__name__}"
                    raise IRError(Diagnostic("type-mismatch", text))
                if new is not value:
                    return new
        return value


def _alternatives(pattern: Pattern) -> list[Pattern]:
    if isinstance(pattern, OrPattern):
        return [*_alternatives(pattern.left), *_alternatives(pattern.right)]
    return [pattern]


def rewrite_bindings(context: PatternContext, rewriter: BindingsRewriter, func: Function) -> Function:
    """The function in which what the context's patterns match together is replaced, again until nothing is.

    The rewriter gets the variable of each pattern and the values of the block's variables, and gives new
    values for some variables.  Values that are used no more are gone.
    """
    made: Function = _BlockRewriter(context, rewriter)(func)
    return func if made is func else remove_all_unused(made)


class _BlockRewriter(GraphRewriter):
    def __init__(self, context: PatternContext, rewriter: BindingsRewriter) -> None:
        super().__init__()
        self.context = context
        self.rewriter = rewriter

    def visit_DataflowBlock(self, block: DataflowBlock) -> None:
        """Match and replace in the block before its bindings are emitted."""
        used: set[Var] = set()
        for _ in range(MOST_ROUNDS):
            found = self.context.match_dfb(block, without=used)
            if found is None:
                break
            values = {b.var: b.value for b in block.bindings}
            new = dict(self.rewriter(found, dict(values)))
            if new:
                block = _with_values(block, new)
            anchors = [found[e.user] for e in self.context.edges]
            used.update(new or anchors)
        self.visit_BindingBlock(block)


def _with_values(block: DataflowBlock, new: Mapping[Var, Expr]) -> DataflowBlock:
    """The block with these values, each binding after those that its value needs.

    What several of the values share, as one object, is computed once.
    """
    bindings = {b.var: b for b in block.bindings}
    shared: dict[int, Var] = {}
    for var, value in new.items():
        if value is not bindings[var].value:
            bindings[var] = VarBinding(var, _named_parts(value, shared, bindings))
    done: set[Var] = set()
    order: list[Any] = []
    for start in list(bindings):
        stack: list[tuple[Var, bool]] = [(start, False)]
        while stack:
            var, ready = stack.pop()
            if ready:
                order.append(bindings[var])
            elif var not in done:
                done.add(var)
                stack.append((var, True))
                needed = [v for v in free_vars(bindings[var].value) if v in bindings and v not in done]
                stack += [(v, False) for v in needed]
    return block.replace(bindings=order)


def _named_parts(e: Expr, shared: dict[int, Var], bindings: dict[Var, Any]) -> Expr:
    """The expression with names for what may not be an operand; `bindings` gets them."""

    def name(part: Expr) -> Expr:
        if is_atom(part):
            return part
        if id(part) not in shared:
            value = _named_parts(part, shared, bindings)
            var = shared[id(part)] = DataflowVar("lv", value.ty)
            bindings[var] = VarBinding(var, value)
        return shared[id(part)]

    if isinstance(e, Call):
        args = [name(a) for a in e.args]
        return e if all(a is b for a, b in zip(args, e.args)) else e.replace(args=args)
    if isinstance(e, Tuple):
        return Tuple([name(f) for f in e.fields_])
    return TupleGetItem(name(e.tuple_value), e.index) if isinstance(e, TupleGetItem) else e


class PatternMatchingRewriter:
    """A pattern and what replaces it, for expressions, functions and modules.

    `a | b` tries b where a does not match.
    """

    def __init__(self, rules: Sequence[Any]) -> None:
        self.rules = tuple(rules)

    @staticmethod
    def from_pattern(pattern: Pattern, func: CallRewriter) -> PatternMatchingRewriter:
        """Values that the pattern matches become what the function makes of them; None leaves them."""
        return PatternMatchingRewriter([_Rule(pattern, func)])

    @staticmethod
    def from_module(mod: IRModule) -> PatternMatchingRewriter:
        """The module's function `pattern` is replaced by its function `replacement`."""
        return PatternMatchingRewriter([_FunctionRule(mod)])

    def __or__(self, other: PatternMatchingRewriter) -> PatternMatchingRewriter:
        return PatternMatchingRewriter([*self.rules, *other.rules])

    def __call__(self, target: Any) -> Any:
        """The module, function or expression with all matches replaced."""
        if isinstance(target, IRModule):
            return self.module(target)
        if not isinstance(target, Function):
            return self.expression(target)
        for _ in range(MOST_ROUNDS):
            before = target
            for rule in self.rules:
                target = rule.apply(target)
            if target is before:
                return target
        raise IRError(
            Diagnostic("endless-rewriting", f"the rules still change the function after {MOST_ROUNDS} rounds")
        )

    def module(self, mod: IRModule) -> IRModule:
        """The module with all matches replaced, and the functions that replacements call."""
        names = Names(g.name for g in mod.functions)
        rules = [rule.renamed(names) for rule in self.rules]
        made = rewrite_functions(mod, PatternMatchingRewriter(rules))
        more = {g: f for rule in rules for g, f in rule.subroutines.items()}
        table = dict(made.functions)
        while True:
            used = {v.name for f in table.values() for v in find(f, GlobalVar)}
            fresh = {g: f for g, f in more.items() if g.name in used and g not in table}
            if not fresh:
                return made if len(table) == len(made.functions) else made.replace(functions=table)
            table.update(fresh)

    def expression(self, expr: Expr) -> Expr:
        """The expression, or what the first rule that matches makes of it."""
        for rule in self.rules:
            made = rule.expression(expr)
            if made is not expr:
                return made
        return expr


class _Rule:
    """One pattern and its rewriter."""

    subroutines: ClassVar[Mapping[GlobalVar, BaseFunc]] = {}

    def __init__(self, pattern: Pattern, rewriter: CallRewriter) -> None:
        self.pattern = pattern
        self.rewriter = rewriter

    def renamed(self, names: Names) -> _Rule:
        """The rule for a module in which these names are taken."""
        return self

    def apply(self, func: Function) -> Function:
        """The function with the matches replaced."""
        return rewrite_call(self.pattern, self.replace, func)

    def replace(self, expr: Expr, found: dict[Pattern, Expr]) -> Expr:
        """The new value."""
        new = self.rewriter(expr, found)
        return expr if new is None else new

    def expression(self, expr: Expr) -> Expr:
        """The expression, or its replacement."""
        matcher = Matcher({})
        return self.replace(expr, matcher.found) if matcher.match(self.pattern, expr) else expr


class _FunctionRule:
    """A function whose body is the pattern, and one that gives the replacement."""

    def __init__(self, mod: IRModule) -> None:
        pattern, replacement = mod["pattern"], mod["replacement"]
        if not isinstance(pattern, Function) or not isinstance(replacement, Function):
            raise DTypeError(Diagnostic("type-mismatch", "`pattern` and `replacement` are graph functions"))
        given, wanted = [p.ty for p in pattern.params], [p.ty for p in replacement.params]
        if len(given) != len(wanted) or not all(_alike(a, b) for a, b in zip(given, wanted)):
            text = "`pattern` and `replacement` must have the same signature"
            raise ArgumentValueError(Diagnostic("argument-type", text))
        self.subroutines = {
            g: f for g, f in mod.functions.items() if g.name not in ("pattern", "replacement")
        }
        for gvar, func in self.subroutines.items():
            if "global_symbol" in func.attrs:
                text = f"the function `{gvar.name}` of a rewriter is publicly exposed"
                raise ArgumentValueError(Diagnostic("argument-value", text, help=("make it private",)))
        self.replacement = replacement
        self.inputs = [TypePattern(WildcardPattern(), p.ty) for p in pattern.params]
        known: dict[Var, Pattern] = dict(zip(pattern.params, self.inputs))
        for block in pattern.body.blocks:
            for b in block.bindings:
                if isinstance(b, MatchCast):
                    raise IRError(Diagnostic("unsupported", "a cast in the pattern of a rewriter", b.span))
                known[b.var] = _as_pattern(b.value, known)
        body = _as_pattern(pattern.body.body, known)
        self.several = isinstance(body, TuplePattern)
        self.outputs: tuple[Pattern, ...] = body.fields if isinstance(body, TuplePattern) else (body,)

    def expression(self, expr: Expr) -> Expr:
        """The expression, or the replacement's value for what the parameters match."""
        matcher = Matcher({})
        if self.several or not matcher.match(self.outputs[0], expr):
            return expr
        builder = BlockBuilder()
        builder.begin_scope()
        value = self.emit(builder, matcher.found)
        return SeqExpr(builder.end_scope(), value)

    def renamed(self, names: Names) -> _FunctionRule:
        """The rule with names for its subroutines that are not taken."""
        if not self.subroutines:
            return self
        new = {g.name: g.replace(name=names.unique(g.name)) for g in self.subroutines}
        rename = _NewNames(new)
        made = copy(self)
        made.subroutines = {new[g.name]: rename(f) for g, f in self.subroutines.items()}
        made.replacement = rename(self.replacement)
        return made

    def emit(self, builder: BlockBuilder, found: Mapping[Pattern, Expr]) -> Expr:
        """The value of the replacement for what was matched, its bindings emitted."""
        return emit_body(builder, self.replacement, [found[p] for p in self.inputs])

    def apply(self, func: Function) -> Function:
        """The function with each match replaced."""
        if self.several:
            made: Function = _OutputsRewriter(self)(func)
            return func if made is func else remove_all_unused(made)
        return _rewrite(func, lambda: _CallRewriter(self.outputs[0], self.emit))


def _alike(a: Any, b: Any) -> bool:
    return structural_equal(a, b, map_free_vars=True)


class _NewNames(Rewriter):
    def __init__(self, names: Mapping[str, GlobalVar]) -> None:
        super().__init__()
        self.names = names

    def visit_GlobalVar(self, gvar: GlobalVar) -> Expr:
        """The function's name in the module."""
        return self.names.get(gvar.name, gvar)


class _OutputsRewriter(GraphRewriter):
    """Replaces several values at once, where the first of them stands; never across an effect."""

    def __init__(self, rule: _FunctionRule) -> None:
        super().__init__()
        self.rule = rule

    def visit_DataflowBlock(self, block: DataflowBlock) -> None:
        """Emit the bindings; a set of outputs is replaced when all of them are there."""
        self.replaced(block)

    def visit_BindingBlock(self, block: Any) -> None:
        """As for dataflow blocks."""
        self.replaced(block)

    def replaced(self, block: Any) -> None:
        values: dict[Var, Expr] = {}
        taken: dict[Var, Any] = {}
        since: dict[Var, int] = {}
        for place, binding in enumerate(block.bindings):
            values[binding.var] = binding.value
            if contains_impure_call(binding.value):
                since.clear()
                continue
            since[binding.var] = place
            found = None if binding.var in taken else self.outputs_at(binding.var, values, since, taken)
            if found is not None:
                outputs, args = found
                taken.update({var: (i, binding.var, args) for i, var in enumerate(outputs)})
        whole: dict[Var, Expr] = {}
        for binding in block.bindings:
            mine = taken.get(binding.var)
            if mine is None:
                self.visit(binding)
                continue
            index, last, args = mine
            if last not in whole:
                found = dict(zip(self.rule.inputs, [self.visit(a) for a in args]))
                whole[last] = self.rule.emit(self.builder, found)
            value = whole[last]
            field = value.fields_[index] if isinstance(value, Tuple) else TupleGetItem(value, index)
            self.rebind(binding, field)

    def outputs_at(
        self, last: Var, values: Mapping[Var, Expr], since: Mapping[Var, int], taken: Mapping[Var, Any]
    ) -> Any:
        """Variables that match all outputs, the last one among them, and what the parameters match.

        They stand behind the last effect, and what the parameters match before all of them.
        """

        def search(i: int, matcher: Matcher, chosen: list[Var]) -> list[Var] | None:
            if i == len(self.rule.outputs):
                return chosen if last in chosen and self.is_ready(chosen, matcher, since) else None
            for var in since:
                kept = dict(matcher.found), dict(matcher.symbols)
                if var not in taken and var not in chosen and matcher.match(self.rule.outputs[i], var):
                    done = search(i + 1, matcher, [*chosen, var])
                    if done is not None:
                        return done
                matcher.found, matcher.symbols = kept
            return None

        matcher = Matcher(values)
        chosen = search(0, matcher, [])
        if chosen is None:
            return None
        return chosen, [matcher.found[p] for p in self.rule.inputs]

    def is_ready(self, chosen: Sequence[Var], matcher: Matcher, since: Mapping[Var, int]) -> bool:
        """Whether the replacement's arguments are there where the first of the outputs stands."""
        first = min(since[v] for v in chosen)
        args = [matcher.found.get(p) for p in self.rule.inputs]
        return all(a is not None and since.get(a, -1) < first for a in args)  # type: ignore[call-overload]


def _as_pattern(e: Expr, known: Mapping[Var, Pattern]) -> Pattern:
    """The pattern of an expression whose variables are patterns."""
    if isinstance(e, Var) and e in known:
        return known[e]
    if isinstance(e, Tuple):
        return TuplePattern([_as_pattern(f, known) for f in e.fields_])
    if isinstance(e, TupleGetItem):
        return _as_pattern(e.tuple_value, known)[e.index]
    if isinstance(e, Call):
        call: Pattern = CallPattern(ExprPattern(e.op), [_as_pattern(a, known) for a in e.args])  # type: ignore[arg-type]
        return call.has_attr(e.attrs) if e.attrs else call
    return ExprPattern(e)


__all__ = [
    "PatternMatchingRewriter",
    "rewrite_bindings",
    "rewrite_call",
]
