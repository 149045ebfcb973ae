"""The self-attentional encoder."""

from collections.abc import Iterable
from typing import cast, final

import torch
from torch import Tensor, nn

from dragoman.configuration.values import Layers, Rate, Size
from dragoman.model.encoder.encoder import Encoder
from dragoman.model.memory import Memory, StateShape
from dragoman.model.self_attention import FeedForward, PositionsKind, Rotations, SelfAttention, TransformerEmbedding
from dragoman.model.shapes import Bool, Float


class _EncoderLayer(nn.Module):
    """`x + attention(norm(x))`, then `x + feed_forward(norm(x))`."""

    def __init__(self, size: int, heads: int, hidden: int | None, dropout: float) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(2))
        self.attention = SelfAttention(size, heads)
        self.feed_forward = FeedForward(size, hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, states: Float[Tensor, "B S H"], rotations: Rotations | None, seen: Bool[Tensor, "B 1 S S"]
    ) -> Float[Tensor, "B S H"]:
        attended, _ = self.attention(self.norms[0](states), rotations, seen)
        states = states + self.dropout(attended)
        changed: Tensor = self.dropout(self.feed_forward(self.norms[1](states)))
        return states + changed


@final
class SelfAttentionEncoder(Encoder):
    """Layers in which every symbol attends to all symbols of its sentence (SL, AN; Vaswani et al. 2017).

    Each sublayer reads normalized states and adds its output to the unnormalized ones, and the last states are
    normalized (pre-norm: Xiong et al. 2020), so that training needs no warm-up. `heads` share the `size` of a state,
    `hidden` is the size inside the feed-forward sublayers. `positions`: `rotary`, `learned` for the first `longest`
    symbols (default 1000), or `none`. `dropout` acts on the output of each sublayer. There is no final state.
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
    ) -> None:
        super().__init__()
        self.size = size
        self.entry = TransformerEmbedding(input_size, size, heads, positions, longest)
        stack = nn.ModuleList(_EncoderLayer(size, heads, hidden, dropout) for _ in range(layers))
        self.layers = cast(Iterable[_EncoderLayer], stack)
        self.norm = nn.LayerNorm(size)
        self.state_shape = StateShape(0, size, 0)

    def forward(self, embedded: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> Memory:
        states, rotations = self.entry(embedded, torch.arange(mask.size(1), device=mask.device))
        seen = mask[:, None, None, :].expand(-1, -1, mask.size(1), -1)
        for layer in self.layers:
            states = layer(states, rotations, seen)
        return Memory(self.norm(states), mask)
