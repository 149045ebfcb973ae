"""Scores, and the base class of metrics."""

import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float

from dragoman.configuration.messages import figure
from dragoman.errors import UserError
from dragoman.text.normalizer import composed
from dragoman.text.pretokenizer import PIECE

Counts: TypeAlias = Sequence[int | float]
_WORD = re.compile(PIECE)


class Score(NamedTuple):
    """The value of a metric for a corpus. `signature`: references, case, tokenizer, version, ..."""

    name: str
    value: float
    signature: str

    def __str__(self) -> str:
        return f"{self.name} = {figure(self.value)} ({self.signature})"

    def of(self, pair: str) -> "Score":
        """The same score with the language pair, if not empty, in its name."""
        return self._replace(name=f"{self.name} {pair}" if pair else self.name)

    def against(self, references: Sequence[str]) -> "Score":
        """The same score with a digest of the references in its signature: only scores on the same references are
        comparable.
        """
        data = f"sentences:{len(references)}|references:{_digest(map(composed, references))}"
        return self._replace(signature=f"{self.signature}|{data}")


def predicted(perplexity: float, accuracy: float, unit: str, symbols: Sequence[str]) -> list[Score]:
    """Scores of how well a model predicts references in its own symbols, comparable only between models that have the
    same symbols.
    """
    signature = f"unit:{unit}|symbols:{len(symbols)}|inventory:{_digest(symbols)}"
    return [Score("Perplexity", perplexity, signature), Score("Accuracy", accuracy, signature)]


def _digest(lines: Iterable[str]) -> str:
    """A checksum of the lines: eight hexadecimal digits."""
    text = "\n".join(lines)
    return f"{zlib.crc32(text.encode('utf-8', 'surrogatepass')):08x}"


class Metric(ABC):
    """A score of the translations of a corpus, or of one sentence, against one or more references for each.

    A metric counts something in each sentence; the counts add up, and the score of any set of sentences is a function
    of their sums. So resampled corpora (`evaluation/significance.py`) and parts of a corpus (`evaluation/groups.py`)
    are scored without looking at their texts again.

    Texts are compared in NFC, the form that models read and write, whatever form they are given in.
    """

    name: str  # as it is printed
    higher_is_better: ClassVar[bool] = True
    for_few_pairs: ClassVar[str] = ""  # the metric that decides instead in training with few pairs

    def corpus(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
        """The score of the whole corpus; it is not the mean of the sentences' scores, unless the metric says so.

        `references` has one entry per reference translation, each a list as long as `hypotheses` (so a corpus with a
        single reference is `[lines]`). Raises UserError if lists are empty or differ in length.
        """
        sums = self.counts(hypotheses, references).sum(axis=0)
        return Score(self.name, self.value(sums.tolist()), self.signature(len(references)))

    def counts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Float[np.ndarray, "N K"]:
        """What `value` needs of each sentence. Raises UserError as `corpus` does."""
        if not hypotheses:
            raise UserError("no translations to score")
        if not references:
            raise UserError("no reference to score against")
        for number, lines in enumerate(references, start=1):
            if len(lines) != len(hypotheses):
                raise UserError(
                    f"there are {len(hypotheses)} translations, but reference {number} has {len(lines)} lines"
                )
        texts = zip(*(map(composed, lines) for lines in (hypotheses, *references)), strict=True)
        rows = [self._counts(hypothesis, other_references) for hypothesis, *other_references in texts]
        return np.array(rows, dtype=np.float64)

    def similarities(self, texts: Sequence[str]) -> Float[np.ndarray, "N N"]:
        """The value of `sentence` for every text with every one as the only reference: (texts, references)."""
        return self._similarities(list(map(composed, texts)))

    def _similarities(self, texts: Sequence[str]) -> Float[np.ndarray, "N N"]:
        return np.array([[self.sentence(one, [other]).value for other in texts] for one in texts])

    def sentence(self, hypothesis: str, references: Sequence[str]) -> Score:
        """The score of one sentence, for comparing its translations: by default the score of a corpus of this sentence
        alone. Raises UserError if there is no reference.
        """
        if not references:
            raise UserError("no reference to score against")
        return self._sentence(composed(hypothesis), list(map(composed, references)))

    def _sentence(self, hypothesis: str, references: Sequence[str]) -> Score:
        return self.corpus([hypothesis], [[reference] for reference in references])

    @abstractmethod
    def _counts(self, hypothesis: str, references: Sequence[str]) -> Counts:
        """The counts of one sentence, always as many."""

    @abstractmethod
    def value(self, sums: Counts) -> float:
        """The score of sentences whose counts have these sums."""

    def signature(self, references: int) -> str:
        """What a score depends on, with so many references."""
        return f"nrefs:{references}"


class LineMetric(Metric):
    """A metric of lines without normalization, except that `lowercase` ignores letter case."""

    def __init__(self, *, lowercase: bool = False) -> None:
        self.lowercase = lowercase

    def signature(self, references: int) -> str:
        return f"{super().signature(references)}|case:{'lc' if self.lowercase else 'mixed'}"

    def _cased(self, text: str) -> str:
        return text.lower() if self.lowercase else text

    def _words(self, text: str) -> list[str]:
        """Runs of letters, digits and their marks in any script; punctuation is left out."""
        return _WORD.findall(self._cased(text))
