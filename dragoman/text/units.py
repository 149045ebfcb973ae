"""Words and characters as units, and the table of all units."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from dragoman.configuration.components import Count
from dragoman.text.subword import Bpe, Unigram
from dragoman.text.tokenise import Tokeniser, punctuation
from dragoman.text.unit import JOINER, SPACE, UnfitUnitError, Unit, escape, spell, unescape


class Listed(Unit):
    """A unit whose inventory is a list of symbols, most frequent first (ties in order of code points)."""

    def __init__(self, tokeniser: Tokeniser = punctuation) -> None:
        super().__init__(tokeniser)
        self._inventory: list[str] = []

    @property
    def inventory(self) -> list[str]:
        return list(self._inventory)

    def learn(self, lines: Iterable[str], size: int | None, minimum_frequency: int) -> None:
        """Keep the `size` most frequent symbols (None: all) that occur at least `minimum_frequency` times.
        UnfitUnitError if there are no symbols at all.
        """
        counts: Counter[str] = Counter()
        for line in lines:
            counts.update(self.encode(line))
        frequent = (item for item in counts.items() if item[1] >= minimum_frequency)
        ranked = sorted(frequent, key=lambda item: (-item[1], item[0]))
        self._inventory = [symbol for symbol, _ in ranked[:size]]
        if not counts:
            raise UnfitUnitError("the corpus is empty, there is nothing to learn units from")

    def learnt(self) -> bytes:
        return "".join(json.dumps(symbol) + "\n" for symbol in self._inventory).encode()

    def restore(self, learnt: bytes) -> None:
        inventory = [json.loads(line) for line in learnt.decode().splitlines()]
        if not all(isinstance(symbol, str) for symbol in inventory):
            raise ValueError("expected a symbol on every line")
        self._inventory = inventory


class Words(Listed):
    """Words as the tokeniser splits them; words outside the inventory are unknown.

    A joiner (U+FFED) marks a side of a symbol without a space: `l'` + joiner, joiner + `.`. White space other than a
    single space is a symbol too, so that decoding restores every text exactly.
    """

    whole_words = True

    def __init__(
        self, tokeniser: Tokeniser = punctuation, *, size: Count = 50_000, minimum_frequency: Count = 1
    ) -> None:
        super().__init__(tokeniser)
        self.size = size
        self.minimum_frequency = minimum_frequency

    def fit(self, lines: Iterable[str], seed: int) -> None:
        """Learn the `size` most frequent words, or all of them if there are fewer."""
        self.learn(lines, self.size, self.minimum_frequency)

    def encode(self, text: str, sample: int | None = None) -> list[str]:
        symbols: list[str] = []
        position = 0
        marked = escape(text) != text
        for begin, end in self.tokeniser(text):
            word = escape(text[begin:end]) if marked else text[begin:end]
            gap = text[position:begin]
            if symbols and not gap:
                # The joiner is attached to the punctuation, so that a word is the same symbol everywhere.
                if text[begin].isalnum():
                    symbols[-1] += JOINER
                else:
                    word = JOINER + word
            elif gap != (" " if symbols else ""):
                symbols.append(_white(gap))
            symbols.append(word)
            position = end
        if position < len(text):
            symbols.append(_white(text[position:]))
        return symbols

    def surfaces(self, symbols: Sequence[str]) -> list[str]:
        surfaces = []
        joined = True
        for symbol in symbols:
            word = symbol.removeprefix(JOINER)
            core = word.removesuffix(JOINER)
            space = "" if joined or len(word) < len(symbol) else " "
            surfaces.append(space + unescape(core.replace(SPACE, " ")))
            joined = len(core) < len(word)
        return surfaces


def _white(gap: str) -> str:
    return JOINER + escape(gap).replace(" ", SPACE) + JOINER


class Characters(Listed):
    """Characters (code points), with the space as U+2581; characters outside the inventory are unknown."""

    def __init__(self, tokeniser: Tokeniser = punctuation, *, minimum_frequency: Count = 1) -> None:
        super().__init__(tokeniser)
        self.minimum_frequency = minimum_frequency

    def fit(self, lines: Iterable[str], seed: int) -> None:
        self.learn(lines, None, self.minimum_frequency)

    def encode(self, text: str, sample: int | None = None) -> list[str]:
        return list(escape(text).replace(" ", SPACE))

    def surfaces(self, symbols: Sequence[str]) -> list[str]:
        return spell(symbols)


UNITS: dict[str, type[Unit]] = {"word": Words, "character": Characters, "bpe": Bpe, "unigram": Unigram}
