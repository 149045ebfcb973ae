"""Which weights are kept, and what is in a finished run."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import dragoman
from dragoman import inspection
from dragoman.cli import average
from dragoman.configuration.config import Config, TrainingConfig
from dragoman.model.weights import read_note, read_tensors, weights, write_tensors
from dragoman.run.folder import RunFolder, describe_weights
from dragoman.run.run import Run, facts
from dragoman.training import checkpoint, checks, session
from dragoman.training.checkpoint import Selection
from dragoman.training.progress import Progress, ValidationRecord
from dragoman.training.training import Training
from tests import toy
from tests.builders import build_model

FILES = {
    "README.md",
    "config.yaml",
    "checkpoints",
    "data",
    "metrics.jsonl",
    "model-best.safetensors",
    "model-last.safetensors",
    "model.safetensors",
    "run.json",
    "source.counts",
    "source.json",
    "source.tokenizer",
    "source.vocabulary",
    "target.counts",
    "target.json",
    "target.tokenizer",
    "target.vocabulary",
    "validation.jsonl",
}


@pytest.fixture
def finished(corpus: Path, tmp_path: Path) -> Callable[..., RunFolder]:
    def trained(count: int = 2, of: str = "best", **options: Any) -> RunFolder:
        training = {"epochs": 4, "average_checkpoints.count": count, "average_checkpoints.of": of, **options}
        named = {f"training.{name}": value for name, value in training.items()}
        return session.train(toy.config(corpus, tmp_path / "run", named), quiet=True)

    return trained


def arrays(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    return {name: tensor.numpy() for name, tensor in read_tensors(path)[0].items()}


def same(one: Path, other: Path) -> bool:
    first, second = arrays(one), arrays(other)
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


def checkpoint_names(folder: RunFolder) -> set[str]:
    return {path.name for path in (folder.path / "checkpoints").iterdir()}


def best(folder: RunFolder) -> list[tuple[float, int]]:
    return [(validation.value, validation.step) for validation in checkpoint.progress(folder.last_state).best]


@pytest.mark.slow
def test_the_model_is_the_mean_of_the_best(finished: Callable[..., RunFolder], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ValidationRecord, "as_good_as", lambda *arguments: True)
    folder = finished(count=3)
    steps = [step for _, step in best(folder)]
    assert len(steps) == 3
    files = [arrays(folder.checkpoint(step)) for step in steps]
    for name, array in arrays(folder.weights()).items():
        wanted = np.sum([file[name].astype(np.float64) for file in files], 0) / 3
        np.testing.assert_array_equal(array, wanted.astype(np.float32))
    assert read_note(folder.weights()) == {"mean of steps": sorted(steps), "of": "best"}
    told_alike(folder, "the mean of the best 3")


@pytest.mark.slow
def test_the_model_may_be_the_mean_of_the_last(
    finished: Callable[..., RunFolder], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever their scores, which were the better the earlier."""
    monkeypatch.setattr(ValidationRecord, "as_good_as", lambda *arguments: True)
    monkeypatch.setattr(ValidationRecord, "rank", lambda validated, higher: (False, float(validated.step), 0.0))
    folder = finished(count=3, of="last", epochs=5, metric="loss")
    steps = [validated.step for validated in checkpoint.progress(folder.last_state).validations][-3:]
    assert steps[0] > 4
    files = [arrays(folder.checkpoint(step)) for step in steps]
    for name, array in arrays(folder.weights()).items():
        wanted = np.sum([file[name].astype(np.float64) for file in files], 0) / 3
        np.testing.assert_array_equal(array, wanted.astype(np.float32))
    assert read_note(folder.weights()) == {"mean of steps": steps, "of": "last"}
    assert checkpoint_names(folder) == {"last.safetensors", *(f"step-{step:08d}.safetensors" for step in steps)}
    assert describe_weights(read_note(folder.weights())) == "the mean of the last 3"
    average.average(average.AverageOptions(folder.path, tmp_path / "two.safetensors", last=2))
    assert read_note(tmp_path / "two.safetensors") == {"mean of": [folder.checkpoint(step).name for step in steps[-2:]]}


@pytest.mark.slow
def test_the_best_is_used_where_the_mean_of_the_last_is_worse(
    finished: Callable[..., RunFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ValidationRecord, "as_good_as", lambda *arguments: False)
    monkeypatch.setattr(ValidationRecord, "rank", lambda validated, higher: (False, float(validated.step), 0.0))
    folder = finished(count=2, of="last")
    assert same(folder.weights(), folder.weights("model-best"))
    note = read_note(folder.weights())
    assert (note["step"], note["worse"], note["of"]) == (4, [12, 16], "last")
    assert describe_weights(note).startswith("the best, of step 4: the mean of the last 2 was worse (")


@pytest.mark.slow
def test_more_of_the_last_are_averaged_as_far_as_they_are_kept(
    finished: Callable[..., RunFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finished run that is started with more of them has those that it kept."""
    monkeypatch.setattr(ValidationRecord, "as_good_as", lambda *arguments: True)
    finished(count=2, of="last")
    folder = finished(count=4, of="last")
    assert read_note(folder.weights()) == {"mean of steps": [12, 16], "of": "last"}


@pytest.mark.slow
def test_a_run_with_other_settings_averages_the_best_as_far_as_they_are_kept(
    finished: Callable[..., RunFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The earlier weights are the better ones here; of the last ones, none is among them."""
    monkeypatch.setattr(ValidationRecord, "as_good_as", lambda *arguments: True)
    monkeypatch.setattr(ValidationRecord, "rank", lambda validated, higher: (False, float(validated.step), 0.0))
    finished(count=2, of="last")
    assert read_note(finished(count=2, of="best").weights()) == {"step": 4}
    finished(count=1)
    assert read_note(finished(count=3, epochs=5).weights()) == {"mean of steps": [20], "of": "best"}


@pytest.mark.slow
def test_the_best_is_used_where_the_mean_is_worse(
    finished: Callable[..., RunFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ValidationRecord, "as_good_as", lambda *arguments: False)
    folder = finished()
    assert same(folder.weights(), folder.weights("model-best"))
    note = read_note(folder.weights())
    (_, step), (_, other) = best(folder)
    assert (note["step"], note["worse"]) == (step, sorted((step, other)))
    measured = f"bleu {note['value']:.2f}, loss {note['loss']:.4f}"
    told_alike(folder, f"the best, of step {step}: the mean of the best 2 was worse ({measured})")


def told_alike(folder: RunFolder, weights: str) -> None:
    """That the row, the card and `info` say of which validations the weights are, with figures of these weights."""
    run = Run.load(folder.path)
    labels = facts(run)
    assert ("weights", weights) in labels
    assert f"| weights | {weights}; chosen on bleu" in folder.card.read_text("utf-8")
    row = json.loads(folder.metrics.read_text("utf-8").splitlines()[-1])
    assert row["final/weights"] == weights
    assert row["final/memory_gb"] > 0.01
    memory = f"{row['final/memory_gb']:.2f} GB at most"
    assert ("memory of the process", memory) in labels
    assert f"| memory of the process | {memory} |" in folder.card.read_text("utf-8")
    measured = {score.name: score.value for score in inspection.scores(run, inspection.development(run)[0])}
    assert measured["BLEU-2"] == pytest.approx(row["final/bleu"])


@pytest.mark.slow
def test_what_is_chosen_is_what_the_last_row_and_the_card_tell(finished: Callable[..., RunFolder]) -> None:
    folder = finished(metric="loss")
    rows = [json.loads(line) for line in folder.metrics.read_text("utf-8").splitlines()]
    final, value = rows[-1]["final/loss"], best(folder)[0][0]
    assert final <= value
    assert ("step" in read_note(folder.weights())) == (final == value)
    assert f"perplexity | {rows[-1]['final/perplexity']:.2f}" in folder.card.read_text("utf-8")


@pytest.mark.slow
def test_fewer_are_averaged_when_a_finished_run_is_started_with_less(finished: Callable[..., RunFolder]) -> None:
    folder = finished(count=3)
    finished(count=1)
    assert same(folder.weights(), folder.weights("model-best"))
    told_alike(folder, f"the best, of step {best(folder)[0][1]}")


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3])
def test_exactly_the_best_checkpoints_stay(count: int, finished: Callable[..., RunFolder]) -> None:
    folder = finished(count=count)
    steps = [step for _, step in best(folder)]
    assert len(steps) == count
    assert checkpoint_names(folder) == {"last.safetensors", *(f"step-{step:08d}.safetensors" for step in steps)}
    assert same(folder.checkpoint(steps[0]), folder.weights("model-best"))


def test_keeping_writes_the_last_the_best_and_the_best_few(tmp_path: Path) -> None:
    selection, progress = Selection(RunFolder(tmp_path), TrainingConfig()), Progress()
    models = {step: build_model(seed=step) for step in (1, 2, 3)}
    for step, value in ((1, 5.0), (2, 9.0), (3, 1.0)):
        progress.step = step
        progress.record(ValidationRecord(value, 1.0, step), True, 2)
        selection.keep(models[step], progress)
    selection.prune(progress)
    assert checkpoint_names(selection.folder) == {"step-00000001.safetensors", "step-00000002.safetensors"}
    for name, step in (("model-best", 2), ("model-last", 3)):
        tensors, note = read_tensors(selection.folder.weights(name))
        assert note == {"step": step}
        assert all(tensors[key].equal(value) for key, value in weights(models[step]).items())


@pytest.mark.slow
def test_the_best_is_that_of_the_saved_validations(finished: Callable[..., RunFolder]) -> None:
    """A process that is killed after a better one may have left weights of a step that the run then never reaches."""
    folder = finished(count=1)
    (step,) = checkpoint_names(folder) - {"last.safetensors"}
    tensors, note = read_tensors(folder.checkpoint(int(step[5:13])))
    write_tensors(folder.weights("model-best"), {name: tensor + 1 for name, tensor in tensors.items()}, {"step": 999})
    Selection(folder, TrainingConfig()).write_best(note["step"], {})
    assert read_note(folder.weights()) == note
    loaded_tensors = read_tensors(folder.weights())[0]
    assert all(torch.equal(loaded_tensors[name], tensor) for name, tensor in tensors.items())
    folder.checkpoint(int(step[5:13])).unlink()
    write_tensors(folder.weights("model-last"), tensors, note)
    Selection(folder, TrainingConfig()).write_best(note["step"], {"kept": True})
    assert read_note(folder.weights()) == {**note, "kept": True}


def test_other_files_are_not_pruned(tmp_path: Path) -> None:
    mine = tmp_path / "checkpoints" / "mine.safetensors"
    mine.parent.mkdir()
    mine.touch()
    Selection(RunFolder(tmp_path), TrainingConfig()).prune(Progress())
    assert mine.exists()


def test_a_finished_run_has_all_its_files_and_nothing_else(finished: Callable[..., RunFolder]) -> None:
    assert {path.name for path in finished(epochs=1).path.iterdir()} == FILES


@pytest.mark.slow
@pytest.mark.parametrize("name", ["model", "model-best", "model-last"])
def test_each_of_the_weights_can_be_used(name: str, finished: Callable[..., RunFolder]) -> None:
    folder = finished(epochs=1)
    assert dragoman.load(folder.path, weights=name).translate(["one two"])[0].source == "one two"


def test_the_card_tells_data_sizes_scores_and_signatures(finished: Callable[..., RunFolder]) -> None:
    folder = finished(epochs=1)
    card = folder.card.read_text("utf-8")
    run = Run.load(folder.path)
    parameters = sum(parameter.numel() for parameter in run.model().parameters())
    assert card.startswith("# en to fr\n")
    for words in ("60 of 60 pairs", "8 pairs", f"{parameters:,}", "4 steps, to epoch 1,", "rnn cell=gru size=12"):
        assert words in card
    assert "BLEU-2 = " in card
    assert "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp" in card
    assert "chrF2 = " in card
    table = [line for line in card.splitlines() if line.startswith("|")]
    assert all(line.count("|") == 3 for line in table)


@pytest.mark.slow
def test_the_card_counts_an_epoch_that_ends_with_the_steps(corpus: Path, tmp_path: Path) -> None:
    config = toy.config(corpus, tmp_path / "run", {"training.epochs": None, "training.steps": 8})
    assert "| 8 steps, to epoch 2, " in session.train(config, quiet=True).card.read_text("utf-8")


@pytest.mark.slow
def test_the_configuration_in_the_folder_is_complete(corpus: Path, tmp_path: Path, assembled: Any) -> None:
    config = toy.config(corpus, tmp_path / "run", {"training.epochs": 1})
    folder = session.train(config, quiet=True)
    again: Config = checks.load_config(folder.config)
    assert again == checks.complete(config)
    assert again.model.decoder.options["input_feeding"] == "none"
    run: Training = assembled(again)
    assert run.progress.step == 4
