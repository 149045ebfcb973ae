"""The layers of self-attentional encoders and decoders (Vaswani et al. 2017)."""

import math
from abc import ABC
from typing import Annotated, NamedTuple, TypeAlias, final

import torch
from torch import Tensor, nn

from dragoman.configuration.components import OneOf
from dragoman.model.embedding import LookupEmbedding
from dragoman.model.linear import Linear
from dragoman.model.shapes import Bool, Float, Int

LONGEST = 1000
SLOWEST = 10_000.0  # longest wavelength of rotary positions, divided by 2 pi


class Rotations(NamedTuple):
    """The angles by which pairs of numbers are rotated."""

    cosines: Float[Tensor, "T _"]
    sines: Float[Tensor, "T _"]


class Positions(nn.Module, ABC):
    """Positional information for self-attention; `places` are positions from 0."""

    def __init__(self, size: int, head_size: int, longest: int | None = None) -> None:
        super().__init__()
        if longest is not None:
            raise ValueError("longest requires positions: learned; other positions have no maximum length")

    def place(self, embedded: Float[Tensor, "B T E"], places: Int[Tensor, "T"]) -> Float[Tensor, "B T E"]:
        """The embeddings with positional information added."""
        return embedded

    def rotations(self, embedded: Float[Tensor, "B T E"], places: Int[Tensor, "T"]) -> Rotations | None:
        """The rotations of queries and keys; None = no rotation."""
        return None


@final
class Rotary(Positions):
    """`R_t x`: at position t, pair i of the numbers of a query or key is rotated by the angle `t 10000^(-2i / d)`.

    So `(R_t q) . (R_j k)` depends on t and j only through t - j (Su et al. 2021, RoFormer, (13)-(16)).
    """

    def __init__(self, size: int, head_size: int, longest: int | None = None) -> None:
        super().__init__(size, head_size, longest)
        if head_size % 2:
            raise ValueError(f"requires an even head size for positions: rotary, found {head_size}")
        self.head_size = head_size

    def rotations(self, embedded: Float[Tensor, "B T E"], places: Int[Tensor, "T"]) -> Rotations | None:
        kind, device = torch.promote_types(embedded.dtype, torch.float32), embedded.device
        pairs = torch.arange(0, self.head_size, 2, dtype=kind, device=device)
        angles = places.to(kind).unsqueeze(1) * torch.exp(pairs * (-math.log(SLOWEST) / self.head_size))
        return Rotations(angles.cos(), angles.sin())


@final
class Learned(Positions):
    """`E y_t + P_t`: vectors of the first `longest` positions; later ones share the last (Gehring et al. 2017)."""

    def __init__(self, size: int, head_size: int, longest: int | None = None) -> None:
        super().__init__(size, head_size)
        self.longest = longest or LONGEST
        self.table = LookupEmbedding(range(self.longest), size)

    def place(self, embedded: Float[Tensor, "B T E"], places: Int[Tensor, "T"]) -> Float[Tensor, "B T E"]:
        vectors: Tensor = self.table(places.clamp(max=self.longest - 1))
        return embedded + vectors


@final
class NoPositions(Positions):
    """No positions: an encoder sees a set of symbols; a decoder learns of their order only from its causal mask."""


POSITIONS: dict[str, type[Positions]] = {"rotary": Rotary, "learned": Learned, "none": NoPositions}
PositionsKind: TypeAlias = Annotated[str, OneOf(POSITIONS)]


class KeyValueCache(NamedTuple):
    """The keys and values of all symbols so far, for each row and head."""

    keys: Float[Tensor, "R K T P"]
    values: Float[Tensor, "R K T P"]


class TransformerEmbedding(nn.Module):
    """`x_t = sqrt(E) E y_t`, with positions, projected if layers have another size (Vaswani et al. 2017, 3.4)."""

    def __init__(self, input_size: int, size: int, heads: int, positions: PositionsKind, longest: int | None) -> None:
        super().__init__()
        if size % heads:
            raise ValueError(f"size {size} is not divisible by {heads} heads")
        self.scale = math.sqrt(input_size)
        self.positions = POSITIONS[positions](input_size, size // heads, longest)
        self.project = Linear(input_size, size, bias=False) if input_size != size else nn.Identity()

    def forward(
        self, embedded: Float[Tensor, "B T E"], places: Int[Tensor, "T"]
    ) -> tuple[Float[Tensor, "B T D"], Rotations | None]:
        states: Tensor = self.project(self.scale * self.positions.place(embedded, places))
        return states, self.positions.rotations(embedded, places)


class SelfAttention(nn.Module):
    """`[head_1; ...; head_K] O`, `head_k = softmax((X Q_k) (X K_k)^T / sqrt(P)) X V_k` (Vaswani et al. 2017, (1)).

    X are the states of all symbols; the keys and values of the `past` come first.
    """

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project = Linear(size, 3 * size, bias=False)
        self.out_proj = Linear(size, size, bias=False)

    def forward(
        self,
        states: Float[Tensor, "R T D"],
        rotations: Rotations | None,
        seen: Bool[Tensor, "*_ T _"] | None = None,
        past: KeyValueCache | None = None,
    ) -> tuple[Float[Tensor, "R T D"], KeyValueCache]:
        """`seen` (queries, keys) is True where a position may attend to another; None = everywhere."""
        query, key, value = (split_heads(part, self.heads) for part in self.project(states).chunk(3, -1))
        query, key = rotate_pairs(query, rotations).to(value.dtype), rotate_pairs(key, rotations).to(value.dtype)
        if past is not None:
            key, value = torch.cat([past.keys, key], 2), torch.cat([past.values, value], 2)
        # On processors torch's scaled_dot_product_attention is hardly faster, and four times slower in bfloat16.
        energies = query @ key.transpose(-1, -2) / math.sqrt(query.size(-1))
        if seen is not None:
            energies = energies.masked_fill(~seen, float("-inf"))
        read = torch.softmax(energies, -1).to(value.dtype) @ value
        return self.out_proj(read.transpose(1, 2).flatten(2)), KeyValueCache(key, value)


def split_heads(states: Float[Tensor, "R T D"], heads: int) -> Float[Tensor, "R K T P"]:
    """Split each state into one part for each head."""
    return states.view(*states.shape[:2], heads, -1).transpose(1, 2)


def rotate_pairs(vectors: Float[Tensor, "R K T P"], rotations: Rotations | None) -> Float[Tensor, "R K T P"]:
    """Rotate pairs of neighboring numbers (a, b) to `(a cos - b sin, a sin + b cos)`."""
    if rotations is None:
        return vectors
    a, b = vectors[..., 0::2], vectors[..., 1::2]
    return torch.stack(
        [a * rotations.cosines - b * rotations.sines, a * rotations.sines + b * rotations.cosines], -1
    ).flatten(-2)


class FeedForward(nn.Sequential):
    """`W_2 max(0, W_1 x + b_1) + b_2` (Vaswani et al. 2017, (2)); `hidden` numbers inside, by default 4 times x's."""

    def __init__(self, size: int, hidden: int | None) -> None:
        hidden = hidden or 4 * size
        super().__init__(Linear(size, hidden), nn.ReLU(), Linear(hidden, size))
