"""The facts about a run."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.configuration.components import Spec
from dragoman.errors import UserError
from dragoman.run.run import Run, facts, metric_rows
from tests import toy
from tests.golden import Golden


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run.load(toy.trained(tmp_path_factory.getbasetemp()))


@pytest.mark.slow
def test_options_that_are_on_are_told_in_words(run: Run) -> None:
    labels = dict(facts(run))
    assert labels["languages"] == "en to fr"
    assert labels["encoder"] == "rnn, cell gru, size 12, layers 1, direction bidirectional, variational"
    assert labels["bridge"] == "final, layers all, activation tanh"
    assert labels["attention"] == "additive"
    other = {"size": 1, "residual": True, "dropout": 0.0, "layer_norm": "none", "readout_size": None}
    model = run.config.model.model_copy(update={"decoder": Spec("rnn", {**run.config.model.decoder.options, **other})})
    config = run.config.model_copy(update={"model": model})
    decoder = dict(facts(replace(run, config=config)))["decoder"]
    parts = ["rnn", "cell gru", "size 1", "layers 1", "attend after", "readout deep"]
    assert decoder == ", ".join([*parts, "residual", "variational"])


@pytest.mark.slow
def test_a_training_that_is_under_way_shows_how_far_it_has_come(run: Run, tmp_path: Path) -> None:
    """A process that was killed may have left the last row incomplete."""
    shutil.copytree(run.folder.path, tmp_path / "run")
    begun = Run.load(tmp_path / "run")
    lines = begun.folder.metrics.read_text(encoding="utf-8").splitlines()
    begun.folder.metrics.write_text("\n".join([*lines[:-1], lines[-1][:20]]), encoding="utf-8")
    assert dict(facts(begun))["training"].startswith("under way: 140 steps")
    begun.folder.metrics.unlink()
    assert dict(facts(begun))["training"] == "has not begun"


def test_a_broken_row_in_between_is_told(run: Run, tmp_path: Path, golden: Golden) -> None:
    shutil.copytree(run.folder.path, tmp_path / "run")
    begun = Run.load(tmp_path / "run")
    begun.folder.metrics.write_text('{"step": 1, "time": 2}\n{"st\n{"step": 2, "time": 3}\n', encoding="utf-8")
    with pytest.raises(UserError, match=r"metrics.jsonl:2:") as raised:
        metric_rows(begun)
    golden(str(raised.value))
    begun.folder.metrics.write_text("[" * 100_000 + '\n{"step": 2, "time": 3}\n', encoding="utf-8")
    with pytest.raises(UserError, match=r"metrics.jsonl:1:"):
        metric_rows(begun)
