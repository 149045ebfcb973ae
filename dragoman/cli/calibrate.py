"""`dragoman calibrate`: how sure a run may be of what it says, by a development set."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.options import DevelopmentSource, RunPath, Threads, To, Weights, app
from dragoman.cli.streams import aligned, tell
from dragoman.errors import UserError
from dragoman.files.reading import compute_sha256, shown

if TYPE_CHECKING:
    from dragoman.corpus.features import Given
    from dragoman.translation.calibration import Calibration, Measured
    from dragoman.translation.translator import Translator


@app.command(epilog="Example: dragoman calibrate runs/en-de --source dev.en --reference dev.de")
def calibrate(
    run: RunPath,
    source: DevelopmentSource,
    reference: Annotated[Path, typer.Option(metavar="FILE", help="Reference translations, one per line.")],
    weights: Weights = None,
    to: To = None,
    threads: Threads = None,
) -> None:
    """Calibrate the token probabilities of a run by temperature scaling (Guo et al. 2017).

    Stores the temperature in the run, so that its translations have a confidence, for --json and --min-confidence.
    """
    from dragoman.run.run import Run
    from dragoman.translation.calibration import Calibration
    from dragoman.translation.loading import load

    loaded = Run.load(run)
    path, used = loaded.folder.calibration, loaded.weights(weights)
    before = Calibration.read(path) if path.exists() else None  # fails if the file is not ours to replace
    translator = load(run, weights=weights)
    if translator.processor.surfaces.target:
        raise UserError(f"{run}: cannot calibrate a run with model.output: hybrid")
    sources, references = _pairs(source, reference, translator)
    calibration = fit_temperature(translator, used, sources, references, to)
    calibration.write(path)
    if calibration.before.loss > math.log(len(translator.target.vocabulary)):
        tell(f"{run}: assigns these translations no more than chance probability; check that they match the sources")
    typer.echo(_table(calibration))
    replaced = f", in place of {before.temperature:.4f} for {before.weights}" if before else ""
    tell(f"{path}: temperature {calibration.temperature:.4f} for {used.name}{replaced}")


def fit_temperature(
    translator: "Translator",
    weights: Path,
    sources: "Sequence[tuple[Given, ...]]",
    references: Sequence[str],
    to: str | None = None,
) -> "Calibration":
    """Return the temperature of a translator with these weights that fits some pairs best."""
    from dragoman.translation.calibration import Calibration, Fit, fit, measure

    batches = list(translator.pairs(sources, references, to=to))
    rows = max((len(batch.rows) for batch in batches), default=0)

    def measured(temperature: float) -> "Measured":
        with translator.generator.threads(rows):
            return measure(translator.scorer, batches, temperature)

    first = measured(1.0)
    temperature, fitted = fit(measured, first)
    return Calibration(
        temperature=temperature,
        weights=weights.name,
        sha256=compute_sha256(weights),
        sentences=len(references),
        symbols=int(fitted.reliability.counts.sum()),
        before=Fit.of(first),
        after=Fit.of(fitted),
    )


def _pairs(source: list[str], reference: Path, translator: "Translator") -> "tuple[list[tuple[Given, ...]], list[str]]":
    """Return the sources and the references of which neither is blank. UserError for less than FEWEST."""
    from dragoman.cli import sources
    from dragoman.evaluation.significance import FEWEST

    inputs, (lines,) = sources.with_references(source, translator, [reference])
    pairs = [
        (texts, line)
        for texts, line in zip(inputs.lines, lines.lines, strict=True)
        if line.strip() and any(not isinstance(text, str) or text.strip() for text in texts)
    ]
    if len(pairs) < FEWEST:
        count = f"{len(pairs)} pair{'s are' if len(pairs) != 1 else ' is'}"
        raise UserError(f"{shown(reference)}: {count} too few for calibration; expected at least {FEWEST}")
    return [texts for texts, _ in pairs], [line for _, line in pairs]


def _table(calibration: "Calibration") -> str:
    """Return -log P of a symbol in nats, and the expected calibration error in percent, before and after."""
    from dragoman.evaluation.reliability import BINS

    rows = ((1.0, calibration.before), (calibration.temperature, calibration.after))
    figures = [[f"{at:.4f}", f"{reliability.loss:.4f}", f"{100 * reliability.error:.2f}"] for at, reliability in rows]
    head = ["temperature", "-log P", f"ECE in %, {BINS} bins"]
    counts = f"{calibration.symbols:,} symbols of {calibration.sentences:,} sentences"
    return f"{counts}\n{aligned([head, *figures])}"
