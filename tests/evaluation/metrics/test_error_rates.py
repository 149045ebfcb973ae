"""Rates of errors: by hand, and as jiwer counts them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.configuration.components import Spec, build
from dragoman.evaluation.metrics.error_rates import (
    CharacterErrorRate,
    ExactMatchRate,
    PositionIndependentErrorRate,
    TokenErrorRate,
    WordErrorRate,
)
from dragoman.evaluation.metrics.metric import Score
from dragoman.evaluation.metrics.table import METRICS

Segments = tuple[list[str], list[list[str]]]

SYMBOLS = st.lists(st.sampled_from("abc"), max_size=6)


@pytest.mark.spec("E4")
def test_exact_match_is_of_whole_lines() -> None:
    references = ["b a ː n", "t i ʃ", "h u n t", "m aʊ s"]
    score = ExactMatchRate().corpus(["b a ː n", "t ɪ ʃ", "h u n", "m aʊ s"], [references])
    assert score == Score("Exact match", 50.0, "nrefs:1|case:mixed")
    assert 100 - score.value == 50  # SIGMORPHON's word error rate: 2 of 4 words are not exactly right
    assert ExactMatchRate().corpus(["a ", "b  c", "d"], [["a", "b c", "d"]]).value == pytest.approx(100 / 3)


@pytest.mark.spec("E4")
def test_exact_match_takes_any_reference_and_case_if_wanted() -> None:
    hypotheses, references = ["x", "B", "c"], [["a", "b", "c"], ["x", "d", "e"]]
    assert ExactMatchRate().corpus(hypotheses, references).value == pytest.approx(200 / 3)
    ignoring = ExactMatchRate(lowercase=True).corpus(hypotheses, references)
    assert ignoring == Score("Exact match", 100.0, "nrefs:2|case:lc")


@pytest.mark.spec("E4")
def test_token_error_rate_by_hand() -> None:
    # A substitution in 3 phones, a deletion in 4, nothing in 2, two insertions in 1: 4 edits of 10 tokens.
    hypotheses, references = ["t ɪ ʃ", "h u n", "a b", "x a y"], ["t i ʃ", "h u n t", "a b", "a"]
    score = TokenErrorRate().corpus(hypotheses, [references])
    assert score.value == pytest.approx(40.0)
    assert score == Score("Token error rate", score.value, "nrefs:1|case:mixed|unit:token")
    assert TokenErrorRate().corpus(["a b c d"], [["a"]]).value == 300
    characters = TokenErrorRate(unit="character").corpus(["Tür zu"], [["tür  zu"]])  # one changed, one missing of 7
    assert characters.value == pytest.approx(200 / 7)
    assert characters == Score("Token error rate", characters.value, "nrefs:1|case:mixed|unit:character")
    assert TokenErrorRate(lowercase=True).corpus(["A b"], [["a b"]]).value == 0


@pytest.mark.spec("E4")
def test_token_error_rate_takes_the_nearest_reference_and_its_length() -> None:
    score = TokenErrorRate().corpus(["a b c", "x"], [["a b", "y"], ["a b c d e", "z w"]])
    assert score.value == pytest.approx(100 * (1 + 1) / (2 + 1))
    assert TokenErrorRate().corpus(["a", ""], [["", ""]]).value == 100  # one edit of no token


@pytest.mark.spec("E4")
def test_of_equally_near_references_the_shortest_counts() -> None:
    """One token is missing from a reference of two, or from one of four."""
    for references in ([["a b"], ["a b c d"]], [["a b c d"], ["a b"]]):
        assert TokenErrorRate().corpus(["a b c"], references).value == pytest.approx(100 / 2)


@given(SYMBOLS, SYMBOLS)
def test_edits_are_the_recurrence(left: list[str], right: list[str]) -> None:
    def recurrence(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        return min(
            recurrence(i - 1, j) + 1,
            recurrence(i, j - 1) + 1,
            recurrence(i - 1, j - 1) + (left[i - 1] != right[j - 1]),
        )

    rate = WordErrorRate().sentence(" ".join(left), [" ".join(right)]).value
    assert rate == pytest.approx(100 * recurrence(len(left), len(right)) / max(1, len(right)))


def test_error_rates_are_jiwers(segments: Segments) -> None:
    jiwer = pytest.importorskip("jiwer")
    hypotheses, (references, _) = segments
    assert WordErrorRate().corpus(hypotheses, [references]).value == pytest.approx(
        100 * jiwer.wer(references, hypotheses)
    )
    assert CharacterErrorRate().corpus(hypotheses, [references]).value == pytest.approx(
        100 * jiwer.cer(references, hypotheses)
    )
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        assert WordErrorRate().sentence(hypothesis, [reference]).value == pytest.approx(
            100 * jiwer.wer(reference, hypothesis)
        )


def test_word_and_character_error_rates_are_token_error_rates(segments: Segments) -> None:
    """Of several references too."""
    for unit, metric in (("token", WordErrorRate), ("character", CharacterErrorRate)):
        wanted = build(METRICS, Spec("token_error_rate", {"unit": unit})).corpus(*segments).value
        assert metric().corpus(*segments).value == wanted
    assert WordErrorRate(lowercase=True).corpus(["A b"], [["a b"]]) == Score("WER", 0.0, "nrefs:1|case:lc")


def test_errors_without_positions_by_hand() -> None:
    metric = PositionIndependentErrorRate()
    assert metric.corpus(["c b a"], [["a b c"]]).value == 0
    assert metric.corpus(["a a b"], [["a b c d"]]).value == pytest.approx(100 * 2 / 4)  # 4 - 2 in common
    assert metric.corpus(["a b x y z"], [["a b"]]).value == pytest.approx(100 * 3 / 2)  # 5 - 2
    assert metric.corpus(["A"], [["a"]]).value == 100


def test_errors_without_positions_are_at_most_those_with(segments: Segments) -> None:
    for hypothesis, *references in zip(segments[0], *segments[1], strict=True):
        anywhere = PositionIndependentErrorRate().sentence(hypothesis, references[:1]).value
        assert anywhere <= WordErrorRate().sentence(hypothesis, references[:1]).value
