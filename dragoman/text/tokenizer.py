"""The base class of tokenizers, and how their symbols spell text without loss."""

import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from dragoman.errors import UserError
from dragoman.files.writing import write_atomically
from dragoman.text.pretokenizer import Pretokenizer, punctuation

SPACE = "\u2581"  # a space in symbols, as sentencepiece writes it
JOINER = "\uffed"  # marks the side of a word that has no space
UNKNOWN = "<unk>"
REPLACEMENT = "\ufffd"
ANCHOR = "\uffff"  # no character of any text, so that no symbol reaches from it into what follows

# The marks of protected spans (`protection.py`): private-use characters, symbols by themselves for every tokenizer.
MARKS: Final = tuple(map(chr, range(0x10FF00, 0x10FF10)))
MARK: Final = re.compile(f"[{MARKS[0]}-{MARKS[-1]}]")

# A text may contain these characters itself. They, and the private-use character that escapes them, become two.
_ESCAPE = "\ue000"
_ESCAPED = {SPACE: "\ue000\ue001", JOINER: "\ue000\ue002", _ESCAPE: "\ue000\ue003"}
_PLAIN = {escaped: mark for mark, escaped in _ESCAPED.items()}
_MARK = re.compile("|".join(_ESCAPED))
_CHARACTER = re.compile("\ue000[\ue001-\ue003]|.", re.DOTALL)
_ANY = re.compile(".", re.DOTALL)
_BYTE = re.compile("<0x([0-9A-F]{2})>")


Numbers = npt.NDArray[np.int64]


class InsufficientCorpusError(UserError):
    """The inventory that a tokenizer's options require cannot be learned from the corpus."""


class Tokenizer(ABC):
    """A way to segment text into symbols: words, characters or subwords.

    The positional parameter is the pretokenizer that defines words; a tokenizer's options are keyword-only. `choosing`
    names the option that affects only the choice among the symbols, not which ones there are; `whole_words` says
    whether the symbols are the pretokenizer's words; `complete` whether they spell every text, so that nothing is
    unknown.
    """

    choosing: ClassVar[str | None] = None
    learns: ClassVar[bool] = True  # whether its symbols come from the corpus, and not from a file
    whole_words: ClassVar[bool] = False
    complete: ClassVar[bool] = False

    def __init__(self, pretokenizer: Pretokenizer = punctuation) -> None:
        self.pretokenizer = pretokenizer

    @property
    @abstractmethod
    def inventory(self) -> list[str]:
        """The symbols that were learned, without the specials; the most useful ones first."""

    @property
    def samples(self) -> bool:
        """Whether the result of `encode` depends on its seed."""
        return False

    @abstractmethod
    def fit(self, lines: Iterable[str], seed: int, reserved: Sequence[str] = ()) -> None:
        """Learn the inventory from normalized lines, which are read once if they have no length. The `reserved`
        characters (MARKS) are symbols of it, whether the lines have them or not, and are in no other one.
        InsufficientCorpusError if the lines do not suffice for it.
        """

    @abstractmethod
    def encode(self, text: str, sample: int | None = None) -> list[str]:
        """The symbols of a text. `sample` seeds the sentence's subword dropout; None disables it."""

    def segments(self, piece: str) -> list[str]:
        """The symbols that spell a piece from the middle of a text, where a space at its front begins a word; none if
        they cannot be told from those before it.
        """
        before, symbols = self.encode(ANCHOR), self.encode(ANCHOR + piece)
        return symbols[len(before) :] if symbols[: len(before)] == before else []

    def piece(self, symbol: str) -> str:
        """The inverse: the text that one symbol spells in the middle of others."""
        return self.surfaces([UNKNOWN, symbol])[1]

    def numbers(self, texts: Sequence[str]) -> tuple[Numbers, Numbers]:
        """The symbols of normalized texts without dropout, concatenated, and the number of symbols of each text (N,).

        The number of a symbol is 1 + its index in the inventory, or 0 if it is unknown.
        """
        number_of = {symbol: place for place, symbol in enumerate(self.inventory, start=1)}
        return flat([[number_of.get(symbol, 0) for symbol in self.encode(text)] for text in texts])

    @abstractmethod
    def surfaces(self, symbols: Sequence[str]) -> list[str]:
        """The part of the decoded text that each symbol contributes, spaces included.

        A character that is spelled by several symbols belongs to the first of them; the others contribute nothing.
        """

    def decode(self, symbols: Sequence[str]) -> str:
        """The text that the symbols spell: the inverse of `encode`. `<unk>` is written as is."""
        return "".join(self.surfaces(symbols))

    def single_spaced(self, symbols: Sequence[str], begin: int = 0) -> list[str]:
        """The symbols, from number `begin` on without a space directly after a symbol that is a space alone: a model
        of subwords may write both, although no text that it has seen has two spaces in a row.
        """
        return list(symbols)

    @abstractmethod
    def learned(self) -> bytes:
        """What `fit` has learned, as the contents of a file."""

    @abstractmethod
    def restore(self, learned: bytes) -> None:
        """Restore what another tokenizer of this class has `learned`. ValueError if the bytes are something else."""

    def save(self, path: Path) -> None:
        """Write what `fit` has learned."""
        with write_atomically(path, "wb") as file:
            file.write(self.learned())

    def load(self, path: Path) -> None:
        """Read what `save` wrote. UserError if the file cannot be read or contains something else."""
        try:
            self.restore(path.read_bytes())
        except OSError as error:
            raise UserError(f"{path}: cannot read ({error.strerror or error})") from error
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}: not the symbols of a {type(self).__name__} tokenizer") from error


def flat(rows: Sequence[Sequence[int]]) -> tuple[Numbers, Numbers]:
    """The numbers of all rows, concatenated, and the length of each row."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    return np.fromiter(chain.from_iterable(rows), np.int64, int(lengths.sum())), lengths


def escape(text: str) -> str:
    """Replace each special character of this module (SPACE, JOINER and the escape itself) by two characters."""
    if SPACE in text or JOINER in text or _ESCAPE in text:  # rare, and faster to test than the regular expression
        return _MARK.sub(lambda match: _ESCAPED[match[0]], text)
    return text


def unescape(text: str) -> str:
    """The inverse of `escape`."""
    return _CHARACTER.sub(lambda match: _PLAIN.get(match[0], match[0]), text) if _ESCAPE in text else text


def spell(symbols: Sequence[str]) -> list[str]:
    """The surfaces of symbols in which spaces are written as SPACE, rare characters as bytes, and special characters
    are escaped. Bytes that are not valid UTF-8 become U+FFFD.
    """
    if not any(_ESCAPE in symbol or symbol.startswith("<0x") for symbol in symbols):
        return [symbol.replace(SPACE, " ") for symbol in symbols]
    return place_characters([_bytes(symbol) for symbol in symbols], _CHARACTER)


def place_characters(parts: Sequence[bytes], characters: re.Pattern[str] = _ANY) -> list[str]:
    """The characters that the UTF-8 bytes of symbols spell together; one that several symbols spell is the first one's.
    Bytes that are not valid become U+FFFD.
    """
    owners = [index for index, part in enumerate(parts) for _ in part]  # the symbol of each byte
    surfaces = [""] * len(parts)
    position = 0
    for match in characters.finditer(b"".join(parts).decode("utf-8", "surrogateescape")):
        character = match[0]
        width = len(character.encode("utf-8", "surrogateescape"))
        shown = REPLACEMENT if "\udc80" <= character <= "\udcff" else _PLAIN.get(character, character)
        surfaces[owners[position]] += shown
        position += width
    return surfaces


def _bytes(symbol: str) -> bytes:
    match = _BYTE.fullmatch(symbol)
    return bytes.fromhex(match[1]) if match else symbol.replace(SPACE, " ").encode("utf-8", "replace")


class PieceTokenizer(Tokenizer):
    """A tokenizer whose symbols are pieces of sentencepiece."""

    def surfaces(self, symbols: Sequence[str]) -> list[str]:
        surfaces = spell(symbols)
        for index, surface in enumerate(surfaces):
            if surface:  # sentencepiece adds a space before every text
                surfaces[index] = surface.removeprefix(" ")
                break
        return surfaces

    def single_spaced(self, symbols: Sequence[str], begin: int = 0) -> list[str]:
        spaced = list(symbols)
        for number in range(max(1, begin), len(spaced)):
            if symbols[number - 1] == SPACE:
                spaced[number] = symbols[number].removeprefix(SPACE)
        return spaced


class ListTokenizer(Tokenizer):
    """A tokenizer whose inventory is a list of symbols, most frequent first (ties in order of code points)."""

    def __init__(self, pretokenizer: Pretokenizer = punctuation) -> None:
        super().__init__(pretokenizer)
        self._inventory: list[str] = []

    @property
    def inventory(self) -> list[str]:
        return list(self._inventory)

    def learn(
        self, lines: Iterable[str], vocab_size: int | None, minimum_frequency: int, reserved: Sequence[str]
    ) -> None:
        """Keep the `reserved` symbols and the `vocab_size` most frequent other ones (None: all) that occur at least
        `minimum_frequency` times. InsufficientCorpusError if there are no symbols at all.
        """
        counts: Counter[str] = Counter()
        for line in lines:
            counts.update(self.encode(line))
        reserved_symbols = set(reserved)
        frequent = (item for item in counts.items() if item[1] >= minimum_frequency and item[0] not in reserved_symbols)
        ranked = sorted(frequent, key=lambda item: (-item[1], item[0]))
        self._inventory = [*reserved, *(symbol for symbol, _ in ranked[:vocab_size])]
        if not counts:
            raise InsufficientCorpusError("the corpus is empty, there is nothing to learn symbols from")

    def learned(self) -> bytes:
        return "".join(json.dumps(symbol) + "\n" for symbol in self._inventory).encode()

    def restore(self, learned: bytes) -> None:
        inventory = [json.loads(line) for line in learned.decode().splitlines()]
        if not all(isinstance(symbol, str) for symbol in inventory):
            raise ValueError("expected a symbol on every line")
        self.set_inventory(inventory)

    def set_inventory(self, symbols: Sequence[str]) -> None:
        """Take symbols that were not learned here."""
        self._inventory = list(symbols)
