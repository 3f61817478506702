"""Settings of the documentation: `make docs`."""

from __future__ import annotations

import loopwright

project = "loopwright"
author = "The loopwright developers"
copyright = author
release = version = loopwright.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build", "examples"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "description"
nitpicky = False

html_theme = "furo"
html_title = f"loopwright {release}"
pygments_style = "friendly"
