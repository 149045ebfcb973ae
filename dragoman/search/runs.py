"""Steps of a search that a model makes by itself, several in one call, and what a search keeps of them."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.data.vocabulary import EOS
from dragoman.model.predictor import Candidate, Predictor, SearchSteps, StepRunner
from dragoman.search.hypothesis import HypothesisNode, Paths
from dragoman.search.limits import refuse_nan
from dragoman.search.strategy import RunnableStrategy, SearchStep, SentenceBeam


class ModelRuns:
    """Runs of several steps that `runner` makes for `strategy`, all sentences of a batch at once."""

    def __init__(
        self, model: Predictor[Any], strategy: RunnableStrategy, runner: StepRunner, device: torch.device
    ) -> None:
        self._model = model
        self._strategy = strategy
        self._runner = runner
        self._device = device

    def count(self, sentences: Sequence[SentenceBeam], remaining: int) -> int:
        """Return how many steps the model may make by itself, with full beams, if no end is forced in `remaining`."""
        width = len(sentences[0].beam)
        if width < self._strategy.beam_width or width * len(sentences) > self._runner.most_rows:
            return 0
        return min(self._runner.most_steps, remaining)

    def run(
        self,
        sentences: list[SentenceBeam],
        state: Any,
        count: int,
        paths: Paths,
        length: int,
        last_steps: Sequence[int],
    ) -> tuple[SearchSteps, list[SentenceBeam]]:
        """Let the model make up to `count` steps, and keep their continuations. Return the steps, with the state of the
        sentences that go on, and these sentences. Hypotheses have `length` symbols before, and the end of each sentence
        is forced in one of the `last_steps`.
        """
        rows = [node for sentence in sentences for node in sentence.beam]
        width = len(rows) // len(sentences)
        device = self._device
        symbols = torch.tensor([node.symbol for node in rows], device=device)
        totals = torch.tensor([node.total for node in rows], dtype=torch.float64, device=device).view(-1, width)
        model_steps = self._runner(symbols, totals, state, count)
        ongoing = self._keep(model_steps, sentences, paths, length, last_steps)
        if ongoing and len(ongoing) < len(sentences):
            remaining = torch.tensor(ongoing, device=device)
            kept_rows = (remaining.unsqueeze(1) * width + torch.arange(width, device=device)).flatten()
            model_steps = model_steps._replace(state=self._model.reorder(model_steps.state, kept_rows, remaining))
        return model_steps, [sentences[index] for index in ongoing]

    def _keep(
        self,
        model_steps: SearchSteps,
        sentences: list[SentenceBeam],
        paths: Paths,
        length: int,
        last_steps: Sequence[int],
    ) -> list[int]:
        """Keep the continuations of each step. Return the indices of the sentences that go on. The model has made all
        steps with all sentences: those after a sentence is done are ignored.
        """
        rows = [node for sentence in sentences for node in sentence.beam]
        width = len(rows) // len(sentences)
        chosen = _Chosen(*(part.cpu().numpy() for part in model_steps[:3]))
        first = len(paths.nodes)
        totals, nodes = _grow(rows, chosen.still_open(width), first)
        paths.add(
            (rows + nodes)[: len(nodes)],
            tuple(weights.flatten(0, 1) for weights in model_steps.attention),
            {name: values.flatten() for name, values in model_steps.statistics.items()},
        )
        ongoing = dict.fromkeys(range(len(sentences)))
        for number, ends in enumerate(chosen.ends(width)):
            if np.isnan(chosen.log_probs[number, [*ongoing]]).any():
                refuse_nan(math.nan)
            step = SearchStep(paths, first + number * len(rows), length + number + 1)
            for index, rank in ends:
                if index in ongoing:
                    row, log_prob = (part[number, index, rank].item() for part in (chosen.rows, chosen.log_probs))
                    total = totals[number, index, row].item() + log_prob
                    candidate = Candidate(index * width + row, EOS, log_prob, total)
                    self._strategy.finish(sentences[index], candidate, step)
            begin = number * len(rows)
            for index in [index for index in ongoing if sentences[index].finished]:
                sentences[index].beam = nodes[begin + index * width : begin + (index + 1) * width]
                if self._strategy.done(sentences[index], last_steps[sentences[index].number]):
                    del ongoing[index]
        for index in ongoing:
            sentences[index].beam = nodes[begin + index * width : begin + (index + 1) * width]
        return [*ongoing]


class _Chosen(NamedTuple):
    """The continuations that a model chose in several steps, best first: rows within the sentence, symbols, and log P
    of these.
    """

    rows: NDArray[Any]  # (T, B, P)
    symbols: NDArray[Any]
    log_probs: NDArray[Any]

    def still_open(self, width: int) -> "_Chosen":
        """Return the `width` best that do not end; where there are fewer, ends as well."""
        places = np.argsort(self.symbols == EOS, axis=2, kind="stable")[:, :, :width]
        rows, symbols, log_probs = (np.take_along_axis(part, places, 2) for part in self)
        return _Chosen(rows, symbols, log_probs)

    def ends(self, width: int) -> list[list[tuple[int, int]]]:
        """Return, for each step, the sentence and the rank of those among the `width` best that end."""
        ends: list[list[tuple[int, int]]] = [[] for _ in self.symbols]
        for number, index, rank in np.argwhere(self.symbols[:, :, :width] == EOS).tolist():
            ends[number].append((index, rank))
        return ends


def _grow(
    rows: Sequence[HypothesisNode], kept: _Chosen, first: int
) -> tuple[NDArray[np.float64], list[HypothesisNode]]:
    """Return log P of the hypotheses before each step and after the last (T + 1, B, W), and the nodes of what was kept,
    of all steps in order. The first row of the first step is the node `first`.
    """
    steps, count, width = kept.rows.shape
    log_probs = kept.log_probs.astype(np.float64)
    totals = np.empty((steps + 1, count, width))
    totals[0] = np.array([node.total for node in rows]).reshape(count, width)
    sentences = np.arange(count)[:, None]
    for number in range(steps):
        totals[number + 1] = totals[number, sentences, kept.rows[number]] + log_probs[number]
    first_rows = np.arange(first, first + steps * len(rows), width).reshape(steps, count, 1)
    columns = (kept.rows + first_rows, kept.symbols, log_probs, totals[1:])
    return totals, [*map(HypothesisNode, *(column.ravel().tolist() for column in columns))]
