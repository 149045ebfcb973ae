"""Pages that are filled in without a browser."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dragoman.evaluation.human.forms import JudgedOutput, JudgedSentence, Key


def fill(
    key: Key, annotator: str, answer: Callable[[JudgedSentence, JudgedOutput], dict[str, Any]], count: int | None = None
) -> Any:
    """What a page saves when `answer` is given for each translation of the first `count` sentences."""
    judgments = {
        item.id: {output.id: {"errors": [], **answer(item, output)} for output in item.outputs}
        for item in key.items[:count]
    }
    return {"version": 1, "page": key.page, "annotator": annotator, "judgments": judgments}


def save(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path
