"""The interface that searches use: a model, an ensemble, or a model narrowed to a few symbols."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar, final

import torch
from torch import Tensor

from dragoman.data.batch import Batch, SourceBatch
from dragoman.data.vocabulary import BOS, PAD
from dragoman.model.shapes import Bool, Float, Int
from dragoman.model.state import Tree

UNLIMITED: Final = 1 << 30

Other = TypeVar("Other")


@dataclass(frozen=True, eq=False)
class Prediction(Generic[Tree]):
    """The prediction of each row: log P of symbols (the caller may modify it), the attention on each source, the state
    after the step, and the statistics of the step: further probabilities, one of each name for each row.

    `ids` are the symbols of the columns in ascending order, including the four specials; None = column c is symbol c.
    Symbols without a column have probability 0. Ids from the size of the vocabulary on are words outside the
    vocabulary: they are local to the sentence, and the same for every predictor.
    """

    log_probs: Float[Tensor, "R C"]
    attention: tuple[Float[Tensor, "R _"], ...]
    state: Tree
    ids: Int[Tensor, "C"] | None = None
    statistics: Mapping[str, Float[Tensor, "R"]] = field(default_factory=dict)

    @property
    def symbols(self) -> Int[Tensor, "C"]:
        """The symbol of each column."""
        return torch.arange(self.log_probs.size(1), device=self.log_probs.device) if self.ids is None else self.ids

    def followed_by(self, state: Other) -> "Prediction[Other]":
        """This prediction with another state."""
        return Prediction(self.log_probs, self.attention, state, self.ids, self.statistics)

    def at(self, columns: Int[Tensor, "*_"]) -> Int[Tensor, "*_"]:
        """The symbols of these columns."""
        return columns if self.ids is None else self.ids.take(columns)

    def of_rows(self, symbols: Int[Tensor, "R K"]) -> Float[Tensor, "R K"]:
        """log P of the symbols given for each row; -inf for a symbol without a column."""
        columns, present = self.find_columns(symbols)
        return self.log_probs.gather(1, columns).masked_fill(~present, float("-inf"))

    def find_columns(self, symbols: Int[Tensor, "R K"]) -> tuple[Int[Tensor, "R K"], Bool[Tensor, "R K"]]:
        """A column for each of these symbols, and whether it is that of the symbol, which may have none."""
        here = self.symbols
        columns = torch.searchsorted(here, symbols.contiguous()).clamp(max=len(here) - 1)
        return columns, here[columns] == symbols

    def over(self, symbols: Int[Tensor, "C"]) -> Float[Tensor, "R C"]:
        """log P of these symbols in every row; -inf for a symbol without a column."""
        return self.of_rows(symbols.expand(len(self.log_probs), -1))


def mask_specials(log_probs: Float[Tensor, "R C"]) -> None:
    """Mask padding and the start symbol, which no translation contains, in place."""
    log_probs[:, PAD : BOS + 1] = float("-inf")  # the specials have the first columns of all predictions


class Candidate(NamedTuple):
    """A continuation of a hypothesis: its row, the symbol, log P of the symbol and of the whole hypothesis, and the
    spelling of the symbol if the vocabulary has none.
    """

    row: int
    symbol: int
    log_prob: float
    total: float
    surface: str | None = None


Continuations: TypeAlias = Sequence[Iterable[Candidate]]  # of each sentence, best first


class ScoredBatch(NamedTuple):
    """Scores of references: `log P(y_t | y_<t, x)` in nats, whether y_t was the most probable symbol, and
    statistics of each step.

    Padding has 0 and False.
    """

    log_probs: Float[Tensor, "B T"]
    correct: Bool[Tensor, "B T"]
    attention: tuple[Float[Tensor, "B T _"], ...]  # on each source, and a sentinel
    statistics: Mapping[str, Float[Tensor, "B T"]] = {}


class SearchSteps(NamedTuple):
    """Several steps of a search. Of each step: the best continuations of each sentence, best first, as rows within the
    sentence, symbols, and log P of the symbols; attention and statistics. `state` is that after the last step, of the
    rows that go on.
    """

    rows: Int[Tensor, "T B P"]
    symbols: Int[Tensor, "T B P"]
    log_probs: Float[Tensor, "T B P"]
    attention: tuple[Float[Tensor, "T R _"], ...]
    state: Any
    statistics: Mapping[str, Float[Tensor, "T R"]] = MappingProxyType({})


class StepRunner(ABC):
    """Makes several steps of a search in one call."""

    most_steps: int  # in one call
    most_open_steps: int | None = None  # with one sentence, until a hypothesis ends, where a call stops; None: as many
    most_rows: int = UNLIMITED  # more are faster one step at a time
    most_first_rows: int = 0  # with more, a beam is faster if it begins with one row a sentence

    @abstractmethod
    def __call__(self, symbols: Int[Tensor, "R"], totals: Float[Tensor, "B W"], state: Any, steps: int) -> SearchSteps:
        """Make up to `steps` steps, given the last symbol and log P of each row; W rows belong to a sentence."""


class RestrictableRunner(StepRunner):
    """One that can be restricted to some symbols."""

    @abstractmethod
    def restrict_to(self, symbols: Int[Tensor, "C"], disallowed_mask: Bool[Tensor, "B C"] | None) -> StepRunner:
        """Return a runner for these symbols only, in ascending order, including the specials; `disallowed_mask` marks
        those that a sentence may not contain.
        """


class Predictor(ABC, Generic[Tree]):
    """Predicts the next symbol of each row. States are opaque: a search only passes them back."""

    start_id: int

    @abstractmethod
    def begin(self, sources: tuple[SourceBatch, ...]) -> Tree:
        """The state before the first symbol, with a row for each sentence."""

    @abstractmethod
    def predict(self, symbols: Int[Tensor, "R"], state: Tree) -> Prediction[Tree]:
        """One step: every row reads a symbol (`start_id` first) and predicts the next."""

    @abstractmethod
    def reorder(self, state: Tree, rows: Int[Tensor, "R"], sentences: Int[Tensor, "B"] | None = None) -> Tree:
        """The state of these rows: as many for each sentence, next to each other. `sentences` are the remaining ones if
        some have been dropped; source tensors are kept once per sentence.
        """

    def restrict_to(self, symbols: Int[Tensor, "C"]) -> "Predictor[Any]":
        """A predictor for these symbols only, in ascending order, including the specials. It may leave out others; its
        log P may then be off by a constant for each row.
        """
        return self

    def most_probable(self, count: int) -> "Predictor[Any]":
        """A predictor for a search that looks at the `count` most probable symbols of each row and at the specials. It
        may leave out others, and keeps the log P of those that it has.
        """
        return self

    def greedy_runner(self) -> StepRunner | None:
        """Return a runner of several steps of greedy search, or None if steps can only be made one by one."""
        return None

    def beam_runner(self) -> StepRunner | None:
        """Return a runner of several steps of a beam search that keeps the best continuations that do not end, as many
        as a sentence has rows; or None if steps can only be made one by one.
        """
        return None

    def replace_candidates(self, candidates: Continuations, step: Prediction[Tree]) -> Continuations:
        """Replace the candidates by those that the beam chooses from: a model that spells words replaces a candidate
        without a spelling by its own spellings.
        """
        return candidates

    def score(self, batch: Batch) -> ScoredBatch:
        """Score given pairs step by step, from the prediction of each step."""
        ids, mask = batch.target.labels, batch.target.mask
        state, symbols = self.begin(batch.sources), torch.full_like(ids[:, 0], self.start_id)
        log_probs: list[Tensor] = []
        correct: list[Tensor] = []
        attention: list[tuple[Tensor, ...]] = []
        statistics: list[Mapping[str, Tensor]] = []
        for target in ids.unbind(1):
            step = self.predict(symbols, state)
            log_probs.append(step.of_rows(target.unsqueeze(1)).squeeze(1))
            correct.append(step.at(step.log_probs.argmax(1)) == target)
            attention.append(step.attention)
            statistics.append(step.statistics)
            symbols, state = target, step.state
        real = torch.stack(log_probs, 1).where(mask, 0.0)
        weights = tuple(torch.stack(steps, 1) for steps in zip(*attention, strict=True))
        figures_by_name = {
            name: torch.stack([step_statistics[name] for step_statistics in statistics], 1).where(mask, 0.0)
            for name in statistics[0]
        }
        return ScoredBatch(real, torch.stack(correct, 1) & mask, weights, figures_by_name)


@final
class RestrictedPredictor(Predictor[Tree]):
    """A model whose steps predict only a few symbols, with an output restricted to these."""

    def __init__(self, model: Predictor[Tree], predict: Callable[[Int[Tensor, "R"], Tree], Prediction[Tree]]) -> None:
        self.start_id = model.start_id
        self._model = model
        self._predict = predict

    def begin(self, sources: tuple[SourceBatch, ...]) -> Tree:
        return self._model.begin(sources)

    def predict(self, symbols: Int[Tensor, "R"], state: Tree) -> Prediction[Tree]:
        return self._predict(symbols, state)

    def reorder(self, state: Tree, rows: Int[Tensor, "R"], sentences: Int[Tensor, "B"] | None = None) -> Tree:
        return self._model.reorder(state, rows, sentences)

    def replace_candidates(self, candidates: Continuations, step: Prediction[Tree]) -> Continuations:
        return self._model.replace_candidates(candidates, step)
