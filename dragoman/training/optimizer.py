"""Optimizers, with the usual names of their options."""

from collections.abc import Iterable
from typing import Annotated

import torch
from pydantic import Field
from torch import nn

from dragoman.configuration.values import Positive, Rate

Epsilon = Annotated[float, Field(ge=1e-30)]  # smaller values may underflow to 0 in float32, and 0 / 0 is NaN
Decay = Annotated[float, Field(ge=0)]


def adam(
    parameters: Iterable[nn.Parameter],
    *,
    learning_rate: Positive = 0.001,
    betas: tuple[Rate, Rate] = (0.9, 0.999),
    epsilon: Epsilon = 1e-8,
) -> torch.optim.Optimizer:
    """Make Adam (Kingma and Ba 2015), one fused kernel for all parameters."""
    return torch.optim.Adam(parameters, lr=learning_rate, betas=betas, eps=epsilon, fused=True)


def adamw(
    parameters: Iterable[nn.Parameter],
    *,
    learning_rate: Positive = 0.001,
    betas: tuple[Rate, Rate] = (0.9, 0.999),
    epsilon: Epsilon = 1e-8,
    weight_decay: Decay = 0.01,
) -> torch.optim.Optimizer:
    """Make Adam with decoupled weight decay (Loshchilov and Hutter 2019)."""
    return torch.optim.AdamW(
        parameters, lr=learning_rate, betas=betas, eps=epsilon, weight_decay=weight_decay, fused=True
    )


OPTIMIZERS = {"adam": adam, "adamw": adamw}
