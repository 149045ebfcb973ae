"""Byte pair encoding of bytes, as GPT-2, RoBERTa and BART have it, with the merges of a file."""

import json
from collections.abc import Iterable, Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, Final, final

from dragoman.configuration.values import Text
from dragoman.errors import UserError, describe, missing_library
from dragoman.text.pretokenizer import Pretokenizer, punctuation
from dragoman.text.tokenizer import InsufficientCorpusError, ListTokenizer, place_characters

# As symbols write bytes: those of visible characters of Latin-1 as themselves, the others from U+0100 on.
_VISIBLE: Final = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_HIDDEN: Final = sorted(set(range(256)).difference(_VISIBLE))
LETTERS: Final = {byte: chr(byte) for byte in _VISIBLE} | {byte: chr(256 + n) for n, byte in enumerate(_HIDDEN)}
BYTES: Final = {letter: bytes([byte]) for byte, letter in LETTERS.items()}

Merge = tuple[str, str]  # two pieces that become one


@final
class ByteLevelBpe(ListTokenizer):
    """Byte pair encoding of the UTF-8 bytes of words (Radford et al. 2019), with the merges of the file `merges`, which
    are not learned but taken as they are. A space belongs to the word after it. Computed by the library tokenizers.
    """

    learns = False

    def __init__(self, pretokenizer: Pretokenizer = punctuation, *, merges: Text | None = None) -> None:
        super().__init__(pretokenizer)
        self.merges = merges
        self._merges: list[Merge] = []
        self._tokenizer: Any = None

    def fit(self, lines: Iterable[str], seed: int, reserved: Sequence[str] = ()) -> None:
        """Take all symbols that the merges make."""
        if self.merges is None:
            raise InsufficientCorpusError("tokenizer: byte_level_bpe requires a file; set merges: FILE")
        try:
            self.load_merges(parse_merges(Path(self.merges).read_text("utf-8")))
        except OSError as error:
            raise UserError(f"{self.merges}: cannot read ({error.strerror or error})") from error
        except ValueError as error:
            raise UserError(f"{self.merges}: {error}") from error

    def load_merges(self, merges: Sequence[Merge], symbols: Sequence[str] | None = None) -> None:
        """Take merges with these symbols, by default all that they make. ValueError for damaged ones, UserError if the
        library is missing.
        """
        try:
            tokenizers = import_module("tokenizers")
        except ModuleNotFoundError as error:
            raise missing_library(error.name, "tokenizers") from error
        pieces = list(dict.fromkeys(chain(LETTERS.values(), ("".join(merge) for merge in merges))))
        numbers = {piece: number for number, piece in enumerate(pieces)}
        try:
            model = tokenizers.models.BPE(numbers, [*merges])
        except Exception as error:  # of a type of the library
            raise ValueError(f"not the merges of byte-level BPE ({describe(error)})") from error
        self._tokenizer = tokenizers.Tokenizer(model)
        self._tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        self._merges = list(merges)
        self.set_inventory(pieces if symbols is None else symbols)

    def encode(self, text: str, sample: int | None = None) -> list[str]:
        symbols: list[str] = self._tokenizer.encode(text, add_special_tokens=False).tokens
        return symbols

    def surfaces(self, symbols: Sequence[str]) -> list[str]:
        parts = [b"".join(BYTES.get(letter) or letter.encode() for letter in symbol) for symbol in symbols]
        return place_characters(parts)

    def learned(self) -> bytes:
        contents = {"symbols": self.inventory, "merges": self._merges}
        return (json.dumps(contents, ensure_ascii=False) + "\n").encode()

    def restore(self, learned: bytes) -> None:
        contents = json.loads(learned)
        symbols, merges = (contents.get(name) if isinstance(contents, dict) else None for name in ("symbols", "merges"))
        if not isinstance(symbols, list) or not all(isinstance(symbol, str) for symbol in symbols):
            raise ValueError("expected a list of symbols")
        self.load_merges(check_merges(merges), symbols)


def parse_merges(text: str) -> list[Merge]:
    """The merges of a `merges.txt`. ValueError names a line of anything else."""
    lines = text.rstrip("\n").split("\n")
    first = 1 if lines[0].startswith("#version") else 0
    return check_merges([line.rstrip("\r").split(" ") for line in lines[first:]])


def check_merges(merges: Any) -> list[Merge]:
    """Merges, which are pairs, or texts with a space. ValueError for anything else."""
    if not isinstance(merges, list):
        raise ValueError("expected a list of merges")
    pairs = []
    for number, merge in enumerate(merges, start=1):
        pair = merge.split(" ") if isinstance(merge, str) else merge
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(part, str) and part for part in pair):
            raise ValueError(f"merge {number}: expected two pieces, found {str(merge)[:40]!r}")
        pairs.append((pair[0], pair[1]))
    return pairs
