"""ROUGE: Lin's examples, other scripts, and as rouge-score has it."""

import itertools
from typing import Any

import pytest

from dragoman.configuration.components import Spec, build
from dragoman.evaluation.metrics.rouge import Rouge1, Rouge2, RougeL
from dragoman.evaluation.metrics.table import METRICS

Segments = tuple[list[str], list[list[str]]]


@pytest.mark.spec("H5")
def test_the_worked_example_of_lin() -> None:
    """Section 3.1 of the paper of 2004: ROUGE-2 is 1/3 for both, and ROUGE-L knows the order."""
    reference = ["police killed the gunman"]
    for text, longest, pairs in (
        ("police kill the gunman", 3 / 4, 1 / 3),
        ("the gunman kill police", 2 / 4, 1 / 3),
        ("the gunman police killed", 2 / 4, 2 / 3),
    ):
        assert RougeL().sentence(text, reference).value == pytest.approx(100 * longest)
        assert Rouge2().sentence(text, reference).value == pytest.approx(100 * pairs)


@pytest.mark.spec("H5")
def test_precision_recall_and_their_weighted_mean_by_hand() -> None:
    """3 of 4 words are right, and 3 of 6 are there ("the" counts twice at most)."""
    text, reference = "the cat the dog", ["the cat saw the old man"]
    precision, recall = 3 / 4, 3 / 6
    assert Rouge1(measure="precision").sentence(text, reference).value == pytest.approx(100 * precision)
    assert Rouge1(measure="recall").sentence(text, reference).value == pytest.approx(100 * recall)
    assert Rouge1().sentence(text, reference).value == pytest.approx(100 * 0.6)
    mean = (1 + 4) * recall * precision / (recall + 4 * precision)
    assert Rouge1(beta=2.0).sentence(text, reference).value == pytest.approx(100 * mean)
    assert Rouge1(beta=1000.0).sentence(text, reference).value == pytest.approx(100 * recall, abs=1e-3)


@pytest.mark.spec("H5")
def test_names_and_signatures_tell_the_measure() -> None:
    score = Rouge2(measure="recall").corpus(["a b"], [["A, b c"]])
    assert (score.name, score.value, score.signature) == ("ROUGE-2 recall", 50.0, "nrefs:1|case:lc|measure:recall")
    assert RougeL().corpus(["a"], [["a"]]).signature == "nrefs:1|case:lc|measure:f|beta:1"
    assert Rouge1(lowercase=False).corpus(["A"], [["a"]]).value == 0


@pytest.mark.spec("H5")
def test_words_of_any_script_are_words() -> None:
    assert Rouge1().sentence("Die Läufer!", ["läufer"]).value == pytest.approx(100 * 2 / 3)
    assert Rouge1().sentence("हिन्दी में", ["हिन्दी"]).value == pytest.approx(100 * 2 / 3)  # marks belong to their letter
    assert Rouge1().sentence("город Москва", ["москва"]).value == pytest.approx(100 * 2 / 3)
    assert Rouge1().sentence("...", ["."]).value == 0  # no word at all


class Words:
    """As rouge-score asks for them."""

    def tokenize(self, text: str) -> list[str]:
        return Rouge1()._words(text)


@pytest.mark.slow
@pytest.mark.spec("H5")
@pytest.mark.parametrize("kind", ["rouge1", "rouge2", "rougeL"])
@pytest.mark.parametrize("measure", ["f", "precision", "recall"])
def test_rouge_is_that_of_rouge_score(kind: str, measure: str, segments: Segments) -> None:
    scorers: Any = pytest.importorskip("rouge_score.rouge_scorer")
    metric = build(METRICS, Spec(kind, {"measure": measure}))
    scorer = scorers.RougeScorer([kind], tokenizer=Words())
    hypotheses, references = segments
    index = {"precision": 0, "recall": 1, "f": 2}[measure]
    values: list[float] = []
    for hypothesis, *references_of in zip(hypotheses, *references, strict=True):
        values.append(scorer.score_multi(references_of, hypothesis)[kind][index])
        assert metric.sentence(hypothesis, references_of).value == pytest.approx(100 * values[-1])
    assert metric.corpus(*segments).value == pytest.approx(100 * sum(values) / 1000)


@pytest.mark.spec("H5")
def test_the_words_of_english_are_those_of_rouge_score(segments: Segments) -> None:
    """Its own tokenizer knows ASCII alone."""
    scorers: Any = pytest.importorskip("rouge_score.rouge_scorer")
    scorer = scorers.RougeScorer(["rougeL"])
    pairs = ((h.encode("ascii", "ignore").decode(), r) for h, r in zip(segments[0], segments[1][0], strict=True))
    for hypothesis, reference in itertools.islice((pair for pair in pairs if pair[1].isascii()), 100):
        wanted = scorer.score(reference, hypothesis)["rougeL"].fmeasure
        assert RougeL().sentence(hypothesis, [reference]).value == pytest.approx(100 * wanted)
