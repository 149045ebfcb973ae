"""The self-attentional encoder."""

from collections.abc import Iterable
from typing import cast, final

import torch
from torch import Tensor, nn

from dragoman.configuration.values import Layers, Rate, Size
from dragoman.model.encoder.encoder import Encoder
from dragoman.model.memory import Memory, StateShape
from dragoman.model.positions import PositionsKind, Relations
from dragoman.model.self_attention import SelfAttention
from dragoman.model.shapes import Bool, Float
from dragoman.model.transformer_layer import (
    ActivationKind,
    Epsilon,
    FeedForward,
    LayerOptions,
    NormKind,
    NormPlace,
    TransformerEmbedding,
    TransformerLayer,
    last_norm,
)


class _EncoderLayer(TransformerLayer):
    """Self-attention, then the feed-forward network."""

    def __init__(self, options: LayerOptions) -> None:
        super().__init__(options, 2)
        self.attention = SelfAttention(options.size, options.heads, bias=options.bias, head_size=options.head_size)
        self.feed_forward = FeedForward(options)

    def forward(
        self, states: Float[Tensor, "B S H"], relations: Relations | None, seen: Bool[Tensor, "B 1 S S"]
    ) -> Float[Tensor, "B S H"]:
        attended, _ = self.attention(self.enter(0, states), relations, seen)
        states = self.leave(0, states, attended)
        return self.leave(1, states, self.feed_forward(self.enter(1, states)))


@final
class SelfAttentionEncoder(Encoder):
    """`layers` in which every symbol attends to all symbols of its sentence (SL, AN; Vaswani et al. 2017).

    `heads` share the `size` of a state, `hidden` is the size inside the feed-forward sublayers, whose `activation` is
    `relu`, `swish`, `gelu`, `gelu_tanh` or `gelu_sigmoid`. `positions`: `rotary`, `learned` for the first `longest`
    symbols (default 1000), `sinusoidal`, `sinusoidal_halves`, `marian`, `fairseq`, `relative` (up to the distance
    `longest`), or `none`. `dropout` acts on the output of each sublayer. There is no final state.

    By default each sublayer reads normalized states and adds its output to the unnormalized ones, and the last states
    are normalized (pre-norm: Xiong et al. 2020), so that training needs no warm-up. With `norm: after` the sums are
    normalized (post-norm: Vaswani et al. 2017); `final_norm` normalizes the last states, by default where nothing else
    does. The options below are those in which published models differ: `bias` of the products of attention, `scale`
    (embeddings times the root of their size), `embedding_norm` of embeddings with their positions, `norm_epsilon`,
    `norm_kind` (`layer` or `rms`), `gated` feed-forward sublayers, and a `head_size` other than size over heads.
    """

    def __init__(
        self,
        input_size: int,
        *,
        size: Size = 256,
        layers: Layers = 6,
        heads: Size = 8,
        hidden: Size | None = None,
        positions: PositionsKind = "rotary",
        longest: Size | None = None,
        dropout: Rate = 0.0,
        bias: bool = False,
        activation: ActivationKind = "relu",
        norm: NormPlace = "before",
        final_norm: bool | None = None,
        norm_epsilon: Epsilon = 1e-5,
        scale: bool = True,
        embedding_norm: bool = False,
        norm_kind: NormKind = "layer",
        gated: bool = False,
        head_size: Size | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        options = LayerOptions(
            size, heads, hidden, dropout, bias, activation, norm, norm_epsilon, norm_kind, gated, head_size
        )
        self.entry = TransformerEmbedding(input_size, options, positions, longest, scale=scale, norm=embedding_norm)
        stack = nn.ModuleList(_EncoderLayer(options) for _ in range(layers))
        self.layers = cast(Iterable[_EncoderLayer], stack)
        self.norm = last_norm(options, final_norm)
        self.state_shape = StateShape(0, size, 0)

    def forward(self, embedded: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> Memory:
        states, relations = self.entry(embedded, torch.arange(mask.size(1), device=mask.device), mask.size(1))
        seen = mask[:, None, None, :].expand(-1, -1, mask.size(1), -1)
        for layer in self.layers:
            states = layer(states, relations, seen)
        return Memory(self.norm(states), mask)
