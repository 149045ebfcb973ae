"""The interface of all decoders: one step, and its unrolling over a reference."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from torch import Tensor, nn

from dragoman.model.memory import Memory, StateShape
from dragoman.model.recurrent import CellState
from dragoman.model.shapes import Float, Int


class State(NamedTuple):
    """A decoder between two steps: nested tuples of tensors, of a form that only the decoder knows.

    Several rows, side by side, can belong to one sentence, of which `source_state` has one.
    """

    step_state: Any  # what changes from step to step
    source_state: Any  # what was made of the sources
    masks: Any  # dropout of one sentence, drawn when it starts


class Step(NamedTuple):
    """The outcome of one step: features for the output layer, where it looked, and the state that follows."""

    features: Float[Tensor, "B F"]
    weights: Float[Tensor, "B S"]
    state: State


class Unrolled(NamedTuple):
    """All steps over a reference."""

    features: Float[Tensor, "B T F"]
    weights: Float[Tensor, "B T S"]
    drawn: Int[Tensor, "B T"] | None = None  # the positions that hard attention drew


class StepByPosition(NamedTuple):
    """The outcome of one step in evaluation, with the features that it would have if attention drew each position."""

    features: Float[Tensor, "R S F"]
    weights: Float[Tensor, "R S"]
    state: State


class StepsByPosition(NamedTuple):
    """All steps over a reference, with the features that each would have if attention drew each position."""

    queries: Float[Tensor, "B T D"]
    weights: Float[Tensor, "B T S"]
    features: Float[Tensor, "B T S F"]


class Decoder(nn.Module, ABC):
    """Reads the source and the symbols so far, and says what the output layer needs to predict the next one."""

    features_size: int  # F
    attends: bool  # whether it reads of the source at each step, by attention or from an external memory
    state_shape: StateShape  # of what the bridge is to make
    reads_ahead = False  # whether it depends on source symbols that attention does not show

    @abstractmethod
    def start(self, memories: tuple[Memory, ...], layers: tuple[CellState, ...]) -> State:
        """The state before the first symbol, from the sources and the bridge's layers."""

    @abstractmethod
    def step(self, embedded: Float[Tensor, "B E"], state: State) -> Step:
        """One symbol further: the features that predict the next one."""

    @abstractmethod
    def by_source(self, weights: Float[Tensor, "*_ S"], state: State) -> tuple[Float[Tensor, "*_ _"], ...]:
        """The weights of a step, or of several, on each source, and on a sentinel where there is one."""

    @abstractmethod
    def unroll(self, embedded: Float[Tensor, "B T E"], state: State) -> Unrolled:
        """The steps over a whole reference, all at once as far as they can be."""
