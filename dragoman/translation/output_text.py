"""Model outputs: target texts as the symbols that a model produces, and these symbols as text."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from dragoman.data.language import Language
from dragoman.data.surfaces import ExtendedVocabulary, Numbering
from dragoman.data.vocabulary import UNK
from dragoman.errors import UserError
from dragoman.files.reading import LONGEST_TEXT
from dragoman.search.hypothesis import Hypothesis
from dragoman.text.edits import apply_edits, operations
from dragoman.text.mark import Symbol
from dragoman.text.pipeline import WordsOf
from dragoman.translation.attention_matrix import SHORT
from dragoman.translation.source_inputs import LONGEST, Encoded, cut, spelled

UNKNOWN_WORD: Final = "u"  # stands for what is unknown


@dataclass(frozen=True)
class ModelOutputs:
    """The target side of a model. `edited` is the number of the source that it edits: its symbols are then operations
    on that source. `extends`: it may copy source words that are not in the target vocabulary.
    """

    target: Language
    edited: int | None = None
    extends: bool = False

    def symbols(self, encoded: list[Encoded], text: str, longest: int | None) -> list[Symbol]:
        """Return the symbols, at most `longest`, by which the model produces a target text from these sources."""
        # Cut before edits are counted: their number grows with the product of both lengths.
        symbols = self.target.text.encode(text[:LONGEST_TEXT])[:longest]
        return list(symbols) if self.edited is None else operations(spelled(encoded[self.edited]), symbols)[:longest]

    def written(
        self, encoded: list[Encoded], symbols: list[Symbol], single_spaced: int | None = None
    ) -> tuple[list[str], WordsOf]:
        """Return the symbols of the text that the model's symbols stand for; its words, and the word of each symbol of
        the model, or -1. From index `single_spaced` on, `Unit.single_spaced` applies; None: nowhere.
        """
        if self.edited is None:
            text_symbols = self.text_symbols(encoded, symbols, single_spaced)
            return text_symbols, self.target.text.words(text_symbols)
        edited_symbols = list(apply_edits(spelled(encoded[self.edited]), symbols))
        text_symbols = [symbol for symbol, _ in edited_symbols]
        words = self.target.text.words(text_symbols)
        by_operation = {number: word for (_, number), word in zip(edited_symbols, words.word_of, strict=True)}
        return text_symbols, words._replace(word_of=[by_operation.get(number, -1) for number in range(len(symbols))])

    def text_symbols(
        self, encoded: list[Encoded], symbols: list[Symbol], single_spaced: int | None = None
    ) -> list[str]:
        """Return the first result of `written` alone."""
        if self.edited is not None:
            return [symbol for symbol, _ in apply_edits(spelled(encoded[self.edited]), symbols)]
        text_symbols = list(map(str, symbols))
        if single_spaced is None:
            return text_symbols
        return self.target.text.tokenizer.single_spaced(text_symbols, single_spaced)

    def symbols_of(self, encoded: list[Encoded], hypothesis: Hypothesis) -> list[Symbol]:
        """Return the symbols of a translation of these sources; those outside the vocabulary by their spelling."""
        marked = self.named(encoded, hypothesis.symbols)
        symbols_and_surfaces = zip(marked, hypothesis.surfaces, strict=True)
        return [symbol if surface is None else surface for symbol, surface in symbols_and_surfaces]

    @staticmethod
    def unknown(hypothesis: Hypothesis, words: WordsOf) -> list[int]:
        """Return the numbers of the words in which a hypothesis has an `<unk>`."""
        steps = zip(hypothesis.symbols, hypothesis.surfaces, words.word_of, strict=True)
        return sorted({word for symbol, surface, word in steps if symbol == UNK and surface is None and word >= 0})

    def named(self, encoded: list[Encoded], ids: Sequence[int]) -> list[Symbol]:
        """Return the symbols with these numbers in a translation of these sources."""
        return self.numbering(encoded).marked(ids)

    def surfaces(self, encoded: list[Encoded], ids: Sequence[int]) -> list[str]:
        """Return what each symbol of a translation spells; UNKNOWN_WORD for `<unk>`."""
        symbols = zip(ids, self.named(encoded, ids), strict=True)
        return self.target.text.tokenizer.surfaces(
            [UNKNOWN_WORD if id_ == UNK else str(symbol) for id_, symbol in symbols]
        )

    def vocabularies(self, encoded: Iterable[Sequence[Encoded]]) -> list[ExtendedVocabulary] | None:
        """Return the target vocabulary extended by the words of each sentence, if the model asks for them."""
        return [self._extended(sources) for sources in encoded] if self.extends else None

    def prefix(self, encoded: list[Encoded], text: str, forbidden: Container[int]) -> list[int]:
        """Return the ids that a translation begins with. UserError if the model cannot produce them."""
        if not isinstance(text, str):
            raise TypeError(f"prefix: expected a text, found {type(text).__name__}")
        if self.edited is not None:
            raise UserError("prefix: not supported by runs with data.edits")
        symbols = self.encode_prefix(encoded, text)
        if len(symbols) > LONGEST:
            raise UserError(f"prefix: has {len(symbols):,} symbols, more than {LONGEST} ({SHORT.repr(text)})")
        ids = self.numbering(encoded).ids(symbols)
        for symbol, number in zip(symbols, ids, strict=True):
            if number in forbidden:
                raise UserError(
                    f"prefix: '{symbol}' of {SHORT.repr(text)} is no symbol of translations to this language"
                )
        return ids

    def encode_prefix(self, encoded: list[Encoded], text: str) -> list[str]:
        """Return the symbols of the beginning of a translation: an apostrophe at its end is that of an elided word if
        the model knows that word.
        """
        elided = self.target.text.elided(text[:LONGEST_TEXT])
        is_elided_word = elided is not None and UNK not in self.numbering(encoded).ids(elided)
        return elided if elided and is_elided_word else self.target.text.encode(text[:LONGEST_TEXT])

    def numbering(self, encoded: list[Encoded]) -> Numbering:
        """Return the numbering of the symbols of a sentence's translation, from the part of the sentence that
        is read.
        """
        # Of what is read alone, as in the batch, or the same word would have another number.
        return self._extended(cut(encoded, LONGEST)) if self.extends else self.target.vocabulary

    def _extended(self, encoded: Sequence[Encoded]) -> ExtendedVocabulary:
        return ExtendedVocabulary(self.target.vocabulary, [source for source in encoded if isinstance(source, list)])
