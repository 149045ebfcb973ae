"""The gradient of a step that is made of several batches."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.configuration.config import Config
from dragoman.model.weights import read_tensors
from dragoman.training import session
from dragoman.training.cuda_graphs import CudaGraphs
from dragoman.training.gradients import compute_gradients
from dragoman.training.plan import count_steps, epoch_plan
from dragoman.training.trainer import first_steps
from dragoman.training.training import Training
from tests import toy

Assembled = Callable[[Config], Training]
Made = Callable[..., Config]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"training.penalties": ["coverage", "fertility"], "training.clip_norm": 0.01},
        {"training.objective": "agreement"},
    ],
)
def test_of_several_batches_it_is_that_of_all_their_pairs(
    options: dict[str, Any], make_config: Made, assembled: Assembled
) -> None:
    """Sentences differ in length, so that the mean of means would be another."""
    run = assembled(make_config(options))
    run.trained_modules.double()
    rows = np.arange(12)
    by_partition = []
    for parts in ([rows], [rows[:3], rows[3:4], rows[4:]]):
        summed = compute_gradients(run, [run.data.batch(numbers, 0) for numbers in parts])
        by_partition.append(
            (
                summed,
                [
                    parameter.grad.clone()
                    for parameter in run.trained_modules.parameters()
                    if parameter.grad is not None
                ],
            )
        )
    (whole, wanted), (summed, gradient) = by_partition
    assert summed.symbols == whole.symbols
    wanted_symbols = int(run.data.batch(rows, 0).target.mask.sum())  # whatever the loss is divided by
    assert summed.target_symbols == whole.target_symbols == wanted_symbols
    for value, right in zip(
        (summed.loss, summed.norm, *summed.parts), (whole.loss, whole.norm, *whole.parts), strict=True
    ):
        assert value == pytest.approx(right, abs=1e-9)
    for one, other in zip(gradient, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


@pytest.mark.parametrize("replays", [False, True])
def test_gradients_in_memory_that_is_used_again_are_added_up(
    replays: bool, make_config: Made, assembled: Assembled
) -> None:
    """A replay has the gradients of a batch where those of the one before are, if that has the same shape."""
    run = assembled(make_config({"training.batch.accumulate": 2}))
    run.graphs = CudaGraphs(pytest.fail) if replays else None
    batches = [run.data.batch(np.arange(first, first + 3), 0) for first in (0, 3)]
    compute_gradients(run, batches)
    name, parameter = next(
        (name, weight) for name, weight in run.trained_modules.named_parameters() if weight.grad is not None
    )
    assert parameter.grad is not None
    before = parameter.grad.clone()
    kept = torch.empty_like(before)

    def reused(gradient: torch.Tensor) -> torch.Tensor:
        return kept.copy_(gradient).detach()

    handle = parameter.register_hook(reused)
    compute_gradients(run, batches)
    handle.remove()
    assert torch.allclose(parameter.grad, before) is replays, name


def test_what_an_objective_counts_is_of_all_batches_of_a_step(make_config: Made, assembled: Assembled) -> None:
    reinforce = {"model.attention.normalizer": "hard", "training.objective": "reinforce"}
    run = assembled(make_config(reinforce))
    summed = compute_gradients(run, [run.data.batch(np.arange(first, first + 3), 0) for first in (0, 3, 6)])
    (tally,) = run.objective.batch_statistics()
    assert int(tally[1]) == summed.symbols
    run.objective.after_step(True)
    assert not run.objective.batch_statistics()[0].any()


@pytest.mark.parametrize("accumulate", [1, 3, 4, 7])
def test_an_epoch_is_read_in_steps_of_so_many_batches(accumulate: int, make_config: Made, assembled: Assembled) -> None:
    """Eight batches; the last step has what is left."""
    options = {"training.batch": {"size": 8, "accumulate": accumulate}, "training.epochs": 2, "training.steps": None}
    run = assembled(make_config(options))
    batches = [sorted(rows.tolist()) for rows in epoch_plan(run.config, run.data, 0).batches()]
    assert len(batches) == 8
    steps = list(first_steps(run, 100))
    read = [[sorted(batch.rows.tolist()) for batch in step] for step in steps]
    assert [len(step) for step in read] == [*[accumulate] * (8 // accumulate), *[8 % accumulate] * (8 % accumulate > 0)]
    assert [rows for step in read for rows in step] == batches
    assert (run.progress.step, run.progress.position) == (len(steps), 8)
    assert count_steps(run.config, run.data) == 2 * len(steps)


@pytest.mark.slow
def test_sixteen_pairs_at_once_or_in_parts_train_the_same(corpus: Path, tmp_path: Path) -> None:
    """Over steps, as far as rounding allows: the first moments of the optimizer are sums of gradients."""
    states = []
    for name, batch in (("whole", {"size": 60}), ("parts", {"size": 15, "accumulate": 4})):
        options = {"training.batch": batch, "training.steps": 2, "training.epochs": None}
        folder = session.train(toy.config(corpus, tmp_path / name, options), quiet=True)
        states.append({key: tensor for key, tensor in read_tensors(folder.last_state)[0].items() if "exp_avg" in key})
    for key, tensor in states[0].items():
        torch.testing.assert_close(tensor, states[1][key], rtol=1e-3, atol=1e-6)
