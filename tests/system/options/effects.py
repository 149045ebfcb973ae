"""What an option changes, and commands run twice to see that it does: without the option, and with it."""

import os
import pkgutil
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, chdir, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from typer.main import get_command
from typer.testing import CliRunner

from dragoman.cli import app
from dragoman.configuration import yaml_lines
from tests.system.conftest import Outcome

ENVIRONMENT = {"XDG_DATA_DIRS": "share", "COLUMNS": "200"}
DECIDE = "dragoman.threads.decide"
FOLDER = "folder"  # in which commands run
ANEW = ("serve", "corrections")  # commands after which applications, and databases in their folders, are looked at


class Call(NamedTuple):
    """A call of a function that is watched."""

    function: str
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]
    result: Any


class Done(NamedTuple):
    """A command that has ended: what it printed, the files that it wrote, by name, and the calls that were watched. The
    folder is there until the next command.
    """

    outcome: Outcome
    files: Mapping[str, bytes]
    calls: Sequence[Call]
    folder: Path

    def of(self, function: str) -> list[Call]:
        """The calls of a function, named by its end."""
        calls = [call for call in self.calls if call.function.endswith(function)]
        assert calls, f"{function} was not called: {self.outcome}"
        return calls


See = str | Callable[[Done], object]


@dataclass(frozen=True)
class Effect:
    """With `value`, a command of these `words` does something else than without, or with the value `other`. It is
    visible in what is `seen`: "out", "err", "code", "files" (their names), the name of a file, or what a function makes
    of the command. `has` is a text that is there with the value alone; `like`, the words of a command that does the
    same.
    """

    words: str
    value: str
    seen: See = "out"
    other: str = ""
    has: str = ""
    like: str = ""

    @property
    def without(self) -> str:
        return self._with(self.other)

    @property
    def with_value(self) -> str:
        return self._with(self.value)

    def _with(self, option: str) -> str:
        """The words with an option, at the place of `{}` or at the end."""
        return self.words.replace("{}", option) if "{}" in self.words else f"{self.words} {option}"


def instead(words: str, other: str, value: str, seen: See = "out", has: str = "") -> Effect:
    """The effect of another value in the place of one that is among the words."""
    assert other in words
    return Effect(words.replace(other, "{}"), value, seen, other, has)


@dataclass(frozen=True)
class Exempt:
    """Why an option has no effect to be seen here."""

    reason: str


Effects = Mapping[str, Effect | Exempt]  # of a command, by option


@dataclass(frozen=True)
class Watch:
    """A function whose calls are recorded: it is called, or another in its place."""

    function: str
    instead: Callable[..., Any] | None = None


@dataclass
class Workshop:
    """Runs commands, each in its own copy of a folder, and remembers what they did."""

    furnished: Path
    watched: Mapping[str, Sequence[Watch]]
    done: dict[tuple[str, ...], Done] = field(default_factory=dict)

    def run(self, words: str) -> Done:
        """Run a command in a fresh copy of the folder, which has always the same name."""
        folder = self.furnished.with_name(FOLDER)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.furnished, folder, symlinks=True, copy_function=_linked)
        calls = list[Call]()
        with ExitStack() as stack:
            stack.enter_context(chdir(folder))
            stack.enter_context(patch.object(yaml_lines, "read", _read_once))  # most commands do little else
            command = shlex.split(words)
            for watch in (Watch(DECIDE), *self.watched.get(command[0], ())):
                stack.enter_context(_watching(watch, calls))
            outcome = _run(command)
        return Done(outcome, dict(_written(folder, self.furnished)), calls, folder)

    def see(self, effect: Effect, words: str) -> object:
        """What is seen of a command. UserError and the like are for commands whose exit status is what is seen."""
        key = tuple(shlex.split(words))
        done = self.done.get(key) or self.run(words)
        if key[0] not in ANEW:
            self.done[key] = done
        if effect.seen != "code" and not callable(effect.seen):
            assert done.outcome.code == 0, done.outcome
        with chdir(done.folder):  # names of files are those of the command
            return view(effect.seen, done)


_read = cache(yaml_lines.read)


def _read_once(text: str, name: str) -> yaml_lines.YamlDocument:
    return deepcopy(_read(text, name))


def view(see: See, done: Done) -> object:
    """What is seen of a command."""
    match see:
        case "out" | "err" | "code":
            return getattr(done.outcome, see)
        case "files":
            return sorted(done.files)
        case str():
            assert see in done.files, done.outcome
            return done.files[see]
        case _:
            return see(done)


@cache
def _command() -> Any:
    return get_command(app)


def _run(words: Sequence[str]) -> Outcome:
    """Run a command in this process. Building all commands anew takes longer than most of them."""
    code = 0
    with CliRunner().isolation(env=ENVIRONMENT) as (out, err, _):
        try:
            _command().main(args=list(words), prog_name="dragoman")
        except SystemExit as end:
            code = int(end.code or 0)
        sys.stdout.flush()
        sys.stderr.flush()
        return Outcome(code, out.getvalue().decode(), err.getvalue().decode())


@contextmanager
def _watching(watch: Watch, calls: list[Call]) -> Iterator[None]:
    """Record the calls of a function in the place where it is looked up."""
    place, _, name = watch.function.rpartition(".")
    owner = pkgutil.resolve_name(place)
    function = getattr(owner, name)

    def recorded(*arguments: Any, **options: Any) -> Any:
        number = len(calls)
        calls.append(Call(watch.function, arguments, options, None))
        result = (watch.instead or function)(*arguments, **options)
        calls[number] = Call(watch.function, arguments, options, result)
        return result

    setattr(owner, name, recorded)
    try:
        yield
    finally:
        setattr(owner, name, function)


def _linked(source: str, target: str) -> None:
    """A file of its own only where it is changed in its place: other files are replaced as a whole."""
    if source.endswith((".sqlite", ".partial", ".note")):
        shutil.copy2(source, target)
    else:
        os.link(source, target)


def _written(folder: Path, furnished: Path) -> Iterator[tuple[str, bytes]]:
    """The files that are new in a folder, or others than before."""
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        before = furnished / name
        if path.is_file() and not (before.is_file() and before.samefile(path)):
            content = path.read_bytes()
            if not before.is_file() or before.read_bytes() != content:
                yield name, content
