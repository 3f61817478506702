"""From IR to script: surface trees, their layout, and texts that know where each node stands."""

from __future__ import annotations

from . import metadata
from .color import highlight
from .layout import layout
from .names import RESERVED
from .script import script, show, surface
from .shown import Shown
from .text import Text

__all__ = ["RESERVED", "Shown", "Text", "highlight", "layout", "metadata", "script", "show", "surface"]
