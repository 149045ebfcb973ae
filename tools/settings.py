"""Whether a setting that docs/literature.md names exists: tried on the smallest configuration."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from dragoman.cli import app
from dragoman.errors import UserError
from dragoman.training.checks import load_config

SMALLEST = "data: {source: a, target: b, train: train, dev: dev}\n"
COMMAND = "dragoman "


def problems_of_setting(setting: str) -> Iterator[str]:
    """What is wrong with `section.key: value; ...` or `dragoman COMMAND`; nothing when it can be used."""
    if setting.startswith(COMMAND):
        yield from _problems_of_command(setting)
        return
    overrides = {}
    for part in setting.split(";"):
        key, colon, value = part.partition(":")
        if not colon:
            yield f"'{setting}' is neither 'section.key: value' nor a command"
            return
        overrides[key.strip()] = value.strip()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.yaml"
        path.write_text(SMALLEST, encoding="utf-8")
        try:
            load_config(path, overrides)
        except UserError as error:
            yield from (f"'{setting}': {line}" for line in str(error).splitlines())


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
