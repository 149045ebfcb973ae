"""Symbols and their numbers."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dragoman.errors import UserError
from dragoman.files.reading import read_lines
from dragoman.files.writing import write_atomically
from dragoman.text.mark import Mark, Symbol

UNK: Final = 0
PAD: Final = 1
BOS: Final = 2
EOS: Final = 3
SPECIALS: Final = ("<unk>", "<pad>", "<s>", "</s>")


@dataclass(frozen=True)
class SymbolTable:
    """What a part of a model may know about the symbols of a side, indexed by symbol id.

    `spellings` are those of the vocabulary file, specials and marks by name; `first` is the id of the first symbol that
    a text can spell. `counts` are frequencies in the training corpus, sentence ends included. `characters` are those of
    the corpus's words, if a part of the model reads or spells them (`Alphabet`).
    """

    spellings: tuple[str, ...]
    counts: tuple[int, ...]
    first: int = len(SPECIALS)
    characters: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.spellings)

    @classmethod
    def sized(cls, size: int) -> "SymbolTable":
        """Return a placeholder table before there is a corpus: `size` symbols spelled as numbers, each with count 1."""
        spellings = (*SPECIALS, *map(str, range(len(SPECIALS), size)))[:size]
        return cls(spellings, (1,) * size, characters=(*"0123456789",))


class Vocabulary:
    """The symbols of one language, numbered from 0: the four specials, marks, then the symbols of the tokenizer.

    The specials and the marks are numbers, never text: a text that spells `<s>` gets the number of the symbol `<s>` if
    there is one, otherwise UNK, but never BOS. `first` is the number of the first of these.

    The marks `around` a text stand for symbols of their names: of the tokenizer, or else specials.
    """

    def __init__(self, symbols: Sequence[str], marks: Sequence[Mark] = (), around: Sequence[Mark] = ()) -> None:
        numbered: list[Symbol] = [*marks, *symbols]
        self.first = len(SPECIALS) + len(marks)
        # Specials have numbers, and no entry in `_ids`: no text can spell them.
        self._symbols: list[Symbol] = [*SPECIALS, *numbered]
        self._ids: dict[Symbol, int] = {symbol: number for number, symbol in enumerate(numbered, start=len(SPECIALS))}
        if len(self._ids) != len(numbered):
            raise ValueError("a symbol occurs twice")
        specials = dict(zip(SPECIALS, range(len(SPECIALS)), strict=True))
        for mark in around:
            number = self._ids.get(mark.name, specials.get(mark.name))
            if number is None:
                raise ValueError(f"has no symbol '{mark}' for the prefix or suffix of a text")
            self._ids[mark] = number

    def __len__(self) -> int:
        return len(self._symbols)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self._symbols == other._symbols

    def __hash__(self) -> int:
        return hash(tuple(self._symbols))

    def __repr__(self) -> str:
        return f"Vocabulary of {len(self):,} symbols"

    def ids(self, symbols: Sequence[Symbol]) -> list[int]:
        """Return the number of each symbol; UNK for unknown ones."""
        look_up = self._ids.get  # bound once: this is called for every sentence
        return [look_up(symbol, UNK) for symbol in symbols]

    def unknown(self, symbols: Iterable[Symbol]) -> list[Symbol]:
        """Return the symbols that are not in the vocabulary."""
        return [symbol for symbol in symbols if symbol not in self._ids]

    def symbols(self, ids: Sequence[int]) -> list[str]:
        """Return the symbol of each number, specials and marks by name."""
        return [str(self._symbols[number]) for number in ids]

    def marked(self, ids: Sequence[int]) -> list[Symbol]:
        """Return the symbol of each number, marks as `Mark`."""
        return [self._symbols[number] for number in ids]

    def save(self, path: Path) -> None:
        """Write one JSON string per line, without specials and marks, whose numbers are fixed."""
        # JSON, since a symbol may be a line break or another character that `splitlines` would cut at.
        write_strings(path, self.symbols(range(self.first, len(self))))

    @classmethod
    def load(cls, path: Path, marks: Sequence[Mark] = (), around: Sequence[Mark] = ()) -> "Vocabulary":
        """Read a vocabulary with these marks from `save`'s file. UserError names the file and line of anything else."""
        try:
            return cls(read_strings(path), marks, around)
        except ValueError as error:
            raise UserError(f"{path}: {error}") from error


def write_strings(path: Path, strings: Iterable[str]) -> None:
    """Write one JSON string per line."""
    with write_atomically(path) as file:
        file.writelines(json.dumps(string) + "\n" for string in strings)


def read_strings(path: Path) -> list[str]:
    """Read different strings from `write_strings`'s file. UserError names the file and line of anything else."""
    strings: dict[str, None] = {}
    for number, line in enumerate(read_lines(path), start=1):
        try:
            string = json.loads(line)
        except (ValueError, RecursionError):
            string = None
        if not isinstance(string, str) or string in strings:
            raise UserError(f"{path}:{number}: expected a new symbol as a JSON string, found {line[:40]!r}")
        strings[string] = None
    return list(strings)
