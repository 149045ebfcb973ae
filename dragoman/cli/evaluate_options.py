"""Options of `dragoman evaluate`, each with its rules."""

from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import typer

from dragoman.cli.option_rules import Conflicts, Requires, is_given
from dragoman.cli.options import Beam, Candidates, Engine, Exact, MemoryPlace, Search, Threads, To, Weights

SAMPLES, SEED = 1000, 12345  # of resampling, as sacreBLEU's


# The same names as in evaluation/metrics/sacre.py and evaluation/significance.py, which need more libraries.
Tokenize: TypeAlias = Literal["13a", "intl", "zh", "char", "none"]
Test: TypeAlias = Literal["bootstrap", "randomization"]
METRICS = "bleu,chrf,ter"
METRICS_HELP = "Metrics, separated by commas, or {kind: NAME, OPTION: VALUE}: "  # `EvaluateCommand` adds the names
EDITS = "edits"  # values of --by that are no files
FREQUENCY = "frequency"
LENGTH = "length"

OF_RUN = Requires("--run")
RESAMPLED = Requires("--confidence", "several --input", "--downstream")
OF_METRICS = Conflicts("--downstream", because="it evaluates with a classifier")


class EvaluateOptions(NamedTuple):
    """Arguments and options of `dragoman evaluate`."""

    references: Annotated[list[Path], typer.Argument(metavar="REFERENCE", help="Reference files.")]
    translations: Annotated[
        list[Path] | None,
        typer.Option(
            "--input",
            "-i",
            help="Translations to score; the other systems are compared with the first. Default: standard input.",
        ),
    ] = None
    run: Annotated[
        list[Path] | None,
        typer.Option(help="Run that translates --source, instead of --input; several form an ensemble."),
        Requires("--source"),
        Conflicts("--input", because="it translates --source itself"),
    ] = None
    source: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Source sentences for --run, or for --by length; NAME=FILE for each of several sources.",
        ),
        Requires("--run", "--by length"),
    ] = None
    metrics: Annotated[str, typer.Option(help=METRICS_HELP), OF_METRICS] = METRICS
    tokenize: Annotated[Tokenize | None, typer.Option(help="Tokenization for BLEU and METEOR."), OF_METRICS] = None
    unit: Annotated[
        Literal["token", "character"] | None, typer.Option(help="Unit of token_error_rate."), OF_METRICS
    ] = None
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore case."), OF_METRICS] = False
    confidence: Annotated[bool, typer.Option("--confidence", help="Report 95 % bootstrap confidence intervals.")] = (
        False
    )
    test: Annotated[
        Test,
        typer.Option(help="Significance test for comparing several systems."),
        Requires("several --input", "--downstream"),
    ] = "bootstrap"
    samples: Annotated[
        int, typer.Option(min=100, max=1_000_000, metavar="N", help="Number of resamples."), RESAMPLED
    ] = SAMPLES
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, metavar="N", help="Random seed of resampling."), RESAMPLED
    ] = SEED
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GROUPS",
            help="Score subsets of the test set: by length (of --source, otherwise of the reference), "
            "frequency (of words in --corpus), edits (by type), or a TSV file of tags with a header "
            "and one row per sentence.",
        ),
        Requires("--corpus", value=FREQUENCY),
        OF_METRICS,
    ] = None
    corpus: Annotated[
        Path | None,
        typer.Option(help="Text in the target language for word frequencies, such as the training corpus."),
        Requires("--by frequency"),
    ] = None
    edited: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --by edits: the text that was edited, such as machine translations, one per line; "
            "scores the edits made to it rather than the errors that remain.",
        ),
        Requires("--by edits"),
    ] = None
    downstream: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Evaluate on a downstream task instead: train a text classifier on labeled texts (TSV: "
            "text, label) in the target language and apply it to references and translations (extra "
            "`downstream`).",
        ),
        Requires("--labels"),
    ] = None
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --downstream: label of each reference, one per line."),
        Requires("--downstream"),
    ] = None
    json: Annotated[bool, typer.Option("--json", help="Print JSON in sacreBLEU format.")] = False
    search: Annotated[Search, OF_RUN] = None
    beam: Annotated[Beam, OF_RUN] = None
    engine: Annotated[Engine, OF_RUN] = "torch"
    weights: Annotated[Weights, OF_RUN] = None
    shortlist: Annotated[
        Candidates, OF_RUN, OF_METRICS, Conflicts("--by", because="each is a different way to subset the test set")
    ] = None
    to: Annotated[To, OF_RUN] = None
    translation_memory: Annotated[MemoryPlace, OF_RUN] = None
    exact: Annotated[Exact, OF_RUN] = False
    threads: Annotated[Threads, OF_RUN] = None

    @property
    def several_input(self) -> bool:
        return len(self.translations or ()) > 1

    def beside(self) -> list[Path]:
        """The files that are read beside translations and their sources."""
        optional = (self.edited, self.downstream, self.labels, self.corpus, *map(Path, self.by or ()))
        return [*self.references, *(path for path in optional if path is not None)]

    def of_metrics(self) -> dict[str, Any]:
        """What goes to every metric that has such an option; None for what nobody gave."""
        return {"tokenize": self.tokenize, "lowercase": self.lowercase or None, "unit": self.unit}


def check(options: EvaluateOptions) -> None:
    """Refuse several sources of --by length, and options that would change nothing of the parts that are scored."""
    by = options.by or []
    if not options.run and len(options.source or ()) > 1:
        raise typer.BadParameter("--by length: several --source require --run")
    own_scores = bool(by) and {EDITS, FREQUENCY}.issuperset(by)
    for option in ("--metrics", "--tokenize", "--unit", *(["--lowercase"] if EDITS not in by else [])):
        if own_scores and is_given(options, option):
            raise typer.BadParameter(f"{option} has no effect on --by {' --by '.join(by)}; leave it out")
