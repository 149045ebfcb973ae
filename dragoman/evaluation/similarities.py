"""Every text of several scored against every other, from the counts of their n-grams: for minimum Bayes risk."""

from collections import Counter
from collections.abc import Callable, Sequence
from string import punctuation
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU

Matrix: TypeAlias = NDArray[np.float64]  # (translations, references), both the same texts

CHARACTERS = 6  # the longest character n-grams of chrF
BETA = 2  # how much more recall counts there than precision


def matches(counts: Sequence[Counter[str]]) -> Matrix:
    """For every two texts `sum_g min(c_g, c'_g)` over their n-grams: the sum over k of how many n-grams both have k
    times or more often, which is a product of matrices of zeros and ones.
    """
    columns = {
        ngram: column for column, ngram in enumerate(dict.fromkeys(ngram for counter in counts for ngram in counter))
    }
    table = np.zeros((len(counts), len(columns)), np.int64)
    for row, counter in enumerate(counts):
        table[row, [columns[ngram] for ngram in counter]] = list(counter.values())
    common = np.zeros((len(counts), len(counts)))
    times = 1
    while table.size:
        there = (table >= times).astype(np.float32)
        common += there @ there.T
        times += 1
        table = table[:, (table >= times).any(0)]
    return common


def chrf(texts: Sequence[str], word_order: int) -> Matrix:
    """chrF of every text against every other (Popovic 2015), of words too up to `word_order`."""
    spaceless, words = ["".join(text.split()) for text in texts], [_words(text) for text in texts]
    orders = [[_ngrams(text, order, str) for text in spaceless] for order in range(1, CHARACTERS + 1)]
    orders += [[_ngrams(text, order, " ".join) for text in words] for order in range(1, word_order + 1)]
    precision = np.zeros((len(texts), len(texts)))
    recall, effective = precision.copy(), precision.copy()
    for counts in orders:
        totals = np.array([counter.total() for counter in counts], np.float64)
        there = (totals[:, None] > 0) & (totals > 0)
        both = matches(counts)
        precision += np.divide(both, totals[:, None], out=np.zeros_like(both), where=there)
        recall += np.divide(both, totals, out=np.zeros_like(both), where=there)
        effective += there
    precision, recall = precision / effective.clip(min=1), recall / effective.clip(min=1)
    weighted = BETA**2 * precision + recall
    scores: Matrix = np.divide(
        100 * (1 + BETA**2) * precision * recall, weighted, out=np.zeros_like(weighted), where=weighted > 0
    )
    return scores


def bleu(words: Sequence[Sequence[str]], order: int, smoothing: str) -> Matrix:
    """BLEU of every text against every other, given their words, with effective order."""
    orders = [[_ngrams(sentence_words, length, " ".join) for sentence_words in words] for length in range(1, order + 1)]
    both = np.stack([matches(counts) for counts in orders], 2).astype(int).tolist()
    totals = [[counts[row].total() for counts in orders] for row in range(len(words))]
    scores = [
        [
            BLEU.compute_bleu(
                both[row][column],
                list(totals[row]),  # which smoothing may change
                len(words[row]),
                len(words[column]),
                smoothing,
                effective_order=True,
                max_ngram_order=order,
            ).score
            for column in range(len(words))
        ]
        for row in range(len(words))
    ]
    return np.array(scores).clip(max=100.0)


def _ngrams(items: Sequence[str], order: int, joined: Callable[[Sequence[str]], str]) -> Counter[str]:
    return Counter(joined(items[first : first + order]) for first in range(len(items) - order + 1))


def _words(text: str) -> list[str]:
    """The words of a text as chrF++ has them, which separates one punctuation mark from the end of a word, or else from
    its beginning.
    """
    words = []
    for word in text.split():
        last, first = word[-1] in punctuation, word[0] in punctuation
        if len(word) == 1 or not (last or first):
            words.append(word)
        else:
            words += [word[:-1], word[-1]] if last else [word[0], word[1:]]
    return words
