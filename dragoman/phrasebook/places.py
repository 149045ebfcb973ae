"""Constructions: where things are and where they are put."""

from __future__ import annotations

from dataclasses import replace

from dragoman.phrasebook.clauses import PLACES, nominal, spoken
from dragoman.phrasebook.draw import Draw, NoChoice
from dragoman.phrasebook.grammar import Phrase, Word, phrase
from dragoman.phrasebook.lexicon import NOUNS, PLACING
from dragoman.phrasebook.lexicon_function import NUMBERS
from dragoman.phrasebook.lexicon_places import CONTENTS, FURNITURE, LARGE, PREPOSITIONS, SMALL, TARGETS
from dragoman.phrasebook.meaning import Clause
from dragoman.phrasebook.predicates import BE, somewhere
from dragoman.phrasebook.realise import with_end

TOO_BIG = {"bag": "umbrella doll ball vase plate", "drawer": "umbrella ball vase bag", "chair": "vase plate cup"}
GROWING = ("tree", "flower", "rose", "chair")


def location(draw: Draw) -> Phrase:
    """The key is under the table."""
    preposition = draw.choice(list(PREPOSITIONS))
    french, german, grounds = PREPOSITIONS[preposition]
    ground = NOUNS[draw.choice(grounds.split())]
    item = NOUNS[draw.choice((SMALL if ground.lemma in FURNITURE else LARGE).split())]
    if item.lemma in TOO_BIG.get(ground.lemma, "").split():
        raise NoChoice
    determiner = draw.choice(("the", "the", "my", "your"))
    node = Clause(
        key="a",
        subject=draw.noun_phrase(item, "a.s", determiner=determiner, plural=draw.chance(0.2)),
        verb=BE,
        predicate=somewhere((preposition, french, german), draw.noun_phrase(ground, "a.w", determiner="the"), "a.w"),
        tense="past" if draw.chance(0.25) else "present",
        negation="not" if draw.chance(0.2) else "",
    )
    return with_end(spoken(node), ".")


def placing(draw: Draw) -> Phrase:
    """She's putting the vase on the table (German lays or stands it there)."""
    verb = PLACING[draw.choice(list(PLACING))]
    preposition, grounds = draw.choice(TARGETS[verb.lemma])
    french, german, _ = PREPOSITIONS[preposition]
    item, ground = draw.object_of(verb), NOUNS[draw.choice(grounds.split())]
    if item is ground or item.lemma in TOO_BIG.get(ground.lemma, "").split():
        raise NoChoice
    if item.lemma in ("chair", "basket") and preposition == "on":
        raise NoChoice
    where = draw.noun_phrase(ground, "a.w", determiner="the")
    node = Clause(
        key="a",
        subject=draw.person("a.s"),
        verb=verb,
        object=draw.noun_phrase(item, "a.o", determiner=draw.choice(("the", "the", "this")), plural=draw.chance(0.2)),
        goal=somewhere((preposition, french, german), where, "a.w", "accusative"),
        tense=draw.choice(("present", "past", "past", "future")),
    )
    return with_end(spoken(node), ".")


def existence(draw: Draw) -> Phrase:
    """There are two trees in the garden."""
    place = draw.choice(list(CONTENTS))
    noun = NOUNS[draw.choice(CONTENTS[place].split())]
    many, negated, no = draw.chance(0.5), draw.chance(0.2), ("a.not",)
    thing = draw.thing(noun, "a.o", definite=False, adjectives=int(draw.chance(0.3)))
    few = list(NUMBERS)[: 5 if noun.lemma in GROWING else 2]
    heaps = ("some", "several", "many") if place in ("garden", "park", "town") else ("some",)
    determiner = "any" if negated else draw.choice((*heaps, *few)) if many else "a"
    thing = replace(thing, determiner=determiner, plural=many)
    where, lines = phrase(*PLACES[place], "a.w"), nominal(thing, "accusative")
    be = ("are" if many else "is") + ("n't" if negated else "")
    is_, key = ("a.v", *no) if negated else ("a.v",), ("a.v",)
    ne, pas = ([Word("ne", no)], [Word("pas", no)]) if negated else ([], [])
    there = [Word("il", key), *ne, Word("y", key), Word("a", key), *pas]
    german = lines.german
    if negated:  # kein
        german = [german[0]._replace(ids=german[0].ids + no), *german[1:]]
    return with_end(
        Phrase(
            [Word("there", key), Word(be, is_), *lines.english, *where.english],
            [*there, *lines.french, *where.french],
            [*where.german, Word("gibt", key), Word("es", key), *german],
        ),
        ".",
    )
