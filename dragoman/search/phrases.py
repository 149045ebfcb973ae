"""Phrases that translations have to contain, and phrases that are favoured."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias, final

import torch
from torch import Tensor

from dragoman.data.batch import SourceBatch
from dragoman.data.vocabulary import PAD
from dragoman.model.predictor import Continuations, Prediction, Predictor
from dragoman.model.shapes import Bool, Int
from dragoman.model.state import select
from dragoman.search.constraints import Constraint, Progress, State

Phrase: TypeAlias = tuple[int, ...]
Wanted: TypeAlias = Sequence[Phrase]  # different spellings, of which one is needed


class Place(NamedTuple):
    """The number of a phrase, and its begin and end among the symbols of a translation."""

    number: int
    begin: int
    end: int


class Said(NamedTuple):
    """What a translation still lacks: the numbers of phrases, and the symbols with which one of them has begun.
    `before` is the class of what stands before these: that of a symbol, or CLASSES for a phrase.
    """

    missing: tuple[int, ...]
    begun: Phrase = ()
    before: int = 0


CLASSES: Final = 2  # of symbols
Fits: TypeAlias = Callable[[Phrase, int], bool]


class SentencePhrases:
    """The phrases of a sentence. Each is said once, in any order, without symbols between its own; the same phrase may
    be wanted several times. `class_of` a symbol is a number below CLASSES, 0 for the beginning of a sentence;
    `fits(phrase, before)` tells whether a phrase may begin behind something of this class.
    """

    def __init__(
        self,
        wanted: Sequence[Wanted],
        class_of: Callable[[int], int] = lambda symbol: 0,
        fits: Fits = lambda phrase, before: True,
    ) -> None:
        self.wanted = wanted
        self.start = Said(tuple(range(len(wanted))))
        self._class_of = class_of
        self._fits = fits
        self._longest = [max(map(len, each)) for each in wanted]
        self._after: dict[tuple[Said, int], Said] = {}
        self._readings: dict[Phrase, tuple[Said, tuple[Place, ...]]] = {(): (self.start, ())}
        self._by_first: dict[int, list[tuple[int, Phrase]]] = {}
        for number, phrase in ((number, phrase) for number, each in enumerate(wanted) for phrase in each):
            self._by_first.setdefault(phrase[0], []).append((number, phrase))

    def after(self, said: Said, symbol: int) -> Said:
        """What is lacking after one more symbol: as little as possible, however the symbols are read."""
        if (said, symbol) not in self._after:
            self._after[said, symbol] = self._read(said, symbol)
        return self._after[said, symbol]

    def _read(self, said: Said, symbol: int) -> Said:
        symbols = (*said.begun, symbol)
        found = [Said(said.missing, (), self._class_of(symbol))]
        for first in range(len(symbols)):
            begun, before = symbols[first:], self._class_of(symbols[first - 1]) if first else said.before
            for number, phrase in self._beginning(Said(said.missing, begun, before)):
                if phrase == begun:
                    rest = tuple(each for each in said.missing if each != number)
                    found.append(Said(rest, (), CLASSES))
                else:
                    found.append(Said(said.missing, begun, before))
        return min(found, key=lambda each: (self.lacking(each), len(each.missing), -len(each.begun)))

    def _beginning(self, said: Said) -> Iterator[tuple[int, Phrase]]:
        """Yield the missing phrases that have begun, each with its number."""
        begun = said.begun
        for number, phrase in self._by_first.get(begun[0], ()) if begun and said.missing else ():
            if number in said.missing and phrase[: len(begun)] == begun and self._fits(phrase, said.before):
                yield number, phrase

    def lacking(self, said: Said) -> int:
        """How many symbols are missing at most, by the longest spellings unless another has begun."""
        saved = [
            self._longest[number] - len(phrase) + len(said.begun)
            for number, phrase in self._beginning(said)
            if len(phrase) > len(said.begun)
        ]
        return sum(self._longest[number] for number in said.missing) - max(0, *saved, 0)

    def progress(self, said: Said) -> tuple[int, list[int], int]:
        """How many symbols are missing, which would advance, and how many more would be missing after another one."""
        lacking = self.lacking(said)
        known = {phrase[0] for number in said.missing for phrase in self.wanted[number]}
        known |= {phrase[len(said.begun)] for _, phrase in self._beginning(said) if len(phrase) > len(said.begun)}
        after = {symbol: self.lacking(self.after(said, symbol)) for symbol in (*known, PAD)}  # PAD: any other
        losing = max(0, *after.values()) - lacking
        return lacking, sorted(symbol for symbol, rest in after.items() if rest < lacking), max(0, losing)

    def places(self, symbols: Phrase) -> tuple[Place, ...]:
        """The phrases said, in their order."""
        return self._reading(symbols)[1]

    def _reading(self, symbols: Phrase) -> tuple[Said, tuple[Place, ...]]:
        """What is lacking after these symbols, and where the rest is. A search asks for longer and longer ones."""
        if not self.wanted:
            return self.start, ()
        if symbols not in self._readings:
            known = next(length for length in reversed(range(len(symbols))) if symbols[:length] in self._readings)
            said, found = self._readings[symbols[:known]]
            for end, symbol in enumerate(symbols[known:], start=known + 1):
                before, said = said, self.after(said, symbol)
                for number in set(before.missing) - set(said.missing):
                    behind = (*before.begun, symbol)
                    length = max(len(each) for each in self.wanted[number] if behind[-len(each) :] == each)
                    found = (*found, Place(number, end - length, end))
            self._readings[symbols] = said, found
        return self._readings[symbols]


@final
class Phrases(Constraint):
    """Translations contain the phrases of their sentence. What each row has said is kept here, and its state is the
    number of that.
    """

    def __init__(self, sentences: Sequence[SentencePhrases], device: torch.device) -> None:
        self._sentences = sentences
        self._device = device
        self._known: list[tuple[int, Said]] = []
        self._numbers: dict[tuple[int, Said], int] = {}
        self._after: dict[tuple[int, int], int] = {}
        self._progress: dict[int, tuple[int, list[int], int]] = {}

    def _number(self, sentence: int, said: Said) -> int:
        number = self._numbers.setdefault((sentence, said), len(self._known))
        if number == len(self._known):
            self._known.append((sentence, said))
        return number

    def start(self) -> State:
        starts = [self._number(place, each.start) for place, each in enumerate(self._sentences)]
        return torch.tensor(starts, device=self._device)

    def allowed(self, state: State, symbols: Int[Tensor, "C"]) -> Bool[Tensor, "1 C"]:
        return symbols.new_ones(1, len(symbols), dtype=torch.bool)

    def advance(self, symbols: Int[Tensor, "R"], state: State) -> State:
        found = [self._advanced(*each) for each in zip(state.tolist(), symbols.tolist(), strict=True)]
        return torch.tensor(found, device=self._device)

    def _advanced(self, number: int, symbol: int) -> int:
        if (number, symbol) not in self._after:
            sentence, said = self._known[number]
            after = self._sentences[sentence].after(said, symbol)
            self._after[number, symbol] = self._number(sentence, after)
        return self._after[number, symbol]

    def progress(self, state: State) -> Progress:
        every = [self._progress_of(number) for number in state.tolist()]
        most = max(len(following) for _, following, _ in every)
        following = [[*each, *[PAD] * (most - len(each))] for _, each, _ in every]
        missing, losing = ([each[part] for each in every] for part in (0, 2))
        told = (torch.tensor(each, dtype=torch.long, device=self._device) for each in (missing, following, losing))
        first, second, third = told
        return Progress(first, second.view(len(every), most), third)

    def _progress_of(self, number: int) -> tuple[int, list[int], int]:
        if number not in self._progress:
            sentence, said = self._known[number]
            self._progress[number] = self._sentences[sentence].progress(said)
        return self._progress[number]


@dataclass(frozen=True, eq=False)
class FavouredState:
    """The model's state, and what has been said of the phrases; None before the first symbol."""

    model: Any
    said: Any
    begun: bool


@final
class Favoured(Predictor[FavouredState]):
    """A model that adds `weight` to log P of each symbol with which a phrase that is missing begins or goes on."""

    def __init__(self, model: Predictor[Any], phrases: Phrases, weight: float) -> None:
        self.start_id = model.start_id
        self._model = model
        self._phrases = phrases
        self._weight = weight

    def begin(self, sources: tuple[SourceBatch, ...]) -> FavouredState:
        return FavouredState(self._model.begin(sources), self._phrases.start(), begun=False)

    def predict(self, symbols: Int[Tensor, "R"], state: FavouredState) -> Prediction[FavouredState]:
        said = self._phrases.advance(symbols, state.said) if state.begun else state.said
        step = self._model.predict(symbols, state.model)
        rows, columns = step.columns_of(self._phrases.progress(said).following)
        wanted = step.symbols[columns] != PAD
        step.log_probs[rows[wanted], columns[wanted]] += self._weight
        return step.followed_by(FavouredState(step.state, said, begun=True))

    def reorder(
        self, state: FavouredState, rows: Int[Tensor, "R"], sentences: Int[Tensor, "B"] | None = None
    ) -> FavouredState:
        return replace(state, model=self._model.reorder(state.model, rows, sentences), said=select(state.said, rows))

    def expand(self, candidates: Continuations, step: Prediction[FavouredState]) -> Continuations:
        return self._model.expand(candidates, step.followed_by(step.state.model))


def bonuses(phrases: SentencePhrases, symbols: Sequence[int], weight: float) -> Iterator[float]:
    """Yield what `Favoured` added to log P of each symbol, and 0 for the end."""
    said = phrases.start
    for symbol in symbols:
        yield weight if symbol in phrases.progress(said)[1] else 0.0
        said = phrases.after(said, symbol)
    yield 0.0
