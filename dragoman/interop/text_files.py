"""Vocabularies and sentencepiece models of a run, as files of other programs."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import sentencepiece

from dragoman.data.language import Language
from dragoman.errors import UserError
from dragoman.run.run import Run
from dragoman.text.sentencepiece_model import SentencePiece
from dragoman.text.words import Words

END, UNKNOWN, PADDING = "</s>", "<unk>", "<pad>"
FIRST: Final = (END, UNKNOWN)  # ids 0 and 1 of Marian's vocabularies


class TextFiles(NamedTuple):
    """The text of one side: its symbols without the specials, and its sentencepiece model if it has one."""

    symbols: tuple[str, ...]
    model: bytes | None

    @classmethod
    def of(cls, run: Run, language: Language) -> "TextFiles":
        """UserError for text that other programs segment differently."""
        text, path = language.text, run.folder.path
        if text.frame or language.vocabulary.first > len(FIRST) + 2:
            raise UserError(f"{path}: text of {language.name}: has marks around texts, which the other program has not")
        if text.spec["lowercase"]:
            raise UserError(f"{path}: text of {language.name}: is read in lower case, which the other program does not")
        symbols = language.vocabulary.symbols(range(language.vocabulary.first, len(language.vocabulary)))
        if isinstance(text.tokenizer, SentencePiece):
            return cls(tuple(symbols), text.tokenizer.serialized)
        if isinstance(text.tokenizer, Words) and text.spec["pretokenizer"] == "whitespace":
            return cls(tuple(symbols), None)
        kind = text.spec["tokenizer"]
        raise UserError(
            f"{path}: text of {language.name}: expected tokenizer sentencepiece, or word with pretokenizer whitespace, "
            f"found {kind if isinstance(kind, str) else kind['kind']} with {text.spec['pretokenizer']}"
        )

    @property
    def pieces(self) -> list[str]:
        """All pieces of the sentencepiece model, in the order of its ids."""
        processor = self.processor
        return [processor.id_to_piece(number) for number in range(processor.vocab_size())]

    @property
    def processor(self) -> sentencepiece.SentencePieceProcessor:
        return sentencepiece.SentencePieceProcessor(model_proto=self.model)

    @property
    def is_numbered_by_model(self) -> bool:
        """Whether the sentencepiece model alone tells the ids, as Marian reads it: `</s>` 0, `<unk>` 1."""
        if self.model is None or (self.processor.eos_id(), self.processor.unk_id()) != (0, 1):
            return False
        pieces = self.pieces[len(FIRST) :]
        unused = [f"<unused {number}>" for number in range(len(FIRST) + len(pieces), len(FIRST) + len(self.symbols))]
        return list(self.symbols) == [*pieces, *unused]


def write_yaml(path: Path, symbols: Sequence[str]) -> None:
    """Write a vocabulary as Marian's `.yml`, which is also JSON line by line."""
    lines = (f"{json.dumps(symbol, ensure_ascii=False)}: {number}\n" for number, symbol in enumerate(symbols))
    path.write_text("".join(lines), encoding="utf-8")
