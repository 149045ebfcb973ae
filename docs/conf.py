"""Configuration of Sphinx: `make docs` builds a site from the pages of this repository, without a network."""

import inspect
import re
import sys
from pathlib import Path
from typing import get_type_hints

from docutils import nodes
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from dragoman.version import __version__  # noqa: E402

project = "dragoman"
version = release = __version__
copyright = "the authors of dragoman"  # noqa: A001 (a name of Sphinx)
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "docs/index"
include_patterns = ["docs/**", "configs/**", "notebooks/**", "*.md"]
exclude_patterns = [".*", "README.md", "build"]  # docs/index.md is the front page
source_suffix = {".md": "markdown"}
html_theme = "furo"
html_title = "dragoman"
html_static_path = ["static"]
html_css_files = ["tables.css"]
html_search_scorer = str(ROOT / "docs" / "search-scorer.js")  # relative, it would be to the current folder
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


def _plain_signature(part: type) -> str:
    """Return the signature with names of classes alone, and types without what `Annotated` adds to them."""
    hints = get_type_hints(part if issubclass(part, tuple) else part.__init__)
    signature = inspect.signature(part)
    parameters = [
        parameter.replace(annotation=hints.get(name, parameter.annotation))
        for name, parameter in signature.parameters.items()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)  # those of `nn.Module`
    ]
    text = str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))
    return re.sub(r"\b(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])", "", text)


def write_reference(app: Sphinx) -> None:
    """Write the pages that are made from the code and from the notebooks."""
    from tools import notebook_pages, reference

    reference.write(ROOT / "docs" / "reference")
    notebook_pages.write(ROOT / "notebooks")


def hide_constructor(
    app: Sphinx, kind: str, name: str, value: object, options: object, signature: str | None, annotation: str | None
) -> tuple[str, str] | None:
    """Return an empty signature for a class whose objects are not created by users, and for a part of a model one
    without the ranges of its options.
    """
    if kind != "class" or not signature or name in CONSTRUCTED:
        return None
    if not name.startswith("dragoman.nn."):
        return "", ""
    return (_plain_signature(value), "") if isinstance(value, type) else None


def remove_aliases(app: Sphinx, kind: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Remove what named tuples have instead of docstrings of their fields."""
    lines[:] = [line for line in lines if not line.startswith("Alias for field number")]


def prepare_tables(app: Sphinx, document: nodes.document) -> None:
    """Make rows of the literature targets of links (`literature.md#b4`), and long code in tables breakable."""
    for row in document.findall(nodes.row):
        for literal in row.findall(nodes.literal):
            if len(literal.astext()) > 20:  # short names stay whole, and keep their columns wide enough
                literal["classes"].append("breakable")
        name = row[0].astext().lower()
        if app.env.docname == "docs/literature" and re.fullmatch(r"[a-z]\d+", name):
            row["ids"].append(name)
            app.env.domains.standard_domain.note_hyperlink_target(name, app.env.docname, name)


def setup(app: Sphinx) -> None:
    """Connect the functions above to the events of Sphinx."""
    app.connect("builder-inited", write_reference)
    app.connect("doctree-read", prepare_tables)
    app.connect("autodoc-process-docstring", remove_aliases)
    app.connect("autodoc-process-signature", hide_constructor)
