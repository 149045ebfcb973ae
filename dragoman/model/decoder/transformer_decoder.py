"""The self-attentional decoder."""

from collections.abc import Callable, Sequence
from typing import cast, final

import torch
from torch import Tensor, nn

from dragoman.configuration.values import Layers, Rate, Size
from dragoman.model.attention.attention import GlobalAttention, PreparedSource, flatten_sentences
from dragoman.model.attention.sources.combination import Combination, OneSource
from dragoman.model.decoder.decoder import Decoder, DecoderState, DecoderStep, Unrolled
from dragoman.model.linear import Linear, matmul_dtype
from dragoman.model.memory import Memory, StateShape
from dragoman.model.recurrent import CellState
from dragoman.model.self_attention import (
    FeedForward,
    KeyValueCache,
    PositionsKind,
    Rotations,
    SelfAttention,
    TransformerEmbedding,
    split_heads,
)
from dragoman.model.shapes import Bool, Float
from dragoman.model.state import map_tensors


class CrossAttention(nn.Module):
    """Heads that attend to the source, each with queries, keys and values of its own (Vaswani et al. 2017, 3.2.2).

    The configured attention treats each head as a sentence of its own.
    """

    def __init__(self, size: int, memory_size: int, heads: int, attention: GlobalAttention) -> None:
        super().__init__()
        self.heads = heads
        self.query = Linear(size, size, bias=False)
        self.keys = Linear(memory_size, size, bias=False)
        self.values = Linear(memory_size, size, bias=False)
        self.attention = attention
        self.out_proj = Linear(size, size, bias=False)

    def prepare(self, memory: Memory) -> PreparedSource:
        """Return tensors (B, K, ...), by head."""
        keys, values = (split_heads(part(memory.states), self.heads).flatten(0, 1) for part in (self.keys, self.values))
        mask = memory.mask.repeat_interleave(self.heads, 0)  # (B K, S)
        attended = self.attention.prepare(Memory(keys, mask))._replace(values=values)
        # By sentence again, since a search selects sentences; heads are apart only while they are scored.
        return map_tensors(lambda tensor: tensor.view(-1, self.heads, *tensor.shape[1:]), attended)

    def forward(
        self, states: Float[Tensor, "R T D"], source: PreparedSource
    ) -> tuple[Float[Tensor, "R T D"], Float[Tensor, "R T S"]]:
        """Return the mixed outputs of the heads, and the mean of their weights."""
        rows, steps, size = states.shape
        sentences, heads, _ = source.mask.shape
        query = self.query(states).view(sentences, -1, heads, size // heads)  # (B, R/B T, K, P)
        weights, reading = self.attention.attend(
            _swap_axes(query).flatten(0, 1), flatten_sentences(source)
        )  # (B K, R/B T, P)
        read = _swap_axes(reading.context.view(sentences, heads, -1, size // heads))  # (B, R/B T, K, P)
        mean = weights.view(sentences, heads, -1, weights.size(-1)).mean(1)  # (B, R/B T, S)
        return self.out_proj(read.view(states.shape)), mean.view(rows, steps, -1)


def _swap_axes(tensor: Float[Tensor, "B _ _ P"]) -> Float[Tensor, "B _ _ P"]:
    """Swap the second and third axes. Always a copy: the exporter cannot know whether a view is possible."""
    return tensor.transpose(1, 2).clone(memory_format=torch.contiguous_format)


class _DecoderLayer(nn.Module):
    """`x + self_attention(norm(x))`, `x + cross_attention(norm(x), source)`, `x + feed_forward(norm(x))`."""

    def __init__(self, size: int, heads: int, hidden: int | None, dropout: float, cross: CrossAttention) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(3))
        self.attention = SelfAttention(size, heads)
        self.cross = cross
        self.feed_forward = FeedForward(size, hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        states: Float[Tensor, "R T D"],
        rotations: Rotations | None,
        seen: Bool[Tensor, "T _"] | None,
        past: KeyValueCache,
        source: PreparedSource,
    ) -> tuple[Float[Tensor, "R T D"], Float[Tensor, "R T S"], KeyValueCache]:
        attended, past = self.attention(self.norms[0](states), rotations, seen, past)
        states = states + self.dropout(attended)
        looked, weights = self.cross(self.norms[1](states), source)
        states = states + self.dropout(looked)
        return states + self.dropout(self.feed_forward(self.norms[2](states))), weights, past


@final
class SelfAttentionDecoder(Decoder):
    """Layers in which each symbol attends to the symbols so far and to the source (Vaswani et al. 2017).

    Normalization and options are as in `SelfAttentionEncoder`. Each layer attends to the source with the configured
    score and normalizer; `scaled_dot` and `softmax` are Vaswani's. All steps over a reference are computed at once, so
    attention to the source has no history, and neither terms nor a window. The reported weights are the mean over the
    heads of the last layer. `readout_size` is by default the size of the embeddings.

    The step state is the `KeyValueCache` of each layer, which grows by one symbol per step.
    """

    attends = True

    def __init__(
        self,
        input_size: int,
        memory_sizes: tuple[int, ...],
        attend_to: Callable[[int, tuple[int, ...]], Combination],
        *,
        size: Size = 256,
        layers: Layers = 6,
        heads: Size = 8,
        hidden: Size | None = None,
        readout_size: Size | None = None,
        positions: PositionsKind = "rotary",
        longest: Size | None = None,
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        if len(memory_sizes) > 1:
            raise ValueError("supports a single source; use decoder: rnn for several")
        self.entry = TransformerEmbedding(input_size, size, heads, positions, longest)
        self.heads, self.head_size = heads, size // heads

        def cross() -> CrossAttention:
            attention = attend_to(self.head_size, (self.head_size,))
            if not isinstance(attention, OneSource):
                raise ValueError("does not support a sentinel; use decoder: rnn")
            if not isinstance(attention.attention, GlobalAttention) or attention.attention.terms:
                raise ValueError(
                    "attends from all steps in parallel: requires a score other than none, "
                    "and no terms, window or sentences"
                )
            return CrossAttention(size, memory_sizes[0], heads, attention.attention)

        stack = nn.ModuleList(_DecoderLayer(size, heads, hidden, dropout, cross()) for _ in range(layers))
        self.layers = cast(Sequence[_DecoderLayer], stack)
        self.norm = nn.LayerNorm(size)
        self.features_size = readout_size or input_size
        self.features = Linear(size, self.features_size) if self.features_size != size else nn.Identity()
        self.state_shape = StateShape(0, size, 0)

    def add_path(self, size: int) -> None:
        self.path = nn.Sequential(Linear(self.state_shape.size, size), nn.Tanh())
        self.features_size += size

    def start(self, memories: tuple[Memory, ...], layers: tuple[CellState, ...]) -> DecoderState:
        (memory,) = memories
        states = memory.states
        # In the type of products, so that what grows step by step is never cast again.
        nothing = states.new_zeros(states.size(0), self.heads, 0, self.head_size, dtype=matmul_dtype(states))
        step_state = (KeyValueCache(nothing, nothing),) * len(self.layers)
        return DecoderState(step_state, tuple(layer.cross.prepare(memory) for layer in self.layers), ())

    def step(self, embedded: Float[Tensor, "B E"], state: DecoderState) -> DecoderStep:
        features, weights, step_state = self._advance(embedded.unsqueeze(1), state)
        return DecoderStep(features.squeeze(1), weights.squeeze(1), state._replace(step_state=step_state))

    def by_source(self, weights: Float[Tensor, "*_ S"], state: DecoderState) -> tuple[Float[Tensor, "*_ _"], ...]:
        return (weights,)

    def unroll(self, embedded: Float[Tensor, "B T E"], state: DecoderState) -> Unrolled:
        features, weights, _ = self._advance(embedded, state)
        return Unrolled(features, weights)

    def _advance(
        self, embedded: Float[Tensor, "R T E"], state: DecoderState
    ) -> tuple[Float[Tensor, "R T F"], Float[Tensor, "R T S"], tuple[KeyValueCache, ...]]:
        """Read T symbols: features, attention weights, and the `KeyValueCache` of each layer."""
        # How many symbols have been read; the length of what is kept says it, so that it needs no counter.
        first, steps = state.step_state[0].keys.size(2), embedded.size(1)
        states, rotations = self.entry(embedded, torch.arange(first, first + steps, device=embedded.device))
        # Each symbol sees those before it and itself; a single one is the last, and sees all.
        seen = None if steps == 1 else states.new_ones(steps, first + steps, dtype=torch.bool).tril(first)
        step_state = []
        for layer, past, source in zip(self.layers, state.step_state, state.source_state, strict=True):
            states, weights, past = layer(states, rotations, seen, past, source)
            step_state.append(past)
        top = self.norm(states)
        features = self.features(top)
        if self.path is not None:
            features = torch.cat([features, self.path(top)], -1)
        return features, weights, tuple(step_state)
