"""Layer normalization of linear maps, whose bias is added outside or inside (Ba, Kiros and Hinton 2016)."""

from abc import ABC, abstractmethod
from typing import Annotated, ClassVar, TypeAlias, final

import torch
from torch import Tensor, nn

from dragoman.configuration.components import OneOf
from dragoman.model.linear import Linear, linear
from dragoman.model.shapes import Float


class ProjectionNorm(nn.Module, ABC):
    """`norm(W x, b)`, given the product and the bias, if there is one.

    `widths` are the numbers of outputs of each matrix in W, for kinds that normalize these apart.
    """

    epsilon: ClassVar[float] = 1e-5
    normalizes_memory: ClassVar[bool] = False  # whether an LSTM's c is normalized too, before it enters h

    @abstractmethod
    def __init__(self, widths: tuple[int, ...]) -> None:
        super().__init__()

    @abstractmethod
    def forward(self, projected: Float[Tensor, "*rows O"], bias: Float[Tensor, "O"] | None) -> Tensor: ...


class OuterBiasNorm(ProjectionNorm):
    """`LN(W x) * g + b`, over all outputs together."""

    def __init__(self, widths: tuple[int, ...]) -> None:
        super().__init__(widths)
        self.norm = nn.LayerNorm(sum(widths), self.epsilon, bias=False)

    def forward(self, projected: Float[Tensor, "*rows O"], bias: Float[Tensor, "O"] | None) -> Tensor:
        normalized: Tensor = self.norm(projected)
        return normalized if bias is None else normalized + bias


@final
class StandardNorm(OuterBiasNorm):
    """`LN(W x) * g + b` with epsilon 1e-5 (Ba, Kiros and Hinton 2016, equations 20-22), and `LN(c)` in an LSTM."""

    normalizes_memory = True


@final
class MarianNorm(OuterBiasNorm):
    """`LN(W x) * g + b` with epsilon 1e-9 (Marian's `s2s`)."""

    epsilon = 1e-9


@final
class NematusNorm(ProjectionNorm):
    """`LN(W x + b) * g + a` with epsilon 1e-5, each matrix apart (Nematus): in a GRU, that of the two gates and that of
    the candidate.
    """

    def __init__(self, widths: tuple[int, ...]) -> None:
        super().__init__(widths)
        self.widths = widths
        self.norms = nn.ModuleList(nn.LayerNorm(width, self.epsilon) for width in widths)

    def forward(self, projected: Float[Tensor, "*rows O"], bias: Float[Tensor, "O"] | None) -> Tensor:
        parts = torch.split(projected if bias is None else projected + bias, list(self.widths), -1)
        return torch.cat([norm(part) for norm, part in zip(self.norms, parts, strict=True)], -1)


PROJECTION_NORMS: dict[str, type[ProjectionNorm] | None] = {
    "none": None,
    "standard": StandardNorm,
    "marian": MarianNorm,
    "nematus": NematusNorm,
}
ProjectionNormKind: TypeAlias = Annotated[str, OneOf(PROJECTION_NORMS)]


def build_norm(kind: ProjectionNormKind, *widths: int) -> ProjectionNorm | None:
    """The norm of a linear map with these outputs; None for `none`."""
    norm = PROJECTION_NORMS[kind]
    return None if norm is None else norm(widths)


@final
class NormalizedLinear(Linear):
    """A linear layer whose outputs are normalized."""

    def __init__(self, inputs: int, outputs: int, norm: ProjectionNorm, *, bias: bool = True) -> None:
        super().__init__(inputs, outputs, bias=bias)
        self.norm = norm

    def forward(self, x: Float[Tensor, "*rows I"]) -> Float[Tensor, "*rows O"]:
        normalized: Tensor = self.norm(linear(x, self.weight), self.bias)
        return normalized


def build_linear(inputs: int, outputs: int, norm: ProjectionNormKind, *, bias: bool = True) -> Linear:
    """A linear layer, whose outputs are normalized unless `norm` is `none`."""
    built = build_norm(norm, outputs)
    return Linear(inputs, outputs, bias=bias) if built is None else NormalizedLinear(inputs, outputs, built, bias=bias)
