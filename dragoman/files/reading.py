"""Read lines, words and bytes of files such that damaged input is reported with file, line and column."""

import codecs
import gzip
import hashlib
import io
import os
import re
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from dragoman.errors import UserError

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # how a file in it begins

CHUNK = 65_536  # bytes read at a time

UNITS = (".po", ".pot", ".tmx", ".xliff", ".xlf")  # endings of files of units, which are not made of lines

LONGEST_TEXT = 50_000  # characters; a limit for the time and memory that segmenting a text takes


# How files begin that hold texts in another form.
SIGNATURES = {
    b"\xfd7zXZ\x00": "compressed with xz",
    b"(\xb5/\xfd": "compressed with zstd",
    b"BZh9": "compressed with bzip2",
    b"\x04\x22\x4d\x18": "compressed with lz4",
    b"7z\xbc\xaf'\x1c": "an archive of 7-Zip",
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "compressed with gzip (name it .gz)",
    b"%PDF-": "a PDF",
}
LONGEST_SIGNATURE = max(map(len, SIGNATURES))


def read_lines(path: str | Path, most: int | None = None) -> Iterator[str]:
    """Yield the lines of a UTF-8 file without their line ends. `-` is standard input, a `.gz` file is decompressed, and
    if the file is missing, `FILE.gz` is read instead if it exists.

    Only a newline ends a line (U+2028, U+0085, form feed and a lone carriage return are text); one carriage return
    before it is dropped, as is a byte order mark at the start of the file. A line with more than `most` characters is
    cut after `most` + 1, so that the caller can recognize it; the rest is never held in memory. Raises UserError if the
    file is missing or unreadable, a folder, a damaged or truncated .gz, not UTF-8 (with line, byte value and column in
    bytes), or has several carriage returns and no newline.
    """
    name, size = shown(path), -1 if most is None else _bytes_of(most + 1)
    with _readable(name), _open(path, text=True) as file:
        for number, line in enumerate(iter(lambda: file.readline(size), b""), start=1):
            whole = len(line) != size or line.endswith(b"\n")
            rest = iter(()) if whole else _rest_of_line(file.readline)
            if number == 1 and b"\r" in line and not line.endswith(b"\n"):
                _check_returns(line, rest, name)
            yield _decode(line, name, number, ends=True, whole=whole)[: None if most is None else most + 1]
            deque(rest, maxlen=0)


def _rest_of_line(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Read the rest of a line that was cut, one chunk at a time."""
    while chunk := read(CHUNK):
        yield chunk
        if chunk.endswith(b"\n"):
            return


def _check_returns(line: bytes, rest: Iterator[bytes], name: str) -> None:
    """Raise UserError if the first line of a file is all of it, and carriage returns end the lines in it. The rest of
    the line is read until a newline shows that a cut line has carriage returns as text.
    """
    returns = line.count(b"\r")
    for chunk in rest:
        if chunk.endswith(b"\n"):
            return
        returns += chunk.count(b"\r")
    if returns > 1:
        raise UserError(f"{name}:1: expected lines that end in newlines, found carriage returns only")


def read_sentences(path: str | Path) -> Iterator[str]:
    """Yield the lines of a text that a user names, cut after LONGEST_TEXT + 1 characters. UserError as `read_lines` and
    `check_sentences`.
    """
    check_sentences(path)
    return read_lines(path, LONGEST_TEXT)


def check_sentences(path: str | Path) -> None:
    """UserError for a file that is there, and named as one of UNITS."""
    name = shown(path)
    if name.lower().removesuffix(".gz").endswith(UNITS) and Path(name).exists():
        raise UserError(f"{name}: is not a text file with one sentence per line")


def read_words(path: str | Path) -> Iterator[str]:
    """Yield the words of a UTF-8 file (separated by spaces or tabs), each as soon as its end has been read, and a
    newline after the words of each line. A line with more than LONGEST_TEXT characters may be cut after that many.
    """
    name, size = shown(path), _bytes_of(LONGEST_TEXT + 1)
    rest, number, column = b"", 1, 0
    with _readable(name), _open(path, text=True) as file:
        while data := file.read1(CHUNK):
            *pieces, rest = re.split(rb"([ \t\n])", rest + data)
            for word, mark in zip(pieces[::2], pieces[1::2], strict=True):
                if text := _word(word, name, number, column, size, ends=mark == b"\n"):
                    yield text
                column += len(word + mark)
                if mark == b"\n":
                    yield "\n"
                    number, column = number + 1, 0
            rest = rest[: size + 1]
        if text := _word(rest, name, number, column, size, ends=True):
            yield text
        if rest or column:
            yield "\n"


def read_chunks(path: str | Path) -> Iterator[bytes]:
    """The bytes of a file, some at a time, unpacked and found as the lines are. UserError as for these."""
    with _readable(shown(path)), _open(path) as file:
        while data := file.read(CHUNK):
            yield data


def compute_sha256(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _word(word: bytes, name: str, number: int, column: int, size: int, *, ends: bool) -> str:
    """Decode a word of a line that is cut after `size` bytes. `ends`: the word is the last of the line."""
    left = max(0, size - column)
    return _decode(word[:left], name, number, column, ends=ends, whole=len(word) <= left)


def _bytes_of(characters: int) -> int:
    """A number of bytes that contains at least this many characters, perhaps followed by an incomplete one."""
    return 4 * characters + 3


def shown(path: str | Path) -> str:
    """The name, as shown to users, of the file that is read under this name."""
    return "<stdin>" if str(path) == "-" else str(existing(path))


def existing(path: str | Path) -> Path:
    """The file of this name or, if it is missing, the compressed file `NAME.gz` if that exists."""
    packed = f"{path}.gz"
    return Path(packed if not os.path.lexists(path) and os.path.isfile(packed) else path)


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """Convert errors of reading into UserErrors."""
    try:
        yield
    except FileNotFoundError:
        raise UserError(f"{name}: no such file") from None
    except IsADirectoryError:
        raise UserError(f"{name}: is a folder, expected a file") from None
    except EOFError:
        raise UserError(f"{name}: the .gz file is truncated") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise UserError(f"{name}: invalid .gz file ({error})") from None
    except OSError as error:
        raise UserError(f"{name}: cannot read ({error.strerror or error})") from error


@contextmanager
def _open(path: str | Path, *, text: bool = False) -> Iterator[io.BufferedReader]:
    if str(path) == "-":
        yield cast(io.BufferedReader, sys.stdin.buffer)  # not ours to close
    elif (path := existing(path)).suffix == ".gz":
        with gzip.open(path, "rb") as packed:
            yield cast(io.BufferedReader, packed)
    else:
        with open(path, "rb") as plain:
            if text:
                check_plain(plain.peek(LONGEST_SIGNATURE), str(path))
            yield plain


def check_plain(data: bytes, name: str) -> None:
    """Raise UserError if a file begins as archives and files compressed by other programs than gzip do."""
    kind = next((kind for signature, kind in SIGNATURES.items() if data.startswith(signature)), None)
    if kind:
        raise UserError(f"{name}: is {kind}, expected text (of compressed texts, only .gz is read)")


def _decode(data: bytes, name: str, number: int, before: int = 0, *, ends: bool, whole: bool) -> str:
    """Decode part of line `number`, which begins `before` bytes after the line's start. If it `ends` the line, the line
    end is dropped. If it is not `whole`, an incomplete character at its end is dropped.
    """
    try:
        text, _ = codecs.utf_8_decode(data, "strict", whole)
    except UnicodeDecodeError as error:
        where = f"byte 0x{data[error.start]:02X} at column {before + error.start + 1}"
        advice = "; it seems to be UTF-16, save it as UTF-8" if number == 1 and data[:2] in UTF_16 else ""
        raise UserError(f"{name}:{number}: not UTF-8 ({where}){advice}") from None
    if number == 1 and not before:
        text = text.removeprefix("\ufeff")
    return text.removesuffix("\n").removesuffix("\r") if ends else text
