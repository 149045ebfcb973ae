"""From the user's files to batches: a corpus is prepared once and reopened later."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool
from torch import Tensor

from dragoman.configuration.config import TextConfig
from dragoman.configuration.data import DataConfig
from dragoman.corpus.examples import Example, read_development
from dragoman.corpus.features import Array, FeatureFiles, FeatureSource
from dragoman.corpus.filters import FilterReport
from dragoman.data.batch import Batch, SourceBatch, TokenBatch, pad_regions, pad_texts, pad_tokens, spelled
from dragoman.data.denoising import MASK, Infilling, noise
from dragoman.data.language import Language, Source
from dragoman.data.learning import open_sources
from dragoman.data.preparation import STORE, load, prepare
from dragoman.data.recall import load_matcher
from dragoman.data.store import Store
from dragoman.data.surfaces import NOTHING, ExtendedVocabulary, UnknownWordNeeds, split_words
from dragoman.data.vocabulary import UNK
from dragoman.text.mark import Symbol
from dragoman.text.pipeline import Side

Ids = Sequence[list[int] | npt.NDArray[np.integer]]
Rows = Sequence[list[int] | Array]  # ids of sentences, or arrays (regions, size)

EXCHANGED = {"source": "target", "target": "source", "source.text": "target.text", "target.text": "source.text"}


class Dataset:
    """The prepared training examples and the development examples of a configuration.

    `development` has the examples of each language pair; `judged`, by their names, counts them and those left out.
    `sides` are the sources and, last, the target; `arrays` belong to the numeric sources, for which the store has line
    numbers. `source_dropout` is the probability that a batch omits one of several sources of an example; at least one
    remains. `join` concatenates the sources into one sequence. `marked`: the first symbol of a source names the target
    language. `noise` hides symbols of the sources in those parts of the corpus that are `copied`, whose targets are
    their sources. `surfaces` are what batches have of words outside the vocabularies.
    """

    def __init__(
        self,
        train: Store,
        development: list[list[Example]],
        sides: Mapping[Side, Source],
        *,
        seed: int,
        source_dropout: float = 0.0,
        arrays: Mapping[Side, FeatureFiles] = {},
        join: bool = False,
        marked: bool = False,
        noise: Infilling | None = None,
        copied: Sequence[bool] = (),
        surfaces: UnknownWordNeeds = NOTHING,
        judged: Mapping[str, FilterReport] = {},
    ) -> None:
        self.train = train
        self.development = development
        self.report = FilterReport(**train.notes["report"])
        # A digest of the training pairs; None for a store of an earlier version.
        self.content: str | None = train.notes.get("content")
        self.judged = judged
        self._sides = sides
        self._arrays = arrays
        self._seed = seed
        self._source_dropout = source_dropout
        self._join = join
        self._marked = marked
        self._noise = noise
        self._copied = copied
        self._surfaces = surfaces

    @property
    def dev(self) -> list[Example]:
        """All development examples."""
        return [example for examples in self.development for example in examples]

    @property
    def left_out(self) -> Iterator[str]:
        """Yield a line about the development examples of each language pair of which some are left out."""
        return (f"data.dev, {name}: {report}" for name, report in self.judged.items() if report.empty)

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(self._sides.values())[:-1]

    @property
    def target(self) -> Language:
        target = self._sides["target"]
        assert isinstance(target, Language)
        return target

    @property
    def unknown(self) -> Iterator[str]:
        """Yield a line about each text with symbols in its training examples that its vocabulary has not."""
        for side, source in self._sides.items():
            # The memory-mapped ids of the whole corpus: numpy counts in them without reading texts.
            values = self.train.columns[side].values
            count = np.count_nonzero(values == UNK) if isinstance(source, Language) else 0
            if count:
                yield f"{count:,} of {len(values) - len(self.train):,} symbols of {source.name} are unknown"

    @classmethod
    def prepare(
        cls,
        data: DataConfig,
        text: TextConfig,
        seed: int,
        folder: Path,
        *,
        keep_tokenizers: bool = False,
        source_dropout: float = 0.0,
        surfaces: UnknownWordNeeds = NOTHING,
    ) -> "Dataset":
        """Learn the tokenizers from the training pairs and write them, the vocabularies and the ids to `folder`.

        Existing files are reused if they were made with the same options from the same files (by size and modification
        time). With `keep_tokenizers` (a model was trained with them), existing tokenizers are never learned again, even
        if the files have changed. The corpus is read twice and never held in memory; after a killed preparation, the
        next call starts over. Arrays are read from their files whenever a batch needs them. `surfaces` says what a
        model reads of words outside the vocabularies: their ids (`Sequence.extended`) or their characters
        (`Sequence.spelled`).
        """
        development, judged = [], {}
        for pair in data.language_pairs:
            open_sources(data, [*data.train, pair.dev])  # raises if their arrays have different sizes
            examples, judged[pair.name] = read_development(pair.dev, pair.sources, pair.target, data.features)
            development.append(examples)
        prepare(data, text, seed, folder, keep_tokenizers=keep_tokenizers, surfaces=any(surfaces))
        sides = load(data, folder)
        if data.recalled:
            memory, query_side = load_matcher(data, sides.values(), folder), data.source.index(data.queried_source)
            development = [
                [_recalled(example, memory.texts(str(example.sources[query_side]))) for example in examples]
                for examples in development
            ]
        return cls(
            Store(folder / STORE),
            development,
            sides,
            seed=seed,
            source_dropout=source_dropout,
            arrays=open_sources(data, data.train),
            join=data.concatenate_sources,
            marked=bool(data.pairs),
            noise=noise(data),
            copied=data.copied,
            surfaces=surfaces,
            judged=judged,
        )

    @property
    def offsets(self) -> tuple[tuple[npt.NDArray[np.int64], ...], npt.NDArray[np.int64]]:
        """The offsets (N + 1,) of the sentences of each sequence that a model reads, and of the targets."""
        *sources, target = (self.train.columns[side].offsets for side in self._sides)
        return ((np.sum(sources, 0),) if self._join else tuple(sources)), target

    def reversed(self) -> "Dataset":
        """Return the same pairs from target to source, without links."""
        dev = [Example((target,), str(source)) for (source,), target in self.dev]
        (source,) = self.sources
        return Dataset(self.train.renamed(EXCHANGED), [dev], {"source": self.target, "target": source}, seed=self._seed)

    def batch(self, rows: npt.NDArray[np.int64], epoch: int) -> Batch:
        """Return the pairs in these rows of the store, with this epoch's dropout of subwords and sources, and its
        noise.

        A function of its arguments alone: a sentence's dropout and noise are seeded by the run's seed, the epoch, the
        side and the row.
        """
        sides = {
            side: [self._row(side, source, int(row), epoch) for row in rows] for side, source in self._sides.items()
        }
        targets = sides.pop("target")
        target = self._symbols("target", self.target, targets)
        sources: Sequence[Rows] = list(sides.values())
        if len(sources) > 1:
            # Before they are concatenated or padded: a source that is dropped is like one that is missing.
            sources = self._drop_sources(sources, rows, epoch)
        if self._join:
            # Concatenated sources share one inventory with the target.
            batch = Batch((self._symbols(next(iter(sides)), self.target, _concatenate(sources)),), target, rows)
        else:
            batches = tuple(map(self._pad, sides, self.sources, sources))
            links = self._links(rows, sources[0], targets) if "links" in self.train.columns else None
            batch = Batch(batches, target, rows, links)
        return self._add_surfaces(batch, [*sources, targets]) if any(self._surfaces) else batch

    def target_symbols(self, rows: npt.NDArray[np.int64], epoch: int) -> npt.NDArray[np.int64]:
        """Return the distinct target symbols of the pairs in these rows, in ascending order."""
        # With this epoch's subword dropout, since these are the symbols that the batch will have.
        targets = [np.asarray(self._row("target", self.target, int(row), epoch), np.int64) for row in rows]
        return np.unique(np.concatenate(targets))

    def _pad(self, side: Side, source: Source, rows: Rows) -> SourceBatch:
        if isinstance(source, FeatureSource):
            return pad_regions([np.asarray(row) for row in rows], source.size)
        return self._symbols(side, source, rows)

    def _symbols(self, side: Side, language: Language, rows: Rows) -> TokenBatch:
        """Raise UserError if the store has a symbol that the language does not have."""
        padded = pad_tokens(rows)
        # An id beyond a table would be an error of CUDA, or another row, far from its cause.
        if padded.ids.numel() and int(padded.ids.max()) >= len(language.vocabulary):
            raise self.train.damaged(f"{side}.values")
        return padded

    def _add_surfaces(self, batch: Batch, sides: Sequence[Rows]) -> Batch:
        """Return the same batch with what the model asks for of words outside the vocabularies."""
        spelled_sides = [
            [self._spell(side, int(row), ids) for row, ids in zip(batch.rows, rows, strict=True)]
            for side, rows in zip(self._sides, sides, strict=True)
            if side not in self._arrays
        ]
        *read, targets = spelled_sides
        # One numbering for all sources of an example, in their order, as a translator makes it.
        together = [list(chain.from_iterable(sources)) for *sources, _ in zip(*spelled_sides, strict=True)]
        languages = [source_language for source_language in self.sources if isinstance(source_language, Language)]
        rest = zip([together] if self._join else read, languages, strict=False)
        words = [ExtendedVocabulary(self.target.vocabulary, texts) for texts in together]
        extended, of_sources, of_target = self._surfaces

        def add_surfaces(
            symbols: TokenBatch, texts: Sequence[Sequence[Sequence[Symbol]]], spelling: Language | None
        ) -> TokenBatch:
            return symbols._replace(
                extended=pad_texts(texts, words).ids if extended else None,
                spelled=spelled(texts, spelling) if spelling else None,
            )

        def add_source_surfaces(source_batch: SourceBatch) -> SourceBatch:
            if not isinstance(source_batch, TokenBatch):
                return source_batch
            texts, language = next(rest)
            return add_surfaces(source_batch, texts, language if of_sources else None)

        target = add_surfaces(batch.target, targets, self.target if of_target else None)
        return batch._replace(sources=tuple(map(add_source_surfaces, batch.sources)), target=target)

    def _spell(self, side: Side, row: int, sentence: list[int] | Array) -> list[list[Symbol]]:
        """Return the symbols of a sentence as its text spells them, without the end; empty if it is missing."""
        if not len(sentence):
            return []
        source, ids = self._sides[side], np.asarray(sentence).tolist()[:-1]
        assert isinstance(source, Language)
        symbols, unknown = source.vocabulary.marked(ids), [place for place, number in enumerate(ids) if number == UNK]
        # Most sentences have none: their column of spellings is not read.
        if not unknown:
            return [symbols]
        try:
            surfaces = split_words(self.train.columns[f"{side}.surfaces"][row])
            for place, surface in zip(unknown, surfaces, strict=True):
                symbols[place] = surface
        except ValueError:  # includes UnicodeDecodeError
            raise self.train.damaged(f"{side}.surfaces.values") from None
        return [symbols]

    def _drop_sources(self, sources: Sequence[Rows], rows: npt.NDArray[np.int64], epoch: int) -> Sequence[Rows]:
        """Return the sources that each example has (a lone end symbol counts as none) and that dropout keeps."""
        ends = [isinstance(source, Language) for source in self.sources]
        present = np.array(
            [[len(sentence) > end for sentence in source] for source, end in zip(sources, ends, strict=True)]
        )
        if self._source_dropout:
            seeds = (zlib.crc32(f"{self._seed}:{epoch}:sources:{row}".encode()) for row in rows)
            # Multiplied by `present`: of the sources that are there, the one with the highest number always stays.
            drawn = np.stack([np.random.default_rng(seed).random(len(sources)) for seed in seeds], 1) * present
            present &= (drawn >= self._source_dropout) | (drawn == drawn.max(0))  # (sources, B)
        pairs = (zip(source, kept, strict=True) for source, kept in zip(sources, present, strict=True))
        return [[sentence if kept else sentence[:0] for sentence, kept in pair] for pair in pairs]

    def _links(self, rows: npt.NDArray[np.int64], sources: Ids, targets: Ids) -> Bool[Tensor, "B T S"]:
        """Return the links between words as links between the symbols that spell them; the end symbols have none."""
        (language,) = self.sources
        assert isinstance(language, Language)
        links = np.zeros((len(rows), max(map(len, targets), default=0), max(map(len, sources), default=0)), np.bool_)
        for number, (row, source, target) in enumerate(zip(rows, sources, targets, strict=True)):
            from_word, to_word = self.train.columns["links"][int(row)].reshape(-1, 2, 1).swapaxes(0, 1)  # (L, 1) each
            to_symbol, from_symbol = (
                to_word == _words(self.target, target),
                from_word == _words(language, source),
            )
            # (T, L) times (L, S): true where any link joins the words of both symbols.
            links[number, : len(target) - 1, : len(source) - 1] = to_symbol.T @ from_symbol
        return torch.from_numpy(links)

    def _row(self, side: Side, source: Source, row: int, epoch: int) -> list[int] | Array:
        if isinstance(source, FeatureSource):
            (number,) = self.train.columns[side][row]
            if number >= len(self._arrays[side]):
                raise self.train.damaged(f"{side}.values")
            return self._arrays[side][int(number)]
        ids = self._ids(side, source, row, epoch)
        return self._add_noise(self._noise, source, ids, row, epoch) if self._noise and side == "source" else ids

    def _ids(self, side: Side, language: Language, row: int, epoch: int) -> list[int] | npt.NDArray[np.integer]:
        # Ids as prepared; only a unit that samples segments the text again in each epoch.
        if not language.text.tokenizer.samples:
            return self.train.columns[side][row]
        try:
            text = self.train.columns[f"{side}.text"][row].tobytes().decode()
        except UnicodeDecodeError:
            raise self.train.damaged(f"{side}.text.values") from None
        # A seed for each sentence, not a generator: batches are made in any order, and resumed anywhere.
        ids = language.ids(text, zlib.crc32(f"{self._seed}:{epoch}:{side}:{row}".encode()))
        return [*self._mark(side, row), *ids]

    def _add_noise(
        self, noise: Infilling, language: Language, ids: list[int] | npt.NDArray[np.integer], row: int, epoch: int
    ) -> list[int] | npt.NDArray[np.integer]:
        """Return a source with noise between the mark of its language and its end, if its target is the same text."""
        # The part of the corpus that the row belongs to: the store has parts one after the other.
        if not self._copied[int(np.searchsorted(np.cumsum(self.train.notes["parts"]), row, "right"))]:
            return ids
        begin, (mask,) = int(self._marked), language.vocabulary.ids([MASK])
        places = noise(len(ids) - begin - 1, f"{self._seed}:{epoch}:noise:{row}")
        hidden = [mask if place is None else int(ids[begin + place]) for place in places]
        return [*map(int, ids[:begin]), *hidden, int(ids[-1])]

    def _mark(self, side: Side, row: int) -> list[int]:
        """Return the mark before a source that can be translated to several languages, as in the store."""
        return [int(self.train.columns[side][row][0])] if self._marked and side == "source" else []


def _recalled(example: Example, texts: tuple[str, ...]) -> Example:
    """Return the example with further sources."""
    return example._replace(sources=(*example.sources, *texts))


def _concatenate(sources: Sequence[Rows]) -> list[list[int]]:
    """Return the ids of several sources of each example, concatenated."""
    return [[int(number) for ids in example for number in ids] for example in zip(*sources, strict=True)]


def _words(language: Language, ids: list[int] | npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Return the number of the word of each symbol of a sentence, without the end symbol."""
    symbols = language.vocabulary.symbols([int(number) for number in ids[:-1]])
    return np.array(language.text.words(symbols, divided=False).word_of, np.int64)
