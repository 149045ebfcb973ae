"""State is whole, by toy parts: persistent buffers, and parameters whose first gradient comes late or never."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dragoman
from dragoman.cli import average
from dragoman.data.batch import Batch
from dragoman.data.vocabulary import SymbolTable
from dragoman.deployment import export
from dragoman.errors import UserError
from dragoman.model.output.output import Loss, Readout
from dragoman.model.output.softmax import SoftmaxOutput
from dragoman.model.output.table import OUTPUTS
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.weights import average_weights, load_weights, read_tensors, weights, write_tensors
from dragoman.run.folder import RunFolder
from dragoman.run.run import Run
from dragoman.training import session
from dragoman.training.objectives.objective import Objective, ObjectiveContext
from dragoman.training.objectives.table import OBJECTIVES
from dragoman.training.objectives.teacher_forcing import force_targets
from tests import toy

OPTIONS: dict[str, Any] = {"model.output": "tree", "training.objective": "late", "training.save_every": 1}
SAVED = {"output.leaves", "output.late", "output.unused"}


class Tree(SoftmaxOutput):  # type: ignore[misc]
    """The softmax over the leaves of a tree, which are drawn: a model that is loaded finds its symbols there only where
    they were saved.
    """

    def __init__(self, features_size: int, symbols: SymbolTable, *parts: Any) -> None:
        super().__init__(features_size, symbols, *parts)
        self.leaves: Tensor
        self.register_buffer("leaves", torch.randperm(len(symbols)))
        self.register_buffer("passing", torch.zeros(3), persistent=False)
        self.late = nn.Parameter(torch.ones(2))
        self.unused = nn.Parameter(torch.ones(2))

    def logits(self, features: Tensor) -> Tensor:
        return super().logits(features)[:, self.leaves]

    def loss(self, readout: Readout, targets: Tensor) -> Loss:
        return super().loss(readout, self.leaves[targets])


class Late(Objective):
    """Teacher forcing, which from the third step on trains a parameter of the output too."""

    def __init__(self, context: ObjectiveContext) -> None:
        super().__init__(context)
        self.steps: Tensor
        self.register_buffer("steps", torch.tensor(0))

    def forward(self, model: Seq2Seq, batch: Batch) -> Loss:
        loss = force_targets(model, batch).loss
        assert isinstance(model.output, Tree)
        return loss if self.steps < 2 else loss._replace(total=loss.total + model.output.late.square().sum())

    def after_step(self, updated: bool) -> None:
        self.steps += 1


class Killed(BaseException):
    """The process is gone."""


@pytest.fixture(autouse=True)
def _parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OUTPUTS, "tree", Tree)
    monkeypatch.setitem(OBJECTIVES, "late", Late)


@pytest.fixture
def train(corpus: Path, tmp_path: Path) -> Callable[..., RunFolder]:
    def trained(name: str, **options: Any) -> RunFolder:
        return session.train(toy.config(corpus, tmp_path / name, {**OPTIONS, **options}), quiet=True)

    return trained


def bits(folder: RunFolder) -> dict[str, dict[str, bytes]]:
    files = sorted(folder.path.rglob("*.safetensors"))
    tensors = {str(path.relative_to(folder.path)): read_tensors(path)[0] for path in files}
    return {name: {key: tensor.numpy().tobytes() for key, tensor in state.items()} for name, state in tensors.items()}


@pytest.mark.slow
@pytest.mark.parametrize("step", [2, 3, 4])
def test_killed_before_and_after_the_first_gradient(
    step: int, train: Callable[..., RunFolder], meddle: Callable[..., None]
) -> None:
    """Saved at every step; the parameter has moments from the third on, and one never has any."""
    straight = bits(train("straight"))

    def kill(loss: Loss, model: Seq2Seq) -> Loss:
        raise Killed

    meddle({step: kill})
    with pytest.raises(Killed):
        train("killed")
    meddle({})
    folder = train("killed")
    assert bits(folder) == straight
    state = read_tensors(folder.last_state)[0]
    assert state["weights/objective.steps"] == 8
    assert state["optimizer/model.output.late/step"] == 6
    assert not any(name.startswith("optimizer/model.output.unused") for name in state)


def test_buffers_are_in_every_file_of_weights_but_passing_ones(train: Callable[..., RunFolder]) -> None:
    folder = train("run")
    leaves = read_tensors(folder.last_state)[0]["weights/model.output.leaves"]
    assert not torch.equal(leaves, torch.arange(len(leaves)))
    assert leaves.dtype is torch.int64
    files = [path for path in folder.path.rglob("*.safetensors") if path != folder.last_state]
    assert len(files) == 5
    for path in files:
        tensors = read_tensors(path)[0]
        assert tensors.keys() > SAVED
        assert torch.equal(tensors["output.leaves"], leaves)
        assert not any("passing" in name for name in tensors)


@pytest.mark.slow
def test_a_loaded_run_has_them_in_every_engine(train: Callable[..., RunFolder], tmp_path: Path) -> None:
    folder = train("run", **{"training.epochs": 8, "training.search": "greedy"})
    lines = [text for text, _ in toy.pairs(6, 9, 3)]
    wanted = [translation.text for translation in dragoman.load(folder.path).translate(lines)]
    assert len(set(wanted)) > 1
    target = tmp_path / "mean.safetensors"
    average.average(
        average.AverageOptions(folder.path, target, [folder.weights("model-best"), folder.weights("model")])
    )
    leaves = [read_tensors(path)[0]["output.leaves"] for path in (target, folder.weights())]
    assert torch.equal(*leaves)
    assert [sentence.text for sentence in dragoman.load(folder.path, engine="int8").translate(lines)] == wanted
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    export.write(Run.load(folder.path))
    assert [sentence.text for sentence in dragoman.load(folder.path, engine="onnx").translate(lines)] == wanted


@pytest.mark.slow
@pytest.mark.parametrize("name", ["output.leaves", "output.late"])
def test_a_file_without_one_or_of_another_size_is_told(
    name: str, train: Callable[..., RunFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = train("run", **{"training.steps": 1})
    tensors, note = read_tensors(folder.weights())
    for spoiled in (
        {key: tensor for key, tensor in tensors.items() if key != name},
        {**tensors, name: tensors[name][1:]},
        {**tensors, name: tensors[name].to(torch.int32 if tensors[name].is_floating_point() else torch.float32)},
    ):
        write_tensors(folder.weights(), spoiled, note)
        with pytest.raises(UserError, match=rf"model\.safetensors: weights of another model \(.*{name}"):
            dragoman.load(folder.path).translate(["one"])
    tensors, note = read_tensors(folder.last_state)
    for spoiled in (
        {key: tensor for key, tensor in tensors.items() if key != f"weights/model.{name}"},
        {**tensors, f"weights/model.{name}": tensors[f"weights/model.{name}"][1:]},
    ):
        write_tensors(folder.last_state, spoiled, note)
        with pytest.raises(UserError, match=rf"last\.safetensors: weights of another model \(.*{name}"):
            train("run", **{"training.steps": 2})


def test_the_mean_of_buffers(tmp_path: Path) -> None:
    """Numbers with a fraction are averaged; integers and truth values are those of all files, or there is no mean."""
    paths = [tmp_path / name for name in "abc"]
    same = {"tree": torch.tensor([2, 2**60 + 1]), "real": torch.tensor([True, False])}
    for number, path in enumerate(paths):
        write_tensors(path, {**same, "noise": torch.tensor([0.1, number])}, {})
    averaged = average_weights(paths)
    assert torch.equal(averaged["tree"], same["tree"])
    assert torch.equal(averaged["real"], same["real"])
    assert torch.equal(averaged["noise"], torch.tensor([0.1, 1.0]))
    write_tensors(paths[1], {**same, "tree": torch.tensor([2, 3]), "noise": torch.zeros(2)}, {})
    with pytest.raises(UserError, match=r"b: tree differs from that of .*a"):
        average_weights(paths)


def test_a_buffer_that_two_parts_share_is_saved_once() -> None:
    class Part(nn.Module):
        def __init__(self, tree: Tensor) -> None:
            super().__init__()
            self.register_buffer("tree", tree)

    tree = torch.arange(3)
    both = nn.ModuleList([Part(tree), Part(tree)])
    assert weights(both).keys() == {"0.tree"}
    load_weights(both, {"0.tree": torch.tensor([2, 1, 0])}, Path("here"))
    assert tree.tolist() == [2, 1, 0]
