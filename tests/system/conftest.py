"""A folder as a user has it, with a corpus, a configuration and a trained run, and ways to type commands there."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

from tests import toy
from tests.system import interrupted

ROOT = Path(__file__).resolve().parent.parent.parent
ONE_THREAD = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "COLUMNS": "200", "GLOO_SOCKET_IFNAME": "lo"}


@dataclass(frozen=True)
class Outcome:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.split("\n")[:-1]

    @property
    def mendable(self) -> str:
        """The one line in which the command says what its user can mend."""
        assert self.code == 1, self
        assert self.err.endswith("\n")
        assert self.err.count("\n") == 1, self.err
        return self.err.removesuffix("\n")


@dataclass(frozen=True)
class Shell:
    """Commands in a folder. Called, a command runs in this process, which is quick; `spawn` makes a process of it, and
    `fork` one that need not load everything first.
    """

    folder: Path

    def __call__(self, *words: str | Path, stdin: str | bytes = b"") -> Outcome:
        from dragoman.cli import app

        with chdir(self.folder):
            result = CliRunner().invoke(app, list(map(str, words)), input=stdin, prog_name="dragoman")
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Outcome(result.exit_code, result.stdout_bytes.decode(), result.stderr_bytes.decode())

    def spawn(
        self, *words: str | Path, stdin: str | bytes = b"", program: Sequence[str] = ("-m", "dragoman"), **options: Any
    ) -> Outcome:
        options = {"stdout": subprocess.PIPE, **options}
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [sys.executable, *program, *map(str, words)],
            cwd=self.folder,
            env=os.environ | ONE_THREAD,
            input=data,
            stderr=subprocess.PIPE,
            check=False,
            timeout=600,
            **options,
        )
        return Outcome(done.returncode, (done.stdout or b"").decode(), done.stderr.decode())

    def fails(self, *words: str | Path, stdin: str | bytes = b"") -> str:
        """The one line in which a command says what its user can mend."""
        return self(*words, stdin=stdin).mendable

    def refuses(self, *words: str | Path, stdin: str | bytes = b"") -> str:
        """The line in which a command refuses its words: after `usage: ` if the exit status says so."""
        with patch.dict(os.environ, COLUMNS="1000"):
            outcome = self(*words, stdin=stdin)
        if outcome.code == 2:
            return "usage: " + outcome.err.partition("Invalid value: ")[2].partition("│")[0].strip()
        return outcome.mendable

    def fork(self, *words: str | Path, **options: Any) -> Outcome:
        """In a process that is forked from one that has loaded everything."""
        end = interrupted.run(self.folder, list(map(str, words)), **options)
        return Outcome(end.code, end.out, end.err)

    def kill(self, moment: str, count: int, *words: str | Path, sign: signal.Signals = signal.SIGKILL) -> Outcome:
        """A command that sends itself a signal when it comes to a moment (see drive.py) for the count-th time."""
        return self.fork(*words, interruption=interrupted.Interruption(moment=(moment, count, sign)))

    def write(self, name: str, text: str | bytes) -> Path:
        """A file in the folder."""
        path = self.folder / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return Path(name)


def prepare(folder: Path) -> Shell:
    """The corpora train (80 pairs), dev (8) and test (6), and the configuration toy.yaml of the run runs/toy."""
    toy.corpus(folder, train=80, longest=5)
    toy.write(folder, "test", toy.pairs(6, 3))
    places = "data: {source: en, target: fr, train: train, dev: dev}\nrun: runs/toy"
    config = toy.CONFIG.replace("data: {source: en, target: fr}", places)
    assert places in config
    (folder / "toy.yaml").write_text(config, encoding="utf-8")
    return Shell(folder)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A folder with corpora and a configuration, nothing trained."""
    return prepare(tmp_path)


@pytest.fixture(scope="session")
def first_training(tmp_path_factory: pytest.TempPathFactory) -> tuple[Shell, Outcome]:
    """The folder of `trained`, and what training said."""
    shell = prepare(tmp_path_factory.mktemp("trained"))
    return shell, shell("train", "toy.yaml")


@pytest.fixture(scope="session")
def trained(first_training: tuple[Shell, Outcome]) -> Shell:
    """A folder with a trained run, to be left as it is."""
    return first_training[0]


@pytest.fixture
def copied(trained: Shell, tmp_path: Path) -> Shell:
    """A copy of it, to be spoiled."""
    shutil.copytree(trained.folder, tmp_path, dirs_exist_ok=True)
    return Shell(tmp_path)
