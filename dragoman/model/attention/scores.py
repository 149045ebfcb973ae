"""Scores: how well a query matches each key. One class per equation, one table entry per class."""

import math
from abc import ABC, abstractmethod
from typing import Any, final

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from dragoman.configuration.values import Size, Width
from dragoman.model.convolution import Convolution, reach
from dragoman.model.linear import Linear as LinearLayer
from dragoman.model.linear import matmul_dtype
from dragoman.model.projection_norm import ProjectionNormKind, build_linear
from dragoman.model.shapes import Bool, Float


class AlignmentScore(nn.Module, ABC):
    """`energies = score(query, keys, features)`: one number for each query step and source position, all at once.

    What depends only on the source is computed once per sentence, in `keys`. Queries have a time axis, so that a
    decoder step (T = 1) and a whole sentence (T = its length) use the same call. A score that needs queries and encoder
    states of the same size sets `equal_sizes`.

    A subclass implements `energies`. The `features` of the terms are mapped to `width` numbers (W), which `join`
    combines with query and keys: by default one number, added to the energy.

    If one attention spans several sources, each source has its own copy of the parts named in `of_states`, and all
    others are shared.
    """

    equal_sizes = False
    constant = False  # whether the energy is the same at every position
    reads_ahead = False  # whether the energy of a position depends on later positions
    is_matmul = False  # whether the energies are a single matrix product: faster for many steps together
    of_states: tuple[str, ...] = ()  # names of the parts that read states

    def __init__(self, query_size: int, state_size: int, features: int = 0, width: int = 1) -> None:
        super().__init__()
        if self.equal_sizes and query_size != state_size:
            raise ValueError(
                f"requires equal sizes of decoder state ({query_size}) and encoder states ({state_size}); "
                "use 'bilinear' or change a size"
            )
        self.state_size = state_size
        # Not `LinearLayer`, which defers the gradient to the end of the loop over time (`linear.py`) and would
        # keep tensors of every step for so small a matrix.
        self.feature_map = nn.Linear(features, width, bias=False) if features else None

    @property
    def projection(self) -> LinearLayer | None:
        """The matrix that maps states to keys; None if keys are computed otherwise."""
        return None

    def share_query_parameters(self, other: "AlignmentScore") -> None:
        """Share all parameters except those `of_states` with the score of another source."""
        for name in {name for name, _ in self.named_children()}.difference(self.of_states):
            self.register_module(name, other.get_submodule(name))
        for name in {name for name, _ in self.named_parameters(recurse=False)}.difference(self.of_states):
            self.register_parameter(name, other.get_parameter(name))

    def keys(self, states: Float[Tensor, "B S H"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B S A"]:
        """Return what energies need of the states alone, for one source."""
        return states

    def forward(
        self,
        query: Float[Tensor, "B T Q"],
        keys: Float[Tensor, "B S A"],
        features: Float[Tensor, "B T S F"] | None = None,
    ) -> Float[Tensor, "B T S"]:
        """Return the energies; `features` are required if the score was built for F > 0."""
        if self.feature_map is None:
            return self.energies(query, keys)
        return self.join(query, keys, self.feature_map(features))

    @abstractmethod
    def energies(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        """Return the energies of all query steps and source positions, without features; any number at padding."""

    def join(
        self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"], mapped: Float[Tensor, "B T S W"]
    ) -> Float[Tensor, "B T S"]:
        return self.energies(query, keys) + mapped.squeeze(-1)


@final
class DotScore(AlignmentScore):
    """`e_tj = h_j . s_t`, for all j at once `H^T s_t` (NT (76)-(77), CN 3.1 case 1)."""

    equal_sizes = True
    is_matmul = True

    def energies(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        return torch.bmm(query, keys.transpose(1, 2))


@final
class ScaledDotScore(AlignmentScore):
    """`e_tj = h_j . s_t / sqrt(H)` with H the size of h_j (NT (78), Vaswani et al. 2017)."""

    equal_sizes = True
    is_matmul = True

    def energies(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        return torch.bmm(query, keys.transpose(1, 2)) / math.sqrt(self.state_size)


@final
class BilinearScore(AlignmentScore):
    """`e_tj = s_t^T W h_j` (NT (79), CN 3.1 case 2; Luong's "general")."""

    is_matmul = True
    of_states = ("weight",)

    def __init__(self, query_size: int, state_size: int, features: int = 0) -> None:
        super().__init__(query_size, state_size, features)
        self.weight = LinearLayer(state_size, query_size, bias=False)

    @property
    def projection(self) -> LinearLayer:
        return self.weight

    def keys(self, states: Float[Tensor, "B S H"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B S A"]:
        keys: Tensor = self.weight(states)
        return keys

    def energies(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        return torch.bmm(query, keys.transpose(1, 2))


@final
class AdditiveScore(AlignmentScore):
    """`e_tj = v^T tanh(W s_t + U h_j + b)` (Bahdanau et al. 2015; NT (80), LH (1), Luong's "concat").

    `size` is the length of v, by default the size of the decoder state. `layer_norm` normalizes both products.

    Computed as `2 v^T half(2 (W s_t + U h_j + b))` with `half(x) = tanh(x / 2) / 2 = sigmoid(x) - 1/2`, which is faster
    than tanh: hence the factors 2 below, and the keys are `2 (U h_j + b)`.
    """

    of_states = ("state",)

    def __init__(
        self,
        query_size: int,
        state_size: int,
        features: int = 0,
        *,
        size: Size | None = None,
        layer_norm: ProjectionNormKind = "none",
    ) -> None:
        size = size or query_size
        super().__init__(query_size, state_size, features, size)
        self.query = build_linear(query_size, size, layer_norm, bias=False)
        self.state = build_linear(state_size, size, layer_norm)
        self.vector = nn.Parameter(torch.empty(size).uniform_(-(size**-0.5), size**-0.5))

    @property
    def projection(self) -> LinearLayer:
        return self.state

    def keys(self, states: Float[Tensor, "B S H"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B S A"]:
        keys: Tensor = 2 * self.state(states)
        return keys

    def energies(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        return self._weighed(self._sums(query, keys))

    def join(
        self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"], mapped: Float[Tensor, "B T S W"]
    ) -> Float[Tensor, "B T S"]:
        """Return `v^T tanh(W s_t + U h_j + V f_tj + b)` (Cohn et al. 2016, Tu et al. 2016)."""
        return self._weighed(torch.add(self._sums(query, keys), mapped, alpha=2))

    def _sums(self, query: Tensor, keys: Tensor) -> Float[Tensor, "B T S A"]:
        """Return `2 (W s_t + U h_j + b)`."""
        sums: Tensor = 2 * self.query(query).unsqueeze(2) + keys.unsqueeze(1)
        return sums

    def _weighed(self, sums: Float[Tensor, "B T S A"]) -> Float[Tensor, "B T S"]:
        # A product with a matrix of one row: with a vector, bfloat16 takes three times as long.
        vector = self.vector.unsqueeze(0)
        # A pass less over the largest tensor: v^T sigmoid - v^T 1/2. In bfloat16 it would lose digits.
        if not torch.is_grad_enabled() and matmul_dtype(sums) is not torch.bfloat16:
            return 2 * functional.linear(torch.sigmoid(sums), vector).squeeze(-1) - self.vector.sum()
        halves: Tensor = _HalfTanh.apply(sums)  # type: ignore[no-untyped-call]
        return 2 * functional.linear(halves, vector).squeeze(-1)


class _HalfTanh(torch.autograd.Function):
    """`tanh(x / 2) / 2` as `sigmoid(x) - 1/2`, in a third of the time.

    Saves only its result; torch would save the sigmoid too, and (B, T, S, A) is the largest tensor of a training step.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        halves = torch.sigmoid(x).sub_(0.5)
        ctx.save_for_backward(halves)
        return halves

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (halves,) = ctx.saved_tensors
        return torch.addcmul(halves.new_full((), 0.25), halves, halves, value=-1).mul_(gradient)


@final
class LinearScore(AlignmentScore):
    """`e_tj = w . [h_j; s_t]`, the third score of CN 3.1 exactly as printed, without a tanh.

    The decoder's part `w_s . s_t` is the same for every j and cancels in the softmax, so these weights do not depend
    on the decoder at all. It exists to show that; use `additive` to translate.
    """

    of_states = ("state",)

    def __init__(self, query_size: int, state_size: int, features: int = 0) -> None:
        super().__init__(query_size, state_size, features)
        self.query = LinearLayer(query_size, 1, bias=False)
        self.state = LinearLayer(state_size, 1, bias=False)

    def keys(self, states: Float[Tensor, "B S H"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B S A"]:
        keys: Tensor = self.state(states)
        return keys

    def energies(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        shared: Tensor = self.query(query)  # (B, T, 1), the same for every position
        return shared + keys.transpose(1, 2)


@final
class ConvolutionalScore(AlignmentScore):
    """`L1 = relu(conv(H; K1))`, `L2 = conv(L1; K2) * s_t`, each of its vectors scaled to length 1, `e_t = conv(L2; K3)`
    (Allamanis et al. 2016): the energy of a position depends on its neighbors.

    `widths` are the widths of the three kernels in positions; `size` is the size of the vectors of L1, by default that
    of the decoder state. With a window, the third kernel sees only the positions in the window.
    """

    reads_ahead = True
    of_states = ("first",)

    def __init__(
        self,
        query_size: int,
        state_size: int,
        features: int = 0,
        *,
        size: Size | None = None,
        widths: tuple[Width, Width, Width] = (3, 3, 3),
    ) -> None:
        super().__init__(query_size, state_size, features)
        size = size or query_size
        self.first = Convolution(state_size, size, widths[0])
        self.second = Convolution(size, query_size, widths[1])
        self.third = LinearLayer(query_size, widths[2], bias=False)  # a row for each position of the kernel

    def keys(self, states: Float[Tensor, "B S H"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B S A"]:
        keys: Tensor = self.second(torch.relu(self.first(states, mask)), mask)
        return keys.masked_fill(~mask.unsqueeze(2), 0)  # the third kernel reads padding as 0

    def energies(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        gated = functional.normalize(keys.unsqueeze(1) * query.unsqueeze(2), dim=-1)  # (B, T, S, Q)
        width, places = self.third.out_features, keys.size(1)
        shares = functional.pad(self.third(gated), (0, 0, *reach(width)))  # contributions to the energies of neighbors
        return torch.stack([shares[:, :, k : k + places, k] for k in range(width)]).sum(0)


@final
class UniformScore(AlignmentScore):
    """`e_tj = 0`: every real position has the same weight; the context is the mean of the states (SL, mean pooling)."""

    constant = True

    def energies(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        return query.new_zeros(query.size(0), query.size(1), keys.size(1))


SCORES: dict[str, type[AlignmentScore]] = {
    "dot": DotScore,
    "scaled_dot": ScaledDotScore,
    "bilinear": BilinearScore,
    "additive": AdditiveScore,
    "linear": LinearScore,
    "convolutional": ConvolutionalScore,
    "uniform": UniformScore,
}
