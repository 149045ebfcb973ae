"""What a command writes takes the place of nothing that it reads."""

import os
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from dragoman.errors import UserError
from dragoman.files import existing
from dragoman.run import RunFolder


def check(outputs: Iterable[tuple[str, Path | None]], read: Iterable[Path | None], runs: Iterable[Path] = ()) -> None:
    """UserError where an output, named by its option, is a file that is `read` or a part of a run; or where standard
    output is appended to a file that is read, which would never end. None and `-` are the standard streams.
    """
    files = [path for path in read if path is not None]
    files += [Path(existing(path)) for path in files if str(path) != "-"]  # x.en may stand for x.en.gz
    folders = [RunFolder(path) for path in runs]
    for option, path in outputs:
        if path is None or str(path) == "-":
            continue
        for each in files:
            if _same(path, each):
                raise UserError(f"{option} {path}: is read, and would be replaced; name another file")
        for folder in folders:
            if folder.has_part(path):
                raise UserError(f"{option} {path}: is a part of the run {folder.path}; name another file")
    for each in files:
        if str(each) != "-" and _is_stdout(each):
            raise UserError(f"{each}: is read, and standard output goes there; write to another file")


def _same(path: Path, read: Path) -> bool:
    """Whether two paths are of one file; `-` is what standard input comes from."""
    with suppress(OSError, ValueError):
        return os.path.samestat(path.stat(), os.fstat(sys.stdin.fileno()) if str(read) == "-" else read.stat())
    return str(read) != "-" and os.path.realpath(path) == os.path.realpath(read)


def _is_stdout(path: Path) -> bool:
    with suppress(OSError, ValueError):
        found = os.fstat(sys.stdout.fileno())
        return stat.S_ISREG(found.st_mode) and os.path.samestat(found, path.stat())
    return False
