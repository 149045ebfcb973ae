"""Agreement training: two models, one per direction, are to attend to the same words."""

from collections.abc import Iterator
from typing import final

from dragoman.configuration.config import Config
from dragoman.configuration.values import Positive
from dragoman.corpus.formats import ENDINGS
from dragoman.data.batch import Batch
from dragoman.model.output.output import Loss
from dragoman.model.output.table import OUTPUTS
from dragoman.model.seq2seq import Seq2Seq
from dragoman.training.objectives.objective import Objective, ObjectiveContext, check_learnable, check_normalized
from dragoman.training.objectives.penalties import pair_mask
from dragoman.training.objectives.teacher_forcing import force_targets


@final
class Agreement(Objective):
    """`- log P(y | x) - log P(x | y) - weight * trace(A B^T)` with attention `A` (T, S) of the model, `B^T` (S, T) of
    `reverse`: the trace is `sum_t sum_j A_tj B^T_jt` without the end symbols (Cohn et al. 2016, bilingual symmetry).

    Symbols of both sides are counted.
    """

    parts = "cross_entropy", "agreement"
    both_directions = True

    def __init__(self, context: ObjectiveContext, *, weight: Positive = 1.0) -> None:
        super().__init__(context)
        self.reverse = context.reversed_model()
        self.weight = weight

    @classmethod
    def problems(cls, config: Config) -> Iterator[str]:
        """Check for attention in both directions, and sides that can change places."""
        yield from super().problems(config)
        yield from check_learnable(config)
        yield from check_normalized(config, "agreement")
        if OUTPUTS[config.model.output.kind].partitions:
            yield f"'agreement' has two targets, but model.output: {config.model.output.kind} partitions one of them"
        table = next((name for name in (*config.data.train, config.data.dev) if name.endswith(ENDINGS)), None)
        if table:
            yield f"'agreement' requires one file per side; {table} is a table"

    def forward(self, model: Seq2Seq, batch: Batch) -> Loss:
        # One loss for both: the trace sends its gradient to both models.
        forward, backward = force_targets(model, batch), force_targets(self.reverse, batch.reversed())
        together = forward.weights * backward.weights.transpose(1, 2)  # (B, T, S)
        trace = together[pair_mask(forward.memory, batch)].sum()
        parts = forward.loss.total + backward.loss.total, -self.weight * trace
        return Loss(parts[0] + parts[1], forward.loss.symbols + backward.loss.symbols, parts)
