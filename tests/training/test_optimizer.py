"""Optimizers against their equations."""

import torch
from torch import nn

from dragoman.configuration.components import Spec, build
from dragoman.training.optimizer import OPTIMIZERS

GRADIENTS = torch.tensor([[0.5, -2.0], [0.1, 1.0], [-0.3, 0.0]], dtype=torch.float64)
START = torch.tensor([1.0, -1.0], dtype=torch.float64)


def stepped(spec: Spec) -> torch.Tensor:
    parameter = nn.Parameter(START.clone())
    optimizer = build(OPTIMIZERS, spec, [parameter])
    for gradient in GRADIENTS:
        parameter.grad = gradient.clone()
        optimizer.step()
    return parameter.detach()


def by_hand(decay: float = 0.0) -> torch.Tensor:
    """Algorithm 1 of Kingma and Ba (2015), with decoupled weight decay."""
    rate, first, second, epsilon = 0.1, 0.8, 0.9, 1e-6
    value, mean, square = START.clone(), torch.zeros(2).double(), torch.zeros(2).double()
    for step, gradient in enumerate(GRADIENTS, start=1):
        mean = first * mean + (1 - first) * gradient
        square = second * square + (1 - second) * gradient**2
        value = value - rate * decay * value
        value = value - rate * (mean / (1 - first**step)) / ((square / (1 - second**step)).sqrt() + epsilon)
    return value


def test_adam_is_the_algorithm_of_the_paper() -> None:
    spec = Spec("adam", {"learning_rate": 0.1, "betas": [0.8, 0.9], "epsilon": 1e-6})
    torch.testing.assert_close(stepped(spec), by_hand())


def test_adamw_decays_the_weights_apart_from_the_moments() -> None:
    options = {"learning_rate": 0.1, "betas": [0.8, 0.9], "epsilon": 1e-6, "weight_decay": 0.3}
    torch.testing.assert_close(stepped(Spec("adamw", options)), by_hand(decay=0.3))
