"""`timeline`: how long the phases and passes of compiling kernels take, as a table or a page."""

from __future__ import annotations

from pathlib import Path

from ..errors import Diagnostic
from .load import load, pick, split_name
from .report import OK, say
from .sources import FileError


def run_timeline(what: str, *, target: str = "llvm", page: str | None = None) -> int:
    """Print the timelines of the kernels of a file, or of the one that is named; write a page if asked to."""
    from ..codegen.timeline import timeline
    from ..codegen.timeline_page import page as page_of

    path, name = split_name(what)
    found = load(path)
    values = {name: pick(found, name, path)} if name else found
    made = [timeline(value, target, title=key) for key, value in values.items()]
    print("\n\n".join([t.render() for t in made]))
    if page is not None:
        try:
            Path(page).write_text(page_of(made), encoding="utf-8")
        except OSError as err:
            raise FileError(Diagnostic("file", f"`{page}` cannot be written: {err.strerror}")) from err
        say(f"the page is {page}")
    return OK
