"""Normalizers: from energies to weights. One class per equation, one table entry per class."""

from abc import ABC, abstractmethod
from typing import Annotated, Any, Literal, NamedTuple, final

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.configuration.values import Width
from dragoman.model.attention.chain import Chain
from dragoman.model.shapes import Bool, Float, Int
from dragoman.torch_internals import scan


class WeightedValues(NamedTuple):
    """The sums of the values, each weighted with its attention weight."""

    context: Float[Tensor, "B T C"]
    drawn: Int[Tensor, "B T"] | None = None  # the position that it comes from, if it is a single one


class AttentionNormalizer(nn.Module, ABC):
    """`weights = normalizer(energies)`: exactly 0 where the energy is -inf; every row has a finite energy."""

    everywhere = True  # whether all other positions have weights above 0 and contribute to the context
    is_hard = False  # whether the context is the value of a single position

    @abstractmethod
    def forward(self, energies: Float[Tensor, "B T S"]) -> Float[Tensor, "B T S"]:
        """Return the weights, in at least float32."""

    def read(self, weights: Float[Tensor, "B T S"], values: Float[Tensor, "B S C"]) -> WeightedValues:
        """Return the expectation `c_t = sum_j alpha_tj h_j`."""
        return WeightedValues(torch.bmm(weights.to(values.dtype), values))


def softmax(energies: Float[Tensor, "*rows S"]) -> Float[Tensor, "*rows S"]:
    """Return the softmax, in at least float32: on a CPU, autocast would leave it in bfloat16."""
    return torch.softmax(energies, -1, dtype=torch.promote_types(energies.dtype, torch.float32))


@final
class Softmax(AttentionNormalizer):
    """`alpha_tj = exp(e_tj) / sum_k exp(e_tk)` (NT (74), LH (2))."""

    def forward(self, energies: Float[Tensor, "B T S"]) -> Float[Tensor, "B T S"]:
        return softmax(energies)


class Sparse(AttentionNormalizer):
    """`alpha_tj = max(0, (a - 1) e_tj - tau_t)^(1 / (a - 1))`, tau_t such that the sum is 1 (Peters et al. 2019).

    Positions with energies far below the largest have weight exactly 0. A subclass computes tau in `threshold`.
    """

    everywhere = False

    def __init__(self, alpha: float) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, energies: Float[Tensor, "B T S"]) -> Float[Tensor, "B T S"]:
        exact = energies.to(torch.promote_types(energies.dtype, torch.float32))
        with torch.no_grad():
            below = (self.alpha - 1) * (exact - exact.amax(-1, keepdim=True))
            finite = below.clamp(min=-2)  # tau is -1 or more, as no weight is above 1
            excess = (finite - self.threshold(finite)).clamp(min=0)
        weights: Tensor = _SparseWeights.apply(exact, excess, self.alpha)  # type: ignore[no-untyped-call]
        return weights

    @abstractmethod
    def threshold(self, scaled: Float[Tensor, "B T S"]) -> Float[Tensor, "B T 1"]:
        """Return tau for `scaled`, which is `(a - 1) e` less its largest value."""


class _SparseWeights(torch.autograd.Function):
    """`d alpha_i / d e_j = s_i [i = j] - s_i s_j / sum_k s_k` with `s = alpha^(2 - a)` on the support, 0 elsewhere."""

    @staticmethod
    def forward(ctx: Any, energies: Tensor, excess: Tensor, alpha: float) -> Tensor:
        weights = excess ** (1 / (alpha - 1))
        ctx.save_for_backward(weights)
        ctx.alpha = alpha
        return weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (weights,) = ctx.saved_tensors
        slopes = torch.where(weights > 0, weights ** (2 - ctx.alpha), 0)
        mean = (slopes * gradient).sum(-1, keepdim=True) / slopes.sum(-1, keepdim=True)
        return slopes * (gradient - mean), None, None


@final
class Sparsemax(Sparse):
    """`alpha_t = argmin_p |p - e_t|^2` over distributions p, `alpha_tj = max(0, e_tj - tau_t)` (Martins and Astudillo
    2016, algorithm 1).
    """

    def __init__(self) -> None:
        super().__init__(2.0)

    def threshold(self, scaled: Float[Tensor, "B T S"]) -> Float[Tensor, "B T 1"]:
        falling, count = _sort_descending(scaled)
        tau = (falling.cumsum(-1) - 1) / count  # for a support of the largest 1, 2, 3, ... energies
        support = (falling > tau).sum(-1, keepdim=True)
        return tau.gather(-1, support - 1)


@final
class Entmax(Sparse):
    """`alpha_t = argmax_p p . e_t + (1 - sum_j p_j^a) / (a (a - 1))` over distributions p (Peters et al. 2019).

    `alpha` is a, between softmax (1) and sparsemax (2). For 1.5, tau is computed exactly (algorithm 2); otherwise by
    bisection, then Newton steps from below, which do not overshoot as the sum is convex in tau.
    """

    def __init__(self, *, alpha: Annotated[float, Field(ge=1.01, lt=2)] = 1.5) -> None:
        super().__init__(alpha)

    def threshold(self, scaled: Float[Tensor, "B T S"]) -> Float[Tensor, "B T 1"]:
        if self.alpha != 1.5:
            return self._approached(scaled)
        falling, count = _sort_descending(scaled)
        mean = falling.cumsum(-1) / count
        variance = (falling**2).cumsum(-1) / count - mean**2
        tau = mean - (1 / count - variance).clamp(min=0).sqrt()
        support = (falling >= tau).sum(-1, keepdim=True)
        return tau.gather(-1, support - 1)

    def _approached(self, scaled: Float[Tensor, "B T S"]) -> Float[Tensor, "B T 1"]:
        power = 1 / (self.alpha - 1)
        tau = torch.full_like(scaled[..., :1], -1.0)
        for halving in range(1, 17):
            middle = tau + 0.5**halving
            tau = torch.where(((scaled - middle).clamp(min=0) ** power).sum(-1, keepdim=True) >= 1, middle, tau)
        for _ in range(4):
            excess = (scaled - tau).clamp(min=0)
            slope = power * (excess ** (power - 1)).sum(-1, keepdim=True)
            tau = tau + ((excess**power).sum(-1, keepdim=True) - 1) / slope
        return tau


@final
class Hard(AttentionNormalizer):
    """`z_t ~ categorical(alpha_t)`, `c_t = h_(z_t)` with `alpha_t = softmax(e_t)` (Xu et al. 2015).

    z_t is drawn in training; in evaluation it is the most probable position. With `order: 1`, z_t depends on z_(t-1)
    through a learned score for each jump of up to `jump` (default 5) positions; with `monotonic` no jump goes back (see
    `chain.py`). Training and evaluation then marginalize over all positions.
    """

    everywhere = False
    is_hard = True

    def __init__(self, *, order: Literal[0, 1] = 0, monotonic: bool = False, jump: Width | None = None) -> None:
        super().__init__()
        if order == 0 and (monotonic or jump is not None):
            raise ValueError("monotonic and jump require order: 1")
        self.chain = Chain(monotonic, jump or 5) if order else None

    def forward(self, energies: Float[Tensor, "B T S"]) -> Float[Tensor, "B T S"]:
        return softmax(energies)

    def read(self, weights: Float[Tensor, "B T S"], values: Float[Tensor, "B S C"]) -> WeightedValues:
        # The first of exponential waiting times with these rates is a sample; this never fails, whatever the weights.
        race = weights / torch.empty_like(weights).exponential_() if self.training else weights
        drawn = race.argmax(-1)
        return WeightedValues(values.gather(1, drawn.unsqueeze(-1).expand(-1, -1, values.size(-1))), drawn)


@final
class LinearChain(AttentionNormalizer):
    """`alpha_tj = p(z_j = 1)` in a chain of binary variables z_j (Kim et al. 2017, "segmentation attention"):

        p(z_1 ... z_S) ~ exp(sum_j e_tj z_j + sum_j theta(z_j, z_(j+1)))

    so that a step may attend to a span of words, or to none. theta is learned, starting at 0, where
    `alpha_tj = sigmoid(e_tj)`. A position with energy -inf is left out of the chain: those around it are neighbors.
    `divide` divides the weights by their sum, which is not 1 in the paper.
    """

    def __init__(self, *, divide: bool = False) -> None:
        super().__init__()
        self.divide = divide
        self.theta = nn.Parameter(torch.zeros(2, 2))  # theta[z_j, z_(j+1)]

    def forward(self, energies: Float[Tensor, "B T S"]) -> Float[Tensor, "B T S"]:
        hidden = energies.isneginf()
        exact = energies.to(torch.promote_types(energies.dtype, torch.float32)).masked_fill(hidden, 0.0)
        messages = self._messages(*(torch.stack([tensor, tensor.flip(-1)]) for tensor in (exact, hidden)))
        ahead, back = messages.unbind(0)
        odds = ahead + exact + back.flip(-1)  # log p(z_j = 1) / p(z_j = 0)
        if self.divide:
            return torch.softmax(nn.functional.logsigmoid(odds).masked_fill(hidden, float("-inf")), -1)
        return torch.sigmoid(odds).masked_fill(hidden, 0.0)

    def _messages(
        self, energies: Float[Tensor, "2 B T S"], hidden: Bool[Tensor, "2 B T S"]
    ) -> Float[Tensor, "2 B T S"]:
        """Return the message to each position from those before: log of the sum of their `exp` with z_j = 1, less that
        with 0.

        Both directions are computed in one loop, the second on the reversed chain.
        """

        def turn(message: Tensor, energy: Tensor, outside: Tensor, theta: Tensor) -> list[Tensor]:
            seen = message + energy
            yes, no = (torch.logaddexp(theta[..., 0, after], theta[..., 1, after] + seen) for after in (1, 0))
            return [torch.where(outside, message, yes - no), message.clone()]

        theta = torch.stack([self.theta, self.theta.t()]).view(2, 1, 1, 2, 2)
        message = torch.zeros_like(energies[..., 0])
        if torch.compiler.is_exporting():  # a Python loop would be fixed to the length of the example
            steps = [energies.movedim(-1, 0), hidden.movedim(-1, 0)]
            _, kept = scan(turn, [message], steps, [theta])
            return kept.movedim(0, -1)
        messages = []
        for energy, outside in zip(energies.unbind(-1), hidden.unbind(-1), strict=True):
            message, arrived = turn(message, energy, outside, theta)
            messages.append(arrived)
        return torch.stack(messages, -1)


def _sort_descending(scaled: Float[Tensor, "B T S"]) -> tuple[Float[Tensor, "B T S"], Float[Tensor, "S"]]:
    """Return the energies in descending order, and their ranks from 1."""
    count = torch.arange(1, scaled.size(-1) + 1, dtype=scaled.dtype, device=scaled.device)
    return scaled.sort(-1, descending=True).values, count


def weights_compete(spec: Spec) -> bool:
    """Return whether the weights of a step share a sum of 1, so that not every one of them could be 1."""
    return components.complete(NORMALIZERS, spec).options.get("divide") is not False


NORMALIZERS: dict[str, type[AttentionNormalizer]] = {
    "softmax": Softmax,
    "sparsemax": Sparsemax,
    "entmax": Entmax,
    "linear_chain": LinearChain,
    "hard": Hard,
}
