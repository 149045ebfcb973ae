"""The lesson of docs/attention-class.md: every command, configuration and piece of code, word for word."""

import re
import shlex
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from tests.system.conftest import ROOT, Shell

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r'(?:echo "(?P<text>.*)" \| )?dragoman (?P<words>.*)')


@pytest.fixture(scope="module")
def blocks() -> list[tuple[str, str]]:
    """The language and text of each block."""
    return BLOCK.findall((ROOT / "docs" / "attention-class.md").read_text("utf-8"))


def code(blocks: list[tuple[str, str]], name: str) -> tuple[str, str]:
    """The block of Python code that has a name, and the block after it, which is its output."""
    (number,) = (number for number, (kind, text) in enumerate(blocks) if kind == "python" and name in text)
    return blocks[number][1], blocks[number + 1][1]


def test_the_numbers_on_the_board_are_those_of_the_library(
    blocks: list[tuple[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    values: dict[str, Any] = {}
    for name in ("def attend", "Sparsemax"):
        text, output = code(blocks, name)
        exec(text, values)
        assert capsys.readouterr().out == output


@pytest.mark.slow
def test_the_lesson_is_followed_word_for_word(
    blocks: list[tuple[str, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a few steps of training."""
    shell = Shell(tmp_path)
    with chdir(tmp_path):
        text, output = code(blocks, "write_corpus")
        exec(text, {})
    assert capsys.readouterr().out == output
    ((_, config),) = (block for block in blocks if block[0] == "yaml")
    shell.write("class.yaml", config)
    lines = [line for kind, text in blocks if not kind for line in text.splitlines()]
    commands = [match for line in lines if (match := COMMAND.fullmatch(line))]
    assert [command["words"].partition(" ")[0] for command in commands[:2]] == ["train", "translate"]
    for command in commands:
        words = shlex.split(command["words"], comments=True)
        short = ["--training.steps=3"] if words[0] == "train" else []
        outcome = shell(*words, *short, stdin=f"{command['text'] or ''}\n")
        assert outcome.code == 0, outcome.err
    values: dict[str, Any] = {}
    capsys.readouterr()
    with chdir(tmp_path):
        for name in ("def shuffled", "def unmasked"):
            text, output = code(blocks, name)
            exec(text, values)
            labels = [line.split()[:1] for line in output.splitlines()]
            assert [line.split()[:1] for line in capsys.readouterr().out.splitlines()] == labels
