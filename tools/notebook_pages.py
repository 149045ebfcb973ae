"""The pages of the site that show the notebooks with their stored outputs. Nothing is executed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PICTURES = ("image/svg+xml", "text/html")  # of several forms of an output, the first one is shown


def write(folder: Path) -> None:
    """Write a Markdown page beside each notebook of the folder."""
    for path in folder.glob("*.ipynb"):
        page = path.with_suffix(".md")
        text = markdown(json.loads(path.read_text("utf-8")))
        if not page.is_file() or page.read_text("utf-8") != text:  # an unchanged page is not built again
            page.write_text(text, encoding="utf-8")


def markdown(notebook: dict[str, Any]) -> str:
    """Return a notebook as Markdown of MyST. Links to other notebooks lead to their pages."""
    blocks = [block for cell in notebook["cells"] for block in _blocks(cell)]
    return "\n\n".join(blocks) + "\n"


def _blocks(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source.replace(".ipynb)", ".md)")
        return
    yield _fenced("ipython3", source)  # the lexer of IPython, which knows `!command`
    for output in cell["outputs"]:
        data = output.get("data", {})
        picture = next((data[kind] for kind in PICTURES if kind in data), None)
        if picture is not None:
            yield _fenced("{raw} html", "".join(picture))
        else:
            yield _fenced("text", "".join(output.get("text", data.get("text/plain", ""))))


def _fenced(language: str, text: str) -> str:
    return f"````{language}\n{text.rstrip()}\n````"
