"""Constructions: what people and things are like, and whose they are."""

from __future__ import annotations

from dataclasses import replace

from phrasebook.clauses import object_for, spoken, tense_of, timed
from phrasebook.draw import Draw, NoChoice, nouns_with
from phrasebook.entries import adjectives, nouns, verbs
from phrasebook.grammar import Phrase, Word, phrase
from phrasebook.meaning import Adjective, Clause, Name, Noun, NounPhrase
from phrasebook.predicates import ABSOLUTE, BE, CHARACTER, HAVE, comparison, describing
from phrasebook.realize import with_end

BEYOND_COMPARE = {"new", "cold", "hot", "warm", "clean", "dirty", "tired", "good", "bad", "ill", "happy", "important"}
TRADES = {
    "m": "doctor teacher baker farmer gardener painter engineer lawyer cook waiter actor musician writer journalist"
    " policeman hairdresser butcher student postman".split(),
    "f": "waitress actress".split(),
}
OWNED = {"vehicle", "worn", "home", "furniture", "pet", "device", "lost"}
UNOWNED = {"train", "plane", "bus", "lorry", "dress", "skirt"}
DONE_TO_OWNED = ("repair", "look +for", "find", "lose", "wash", "forget", "sell", "buy", "clean", "hide", "read",
                 "feed")  # fmt: skip


def copula(draw: Draw) -> Phrase:
    """These shoes aren't comfortable."""
    if draw.chance(0.4):
        subject = draw.person("a.s")
    else:
        noun = draw.choice([noun for noun in nouns().values() if "human" not in noun.classes])
        many = draw.chance(0.25) and "mass" not in noun.classes
        determiner = draw.choice(("the", "the", "this", "my", "your") if "thing" in noun.classes else ("the", "this"))
        subject = draw.noun_phrase(noun, "a.s", determiner=determiner, plural=many)
    return with_end(spoken(describing(draw, subject, "a")), ".")


def compared(draw: Draw) -> Phrase:
    """The castle is older than the church."""
    equal, negation = draw.chance(0.4), "not" if draw.chance(0.3) else ""
    if draw.chance(0.35):
        subject, other = draw.person("a.s", pronouns=0.25), draw.person("b.s", pronouns=0.0)
        adjective = adjectives()[draw.choice([name for name in CHARACTER if name not in ("famous", "elegant")])]
        if subject.plural != other.plural or subject.plural:
            raise NoChoice
        for node in (subject, other):
            if isinstance(node, NounPhrase):
                raise_unless_known(draw, adjective, node.noun)
    else:
        adjective = draw.choice([a for a in adjectives().values() if a.lemma not in ABSOLUTE | BEYOND_COMPARE])
        fitting = nouns_with(adjective, draw.held)
        first = draw.choice([n for n in fitting if "human" not in n.classes])
        second = draw.choice([n for n in alike(first, fitting) if n is not first])
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


def raise_unless_known(draw: Draw, adjective: Adjective, noun: Noun) -> None:
    """Raises NoChoice, to draw again, if this split may not use the pair of adjective and noun."""
    draw.choice([n for n in nouns_with(adjective, draw.held) if n is noun])
    draw.pairs += 1


def alike(noun: Noun, candidates: list[Noun]) -> list[Noun]:
    """Return the nouns of the same kind: buildings with buildings, clothes with clothes."""
    kinds = ("worn", "animal", "fruit", "food", "drink", "building", "vehicle", "furniture", "room", "text", "place",
             "plant", "high", "device")  # fmt: skip
    kind = next((kind for kind in kinds if kind in noun.classes), noun.lemma)
    return [other for other in candidates if kind in other.classes]


def possession(draw: Draw) -> Phrase:
    """My brother's car is red; I'm repairing Anna's bicycle."""
    owner = draw.choice((draw.relation, draw.relation, draw.first_name, draw.titled_name))("a.o.w")
    if owner.plural or (isinstance(owner, Name) and owner.phrase.english[-1].form.endswith(("s", "x", "z"))):
        raise NoChoice
    if draw.chance(0.5):
        noun = draw.choice([n for n in nouns().values() if n.classes & OWNED and n.lemma not in UNOWNED])
        thing = draw.noun_phrase(noun, "a.s", determiner="the", plural="pair" in noun.classes, owner=owner)
        return with_end(spoken(describing(draw, thing, "a")), ".")
    verb, subject = verbs("transitive")[draw.choice(DONE_TO_OWNED)], draw.person("a.s", pronouns=0.8)
    bare = object_for(draw, verb, "a.o", subject, wanted=" ".join(OWNED))
    if bare.noun.lemma in UNOWNED:
        raise NoChoice
    thing = replace(bare, determiner="the", owner=owner)
    node = Clause(key="a", subject=subject, verb=verb, object=thing, tense=tense_of(draw, verb))
    return with_end(spoken(timed(draw, node, 0.3)), ".")


def profession(draw: Draw) -> Phrase:
    """My uncle is a doctor."""
    subject = (
        draw.first_name("a.s")
        if draw.chance(0.4)
        else draw.titled_name("a.s")
        if draw.chance(0.4)
        else draw.relation("a.s")
    )
    subject = replace(subject, plural=False)
    trade = nouns()[draw.choice(TRADES[subject.sex])]
    key = "a.p"
    predicate = Phrase(
        [Word("a", (f"{key}.d",)), Word(trade.english[0], (key,))],
        [Word(trade.french[0], (key,))],
        [Word(trade.german[0], (key,))],
    )
    node = Clause(
        key="a", subject=subject, verb=BE, predicate=predicate, tense=draw.choice(("present", "present", "past"))
    )
    return with_end(spoken(node), ".")


def state(draw: Draw) -> Phrase:
    """I'm hungry (French and German have hunger)."""
    fixed = draw.fixed("state")
    subject = draw.person("a.s")
    negation = "not" if draw.chance(0.35) else ""
    tense = draw.choice(("present", "present", "past"))
    ids = ("a.p", "a.not") if negation else ("a.p",)
    is_ = Clause(key="a", subject=subject, verb=BE, predicate=phrase(*fixed, "a.p"), tense=tense, negation=negation)
    has = replace(is_, verb=HAVE)
    lines = spoken(has)
    line = spoken(is_).english
    if negation:  # kein Hunger
        kein = "keine" if fixed.german == "Angst" else "keinen"
        at = next(i for i, word in enumerate(lines.german) if word.form == "nicht")
        lines.german[at] = Word(kein, ids[1:])
    return with_end(Phrase(line, lines.french, lines.german), ".")


def liking(draw: Draw) -> Phrase:
    """My sister likes cheese."""
    verb = verbs("preference")["like"]
    noun = draw.object_of(verb)
    negated = draw.chance(0.3)
    determiner = "bare any" if negated else "bare"
    thing = draw.noun_phrase(noun, "a.o", determiner=determiner, plural="mass" not in noun.classes)
    node = Clause(key="a", subject=draw.person("a.s"), verb=verb, object=thing, negation="not" if negated else "")
    return with_end(spoken(node), ".")
