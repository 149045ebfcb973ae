"""Optimizers, with the usual names of their options, and schedules of their learning rate."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, final

import torch
from pydantic import Field
from torch import nn

from dragoman.configuration.values import Count, Positive, Rate

Epsilon = Annotated[float, Field(ge=1e-30)]  # smaller values may underflow to 0 in float32, and 0 / 0 is NaN
Decay = Annotated[float, Field(ge=0)]
Warmup = Annotated[int | float, Field(ge=0, le=10**9)]
Rise = Annotated[int | float, Field(gt=0, le=10**9)]
Floor = Annotated[float, Field(ge=0, le=1)]
Factor = Annotated[float, Field(gt=0, lt=1)]
NEAR = 0.02  # relative tolerance of lengths, which are estimates for batches of symbols


def adam(
    parameters: Iterable[nn.Parameter],
    *,
    learning_rate: Positive = 0.001,
    betas: tuple[Rate, Rate] = (0.9, 0.999),
    epsilon: Epsilon = 1e-8,
) -> torch.optim.Optimizer:
    """Make Adam (Kingma and Ba 2015), one fused kernel for all parameters.

    `learning_rate` is the step size α before the schedule, `betas` are the decay rates β1 and β2 of the moments, and
    `epsilon` is added to the root of the second moment.
    """
    return torch.optim.Adam(parameters, lr=learning_rate, betas=betas, eps=epsilon, fused=True)


def adamw(
    parameters: Iterable[nn.Parameter],
    *,
    learning_rate: Positive = 0.001,
    betas: tuple[Rate, Rate] = (0.9, 0.999),
    epsilon: Epsilon = 1e-8,
    weight_decay: Decay = 0.01,
) -> torch.optim.Optimizer:
    """Make Adam with decoupled weight decay (Loshchilov and Hutter 2019).

    A step also multiplies the parameters by `1 - rate * weight_decay`. `learning_rate`, `betas` and `epsilon` are those
    of `adam`.
    """
    return torch.optim.AdamW(
        parameters, lr=learning_rate, betas=betas, eps=epsilon, weight_decay=weight_decay, fused=True
    )


OPTIMIZERS = {"adam": adam, "adamw": adamw}


class Schedule(ABC):
    """`schedule(step, improved)` multiplies the learning rate; it first rises linearly over `warmup` steps.

    `length` is the number of training steps; a `warmup` below 1 is a share of it.
    """

    def __init__(self, length: int, *, warmup: Warmup = 0) -> None:
        self.length = length
        self.share = warmup if warmup < 1 else 0.0
        # A share is converted once, here; `share` is kept to tell when another length changes it.
        self.warmup = round(self.share * length if self.share else warmup)

    def warnings(self, before: int) -> Iterator[str]:
        """Yield options that do not fit the length, or the length `before` (0 = none) that training began with."""
        if self.warmup >= self.length:
            most = f"{100 * self.length / self.warmup:.0f} % of training.optimizer.learning_rate"
            yield f"warmup: {self.warmup:,}, but training takes {self.length:,} steps: the rate only rises, to {most}"
        was = round(self.share * before)
        if was not in (0, self.warmup):
            now = f"{self.share:g} of the training are {self.warmup:,} steps now"
            yield f"warmup: {now}, previously {was:,}; the schedule continues as if unchanged"

    def __call__(self, step: int, improved: Sequence[bool]) -> float:
        """Return the factor for step 1, 2, ...; `improved` tells for each past validation whether it was the best so
        far.
        """
        if step < self.warmup:
            return step / self.warmup
        return self.after(step, improved)

    @abstractmethod
    def after(self, step: int, improved: Sequence[bool]) -> float:
        """Return the factor after the warm-up."""


@final
class Constant(Schedule):
    """1."""

    def after(self, step: int, improved: Sequence[bool]) -> float:
        return 1.0


@final
class InverseSquareRoot(Schedule):
    """`sqrt(warmup / step)` (Vaswani et al. 2017, (3), scaled to 1 at the end of the warm-up)."""

    def __init__(self, length: int, *, warmup: Rise = 4000) -> None:
        super().__init__(length, warmup=warmup)

    def after(self, step: int, improved: Sequence[bool]) -> float:
        return math.sqrt(max(1, self.warmup) / step)


@final
class Cosine(Schedule):
    """Half a cosine from 1 at the end of the warm-up to `floor` at step `steps`, or at the end of training
    (Loshchilov and Hutter 2017). A `warmup` below 1 is a share of `steps`, if given.
    """

    def __init__(self, length: int, *, steps: Count | None = None, warmup: Warmup = 0, floor: Floor = 0.0) -> None:
        super().__init__(length, warmup=round(warmup * steps) if steps and warmup < 1 else warmup)
        if steps and self.warmup >= steps:
            raise ValueError(f"rises for {self.warmup} steps (warmup) and is to have fallen after {steps} (steps)")
        self.steps = steps
        self.floor = floor

    def warnings(self, before: int) -> Iterator[str]:
        yield from super().warnings(before)
        if self.steps is None:
            if before not in (0, self.length):
                now = f"the cosine ends at step {self.length:,} now"
                yield f"steps: {now}, previously at {before:,}; the schedule continues as if unchanged"
        elif self.steps < self.length * (1 - NEAR):
            rest = f"the last {self.length - self.steps:,} have {100 * self.floor:g} % of the learning rate"
            yield f"steps: {self.steps:,}, and training takes {self.length:,}: {rest} (null: all of the training)"
        elif self.steps > self.length * (1 + NEAR):
            rest = f"the learning rate only falls to {100 * self(self.length, ()):.0f} %"
            yield f"steps: {self.steps:,}, and training takes {self.length:,}: {rest} (null: all of the training)"

    def after(self, step: int, improved: Sequence[bool]) -> float:
        # One step more than the warm-up, or a short training would divide by 0.
        end = self.steps or max(self.length, self.warmup + 1)
        done = min(1.0, (step - self.warmup) / (end - self.warmup))
        return self.floor + (1.0 - self.floor) * 0.5 * (1.0 + math.cos(math.pi * done))


@final
class Plateau(Schedule):
    """Multiplied by `factor` after every `patience` validations in a row without a new best, down to `floor`."""

    def __init__(
        self, length: int, *, warmup: Warmup = 0, factor: Factor = 0.5, patience: Count = 2, floor: Floor = 0.01
    ) -> None:
        super().__init__(length, warmup=warmup)
        self.factor = factor
        self.patience = patience
        self.floor = floor

    def after(self, step: int, improved: Sequence[bool]) -> float:
        cuts = waited = 0
        # Counted anew from all validations, instead of kept: nothing has to be saved.
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
