"""The self-attentional decoder."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias, cast, final

import torch
from torch import Tensor, nn

from dragoman.configuration.components import OneOf
from dragoman.configuration.values import Layers, Rate, Size
from dragoman.model.attention.attention import Attention, GlobalAttention, PreparedSource, flatten_sentences
from dragoman.model.attention.sources.combination import Combination, OneSource, as_combination
from dragoman.model.autoregression import Autoregression, Reading, Sru, Ssru
from dragoman.model.decoder.decoder import Decoder, DecoderState, DecoderStep, Unrolled
from dragoman.model.linear import Linear
from dragoman.model.memory import Memory, StateShape
from dragoman.model.positions import PositionsKind, Relations
from dragoman.model.recurrent import CellState
from dragoman.model.self_attention import SelfAttention, split_heads
from dragoman.model.shapes import Float
from dragoman.model.state import map_tensors
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

AUTOREGRESSIONS: dict[str, Callable[..., Autoregression]] = {"self_attention": SelfAttention, "ssru": Ssru, "sru": Sru}
AutoregressionKind: TypeAlias = Annotated[str, OneOf(AUTOREGRESSIONS)]


class CrossAttention(nn.Module):
    """Heads that attend to the source, each with queries, keys and values of its own (Vaswani et al. 2017, 3.2.2).

    The configured attention treats each head as a sentence of its own. `alignment_head` (from 1) is the head whose
    weights are reported.
    """

    def __init__(
        self, options: LayerOptions, memory_size: int, attention: GlobalAttention, alignment_head: int | None = None
    ) -> None:
        super().__init__()
        size, inner, bias = options.size, options.attention_size, options.bias
        self.heads = options.heads
        self.alignment_head = alignment_head
        self.query = Linear(size, inner, bias=bias)
        self.keys = Linear(memory_size, inner, bias=bias)
        self.values = Linear(memory_size, inner, bias=bias)
        self.attention = attention
        self.out_proj = Linear(inner, size, bias=bias)

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
        """Return the mixed outputs of the heads, and the mean of their weights, or the weights of one."""
        rows, steps, _ = states.shape
        sentences, heads, _ = source.mask.shape
        query = self.query(states).view(sentences, -1, heads, self.query.out_features // heads)  # (B, R/B T, K, P)
        weights, reading = self.attention.attend(
            _swap_axes(query).flatten(0, 1), flatten_sentences(source)
        )  # (B K, R/B T, P)
        read = _swap_axes(reading.context.view(sentences, heads, -1, query.size(-1)))  # (B, R/B T, K, P)
        by_head = weights.view(sentences, heads, -1, weights.size(-1))  # (B, K, R/B T, S)
        reported = by_head.mean(1) if self.alignment_head is None else by_head[:, self.alignment_head - 1]
        return self.out_proj(read.view(rows, steps, -1)), reported.reshape(rows, steps, -1)


def _swap_axes(tensor: Float[Tensor, "B _ _ P"]) -> Float[Tensor, "B _ _ P"]:
    """Swap the second and third axes. Always a copy: the exporter cannot know whether a view is possible."""
    return tensor.transpose(1, 2).clone(memory_format=torch.contiguous_format)


class _DecoderLayer(TransformerLayer):
    """The block that reads the symbols so far, cross-attention, then the feed-forward network."""

    def __init__(self, options: LayerOptions, reads: AutoregressionKind, cross: CrossAttention) -> None:
        super().__init__(options, 3)
        self.attention = AUTOREGRESSIONS[reads](
            options.size, options.heads, bias=options.bias, head_size=options.head_size
        )
        self.cross = cross
        self.feed_forward = FeedForward(options)

    def forward(
        self,
        states: Float[Tensor, "R T D"],
        relations: Relations | None,
        reading: Reading,
        past: Any,
        source: PreparedSource,
    ) -> tuple[Float[Tensor, "R T D"], Float[Tensor, "R T S"], Any]:
        attended, past = self.attention(self.enter(0, states), relations, reading.seen, past)
        states = self.leave(0, states, attended)
        looked, weights = self.cross(self.enter(1, states), source)
        states = self.leave(1, states, looked)
        return self.leave(2, states, self.feed_forward(self.enter(2, states))), weights, past


@final
class SelfAttentionDecoder(Decoder):
    """Layers in which each symbol attends to the symbols so far and to the source (Vaswani et al. 2017).

    `size`, `layers`, `heads`, `hidden`, `activation`, `positions`, `longest`, `dropout`, `norm`, `final_norm` and the
    options in which published models differ (`bias`, `scale`, `embedding_norm`, `norm_epsilon`, `norm_kind`, `gated`,
    `head_size`) are as in `SelfAttentionEncoder`. With `autoregression: ssru` or `sru` a recurrence takes the place of
    self-attention (`Ssru`, `Sru`). Each layer attends to the source with the configured score and normalizer;
    `scaled_dot` and `softmax` are Vaswani's. All steps over a reference are computed at once, so attention to the
    source has no history, and neither terms nor a window. The reported weights are the mean over the heads of the last
    layer, or those of `alignment_layer` and `alignment_head`, both from 1. `readout_size` is by default the size of the
    embeddings.

    `input_size` is the size of the embeddings, `memory_sizes` has that of the encoder states, and
    `attend_to(query size, state sizes)` builds the attention of one head.

    The step state is that of each layer's `Autoregression`: the `KeyValueCache` of self-attention grows by one symbol
    per step, a recurrence keeps one vector.
    """

    attends = True

    def __init__(
        self,
        input_size: int,
        memory_sizes: tuple[int, ...],
        attend_to: Callable[[int, tuple[int, ...]], Attention | Combination],
        *,
        size: Size = 256,
        layers: Layers = 6,
        heads: Size = 8,
        hidden: Size | None = None,
        readout_size: Size | None = None,
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
        autoregression: AutoregressionKind = "self_attention",
        alignment_layer: Layers | None = None,
        alignment_head: Size | None = None,
    ) -> None:
        super().__init__()
        if len(memory_sizes) > 1:
            raise ValueError("supports a single source; use decoder: rnn for several")
        self.alignment_layer = alignment_layer or layers
        if self.alignment_layer > layers:
            raise ValueError(f"alignment_layer {alignment_layer} requires as many layers, and there are {layers}")
        if alignment_head is not None and alignment_head > heads:
            raise ValueError(f"alignment_head {alignment_head} requires as many heads, and there are {heads}")
        options = LayerOptions(
            size, heads, hidden, dropout, bias, activation, norm, norm_epsilon, norm_kind, gated, head_size
        )
        self.entry = TransformerEmbedding(
            input_size, options, positions, longest, scale=scale, norm=embedding_norm, causal=True
        )
        query_size = options.heads_of(causal=True).size

        def cross() -> CrossAttention:
            attention = as_combination(attend_to(query_size, (query_size,)))
            if not isinstance(attention, OneSource):
                raise ValueError("does not support a sentinel; use decoder: rnn")
            if not isinstance(attention.attention, GlobalAttention) or attention.attention.terms:
                raise ValueError(
                    "attends from all steps in parallel: requires a score other than none, "
                    "and no terms, window or sentences"
                )
            return CrossAttention(options, memory_sizes[0], attention.attention, alignment_head)

        stack = nn.ModuleList(_DecoderLayer(options, autoregression, cross()) for _ in range(layers))
        self.layers = cast(Sequence[_DecoderLayer], stack)
        if self.entry.positions.relates and not self.layers[0].attention.relates:
            raise ValueError(
                f"autoregression: {autoregression} has no queries and keys; set positions: none, learned or sinusoidal"
            )
        self.norm = last_norm(options, final_norm)
        self.features_size = readout_size or input_size
        self.features = Linear(size, self.features_size) if self.features_size != size else nn.Identity()
        self.state_shape = StateShape(0, size, 0)

    def add_second_readout(self, size: int) -> None:
        self.second_readout = nn.Sequential(Linear(self.state_shape.size, size), nn.Tanh())
        self.features_size += size

    def start(self, memories: tuple[Memory, ...], layers: tuple[CellState, ...]) -> DecoderState:
        (memory,) = memories
        step_state = tuple(layer.attention.start(memory.states) for layer in self.layers)
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
    ) -> tuple[Float[Tensor, "R T F"], Float[Tensor, "R T S"], tuple[Any, ...]]:
        """Read T symbols: features, attention weights, and the state of each layer."""
        reading = self.layers[0].attention.reading(state.step_state[0], embedded.size(1))
        states, relations = self.entry(embedded, reading.places, reading.keys)
        step_state, by_layer = [], []
        for layer, past, source in zip(self.layers, state.step_state, state.source_state, strict=True):
            states, weights, past = layer(states, relations, reading, past, source)
            step_state.append(past)
            by_layer.append(weights)
        top = self.norm(states)
        features = self.features(top)
        if self.second_readout is not None:
            features = torch.cat([features, self.second_readout(top)], -1)
        return features, by_layer[self.alignment_layer - 1], tuple(step_state)
