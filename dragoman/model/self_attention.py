"""Self-attention in several heads (Vaswani et al. 2017)."""

import math
from typing import Any, NamedTuple, final

import torch
from torch import Tensor

from dragoman.model.autoregression import Autoregression, Reading
from dragoman.model.linear import Linear, matmul_dtype
from dragoman.model.positions import Biases, Relations, Rotations, rotate_pairs
from dragoman.model.shapes import Bool, Float


class KeyValueCache(NamedTuple):
    """The keys and values of all symbols so far, for each row and head."""

    keys: Float[Tensor, "R K T P"]
    values: Float[Tensor, "R K T P"]


@final
class SelfAttention(Autoregression):
    """`[head_1; ...; head_K] O`, `head_k = softmax((X Q_k) (X K_k)^T / sqrt(P)) X V_k` (Vaswani et al. 2017, (1)).

    X are the states of all symbols; the keys and values of the `past` come first. With `bias`, each product has one.
    P is `head_size`, by default the size of a state over the number of heads.
    """

    relates = True

    def __init__(self, size: int, heads: int, *, bias: bool = False, head_size: int | None = None) -> None:
        super().__init__()
        inner = heads * head_size if head_size else size
        self.heads = heads
        self.project = Linear(size, 3 * inner, bias=bias)
        self.out_proj = Linear(inner, size, bias=bias)

    def start(self, states: Float[Tensor, "B _ _"]) -> KeyValueCache:
        size = self.out_proj.in_features // self.heads
        # In the type of products, so that what grows step by step is never cast again.
        nothing = states.new_zeros(states.size(0), self.heads, 0, size, dtype=matmul_dtype(states))
        return KeyValueCache(nothing, nothing)

    def reading(self, past: KeyValueCache, steps: int) -> Reading:
        # The length of the cache says how many symbols have been read, so that it needs no counter.
        first, keys = past.keys.size(2), past.keys
        places = torch.arange(first, first + steps, device=keys.device)
        # Each symbol sees those before it and itself; a single one is the last, and sees all.
        seen = None if steps == 1 else keys.new_ones(steps, first + steps, dtype=torch.bool).tril(first)
        return Reading(places, seen, first + steps)

    def forward(
        self,
        states: Float[Tensor, "R T D"],
        relations: Relations | None,
        seen: Bool[Tensor, "*_ T _"] | None = None,
        past: Any = None,
    ) -> tuple[Float[Tensor, "R T D"], KeyValueCache]:
        """`seen` (queries, keys) is True where a position may attend to another; None = everywhere."""
        query, key, value = (split_heads(part, self.heads) for part in self.project(states).chunk(3, -1))
        if isinstance(relations, Rotations):
            query, key = rotate_pairs(query, relations).to(value.dtype), rotate_pairs(key, relations).to(value.dtype)
        if past is not None:
            key, value = torch.cat([past.keys, key], 2), torch.cat([past.values, value], 2)
        # On processors torch's scaled_dot_product_attention is hardly faster, and four times slower in bfloat16.
        energies = query @ key.transpose(-1, -2) / math.sqrt(query.size(-1))
        if isinstance(relations, Biases):
            energies = energies + relations.values.to(energies.dtype)
        if seen is not None:
            energies = energies.masked_fill(~seen, float("-inf"))
        read = torch.softmax(energies, -1).to(value.dtype) @ value
        return self.out_proj(read.transpose(1, 2).flatten(2)), KeyValueCache(key, value)


def split_heads(states: Float[Tensor, "R T D"], heads: int) -> Float[Tensor, "R K T P"]:
    """Split each state into one part for each head."""
    return states.view(*states.shape[:2], heads, -1).transpose(1, 2)
