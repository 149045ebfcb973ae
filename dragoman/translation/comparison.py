"""The gate before a service: whether a run is worse than the one that serves, on sentences held out."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from pydantic import Field

from dragoman.errors import UserError
from dragoman.evaluation.metrics.metric import Metric
from dragoman.evaluation.significance import FEWEST, compare
from dragoman.files.reading import compute_sha256
from dragoman.run.run import Run
from dragoman.translation.json_record import Recorded
from dragoman.translation.json_values import Schema

LEVEL = 0.05  # p below which a difference is taken for one


class Figures(Schema):
    """Both runs by a metric: the scores on the held set, the 95 % interval of their difference, and p by approximate
    randomization, which keeps its promise with few sentences, too. `worse`: the difference is one, and in the wrong
    direction.
    """

    metric: str
    signature: str
    before: float
    after: float
    low: float
    high: float
    p: float = Field(ge=0, le=1)
    worse: bool


class Comparison(Recorded):
    """What was found when a run's weights were compared with those that served before (`against`)."""

    command: ClassVar[str] = "gate"

    weights: str
    sha256: str
    against: str
    against_sha256: str
    sentences: int
    figures: list[Figures]

    @property
    def passed(self) -> bool:
        return not any(figure.worse for figure in self.figures)


def compared(
    run: Run, against: Run, translations: Sequence[Sequence[str]], references: Sequence[str], metrics: Sequence[Metric]
) -> Comparison:
    """Compare the translations of the run that served (the first) and of the new one. UserError for less than FEWEST
    sentences, which say too little, and without metrics.
    """
    if not metrics:
        raise UserError(f"{against.folder.path}: has no metrics to compare runs with")
    if len(references) < FEWEST:
        raise UserError(f"{len(references)} sentences are too few to compare runs; expected at least {FEWEST}")
    figures = [compare_by(metric, translations, references) for metric in metrics]
    new, old = run.weights(), against.weights()
    return Comparison(
        weights=new.name,
        sha256=compute_sha256(new),
        against=str(against.folder.path),
        against_sha256=compute_sha256(old),
        sentences=len(references),
        figures=figures,
    )


def compare_by(metric: Metric, translations: Sequence[Sequence[str]], references: Sequence[str]) -> Figures:
    """Compare the translations of the run that served and of the new one by a metric."""
    counts = [metric.counts(texts, [references]) for texts in translations]
    before, after = compare(metric, counts, 1, test="randomization")
    difference = after.score.value - before.score.value
    lower = difference < 0 if metric.higher_is_better else difference > 0
    assert after.p is not None
    return Figures(
        metric=metric.name,
        signature=after.score.signature,
        before=before.score.value,
        after=after.score.value,
        low=after.difference[0],
        high=after.difference[1],
        p=after.p,
        worse=lower and after.p < LEVEL,
    )


def check(run: Run, sha256: Callable[[], str]) -> None:
    """Raises UserError for a run that may not serve: one that is worse than the run it was compared with, or that has
    to be compared (`training.require_gate`) and was not, with the weights of this digest.
    """
    path = run.folder.gate
    comparison = Comparison.read(path) if path.exists() else None
    if comparison and comparison.sha256 == sha256():
        if not comparison.passed:
            raise UserError(
                f"{run.folder.path}: is worse than {comparison.against}, and must not be served ({path.name})"
            )
    elif run.config.training.require_gate:
        raise UserError(
            f"{run.folder.path}: was not compared with the run it was initialized from; run `dragoman gate` first"
        )
