"""A classifier of texts as a measure of their translations."""

import sys
import unicodedata
from pathlib import Path
from typing import Literal

import pytest

from dragoman.errors import UserError
from dragoman.evaluation.downstream import Accuracy, Classifier, Labeled, read
from tests.golden import Golden

pytestmark = pytest.mark.spec("H11")
PLACES = [f"where is the {thing}" for thing in ("station", "house", "river", "old town", "garden", "school")]
PERSONS = [f"who is the {person}" for person in ("teacher", "old man", "gardener", "woman", "girl", "doctor")]
LABELLED = Labeled([*PLACES, *PERSONS], ["place"] * 6 + ["person"] * 6)


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    pytest.importorskip("sklearn")
    return Classifier(LABELLED)


def test_it_learns_from_words_of_any_script(classifier: Classifier) -> None:
    assert classifier(["Where is the bank?", "who is the king", "where"]) == ["place", "person", "place"]
    assert classifier([]) == []
    japanese = Labeled(
        ["駅はどこですか", "家はどこですか", "先生は誰ですか", "女の人は誰ですか"],
        ["place", "place", "person", "person"],
    )
    assert Classifier(japanese)(["川はどこですか", "男の人は誰ですか"]) == ["place", "person"]


@pytest.mark.parametrize(("learned", "form"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_it_learns_from_words_in_any_form(learned: Literal["NFC", "NFD"], form: Literal["NFC", "NFD"]) -> None:
    pytest.importorskip("sklearn")
    texts, labels = ["\u00e9t\u00e9", "\u00e0 l\u00e0", "ete", "a la"], ["one", "one", "other", "other"]
    classify = Classifier(Labeled([unicodedata.normalize(learned, text) for text in texts], labels))
    assert classify([unicodedata.normalize(form, text) for text in texts]) == labels


def test_the_same_texts_give_the_same_labels_whatever_stands_beside_them(classifier: Classifier) -> None:
    texts = ["where who is", "the", "who where", ""]
    assert [label for text in texts for label in classifier([text])] == classifier(texts)
    assert Classifier(LABELLED)(texts) == classifier(texts)


def test_accuracy_is_the_share_of_right_labels(classifier: Classifier) -> None:
    score = Accuracy(classifier).corpus(["a", "b", "c", "a"], [["a", "b", "b", "b"]])
    assert (score.name, score.value) == ("Accuracy", 50)
    assert score.signature.startswith("trained:12|labels:2|scikit-learn:")
    assert classifier.commonest == "place"
    assert classifier.labels == {"place", "person"}


def test_labeled_text_has_columns_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("label\tnote\ttext\nx\t1\ta b\n y \t2\tc\n", "utf-8")
    (tmp_path / "b.tsv").write_text("a b\tx\nc\ty\n", "utf-8")
    assert read(tmp_path / "a.tsv") == read(tmp_path / "b.tsv") == Labeled(["a b", "c"], ["x", "y"])


@pytest.mark.parametrize("text", ["", "a\tx\nb\tx\n", "a\tx\nb\t \n", "a\tx\nb\n", "text\tlabel\n"])
def test_what_nothing_can_be_learned_from_is_told(text: str, tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "train.tsv").write_text(text, "utf-8")
    with pytest.raises(UserError) as raised:
        read(tmp_path / "train.tsv")
    golden(str(raised.value))


def test_texts_without_words_are_told() -> None:
    pytest.importorskip("sklearn")
    with pytest.raises(UserError, match="have no words"):
        Classifier(Labeled(["", " "], ["a", "b"]))


def test_a_missing_library_is_told_with_the_extra(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    with pytest.raises(UserError) as raised:
        Classifier(LABELLED)
    golden(str(raised.value))
