"""The length of a training, and the warnings where its schedule does not fit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.configuration.config import Config
from dragoman.errors import UserError
from dragoman.training import session, trainer
from dragoman.training.plan import count_steps, describe_mixture, epoch_plan, plan_batches
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
    epochs: int | None, steps: int | None, wanted: int, make_config: Made, assembled: Assembled
) -> None:
    run = assembled(make_config({**WHOLE, "training.epochs": epochs, "training.steps": steps}))
    assert count_steps(run.config, run.data) == run.schedule.length == wanted
    assert rates(run)[-1] == pytest.approx(0)
    assert rates(run)[-2] > 0


def log_lines(config: Config, capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    session.train(config)
    return [line for line in capsys.readouterr().err.splitlines() if line.startswith("training.")]


@pytest.mark.slow
def test_a_schedule_that_does_not_fit_is_told_at_the_start(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def config(name: str, schedule: dict[str, Any]) -> Config:
        options = {**WHOLE, "training.epochs": 1, "training.schedule": {"kind": "cosine", **schedule}}
        return toy.config(corpus, tmp_path / name, options)

    (line,) = log_lines(config("short", {"steps": 3}), capsys)
    assert line.startswith("training.schedule.steps: 3, and training takes 4: ")
    (line,) = log_lines(config("long", {"steps": 9}), capsys)
    assert line.startswith("training.schedule.steps: 9, and training takes 4: ")
    (line,) = log_lines(config("warm", {"warmup": 5}), capsys)
    assert line.startswith("training.schedule.warmup: 5, but training takes 4 steps: ")
    assert not log_lines(config("fits", {"steps": 4}), capsys)


@pytest.mark.slow
def test_a_cosine_is_stretched_when_epochs_are_added_and_says_so(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer, "LOG_EVERY", 1)

    def config(epochs: int) -> Config:
        return toy.config(corpus, tmp_path / "run", {**WHOLE, "training.epochs": epochs})

    assert not log_lines(config(1), capsys)
    (line,) = log_lines(config(2), capsys)
    assert line.startswith("training.schedule.steps: the cosine ends at step 8 now, previously at 4")
    assert not log_lines(config(2), capsys)


@pytest.mark.slow
def test_a_penalty_that_began_says_so_when_it_begins_later(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def config(epochs: int) -> Config:
        late = {"training.penalties": {"kind": "coverage", "begin": 0.1}, "training.schedule": "constant"}
        return toy.config(corpus, tmp_path / "run", {**WHOLE, **late, "training.epochs": epochs})

    assert not log_lines(config(1), capsys)
    (line,) = log_lines(config(2), capsys)
    wanted = "begin: 0.1 of the training are 1 updates now, previously 0; the penalty applies from there"
    assert line == f"training.penalties.coverage.{wanted}"
    assert not log_lines(config(2), capsys)


@pytest.fixture
def two(corpus: Path, tmp_path: Path) -> dict[str, Any]:
    """The options of a training on a large and a small corpus, and one that the filters leave nothing of."""
    toy.write(tmp_path, "small", toy.pairs(12, 5, 3))
    toy.write(tmp_path, "blank", [(" ", " ")])
    return {"data.train": [str(corpus / "train"), str(tmp_path / "small")]}


@pytest.mark.parametrize(
    ("option", "quotas"), [({}, [60, 12]), ({"data.temperature": 2}, [50, 22]), ({"data.weights": [1, 3]}, [18, 54])]
)
def test_corpora_are_mixed_as_configured(
    two: dict[str, Any],
    option: dict[str, Any],
    quotas: list[int],
    make_config: Made,
    assembled: Assembled,
    tmp_path: Path,
) -> None:
    run = assembled(make_config({**two, **option}))
    for epoch in range(2):
        rows = np.concatenate(list(epoch_plan(run.config, run.data, epoch).batches()))
        assert [int((rows < 60).sum()), int((rows >= 60).sum())] == quotas
    (first, second) = run.config.data.train
    expected_line = f"{quotas[0]} of {first} (of 60), {quotas[1]} of {second} (of 12)" if option else ""
    assert describe_mixture(run.config.data, run.data) == expected_line


@pytest.mark.slow
def test_the_shares_are_told(
    two: dict[str, Any], corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {**two, "training.epochs": 1, "training.batch": {"size": 30}}
    session.train(toy.config(corpus, tmp_path / "run", {**options, "data.weights": [1, 1]}))
    assert f"an epoch draws 36 of {corpus / 'train'} (of 60), 36 of " in capsys.readouterr().err
    session.train(toy.config(corpus, tmp_path / "other", options))
    assert "an epoch draws" not in capsys.readouterr().err


def test_an_empty_corpus_cannot_be_drawn_from(
    two: dict[str, Any], make_config: Made, assembled: Assembled, tmp_path: Path
) -> None:
    train = [*two["data.train"], str(tmp_path / "blank")]
    assert assembled(make_config({"data.train": train, "data.temperature": 5})).data.train.notes["parts"] == [60, 12, 0]
    with pytest.raises(UserError, match=r"data\.weights: .*blank has no pairs left"):
        assembled(make_config({"data.train": train, "data.weights": [1, 1, 1]}))


@pytest.mark.slow
def test_a_mixture_resumes_to_the_same_weights(two: dict[str, Any], corpus: Path, tmp_path: Path) -> None:
    options = {**two, "data.weights": [1, 3], "training.batch": {"size": 10}, "training.epochs": 3}
    whole = session.train(toy.config(corpus, tmp_path / "whole", options), quiet=True)
    session.train(toy.config(corpus, tmp_path / "parts", {**options, "training.steps": 11}), quiet=True)
    parts = session.train(toy.config(corpus, tmp_path / "parts", options), quiet=True)
    last = "model-last.safetensors"
    assert (whole.path / last).read_bytes() == (parts.path / last).read_bytes()


@pytest.mark.spec("D8")
@pytest.mark.parametrize("symbols", [{}, toy.SUBWORDS])
def test_portions_cover_the_targets_of_every_epoch(
    symbols: dict[str, Any], make_config: Made, assembled: Assembled
) -> None:
    options = {"training.batch": {"size": 4}, "model.output": {"kind": "partitioned", "portion": 25}}
    run = assembled(make_config({**symbols, **options}))
    batches = [rows.tolist() for rows in epoch_plan(run.config, run.data, 1).batches()]
    rows_and_portions = list(plan_batches(run.config, run.data, 1, 0, run.model.output.portion))
    assert [rows.tolist() for rows, _ in rows_and_portions] == batches
    met = set[int]()
    for rows, portion in rows_and_portions:
        target = run.data.batch(rows, 1).target
        assert portion is not None
        assert set(target.ids[target.mask].tolist()) <= set(portion.tolist())
        met |= set(portion.tolist())
    whole = run.data.batch(np.arange(60), 1).target
    assert met == set(whole.ids[whole.mask].tolist())
    assert len({tuple(portion.tolist()) for _, portion in rows_and_portions if portion is not None}) > 1 or not symbols
    for begin in range(len(rows_and_portions)):
        rest = list(plan_batches(run.config, run.data, 1, begin, run.model.output.portion))
        for (rows, portion), (wanted_rows, wanted) in zip(rest, rows_and_portions[begin:], strict=True):
            assert np.array_equal(rows, wanted_rows)
            assert portion is not None
            assert wanted is not None
            assert np.array_equal(portion, wanted)


def test_other_outputs_have_no_portions(make_config: Made, assembled: Assembled) -> None:
    run = assembled(make_config({}))
    assert {portion for _, portion in plan_batches(run.config, run.data, 0, 0, run.model.output.portion)} == {None}
