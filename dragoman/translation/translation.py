"""The results of a translator: translations, words of a streamed translation, scores of given pairs."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dragoman.corpus.pharaoh import Links
from dragoman.data.vocabulary import EOS, SPECIALS
from dragoman.errors import UserError
from dragoman.text.mark import Symbol
from dragoman.text.tokenizer import UNKNOWN
from dragoman.translation.attention_matrix import SHORT, AttentionMatrix, SourceAttention, attention_matrix, shares
from dragoman.translation.explanation.explanation import Explanation
from dragoman.translation.repetition import doubt
from dragoman.visualization import heatmap

NO_MODEL = (
    "explain: a translation read from a file, unpickled or copied has no model; score the pair with a model first"
)


class Step(NamedTuple):
    """A step of the decoder: the name of its symbol; the number of the target word that the symbol is part of, None for
    the end symbol and for an edit operation that writes nothing; log P of the symbol in nats; further probabilities
    that the model reports of the step, by name (`copied`, of a model that copies); and log P at the temperature at
    which the run is calibrated, if it is.
    """

    symbol: str
    word: int | None
    log_prob: float
    statistics: Mapping[str, float] = {}
    calibrated: float | None = None


class SymbolAttention(NamedTuple):
    """Attention between symbols, as the model computed it: `weights` (T, S + 1), the column of the source's end symbol
    last, and the names of the target's and the source's symbols. Rows sum to 1 if the model reads one source and has
    no sentinel.
    """

    target: list[str]
    source: list[str]
    weights: NDArray[np.float64]


class Confidence(NamedTuple):
    """How sure a calibrated model is of a translation, from 0 to 1.

    `words` (target words,): the product of the calibrated probabilities of the symbols of each word, its probability
    after the words before it; 1 of protected spans that no model read. `sentence`: the mean of all others, the end
    counted as one more word, which is the share of words that can be expected to be right.
    """

    sentence: float
    words: NDArray[np.float64]


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

    `sources` are what was translated; `source`, `source_words`, `attention`, `end_share`, `end_attention`,
    `symbol_attention` and `alignment` are those of the only source, or of the first. `words` are the translated words;
    `sentinel` (target words,) is the attention to the sentinel instead of a source, if the model has one. `score` is
    the rank of the search (log-probability under its length normalization), `log_prob` the plain log P(y | x) in nats:
    the sum over `steps`, of which the last is the end symbol; `log_probs` (target words,) are the sums for each word,
    `statistics` the means of further probabilities of the steps, by name. `replaced` tells which words stand for
    `<unk>`; the steps keep that name. `alternatives` are the next best translations, as many as requested; `n_best` is
    this one followed by those, each text once. `left_out` counts the symbols of overlong sources that were not read;
    text after the first 50,000 characters is not segmented, so there it counts characters. `spans` are the protected
    ones of the source, `terms` those of a glossary in it. `proved` tells whether exhaustive search has shown that none
    is more probable than this and those before it; None of other searches. `output_symbols` are the symbols that the
    model produced, without the end. `explanation` is there if one was requested. `withheld` is the translation where it
    is not trusted, and `text` is empty then. `criteria` are what it was reranked by, by name, and `score` is their
    weighted sum then. `dragoman.Result` writes and reads a translation as JSON, but for `output_symbols`,
    `symbol_attention` and what `explain` needs; pickles and copies lack `explainer` alone.
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
    explanation: Explanation | None = None
    output_symbols: tuple[Symbol, ...] = ()
    explainer: "Explainer | None" = None
    withheld: str | None = None
    criteria: Mapping[str, float] = field(default_factory=dict)

    @property
    def n_best(self) -> tuple["Translation", ...]:
        return (self, *self.alternatives)

    @property
    def log_probs(self) -> NDArray[np.float64]:
        return _by_word(self.steps, [step.log_prob for step in self.steps], len(self.words))

    @property
    def confidence(self) -> Confidence | None:
        """None if the run is not calibrated (`dragoman calibrate`), of a blank text, and where there is `doubt`."""
        log_probs = self._calibrated
        if not log_probs or self.doubt:
            return None
        words = np.exp(_by_word(self.steps, log_probs, len(self.words)).clip(max=0.0))
        predicted = sorted({step.word for step in self.steps if step.word is not None})
        return Confidence(float(np.mean([*words[predicted], math.exp(min(0.0, log_probs[-1]))])), words)

    @property
    def _calibrated(self) -> list[float]:
        """The calibrated log-probabilities of all steps; none if any step has none."""
        log_probs = [step.calibrated for step in self.steps if step.calibrated is not None]
        return log_probs if len(log_probs) == len(self.steps) else []

    @cached_property
    def doubt(self) -> str | None:
        """Why a calibrated run has no confidence in this translation, whatever its probability: it repeats itself, or
        is far too long. None otherwise.
        """
        if not self._calibrated:
            return None
        text = self.text if self.withheld is None else self.withheld
        return doubt(text, [source.text for source in self.sources if not source.regions])

    @property
    def has_unknown(self) -> bool:
        """Whether the model said `<unk>`."""
        return any(step.symbol == UNKNOWN for step in self.steps)

    def trusted(self, least: float) -> "Translation":
        """This translation if its confidence is as high, or not known; else an empty one, with this as `withheld`. So
        it is where there is `doubt`, however low `least` is.
        """
        confidence = self.confidence
        is_trusted = confidence.sentence >= least if confidence else self.doubt is None
        if self.withheld is not None or is_trusted:
            return self
        return replace(self, text="", withheld=self.text)

    @property
    def statistics(self) -> dict[str, NDArray[np.float64]]:
        """For each statistic of the steps, its mean over the symbols of each word (target words,)."""
        return statistics(self.steps, len(self.words))

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
    def end_share(self) -> NDArray[np.float64]:
        return self.sources[0].end_share

    @property
    def symbol_attention(self) -> SymbolAttention | None:
        return symbol_attention(self.sources[0], self.steps)

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
    def attention_matrix(self) -> AttentionMatrix:
        """The attention to all sources as one matrix, with the statistics of each word."""
        return attention_matrix(self.sources, self.sentinel, self.statistics)

    def explain(self, contrast: str | None = None, *, nearest: int = 0) -> Explanation:
        """Why this translation, and why not the text `contrast`: what each source word did, by attention, by gradients
        and by erasure, the search, and so many of the most similar training pairs. UserError if it was read from a
        file, unpickled or copied: `Translator.score` has the same of given pairs.
        """
        if self.explainer is None:
            raise UserError(NO_MODEL)
        return self.explainer(self, contrast, nearest)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "explainer": None}  # which has the whole model

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Translation({SHORT.repr(self.text)}, source={SHORT.repr(self.source)}, score={self.score:.4f})"

    def _repr_html_(self) -> str:
        """A heat map, in a notebook."""
        seen = self.attention_matrix
        return heatmap.html(seen.attention, seen.columns, self.words)


Explainer: TypeAlias = Callable[[Translation, str | None, int], Explanation]


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
    output_symbols: tuple[Symbol, ...] = ()
    explainer: "Explainer | None" = None

    def __repr__(self) -> str:
        words = SHORT.repr(" ".join(self.words))
        return f"Scored({words}, log_prob={self.log_prob:.4f}, symbols={self.symbols})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self._replace(explainer=None))  # which has the whole model

    @property
    def symbols(self) -> int:
        """The number of symbols, counting the end symbol."""
        return len(self.steps)

    @classmethod
    def of(cls, translation: Translation) -> "Scored":
        """A pair whose target is this translation."""
        return cls(
            translation.log_prob,
            translation.sources,
            translation.text,
            translation.words,
            translation.steps,
            translation.sentinel,
            translation.output_symbols,
        )

    @property
    def translation(self) -> Translation:
        """The target as if a search had found it, ranked by its log-probability alone."""
        return Translation(
            self.sources,
            self.text,
            self.words,
            self.log_prob,
            self.log_prob,
            self.steps,
            self.sentinel,
            output_symbols=self.output_symbols,
            explainer=self.explainer,
        )

    @property
    def source_words(self) -> list[str]:
        return self.sources[0].words

    @property
    def attention(self) -> NDArray[np.float64]:
        return self.sources[0].attention

    @property
    def end_share(self) -> NDArray[np.float64]:
        return self.sources[0].end_share

    @property
    def symbol_attention(self) -> SymbolAttention | None:
        return symbol_attention(self.sources[0], self.steps)

    @property
    def end_attention(self) -> NDArray[np.float64] | None:
        return self.sources[0].end_attention

    @property
    def alignment(self) -> Links:
        return self.sources[0].alignment


def symbol_attention(source: SourceAttention, steps: Sequence[Step]) -> SymbolAttention | None:
    """The attention of the symbols of a translation to those of one of its sources, if it is known."""
    if source.by_symbol is None:
        return None
    return SymbolAttention([step.symbol for step in steps[:-1]], *source.by_symbol)


def _by_word(steps: Sequence[Step], values: Sequence[float], words: int) -> NDArray[np.float64]:
    """The sums of these values of the steps over the symbols of each word (words,)."""
    sums = np.zeros(words)
    for step, value in zip(steps, values, strict=True):
        if step.word is not None:
            sums[step.word] += value
    return sums


def steps(
    symbols: Sequence[Symbol],
    word_of: Sequence[int],
    log_probs: Sequence[float],
    statistics: Mapping[str, Sequence[float]],
) -> tuple[Step, ...]:
    """The steps of a translation, from its symbols, the word of each (-1: none), and log-probabilities and statistics
    including the end's.
    """
    names = [*map(str, symbols), SPECIALS[EOS]]
    words = [*(None if word < 0 else word for word in word_of), None]
    step_statistics = [{name: values[number] for name, values in statistics.items()} for number in range(len(names))]
    return tuple(Step(*values) for values in zip(names, words, log_probs, step_statistics, strict=True))


def statistics(steps: Sequence[Step], words: int) -> dict[str, NDArray[np.float64]]:
    """For each statistic of these steps, its mean over the symbols of each word (words,); 0 for a word without any."""
    names = dict.fromkeys(name for step in steps for name in step.statistics)
    means = {name: np.zeros(words) for name in names}
    for name, sums in means.items():
        counts = np.zeros(words)
        for step in steps:
            if step.word is not None and name in step.statistics:
                sums[step.word] += step.statistics[name]
                counts[step.word] += 1
        sums /= counts.clip(min=1)
    return means
