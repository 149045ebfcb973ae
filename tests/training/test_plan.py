"""How long a training is, and what is said where its schedule does not fit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.configuration.config import Config
from dragoman.training import session, trainer
from dragoman.training.plan import length
from dragoman.training.training import Training
from tests import toy

Made = Callable[..., Config]
Assembled = Callable[[Config], Training]
WHOLE = {"training.schedule": "cosine", "training.batch": {"size": 15}}  # 4 steps an epoch


def rates(run: Training) -> list[float]:
    return [run.schedule(step, []) for step in range(1, run.schedule.length + 1)]


@pytest.mark.parametrize(
    ("epochs", "steps", "wanted"), [(2, None, 8), (None, 5, 5), (2, 5, 5), (1, 50, 4), (1_000_000, 7, 7)]
)
def test_the_length_is_that_of_the_first_limit(
    epochs: int | None, steps: int | None, wanted: int, made: Made, assembled: Assembled
) -> None:
    run = assembled(made({**WHOLE, "training.epochs": epochs, "training.steps": steps}))
    assert length(run.config, run.data) == run.schedule.length == wanted
    assert rates(run)[-1] == pytest.approx(0)
    assert rates(run)[-2] > 0


def said(config: Config, capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    session.train(config)
    return [line for line in capsys.readouterr().err.splitlines() if "training.schedule" in line]


def test_a_schedule_that_does_not_fit_is_told_at_the_start(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def config(name: str, schedule: dict[str, Any]) -> Config:
        options = {**WHOLE, "training.epochs": 1, "training.schedule": {"kind": "cosine", **schedule}}
        return toy.config(corpus, tmp_path / name, options)

    (line,) = said(config("short", {"steps": 3}), capsys)
    assert line.startswith("training.schedule.steps: 3, and training takes 4: ")
    (line,) = said(config("long", {"steps": 9}), capsys)
    assert line.startswith("training.schedule.steps: 9, and training takes 4: ")
    (line,) = said(config("warm", {"warmup": 5}), capsys)
    assert line.startswith("training.schedule.warmup: 5, and training takes 4 steps: ")
    assert not said(config("fits", {"steps": 4}), capsys)


def test_a_cosine_is_stretched_when_epochs_are_added_and_says_so(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer, "LOG_EVERY", 1)

    def config(epochs: int) -> Config:
        return toy.config(corpus, tmp_path / "run", {**WHOLE, "training.epochs": epochs})

    assert not said(config(1), capsys)
    (line,) = said(config(2), capsys)
    assert line.startswith("training.schedule.steps: the cosine ends at step 8 now, and was to end at 4")
    assert not said(config(2), capsys)
