"""The interface of all decoders: one step, and its unrolling over a reference."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from torch import Tensor, nn

from dragoman.model.memory import Memory, StateShape
from dragoman.model.recurrent import CellState
from dragoman.model.shapes import Float, Int


class DecoderState(NamedTuple):
    """The state of a decoder between two steps: nested tuples of tensors, opaque to all but the decoder.

    Several rows, next to each other, can belong to one sentence; `source_state` has one row per sentence.
    """

    step_state: Any  # what changes from step to step
    source_state: Any  # computed from the sources
    masks: Any  # dropout masks, drawn once per sentence


class DecoderStep(NamedTuple):
    """The result of one step: features for the output layer, attention weights, and the state after the step."""

    features: Float[Tensor, "R F"]
    weights: Float[Tensor, "R S"]
    state: DecoderState


class Unrolled(NamedTuple):
    """All steps over a reference."""

    features: Float[Tensor, "B T F"]
    weights: Float[Tensor, "B T S"]
    drawn: Int[Tensor, "B T"] | None = None  # the positions that hard attention drew


class StepByPosition(NamedTuple):
    """The result of one step in evaluation, with the features for each position that attention could draw."""

    features: Float[Tensor, "R S F"]
    weights: Float[Tensor, "R S"]
    state: DecoderState


class StepsByPosition(NamedTuple):
    """All steps over a reference, with the features for each position that attention could draw."""

    queries: Float[Tensor, "B T D"]
    weights: Float[Tensor, "B T S"]
    features: Float[Tensor, "B T S F"]


class Decoder(nn.Module, ABC):
    """Reads the source and the symbols so far, and computes features that predict the next symbol."""

    features_size: int  # F, the second readout included
    attends: bool  # whether each step reads the source, by attention or through an external memory
    state_shape: StateShape  # of the states that the bridge computes
    reads_ahead = False  # whether it depends on source symbols that attention does not show
    reports_drawn: ClassVar[bool] = False  # whether `Unrolled.drawn` has the positions that hard attention drew

    def __init__(self) -> None:
        super().__init__()
        self.second_readout: nn.Module | None = None

    @classmethod
    def ignores_attention(cls, options: Mapping[str, Any]) -> bool:
        """Return whether its states do not depend on what it attends to, with these options."""
        return False

    @abstractmethod
    def add_second_readout(self, size: int) -> None:
        """Append a second vector of this size to the features, for an output that asks for one: it has weights of its
        own, reads the same state and context, and is not fed back.
        """

    @abstractmethod
    def start(self, memories: tuple[Memory, ...], layers: tuple[CellState, ...]) -> DecoderState:
        """Return the state before the first symbol, from the sources and the bridge's layers."""

    @abstractmethod
    def step(self, embedded: Float[Tensor, "R E"], state: DecoderState) -> DecoderStep:
        """Read one symbol; the features predict the next one."""

    @abstractmethod
    def by_source(self, weights: Float[Tensor, "*_ S"], state: DecoderState) -> tuple[Float[Tensor, "*_ _"], ...]:
        """Return the weights of one or several steps on each source, and on a sentinel if there is one."""

    @abstractmethod
    def unroll(self, embedded: Float[Tensor, "B T E"], state: DecoderState) -> Unrolled:
        """Return all steps over a reference, computed at once as far as possible."""
