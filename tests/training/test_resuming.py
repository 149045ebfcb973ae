"""The same seed gives the same bits, and so does a run that was stopped or killed anywhere and started again."""

import json
import math
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import save

from dragoman.cli import average
from dragoman.errors import UserError
from dragoman.model.output.output import Loss
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.weights import NOTE, read_tensors
from dragoman.run.folder import RunFolder
from dragoman.training import checkpoint, session, trainer
from dragoman.training.checkpoint import Selection
from dragoman.training.progress import Progress
from tests import toy
from tests.golden import Golden

Meddle = Callable[[dict[int, Callable[[Loss, Seq2Seq], Loss]]], None]
Train = Callable[..., RunFolder]

PLAIN: dict[str, Any] = {"training.epochs": 3}  # four steps each
OFTEN = {**PLAIN, "training.validate_every": 3, "training.schedule": {"kind": "plateau", "patience": 1}}
PENALIZED = {  # with parameters of the objective
    **PLAIN,
    "training.penalties": [{"kind": "fertility"}, {"kind": "coverage", "weight": 0.5, "begin": 0.3}],
}
BOTH = {**PLAIN, "training.objective": "agreement"}
NOISE = {**PLAIN, "model.output": {"kind": "nce", "samples": 5}}
PORTIONS = {  # of two or three batches, with other symbols in every epoch
    **PLAIN,
    **toy.SUBWORDS,
    "training.batch.size": 4,
    "model.output": {"kind": "partitioned", "portion": 25},
}
AVERAGED = {  # in steps of three batches
    **PLAIN,
    "training.moving_average": 0.9,
    "training.batch": {"size": 4, "accumulate": 3},
    "training.average_checkpoints.of": "last",
    "model.encoder": {"kind": "rnn", "size": 12, "dropout": 0.2},
}
CASES = {
    "plain": PLAIN,
    "often": OFTEN,
    "subwords": {**PLAIN, **toy.SUBWORDS},
    "penalized": PENALIZED,
    "both": BOTH,
    "noise": NOISE,
    "portions": PORTIONS,
    "average": AVERAGED,
}
TIMES = ("time", "train/symbols_per_second", "final/memory_gb")


class Killed(BaseException):
    """The process is gone."""


def interrupt(loss: Loss, model: Seq2Seq) -> Loss:
    signal.raise_signal(signal.SIGINT)
    return loss


def kill(loss: Loss, model: Seq2Seq) -> Loss:
    raise Killed


def diverge(loss: Loss, model: Seq2Seq) -> Loss:
    return loss._replace(total=loss.total * math.nan)


@pytest.fixture(autouse=True)
def _frequent_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer, "LOG_EVERY", 3)


@pytest.fixture
def train(corpus: Path, tmp_path: Path) -> Train:
    """Trains, or goes on, in a folder with that name."""

    def trained(name: str, options: dict[str, Any]) -> RunFolder:
        return session.train(toy.config(corpus, tmp_path / name, options), quiet=True)

    return trained


@pytest.fixture(scope="module")
def straight(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The results of runs that nobody disturbed, each of which is made when it is first looked up."""
    folder = tmp_path_factory.mktemp("straight")

    class Results(dict[str, dict[str, Any]]):
        def __missing__(self, name: str) -> dict[str, Any]:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(trainer, "LOG_EVERY", 3)
                run = session.train(toy.config(corpus, folder / name, CASES[name]), quiet=True)
            self[name] = result(run)
            return self[name]

    return Results()


def result(run: RunFolder) -> dict[str, Any]:
    """Every bit that training is to repeat: weights, moments, progress and metrics, but no times."""
    contents: dict[str, Any] = {"metrics": [shown(line) for line in run.metrics.read_text("utf-8").splitlines()]}
    for path in sorted(run.path.rglob("*.safetensors")):
        tensors, note = read_tensors(path)
        bits = {name: tensor.numpy().tobytes() for name, tensor in tensors.items()}
        progress = {key: value for key, value in note.items() if key not in ("seconds", "updating", "memory")}
        contents[str(path.relative_to(run.path))] = bits, progress
    return contents


def shown(line: str) -> dict[str, Any]:
    return {key: value for key, value in json.loads(line).items() if key not in TIMES}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
def test_the_same_seed_gives_the_same_bits(case: str, straight: dict[str, Any], train: Train) -> None:
    assert result(train("again", CASES[case])) == straight[case]


@pytest.mark.slow
def test_rows_of_metrics_tell_what_the_loss_is_made_of(straight: dict[str, Any]) -> None:
    for case, parts in (
        ("penalized", ("cross_entropy", "fertility", "coverage")),
        ("both", ("cross_entropy", "agreement")),
    ):
        rows = [row for row in straight[case]["metrics"] if "train/loss" in row]
        assert rows
        for row in rows:
            assert sum(row[f"train/{part}"] for part in parts) == pytest.approx(row["train/loss"], rel=1e-5)
    assert not any("train/cross_entropy" in row for row in straight["plain"]["metrics"])


@pytest.mark.slow
def test_another_seed_gives_others(straight: dict[str, Any], train: Train) -> None:
    other = result(train("other", {**PLAIN, "seed": 4}))
    assert other["model.safetensors"] != straight["plain"]["model.safetensors"]


@pytest.mark.parametrize(
    ("case", "step"),
    [
        ("plain", 1),  # long before anything was validated
        ("plain", 4),  # at the end of an epoch, before it is validated
        ("plain", 5),  # after a validation
        ("plain", 12),  # at the very end
        ("often", 3),  # at a validation, which comes first
        ("often", 8),
        ("subwords", 6),
        ("penalized", 7),
        ("both", 7),
        ("noise", 7),
        pytest.param("portions", 21, marks=pytest.mark.spec("D8")),
        pytest.param("portions", 22, marks=pytest.mark.spec("D8")),
    ],
)
@pytest.mark.slow
def test_stopped_and_started_again_is_as_if_never_stopped(
    case: str, step: int, straight: dict[str, Any], train: Train, meddle: Meddle
) -> None:
    meddle({step: interrupt})
    with pytest.raises(KeyboardInterrupt, match=f"step {step}"):
        train("run", CASES[case])
    meddle({})
    assert result(train("run", CASES[case])) == straight[case]


@pytest.mark.parametrize(("loss", "step"), [(7, 3), (15, 5), (20, 7)])  # five steps an epoch, of 15 batches
@pytest.mark.slow
def test_stopped_within_a_step_of_several_batches(
    loss: int, step: int, straight: dict[str, Any], train: Train, meddle: Meddle
) -> None:
    meddle({loss: interrupt})
    with pytest.raises(KeyboardInterrupt, match=f"step {step} "):
        train("run", AVERAGED)
    meddle({})
    assert result(train("run", AVERAGED)) == straight["average"]


@pytest.mark.slow
def test_stopped_again_and_again(straight: dict[str, Any], train: Train, meddle: Meddle) -> None:
    for _ in range(4):
        meddle({3: interrupt})  # steps of this process
        with pytest.raises(KeyboardInterrupt):
            train("run", OFTEN)
    meddle({})
    assert result(train("run", OFTEN)) == straight["often"]


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 7, 11])
def test_killed_and_started_again_is_as_if_never_killed(
    step: int, straight: dict[str, Any], train: Train, meddle: Meddle
) -> None:
    often_saved = {**PLAIN, "training.save_every": 2}
    meddle({step: kill})
    with pytest.raises(Killed):
        train("run", often_saved)
    meddle({})
    assert result(train("run", often_saved)) == straight["plain"]


@pytest.mark.slow
@pytest.mark.parametrize("loss", [2, 11, 25])
def test_killed_within_a_step_of_several_batches(
    loss: int, straight: dict[str, Any], train: Train, meddle: Meddle
) -> None:
    often_saved = {**AVERAGED, "training.save_every": 2}
    meddle({loss: kill})
    with pytest.raises(Killed):
        train("run", often_saved)
    meddle({})
    assert result(train("run", often_saved)) == straight["average"]


@pytest.mark.slow
@pytest.mark.parametrize("save_every", [3, 100])  # with a saved state, and without any
@pytest.mark.parametrize("place", [(Selection, "keep"), (checkpoint, "save")])
def test_killed_while_a_validation_is_written_down(
    place: tuple[Any, str],
    save_every: int,
    straight: dict[str, Any],
    train: Train,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = {**PLAIN, "training.save_every": save_every}
    whole, calls = getattr(*place), []

    def killed(*arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) == (2 if save_every == 3 and place[1] == "save" else 1):
            raise Killed
        whole(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(*place, killed)
        with pytest.raises(Killed):
            train("run", options)
    assert result(train("run", options)) == straight["plain"]


@pytest.mark.slow
def test_diverged_and_started_again_diverges_again_or_ends_as_if_nothing_had_happened(
    straight: dict[str, Any], train: Train, meddle: Meddle, tmp_path: Path
) -> None:
    often_saved = {**PLAIN, "training.save_every": 1, "training.max_nonfinite_steps": 2}
    messages, states = [], []
    for steps in ((7, 8), (2, 3)):  # the same ones, counted from the beginning and from step 5
        meddle(dict.fromkeys(steps, diverge))
        with pytest.raises(UserError) as error:
            train("run", often_saved)
        messages.append(str(error.value))
        states.append(RunFolder(tmp_path / "run").last_state.read_bytes())
    assert messages[0] == messages[1]
    assert "(step 8); the state of step 5 is saved" in messages[0]
    assert states[0] == states[1]
    meddle({})
    assert result(train("run", often_saved)) == straight["plain"]


@pytest.mark.slow
def test_stopped_while_steps_are_skipped_it_goes_on_before_them(
    straight: dict[str, Any], train: Train, meddle: Meddle
) -> None:
    often_saved = {**PLAIN, "training.save_every": 1}
    meddle({6: diverge, 7: lambda loss, model: interrupt(diverge(loss, model), model)})
    with pytest.raises(KeyboardInterrupt, match="everything up to step 4 is saved"):
        train("run", often_saved)
    meddle({})
    assert result(train("run", often_saved)) == straight["plain"]


def test_stopped_before_anything_was_worth_saving(train: Train, meddle: Meddle, tmp_path: Path) -> None:
    meddle({1: lambda loss, model: interrupt(diverge(loss, model), model)})
    with pytest.raises(KeyboardInterrupt, match="nothing is saved yet"):
        train("run", PLAIN)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_stopped_in_the_last_validation_it_does_not_go_on_to_finish(
    straight: dict[str, Any], train: Train, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keep = Selection.keep

    def interrupt_and_keep(selection: Selection, model: Seq2Seq, progress: Progress) -> None:
        if progress.step == 12:
            signal.raise_signal(signal.SIGINT)
        keep(selection, model, progress)

    with monkeypatch.context() as patch:
        patch.setattr(Selection, "keep", interrupt_and_keep)
        with pytest.raises(KeyboardInterrupt, match="everything up to step 12 is saved; repeat the command to resume"):
            train("run", PLAIN)
    assert not RunFolder(tmp_path / "run").weights().exists()
    assert result(train("run", PLAIN)) == straight["plain"]


@pytest.mark.slow
def test_a_finished_run_started_again_stays_as_it_is(straight: dict[str, Any], train: Train, meddle: Meddle) -> None:
    train("run", PLAIN)
    meddle({1: kill})  # no step is made
    assert result(train("run", PLAIN)) == straight["plain"]


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["epochs", "steps"])
def test_a_finished_run_goes_on_when_its_limit_is_raised(limit: str, straight: dict[str, Any], train: Train) -> None:
    first = {"epochs": {"training.epochs": 2}, "steps": {"training.epochs": 3, "training.steps": 8}}[limit]
    train("run", first)
    assert result(train("run", PLAIN)) == straight["plain"]


@pytest.mark.slow
def test_a_finished_run_goes_on_when_patience_is_raised(train: Train) -> None:
    still = {"training.optimizer": {"kind": "adam", "learning_rate": 1e-12}, "training.metric": "accuracy"}
    options = {**still, "training.epochs": 4, "training.average_checkpoints.count": 1}
    short = read_tensors(train("run", {**options, "training.patience": 1}).last_state)[1]
    long = read_tensors(train("run", {**options, "training.patience": 9}).last_state)[1]
    assert (short["epoch"], long["epoch"]) == (2, 4)


@pytest.mark.slow
def test_says_where_it_goes_on(
    corpus: Path, tmp_path: Path, meddle: Meddle, capsys: pytest.CaptureFixture[str]
) -> None:
    config = toy.config(corpus, tmp_path / "run", PLAIN)
    meddle({5: interrupt})
    with pytest.raises(KeyboardInterrupt):
        session.train(config)
    assert "going on" not in capsys.readouterr().err
    meddle({})
    session.train(config)
    assert f"{config.run}: resuming from step 5" in capsys.readouterr().err


@pytest.mark.slow
def test_a_state_of_other_sizes_is_told_before_a_model_of_these_is_made(
    corpus: Path, tmp_path: Path, train: Train, meddle: Meddle, golden: Golden
) -> None:
    meddle({6: interrupt})
    with pytest.raises(KeyboardInterrupt):
        train("run", PLAIN)
    meddle({})
    config = RunFolder(tmp_path / "run").config
    config.write_text(config.read_text("utf-8").replace("size: 24", "size: 1048576"), encoding="utf-8")
    with pytest.raises(UserError, match=r"last\.safetensors:") as raised:
        train("run", {**PLAIN, "model.decoder": {"kind": "rnn", "size": 2**20, "readout": "deep"}})
    golden(str(raised.value))


@pytest.mark.slow
@pytest.mark.parametrize("note", [[], {"best": 3}, {**Progress().to_json(), "best": "3"}])
def test_a_crafted_state_is_told(note: Any, corpus: Path, tmp_path: Path, train: Train, golden: Golden) -> None:
    state = train("run", {"training.steps": 1}).last_state
    held = read_tensors(state)[0]
    state.write_bytes(save(held, metadata={NOTE: json.dumps(note)}))
    for call in (
        lambda: train("run", PLAIN),
        lambda: average.average(average.AverageOptions(tmp_path / "run", tmp_path / "mean")),
    ):
        with pytest.raises(UserError, match=r"last\.safetensors:") as error:
            call()
        golden(str(error.value))
        assert "\n" not in str(error.value)


@pytest.mark.slow
def test_a_state_of_another_objective_is_told(train: Train, tmp_path: Path, golden: Golden) -> None:
    state = train("run", {"training.steps": 1}).last_state
    tensors, note = read_tensors(state)
    state.write_bytes(save(tensors, metadata={NOTE: json.dumps({**note, "parts": [1.0, 2.0, 3.0]})}))
    with pytest.raises(UserError, match=r"last\.safetensors:") as raised:
        train("run", PLAIN)
    golden(str(raised.value))


def test_a_damaged_state_is_told_and_stays(
    corpus: Path, tmp_path: Path, train: Train, meddle: Meddle, golden: Golden
) -> None:
    meddle({6: interrupt})
    with pytest.raises(KeyboardInterrupt):
        train("run", PLAIN)
    meddle({})
    state = RunFolder(tmp_path / "run").last_state
    state.write_bytes(damaged := state.read_bytes()[:-9])
    with pytest.raises(UserError, match=r"last\.safetensors:") as raised:
        train("run", PLAIN)
    golden(str(raised.value))
    assert state.read_bytes() == damaged
