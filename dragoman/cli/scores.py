"""Scores of texts against references, and their output."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.configuration.messages import nearest
from dragoman.errors import UserError
from dragoman.evaluation.metrics import METRICS, Score
from dragoman.files import LONGEST_TEXT, read_lines, shown


class Text(NamedTuple):
    """The lines of a file."""

    path: Path
    lines: list[str]


def read(path: Path) -> Text:
    """Read a file whose lines are to be scored. Raises UserError if one is too long."""
    lines = list(read_lines(path, LONGEST_TEXT))
    for number, line in enumerate(lines, start=1):
        if len(line) > LONGEST_TEXT:
            raise UserError(f"{shown(path)}:{number}: more than {LONGEST_TEXT:,} characters, the most to be scored")
    return Text(path, lines)


def check(found: int, where: Path, references: Sequence[Text]) -> None:
    """Raises UserError if a reference has a different number of lines."""
    for path, lines in references:
        if len(lines) != found:
            raise UserError(f"{path} has {len(lines):,} lines, but {shown(where)} has {found:,}")


def scores(found: Text, references: Sequence[Text], metrics: Iterable[str], given: Mapping[str, Any]) -> list[Score]:
    """Return the scores by the named metrics, each with those of the given options that it knows."""
    check(len(found.lines), found.path, references)
    measures = [components.build(METRICS, spec) for spec in _specs(metrics, given)]
    return [metric.corpus(found.lines, [lines for _, lines in references]) for metric in measures]


def _specs(metrics: Iterable[str], given: Mapping[str, Any]) -> list[Spec]:
    specs = []
    for name in metrics:
        if name not in METRICS:
            raise UserError(f"--metrics: unknown metric '{name}', {nearest(name, METRICS)}")
        has = components.options(METRICS[name])
        if given["lowercase"] and "lowercase" not in has:
            raise UserError(f"--lowercase: '{name}' does not ignore letter case")
        specs.append(Spec(name, {option: value for option, value in given.items() if option in has}))
    return specs


def told(scores: Sequence[Score], *, as_json: bool) -> str:
    """Return a line for each score, or JSON in the form of sacreBLEU: an object, or a list if there are several."""
    if not as_json:
        return "\n".join(map(str, scores))
    listed = [
        {
            "name": score.name,
            "score": round(score.value, 2),
            "signature": score.signature,
            **dict(part.split(":", 1) for part in score.signature.split("|")),
        }
        for score in scores
    ]
    return json.dumps(listed if len(listed) > 1 else listed[0], indent=1, ensure_ascii=False)


def named(scores: Iterable[Score], more: str) -> list[Score]:
    """Return the scores with `more` added to their signatures."""
    return [score._replace(signature=score.signature + more) for score in scores]
