"""Files of subword-nmt's codes beside a checkpoint, and how their words were split, which the vocabulary shows."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from dragoman.configuration.components import Spec
from dragoman.errors import UserError
from dragoman.text.pipeline import TextPipeline
from dragoman.text.subword_codes import DASH, SEPARATOR, SubwordCodes

PATTERNS: Final = ("*codes*", "*.bpe")
ESCAPED: Final = re.compile("&(?:apos|quot|amp|lt|gt|#124|#91|#93);")
LANGUAGE: Final = re.compile("[a-z]{2}")
ENGLISH: Final = "en"  # whose rules Moses' scripts take for an unknown language


class CodesFolder(NamedTuple):
    """Where codes may be: in a folder, in a file of one of these names, or with one of them in its name (of a side or
    its language). Words are those of Moses' tokenizer unless they stand `between_spaces`.
    """

    path: Path
    names: tuple[str, ...]
    between_spaces: bool = False

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


def build_pipeline(
    path: Path, language: str | None, symbols: Sequence[str], options: Mapping[str, Any]
) -> TextPipeline:
    """The pipeline of texts with these codes and symbols. UserError for a file of something else."""
    moses = {
        "moses": language,
        "split_dashes": DASH in symbols,
        "escape": any(ESCAPED.search(symbol) for symbol in symbols),
    }
    spec = Spec("subword_codes", moses if language else {})
    pipeline = TextPipeline(pretokenizer="punctuation" if language else "whitespace", tokenizer=spec, **options)
    assert isinstance(pipeline.tokenizer, SubwordCodes)
    try:
        pipeline.tokenizer.load_codes(path.read_text("utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot read ({error.strerror or error})") from error
    except ValueError as error:
        raise UserError(f"{path}: {error}") from error
    pipeline.tokenizer.set_inventory(symbols)
    return pipeline


def has_subwords(symbols: Sequence[str]) -> bool:
    """Whether a vocabulary is of subword-nmt's symbols."""
    return any(symbol.endswith(SEPARATOR) and symbol != SEPARATOR for symbol in symbols)
