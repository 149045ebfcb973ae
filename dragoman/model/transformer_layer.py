"""What the layers of self-attentional encoders and decoders have in common (Vaswani et al. 2017)."""

import math
from collections.abc import Callable
from typing import Annotated, Literal, NamedTuple, TypeAlias

import torch
from pydantic import Field
from torch import Tensor, nn

from dragoman.configuration.components import OneOf
from dragoman.model.linear import Linear
from dragoman.model.positions import POSITIONS, HeadSizes, Positions, PositionsKind, Relations
from dragoman.model.shapes import Float, Int

NormPlace: TypeAlias = Literal["before", "after"]
Epsilon: TypeAlias = Annotated[float, Field(gt=0, le=0.01)]


class Gelu(nn.GELU):
    """`x Phi(x)`, with the distribution function of the normal distribution (Hendrycks and Gimpel 2016)."""


class GeluTanh(nn.GELU):
    """`0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))`, their first approximation."""

    def __init__(self) -> None:
        super().__init__(approximate="tanh")


class GeluSigmoid(nn.Module):
    """`x sigmoid(1.702 x)`, their second approximation: Marian's before 2021."""

    def forward(self, x: Float[Tensor, "*rows H"]) -> Float[Tensor, "*rows H"]:
        return x * (1.702 * x).sigmoid()


ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "swish": nn.SiLU,
    "gelu": Gelu,
    "gelu_tanh": GeluTanh,
    "gelu_sigmoid": GeluSigmoid,
}
ActivationKind: TypeAlias = Annotated[str, OneOf(ACTIVATIONS)]


class RmsNorm(nn.Module):
    """`g x / sqrt(mean(x^2) + epsilon)` (Zhang and Sennrich 2019): without mean and bias."""

    def __init__(self, size: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.epsilon = epsilon

    def forward(self, x: Float[Tensor, "*rows H"]) -> Float[Tensor, "*rows H"]:
        """Return the normalized vectors."""
        return self.weight * (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.epsilon))


NORMS: dict[str, Callable[[int, float], nn.Module]] = {"layer": nn.LayerNorm, "rms": RmsNorm}
NormKind: TypeAlias = Annotated[str, OneOf(NORMS)]


class LayerOptions(NamedTuple):
    """The options of a layer: sizes, and the variants in which published models differ."""

    size: int
    heads: int
    hidden: int | None = None
    dropout: float = 0.0
    bias: bool = False
    activation: ActivationKind = "relu"
    norm: NormPlace = "before"
    norm_epsilon: float = 1e-5
    norm_kind: NormKind = "layer"
    gated: bool = False
    head_size: int | None = None

    def layer_norm(self, size: int | None = None) -> nn.Module:
        """A normalization of states, or of vectors of another size."""
        return NORMS[self.norm_kind](size or self.size, self.norm_epsilon)

    @property
    def attention_size(self) -> int:
        """The size of the queries of all heads together."""
        return self.heads * self.head_size if self.head_size else self.size

    def heads_of(self, *, causal: bool) -> HeadSizes:
        """The heads of self-attention."""
        return HeadSizes(self.attention_size // self.heads, self.heads, causal)


class TransformerEmbedding(nn.Module):
    """`x_t = sqrt(E) E y_t`, with positions, projected if layers have another size (Vaswani et al. 2017, 3.4).

    Without `scale`, `x_t = E y_t`; with a `norm`, what is added up is normalized (BART: Lewis et al. 2020).
    """

    def __init__(
        self,
        input_size: int,
        options: LayerOptions,
        positions: PositionsKind,
        longest: int | None,
        *,
        scale: bool,
        norm: bool,
        causal: bool = False,
    ) -> None:
        super().__init__()
        size, heads = options.size, options.heads
        if not options.head_size and size % heads:
            raise ValueError(f"size {size} is not divisible by {heads} heads; set head_size")
        self.scale = math.sqrt(input_size) if scale else 1.0
        self.positions: Positions = POSITIONS[positions](input_size, options.heads_of(causal=causal), longest)
        self.norm = options.layer_norm(input_size) if norm else nn.Identity()
        self.project = Linear(input_size, size, bias=False) if input_size != size else nn.Identity()

    def forward(
        self, embedded: Float[Tensor, "B T E"], places: Int[Tensor, "T"], keys: int
    ) -> tuple[Float[Tensor, "B T D"], Relations | None]:
        """The input of the first layer, and how positions at `places` are related to `keys` ones from 0."""
        states: Tensor = self.project(self.norm(self.positions.place(self.scale * embedded, places)))
        return states, self.positions.relations(embedded, places, keys)


class GatedUnit(nn.Module):
    """`f(W x + b) * (V x + c)` with an activation f (Shazeer 2020: GLU variants)."""

    def __init__(self, options: LayerOptions, hidden: int) -> None:
        super().__init__()
        self.gate = Linear(options.size, hidden)
        self.activation = ACTIVATIONS[options.activation]()
        self.value = Linear(options.size, hidden)

    def forward(self, x: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows H"]:
        gated: Tensor = self.activation(self.gate(x)) * self.value(x)
        return gated


class FeedForward(nn.Sequential):
    """`W_2 max(0, W_1 x + b_1) + b_2` (Vaswani et al. 2017, (2)), or with another activation than the maximum, or a
    `GatedUnit` before W_2; `hidden` numbers inside, by default 4 times x's.
    """

    def __init__(self, options: LayerOptions) -> None:
        hidden = options.hidden or 4 * options.size
        plain = (Linear(options.size, hidden), ACTIVATIONS[options.activation]()) if not options.gated else ()
        super().__init__(*(plain or (GatedUnit(options, hidden),)), Linear(hidden, options.size))


class TransformerLayer(nn.Module):
    """A layer of sublayers f, each with a residual connection: `x + f(norm(x))` (pre-norm: Xiong et al. 2020), or
    `norm(x + f(x))` (post-norm: Vaswani et al. 2017, 3.1). Dropout acts on the output of f.
    """

    def __init__(self, options: LayerOptions, sublayers: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(options.layer_norm() for _ in range(sublayers))
        self.dropout = nn.Dropout(options.dropout)
        self.norm_first = options.norm == "before"

    def enter(self, sublayer: int, states: Float[Tensor, "R T D"]) -> Float[Tensor, "R T D"]:
        """The input of a sublayer."""
        normalized: Tensor = self.norms[sublayer](states) if self.norm_first else states
        return normalized

    def leave(
        self, sublayer: int, states: Float[Tensor, "R T D"], output: Float[Tensor, "R T D"]
    ) -> Float[Tensor, "R T D"]:
        """The states after a sublayer, from those before it and its output."""
        total: Tensor = states + self.dropout(output)
        if not self.norm_first:
            total = self.norms[sublayer](total)
        return total


def last_norm(options: LayerOptions, wanted: bool | None) -> nn.Module:
    """The normalization of the last states: by default that of pre-norm layers, whose sums nothing has normalized."""
    has_norm = options.norm == "before" if wanted is None else wanted
    return options.layer_norm() if has_norm else nn.Identity()
