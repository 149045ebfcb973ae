"""The help of the program: groups of commands, an example of each, and completion."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from dragoman.cli import app
from dragoman.cli.options import PANELS


def commands(group: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all commands by name."""
    for word, command in group.commands.items():
        name = f"{above} {word}".strip()
        yield from commands(command, name) if hasattr(command, "commands") else [(name, command)]


COMMANDS = dict(commands(get_command(app)))
EXAMPLES = {name: command.epilog.removeprefix("Example: ") for name, command in COMMANDS.items() if command.epilog}


def test_every_command_has_an_example() -> None:
    assert EXAMPLES.keys() == COMMANDS.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_an_example_is_a_command_that_can_be_typed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs/en-de").mkdir(parents=True)
    (tmp_path / "distance.py").write_text("PARTS = {}\n", encoding="utf-8")  # is executed
    program, *words = shlex.split(EXAMPLES[name])
    count = len(name.split())
    assert (program, " ".join(words[:count])) == ("dragoman", name)
    COMMANDS[name].make_context(name, words[count:])
    out = CliRunner().invoke(app, [*name.split(), "--help"], prog_name="dragoman", env={"COLUMNS": "200"}).stdout
    assert f"Example: {EXAMPLES[name]}" in out


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_that_cannot_be_turned_off_is_off(name: str) -> None:
    flags = [option for option in COMMANDS[name].params if getattr(option, "is_flag", False)]
    assert [option.name for option in flags if option.default is not False and not option.secondary_opts] == []


def test_the_help_has_every_command_in_a_group() -> None:
    out = CliRunner().invoke(app, ["--help"], prog_name="dragoman").stdout
    places = [out.index(f"─ {panel} ─") for panel in PANELS]
    assert places == sorted(places)
    assert "─ Commands ─" not in out
    assert "Example: dragoman init" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("tr", ["train", "translate"]),
        ("translate --en", ["--engine"]),
        ("translate --engine o", ["onnx"]),
        ("translate runs/", []),  # the shell has names of files
    ],
)
def test_words_are_completed(typed: str, completed: list[str], repository: Path) -> None:
    words = f"dragoman {typed}"
    variables = {"_DRAGOMAN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run(
        [sys.executable, "-m", "dragoman"],
        env={**os.environ, "PYTHONPATH": str(repository), **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == completed
    assert done.stderr == ""
