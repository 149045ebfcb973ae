"""What can be searched: a model, several behaving as one, or one among few symbols."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar, final

import torch
from torch import Tensor

from dragoman.data.batch import Batch, SourceBatch
from dragoman.model.shapes import Bool, Float, Int
from dragoman.model.state import Tree

Other = TypeVar("Other")


@dataclass(frozen=True, eq=False)
class Prediction(Generic[Tree]):
    """What each row says next: log P of some symbols (the caller may change them), the attention on each source that
    led there, the state that follows, and what else is known of the step, a number for each row.

    `ids` are the symbols of the columns, in ascending order, the four specials among them; None = column c is symbol
    c. Symbols without a column have probability 0. Ids from the size of the vocabulary on are words that have no
    other: they are local to the sentence, the same for every predictor.
    """

    log_probs: Float[Tensor, "R C"]
    attention: tuple[Float[Tensor, "R _"], ...]
    state: Tree
    ids: Int[Tensor, "C"] | None = None
    figures: Mapping[str, Float[Tensor, "R"]] = field(default_factory=dict)

    @property
    def symbols(self) -> Int[Tensor, "C"]:
        """The symbol of each column."""
        return torch.arange(self.log_probs.size(1), device=self.log_probs.device) if self.ids is None else self.ids

    def followed_by(self, state: Other) -> "Prediction[Other]":
        """The same with another state."""
        return Prediction(self.log_probs, self.attention, state, self.ids, self.figures)

    def at(self, columns: Int[Tensor, "*_"]) -> Int[Tensor, "*_"]:
        """The symbols of these columns."""
        return columns if self.ids is None else self.ids.take(columns)

    def of_rows(self, symbols: Int[Tensor, "R K"]) -> Float[Tensor, "R K"]:
        """log P of each row's own symbols: -inf where one has no column."""
        here = self.symbols
        columns = torch.searchsorted(here, symbols.contiguous()).clamp(max=len(here) - 1)
        known = here[columns] == symbols
        return self.log_probs.gather(1, columns).masked_fill(~known, float("-inf"))

    def over(self, symbols: Int[Tensor, "C"]) -> Float[Tensor, "R C"]:
        """log P of these symbols: -inf where one has no column."""
        return self.of_rows(symbols.expand(len(self.log_probs), -1))


class Candidate(NamedTuple):
    """A continuation of a hypothesis: the row that says it, the symbol, log P of that and of the whole, and how it is
    spelled where the vocabulary does not say.
    """

    row: int
    symbol: int
    log_prob: float
    total: float
    surface: str | None = None


class ScoredBatch(NamedTuple):
    """What is predicted of references: `log P(y_t | y_<t, x)` in nats, and whether y_t was the most probable symbol.

    Padding has 0 and False.
    """

    log_probs: Float[Tensor, "B T"]
    correct: Bool[Tensor, "B T"]
    attention: tuple[Float[Tensor, "B T _"], ...]  # on each source, and a sentinel


class Predictor(ABC, Generic[Tree]):
    """Predicts the next symbol of each row. States are of its own making: whoever searches only hands them back."""

    start_id: int

    @abstractmethod
    def begin(self, sources: tuple[SourceBatch, ...]) -> Tree:
        """The state before the first symbol, with a row for each sentence."""

    @abstractmethod
    def predict(self, symbols: Int[Tensor, "R"], state: Tree) -> Prediction[Tree]:
        """One step: every row reads a symbol (`start_id` first) and predicts the next."""

    @abstractmethod
    def reorder(self, state: Tree, rows: Int[Tensor, "R"], sentences: Int[Tensor, "B"] | None = None) -> Tree:
        """The state of these rows, equally many of each sentence and side by side. `sentences` are those that are left,
        if some are not: what belongs to a source need be there once.
        """

    def among(self, symbols: Int[Tensor, "C"]) -> "Predictor[Any]":
        """One that is asked for these symbols alone, in ascending order, the specials among them: it may leave out
        others, and its log P may then be off by a number that is the same for a whole row.
        """
        return self

    def expand(self, candidates: Iterable[Candidate], step: Prediction[Tree]) -> Iterable[Candidate]:
        """What a beam is to choose from in place of these candidates of a sentence, the best first: a model that spells
        words writes its spellings in the place of one without.
        """
        return candidates

    def score(self, batch: Batch) -> ScoredBatch:
        """Given pairs, step by step, by what is predicted at each."""
        ids, mask = batch.target.labels, batch.target.mask
        state, symbols = self.begin(batch.sources), torch.full_like(ids[:, 0], self.start_id)
        log_probs, correct, attention = list[Tensor](), list[Tensor](), list[tuple[Tensor, ...]]()
        for target in ids.unbind(1):
            step = self.predict(symbols, state)
            log_probs.append(step.of_rows(target.unsqueeze(1)).squeeze(1))
            correct.append(step.at(step.log_probs.argmax(1)) == target)
            attention.append(step.attention)
            symbols, state = target, step.state
        real = torch.stack(log_probs, 1).where(mask, 0.0)
        weights = tuple(torch.stack(each, 1) for each in zip(*attention, strict=True))
        return ScoredBatch(real, torch.stack(correct, 1) & mask, weights)


@final
class Narrowed(Predictor[Tree]):
    """A model whose steps predict few symbols, by an output that has these alone."""

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

    def expand(self, candidates: Iterable[Candidate], step: Prediction[Tree]) -> Iterable[Candidate]:
        return self._model.expand(candidates, step)
