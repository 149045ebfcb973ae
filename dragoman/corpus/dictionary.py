"""Dictionaries of words with probabilities: learned from word alignments, and kept as TSV files that people edit."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from dragoman.configuration.messages import shown
from dragoman.corpus.pharaoh import Links
from dragoman.errors import UserError
from dragoman.files.reading import LONGEST_TEXT, read_lines
from dragoman.files.reading import shown as file_shown
from dragoman.text.normalizer import Normalizer

HEADER: Final = ("source", "target", "probability", "count")
COUNT = re.compile("[0-9]{1,18}")
NO_LETTERS = "PSZ"  # categories of characters: punctuation, symbols, white space

_normalize = Normalizer(lowercase=False)


class DictionaryEntry(NamedTuple):
    """A word and one of its translations: `P(target | source)`, and the number of links between the two."""

    source: str
    target: str
    probability: float = 1.0
    links: int = 1


class LinkedPair(NamedTuple):
    """The words of a pair, and the links between them."""

    source: Sequence[str]
    target: Sequence[str]
    links: Links


class Dictionary:
    """The best translation of each word, `argmax_e P(e | f)`: of equal ones, the first."""

    def __init__(self, entries: Iterable[DictionaryEntry] = ()) -> None:
        self._best: dict[str, DictionaryEntry] = {}
        for entry in entries:
            if entry.source not in self._best or entry.probability > self._best[entry.source].probability:
                self._best[entry.source] = entry
        self._lower: dict[
            str, DictionaryEntry
        ] = {}  # where only `Polish` is known, it stands for `polish` and `POLISH`
        for entry in self._best.values():
            word = entry.source.lower()
            if entry.source == word or word not in self._lower or _better(entry, self._lower[word]):
                self._lower[word] = entry

    def __len__(self) -> int:
        return len(self._best)

    def overridden(self, other: "Dictionary") -> "Dictionary":
        """Both, with the other's translations of the words that it has, whatever their capitals and the punctuation
        around them are here.
        """
        kept = {word: entry for word, entry in self._best.items() if not other._has(word)}
        return Dictionary({**kept, **other._best}.values())

    def _has(self, word: str) -> bool:
        """Whether this word is here, as it is written or in lower case, or without the punctuation around it."""
        begin, end = _letters(word)
        return any({form, form.lower()} & self._best.keys() for form in (word, word[begin:end]))

    def translation(self, word: str) -> str | None:
        """The translation of a word: as it is written, or else in lower case, with the capitals put back; or else
        without the punctuation around it, which is put back.
        """
        begin, end = _letters(word)
        for before, core, after in (("", word, ""), (word[:begin], word[begin:end], word[end:])):
            if entry := self._best.get(core):
                return before + entry.target + after
            if entry := self._lower.get(core.lower()):
                return before + _capitals(entry.target, core) + after
        return None


def _better(capitalized: DictionaryEntry, lowercased: DictionaryEntry) -> bool:
    """Whether an entry with capitals is to be preferred to the `lowercased` one of the same word in lower case."""
    return lowercased.source != lowercased.source.lower() and capitalized.probability > lowercased.probability


def _letters(word: str) -> tuple[int, int]:
    """The part of a word without the punctuation before and after it."""
    within = [place for place, character in enumerate(word) if unicodedata.category(character)[0] not in NO_LETTERS]
    return (within[0], within[-1] + 1) if within else (0, len(word))


def _capitals(text: str, word: str) -> str:
    """The text with as many capitals as a word has: all, the first, or none but its own."""
    if len(word) > 1 and word.isupper():
        return text.upper()
    return text[:1].upper() + text[1:] if word[:1].isupper() else text


def learn(pairs: Iterable[LinkedPair], *, min_count: int = 1, min_probability: float = 0.0) -> list[DictionaryEntry]:
    """The entries of linked words, by relative frequency, sorted by source word, the best translation first.

    `P(e | f) = count(f, e) / sum_e' count(f, e')`, where count(f, e) is the number of links between f and e. Rarer and
    less probable translations are left out after that.
    """
    counts = Counter((pair.source[source], pair.target[target]) for pair in pairs for source, target in pair.links)
    totals: Counter[str] = Counter()
    for (source, _), count in counts.items():
        totals[source] += count
    entries = (DictionaryEntry(*words, count / totals[words[0]], count) for words, count in counts.items())
    kept = (
        entry
        for entry in entries
        if entry.links >= min_count
        and entry.probability >= min_probability
        and entry.source.strip()
        and entry.target.strip()
    )
    return sorted(kept, key=lambda entry: (entry.source, -entry.links, entry.target))


def lines(entries: Iterable[DictionaryEntry]) -> Iterator[str]:
    """The lines of the file of these entries, the header first."""
    yield "\t".join(HEADER)
    for source, target, probability, count in entries:
        yield f"{source}\t{target}\t{probability:.6g}\t{count}"


def read(path: str | Path) -> Dictionary:
    """Read a file of `lines`, or one by hand: source word and translation, in NFC, and if given probability and count.
    UserError names the file and line of anything else.
    """
    return Dictionary(_entries(path))


def _entries(path: str | Path) -> Iterator[DictionaryEntry]:
    begun = False
    for number, line in enumerate(read_lines(path, LONGEST_TEXT), start=1):
        fields = [_normalize(field).strip() for field in line[:LONGEST_TEXT].split("\t")]
        if not any(fields):
            continue
        if begun or tuple(map(str.lower, fields)) != HEADER[: max(2, len(fields))]:
            yield _entry(fields, f"{file_shown(path)}:{number}")
        begun = True


def _entry(fields: Sequence[str], where: str) -> DictionaryEntry:
    """An entry from its columns. UserError names the place of an invalid entry."""
    source, target, probability, count, *more = (*fields, *[""] * (len(HEADER) - len(fields)))
    if more or not (source and target):
        raise UserError(
            f"{where}: expected a word and its translation, optionally followed by probability "
            f"and count, separated by tabs, found {shown(chr(9).join(fields))}"
        )
    try:
        number = float(probability or 1)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise UserError(f"{where}: expected a probability from 0 to 1, found {shown(probability)}")
    if not COUNT.fullmatch(count or "1"):
        raise UserError(f"{where}: expected the number of links, found {shown(count)}")
    return DictionaryEntry(source, target, number, int(count or 1))
