"""Clauses with sensible content, and their wording in the three languages."""

from __future__ import annotations

from dataclasses import replace

from phrasebook import english_syntax, french_syntax, german_syntax
from phrasebook.draw import Draw, NoChoice
from phrasebook.entries import locations, verbs_of
from phrasebook.grammar import Phrase, phrase, words
from phrasebook.meaning import Clause, Nominal, Noun, NounPhrase, Pronoun, Relative, Verb

WOMENS = ("dress", "skirt")
CHILDREN = ("son", "daughter", "nephew", "niece")
SPEAKERS = ((1, False), (2, False), (3, False), (1, True), (3, True))


def spoken(node: Clause, order: str = "main") -> Phrase:
    """Return the clause in the three languages; `order` is the German word order."""
    return Phrase(english_syntax.clause(node), french_syntax.clause(node), german_syntax.clause(node, order))


def joined(*parts: Phrase | tuple[str, str, str]) -> Phrase:
    """Concatenate phrases; the words of a tuple of texts are aligned with each other."""
    whole = Phrase([], [], [])
    for number, part in enumerate(parts):
        added = part if isinstance(part, Phrase) else Phrase(*(words(text, f"{part[0]}.{number}") for text in part))
        for line, piece in zip(whole, added, strict=True):
            line += piece
    return whole


def nominal(node: Nominal, case: str = "nominative") -> Phrase:
    """Return a noun phrase or name on its own; `case` is the German case."""
    return Phrase(
        english_syntax.nominal_line(node, subject=case == "nominative"),
        french_syntax.nominal_line(node),
        german_syntax.nominal_line(node, case),
    )


def tense_of(draw: Draw, verb: Verb) -> str:
    """Draw a tense that the verb allows."""
    if "steady" in verb.flags:
        return "present"
    if "accident" in verb.flags:
        return "past"
    if "punctual" in verb.flags:
        return draw.choice(("past", "past", "past", "future"))
    tense = draw.choice(("present", "present", "past", "past", "future"))
    return "past" if tense == "future" and verb.flags & {"timeless", "stative"} else tense


def timed(draw: Draw, node: Clause, probability: float = 0.45) -> Clause:
    """Add an adverbial of time with this probability."""
    if not draw.chance(probability) or (node.tense == "present" and node.verb.flags & {"stative", "punctual"}):
        return node
    tense = node.tense
    if node.modal is not None:
        if node.modal.lemma == "can":
            return node
        tense = "past" if node.modal.lemma in ("could", "wanted") else "future"
    return replace(node, time=draw.time(tense, f"{node.key}.when", node.verb))


def placed(draw: Draw, node: Clause, probability: float = 0.3) -> Clause:
    """Add a place with this probability, if the verb has places."""
    if not node.verb.places or not draw.chance(probability):
        return node
    location = locations()[draw.choice(node.verb.places)]
    draw.random.random()  # unused, but without it every seed would give other sentences
    return replace(node, place=phrase(*location.phrase, f"{node.key}.where"))


def object_for(
    draw: Draw,
    verb: Verb,
    key: str,
    subject: Nominal,
    *,
    negated: bool = False,
    adjectives: int | None = None,
    wanted: str = "",
) -> NounPhrase:
    """Draw an object that the verb can have (of one of the `wanted` classes), other than the subject."""
    if "human" in verb.objects and not wanted and draw.chance(0.75):
        wanted = "kin" if draw.chance(0.5) else "person"
    noun = draw.object_of(verb, wanted)
    if noun.lemma in WOMENS and subject.sex != "f":
        raise NoChoice
    if isinstance(subject, NounPhrase) and (subject.noun is noun or _too_young(subject.noun, noun)):
        raise NoChoice
    definite = True if "definite" in verb.flags else False if "indefinite" in verb.flags else None
    if negated and definite is None:
        definite = "any" not in verb.flags or draw.chance(0.5)
    thing = draw.thing(noun, key, subject=subject, definite=definite, unfit=verb.unfit, adjectives=adjectives)
    return replace(thing, determiner="any") if negated and thing.determiner in INDEFINITE else thing


def _too_young(parent: Noun, child: Noun) -> bool:
    return "child" in parent.classes and child.lemma in CHILDREN


INDEFINITE = {"a", "some", "several", "two", "three"}


def action(
    draw: Draw,
    key: str = "a",
    *,
    subject: Nominal | None = None,
    verb: Verb | None = None,
    negated: bool = False,
    tense: str = "",
    adjectives: int | None = None,
) -> Clause:
    """Draw a clause in which somebody does something to something."""
    verb = verb or draw.choice(verbs_of("transitive"))
    subject = subject or draw.person(f"{key}.s")
    target = object_for(draw, verb, f"{key}.o", subject, negated=negated, adjectives=adjectives)
    tense = tense or tense_of(draw, verb)
    return Clause(key=key, subject=subject, verb=verb, object=target, tense=tense, negation="not" if negated else "")


def event(draw: Draw, key: str = "a", *, subject: Nominal | None = None, negated: bool = False) -> Clause:
    """Draw a clause in which somebody does something that needs no object."""
    verb = draw.choice(verbs_of("activity" if draw.chance(0.3) else "intransitive"))
    node = Clause(
        key=key,
        subject=subject or draw.person(f"{key}.s"),
        verb=verb,
        tense=tense_of(draw, verb),
        negation="not" if negated else "",
    )
    return placed(draw, node, 1.0 if verb.lemma == "stay" else 0.4)


def happening(draw: Draw, key: str = "a", *, subject: Nominal | None = None, negated: bool = False) -> Clause:
    """Draw an action or an event."""
    if draw.chance(0.7):
        return placed(draw, action(draw, key, subject=subject, negated=negated), 0.2)
    return event(draw, key, subject=subject, negated=negated)


def taken_up(node: Nominal, key: str) -> Pronoun:
    """Return the pronoun that refers to a noun phrase."""
    return Pronoun(
        key=key, plural=node.plural, sex=node.sex, french_gender=node.french_gender, german_gender=node.german_gender
    )


def relative_to(node: Nominal, key: str) -> Relative:
    """Return the relative pronoun whose antecedent is the noun phrase."""
    return Relative(
        key=key, plural=node.plural, sex=node.sex, french_gender=node.french_gender, german_gender=node.german_gender
    )
