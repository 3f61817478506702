"""The pattern language of graphs: what expressions look like, matching them, replacing them."""

from __future__ import annotations

from .context import PatternContext, PatternSeq
from .match import match
from .pattern import *  # noqa: F403
from .pattern import __all__ as _patterns
from .rewrite import PatternMatchingRewriter, rewrite_bindings, rewrite_call
from .text import parse_pattern

__all__ = [
    "PatternContext",
    "PatternMatchingRewriter",
    "PatternSeq",
    "match",
    "parse_pattern",
    "rewrite_bindings",
    "rewrite_call",
    *_patterns,
]
