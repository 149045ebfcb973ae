"""`dragoman evaluate`: translations against references, with signatures."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from dragoman.commands.lines import one_stream, tell
from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.configuration.messages import nearest
from dragoman.corpus.features import Given
from dragoman.errors import UserError
from dragoman.evaluation.languages import wrong_language
from dragoman.evaluation.metrics import METRICS, Score
from dragoman.files import LONGEST_TEXT, read_lines, shown

if TYPE_CHECKING:
    from dragoman.translation.loading import Engine
    from dragoman.translation.translator import Translator


class Text(NamedTuple):
    """The lines of a file."""

    path: Path
    lines: list[str]


class Sources(NamedTuple):
    """The lines that are to be translated, and where the first of them come from."""

    path: Path
    lines: list[tuple[Given, ...]]


class Measures(NamedTuple):
    """Which metrics, and how those that can be told take the text."""

    metrics: str
    tokenise: str
    lowercase: bool
    unit: str


class Way(NamedTuple):
    """How a run translates, where it is not to do so in its own way."""

    search: str | None = None
    beam: int | None = None
    engine: "Engine" = "torch"
    weights: str | None = None
    candidates: tuple[int, int] | None = None
    to: str | None = None

    @property
    def signature(self) -> str:
        """What was asked for that changes translations, as the end of a score's signature."""
        engine = None if self.engine == "torch" else self.engine
        chosen = {"search": self.search, "beam": self.beam, "engine": engine, "weights": self.weights}
        return "".join(f"|{name}:{value}" for name, value in chosen.items() if value)


def evaluate_lines(hypotheses: Path, references: Sequence[Path], measures: Measures, *, as_json: bool) -> None:
    """Score a file of translations, or standard input (`-`), against one or more references."""
    one_stream(hypotheses, *references)
    if str(hypotheses) == "-" and sys.stdin.isatty():
        typer.echo("reading translations from the keyboard; Ctrl-D ends them", err=True)
    _tell(_scores(_read(hypotheses), list(map(_read, references)), measures), as_json)


def evaluate_run(
    runs: Sequence[Path],
    source: Sequence[str],
    references: Sequence[Path],
    measures: Measures,
    way: Way,
    *,
    as_json: bool,
) -> None:
    """Score what a run, or several together, make of `source` (a file, or NAME=FILE for each of several), and how well
    they predict the reference, if there is one alone. Of a run with several languages, also how much of it is in
    another than `way.to`.

    With `way.candidates`, the same scores once more with these, and how much of the references they cover.
    """
    from dragoman import inspection  # these take torch, which scoring a file does without
    from dragoman.run import Run
    from dragoman.training.validation import likelihood
    from dragoman.translation.loading import load

    translator = load(runs, weights=way.weights, engine=way.engine)
    sources = _sources(source, translator, references)
    against = list(map(_read, references))
    _check(len(sources.lines), sources.path, against)
    narrowed = None
    if way.candidates:
        narrowed = load(runs, weights=way.weights, engine=way.engine, candidates=way.candidates)
    found = _translated(translator, sources, way)
    scores = _named(_scores(found, against, measures), way.signature)
    if len(against) == 1:  # of use among runs with the same symbols
        likely = likelihood(translator.scorer, translator.pairs(sources.lines, against[0].lines, to=way.to))
        scores += inspection.prediction(translator.target, likely.perplexity, likely.accuracy)
    if translator.marks:
        pairs = Run.load(runs[0]).config.data.language_pairs
        among = [name for pair in pairs for name in (*pair.sources, pair.target)]
        wanted = way.to or translator.targets[0]
        try:
            scores.append(wrong_language(found.lines, [lines for _, lines in against], wanted, among))
        except UserError as error:
            tell(f"wrong language: not measured, {error}")
    if narrowed:
        scores += _with_candidates(narrowed, sources, against, measures, way)
    _tell(scores, as_json)


def _sources(given: Sequence[str], translator: "Translator", references: Sequence[Path]) -> "Sources":
    """What is to be translated. UserError where standard input is to be that and one of the references."""
    from dragoman.commands import sources

    names = {source.name for source in translator.sources}
    if len(given) == 1 and given[0].partition("=")[0] not in names:
        one_stream(Path(given[0]), *references)
        return Sources(Path(given[0]), list(sources.texts(Path(given[0]), translator)))
    files = sources.named(given, translator)
    one_stream(*files.values(), *references)
    return Sources(sources.first(files, translator), list(sources.texts_by_name(files, translator)))


def _translated(translator: "Translator", sources: "Sources", way: Way) -> Text:
    from dragoman.commands.sources import search_of

    search = search_of(translator, way.search, way.beam)
    found = translator.translate(sources.lines, to=way.to, beam_size=way.beam, search=search)
    return Text(sources.path, [translation.text for translation in found])


def _named(scores: Sequence[Score], more: str) -> list[Score]:
    """The same with more in their signatures."""
    return [score._replace(signature=score.signature + more) for score in scores]


def _with_candidates(
    translator: "Translator", sources: "Sources", references: Sequence[Text], measures: Measures, way: Way
) -> list[Score]:
    """The scores with candidates, and the percentage of the references' symbols that are among them."""
    assert translator.candidates is not None
    batches = (each for _, lines in references for each in translator.pairs(sources.lines, lines, to=way.to))
    found = translator.candidates.coverage(batches)
    percentage = 100 * found.covered / max(1, found.symbols)
    mean = f"{found.candidates / max(1, found.sentences):.0f}"
    signature = f"symbols:{found.symbols}|mean:{mean}|of:{translator.candidates.symbols}"
    scores = [
        *_scores(_translated(translator, sources, way), references, measures),
        Score("Covered", percentage, signature),
    ]
    return _named(scores, f"{way.signature}|candidates:{translator.candidates.name}")


def _read(path: Path) -> Text:
    lines = list(read_lines(path, LONGEST_TEXT))
    for number, line in enumerate(lines, start=1):
        if len(line) > LONGEST_TEXT:
            raise UserError(f"{shown(path)}:{number}: more than {LONGEST_TEXT:,} characters, the most to be scored")
    return Text(path, lines)


def _check(found: int, where: Path, references: Sequence[Text]) -> None:
    """That all references have as many lines."""
    for path, lines in references:
        if len(lines) != found:
            raise UserError(f"{path} has {len(lines):,} lines, but {shown(where)} has {found:,}")


def _scores(found: Text, references: Sequence[Text], measures: Measures) -> list[Score]:
    _check(len(found.lines), found.path, references)
    metrics = [components.build(METRICS, spec) for spec in _specs(measures)]
    return [metric.corpus(found.lines, [lines for _, lines in references]) for metric in metrics]


def _specs(measures: Measures) -> list[Spec]:
    specs = []
    for name in measures.metrics.split(","):
        if name not in METRICS:
            raise UserError(f"--metrics: unknown metric '{name}', {nearest(name, METRICS)}")
        has = components.options(METRICS[name])
        if measures.lowercase and "lowercase" not in has:
            raise UserError(f"--lowercase: '{name}' does not ignore letter case")
        given = {"tokenise": measures.tokenise, "lowercase": measures.lowercase, "unit": measures.unit}
        specs.append(Spec(name, {option: value for option, value in given.items() if option in has}))
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
