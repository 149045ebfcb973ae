"""How the probability of given symbols depends on the vectors that the encoders read."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dragoman.data.batch import Batch
from dragoman.model.encoder.source_encoder import SourceEncoder
from dragoman.model.predictor import Predictor, ScoredBatch
from dragoman.model.shapes import Float


class Saliency(NamedTuple):
    """The scores of a batch, and gradient times input of every step for each sequence that is read."""

    scored: ScoredBatch
    maps: tuple[Float[Tensor, "B T _"], ...]


def compute_saliency(model: Predictor[Any], source_encoders: Iterable[SourceEncoder], batch: Batch) -> Saliency:
    """Gradient times input (Denil et al. 2014, Li et al. 2016a, Ding et al. 2019), for symbol t and position j

        `m_tj = sum_d x_jd  d log P(y_t | y_<t, x) / d x_jd`

    in nats, where `x_j` is the vector that the encoder reads at position j: the embedding of a symbol, or the numbers
    of a region. To first order it is what log P would lose if the vector were 0. The prefix `y_<t` stays as it is. No
    gradient flows through what is no function of vectors: the symbols that an output copies, or the position that hard
    attention has chosen; it flows through all else.

    `source_encoders` are those of the model in the order in which they read; of an ensemble, those of its members.
    """
    with torch.enable_grad(), _make_leaves(source_encoders) as vectors:
        scored = model.score(batch)
        steps = scored.log_probs.unbind(1)
        maps = [inputs.new_zeros(*inputs.shape[:1], len(steps), *inputs.shape[1:2]) for inputs in vectors]
        for number, step in enumerate(steps):  # the rows of a batch do not depend on each other
            slopes = torch.autograd.grad(step.sum(), vectors, retain_graph=True, materialize_grads=True)
            for gradient_map, slope, vector in zip(maps, slopes, vectors, strict=True):
                gradient_map[:, number] = (slope * vector.detach()).sum(2)
    return Saliency(_detach(scored), tuple(maps))


@contextmanager
def _make_leaves(source_encoders: Iterable[SourceEncoder]) -> Iterator[list[Tensor]]:
    """Make what each encoder reads a leaf of the graph, and list these (B, S, E) in their order."""
    inputs: list[Tensor] = []

    def leaf(_: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        inputs.append(args[0].detach().requires_grad_())
        return (inputs[-1], *args[1:])

    handles = [source_encoder.encoder.register_forward_pre_hook(leaf) for source_encoder in source_encoders]
    try:
        yield inputs
    finally:
        for handle in handles:
            handle.remove()


def _detach(scored: ScoredBatch) -> ScoredBatch:
    attention = tuple(weights.detach() for weights in scored.attention)
    statistics = {name: statistic.detach() for name, statistic in scored.statistics.items()}
    return ScoredBatch(scored.log_probs.detach(), scored.correct, attention, statistics)
