"""Select and clean the units of a file that are useful as training pairs, and count every decision."""

import re
from collections import Counter
from collections.abc import Callable
from hashlib import blake2b
from typing import NamedTuple

from dragoman.corpus import accelerators
from dragoman.corpus.translation_unit import TranslationState, TranslationUnit
from dragoman.errors import UserError
from dragoman.text.normalizer import Normalizer

LONGEST = 1_000  # default maximal number of characters in a text

CREDITS = re.compile(
    r"translator[-_ ]credits?|translated[-_ ]by|your[-_ ](names|emails)|"
    r"(name|email) of translators\b.*",
    re.IGNORECASE,
)
_normalize = Normalizer(lowercase=False)
_END = re.compile(r"[\s.:…!?。：！？]+$")


class Rules(NamedTuple):
    """Options: the maximal number of characters in a text, and whether copies of the source and accelerators stay."""

    longest: int = LONGEST
    drop_copies: bool = False
    keep_accelerators: bool = False


class CleanPair(NamedTuple):
    """A pair, each text in one line, with its context and state, and the text in further languages, empty where it is
    missing.
    """

    source: str
    target: str
    context: str
    state: TranslationState
    further: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return key(self.source)


def key(source: str) -> str:
    """A key that sources share if they differ only in letter case, spaces and final punctuation."""
    source = _one_line(source)
    return _END.sub("", source).casefold() or source


def _one_line(text: str) -> str:
    return " ".join(_normalize(text).split())


class Cleaner:
    """Clean units one by one, and count those that are dropped (by the first rule that applies) or changed."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.read = self.kept = 0
        self.dropped = Counter(dict.fromkeys([*DROPPED, DUPLICATE], 0))
        self.changed = Counter(dict.fromkeys([ACCELERATORS, *CHANGED], 0))
        self._seen: set[int] = set()

    def __call__(self, unit: TranslationUnit) -> CleanPair | None:
        """Return the cleaned pair, or None if the unit is dropped: its first and last text, and those between them in
        further languages.
        """
        self.read += 1
        marked = texts = tuple(map(_one_line, unit.texts))
        if not self.rules.keep_accelerators:
            texts = accelerators.remove_from_all(texts)
        source, *further, target = texts
        short = tuple(text if len(text) <= self.rules.longest else "" for text in further)
        entry = CleanPair(source, target, _one_line(unit.context), unit.state, short)
        for reason, applies in DROPPED.items():
            if applies(entry, self.rules):
                self.dropped[reason] += 1
                return None
        both = int.from_bytes(blake2b(f"{source}\t{target}".encode(), digest_size=8).digest(), "little")
        if both in self._seen:
            self.dropped[DUPLICATE] += 1
            return None
        self._seen.add(both)
        self.kept += 1
        for what, has in CHANGED.items():
            self.changed[what] += has(unit)
        self.changed[ACCELERATORS] += (source, target) != (marked[0], marked[-1])
        return entry

    def check(self) -> None:
        """UserError if no pair was kept."""
        if not self.kept:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.dropped.items() if count)
            raise UserError(f"no pair is left of {self.read:,} units" + (f" ({reasons})" if reasons else ""))

    def __str__(self) -> str:
        """The counts as a table, without those that are 0."""
        rows = [("units read", self.read)]
        rows += [(f"- {reason}", count) for reason, count in self.dropped.items() if count]
        rows += [("pairs kept", self.kept)]
        rows += [(f"  {what}", count) for what, count in self.changed.items() if count]
        return "\n".join(f"{name:<36}{count:>12,}" for name, count in rows)


DUPLICATE = "duplicate of an earlier pair"
ACCELERATORS = "accelerators removed"
CHANGED: dict[str, Callable[[TranslationUnit], bool]] = {
    "forms of a plural": lambda unit: unit.plural,
    "with a context, in its own column": lambda unit: bool(unit.context),
    "codes without text, such as {1}": lambda unit: unit.marked,
}
DROPPED: dict[str, Callable[[CleanPair, Rules], bool]] = {
    "obsolete": lambda entry, rules: entry.state is TranslationState.OBSOLETE,
    "fuzzy": lambda entry, rules: entry.state is TranslationState.FUZZY,
    "source empty": lambda entry, rules: not entry.source,
    "not translated": lambda entry, rules: not entry.target,
    "translator credits": lambda entry, rules: any(
        CREDITS.fullmatch(text) is not None for text in (entry.source, entry.context)
    ),
    "too long": lambda entry, rules: max(len(entry.source), len(entry.target)) > rules.longest,
    "the same as its source": lambda entry, rules: rules.drop_copies and entry.source == entry.target,
}
