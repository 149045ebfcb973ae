"""Features: what the output layer reads at each step."""

from abc import ABC, abstractmethod
from typing import Annotated, NamedTuple, TypeAlias, final

import torch
from torch import Tensor, nn

from dragoman.configuration.components import OneOf
from dragoman.model.linear import Linear
from dragoman.model.projection_norm import ProjectionNormKind, build_linear, build_norm
from dragoman.model.shapes import Float


class ReadoutSizes(NamedTuple):
    """Sizes of the three vectors that features are computed from, and the size and norm of the result if they are
    mixed.
    """

    state: int
    context: int
    embedding: int
    features: int
    norm: ProjectionNormKind = "none"  # of a mixture


class ReadoutLayer(nn.Module, ABC):
    """`features(state, context, embedding of the previous symbol)`, over any leading axes."""

    size: int
    mixes = True  # whether it computes a new vector, of any size

    def __init__(self, sizes: ReadoutSizes) -> None:
        super().__init__()
        self.size = sizes.features

    @abstractmethod
    def forward(
        self, state: Float[Tensor, "*rows D"], context: Float[Tensor, "*rows C"], embedded: Float[Tensor, "*rows E"]
    ) -> Float[Tensor, "*rows F"]:
        """Return what the output layer reads."""


@final
class ConcatReadout(ReadoutLayer):
    """`[h_t; c_t]`, straight into the softmax (NT (75))."""

    mixes = False

    def __init__(self, sizes: ReadoutSizes) -> None:
        super().__init__(sizes)
        if build_norm(sizes.norm, 1):
            raise ValueError("readout_norm requires readout: tanh or deep")
        self.size = sizes.state + sizes.context

    def forward(
        self, state: Float[Tensor, "*rows D"], context: Float[Tensor, "*rows C"], embedded: Float[Tensor, "*rows E"]
    ) -> Float[Tensor, "*rows F"]:
        return torch.cat([state, context], -1)


class Mixture(Linear):
    """`W [x_1; x_2; ...] + b`."""

    def __init__(self, inputs: tuple[int, ...], size: int) -> None:
        super().__init__(sum(inputs), size)

    def forward(self, *inputs: Float[Tensor, "*rows _"]) -> Float[Tensor, "*rows F"]:
        return super().forward(torch.cat(inputs, -1))


class NormalizedMixture(nn.Module):
    """`sum_i norm(W_i x_i, b_i)`: each input is normalized apart (Nematus, Marian)."""

    def __init__(self, inputs: tuple[int, ...], size: int, norm: ProjectionNormKind) -> None:
        super().__init__()
        self.maps = nn.ModuleList(build_linear(width, size, norm) for width in inputs)

    def forward(self, *inputs: Float[Tensor, "*rows _"]) -> Float[Tensor, "*rows F"]:
        return torch.stack([part(x) for part, x in zip(self.maps, inputs, strict=True)]).sum(0)


def _mixture(inputs: tuple[int, ...], sizes: ReadoutSizes) -> Mixture | NormalizedMixture:
    if build_norm(sizes.norm, 1) is None:
        return Mixture(inputs, sizes.features)
    return NormalizedMixture(inputs, sizes.features, sizes.norm)


@final
class TanhReadout(ReadoutLayer):
    """The attentional vector `h~_t = tanh(W [h_t; c_t] + b)` (CN 3.1, Luong et al. 2015 (5))."""

    def __init__(self, sizes: ReadoutSizes) -> None:
        super().__init__(sizes)
        self.mix = _mixture((sizes.state, sizes.context), sizes)

    def forward(
        self, state: Float[Tensor, "*rows D"], context: Float[Tensor, "*rows C"], embedded: Float[Tensor, "*rows E"]
    ) -> Float[Tensor, "*rows F"]:
        return torch.tanh(self.mix(state, context))


@final
class LinearReadout(ReadoutLayer):
    """The same without tanh, `W [h_t; c_t] + b` (OpenNMT-py with its attention `mlp`)."""

    def __init__(self, sizes: ReadoutSizes) -> None:
        super().__init__(sizes)
        self.mix = _mixture((sizes.state, sizes.context), sizes)

    def forward(
        self, state: Float[Tensor, "*rows D"], context: Float[Tensor, "*rows C"], embedded: Float[Tensor, "*rows E"]
    ) -> Float[Tensor, "*rows F"]:
        mixed: Tensor = self.mix(state, context)
        return mixed


@final
class DeepReadout(ReadoutLayer):
    """Deep output, `tanh(W [h_t; c_t; E y_(t-1)] + b)` (Bahdanau et al. 2015, A.2.2, with tanh in place of maxout)."""

    def __init__(self, sizes: ReadoutSizes) -> None:
        super().__init__(sizes)
        self.mix = _mixture((sizes.state, sizes.context, sizes.embedding), sizes)

    def forward(
        self, state: Float[Tensor, "*rows D"], context: Float[Tensor, "*rows C"], embedded: Float[Tensor, "*rows E"]
    ) -> Float[Tensor, "*rows F"]:
        return torch.tanh(self.mix(state, context, embedded))


READOUTS: dict[str, type[ReadoutLayer]] = {
    "concat": ConcatReadout,
    "tanh": TanhReadout,
    "linear": LinearReadout,
    "deep": DeepReadout,
}
ReadoutKind: TypeAlias = Annotated[str, OneOf(READOUTS)]
