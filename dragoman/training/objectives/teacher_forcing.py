"""Teacher forcing."""

from typing import final

from dragoman.data.batch import Batch
from dragoman.model.output.output import Loss
from dragoman.model.seq2seq import Seq2Seq
from dragoman.training.objectives.objective import Objective


@final
class TeacherForcing(Objective):
    """`- sum_t log P(y_t | y_<t, x)` with the reference as the decoder's input (AN: gold y replaces the prediction)."""

    def forward(self, model: Seq2Seq, batch: Batch) -> Loss:
        real = batch.target.mask
        return model.output.loss(model(batch).features[real], batch.target.ids[real])
