"""The results of a translator: translations, words of a streamed translation, scores of given pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from reprlib import Repr
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dragoman.corpus.memory import Match
from dragoman.corpus.pharaoh import Links
from dragoman.data.vocabulary import EOS, SPECIALS
from dragoman.evaluation import alignment
from dragoman.text.mark import Symbol
from dragoman.text.pipeline import WordsOf
from dragoman.visualisation import heatmap

SENTINEL = "sentinel"  # its name beside the sources
SHORT = Repr()  # abbreviates texts in `__repr__`
SHORT.maxstring = 60


class SourceAttention(NamedTuple):
    """A source of a target sentence: its language, text and words, and the attention to it.

    `attention` (target words, source words) holds the weights of each target word. They sum to 1 less the attention to
    other sources and to positions that are no words (the end symbol, and the mark that names the target language).
    `share` (target words,) is the attention to the whole source. The words of a numeric source are its `regions`,
    numbered from 1, and its text is the name of its file, if it has one. A source that only initialises the decoder has
    no words. `end_attention` (target words,) is the attention to the end symbol, if the model was taught to attend to
    it from words without a counterpart (`unlinked: end`). `match` is there if the text is from a translation memory:
    the source that it translates there, and how similar that is.
    """

    name: str
    text: str
    words: list[str]
    attention: NDArray[np.float64]
    share: NDArray[np.float64]
    end_attention: NDArray[np.float64] | None = None
    regions: bool = False
    match: Match | None = None

    def __repr__(self) -> str:
        target, source = self.attention.shape
        return (
            f"SourceAttention({SHORT.repr(self.name)}, {SHORT.repr(self.text)}, {source:,} words seen from {target:,})"
        )

    def beside(self, other: "SourceAttention") -> "SourceAttention":
        """The same source with another model's attention added; a model that read less of it saw its first words."""
        ends = [each for each in (self.end_attention, other.end_attention) if each is not None]
        end = np.sum(ends, 0) if ends else None
        fewer, more = sorted((self, other), key=lambda seen: len(seen.words))
        attention = more.attention.copy()
        attention[:, : len(fewer.words)] += fewer.attention
        return more._replace(attention=attention, share=self.share + other.share, end_attention=end)

    @property
    def label(self) -> str:
        """Its name where texts of several sources are shown, with the similarity of what a memory found."""
        return f"[{self.name} {self.match.score:.2f}]" if self.match else f"[{self.name}]"

    @property
    def alignment(self) -> Links:
        """The source word with the highest attention for each target word, as (source, target) pairs from 0; no link
        if `end_attention` is higher.
        """
        return alignment.links(self.attention, end=self.end_attention)


class Step(NamedTuple):
    """A step of the decoder: the name of its symbol; the number of the target word that the symbol is part of, None for
    the end symbol and for an edit operation that writes nothing; log P of the symbol in nats; and further probabilities
    that the model reports of the step, by name (`copied`, of a model that copies).
    """

    symbol: str
    word: int | None
    log_prob: float
    figures: Mapping[str, float] = {}


class Replacement(NamedTuple):
    """A word of a translation for which the model had no symbol (`<unk>`), and the word, from 0, of the named source
    that took its place: as a dictionary translates it, or as it is.
    """

    word: int
    source: str
    source_word: int
    dictionary: bool


class KeptSpan(NamedTuple):
    """A protected span: its text, the source that it stands in, where it stands there, and where in the translation, in
    characters from begin to end; None if it does not.
    """

    text: str
    source: str
    place: tuple[int, int]
    target: tuple[int, int] | None


class AppliedTerm(NamedTuple):
    """A term of a glossary: as it is written in the named source, where it stands there and in the translation, in
    characters from begin to end (None if it does not), and the forms that it may have.
    """

    text: str
    source: str
    place: tuple[int, int]
    target: tuple[int, int] | None
    forms: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Translation:
    """A translation with the model's attention.

    `sources` are what was translated; `source`, `source_words`, `attention`, `end_attention` and `alignment` are those
    of the only source, or of the first. `words` are the translated words; `sentinel` (target words,) is the attention
    to the sentinel instead of a source, if the model has one. `score` is the rank of the search (log-probability under
    its length normalisation), `log_prob` the plain log P(y | x) in nats: the sum over `steps`, of which the last is the
    end symbol; `log_probs` (target words,) are the sums for each word, `figures` the means of further probabilities of
    the steps, by name. `replaced` tells which words stand for `<unk>`; the steps keep that name. `alternatives` are the
    next best translations, as many as requested; `n_best` is this one followed by those, each text once. `left_out`
    counts the symbols at the end of overlong sources that were not read; text after the first 50,000 characters is not
    segmented, so there it counts characters. `spans` are the protected ones of the source, `terms` those of a glossary
    in it. `proved` tells whether exhaustive search has shown that none is more probable than this and those before it;
    None of other searches. `dragoman.Result` writes and reads a translation as JSON.
    """

    sources: tuple[SourceAttention, ...]
    text: str
    words: list[str]
    score: float
    log_prob: float
    steps: tuple[Step, ...]
    sentinel: NDArray[np.float64] | None = None
    alternatives: tuple["Translation", ...] = ()
    left_out: int = 0
    replaced: tuple[Replacement, ...] = ()
    spans: tuple[KeptSpan, ...] = ()
    terms: tuple[AppliedTerm, ...] = ()
    proved: bool | None = None

    @property
    def n_best(self) -> tuple["Translation", ...]:
        return (self, *self.alternatives)

    @property
    def log_probs(self) -> NDArray[np.float64]:
        found = np.zeros(len(self.words))
        for step in self.steps:
            if step.word is not None:
                found[step.word] += step.log_prob
        return found

    @property
    def figures(self) -> dict[str, NDArray[np.float64]]:
        """For each figure of the steps, its mean over the symbols of each word (target words,)."""
        return figures(self.steps, len(self.words))

    @property
    def source(self) -> str:
        return self.sources[0].text

    @property
    def source_words(self) -> list[str]:
        return self.sources[0].words

    @property
    def attention(self) -> NDArray[np.float64]:
        return self.sources[0].attention

    @property
    def end_attention(self) -> NDArray[np.float64] | None:
        return self.sources[0].end_attention

    @property
    def alignment(self) -> Links:
        return self.sources[0].alignment

    @property
    def shares(self) -> dict[str, NDArray[np.float64]]:
        """The attention of each target word to each source and the sentinel if there is one, each (target words,) (LH
        fig. 2).
        """
        return shares(self.sources, self.sentinel)

    @property
    def attention_matrix(self) -> "AttentionMatrix":
        """The attention to all sources as one matrix, with the figures of each word."""
        return attention_matrix(self.sources, self.sentinel, self.figures)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Translation({SHORT.repr(self.text)}, source={SHORT.repr(self.source)}, score={self.score:.4f})"

    def _repr_html_(self) -> str:
        """A heat map, in a notebook."""
        seen = self.attention_matrix
        return heatmap.html(seen.attention, seen.columns, self.words)


class StreamedWord(NamedTuple):
    """A word of a translation, and how many source words had been read when its last symbol was chosen."""

    text: str
    read: int


class Scored(NamedTuple):
    """A given pair under the model: `log P(target | sources)` in nats, the target as its symbols spell it, and the
    steps and the attention of forced decoding.
    """

    log_prob: float
    sources: tuple[SourceAttention, ...]
    text: str
    words: list[str]
    steps: tuple[Step, ...]
    sentinel: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        words = SHORT.repr(" ".join(self.words))
        return f"Scored({words}, log_prob={self.log_prob:.4f}, symbols={self.symbols})"

    @property
    def symbols(self) -> int:
        """The number of symbols, counting the end symbol."""
        return len(self.steps)

    @property
    def translation(self) -> Translation:
        """The target as if a search had found it, ranked by its log-probability alone."""
        return Translation(self.sources, self.text, self.words, self.log_prob, self.log_prob, self.steps, self.sentinel)

    @property
    def source_words(self) -> list[str]:
        return self.sources[0].words

    @property
    def attention(self) -> NDArray[np.float64]:
        return self.sources[0].attention

    @property
    def end_attention(self) -> NDArray[np.float64] | None:
        return self.sources[0].end_attention

    @property
    def alignment(self) -> Links:
        return self.sources[0].alignment


def shares(
    sources: tuple[SourceAttention, ...], sentinel: NDArray[np.float64] | None
) -> dict[str, NDArray[np.float64]]:
    """The attention of each target word to each source as a whole, and to a sentinel, by name."""
    found = {source.name: source.share for source in sources}
    return found if sentinel is None else {**found, SENTINEL: sentinel}


class AttentionMatrix(NamedTuple):
    """Attention to all sources (target words, columns), with the names of the columns.

    The columns are the words of the source. With several sources, each has a column for its share, with its label,
    then columns for its words; a sentinel comes after them, and a column for each figure of the model last.
    Regions have no columns, as there are too many. `shares` are the numbers of the columns that are not words. `text`
    is the text of the sources, as written.
    """

    attention: NDArray[np.float64]
    columns: list[str]
    shares: list[int]
    text: str


def attention_matrix(
    sources: tuple[SourceAttention, ...],
    sentinel: NDArray[np.float64] | None = None,
    figures: Mapping[str, NDArray[np.float64]] = {},
) -> AttentionMatrix:
    seen = _attention_matrix(sources, sentinel)
    columns = [seen.attention, *(each[:, None] for each in figures.values())]
    named = [*seen.columns, *(f"[{name}]" for name in figures)]
    numbers = [*seen.shares, *range(len(seen.columns), len(named))]
    return AttentionMatrix(np.concatenate(columns, 1), named, numbers, seen.text)


def _attention_matrix(sources: tuple[SourceAttention, ...], sentinel: NDArray[np.float64] | None) -> AttentionMatrix:
    if len(sources) == 1 and sentinel is None and not sources[0].regions:
        return AttentionMatrix(sources[0].attention, sources[0].words, [], sources[0].text)
    words = {source.name: (source.attention, source.words) for source in sources if not source.regions}
    labels = {source.name: source.label for source in sources}
    parts, columns, numbers = list[NDArray[np.float64]](), list[str](), list[int]()
    for name, share in shares(sources, sentinel).items():
        numbers.append(len(columns))
        attention, own = words.get(name, (share[:, None][:, :0], []))
        parts += [share[:, None], attention]
        columns += [labels.get(name, f"[{name}]"), *own]
    text = " ".join(f"{source.label} {source.text}" for source in sources) if len(sources) > 1 else sources[0].text
    return AttentionMatrix(np.concatenate(parts, 1), columns, numbers, text)


def steps(
    said: Sequence[Symbol], word_of: Sequence[int], log_probs: Sequence[float], figures: Mapping[str, Sequence[float]]
) -> tuple[Step, ...]:
    """The steps of a translation, from its symbols, the word of each (-1: none), and log-probabilities and figures
    including the end's.
    """
    names = [*map(str, said), SPECIALS[EOS]]
    words = [*(None if word < 0 else word for word in word_of), None]
    told = [{name: values[number] for name, values in figures.items()} for number in range(len(names))]
    return tuple(Step(*each) for each in zip(names, words, log_probs, told, strict=True))


def figures(steps: Sequence[Step], words: int) -> dict[str, NDArray[np.float64]]:
    """For each figure of these steps, its mean over the symbols of each word (words,); 0 for a word without any."""
    names = dict.fromkeys(name for step in steps for name in step.figures)
    found = {name: np.zeros(words) for name in names}
    for name, sums in found.items():
        counts = np.zeros(words)
        for step in steps:
            if step.word is not None and name in step.figures:
                sums[step.word] += step.figures[name]
                counts[step.word] += 1
        sums /= counts.clip(min=1)
    return found


def by_words(
    attention: ArrayLike, target: WordsOf, source: WordsOf, marked: Sequence[bool]
) -> tuple[alignment.Weights, alignment.Weights]:
    """Attention between symbols (T, S + 1), the source's end symbol last, as attention between words (target words,
    source words), and as attention to what is no word, the end and symbols (S,) that are `marked`: (target words,).
    """
    end = len(source.words)  # as if it were a word
    words = iter(source.word_of)
    word_of = [*(end if mark else next(words) for mark in marked), end]
    weights = alignment.by_words(attention, target.word_of, word_of, (len(target.words), end + 1))
    return weights[:, :end], weights[:, end]
