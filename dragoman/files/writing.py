"""Write files such that a killed process leaves no incomplete file and two processes do not write the same one."""

import io
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal, cast

from dragoman.errors import UserError

try:
    import fcntl
except ImportError:  # Windows, where files are not locked
    fcntl = None  # type: ignore[assignment]

LONGEST_NAME = 200  # bytes of the target's name used in names of files beside it: file systems allow 255


@contextmanager
def write_atomically(path: str | Path, mode: Literal["w", "wb"] = "w") -> Iterator[IO[Any]]:
    """Open a file for writing that appears under its name only if the block ends without an exception.

    Text is UTF-8 with newline as the only line end. The data is synchronized to disk before the file is renamed, so a
    process killed at any moment leaves either the old file or the new one. The folder is created if missing. A device
    or a pipe is written to directly; a symbolic link remains one. Raises UserError if this file cannot be written (disk
    full, no permission); errors of other files that the block uses are not converted.
    """
    target = Path(path)
    if is_special(path):  # such as /dev/full, which must not be replaced
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
    """Open a text file for writing, as `write_atomically` does, but keep what was written in `partial(path)` if the
    block raises an exception or the process is killed.

    Writing continues after the first `keep` lines of `partial(path)`. UserError if another process is writing there.
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
    """Lock a regular file for this process, creating it if missing. If the block raises an exception, the file is
    removed if it is empty. UserError if it is not a regular file, or another process has locked it.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise UserError(f"{path}: cannot write (not a regular file)")
    with _lock(path, os.O_RDWR | os.O_CREAT, f"{path}: another process is writing it"):
        try:
            yield
        except BaseException:
            with suppress(OSError):
                if not path.stat().st_size:
                    path.unlink()
            raise


def appended(path: Path, keep: int) -> io.TextIOWrapper:
    """Open a text file for writing after its first `keep` lines. UserError if it has fewer lines."""
    with _refusals(path):
        count, size = _whole_lines(path, keep) if keep else (0, 0)
        if count < keep:
            raise UserError(f"{path}: another process has written it")
        if path.exists():
            os.truncate(path, size)
    return cast(io.TextIOWrapper, _opened(path, "w", "a", path))


def partial(path: str | Path) -> Path:
    """The path of the lines of an unfinished file: beside it, or beside the target of a symbolic link."""
    target = Path(os.path.realpath(path) if os.path.islink(path) else path)
    return target.with_name(f"{_cut(target.name)}.partial")


def note(path: str | Path) -> Path:
    """The path of the note that says what the lines of an unfinished file were made from."""
    part = partial(path)
    return part.with_name(f"{part.name}.note")


def all_written(path: Path | None) -> list[Path]:
    """The files that writing a file in parts touches: itself, the partial file and its note."""
    if path is None or str(path) == "-" or is_special(path):
        return [] if path is None else [path]
    return [path, partial(path), note(path)]


def _cut(name: str) -> str:
    """A file's name, truncated so that a suffix can be added."""
    return os.fsdecode(os.fsencode(name)[:LONGEST_NAME])


def lines_in(path: Path) -> int:
    """The number of lines in a file, without an incomplete last line."""
    return _whole_lines(path, None)[0]


def is_special(path: str | Path) -> bool:
    """Whether the path is a device or a pipe, which is written to directly."""
    target = Path(path)
    with _refusals(path):
        return target.exists() and not target.is_file() and not target.is_dir()


def _whole_lines(path: Path, most: int | None) -> tuple[int, int]:
    """The number of complete lines among the first `most` lines of a file (None: all), and their size in bytes."""
    count = size = 0
    with path.open("rb") as file:
        for line in islice(file, most):
            if line.endswith(b"\n"):
                count, size = count + 1, size + len(line)
    return count, size


def _replace(target: Path, written: Path, name: str | Path) -> None:
    """Replace the target by the file that was written, keeping the target's permissions."""
    with _refusals(name):
        with suppress(FileNotFoundError):
            written.chmod(target.stat().st_mode & 0o777)
        written.replace(target)


@contextmanager
def _refusals(name: str | Path) -> Iterator[None]:
    """Convert errors of writing into UserErrors with the file name that the user gave."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{name}: cannot write ({error.strerror or error})") from error


@contextmanager
def alone(folder: str | Path, busy: str) -> Iterator[None]:
    """Lock a folder for this process, creating it if missing. UserError `busy` if another process has locked it.

    The lock is released however the process ends. Other machines that share the disk may not see it, and on Windows
    there is none.
    """
    with _refusals(folder):
        Path(folder).mkdir(parents=True, exist_ok=True)
    with _lock(Path(folder), os.O_RDONLY, busy):
        yield


@contextmanager
def _lock(path: Path, flags: int, busy: str) -> Iterator[None]:
    """Open and lock a path inside the block. UserError `busy` if another process has locked it."""
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
    """Lock an open file or folder until it is closed. UserError `busy` if another process has locked it."""
    if fcntl is None:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        raise UserError(busy) from None
    except OSError:  # a file system without locks
        pass
    if not path.exists() or not os.path.samestat(os.fstat(handle), os.stat(path)):
        raise UserError(busy)  # the other process has just removed it


class _Bytes(io.FileIO):
    """The unbuffered file below the buffers. Every write to the file ends here, so errors that this file has caused can
    be distinguished from others.
    """

    def __init__(self, path: Path, how: Literal["w", "x", "a"], name: str | Path) -> None:
        with _refusals(name):
            super().__init__(path, how)
        self._shown_name = name

    def write(self, data: Any) -> int:
        with _refusals(self._shown_name):
            return super().write(data)


def _opened(
    path: Path, mode: Literal["w", "wb"], how: Literal["w", "x", "a"], name: str | Path
) -> io.TextIOWrapper | io.BufferedWriter:
    file: io.BufferedWriter = io.BufferedWriter(_Bytes(path, how, name))
    return io.TextIOWrapper(file, encoding="utf-8", newline="\n") if mode == "w" else file
