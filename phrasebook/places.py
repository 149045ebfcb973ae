"""Constructions: where things are and where they are put."""

from __future__ import annotations

from dataclasses import replace

from phrasebook.clauses import nominal, spoken
from phrasebook.draw import Draw, NoChoice
from phrasebook.entries import locations, nouns, phrases, prepositions, verbs_of
from phrasebook.grammar import Phrase, Word, phrase
from phrasebook.meaning import Clause
from phrasebook.predicates import BE, somewhere
from phrasebook.realize import with_end

TOO_BIG = {"bag": "umbrella doll ball vase plate", "drawer": "umbrella ball vase bag", "chair": "vase plate cup"}
OUTSIDE = {"garden", "door", "house", "tree", "church", "hotel"}  # where large things are; small ones are elsewhere
SMALL = (
    "book newspaper letter key pencil umbrella bag hat glove ball toy doll parcel present cup vase plate knife camera"
).split()
LARGE = ("cat", "dog", "bicycle")
GROWING = ("tree", "flower", "rose", "chair")


def location(draw: Draw) -> Phrase:
    """The key is under the table."""
    preposition = draw.choice(prepositions("be"))
    ground = nouns()[draw.choice(preposition.grounds)]
    item = nouns()[draw.choice(LARGE if ground.lemma in OUTSIDE else SMALL)]
    if item.lemma in TOO_BIG.get(ground.lemma, "").split():
        raise NoChoice
    determiner = draw.choice(("the", "the", "my", "your"))
    node = Clause(
        key="a",
        subject=draw.noun_phrase(item, "a.s", determiner=determiner, plural=draw.chance(0.2)),
        verb=BE,
        predicate=somewhere(preposition.phrase, draw.noun_phrase(ground, "a.w", determiner="the"), "a.w"),
        tense="past" if draw.chance(0.25) else "present",
        negation="not" if draw.chance(0.2) else "",
    )
    return with_end(spoken(node), ".")


def placing(draw: Draw) -> Phrase:
    """She's putting the vase on the table (German lays or stands it there)."""
    verb = draw.choice(verbs_of("placing"))
    preposition = draw.choice(prepositions(verb.lemma))
    item, ground = draw.object_of(verb), nouns()[draw.choice(preposition.grounds)]
    if item is ground or item.lemma in TOO_BIG.get(ground.lemma, "").split():
        raise NoChoice
    if item.lemma in ("chair", "basket") and preposition.phrase.english == "on":
        raise NoChoice
    where = draw.noun_phrase(ground, "a.w", determiner="the")
    node = Clause(
        key="a",
        subject=draw.person("a.s"),
        verb=verb,
        object=draw.noun_phrase(item, "a.o", determiner=draw.choice(("the", "the", "this")), plural=draw.chance(0.2)),
        goal=somewhere(preposition.phrase, where, "a.w", "accusative"),
        tense=draw.choice(("present", "past", "past", "future")),
    )
    return with_end(spoken(node), ".")


def existence(draw: Draw) -> Phrase:
    """There are two trees in the garden."""
    place = draw.choice([location for location in locations().values() if location.contents])
    noun = nouns()[draw.choice(place.contents)]
    many, negated, no = draw.chance(0.5), draw.chance(0.2), ("a.not",)
    thing = draw.thing(noun, "a.o", definite=False, adjectives=int(draw.chance(0.3)))
    few = list(phrases("number"))[: 5 if noun.lemma in GROWING else 2]
    heaps = ("some", "several", "many") if place.name in ("garden", "park", "town") else ("some",)
    determiner = "any" if negated else draw.choice((*heaps, *few)) if many else "a"
    thing = replace(thing, determiner=determiner, plural=many)
    where, lines = phrase(*place.phrase, "a.w"), nominal(thing, "accusative")
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
