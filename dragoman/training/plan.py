"""The plan of a training: the batches of its epochs, and the number of steps."""

from dragoman.configuration.config import Config
from dragoman.data.batching import Mixture, Plan
from dragoman.data.dataset import Dataset


def epoch_plan(config: Config, data: Dataset, epoch: int) -> Plan:
    """The rows of each global batch of an epoch."""
    batch, temperature, mixture = config.training.batch, config.data.temperature, None
    if temperature > 1:
        mixture = Mixture(tuple(data.train.notes["pairs"]), temperature)
    return Plan(*data.offsets, batch.size, batch.unit, config.seed, epoch, mixture)


def length(config: Config, data: Dataset) -> int:
    """The number of steps of training (approximate for batches of symbols), unless it runs out of patience."""
    settings = config.training
    limits = [settings.steps] if settings.steps else []
    if settings.epochs:
        limits.append(settings.epochs * epoch_plan(config, data, 0).count())
    return max(1, min(limits))
