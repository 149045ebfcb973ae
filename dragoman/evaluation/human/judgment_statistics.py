"""What the judgments of a page say: means with intervals, pairs of systems, errors, agreement."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float

from dragoman.evaluation.human.blinding import pieces
from dragoman.evaluation.human.forms import ERRORS, QUESTIONS, RANK, SEVERITIES, Answers, JudgedOutput, Key, Level
from dragoman.evaluation.human.judgment_reading import Judgment
from dragoman.evaluation.metrics.metric import Score
from dragoman.evaluation.significance import ComparedScore, Counts, compare_or_score, sign_test


class MeanAnswer(NamedTuple):
    """The mean of a number for each judgment, times `factor`."""

    name: str
    number: Callable[[Answers], int]
    factor: int = 1
    annotators: int = 1

    def value(self, sums: Sequence[int | float]) -> float:
        total, judgments = sums
        return self.factor * total / max(1, judgments)

    def signature(self, references: int) -> str:
        return f"judgments:{references}|annotators:{self.annotators}"


class SystemPair(NamedTuple):
    """In how many sentences the first of two systems is better, equal or worse, by most annotators' ranks; and p of the
    sign test.
    """

    systems: tuple[str, str]
    better: int
    equal: int
    worse: int

    @property
    def p(self) -> float:
        return sign_test(self.better, self.worse)


Cell: TypeAlias = ComparedScore | Score
Errors: TypeAlias = Counter[tuple[str, str, str]]  # by category, severity and system
Matrix: TypeAlias = Float[np.ndarray, "V V"]  # a row and a column for each value


def means(key: Key, judgments: Sequence[Judgment], baseline: str) -> dict[str, list[Cell]]:
    """Return the cells of each system, the baseline first, for each question with a mean: answers, and the penalties
    of marked errors. A sentence is what is resampled, with all its judgments; of few, there are means alone.
    """
    systems = [baseline, *(name for name in key.systems if name != baseline)]
    cells: dict[str, list[Cell]] = {name: [] for name in systems}
    for measure in _measures(key, len({judgment.annotator for judgment in judgments})):
        counts = [_counts(measure, name, judgments) for name in systems]
        for name, cell in zip(systems, compare_or_score(measure, counts, len(judgments)), strict=True):
            cells[name].append(cell)
    return cells


def _measures(key: Key, annotators: int) -> Iterator[MeanAnswer]:
    for name in key.questions:
        if name in QUESTIONS:
            factor = 100 if QUESTIONS[name].is_share else 1

            def number(answers: Answers, name: str = name) -> int:
                return answers.answer(name) or 0

            yield MeanAnswer(f"{name} %" if factor > 1 else name, number, factor, annotators)
        elif name == ERRORS:
            yield MeanAnswer("penalty", _penalty, 1, annotators)


def _penalty(answers: Answers) -> int:
    return sum(SEVERITIES[error.severity] for error in answers.errors)


def _counts(measure: MeanAnswer, system: str, judgments: Iterable[Judgment]) -> Counts:
    """A row for each sentence: the sum of its numbers, and how many they are."""
    rows: dict[str, list[int]] = {}
    for judgment in judgments:
        row = rows.setdefault(judgment.item.id, [0, 0])
        row[0] += measure.number(judgment.answers[system])
        row[1] += 1
    return np.array(list(rows.values()), dtype=np.float64)


def pairs(key: Key, judgments: Sequence[Judgment]) -> list[SystemPair]:
    """Return every pair of systems if ranks were requested."""
    if RANK not in key.questions:
        return []
    comparisons: list[SystemPair] = []
    for one, other in combinations(key.systems, 2):
        balance: dict[str, int] = {}
        for _, item, answers in judgments:
            balance[item.id] = balance.get(item.id, 0) + _preference(answers[one], answers[other])
        signs = Counter(np.sign(list(balance.values())).tolist())
        comparisons.append(SystemPair((one, other), signs[1], signs[0], signs[-1]))
    return comparisons


def _preference(one: Answers, other: Answers) -> int:
    """1 if the first has the better rank, -1 if the other has, 0 if they are equal."""
    first, second = one.rank or 1, other.rank or 1  # a translation that all systems agree on has no rank
    return (second > first) - (second < first)


def errors(judgments: Iterable[Judgment]) -> Errors:
    """Count the marked errors of all annotators."""
    return Counter(
        (error.category, error.severity, system)
        for judgment in judgments
        for system, answers in judgment.answers.items()
        for error in answers.errors
    )


def agreement(key: Key, judgments: Sequence[Judgment]) -> dict[str, float | None]:
    """Return Krippendorff's alpha for each question: of answers about translations, of which of two translations is
    better, and of whether a word is marked. Empty for a single annotator.
    """
    if len({judgment.annotator for judgment in judgments}) < 2:
        return {}
    by_item: dict[str, list[Judgment]] = {}
    for judgment in judgments:
        by_item.setdefault(judgment.item.id, []).append(judgment)
    several = [answers for answers in by_item.values() if len(answers) > 1]
    coefficients: dict[str, float | None] = {}
    for name in key.questions:
        if name in QUESTIONS:
            coefficients[name] = alpha(_answers(name, several), QUESTIONS[name].level)
        else:
            coefficients[name] = alpha((_ranks if name == RANK else _words)(several), "nominal")
    return coefficients


def _answers(question: str, several: Iterable[Sequence[Judgment]]) -> Iterator[list[int]]:
    for _, answers in _of_outputs(several):
        yield [judgment.answer(question) or 0 for judgment in answers]


def _ranks(several: Iterable[Sequence[Judgment]]) -> Iterator[list[int]]:
    for judgments in several:
        for one, other in combinations([output.systems[0] for output in judgments[0].item.outputs], 2):
            yield [_preference(answers[one], answers[other]) for _, _, answers in judgments]


def _words(several: Iterable[Sequence[Judgment]]) -> Iterator[list[int]]:
    for output, answers in _of_outputs(several):
        marked = [
            {word for error in judgment.errors if error.words for word in range(error.words[0], error.words[1] + 1)}
            for judgment in answers
        ]
        yield from ([int(word in words) for words in marked] for word in range(len(pieces(output.text)) // 2))


def _of_outputs(several: Iterable[Sequence[Judgment]]) -> Iterator[tuple[JudgedOutput, list[Answers]]]:
    """Yield each translation with what every annotator said about it."""
    for judgments in several:
        for output in judgments[0].item.outputs:
            yield output, [answers[output.systems[0]] for _, _, answers in judgments]


def alpha(units: Iterable[Sequence[int]], level: Level) -> float | None:
    """Return Krippendorff's alpha (Krippendorff 2011, Computing Krippendorff's Alpha-Reliability), `1 - D_o / D_e`: 1
    if annotators always agree, 0 if as often as by chance. None if there is nothing to compare: no unit with two values
    or more, or the same value everywhere.

    `units` are the values that annotators gave to one thing each, from any number of annotators in any order.
    `D_o = sum_ck o_ck d_ck` and `D_e = sum_ck n_c n_k d_ck / (n - 1)`, where o has the pairs of values within units,
    each unit of m values weighing 1 / (m - 1), n_c are its sums and n their sum.
    """
    pairable = [unit for unit in units if len(unit) > 1]
    values = sorted({value for unit in pairable for value in unit})
    places = {value: place for place, value in enumerate(values)}
    pairs = np.zeros((len(values), len(values)))
    for unit in pairable:
        counts = np.bincount([places[value] for value in unit], minlength=len(values))
        pairs += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    totals = pairs.sum(axis=0)
    distances = _distances(values, totals, level)
    expected = float((np.outer(totals, totals) * distances).sum())
    if not expected:
        return None
    return 1 - float((totals.sum() - 1) * (pairs * distances).sum() / expected)


def _distances(values: Sequence[int], totals: Float[np.ndarray, " V"], level: Level) -> Matrix:
    """The squared distances of values: whether they differ, by the number of values between them, or by their own."""
    match level:
        case "nominal":
            return 1 - np.eye(len(values))
        case "ordinal":  # d_ck = (n_c / 2 + the values between c and k + n_k / 2)^2
            ranks = totals.cumsum() - totals / 2
        case "interval":
            ranks = np.array(values, dtype=np.float64)
    squares: Matrix = np.subtract.outer(ranks, ranks) ** 2
    return squares
