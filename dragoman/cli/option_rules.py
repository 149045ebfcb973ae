"""Rules about the options of a command, declared beside each option: what it conflicts with, what it requires, and what
`--resume` compares.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, get_type_hints

import typer
from typer.models import ArgumentInfo, OptionInfo

from dragoman.files.reading import compute_sha256

if TYPE_CHECKING:
    from dragoman.translation.sentence import TextTransform


class Rule(ABC):
    """A rule about an option or argument, or about one `value` of it, and others: options (`--json`), values of options
    (`--by length`), arguments (`FILES`) or conditions ("several RUNs"), which are properties of all (`several_runs`).
    """

    verb: ClassVar[str]  # as in the message: `--json cannot be combined with --show`

    def __init__(self, *options: str, because: str = "", value: str = "") -> None:
        self.options = options
        self.because = because
        self.value = value

    @abstractmethod
    def is_broken(self, present: Iterable[bool]) -> bool:
        """Whether the rule is broken, given which of the other options are present."""

    def message(self, subject: str) -> str:
        *first, last = self.options
        options = f"{', '.join(first)} or {last}" if first else last
        return f"{subject} {self.verb} {options}" + (f": {self.because}" if self.because else "")


class Conflicts(Rule):
    """None of the others may be given."""

    verb = "cannot be combined with"

    def is_broken(self, present: Iterable[bool]) -> bool:
        return any(present)


class Requires(Rule):
    """One of the others has to be given."""

    verb = "requires"

    def is_broken(self, present: Iterable[bool]) -> bool:
        return not any(present)


class ResumeValue(NamedTuple):
    """The output depends on the option: `--resume` compares this value of it."""

    value: Callable[[Any], Any] = lambda value: value


class Transforms(NamedTuple):
    """The option adds a text transform: a class of a module in `dragoman.translation.transforms`, which gets the value
    of the option unless that is only true.
    """

    module: str
    name: str


class Declared(NamedTuple):
    """An option as declared: its field and what is written beside it."""

    field: str
    metadata: Sequence[Any]


@cache
def _declarations(command: Any) -> Mapping[str, Declared]:
    """Return the options of a command by their names, such as `--json`, and its arguments by theirs, such as `FILES`;
    `--no-x` is one of its own.
    """
    declarations = {}
    for field, hint in get_type_hints(command, include_extras=True).items():
        marks = getattr(hint, "__metadata__", ())
        metadata = [item for mark in marks for item in (mark if type(mark) is tuple else (mark,))]
        for option in metadata:
            if isinstance(option, OptionInfo):
                # Within Annotated, typer keeps the first name of an option as its default.
                names = option.default if isinstance(option.default, str) else f"--{field.replace('_', '-')}"
                positive, *negative = names.split("/")
                declarations[positive] = Declared(field, metadata)
                declarations |= {name: Declared(field, ()) for name in negative}
            elif isinstance(option, ArgumentInfo):
                declarations[option.metavar or field.upper()] = Declared(field, metadata)
    return declarations


def check(options: tuple[Any, ...]) -> None:
    """Raise BadParameter if the options of a command break a rule."""
    for name, (_, metadata) in _declarations(type(options)).items():
        for rule in metadata:
            if isinstance(rule, Rule):
                subject = f"{name} {rule.value}".rstrip()
                if is_given(options, subject) and rule.is_broken(is_given(options, other) for other in rule.options):
                    raise typer.BadParameter(rule.message(subject))


def is_given(options: tuple[Any, ...], text: str) -> bool:
    """Whether an option, a value of an option, or a condition is given."""
    condition = text.replace("--", "").replace("-", "_").replace(" ", "_").lower()
    command = vars(type(options))
    if isinstance(command.get(condition), property):
        return bool(getattr(options, condition))
    name, _, wanted = text.partition(" ")
    field = _declarations(type(options))[name].field
    value = getattr(options, field)
    if name.startswith("--no-"):
        return value is False
    if wanted:
        return wanted in value if isinstance(value, list) else wanted == value
    return value is not None and value is not False and value not in ([], command["_field_defaults"].get(field))


def digests(paths: Path | Iterable[Path] | None) -> list[str]:
    """Return what tells the contents of one or several files from others. Missing files are left out."""
    files = [paths] if isinstance(paths, Path) else paths or ()
    return [compute_sha256(path) for path in files if path.is_file()]


def record(options: tuple[Any, ...]) -> dict[str, Any]:
    """Return the values of the options that the output depends on, by name, for `--resume`."""
    return {
        name: mark.value(getattr(options, field))
        for name, (field, metadata) in _declarations(type(options)).items()
        for mark in metadata
        if isinstance(mark, ResumeValue)
    }


def transforms(options: tuple[Any, ...]) -> "list[TextTransform]":
    """Return the text transforms that the options of a command add."""
    added: list[TextTransform] = []
    for name, (field, metadata) in _declarations(type(options)).items():
        for mark in metadata:
            if isinstance(mark, Transforms) and is_given(options, name):
                value = getattr(options, field)
                kind = getattr(import_module(f"dragoman.translation.transforms.{mark.module}"), mark.name)
                added.append(kind() if value is True else kind(value))
    return added
