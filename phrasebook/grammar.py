"""Words with the meanings that they express, and the alignment that follows from shared meanings."""

from __future__ import annotations

from typing import NamedTuple


class Word(NamedTuple):
    """One token. Words of two languages that share one of their `ids` are translations of each other.

    `otherwise` is the meaning through which the word is linked when no word of the other language shares an
    id with it: English "saw" is one word, but its French "a vu" are two, of which "a" falls back to the verb.
    """

    form: str
    ids: tuple[str, ...] = ()
    otherwise: str = ""


Line = list[Word]


class Phrase(NamedTuple):
    """A phrase with the same meaning in the three languages."""

    english: Line
    french: Line
    german: Line


def words(text: str, *ids: str, otherwise: str = "") -> Line:
    """Split `text` at spaces into words with the same ids."""
    return [Word(form, ids, otherwise) for form in text.split()]


def phrase(english: str, french: str, german: str, key: str) -> Phrase:
    """Make a fixed phrase, aligned as a whole: every word expresses `key`.

    A word may name a part of the meaning instead, as in "last/l week/w".
    """
    return Phrase(*(_marked(text, key) for text in (english, french, german)))


def _marked(text: str, key: str) -> Line:
    line = []
    for item in text.split():
        form, *parts = item.split("/")
        line.append(Word(form, tuple(f"{key}.{part}" for part in parts) or (key,)))
    return line


def links(source: Line, target: Line) -> frozenset[tuple[int, int]]:
    """Return pairs of positions whose words share a meaning, then the fallbacks of words that are still unaligned."""
    source_places, target_places = places(source), places(target)
    pairs = {
        (i, j) for key in source_places.keys() & target_places for i in source_places[key] for j in target_places[key]
    }
    linked_source = {i for i, _ in pairs}
    linked_target = {j for _, j in pairs}
    for i, word in enumerate(source):
        if word.otherwise and i not in linked_source:
            pairs.update((i, j) for j in target_places.get(word.otherwise, ()))
    for j, word in enumerate(target):
        if word.otherwise and j not in linked_target:
            pairs.update((i, j) for i in source_places.get(word.otherwise, ()))
    return frozenset(pairs)


def places(line: Line) -> dict[str, list[int]]:
    """Return the positions at which each meaning is expressed."""
    positions: dict[str, list[int]] = {}
    for place, word in enumerate(line):
        for key in word.ids:
            positions.setdefault(key, []).append(place)
    return positions
