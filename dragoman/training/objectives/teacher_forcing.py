"""Teacher forcing."""

from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple, TypeAlias, final

import torch
from torch import Tensor, nn

from dragoman.data.batch import Batch, Sequence
from dragoman.model.decoder.decoder import State
from dragoman.model.memory import Memory
from dragoman.model.output.output import Loss
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.shapes import Float, Int
from dragoman.training.objectives.objective import Objective, ObjectiveContext

Reads: TypeAlias = Callable[[Seq2Seq, State, Sequence], Int[Tensor, "B T"]]


class Forced(NamedTuple):
    """A batch under teacher forcing: its loss, and the memory that the decoder attended to with its weights."""

    loss: Loss
    memory: Memory
    weights: Float[Tensor, "B T S"]


def force(model: Seq2Seq, batch: Batch, reads: Reads | None = None) -> Forced:
    """`- sum_t log P(y_t | z_<t, x)`, where the decoder reads z: the reference y, or what it `reads` in its place."""
    memories = model.encode(batch.sources)
    state, target = model.start(memories), batch.target
    unrolled = model.unroll(state, reads(model, state, target) if reads else target.ids)
    loss = model.output.loss(model.readouts(unrolled, batch, state), target.labels[target.mask])
    return Forced(loss, memories[0], unrolled.weights)


class Forcing(Objective):
    """The loss of `force`, and penalties on attention."""

    penalised = True
    any_attention = True

    def __init__(self, context: ObjectiveContext) -> None:
        super().__init__(context)
        self.penalties = nn.ModuleDict(context.penalties)
        self.parts = ("cross_entropy", *context.penalties) if context.penalties else ()

    @abstractmethod
    def force(self, model: Seq2Seq, batch: Batch) -> Forced: ...

    def forward(self, model: Seq2Seq, batch: Batch) -> Loss:
        loss, memory, weights = self.force(model, batch)
        if not self.penalties:
            return loss
        parts = loss.total, *(penalty(weights, memory, batch) for penalty in self.penalties.values())
        return Loss(torch.stack(parts).sum(), loss.symbols, parts)


@final
class TeacherForcing(Forcing):
    """`- sum_t log P(y_t | y_<t, x)` with the reference as the decoder's input (AN: gold y replaces the prediction)."""

    def force(self, model: Seq2Seq, batch: Batch) -> Forced:
        return force(model, batch)
