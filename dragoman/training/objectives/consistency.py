"""Consistency: what a batch is predicted to be in several passes, each with other parts hidden, is to be the same."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import permutations
from typing import Annotated, Any, ClassVar, Final, TypeVar, final

import torch
from pydantic import Field
from torch import Tensor, nn

from dragoman.configuration.config import Config
from dragoman.configuration.values import Positive
from dragoman.data.batch import SourceBatch
from dragoman.model.embedding import Embedding
from dragoman.model.output.table import OUTPUTS
from dragoman.model.seq2seq import ForwardPass, Seq2Seq
from dragoman.model.shapes import Float, Int

Pass = TypeVar("Pass")

LEAST: Final = math.log(1e-30)  # less probable symbols count as this; the logarithm of 0 would have no gradient


class Consistency(ABC):
    """Several passes over a batch, the losses of which are added up, and `weight` times how much they differ.

    The sum is over the target symbols of the batch, in nats, like the losses.
    """

    compares: ClassVar[bool] = True  # whether there are several passes

    @abstractmethod
    def passes(self, force: Callable[[], Pass], model: nn.Module) -> list[Pass]:
        """Return what `force`, which goes through the model once, finds each time."""

    def forward_passes(
        self, model: Seq2Seq, sources: tuple[SourceBatch, ...], targets: Int[Tensor, "B T"]
    ) -> tuple[ForwardPass, ...]:
        """Return the passes of teacher forcing, before their losses."""
        return tuple(self.passes(lambda: model.forward_pass(sources, targets), model))

    @abstractmethod
    def difference(self, log_probs: Sequence[Float[Tensor, "N V"]]) -> Float[Tensor, ""]:
        """Measure how much the distributions of the passes differ, a row for each target symbol."""

    @classmethod
    def problems(cls, config: Config, objective_draws: bool) -> Iterator[str]:
        """Yield what prevents it from being used in this configuration, with an objective that draws, or does not."""
        output = config.model.output.kind
        if OUTPUTS[output].approximates:
            yield f"compares output distributions, which model.output: {output} does not compute in training"
        if OUTPUTS[output].spells:
            yield f"compares distributions over the vocabulary, but model.output: {output} spells some words"


@final
class NoConsistency(Consistency):
    """One pass, and nothing to compare."""

    compares = False

    def passes(self, force: Callable[[], Pass], model: nn.Module) -> list[Pass]:
        return [force()]

    def difference(self, log_probs: Sequence[Float[Tensor, "N V"]]) -> Float[Tensor, ""]:
        return log_probs[0].new_zeros(())

    @classmethod
    def problems(cls, config: Config, objective_draws: bool) -> Iterator[str]:
        return iter(())


@final
class RDrop(Consistency):
    """R-Drop (Liang et al. 2021, (2)-(4)): two passes with dropout masks of their own,

        - log P_1(y | x) - log P_2(y | x) + weight / 2 sum_t KL(p_1t || p_2t) + KL(p_2t || p_1t)

    where `p_kt` is the distribution of the symbol at t in pass k; `weight` is the paper's alpha, 5 for translation.
    """

    def __init__(self, *, weight: Positive = 5.0) -> None:
        self.weight = weight

    @classmethod
    def problems(cls, config: Config, objective_draws: bool) -> Iterator[str]:
        """Check that something is drawn in each pass, or two passes of the same model would be alike."""
        yield from super().problems(config, objective_draws)
        if not (objective_draws or any(_rates(config))):
            yield "'r_drop' requires dropout (model.encoder.dropout, ...); without it both passes are equal"

    def passes(self, force: Callable[[], Pass], model: nn.Module) -> list[Pass]:
        return [force(), force()]

    def difference(self, log_probs: Sequence[Float[Tensor, "N V"]]) -> Float[Tensor, ""]:
        # KL in both directions: neither pass is the teacher.
        both = [divergence(one, other) for one, other in permutations(log_probs)]
        return self.weight / 2 * torch.stack(both).sum()


@final
class TokenCutoff(Consistency):
    """Token cutoff (Shen et al. 2020, "A simple but tough-to-beat data augmentation approach"): beside a whole
    pass, `views` passes in which a share `rate` of the symbols of source and target is read as zeros,

        - sum_k log P_k(y | x) + weight sum_t sum_k KL(p_kt || m_t) / K,   m_t = sum_k p_kt / K

    with K = views + 1 passes: the second sum is the Jensen-Shannon divergence. The paper's alpha is 1, its beta is
    `weight`. Positions, where a model has them, are still read.
    """

    def __init__(
        self,
        *,
        rate: Annotated[float, Field(gt=0, lt=1)] = 0.05,
        views: Annotated[int, Field(ge=1, le=10)] = 1,
        weight: Positive = 1.0,
    ) -> None:
        self.rate = rate
        self.views = views
        self.weight = weight

    def passes(self, force: Callable[[], Pass], model: nn.Module) -> list[Pass]:
        passes = [force()]
        with cut(model, self.rate):
            return passes + [force() for _ in range(self.views)]

    def difference(self, log_probs: Sequence[Float[Tensor, "N V"]]) -> Float[Tensor, ""]:
        count = len(log_probs)
        # log of the mean distribution m_t
        middle = torch.logsumexp(torch.stack([view.clamp(min=LEAST) for view in log_probs]), 0) - math.log(count)
        return self.weight / count * torch.stack([divergence(view, middle) for view in log_probs]).sum()


def divergence(one: Float[Tensor, "N V"], other: Float[Tensor, "N V"]) -> Float[Tensor, ""]:
    """Return `sum_t sum_v p_tv (log p_tv - log q_tv)` of log p and log q (Kullback and Leibler 1951)."""
    log_p, log_q = one.clamp(min=LEAST), other.clamp(min=LEAST)
    return (log_p.exp() * (log_p - log_q)).sum()


@contextmanager
def cut(model: nn.Module, rate: float) -> Iterator[None]:
    """Give every embedding zeros for a share of the symbols that it is given, drawn each time."""

    def hide(module: nn.Module, inputs: Any, vectors: Float[Tensor, "*rows E"]) -> Float[Tensor, "*rows E"]:
        return vectors * (torch.rand(vectors.shape[:-1], device=vectors.device) >= rate).unsqueeze(-1)

    with ExitStack() as hooks:
        for module in model.modules():
            if isinstance(module, Embedding):
                hooks.callback(module.register_forward_hook(hide).remove)
        yield


def _rates(config: Config) -> Iterator[float]:
    """Yield the rates of dropout in a model that are not 0."""
    model = config.model
    parts = [model.encoder, model.decoder, *([model.features] if config.data.features else [])]
    options = [model.embedding.model_dump(), *(part.options for part in parts)]
    return (
        value for part_options in options for name, value in part_options.items() if name.endswith("dropout") and value
    )


CONSISTENCIES: dict[str, type[Consistency]] = {"none": NoConsistency, "r_drop": RDrop, "token_cutoff": TokenCutoff}
