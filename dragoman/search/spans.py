"""Constraints for protected spans: each mark as often as the source has it, and nothing that looks like a span."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias, final

import torch
from torch import Tensor

from dragoman.data.batch import SourceBatch
from dragoman.data.vocabulary import EOS, PAD
from dragoman.model.predictor import Candidate, Continuations, Prediction, Predictor
from dragoman.model.shapes import Bool, Int
from dragoman.model.state import Tree
from dragoman.search.constraints import Constraint, ConstraintProgress, State

AcceptsPrefix: TypeAlias = Callable[[int, Sequence[int]], bool]

KEPT: Final = 10_000  # beginnings of which it is remembered whether they are accepted


@final
class RequiredMarks(Constraint):
    """Translations have each of the `marks` (M,), in ascending order, as often as `wanted` (B, M) says, wherever the
    model wants them. With a symbol for a `space`, there is room for one before each mark at the length limit, too.
    """

    def __init__(self, wanted: Int[Tensor, "B M"], marks: Int[Tensor, "M"], space: int | None = None) -> None:
        self._wanted = wanted
        self._marks = marks
        self._space = PAD if space is None else space

    def start(self) -> State:
        # As if a space came before the first symbol, where none is needed.
        return self._wanted, torch.full_like(self._wanted[:, 0], self._space)

    def allowed(self, state: State, symbols: Int[Tensor, "C"]) -> Bool[Tensor, "R C"]:
        # A symbol that is no mark is compared with a neighbor, from which it differs.
        place = torch.searchsorted(self._marks, symbols).clamp(max=len(self._marks) - 1)
        allowed: Tensor = (state[0] > 0)[:, place] | (self._marks[place] != symbols)
        return allowed

    def advance(self, symbols: Int[Tensor, "R"], state: State) -> State:
        matches = (symbols.unsqueeze(1) == self._marks).long()
        return (state[0] - matches).clamp(min=0), symbols

    def progress(self, state: State) -> ConstraintProgress:
        wanted, last = state
        missing, following = wanted.sum(1), self._marks.where(wanted > 0, PAD)
        if self._space == PAD:
            return ConstraintProgress(missing, following)
        apart = (last != self._space) & (missing > 0)
        spaces = torch.full_like(last, PAD).masked_fill(apart, self._space)
        done = ((missing > 0) & ~apart).long()
        # A space and a mark each, except where the space before the next mark is there already.
        return ConstraintProgress(2 * missing - done, torch.cat([following, spaces.unsqueeze(1)], 1), done)


@final
class PrefixFilter(Constraint):
    """Translations of which `accepts` allows every beginning, given the number of the sentence and the symbols of the
    beginning. The end of a translation is not judged, nor is what follows a beginning that was refused.
    """

    def __init__(self, sentences: int, accepts: AcceptsPrefix, device: torch.device) -> None:
        self._sentences = torch.arange(sentences, device=device)
        self._accepts = lru_cache(KEPT)(lambda sentence, *symbols: accepts(sentence, symbols))

    def start(self) -> State:
        return self._sentences, self._sentences.new_zeros(len(self._sentences), 0)

    def allowed(self, state: State, symbols: Int[Tensor, "C"]) -> Bool[Tensor, "1 C"]:
        return symbols.new_ones(1, len(symbols), dtype=torch.bool)

    def advance(self, symbols: Int[Tensor, "R"], state: State) -> State:
        sentences, prefixes = state
        return sentences, torch.cat([prefixes, symbols.unsqueeze(1)], 1)

    @property
    def refuses(self) -> bool:
        return True

    def refused(self, state: State, rows: Sequence[int], symbols: Sequence[int]) -> list[bool]:
        sentences, prefixes = (tensor.tolist() for tensor in state)
        # Behind a beginning that was refused, everything would be refused: such a row is left alone.
        lost = {row for row in set(rows) if not self._accepts(sentences[row], *prefixes[row])}
        return [
            symbol != EOS and row not in lost and not self._accepts(sentences[row], *prefixes[row], symbol)
            for row, symbol in zip(rows, symbols, strict=True)
        ]


@final
class FilteredSpellings(Predictor[Tree]):
    """A model that spells words, without those that are not `wanted`. Where it knows no other, the word is unknown if
    something can take its place (`replaced`), and else what the model says.
    """

    def __init__(self, model: Predictor[Tree], wanted: Callable[[str], bool], *, replaced: bool) -> None:
        self.start_id = model.start_id
        self._model = model
        self._wanted = wanted
        self._replaced = replaced

    def begin(self, sources: tuple[SourceBatch, ...]) -> Tree:
        return self._model.begin(sources)

    def predict(self, symbols: Int[Tensor, "R"], state: Tree) -> Prediction[Tree]:
        return self._model.predict(symbols, state)

    def reorder(self, state: Tree, rows: Int[Tensor, "R"], sentences: Int[Tensor, "B"] | None = None) -> Tree:
        return self._model.reorder(state, rows, sentences)

    def restrict_to(self, symbols: Int[Tensor, "C"]) -> Predictor[Any]:
        return FilteredSpellings(self._model.restrict_to(symbols), self._wanted, replaced=self._replaced)

    def replace_candidates(self, candidates: Continuations, step: Prediction[Tree]) -> Continuations:
        return [
            self._chosen(list(sentence_candidates))
            for sentence_candidates in self._model.replace_candidates(candidates, step)
        ]

    def _chosen(self, candidates: list[Candidate]) -> list[Candidate]:
        kept = [candidate for candidate in candidates if candidate.surface is None or self._wanted(candidate.surface)]
        unknown = [candidates[0]._replace(surface=None)] if candidates and self._replaced else candidates
        return kept or unknown
