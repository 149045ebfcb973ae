"""Windows: attention to a part of the source, at a cost that does not grow with its length (Luong et al. 2015, 3.2)."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, final

import torch
from torch import Tensor, nn

from dragoman.components import Count
from dragoman.model.attention.attention import (
    Attended,
    Attention,
    Glimpse,
    GlobalAttention,
    History,
    by_row,
    by_sentence,
)
from dragoman.model.attention.terms import Said
from dragoman.model.linear import Linear
from dragoman.model.memory import Memory
from dragoman.model.shapes import Bool, Float, Int


class Place(NamedTuple):
    """Where a window stands, and what it carries to the next step."""

    centre: Float[Tensor, "B T"]  # p_t; the first position is 0
    carried: Any


class Window(nn.Module, ABC):
    """`centre, carried = window(query, mask, carried)`: the middle of the positions p_t - D ... p_t + D to look at.

    `width` is D. Weights are multiplied by `exp(-(j - p_t)^2 / (2 deviation^2))` where there is a `deviation`.
    """

    deviation: float | None = None
    reads_ahead = False  # whether it depends on what follows the symbols that it shows

    def __init__(self, query_size: int, *, width: Count = 10) -> None:
        super().__init__()
        self.width = width

    @abstractmethod
    def start(self, weights: Float[Tensor, "B S"]) -> Any:
        """What is carried into the first step; `weights` are 0."""

    @abstractmethod
    def forward(self, query: Float[Tensor, "B T Q"], mask: Bool[Tensor, "B S"], carried: Any) -> Place: ...


@final
class Monotonic(Window):
    """`p_t = t` (local-m): source and target are taken to go side by side."""

    def start(self, weights: Float[Tensor, "B S"]) -> Any:
        return weights.new_zeros(weights.size(0))

    def forward(self, query: Float[Tensor, "B T Q"], mask: Bool[Tensor, "B S"], carried: Any) -> Place:
        return Place(carried, carried + 1)


@final
class Predictive(Window):
    """`p_t = S sigm(v^T tanh(W s_t))`, weights times a Gaussian around it (local-p).

    Its deviation is D/2 as in the paper, or `deviation`.
    """

    reads_ahead = True  # S

    def __init__(self, query_size: int, *, width: Count = 10, deviation: float | None = None) -> None:
        super().__init__(query_size, width=width)
        self.deviation = width / 2 if deviation is None else deviation
        self.hidden = Linear(query_size, query_size, bias=False)
        self.vector = Linear(query_size, 1, bias=False)

    def start(self, weights: Float[Tensor, "B S"]) -> Any:
        return ()

    def forward(self, query: Float[Tensor, "B T Q"], mask: Bool[Tensor, "B S"], carried: Any) -> Place:
        share = torch.sigmoid(self.vector(torch.tanh(self.hidden(query))).squeeze(-1))  # (B, T)
        return Place(mask.sum(1, keepdim=True) * share, carried)


@final
class LocalAttention(Attention):
    """Global attention over the positions of a window, which are gathered; all others have weight 0."""

    def __init__(self, inner: GlobalAttention, window: Window) -> None:
        super().__init__()
        self.inner = inner
        self.window = window
        self.size = inner.size

    def prepare(self, memory: Memory) -> Attended:
        return self.inner.prepare(memory)

    def start(self, attended: Attended) -> History:
        history = self.inner.start(attended)
        return history._replace(window=self.window.start(history.weights))

    def forward(
        self, query: Float[Tensor, "R Q"], embedded: Float[Tensor, "R E"], attended: Attended, history: History
    ) -> Glimpse:
        said = self.inner.consult(query, embedded, attended, history)
        asked = by_sentence(query, attended)  # (B, T, Q)
        centre, carried = self.window(asked, attended.mask, by_sentence(history.window, attended))
        at, inside = self.positions(centre, attended.mask)
        windows = at.size(0) * at.size(1)

        def gathered(values: Tensor) -> Tensor:
            """(B, S, X) as (B T, W, X)."""
            index = at.flatten(1).unsqueeze(2).expand(-1, -1, values.size(2))
            return values.gather(1, index).view(windows, -1, values.size(2))

        def cut(values: Tensor | None) -> Tensor | None:
            """(B, T, S, ...) as (B T, 1, W, ...)."""
            if values is None:
                return None
            index = at.view(*at.shape, *(1 for _ in values.shape[3:])).expand(*at.shape, *values.shape[3:])
            return values.gather(2, index).flatten(0, 1).unsqueeze(1)

        window = Attended(gathered(attended.keys), gathered(attended.values), inside.flatten(0, 1))
        words = Said((), cut(said.features), cut(said.prior))
        weights = self.inner.weights(asked.flatten(0, 1).unsqueeze(1), window, words)  # (B T, 1, W)
        if self.window.deviation is not None:
            distance = (at - centre.unsqueeze(2)).view(weights.shape)
            weights = weights * torch.exp(-(distance**2) / (2 * self.window.deviation**2))
        context, drawn = self.inner.normaliser.read(weights, window.values)
        nothing = weights.new_zeros(*at.shape[:2], attended.mask.size(1))
        everywhere = nothing.scatter_add(2, at, weights.view(at.shape))  # what lies outside is 0 and adds nothing
        return Glimpse(
            context.squeeze(1),
            History(by_row(everywhere), said.carried, by_row(carried)),
            None if drawn is None else at.flatten(0, 1).gather(1, drawn).squeeze(1),
        )

    def positions(
        self, centre: Float[Tensor, "B T"], mask: Bool[Tensor, "B S"]
    ) -> tuple[Int[Tensor, "B T W"], Bool[Tensor, "B T W"]]:
        """The positions of the window around each centre, and which of them are in the sentence."""
        last = mask.sum(1, keepdim=True) - 1  # (B, 1)
        around = torch.arange(-self.window.width, self.window.width + 1, device=centre.device)
        at = centre.round().long().minimum(last).unsqueeze(2) + around
        last = last.unsqueeze(2)
        return at.clamp(min=0).minimum(last), (at >= 0) & (at <= last)


def whole(query_size: int) -> None:
    """All of the source."""


WINDOWS: dict[str, Callable[..., Window | None]] = {"none": whole, "monotonic": Monotonic, "predictive": Predictive}
