"""Statistics of a corpus, and lines to inspect before training, such as development pairs that it trains on."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dragoman.corpus.examples import Pair, read_aligned
from dragoman.corpus.features import FeatureFile
from dragoman.corpus.numbering import NumberedCorpus
from dragoman.corpus.pharaoh import FEW
from dragoman.corpus.survey import Lines, Survey, UnusualCharacter
from dragoman.errors import UserError
from dragoman.text.normalizer import Normalizer
from dragoman.text.pretokenizer import PRETOKENIZERS
from dragoman.text.protection import Protection

SHOWN_LINES = 5  # lines listed for each finding
SHOWN_CHARACTERS = 10  # characters listed for each side
_normalize = Normalizer(lowercase=False)


class DistributionSummary(NamedTuple):
    """Mean, median, 95th percentile (`most`) and maximum of a quantity."""

    mean: float
    median: float
    most: float
    maximum: float

    @classmethod
    def of(cls, values: npt.NDArray[Any]) -> "DistributionSummary":
        """The distribution of these values, at least one."""
        median, most = np.percentile(values, [50, 95])
        return cls(float(values.mean()), float(median), float(most), float(values.max()))

    def __str__(self) -> str:
        median, most, maximum = (f"{round(number, 1):.6g}" for number in (self.median, self.most, self.maximum))
        return f"mean {self.mean:.1f}, median {median}, 95 % {most}, max {maximum}"


@dataclass(frozen=True)
class Finding:
    """The pairs with a property: how many they are, and the first few of them, each by its line or by another `unit`
    (after its file if the corpus has several).
    """

    name: str
    count: int
    first: tuple[str, ...]
    unit: str = "line"

    @classmethod
    def of(cls, name: str, numbers: Sequence[int] | Lines, examples: NumberedCorpus) -> "Finding":
        """What these examples, counted from 0, have in common."""
        first = tuple(examples.name(int(number)) for number in numbers[:SHOWN_LINES])
        return cls(name, len(numbers), first, examples.unit)

    def __str__(self) -> str:
        more = ", ..." if self.count > len(self.first) else ""
        return f"{self.name}: {self.count:,} ({self.unit} {', '.join(self.first)}{more})"


class CorpusReport(NamedTuple):
    """Lengths in words and characters, source words per target word, and findings."""

    pairs: int
    source_words: DistributionSummary
    target_words: DistributionSummary
    source_characters: DistributionSummary
    target_characters: DistributionSummary
    ratio: DistributionSummary
    findings: tuple[Finding, ...]
    unusual: tuple[UnusualCharacter, ...]

    def __str__(self) -> str:
        lines = [
            f"pairs: {self.pairs:,}",
            f"words in a source: {self.source_words}",
            f"words in a target: {self.target_words}",
            f"characters in a source: {self.source_characters}",
            f"characters in a target: {self.target_characters}",
            f"source words per target word: {self.ratio}",
        ]
        return "\n".join([*lines, *map(str, self.findings), *map(str, self.unusual)])


class LinkReport(NamedTuple):
    """The numbers of gold links, the share of target words that have none (0 to 1), and whether the links seem to count
    words from 1.
    """

    sure: int
    possible: int
    without: float
    findings: tuple[Finding, ...]
    from_1: bool = False

    def __str__(self) -> str:
        line = f"links: {self.sure:,} sure, {self.possible:,} merely possible; {100 * self.without:.1f} %"
        more = ["no link has a word 0; words must be counted from 0"] if self.from_1 else []
        return "\n".join([f"{line} of target words have none", *map(str, self.findings), *more])


class SpanReport(NamedTuple):
    """The numbers of protected spans in the first texts and in the targets, and of those that both sides have."""

    source: int
    target: int
    matched: int
    findings: tuple[Finding, ...]

    def __str__(self) -> str:
        line = f"protected spans: {self.source:,} in a source, {self.target:,} in a target, {self.matched:,} in both"
        return "\n".join([line, *map(str, self.findings)])


def describe_spans(
    where: str | Path | Sequence[str], source: str, target: str, protection: Protection, *, sources: tuple[str, ...]
) -> SpanReport:
    """Read a corpus and report on the spans that training puts marks for."""
    first = second = both = 0
    alone: list[int] = []
    examples = NumberedCorpus(where, sources, target)
    for number, example in enumerate(examples):
        text = str(example.sources[sources.index(source)])
        read, written = len(protection.find(text)), len(protection.find(example.target))
        matched = len(protection.masked_pair([text], example.target).spans)
        first, second, both = first + read, second + written, both + matched
        if max(read, written) > matched:
            alone.append(number)
    findings = (Finding.of("pairs with a span that one side has alone", alone, examples),) if alone else ()
    return SpanReport(first, second, both, findings)


class FeatureReport(NamedTuple):
    """The size of a region, the number of regions per array, the mean and standard deviation of the numbers, and the
    lines without an array.
    """

    size: int
    regions: DistributionSummary
    mean: float
    deviation: float
    findings: tuple[Finding, ...]

    def __str__(self) -> str:
        numbers = f"{self.size:,} in a region, mean {self.mean:.3g}, standard deviation {self.deviation:.3g}"
        return "\n".join([f"regions: {self.regions}", f"numbers: {numbers}", *map(str, self.findings)])


def describe_features(file: FeatureFile) -> FeatureReport:
    """Read the arrays of a file and report on them. UserError if one is not sound."""
    read = ((len(array), array.sum(dtype=np.float64), np.square(array, dtype=np.float64).sum()) for array in file)
    regions, sums, squares = np.array(list(read)).T
    mean, square = np.array([sums.sum(), squares.sum()]) / max(1, regions.sum() * file.size)
    none = np.flatnonzero(regions == 0)
    lines = tuple(str(line + 1) for line in none[:SHOWN_LINES])
    findings = (Finding("without regions, or zeros alone", len(none), lines),) if len(none) else ()
    return FeatureReport(file.size, DistributionSummary.of(regions), mean, max(0.0, square - mean**2) ** 0.5, findings)


def describe_links(
    where: str | Path | Sequence[str],
    source: str,
    target: str,
    *,
    pretokenizers: tuple[str, str] = ("punctuation", "punctuation"),
) -> LinkReport:
    """Read the links of a corpus that is not empty, as `read_aligned` does, and report on them. UserError also if a
    link lies beyond its sentence pair.
    """
    normalize = Normalizer(lowercase=False)
    sure = possible = words = linked = 0
    first = False  # whether a link has the first word of a side
    bare: list[str] = []
    for pair, gold in read_aligned(where, source, target):
        texts = map(normalize, pair)  # training links the words of normalized texts
        lengths = [
            len(PRETOKENIZERS[name](text)) or bool(text) for name, text in zip(pretokenizers, texts, strict=True)
        ]
        gold.check(*lengths)
        sure, possible = sure + len(gold.sure), possible + len(gold.possible - gold.sure)
        words, linked = words + lengths[1], linked + len({word for _, word in gold.possible})
        first = first or any(0 in link for link in gold.possible)
        if not gold.possible:
            bare.append(gold.where)
    findings = (Finding("pairs without a link", len(bare), tuple(bare[:SHOWN_LINES])),) if bare else ()
    from_1 = not first and sure + possible > FEW
    return LinkReport(sure, possible, 1 - linked / max(words, 1), findings, from_1)


def describe(
    where: str | Path | Sequence[str],
    source: str,
    target: str,
    *,
    sources: tuple[str, ...] = (),
    pretokenizers: tuple[str, str] = ("punctuation", "punctuation"),
) -> CorpusReport:
    """Read a corpus once, as `read_pairs` does, and report on it, with about 50 bytes of memory per pair. If the corpus
    has several `sources`, `source` is the one to report on.

    A pair looks misaligned if its ratio of characters is far from the median of the corpus. A shift is reported if the
    lengths of 200 successive pairs correlate clearly better when the targets are moved by one to three lines. Raises
    UserError if the corpus is empty or cannot be read.
    """
    sources = sources or (source,)
    examples, place = NumberedCorpus(where, sources, target), sources.index(source)
    survey = Survey((PRETOKENIZERS[pretokenizers[0]], PRETOKENIZERS[pretokenizers[1]]))
    for example in examples:
        survey.add(Pair(str(example.sources[place]), example.target))
    if not survey.pairs:
        raise UserError(f"{', '.join(examples.places)}: the corpus is empty")
    words = [np.frombuffer(side, np.int32) for side in survey.words]
    full = (words[0] > 0) & (words[1] > 0)
    ratios = words[0][full] / words[1][full] if full.any() else np.zeros(1)
    characters = [np.frombuffer(side, np.int32) for side in survey.characters]
    return CorpusReport(
        pairs=survey.pairs,
        source_words=DistributionSummary.of(words[0]),
        target_words=DistributionSummary.of(words[1]),
        source_characters=DistributionSummary.of(characters[0]),
        target_characters=DistributionSummary.of(characters[1]),
        ratio=DistributionSummary.of(ratios),
        findings=tuple(Finding.of(name, numbers, examples) for name, numbers in survey.findings() if len(numbers)),
        unusual=tuple(
            unusual
            for side, alphabet in zip(("source", "target"), survey.alphabets, strict=True)
            for unusual in alphabet.unusual(side, examples)[:SHOWN_CHARACTERS]
        ),
    )


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
        yield Pair(_normalize(str(example.sources[place])).strip(), _normalize(example.target).strip())
