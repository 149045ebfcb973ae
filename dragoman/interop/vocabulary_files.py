"""Vocabularies of other programs: symbols by id, from YAML, JSON and lists, and sentencepiece's models."""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import sentencepiece

from dragoman.errors import UserError
from dragoman.files.reading import read_lines

MOST_SYMBOLS = 2_000_000
ENDS: Final = ("</s>", "eos", "<EOS>")  # Marian's, Nematus' old and new names
UNKNOWNS: Final = ("<unk>", "UNK", "<UNK>")
_ENTRY = re.compile(r"""(?P<symbol>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^"'?\s].*?|[?][^\s].*?)\s*:\s+(?P<id>\d+)\s*""")
_LONG_SYMBOL = re.compile(r"""[?]\s(?P<symbol>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|.+)""")
_LONG_ID = re.compile(r":\s+(?P<id>\d+)\s*")
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_ESCAPES = dict(zip("0abtnvfre N_LP", "\0\a\b\t\n\v\f\r\x1b \x85\xa0\u2028\u2029", strict=True))  # YAML 1.2, 5.7


class ForeignVocabulary(NamedTuple):
    """The symbols of a file in the order of their ids, and the ids of the end and of the unknown symbol, and of the
    padding and the start symbol if a model has probabilities for them. A source that ends without a symbol has no
    `end`. `model` are the bytes of a sentencepiece model, if the file is one. `silent` symbols spell nothing, such as
    codes of languages.
    """

    path: Path
    symbols: tuple[str, ...]
    end: int | None
    unknown: int
    model: bytes | None = None
    padding: int | None = None
    begin: int | None = None
    silent: frozenset[str] = frozenset()


def read(path: Path) -> ForeignVocabulary:
    """Read a vocabulary by its suffix: `.spm` and `.model`, `.yml`, `.yaml` and `.json`, or a symbol per line.

    UserError names file, line, and what was expected.
    """
    if path.suffix in (".spm", ".model"):
        return _read_sentencepiece(path)
    if path.suffix in (".yml", ".yaml", ".json"):
        symbols = order_symbols(path, _entries(path))
    else:
        symbols = [line.rstrip() for line in read_lines(path)]
    places = check_symbols(path, symbols)
    end = next((places[name] for name in ENDS if name in places), None)
    unknown = next((places[name] for name in UNKNOWNS if name in places), None)
    if end is None or unknown is None:
        raise UserError(f"{path}: expected the symbols {ENDS[0]} and {UNKNOWNS[0]}, found {len(symbols):,} others")
    return ForeignVocabulary(path, tuple(symbols), end, unknown)


def check_symbols(path: Path, symbols: Sequence[str]) -> dict[str, int]:
    """The ids of symbols. UserError if one comes twice."""
    places: dict[str, int] = {}
    for number, symbol in enumerate(symbols):
        if symbol in places:
            raise UserError(
                f"{path}: symbol {symbol[:40]!r}: expected once, found with ids {places[symbol]} and {number}"
            )
        places[symbol] = number
    return places


def _read_sentencepiece(path: Path) -> ForeignVocabulary:
    processor = sentencepiece.SentencePieceProcessor()
    try:
        model = path.read_bytes()
        processor.load_from_serialized_proto(model)
        symbols: list[str] = processor.id_to_piece(list(range(processor.vocab_size())))
    except OSError as error:
        raise UserError(f"{path}: cannot read ({error.strerror or error})") from error
    except (RuntimeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a sentencepiece model") from error
    if processor.eos_id() < 0:
        raise UserError(f"{path}: expected a sentencepiece model with an end symbol (--eos_id=0)")
    padding = processor.pad_id() if processor.pad_id() >= 0 else None
    return ForeignVocabulary(path, tuple(symbols), processor.eos_id(), processor.unk_id(), model, padding)


def _entries(path: Path) -> Iterable[tuple[str, int, int]]:
    """The symbols of a mapping with their ids and lines: JSON, or YAML with an entry on each line, as Marian and
    Nematus write it. It is not read as YAML: there `no` and `1e3` are values and not words.
    """
    lines = list(read_lines(path))
    if lines and lines[0].lstrip().startswith("{"):
        try:
            contents = json.loads("\n".join(lines))
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}: not readable as JSON ({error})") from error
        for symbol, number in contents.items():
            if type(number) is not int:
                raise UserError(f"{path}: symbol {symbol[:40]!r}: expected an id, found {str(number)[:40]}")
            yield symbol, number, 0
        return
    waiting: str | None = None
    for place, line in enumerate(lines, start=1):
        if waiting is not None and (long := _LONG_ID.fullmatch(line)):
            yield waiting, int(long["id"]), place
            waiting = None
        elif waiting is None and (entry := _ENTRY.fullmatch(line)):
            yield _unquoted(entry["symbol"]), int(entry["id"][:20]), place
        elif waiting is None and (long := _LONG_SYMBOL.fullmatch(line)):
            waiting = _unquoted(long["symbol"])
        elif line.strip() and line.strip() not in ("---", "...") and not line.startswith("#"):
            raise UserError(f"{path}:{place}: expected 'symbol: id', found {line[:40]!r}")


def _unquoted(symbol: str) -> str:
    """A symbol without quotation marks, and with its escapes resolved."""
    if symbol.startswith("'"):
        return symbol[1:-1].replace("''", "'")
    if symbol.startswith('"'):
        return _ESCAPE.sub(lambda match: _escaped(match[1]), symbol[1:-1])
    return symbol


def _escaped(code: str) -> str:
    return chr(min(int(code[1:], 16), 0x10FFFF)) if len(code) > 1 else _ESCAPES.get(code, code)


def order_symbols(path: Path, entries: Iterable[tuple[str, int, int]]) -> list[str]:
    """The symbols in the order of their ids, which leave no holes."""
    by_id: dict[int, str] = {}
    for symbol, number, line in entries:
        where = f"{path}:{line}" if line else str(path)
        if number in by_id:
            raise UserError(
                f"{where}: id {number}: expected once, found for {by_id[number][:40]!r} and {symbol[:40]!r}"
            )
        if not 0 <= number < MOST_SYMBOLS:
            raise UserError(f"{where}: symbol {symbol[:40]!r}: expected an id below {MOST_SYMBOLS:,}, found {number}")
        by_id[number] = symbol
    missing = next((number for number in range(len(by_id)) if number not in by_id), None)
    if missing is not None:
        raise UserError(f"{path}: id {missing}: expected a symbol, found none")
    return [by_id[number] for number in range(len(by_id))]
