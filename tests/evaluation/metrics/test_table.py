"""What holds for every metric of the table."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.configuration.components import Spec, build, find_problems
from dragoman.configuration.config import UNTRANSLATED
from dragoman.contracts.contract import Check
from dragoman.contracts.metric_contract import COMPOSED, DECOMPOSED, HYPOTHESES, METRIC_CHECKS, REFERENCES
from dragoman.errors import UserError
from dragoman.evaluation.metrics.metric import Metric, Score
from dragoman.evaluation.metrics.sacre import Bleu
from dragoman.evaluation.metrics.table import METRICS, higher_is_better
from tests.golden import Golden

Segments = tuple[list[str], list[list[str]]]

on_each_metric = pytest.mark.parametrize("kind", sorted(METRICS))


def of(kind: str) -> Metric:
    if kind == "meteor":
        pytest.importorskip("nltk")
    return METRICS[kind]()


def best(kind: str) -> Any:
    """The score of a perfect translation, from which METEOR takes something for its one chunk."""
    return pytest.approx(100.0 if METRICS[kind].higher_is_better else 0.0, abs=0.2 if kind == "meteor" else None)


@pytest.mark.spec("H3")
@pytest.mark.parametrize("check", METRIC_CHECKS)
@on_each_metric
def test_every_metric_keeps_its_contract(kind: str, check: Check) -> None:
    of(kind)
    check(kind)


@on_each_metric
def test_a_perfect_sentence_has_the_best_score(kind: str) -> None:
    score = of(kind).sentence(HYPOTHESES[0], [REFERENCES[0], HYPOTHESES[0]])
    assert score.value == best(kind)
    assert "nrefs:2" in score.signature


@pytest.mark.parametrize("kind", sorted(set(METRICS) - {"bleu"}))
def test_a_sentence_is_a_corpus_of_one(kind: str) -> None:
    metric = of(kind)
    for text in (*HYPOTHESES, "", "mat"):
        assert metric.sentence(text, REFERENCES) == metric.corpus([text], [[reference] for reference in REFERENCES])


@on_each_metric
def test_texts_are_compared_in_one_form(kind: str) -> None:
    """Whichever side is decomposed."""
    metric = of(kind)
    (texts, references), (decomposed, other_references) = COMPOSED, DECOMPOSED
    for hypotheses, wanted in ((decomposed, references), (texts, other_references), (decomposed, other_references)):
        assert metric.sentence(hypotheses[0], [wanted[0]]) == metric.sentence(texts[0], references[:1])
    np.testing.assert_array_equal(
        metric.similarities([texts[0], other_references[0]]), metric.similarities([texts[0], references[0]])
    )


@on_each_metric
def test_corpora_that_cannot_be_scored(kind: str, golden: Golden) -> None:
    metric = of(kind)
    with pytest.raises(UserError) as raised:
        metric.corpus([], [[]])
    golden(str(raised.value), "no translations")
    with pytest.raises(UserError) as raised:
        metric.corpus(["a"], [])
    golden(str(raised.value), "no references")
    with pytest.raises(UserError) as raised:
        metric.corpus(["a", "b"], [["a", "b"], ["a"]])
    golden(str(raised.value), "unequal")


def test_a_sentence_needs_a_reference(golden: Golden) -> None:
    with pytest.raises(UserError) as raised:
        Bleu().sentence("a", [])
    golden(str(raised.value))


@pytest.mark.parametrize(
    ("name", "more"),
    [("bleu", True), ("chrf", True), ("ter", False), ("exact_match", True), ("token_error_rate", False)]
    + [("rougeL", True), ("meteor", True), ("hter", False), ("per", False), ("repeated_words", False)]
    + [("loss", False), ("perplexity", False), ("accuracy", True)],
)
def test_of_what_is_measured_more_or_less_is_better(name: str, more: bool) -> None:
    assert higher_is_better(name) == more


def test_what_is_measured_without_translating_has_a_name_of_its_own() -> None:
    assert not set(METRICS) & set(UNTRANSLATED)


def test_options_come_from_a_configuration() -> None:
    metric = build(METRICS, Spec("bleu", {"tokenize": "none", "lowercase": True}))
    assert metric.corpus(["A b c d"], [["a b c d"]]).value == 100
    assert "13a" in str(find_problems(METRICS, Spec("bleu", {"tokenize": "13b"}), ())[0])
    assert find_problems(METRICS, Spec("bleu", {"order": 0}), ())


@pytest.mark.slow
@on_each_metric
def test_counts_add_up(kind: str, segments: Segments) -> None:
    """The score of any part of a corpus is that of its sentences' counts."""
    metric = of(kind)
    hypotheses, *references = (lines[:100] for lines in (segments[0], *segments[1]))
    counts = metric.counts(hypotheses, references)
    assert counts.shape[0] == 100
    chosen = np.random.default_rng(1).integers(100, size=50)
    texts, *others_chosen = ([lines[i] for i in chosen] for lines in (hypotheses, *references))
    value = metric.value(counts[chosen].sum(axis=0).tolist())
    score = metric.corpus(texts, others_chosen)
    assert score == Score(metric.name, score.value, metric.signature(2))
    assert score.value == pytest.approx(value, abs=1e-9)


@pytest.mark.spec("H9")
@pytest.mark.parametrize("name", ["MaxSim", "SEPIA", "RTE"])
def test_a_metric_that_is_not_there_is_documented_with_what_to_use_instead(name: str, repository: Path) -> None:
    page = (repository / "docs" / "evaluation.md").read_text("utf-8")
    (row,) = [
        line for line in page.split("## Metrics that are not there")[1].splitlines() if line.startswith("| " + name)
    ]
    _, what, instead = [cell.strip() for cell in row.strip("|").split("|")]
    assert what
    named = re.findall("`(.*?)`", instead)
    assert set(named) <= set(METRICS)
    assert named or "COMET" in instead
    assert name.lower() not in METRICS
