"""The length of pairs in subwords."""

import random

import pytest

from dragoman.corpus.examples import Pair
from dragoman.corpus.sizes import mean_length
from dragoman.text.subword import Bpe

LETTERS = "abcdefghijklm"
WORDS = [first + second + third for first in LETTERS for second in "aeiou" for third in LETTERS]


def pairs(count: int, longest: int = 6) -> list[Pair]:
    generator = random.Random(1)
    texts = [" ".join(generator.choices(WORDS, k=generator.randrange(1, longest))) for _ in range(2 * count)]
    return [Pair(source, target.upper()) for source, target in zip(texts[::2], texts[1::2], strict=True)]


@pytest.mark.parametrize("sizes", [[400], [400, 390]])
def test_the_longer_side_of_each_pair_counts_with_its_end_symbol(sizes: list[int]) -> None:
    examples = pairs(200)
    texts: list[list[str]] = [[pair.source for pair in examples], [pair.target for pair in examples]]
    units = []
    for number, size in enumerate(sizes):
        units.append(Bpe(vocab_size=size))
        units[-1].fit(texts[number] if len(sizes) == 2 else texts[0] + texts[1], seed=1)
    lengths = [1 + max(len(units[0].encode(pair.source)), len(units[-1].encode(pair.target))) for pair in examples]
    assert mean_length(examples, sizes, 1000) == pytest.approx(sum(lengths) / len(lengths))
    most = sorted(lengths)[100]
    kept = [length for length in lengths if length <= most]
    assert 0 < len(kept) < len(lengths)
    assert mean_length(examples, sizes, most) == pytest.approx(sum(kept) / len(kept))


def test_where_all_pairs_are_too_long_the_limit_counts() -> None:
    assert mean_length(pairs(20), [400], 1) == 1
