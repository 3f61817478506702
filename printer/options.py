"""The options of `script`, checked once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from ..errors import ArgumentTypeError, ArgumentValueError, Diagnostic, suggest

_EXTRA = (
    "tirx.prefix",
    "relax.prefix",
    "relax.show_all_ty",
    "script.use_pep695",
    "render_invisible_path_info",
)


@dataclass(frozen=True, slots=True)
class Options:
    """How a program is shown.

    name                 the name of the module's class, or of a function without a global symbol
    show_meta            put the constants that have no literal form in front, as base64 text
    ir_prefix            the name of the module dialect
    module_alias         the name by which graph functions call the module ("": its own name)
    int_dtype            integer constants of this dtype print as bare numbers
    float_dtype          float constants of this dtype print as bare numbers ("void": none)
    verbose_expr         an expression is preceded by declarations of its variables
    indent_spaces        spaces per level
    print_line_numbers   put a number in front of each line
    num_context_lines    lines to keep around marked lines (-1: all)
    syntax_sugar         False: no `T.grid`, no `T.axis.remap`, the root block in full
    show_object_address  append each variable's identity to its name
    show_all_ty          graph bindings print their types
    extra_config         further settings by their dotted names
    path_to_underline    access paths whose text is underlined
    path_to_annotate     comments by access path
    obj_to_underline     nodes whose text is underlined
    obj_to_annotate      comments by node: a mapping, or pairs of node and text
    header               whose import lines to print: "loopwright" or "tvm" (then floats print as TVM's, too)
    width                wrap lines longer than this (None: never)
    """

    name: str | None = None
    show_meta: bool = False
    ir_prefix: str = "I"
    module_alias: str = "cls"
    int_dtype: str = "int32"
    float_dtype: str = "void"
    verbose_expr: bool = False
    indent_spaces: int = 4
    print_line_numbers: bool = False
    num_context_lines: int = -1
    syntax_sugar: bool = True
    show_object_address: bool = False
    show_all_ty: bool = True
    extra_config: Mapping[str, Any] = field(default_factory=dict)
    path_to_underline: Sequence[Any] = ()
    path_to_annotate: Any = ()
    obj_to_underline: Sequence[Any] = ()
    obj_to_annotate: Any = ()
    header: str = "loopwright"
    width: int | None = None

    @property
    def tir_prefix(self) -> str:
        return str(self.extra_config.get("tirx.prefix", "T"))

    @property
    def relax_prefix(self) -> str:
        return str(self.extra_config.get("relax.prefix", "R"))

    @property
    def all_ty(self) -> bool:
        """Whether graph bindings print their types even where the value tells them."""
        return bool(self.extra_config.get("relax.show_all_ty", self.show_all_ty))

    @property
    def pep695(self) -> bool:
        return bool(self.extra_config.get("script.use_pep695", False))

    @property
    def marks(self) -> bool:
        """Whether text ranges of nodes are needed."""
        return bool(
            self.path_to_underline or self.path_to_annotate or self.obj_to_underline or self.obj_to_annotate
        )


_NAMES = tuple(f.name for f in fields(Options))


def make_options(given: Mapping[str, Any]) -> Options:
    """The options that `given` says; None means the default.

    Raises ArgumentTypeError for an unknown name and ArgumentValueError for a value that cannot be.
    """
    for key in given:
        if key not in _NAMES:
            raise ArgumentTypeError(
                Diagnostic("unknown-option", f"`script` has no option `{key}`", help=suggest(key, _NAMES))
            )
    options = Options(**{k: v for k, v in given.items() if v is not None})
    for key in options.extra_config:
        if key not in _EXTRA:
            raise ArgumentValueError(
                Diagnostic("unknown-option", f"`extra_config` has no key `{key}`", help=suggest(key, _EXTRA))
            )
    if options.header not in ("loopwright", "tvm"):
        raise ArgumentValueError(
            Diagnostic("option-value", f"`header` is 'loopwright' or 'tvm', not {options.header!r}")
        )
    for what in (options.ir_prefix, options.tir_prefix, options.relax_prefix, options.module_alias or "cls"):
        if not what.isidentifier():
            raise ArgumentValueError(Diagnostic("option-value", f"`{what}` cannot be a prefix or alias"))
    if options.indent_spaces < 1:
        raise ArgumentValueError(Diagnostic("option-value", "`indent_spaces` must be at least 1"))
    return options
