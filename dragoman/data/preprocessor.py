"""Training examples as rows of the store, a column for each thing that is kept of them."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from dragoman.configuration.data import DataConfig, LanguagePair
from dragoman.corpus.examples import read_aligned, sides
from dragoman.corpus.features import FeatureFiles
from dragoman.corpus.filters import Filters, Numbers
from dragoman.corpus.naming import CONTEXT
from dragoman.corpus.pharaoh import Gold
from dragoman.data.language import Language
from dragoman.data.learning import names, texts_in, texts_of
from dragoman.data.marks import target_marks
from dragoman.data.recall import FuzzyMatcher
from dragoman.data.store import Rows
from dragoman.data.surfaces import join_words
from dragoman.data.vocabulary import EOS, UNK
from dragoman.files.reading import LONGEST_TEXT
from dragoman.text.edits import operations
from dragoman.text.mark import Symbol
from dragoman.text.pipeline import Side
from dragoman.text.protection import Protection
from dragoman.text.tokenizer import flat

BLOCK = 10_000  # pairs in memory at a time
SMALL = np.iinfo(np.uint16).max + 1  # the number of ids that fit into two bytes


class Preprocessor:
    """The examples of a corpus as ids of its languages, the target last, and numbers of lines in its arrays. `memory`
    fills some of the sources. `protection` is what marks take the place of. `surfaces`: the store keeps the spellings
    of out-of-vocabulary words.
    """

    def __init__(
        self,
        data: DataConfig,
        languages: Mapping[Side, Language],
        arrays: Mapping[Side, FeatureFiles],
        memory: FuzzyMatcher | None = None,
        protection: Protection | None = None,
        *,
        surfaces: bool = False,
    ) -> None:
        self.data = data
        self.languages = languages
        self.arrays = arrays
        self.memory = memory
        self.protection = protection
        self.surfaces = surfaces
        # Subword dropout segments a sentence anew in every epoch, so its text is kept.
        self._sampled = [side for side, language in languages.items() if language.text.tokenizer.samples]
        self._optional = [side for side in data.sides[1:] if names(data)[side] in (*data.recalled, CONTEXT)]

    @property
    def columns(self) -> dict[str, npt.DTypeLike]:
        """The columns by name, each with the type of its values."""
        # For an array, the store has the number of its line; the array stays in its file.
        columns: dict[str, npt.DTypeLike] = dict.fromkeys(self.arrays, np.uint32)
        columns |= {side: _dtype(language) for side, language in self.languages.items()}
        columns |= {f"{side}.text": np.uint8 for side in self._sampled}
        if self.surfaces:
            columns |= {f"{side}.surfaces": np.uint8 for side in self.languages}
        if self.data.alignments:
            columns["links"] = np.uint32
        return columns

    def blocks(self, pair: LanguagePair, filters: Filters) -> Iterator[tuple[int, dict[str, Rows]]]:
        """Yield the rows of the examples of a pair that pass the filters, by column, in blocks, each with the number of
        its corpus among those of the pair.
        """
        gold: list[Gold] = []
        for corpus, block in self._read(pair, gold):
            # Links were appended as the texts of this block were read, and are its own alone.
            rows, kept = self._rows(block, pair, filters, gold)
            gold.clear()
            yield corpus, {name: column.chosen(kept) for name, column in rows.items()}

    def _read(self, pair: LanguagePair, gold: list[Gold]) -> Iterator[tuple[int, tuple[list[str], ...]]]:
        """Yield blocks of the training texts of a pair, each from one corpus, whose number comes with it."""
        for number, place in enumerate(pair.train):
            for block in sides(self._examples(pair._replace(train=(place,)), gold), BLOCK):
                yield number, block

    def _examples(self, pair: LanguagePair, gold: list[Gold]) -> Iterator[tuple[str, ...]]:
        """Yield the training texts of a pair; its links, if wanted, are appended to `gold`."""
        if not self.data.alignments:
            yield from texts_of(self.data, pair)
            return
        for texts, links in read_aligned(pair.train, pair.sources[0], pair.target):
            gold.append(links)
            yield texts

    def _rows(
        self, block: tuple[list[str], ...], pair: LanguagePair, filters: Filters, gold: list[Gold]
    ) -> tuple[dict[str, Rows], npt.NDArray[np.bool_]]:
        """Return the rows of a block of texts, one side after the other, and a mask of those that pass the filters."""
        data, languages = self.data, self.languages
        # Looked up by the raw text, before marks and normalization, as a user's text will be.
        filled = self._add_matches(block, self.memory) if self.memory else block
        raw_texts = dict(
            zip(languages, _mask_spans(filled, self.protection) if self.protection else filled, strict=True)
        )
        texts = {side: list(map(languages[side].text.normalize, raw_texts[side])) for side in languages}
        # Text that is too long for any model is not segmented; it is filtered as too long for this one.
        cut = {side: ["" if len(text) > LONGEST_TEXT else text for text in texts[side]] for side in languages}
        rows = {side: language.rows(cut[side]) for side, language in languages.items()}
        for side in self._optional:  # one that is too long is missing; its pair is not to blame
            long = rows[side].lengths - 1 > data.max_length
            texts[side] = cut[side] = ["" if far else text for text, far in zip(cut[side], long, strict=True)]
            rows[side] = languages[side].rows(cut[side])
        spelled = list(languages) if self.surfaces else []
        unknown = {side: _unknown(languages[side], cut[side], rows[side]) for side in spelled}
        if data.edited is not None:
            target, before = languages["target"].vocabulary, texts[data.sides[data.edited]]
            edits = _edits(languages["target"], before, texts["target"], data.max_length)
            rows["target"] = Rows(*flat([[*target.ids(symbols), EOS] for symbols in edits]))
            unknown |= {"target": map(target.unknown, edits)} if spelled else {}
        written = {side: np.array([bool(text.strip()) for text in texts[side]]) for side in languages}
        # Without the end symbol; a text of white space alone is empty, whatever a unit makes of it.
        lengths = {side: np.where(written[side], rows[side].lengths - 1, 0) for side in languages}
        for side in languages:
            # It was not segmented: one more than what passes stands for its length.
            lengths[side][[len(text) > LONGEST_TEXT for text in raw_texts[side]]] = data.max_length + 1
        count = len(lengths["target"])
        numbers = np.arange(filters.report.pairs, filters.report.pairs + count)
        for side, files in self.arrays.items():
            there = np.array([len(files[int(number)]) > 0 for number in numbers])
            lengths[side] = there * lengths["target"]  # regions are not symbols: they count as long as their target
            rows[side] = Rows(numbers, np.ones(count, np.int64))
        read = [lengths[side] for side in data.sides if side not in self._optional]
        kept = filters.keep(*_with_neighbors(read), lengths["target"])
        rows |= {f"{side}.text": _bytes(texts[side]) for side in self._sampled}
        rows |= {f"{side}.surfaces": _bytes(list(map(join_words, words))) for side, words in unknown.items()}
        if data.pairs:
            mark = languages["source"].vocabulary.ids([target_marks(data)[pair.target]])
            # Behind the filters, for which a mark does not count as a symbol.
            rows["source"] = rows["source"].after(mark)
        if data.alignments:
            rows["links"] = _links(gold, *(_words(languages[side], texts[side]) for side in languages))
        return rows, kept

    def _add_matches(self, block: tuple[list[str], ...], memory: FuzzyMatcher) -> tuple[list[str], ...]:
        """Return the sides of a block with those that the memory fills before the target. A pair is no answer to
        itself.
        """
        queries = block[texts_in(self.data, self.data.trained[0]).index(memory.queried_source)]
        matches = (memory.texts(source, target) for source, target in zip(queries, block[-1], strict=True))
        return (*block[:-1], *map(list, zip(*matches, strict=True)), block[-1])


def _mask_spans(block: tuple[list[str], ...], protection: Protection) -> tuple[list[str], ...]:
    """Return the sides of a block, the target last, with marks for the spans that come through."""
    pairs = [protection.masked_pair(sources, target).texts for *sources, target in zip(*block, strict=True)]
    return tuple(map(list, zip(*pairs, strict=True)))


def _unknown(language: Language, texts: list[str], rows: Rows) -> Iterator[list[Symbol]]:
    """Yield the out-of-vocabulary symbols of each normalized text, whose ids are `rows`."""
    for text, here in zip(texts, rows.holding(UNK), strict=True):
        yield language.vocabulary.unknown(language.text.tokenizer.encode(text)) if here else []


def _edits(target: Language, before: list[str], after: list[str], longest: int) -> list[Sequence[Symbol]]:
    """Return the operations that turn each text `before` into `after`. If a side is too long, so are they; the longer
    side then stands in for them until the filters remove the pair.
    """
    edits: list[Sequence[Symbol]] = []
    for texts in zip(before, after, strict=True):
        old, new = map(target.text.encode, texts)
        longer = max(old, new, key=len)
        edits.append(operations(old, new) if len(longer) <= longest else longer)
    return edits


def _with_neighbors(sources: list[Numbers]) -> list[Numbers]:
    """Return lengths of several sources; a missing source counts as long as the sentence's longest."""
    longest = np.maximum.reduce(sources)
    return [np.where(lengths > 0, lengths, longest) for lengths in sources]


def _words(language: Language, texts: list[str]) -> list[int]:
    """Return the number of words of each normalized text, as `TextPipeline.words` counts them undivided."""
    return [len(language.text.tokenize(text)) or bool(text) for text in texts]


def _links(gold: list[Gold], sources: list[int], targets: list[int]) -> Rows:
    """Return source word and target word of every link, sure or possible. UserError if one is beyond its pair's
    words.
    """
    for alignment, source, target in zip(gold, sources, targets, strict=True):
        alignment.check(source, target)
    values, lengths = flat([[word for link in sorted(alignment.possible) for word in link] for alignment in gold])
    return Rows(values, lengths)


def _bytes(texts: list[str]) -> Rows:
    encoded = [text.encode() for text in texts]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    return Rows(np.frombuffer(b"".join(encoded), np.uint8), lengths)


def _dtype(language: Language) -> npt.DTypeLike:
    return np.uint16 if len(language.vocabulary) <= SMALL else np.uint32
