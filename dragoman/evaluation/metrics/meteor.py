"""METEOR, with the word matching of nltk (extra `metrics`)."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from sacrebleu.metrics.bleu import BLEU

from dragoman.errors import UserError, missing_library
from dragoman.evaluation.metrics.metric import Counts, Metric
from dragoman.evaluation.metrics.sacre import Tokenize

Stemmer: TypeAlias = Literal[
    "porter",
    "none",
    "arabic",
    "danish",
    "dutch",
    "english",
    "finnish",
    "french",
    "german",
    "hungarian",
    "italian",
    "norwegian",
    "portuguese",
    "romanian",
    "russian",
    "spanish",
    "swedish",
]


class Meteor(Metric):
    """METEOR (Banerjee and Lavie 2005), 0 to 100: `F (1 - 0.5 (chunks / matches)^3)` with `F = 10 P R / (R + 9 P)`,
    precision P and recall R of words, and chunks of matches that are adjacent and in the same order on both sides.
    Matches, chunks and words are summed over the corpus. Of several references, the one with the best score counts.

    Words match that are equal but for case, or that `stemmer` gives the same stem (`porter` for English, a language
    for its Snowball stemmer, or `none`), or, with `wordnet: true`, that are synonyms in English. WordNet is never
    looked for unasked, since a score must not depend on what a machine has. `tokenize` is that of `bleu`.
    """

    name = "METEOR"

    def __init__(self, *, stemmer: Stemmer = "porter", wordnet: bool = False, tokenize: Tokenize = "13a") -> None:
        try:
            from nltk.translate.meteor_score import align_words
        except ModuleNotFoundError as error:
            raise missing_library(error.name, "metrics") from error
        self.stemmer = stemmer
        self.wordnet = wordnet
        self.tokenize = tokenize
        self._align: Any = align_words
        self._stages = {"stemmer": _stemmer(stemmer), "wordnet": _wordnet() if wordnet else _Nothing()}
        self._tokenizer = BLEU(tokenize=tokenize).tokenizer

    def signature(self, references: int) -> str:
        synonyms = "yes" if self.wordnet else "no"
        parts = super().signature(references)
        return f"{parts}|case:lc|tok:{self.tokenize}|stem:{self.stemmer}|wordnet:{synonyms}"

    def _counts(self, hypothesis: str, references: Sequence[str]) -> Counts:
        words = self._words(hypothesis)
        return max((self._matched(words, self._words(reference)) for reference in references), key=self.value)

    def value(self, sums: Counts) -> float:
        matches, chunks, of_hypothesis, of_reference = sums
        if not matches:
            return 0.0
        precision, recall = matches / of_hypothesis, matches / of_reference
        mean = 10 * precision * recall / (recall + 9 * precision)
        return 100.0 * mean * (1 - 0.5 * (chunks / matches) ** 3)

    def _words(self, line: str) -> list[str]:
        return str(self._tokenizer(line.rstrip())).split()

    def _matched(self, hypothesis: list[str], reference: list[str]) -> tuple[int, int, int, int]:
        """Matches, chunks, and words on both sides."""
        pairs, *_ = self._align(hypothesis, reference, **self._stages)
        breaks = sum((i + 1, j + 1) != following for (i, j), following in pairwise(pairs))
        return len(pairs), breaks + 1 if pairs else 0, len(hypothesis), len(reference)


class _Nothing:
    """Neither a stem but the word itself nor a synonym."""

    def stem(self, word: str) -> str:
        return word

    def synsets(self, word: str) -> list[Any]:
        return []


def _stemmer(name: str) -> Any:
    from nltk.stem import PorterStemmer, SnowballStemmer

    if name == "none":
        return _Nothing()
    return PorterStemmer() if name == "porter" else SnowballStemmer(name)


def _wordnet() -> Any:
    """nltk's reader. Raises UserError if this machine has no data of WordNet."""
    from nltk.corpus import wordnet

    try:
        wordnet.ensure_loaded()
    except LookupError as error:
        raise UserError("WordNet is not installed; run `python -m nltk.downloader wordnet`") from error
    return wordnet
