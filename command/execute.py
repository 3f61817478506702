"""`run`: call a kernel on arrays from files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentValueError, Diagnostic, suggest
from ..ir import BufferType, Expr, IRModule, PointerType, PrimFunc, PrimType, Var
from .load import UsageError, load, pick, split_name
from .report import OK, say

if TYPE_CHECKING:
    import numpy as np


def run_run(
    what: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    *,
    target: str = "llvm",
    interpret: bool = False,
    time: bool = False,
) -> int:
    """Run a kernel; save or print the arrays that it makes, print what it returns."""
    func, module = _kernel(what)
    values = _inputs(func, inputs)
    made = _make_outputs(func, values)
    saved = _outputs(func, outputs, made)
    call = _callable(func, module, target, interpret)
    args = [values[p] for p in func.params]
    returned = call(*args)
    for param, path in saved.items():
        _save(path, values[param])
        say(f"{param.name} {values[param].shape} {param.dtype} -> {path}")
    for param in made:
        if param not in saved:
            print(f"{param.name} =", values[param])
    if returned is not None:
        print(returned)
    if time:
        _time(call, args)
    return OK


def _kernel(what: str) -> tuple[PrimFunc, IRModule]:
    path, name = split_name(what)
    found = load(path)
    if name is None:
        if len(found) != 1:
            help = (f"name one: {', '.join([f'{path}:{n}' for n in found])}",)
            raise UsageError(Diagnostic("usage", f"`{path}` has {len(found)} kernels", help=help))
        name = next(iter(found))
    value = pick(found, name, path)
    if isinstance(value, IRModule):
        functions = [f for f in value.functions.values() if isinstance(f, PrimFunc)]
        main = functions[0] if len(functions) == 1 else value["main"]
        if isinstance(main, PrimFunc):
            return main, value
    if not isinstance(value, PrimFunc):
        raise UsageError(
            Diagnostic("usage", f"`{name}` is a {type(value).__name__}, which `run` cannot call")
        )
    holders = [m for m in found.values() if isinstance(m, IRModule)]
    home = next((m for m in holders if any(f is value for f in m.functions.values())), None)
    return value, home if home is not None else IRModule.from_expr(value)


def _callable(func: PrimFunc, module: IRModule, target: str, interpret: bool) -> Callable[..., Any]:
    if interpret:
        from ..codegen.python import interpret as run

        return lambda *args: run(func, args, module=module)
    from ..codegen import build

    name = next(g.name for g, f in module.functions.items() if f is func)
    return build(module, target)[str(func.attrs.get("global_symbol", name))]


def _split(text: str, func: PrimFunc) -> tuple[Var | None, str]:
    """`NAME=VALUE` as parameter and value."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        return None, text
    for param in func.params:
        if param.name == name:
            return param, value
    names = [p.name for p in func.params]
    help = suggest(name, names) or (f"it has: {', '.join(names)}",)
    raise UsageError(Diagnostic("usage", f"the kernel has no parameter `{name}`", help=help))


def _inputs(func: PrimFunc, inputs: Sequence[str]) -> dict[Var, Any]:
    """The values of the parameters that have an input."""
    values: dict[Var, Any] = {}
    named = [_split(text, func) for text in inputs]
    free = [p for p in func.params if all(p is not given for given, _ in named)]
    for given, text in named:
        if given is None and not free:
            message = f"{len(inputs)} inputs for {len(func.params)} parameters"
            raise UsageError(Diagnostic("usage", message))
        param = given if given is not None else free.pop(0)
        values[param] = _value(param, text)
    return values


def _value(param: Var, text: str) -> Any:
    if isinstance(param.ty, BufferType | PointerType):
        return _load(text, param)
    words = {"true": True, "True": True, "false": False, "False": False}
    if text in words:
        return words[text]
    try:
        return float(text) if param.dtype.is_float else int(text, 0)
    except ValueError:
        message = f"`{text}` is no number for `{param.name}`"
        raise UsageError(Diagnostic("usage", message)) from None


def _load(path: str, param: Var) -> np.ndarray[Any, Any]:
    import numpy as np

    try:
        array: np.ndarray[Any, Any] = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as err:
        message = f"`{path}` is no .npy file for `{param.name}`: {err}"
        raise UsageError(Diagnostic("usage", message)) from None
    if isinstance(param.ty, BufferType):
        item = param.ty.dtype.numpy()
        if array.dtype.kind == "V" and array.dtype.itemsize == item.itemsize:
            array = array.view(item)  # .npy keeps formats that numpy lacks as plain bytes
    return array


def _save(path: str, array: np.ndarray[Any, Any]) -> None:
    import numpy as np

    try:
        with Path(path).open("wb") as file:
            np.save(file, array, allow_pickle=False)
    except OSError as err:
        raise UsageError(Diagnostic("usage", f"`{path}` cannot be written: {err.strerror}")) from None


def _make_outputs(func: PrimFunc, values: dict[Var, Any]) -> list[Var]:
    """Arrays of zeros for the array parameters without an input. Raises UsageError where one has no size."""
    import numpy as np

    made = []
    known = _symbols(func, values)
    for param in func.params:
        if param in values:
            continue
        ty = param.ty
        if isinstance(ty, PrimType) and param in known:
            values[param] = known[param]
            continue
        if not isinstance(ty, BufferType):
            help = (f"add `--input {param.name}=...`",)
            raise UsageError(Diagnostic("usage", f"`{param.name}` has no value", help=help))
        shape = [_evaluate(size, known, param) for size in ty.shape]
        lanes = [ty.dtype.lanes] if ty.dtype.is_vector else []
        values[param] = np.zeros([*shape, *lanes], ty.dtype.numpy())
        made.append(param)
    return made


def _symbols(func: PrimFunc, values: dict[Var, Any]) -> dict[Var, int]:
    """What the sizes of the given arrays say of the symbols in the shapes."""
    known = {p: v for p, v in values.items() if isinstance(v, int)}
    for param, value in values.items():
        if isinstance(param.ty, BufferType) and hasattr(value, "shape"):
            for size, number in zip(param.ty.shape, value.shape):
                if isinstance(size, Var):
                    known.setdefault(size, int(number))
    return known


def _evaluate(size: Expr, known: dict[Var, int], param: Var) -> int:
    from ..codegen.python import evaluate
    from ..ir import walk

    missing = [v.name for v in walk(size) if isinstance(v, Var) and v not in known]
    if missing:
        help = (f"add `--input {param.name}=...`",)
        message = f"the size of `{param.name}` depends on `{missing[0]}`, which no input tells"
        raise UsageError(Diagnostic("usage", message, help=help))
    number = evaluate(size, known)
    if number < 0:
        raise ArgumentValueError(f"`{param.name}` would have the negative size {number}")
    return int(number)


def _outputs(func: PrimFunc, outputs: Sequence[str], made: list[Var]) -> dict[Var, str]:
    saved: dict[Var, str] = {}
    named = [_split(text, func) for text in outputs]
    free = [p for p in made if all(p is not given for given, _ in named)]
    for given, path in named:
        if given is None and not free:
            what = ", ".join([p.name for p in made]) or "none"
            message = f"there is no array for `--output {path}` (arrays without an input: {what})"
            raise UsageError(Diagnostic("usage", message, help=("name one: `--output NAME=FILE`",)))
        param = given if given is not None else free.pop(0)
        if not isinstance(param.ty, BufferType):
            raise UsageError(Diagnostic("usage", f"`{param.name}` is no array"))
        saved[param] = path
    return saved


def _time(call: Callable[..., Any], args: Sequence[Any]) -> None:
    from ..runtime import Module

    say(str(Module("run", {"kernel": call}).time("kernel", *args, number=1, repeat=5, min_repeat_ms=20)))
