"""Subwords through sentencepiece: byte pair encoding and the unigram language model."""

import io
import re
from abc import abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from functools import cached_property
from typing import ClassVar, Literal
from zlib import crc32

import numpy as np
import sentencepiece

from dragoman.configuration.values import Count, Positive, Rate
from dragoman.text.pretokenizer import Pretokenizer, punctuation
from dragoman.text.subword_sampling import LatticeSampler, MergeDropout, Sampler
from dragoman.text.tokenizer import SPACE, InsufficientCorpusError, Numbers, PieceTokenizer, escape, flat

FITTING_LINES = 1_000_000  # the inventory is learned from a sample of a longer corpus, if its lines can be counted
FITTING_CHARACTERS = 1_000  # longer lines are split for learning: sentencepiece skips lines over a limit
COVERAGES = (1.0, 0.9995, 0.995, 0.98)  # share of the corpus covered by characters with a symbol of their own
UNKNOWN_ID = 0  # sentencepiece requires one, although with bytes nothing is unknown
BYTES = 256
CACHED = 1 << 17  # words whose segmentations are kept in memory
EMPTY, END = "\r", "\n"  # an empty text, and the end of a text: "words" that no normalized text contains

_TOO_LARGE = re.compile(r"set it to a value <= (\d+)")
_TOO_SMALL = re.compile(r"smaller than required_chars\. \d+ vs (\d+)")

sentencepiece.set_min_log_level(2)


class TooManyCharactersError(InsufficientCorpusError):
    """The characters of the corpus do not fit into the inventory."""


class Subword(PieceTokenizer):
    """Pieces of words, learned from the text itself; nothing is unknown, and decoding restores every text exactly.

    Spaces are part of the symbols. A character without a symbol is spelled by its UTF-8 bytes, for which 256 symbols
    `<0x00>` to `<0xFF>` are reserved. If the inventory is too small for every character of the corpus, the rarest ones
    are spelled by bytes. The inventory has up to `vocab_size` symbols and is learned from a seeded sample of about
    1,000,000 lines.

    Sampled symbols depend on text and seed alone, not on order, threads or process.
    """

    complete = True
    kind: ClassVar[Literal["bpe", "unigram"]]

    def __init__(self, pretokenizer: Pretokenizer, vocab_size: int) -> None:
        super().__init__(pretokenizer)
        self.vocab_size = vocab_size
        self._processor = sentencepiece.SentencePieceProcessor()

    @property
    def inventory(self) -> list[str]:
        pieces: list[str] = self._processor.id_to_piece(list(range(self._processor.vocab_size())))
        return pieces[UNKNOWN_ID + 1 :]

    def fit(self, lines: Iterable[str], seed: int, reserved: Sequence[str] = ()) -> None:
        """Learn the inventory. Lines that can be counted are read again, with less coverage, if they have too many
        different characters for the inventory.
        """
        share = FITTING_LINES / max(FITTING_LINES, len(lines)) if isinstance(lines, Sized) else 1.0
        coverages = COVERAGES if isinstance(lines, Sized) else COVERAGES[:1]
        for coverage in coverages:
            try:
                model = self._trained(_chosen(lines, share, seed), coverage, reserved)
            except TooManyCharactersError:
                if coverage == coverages[-1]:
                    raise
            else:
                self.restore(model)
                return

    def _trained(self, lines: Iterable[str], coverage: float, reserved: Sequence[str]) -> bytes:
        """Learn an inventory that covers this share of the characters; returns sentencepiece's model file. The reserved
        symbols are beside the `vocab_size` others.
        """
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=_portions(lines),
                model_writer=model,
                model_type=self.kind,
                vocab_size=self.vocab_size + 1 + len(reserved),
                unk_id=UNKNOWN_ID,
                user_defined_symbols=list(reserved),
                bos_id=-1,
                eos_id=-1,
                pad_id=-1,
                normalization_rule_name="identity",
                remove_extra_whitespaces=False,
                byte_fallback=True,
                character_coverage=coverage,
                max_sentence_length=4 * FITTING_CHARACTERS,  # bytes
                num_threads=1,  # the sums of the unigram model depend on it
                minloglevel=2,
            )
        except RuntimeError as error:
            raise self._explained(str(error), 1 + len(reserved)) from error
        return model.getvalue()

    def _explained(self, message: str, beside: int) -> Exception:
        """The error with a message for users; `beside` symbols are not counted in the size."""
        largest = _TOO_LARGE.search(message)
        if largest:
            return InsufficientCorpusError(
                f"vocab_size {self.vocab_size} is larger than the corpus allows, at most {int(largest[1]) - beside}"
            )
        least = _TOO_SMALL.search(message)
        if least:
            return TooManyCharactersError(
                f"vocab_size {self.vocab_size} is too small for the {BYTES} bytes and the characters in use,"
                f" at least {int(least[1]) - beside}"
            )
        if "sentences_.empty()" in message:
            return InsufficientCorpusError("the corpus is empty, there is nothing to learn symbols from")
        return RuntimeError(message)

    def encode(self, text: str, sample: int | None = None) -> list[str]:
        if sample is None or not self.samples:
            symbols: list[str] = self._processor.encode(escape(text), out_type=str)
            return symbols
        return self._sampler(SPACE + escape(text).replace(" ", SPACE), sample) if text else []

    def numbers(self, texts: Sequence[str]) -> tuple[Numbers, Numbers]:
        return flat(self._encode_texts(list(map(escape, texts))))

    def _encode_texts(self, texts: list[str]) -> list[list[int]]:
        """The ids of the symbols of each text, computed with as many threads as torch uses."""
        import torch  # not at the top, since commands that only read text do not need it

        ids: list[list[int]] = self._processor.encode(texts, num_threads=torch.get_num_threads())
        return ids

    @cached_property
    def _sampler(self) -> Sampler:
        """The sampler of the pieces that were learned."""
        ids = [number for number in range(UNKNOWN_ID + 1, len(self._processor)) if not self._processor.is_byte(number)]
        return self.sampler({self._processor.id_to_piece(number): self._processor.get_score(number) for number in ids})

    @abstractmethod
    def sampler(self, scores: Mapping[str, float]) -> Sampler:
        """A sampler of segmentations into pieces with these scores."""

    def learned(self) -> bytes:
        model: bytes = self._processor.serialized_model_proto()
        return model

    def restore(self, learned: bytes) -> None:
        try:
            self._processor.load_from_serialized_proto(learned)
        except RuntimeError as error:
            raise ValueError("not a sentencepiece model") from error


def _chosen(lines: Iterable[str], share: float, seed: int) -> Iterator[str]:
    """A sample of about this share of the lines, which depends on their numbers and the seed."""
    if share == 1:
        return iter(lines)
    return (line for number, line in enumerate(lines) if crc32(f"{seed}:{number}".encode()) < share * 2**32)


def _portions(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        text = escape(line)
        for start in range(0, len(text), FITTING_CHARACTERS):
            yield text[start : start + FITTING_CHARACTERS]


def _packed(numbers: Sequence[int]) -> bytes:
    return array("q", numbers).tobytes()


class Bpe(Subword):
    """Byte pair encoding (Sennrich et al. 2016a): repeatedly merge the most frequent pair of symbols.

    `dropout` is the probability with which training drops a merge (Provilkov et al. 2020).
    """

    kind = "bpe"
    choosing = "dropout"

    def __init__(
        self, pretokenizer: Pretokenizer = punctuation, *, vocab_size: Count = 8000, dropout: Rate = 0.0
    ) -> None:
        super().__init__(pretokenizer, vocab_size)
        self.dropout = dropout
        self._cut: dict[str, bytes] = {}

    @property
    def samples(self) -> bool:
        return self.dropout > 0

    def numbers(self, texts: Sequence[str]) -> tuple[Numbers, Numbers]:
        """As in the base class, but word by word: no piece crosses a word boundary, and most words are in the cache."""
        words = escape(" ".join([f"{text or EMPTY} {END}" for text in texts])).split(" ") if texts else []
        new = set(words) - self._cut.keys()
        if len(self._cut) + len(new) > CACHED:
            self._cut.clear()
            new = set(words)
        self._cut |= zip(new, map(_packed, self._encode_texts(list(new))), strict=True)
        # An empty word stands for a single space; both symbols of the text " " are such a space.
        space = self._processor.encode(" ")
        self._cut |= {"": _packed(space[len(space) // 2 :]), EMPTY: b"", END: _packed([-1])}
        symbols = np.frombuffer(b"".join(map(self._cut.__getitem__, words)), np.int64)
        ends = np.flatnonzero(symbols < 0)
        return symbols[symbols >= 0], np.diff(ends, prepend=-1) - 1

    def restore(self, learned: bytes) -> None:
        super().restore(learned)
        self._cut.clear()

    def sampler(self, scores: Mapping[str, float]) -> Sampler:
        return MergeDropout(scores, self.dropout)


class Unigram(Subword):
    """The most probable segmentation under a unigram language model of pieces (Kudo 2018).

    With `alpha`, training samples segmentations in proportion to p^alpha; a smaller one gives more varied segmentations
    (Kudo uses 0.2 to 0.5).
    """

    kind = "unigram"
    choosing = "alpha"

    def __init__(
        self, pretokenizer: Pretokenizer = punctuation, *, vocab_size: Count = 8000, alpha: Positive | None = None
    ) -> None:
        super().__init__(pretokenizer, vocab_size)
        self.alpha = alpha

    @property
    def samples(self) -> bool:
        return self.alpha is not None

    def sampler(self, scores: Mapping[str, float]) -> Sampler:
        assert self.alpha is not None
        return LatticeSampler(scores, self.alpha)
