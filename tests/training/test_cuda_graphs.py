"""What can be told of CUDA graphs without a GPU; tests/test_cuda.py compares replays with passes."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dragoman.configuration.config import Config
from dragoman.data.batch import Batch
from dragoman.devices import Device
from dragoman.model.output.output import Loss
from dragoman.model.seq2seq import Pass, Seq2Seq
from dragoman.training import cuda_graphs
from dragoman.training.cuda_graphs import SEEN, CudaGraphs
from dragoman.training.objectives.teacher_forcing import TeacherForcing
from tests.builders import BATCH, build_model, context, pairs, settings, whole

SELF = {"kind": "self_attention", "size": 4, "layers": 1, "heads": 2}
MODELS = {
    "recurrent": {"encoder": {"layers": 2}, "decoder": {"feed": "attentional", "features": "tanh"}},
    "self-attention": {"encoder": SELF, "decoder": SELF, "bridge": "none", "score": "scaled_dot"},
    "convolutional": {"encoder": {"kind": "convolutional", "size": 4, "layers": 2}, "bridge": "mean"},
    "sparsemax": {"normaliser": "sparsemax", "terms": ["coverage", "position"]},
    "linear chain": {"normaliser": "linear_chain"},
}
GPU, CPU = torch.device("cuda", 0), torch.device("cpu")
OTHER = pairs([[4, 5, 6, 7]], [[5, 4]])


def gradients(model: Seq2Seq, batch: Batch, passed: Callable[[Seq2Seq, Batch], Pass]) -> list[Tensor]:
    """The loss, and the gradients of all parameters."""
    model.zero_grad()
    loss: Loss = TeacherForcing(context(model, passed=passed))(model, batch)
    loss.total.backward()
    return [loss.total.detach(), *(each.grad.clone() for each in model.parameters() if each.grad is not None)]


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_a_rounded_batch_has_the_same_loss_and_gradients(options: dict[str, Any]) -> None:
    model = build_model(**options).train()
    expected, found = (gradients(model, batch, Seq2Seq.passed) for batch in (BATCH, BATCH.rounded()))
    torch.testing.assert_close(found, expected)
    assert BATCH.rounded().target.ids.shape != BATCH.target.ids.shape


class Generator:
    """That of a GPU, which a recording that fails leaves behind unusable."""

    def __init__(self) -> None:
        self.state = "recording"

    def clone_state(self) -> str:
        return "fresh"

    def graphsafe_set_state(self, state: str) -> None:
        self.state = state


class Recorder:
    """Instead of torch's recording, which needs a GPU: the function itself."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.recorded: list[nn.Module] = []

    def __call__(self, module: nn.Module, inputs: tuple[Tensor, ...], **options: Any) -> nn.Module:
        assert options["allow_unused_input"]
        if self.fault:
            raise RuntimeError(self.fault)
        module(*inputs)
        self.recorded.append(module)
        return module


@pytest.fixture
def _gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", object)
    monkeypatch.setattr(torch.random, "fork_rng", lambda *_: nullcontext())


@pytest.mark.usefixtures("_gpu")
def test_a_shape_that_comes_again_is_recorded_and_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "make_graphed_callables", recorder := Recorder())
    model = build_model().train()
    graphs = CudaGraphs(pytest.fail)
    for count in range(SEEN + 2):
        assert len(recorder.recorded) == (count >= SEEN)
        expected, found = (gradients(model, BATCH, passed) for passed in (Seq2Seq.passed, graphs))
        torch.testing.assert_close(found, expected)
    gradients(model, OTHER, graphs)
    assert len(recorder.recorded) == 1
    expected, found = (gradients(model, BATCH, passed) for passed in (Seq2Seq.passed, graphs))
    torch.testing.assert_close(found, expected)


@pytest.mark.usefixtures("_gpu")
def test_there_is_an_end_to_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "make_graphed_callables", recorder := Recorder())
    monkeypatch.setattr(cuda_graphs, "MOST", 1)
    model = build_model().train()
    graphs = CudaGraphs(pytest.fail)
    for batch in (*[BATCH] * SEEN, *[OTHER] * (SEEN + 1)):
        assert graphs(model, batch).unrolled.features.shape[:2] == batch.target.ids.shape
    assert len(recorder.recorded) == 1


@pytest.mark.usefixtures("_gpu")
def test_a_model_that_cannot_be_recorded_is_trained_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "make_graphed_callables", Recorder("operation not permitted\nmore about it"))
    monkeypatch.setattr(torch.cuda, "default_generators", {None: (generator := Generator())})
    told = list[str]()
    model = build_model().train()
    graphs = CudaGraphs(told.append)
    for _ in range(SEEN + 2):
        expected, found = (gradients(model, BATCH, passed) for passed in (Seq2Seq.passed, graphs))
        torch.testing.assert_close(found, expected)
    assert told == ["without CUDA graphs: operation not permitted"]
    assert generator.state == "fresh"


def test_graphs_are_for_single_passes_on_a_gpu() -> None:
    of = Config.model_validate
    plain = whole(settings()).model_dump()
    gpu, cpu = Device(GPU, 1, torch.float32), Device(CPU, 1, torch.float32)
    assert CudaGraphs.wanted(of(plain), gpu)
    assert not CudaGraphs.wanted(of(plain), cpu)
    assert not CudaGraphs.wanted(of({**plain, "device": {"cuda_graphs": False}}), gpu)
    for training in ({"consistency": "r_drop"}, {"consistency": "token_cutoff"}, {"objective": "scheduled_sampling"}):
        assert not CudaGraphs.wanted(of({**plain, "training": training}), gpu)
