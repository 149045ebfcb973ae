"""What a training goes through: the batches of its epochs, and how many steps that takes."""

from dragoman.configuration.config import Config
from dragoman.data.batching import Mixture, Plan
from dragoman.data.dataset import Dataset


def epoch_plan(config: Config, data: Dataset, epoch: int) -> Plan:
    """The rows of every global batch of an epoch."""
    batch, temperature, mixture = config.training.batch, config.data.temperature, None
    if temperature > 1:
        mixture = Mixture(tuple(data.train.notes["pairs"]), temperature)
    return Plan(*data.offsets, batch.size, batch.unit, config.seed, epoch, mixture)


def length(config: Config, data: Dataset) -> int:
    """How many steps training takes (about, where batches are of symbols), unless it runs out of patience."""
    settings = config.training
    limits = [settings.steps] if settings.steps else []
    if settings.epochs:
        limits.append(settings.epochs * epoch_plan(config, data, 0).count())
    return max(1, min(limits))
