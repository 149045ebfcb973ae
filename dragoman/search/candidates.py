"""Candidate lists: a translation is searched among the symbols that its source makes likely, which are few."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, Protocol, final, runtime_checkable

import torch
from torch import Tensor

from dragoman.data.batch import SourceBatch
from dragoman.data.lexicon import Lexicon
from dragoman.data.vocabulary import PAD, SPECIALS
from dragoman.errors import UserError
from dragoman.model.output.output import Output
from dragoman.model.seq2seq import Advance, Prediction
from dragoman.model.shapes import Bool, Int
from dragoman.model.state import select
from dragoman.model.weights import read_tensors, write_tensors
from dragoman.search.search import State

FILE = "lexicon.safetensors"  # in the run's folder


class Candidates(NamedTuple):
    """The symbols (C,) that the sentences of a batch may be translated by, the specials first, and those of them that
    are `barred` (B, C) for each sentence, since they are another's; None where there is no other.
    """

    symbols: Int[Tensor, "_"]
    barred: Bool[Tensor, "B _"] | None


@final
class CandidateList:
    """The `frequent` most frequent target symbols, and the `translations` most probable ones of each symbol of a
    sentence (CN 6.2; Jean et al. 2015).

    UserError where that leaves nothing, or where the lexicon has fewer translations of a symbol.
    """

    def __init__(self, lexicon: Lexicon, frequent: int, translations: int, device: torch.device) -> None:
        kept = lexicon.translations.shape[1]
        if not (frequent >= 0 and 0 <= translations <= kept and frequent + translations > 0):
            raise UserError(
                f"candidates {frequent},{translations}: expected a number of frequent symbols and one from 0 to {kept} "
                "of translations, such as 300,20"
            )
        self.name = f"{frequent},{translations}"
        self.symbols = len(lexicon.frequent) + len(SPECIALS)  # of the vocabulary
        everywhere = [*range(len(SPECIALS)), *lexicon.frequent[:frequent].tolist()]
        self._everywhere = torch.tensor(everywhere, device=device)
        self._translations = torch.from_numpy(lexicon.translations[:, :translations]).long().to(device)
        self._translations[PAD] = PAD  # padding brings no candidates: it is among the specials, which are everywhere

    def allowed(self, ids: Int[Tensor, "B S"]) -> Bool[Tensor, "B V"]:
        """Which symbols of the vocabulary may translate each sentence."""
        allowed = torch.zeros(len(ids), self.symbols, dtype=torch.bool, device=ids.device)
        allowed[:, self._everywhere] = True
        return allowed.scatter_(1, self._translations[ids].flatten(1), True)

    def of(self, ids: Int[Tensor, "B S"]) -> Candidates:
        """The candidates of a batch."""
        allowed = self.allowed(ids)
        symbols = allowed.any(0).nonzero().flatten()
        return Candidates(symbols, ~allowed[:, symbols] if len(ids) > 1 else None)

    def coverage(self, pairs: Iterable[tuple[list[int], list[int]]]) -> "Coverage":
        """What of these references can be said, from the ids of source and reference, which end with EOS."""
        sentences = symbols = covered = candidates = 0
        for source, (*reference, _) in pairs:
            allowed = self.allowed(torch.tensor([source], device=self._everywhere.device))[0]
            sentences, candidates = sentences + 1, candidates + int(allowed.sum())
            symbols, covered = symbols + len(reference), covered + int(allowed[reference].sum())
        return Coverage(sentences, symbols, covered, candidates)


class Coverage(NamedTuple):
    """How many sentences and symbols references have, how many of the symbols are candidates of their sentence, and
    how many candidates all sentences have.
    """

    sentences: int
    symbols: int
    covered: int
    candidates: int


def write(lexicon: Lexicon, path: Path) -> None:
    """The lexicon as a file of tensors."""
    write_tensors(path, {name: torch.from_numpy(part) for name, part in lexicon._asdict().items()}, {})


def read(path: Path, symbols: tuple[int, int]) -> Lexicon:
    """What `write` wrote, for vocabularies of these sizes. UserError where it is missing, damaged or another run's."""
    if not path.is_file():
        raise UserError(f"{path.parent}: no lexicon for candidates yet; `dragoman lexicon {path.parent}` makes it")
    tensors, _ = read_tensors(path)
    sizes = {name: len(tensor) for name, tensor in tensors.items()}
    source, target = symbols
    if sizes != {"frequent": target - len(SPECIALS), "translations": source, "probabilities": source}:
        raise UserError(f"{path}: not the lexicon of this run; `dragoman lexicon {path.parent}` makes it anew")
    return Lexicon(**{name: tensor.numpy() for name, tensor in tensors.items()})


@runtime_checkable
class Stepper(Protocol[State]):
    """What an output can be put on: a `Predictor` before it predicts."""

    start_id: int

    def begin(self, sources: tuple[SourceBatch, ...]) -> State: ...

    def advance(self, symbols: Int[Tensor, "R"], state: State) -> Advance[State]: ...

    def reorder(self, state: State, rows: Int[Tensor, "R"], sentences: Int[Tensor, "B"] | None = None) -> State: ...


@dataclass(frozen=True, eq=False)
class NarrowedState(Generic[State]):
    """The model's own state, and what is barred for each sentence."""

    model: State
    barred: Bool[Tensor, "B _"] | None


@final
class Narrowed(Generic[State]):
    """A model whose output is that of the candidates of one batch.

    Each row's probabilities are over the candidates of its own sentence, so that what else is in the batch changes
    nothing.
    """

    def __init__(self, model: Stepper[State], output: Output, candidates: Candidates) -> None:
        self.start_id = model.start_id
        self._model = model
        self._candidates = candidates
        self._output = output.narrowed(candidates.symbols)

    def begin(self, sources: tuple[SourceBatch, ...]) -> NarrowedState[State]:
        return NarrowedState(self._model.begin(sources), self._candidates.barred)

    def predict(self, symbols: Int[Tensor, "R"], state: NarrowedState[State]) -> Prediction[NarrowedState[State]]:
        step = self._model.advance(symbols, state.model)
        log_probs = self._output.log_probs(step.features, state.barred)
        following = NarrowedState(step.state, state.barred)
        return Prediction(log_probs, step.attention, following, self._candidates.symbols)

    def reorder(
        self, state: NarrowedState[State], rows: Int[Tensor, "R"], sentences: Int[Tensor, "B"] | None = None
    ) -> NarrowedState[State]:
        barred = state.barred if sentences is None else select(state.barred, sentences)
        return NarrowedState(self._model.reorder(state.model, rows, sentences), barred)
