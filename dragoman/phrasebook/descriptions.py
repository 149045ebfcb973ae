"""Constructions: what people and things are like, where they are, whose they are."""

from __future__ import annotations

from dataclasses import replace

from dragoman.phrasebook.clauses import action, joined, nominal, spoken, timed
from dragoman.phrasebook.draw import DESCRIBED, KIN, Draw
from dragoman.phrasebook.grammar import Phrase, Word, phrase
from dragoman.phrasebook.lexicon import ADJECTIVES, NOUNS, PLACING, PREFERENCES, TRANSITIVE
from dragoman.phrasebook.lexicon_function import NUMBERS
from dragoman.phrasebook.lexicon_places import CONTENTS, LARGE, LOCATIONS, PREPOSITIONS, SMALL
from dragoman.phrasebook.meaning import Clause, Name, Noun, NounPhrase
from dragoman.phrasebook.predicates import (
    ABSOLUTE, BE, CHARACTER, HAVE, comparison, describing, quality, somewhere,
)  # fmt: skip
from dragoman.phrasebook.realise import with_end

COMPARED = [a for a in ADJECTIVES.values() if a.lemma not in ABSOLUTE | {"new"} | {"good", "bad", "ill", "happy", "important"}]
TRADES = {
    "m": "doctor teacher baker farmer gardener painter engineer lawyer cook waiter actor musician writer journalist"
    " policeman hairdresser butcher student postman".split(),
    "f": "waitress actress".split(),
}
NAMED_PLACES = {row.split(" | ")[0]: row.split(" | ")[1:] for row in LOCATIONS.strip().splitlines()}
STATES = """
hungry | faim | Hunger
thirsty | soif | Durst
afraid | peur | Angst
"""


def copula(draw: Draw) -> Phrase:
    """These shoes aren't comfortable."""
    if draw.chance(0.4):
        subject = draw.person("a.s")
    else:
        noun = draw.choice([noun for noun in NOUNS.values() if "human" not in noun.classes])
        many = draw.chance(0.25) and "mass" not in noun.classes
        determiner = draw.choice(("the", "the", "this", "my", "your") if "thing" in noun.classes else ("the", "this"))
        subject = draw.noun_phrase(noun, "a.s", determiner=determiner, plural=many)
    return with_end(spoken(describing(draw, subject, "a")), ".")


def compared(draw: Draw) -> Phrase:
    """The castle is older than the church."""
    equal, negation = draw.chance(0.4), "not" if draw.chance(0.3) else ""
    if draw.chance(0.35):
        subject, other = draw.person("a.s", pronouns=0.25), draw.person("b.s", pronouns=0)
        adjective = draw.choice([a for a in CHARACTER if a.lemma not in ("famous", "elegant")])
        if subject.plural != other.plural or subject.plural:
            return compared(draw)
        for node in (subject, other):
            if isinstance(node, NounPhrase):
                raise_unless_known(draw, adjective.lemma, node.noun)
    else:
        adjective = draw.choice(COMPARED)
        first = draw.choice([n for n in DESCRIBED[adjective.lemma, draw.held] if "human" not in n.classes])
        second = draw.choice([n for n in alike(first, DESCRIBED[adjective.lemma, draw.held]) if n is not first])
        draw.pairs += 1
        determiner = draw.choice(("the", "the", "this", "your"))
        if determiner == "your" and "thing" not in first.classes:
            determiner = "this"
        subject = draw.noun_phrase(first, "a.s", determiner=determiner)
        if determiner == "your":
            determiner = "my"
        other = draw.noun_phrase(second, "b.s", determiner=determiner if determiner != "this" else "the")
    predicate = comparison(adjective, subject, "a.p", other, equal)
    return with_end(spoken(Clause(key="a", subject=subject, verb=BE, predicate=predicate, negation=negation)), ".")


def raise_unless_known(draw: Draw, lemma: str, noun: Noun) -> None:
    """A pair of adjective and noun that this split may not use draws again."""
    draw.choice([n for n in DESCRIBED[lemma, draw.held] if n is noun])
    draw.pairs += 1


def alike(noun: Noun, others: list[Noun]) -> list[Noun]:
    """The nouns of the same kind: buildings with buildings, clothes with clothes."""
    kinds = ("worn", "animal", "fruit", "food", "drink", "building", "vehicle", "furniture", "room", "text", "place",
             "plant", "high", "idea", "device", "bought")  # fmt: skip
    kind = next((kind for kind in kinds if kind in noun.classes), noun.lemma)
    return [other for other in others if kind in other.classes]


def possession(draw: Draw) -> Phrase:
    """My brother's car is red; I'm repairing Anna's bicycle."""
    owner = draw.relation("a.o.w") if draw.chance(0.55) else draw.first_name("a.o.w") if draw.chance(0.6) else draw.titled_name("a.o.w")
    if isinstance(owner, Name) and owner.phrase.english[-1].form[-1] in "sx":
        return possession(draw)
    owner = replace(owner, plural=False) if isinstance(owner, NounPhrase) else owner
    if draw.chance(0.5):
        owned = [n for n in NOUNS.values() if n.classes & {"vehicle", "worn", "home", "furniture", "pet", "device"}]
        noun = draw.choice([n for n in owned if n.lemma not in ("train", "plane", "bus", "dress", "skirt")])
        subject = replace(draw.noun_phrase(noun, "a.s", determiner="the", plural="pair" in noun.classes), owner=owner)
        return with_end(spoken(describing(draw, subject, "a")), ".")
    verb = TRANSITIVE[draw.choice(("repair", "look +for", "find", "lose", "wash", "forget", "sell", "buy", "read", "clean", "feed", "hide", "translate", "correct", "sign", "paint"))]
    node = action(draw, verb=verb, subject=draw.person("a.s", pronouns=0.8))
    if not isinstance(node.object, NounPhrase) or not node.object.noun.classes & {"worn", "vehicle", "home", "device", "lost", "read"}:
        return possession(draw)
    if node.object.noun.classes & {"train", "plane", "bus", "newspaper"}:
        return possession(draw)
    return with_end(spoken(timed(draw, replace(node, object=replace(node.object, determiner="the", owner=owner)), 0.3)), ".")


def profession(draw: Draw) -> Phrase:
    """My uncle is a doctor."""
    subject = draw.first_name("a.s") if draw.chance(0.4) else draw.titled_name("a.s") if draw.chance(0.4) else draw.relation("a.s")
    subject = replace(subject, plural=False)
    trade = NOUNS[draw.choice(TRADES[subject.sex])]
    key = "a.p"
    predicate = Phrase(
        [Word("a", (f"{key}.d",)), Word(trade.english[0], (key,))],
        [Word(trade.french[0], (key,))],
        [Word(trade.german[0], (key,))],
    )
    node = Clause(key="a", subject=subject, verb=BE, predicate=predicate, tense=draw.choice(("present", "present", "past")))
    return with_end(spoken(node), ".")


def location(draw: Draw) -> Phrase:
    """The key is under the table."""
    english = draw.choice(list(PREPOSITIONS))
    french, german, grounds = PREPOSITIONS[english]
    ground = NOUNS[draw.choice(grounds.split())]
    roomy = ground.lemma in ("house", "tree", "church", "hotel", "garden", "door")
    item = NOUNS[draw.choice((LARGE if roomy else SMALL).split())]
    if item is ground or (ground.lemma == "bag" and item.lemma in ("umbrella", "doll", "ball", "vase", "plate")):
        return location(draw)
    subject = draw.noun_phrase(item, "a.s", determiner=draw.choice(("the", "the", "my", "your")), plural=draw.chance(0.2))
    where = somewhere((english, french, german), draw.noun_phrase(ground, "a.w", determiner="the"), "a.w")
    past = draw.chance(0.25)
    node = Clause(key="a", subject=subject, verb=BE, predicate=where, tense="past" if past else "present", negation="not" if draw.chance(0.2) else "")
    return with_end(spoken(node), ".")


def placing(draw: Draw) -> Phrase:
    """She's putting the vase on the table."""
    lying = draw.chance(0.5)
    verb = PLACING["put:lay" if lying else "put:stand"]
    english = draw.choice(("on", "on", "in", "next to", "under", "behind")) if lying else draw.choice(("on", "on", "next to", "in front of"))
    french, german, grounds = PREPOSITIONS[english]
    ground = NOUNS[draw.choice([g for g in grounds.split() if g not in ("house", "tree", "church", "hotel", "car", "kitchen", "bedroom", "bathroom", "garden", "wardrobe" if english == "under" else "")])]
    item = draw.object_of(verb)
    if item is ground or (item.lemma == "chair" and english == "on") or english == "in" and item.lemma == "knife":
        return placing(draw)
    subject = draw.person("a.s")
    thing = draw.noun_phrase(item, "a.o", determiner=draw.choice(("the", "the", "this")), plural=draw.chance(0.2))
    goal = somewhere((english, french, german), draw.noun_phrase(ground, "a.w", determiner="the"), "a.w", "accusative")
    node = Clause(key="a", subject=subject, verb=verb, object=thing, goal=goal, tense=draw.choice(("present", "past", "past", "future")))
    return with_end(spoken(node), ".")


def existence(draw: Draw) -> Phrase:
    """There are two trees in the garden."""
    place = draw.choice(list(CONTENTS))
    noun = NOUNS[draw.choice(CONTENTS[place].split())]
    many = draw.chance(0.5)
    negated = draw.chance(0.2)
    thing = draw.thing(noun, "a.o", definite=False, adjectives=int(draw.chance(0.3)))
    determiner = "any" if negated else draw.choice(("some", "several", "many", *list(NUMBERS)[:5])) if many else "a"
    thing = replace(thing, determiner=determiner, plural=many)
    where = phrase(*NAMED_PLACES[place], "a.w")
    be = "are" if many else "is"
    form = [Word("There", ("e",)), Word(be + "n't" if negated else be, ("e", "not") if negated else ("e",))]
    there = [Word("il", ("e",)), *([Word("ne", ("not",))] if negated else []), Word("y", ("e",)), Word("a", ("e",))]
    there += [Word("pas", ("not",))] if negated else []
    lines = nominal(thing, "accusative")
    german = [*where.german, Word("gibt", ("e",)), Word("es", ("e",)), *lines.german]
    return with_end(Phrase([*form, *lines.english, *where.english], [*there, *lines.french, *where.french], german), ".")


def state(draw: Draw) -> Phrase:
    """I'm hungry (French and German have hunger)."""
    english, french, german = draw.choice([row.split(" | ") for row in STATES.strip().splitlines()])
    subject = draw.person("a.s")
    negation = "not" if draw.chance(0.35) else ""
    tense = draw.choice(("present", "present", "past"))
    ids = ("a.p", "a.not") if negation else ("a.p",)
    is_ = Clause(key="a", subject=subject, verb=BE, predicate=phrase(english, french, german, "a.p"), tense=tense, negation=negation)
    has = replace(is_, verb=HAVE)
    lines = spoken(has)
    line = spoken(is_).english
    if negation:  # kein Hunger
        kein = "keine" if german == "Angst" else "keinen"
        at = next(i for i, word in enumerate(lines.german) if word.form == "nicht")
        lines.german[at] = Word(kein, ids[1:])
    return with_end(Phrase(line, lines.french, lines.german), ".")


def liking(draw: Draw) -> Phrase:
    """My sister likes cheese."""
    verb = PREFERENCES["like"]
    noun = draw.object_of(verb)
    negated = draw.chance(0.3)
    determiner = "bare any" if negated else "bare"
    thing = draw.noun_phrase(noun, "a.o", determiner=determiner, plural="mass" not in noun.classes)
    node = Clause(key="a", subject=draw.person("a.s"), verb=verb, object=thing, negation="not" if negated else "")
    return with_end(spoken(node), ".")
