"""Features: what the output layer reads at each step."""

from abc import ABC, abstractmethod
from typing import Annotated, NamedTuple, TypeAlias, final

import torch
from torch import Tensor, nn

from dragoman.configuration.components import OneOf
from dragoman.model.linear import Linear
from dragoman.model.shapes import Float


class ReadoutSizes(NamedTuple):
    """Sizes of the three vectors that features are computed from, and the size of the result if they are mixed."""

    state: int
    context: int
    embedding: int
    features: int


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
    ) -> Float[Tensor, "*rows F"]: ...


@final
class ConcatReadout(ReadoutLayer):
    """`[h_t; c_t]`, straight into the softmax (NT (75))."""

    mixes = False

    def __init__(self, sizes: ReadoutSizes) -> None:
        super().__init__(sizes)
        self.size = sizes.state + sizes.context

    def forward(
        self, state: Float[Tensor, "*rows D"], context: Float[Tensor, "*rows C"], embedded: Float[Tensor, "*rows E"]
    ) -> Float[Tensor, "*rows F"]:
        return torch.cat([state, context], -1)


@final
class TanhReadout(ReadoutLayer):
    """The attentional vector `h~_t = tanh(W [h_t; c_t] + b)` (CN 3.1, Luong et al. 2015 (5))."""

    def __init__(self, sizes: ReadoutSizes) -> None:
        super().__init__(sizes)
        self.mix = Linear(sizes.state + sizes.context, self.size)

    def forward(
        self, state: Float[Tensor, "*rows D"], context: Float[Tensor, "*rows C"], embedded: Float[Tensor, "*rows E"]
    ) -> Float[Tensor, "*rows F"]:
        return torch.tanh(self.mix(torch.cat([state, context], -1)))


@final
class DeepReadout(ReadoutLayer):
    """Deep output, `tanh(W [h_t; c_t; E y_(t-1)] + b)` (Bahdanau et al. 2015, A.2.2, with tanh in place of maxout)."""

    def __init__(self, sizes: ReadoutSizes) -> None:
        super().__init__(sizes)
        self.mix = Linear(sizes.state + sizes.context + sizes.embedding, self.size)

    def forward(
        self, state: Float[Tensor, "*rows D"], context: Float[Tensor, "*rows C"], embedded: Float[Tensor, "*rows E"]
    ) -> Float[Tensor, "*rows F"]:
        return torch.tanh(self.mix(torch.cat([state, context, embedded], -1)))


READOUTS: dict[str, type[ReadoutLayer]] = {"concat": ConcatReadout, "tanh": TanhReadout, "deep": DeepReadout}
ReadoutKind: TypeAlias = Annotated[str, OneOf(READOUTS)]
