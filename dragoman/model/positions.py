"""Positional information for self-attention (Vaswani et al. 2017, 3.5)."""

import math
from abc import ABC
from typing import Annotated, ClassVar, NamedTuple, TypeAlias, final

import torch
from torch import Tensor, nn

from dragoman.configuration.components import OneOf
from dragoman.model.embedding import LookupEmbedding
from dragoman.model.shapes import Float, Int

LONGEST = 1000
BUCKETS = 32  # of distances
FARTHEST = 128  # distances from which all share a bucket
SLOWEST = 10_000.0  # longest wavelength of rotary and sinusoidal positions, divided by 2 pi


class Rotations(NamedTuple):
    """The angles by which pairs of numbers are rotated."""

    cosines: Float[Tensor, "T _"]
    sines: Float[Tensor, "T _"]


class Biases(NamedTuple):
    """What is added to the energies of each head."""

    values: Float[Tensor, "K T _"]


Relations: TypeAlias = Rotations | Biases


class HeadSizes(NamedTuple):
    """The size and number of the heads of self-attention, and whether these see earlier positions alone."""

    size: int
    heads: int = 1
    causal: bool = False


class Positions(nn.Module, ABC):
    """Positional information for self-attention; `places` are positions from 0."""

    relates: ClassVar[bool] = False  # whether it acts on queries and keys, and not on embeddings

    def __init__(self, size: int, heads: HeadSizes, longest: int | None = None) -> None:
        super().__init__()
        if longest is not None:
            raise ValueError("longest requires positions: learned or relative; others have no maximum length")

    def place(self, embedded: Float[Tensor, "B T E"], places: Int[Tensor, "T"]) -> Float[Tensor, "B T E"]:
        """The embeddings with positional information added."""
        return embedded

    def relations(self, embedded: Float[Tensor, "B T E"], places: Int[Tensor, "T"], keys: int) -> Relations | None:
        """What attention adds to its equation, for queries at `places` and `keys` positions from 0; None = nothing."""
        return None


@final
class Rotary(Positions):
    """`R_t x`: at position t, pair i of the numbers of a query or key is rotated by the angle `t 10000^(-2i / d)`.

    So `(R_t q) . (R_j k)` depends on t and j only through t - j (Su et al. 2021, RoFormer, (13)-(16)).
    """

    relates = True

    def __init__(self, size: int, heads: HeadSizes, longest: int | None = None) -> None:
        super().__init__(size, heads, longest)
        if heads.size % 2:
            raise ValueError(f"requires an even head size for positions: rotary, found {heads.size}")
        self.head_size = heads.size
        self.causal = heads.causal

    def relations(self, embedded: Float[Tensor, "B T E"], places: Int[Tensor, "T"], keys: int) -> Relations | None:
        return Rotations(*_waves(embedded, places, self.head_size // 2, self.head_size))


@final
class Learned(Positions):
    """`x_t + P_t`: vectors of the first `longest` positions; later ones share the last (Gehring et al. 2017)."""

    def __init__(self, size: int, heads: HeadSizes, longest: int | None = None) -> None:
        super().__init__(size, heads)
        self.longest = longest or LONGEST
        self.table = LookupEmbedding(range(self.longest), size)

    def place(self, embedded: Float[Tensor, "B T E"], places: Int[Tensor, "T"]) -> Float[Tensor, "B T E"]:
        vectors: Tensor = self.table(places.clamp(max=self.longest - 1))
        return embedded + vectors


class SinusoidalHalves(Positions):
    """`x_t + [sin(t f_0) ... sin(t f_(E/2-1)); cos(t f_0) ... cos(t f_(E/2-1))]`, `f_i = 10000^(-2i / E)`: the sines,
    then the cosines, as tensor2tensor and Hugging Face's MarianMT have them.
    """

    def __init__(self, size: int, heads: HeadSizes, longest: int | None = None) -> None:
        super().__init__(size, heads, longest)
        if size % 2 or size < 4:
            raise ValueError(f"requires an even embedding size of at least 4 for sinusoidal positions, found {size}")

    def place(self, embedded: Float[Tensor, "B T E"], places: Int[Tensor, "T"]) -> Float[Tensor, "B T E"]:
        cosines, sines = _waves(embedded, places, embedded.size(-1) // 2, self.slowest(embedded.size(-1)))
        return embedded + self.arrange(sines, cosines).to(embedded.dtype)

    def slowest(self, size: int) -> int:
        """The denominator d of `f_i = 10000^(-2i / d)`."""
        return size

    def arrange(self, sines: Float[Tensor, "T _"], cosines: Float[Tensor, "T _"]) -> Float[Tensor, "T E"]:
        """The order of the sines and cosines in a vector."""
        return torch.cat([sines, cosines], -1)


@final
class Sinusoidal(SinusoidalHalves):
    """`SinusoidalHalves` with sines and cosines in turns (Vaswani et al. 2017, 3.5)."""

    def arrange(self, sines: Float[Tensor, "T _"], cosines: Float[Tensor, "T _"]) -> Float[Tensor, "T E"]:
        return torch.stack([sines, cosines], -1).flatten(-2)


class MarianPositions(SinusoidalHalves):
    """`SinusoidalHalves` with `f_i = 10000^(-i / (E/2 - 1))`, as Marian and fairseq compute them: the slowest wave has
    a wavelength of 10000 times 2 pi, where Vaswani's stays below it.
    """

    def slowest(self, size: int) -> int:
        return size - 2


@final
class FairseqPositions(MarianPositions):
    """`MarianPositions` counted from 2: the first ones are those of the symbols before and of `<pad>`, whose number is
    1 (fairseq; M2M100 and NLLB).
    """

    def place(self, embedded: Float[Tensor, "B T E"], places: Int[Tensor, "T"]) -> Float[Tensor, "B T E"]:
        return super().place(embedded, places + 2)


@final
class RelativeBias(Positions):
    """`e_tj + b_k(bucket(j - t))`: a number for each head k and bucket of distances (Raffel et al. 2020, 2.1; T5).

    An encoder has 16 buckets for each direction, a decoder 32 for earlier positions. Of n buckets, n / 2 are for single
    distances, the others for ranges that grow up to the distance `longest` (default 128), after which all are equal:
    `n / 2 + log(distance / (n / 2)) / log(longest / (n / 2)) n / 2`, rounded down.
    """

    relates = True

    def __init__(self, size: int, heads: HeadSizes, longest: int | None = None) -> None:
        super().__init__(size, heads)
        self.causal = heads.causal
        self.longest = longest or FARTHEST
        self.exact = BUCKETS // (2 if heads.causal else 4)
        if self.longest <= self.exact:
            raise ValueError(f"longest {longest} must be more than {self.exact} with positions: relative")
        self.table = LookupEmbedding(range(BUCKETS), heads.heads)

    def relations(self, embedded: Float[Tensor, "B T E"], places: Int[Tensor, "T"], keys: int) -> Relations | None:
        distances = torch.arange(keys, device=places.device) - places.unsqueeze(1)  # (T, S)
        biases: Tensor = self.table(self.buckets(distances))  # (T, S, K)
        return Biases(biases.movedim(-1, 0))

    def buckets(self, distances: Int[Tensor, "T _"]) -> Int[Tensor, "T _"]:
        """The bucket of each distance between a query and a key, negative for an earlier key."""
        back = (-distances).clamp(min=0) if self.causal else distances.abs()
        # In float32 as Transformers computes them, since rounding decides at the limits of ranges.
        share = torch.log(back.clamp(min=1).float() / self.exact) / math.log(self.longest / self.exact)
        ranges = (self.exact + (share * self.exact).long()).clamp(max=2 * self.exact - 1)
        bucket = torch.where(back < self.exact, back, ranges)
        return bucket if self.causal else bucket + (distances > 0) * 2 * self.exact


@final
class NoPositions(Positions):
    """No positions: an encoder sees a set of symbols; a decoder learns of their order only from its causal mask."""


def _waves(like: Tensor, places: Int[Tensor, "T"], count: int, slowest: int) -> tuple[Tensor, Tensor]:
    """The cosines and sines (T, count) of `t 10000^(-2i / slowest)`, in float32 or better."""
    kind = torch.promote_types(like.dtype, torch.float32)
    pairs = torch.arange(0, 2 * count, 2, dtype=kind, device=like.device)
    angles = places.to(kind).unsqueeze(1) * torch.exp(pairs * (-math.log(SLOWEST) / slowest))
    return angles.cos(), angles.sin()


def rotate_pairs(vectors: Float[Tensor, "R K T P"], rotations: Rotations | None) -> Float[Tensor, "R K T P"]:
    """Rotate pairs of neighboring numbers (a, b) to `(a cos - b sin, a sin + b cos)`."""
    if rotations is None:
        return vectors
    a, b = vectors[..., 0::2], vectors[..., 1::2]
    return torch.stack(
        [a * rotations.cosines - b * rotations.sines, a * rotations.sines + b * rotations.cosines], -1
    ).flatten(-2)


POSITIONS: dict[str, type[Positions]] = {
    "rotary": Rotary,
    "learned": Learned,
    "sinusoidal": Sinusoidal,
    "sinusoidal_halves": SinusoidalHalves,
    "marian": MarianPositions,
    "fairseq": FairseqPositions,
    "relative": RelativeBias,
    "none": NoPositions,
}
PositionsKind: TypeAlias = Annotated[str, OneOf(POSITIONS)]
