"""Phrases that translations have to contain."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple, TypeAlias, final

import torch
from torch import Tensor

from dragoman.data.vocabulary import PAD
from dragoman.model.shapes import Bool, Int
from dragoman.search.constraints import Constraint, ConstraintProgress, State

Phrase: TypeAlias = tuple[int, ...]
Wanted: TypeAlias = Sequence[Phrase]  # different spellings, of which one is needed

CLASSES: Final = 2  # of symbols
ROOT: Final = 0
READINGS: Final = 8  # of the same symbols that are kept, those that lack least

Fits: TypeAlias = Callable[[Phrase, int], bool]


class PhraseSpan(NamedTuple):
    """The number of a phrase, and its begin and end among the symbols of a translation."""

    number: int
    begin: int
    end: int


class PhraseReading(NamedTuple):
    """A way to read the symbols of a translation: which phrases are `missing` (a bit for each number), and the `node`
    of the trie that the last symbols have come to, ROOT if no phrase has begun. `before` is the class of what stands
    before these: that of a symbol, or CLASSES for a phrase. `length` is the number of symbols of the phrases that are
    complete.
    """

    missing: int
    node: int = ROOT
    before: int = 0
    length: int = 0


Readings: TypeAlias = tuple[PhraseReading, ...]  # of the same symbols, the one that lacks least first


class TrieNode:
    """A node of a trie of phrases: the nodes that follow it, the numbers of the phrases that end here, and each phrase
    that goes on, as its number, how much shorter it is than the longest spelling of its number, and the phrase.
    `numbers` are those of all these phrases, a bit for each.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.numbers = 0
        self.children: dict[int, int] = {}
        self.ends: list[tuple[int, Phrase]] = []
        self.longer: list[tuple[int, int, Phrase]] = []


class SentencePhrases:
    """The phrases of a sentence. Each is used once, in any order, without symbols between its own; the same phrase may
    be wanted several times. `class_of` a symbol is a number below CLASSES, 0 for the beginning of a sentence;
    `fits(phrase, before)` tells whether a phrase may begin after something of this class.

    A phrase may begin another one, so symbols can be read in several ways, which are all followed (up to READINGS), as
    the states of an automaton are. A symbol takes the same time however many phrases there are.
    """

    def __init__(
        self,
        wanted: Sequence[Wanted],
        class_of: Callable[[int], int] = lambda symbol: 0,
        fits: Fits = lambda phrase, before: True,
    ) -> None:
        self.wanted = wanted
        self._class_of = cache(class_of)
        self._fits = fits
        self._longest = [max(map(len, spellings)) for spellings in wanted]
        # The first number that wants the same: which of several equal phrases is used makes no difference.
        self._alike = [[other == spellings for other in wanted].index(True) for spellings in wanted] if wanted else []
        self.start: Readings = (PhraseReading((1 << len(wanted)) - 1),)
        # By set of missing phrases, as far as they occur: there are 2^n of them.
        self._totals = {self.start[0].missing: sum(self._longest)}
        # The rows of a beam have the same readings again and again, at every step: all answers are kept.
        self._lacking: dict[PhraseReading, int] = {}
        self._lacking_after: dict[Readings, tuple[dict[int, int], int]] = {}
        self._after: dict[tuple[Readings, int], Readings] = {}
        self._paths: dict[Phrase, dict[PhraseReading, tuple[PhraseSpan, ...]]] = {(): {self.start[0]: ()}}
        self._nodes = [TrieNode(0)]
        for number, phrase in ((number, phrase) for number, spellings in enumerate(wanted) for phrase in spellings):
            self._add(number, phrase)
        for node in self._nodes:
            # `_saved` takes the first that fits: the spelling that saves most.
            node.longer.sort(key=lambda item: -item[1])

    def _add(self, number: int, phrase: Phrase) -> None:
        """Add a phrase to the trie."""
        node = self._nodes[ROOT]
        for symbol in phrase:
            node.longer.append((number, self._longest[number] - len(phrase), phrase))
            if symbol not in node.children:
                node.children[symbol] = len(self._nodes)
                self._nodes.append(TrieNode(node.depth + 1))
            node = self._nodes[node.children[symbol]]
            node.numbers |= 1 << number
        node.ends.append((number, phrase))

    def after(self, readings: Readings, symbol: int) -> Readings:
        """Return the readings of one more symbol."""
        if (readings, symbol) not in self._after:
            continued = {reading for before in readings for reading, _ in self._followed(before, symbol)}
            self._after[readings, symbol] = self._best(continued)
        return self._after[readings, symbol]

    def _followed(self, reading: PhraseReading, symbol: int) -> Iterator[tuple[PhraseReading, int | None]]:
        """Yield the readings of one more symbol, each with the number of the phrase that it completes."""
        # A phrase may always break off, and a symbol belong to none.
        yield PhraseReading(reading.missing, ROOT, self._class_of(symbol), reading.length), None
        child = self._nodes[reading.node].children.get(symbol)
        if child is not None:
            yield from self._continued(reading, child)

    def _continued(self, reading: PhraseReading, child: int) -> Iterator[tuple[PhraseReading, int | None]]:
        """Yield the readings in which a phrase begins or goes on, at this node, or ends there."""
        missing, _, before, length = reading
        node, alike = self._nodes[child], set[int]()
        for number, phrase in node.ends:
            if missing >> number & 1 and self._alike[number] not in alike and self._fits(phrase, before):
                alike.add(self._alike[number])  # which of several same ones comes first makes no difference
                rest = missing & ~(1 << number)
                self._totals[rest] = self._totals[missing] - self._longest[number]
                yield PhraseReading(rest, ROOT, CLASSES, length + node.depth), number
        if self._saved(missing, node, before) is not None:
            yield PhraseReading(missing, child, before, length), None

    def _saved(self, missing: int, node: TrieNode, before: int) -> int | None:
        """Return how many symbols fewer are missing since a phrase has come to this node; None if none that is missing
        has.
        """
        for number, shorter, phrase in node.longer:
            if missing >> number & 1 and self._fits(phrase, before):
                return shorter + node.depth
        return None

    def _best(self, readings: set[PhraseReading]) -> Readings:
        """Return the readings that lack least, without those that another is as good as, whatever follows."""
        if len(readings) == 1:  # where no phrase has begun, as nearly always
            return tuple(readings)
        # The reading itself comes last in the key: the order of a set differs between processes.
        ranked = sorted(readings, key=lambda reading: (self._lacks(reading), reading.missing.bit_count(), reading))
        best: list[PhraseReading] = []
        for reading in ranked:
            if len(best) < READINGS and not any(_dominates(other, reading) for other in best):
                best.append(reading)
        return tuple(best)

    def _lacks(self, reading: PhraseReading) -> int:
        if reading not in self._lacking:
            saved = self._saved(reading.missing, self._nodes[reading.node], reading.before) if reading.node else 0
            self._lacking[reading] = self._totals[reading.missing] - (saved or 0)
        return self._lacking[reading]

    def lacking(self, readings: Readings) -> int:
        """Return how many symbols are missing at most, by the longest spellings unless another has begun."""
        return self._lacks(readings[0])

    def progress(self, readings: Readings) -> tuple[int, list[int], int]:
        """Return how many symbols are missing, which would advance, and how many more would be missing after another
        one.
        """
        lacking = self.lacking(readings)
        after, rest = self.lacking_after(readings)
        return lacking, sorted(symbol for symbol, missing in after.items() if missing < lacking), rest - lacking

    def lacking_after(self, readings: Readings) -> tuple[dict[int, int], int]:
        """Return how many symbols are missing, as `lacking` says, after those with which a phrase begins or goes on,
        and after any other one.
        """
        if readings not in self._lacking_after:
            # Any symbol that goes on with no phrase loses what has begun.
            rest = min(self._totals[reading.missing] for reading in readings)
            after: dict[int, int] = {}
            for symbol, reading in self._advancing(readings):
                after[symbol] = min(self._lacks(reading), after.get(symbol, rest))
            self._lacking_after[readings] = after, rest
        return self._lacking_after[readings]

    def _advancing(self, readings: Readings) -> Iterator[tuple[int, PhraseReading]]:
        """Yield the symbols with which a phrase that is missing begins or goes on, with the readings that have them."""
        for before in readings:
            for symbol, child in self._nodes[before.node].children.items():
                if self._nodes[child].numbers & before.missing:
                    for reading, _ in self._continued(before, child):
                        yield symbol, reading

    def gained(self, readings: Readings) -> int:
        """Return how many symbols of phrases have been said, and of one that has begun."""
        return max(map(self._gained, readings))

    def _gained(self, reading: PhraseReading) -> int:
        return reading.length + self._nodes[reading.node].depth

    def gains(self, readings: Readings) -> tuple[int, dict[int, int]]:
        """Return how many more symbols will have been said after the next one: any symbol, by which what has begun
        breaks off, and the end, or one of those with which a phrase begins or goes on.
        """
        gained = self.gained(readings)
        broken = max(reading.length for reading in readings) - gained
        gains: dict[int, int] = {}
        for symbol, reading in self._advancing(readings):
            gains[symbol] = max(self._gained(reading) - gained, gains.get(symbol, broken))
        return broken, {symbol: gain for symbol, gain in gains.items() if gain != broken}

    def places(self, symbols: Phrase) -> tuple[PhraseSpan, ...]:
        """Return the phrases said, in their order. A search asks for longer and longer ones."""
        if not self.wanted:
            return ()
        if symbols not in self._paths:
            # From the longest beginning that was read before.
            length = next(length for length in reversed(range(len(symbols))) if symbols[:length] in self._paths)
            paths = self._paths[symbols[:length]]
            for end, symbol in enumerate(symbols[length:], start=length + 1):
                paths = self._longer_paths(paths, symbol, end)
            self._paths[symbols] = paths
        paths = self._paths[symbols]
        return paths[self._best(set(paths))[0]]

    def _longer_paths(
        self, paths: dict[PhraseReading, tuple[PhraseSpan, ...]], symbol: int, end: int
    ) -> dict[PhraseReading, tuple[PhraseSpan, ...]]:
        """Return the readings of one more symbol, each with the places of what is complete."""
        longer: dict[PhraseReading, tuple[PhraseSpan, ...]] = {}
        for reading, places in paths.items():
            for continued, number in self._followed(reading, symbol):
                begin = end - (continued.length - reading.length)
                longer.setdefault(continued, places if number is None else (*places, PhraseSpan(number, begin, end)))
        return {reading: longer[reading] for reading in self._best(set(longer))}


def _dominates(one: PhraseReading, other: PhraseReading) -> bool:
    """Return whether a reading is as good as another, whatever follows."""
    return one[1:3] == other[1:3] and not one.missing & ~other.missing and one.length >= other.length


@final
class PhraseConstraint(Constraint):
    """Translations contain the phrases of their sentence. The readings of each row are kept here, and its state is
    their number.
    """

    def __init__(self, sentences: Sequence[SentencePhrases], device: torch.device) -> None:
        self._sentences = sentences
        self._device = device
        # A state has to be tensors, which a search selects rows of; readings are Python values.
        self._numbered: list[tuple[int, Readings]] = []
        self._numbers: dict[tuple[int, Readings], int] = {}
        self._after: dict[tuple[int, int], int] = {}
        self._missing: list[int] = []
        self._missing_after: dict[int, tuple[dict[int, int], int]] = {}
        self._progress: dict[int, tuple[int, list[int], int]] = {}
        self._gains: dict[int, tuple[int, dict[int, int]]] = {}

    def _number(self, sentence: int, readings: Readings) -> int:
        number = self._numbers.setdefault((sentence, readings), len(self._numbered))
        if number == len(self._numbered):
            self._numbered.append((sentence, readings))
            self._missing.append(self._sentences[sentence].lacking(readings))
        return number

    def start(self) -> State:
        starts = [self._number(place, phrases.start) for place, phrases in enumerate(self._sentences)]
        return self._tensor(starts)

    def allowed(self, state: State, symbols: Int[Tensor, "C"]) -> Bool[Tensor, "1 C"]:
        return symbols.new_ones(1, len(symbols), dtype=torch.bool)

    def advance(self, symbols: Int[Tensor, "R"], state: State) -> State:
        after = [self._advanced(*row) for row in zip(state.tolist(), symbols.tolist(), strict=True)]
        return self._tensor(after)

    def _advanced(self, number: int, symbol: int) -> int:
        if (number, symbol) not in self._after:
            sentence, readings = self._numbered[number]
            after = self._sentences[sentence].after(readings, symbol)
            self._after[number, symbol] = self._number(sentence, after)
        return self._after[number, symbol]

    def missing(self, state: State) -> Int[Tensor, "R"]:
        return self._tensor([self._missing[number] for number in state.tolist()])

    def missing_after(self, symbols: Int[Tensor, "R"], state: State) -> Int[Tensor, "R"]:
        rows = zip(state.tolist(), symbols.tolist(), strict=True)
        return self._tensor([self._missing_of(number, symbol) for number, symbol in rows])

    def _missing_of(self, number: int, symbol: int) -> int:
        if number not in self._missing_after:
            sentence, readings = self._numbered[number]
            self._missing_after[number] = self._sentences[sentence].lacking_after(readings)
        after, rest = self._missing_after[number]
        return after.get(symbol, rest)

    def progress(self, state: State) -> ConstraintProgress:
        rows = [self._progress_of(number) for number in state.tolist()]
        missing, following, losing = zip(*rows, strict=True)
        return ConstraintProgress(self._tensor(missing), self._padded(following, PAD), self._tensor(losing))

    def _progress_of(self, number: int) -> tuple[int, list[int], int]:
        if number not in self._progress:
            sentence, readings = self._numbered[number]
            self._progress[number] = self._sentences[sentence].progress(readings)
        return self._progress[number]

    def gains(self, state: State) -> tuple[Int[Tensor, "R"], Int[Tensor, "R K"], Int[Tensor, "R K"]]:
        """Return how many more symbols of phrases each row will have after any symbol but those that follow, which are
        padded with PAD, and after each of these.
        """
        rows = [self._gains_of(number) for number in state.tolist()]
        broken = self._tensor([broken for broken, _ in rows])
        return (
            broken,
            self._padded([[*gains] for _, gains in rows], PAD),
            self._padded([[*k.values()] for _, k in rows]),
        )

    def _gains_of(self, number: int) -> tuple[int, dict[int, int]]:
        if number not in self._gains:
            sentence, readings = self._numbered[number]
            self._gains[number] = self._sentences[sentence].gains(readings)
        return self._gains[number]

    def _tensor(self, numbers: Sequence[int]) -> Int[Tensor, "R"]:
        return torch.tensor(numbers, dtype=torch.long, device=self._device)

    def _padded(self, rows: Sequence[Sequence[int]], padding: int = 0) -> Int[Tensor, "R K"]:
        most = max(map(len, rows))
        padded = [[*row, *[padding] * (most - len(row))] for row in rows]
        return torch.tensor(padded, dtype=torch.long, device=self._device).view(len(rows), most)
