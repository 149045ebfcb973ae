"""The constructions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dragoman.phrasebook.clauses import action, event, spoken, timed
from dragoman.phrasebook.draw import Draw
from dragoman.phrasebook.grammar import Phrase
from dragoman.phrasebook.realise import with_end


def statement(draw: Draw) -> Phrase:
    return with_end(spoken(timed(draw, action(draw))), ".")


def intransitive(draw: Draw) -> Phrase:
    return with_end(spoken(timed(draw, event(draw))), ".")


def negation(draw: Draw) -> Phrase:
    return with_end(spoken(timed(draw, action(draw, negation="not"), 0.25)), ".")


CONSTRUCTIONS: dict[str, Callable[[Draw], Phrase]] = {
    "statement": statement,
    "intransitive": intransitive,
    "negation": negation,
}
