"""Configuration of Sphinx: `make docs` builds a site from the pages of this repository, without a network."""

import sys
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from dragoman.version import __version__  # noqa: E402

project = "dragoman"
version = release = __version__
copyright = "the authors of dragoman"  # noqa: A001 (a name of Sphinx)
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "docs/index"
include_patterns = ["docs/**", "configs/**", "*.md"]
exclude_patterns = [".*", "README.md", "build"]  # docs/index.md is the front page
source_suffix = {".md": "markdown"}
html_theme = "furo"
html_title = "dragoman"
html_additional_pages = {"index": "start.html"}  # leads to the front page
templates_path = ["templates"]
html_show_sphinx = False
html_copy_source = False
myst_heading_anchors = 4
default_role = "code"  # `x` in a docstring, as in Markdown
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True  # a constant by its name
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 100
# Public classes that users construct. Objects of the others come from functions and methods.
CONSTRUCTED = {"dragoman.Result", "dragoman.RunFolder"}


def setup(app: Sphinx) -> None:
    def write(_: Sphinx) -> None:
        from tools import reference

        reference.write(ROOT / "docs" / "reference")

    def without_fields(_: Sphinx, what: str, *others: object) -> tuple[str, str] | None:
        return ("", "") if what == "class" and others[-2] and others[0] not in CONSTRUCTED else None

    def without_aliases(_: Sphinx, what: str, *others: list[str]) -> None:
        lines = others[-1]
        lines[:] = [line for line in lines if not line.startswith("Alias for field number")]  # of named tuples

    app.connect("builder-inited", write)
    app.connect("autodoc-process-docstring", without_aliases)
    app.connect("autodoc-process-signature", without_fields)
