"""The settings named in docs/literature.md, tried on the smallest configuration: their problems and their parts."""

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from typer.main import get_command

from dragoman.cli import app
from dragoman.configuration import sections, yaml_lines
from dragoman.configuration.config import Config
from dragoman.errors import UserError
from dragoman.training.checks import PARTS, load_config

SMALLEST = "data: {source: a, target: b, train: train, dev: dev}\n"
COMMAND = "dragoman "


def problems_of_setting(setting: str) -> Iterator[str]:
    """Yield the problems of `section.key: value; ...` or `dragoman COMMAND`; none if it can be used."""
    if setting.startswith(COMMAND):
        yield from _problems_of_command(setting)
    elif not _overrides(setting):
        yield f"'{setting}' is neither 'section.key: value' nor a command"
    else:
        try:
            _loaded(setting)
        except UserError as error:
            yield from (f"'{setting}': {line}" for line in str(error).splitlines())


def parts_of_setting(setting: str) -> Iterator[tuple[str, str]]:
    """Yield the file and the name of each part that the first key of a setting names; the other keys go with it."""
    key = next(iter(_overrides(setting)), "")
    path = tuple(key.removesuffix(".kind").split("."))
    if path in PARTS:
        with suppress(UserError):
            for spec in sections.specs(_loaded(setting), path).values():
                part = PARTS[path][spec.kind]
                yield file_of(part), part.__name__


def file_of(part: Any) -> str:
    """Return the file below dragoman/ that defines a part."""
    return f"{part.__module__.removeprefix('dragoman.').replace('.', '/')}.py"


def defined_keys(setting: str) -> Iterator[str]:
    """Yield the keys that a setting is about: its first key, or the keys of the section that this one contains."""
    for key, value in list(_overrides(setting).items())[:1]:
        section = yaml_lines.read(value, "value").value
        whole = isinstance(section, dict) and "kind" not in section
        yield from (f"{key}.{name}" for name in section) if whole else (key,)


def _overrides(setting: str) -> dict[str, str]:
    """Return the keys of a setting and their values; empty if it is something else."""
    overrides = {}
    for part in setting.split(";"):
        key, colon, value = part.partition(":")
        if not colon:
            return {}
        overrides[key.strip()] = value.strip()
    return overrides


@cache
def _loaded(setting: str) -> Config:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.yaml"
        path.write_text(SMALLEST, encoding="utf-8")
        return load_config(path, _overrides(setting))


def _problems_of_command(setting: str) -> Iterator[str]:
    command: Any = get_command(app)
    for word in setting.removeprefix(COMMAND).split():
        if word.startswith("--"):
            if not any(word in parameter.opts for parameter in command.params):
                yield f"'{setting}': no option {word}"
        else:
            command = getattr(command, "commands", {}).get(word)
            if command is None:
                yield f"'{setting}': no command {word}"
                return
