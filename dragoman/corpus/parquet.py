"""Parquet, where pyarrow is installed: a column of texts for each language."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dragoman.corpus.naming import SHOWN, Columns, two_of
from dragoman.corpus.translation_unit import TranslationUnit, cell
from dragoman.errors import UserError, missing_library

ROWS = 1_024  # that are read at a time


def read(path: str, names: Sequence[str]) -> Iterator[TranslationUnit]:
    """The rows; null is no translation. UserError where a column is not there or has no texts."""
    with _refusals(path):
        file = _opened(path)
        there = _texts(file)
        for name in names:
            if name not in there:
                what = "is no column of texts" if name in file.schema_arrow.names else "is no column"
                raise UserError(f"{path}: {name}: {what} (it has: {', '.join(n[:SHOWN] for n in there[:SHOWN])})")
        for batch in file.iter_batches(ROWS, columns=list(dict.fromkeys(names))):
            for row in zip(*(batch.column(name).to_pylist() for name in names), strict=True):
                yield TranslationUnit(tuple(cell(text or "") for text in row))


def languages(path: str, wanted: Sequence[str]) -> Columns:
    """Which columns hold the pairs."""
    with _refusals(path):
        return Columns(two_of(_texts(_opened(path)), wanted, path, "columns of texts"))


def _texts(file: Any) -> list[str]:
    """The columns of texts."""
    return [field.name for field in file.schema_arrow if str(field.type) in ("string", "large_string", "string_view")]


def _opened(path: str) -> Any:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise missing_library(error.name, "formats") from error
    if not Path(path).is_file():
        raise UserError(f"{path}: no such file")
    return ParquetFile(path)


@contextmanager
def _refusals(path: str) -> Iterator[None]:
    """What hinders reading, in one line."""
    try:
        yield
    except (OSError, ValueError, MemoryError, NotImplementedError) as error:  # pyarrow's errors are some of these
        words = str(error).partition("\n")[0]
        raise UserError(f"{path}: invalid Parquet file ({words})") from None
