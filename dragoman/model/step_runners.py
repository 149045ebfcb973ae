"""Several steps of a search on tensors of the whole batch, by any model of torch.

The search of a step has no work for single sentences, so that a GPU is not waited for, and its kernels can be recorded
and launched together (`step_recorder.py`).
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, final

import torch
from torch import Tensor

from dragoman.data.vocabulary import EOS
from dragoman.model.predictor import Prediction, Predictor, SearchSteps, StepRunner, mask_specials
from dragoman.model.shapes import Float, Int
from dragoman.model.step_recorder import StepRecorder

# Greedy search goes on without the rows that have ended when these are more than this share of all. Dropping
# rows copies all states.
MOST_ENDED: Final = {"cpu": 0.0, "cuda": 0.5}


class StepInput(NamedTuple):
    """What a step reads: the last symbol of each row, log P of its hypothesis, and the state of the model."""

    symbols: Int[Tensor, "R"]
    totals: Float[Tensor, "B W"]
    state: Any


class StepChoice(NamedTuple):
    """The continuations that a step chose, best first, and its attention and statistics, the latter by value."""

    rows: Int[Tensor, "B P"]  # within the sentence
    symbols: Int[Tensor, "B P"]
    log_probs: Float[Tensor, "B P"]
    attention: tuple[Float[Tensor, "R _"], ...]
    statistics: tuple[Float[Tensor, "R"], ...]


class PredictorRunner(StepRunner):
    """Makes steps by the `predict` of a model, on its device. A `recorder` replays them on a GPU."""

    def __init__(self, model: Predictor[Any], recorder: StepRecorder | None = None) -> None:
        self._model = model
        self._recorder = recorder
        self._statistics: tuple[str, ...] = ()  # their names

    def __call__(self, symbols: Int[Tensor, "R"], totals: Float[Tensor, "B W"], state: Any, steps: int) -> SearchSteps:
        inputs = StepInput(symbols, totals, state)
        choices: list[StepChoice] = []
        recorder, kind = self._recorder, type(self).__name__
        advance = recorder.replay(kind, self._advance, inputs) if recorder else self._advance
        while len(choices) < steps and not (choices and self._stops(choices)):
            choice, inputs = advance(inputs)
            choices.append(choice)
        rows, next_symbols, log_probs = (torch.stack(parts) for parts in list(zip(*choices, strict=True))[:3])
        attention = tuple(map(torch.stack, zip(*(choice.attention for choice in choices), strict=True)))
        values = map(torch.stack, zip(*(choice.statistics for choice in choices), strict=True))
        statistics = dict(zip(self._statistics, values, strict=True))
        return SearchSteps(rows, next_symbols, log_probs, attention, inputs.state, statistics)

    def _advance(self, inputs: StepInput) -> tuple[StepChoice, StepInput]:
        prediction = self._model.predict(inputs.symbols, inputs.state)
        mask_specials(prediction.log_probs)
        self._statistics = tuple(prediction.statistics)
        return self._choose(prediction, inputs.totals)

    @abstractmethod
    def _choose(self, prediction: Prediction[Any], totals: Float[Tensor, "B W"]) -> tuple[StepChoice, StepInput]:
        """Choose the continuations of a step. Return them, and the input of the next step."""

    @abstractmethod
    def _stops(self, choices: Sequence[StepChoice]) -> bool:
        """Return whether no further step follows those made in this call."""


@final
class GreedyRunner(PredictorRunner):
    """Greedy search: stops when more than the share `MOST_ENDED` of the rows have ended. Until then they go on like the
    others; what they choose has no meaning.
    """

    most_steps = 8  # a deadline is looked at in between

    def _choose(self, prediction: Prediction[Any], totals: Float[Tensor, "R 1"]) -> tuple[StepChoice, StepInput]:
        log_probs, columns = prediction.log_probs.max(1, keepdim=True)
        symbols = prediction.at(columns)
        statistics = tuple(prediction.statistics.values())
        choice = StepChoice(torch.zeros_like(symbols), symbols, log_probs, prediction.attention, statistics)
        return choice, StepInput(symbols.squeeze(1), totals, prediction.state)

    def _stops(self, choices: Sequence[StepChoice]) -> bool:
        ended = torch.cat([choice.symbols for choice in choices], 1).eq(EOS).any(1)
        return int(ended.sum()) > MOST_ENDED[ended.device.type] * len(ended)


@final
class BeamRunner(PredictorRunner):
    """Beam search: the best continuations that do not end go on. Proposes twice as many as the beam is wide: that many
    go on, even if as many end.
    """

    most_steps = 4  # more would go on longer with sentences that are done

    def _choose(self, prediction: Prediction[Any], totals: Float[Tensor, "B W"]) -> tuple[StepChoice, StepInput]:
        (sentences, width), columns = totals.shape, prediction.log_probs.size(1)
        log_probs = prediction.log_probs.view(sentences, width, columns)
        continued = (totals.to(log_probs.dtype).unsqueeze(2) + log_probs).flatten(1)  # (B, W * C)
        sums, places = continued.topk(min(2 * width, continued.size(1)))
        rows, symbols = places // columns, prediction.at(places % columns)
        # Stable, as the search keeps them: open continuations first, both in the order of their sums.
        kept = (symbols == EOS).sort(dim=1, stable=True).indices[:, :width]
        first_rows = torch.arange(0, sentences * width, width, device=rows.device).unsqueeze(1)
        parents = (rows.gather(1, kept) + first_rows).flatten()
        statistics = tuple(prediction.statistics.values())
        choice = StepChoice(rows, symbols, log_probs.flatten(1).gather(1, places), prediction.attention, statistics)
        state = self._model.reorder(prediction.state, parents)
        return choice, StepInput(symbols.gather(1, kept).flatten(), sums.gather(1, kept), state)

    def _stops(self, choices: Sequence[StepChoice]) -> bool:
        return False
