"""How sure a score is, and whether two systems differ: by resampling the sentences of a test set.

Nothing is assumed of a metric but that its counts add up over sentences, so that each resampled test set costs one
product with the counts, and no text is read again.
"""

from collections.abc import Iterator, Sequence
from math import comb
from typing import Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Float

from dragoman.configuration.messages import figure
from dragoman.evaluation.metrics.metric import Score

SAMPLES, SEED = 1000, 12345  # as sacreBLEU's
LEVEL = 0.95
FEWEST = 20  # sentences; of fewer, resampled test sets say too little about others
Test: TypeAlias = Literal["bootstrap", "randomization"]
Counts: TypeAlias = Float[np.ndarray, "N K"]  # of a measure for each sentence


@runtime_checkable
class Measure(Protocol):
    """What has a value for the sums of its counts: a metric, or what people were asked."""

    @property
    def name(self) -> str: ...
    def value(self, sums: Sequence[int | float]) -> float: ...
    def signature(self, references: int) -> str: ...


class ComparedScore(NamedTuple):
    """A score; mean and 95 % interval over resampled test sets; and the probability of a difference from the baseline
    that is as large, if the systems were equal (None for the baseline), with the interval of that difference.
    """

    score: Score
    mean: float
    low: float
    high: float
    p: float | None = None
    difference: tuple[float, float] = (0.0, 0.0)

    @property
    def margin(self) -> float:
        """Half of the interval."""
        return (self.high - self.low) / 2

    @property
    def mark(self) -> str:
        """`**` for p < 0.01, `*` for p < 0.05."""
        return "" if self.p is None or self.p >= 0.05 else "**" if self.p < 0.01 else "*"

    def __str__(self) -> str:
        name, value, signature = self.score
        return f"{name} = {figure(value)} ± {figure(self.margin)} ({signature})"


def compare(
    measure: Measure,
    systems: Sequence[Counts],
    references: int,
    *,
    test: Test = "bootstrap",
    samples: int = SAMPLES,
    seed: int = SEED,
) -> list[ComparedScore]:
    """Compare systems by their counts for the same sentences; the first is the baseline of the others."""
    drawn = resample_scores(measure, systems, samples=samples, seed=seed)
    tested = f"|ar:{samples}" if len(systems) > 1 and test == "randomization" else ""
    results: list[ComparedScore] = []
    for number, counts in enumerate(systems):
        score = Score(
            measure.name, _value(measure, counts), f"{measure.signature(references)}|bs:{samples}{tested}|seed:{seed}"
        )
        low, high = _interval(drawn[number])
        p = None
        if number and test == "bootstrap":
            p = _bootstrap(score.value - results[0].score.value, drawn[number] - drawn[0])
        elif number:
            p = randomization(measure, systems[0], counts, samples=samples, seed=seed)
        results.append(
            ComparedScore(score, float(drawn[number].mean()), low, high, p, _interval(drawn[number] - drawn[0]))
        )
    return results


def compare_or_score(
    measure: Measure,
    systems: Sequence[Counts],
    references: int,
    *,
    test: Test = "bootstrap",
    samples: int = SAMPLES,
    seed: int = SEED,
) -> Sequence[ComparedScore | Score]:
    """Compare systems as `compare` does; of fewer than FEWEST sentences that count for any system, return the scores
    alone.
    """
    counting = np.any([counts.any(axis=1) for counts in systems], axis=0)
    if counting.sum() < FEWEST:
        return score_systems(measure, systems, references)
    return compare(measure, systems, references, test=test, samples=samples, seed=seed)


def score_systems(measure: Measure, systems: Sequence[Counts], references: int) -> list[Score]:
    """The scores of systems, by their counts."""
    return [Score(measure.name, _value(measure, counts), measure.signature(references)) for counts in systems]


def score_of(result: ComparedScore | Score) -> Score:
    """The score without its interval, if it has one."""
    return result if isinstance(result, Score) else result.score


def resample_scores(
    measure: Measure, systems: Sequence[Counts], *, samples: int = SAMPLES, seed: int = SEED
) -> Float[np.ndarray, "systems samples"]:
    """The scores of every system on the same `samples` test sets, each of as many sentences, drawn with replacement
    (Koehn 2004).
    """
    generator, sentences = np.random.default_rng(seed), len(systems[0])
    values = np.empty((len(systems), samples))
    for sample in range(samples):
        times = np.bincount(generator.integers(sentences, size=sentences), minlength=sentences).astype(np.float64)
        values[:, sample] = [measure.value((times @ counts).tolist()) for counts in systems]
    return values


def randomization(
    measure: Measure, baseline: Counts, system: Counts, *, samples: int = SAMPLES, seed: int = SEED
) -> float:
    """p by approximate randomization, two-sided: how often the difference is as large when each sentence's two
    translations change places by the toss of a coin (Noreen 1989; Riezler and Maxwell 2005).
    """
    first, between = baseline.sum(axis=0), system - baseline
    last = first + between.sum(axis=0)
    differences = [
        measure.value((last - moved).tolist()) - measure.value((first + moved).tolist())
        for moved in (swapped @ between for swapped in _coins(samples, len(system), seed))
    ]
    return _share(np.array(differences), _value(measure, system) - _value(measure, baseline))


def sign_test(more: int, less: int) -> float:
    """p by the sign test, two-sided and exact: how often `more + less` tosses of a coin are as uneven (Dixon and Mood
    1946). Ties count for neither side.
    """
    tosses = more + less
    tail = sum(comb(tosses, heads) for heads in range(min(more, less) + 1))
    return min(1.0, float(2 * tail / 2**tosses))


def _coins(samples: int, sentences: int, seed: int) -> Iterator[Float[np.ndarray, " N"]]:
    generator = np.random.default_rng(seed)
    for row in generator.integers(2, size=(samples, sentences), dtype=bool):
        yield row.astype(np.float64)


def _interval(values: Float[np.ndarray, " samples"]) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return low, high


def _bootstrap(difference: float, drawn: Float[np.ndarray, " samples"]) -> float:
    """p by paired bootstrap, two-sided: how often the difference on resampled test sets is as far from its mean as the
    difference of the scores is from 0 (Koehn 2004; Riezler and Maxwell 2005).
    """
    return _share(drawn - drawn.mean(), difference)


def _share(differences: Float[np.ndarray, " samples"], difference: float) -> float:
    """The share of differences that are as large, the one that was observed among them, so that it is never 0."""
    as_large = int((np.abs(differences) >= abs(difference) - 1e-9).sum())  # which rounding does not decide
    return (as_large + 1) / (len(differences) + 1)


def _value(measure: Measure, counts: Counts) -> float:
    return measure.value(counts.sum(axis=0).tolist())
