"""Attention of Transformers in operators of ONNX Runtime, each of which computes all heads of a layer."""

import copy
from collections.abc import Sequence
from typing import Any, final

import torch
from torch import Tensor, nn

from dragoman.model.attention.attention import GlobalAttention, PreparedSource
from dragoman.model.attention.normalizers import Softmax
from dragoman.model.attention.scores import ScaledDotScore
from dragoman.model.autoregression import Autoregression, Reading
from dragoman.model.decoder.transformer_decoder import CrossAttention
from dragoman.model.memory import Memory
from dragoman.model.positions import Biases, Positions, Relations, Rotary, Rotations
from dragoman.model.self_attention import KeyValueCache, SelfAttention, split_heads
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.shapes import Bool, Float, Int

MULTIPLE = 16  # of which the sizes of heads are in these operators


def fuse_attention(model: Seq2Seq) -> Seq2Seq:
    """Return a copy of a model to be traced, in which operators of ONNX Runtime take the place of attention in several
    heads. It computes shapes only; the operators compute in the graph.
    """
    fused = copy.deepcopy(model)
    for module in list(fused.modules()):
        for name, part in list(module.named_children()):
            if isinstance(part, SelfAttention) and part.out_proj.in_features // part.heads % MULTIPLE == 0:
                setattr(module, name, FusedSelfAttention(part))
            elif isinstance(part, Rotary) and part.causal and part.head_size % MULTIPLE == 0:
                setattr(module, name, RotaryTable(part))
            elif isinstance(part, CrossAttention) and _is_scaled_dot(part.attention):
                setattr(module, name, FusedCrossAttention(part))
    return fused


def _is_scaled_dot(attention: nn.Module) -> bool:
    """Whether this is the attention that the operators compute."""
    return (
        isinstance(attention, GlobalAttention)
        and isinstance(attention.score, ScaledDotScore)
        and isinstance(attention.normalizer, Softmax)
        and not attention.terms
    )


def _operator(
    name: str, inputs: Sequence[Tensor | None], attributes: dict[str, Any], *shapes: Sequence[int | torch.SymInt]
) -> list[Tensor]:
    """Return the results of an operator of ONNX Runtime, in float32 with these shapes."""
    types = [torch.float32] * len(shapes)
    results = torch.onnx.ops.symbolic_multi_out(
        f"com.microsoft::{name}", inputs, attributes, dtypes=types, shapes=shapes, version=1
    )
    return list(results)


def _penalize(mask: Bool[Tensor, "*_ S"]) -> Float[Tensor, "*_ S"]:
    """What is added to energies: -inf where the mask is False."""
    return torch.zeros(mask.shape).masked_fill(~mask, float("-inf"))


@final
class FusedSelfAttention(Autoregression):
    """`SelfAttention` as MultiHeadAttention in an encoder, and as GroupQueryAttention, which appends keys and values to
    those of the past, in a decoder's step.
    """

    relates = True

    def __init__(self, plain: SelfAttention) -> None:
        super().__init__()
        self.plain = plain

    def start(self, states: Float[Tensor, "B _ _"]) -> KeyValueCache:
        return self.plain.start(states)

    def reading(self, past: KeyValueCache, steps: int) -> Reading:
        return self.plain.reading(past, steps)

    def forward(
        self,
        states: Float[Tensor, "R T D"],
        relations: Relations | None,
        seen: Bool[Tensor, "*_ T _"] | None = None,
        past: Any = None,
    ) -> tuple[Float[Tensor, "R T D"], Any]:
        plain, heads = self.plain, self.plain.heads
        if isinstance(relations, Biases):
            outputs: tuple[Tensor, Any] = plain(states, relations, seen, past)
            return outputs
        projected = plain.project(states)
        if past is not None:
            return self._append(projected, relations, past)
        assert seen is not None
        query, key, value = projected.chunk(3, -1)
        if relations is not None:
            query, key = _rotate(query, relations, heads), _rotate(key, relations, heads)
        inputs = [query, key, value, None, None, _penalize(seen)]
        [read] = _operator("MultiHeadAttention", inputs, {"num_heads": heads}, query.shape)
        return plain.out_proj(read), None

    def _append(
        self, projected: Float[Tensor, "R 1 _"], rotations: Rotations | None, past: KeyValueCache
    ) -> tuple[Float[Tensor, "R 1 D"], KeyValueCache]:
        """Read one symbol, given its query, key and value side by side."""
        plain, rows, before = self.plain, projected.size(0), past.keys.size(2)
        after = (rows, plain.heads, before + 1, past.keys.size(3))
        read, keys, values = _operator(
            "GroupQueryAttention",
            [
                *(projected, None, None, past.keys, past.values),
                torch.full((rows,), before, dtype=torch.int32),  # the place of each row's last symbol
                torch.full((1,), before + 1, dtype=torch.int32),
                *(rotations or ()),
            ],
            {"num_heads": plain.heads, "kv_num_heads": plain.heads}
            | ({"do_rotary": 1, "rotary_interleaved": 1} if rotations else {}),
            *((rows, 1, plain.out_proj.in_features), after, after),
        )
        return plain.out_proj(read), KeyValueCache(keys, values)


@final
class RotaryTable(Positions):
    """`Rotary` with the angles of all `places` so far, from which GroupQueryAttention takes those of the last symbol.

    They are an input of a step, so that a loop of steps computes them once.
    """

    relates = True

    def __init__(self, plain: Rotary) -> None:
        nn.Module.__init__(self)
        self.plain = plain
        self.places: Tensor | None = None  # (T)

    def relations(self, embedded: Float[Tensor, "B T E"], places: Int[Tensor, "T"], keys: int) -> Relations | None:
        return self.plain.relations(embedded, places if self.places is None else self.places, keys)


def set_places(model: Seq2Seq, places: Int[Tensor, "T"]) -> None:
    """Set the places whose angles a decoder has."""
    for module in model.decoder.modules():
        if isinstance(module, RotaryTable):
            module.places = places


def _rotate(vectors: Float[Tensor, "R T D"], rotations: Rotations, heads: int) -> Float[Tensor, "R T D"]:
    first = torch.zeros(1, dtype=torch.long)  # the row of the angles of the first vector
    [rotated] = _operator(
        "RotaryEmbedding",
        [vectors, first, rotations.cosines, rotations.sines],
        {"interleaved": 1, "num_heads": heads},
        vectors.shape,
    )
    return rotated


@final
class FusedCrossAttention(nn.Module):
    """`CrossAttention` as MultiHeadAttention, with the rows of a sentence as its queries."""

    def __init__(self, plain: CrossAttention) -> None:
        super().__init__()
        self.plain = plain

    def prepare(self, memory: Memory) -> PreparedSource:
        """Return keys and values (B, K, S, P), by head, and the mask (B, S)."""
        keys, values = (
            split_heads(part(memory.states), self.plain.heads) for part in (self.plain.keys, self.plain.values)
        )
        return PreparedSource(keys, values, memory.mask)

    def forward(
        self, states: Float[Tensor, "R T D"], source: PreparedSource
    ) -> tuple[Float[Tensor, "R T D"], Float[Tensor, "R T S"]]:
        plain, (rows, steps, _), head = self.plain, states.shape, self.plain.alignment_head
        sentences, positions = source.mask.shape
        query = plain.query(states).view(sentences, -1, plain.query.out_features)  # (B, R/B T, D)
        biases = _penalize(source.mask)[:, None, None, :].expand(-1, -1, query.size(1), -1)
        read, _, _, energies = _operator(
            "MultiHeadAttention",
            [query, source.keys, source.values, None, None, biases],
            {"num_heads": plain.heads},
            *(query.shape, source.keys.shape, source.values.shape),
            (sentences, plain.heads, query.size(1), positions),
        )
        weights = torch.softmax(energies, -1)  # (B, K, R/B T, S)
        reported = weights.mean(1) if head is None else weights[:, head - 1]
        return plain.out_proj(read.view(rows, steps, -1)), reported.reshape(rows, steps, -1)
