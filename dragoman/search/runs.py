"""Steps of a search that a model makes by itself, several in one call, and what a search keeps of them."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch

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

    def begin_full(self, sentences: int) -> bool:
        """Return whether this many sentences begin with full beams, so that the model makes the first step, too."""
        return sentences * self._strategy.beam_width <= self._runner.most_first_rows

    def count(self, sentences: Sequence[SentenceBeam], remaining: int) -> int:
        """Return how many steps the model may make by itself, with full beams, if no end is forced in `remaining`."""
        width = len(sentences[0].beam)
        if width < self._strategy.beam_width or width * len(sentences) > self._runner.most_rows:
            return 0
        is_open = len(sentences) == 1 and not sentences[0].finished
        most = self._runner.most_open_steps if is_open else None
        return min(most or self._runner.most_steps, remaining)

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
        ongoing, first = list(range(len(sentences))), len(paths.nodes)
        beams = [sentence.beam for sentence in sentences]  # of a sentence that is done: the last one
        nodes: list[HypothesisNode] = []
        columns = zip(*(part.tolist() for part in model_steps[:3]), strict=True)
        for number, (rows, symbols, log_probs) in enumerate(columns):
            step = SearchStep(paths, first + len(nodes), length + number + 1)
            for beam in beams:
                nodes += beam
            for index in tuple(ongoing):
                sentence = sentences[index]
                self._keep_step(sentence, index, zip(rows[index], symbols[index], log_probs[index], strict=True), step)
                if sentence.finished and self._strategy.done(sentence, last_steps[sentence.number]):
                    ongoing.remove(index)
                else:
                    beams[index] = sentence.beam
        attention = tuple(weights.flatten(0, 1) for weights in model_steps.attention)
        paths.add(nodes, attention, {name: values.flatten() for name, values in model_steps.statistics.items()})
        return ongoing

    def _keep_step(
        self, sentence: SentenceBeam, index: int, continuations: Iterable[tuple[int, int, float]], step: SearchStep
    ) -> None:
        """Keep the best continuations of a sentence: row, symbol and log P of each, best first."""
        beam, width = sentence.beam, len(sentence.beam)
        kept: list[HypothesisNode] = []
        for rank, (row, symbol, log_prob) in enumerate(continuations):
            total = beam[row].total + refuse_nan(log_prob)
            if symbol != EOS:
                kept.append(HypothesisNode(step.first + index * width + row, symbol, log_prob, total))
                if len(kept) == width:
                    break
            elif rank < width:
                self._strategy.finish(sentence, Candidate(index * width + row, EOS, log_prob, total), step)
        sentence.beam = kept
