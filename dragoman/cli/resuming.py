"""Long outputs: lines already written are kept, and the output can be continued."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from dragoman.cli.streams import whole_portions
from dragoman.errors import UserError
from dragoman.files.reading import read_lines, shown
from dragoman.files.writing import appended, held, is_special, lines_in, note, partial, write_atomically
from dragoman.version import __version__

if TYPE_CHECKING:
    from dragoman.corpus.features import Given

NOTE = "options.json"  # in a folder of parts
Options: TypeAlias = Mapping[str, Any]  # by name, as values of JSON
Texts = TypeVar("Texts", bound="tuple[Given, ...]")


def lines_done(target: Path | None, options: Options | None, size: int, *, resume: bool) -> int | None:
    """Return how many lines an unfinished command has left of this file, in whole portions of at most `size`; None if
    it is no file that can keep any, such as standard output. `options` are those that the lines depend on; None if the
    command cannot be resumed.

    Raises UserError if another process is writing such lines, or left some that this command does not continue.
    """
    if target is None or str(target) == "-" or is_special(target):
        if resume:
            raise UserError("--resume: requires an output file (-o FILE)")
        return None
    part, noted = partial(target), note(target)
    there = [path for path in (part, noted) if os.path.lexists(path)]
    for path in there:
        with held(path):
            pass
    begun = part.exists() and part.stat().st_size > 0
    different = changed_options(noted, options)
    if there and not resume:
        way = "" if options is None or (begun and different) else "continue after them with --resume, or "
        fault = f"{there[0]}: has {_counted(lines_in(there[0]))} of an interrupted command"
        raise UserError(f"{fault}; {way}remove it")
    if not begun:
        return 0
    if different:
        difference = f"{part} was written with another {', '.join(different)}"
        raise UserError(f"--resume: {difference}; use the original options, or remove it")
    return whole_portions(min(lines_in(noted) - 1, lines_in(part)), size)


def head(options: Options) -> str:
    """Return the first line of a note."""
    return json.dumps({"version of dragoman": __version__, **options})


def changed_options(noted: Path, options: Options | None) -> list[str]:
    """Return the names of the options, and of the version, that differ from the note."""
    if options is None or not noted.exists():
        return ["command"]
    try:
        then = json.loads(next(read_lines(noted), ""))
    except (ValueError, RecursionError):
        then = None
    now = json.loads(head(options))
    return [name for name in now if now[name] != then.get(name)] if isinstance(then, dict) else ["command"]


@contextmanager
def noted_folder(path: Path, options: Options, what: str) -> Iterator[None]:
    """Make a folder for the parts of an output, with a note of the options that they depend on, or go on with it.
    UserError if it is no such folder (of `what`), was made with other options, or another process writes there.
    """
    noted = path / NOTE
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as above:
            folder = Path(above) / path.name
            folder.mkdir()
            with write_atomically(folder / NOTE) as file:
                file.write(head(options) + "\n")
            folder.rename(path)
    elif not noted.is_file():
        raise UserError(f"{path}: is no folder of {what}; move it away")
    elif changed := changed_options(noted, options):
        fault = f"{path}: was written with another {', '.join(changed)}"
        raise UserError(f"{fault}; use the original options, or remove it")
    with held(noted):
        yield


@contextmanager
def noting(
    target: Path | None, done: int | None, options: Options
) -> "Iterator[Callable[[Iterable[tuple[Given, ...]]], None]]":
    """Yield a function to call with the next lines to translate, before their translations are written: it notes a
    digest of each beside the target, until all are written.
    """
    if target is None or done is None:
        yield lambda lines: None
        return
    path = note(target)
    with held(path):
        try:
            with appended(path, done + 1 if done else 0) as file:

                def add(lines: "Iterable[tuple[Given, ...]]") -> None:
                    if not file.tell():
                        file.write(head(options) + "\n")
                    file.writelines(_digest(line) + "\n" for line in lines)
                    file.flush()

                yield add
        finally:
            if not partial(target).exists():  # it is complete, or has no line
                path.unlink(missing_ok=True)


def _digest(line: "tuple[Given, ...]") -> str:
    digest = blake2b(digest_size=8)
    for part in line:
        data = str(part).encode(errors="surrogateescape") if isinstance(part, str | Path) else part.tobytes()
        digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()


def _counted(lines: int) -> str:
    return f"{lines:,} line" + "s" * (lines != 1)


@contextmanager
def left_behind(path: Path | None, *, resumable: bool) -> Iterator[None]:
    """Add to an error how many lines were written."""
    try:
        yield
    except (UserError, KeyboardInterrupt) as error:
        if path and (part := partial(path)).is_file() and (count := lines_in(part)):
            more = ", from which --resume continues" if resumable else ""
            remark = f"{_counted(count)} {'is' if count == 1 else 'are'} in {part}{more}"
            error.args = ("; ".join([*map(str, error.args), remark]),)
        raise


def done_before(lines: Iterator[Texts], count: int, source: Path, target: Path) -> Iterator[Texts]:
    """Yield the first lines. Raises UserError if they differ from those noted: something else was translated then."""
    number = 0
    for digest, line in zip(islice(read_lines(note(target)), 1, count + 1), lines, strict=False):
        number += 1
        if _digest(line) != digest:
            raise UserError(f"--resume: {shown(source)}:{number}: is not the line that {partial(target)} translates")
        yield line
    if number < count:
        raise UserError(f"--resume: {partial(target)} has {_counted(count)}, but {shown(source)} has {number:,}")
