"""The interface of all objectives: what training minimizes."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn

from dragoman.configuration.config import Config
from dragoman.data.batch import Batch, SourceBatch
from dragoman.data.language import Language, Source
from dragoman.data.vocabulary import BOS, PAD
from dragoman.evaluation.metrics.metric import Metric
from dragoman.model.attention.normalizers import NORMALIZERS, weights_compete
from dragoman.model.attention.scores import SCORES
from dragoman.model.attention.terms.table import TERMS
from dragoman.model.output.output import Loss
from dragoman.model.predictor import Prediction
from dragoman.model.seq2seq import ForwardPass, Seq2Seq
from dragoman.model.shapes import Int
from dragoman.training.objectives.consistency import Consistency, NoConsistency
from dragoman.training.objectives.penalties import Penalty

MakePasses: TypeAlias = Callable[[Consistency, Seq2Seq, tuple[SourceBatch, ...], Tensor], tuple[ForwardPass, ...]]


class ObjectiveContext(NamedTuple):
    """What an objective may need from the training around it."""

    model: Seq2Seq  # the model that is trained, also passed to `forward`
    reversed_model: Callable[[], Seq2Seq]  # makes a new model from target to source
    sources: tuple[Source, ...]
    target: Language
    metrics: Mapping[str, Metric]  # those of the configuration, by kind
    penalties: Mapping[str, Penalty]  # the same; none unless the objective is `penalized`
    consistency: Consistency = NoConsistency()  # the same; one pass unless the objective is `consistent`
    forward_passes: MakePasses = Consistency.forward_passes  # or what replays it (`CudaGraphs`)


class Objective(nn.Module, ABC):
    """`objective(model, batch)`: the loss of a batch, summed over its target symbols, in nats; or another sum, of as
    many terms as it says that there are symbols.

    Its parameters are trained and saved with the model's, but are not part of it. What it accumulates from step to step
    is a persistent buffer, so that resuming is exact. `parts` are the names of the parts of its losses.
    """

    parts: tuple[str, ...] = ()

    penalized: ClassVar[bool] = False  # takes penalties on attention
    consistent: ClassVar[bool] = False  # takes several passes over a batch that are compared
    any_attention: ClassVar[bool] = False  # works with any attention: several sources, a sentinel, a cursor
    replays: ClassVar[bool] = False  # makes forward passes that may be replayed (`CudaGraphs`)
    draws: ClassVar[bool] = False  # draws random numbers, besides those of dropout
    both_directions: ClassVar[bool] = False  # also trains a model from target to source, its `reverse`

    def __init__(self, context: ObjectiveContext) -> None:
        super().__init__()

    @classmethod
    def problems(cls, config: Config) -> Iterator[str]:
        """Yield what prevents it from training this configuration."""
        if NORMALIZERS[config.model.attention.normalizer.kind].is_hard:
            yield "hard attention is not differentiable; use marginal, or reinforce with order: 0"
        yield from check_no_hard_term(config)

    def warnings(self, before: int) -> Iterator[str]:
        """Yield options of `training` that do not fit the planned number of steps, or the number `before` (0 = none)
        that training began with.
        """
        return iter(())

    def batch_statistics(self) -> tuple[Tensor, ...]:
        """Return sums over the batches of a step that `after_step` needs and then clears; they are summed over all
        workers.
        """
        return ()

    def after_step(self, updated: bool) -> None:
        """Take note of a step, which counts if it `updated` the weights. Saved buffers may change only here."""

    @abstractmethod
    def forward(self, model: Seq2Seq, batch: Batch) -> Loss: ...


def check_learnable(config: Config) -> Iterator[str]:
    """Yield a problem if no part of the attention can be learned."""
    attention = config.model.attention
    if not attention.attends:
        yield "the model has no attention (model.attention.score: none)"
    elif SCORES[attention.score.kind].constant and all(TERMS[term.kind].hides for term in attention.terms):
        yield f"all attention weights are equal (model.attention.score: {attention.score.kind})"


def check_normalized(config: Config, kind: str) -> Iterator[str]:
    """Yield a problem if every weight of a symbol could be 1."""
    normalizer = config.model.attention.normalizer
    if not weights_compete(normalizer):
        yield f"'{kind}' would make all weights of model.attention.normalizer: {normalizer.kind} 1; use divide: true"


def check_no_hard_term(config: Config) -> Iterator[str]:
    """Yield a problem if a term makes hard decisions, which this objective cannot teach."""
    for term in config.model.attention.terms:
        if TERMS[term.kind].is_hard:
            yield f"cannot train '{term.kind}' (model.attention.terms); use segment"


def drawn(prediction: Prediction[Any]) -> Int[torch.Tensor, "R"]:
    """Return a symbol for each row, drawn from its distribution."""
    log_probs = _of_words(prediction)
    return prediction.at(torch.multinomial(log_probs.float().softmax(1), 1).squeeze(1))


def best(prediction: Prediction[Any]) -> Int[torch.Tensor, "R"]:
    """Return the most probable symbol of each row."""
    return prediction.at(_of_words(prediction).argmax(1))


def _of_words(prediction: Prediction[Any]) -> torch.Tensor:
    """Return `log P` without padding and the start, which no target has."""
    symbols = prediction.symbols
    return prediction.log_probs.masked_fill((symbols == PAD) | (symbols == BOS), float("-inf"))
