"""Denoising: what hides part of a text that is to be written whole. One class per kind, one table entry per class."""

import zlib
from collections.abc import Sequence
from typing import Annotated, final

import numpy as np
from pydantic import Field

from dragoman.configuration import components
from dragoman.configuration.data import DataConfig
from dragoman.text.mark import Mark, Symbol

MASK = Mark("<mask>")  # in the place of what is hidden


class NoNoise:
    """Nothing is hidden."""


@final
class Infilling:
    """Text infilling (Lewis et al. 2020, "BART"): one mask stands for a span of any length, so that a model has to find
    out how many symbols are missing, and which.

    Of S symbols `round(share * S)` are hidden, at least one, and at least one is left; a lone symbol stays. The lengths
    of spans are drawn as `1 + Poisson(length - 1)` until they suffice, and the last is cut. Each span has a random
    place between the symbols that are left; spans at the same place become one. A noisy text is never longer than the
    text, unlike in BART, where spans may be empty.
    """

    def __init__(
        self,
        *,
        share: Annotated[float, Field(gt=0, lt=1)] = 0.3,
        length: Annotated[float, Field(ge=1, le=100)] = 3.0,
    ) -> None:
        self.share = share
        self.length = length

    def __call__(self, count: int, seed: str) -> list[int | None]:
        """Return what a text of `count` symbols becomes: the places of symbols that are left, and None for each mask. A
        function of the arguments alone.
        """
        hidden = min(max(1, round(self.share * count)), count - 1)
        if hidden <= 0:
            return [*range(count)]
        random = np.random.default_rng(zlib.crc32(seed.encode()))
        ends = np.minimum(np.cumsum(1 + random.poisson(self.length - 1, hidden)), hidden)  # of the spans, as one
        spans = int(np.searchsorted(ends, hidden)) + 1
        before = np.sort(random.integers(0, count - hidden + 1, spans))  # how many symbols are left before each span
        places: list[int | None] = []
        left, begin = 0, 0
        for place, length in zip(before.tolist(), np.diff(ends[:spans], prepend=0).tolist(), strict=True):
            places += range(begin, begin + place - left)
            if not places or place > left:
                places.append(None)
            left, begin = place, begin + place - left + length
        return [*places, *range(begin, count)]


NOISES = {"none": NoNoise, "infilling": Infilling}


def noise(data: DataConfig) -> Infilling | None:
    """Return what hides parts of the texts that are their own translations; None if nothing does."""
    noise_model: NoNoise | Infilling = components.build(NOISES, data.noise)
    return noise_model if isinstance(noise_model, Infilling) else None


def mask_text(noise: Infilling, encoded: Sequence[Symbol], seed: str) -> list[Symbol]:
    """Return a text of a development corpus with masks, after the mark of its language if there is one."""
    begin = next((place for place, symbol in enumerate(encoded) if isinstance(symbol, str)), len(encoded))
    places = noise(len(encoded) - begin, seed)
    return [*encoded[:begin], *(MASK if place is None else encoded[begin + place] for place in places)]
