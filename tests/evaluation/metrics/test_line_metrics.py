"""Metrics of what other commands write, with intervals and tests as a plain loop over resampled test sets has them."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.cli.evaluate_scores import ScoredFile, check_forms, check_texts
from dragoman.corpus.pharaoh import read_pharaoh
from dragoman.errors import UserError
from dragoman.evaluation.alignment import error_rate
from dragoman.evaluation.metrics.line_metrics import AlignmentErrorRate, Perplexity, StructuredLineMetric
from dragoman.evaluation.metrics.metric import Metric
from dragoman.evaluation.significance import compare
from tests.golden import Golden

SENTENCES = 60
GOLD = ["0-0 1-1 2?1", "0-1 1-0", ""] * (SENTENCES // 3)


def links(seed: int) -> list[str]:
    """Pharaoh lines of up to six links among three words of each side."""
    generator = np.random.default_rng(seed)
    return [
        " ".join(f"{s}-{t}" for s, t in generator.integers(3, size=(generator.integers(7), 2)))
        for _ in range(SENTENCES)
    ]


def scores(seed: int) -> list[str]:
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, 9, size=SENTENCES)
    return [f"{-length * generator.random():.4f}\t{length}\t-1.0" for length in lengths]


def aer(lines: Sequence[str], numbers: Sequence[int]) -> float:
    links_of = [read_pharaoh(lines[number]).possible for number in numbers]
    return 100 * error_rate(links_of, [read_pharaoh(GOLD[number]) for number in numbers]).error_rate


def perplexity(lines: Sequence[str], numbers: Sequence[int]) -> float:
    fields = [lines[number].split("\t") for number in numbers]
    return math.exp(-sum(float(field[0]) for field in fields) / sum(int(field[1]) for field in fields))


on_each_kind = pytest.mark.parametrize(
    ("metric", "written", "value"),
    [(AlignmentErrorRate(), links, aer), (Perplexity(), scores, perplexity)],
    ids=["aer", "perplexity"],
)


@on_each_kind
def test_the_score_of_a_corpus(metric: Metric, written: Callable[[int], list[str]], value: Any) -> None:
    score = metric.corpus(written(1), [GOLD])
    assert score.value == pytest.approx(value(written(1), range(SENTENCES)))
    assert not metric.higher_is_better


@pytest.mark.spec("H13")
@on_each_kind
def test_intervals_and_paired_bootstrap_are_those_of_a_loop(
    metric: Metric, written: Callable[[int], list[str]], value: Any
) -> None:
    systems = written(1), written(2)
    first, second = compare(metric, [metric.counts(lines, [GOLD]) for lines in systems], 1, samples=200, seed=3)
    generator, drawn = np.random.default_rng(3), list[list[float]]()
    for _ in range(200):
        numbers = generator.integers(SENTENCES, size=SENTENCES).tolist()
        drawn.append([value(lines, numbers) for lines in systems])
    values = np.array(drawn)
    for number, result in enumerate((first, second)):
        assert (result.low, result.high) == pytest.approx(np.quantile(values[:, number], [0.025, 0.975]).tolist())
        assert result.mean == pytest.approx(values[:, number].mean())
    differences = values[:, 1] - values[:, 0]
    observed = value(systems[1], range(SENTENCES)) - value(systems[0], range(SENTENCES))
    as_far = sum(abs(difference - differences.mean()) >= abs(observed) for difference in differences)
    assert second.p == pytest.approx((as_far + 1) / 201)


@pytest.mark.spec("H13")
@on_each_kind
def test_approximate_randomization_is_that_of_a_loop(
    metric: Metric, written: Callable[[int], list[str]], value: Any
) -> None:
    systems = written(1), written(2)
    counts = [metric.counts(lines, [GOLD]) for lines in systems]
    p_value = compare(metric, counts, 1, samples=200, seed=3, test="randomization")[1].p
    numbers, as_large = range(SENTENCES), 0
    observed = abs(value(systems[1], numbers) - value(systems[0], numbers))
    for coins in np.random.default_rng(3).integers(2, size=(200, SENTENCES), dtype=bool):
        swapped = [[systems[int(coin) ^ side][n] for n, coin in enumerate(coins)] for side in (0, 1)]
        as_large += abs(value(swapped[1], numbers) - value(swapped[0], numbers)) >= observed - 1e-9
    assert p_value == pytest.approx((as_large + 1) / 201)


def test_gold_links_may_count_from_1() -> None:
    assert AlignmentErrorRate(one_based=True).corpus(["0-0 1-1"], [["1-1 2-2"]]).value == 0
    assert AlignmentErrorRate().corpus(["0-0 1-1"], [["1-1 2-2"]]).value == 50


@pytest.mark.parametrize(
    ("metric", "lines", "references"),
    [
        (AlignmentErrorRate(), ["0-0", "the cat"], [["0-0", "0-0"]]),
        (AlignmentErrorRate(), ["0-0"], [["zero"]]),
        (AlignmentErrorRate(one_based=True), ["0-0"], [["0-1"]]),
        (AlignmentErrorRate(), ["0-0"], [["0-0"], ["0-0"]]),
        (Perplexity(), ["-1.0\t3", "-1.0"], [["a", "b"]]),
        (Perplexity(), ["the\tcat"], [["a"]]),
        (Perplexity(), ["nan\t3"], [["a"]]),
        (Perplexity(), ["-inf\t3"], [["a"]]),
        (Perplexity(), ["-1.0\t0"], [["a"]]),
        (Perplexity(), ["1.0\t2"], [["a"]]),
    ],
    ids=[
        "links",
        "gold alignment",
        "word 0",
        "two gold",
        "one column",
        "text",
        "nan",
        "infinite",
        "no symbols",
        "above 0",
    ],
)
def test_other_lines_are_told(
    metric: StructuredLineMetric, lines: list[str], references: list[list[str]], golden: Golden
) -> None:
    """With the file and the line."""
    systems, gold = (
        [ScoredFile(Path("found"), lines)],
        [ScoredFile(Path(f"gold{n}"), reference_lines) for n, reference_lines in enumerate(references)],
    )
    with pytest.raises(UserError) as raised:
        check_forms(systems, gold, [metric])
    golden(str(raised.value))


def test_perplexities_of_other_symbols_are_not_compared(golden: Golden) -> None:
    systems = [ScoredFile(Path(name), ["-1.0\t3", f"-2.0\t{symbols}"]) for name, symbols in (("one", 4), ("other", 5))]
    with pytest.raises(UserError) as raised:
        check_forms(systems, [], [Perplexity()])
    golden(str(raised.value))
    check_forms(systems[:1] * 2, [], [Perplexity()])


def test_what_a_run_writes_is_text(golden: Golden) -> None:
    with pytest.raises(UserError) as raised:
        check_texts([AlignmentErrorRate()])
    golden(str(raised.value))
