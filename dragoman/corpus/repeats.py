"""Development pairs that training data have too, so that scores on them say less about other texts."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from dragoman.corpus.examples import Pair
from dragoman.corpus.numbering import NumberedCorpus
from dragoman.corpus.statistics import Finding
from dragoman.text.normalizer import Normalizer

_normalise = Normalizer(lowercase=False)


def describe_repeats(
    dev: str | Path, train: str | Path | Sequence[str], source: str, target: str, *, sources: tuple[str, ...] = ()
) -> list[Finding]:
    """Read two corpora and find the development pairs that training has, and those whose source alone it has. If the
    corpora have several `sources`, `source` is the one that is compared. Pairs with an empty side do not count.
    """
    sources = sources or (source,)
    place = sources.index(source)
    examples = NumberedCorpus(dev, sources, target)
    dev_targets = defaultdict[str, dict[int, str]](dict)  # the targets of each source, by the number of the pair
    for number, pair in enumerate(_pairs(examples, place)):
        if pair.source and pair.target:
            dev_targets[pair.source][number] = pair.target
    repeated, same = set[int](), set[int]()
    for train_source, translation in _pairs(NumberedCorpus(train, sources, target), place):
        if train_source in dev_targets:
            repeated |= dev_targets[train_source].keys()
            same |= {number for number, wanted in dev_targets[train_source].items() if wanted == translation}
    repeats = {
        "pair also in the training data": same,
        "source in the training data with another target": repeated - same,
    }
    return [Finding.of(name, sorted(numbers), examples) for name, numbers in repeats.items() if numbers]


def _pairs(examples: NumberedCorpus, place: int) -> Iterator[Pair]:
    """Yield the pairs as training reads them."""
    for example in examples:
        yield Pair(_normalise(str(example.sources[place])).strip(), _normalise(example.target).strip())
