"""Windows: attention to a part of the source, at a cost independent of its length (Luong et al. 2015, 3.2)."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, final

import torch
from torch import Tensor, nn

from dragoman.configuration.values import Positive, Width
from dragoman.model.attention.attention import (
    Attention,
    AttentionHistory,
    AttentionOutput,
    GlobalAttention,
    PreparedSource,
    flatten_sentences,
    group_by_sentence,
)
from dragoman.model.attention.gathering import collecting, gathered
from dragoman.model.attention.terms.term import TermOutput
from dragoman.model.linear import Linear
from dragoman.model.memory import Memory
from dragoman.model.shapes import Bool, Float, Int


class WindowPosition(NamedTuple):
    """The center of a window, and the state that it carries to the next step."""

    center: Float[Tensor, "B T"]  # p_t; the first position is 0
    carried: Any


class Reach:
    """The part of the source that attention sees."""

    everywhere: ClassVar[bool] = False  # whether it is all of the source
    normalized: ClassVar[bool] = True  # whether the weights in it sum to 1


class Window(nn.Module, Reach, ABC):
    """`center, carried = window(query, mask, carried)`: the center p_t of the window p_t - D ... p_t + D.

    `width` is D; here p_t is rounded, and at most the last position. With a `deviation`, weights are multiplied by
    `exp(-(j - p_t)^2 / (2 deviation^2))`, with p_t not rounded, and not normalized again.
    """

    deviation: float | None = None
    reads_ahead = False  # whether it depends on symbols after the window

    def __init__(self, query_size: int, *, width: Width = 10) -> None:
        super().__init__()
        self.width = width

    @abstractmethod
    def start(self, weights: Float[Tensor, "B S"]) -> Any:
        """Return the state carried into the first step; `weights` are 0."""

    @abstractmethod
    def forward(self, query: Float[Tensor, "B T Q"], mask: Bool[Tensor, "B S"], carried: Any) -> WindowPosition:
        """Return the center of the window of each row, and the state carried into the next step."""


@final
class Monotonic(Window):
    """`p_t = t` (local-m), assuming a monotonic alignment; after the end of the source, the window stays there."""

    def start(self, weights: Float[Tensor, "B S"]) -> Any:
        return weights.new_zeros(weights.size(0))

    def forward(self, query: Float[Tensor, "B T Q"], mask: Bool[Tensor, "B S"], carried: Any) -> WindowPosition:
        return WindowPosition(carried, carried + 1)


@final
class Predictive(Window):
    """`p_t = S sigm(v^T tanh(W s_t))`, weights times a Gaussian around it (local-p).

    S includes the end symbol, and positions count from 0, so that p_t can reach all of them. The deviation is D/2 as in
    the paper, or `deviation`.
    """

    normalized = False
    reads_ahead = True  # S

    def __init__(self, query_size: int, *, width: Width = 10, deviation: Positive | None = None) -> None:
        super().__init__(query_size, width=width)
        self.deviation = width / 2 if deviation is None else deviation
        self.hidden = Linear(query_size, query_size, bias=False)
        self.vector = Linear(query_size, 1, bias=False)

    def start(self, weights: Float[Tensor, "B S"]) -> Any:
        return ()

    def forward(self, query: Float[Tensor, "B T Q"], mask: Bool[Tensor, "B S"], carried: Any) -> WindowPosition:
        guess = self.vector(torch.tanh(self.hidden(query))).squeeze(-1)  # (B, T)
        share = torch.sigmoid(guess.to(torch.promote_types(guess.dtype, torch.float32)))  # bfloat16 counts to 256
        return WindowPosition(mask.sum(1, keepdim=True) * share, carried)


@final
class LocalAttention(Attention):
    """Global attention over the positions of a window, which are gathered; all others have weight 0."""

    def __init__(self, inner: GlobalAttention, window: Window) -> None:
        super().__init__()
        self.inner = inner
        self.window = window
        self.size = inner.size

    def prepare(self, memory: Memory) -> PreparedSource:
        prepared_source = self.inner.prepare(memory)
        return prepared_source._replace(
            keys=collecting(prepared_source.keys.contiguous()), values=collecting(prepared_source.values)
        )

    def start(self, prepared_source: PreparedSource) -> AttentionHistory:
        history = self.inner.start(prepared_source)
        return history._replace(window=self.window.start(history.weights))

    def forward(
        self,
        query: Float[Tensor, "R Q"],
        embedded: Float[Tensor, "R E"],
        prepared_source: PreparedSource,
        history: AttentionHistory,
    ) -> AttentionOutput:
        terms = self.inner.term_outputs(query, embedded, prepared_source, history)
        queries = group_by_sentence(query, prepared_source)  # (B, T, Q)
        center, carried = self.window(queries, prepared_source.mask, group_by_sentence(history.window, prepared_source))
        at, inside = self.positions(center, prepared_source.mask)
        first = torch.arange(at.size(0), device=at.device) * prepared_source.mask.size(
            1
        )  # of each sentence, in a flat source
        rows = (at + first.view(-1, 1, 1)).flatten(0, 1)  # (B T, W)

        def cut(values: Tensor | None) -> Tensor | None:
            """Gather (B, T, S, ...) to (B T, 1, W, ...)."""
            if values is None:
                return None
            index = at.view(*at.shape, *(1 for _ in values.shape[3:])).expand(*at.shape, *values.shape[3:])
            return values.gather(2, index).flatten(0, 1).unsqueeze(1)

        mask = flatten_sentences(inside)
        keys = gathered(prepared_source.keys, rows) * mask.unsqueeze(2)  # a score may read neighbors
        window = PreparedSource(keys, gathered(prepared_source.values, rows), mask)
        words = TermOutput((), cut(terms.features), cut(terms.prior))
        weights = self.inner.weights(flatten_sentences(queries).unsqueeze(1), window, words)  # (B T, 1, W)
        if self.window.deviation is not None:
            distance = (at - center.unsqueeze(2)).view(weights.shape)
            weights = weights * torch.exp(-(distance**2) / (2 * self.window.deviation**2))
        context, drawn = self.inner.normalizer.read(weights, window.values)
        nothing = weights.new_zeros(*at.shape[:2], prepared_source.mask.size(1))
        everywhere = nothing.scatter_add(2, at, weights.view(at.shape))  # positions outside the window add 0
        return AttentionOutput(
            context.squeeze(1),
            AttentionHistory(flatten_sentences(everywhere), terms.carried, flatten_sentences(carried)),
            None if drawn is None else flatten_sentences(at).gather(1, drawn).squeeze(1),
        )

    def positions(
        self, center: Float[Tensor, "B T"], mask: Bool[Tensor, "B S"]
    ) -> tuple[Int[Tensor, "B T W"], Bool[Tensor, "B T W"]]:
        """Return the positions of the window around each center, and a mask of those in it. The others come last, as
        padding does, and repeat the last position.
        """
        last = mask.sum(1).view(-1, 1, 1) - 1
        middle = center.round().long().unsqueeze(2).minimum(last)
        first = (middle - self.window.width).clamp(min=0)
        places = 2 * self.window.width + 1
        if not torch.compiler.is_exporting():  # an exported graph serves any source
            places = min(places, mask.size(1))
        at = first + torch.arange(places, device=center.device)
        return at.minimum(last), at <= (middle + self.window.width).minimum(last)


@final
class NoWindow(Reach):
    """Attention to the whole source."""

    everywhere = True

    def __init__(self, query_size: int) -> None: ...


WINDOWS: dict[str, type[Reach]] = {"none": NoWindow, "monotonic": Monotonic, "predictive": Predictive}
