"""The end of a training: what is reported of the weights, and what shows that nothing is left to do."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.configuration.config import Config
from dragoman.run.folder import RunFolder, describe_weights
from dragoman.training import card, session
from dragoman.training.checkpoint import Selection
from dragoman.training.finishing import describe_finished
from dragoman.training.journal import TrainingLog
from dragoman.training.validation import Validator

Made = Callable[..., Config]
SIX = {
    "training.epochs": None,
    "training.steps": 6,
    "training.validate_every": 3,
    "training.average_checkpoints.count": 2,
}


class Killed(BaseException):
    """The process is gone."""


def files(folder: RunFolder) -> dict[Path, tuple[bytes, int]]:
    """All that is there, with when it was written, but for the configuration, which may change."""
    paths = [path for path in folder.path.rglob("*") if path.is_file() and path != folder.config]
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in paths}


@pytest.mark.slow
@pytest.mark.parametrize("options", [SIX, {"training.objective": "agreement"}])
def test_a_finished_run_is_left_alone_and_told(
    options: dict[str, Any], make_config: Made, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = session.train(make_config(options), quiet=True)
    before = files(folder)
    monkeypatch.delattr(Validator, "__call__")  # nothing is measured again
    session.train(make_config({**options, "search": {"kind": "beam", "size": 2}}))
    assert files(folder) == before
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{folder.path}: training has finished at training.steps: ")
    assert "(--training.steps N)" in line
    stays = f". search stays as it was; change it in {folder.config}"
    assert line.endswith(stays)
    session.train(make_config(options))
    assert capsys.readouterr().err == f"{line.removesuffix(stays)}\n"


@pytest.mark.slow
@pytest.mark.parametrize("key", ["training.steps", "training.average_checkpoints.count"])
def test_a_finished_run_with_more_to_do_does_it(key: str, make_config: Made) -> None:
    more = {**SIX, key: {"training.steps": 9, "training.average_checkpoints.count": 1}[key]}
    folder = session.train(make_config(SIX), quiet=True)
    assert describe_finished(make_config(SIX), folder)
    assert not describe_finished(make_config(more), folder)
    session.train(make_config(more), quiet=True)
    assert describe_finished(make_config(more), folder)


def test_says_every_limit_that_has_to_be_raised(make_config: Made) -> None:
    still = {"training.optimizer": {"kind": "adam", "learning_rate": 1e-12}, "training.metric": "accuracy"}
    options = {**SIX, **still, "training.patience": 1}
    config = make_config(options)
    line = describe_finished(config, session.train(config, quiet=True))
    assert "--training.patience N --training.steps N" in line


@pytest.mark.slow
@pytest.mark.parametrize(
    ("owner", "name", "call", "before"),  # a new run, or one that had been finished after fewer steps
    [
        (Selection, "write_mean", 1, SIX),
        (Validator, "__call__", 3, {}),  # after those of training
        (Validator, "__call__", 3, SIX),
        (Validator, "write", 1, {}),
        (card, "write", 1, SIX),
        (TrainingLog, "row", 3, {}),
        (TrainingLog, "row", 3, SIX),
    ],
)
def test_a_run_killed_while_it_is_finished_is_finished_by_the_same_command(
    owner: Any, name: str, call: int, before: dict[str, Any], make_config: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config({**SIX, "training.steps": 9 if before else 6})
    if before:
        session.train(make_config(before), quiet=True)
        call = max(1, call - 1)  # there is one validation more, and not two
    whole, calls = getattr(owner, name), []

    def killed(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == call:
            raise Killed
        return whole(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, killed)
        with pytest.raises(Killed):
            session.train(config, quiet=True)
    folder = RunFolder(Path(config.run))
    assert not describe_finished(config, folder)
    session.train(config, quiet=True)
    assert describe_finished(config, folder)
    last = json.loads(folder.metrics.read_text("utf-8").splitlines()[-1])
    assert last["step"] == config.training.steps
    assert last["final/weights"] in folder.card.read_text("utf-8")


@pytest.mark.parametrize("name", ["model.safetensors", "README.md", "validation.jsonl"])
def test_what_is_missing_of_a_finished_run_is_made_again(name: str, make_config: Made) -> None:
    folder = session.train(make_config(), quiet=True)
    before = (folder.path / name).read_bytes()
    (folder.path / name).unlink()
    session.train(make_config(), quiet=True)
    if name != "README.md":  # which tells of memory
        assert (folder.path / name).read_bytes() == before


def test_a_model_worse_than_a_guess_is_told(make_config: Made, capsys: pytest.CaptureFixture[str]) -> None:
    session.train(make_config({"training.optimizer": {"kind": "adam", "learning_rate": 1}, "training.clip_norm": None}))
    assert "the model's probabilities are worse than a guess among 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ({"metric": "bleu", "value": 0.0, "loss": 3.43124}, "(bleu 0.00, loss 3.4312)"),
        ({"metric": "perplexity", "value": 1e30, "loss": 69.07755}, "(perplexity 1.0e+30, loss 69.0776)"),
        ({"metric": "loss", "value": 3.43124, "loss": 3.43124}, "(loss 3.4312)"),
    ],
)
def test_a_worse_mean_is_told_with_its_metric_and_its_loss(scores: dict[str, Any], words: str) -> None:
    note = {"step": 3, "worse": [3, 6], **scores}
    assert describe_weights(note) == f"the best, of step 3: the mean of the best 2 was worse {words}"


@pytest.mark.parametrize("note", [None, [], {}, {"step": "3"}, {"mean of steps": 3}, {"worse": [1], "step": [2]}])
def test_weights_that_do_not_say_what_they_are_are_told_as_such(note: Any) -> None:
    assert describe_weights(note) == "of unknown origin"
