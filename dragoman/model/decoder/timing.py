"""When a recurrent decoder attends to the source."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Annotated, NamedTuple, TypeAlias, final

from torch import Tensor

from dragoman.configuration.components import OneOf
from dragoman.model.attention.attention import AttentionOutput
from dragoman.model.decoder.decoder import DecoderState
from dragoman.model.dropout import Dropout
from dragoman.model.recurrent import CellState, Recurrence
from dragoman.model.shapes import Float

Attend = Callable[[Float[Tensor, "R D"]], AttentionOutput]  # attends with a query
UpperLayers = Callable[[CellState], tuple[tuple[CellState, ...], Float[Tensor, "R D"]]]  # from the first one's state


class StepOutput(NamedTuple):
    """The result of one step of the recurrence."""

    layers: tuple[CellState, ...]
    output: Float[Tensor, "R D"]  # of the top layer
    attention_output: AttentionOutput


class Timing(ABC):
    """The order of operations in a step: the update of the first layer, attention to the source, the layers above.

    The context enters the first cell, whose columns for it begin at `column`; or a second cell of the first layer; or
    no cell, and may then be computed after the step.
    """

    first_reads_context = False
    second_reads_context = False

    def __init__(self, first: Recurrence, second: Recurrence | None, column: int, dropout: Dropout) -> None:
        self._first = first
        self._second = second
        self._column = column
        self._dropout = dropout

    @classmethod
    def enters_a_cell(cls) -> bool:
        return cls.first_reads_context or cls.second_reads_context

    @abstractmethod
    def step(
        self, projected: Float[Tensor, "R G"], state: DecoderState, attend: Attend, upper: UpperLayers
    ) -> StepOutput:
        """Return one step; `projected` is x_t, the input of the first cell without the context, projected."""

    def update(self, projected: Float[Tensor, "R G"], state: DecoderState) -> CellState:
        """Return `cell(x_t, s_(t-1))` with the first cell."""
        updated: CellState = self._first(projected, state.step_state.layers[0], state.masks.recurrent[0])
        return updated

    def dropped(self, attention_output: AttentionOutput, state: DecoderState) -> Float[Tensor, "R C"]:
        """Return the context with dropout, as it enters a cell."""
        return self._dropout.step(attention_output.context, state.masks.context)


@final
class AttendBefore(Timing):
    """`c_t = attend(s_(t-1))`, `s_t = cell([x_t; c_t], s_(t-1))`."""

    first_reads_context = True

    def step(
        self, projected: Float[Tensor, "R G"], state: DecoderState, attend: Attend, upper: UpperLayers
    ) -> StepOutput:
        attention_output = attend(state.step_state.layers[-1][0])
        # The columns of the context alone: x_t is projected already, for all steps at once.
        context = self._first.project(self.dropped(attention_output, state), self._column)
        return StepOutput(*upper(self.update(projected + context, state)), attention_output)


@final
class AttendAfter(Timing):
    """`s_t = cell(x_t, s_(t-1))`, `c_t = attend(s_t)`."""

    def step(
        self, projected: Float[Tensor, "R G"], state: DecoderState, attend: Attend, upper: UpperLayers
    ) -> StepOutput:
        layers, output = upper(self.update(projected, state))
        return StepOutput(layers, output, attend(output))


@final
class AttendBetween(Timing):
    """`s' = cell_1(x_t, s_(t-1))`, `c_t = attend(s')`, `s_t = cell_2(c_t, s')`."""

    second_reads_context = True

    def step(
        self, projected: Float[Tensor, "R G"], state: DecoderState, attend: Attend, upper: UpperLayers
    ) -> StepOutput:
        assert self._second is not None
        middle = self.update(projected, state)
        attention_output = attend(middle[0])
        context = self._second.project(self.dropped(attention_output, state))
        return StepOutput(*upper(self._second(context, middle, state.masks.recurrent[-1])), attention_output)


TIMINGS: dict[str, type[Timing]] = {"before": AttendBefore, "after": AttendAfter, "between": AttendBetween}
AttendKind: TypeAlias = Annotated[str, OneOf(TIMINGS)]
