"""Everything between the text of one language and its ids; sources, which are texts or numbers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np

from dragoman.corpus.features import FeatureSource
from dragoman.data.alphabet import Alphabet
from dragoman.data.store import Rows
from dragoman.data.vocabulary import EOS, UNK, SymbolTable, Vocabulary, read_strings, write_strings
from dragoman.errors import UserError
from dragoman.files.reading import read_lines
from dragoman.files.writing import write_atomically
from dragoman.text.mark import Mark
from dragoman.text.pipeline import Side, TextPipeline
from dragoman.text.tokenizer import flat

COUNT = re.compile("[0-9]{1,18}")


@dataclass(frozen=True)
class Language:
    """A language: its name (the suffix of its files), text pipeline, vocabulary, and the frequency of each symbol in
    the training corpus; `counts` is empty until they are counted. `characters` are those of all its words in the
    corpus, if a model asked for surfaces; otherwise those of the vocabulary are known.
    """

    name: str
    text: TextPipeline
    vocabulary: Vocabulary
    counts: tuple[int, ...] = ()
    characters: tuple[str, ...] = ()

    @property
    def symbols(self) -> SymbolTable:
        """What a model may know of the symbols."""
        spellings = self.vocabulary.symbols(range(len(self.vocabulary)))
        return SymbolTable(tuple(spellings), self.counts, self.vocabulary.first, self.alphabet.characters)

    @cached_property
    def alphabet(self) -> Alphabet:
        """The numbers of the characters of its words."""
        first, size = self.vocabulary.first, len(self.vocabulary)
        characters = sorted(set().union(*self.vocabulary.symbols(range(first, size))))
        return Alphabet(self.characters or characters, first)

    @cached_property
    def symbol_count(self) -> int:
        """The number of symbols of the training corpus."""
        return sum(self.counts)

    def ids(self, text: str, sample: int | None = None) -> list[int]:
        """Return the ids of a text with what frames it, and EOS; `sample` seeds the sentence's subword dropout, None =
        none.
        """
        return [*self.vocabulary.ids(self.text.framed(self.text.encode(text, sample))), EOS]

    def rows(self, texts: Sequence[str]) -> Rows:
        """Return the ids of normalized texts with EOS, all at once and without dropout."""
        if self.text.framed([]):
            return Rows(*flat(list(map(self.ids, texts))))
        # All texts in one call, for units that work on many at once (sentencepiece, in several threads).
        places, lengths = self.text.tokenizer.numbers(texts)
        # A unit numbers its symbols from 1, with 0 for unknown; a vocabulary has specials and marks before them.
        ids = np.where(places == 0, UNK, places + self.vocabulary.first - 1)
        return Rows(np.insert(ids, np.cumsum(lengths), EOS), lengths + 1)

    def mark(self, text: str | None) -> int | None:
        """Return the id of the sentence separator `text`. UserError unless it is always one known symbol."""
        if text is None:
            return None
        key, symbols = "model.attention.sentences", self.text.encode(text)
        if len(symbols) != 1:
            raise UserError(f"{key}: '{text}' is {len(symbols)} tokens ({' '.join(symbols)}), expected one")
        if self.text.tokenizer.samples:
            raise UserError(f"{key}: subword dropout would split '{text}', which must be a single token; disable it")
        (number,) = self.vocabulary.ids(symbols)
        if number == UNK:
            raise UserError(f"{key}: '{text}' is not in the vocabulary; expected it between sentences of the corpus")
        return number

    def save(self, folder: Path, side: Side) -> None:
        """Write the files `SIDE.json`, `.tokenizer`, `.vocabulary`, `.counts`, and `.characters` if there are any."""
        self.text.save(folder, side)
        self.vocabulary.save(folder / f"{side}.vocabulary")
        with write_atomically(folder / f"{side}.counts") as file:
            file.writelines(f"{count}\n" for count in self.counts)
        if self.characters:
            write_strings(folder / f"{side}.characters", self.characters)
        else:  # what was learned for another model
            (folder / f"{side}.characters").unlink(missing_ok=True)

    @staticmethod
    def saved(folder: Path, side: Side) -> bool:
        """Return whether the folder has a language on this side."""
        return (folder / f"{side}.vocabulary").is_file()

    @classmethod
    def load(
        cls, folder: Path, side: Side, name: str, marks: Sequence[Mark] = (), *, counted: bool = True
    ) -> "Language":
        """Read what `save` wrote of a language with these marks. UserError if a file is missing or damaged. If it is
        not to be `counted`, it may have had other marks.
        """
        path = folder / f"{side}.vocabulary"
        text = TextPipeline.load(folder, side)
        vocabulary = Vocabulary.load(path, marks, text.frame)
        counts = _counts(folder / f"{side}.counts") if counted else ()
        if counted and len(vocabulary) != len(counts):
            difference = f"{len(vocabulary):,} symbols, and {side}.counts {len(counts):,}"
            raise UserError(f"{path} has {difference}: one of them was cut, or is another run's")
        letters = folder / f"{side}.characters"
        characters = tuple(read_strings(letters)) if letters.is_file() else ()
        return cls(name, text, vocabulary, counts, characters)


def _counts(path: Path) -> tuple[int, ...]:
    lines = list(read_lines(path))
    for number, line in enumerate(lines, start=1):
        if not COUNT.fullmatch(line):
            raise UserError(f"{path}:{number}: expected how often a symbol occurs, found {line[:40]!r}")
    return tuple(map(int, lines))


Source: TypeAlias = Language | FeatureSource


def require_text(sources: tuple[Source, ...]) -> Language:
    """Return the only source, which is a text. UserError if there are several, or it is numeric."""
    if not is_only_text(sources):
        named = ", ".join(source.name for source in sources)
        raise UserError(f"this requires a run with a single text source, found {named}")
    (text,) = sources
    assert isinstance(text, Language)
    return text


def is_only_text(sources: tuple[Source, ...]) -> bool:
    """Return whether there is one source, and it is a text."""
    return len(sources) == 1 and isinstance(sources[0], Language)
