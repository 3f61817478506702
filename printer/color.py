"""Colours for a terminal, through pygments where it is installed."""

from __future__ import annotations

from ..errors import missing_dependency

_STYLES = {"light": "friendly", "dark": "monokai"}


def highlight(text: str, style: str = "light") -> str:
    """The text with terminal colours: "light", "dark", "ansi" (16 colours) or a style of pygments.

    Raises MissingDependencyError without pygments, ArgumentValueError for an unknown style.
    """
    try:
        import pygments  # type: ignore[import-untyped,unused-ignore]
        from pygments.formatters import Terminal256Formatter, TerminalFormatter  # type: ignore[import-untyped,unused-ignore]
        from pygments.lexers import PythonLexer  # type: ignore[import-untyped,unused-ignore]
        from pygments.util import ClassNotFound  # type: ignore[import-untyped,unused-ignore]
    except ImportError as err:
        raise missing_dependency("pygments", "cli") from err
    from ..errors import ArgumentValueError, Diagnostic, suggest

    if style == "ansi":
        formatter = TerminalFormatter()
    else:
        try:
            formatter = Terminal256Formatter(style=_STYLES.get(style, style))
        except ClassNotFound as err:
            from pygments.styles import get_all_styles  # type: ignore[import-untyped,unused-ignore]

            known = ["light", "dark", "ansi", *get_all_styles()]
            raise ArgumentValueError(
                Diagnostic("option-value", f"there is no style `{style}`", help=suggest(style, known))
            ) from err
    made = pygments.highlight(text, PythonLexer(), formatter)
    return made if text.endswith("\n") else made.removesuffix("\n")
