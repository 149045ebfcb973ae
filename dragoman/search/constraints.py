"""Constraints: which symbols a translation may contain next, and which it must contain."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, final

import torch
from torch import Tensor

from dragoman.configuration.values import Width
from dragoman.data.language import Language
from dragoman.data.vocabulary import PAD, UNK
from dragoman.model.shapes import Bool, Int
from dragoman.model.state import select_rows

State = Any  # nested tuples of tensors: one row per sentence at first, then one per row of the search


class ConstraintProgress(NamedTuple):
    """How many required symbols each row still lacks, which symbols would advance it, padded with PAD, and how many
    more it would lack after any other symbol (0 if not given).
    """

    missing: Int[Tensor, "R"]
    following: Int[Tensor, "R K"]
    losing: Int[Tensor, "R"] | None = None


class ConstraintContext(NamedTuple):
    """The sentences of a batch, for a constraint that a configuration names."""

    sentences: int  # how many
    target: Language
    device: torch.device


class Constraint(ABC):
    """A constraint on the translations of a batch. Its state is a value: passed in and returned.

    Allowed symbols keep the log-probability that the model gives them.
    """

    yields: ClassVar[bool] = False  # whether what it forbids may be said where another constraint requires it

    @property
    def refuses(self) -> bool:
        """Whether `refused` may say so of any continuation."""
        return False

    @abstractmethod
    def start(self) -> State:
        """Return the state before the first symbol, one row per sentence."""

    @abstractmethod
    def allowed(self, state: State, symbols: Int[Tensor, "C"]) -> Bool[Tensor, "_ C"]:
        """Return which of these symbols may follow each row; a single row if it is the same for all."""

    def advance(self, symbols: Int[Tensor, "R"], state: State) -> State:
        """Return the state after each row is continued by its symbol."""
        return state

    def progress(self, state: State) -> ConstraintProgress | None:
        """Return what is still missing; None if nothing is required. A translation ends only when nothing is
        missing.
        """
        return None

    def missing(self, state: State) -> Int[Tensor, "R"] | None:
        """Return how many required symbols are missing, as `progress` says; None if nothing is required."""
        progress = self.progress(state)
        return progress and progress.missing

    def missing_after(self, symbols: Int[Tensor, "R"], state: State) -> Int[Tensor, "R"] | None:
        """Return how many required symbols are missing after each row is continued by its symbol."""
        return self.missing(self.advance(symbols, state))

    def refused(self, state: State, rows: Sequence[int], symbols: Sequence[int]) -> list[bool]:
        """Return which of these continuations, a row with a symbol each, are not allowed after all. A search asks it of
        the few that it is about to consider, so that the answer may take time.
        """
        return [False] * len(rows)


@final
class CombinedConstraints(Constraint):
    """Several constraints at once."""

    def __init__(self, constraints: Sequence[Constraint]) -> None:
        self._constraints = constraints

    def start(self) -> State:
        return tuple(constraint.start() for constraint in self._constraints)

    def allowed(self, state: State, symbols: Int[Tensor, "C"]) -> Bool[Tensor, "_ C"]:
        allowed = symbols.new_ones(1, len(symbols), dtype=torch.bool)
        yielding = any(constraint.yields for constraint in self._constraints)
        # What one constraint requires may break another that yields: a term may repeat an n-gram.
        progress = self.progress(state) if yielding else None
        required = find_following(progress.following, symbols) if progress else ~allowed
        for constraint, own in zip(self._constraints, state, strict=True):
            here = constraint.allowed(own, symbols)
            allowed = allowed & (here | required if constraint.yields else here)
        return allowed

    def advance(self, symbols: Int[Tensor, "R"], state: State) -> State:
        return tuple(constraint.advance(symbols, own) for constraint, own in zip(self._constraints, state, strict=True))

    def progress(self, state: State) -> ConstraintProgress | None:
        all_progress = [progress.progress(own) for progress, own in zip(self._constraints, state, strict=True)]
        demands = [progress for progress in all_progress if progress]
        if not demands:
            return None
        missing = torch.stack([progress.missing for progress in demands]).sum(0)
        losing = torch.stack(
            [progress.missing * 0 if progress.losing is None else progress.losing for progress in demands]
        ).sum(0)
        following = torch.cat([progress.following for progress in demands], 1)
        if len(demands) > 1 and following.size(1):
            following = self._advancing(following, state)
        return ConstraintProgress(missing, following, losing)

    def _advancing(self, following: Int[Tensor, "R K"], state: State) -> Int[Tensor, "R K"]:
        """Return those that advance one and lose nothing of another, or all where there are none."""

        before = self.missing(state)
        count = following.size(1)
        rows = torch.arange(len(following), device=following.device).repeat_interleave(count)  # (R K,)
        after = self.missing_after(following.flatten(), select_rows(state, rows))
        assert before is not None
        assert after is not None
        # A symbol that begins one phrase may break off another, which has then gained nothing.
        nearer = (after.view(-1, count) < before.unsqueeze(1)) & (following != PAD)
        return following.where(nearer | ~nearer.any(1, keepdim=True), PAD)

    def missing(self, state: State) -> Int[Tensor, "R"] | None:
        return _sum(constraint.missing(own) for constraint, own in zip(self._constraints, state, strict=True))

    def missing_after(self, symbols: Int[Tensor, "R"], state: State) -> Int[Tensor, "R"] | None:
        return _sum(
            constraint.missing_after(symbols, own) for constraint, own in zip(self._constraints, state, strict=True)
        )

    @property
    def refuses(self) -> bool:
        return any(constraint.refuses for constraint in self._constraints)

    def refused(self, state: State, rows: Sequence[int], symbols: Sequence[int]) -> list[bool]:
        refused = [
            constraint.refused(own, rows, symbols) for constraint, own in zip(self._constraints, state, strict=True)
        ]
        return [any(refused_by) for refused_by in zip(*refused, strict=True)]


def _sum(demands: Iterable[Int[Tensor, "R"] | None]) -> Int[Tensor, "R"] | None:
    """Return the sum of those that are there; None if none is."""
    missing = [demand for demand in demands if demand is not None]
    return torch.stack(missing).sum(0) if missing else None


@final
class ForbiddenSymbols(Constraint):
    """Forbids symbols: those that occur in sources alone, and those of other languages."""

    def __init__(self, symbols: Sequence[int], vocabulary: int, device: torch.device) -> None:
        self._allowed = torch.ones(vocabulary, dtype=torch.bool, device=device)
        self._allowed[list(symbols)] = False

    def start(self) -> State:
        return ()

    def allowed(self, state: State, symbols: Int[Tensor, "C"]) -> Bool[Tensor, "_ C"]:
        beyond = symbols >= len(self._allowed)  # words of the source sentence itself
        is_allowed: Tensor = self._allowed[symbols.masked_fill(beyond, PAD)]
        return (is_allowed | beyond).unsqueeze(0)


@final
class EditConstraint(Constraint):
    """Edit operations (`text/edits.py`) that fit the edited sentence: at its end, nothing can be kept or deleted.

    `lengths` are the numbers of symbols of the edited sentences, `operations` the ids of keep and delete.
    """

    def __init__(self, lengths: Int[Tensor, "B"], operations: Sequence[int]) -> None:
        self._lengths = lengths
        self._operations = lengths.new_tensor(list(operations))

    def start(self) -> State:
        return self._lengths

    def allowed(self, state: State, symbols: Int[Tensor, "C"]) -> Bool[Tensor, "_ C"]:
        allowed: Tensor = (state > 0).unsqueeze(1) | ~torch.isin(symbols, self._operations)
        return allowed

    def advance(self, symbols: Int[Tensor, "R"], state: State) -> State:
        left: Tensor = state - torch.isin(symbols, self._operations).long()
        return left


@final
class Prefix(Constraint):
    """Translations begin with the given symbols, (B, P), padded with PAD."""

    def __init__(self, prefixes: Int[Tensor, "B P"]) -> None:
        # One more column of padding: after its prefix, a translation is free.
        self._prefixes = torch.cat([prefixes, torch.full_like(prefixes[:, :1], PAD)], 1)

    def start(self) -> State:
        return self._prefixes, torch.zeros_like(self._prefixes[:, 0])

    def allowed(self, state: State, symbols: Int[Tensor, "C"]) -> Bool[Tensor, "_ C"]:
        following = self._following(state)
        if (following == PAD).all():  # nearly always: spares a comparison (R, C)
            return symbols.new_ones(1, len(symbols), dtype=torch.bool)
        allowed: Tensor = (following == PAD) | (following == symbols)
        return allowed

    def advance(self, symbols: Int[Tensor, "R"], state: State) -> State:
        prefixes, matched = state
        return prefixes, (matched + 1).clamp(max=prefixes.size(1) - 1)  # stays in that column

    def progress(self, state: State) -> ConstraintProgress:
        prefixes, matched = state
        lengths = (prefixes != PAD).sum(1)
        return ConstraintProgress((lengths - matched).clamp(min=0), self._following(state))

    def _following(self, state: State) -> Int[Tensor, "R 1"]:
        prefixes, matched = state
        following: Tensor = prefixes.gather(1, matched.unsqueeze(1))
        return following


@final
class NoUnknown(Constraint):
    """Translations without `<unk>`: the most probable of the other symbols stands in its place."""

    def __init__(self, context: ConstraintContext) -> None:
        pass

    def start(self) -> State:
        return ()

    def allowed(self, state: State, symbols: Int[Tensor, "C"]) -> Bool[Tensor, "_ C"]:
        return (symbols != UNK).unsqueeze(0)


@final
class NoUnknownInSentences(Constraint):
    """The same in some sentences (B,) only: those in which nothing can take its place."""

    def __init__(self, sentences: Bool[Tensor, "B"]) -> None:
        self.sentences = sentences

    def start(self) -> State:
        return self.sentences

    def allowed(self, state: State, symbols: Int[Tensor, "C"]) -> Bool[Tensor, "R C"]:
        allowed: Tensor = ~state.unsqueeze(1) | (symbols != UNK)
        return allowed


@final
class NoRepeatNgram(Constraint):
    """Translations in which no `size` symbols follow each other twice (Paulus et al. 2018) unless they have to."""

    yields = True

    def __init__(self, context: ConstraintContext, *, size: Width = 3) -> None:
        self._size = size
        # Padding, so that the first symbol completes an n-gram.
        self._nothing = torch.full((context.sentences, size), PAD, device=context.device)

    def start(self) -> State:
        return self._nothing

    def advance(self, symbols: Int[Tensor, "R"], state: State) -> State:
        return torch.cat([state, symbols.unsqueeze(1)], 1)

    def allowed(self, state: State, symbols: Int[Tensor, "C"]) -> Bool[Tensor, "R C"]:
        ngrams = state.unfold(1, self._size, 1)  # (R, T, size)
        again = (ngrams[:, :, :-1] == ngrams[:, -1:, 1:]).all(2)  # where the last symbols have been said before
        following = ngrams[:, :, -1].masked_fill(~again, PAD)
        # Words of the source sentence have ids after the vocabulary. PAD is forbidden, too, and is never said.
        largest = int(torch.maximum(symbols.max(), state.max()))
        forbidden = symbols.new_zeros(len(state), largest + 1, dtype=torch.bool).scatter(1, following, True)
        return ~forbidden[:, symbols]


CONSTRAINTS: Mapping[str, Callable[[ConstraintContext], Constraint]] = {
    "no_unknown": NoUnknown,
    "no_repeat_ngram": NoRepeatNgram,
}


def find_following(following: Int[Tensor, "R K"], symbols: Int[Tensor, "C"]) -> Bool[Tensor, "R C"]:
    """Return which of these symbols, in ascending order, follow in each row."""
    columns = torch.searchsorted(symbols, following.contiguous()).clamp(max=len(symbols) - 1)
    places = columns.where(symbols[columns] == following, len(symbols))  # a further column for those that are not there
    marked = torch.zeros(len(following), len(symbols) + 1, dtype=torch.bool, device=symbols.device)
    return marked.scatter_(1, places, True)[:, :-1]


def first_forbidden(prefixes: Int[Tensor, "B P"], constraint: Constraint) -> int | None:
    """Return the first of these prefixes, padded with PAD, in which the constraint forbids a symbol; None if there is
    none.
    """
    state = constraint.start()
    for symbols in prefixes.unbind(1):
        ids, columns = torch.unique(symbols, return_inverse=True)
        allowed = constraint.allowed(state, ids).expand(len(symbols), -1).gather(1, columns.unsqueeze(1)).squeeze(1)
        broken = ((symbols != PAD) & ~allowed).nonzero()
        if len(broken):
            return int(broken[0])
        state = constraint.advance(symbols, state)
    return None
