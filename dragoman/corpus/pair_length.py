"""The length of pairs in subwords, before any training."""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from dragoman.corpus.examples import Pair
from dragoman.corpus.sample import Inventory
from dragoman.text.pretokenizer import punctuation
from dragoman.text.subword import Bpe


def mean_length(examples: Sequence[Pair], sizes: Sequence[int], max_length: int) -> float:
    """Return the mean number of symbols of a pair, its longer side with the end symbol, over the pairs of at most
    `max_length`. The subwords are learned from the examples: about `sizes` for source and target, or one size for a
    joint inventory. With a tenth of the pairs of a corpus as examples, the mean is within 1 % of that of all pairs.
    """
    sides = list(zip(*examples, strict=True))
    if len(sizes) == 1:
        units = [_learn_subwords(list(chain(*sides)), sizes[0])] * 2
    else:
        units = [_learn_subwords(texts, size) for texts, size in zip(sides, sizes, strict=True)]
    source, target = (unit.numbers(texts)[1] for unit, texts in zip(units, sides, strict=True))
    lengths = np.maximum(source, target) + 1
    kept = lengths[lengths <= max_length]
    return float(kept.mean()) if len(kept) else float(max_length)


def _learn_subwords(texts: Sequence[str], size: int) -> Bpe:
    words = {text[begin:end] for text in texts for begin, end in punctuation(text)}
    unit = Bpe(vocab_size=Inventory.of(words).symbols(size))
    unit.fit(texts, seed=1)
    return unit
