"""`dragoman evaluate`: translations against references, with signatures."""

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperOption

from dragoman.cli.options import (
    Beam,
    Candidates,
    Engine,
    Engines,
    Exact,
    MemoryPlace,
    Search,
    Threads,
    To,
    Weights,
    command,
    two,
)
from dragoman.cli.streams import one_stream, tell
from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.cli.scores import Text
    from dragoman.corpus.features import Given
    from dragoman.evaluation.metrics.metric import Score
    from dragoman.translation.translator import Translator

app = typer.Typer()


class Tokenisers(StrEnum):
    """How BLEU separates words."""

    v13a = "13a"
    intl = "intl"
    zh = "zh"
    char = "char"
    none = "none"


class ErrorUnits(StrEnum):
    """What an error rate counts."""

    token = "token"
    character = "character"


class Options(NamedTuple):
    """Arguments and options of `dragoman evaluate`."""

    references: Annotated[list[Path], typer.Argument(metavar="REFERENCE", help="Files of references.")]
    translations: Annotated[
        Path | None, typer.Option("--input", "-i", help="Translations; standard input if not given.")
    ] = None
    run: Annotated[
        list[Path] | None, typer.Option(help="A run that translates --source instead; several form an ensemble.")
    ] = None
    source: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Text for --run to translate; for several sources NAME=FILE each."),
    ] = None
    metrics: Annotated[str, typer.Option(help="Names separated by commas, or {kind: NAME, OPTION: VALUE}: ")] = (
        "bleu,chrf,ter"
    )
    tokenise: Annotated[Tokenisers | None, typer.Option(help="How BLEU and METEOR separate words.")] = None
    unit: Annotated[ErrorUnits | None, typer.Option(help="What token_error_rate counts.")] = None
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore letter case.")] = False
    json: Annotated[bool, typer.Option("--json", help="Print JSON in the form of sacreBLEU.")] = False
    search: Search = None
    beam: Beam = None
    engine: Engine = Engines.torch
    weights: Weights = None
    candidates: Candidates = None
    to: To = None
    memory: MemoryPlace = None
    exact: Exact = False
    threads: Threads = None


class Sources(NamedTuple):
    """The lines to translate, and the file that the first of them come from."""

    path: Path
    lines: "list[tuple[Given, ...]]"


class _NamesMetrics(TyperCommand):
    """Imports the table of metrics only when the help is shown."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from dragoman.evaluation.metrics.table import METRICS

        for option in self.params:
            if isinstance(option, TyperOption) and option.name == "metrics":
                option.help = f"{option.help}{', '.join(METRICS)}."
        super().format_help(ctx, formatter)


@command(app, cls=_NamesMetrics)
def evaluate(options: Options) -> None:
    """Score translations (or a run) against references: BLEU, chrF, TER and others, with signatures.

    For a run with several languages, also report the share of translations in another language than --to.
    """
    if (not options.run) != (not options.source):
        raise typer.BadParameter("--run and --source go together")
    if options.run and options.translations:
        raise typer.BadParameter("--input has translations, and --run makes them: one or the other")
    of_runs = {
        "--search": options.search,
        "--beam": options.beam,
        "--engine": options.engine != Engines.torch,
        "--weights": options.weights,
        "--candidates": options.candidates,
        "--to": options.to,
        "--memory": options.memory,
        "--exact": options.exact,
        "--threads": options.threads,
    }
    for option, given in of_runs.items():
        if given and not options.run:
            raise typer.BadParameter(f"{option} goes with --run")
    if options.run and options.source:
        found = _of_runs(options.run, options.source, two(options.candidates), options)
    else:
        found = _of_lines(options.translations or Path("-"), options)
    from dragoman.cli.scores import told

    typer.echo(told(found, as_json=options.json))


def _of_lines(translations: Path, options: Options) -> "list[Score]":
    """Return the scores of a file of translations, or of standard input (`-`)."""
    from dragoman.cli.scores import read

    one_stream(translations, *options.references)
    if str(translations) == "-" and sys.stdin.isatty():
        typer.echo("reading translations from the keyboard; Ctrl-D ends them", err=True)
    return _scores(read(translations), list(map(read, options.references)), options)


def _of_runs(
    runs: Sequence[Path], source: Sequence[str], candidates: tuple[int, int] | None, options: Options
) -> "list[Score]":
    """Return the scores of the translations of `source` (a file, or NAME=FILE for each of several) by a run or an
    ensemble, and how well it predicts the reference if there is only one. For a run with several languages, add the
    share of translations in another language than `--to`.

    With candidates, add the same scores for a search among these, and their coverage of the references.
    """
    from dragoman.cli.scores import check, named, read
    from dragoman.translation.loading import load

    translator = load(runs, weights=options.weights, engine=options.engine.value, memory=options.memory)
    sources = _sources(source, translator, options.references)
    references = list(map(read, options.references))
    check(len(sources.lines), sources.path, references)
    narrowed = None
    if candidates:
        narrowed = load(
            runs,
            weights=options.weights,
            engine=options.engine.value,
            candidates=candidates,
            memory=options.memory,
        )
    found = _translated(translator, sources, options)
    scores = named(_scores(found, references, options), _signature(options))
    if len(references) == 1:  # comparable only between runs with the same symbols
        scores += _prediction(translator, sources, references[0], options)
    if translator.marks:
        scores += _wrong_language(runs[0], found, references, options.to or translator.targets[0])
    if narrowed:
        scores += _with_candidates(narrowed, sources, references, options)
    return scores


def _sources(given: Sequence[str], translator: "Translator", references: Sequence[Path]) -> Sources:
    """Return the lines to translate. Raises UserError if standard input is both the source and a reference."""
    from dragoman.cli import sources

    names = {source.name for source in translator.sources}
    if len(given) == 1 and given[0].partition("=")[0] not in names:
        one_stream(Path(given[0]), *references)
        return Sources(Path(given[0]), list(sources.texts(Path(given[0]), translator)))
    files = sources.named(given, translator)
    one_stream(*files.values(), *references)
    return Sources(sources.first(files, translator), list(sources.texts_by_name(files, translator)))


def _translated(translator: "Translator", sources: Sources, options: Options) -> "Text":
    from dragoman.cli.scores import Text
    from dragoman.cli.sources import search_of

    search = search_of(translator, options.search, options.beam)
    found = translator.translate(
        sources.lines, to=options.to, beam_size=options.beam, search=search, exact=options.exact
    )
    return Text(sources.path, [translation.text for translation in found])


def _signature(options: Options) -> str:
    """Return the options that change translations, as the end of a score's signature."""
    engine = None if options.engine == Engines.torch else options.engine
    chosen = {
        "search": options.search,
        "beam": options.beam,
        "engine": engine,
        "weights": options.weights,
        "memory": options.memory,
        "exact": options.exact,
    }
    return "".join(f"|{name}:{value}" for name, value in chosen.items() if value)


def _prediction(translator: "Translator", sources: Sources, reference: "Text", options: Options) -> "list[Score]":
    """Return scores for how well the model predicts the reference."""
    from dragoman import inspection
    from dragoman.training.validation import likelihood

    likely = likelihood(translator.scorer, translator.pairs(sources.lines, reference.lines, to=options.to))
    return inspection.prediction(translator.target, likely.perplexity, likely.accuracy)


def _wrong_language(run: Path, found: "Text", references: "Sequence[Text]", wanted: str) -> "list[Score]":
    """Return the share of lines in another language than the one wanted, as far as the run's can be told apart."""
    from dragoman.evaluation.languages import wrong_language
    from dragoman.run.run import Run

    pairs = Run.load(run).config.data.language_pairs
    among = [name for pair in pairs for name in (*pair.sources, pair.target)]
    try:
        return [wrong_language(found.lines, [lines for _, lines in references], wanted, among)]
    except UserError as error:
        tell(f"wrong language: not measured, {error}")
        return []


def _with_candidates(
    translator: "Translator", sources: Sources, references: "Sequence[Text]", options: Options
) -> "list[Score]":
    """Return the scores with candidates, and the percentage of the references' symbols that are among these."""
    from dragoman.cli.scores import named
    from dragoman.evaluation.metrics.metric import Score

    assert translator.generator.candidates is not None
    batches = (each for _, lines in references for each in translator.pairs(sources.lines, lines, to=options.to))
    found = translator.generator.candidates.coverage(batches)
    percentage = 100 * found.covered / max(1, found.symbols)
    mean = f"{found.candidates / max(1, found.sentences):.0f}"
    signature = f"symbols:{found.symbols}|mean:{mean}|of:{translator.generator.candidates.symbols}"
    scores = [
        *_scores(_translated(translator, sources, options), references, options),
        Score("Covered", percentage, signature),
    ]
    return named(scores, f"{_signature(options)}|candidates:{translator.generator.candidates.name}")


def _scores(found: "Text", references: "Sequence[Text]", options: Options) -> "list[Score]":
    from dragoman.cli.scores import measures, scores

    return scores(found, references, measures(options.metrics, _of_metrics(options)))


def _of_metrics(options: Options) -> dict[str, Any]:
    """Return the options that go to every metric that has them, and None for those that nobody gave."""
    return {"tokenise": options.tokenise, "lowercase": options.lowercase or None, "unit": options.unit}
