"""Vocabularies of other programs as ours: text pipelines, and the order of rows in tables of symbols."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from dragoman.configuration.components import Spec
from dragoman.data.vocabulary import BOS, EOS, PAD, SPECIALS, UNK
from dragoman.errors import UserError
from dragoman.interop.foreign_model import Array, ForeignModel, Side
from dragoman.interop.subword_files import Segmentation
from dragoman.interop.vocabulary_files import ForeignVocabulary
from dragoman.text.pipeline import TextPipeline
from dragoman.text.sentencepiece_model import SentencePiece
from dragoman.text.tokenizer import SPACE, ListTokenizer

NEVER: Final = -1e4  # the logit of a symbol that the other program does not write: its probability is 0


class RowOrder:
    """Arranges the rows of a table by our vocabulary: the specials, then the symbols in the order of their ids.

    `size` is the number of rows, which may be larger than the vocabulary. Symbols that are `left_out` have no row of
    ours. Our symbols that the other program does not have, such as `<pad>` and `<s>`, get zeros.
    """

    def __init__(self, vocabulary: ForeignVocabulary, size: int, left_out: Sequence[str] = ()) -> None:
        optional = {PAD: vocabulary.padding, BOS: vocabulary.begin, EOS: vocabulary.end}
        self.specials = {UNK: vocabulary.unknown}
        self.specials |= {ours: theirs for ours, theirs in optional.items() if theirs is not None}
        left = {*self.specials.values(), *(vocabulary.symbols.index(s) for s in left_out if s in vocabulary.symbols)}
        self.numbers = [number for number in range(size) if number not in left]
        self.own_ids = np.full(size, PAD, np.int64)  # by the ids of the other program; PAD for what is left out
        self.own_ids[list(self.specials.values())] = list(self.specials)
        self.own_ids[self.numbers] = np.arange(len(self.numbers)) + len(SPECIALS)

    def __call__(self, table: Array) -> Array:
        arranged = np.zeros((len(SPECIALS) + len(self.numbers), *table.shape[1:]), table.dtype)
        for ours, theirs in self.specials.items():
            arranged[ours] = table[theirs]
        arranged[len(SPECIALS) :] = table[self.numbers]
        return arranged

    def bias(self, bias: Array) -> Array:
        """The bias of an output layer, with NEVER for symbols that the other program does not have."""
        arranged = self(bias)
        arranged[[number for number in range(len(SPECIALS)) if number not in self.specials]] = NEVER
        return arranged


def build_side(
    vocabulary: ForeignVocabulary,
    size: int,
    segmenter: Path,
    left_out: Sequence[str] = (),
    *,
    tokenizer: str = "word",
    prefix: Sequence[str] = (),
    suffix: Sequence[str] = (),
    padded_length: int | None = None,
    lowercase: bool = False,
    segmentation: Segmentation | None = None,
) -> tuple[Side, RowOrder]:
    """The text of one side, between `prefix` and `suffix`, and the order of its rows. `size` is the number of symbols
    of the model, which may have more than the vocabulary; `segmenter` is the sentencepiece model of a vocabulary of
    another format; other symbols are of the `segmentation`, if there is one, or of `tokenizer`: word or character.
    """
    if len(vocabulary.symbols) > size:
        raise UserError(
            f"{vocabulary.path}: expected at most {size:,} symbols, as the model has, found {len(vocabulary.symbols):,}"
        )
    order = RowOrder(vocabulary, size, left_out)
    count = len(vocabulary.symbols)
    symbols = [vocabulary.symbols[n] if n < count else f"<unused {n}>" for n in order.numbers]
    options: dict[str, Any] = {
        "prefix": prefix,
        "suffix": suffix,
        "padded_length": padded_length,
        "lowercase": lowercase,
    }
    model, files = vocabulary.model, tuple[Path, ...]()
    if tokenizer == "word" and model is None and any(SPACE in symbol for symbol in symbols):
        if not segmenter.is_file():
            raise UserError(f"{vocabulary.path}: has pieces of sentencepiece: expected {segmenter}, found no such file")
        model, files = segmenter.read_bytes(), (segmenter,)
    subwords = segmentation.build(symbols, options) if segmentation and model is None else None
    if subwords:
        pipeline, files = subwords[0], subwords[1:]
    elif model is None:
        pipeline = TextPipeline(pretokenizer="whitespace", tokenizer=Spec(tokenizer), **options)
        assert isinstance(pipeline.tokenizer, ListTokenizer)
        pipeline.tokenizer.set_inventory(symbols)
    else:
        pipeline = _sentencepiece(vocabulary, model, symbols, segmenter, options)
    return Side(pipeline, tuple(symbols), files), order


def put_prefix(foreign: ForeignModel, text: str) -> ForeignModel:
    """A model that reads a text before each source, such as the name of a task (`translate English to German:`) or
    `>>fra<<`, in the place of its own; the code of a language stays before it.
    """
    pipeline, symbols = foreign.source.text, foreign.source.symbols
    # Codes spell nothing. A piece that is a space would spell nothing either at the beginning of a text.
    codes = [str(mark) for mark in pipeline.prefix if not pipeline.decode([SPACE, str(mark)])]
    pieces = [piece if piece in symbols else SPECIALS[UNK] for piece in pipeline.encode(text.strip())]
    return replace(foreign, source=replace(foreign.source, text=pipeline.with_prefix([*codes, *pieces])))


def _sentencepiece(
    vocabulary: ForeignVocabulary, model: bytes, symbols: Sequence[str], path: Path, options: Mapping[str, Any]
) -> TextPipeline:
    pipeline = TextPipeline(pretokenizer="punctuation", tokenizer=Spec("sentencepiece"), **options)
    assert isinstance(pipeline.tokenizer, SentencePiece)
    named = set(vocabulary.symbols) - vocabulary.silent
    silent = [symbol for symbol in symbols if symbol not in named]
    try:
        pipeline.tokenizer.load_model(model, symbols, silent)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from error
    return pipeline
