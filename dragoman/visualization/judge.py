"""The page on which annotators judge translations: a single self-contained HTML file, filled in from `judge.html`."""

import json
from collections.abc import Mapping
from importlib import resources
from typing import Any


def page(shown: Mapping[str, Any]) -> str:
    """Return the text of an HTML file with what it shows as JSON. Texts are shown as they are, never taken for markup.

    `shown` has `version`, `page` (an id), `questions` (name, prompt, answers), whether `rank` is asked, the
    `categories` and `severities` of errors, and `items` with a source and outputs in `pieces`.
    """
    template = resources.files("dragoman.visualization").joinpath("judge.html").read_text("utf-8")
    data = json.dumps(shown, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    head, foot = template.split("{{data}}")
    return (head + data + foot).encode("utf-8", "replace").decode("utf-8")  # a lone surrogate cannot be written
