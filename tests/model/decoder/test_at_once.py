"""A decoder without feedback attends to all steps at once, and nothing else changes."""

from typing import Any, final

import pytest
import torch
from torch import Tensor

from dragoman.model.attention.attention import GlobalAttention
from dragoman.model.attention.normalizers import Softmax
from dragoman.model.attention.scores import SCORES, DotScore
from dragoman.model.attention.terms.term import AttentionTerm, TermInput, TermOutput, TermSizes
from dragoman.model.attention.windows import LocalAttention, Monotonic
from dragoman.model.decoder.rnn_decoder import RnnDecoder
from tests.builders import BATCH, build_model
from tests.model.test_linear import gradients


@pytest.mark.spec("B22")
@pytest.mark.parametrize("variational", [True, False])
@pytest.mark.parametrize("score", [score for score in SCORES if SCORES[score].is_matmul])
def test_features_weights_and_gradients_are_those_of_one_step_after_another(score: str, variational: bool) -> None:
    """The score is asked once instead of at each of five steps."""
    part = {"layers": 2, "readout": "deep", "dropout": 0.3, "variational": variational, "external_memory": 3}
    model = build_model(score=score, decoder=part).train()
    shapes: list[tuple[int, ...]] = []
    assert isinstance(model.decoder, RnnDecoder)
    model.decoder.attention.attention.score.register_forward_pre_hook(lambda _, inputs: shapes.append(inputs[0].shape))
    tensors = []
    assert model.decoder.defers_attention
    for defers_attention in (True, False):
        model.decoder.defers_attention = defers_attention
        torch.manual_seed(1)
        unrolled = model(BATCH)
        torch.manual_seed(1)
        tensors.append([unrolled.features, unrolled.weights, *gradients(model)])
    assert shapes == [(3, 5, 4)] * 2 + [(3, 1, 4)] * 10
    for one, other in zip(*tensors, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {"decoder": {"attend": "before"}},
        {"decoder": {"attend": "between"}},
        {"decoder": {"input_feeding": "context"}},
        {"decoder": {"input_feeding": "attentional"}},
        {"score": "additive"},  # which would hold (B, T, S, A)
        {"score": "none"},
    ],
)
def test_others_attend_step_by_step(options: dict[str, Any]) -> None:
    assert not build_model(**{"score": "dot", **options}).decoder.defers_attention


@final
class Silent(AttentionTerm):
    """Says nothing."""

    def __init__(self) -> None:
        super().__init__(TermSizes(4, 4, 4, 9), 0)

    def start(self, weights: Tensor, prepared: Any) -> Any:
        return ()

    def forward(self, moment: TermInput, prepared: Any, carried: Any) -> TermOutput:
        return TermOutput(())


def test_so_do_those_with_terms_or_a_window() -> None:
    whole = GlobalAttention(DotScore(4, 4), Softmax())
    assert whole.batches_steps
    assert not GlobalAttention(DotScore(4, 4), Softmax(), [Silent()]).batches_steps
    assert not LocalAttention(whole, Monotonic(4)).batches_steps
