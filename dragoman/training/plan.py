"""The plan of a training: the batches of its epochs, and the number of steps."""

import math
from collections.abc import Iterator
from itertools import islice

from dragoman.configuration.config import Config
from dragoman.configuration.data import DataConfig
from dragoman.data.batching import BatchPlan, CorpusMixture, Numbers, split_portions
from dragoman.data.dataset import Dataset
from dragoman.errors import UserError


def epoch_plan(config: Config, data: Dataset, epoch: int) -> BatchPlan:
    """Return the rows of each global batch of an epoch."""
    batch = config.training.batch
    return BatchPlan(*data.offsets, batch.size, batch.type, config.seed, epoch, build_mixture(config.data, data))


def plan_batches(
    config: Config, data: Dataset, epoch: int, begin: int, portion: int | None
) -> Iterator[tuple[Numbers, Numbers | None]]:
    """Yield the rows of each global batch of an epoch from number `begin` on and, for an output that is trained on
    portions of so many distinct target symbols, those of the batch's portion.

    Portions are a function of (seed, epoch) as batches are: an epoch that is resumed is read again from its beginning.
    """
    plan = epoch_plan(config, data, epoch)
    if portion is None:
        return ((rows, None) for rows in plan.batches(begin))
    # Read from the beginning of the epoch: where a portion begins depends on all batches before it.
    return islice(split_portions(plan.batches(), lambda rows: data.target_symbols(rows, epoch), portion), begin, None)


def build_mixture(config: DataConfig, data: Dataset) -> CorpusMixture | None:
    """Return how parts of the corpus are drawn; None = each row once an epoch. UserError if an empty part has a
    weight.
    """
    sizes = tuple(data.train.notes["parts"])
    if not config.weights:
        return CorpusMixture.tempered(sizes, config.temperature) if config.temperature > 1 else None
    for name, size in zip(config.parts, sizes, strict=True):
        if not size:
            raise UserError(f"data.weights: {name} has no pairs left after filtering")
    return CorpusMixture(sizes, config.weights)


def describe_mixture(config: DataConfig, data: Dataset) -> str:
    """Return a line about how many pairs of each part an epoch has; empty if each pair comes once."""
    mix = build_mixture(config, data)
    parts = zip(config.parts, mix.quotas, mix.sizes, strict=True) if mix else ()
    return ", ".join(f"{quota:,} of {name} (of {size:,})" for name, quota, size in parts)


def count_steps(config: Config, data: Dataset) -> int:
    """Return the number of steps of training (approximate for batches of symbols), unless it runs out of patience."""
    settings = config.training
    limits = [settings.steps] if settings.steps else []
    if settings.epochs:
        limits.append(settings.epochs * steps_of_epoch(config, data))
    return max(1, min(limits))


def steps_of_epoch(config: Config, data: Dataset) -> int:
    """Return the number of steps of an epoch (approximate for batches of symbols)."""
    return math.ceil(epoch_plan(config, data, 0).count() / config.training.batch.accumulate)
