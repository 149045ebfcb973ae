"""The metrics of sacreBLEU (BLEU, chrF, TER), with its signatures, and those that count as it does."""

import copy
import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from jaxtyping import Float
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from dragoman.configuration.values import Count
from dragoman.evaluation import similarities
from dragoman.evaluation.metrics.metric import Counts, Metric, Score

Tokenize: TypeAlias = Literal["13a", "intl", "zh", "char", "none"]
Smoothing: TypeAlias = Literal["exp", "floor", "add-k", "none"]


class SacreMetric(Metric):
    """A metric that has the counts, and unless it says otherwise the value, of one of sacreBLEU's.

    `scorer` is asked through the methods that sacreBLEU's own significance tests use.
    """

    def __init__(self, name: str, scorer: Any) -> None:
        self.name = name
        self._scorer = scorer

    def _counts(self, hypothesis: str, references: Sequence[str]) -> Counts:
        (row,) = self._scorer._extract_corpus_statistics([hypothesis], [[reference] for reference in references])
        return list[float](row)

    def value(self, sums: Counts) -> float:
        return float(self._scorer._compute_score_from_stats(list(sums)).score)

    def signature(self, references: int) -> str:
        return _signature(self._scorer, references)


def _signature(scorer: Any, references: int) -> str:
    scorer = copy.copy(scorer)  # it reads the number of references where it has kept that of the last corpus
    scorer.num_refs = references
    return str(scorer.get_signature())


class Bleu(SacreMetric):
    """BLEU (Papineni et al. 2002), 0 to 100: clipped n-gram precisions, geometric mean, brevity penalty.

    `tokenize` splits texts into words: the default `13a` scores natural text as WMT does. Older papers scored text that
    was tokenized, and often lower-cased, beforehand: `tokenize: none, lowercase: true` reproduces this. `intl` splits
    at all Unicode punctuation and symbols; `zh` suits Chinese, `char` Japanese and other text without spaces. `order`
    is the length of the longest n-grams. Whether the text is already tokenized is not checked.

    A sentence is scored with effective order: n-grams longer than the translation are left out of the mean, as
    otherwise the score of a short translation would be determined by smoothing. `smoothing` says what takes the place
    of a precision of 0 (Chen and Cherry 2014); with `none`, a translation without a match of some order has score 0.
    """

    for_few_pairs = "chrf"  # BLEU is near 0, or jumps about, for much of such a training

    def __init__(
        self,
        *,
        tokenize: Tokenize = "13a",
        lowercase: bool = False,
        smoothing: Smoothing = "exp",
        order: Count = 4,
    ) -> None:
        scorer = BLEU(
            lowercase=lowercase, tokenize=tokenize, smooth_method=smoothing, max_ngram_order=order, force=True
        )
        super().__init__("BLEU" if order == 4 else f"BLEU-{order}", scorer)
        self.order = order
        self._alone: Any = copy.copy(scorer)
        self._alone.effective_order = True

    def _similarities(self, texts: Sequence[str]) -> Float[np.ndarray, "N N"]:
        cased = [text.lower() if self._alone.lowercase else text for text in texts]
        words = [self._alone.tokenizer(text.rstrip()).split() for text in cased]
        return similarities.bleu(words, self.order, self._alone.smooth_method)

    def _sentence(self, hypothesis: str, references: Sequence[str]) -> Score:
        result = self._alone._compute_score_from_stats(self._counts(hypothesis, references))
        return Score(self.name, _at_most_100(result.score), self._ordered(_signature(self._alone, len(references))))

    def value(self, sums: Counts) -> float:
        return _at_most_100(super().value(sums))

    def signature(self, references: int) -> str:
        return self._ordered(super().signature(references))

    def _ordered(self, signature: str) -> str:
        """With the order, which sacreBLEU leaves out."""
        return signature if self.order == 4 else f"{signature}|order:{self.order}"


def _at_most_100(value: float) -> float:
    """The mean of logarithms makes a perfect match 100.00000000000004."""
    return min(value, 100.0)


class BleuCS224n(SacreMetric):
    """BLEU as the lecture notes of CS224n print it (2017, part VI), 0 to 100: `β prod_n p_n^(w_n)` with the clipped
    precisions p_n of n-grams, `w_n = 1/2^n` and `β = exp(min(0, 1 - len_ref / len_MT))`; a precision of 0 makes it 0.

    The weights are as printed: up to `order: 4` their sum is 15/16 and not 1, so that short n-grams count most and the
    score is higher than BLEU, which weights all orders alike. A sentence is scored as a corpus is. The words and the
    options `tokenize` and `lowercase` are those of `bleu`.
    """

    def __init__(self, *, tokenize: Tokenize = "13a", lowercase: bool = False, order: Count = 4) -> None:
        scorer = BLEU(lowercase=lowercase, tokenize=tokenize, smooth_method="none", max_ngram_order=order, force=True)
        super().__init__("BLEU-CS224n", scorer)
        self.order = order

    def value(self, sums: Counts) -> float:
        length, reference, *counts = sums
        matched, total = counts[: self.order], counts[self.order :]
        if not all(matched):
            return 0.0
        powers = (math.pow(m / t, 2.0**-n) for n, (m, t) in enumerate(zip(matched, total, strict=True), start=1))
        return 100.0 * math.exp(min(0.0, 1 - reference / length)) * math.prod(powers)

    def signature(self, references: int) -> str:
        case, tokenizer = "lc" if self._scorer.lowercase else "mixed", self._scorer.tokenizer_signature
        return f"nrefs:{references}|case:{case}|tok:{tokenizer}|order:{self.order}"


class Chrf(SacreMetric):
    """chrF (Popovic 2015), 0 to 100: the F2 score of character n-grams up to 6.

    `word_order: 2` counts words and word bigrams as well: chrF++. With `lowercase`, case does not count.
    """

    def __init__(self, *, word_order: Literal[0, 1, 2] = 0, lowercase: bool = False) -> None:
        super().__init__(f"chrF2{'+' * word_order}", CHRF(word_order=word_order, lowercase=lowercase))
        self.word_order = word_order
        self.lowercase = lowercase

    def _similarities(self, texts: Sequence[str]) -> Float[np.ndarray, "N N"]:
        return similarities.chrf([text.lower() if self.lowercase else text for text in texts], self.word_order)


class EditRate(SacreMetric):
    """Edits in percent of the reference's words: lower is better.

    Edits are insertions, deletions, substitutions and shifts of word sequences. With several references, the edits to
    the nearest one are divided by the mean length. The rate of long output can exceed 100. sacreBLEU ignores case by
    default; here case counts (`case:mixed` in the signature), since post-editors correct it too. `lowercase: true`
    gives sacreBLEU's default. `normalize: true` first splits punctuation from words (Tercom), and
    `asian_support: true` each character of Chinese and Japanese from the others, too.
    """

    higher_is_better = False

    def __init__(
        self, name: str, *, lowercase: bool = False, normalize: bool = False, asian_support: bool = False
    ) -> None:
        super().__init__(
            name, TER(case_sensitive=not lowercase, normalized=normalize or asian_support, asian_support=asian_support)
        )


class Ter(EditRate):
    """Translation edit rate (Snover et al. 2006), with options of `EditRate`."""

    def __init__(self, *, lowercase: bool = False, normalize: bool = False, asian_support: bool = False) -> None:
        super().__init__("TER", lowercase=lowercase, normalize=normalize, asian_support=asian_support)


class Hter(EditRate):
    """Human-targeted translation edit rate (Snover et al. 2006): TER whose reference is what a person made of this very
    translation by editing it. It counts the work of post-editors; a reference that was translated independently gives
    `ter`, which is higher. Nothing in a text tells the two apart, so that a name of its own says which one was meant.
    """

    def __init__(self, *, lowercase: bool = False, normalize: bool = False, asian_support: bool = False) -> None:
        super().__init__("HTER", lowercase=lowercase, normalize=normalize, asian_support=asian_support)
