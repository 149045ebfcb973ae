"""Candidate lists: a translation is searched among the symbols that its source makes likely, which are few."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, final

import torch
from torch import Tensor

from dragoman.data.batch import Sequence, SourceBatch
from dragoman.data.lexicon import Lexicon
from dragoman.data.vocabulary import PAD, SPECIALS
from dragoman.errors import UserError
from dragoman.model.predictor import Candidate, Prediction, Predictor
from dragoman.model.shapes import Bool, Int
from dragoman.model.state import select
from dragoman.model.weights import read_tensors, write_tensors

FILE = "lexicon.safetensors"  # in the run's folder


class Candidates(NamedTuple):
    """The symbols (C,) that the sentences of a batch may be translated by, the specials first, and those of them that
    are `disallowed_mask` (B, C) for each sentence, since they are another's; None where there is no other.
    """

    symbols: Int[Tensor, "_"]
    disallowed_mask: Bool[Tensor, "B _"] | None


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
        return among(self.allowed(ids))

    def coverage(self, pairs: Iterable[tuple[list[int], list[int]]]) -> "Coverage":
        """What of these references can be said, from the ids of source and reference, which end with EOS."""
        sentences = symbols = covered = candidates = 0
        for source, (*reference, _) in pairs:
            allowed = self.allowed(torch.tensor([source], device=self._everywhere.device))[0]
            sentences, candidates = sentences + 1, candidates + int(allowed.sum())
            symbols, covered = symbols + len(reference), covered + int(allowed[reference].sum())
        return Coverage(sentences, symbols, covered, candidates)


def among(allowed: Bool[Tensor, "B V"]) -> Candidates:
    """The candidates of a batch whose sentences allow these symbols."""
    symbols = allowed.any(0).nonzero().flatten()
    return Candidates(symbols, ~allowed[:, symbols] if len(allowed) > 1 else None)


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


@dataclass(frozen=True, eq=False)
class ShortlistState:
    """What predicts the candidates of a batch, its own state, and which symbols each sentence allows."""

    model: Predictor[Any]
    state: Any
    candidates: Candidates
    allowed: Bool[Tensor, "B V"]


@final
class ShortlistPredictor(Predictor[ShortlistState]):
    """Predicts the candidates of each sentence alone, which share all probability; words that the vocabulary does not
    have are among them.

    Each row's probabilities are over the candidates of its own sentence, so that what else is in the batch changes
    nothing. `always` (B, K) are symbols that a sentence allows whatever its source.
    """

    def __init__(
        self, model: Predictor[Any], candidates: CandidateList, always: Int[Tensor, "B K"] | None = None
    ) -> None:
        self.start_id = model.start_id
        self._model = model
        self._list = candidates
        self._always = always

    def begin(self, sources: tuple[SourceBatch, ...]) -> ShortlistState:
        source = sources[0]
        assert isinstance(source, Sequence)
        allowed = self._list.allowed(source.ids)
        if self._always is not None:
            known = self._always < self._list.symbols  # words of the sentence itself are allowed anyway
            allowed = allowed.scatter(1, self._always.where(known, PAD), True)
        candidates = among(allowed)
        model = self._model.among(candidates.symbols)
        return ShortlistState(model, model.begin(sources), candidates, allowed)

    def predict(self, symbols: Int[Tensor, "R"], state: ShortlistState) -> Prediction[ShortlistState]:
        step = state.model.predict(symbols, state.state)
        ids, disallowed_mask, log_probs = step.ids, state.candidates.disallowed_mask, step.log_probs
        if ids is not state.candidates.symbols:
            beyond = step.symbols >= self._list.symbols
            known = state.allowed[:, step.symbols.masked_fill(beyond, PAD)] | beyond  # (B, C)
            columns = known.any(0).nonzero().flatten()
            ids, disallowed_mask, log_probs = step.symbols[columns], ~known[:, columns], log_probs[:, columns]
        if disallowed_mask is not None:
            by_sentence = log_probs.view(len(disallowed_mask), -1, log_probs.size(1))
            log_probs = by_sentence.masked_fill(disallowed_mask.unsqueeze(1), float("-inf")).view_as(log_probs)
        alone = disallowed_mask is None and ids is step.ids and state.model is not self._model  # it is shared already
        shared = log_probs if alone else torch.log_softmax(log_probs, 1)
        return Prediction(shared, step.attention, replace(state, state=step.state), ids, step.figures)

    def reorder(
        self, state: ShortlistState, rows: Int[Tensor, "R"], sentences: Int[Tensor, "B"] | None = None
    ) -> ShortlistState:
        model = state.model.reorder(state.state, rows, sentences)
        if sentences is None:
            return replace(state, state=model)
        candidates = state.candidates._replace(disallowed_mask=select(state.candidates.disallowed_mask, sentences))
        return ShortlistState(state.model, model, candidates, state.allowed[sentences])

    def expand(self, candidates: Iterable[Candidate], step: Prediction[ShortlistState]) -> Iterable[Candidate]:
        return step.state.model.expand(candidates, step.followed_by(step.state.state))
