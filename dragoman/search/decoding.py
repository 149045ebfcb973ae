"""The one loop of all searches: limits, constraints, paths, reordering of rows, random numbers, a deadline."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeAlias

import torch

from dragoman.data.batch import SourceBatch
from dragoman.errors import UserError
from dragoman.model.predictor import Candidate, Prediction, Predictor, mask_specials
from dragoman.model.state import select_rows
from dragoman.search.banks import find_contenders, group_by_progress
from dragoman.search.constraints import Constraint, ConstraintProgress
from dragoman.search.hypothesis import Hypothesis, HypothesisNode, Paths, start_node
from dragoman.search.limits import forbid_end, force_end, refuse_nan
from dragoman.search.masking import RefusalMask, mask_log_probs
from dragoman.search.runs import ModelRuns
from dragoman.search.strategy import Proposals, RunnableStrategy, SearchStep, SentenceBeam, Strategy

StepCounts = Callable[[], Sequence[int]]  # a number of steps for each sentence; may grow while a source arrives
Trace: TypeAlias = Callable[[Paths, Sequence[SentenceBeam]], None]


class Deadline:
    """When searches must stop: after `seconds` from now, or when they are cancelled (from another thread)."""

    def __init__(self, seconds: float = float("inf")) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def cancel(self) -> None:
        self._end = float("-inf")

    @property
    def passed(self) -> bool:
        return time.monotonic() >= self._end

    def check(self) -> None:
        """Raise UserError if it has passed."""
        if self.passed:
            cancelled = self._end == float("-inf")
            raise UserError("cancelled" if cancelled else f"not translated within {self._seconds:g} seconds")


class Decoding:
    """The search of one batch: `model` predicts, `strategy` chooses.

    `max_steps()` are the steps, counted from 0, at which the end of each sentence is forced; they may grow while a
    source arrives. The end symbol is forbidden before step `min_steps()`; if that is beyond the maximum, the maximum
    wins. `constraint` restricts every symbol. `seeds` seed the random numbers of each sentence.

    Lexical constraints use dynamic beam allocation (`search/banks.py`): the beam is divided among hypotheses by how
    many required symbols they have produced.
    """

    def __init__(
        self,
        model: Predictor[Any],
        strategy: Strategy,
        max_steps: StepCounts,
        device: torch.device,
        *,
        min_steps: StepCounts = tuple,  # an empty tuple: no minimum
        constraint: Constraint | None = None,
        seeds: Sequence[int] = (),
        deadline: Deadline | None = None,
    ) -> None:
        # None with a constraint: a symbol that it requires may be improbable.
        considered = None if constraint else strategy.considered
        self.model = model if considered is None else model.most_probable(considered)
        self.strategy = strategy
        self._runs: ModelRuns | None = None
        if isinstance(strategy, RunnableStrategy) and not constraint and (runner := strategy.runner(model)):
            self._runs = ModelRuns(self.model, strategy, runner, device)
        self.max_steps = max_steps
        self.device = device
        self.constraint = constraint
        self.deadline = deadline
        self.min_steps = min_steps
        initial_progress = constraint.progress(constraint.start()) if constraint else None
        start, count = start_node(model.start_id), len(max_steps())
        self._min_required = initial_progress.missing.tolist() if initial_progress else [0] * count
        random = [torch.Generator(device).manual_seed(seed) for seed in seeds]
        self.sentences = [
            SentenceBeam(index, strategy.begin(start), [], random[index] if random else None, required)
            for index, required in enumerate(self._min_required)
        ]

    def find(self, sources: tuple[SourceBatch, ...], trace: Trace | None = None) -> list[list[Hypothesis]]:
        """Return the finished hypotheses of each sentence; `trace` looks at the whole search once it is done."""
        paths = Paths(sources, self.strategy.coverage_sources)
        if trace:
            self._runs = None  # their rows go on with sentences that are done
        for _ in self.steps(sources, paths):
            pass
        if trace:
            trace(paths, self.sentences)
        return paths.hypotheses([sentence.finished for sentence in self.sentences])

    def steps(self, sources: tuple[SourceBatch, ...], paths: Paths) -> Iterator[Prediction[Any]]:
        """Yield the prediction of each step, after its candidates have been kept. Steps that the model makes by itself
        are left out.
        """
        sentences, length = self.sentences, 0  # those that go on, and how many symbols they have
        state = self.model.begin(sources)
        constraint_state = self.constraint.start() if self.constraint else ()
        if self._runs and self._runs.begin_full(len(sentences)):
            level_beams(sentences, self.strategy.beam_width)
        # Samples and diverse beams begin with several rows of a sentence; a beam begins with one and spreads, or with
        # all if the model makes the first step by itself.
        if sentences and len(sentences[0].beam) > 1:
            sentence_numbers = torch.arange(len(sentences), device=self.device).repeat_interleave(
                len(sentences[0].beam)
            )
            state = self.model.reorder(state, sentence_numbers)
            constraint_state = select_rows(constraint_state, sentence_numbers)
        while sentences:
            if self.deadline:
                self.deadline.check()
            if self._runs and (count := self._runs.count(sentences, self._unlimited(sentences, length))) > 0:
                last_steps = self.max_steps()
                model_steps, sentences = self._runs.run(sentences, state, count, paths, length, last_steps)
                length, state = length + len(model_steps.symbols), model_steps.state
                continue
            rows = [node for sentence in sentences for node in sentence.beam]  # equally many of each
            symbols = torch.tensor([node.symbol for node in rows], device=self.device)
            if self.constraint and length:  # the start symbol is not part of the translation
                constraint_state = self.constraint.advance(symbols, constraint_state)
            prediction = self.model.predict(symbols, state)
            step = SearchStep(paths, paths.add(rows, prediction.attention, prediction.statistics), length + 1)
            max_steps = self.max_steps()
            # Required symbols have room even if the length limit is lower.
            remaining = [
                max(max_steps[sentence.number], self._min_required[sentence.number]) - length for sentence in sentences
            ]
            min_steps = self.min_steps()
            too_early = [length < min_steps[sentence.number] for sentence in sentences] if any(min_steps) else []
            self._restrict(prediction, constraint_state, remaining, too_early)
            candidates_by_sentence = self._expand_beams(rows, prediction, constraint_state, sentences)
            for sentence, candidates in zip(sentences, candidates_by_sentence, strict=True):
                self.strategy.keep(sentence, candidates, step)
            yield prediction
            length, state = length + 1, prediction.state
            ongoing = [
                index
                for index, (sentence, symbols_left) in enumerate(zip(sentences, remaining, strict=True))
                if symbols_left > 0 and not self.strategy.done(sentence, length - 1 + symbols_left)
            ]
            # None while all sentences go on: source tensors, the largest of a state, are not copied then.
            kept_sentences = torch.tensor(ongoing, device=self.device) if len(ongoing) < len(sentences) else None
            sentences = [sentences[index] for index in ongoing]
            level_beams(sentences)
            parents = [node.parent - step.first for sentence in sentences for node in sentence.beam]
            # Rows that stay where they are need no copy of their state: in greedy search, until a sentence ends.
            if sentences and parents != list(range(len(rows))):
                kept_rows = torch.tensor(parents, device=self.device)
                state = self.model.reorder(state, kept_rows, kept_sentences)
                constraint_state = select_rows(constraint_state, kept_rows)

    def _unlimited(self, sentences: Sequence[SentenceBeam], length: int) -> int:
        """Return how many steps follow in which no end is forced or forbidden."""
        if length < max(self.min_steps(), default=0):
            return 0
        max_steps = self.max_steps()
        return min(max_steps[sentence.number] - length for sentence in sentences)

    def _restrict(
        self, prediction: Prediction[Any], constraint_state: Any, remaining: Sequence[int], too_early: Sequence[bool]
    ) -> None:
        """Set log P of forbidden symbols to -inf, in place. `remaining` is the number of symbols until the end of each
        sentence is forced; where `too_early`, the end symbol is forbidden.
        """
        log_probs = prediction.log_probs
        rows_per_sentence = len(log_probs) // len(remaining)
        if self.constraint:
            remaining_by_row = torch.tensor(remaining, device=self.device).repeat_interleave(rows_per_sentence)
            mask_log_probs(log_probs, prediction.symbols, self.constraint, constraint_state, remaining_by_row)
        mask_specials(log_probs)
        # After the constraint, so that the end can be forced even where the constraint has ruled it out.
        ending = [index for index, symbols in enumerate(remaining) if symbols <= 0]
        force_end(log_probs, [index * rows_per_sentence + row for index in ending for row in range(rows_per_sentence)])
        unfinished = [index for index, is_early in enumerate(too_early) if is_early]
        if unfinished:
            # This spares rows in which only the end is possible, such as those where it was forced.
            forbid_end(
                log_probs,
                prediction.symbols,
                [index * rows_per_sentence + row for index in unfinished for row in range(rows_per_sentence)],
            )

    def _expand_beams(
        self,
        rows: list[HypothesisNode],
        prediction: Prediction[Any],
        constraint_state: Any,
        sentences: list[SentenceBeam],
    ) -> Sequence[Iterable[Candidate]]:
        """Return the candidates of every sentence, best first.

        If a constraint requires symbols, each beam is divided equally among banks: candidates that lack the same number
        of required symbols form a bank. Candidates that end come first then. A group is the rows that share a beam: all
        rows of a sentence, or `beam_width` of them in diverse beam search.
        """
        rows_per_sentence = len(rows) // len(sentences)
        progress = self.constraint.progress(constraint_state) if self.constraint else None
        unmet = progress if progress and progress.missing.any() else None
        proposals = self._propose(prediction, constraint_state, unmet, sentences)
        # One list for the whole batch: on a GPU, each copy to the CPU waits for all pending kernels.
        symbols = prediction.at(proposals.columns).tolist()

        of_rows = [[0] * len(columns) for columns in symbols] if proposals.rows is None else proposals.rows.tolist()
        arguments = zip(
            range(0, len(rows), rows_per_sentence), of_rows, symbols, proposals.log_probs.tolist(), strict=True
        )
        expanded = self.model.replace_candidates([_candidates(rows, *columns) for columns in arguments], prediction)
        # A beam of one row cannot be divided into banks.
        if not (self.constraint and unmet and self.strategy.beam_width > 1):
            return expanded
        rows_per_group = min(rows_per_sentence, self.strategy.beam_width)
        groups = [
            group
            for candidates_of in expanded
            for group in group_by_row(candidates_of, rows_per_group, rows_per_sentence)
        ]
        banks = group_by_progress(
            groups, rows, prediction, unmet, self.constraint, constraint_state, self.strategy.beam_width
        )
        groups_per_sentence = rows_per_sentence // rows_per_group
        return [
            [*chain.from_iterable(banks[first : first + groups_per_sentence])]
            for first in range(0, len(banks), groups_per_sentence)
        ]

    def _propose(
        self,
        prediction: Prediction[Any],
        constraint_state: Any,
        unmet: ConstraintProgress | None,
        sentences: list[SentenceBeam],
    ) -> Proposals:
        """Return the strategy's proposals, without continuations that the constraint refuses.

        A constraint that `refuses` checks single continuations. Refused ones are ruled out in `log_probs`, and the
        sentences concerned propose again, until nothing is refused.
        """
        log_probs = prediction.log_probs
        by_sentence = log_probs.view(len(sentences), -1, log_probs.size(1))  # (B, W, C)
        if not (self.constraint and self.constraint.refuses):
            return self.strategy.propose(by_sentence, sentences)
        rows_per_sentence = by_sentence.size(1)
        rows_per_group = min(rows_per_sentence, self.strategy.beam_width)
        totals = log_probs.new_tensor([node.total for sentence in sentences for node in sentence.beam])
        dead = totals == float("-inf")  # rows that only pad the batch
        refusals = RefusalMask(self.constraint, constraint_state, log_probs, prediction.symbols, rows_per_group, dead)
        while unmet and self.strategy.beam_width > 1:
            # Check only continuations that the beam could keep; each check is expensive.
            rows, symbols, *_ = find_contenders(
                prediction, unmet, self.constraint, constraint_state, self.strategy.beam_width
            )
            columns, _ = prediction.find_columns(symbols.unsqueeze(1))  # contenders have columns
            if not len(refusals.rule_out(rows, columns[:, 0])):
                break
        proposals = self.strategy.propose(by_sentence, sentences)
        indices = torch.arange(len(sentences), device=self.device)
        while True:
            proposed = proposals.of(indices)
            first = (indices * rows_per_sentence).unsqueeze(1)
            rows = first.expand_as(proposed.columns) if proposed.rows is None else first + proposed.rows
            indices = torch.unique(refusals.rule_out(rows.flatten(), proposed.columns.flatten()) // rows_per_sentence)
            if not len(indices):
                return proposals
            # Only these sentences propose again: the others would draw their random numbers twice.
            refused = [sentences[index] for index in indices.tolist()]
            proposals = proposals.replaced(indices, self.strategy.propose(by_sentence[indices], refused))


def _candidates(
    rows: Sequence[HypothesisNode],
    first: int,
    own_rows: Sequence[int],
    symbols: Sequence[int],
    log_probs: Sequence[float],
) -> Iterator[Candidate]:
    """Yield the candidates of the sentence whose first row is `first`. `keep` stops when its beam is full, so most of
    them are never created.
    """
    for row, symbol, log_prob in zip(own_rows, symbols, log_probs, strict=True):
        yield Candidate(first + row, symbol, refuse_nan(log_prob), rows[first + row].total + log_prob)


def level_beams(sentences: Sequence[SentenceBeam], width: int = 0) -> None:
    """Pad the beams of all sentences to the same number of rows, at least `width`, with hypotheses that cannot win."""
    rows_per_sentence = max((len(sentence.beam) for sentence in sentences), default=0)
    rows_per_sentence = max(width, rows_per_sentence)
    for sentence in sentences:
        # A copy of the last hypothesis has a valid parent, so its state can be selected like any other.
        sentence.beam += [sentence.beam[-1]._replace(total=float("-inf"))] * (rows_per_sentence - len(sentence.beam))


def group_by_row(candidates: Iterable[Candidate], rows_per_group: int, rows_per_sentence: int) -> list[list[Candidate]]:
    """Split the candidates of a sentence by groups of `rows_per_group` neighboring rows."""
    groups: list[list[Candidate]] = [[] for _ in range(rows_per_sentence // rows_per_group)]
    for candidate in candidates:
        groups[candidate.row % rows_per_sentence // rows_per_group].append(candidate)
    return groups
