"""`dragoman tune`: weights by which the translations of a development set, reranked, score best."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from dragoman.cli import outputs
from dragoman.cli.options import DevelopmentSource, MetricName, OutputFile, Threads, To, Weights, command
from dragoman.cli.streams import aligned, output, tell
from dragoman.configuration.messages import figure, nearest, shown
from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.cli.evaluate_scores import ScoredFile
    from dragoman.cli.sources import Sources
    from dragoman.evaluation.metrics.metric import Metric
    from dragoman.translation.reranking.nbest_lists import Lists
    from dragoman.translation.translator import Translator
    from dragoman.translation.tuning import Tuned, Weighted


DEFAULT = "model,length,length_model,coverage"


class TuneOptions(NamedTuple):
    """Arguments and options of `dragoman tune`."""

    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Folders of trained runs; several form an ensemble.")
    ]
    source: DevelopmentSource
    reference: Annotated[
        list[Path], typer.Option(metavar="FILE", help="Reference translations, one per line; may be repeated.")
    ]
    output: OutputFile = None
    metric: MetricName = "chrf"
    n_best: Annotated[int, typer.Option(min=2, max=1000, metavar="N", help="Number of translations per sentence.")] = 20
    use: Annotated[
        str | None, typer.Option(metavar="NAMES", help=f"Reranking criteria computed by the run. Default: {DEFAULT}.")
    ] = None
    reverse: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Reverse run, for log P(source | translation).")
    ] = None
    other: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="NAME=RUN", help="Additional run, for its log P(translation | source)."),
    ] = None
    criteria: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="N-best lists (`translate --n-best`) with additional scores in the format of Moses (`NAME= X`).",
        ),
    ] = None
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, metavar="N", help="Random seed of the search.")] = 1
    weights: Weights = None
    to: To = None
    threads: Threads = None


@command(epilog="Example: dragoman tune runs/en-de --source dev.en --reference dev.de -o weights.yaml")
def tune(options: TuneOptions) -> None:
    """Tune length normalization and reranking weights on a development set for `translate --rerank`.

    Uses minimum error rate training (Och 2003).
    """
    from dragoman.cli import sources
    from dragoman.configuration import components
    from dragoman.evaluation.metrics.table import METRICS
    from dragoman.translation.loading import load
    from dragoman.translation.reranking.nbest_lists import Lists
    from dragoman.translation.tuning import Weighted, listed
    from dragoman.translation.tuning import tune as tuned

    outputs.check([("--output", options.output)], [*options.reference, options.criteria], options.runs)
    if options.output and str(options.output) != "-" and options.output.exists():
        Weighted.read(options.output)  # fails if the file is not ours to replace
    metric = components.build(METRICS, components.read(METRICS, options.metric))
    lists = Lists(options.criteria) if options.criteria else None
    translator = load(options.runs, weights=options.weights)
    inputs, references = sources.with_references(options.source, translator, options.reference)
    if not any(reference.strip() for text in references for reference in text.lines):
        raise UserError(f"{options.reference[0]}: contains no text to rank translations by")
    begun = _begun(options, translator, inputs, references[0], lists)
    criteria = begun.reranker(translator, options.to, lists).criteria
    candidates = listed(translator, inputs.lines, options.n_best, options.to)
    tuning = tuned(begun, candidates, [text.lines for text in references], metric, criteria, seed=options.seed)
    count = sum(len(candidate.translations) for candidate in candidates) / len(candidates)
    scores = _format_scores(tuning, metric, len(references))
    with output(options.output) as lines:
        lines.write([f"# dragoman tune, on {inputs.path}: {scores}", *tuning.weighted.text().splitlines()])
    tell(f"{len(candidates):,} sentences, {count:.1f} translations of each\n{_table(tuning)}\n{scores}")


def _begun(
    options: TuneOptions, translator: "Translator", inputs: "Sources", reference: "ScoredFile", lists: "Lists | None"
) -> "Weighted":
    """Return the weights to begin with: 1 for the model, 0 for all others. Raises UserError for names that are unknown,
    taken twice, or of what the run does not have.
    """
    from dragoman.data.language import Language
    from dragoman.translation.reranking.criteria import LENGTH_MODEL, MODEL, OWN, REVERSE, LengthModel
    from dragoman.translation.reranking.nbest_lists import LOG_PROB
    from dragoman.translation.tuning import Lengths, Weighted, own_alpha

    criteria = [*OWN, LENGTH_MODEL]
    texts = [number for number, source in enumerate(translator.sources) if isinstance(source, Language)]
    lacking = {"coverage": not translator.processor.attends, LENGTH_MODEL: not texts}
    names = [
        name
        for name in _names(DEFAULT if options.use is None else options.use, criteria)
        if options.use or not lacking.get(name)
    ]
    for name in filter(lacking.get, names):
        raise UserError(f"--use {name}: requires a run with a text source and attention")
    runs = _runs(options.other or [], [*criteria, REVERSE])
    own = [name for name in (lists.names if lists else []) if name not in (*criteria, REVERSE, *runs, LOG_PROB)]
    fitted = None
    if LENGTH_MODEL in names:
        pairs = [(str(line[texts[0]]), text) for line, text in zip(inputs.lines, reference.lines, strict=True)]
        fitted = LengthModel.fitted(pairs)
    weighted = [MODEL, *names, *([REVERSE] if options.reverse else []), *runs, *own]
    return Weighted(
        candidates=options.n_best,
        alpha=own_alpha(translator),
        weights={name: float(name == MODEL) for name in weighted},
        length_model=Lengths(ratio=fitted.ratio, variance=fitted.variance) if fitted else None,
        reverse=str(options.reverse) if options.reverse else None,
        runs=runs,
    )


def _names(text: str, criteria: list[str]) -> list[str]:
    """Return the names of `--use`."""
    names = [name.strip() for name in text.split(",")]
    for number, name in enumerate(names):
        if name not in criteria:
            raise UserError(f"--use: unknown criterion {shown(name)}, {nearest(name, criteria)}")
        if name in names[:number]:
            raise UserError(f"--use: {name} is listed twice")
    return names


def _runs(assignments: list[str], taken: list[str]) -> dict[str, str]:
    """Return the runs of `--with`, by name."""
    runs: dict[str, str] = {}
    for text in assignments:
        name, equals, run = text.partition("=")
        if not (equals and name.isidentifier() and run) or name in taken or name in runs:
            raise UserError(f"--with {text}: expected NAME=RUN with a unique name")
        runs[name] = run
    return runs


def _table(tuning: "Tuned") -> str:
    rows = [[name, f"{weight:.4f}"] for name, weight in tuning.weighted.weights.items()]
    return aligned([["criterion", "weight"], *rows, ["alpha", f"{tuning.weighted.alpha:.4f}"]])


def _format_scores(tuning: "Tuned", metric: "Metric", references: int) -> str:
    scores = f"{figure(tuning.before)} as the search ranks them, {figure(tuning.after)} reranked"
    return f"{metric.name} {scores} ({metric.signature(references)})"
