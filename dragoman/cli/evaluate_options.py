"""Options of `dragoman evaluate`, and which do not go together."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

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
)

SAMPLES, SEED = 1000, 12345  # of resampling, as sacreBLEU's


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


class Comparisons(StrEnum):
    """How two systems are compared."""

    bootstrap = "bootstrap"
    randomisation = "randomisation"


METRICS = "bleu,chrf,ter"


class Options(NamedTuple):
    """Arguments and options of `dragoman evaluate`."""

    references: Annotated[list[Path], typer.Argument(metavar="REFERENCE", help="Files of references.")]
    translations: Annotated[
        list[Path] | None,
        typer.Option(
            "--input",
            "-i",
            help="Translations; standard input if not given. Those of several systems are compared with the first.",
        ),
    ] = None
    run: Annotated[
        list[Path] | None, typer.Option(help="A run that translates --source instead; several form an ensemble.")
    ] = None
    source: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Text for --run to translate (for several sources NAME=FILE each), or whose length --by is of.",
        ),
    ] = None
    metrics: Annotated[str, typer.Option(help="Names separated by commas, or {kind: NAME, OPTION: VALUE}: ")] = METRICS
    tokenise: Annotated[Tokenisers | None, typer.Option(help="How BLEU and METEOR separate words.")] = None
    unit: Annotated[ErrorUnits | None, typer.Option(help="What token_error_rate counts.")] = None
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore letter case.")] = False
    confidence: Annotated[bool, typer.Option("--confidence", help="Add half of the 95 % interval, by bootstrap.")] = (
        False
    )
    test: Annotated[Comparisons, typer.Option(help="How several systems are compared.")] = Comparisons.bootstrap
    samples: Annotated[
        int, typer.Option(min=100, max=1_000_000, metavar="N", help="How often test sets are resampled.")
    ] = SAMPLES
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, metavar="N", help="Seed of resampling.")] = SEED
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GROUPS",
            help="Scores of parts: length (of --source, or else of the reference), frequency (of words in --corpus), "
            "edits (by their type), or a TSV file of tags with a header and a row for each sentence.",
        ),
    ] = None
    corpus: Annotated[
        Path | None, typer.Option(help="Text in the language of the references, such as a training corpus.")
    ] = None
    edited: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --by edits: the text, a line for each, that was edited, such as a "
            "machine translation; how well that was done is scored, and not what is left to do.",
        ),
    ] = None
    downstream: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Evaluate through another task instead: texts with labels (TSV: text, label) in the language of the "
            "references, to train a classifier of both references and translations on (extra `downstream`).",
        ),
    ] = None
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --downstream: the label of each reference, one per line.")
    ] = None
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

    def beside(self) -> list[Path]:
        """The files that are read beside translations and their sources."""
        others = (self.edited, self.downstream, self.labels, self.corpus, *map(Path, self.by or ()))
        return [*self.references, *(each for each in others if each is not None)]

    def of_metrics(self) -> dict[str, Any]:
        """What goes to every metric that has such an option; None for what nobody gave."""
        return {"tokenise": self.tokenise, "lowercase": self.lowercase or None, "unit": self.unit}


EDITS = "edits"  # values of --by that are no files
FREQUENCY = "frequency"
LENGTH = "length"


def check(options: Options) -> None:
    """Refuse options that do not go together."""
    if options.run and not options.source:
        raise typer.BadParameter("--run and --source go together")
    if options.source and not options.run and LENGTH not in (options.by or ()):
        raise typer.BadParameter("--run and --source go together")
    if options.source and not options.run and len(options.source) > 1:
        raise typer.BadParameter("--by length: several --source go with --run")
    if options.run and options.translations:
        raise typer.BadParameter("--input has translations, and --run makes them: one or the other")
    _check_groups(options, options.by or [])
    if bool(options.downstream) != bool(options.labels):
        raise typer.BadParameter("--downstream and --labels go together")
    if options.downstream:
        _check_downstream(options)
    _check_resampling(options)
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


def _check_resampling(options: Options) -> None:
    """Refuse options of tests and intervals where there are none."""
    tested = len(options.translations or ()) > 1 or options.downstream is not None
    if options.test != Comparisons.bootstrap and not tested:
        raise typer.BadParameter("--test compares several systems (--input)")
    if not (tested or options.confidence) and (options.samples, options.seed) != (SAMPLES, SEED):
        raise typer.BadParameter("--samples and --seed go with --confidence or several systems (--input)")


def _check_groups(options: Options, by: list[str]) -> None:
    """Refuse options that do not go with the parts that are scored, or would change nothing of them."""
    if (FREQUENCY in by) != bool(options.corpus):
        raise typer.BadParameter("--by frequency and --corpus go together")
    if options.edited and EDITS not in by:
        raise typer.BadParameter("--edited goes with --by edits")
    if by and options.candidates:
        raise typer.BadParameter("--candidates scores a test set twice, and --by its parts: one or the other")
    own_scores = bool(by) and {EDITS, FREQUENCY}.issuperset(by)
    given = {**_of_metrics(options), "--lowercase": options.lowercase and EDITS not in by}
    for option, value in given.items():
        if own_scores and value:
            raise typer.BadParameter(f"{option} would change nothing of --by {' --by '.join(by)}; leave it out")


def _check_downstream(options: Options) -> None:
    """Refuse options that would change nothing where a classifier is what is measured with."""
    given = {**_of_metrics(options), "--by": options.by, "--candidates": options.candidates}
    for option, value in given.items():
        if value:
            raise typer.BadParameter(f"{option} is for metrics, and --downstream has its own: one or the other")


def _of_metrics(options: Options) -> dict[str, Any]:
    """Return the options that are for metrics, and whether they were given."""
    return {
        "--metrics": options.metrics != METRICS,
        "--tokenise": options.tokenise,
        "--unit": options.unit,
        "--lowercase": options.lowercase,
    }
