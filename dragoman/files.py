"""Reading lines and writing files so that neither a damaged input nor a killed process goes unnoticed."""

import codecs
import gzip
import io
import os
import re
import secrets
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal, cast

from dragoman.errors import UserError

try:
    import fcntl
except ImportError:  # Windows: nothing hinders a second process there
    fcntl = None  # type: ignore[assignment]

LONGEST_NAME = 200  # bytes of the target's name kept in those beside it: file systems stop at 255

CHUNK = 65_536  # bytes asked for at a time

LONGEST_TEXT = 50_000  # characters of a text that a model is given; time and memory grow with what it has to cut


@contextmanager
def write_atomically(path: str | Path, mode: Literal["w", "wb"] = "w") -> Iterator[IO[Any]]:
    """A file to write to that appears under its name only when the block ends without an exception.

    Text is UTF-8 with newline as the only line end. The bytes are on the disk before the name changes, so
    that a process killed at any moment leaves either the old file or the new one. The folder is made if
    missing. A device or a pipe is written to as it is, and a symbolic link stays one. Raises UserError when the
    system refuses (disk full, no permission); what else the block opens or writes raises as it does without.
    """
    target = Path(path)
    if is_special(path):  # /dev/full: no file to take the place of
        with _opened(target, mode, "w", path) as file:
            yield file
        return
    with _refusals(path):
        target = Path(os.path.realpath(path))
        target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{_cut(target.name)}.{secrets.token_hex(4)}.part")
    try:
        with _opened(temporary, mode, "x", path) as file:
            yield file
            with _refusals(path):
                file.flush()
                os.fsync(file.fileno())
        _replace(target, temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def write_in_parts(path: str | Path, keep: int = 0) -> Iterator[IO[Any]]:
    """A text file to write to, as by `write_atomically`; but what was written stays in `partial(path)` where the block
    ends with an exception, or the process is killed.

    Writing continues after the first `keep` lines that are there. UserError where another process writes there.
    """
    if is_special(path):
        with write_atomically(path) as file:
            yield file
        return
    target, part = Path(os.path.realpath(path)), partial(path)
    with held(part):
        with appended(part, keep) as file:
            yield file
            with _refusals(path):
                file.flush()
                os.fsync(file.fileno())
        _replace(target, part, path)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """A plain file, made if missing, locked for this process. It is removed where the block fails and it is empty.
    UserError where it is something else, or another process has locked it.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise UserError(f"{path}: cannot write (is no plain file)")
    with _lock(path, os.O_RDWR | os.O_CREAT, f"{path}: another process writes there"):
        try:
            yield
        except BaseException:
            with suppress(OSError):
                if not path.stat().st_size:
                    path.unlink()
            raise


def appended(path: Path, keep: int) -> io.TextIOWrapper:
    """A text file to write to after its first `keep` lines. UserError where it has not so many (any more)."""
    with _refusals(path):
        count, size = _whole_lines(path, keep) if keep else (0, 0)
        if count < keep:
            raise UserError(f"{path}: another process has written there")
        if path.exists():
            os.truncate(path, size)
    return cast(io.TextIOWrapper, _opened(path, "w", "a", path))


def partial(path: str | Path) -> Path:
    """Where the lines of an unfinished file are: beside it, or beside what a symbolic link stands for."""
    target = Path(os.path.realpath(path) if os.path.islink(path) else path)
    return target.with_name(f"{_cut(target.name)}.partial")


def note(path: str | Path) -> Path:
    """Where it is noted what the lines of an unfinished file were made from."""
    part = partial(path)
    return part.with_name(f"{part.name}.note")


def all_written(path: Path | None) -> list[Path]:
    """A file that is written in parts, and those beside it that this takes."""
    if path is None or str(path) == "-" or is_special(path):
        return [] if path is None else [path]
    return [path, partial(path), note(path)]


def _cut(name: str) -> str:
    """A file's name, so short that something can be added."""
    return os.fsdecode(os.fsencode(name)[:LONGEST_NAME])


def lines_in(path: Path) -> int:
    """The number of lines in a file; what stands after the last newline is none."""
    return _whole_lines(path, None)[0]


def is_special(path: str | Path) -> bool:
    """Whether it is a device or a pipe, which is written to as it is."""
    target = Path(path)
    with _refusals(path):
        return target.exists() and not target.is_file() and not target.is_dir()


def _whole_lines(path: Path, most: int | None) -> tuple[int, int]:
    """How many whole lines a file has, at most so many, and of how many bytes they are."""
    count = size = 0
    with path.open("rb") as file:
        for line in islice(file, most):
            if line.endswith(b"\n"):
                count, size = count + 1, size + len(line)
    return count, size


def _replace(target: Path, written: Path, name: str | Path) -> None:
    """What was written takes the place of the target, with its permissions."""
    with _refusals(name):
        with suppress(FileNotFoundError):
            written.chmod(target.stat().st_mode & 0o777)
        written.replace(target)


@contextmanager
def _refusals(name: str | Path) -> Iterator[None]:
    """The system's refusals as one line with the name that the user gave the file."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{name}: cannot write ({error.strerror or error})") from error


@contextmanager
def alone(folder: str | Path, busy: str) -> Iterator[None]:
    """The folder, made if missing, locked for this process; UserError `busy` where another one has locked it.

    However the process ends, the folder is free again. Other machines that share the disk may not see it, and on
    Windows nobody does.
    """
    with _refusals(folder):
        Path(folder).mkdir(parents=True, exist_ok=True)
    with _lock(Path(folder), os.O_RDONLY, busy):
        yield


@contextmanager
def _lock(path: Path, flags: int, busy: str) -> Iterator[None]:
    """What is opened there, locked; UserError `busy` where another process has done so."""
    with _refusals(path):
        handle = None if fcntl is None else os.open(path, flags, 0o666)
    if handle is None:
        yield
        return
    try:
        _locked(handle, path, busy)
        yield
    finally:
        os.close(handle)


def _locked(handle: int, path: Path, busy: str) -> None:
    """Locks what was opened there for as long as it is open. UserError `busy` where another process has done so."""
    if fcntl is None:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        raise UserError(busy) from None
    except OSError:  # a file system without locks
        pass
    if not path.exists() or not os.path.samestat(os.fstat(handle), os.stat(path)):
        raise UserError(busy)  # which has just removed it


class _Bytes(io.FileIO):
    """What reaches the file, whoever wrote it and whenever a buffer is full: here its own errors can be told."""

    def __init__(self, path: Path, how: Literal["w", "x", "a"], name: str | Path) -> None:
        with _refusals(name):
            super().__init__(path, how)
        self._given = name

    def write(self, data: Any) -> int:
        with _refusals(self._given):
            return super().write(data)


def _opened(
    path: Path, mode: Literal["w", "wb"], how: Literal["w", "x", "a"], name: str | Path
) -> io.TextIOWrapper | io.BufferedWriter:
    file: io.BufferedWriter = io.BufferedWriter(_Bytes(path, how, name))
    return io.TextIOWrapper(file, encoding="utf-8", newline="\n") if mode == "w" else file


def read_lines(path: str | Path, most: int | None = None) -> Iterator[str]:
    """The lines of a UTF-8 file without their ends; `-` is standard input, `.gz` is unpacked on the way, and where the
    file is missing and `FILE.gz` is there, that is read.

    Only the newline ends a line (U+2028, U+0085, form feed and a lone carriage return are text); one carriage
    return before it is dropped, and so is a byte order mark at the start of the file. Of a line with more than `most`
    characters come the first `most` + 1, so that whoever reads can tell; the rest is never held in memory. Raises
    UserError for a missing or unreadable file, a folder, a damaged or truncated .gz, and text in another encoding (with
    line, byte and column, in bytes).
    """
    name, size = shown(path), -1 if most is None else _bytes_of(most + 1)
    with _readable(name), _open(path) as file:
        for number, line in enumerate(iter(lambda: file.readline(size), b""), start=1):
            whole = len(line) != size or line.endswith(b"\n")
            yield _decode(line, name, number, ends=True, whole=whole)[: None if most is None else most + 1]
            while not whole:
                rest = file.readline(CHUNK)
                whole = not rest or rest.endswith(b"\n")


def read_words(path: str | Path) -> Iterator[str]:
    """The same text as words between spaces or tabs, each as soon as what ends it is there, and a newline behind those
    of each line; of a line with more than LONGEST_TEXT characters, so many at least.
    """
    name, size = shown(path), _bytes_of(LONGEST_TEXT + 1)
    rest, number, column = b"", 1, 0
    with _readable(name), _open(path) as file:
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


def _word(word: bytes, name: str, number: int, column: int, size: int, *, ends: bool) -> str:
    """A word of a line, of which so many bytes are read; `ends`: it is the last of the line."""
    left = max(0, size - column)
    return _decode(word[:left], name, number, column, ends=ends, whole=len(word) <= left)


def _bytes_of(characters: int) -> int:
    """How many bytes have at least so many characters, and perhaps a part of another one."""
    return 4 * characters + 3


def shown(path: str | Path) -> str:
    """What the file is called that is read under this name."""
    return "<stdin>" if str(path) == "-" else str(existing(path))


def existing(path: str | Path) -> Path:
    """The file of this name or, where there is none, the packed one beside it (`NAME.gz`) if there is one."""
    packed = f"{path}.gz"
    return Path(packed if not os.path.lexists(path) and os.path.isfile(packed) else path)


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """What hinders reading as one line."""
    try:
        yield
    except FileNotFoundError:
        raise UserError(f"{name}: no such file") from None
    except IsADirectoryError:
        raise UserError(f"{name}: is a folder, expected a file") from None
    except EOFError:
        raise UserError(f"{name}: the .gz file is truncated") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise UserError(f"{name}: not a sound .gz file ({error})") from None
    except OSError as error:
        raise UserError(f"{name}: cannot read ({error.strerror or error})") from error


@contextmanager
def _open(path: str | Path) -> Iterator[io.BufferedReader]:
    if str(path) == "-":
        yield cast(io.BufferedReader, sys.stdin.buffer)  # not ours to close
    elif (path := existing(path)).suffix == ".gz":
        with gzip.open(path, "rb") as packed:
            yield cast(io.BufferedReader, packed)
    else:
        with open(path, "rb") as plain:
            yield plain


def _decode(data: bytes, name: str, number: int, before: int = 0, *, ends: bool, whole: bool) -> str:
    """What stands in line `number` behind so many bytes; `ends`: to its end, which goes. Of what is not `whole`, a
    character that is cut at the end goes too.
    """
    try:
        text, _ = codecs.utf_8_decode(data, "strict", whole)
    except UnicodeDecodeError as error:
        where = f"byte 0x{data[error.start]:02X} at column {before + error.start + 1}"
        raise UserError(f"{name}:{number}: not UTF-8 ({where})") from None
    if number == 1 and not before:
        text = text.removeprefix("\ufeff")
    return text.removesuffix("\n").removesuffix("\r") if ends else text
