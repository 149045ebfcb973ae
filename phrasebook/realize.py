"""Surface realization of words: elision, "a" or "an", capital letter, spacing."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from phrasebook import french
from phrasebook.english import indefinite_article
from phrasebook.grammar import Line, Phrase, Word, links

CLOSING = {"english": set(".,?!"), "french": set(".,"), "german": set(".,?!")}


class Sentence(NamedTuple):
    """`words` are the words of `text` as the "punctuation" pretokenizer splits it."""

    text: str
    words: tuple[str, ...]


class Triple(NamedTuple):
    """One meaning in three languages. `links` are pairs of token positions, counted from 0."""

    english: Sentence
    french: Sentence
    german: Sentence
    construction: str
    links: dict[tuple[str, str], frozenset[tuple[int, int]]]


def with_end(lines: Phrase, mark: str) -> Phrase:
    """Return the sentence with its final punctuation."""
    end = Word(mark, ("end",))
    return Phrase(*([*line, end] for line in lines))


def sentence(line: Line, language: str) -> Sentence:
    """Adjust words to their neighbors and join them: French has a space before ? and !, the others none."""
    forms = [word.form for word in line]
    for i in range(len(forms) - 1):
        if language == "french":
            forms[i] = french.elided(forms[i], forms[i + 1])
        elif language == "english" and forms[i] == "a":
            forms[i] = indefinite_article(forms[i + 1])
    for i, form in enumerate(forms):
        if i == 0 or forms[i - 1] == "?":
            forms[i] = form[0].upper() + form[1:]
    text = forms[0]
    for before, form in pairwise(forms):
        tight = form in CLOSING[language] or before.endswith("'")
        text += form if tight else " " + form
    return Sentence(text, tuple(forms))


def triple(lines: Phrase, english: Sentence, construction: str) -> Triple:
    """Realize the three sentences, of which English is given, with their alignments."""
    return Triple(
        english,
        sentence(lines.french, "french"),
        sentence(lines.german, "german"),
        construction,
        {
            ("en", "fr"): links(lines.english, lines.french),
            ("en", "de"): links(lines.english, lines.german),
            ("fr", "de"): links(lines.french, lines.german),
        },
    )
