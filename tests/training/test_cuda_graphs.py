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
from dragoman.model.seq2seq import Seq2Seq
from dragoman.torch_internals import WaitsForGpu
from dragoman.training.cuda_graphs import SEEN, CudaGraphs
from dragoman.training.objectives.consistency import Consistency, NoConsistency, RDrop, TokenCutoff
from dragoman.training.objectives.objective import MakePasses
from dragoman.training.objectives.teacher_forcing import TeacherForcing
from tests.builders import BATCH, build_model, context, pairs, settings, whole

SELF = {"kind": "self_attention", "size": 4, "layers": 1, "heads": 2}
MODELS = {
    "recurrent": {"encoder": {"layers": 2}, "decoder": {"input_feeding": "attentional", "readout": "tanh"}},
    "self-attention": {"encoder": SELF, "decoder": SELF, "bridge": "none", "score": "scaled_dot"},
    "convolutional": {"encoder": {"kind": "convolutional", "size": 4, "layers": 2}, "bridge": "mean"},
    "sparsemax": {"normalizer": "sparsemax", "terms": ["coverage", "position"]},
    "linear chain": {"normalizer": "linear_chain"},
}
GPU, CPU = torch.device("cuda", 0), torch.device("cpu")
OTHER = pairs([[4, 5, 6, 7]], [[5, 4]])


def gradients(
    model: Seq2Seq, batch: Batch, forward_passes: MakePasses, consistency: Consistency | None = None
) -> list[Tensor]:
    """The loss, and the gradients of all parameters."""
    model.zero_grad()
    objective_context = context(model, forward_passes=forward_passes, consistency=consistency or NoConsistency())
    loss: Loss = TeacherForcing(objective_context)(model, batch)
    loss.total.backward()
    return [
        loss.total.detach(),
        *(parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None),
    ]


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_a_rounded_batch_has_the_same_loss_and_gradients(options: dict[str, Any]) -> None:
    model = build_model(**options).train()
    expected, computed = (gradients(model, batch, Consistency.forward_passes) for batch in (BATCH, BATCH.rounded()))
    torch.testing.assert_close(computed, expected)
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

    def __init__(self, fault: str = "", after: int = 0) -> None:
        self.fault, self.after = fault, after
        self.recorded: list[nn.Module] = []

    def __call__(self, module: nn.Module, inputs: tuple[Tensor, ...], **options: Any) -> nn.Module:
        assert options["allow_unused_input"]
        if self.fault and len(self.recorded) == self.after:
            try:
                raise RuntimeError(self.fault)
            except RuntimeError:
                raise RuntimeError("the recording failed")  # noqa: B904  # as torch does when it ends a recording
        module(*inputs)
        self.recorded.append(module)
        return module


@pytest.fixture
def _gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", object)
    monkeypatch.setattr(torch.random, "fork_rng", lambda *_: nullcontext())
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (80, 80))
    monkeypatch.setattr(torch.cuda, "default_stream", lambda device: "default")
    monkeypatch.setattr(torch.cuda, "set_stream", lambda stream: None)
    monkeypatch.setattr(torch.cuda, "default_generators", {None: Generator()})


@pytest.mark.usefixtures("_gpu")
def test_a_shape_that_comes_again_is_recorded_and_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "make_graphed_callables", recorder := Recorder())
    model = build_model().train()
    graphs = CudaGraphs(pytest.fail)
    for count in range(SEEN + 2):
        assert len(recorder.recorded) == (count >= SEEN)
        expected, computed = (
            gradients(model, BATCH, forward_passes) for forward_passes in (Consistency.forward_passes, graphs)
        )
        torch.testing.assert_close(computed, expected)
    gradients(model, OTHER, graphs)
    assert len(recorder.recorded) == 1
    expected, computed = (
        gradients(model, BATCH, forward_passes) for forward_passes in (Consistency.forward_passes, graphs)
    )
    torch.testing.assert_close(computed, expected)


@pytest.mark.slow
@pytest.mark.usefixtures("_gpu")
@pytest.mark.parametrize("consistency", [RDrop(weight=3.0), TokenCutoff(rate=0.5, views=2)])
def test_passes_that_are_compared_are_recorded_together(
    consistency: Consistency, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each draws what it would draw otherwise."""
    monkeypatch.setattr(torch.cuda, "make_graphed_callables", recorder := Recorder())
    model = build_model(embedding={"dropout": 0.3}).train()
    graphs = CudaGraphs(pytest.fail)
    for count in range(SEEN):
        losses = []
        for forward_passes in (Consistency.forward_passes, graphs):
            torch.manual_seed(count)
            losses.append(gradients(model, BATCH, forward_passes, consistency))
        if count < SEEN - 1:  # the stand-in draws for its recording, too
            torch.testing.assert_close(losses[1], losses[0])
    assert len(recorder.recorded) == 1
    losses = []
    for forward_passes in (Consistency.forward_passes, graphs):
        torch.manual_seed(9)
        losses.append(gradients(model, BATCH, forward_passes, consistency))
    torch.testing.assert_close(losses[1], losses[0])


@pytest.mark.usefixtures("_gpu")
def test_graphs_leave_memory_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "make_graphed_callables", recorder := Recorder())
    model = build_model().train()
    graphs = CudaGraphs(pytest.fail)
    for batch, free in ((BATCH, 80), (OTHER, 30)):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device, free=free: (free, 80))
        for _ in range(SEEN + 1):
            (loss,) = graphs(NoConsistency(), model, batch.sources, batch.target.ids)
            assert loss.unrolled.features.shape[:2] == batch.target.ids.shape
    assert len(recorder.recorded) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("_gpu")
def test_a_model_that_cannot_be_recorded_is_trained_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were recorded before are gone too: they would draw the same random numbers in every step."""
    recorder = Recorder("operation not permitted\nmore about it", after=1)
    monkeypatch.setattr(torch.cuda, "make_graphed_callables", recorder)
    monkeypatch.setattr(torch.cuda, "default_generators", {None: (generator := Generator())})
    messages = list[str]()
    model = build_model().train()
    graphs = CudaGraphs(messages.append)
    for batch in (*[BATCH] * SEEN, *[OTHER] * (SEEN + 1), BATCH):
        expected, computed = (
            gradients(model, batch, forward_passes) for forward_passes in (Consistency.forward_passes, graphs)
        )
        torch.testing.assert_close(computed, expected)
    assert messages == ["without CUDA graphs: operation not permitted"]
    assert not graphs.possible
    assert not graphs.graphs
    assert generator.state == "fresh"


@pytest.mark.usefixtures("_gpu")
@pytest.mark.parametrize(
    ("frozen", "reasons"), [("output", []), ("all else", ["no trained parameters before the loss"])]
)
def test_a_pass_without_gradients_is_not_replayed(
    frozen: str, reasons: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """There would be no graph of a backward pass."""
    monkeypatch.setattr(torch.cuda, "make_graphed_callables", Recorder())
    model = build_model().train()
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith("output.") is not (frozen == "output"))
    messages = list[str]()
    graphs = CudaGraphs(messages.append)
    for _ in range(SEEN):
        graphs(NoConsistency(), model, BATCH.sources, BATCH.target.ids)
    assert messages == [f"without CUDA graphs: {reason}" for reason in reasons]


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_a_pass_that_does_not_wait_is_let_through(options: dict[str, Any]) -> None:
    model = build_model(**options).train()
    with WaitsForGpu():
        model.forward_pass(BATCH.sources, BATCH.target.ids)


@pytest.mark.parametrize(
    "wait",
    [
        lambda x: x.sum().item(),
        lambda x: bool(x.any()),
        lambda x: x[x > 0],
        lambda x: x.nonzero(),
        lambda x: x.unique(),
        lambda x: x.masked_select(x > 0),
        lambda x: torch.linalg.inv(x.expand(2, 2) + torch.eye(2)),
        lambda x: x.index_put_((x > 0,), torch.zeros(())),
    ],
)
def test_a_result_that_a_program_waits_for_is_noticed(wait: Callable[[Tensor], object]) -> None:
    with pytest.raises(RuntimeError, match="a forward pass waits for the GPU"), WaitsForGpu():
        wait(torch.ones(2))


def test_graphs_are_for_what_can_be_replayed_on_a_gpu() -> None:
    of = Config.model_validate
    plain = whole(settings()).model_dump()
    gpu, cpu = Device(GPU, 1, torch.float32), Device(CPU, 1, torch.float32)
    assert CudaGraphs.wanted(of(plain), gpu)
    assert not CudaGraphs.wanted(of(plain), cpu)
    assert not CudaGraphs.wanted(of({**plain, "device": {"cuda_graphs": False}}), gpu)
    assert not CudaGraphs.wanted(of({**plain, "training": {"objective": "scheduled_sampling"}}), gpu)
