"""Subwords by the codes of subword-nmt, as other programs learn them, on words of Moses' tokenizer."""

import json
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cached_property
from html import unescape
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, final

from dragoman.configuration.values import Text
from dragoman.errors import UserError, missing_library
from dragoman.text.pretokenizer import Pretokenizer, punctuation
from dragoman.text.tokenizer import InsufficientCorpusError, ListTokenizer

SEPARATOR: Final = "@@"  # at the end of a symbol that the word does not end with
END: Final = "</w>"  # of a word, in codes
DASH: Final = "@-@"  # a dash inside a word, as Moses' tokenizer splits it
VERSION: Final = re.compile(r"#version: 0\.([12])(?:\.0+)*")
CACHED: Final = 1 << 16  # words whose segmentations are kept in memory
_ESCAPED: Final = re.compile("&(?:amp|apos|quot|lt|gt|#124|#91|#93);")  # as Moses escapes characters

Letter = tuple[str, int]  # a character of a text, and the number of the symbol that spells it


@final
class SubwordCodes(ListTokenizer):
    """Byte pair encoding with the merges of the file `codes` (Sennrich et al. 2016a; subword-nmt), which are not
    learned but taken as they are: the pair of pieces that comes first in the file is merged first, everywhere in the
    word. A symbol inside a word ends in `@@`.

    `moses` is the language of Moses' tokenizer and detokenizer (sacremoses), which are not lossless; without it, words
    stand between spaces. `split_dashes` writes `well @-@ known`, and `escape` writes `&apos;` for `'`, as its scripts
    do with `-a` and without `-no-escape`. With `split_unknown`, symbols outside the vocabulary are split again into the
    pieces that they were merged from (subword-nmt's `--vocabulary`).
    """

    learns = False

    def __init__(
        self,
        pretokenizer: Pretokenizer = punctuation,
        *,
        codes: Text | None = None,
        moses: Text | None = None,
        split_dashes: bool = False,
        escape: bool = True,
        split_unknown: bool = False,
    ) -> None:
        super().__init__(pretokenizer)
        self.codes, self.language = codes, moses
        self.split_dashes, self.escape, self.split_unknown = split_dashes, escape, split_unknown
        self._codes = ""
        self._merges = Merges("")
        self._vocabulary: frozenset[str] = frozenset()
        self._segments: dict[str, list[str]] = {}

    @cached_property
    def _moses(self) -> tuple[Any, Any]:
        """The tokenizer and the detokenizer."""
        try:
            sacremoses = import_module("sacremoses")
        except ModuleNotFoundError as error:
            raise missing_library(error.name, "moses") from error
        return sacremoses.MosesTokenizer(lang=self.language), sacremoses.MosesDetokenizer(lang=self.language)

    def fit(self, lines: Iterable[str], seed: int, reserved: Sequence[str] = ()) -> None:
        """Keep all symbols of the lines."""
        if self.codes is None:
            raise InsufficientCorpusError("tokenizer: subword_codes requires a file; set codes: FILE")
        try:
            self.load_codes(Path(self.codes).read_text("utf-8"))
        except OSError as error:
            raise UserError(f"{self.codes}: cannot read ({error.strerror or error})") from error
        except ValueError as error:
            raise UserError(f"{self.codes}: {error}") from error
        self.learn(lines, None, 1, reserved)

    def load_codes(self, codes: str) -> None:
        """Take the contents of a file. ValueError for anything else; UserError if a library is missing."""
        self._codes, self._merges = codes, Merges(codes)
        self._segments.clear()
        if self.language is not None:
            assert self._moses  # at once, not with the first text

    def set_inventory(self, symbols: Sequence[str]) -> None:
        super().set_inventory(symbols)
        self._vocabulary = frozenset(symbols)
        self._segments.clear()

    def _segment(self, word: str) -> list[str]:
        """The symbols of a word, most of which are in the cache."""
        if word not in self._segments:
            if len(self._segments) == CACHED:
                self._segments.clear()
            vocabulary = self._vocabulary if self.split_unknown and self._vocabulary else None
            self._segments[word] = self._merges.segment(word, vocabulary)
        return self._segments[word]

    def encode(self, text: str, sample: int | None = None) -> list[str]:
        if self.language is None:
            words = text.split(" ")
        else:
            tokenizer, _ = self._moses
            words = tokenizer.tokenize(text, aggressive_dash_splits=self.split_dashes, escape=self.escape)
        return [symbol for word in words if word for symbol in self._segment(word)]

    def surfaces(self, symbols: Sequence[str]) -> list[str]:
        words: list[list[Letter]] = [[]]
        for number, symbol in enumerate(symbols):
            words[-1] += [(letter, number) for letter in symbol.removesuffix(SEPARATOR)]
            if not symbol.endswith(SEPARATOR):
                words.append([])
        words = [word for word in words if word]
        spelled = ["".join(letter for letter, _ in word) for word in words]
        if self.language is None:
            return _place(" ".join(spelled), words, len(symbols))
        _, detokenizer = self._moses
        text = detokenizer.detokenize(spelled, unescape=self.escape)
        return _place(text, [self._spell(word) for word in words], len(symbols))

    def _spell(self, word: list[Letter]) -> list[Letter]:
        """The letters of a word as the detokenizer writes them. What stands for one character is its first symbol's."""
        spelled = "".join(letter for letter, _ in word)
        if spelled == DASH:
            return [("-", word[0][1])]
        for match in reversed([*_ESCAPED.finditer(spelled)] if self.escape else []):
            word = [*word[: match.start()], (unescape(match[0]), word[match.start()][1]), *word[match.end() :]]
        return word

    def learned(self) -> bytes:
        return (json.dumps({"symbols": self.inventory, "codes": self._codes}, ensure_ascii=False) + "\n").encode()

    def restore(self, learned: bytes) -> None:
        contents = json.loads(learned)
        symbols, codes = (contents.get(name) if isinstance(contents, dict) else None for name in ("symbols", "codes"))
        if not isinstance(codes, str) or not isinstance(symbols, list):
            raise ValueError("expected symbols and codes")
        if not all(isinstance(symbol, str) for symbol in symbols):
            raise ValueError("expected a list of symbols")
        self.load_codes(codes)
        self.set_inventory(symbols)


def _place(text: str, words: Sequence[Sequence[Letter]], count: int) -> list[str]:
    """The part of a text that each of `count` symbols spells, with the spaces before it. Where a rule of the
    detokenizer changes letters, there is a space between all words instead.
    """
    letters = [letter for word in words for letter in word]
    surfaces, place, gap = [""] * count, 0, ""
    for character in text:
        if place < len(letters) and letters[place][0] == character:
            surfaces[letters[place][1]] += gap + character
            place, gap = place + 1, ""
        else:
            gap += character
            if not character.isspace():
                break
    if gap.strip() or place < len(letters):
        return _place(" ".join("".join(letter for letter, _ in word) for word in words), words, count)
    return surfaces


class Merges:
    """The merges of a file of codes. In version 0.1, the end of a word is a symbol of its own."""

    def __init__(self, codes: str) -> None:
        first, *lines = codes.rstrip("\n").split("\n")
        version = VERSION.fullmatch(first.strip())
        if version is None and first.startswith("#version"):
            raise ValueError(f"expected codes of version 0.1 or 0.2, found {first[:40]!r}")
        self.ends_apart = version is None or version[1] == "1"
        self.ranks: dict[tuple[str, str], int] = {}
        for place, line in enumerate(lines if version else [first, *lines] if codes else [], start=1 + bool(version)):
            pair = line.strip("\r ").split(" ")
            if len(pair) != 2 or not all(pair):
                raise ValueError(f"line {place}: expected two pieces to merge, found {line[:40]!r}")
            self.ranks.setdefault((pair[0], pair[1]), place)
        self.origins: dict[str, tuple[str, str]] = {}
        for first, second in self.ranks:
            self.origins.setdefault(first + second, (first, second))

    def segment(self, word: str, vocabulary: Container[str] | None = None) -> list[str]:
        """The symbols of a word. Those that are not of the vocabulary are split again, if there is one."""
        if len(word) == 1:
            return [word]
        pieces = [*word, END] if self.ends_apart else [*word[:-1], word[-1] + END]
        while pairs := [pair for pair in pairwise(pieces) if pair in self.ranks]:
            pieces = _merge(pieces, min(pairs, key=self.ranks.__getitem__))
        last = pieces[-1].removesuffix(END)
        *pieces, last = [*pieces[:-1], last] if last else pieces[:-1]
        if vocabulary is None:
            return [*(piece + SEPARATOR for piece in pieces), last]
        within = (symbol for piece in pieces for symbol in self._split(piece, vocabulary, is_last=False))
        return [*within, *self._split(last, vocabulary, is_last=True)]

    def _split(self, piece: str, vocabulary: Container[str], *, is_last: bool) -> Iterator[str]:
        """The symbols of the vocabulary that spell a piece, as far as merges have parts."""
        symbol, pair = (piece, self.origins.get(piece + END)) if is_last else (piece + SEPARATOR, None)
        if pair is None or pair[1] == END:
            pair = self.origins.get(piece) if self.ends_apart or not is_last else None
        if symbol in vocabulary or pair is None:
            yield symbol
            return
        yield from self._split(pair[0], vocabulary, is_last=False)
        yield from self._split(pair[1].removesuffix(END) if is_last else pair[1], vocabulary, is_last=is_last)


def _merge(pieces: Sequence[str], pair: tuple[str, str]) -> list[str]:
    """The pieces with a pair as one piece wherever it occurs, from left to right."""
    merged: list[str] = []
    joins = False
    for piece in pieces:
        joins = not joins and bool(merged) and (merged[-1], piece) == pair
        if joins:
            merged[-1] += piece
        else:
            merged.append(piece)
    return merged
