"""Model input: padded batches of ids."""

from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from dragoman.data.language import Language
from dragoman.data.surfaces import ExtendedVocabulary, Numbering
from dragoman.data.vocabulary import EOS, PAD
from dragoman.text.mark import Symbol

STEP = 8  # of the widths of rounded texts


class SpelledTokens(NamedTuple):
    """Sentences in which words outside the vocabulary are known by their characters.

    Such words are numbered from the vocabulary's size on, in the order of `characters`, which has each of them once
    (see `Alphabet`). Other symbols have their ids.
    """

    ids: Int64[Tensor, "B S"]
    characters: Int64[Tensor, "W L"]

    def to(self, device: torch.device, *, non_blocking: bool = False) -> "SpelledTokens":
        """Return the same sentences on another device."""
        return SpelledTokens(*(part.to(device, non_blocking=non_blocking) for part in self))


class TokenBatch(NamedTuple):
    """Sentences of one language, padded at the end. `mask` is True for real symbols.

    `extended` are the same words as target symbols, for models that ask for surfaces: a word that is not in the target
    vocabulary has a number from the vocabulary's size on, local to the sentence. `portion` are, in ascending order, the
    distinct symbols of the portion of the corpus to which these targets belong, for outputs that are trained on one
    portion after the other. `spelled` are the same sentences with the characters of words outside their own vocabulary,
    for models that read or spell these.
    """

    ids: Int64[Tensor, "B S"]
    mask: Bool[Tensor, "B S"]
    extended: Int64[Tensor, "B S"] | None = None
    portion: Int64[Tensor, "V"] | None = None
    spelled: SpelledTokens | None = None

    @property
    def labels(self) -> Int64[Tensor, "B S"]:
        """The reference symbols, if these are targets."""
        if self.spelled is not None:
            return self.spelled.ids
        return self.ids if self.extended is None else self.extended

    def to(self, device: torch.device, *, non_blocking: bool = False) -> "TokenBatch":
        """Return the same sentences on another device."""
        moved = (None if part is None else part.to(device, non_blocking=non_blocking) for part in self)
        return TokenBatch(*moved)  # type: ignore[arg-type]


class FeatureBatch(NamedTuple):
    """A numeric source: the regions of images, padded at the end. `mask` is True for real regions."""

    values: Float[Tensor, "B R F"]
    mask: Bool[Tensor, "B R"]

    def to(self, device: torch.device, *, non_blocking: bool = False) -> "FeatureBatch":
        """Return the same regions on another device."""
        return FeatureBatch(*(part.to(device, non_blocking=non_blocking) for part in self))


SourceBatch: TypeAlias = TokenBatch | FeatureBatch


class Batch(NamedTuple):
    """Sentence pairs. Source and target end with EOS and contain no BOS.

    `rows` (B,) are the numbers of the pairs in their origin: rows of the store, or indices into a list. `links`, if the
    corpus has them, are True where the words of a target symbol and a source symbol are linked.
    """

    sources: tuple[SourceBatch, ...]
    target: TokenBatch
    rows: npt.NDArray[np.int64]
    links: Bool[Tensor, "B T S"] | None = None

    def to(self, device: torch.device, *, non_blocking: bool = False) -> "Batch":
        """Return the same pairs on another device."""
        sources = tuple(source.to(device, non_blocking=non_blocking) for source in self.sources)
        links = None if self.links is None else self.links.to(device, non_blocking=non_blocking)
        return Batch(sources, self.target.to(device, non_blocking=non_blocking), self.rows, links)

    def within(self, portion: npt.NDArray[np.int64] | None) -> "Batch":
        """Return the same pairs, of a portion of the corpus with these target symbols."""
        symbols = None if portion is None else torch.from_numpy(portion)
        return self._replace(target=self.target._replace(portion=symbols))

    def rounded(self) -> "Batch":
        """Return the same pairs, padded so that rows and widths are few numbers (`round_up`). Further rows have a
        source of one symbol and no target; a batch without pairs stays as it is.
        """
        if not len(self.rows):
            return self
        rows = round_up(len(self.target.ids), 1)
        sources = tuple(_pad_source(source, rows) for source in self.sources)
        target = _padded(self.target, rows, round_up(self.target.ids.size(1), STEP))
        shape = rows, target.ids.size(1), sources[0].mask.size(1)
        return Batch(sources, target, self.rows, None if self.links is None else _extend(self.links, *shape))

    def reversed(self) -> "Batch":
        """Return the same pairs from target to source."""
        (source,) = self.sources
        assert isinstance(source, TokenBatch)
        # Links are (B, T, S): their axes change places as well.
        return Batch((self.target,), source, self.rows, None if self.links is None else self.links.transpose(1, 2))


def round_up(number: int, step: int) -> int:
    """Return the next multiple of `step`; of four numbers between two powers of two, where these are further apart."""
    # A quarter of the power of two below: at most a fifth is padding, with four shapes for each doubling.
    step = max(step, 1 << max(0, number.bit_length() - 3))
    return -(-number // step) * step


def _extend(tensor: Tensor, *sizes: int, value: int = 0) -> Tensor:
    """Return a tensor with this value after its first dimensions, up to these sizes."""
    extended = tensor.new_full((*sizes, *tensor.shape[len(sizes) :]), value)
    extended[tuple(map(slice, tensor.shape))] = tensor
    return extended


def _padded(sentences: TokenBatch, rows: int, width: int) -> TokenBatch:
    """Return sentences with padding up to so many rows and positions."""

    def padded(ids: Int64[Tensor, "B S"]) -> Int64[Tensor, "..."]:
        return _extend(ids, rows, width, value=PAD)

    ids, mask, extended, portion, spelled = sentences
    return TokenBatch(
        padded(ids),
        _extend(mask, rows, width),
        None if extended is None else padded(extended),
        portion,
        None if spelled is None else spelled._replace(ids=padded(spelled.ids)),
    )


def _pad_source(source: SourceBatch, rows: int) -> SourceBatch:
    """Return the same of a source, with a real first position in further rows: attention to nothing is not a number."""
    width = round_up(source.mask.size(1), 1 if isinstance(source, FeatureBatch) else STEP)
    if isinstance(source, FeatureBatch):
        padded: SourceBatch = FeatureBatch(_extend(source.values, rows, width), _extend(source.mask, rows, width))
    else:
        padded = _padded(source, rows, width)
    padded.mask[len(source.mask) :, 0] = True
    return padded


def pad_tokens(rows: Sequence[list[int] | npt.NDArray[np.integer]]) -> TokenBatch:
    """Pad sentences to the length of the longest."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    # At least one position, even if all sentences are empty: a maximum over none is an error.
    width = int(lengths.max(initial=min(len(rows), 1)))
    mask = np.arange(width) < lengths[:, None]  # (B, S)
    ids = np.full(mask.shape, PAD, np.int64)
    if lengths.sum():
        # All rows in one assignment, without a loop over sentences.
        ids[mask] = np.concatenate(list(map(np.asarray, rows)), dtype=np.int64, casting="unsafe")
    return TokenBatch(torch.from_numpy(ids), torch.from_numpy(mask))


def pad_texts(rows: Iterable[Sequence[Sequence[Symbol]]], numberings: Iterable[Numbering]) -> TokenBatch:
    """Return rows of texts as ids, each row by its own numbering: the texts of a row are concatenated, each with its
    EOS.
    """
    numbered_rows = zip(rows, numberings, strict=False)
    return pad_tokens(
        [[*chain.from_iterable([*numbering.ids(text), EOS] for text in row)] for row, numbering in numbered_rows]
    )


def spelled(rows: Sequence[Sequence[Sequence[Symbol]]], language: Language) -> SpelledTokens:
    """Return rows of texts, as `pad_texts` takes them, with the characters of words that the language does not have."""
    # Each word of the batch once, whichever sentence has it: its vector is computed once.
    words = ExtendedVocabulary(language.vocabulary, chain.from_iterable(rows))
    return SpelledTokens(pad_texts(rows, repeat(words)).ids, language.alphabet.words(words.own))


def pad_regions(rows: Sequence[npt.NDArray[Any]], size: int) -> FeatureBatch:
    """Pad arrays (regions, size) to the largest number of regions."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    mask = np.arange(max(1, lengths.max(initial=0))) < lengths[:, None]  # (B, R)
    values = np.zeros((*mask.shape, size), np.float32)
    for row, regions in zip(values, rows, strict=True):
        row[: len(regions)] = regions
    return FeatureBatch(torch.from_numpy(values), torch.from_numpy(mask))
