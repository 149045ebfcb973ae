"""Optimisers, under the field's names for their options."""

from collections.abc import Iterable

import torch
from torch import nn

from dragoman.components import Positive


def adam(
    parameters: Iterable[nn.Parameter],
    *,
    learning_rate: Positive = 0.001,
    betas: tuple[float, float] = (0.9, 0.999),
    epsilon: Positive = 1e-8,
) -> torch.optim.Optimizer:
    """Adam (Kingma and Ba 2015), one fused kernel for all parameters."""
    return torch.optim.Adam(parameters, lr=learning_rate, betas=betas, eps=epsilon, fused=True)


def adamw(
    parameters: Iterable[nn.Parameter],
    *,
    learning_rate: Positive = 0.001,
    betas: tuple[float, float] = (0.9, 0.999),
    epsilon: Positive = 1e-8,
    weight_decay: float = 0.01,
) -> torch.optim.Optimizer:
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019)."""
    return torch.optim.AdamW(
        parameters, lr=learning_rate, betas=betas, eps=epsilon, weight_decay=weight_decay, fused=True
    )


OPTIMISERS = {"adam": adam, "adamw": adamw}
