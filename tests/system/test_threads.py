"""`--threads` and OMP_NUM_THREADS, in every command that computes."""

from collections.abc import Iterator

import pytest
import torch
import typer

from dragoman import demo
from dragoman.cli import app
from tests.system.conftest import Shell

RUN = "runs/toy"
COMPUTING = {
    "align": (RUN, "test.en", "test.fr"),
    "augment back": (RUN, "test.fr", "-o", "more"),
    "augment forward": (RUN, "test.en", "-o", "more"),
    "average": (RUN, "-o", "mean.safetensors"),
    "calibrate": (RUN, "--source", "test.en", "--reference", "test.fr"),
    "debug data": ("toy.yaml",),
    "debug part": ("score:dot",),
    "demo": ("demo",),
    "dictionary": (RUN, "test.en", "test.fr"),
    "distil": (RUN, "toy.yaml", "--run", "runs/small"),
    "evaluate": ("test.fr", "--run", RUN, "--source", "test.en"),
    "explain": (RUN, "one two"),
    "export": (RUN, "--onnx"),
    "gate": (RUN, "--against", RUN, "--source", "test.en", "--reference", "test.fr"),
    "init": ("train.en", "train.fr", "--dev", "dev", "-o", "new.yaml"),
    "features": ("images", "-o", "images.npy", "--model", "timm:none"),
    "shortlist": (RUN,),
    "localize": ("fr.po", "--parent", RUN, "-o", "new.po"),
    "postedit": (RUN, "--translation", "test.en"),
    "report": (RUN, "--sentences", "test.en"),
    "score": (RUN, "test.en", "test.fr"),
    "serve": (RUN, "--port", "0"),
    "train": ("toy.yaml", "--run", "runs/other"),
    "translate": (RUN, "test.en"),
    "tune": (RUN, "--source", "test.en", "--reference", "test.fr"),
}


class ReachedError(Exception):
    """This number of threads is torch's now."""


@pytest.fixture
def _stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands end as soon as they have told torch how many threads it is to use."""

    def reached(count: int) -> None:
        raise ReachedError(count)

    monkeypatch.setattr(torch, "set_num_threads", reached)
    monkeypatch.setattr(demo, "SIZES", dict.fromkeys(demo.SIZES, 10))


def leaves(command: typer.core.TyperCommand | typer.core.TyperGroup, name: str = "") -> Iterator[tuple[str, list[str]]]:
    """Every command with its options."""
    if isinstance(command, typer.core.TyperGroup):
        for word, part in command.commands.items():
            yield from leaves(part, f"{name} {word}".strip())  # type: ignore[arg-type]
    else:
        yield name, [option for parameter in command.params for option in parameter.opts]


def test_the_commands_that_compute_are_these() -> None:
    commands = dict(leaves(typer.main.get_command(app)))  # type: ignore[arg-type]
    assert {name for name, options in commands.items() if "--threads" in options} == set(COMPUTING)
    assert set(commands) - set(COMPUTING) == {
        "augment copy",
        "augment noise",
        "corpus",
        "corrections",
        "debug config",
        "import",
        "info",
        "judge make",
        "judge read",
        "push",
        "terms",
    }


@pytest.mark.slow
@pytest.mark.usefixtures("_stopped")
@pytest.mark.parametrize("command", COMPUTING)
def test_threads_reach_torch(command: str, copied: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    (copied.folder / "images").mkdir()
    copied.write("images/one.png", b"")
    copied.write("fr.po", 'msgid "one"\nmsgstr ""\n')
    for path in (copied.folder / "toy.yaml", copied.folder / RUN / "config.yaml"):
        text = path.read_text(encoding="utf-8")
        assert "threads: 1" in text  # which would come before the environment
        path.write_text(text.replace("threads: 1", "threads: 0"), encoding="utf-8")
    words = (*command.split(), *COMPUTING[command])
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    for options, count in (([], 3), (["--threads", "2"], 2), ([], 3)):
        (copied.folder / "new.yaml").unlink(missing_ok=True)
        with pytest.raises(ReachedError) as reached:
            copied(*words, *options)
        assert reached.value.args == (count,)


def test_the_command_line_comes_before_the_configuration(copied: Shell) -> None:
    words = ("train", "toy.yaml", "--run", "runs/other", "--training.steps", "1", "--device.threads", "2")
    assert "1 thread," in copied(*words, "--threads", "1").err
    assert "threads: 1" in (copied.folder / "runs/other/config.yaml").read_text(encoding="utf-8")  # to resume with


def test_threads_that_cannot_be_are_refused(trained: Shell) -> None:
    for count in ("0", "-1", "1025", "two"):
        assert trained("translate", RUN, "test.en", "--threads", count).code == 2
    assert trained("evaluate", "test.fr", "-i", "test.fr", "--threads", "1").code == 2  # nothing is translated


@pytest.mark.slow
def test_info_tells_how_many_there_are(trained: Shell) -> None:
    assert "1 thread," in trained.spawn("info").out
