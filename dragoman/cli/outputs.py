"""Checks of output files: that they can be written, and that no input would be lost."""

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TypeVar

import typer

from dragoman.errors import UserError
from dragoman.files.reading import existing
from dragoman.files.writing import all_written, write_atomically
from dragoman.run.folder import RunFolder

AnyPath = TypeVar("AnyPath", bound=Path | None)


def prefix(path: AnyPath) -> AnyPath:
    """Check a prefix of files to write, which cannot be standard output. Their folder is made if missing."""
    if str(path) == "-":
        raise typer.BadParameter("expected the name of a file")
    return path


def named(path: Path) -> Path:
    """Check a file to write that cannot be standard output: its name is needed, or it is not text."""
    return prefix(writable(path) or path)


def writable(path: Path | None) -> Path | None:
    """Check a file to write before any work is done. Raises UserError if its folder does not exist, or if it is a
    folder, a loop of links or protected.
    """
    if path is not None and str(path) != "-":
        if path.is_dir():
            raise UserError(f"{path}: is a folder, expected the name of a file to write")
        folder = Path(os.path.realpath(path)).parent
        if not folder.is_dir():
            raise UserError(f"{path}: cannot write ({folder} is not a folder)")
        if os.path.islink(os.path.realpath(path)):
            raise UserError(f"{path}: cannot write ({os.strerror(errno.ELOOP)})")
        if path.exists() and not os.access(path, os.W_OK):
            raise UserError(f"{path}: cannot write ({os.strerror(errno.EACCES)})")
    return path


def check_distinct(option: str, path: Path | None, target: Path | None) -> None:
    """Raises UserError if the output of `option` to `path` and the lines to `target` would get in each other's way."""
    if str(path) == str(target or "-") == "-":
        raise UserError(f"{option} -: standard output already receives the lines; write them to a file with -o")
    if path is None:
        return
    one, other = (Path("/dev/stdout" if str(name) == "-" else name) for name in (path, target or "-"))
    taken = set(map(os.path.realpath, all_written(other)))
    if not (taken.isdisjoint(map(os.path.realpath, all_written(one))) or one.is_char_device()):
        raise UserError(f"{option} {path}: is already the output file; name another file")


def check(outputs: Iterable[tuple[str, Path | None]], read: Iterable[Path | None], runs: Iterable[Path] = ()) -> None:
    """Raises UserError if an output, named by its option, is a file that is `read` or a part of a run, or if standard
    output is appended to a file that is read, which would never end. None and `-` are the standard streams.
    """
    files = [path for path in read if path is not None]
    files += [Path(existing(path)) for path in files if str(path) != "-"]  # x.en may stand for x.en.gz
    folders = [RunFolder(path) for path in runs]
    for option, path in outputs:
        if path is None or str(path) == "-":
            continue
        for file in files:
            if _same(path, file):
                raise UserError(f"{option} {path}: is an input file and would be overwritten; name another file")
        for folder in folders:
            if folder.has_part(path):
                raise UserError(f"{option} {path}: is a part of the run {folder.path}; name another file")
    for read_file in files:
        if str(read_file) != "-" and _is_stdout(read_file):
            raise UserError(f"{read_file}: is an input file and receives standard output; write to another file")


@contextmanager
def new_files(*paths: Path) -> Iterator[list[IO[str]]]:
    """Open files to write: all of them, or none. UserError if one exists already."""
    for path in paths:
        if path.exists():
            raise UserError(f"{path}: exists already; choose another --output, or remove it")
    try:
        with ExitStack() as stack:
            yield [stack.enter_context(write_atomically(path)) for path in paths]
    except BaseException:  # half a corpus, or a page without its key, is of no use
        for path in paths:
            path.unlink(missing_ok=True)
        raise


def _same(path: Path, read: Path) -> bool:
    """Whether two paths name the same file; `-` is the file behind standard input."""
    with suppress(OSError, ValueError):
        return os.path.samestat(path.stat(), os.fstat(sys.stdin.fileno()) if str(read) == "-" else read.stat())
    return str(read) != "-" and os.path.realpath(path) == os.path.realpath(read)


def _is_stdout(path: Path) -> bool:
    with suppress(OSError, ValueError):
        status = os.fstat(sys.stdout.fileno())
        return stat.S_ISREG(status.st_mode) and os.path.samestat(status, path.stat())
    return False
