"""`dragoman evaluate`: translations against references, with signatures."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from dragoman import components
from dragoman.commands.lines import one_stream
from dragoman.components import Spec
from dragoman.errors import UserError
from dragoman.evaluation.metrics import METRICS, Score
from dragoman.files import read_lines
from dragoman.wording import nearest

if TYPE_CHECKING:
    from dragoman.translator import Translator


class Text(NamedTuple):
    """The lines of a file."""

    path: Path
    lines: list[str]


class Measures(NamedTuple):
    """Which metrics, and how they take the text."""

    metrics: str
    tokenise: str
    lowercase: bool


def evaluate_lines(hypotheses: Path, references: Sequence[Path], measures: Measures, *, as_json: bool) -> None:
    """Score a file of translations, or standard input (`-`), against one or more references."""
    one_stream(hypotheses, *references)
    if str(hypotheses) == "-" and sys.stdin.isatty():
        typer.echo("reading translations from the keyboard; Ctrl-D ends them", err=True)
    _tell(_scores(_read(hypotheses), list(map(_read, references)), measures), as_json)


def evaluate_run(
    run: Path,
    source: Path,
    references: Sequence[Path],
    measures: Measures,
    *,
    as_json: bool,
    candidates: tuple[int, int] | None = None,
) -> None:
    """Score what a run makes of `source`, and how well it predicts the reference, if there is one alone.

    With `candidates`, the same scores once more with these, and how much of the references they cover.
    """
    from dragoman import inspection  # these take torch, which scoring a file does without
    from dragoman.training.validation import likelihood
    from dragoman.translator import load

    one_stream(source, *references)
    sources, against = _read(source), list(map(_read, references))
    _check(sources, against)
    translator = load(run)
    narrowed = load(run, candidates=candidates) if candidates else None
    scores = _scores(_translated(translator, sources), against, measures)
    if len(against) == 1:  # of use among runs with the same symbols
        likely = likelihood(translator.model, translator.pairs(sources.lines, against[0].lines))
        scores += inspection.prediction(translator.target, likely.perplexity, likely.accuracy)
    if narrowed:
        scores += _with_candidates(narrowed, sources, against, measures)
    _tell(scores, as_json)


def _translated(translator: "Translator", sources: Text) -> Text:
    return Text(sources.path, [translation.text for translation in translator.translate(sources.lines)])


def _with_candidates(
    translator: "Translator", sources: Text, references: Sequence[Text], measures: Measures
) -> list[Score]:
    """The scores with candidates, and the percentage of the references' symbols that are among them."""
    assert translator.candidates is not None
    ids = list(map(translator.source.ids, sources.lines))
    pairs = [pair for _, lines in references for pair in zip(ids, map(translator.target.ids, lines), strict=True)]
    found = translator.candidates.coverage(pairs)
    percentage = 100 * found.covered / max(1, found.symbols)
    mean = f"{found.candidates / max(1, found.sentences):.0f}"
    signature = f"symbols:{found.symbols}|mean:{mean}|of:{translator.candidates.symbols}"
    scores = [*_scores(_translated(translator, sources), references, measures), Score("Covered", percentage, signature)]
    named = f"|candidates:{translator.candidates.name}"
    return [score._replace(signature=score.signature + named) for score in scores]


def _read(path: Path) -> Text:
    return Text(path, list(read_lines(path)))


def _check(found: Text, references: Sequence[Text]) -> None:
    for path, lines in references:
        if len(lines) != len(found.lines):
            name = "<stdin>" if str(found.path) == "-" else found.path
            raise UserError(f"{path} has {len(lines):,} lines, but {name} has {len(found.lines):,}")


def _scores(found: Text, references: Sequence[Text], measures: Measures) -> list[Score]:
    _check(found, references)
    metrics = [components.build(METRICS, spec) for spec in _specs(measures)]
    return [metric.corpus(found.lines, [lines for _, lines in references]) for metric in metrics]


def _specs(measures: Measures) -> list[Spec]:
    specs = []
    for name in measures.metrics.split(","):
        if name not in METRICS:
            raise UserError(f"--metrics: unknown metric '{name}', {nearest(name, METRICS)}")
        options: dict[str, Any] = {"lowercase": measures.lowercase}
        specs.append(Spec(name, {**options, "tokenise": measures.tokenise} if name == "bleu" else options))
    return specs


def _tell(scores: Sequence[Score], as_json: bool) -> None:
    """A line for each score, or sacreBLEU's JSON: an object, or a list of them where there are several."""
    if not as_json:
        typer.echo("\n".join(map(str, scores)))
        return
    listed = [
        {
            "name": score.name,
            "score": round(score.value, 2),
            "signature": score.signature,
            **dict(part.split(":", 1) for part in score.signature.split("|")),
        }
        for score in scores
    ]
    typer.echo(json.dumps(listed if len(listed) > 1 else listed[0], indent=1, ensure_ascii=False))
