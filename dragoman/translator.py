"""Text to translations: everything above (training, commands, services) translates through this."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman import components, devices
from dragoman.components import Spec
from dragoman.config import DeviceConfig
from dragoman.data.batch import Batch, SourceBatch, pad, pad_regions
from dragoman.data.features import FeatureSource, Given
from dragoman.data.language import Language
from dragoman.data.source import Source, only_text
from dragoman.data.vocabulary import EOS
from dragoman.deployment import engine as onnx
from dragoman.deployment.engine import OnnxModel
from dragoman.devices import Device
from dragoman.errors import UserError
from dragoman.evaluation import alignment
from dragoman.model import linear
from dragoman.model.attention.terms.reading import Shift
from dragoman.model.int8 import Int8
from dragoman.model.seq2seq import Seq2Seq
from dragoman.run import Run
from dragoman.search import candidates as lists
from dragoman.search.candidates import CandidateList, Narrowed
from dragoman.search.editing import Editing
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.incremental import as_it_decides, wait_k
from dragoman.search.search import Predictor, Search
from dragoman.search.searches import SEARCHES
from dragoman.text.edits import OPERATIONS, applied, operations
from dragoman.text.mark import Symbol
from dragoman.text.pipeline import WordsOf
from dragoman.translation import Scored, Seen, Spoken, Translation, by_words

LONGEST = 500  # symbols of a source that are read; what follows is left out, and said so in `Translation.left_out`
BATCH = 4096  # source symbols times beam that are searched at once
ROWS = 320  # sentences times beam, at most: a processor is not faster with more, and each has numbers for all symbols

Engine = Literal["torch", "int8", "onnx"]
Text: TypeAlias = Given | tuple[Given, ...]  # of the only source, or one of each
Encoded: TypeAlias = list[str] | NDArray[Any]  # the symbols of a text, or the regions (R, size) of an array
Weights: TypeAlias = NDArray[Any]


class Translator:
    """A model with its languages, a search and a device.

    With a `predictor`, translations are searched with that; `model` is then read when it is first asked for.
    """

    def __init__(
        self,
        model: Seq2Seq | Callable[[], Seq2Seq],
        sources: tuple[Source, ...],
        target: Language,
        search: Spec,
        device: Device,
        predictor: OnnxModel | None = None,
    ) -> None:
        self._given = model
        self._predictor = predictor
        self.sources = sources
        self.target = target
        self.search = search
        self.device = device
        self.candidates: CandidateList | None = None  # what translations are searched among
        self.way: linear.Way | None = None  # in which linear maps are computed for them
        self.taught_end = False  # whether the model looks at the end symbol from words without a counterpart
        self.edited: int | None = None  # the number of the source that the model writes edits of

    @property
    def source(self) -> Language:
        """The only source that is a text, or the first."""
        return next(source for source in self.sources if isinstance(source, Language))

    @cached_property
    def model(self) -> Seq2Seq:
        """What scores given pairs, and translates where no other engine does."""
        return self._given if isinstance(self._given, Seq2Seq) else self._given()

    def translate(
        self, texts: Sequence[Text], *, n_best: int = 1, beam_size: int | None = None, search: Spec | None = None
    ) -> list[Translation]:
        """One translation for each text, in order; the translation of an empty or blank text is empty.

        With several sources a text is a tuple, of one text for each source; a blank one is taken as missing. For a
        source that is numbers it is an array (regions, size) or (size,), or the name of a .npy file with one.

        `search` (or `beam_size`, for a beam search of that width) takes the place of the run's own. UserError where
        it does not give `n_best` translations.
        """
        if isinstance(texts, str):
            raise TypeError("translate takes a list of texts: translate([text])")
        spec = search or self.search
        if beam_size is not None:
            options = spec.options if spec.kind == "beam" else {}
            spec = Spec("beam", {**options, "size": beam_size})
        searcher = components.build(SEARCHES, spec)
        given = [self._given_of(text) for text in texts]
        encoded = [self._encoded(each) for each in given]
        found: dict[int, list[Hypothesis]] = {}
        full = [number for number, symbols in enumerate(encoded) if any(map(len, symbols))]
        lengths, width = [min(_length(symbols), LONGEST) for symbols in encoded], searcher.width
        for numbers in by_length(full, lengths, BATCH // width, max(1, ROWS // width)):
            found.update(zip(numbers, self.hypotheses(searcher, [encoded[n] for n in numbers], n_best), strict=True))
        return [
            self._translation(each, encoded[number], found[number]) if number in found else self._nothing(each)
            for number, each in enumerate(given)
        ]

    def _given_of(self, text: Text) -> tuple[Given, ...]:
        """What a user gave of each source. TypeError where that is not one text for each."""
        given = tuple(text) if isinstance(text, tuple | list) else (text,)
        if len(given) != len(self.sources):
            names = ", ".join(source.name for source in self.sources)
            raise TypeError(f"{len(given)} texts for a model of {len(self.sources)} sources ({names})")
        return given

    def _encoded(self, given: tuple[Given, ...]) -> list[Encoded]:
        """The symbols or the regions of each source; none of a blank text."""
        return [_encode(source, each) for source, each in zip(self.sources, given, strict=True)]

    def _read(self, encoded: Iterable[Sequence[Encoded]], longest: int | None = None) -> tuple[SourceBatch, ...]:
        """The sources of some sentences, texts cut to so many symbols, as ids. Of several, one without symbols is
        missing; the only one is an end alone, or a region of zeros.
        """
        several = len(self.sources) > 1

        def read(source: Source, column: tuple[Encoded, ...]) -> SourceBatch:
            if isinstance(source, FeatureSource):
                blank = np.zeros((0 if several else 1, source.size))
                return pad_regions([np.asarray(each) if len(each) else blank for each in column], source.size)
            texts = cast(tuple[list[str], ...], column)
            return pad([[*source.vocabulary.ids(each[:longest]), EOS] if each or not several else [] for each in texts])

        return tuple(map(read, self.sources, zip(*encoded, strict=True)))

    def simultaneous(self, words: Iterable[str], *, wait: int | None = None) -> Iterator[Spoken]:
        """The translation of a text whose words are still arriving, by greedy search: each word is given as soon as the
        next one begins, and no source word is taken before it is needed.

        `wait` counts source symbols (wait-k). Nothing else is read, whatever the model; one trained with the term
        `wait` and as many symbols has learnt to do with that. Without it the model decides when to read, by its term
        `shift`. UserError where it has none, for an engine other than torch, and for candidates.
        """
        if wait is not None and wait < 1:
            raise UserError(f"wait is {wait}: at least one source symbol is read before a word is written")
        if not only_text(self.sources) or self.edited is not None:
            raise UserError("a source that is still arriving has to be the only one, and translated")
        if self._predictor or self.way or self.candidates:
            raise UserError("a source that is still arriving is translated by engine torch, without candidates")
        limit = components.build(SEARCHES, self.search).limit
        rest = self.model, self._arriving(words), limit, self.device.torch_device
        if wait is not None:
            found = wait_k(*rest, k=wait)
        elif any(isinstance(part, Shift) for part in self.model.modules()):
            found = as_it_decides(*rest)
        else:
            raise UserError("this model does not decide when to read (it has no term shift); use --wait K")
        said: list[str] = []
        read: list[int] = []
        told = 0
        for decided in found:
            said += self.target.vocabulary.symbols([decided.symbol])
            read.append(decided.read)
            whole = self._spoken(said, read)[:-1]
            yield from whole[told:]
            told = len(whole)
        yield from self._spoken(said, read)[told:]

    def left_out(self, text: Text) -> int:
        """How many symbols of a text are not read, because there are more than LONGEST."""
        return _left_out(self._encoded(self._given_of(text)))

    def _arriving(self, words: Iterable[str]) -> Iterator[list[int]]:
        """The ids of the symbols that each word brings, at most LONGEST in all. Those of earlier words stay as they
        are, even where all words together would have been cut in another way.
        """
        text, known = "", 0
        for word in words:
            if known == LONGEST:
                return
            text = f"{text} {word}".strip()
            symbols = self.source.text.encode(text)[:LONGEST]
            yield self.source.vocabulary.ids(symbols[known:])
            known = max(known, len(symbols))

    def _spoken(self, symbols: list[str], read: list[int]) -> list[Spoken]:
        """The words between spaces that these symbols spell."""
        surfaces = self.target.text.unit.surfaces(symbols)
        letters = [(letter, when) for surface, when in zip(surfaces, read, strict=True) for letter in surface]
        words = [list(word) for blank, word in groupby(letters, key=lambda each: each[0] == " ") if not blank]
        return [Spoken("".join(letter for letter, _ in word), word[-1][1]) for word in words]

    def hypotheses(
        self, searcher: Search, encoded: Sequence[Sequence[Encoded]], n_best: int = 1
    ) -> list[list[Hypothesis]]:
        """What a search finds for sentences in symbols of each source, in one batch: `n_best` each, the best first."""
        sources = tuple(each.to(self.device.torch_device) for each in self._read(encoded, LONGEST))
        stepper = self._predictor or self.model
        model: Predictor[Any] = stepper
        if self.candidates:
            (ids, _) = sources[0]
            model = Narrowed(stepper, self.model.output, self.candidates.of(ids))
        if self.edited is not None:
            model = Editing(model, self.edited, tuple(self.target.vocabulary.ids(OPERATIONS)))
        with linear.computed(self.way):
            return searcher(model, sources, n_best)

    def score(self, sources: Sequence[Text], targets: Sequence[str]) -> list[Scored]:
        """`log P(y | x)` of given pairs and the attention of forced decoding (CN 1, SL). Overlong pairs are scored
        whole.
        """
        found: dict[int, Scored] = {}
        with torch.inference_mode():
            for pairs, batch in self._batches(sources, targets):
                scored = self.model.score(batch)
                for row, (given, symbols, target) in enumerate(pairs):
                    words = self._written(symbols, target)[1]
                    weights = tuple(part[row, : len(target)].float().cpu().numpy() for part in scored.attention)
                    log_prob = scored.log_probs[row].double().sum().item()
                    seen, sentinel = self._seen(given, symbols, words, weights)
                    found[int(batch.rows[row])] = Scored(log_prob, len(target) + 1, seen, words.words, sentinel)
        return [found[number] for number in range(len(sources))]

    def pairs(self, sources: Sequence[Text], targets: Sequence[str]) -> Iterator[Batch]:
        """The pairs in batches of similar length; `rows` are their numbers. Overlong sentences are cut."""
        return (batch for _, batch in self._batches(sources, targets, LONGEST))

    def _batches(
        self, sources: Sequence[Text], targets: Sequence[str], longest: int | None = None
    ) -> Iterator[tuple[list[tuple[tuple[Given, ...], list[Encoded], list[Symbol]]], Batch]]:
        """The pairs as texts and symbols, at most `longest` on each side, and as a batch."""
        given = [self._given_of(text) for text in sources]
        cut = [_cut(self._encoded(text), longest) for text in given]
        encoded = [(source, self._said(source, y)[:longest]) for source, y in zip(cut, targets, strict=True)]
        lengths = [max(_length(source), len(target)) + 1 for source, target in encoded]
        most = BATCH if all(isinstance(source, Language) for source in self.sources) else ROWS  # regions take room
        for numbers in by_length(range(len(encoded)), lengths, BATCH, most):
            pairs = [(given[number], *encoded[number]) for number in numbers]
            read = self._read(symbols for _, symbols, _ in pairs)
            target = pad([[*self.target.vocabulary.ids(symbols), EOS] for _, _, symbols in pairs])
            yield pairs, Batch(read, target, np.array(numbers)).to(self.device.torch_device)

    def _translation(
        self, given: tuple[Given, ...], encoded: list[Encoded], hypotheses: list[Hypothesis]
    ) -> Translation:
        found = []
        for hypothesis in hypotheses:
            said = self.target.vocabulary.marked(hypothesis.symbols)
            written, words = self._written(encoded, said)
            weights = tuple(part[:-1] for part in hypothesis.attention)
            seen, sentinel = self._seen(given, _cut(encoded, LONGEST), words, weights)
            text, rank = self.target.text.decode(written), hypothesis.score
            translation = Translation(seen, text, words.words, rank, hypothesis.log_prob, sentinel)
            found.append(replace(translation, left_out=_left_out(encoded)))
        return replace(found[0], n_best=tuple(found))

    def _said(self, encoded: list[Encoded], target: str) -> list[Symbol]:
        """What a model is to say of these sources, that it may mean the text."""
        symbols = self.target.text.encode(target)
        return list(symbols) if self.edited is None else operations(list(encoded[self.edited]), symbols)

    def _written(self, encoded: list[Encoded], said: list[Symbol]) -> tuple[list[str], WordsOf]:
        """The symbols of the text that a model means; its words, and for each symbol that it said the word, or -1."""
        if self.edited is None:
            symbols = list(map(str, said))
            return symbols, self.target.text.words(symbols)
        made = list(applied(list(encoded[self.edited]), said))
        symbols = [symbol for symbol, _ in made]
        words = self.target.text.words(symbols)
        by_operation = {number: word for (_, number), word in zip(made, words.word_of, strict=True)}
        return symbols, WordsOf(words.words, [by_operation.get(number, -1) for number in range(len(said))])

    def _nothing(self, given: tuple[Given, ...]) -> Translation:
        nothing, none = np.zeros((0, 0)), np.zeros(0)
        seen = tuple(
            Seen(source.name, _text(each), [], nothing, none, regions=isinstance(source, FeatureSource))
            for source, each in zip(self.sources, given, strict=True)
        )
        empty = Translation(seen, "", [], 0.0, 0.0)
        return replace(empty, n_best=(empty,))

    def _seen(
        self, given: tuple[Given, ...], encoded: list[Encoded], target: WordsOf, weights: tuple[Weights, ...]
    ) -> tuple[tuple[Seen, ...], Weights | None]:
        """The sources with the attention (T, S) that they got by words, and a sentinel's, the last of `weights`."""
        found = []
        for source, each, symbols, attention in zip(self.sources, given, encoded, weights, strict=False):
            if isinstance(source, FeatureSource):
                found.append(_looked_at(source, _text(each), attention[:, : len(symbols)], target))
                continue
            words = source.text.words(list(symbols))
            if symbols:
                between, end = by_words(attention[:, : len(symbols) + 1], target, words)
            else:  # this source is missing
                between, end = np.zeros((len(target.words), 0)), np.zeros(len(target.words))
            share = between.sum(1) + end
            end_attention = end if self.taught_end else None
            found.append(Seen(source.name, _text(each), words.words, between, share, end_attention))
        if len(weights) == len(self.sources):
            return tuple(found), None
        return tuple(found), alignment.by_words(weights[-1], target.word_of, [0], (len(target.words), 1))[:, 0]


def _looked_at(source: FeatureSource, text: str, attention: Weights, target: WordsOf) -> Seen:
    """An array with the attention (T, R) that its regions got."""
    count = attention.shape[1]
    between = alignment.by_words(attention, target.word_of, list(range(count)), (len(target.words), count))
    regions = [str(number) for number in range(1, count + 1)]
    return Seen(source.name, text, regions, between, between.sum(1), regions=True)


def _encode(source: Source, given: Given) -> Encoded:
    """A source as a model reads it."""
    if isinstance(source, FeatureSource):
        return source.read(given)
    if not isinstance(given, str):
        raise TypeError(f"{source.name}: expected a text, found {type(given).__name__}")
    return source.text.encode(given) if source.text.normalise(given).strip() else []


def _text(given: Given) -> str:
    """A text, or the name of the file that an array comes from."""
    return "" if isinstance(given, np.ndarray) else str(given)


def _cut(encoded: list[Encoded], longest: int | None) -> list[Encoded]:
    """The same with at most so many symbols of a text."""
    return [each[:longest] if isinstance(each, list) else each for each in encoded]


def _length(encoded: list[Encoded]) -> int:
    """Symbols of the longest text."""
    return max((len(each) for each in encoded if isinstance(each, list)), default=1)


def _left_out(encoded: list[Encoded]) -> int:
    return sum(max(0, len(each) - LONGEST) for each in encoded if isinstance(each, list))


def by_length(numbers: Sequence[int], lengths: Sequence[int], symbols: int, most: int) -> Iterator[list[int]]:
    """Groups of sentences of similar length, the longest first: at most so many symbols with their padding, and at most
    so many sentences.
    """
    group: list[int] = []
    for number in sorted(numbers, key=lambda each: (-lengths[each], each)):
        if group and (len(group) == most or (len(group) + 1) * lengths[group[0]] > symbols):
            yield group
            group = []
        group.append(number)
    if group:
        yield group


def load(
    folder: str | Path,
    *,
    weights: str | None = None,
    device: DeviceConfig | None = None,
    engine: Engine = "torch",
    candidates: tuple[int, int] | None = None,
) -> Translator:
    """The translator in a run folder; nothing else is needed. `weights`: model, model-best or model-last.

    `engine="int8"` translates with matrices of 8-bit integers, `engine="onnx"` with the graphs of `dragoman export
    --onnx`, both on the processor; scores of given pairs are torch's in any case.
    `candidates=(300, 20)`: translations are made of the 300 most frequent symbols and of the 20 most probable
    translations of each source symbol, which is faster; `dragoman lexicon` must have found these.
    UserError names what is missing or damaged.
    """
    if engine not in get_args(Engine):
        raise UserError(f"engine '{engine}': expected one of {', '.join(get_args(Engine))}")
    run = Run.load(folder)
    wanted = device or run.config.device
    chosen = devices.choose(wanted if engine == "torch" else wanted.model_copy(update={"name": "cpu"}))
    if engine == "onnx":
        predictor = onnx.read(run, weights, chosen.threads)
        later = partial(run.model, predictor.weights)
        translator = Translator(later, run.sources, run.target, run.config.search, chosen, predictor)
    else:
        model = run.model(weights).to(chosen.torch_device)
        translator = Translator(model, run.sources, run.target, run.config.search, chosen)
        translator.way = Int8(model) if engine == "int8" else None
    if candidates:
        if not only_text(run.sources) or run.config.data.edits:
            raise UserError(f"{folder}: candidates are translations of one source's symbols, not for this run")
        lexicon = lists.read(run.folder.path / lists.FILE, (len(run.source.vocabulary), len(run.target.vocabulary)))
        translator.candidates = CandidateList(lexicon, *candidates, chosen.torch_device)
    translator.edited = run.config.data.edited
    translator.taught_end = any(spec.options.get("unlinked") == "end" for spec in run.config.training.penalties)
    return translator
