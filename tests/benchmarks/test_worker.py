"""What the measurement of a training puts in the place of its objective."""

import torch

from benchmarks.worker import Counted
from dragoman.training.objectives.penalties import CoveragePenalty
from dragoman.training.objectives.teacher_forcing import TeacherForcing
from tests.builders import BATCH, build_model, context


def test_a_counted_objective_is_the_objective_and_counts_target_symbols() -> None:
    model = build_model()
    inner = TeacherForcing(context(penalties={"coverage": CoveragePenalty(model.source_encoders[0].encoder.size)}))
    settled: list[bool] = []
    inner.after_step = settled.append  # type: ignore[assignment, method-assign]
    inner.batch_statistics = lambda: (torch.ones(1),)  # type: ignore[method-assign]
    counted = Counted(inner)
    counted(model, BATCH)
    counted.after_step(False)
    assert counted.parts == inner.parts == ("cross_entropy", "coverage")
    assert counted.last == (int(BATCH.target.mask.sum()), 3)
    assert settled == [False]
    assert counted.batch_statistics() == (torch.ones(1),)
