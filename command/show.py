"""`show`: print kernels as script, as JSON, lowered, or as the code built from them."""

from __future__ import annotations

from ..errors import Diagnostic, suggest
from ..ir import BaseFunc, IRModule, to_json
from .load import UsageError, load, pick, split_name
from .report import OK


def run_show(
    what: str,
    *,
    after: str | None = None,
    target: str = "llvm",
    emit: str | None = None,
    as_json: bool = False,
    width: int | None = None,
) -> int:
    """Print the kernels of a file, or the one that is named."""
    path, name = split_name(what)
    found = load(path)
    values = {name: pick(found, name, path)} if name else found
    shown = [_text(key, value, after, target, emit, as_json, width) for key, value in values.items()]
    print("\n\n".join([text.rstrip("\n") for text in shown]))
    return OK


def _text(
    name: str,
    value: IRModule | BaseFunc,
    after: str | None,
    target: str,
    emit: str | None,
    as_json: bool,
    width: int | None,
) -> str:
    if emit is not None:
        from ..codegen import build

        return build(value, target).source(emit)
    if after is not None:
        value = _lowered(value if isinstance(value, IRModule) else IRModule.from_expr(value), after, target)
    if as_json:
        return to_json(value)
    from ..printer import script

    private = not isinstance(value, IRModule) and "global_symbol" not in value.attrs
    return script(value, width=width, show_meta=True, **({"name": name} if private else {}))


def _lowered(mod: IRModule, after: str, target: str) -> IRModule:
    """The module after the passes of the target's pipeline up to the named one.

    As in a build, functions that nobody scheduled get the loops that default rules choose before.
    """
    from ..schedule.dlight import default_schedule
    from ..target import Target
    from ..transform import CPU_PIPELINE, lower

    mod = default_schedule(mod, Target(target))
    if after == "schedule":
        return mod
    if after == "all":
        return lower(mod, Target(target))
    names = [p.name for p in CPU_PIPELINE]
    if after not in names:
        help = suggest(after, names) or (f"passes: {', '.join(names)}",)
        raise UsageError(Diagnostic("usage", f"the pipeline has no pass `{after}`", help=help))
    for one in CPU_PIPELINE:
        mod = one(mod)
        if one.name == after:
            break
    return mod
