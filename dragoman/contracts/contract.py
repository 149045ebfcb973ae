"""What the checks of all parts share: samples, comparisons, and what holds for a part of any table."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

import torch
from torch import Tensor, nn

from dragoman.configuration import components, plugins
from dragoman.configuration.components import Spec

Check: TypeAlias = Callable[[str], None]  # of the part of a kind; its docstring is the contract
Module = TypeVar("Module", bound=nn.Module)
STEP = 1e-5  # of finite differences


class ContractError(AssertionError):
    """A part breaks its contract; the message is one line."""


def require(condition: object, message: str) -> None:
    """Raise ContractError with the message unless the condition is true."""
    if not condition:
        raise ContractError(message)


def require_close(values: Tensor, expected: Tensor, what: str) -> None:
    """Raise ContractError unless both tensors have the same shape and, to 1e-8 and relative 1e-5, the same values."""
    require(values.shape == expected.shape, f"{what} has the shape {[*values.shape]}, expected {[*expected.shape]}")
    difference = float((values - expected).detach().abs().max()) if values.numel() else 0.0
    require(torch.allclose(values, expected), f"{what} differs by up to {difference:.3g}")


def noise(*shape: int, seed: int = 0) -> Tensor:
    """Normal numbers in float64."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def shaken(part: Module, seed: int = 0, spread: float = 0.5) -> Module:
    """The part in float64 with normal noise added to its parameters: initial values of zero hide faults."""
    generator = torch.Generator().manual_seed(seed)
    part.double()
    with torch.no_grad():
        for parameter in part.parameters():
            parameter.add_(spread * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return part


def require_derivative(function: Callable[[], Tensor], leaves: Iterable[Tensor]) -> None:
    """The gradient of a number with respect to all of these at once (in float64), along a random direction, is its
    derivative by finite differences, which also see what a gradient does not pass through.
    """
    tensors = list(leaves)
    directions = [noise(*tensor.shape, seed=number) for number, tensor in enumerate(tensors)]
    gradients = torch.autograd.grad(function(), tensors, allow_unused=True)
    along = sum(
        float((gradient * direction).sum())
        for gradient, direction in zip(gradients, directions, strict=True)
        if gradient is not None
    )
    values = []
    with torch.no_grad():
        for step in (STEP, -2 * STEP, STEP):
            for tensor, direction in zip(tensors, directions, strict=True):
                tensor.add_(direction, alpha=step)
            values.append(float(function()))
    ahead, after, _ = values
    derivative = (ahead - after) / (2 * STEP)
    close = abs(along - derivative) <= max(1e-8, 1e-5 * abs(derivative))
    require(close, f"the gradient along a direction is {along:.6g}, the derivative {derivative:.6g}")


def require_round_trip(make: Callable[[], nn.Module], compute: Callable[[nn.Module], Tensor]) -> None:
    """A part with the state dict of another computes the same."""
    first, second = shaken(make()).eval(), shaken(make(), seed=1).eval()
    second.load_state_dict(first.state_dict())
    require_close(compute(second), compute(first), "the result with a loaded state dict")


def check_documented(table: str, kind: str) -> None:
    """It has a docstring, which the documentation and other people read."""
    own = vars(plugins.table_of(table)[kind]).get("__doc__")
    require(own and own.strip(), "its class has no docstring")


def check_options(table: str, kind: str) -> None:
    """Its options have types and defaults, and their defaults are valid."""
    parts = plugins.table_of(table)
    for name, parameter in components.option_parameters(parts[kind]).items():
        require(parameter.annotation is not Any, f"option {name} has no type")
        require(parameter.default is not parameter.empty, f"option {name} has no default")
    problems = components.find_problems(parts, components.complete(parts, Spec(kind)), ())
    require(not problems, "; ".join(map(str, problems)))


CHECKS: Sequence[Callable[[str, str], None]] = (check_documented, check_options)  # of a part of any table
