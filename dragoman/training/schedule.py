"""Learning-rate schedules: pure functions of the step and of the validations so far, so that a resumed run agrees."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Annotated, final

from pydantic import Field

from dragoman.components import Count

Warmup = Annotated[int, Field(ge=0, le=10**9)]
Floor = Annotated[float, Field(ge=0, le=1)]
Factor = Annotated[float, Field(gt=0, lt=1)]


class Schedule(ABC):
    """`schedule(step, improved)` multiplies the learning rate; it rises linearly over `warmup` steps first."""

    def __init__(self, *, warmup: Warmup = 0) -> None:
        self.warmup = warmup

    def __call__(self, step: int, improved: Sequence[bool]) -> float:
        """The factor for step 1, 2, ...; `improved` says of each validation so far whether it was the best yet."""
        if step < self.warmup:
            return step / self.warmup
        return self.after(step, improved)

    @abstractmethod
    def after(self, step: int, improved: Sequence[bool]) -> float:
        """The factor once warm."""


@final
class Constant(Schedule):
    """1."""

    def after(self, step: int, improved: Sequence[bool]) -> float:
        return 1.0


@final
class InverseSquareRoot(Schedule):
    """`sqrt(warmup / step)` (Vaswani et al. 2017, (3), scaled to 1 at the end of the warm-up)."""

    def __init__(self, *, warmup: Count = 4000) -> None:
        super().__init__(warmup=warmup)

    def after(self, step: int, improved: Sequence[bool]) -> float:
        return math.sqrt(self.warmup / step)


@final
class Cosine(Schedule):
    """Half a cosine from 1 at the end of the warm-up to `floor` at step `steps` (Loshchilov and Hutter 2017)."""

    def __init__(self, *, steps: Count, warmup: Warmup = 0, floor: Floor = 0.0) -> None:
        if warmup >= steps:
            raise ValueError(f"rises for {warmup} steps (warmup) and is to have fallen after {steps} (steps)")
        super().__init__(warmup=warmup)
        self.steps = steps
        self.floor = floor

    def after(self, step: int, improved: Sequence[bool]) -> float:
        done = min(1.0, (step - self.warmup) / (self.steps - self.warmup))
        return self.floor + (1.0 - self.floor) * 0.5 * (1.0 + math.cos(math.pi * done))


@final
class Plateau(Schedule):
    """Multiplied by `factor` after every `patience` validations in a row that bring no new best."""

    def __init__(self, *, warmup: Warmup = 0, factor: Factor = 0.5, patience: Count = 2, floor: Floor = 0.01) -> None:
        super().__init__(warmup=warmup)
        self.factor = factor
        self.patience = patience
        self.floor = floor

    def after(self, step: int, improved: Sequence[bool]) -> float:
        cuts = waited = 0
        for better in improved:
            waited = 0 if better else waited + 1
            if waited == self.patience:
                cuts, waited = cuts + 1, 0
        return max(self.floor, self.factor**cuts)


SCHEDULES: dict[str, type[Schedule]] = {
    "constant": Constant,
    "inverse_square_root": InverseSquareRoot,
    "cosine": Cosine,
    "plateau": Plateau,
}
