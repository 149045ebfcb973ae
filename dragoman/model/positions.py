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
SLOWEST = 10_000.0  # longest wavelength of rotary and sinusoidal positions, divided by 2 pi


class Rotations(NamedTuple):
    """The angles by which pairs of numbers are rotated."""

    cosines: Float[Tensor, "T _"]
    sines: Float[Tensor, "T _"]


class Positions(nn.Module, ABC):
    """Positional information for self-attention; `places` are positions from 0."""

    rotates: ClassVar[bool] = False  # whether it acts on queries and keys, and not on embeddings

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

    rotates = True

    def __init__(self, size: int, head_size: int, longest: int | None = None) -> None:
        super().__init__(size, head_size, longest)
        if head_size % 2:
            raise ValueError(f"requires an even head size for positions: rotary, found {head_size}")
        self.head_size = head_size

    def rotations(self, embedded: Float[Tensor, "B T E"], places: Int[Tensor, "T"]) -> Rotations | None:
        return Rotations(*_waves(embedded, places, self.head_size // 2, self.head_size))


@final
class Learned(Positions):
    """`x_t + P_t`: vectors of the first `longest` positions; later ones share the last (Gehring et al. 2017)."""

    def __init__(self, size: int, head_size: int, longest: int | None = None) -> None:
        super().__init__(size, head_size)
        self.longest = longest or LONGEST
        self.table = LookupEmbedding(range(self.longest), size)

    def place(self, embedded: Float[Tensor, "B T E"], places: Int[Tensor, "T"]) -> Float[Tensor, "B T E"]:
        vectors: Tensor = self.table(places.clamp(max=self.longest - 1))
        return embedded + vectors


class SinusoidalHalves(Positions):
    """`x_t + [sin(t f_0) ... sin(t f_(E/2-1)); cos(t f_0) ... cos(t f_(E/2-1))]`, `f_i = 10000^(-2i / E)`: the sines,
    then the cosines, as tensor2tensor and Hugging Face's MarianMT have them.
    """

    def __init__(self, size: int, head_size: int, longest: int | None = None) -> None:
        super().__init__(size, head_size, longest)
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
    "none": NoPositions,
}
PositionsKind: TypeAlias = Annotated[str, OneOf(POSITIONS)]
