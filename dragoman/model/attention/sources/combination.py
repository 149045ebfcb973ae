"""Attention over one or several sources, combined into one context vector."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, final

from torch import Tensor, nn

from dragoman.model.attention.attention import Attention, AttentionHistory, AttentionOutput
from dragoman.model.linear import Linear
from dragoman.model.memory import Memory
from dragoman.model.shapes import Float


class DecoderQuery(NamedTuple):
    """The inputs of attention from the decoder, at a step."""

    query: Float[Tensor, "R Q"]
    embedded: Float[Tensor, "R E"]  # the symbol read last, y_(t-1)
    previous_state: Float[Tensor, "R D"]  # s_(t-1), of the top layer before this step's update


class Combination(nn.Module, ABC):
    """`combination(decoder_query, prepared_sources, history)`: one step of attention to all sources for each row.

    Several rows, next to each other, can belong to one sentence. The output weights are those of the positions of the
    first source, then of the second and so on; that of a sentinel comes last.
    """

    size: int  # C, of a context
    batches_steps = False  # whether independent steps are faster when computed together
    weighs: ClassVar[bool] = True  # whether it needs several contexts, or a sentinel, to weigh
    scores_sentinel: ClassVar[bool] = False  # whether a sentinel has a score of its own

    @abstractmethod
    def prepare(self, memories: tuple[Memory, ...]) -> Any:
        """Prepare the sources for attention, once per sentence."""

    @abstractmethod
    def start(self, prepared_sources: Any) -> AttentionHistory:
        """Return the history before the first step, one row per sentence: weights of 0."""

    @abstractmethod
    def forward(self, decoder_query: DecoderQuery, prepared_sources: Any, history: AttentionHistory) -> AttentionOutput:
        """Return the context of each row, and the history after the step."""

    @abstractmethod
    def by_source(self, weights: Float[Tensor, "*_ S"], prepared_sources: Any) -> tuple[Float[Tensor, "*_ _"], ...]:
        """Return the weights split by source, that of a sentinel last."""


def initialize_as_sum(projections: Sequence[Linear]) -> None:
    """Initialize U_c of (7) and (10): orthogonal, times the number of inputs combined. Their weights are nearly equal
    at first, so that the context starts as the sum of the inputs, at their scale; with torch's default initialization
    it would be so small that the decoder learns late to attend.
    """
    for projection in projections:
        nn.init.orthogonal_(projection.weight, gain=len(projections))


@final
class OneSource(Combination):
    """Nothing to combine: the context is that of the source (LH (3))."""

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.attention = attention
        self.size = attention.size
        self.batches_steps = attention.batches_steps

    def prepare(self, memories: tuple[Memory, ...]) -> Any:
        (memory,) = memories
        return self.attention.prepare(memory)

    def start(self, prepared_sources: Any) -> AttentionHistory:
        return self.attention.start(prepared_sources)

    def forward(self, decoder_query: DecoderQuery, prepared_sources: Any, history: AttentionHistory) -> AttentionOutput:
        output: AttentionOutput = self.attention(decoder_query.query, decoder_query.embedded, prepared_sources, history)
        return output

    def by_source(self, weights: Float[Tensor, "*_ S"], prepared_sources: Any) -> tuple[Float[Tensor, "*_ _"], ...]:
        return (weights,)


def as_combination(attention: Attention | Combination) -> Combination:
    """Return attention to the only source as a combination."""
    return OneSource(attention) if isinstance(attention, Attention) else attention
