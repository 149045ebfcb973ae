"""Pretrained vectors of words in place of random rows of the embeddings, before the first step,
from files as word2vec, fastText and GloVe write them.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from dragoman.data.language import Language
from dragoman.data.vocabulary import UNK
from dragoman.errors import UserError
from dragoman.files.reading import LONGEST_TEXT, read_lines, shown
from dragoman.model.embedding import LookupEmbedding
from dragoman.training.training import Training

LONGEST_NUMBER = 32  # characters, with the space before it

Vector: TypeAlias = npt.NDArray[np.float64]


def read_vectors(path: str | Path, size: int, words: int) -> Iterator[tuple[str, Vector]]:
    """Yield the first words of a file, at most `words`, each with its vector of `size` numbers.

    A line is a word and its numbers with a space between each. The first line may tell the number of words and the size
    instead (word2vec, fastText). The file may be compressed (`.gz`), and one line at a time is in memory. UserError if
    it cannot be read, has vectors of another size, or a line is anything else, with the number of that line.
    """
    lines = enumerate(read_lines(path, LONGEST_TEXT + LONGEST_NUMBER * size), start=1)
    number, first = next(lines, (1, ""))
    _, *numbers = first.rstrip(" ").split(" ")
    has_header = len(numbers) == 1 and first.replace(" ", "").isdecimal()  # and the words follow
    if (found_size := int(numbers[0]) if has_header else len(numbers)) != size:
        raise UserError(f"{shown(path)}:1: vectors of size {found_size:,}, but model.embedding.size is {size:,}")
    if not has_header:
        yield _parsed(first, size, f"{shown(path)}:{number}")
    for number, line in islice(lines, words if has_header else words - 1):
        yield _parsed(line, size, f"{shown(path)}:{number}")


def _parsed(line: str, size: int, where: str) -> tuple[str, Vector]:
    """The word of a line, which may have spaces in it, and its vector."""
    word, *numbers = line.rstrip(" ").rsplit(" ", size)
    try:
        vector = np.fromiter(map(float, numbers), np.float64, size)
    except ValueError:
        vector = np.full(size, np.nan)
    if not word or not np.isfinite(vector).all():
        raise UserError(f"{where}: expected a word and {size:,} numbers, found {line[:40]!r}")
    return word, vector


class Pretrained:
    """The vectors of a vocabulary's symbols, gathered from files of words.

    Each word is segmented as any text is. A symbol that is a whole word has the vector of the first word that it is
    alone; another one the mean of the vectors of all words in whose segmentation it occurs, counted as often as it
    does. As files name frequent words first, rare ones (names, misspellings) are best left out of these means.

    A symbol that occurs in no word keeps its random vector, scaled by the root of the mean squared length of the
    vectors of whole words, so that all have a similar length.
    """

    def __init__(self, symbols: int, size: int) -> None:
        self.alone = np.zeros((symbols, size))
        self.sums = np.zeros((symbols, size))
        self.whole = np.zeros(symbols, np.bool_)  # has a vector in `alone`
        self.counts = np.zeros(symbols, np.int64)

    def read(self, path: str, words: int, language: Language) -> None:
        """Add the vectors of the first words of a file. Words of earlier files come before them."""
        for word, vector in read_vectors(path, self.sums.shape[1], words):
            symbols = language.vocabulary.ids(language.text.encode(word))
            if len(symbols) == 1 and symbols != [UNK] and not self.whole[symbols[0]]:
                self.whole[symbols[0]], self.alone[symbols[0]] = True, vector
            for symbol in symbols:
                self.sums[symbol] += vector
                self.counts[symbol] += 1
        # What the unit cannot spell says nothing of an unknown word.
        self.counts[UNK] = 0

    @property
    def parts(self) -> npt.NDArray[np.bool_]:
        """The symbols (V,) that are no whole word, and occur in words."""
        parts: npt.NDArray[np.bool_] = (self.counts > 0) & ~self.whole
        return parts

    def table(self, random: Tensor) -> Tensor:
        """Return the table (V, E) of all symbols, given one of random vectors with a length of 1 on average."""
        whole, parts = self.whole, self.parts
        # Summed in float64: a byte may occur in all of a million words.
        vectors = random.detach().cpu().double().numpy().copy()
        if whole.any():
            vectors *= np.sqrt((self.alone[whole] ** 2).sum(1).mean())
        vectors[parts] = self.sums[parts] / self.counts[parts, None]
        vectors[whole] = self.alone[whole]
        return torch.from_numpy(vectors).to(random.dtype)


def fill(run: Training) -> None:
    """Fill the tables of a run's embeddings that have files of vectors, and say how many symbols were found. A tied
    table takes the vectors of all its files. UserError if a file is missing, damaged, or of another size.
    """
    languages = (*run.config.data.sequences(run.data.sources), run.data.target)
    embeddings = (
        *(source_encoder.embedding for source_encoder in run.model.source_encoders),
        run.model.target_embedding,
    )
    tables: dict[nn.Parameter, Pretrained] = {}
    files: dict[nn.Parameter, list[str]] = {}
    for language, embedding in zip(languages, embeddings, strict=True):
        if isinstance(embedding, LookupEmbedding) and embedding.pretrained and isinstance(language, Language):
            vectors = tables.setdefault(embedding.table, Pretrained(embedding.symbols, embedding.size))
            vectors.read(embedding.pretrained, embedding.pretrained_words, language)
            files.setdefault(embedding.table, []).append(embedding.pretrained)
    for table, vectors in tables.items():
        with torch.no_grad():
            table.copy_(vectors.table(table))
        run.journal.say(
            f"{', '.join(files[table])}: of {len(vectors.whole):,} symbols {vectors.whole.sum():,} begin with the "
            f"vector of a word, {vectors.parts.sum():,} with the mean of words that they are part of"
        )
