"""Teacher forcing."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias, final

import torch
from torch import Tensor, nn

from dragoman.data.batch import Batch, TokenBatch
from dragoman.model.memory import Memory
from dragoman.model.output.output import Loss, Readout
from dragoman.model.seq2seq import ForwardPass, ModelState, Seq2Seq
from dragoman.model.shapes import Float, Int
from dragoman.training.objectives.objective import Objective, ObjectiveContext
from dragoman.training.objectives.penalties import Penalty

Reads: TypeAlias = Callable[[Seq2Seq, ModelState, TokenBatch], Int[Tensor, "B T"]]


class ForcedPass(NamedTuple):
    """A batch under teacher forcing: its loss, the memory that the decoder attended to with its weights, and what the
    output read.
    """

    loss: Loss
    memory: Memory
    weights: Float[Tensor, "B T S"]
    readout: Readout


def force_targets(model: Seq2Seq, batch: Batch, reads: Reads | None = None) -> ForcedPass:
    """Return `- sum_t log P(y_t | z_<t, x)`, where the decoder reads z: the reference y, or what it `reads` in its
    place.
    """
    memories = model.encode(batch.sources)
    state = model.start(memories)
    read = reads(model, state, batch.target) if reads else batch.target.ids
    return compute_forced_loss(model, batch, ForwardPass(memories, state, model.unroll(state, read)))


def compute_forced_loss(model: Seq2Seq, batch: Batch, computed: ForwardPass) -> ForcedPass:
    """Return the same, given all that comes before the loss."""
    readout, target = model.readouts(computed.unrolled, batch, computed.state), batch.target
    # Without padding: an output layer computes only rows that count.
    loss = model.output.loss(readout, target.labels[target.mask])
    return ForcedPass(loss, computed.memories[0], computed.unrolled.weights, readout)


class ForcedObjective(Objective):
    """The loss of `force_targets`, penalties on attention, and the difference between several passes (`Consistency`).

    The symbols of each pass are counted, so that the mean loss is that of a pass.
    """

    penalized = True
    consistent = True
    any_attention = True

    def __init__(self, context: ObjectiveContext) -> None:
        super().__init__(context)
        self.penalties = nn.ModuleDict(context.penalties)
        self.consistency = context.consistency
        more = [*context.penalties, *(["consistency"] if self.consistency.compares else [])]
        self.parts = ("cross_entropy", *more) if more else ()

    @abstractmethod
    def passes(self, model: Seq2Seq, batch: Batch) -> list[ForcedPass]:
        """Return what each pass that the consistency makes finds."""

    def forward(self, model: Seq2Seq, batch: Batch) -> Loss:
        passes = self.passes(model, batch)
        # The usual case, without a stack of one tensor.
        if not self.parts:
            return passes[0].loss
        parts = [torch.stack([forced_pass.loss.total for forced_pass in passes]).sum()]
        parts += (
            torch.stack([penalty(forced_pass.weights, forced_pass.memory, batch) for forced_pass in passes]).sum()
            for penalty in self.penalties.values()
        )
        if self.consistency.compares:
            parts.append(
                self.consistency.difference([model.output.log_probs(forced_pass.readout) for forced_pass in passes])
            )
        return Loss(torch.stack(parts).sum(), sum(forced_pass.loss.symbols for forced_pass in passes), tuple(parts))

    def warnings(self, before: int) -> Iterator[str]:
        for kind, penalty in self._penalties():
            yield from (f"penalties.{kind}.{warning}" for warning in penalty.warnings(before))

    def after_step(self, updated: bool) -> None:
        for _, penalty in self._penalties():
            penalty.after_step(updated)

    def _penalties(self) -> Iterator[tuple[str, Penalty]]:
        for kind, penalty in self.penalties.items():
            assert isinstance(penalty, Penalty)
            yield kind, penalty


@final
class TeacherForcing(ForcedObjective):
    """`- sum_t log P(y_t | y_<t, x)` with the reference as the decoder's input (AN: gold y replaces the prediction)."""

    replays = True

    def __init__(self, context: ObjectiveContext) -> None:
        super().__init__(context)
        self.forward_passes = context.forward_passes

    def passes(self, model: Seq2Seq, batch: Batch) -> list[ForcedPass]:
        computed = self.forward_passes(self.consistency, model, batch.sources, batch.target.ids)
        return [compute_forced_loss(model, batch, forward_pass) for forward_pass in computed]
