"""`dragoman score`: log-probabilities of given translations."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from dragoman.cli import outputs
from dragoman.cli.option_rules import Conflicts
from dragoman.cli.options import (
    ArrayFiles,
    Json,
    MemoryPlace,
    RunPath,
    SourceFile,
    TargetFile,
    Threads,
    To,
    Weights,
    command,
)
from dragoman.cli.streams import output
from dragoman.configuration.messages import figure

if TYPE_CHECKING:
    from dragoman.translation.translation import Scored


class ScoreOptions(NamedTuple):
    """Arguments and options of `dragoman score`."""

    run: RunPath
    source: SourceFile
    target: TargetFile
    per_symbol: Annotated[
        bool,
        typer.Option("--per-symbol", help="Add a third column: log-probability of each token."),
        Conflicts("--json", because="its objects contain the log-probability of every token"),
    ] = False
    confidence: Annotated[
        bool, typer.Option("--confidence", help="Report a 95 % bootstrap confidence interval of the perplexity.")
    ] = False
    json: Json = False
    weights: Weights = None
    to: To = None
    arrays: ArrayFiles = None
    translation_memory: MemoryPlace = None
    threads: Threads = None


@command(epilog="Example: dragoman score runs/en-de test.en test.de")
def score(options: ScoreOptions) -> None:
    """Score sentence pairs: print log P(target | source) in nats, a tab, and the number of target tokens."""
    from dragoman.cli import sources
    from dragoman.translation.loading import load
    from dragoman.translation.result import Result

    outputs.check((), (options.source, options.target))
    translator = load(options.run, weights=options.weights, translation_memory=options.translation_memory)
    portions = sources.score_pairs(
        translator, options.source, options.target, assignments=options.arrays or (), to=options.to
    )
    count = symbols = 0
    total = 0.0
    counts: list[tuple[float, int]] = []  # of each pair, if they are to be resampled
    with output(None) as lines:
        for portion in portions:
            lines.write(
                Result(pair.translation).line() if options.json else _columns(pair, options.per_symbol)
                for pair in portion
            )
            count += len(portion)
            symbols += sum(pair.symbols for pair in portion)
            total += sum(pair.log_prob for pair in portion)
            counts += [(-pair.log_prob, pair.symbols) for pair in portion if options.confidence]
    perplexity = f", perplexity {_perplexity(total, symbols, counts)} a symbol" if symbols else ""
    typer.echo(f"{count:,} pairs, {symbols:,} symbols, log P {total:.2f}{perplexity}", err=True)


def _perplexity(total: float, symbols: int, counts: Sequence[tuple[float, int]]) -> str:
    """Return the perplexity, with half of its interval if there are counts for each pair."""
    from dragoman.evaluation.metrics.line_metrics import Perplexity

    value = figure(Perplexity().value([-total, symbols]))
    if not counts:
        return value
    import numpy as np

    from dragoman.cli.evaluate_tables import margin

    half = margin(Perplexity(), np.array(counts, dtype=np.float64))
    return value if half is None else f"{value} ± {figure(half)}"


def _columns(scored: "Scored", per_symbol: bool) -> str:
    """Return the columns of log P and the number of symbols, the end symbol included."""
    mean = f"\t{scored.log_prob / scored.symbols:.4f}" if per_symbol else ""
    return f"{scored.log_prob:.4f}\t{scored.symbols}{mean}"
