"""`dragoman gate`: whether a run may serve in the place of another."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.options import DevelopmentSource, RunPath, Threads, To, app
from dragoman.cli.streams import aligned, tell
from dragoman.configuration.messages import figure
from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.corpus.features import Given
    from dragoman.translation.comparison import Comparison


@app.command(epilog="Example: dragoman gate runs/new --against runs/old --source test.en --reference test.de")
def gate(
    run: RunPath,
    against: Annotated[Path, typer.Option(metavar="RUN", help="Run that is currently deployed.")],
    source: DevelopmentSource,
    reference: Annotated[Path, typer.Option(metavar="FILE", help="Reference translations, one per line.")],
    to: To = None,
    threads: Threads = None,
) -> None:
    """Compare a run with the deployed one on held-out sentences and store the result in the run.

    `serve` rejects a run that is significantly worse (p < 0.05, approximate randomization) by any metric in the
    configuration of the deployed run.
    """
    from dragoman.cli import sources
    from dragoman.translation.loading import load

    inputs, (lines,) = sources.with_references(source, load(run), [reference])
    judge(run, against, inputs.lines, lines.lines, to)


def judge(
    run: Path, against: Path, sources: "list[tuple[Given, ...]]", references: list[str], to: str | None = None
) -> None:
    """Compare two runs, keep and print what is found. UserError if the first is worse."""
    from dragoman.configuration import components
    from dragoman.evaluation.metrics.table import METRICS
    from dragoman.run.run import Run
    from dragoman.translation.comparison import Comparison, compared
    from dragoman.translation.loading import load

    new, old = Run.load(run), Run.load(against)
    if new.folder.gate.exists():
        Comparison.read(new.folder.gate)  # fails if the file is not ours to replace
    metrics = [components.build(METRICS, spec) for spec in old.config.metrics]
    one, other = load(against), load(run)
    if (one.languages, one.targets) != (other.languages, other.targets):
        raise UserError(f"{run}: translates other languages than {against}, so they cannot be compared")
    texts = [
        [translation.text for translation in translator.translate(sources, to=to, details=False)]
        for translator in (one, other)
    ]
    comparison = compared(new, old, texts, references, metrics)
    comparison.write(new.folder.gate)
    typer.echo(_table(comparison, against, run))
    if not comparison.passed:
        raise UserError(f"{run}: is worse than {against} and will not be served")
    tell(f"{run}: is not worse than {against} on {comparison.sentences:,} sentences")


def _table(comparison: "Comparison", against: Path, run: Path) -> str:
    rows = [
        [row.metric, figure(row.before), figure(row.after), f"{row.low:+.2f} to {row.high:+.2f}", f"{row.p:.3f}"]
        for row in comparison.figures
    ]
    return aligned([["", str(against), str(run), "difference", "p"], *rows])
