"""The commands of docs/small.md that complete a catalogue, word for word, and what others read of the result."""

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import polib
import pytest

from dragoman.cli import localize_parents
from dragoman.corpus.initialize import initialize
from dragoman.run.run import Run
from dragoman.training import starting
from tests import toy
from tests.catalogues import FILLED, PLURALS, READERS, catalogue, check_by_msgfmt, check_lines, check_messages
from tests.system.conftest import ROOT, Shell

SECTION = re.compile(r"^## A catalogue in one command\n(?P<body>(?:(?!## ).*\n)*)", re.MULTILINE)
BLOCK = re.compile(r"^```\n((?:dragoman .*\n)+)```$", re.MULTILINE)


def commands() -> list[list[str]]:
    """The commands of each block of the section: with a parent at hand, and with one that is trained first."""
    section = SECTION.search((ROOT / "docs" / "small.md").read_text("utf-8"))
    assert section
    return [block.splitlines() for block in BLOCK.findall(section["body"])]


def run(shell: Shell, command: str) -> str:
    """Type a command, in which the shell replaces patterns. Return its messages."""
    program, *words = shlex.split(command, comments=True)
    assert program == "dragoman"
    files = [sorted(str(path.relative_to(shell.folder)) for path in shell.folder.glob(word)) for word in words]
    patterns = ["*" in word for word in words]
    words = [
        name for word, names, many in zip(words, files, patterns, strict=True) for name in (names if many else [word])
    ]
    outcome = shell(*words)
    assert outcome.code == 0, outcome.err
    return outcome.err


def write_own(shell: Shell, language: str, finished: int = 0) -> Path:
    """The catalogue of the page, with more messages that are translated."""
    pairs = [(source, toy.german(source)) for source in dict(toy.pairs(2 * finished, 7))][:finished]
    texts = [f'\nmsgctxt "more"\nmsgid "{source}"\nmsgstr "{target}"\n' for source, target in pairs]
    path = shell.folder / "po" / f"{language}.po"
    path.parent.mkdir()
    path.write_text(catalogue(language) + "".join(texts), "utf-8")
    return path


def write_others(shell: Shell) -> None:
    """Catalogues of two other programs."""
    sources = list(dict(toy.pairs(2000, 5)))
    for name, part in (("one", sources[::2]), ("two", sources[1::2])):
        file = polib.POFile()
        file.metadata = {"Language": "de", "Content-Type": "text/plain; charset=UTF-8"}
        file.extend(polib.POEntry(msgid=source, msgstr=toy.german(source)) for source in part)
        (shell.folder / "others").mkdir(exist_ok=True)
        file.save(str(shell.folder / "others" / f"{name}.po"))


def initialize_small(source: Path, target: Path | None, config: Path, *arguments: Any) -> list[str]:
    """As `initialize`, with small layers and two epochs, which take seconds."""
    lines = initialize(source, target, config, *arguments)
    text = re.sub(r"\bsize: (?:128|256)\b", "size: 16", config.read_text("utf-8"))
    config.write_text(text.replace(f"epochs: {localize_parents.EPOCHS}", "epochs: 2"), "utf-8")
    return lines


def check(own: Path, new: Path, *, calibrated: bool | None) -> None:
    """Check what other programs read of a catalogue that was completed."""
    before, after = (path.read_text("utf-8") for path in (own, new))
    for reader in READERS:
        assert len(check_messages(reader, before, after, calibrated=calibrated)) == FILLED
    check_lines(before, after)
    check_by_msgfmt(own)
    check_by_msgfmt(new)


@pytest.mark.slow
@pytest.mark.parametrize("language", PLURALS)
def test_one_command_with_a_parent_at_hand(language: str, copied: Shell) -> None:
    (command,), _ = commands()
    runs = copied.folder / "runs"
    shutil.copytree(runs / "toy", runs / "others")
    config = runs / "others" / "config.yaml"
    config.write_text(config.read_text("utf-8").replace("target: fr", f"target: {language}"), "utf-8")
    own = write_own(copied, language)
    messages = run(copied, command.replace("po/de.po", f"po/{language}.po"))
    assert "runs/others: translates without training" in messages
    check(own, copied.folder / "new.po", calibrated=False)


@pytest.mark.slow
def test_two_commands_with_a_parent_that_is_trained(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(localize_parents, "initialize", initialize_small)
    monkeypatch.setitem(starting.OPTIONS, "training.epochs", 2)
    _, (first, second) = commands()
    write_others(shell)
    own = write_own(shell, "de", finished=420)
    run(shell, first)
    messages = run(shell, second)
    assert f"de.po: {FILLED + 1} of {FILLED + 1} texts" in messages  # a plural has two
    parent, child = (Run.load(shell.folder / "runs" / name) for name in ("others", "others-de"))
    assert parent.config.data.train == ("corpus/others.train.tsv",)
    assert child.config.training.init_from == "runs/others"
    check(own, shell.folder / "new.po", calibrated=None)  # repetitions have no confidence
