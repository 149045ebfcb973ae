"""A sentencepiece model as other programs train it, with its own normalization."""

import base64
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import final

import sentencepiece

from dragoman.configuration.values import Text
from dragoman.errors import UserError
from dragoman.text.pretokenizer import Pretokenizer, punctuation
from dragoman.text.tokenizer import InsufficientCorpusError, PieceTokenizer

_LANGUAGE = re.compile(r">>[^<>\s]{1,40}<<")  # as OPUS-MT spells target languages


@final
class SentencePiece(PieceTokenizer):
    """The pieces of the sentencepiece file `model`, which is not learned but taken as it is.

    Its own normalization comes after ours. It may lose what it regards as no difference (of spaces, of width, of
    letters that NFKC makes one), and a character that it has no piece for is unknown: decoding restores what the file
    makes of a text, not the text. A text may begin with a symbol such as `>>fra<<`, which tells a multilingual model
    the target language.
    """

    learns = False

    def __init__(self, pretokenizer: Pretokenizer = punctuation, *, model: Text | None = None) -> None:
        super().__init__(pretokenizer)
        self.model = model
        self._processor = sentencepiece.SentencePieceProcessor()
        self._inventory: list[str] = []
        self._languages: set[str] = set()
        self._silent: set[str] = set()

    @property
    def inventory(self) -> list[str]:
        return list(self._inventory)

    def fit(self, lines: Iterable[str], seed: int, reserved: Sequence[str] = ()) -> None:
        if self.model is None:
            raise InsufficientCorpusError("tokenizer: sentencepiece requires a file; set model: FILE.spm")
        try:
            self.load_model(Path(self.model).read_bytes())
        except OSError as error:
            raise UserError(f"{self.model}: cannot read ({error.strerror or error})") from error
        except ValueError as error:
            raise UserError(f"{self.model}: {error}") from error

    def load_model(self, model: bytes, symbols: Sequence[str] | None = None, silent: Sequence[str] = ()) -> None:
        """Take a model with these symbols, by default its own pieces; other pieces are unknown. `silent` ones spell
        nothing, such as codes of languages. ValueError for a damaged model.
        """
        try:
            self._processor.load_from_serialized_proto(model)
        except RuntimeError as error:
            raise ValueError("not a sentencepiece model") from error
        numbers = range(self._processor.vocab_size())
        pieces = [self._processor.id_to_piece(number) for number in numbers if not self._is_special(number)]
        self._inventory = list(pieces if symbols is None else symbols)
        self._languages = {symbol for symbol in self._inventory if _LANGUAGE.fullmatch(symbol)}
        self._silent = set(silent)

    def _is_special(self, number: int) -> bool:
        """Whether a piece is `<unk>`, or a control symbol such as `</s>`."""
        special: bool = self._processor.is_unknown(number) or self._processor.is_control(number)
        return special

    def encode(self, text: str, sample: int | None = None) -> list[str]:
        language = _LANGUAGE.match(text)
        if language and language[0] in self._languages:
            return [language[0], *self.encode(text[language.end() :])]
        symbols: list[str] = self._processor.encode(text, out_type=str)
        return symbols

    def surfaces(self, symbols: Sequence[str]) -> list[str]:
        return super().surfaces(["" if symbol in self._silent else symbol for symbol in symbols])

    @property
    def serialized(self) -> bytes:
        """The file of the model."""
        model: bytes = self._processor.serialized_model_proto()
        return model

    def learned(self) -> bytes:
        model = base64.b64encode(self.serialized).decode()
        contents = {"symbols": self._inventory, "model": model}
        if self._silent:
            contents["silent"] = sorted(self._silent)
        return (json.dumps(contents, ensure_ascii=False) + "\n").encode()

    def restore(self, learned: bytes) -> None:
        try:
            contents = json.loads(learned)
            symbols, model = contents["symbols"], base64.b64decode(contents["model"], validate=True)
            silent = contents.get("silent", [])
        except (TypeError, LookupError, AttributeError) as error:
            raise ValueError("expected symbols and a model") from error
        for part in (symbols, silent):
            if not isinstance(part, list) or not all(isinstance(symbol, str) for symbol in part):
                raise ValueError("expected a list of symbols")
        self.load_model(model, symbols, silent)
