"""The plan of a training: the batches of its epochs, and the number of steps."""

from dragoman.configuration.config import Config, DataConfig
from dragoman.data.batching import Mixture, Plan
from dragoman.data.dataset import Dataset
from dragoman.errors import UserError


def epoch_plan(config: Config, data: Dataset, epoch: int) -> Plan:
    """The rows of each global batch of an epoch."""
    batch = config.training.batch
    return Plan(*data.offsets, batch.size, batch.unit, config.seed, epoch, mixture(config.data, data))


def mixture(given: DataConfig, data: Dataset) -> Mixture | None:
    """How parts of the corpus are drawn; None = each row once an epoch. UserError if an empty part has a weight."""
    sizes = tuple(data.train.notes["parts"])
    if not given.weights:
        return Mixture.tempered(sizes, given.temperature) if given.temperature > 1 else None
    for name, size in zip(given.parts, sizes, strict=True):
        if not size:
            raise UserError(f"data.weights: {name} has no pair to draw, since all were left out")
    return Mixture(sizes, given.weights)


def drawn(given: DataConfig, data: Dataset) -> str:
    """A line about how many pairs of each part an epoch has; empty if each pair comes once."""
    found = mixture(given, data)
    parts = zip(given.parts, found.quotas, found.sizes, strict=True) if found else ()
    return ", ".join(f"{quota:,} of {name} (of {size:,})" for name, quota, size in parts)


def length(config: Config, data: Dataset) -> int:
    """The number of steps of training (approximate for batches of symbols), unless it runs out of patience."""
    settings = config.training
    limits = [settings.steps] if settings.steps else []
    if settings.epochs:
        limits.append(settings.epochs * epoch_plan(config, data, 0).count())
    return max(1, min(limits))
