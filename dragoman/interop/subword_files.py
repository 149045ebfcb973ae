"""Files beside a checkpoint that say how words become subwords: codes of subword-nmt, and merges of bytes."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from dragoman.configuration.components import Spec
from dragoman.errors import UserError
from dragoman.text.byte_level import ByteLevelBpe, Merge, parse_merges
from dragoman.text.pipeline import TextPipeline
from dragoman.text.subword_codes import DASH, SEPARATOR, SubwordCodes

PATTERNS: Final = ("*codes*", "*.bpe")
ESCAPED: Final = re.compile("&(?:apos|quot|amp|lt|gt|#124|#91|#93);")
LANGUAGE: Final = re.compile("[a-z]{2}")
ENGLISH: Final = "en"  # whose rules Moses' scripts take for an unknown language


class Segmentation(Protocol):
    """How the texts of a vocabulary are segmented."""

    def build(self, symbols: Sequence[str], options: Mapping[str, Any]) -> tuple[TextPipeline, Path] | None:
        """The pipeline with these symbols and options, and the file that it was read from; None if there is none."""


class CodesFolder(NamedTuple):
    """Where codes may be: in a folder, in a file of one of these names, or with one of them in its name (of a side or
    its language). Words are those of Moses' tokenizer unless they stand `between_spaces`, split as the vocabulary
    shows. Symbols outside the vocabulary are split again if they are to be (`split_unknown`).
    """

    path: Path
    names: tuple[str, ...]
    between_spaces: bool = False
    split_unknown: bool = False

    def find(self) -> Path | None:
        """The file; None if there is none. UserError if there are several."""
        paths = sorted({path for pattern in PATTERNS for path in self.path.glob(pattern) if path.is_file()})
        named = [path for path in paths if {path.name, *re.split("[._-]", path.name)} & {*self.names}]
        files = named or paths
        if len(files) > 1:
            names = ", ".join(path.name for path in files)
            raise UserError(f"{self.path}: expected one file of codes for {self.names[-1]}, found {names}")
        return files[0] if files else None

    @property
    def language(self) -> str | None:
        """The language of Moses' tokenizer."""
        if self.between_spaces:
            return None
        return next((name for name in self.names if LANGUAGE.fullmatch(name)), ENGLISH)

    def build(self, symbols: Sequence[str], options: Mapping[str, Any]) -> tuple[TextPipeline, Path] | None:
        """The pipeline of texts, if the vocabulary has subwords. UserError for a file of something else."""
        path = self.find() if any(symbol.endswith(SEPARATOR) and symbol != SEPARATOR for symbol in symbols) else None
        if path is None:
            return None
        language = self.language
        escape = any(ESCAPED.search(symbol) for symbol in symbols)
        moses = {"moses": language, "split_dashes": DASH in symbols, "escape": escape} if language else {}
        moses["split_unknown"] = self.split_unknown
        pretokenizer = "punctuation" if language else "whitespace"
        pipeline = TextPipeline(pretokenizer=pretokenizer, tokenizer=Spec("subword_codes", moses), **options)
        assert isinstance(pipeline.tokenizer, SubwordCodes)
        try:
            pipeline.tokenizer.load_codes(path.read_text("utf-8"))
        except OSError as error:
            raise UserError(f"{path}: cannot read ({error.strerror or error})") from error
        except ValueError as error:
            raise UserError(f"{path}: {error}") from error
        pipeline.tokenizer.set_inventory(symbols)
        return pipeline, path


class ByteMerges(NamedTuple):
    """The merges of byte-level BPE that a file has."""

    path: Path
    merges: Sequence[Merge]

    @classmethod
    def read(cls, path: Path) -> "ByteMerges":
        """Read a `merges.txt`."""
        try:
            return cls(path, parse_merges(path.read_text("utf-8")))
        except OSError as error:
            raise UserError(f"{path}: cannot read ({error.strerror or error})") from error
        except ValueError as error:
            raise UserError(f"{path}: {error}") from error

    def build(self, symbols: Sequence[str], options: Mapping[str, Any]) -> tuple[TextPipeline, Path]:
        """The pipeline of texts. UserError for merges of pieces that no bytes make."""
        pipeline = TextPipeline(pretokenizer="punctuation", tokenizer=Spec("byte_level_bpe"), **options)
        assert isinstance(pipeline.tokenizer, ByteLevelBpe)
        try:
            pipeline.tokenizer.load_merges(self.merges, symbols)
        except ValueError as error:
            raise UserError(f"{self.path}: {error}") from error
        return pipeline, self.path
