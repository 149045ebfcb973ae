"""Bridges: the initial decoder state, computed from the encoder memories."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Annotated, ClassVar, Literal, TypeAlias, final

import torch
from torch import Tensor, nn

from dragoman.configuration.components import OneOf
from dragoman.model.linear import Linear
from dragoman.model.memory import Memory, StateShape
from dragoman.model.projection_norm import ProjectionNormKind, build_linear
from dragoman.model.recurrent import CellState

BRIDGE_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "none": nn.Identity(),
}
BridgeActivationKind: TypeAlias = Annotated[str, OneOf(BRIDGE_ACTIVATIONS)]


class Bridge(nn.Module, ABC):
    """`bridge(memories)`: the initial states of all decoder layers, each tensor (B, D).

    `encoders` are the shapes of the final encoder states, one for each source; `decoder` is that of the decoder states.
    """

    starts: ClassVar[bool] = True  # whether the decoder starts from these states
    reads_source: ClassVar[bool] = True  # whether they depend on the source
    reads_final = False  # whether it reads the final encoder state

    def __init__(self, encoders: tuple[StateShape, ...], decoder: StateShape) -> None:
        super().__init__()
        if self.reads_final and not all(encoder.layers for encoder in encoders):
            raise ValueError("requires an encoder with a final state; use 'mean' or 'zero'")
        self.decoder = decoder

    @abstractmethod
    def forward(self, memories: tuple[Memory, ...]) -> tuple[CellState, ...]:
        """Return the initial states of all layers."""

    def zeros(self, memories: tuple[Memory, ...]) -> CellState:
        """The zero state of one decoder layer."""
        like = memories[0].states
        return (like.new_zeros(like.size(0), self.decoder.size),) * self.decoder.components


@final
class ZeroBridge(Bridge):
    """Every layer starts from zeros: the decoder sees the source only through attention."""

    reads_source = False

    def forward(self, memories: tuple[Memory, ...]) -> tuple[CellState, ...]:
        return (self.zeros(memories),) * self.decoder.layers


class ProjectionBridge(Bridge):
    """`h_0 = tanh(W z + b)` for a vector z of the source (Bahdanau et al. 2015, A.2.2); for an LSTM also
    `c_0 = V z + d`. With several sources, z is the concatenation of their vectors.

    `layers: first` initializes the first layer alone and the others from zeros (CN 1.3). With `shared`, all layers
    start from the same `h_0`, and an LSTM's c as well (Marian, JoeyNMT). `layer_norm` normalizes the products.
    `activation` is the function in the place of tanh.
    """

    def __init__(
        self,
        encoders: tuple[StateShape, ...],
        decoder: StateShape,
        *,
        layers: Literal["all", "first"] = "all",
        shared: bool = False,
        layer_norm: ProjectionNormKind = "none",
        activation: BridgeActivationKind = "tanh",
    ) -> None:
        super().__init__(encoders, decoder)
        self.activation = BRIDGE_ACTIVATIONS[activation]
        self.filled = decoder.layers if layers == "all" else 1
        self.shared = shared
        self.projections = nn.ModuleList(
            build_linear(sum(encoder.size for encoder in encoders), decoder.size, layer_norm)
            for _ in range(1 if shared else self.filled * decoder.components)
        )

    @abstractmethod
    def summary(self, memory: Memory) -> Tensor:
        """The vector z (B, H) of a source."""

    def forward(self, memories: tuple[Memory, ...]) -> tuple[CellState, ...]:
        vector = torch.cat([self.summary(memory) for memory in memories], -1)
        projected = [projection(vector) for projection in self.projections]
        if self.shared:
            first: tuple[CellState, ...] = ((self.activation(projected[0]),) * self.decoder.components,) * self.filled
        else:
            hidden, cells = projected[: self.filled], projected[self.filled :]
            starts = [self.activation(h) for h in hidden]
            first = tuple(zip(starts, cells, strict=True)) if cells else tuple((start,) for start in starts)
        return first + (self.zeros(memories),) * (self.decoder.layers - self.filled)


@final
class FinalStateBridge(ProjectionBridge):
    """z is the final state of the last encoder layer, both directions (NT: `h_0 = h^f`); for regions, their mean."""

    reads_final = True

    def summary(self, memory: Memory) -> Tensor:
        return memory.final[-1][0]


@final
class MeanBridge(ProjectionBridge):
    """z is the mean of the encoder states over the real positions."""

    def summary(self, memory: Memory) -> Tensor:
        return memory.mean()


@final
class CopyBridge(Bridge):
    """Layer i of the decoder starts from the final state of layer i of the encoder, unchanged.

    Sizes and cells must agree; `layers: first` copies the last encoder layer to the first decoder layer (CN 1.3).
    """

    reads_final = True

    def __init__(
        self, encoders: tuple[StateShape, ...], decoder: StateShape, *, layers: Literal["all", "first"] = "all"
    ) -> None:
        super().__init__(encoders, decoder)
        if len(encoders) > 1:
            raise ValueError("requires a single source; use 'final'")
        (encoder,) = encoders
        if (encoder.size, encoder.components) != (decoder.size, decoder.components):
            raise ValueError(
                f"copies states unchanged, but the encoder has {encoder.components} of size {encoder.size} "
                f"and the decoder {decoder.components} of size {decoder.size}; use 'final'"
            )
        if layers == "all" and encoder.layers != decoder.layers:
            raise ValueError(
                f"copies layer by layer, but {encoder.layers} layers meet {decoder.layers}; use layers: first"
            )
        self.first = layers == "first"

    def forward(self, memories: tuple[Memory, ...]) -> tuple[CellState, ...]:
        (memory,) = memories
        if self.first:
            return (memory.final[-1],) + (self.zeros(memories),) * (self.decoder.layers - 1)
        return memory.final


@final
class LayerwiseBridge(Bridge):
    """`h_i = W h_i^e + b` and `c_i = V c_i^e + d` for layer i, from the final state of layer i of the encoder, with the
    same matrices for all layers (fairseq's `lstm`). `activation` is a function of both (OpenNMT-py: relu).
    """

    reads_final = True

    def __init__(
        self, encoders: tuple[StateShape, ...], decoder: StateShape, *, activation: BridgeActivationKind = "none"
    ) -> None:
        super().__init__(encoders, decoder)
        self.activation = BRIDGE_ACTIVATIONS[activation]
        if len(encoders) > 1:
            raise ValueError("requires a single source; use 'final'")
        (encoder,) = encoders
        if (encoder.layers, encoder.components) != (decoder.layers, decoder.components):
            raise ValueError(
                f"maps states layer by layer, but {encoder.layers} layers with {encoder.components} vectors meet "
                f"{decoder.layers} with {decoder.components}; use 'final'"
            )
        self.projections = nn.ModuleList(Linear(encoder.size, decoder.size) for _ in range(decoder.components))

    def forward(self, memories: tuple[Memory, ...]) -> tuple[CellState, ...]:
        (memory,) = memories
        return tuple(
            tuple(self.activation(projection(part)) for projection, part in zip(self.projections, state, strict=True))
            for state in memory.final
        )


@final
class NoBridge(Bridge):
    """For a decoder without an initial state: it sees the source only through attention."""

    starts = False
    reads_source = False

    def forward(self, memories: tuple[Memory, ...]) -> tuple[CellState, ...]:
        return ()


BRIDGES: dict[str, type[Bridge]] = {
    "final": FinalStateBridge,
    "zero": ZeroBridge,
    "mean": MeanBridge,
    "copy": CopyBridge,
    "layerwise": LayerwiseBridge,
    "none": NoBridge,
}
