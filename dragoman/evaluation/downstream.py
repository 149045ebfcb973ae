"""Evaluation through another task (CN 5.2): how many texts a classifier of well-formed text labels right (extra
`downstream`).
"""

from collections import Counter
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.corpus.tables import read_table
from dragoman.errors import UserError, missing_library
from dragoman.evaluation.metrics.metric import Counts, LineMetric
from dragoman.files.reading import shown
from dragoman.text.normalizer import composed
from dragoman.text.pretokenizer import punctuation

TEXT, LABEL = "text", "label"  # the columns of labeled text


class Labeled(NamedTuple):
    """Texts and the label of each."""

    texts: list[str]
    labels: list[str]


def read(path: Path) -> Labeled:
    """Read a file of columns that its header calls text and label, or that are these two in that order. Raises
    UserError if there is nothing to learn.
    """
    labeled = Labeled([], [])
    for number, (text, label) in enumerate(read_table(str(path), (TEXT, LABEL)), start=1):
        if not label.strip():
            raise UserError(f"{shown(path)}: text {number:,} has no label")
        labeled.texts.append(text)
        labeled.labels.append(label.strip())
    if len(set(labeled.labels)) < 2:
        raise UserError(f"{shown(path)}: expected texts with two labels or more, found {len(set(labeled.labels))}")
    return labeled


class Classifier:
    """A linear support vector machine (Cortes and Vapnik 1995) on the words, pairs of words and n-grams of characters
    of a text in lower case and NFC, weighted by tf-idf.

    Raises UserError if scikit-learn is not installed, or if no text has a word.
    """

    def __init__(self, labeled: Labeled) -> None:
        try:
            from sklearn.feature_extraction.text import TfidfVectorizer
            from sklearn.pipeline import make_pipeline, make_union
            from sklearn.svm import LinearSVC
        except ModuleNotFoundError as error:
            raise missing_library(error.name, "downstream") from error
        words = TfidfVectorizer(tokenizer=_words, token_pattern=None, ngram_range=(1, 2), sublinear_tf=True)
        characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)
        self._model: Any = make_pipeline(make_union(words, characters), LinearSVC(random_state=0))
        if not any(map(_words, labeled.texts)):
            raise UserError("the labeled texts have no words")
        self._model.fit(list(map(composed, labeled.texts)), labeled.labels)
        self.commonest = Counter(labeled.labels).most_common(1)[0][0]
        self.labels = frozenset(labeled.labels)
        self.signature = (
            f"trained:{len(labeled.texts)}|labels:{len(self.labels)}|scikit-learn:{metadata.version('scikit-learn')}"
        )

    def __call__(self, texts: Sequence[str]) -> list[str]:
        """The label of each text."""
        labels: list[str] = self._model.predict(list(map(composed, texts))).tolist() if texts else []
        return labels


class Accuracy(LineMetric):
    """The percentage of labels that are right; the signature says what found them."""

    name = "Accuracy"

    def __init__(self, classifier: Classifier) -> None:
        super().__init__()
        self._classifier = classifier.signature

    def signature(self, references: int) -> str:
        return self._classifier

    def _counts(self, hypothesis: str, references: Sequence[str]) -> Counts:
        return hypothesis in references, 1

    def value(self, sums: Counts) -> float:
        right, labels = sums
        return 100.0 * right / labels


def _words(text: str) -> list[str]:
    return [text[begin:end] for begin, end in punctuation(text)]
