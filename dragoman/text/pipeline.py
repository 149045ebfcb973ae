"""From written text to symbols and back, for one language."""

import json
from collections.abc import Sequence
from copy import copy
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from dragoman.configuration.components import Spec, build, complete, plain
from dragoman.errors import UserError
from dragoman.files.reading import read_lines
from dragoman.files.writing import write_atomically
from dragoman.text.mark import Mark, Symbol
from dragoman.text.normalizer import Normalizer
from dragoman.text.pretokenizer import PRETOKENIZERS, Span, divide_spaceless, punctuation
from dragoman.text.tokenizer import UNKNOWN, Tokenizer
from dragoman.text.words import TOKENIZERS

Side: TypeAlias = str  # target, source, or source.NAME of several
PADDING: Final = Mark("<pad>")
LONGEST_PADDED: Final = 1000


class WordsOf(NamedTuple):
    """The words that symbols spell, the index of each symbol's word, and where the words stand in the text."""

    words: list[str]
    word_of: list[int]
    spans: list[Span]


class TextPipeline:
    """The normalizer, pretokenizer and tokenizer of text of one language.

    `prefix` and `suffix` are names of symbols that a model reads before and after each source text. A shorter source is
    followed by `<pad>` up to `padded_length` symbols, which the model reads like others; a longer one stays as it is.
    """

    def __init__(
        self,
        *,
        lowercase: bool,
        pretokenizer: str,
        tokenizer: Spec,
        prefix: Sequence[str] = (),
        suffix: Sequence[str] = (),
        padded_length: int | None = None,
    ) -> None:
        tokenizer = complete(TOKENIZERS, tokenizer)
        self.spec: dict[str, Any] = {
            "lowercase": lowercase,
            "pretokenizer": pretokenizer,
            "tokenizer": plain(tokenizer),
        }
        self.spec |= {name: list(symbols) for name, symbols in (("prefix", prefix), ("suffix", suffix)) if symbols}
        self.prefix, self.suffix = (tuple(map(Mark, symbols)) for symbols in (prefix, suffix))
        self.padded_length = padded_length or 0
        if padded_length:
            self.spec["padded_length"] = padded_length
        self.normalize = Normalizer(lowercase=lowercase)
        self.tokenize = PRETOKENIZERS[pretokenizer]
        self.tokenizer: Tokenizer = build(TOKENIZERS, tokenizer, self.tokenize)

    def encode(self, text: str, sample: int | None = None) -> list[str]:
        """The symbols of a text as the user wrote it; `sample` seeds the sentence's subword dropout, None = none."""
        return self.tokenizer.encode(self.normalize(text), sample)

    @property
    def frame(self) -> tuple[Mark, ...]:
        """The symbols around texts."""
        return (*self.prefix, *self.suffix, *([PADDING] if self.padded_length else []))

    def with_prefix(self, prefix: Sequence[str]) -> "TextPipeline":
        """The same pipeline with another prefix."""
        pipeline = copy(self)
        pipeline.prefix = tuple(map(Mark, prefix))
        pipeline.spec = {**self.spec, "prefix": list(prefix)}
        return pipeline

    def framed(self, symbols: Sequence[Symbol]) -> list[Symbol]:
        """The symbols of a source between its prefix and its suffix, padded."""
        framed = [*self.prefix, *symbols, *self.suffix]
        return framed + [PADDING] * (self.padded_length - len(framed))

    def elided(self, text: str) -> list[str] | None:
        """The symbols of the beginning of a text if the apostrophe at its end is that of an elided word (`l'`), as it
        would be before a letter; None if it ends in no such word.
        """
        if not text.endswith(("'", "\u2019")):
            return None
        symbols, (*elided, _) = self.encode(text), self.encode(f"{text}a")
        return elided if len(elided) < len(symbols) and self.decode(elided) == self.decode(symbols) else None

    def decode(self, symbols: Sequence[str]) -> str:
        """The text that the symbols (without padding, begin and end) spell; `<unk>` is written as is."""
        return self.tokenizer.decode(symbols)

    def words(self, symbols: Sequence[str], *, divided: bool = True) -> WordsOf:
        """Group symbols by the words of the text that they spell. In scripts without spaces, where the pretokenizer
        knows no words, a word is a symbol if they are to be `divided`; it is what stands between marks of punctuation
        or spaces otherwise, and always with the pretokenizer `whitespace`, whose users have parted words.

        A symbol that overlaps several words belongs to the one with which it shares most characters, the first if there
        are several; a symbol of spaces to the next word (or the last, if none follows); any further byte of a character
        to that character's word. `<unk>` counts as letters. A text without words counts as one word.
        """
        surfaces = self.tokenizer.surfaces(symbols)
        text = "".join(surfaces)
        letters = [s.replace(UNKNOWN, "u" * len(UNKNOWN)) if UNKNOWN in s else s for s in surfaces]
        spans = self.tokenize("".join(letters)) or [(0, len(text))]
        if divided and self.tokenize is punctuation:
            spans = divide_spaceless(text, spans, accumulate(map(len, surfaces)))
        word_of: list[int] = []
        begin = first = 0
        for surface in surfaces:
            end = begin + len(surface)
            while first + 1 < len(spans) and spans[first][1] <= begin:
                first += 1
            word_of.append(_largest_share(spans, first, begin, end) if surface or not word_of else word_of[-1])
            begin = end
        spans = spans if symbols else []
        return WordsOf([text[left:right] for left, right in spans], word_of, spans)

    def save(self, folder: Path, name: Side) -> None:
        """Write the options to `NAME.json` and what the tokenizer has learned to `NAME.tokenizer`."""
        self.tokenizer.save(folder / f"{name}.tokenizer")
        with write_atomically(folder / f"{name}.json") as file:
            file.write(json.dumps(self.spec, indent=2, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, folder: Path, name: Side) -> "TextPipeline":
        """Read what `save` wrote. UserError if a file is missing or damaged."""
        path = folder / f"{name}.json"
        try:
            spec = json.loads("\n".join(read_lines(path)))
            pipeline = cls(
                lowercase=spec["lowercase"],
                pretokenizer=spec["pretokenizer"],
                tokenizer=Spec.parse(spec["tokenizer"]),
                prefix=_names(spec.get("prefix", [])),
                suffix=_names(spec.get("suffix", [])),
                padded_length=_length(spec.get("padded_length")),
            )
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise UserError(f"{path}: not the description of a text pipeline ({error})") from error
        pipeline.tokenizer.load(folder / f"{name}.tokenizer")
        return pipeline


def _names(symbols: Any) -> list[str]:
    if not isinstance(symbols, list) or not all(isinstance(symbol, str) for symbol in symbols):
        raise TypeError("prefix and suffix: expected lists of symbols")
    return symbols


def _length(value: Any) -> int | None:
    if value is not None and (type(value) is not int or not 1 <= value <= LONGEST_PADDED):
        raise TypeError(f"padded_length: expected a number from 1 to {LONGEST_PADDED}")
    return value


def _largest_share(spans: list[Span], first: int, begin: int, end: int) -> int:
    """The index, from `first` on, of the span that overlaps [begin, end) most; `first` if none does."""
    best, most = first, 0
    for index in range(first, len(spans)):
        left, right = spans[index]
        if left >= end:
            break
        share = min(end, right) - max(begin, left)
        if share > most:
            best, most = index, share
    return best
