"""The gradients of one step, summed over its batches and all workers' shares of them, and clipped."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch

from dragoman.data.batch import Batch
from dragoman.model.output.output import Loss
from dragoman.torch_internals import multiply
from dragoman.training.training import Training

TINY = 1e-6  # added to a norm before dividing by it


class GradientSums(NamedTuple):
    """Sums over all workers' shares of a step's batches: the loss (nats) with its parts, the number of symbols by which
    it is divided (`Loss.symbols`), and that of target symbols; and the norm of the mean gradient before clipping, and
    whether to stop.
    """

    loss: float
    symbols: float
    target_symbols: float
    norm: float
    interrupted: bool
    parts: list[float]


def compute_gradients(run: Training, batches: Sequence[Batch]) -> GradientSums:
    """Compute the clipped gradients of the mean loss over all workers' shares of these batches. They are those of one
    batch with all their pairs, since sums are added up before they are divided by the number of all symbols.
    """
    _forget(run)
    # Gradients of all batches add up in `grad`; means of means would weigh short batches too much.
    found_in = [_backward(run, batch) for batch in batches]
    total, *shares = map(sum, zip(*found_in, strict=True))
    # Only those that have one: a frozen or unused parameter would cost a sum over all workers.
    tensors = [parameter.grad for parameter in run.trained_modules.parameters() if parameter.grad is not None]
    # Counts up to 2^53 are exact in float64; they travel with the gradients, in one exchange for each type.
    sums = torch.tensor([float(run.stop.requested), total, *shares], dtype=torch.float64)
    run.workers.all_reduce([*tensors, sums, *run.objective.batch_statistics()])
    interrupted, total, symbols, target_symbols, *parts = sums.tolist()
    # The norm of the mean is that of the sum, divided: the gradients are gone through twice, not three times.
    norm = float(torch.nn.utils.get_total_norm(tensors)) / symbols
    share = min(1.0, (run.config.training.clip_norm or math.inf) / (norm + TINY))
    multiply(tensors, share / symbols)  # the mean and the clipping in one pass
    return GradientSums(total, symbols, target_symbols, norm, bool(interrupted), parts)


def _forget(run: Training) -> None:
    """Begin without gradients; or with zeros: workers that add theirs up, since not all of them may get any, and
    replays of several batches, since one overwrites the gradients of the one before if the shape is the same.
    """
    added = run.workers.count > 1 or (run.graphs is not None and run.config.training.batch.accumulate > 1)
    for parameter in run.trained_modules.parameters():
        shared = added and parameter.requires_grad
        parameter.grad = torch.zeros_like(parameter) if shared else None


def _backward(run: Training, batch: Batch) -> list[float]:
    """Add the gradients of this worker's summed loss. Returns the loss (nats), its number of symbols, that of
    target symbols, and the parts of the loss. A share may be empty.
    """
    run.trained_modules.train()
    if not len(batch.rows):
        return [0.0, 0.0, 0.0, *(0.0 for _ in run.objective.parts)]
    with run.device.autocast():
        loss: Loss = run.objective(run.model, batch)
    # Outside autocast, as torch asks: gradients have the types of their forward passes.
    loss.total.backward()  # type: ignore[no-untyped-call]
    target_symbols = float(batch.target.mask.sum())
    return [loss.total.item(), float(loss.symbols), target_symbols, *(part.item() for part in loss.parts)]
