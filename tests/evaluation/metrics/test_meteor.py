"""METEOR: the paper's examples, and as nltk has it."""

import sys
from typing import Any

import pytest

from dragoman.configuration.components import Spec, build
from dragoman.errors import UserError
from dragoman.evaluation.metrics import meteor
from dragoman.evaluation.metrics.table import METRICS
from tests.golden import Golden

Segments = tuple[list[str], list[list[str]]]
pytestmark = pytest.mark.spec("H6")


def metric(**options: Any) -> Any:
    pytest.importorskip("nltk")
    return build(METRICS, Spec("meteor", options))


@pytest.mark.slow
def test_the_worked_example_of_banerjee_and_lavie() -> None:
    """Two chunks: "the president" and "spoke to the audience"."""
    score = metric().sentence("the president spoke to the audience", ["the president then spoke to the audience"])
    mean = 10 * 1 * (6 / 7) / (6 / 7 + 9 * 1)
    assert score.value == pytest.approx(100 * mean * (1 - 0.5 * (2 / 6) ** 3))
    assert (score.name, score.signature) == ("METEOR", "nrefs:1|case:lc|tok:13a|stem:porter|wordnet:no")


@pytest.mark.slow
def test_words_match_by_their_stems() -> None:
    """One chunk of two words, "running" and "run" among them."""
    assert metric().sentence("runs quickly", ["Running quickly"]).value == pytest.approx(100 * (1 - 0.5 / 8))
    assert metric(stemmer="none").sentence("runs quickly", ["Running quickly"]).value == pytest.approx(100 * 0.5 * 0.5)
    german = metric(stemmer="german")
    assert german.sentence("die Häuser", ["die Hauses"]).value == pytest.approx(100 * (1 - 0.5 / 8))
    assert metric().sentence("Läufe", ["Schritte"]).value == 0


def test_a_corpus_has_the_sums_of_its_sentences() -> None:
    """3 matches in 2 chunks, of 4 words for 5; the mean of the sentences' scores would be another."""
    score = metric(tokenize="none").corpus(["a b", "c x"], [["a b", "c d e"]])
    precision, recall = 3 / 4, 3 / 5
    mean = 10 * precision * recall / (recall + 9 * precision)
    assert score.value == pytest.approx(100 * mean * (1 - 0.5 * (2 / 3) ** 3))


def test_the_best_reference_counts() -> None:
    assert metric().sentence("a b", ["c d", "a b"]).value == metric().sentence("a b", ["a b"]).value


class Synonyms:
    """WordNet, of one synset."""

    def synsets(self, word: str) -> list["Synonyms"]:
        return [self] if word in ("car", "auto") else []

    def lemmas(self) -> list[Any]:
        return [type("Lemma", (), {"name": lambda self, name=name: name})() for name in ("car", "auto", "motor_car")]


def test_synonyms_match_where_wordnet_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert metric().sentence("my auto", ["my car"]).value == pytest.approx(100 * 0.5 * 0.5)
    monkeypatch.setattr(meteor, "_wordnet", Synonyms)
    score = metric(wordnet=True).sentence("my auto", ["my car"])
    assert score.value == pytest.approx(100 * (1 - 0.5 / 8))
    assert score.signature.endswith("wordnet:yes")


def test_what_is_missing_is_told(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nltk")
    data: Any = pytest.importorskip("nltk.data")
    monkeypatch.setattr(data, "path", [])
    with pytest.raises(UserError) as raised:
        metric(wordnet=True)
    golden(str(raised.value), "WordNet")
    for name in [name for name in sys.modules if name.partition(".")[0] == "nltk"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "nltk", None)
    with pytest.raises(UserError) as raised:
        build(METRICS, Spec("meteor"))
    golden(str(raised.value), "nltk")


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"stemmer": "german"}, {"stemmer": "none"}], ids=str)
def test_meteor_is_that_of_nltk(options: dict[str, str], segments: Segments, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentence by sentence, synonyms among them."""
    monkeypatch.setattr(meteor, "_wordnet", Synonyms)
    tested = metric(tokenize="none", wordnet=True, **options)
    score: Any = pytest.importorskip("nltk.translate.meteor_score").meteor_score
    for hypothesis, *references in zip(segments[0], *segments[1], strict=True):
        words = [line.split() for line in references]
        wanted = score(words, hypothesis.split(), **tested._stages)
        assert tested.sentence(hypothesis, references).value == pytest.approx(100 * wanted)
