"""How long a training will take, before it."""

import itertools
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.configuration.config import Config
from dragoman.data.batch import Batch
from dragoman.data.dataset import Dataset
from dragoman.errors import UserError
from dragoman.model.output.output import Loss
from dragoman.model.seq2seq import Seq2Seq
from dragoman.training import duration, session
from dragoman.training.duration import Duration
from dragoman.training.training import Training
from tests import toy

Make = Callable[..., Config]
Meddle = Callable[[dict[int, Callable[[Loss, Seq2Seq], Loss]]], None]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "temporary"


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[Training]:
    """The trainings that are measured."""
    trainings, whole = list[Training](), session.assemble

    def assembled(*arguments: Any) -> Training:
        trainings.append(whole(*arguments))
        return trainings[-1]

    monkeypatch.setattr(duration, "assemble", assembled)
    return trainings


@pytest.fixture
def _slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step takes 2 ms for each symbol that it has, and the first ones a second more, by the clock."""
    now = 0.0

    def steps(run: Training, most: int) -> Iterator[list[Batch]]:
        nonlocal now
        rows = np.array_split(np.arange(len(run.data.train)), 12)
        for number, row in enumerate(itertools.islice(rows, most)):
            batch = run.data.batch(row, 0)
            now += 0.002 * sum(int(source.mask.sum()) for source in (*batch.sources, batch.target)) + (number < 3)
            yield [batch]

    monkeypatch.setattr(duration, "first_steps", steps)
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    monkeypatch.setattr(duration, "SECONDS", 10)


def symbols(config: Config, folder: Path) -> int:
    """All symbols that a pass reads and writes."""
    (source,), target = Dataset.prepare(config.data, config.text, 1, folder).offsets
    return int(source[-1] + target[-1])


@pytest.mark.usefixtures("_slow")
@pytest.mark.parametrize(
    ("options", "passes"),
    [
        ({"training.steps": None, "training.epochs": 7}, 7),
        ({"training.steps": 8, "training.epochs": 7}, 2),  # of four steps
        ({"training.steps": 2, "training.epochs": None}, 0.5),
    ],
)
def test_a_pass_takes_as_long_as_its_symbols(
    options: dict[str, Any], passes: float, make_config: Make, tmp_path: Path
) -> None:
    config = make_config(options)
    measured = duration.measure(config)
    assert measured.passes == passes
    assert measured.a_pass == pytest.approx(0.002 * symbols(config, tmp_path))


@pytest.mark.usefixtures("_slow")
def test_of_many_pairs_some_are_measured(make_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = make_config({"training.steps": None, "training.epochs": 3})
    whole = duration.measure(config)
    monkeypatch.setattr(duration, "PAIRS", 30)
    part = duration.measure(config)
    assert part.passes == whole.passes
    assert part.a_pass == pytest.approx(whole.a_pass, rel=0.1)


@pytest.mark.slow
def test_the_steps_are_those_of_the_training(
    make_config: Make, place: Path, prepared: list[Training], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(duration, "STEPS", 1)
    config = make_config({"training.epochs": 1, "training.steps": None, "training.save_every": 1})
    duration.measure(config)
    run = session.train(config, quiet=True)
    assert prepared[0].progress.step == 4
    trained, measured = (torch.cat([p.flatten() for p in m.parameters()]) for m in (_last(run.path), prepared[0].model))
    assert trained.equal(measured)
    assert not list(place.iterdir())


def _last(folder: Path) -> Seq2Seq:
    from dragoman.run.run import Run

    return Run.load(folder).model("model-last")


@pytest.mark.slow
def test_nothing_of_a_run_is_touched(make_config: Make, place: Path, tmp_path: Path) -> None:
    session.train(make_config(), quiet=True)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    duration.measure(make_config({"training.init_from": str(tmp_path / "run")}))
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert not list(place.iterdir())


@pytest.mark.parametrize(
    "options",
    [
        {"data.translation_memory": "nearest"},
        {"training.objective": "agreement"},
        {"training.batch.size": 1000},
        {"training.batch": {"size": 40, "type": "tokens"}},
    ],
    ids=["memory", "both directions", "one batch", "symbols"],
)
def test_every_training_can_be_measured(
    options: dict[str, Any], make_config: Make, prepared: list[Training], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PAIRS", "REMEMBERED"):
        monkeypatch.setattr(duration, name, 30)
    measured = duration.measure(make_config({**options, "training.epochs": 2, "training.steps": None}))
    assert measured.a_pass > 0
    assert measured.passes == 2
    assert len(prepared[0].data.train) == 30


def test_a_sample_is_looked_up_in_all_pairs(
    tmp_path: Path, prepared: list[Training], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the pair after each of the sample is like it."""
    monkeypatch.setattr(duration, "REMEMBERED", 10)
    place = toy.corpus(tmp_path)
    keys = [f"{letter}{other}" * 6 for letter in "abcdefgh" for other in "klmno"]
    toy.write(place, "train", [(f"{key} {side}", "un deux") for key in keys for side in ("left", "right")])
    measured = duration.measure(toy.config(place, tmp_path / "run", {"data.translation_memory": "nearest"}))
    train = prepared[0].data.train
    assert len(train) == 10
    assert (train.columns["source.memory"].lengths == 3).all()  # un deux </s>
    assert measured.looking_up > 0
    assert "for translation memory look-ups" in str(measured)


def test_weighted_corpora_are_sampled_as_one(
    make_config: Make, prepared: list[Training], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duration, "PAIRS", 30)
    (train,) = make_config().data.train
    measured = duration.measure(make_config({"data.train": [train, train], "data.weights": [1, 3]}))
    assert measured.a_pass > 0
    assert 0 < len(prepared[0].data.train) <= 30


def test_several_language_pairs_are_sampled_each(
    tmp_path: Path, prepared: list[Training], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duration, "PAIRS", 5 * 16)
    pairs = toy.languages(tmp_path)
    none = {"data.source": [], "data.target": "", "data.train": [], "data.dev": ""}
    options = {**none, "data.pairs": pairs, "text.shared_vocabulary": True}
    duration.measure(toy.config(tmp_path, tmp_path / "run", options))
    assert prepared[0].data.train.notes["parts"] == [15, 15, 15, 15, 15]


def test_a_training_that_cannot_begin_is_told(make_config: Make, place: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere"):
        duration.measure(make_config({"data.dev": str(tmp_path / "nowhere")}))
    assert not list(place.iterdir())


@pytest.mark.parametrize(
    ("a_pass", "passes", "line"),
    [
        (
            0.0421,
            3.0,
            "0.042 seconds per epoch, 0.13 seconds for 3 passes, beside validations; cpu",
        ),
        (
            5.25,
            100.0,
            "5.2 seconds per epoch, 8.75 minutes for 100 passes, beside validations; cpu",
        ),
        (90.0, 100.0, "90 seconds per epoch, 2.5 hours for 100 passes, beside validations; cpu"),
        (99.5, 1.1, "100 seconds per epoch, 109 seconds for 1.1 passes, beside validations; cpu"),
        (86_400.0, 1.0, "24 hours per epoch, 24 hours for 1 pass, beside validations; cpu"),
        (86_400.0, 12.5, "24 hours per epoch, 12.5 days for 12 passes, beside validations; cpu"),
        (300.0, 0.25, "5 minutes per epoch, 75 seconds for 0.25 passes, beside validations; cpu"),
    ],
)
def test_durations_have_the_unit_that_suits_them(a_pass: float, passes: float, line: str) -> None:
    assert str(Duration(a_pass, passes, "cpu", False)) == line
    assert str(Duration(a_pass, passes, "cpu", True)) == f"{line}, busy with other programs"
