"""Constructions: sentences of two clauses."""

from __future__ import annotations

from dataclasses import replace

from phrasebook import german_syntax
from phrasebook.clauses import action, event, happening, joined, object_for, spoken, timed
from phrasebook.draw import Draw, NoChoice, nouns_with
from phrasebook.entries import adjectives, locations, modals, verbs, verbs_of
from phrasebook.grammar import Phrase, Word, phrase
from phrasebook.meaning import Clause, Nominal, NounPhrase, Pronoun, Verb
from phrasebook.predicates import BE, describing, quality
from phrasebook.realize import with_end

GLAD = ("find", "receive", "meet", "solve", "sell")
SORRY = ("lose", "forget", "break")
INDOORS = ("cook", "rest", "play =cards/n", "play =chess/n", "play =the/p piano/n", "play =the/p violin/n",
           "play =the/p guitar/n", "learn =German/n", "learn =French/n")  # fmt: skip
OUTDOORS = ("go =for/n a/n walk/n", "play =football/n", "play =tennis/n", "ride =a/p bicycle/n", "go =shopping/n")
MISSED = ("sleep", "wait", "dance", "stay", "rest", "go =for/n a/n walk/n", "travel")
NO_DUTY = {"see", "hear", "listen +to", "wear", "put ~on", "take ~off", "taste", "eat", "drink", "order", "choose",
           "sing", "look +at", "follow", "hide", "draw"}  # fmt: skip
DUTIES = ("work", "cook", "go =shopping/n")


def coordination(draw: Draw) -> Phrase:
    """My brother is reading the newspaper and my sister is sleeping."""
    first = happening(draw, "a")
    second = happening(draw, "b")
    if first.tense != second.tense or first.subject == second.subject or first.verb is second.verb:
        raise NoChoice
    first, second = short(first), short(second)
    return with_end(joined(spoken(first), ("and", "et", "und"), spoken(second)), ".")


def short(node: Clause) -> Clause:
    """Return the clause without its place, which only "stay" needs."""
    return node if node.verb.lemma == "stay" else replace(node, place=None)


def meanwhile(draw: Draw) -> Phrase:
    """I'm cooking while you're reading the letter."""
    first, second = event(draw, "a"), happening(draw, "b")
    if any(node.verb.flags & {"punctual", "stative", "slow", "accident"} for node in (first, second)):
        raise NoChoice
    if first.verb is second.verb or same_person(first.subject, second.subject):
        raise NoChoice
    main = spoken(replace(first, tense="present"))
    clause = spoken(replace(short(second), tense="present"), "subordinate")
    return with_end(_subordinated(main, ("while", "pendant que", "während"), clause), ".")


def same_person(one: Nominal, other: Nominal) -> bool:
    """Whether two subjects may be the same person."""
    return isinstance(one, Pronoun) and isinstance(other, Pronoun) and one.slot == other.slot


def _subordinated(main: Phrase, conjunction: tuple[str, str, str], clause: Phrase) -> Phrase:
    """Join a main and a subordinate clause; German has a comma before every subordinate clause."""
    return joined(main, ("", "", ","), conjunction, clause)


def because(draw: Draw) -> Phrase:
    """She's sad because she lost her ring; he can't come because he has to work."""
    main, why = (because_of_luck if draw.chance(0.5) else because_of_duty)(draw, draw.person("a.s"))
    return with_end(_subordinated(spoken(main), ("because", "parce que", "weil"), spoken(why, "subordinate")), ".")


def because_of_luck(draw: Draw, subject: Nominal) -> tuple[Clause, Clause]:
    """ "She's sad", "she lost her ring"."""
    glad = draw.chance(0.5)
    adjective = adjectives()["happy" if glad else "sad"]
    if isinstance(subject, NounPhrase) and subject.noun not in nouns_with(adjective, draw.held):
        draw.refused = True  # when it is whole: another draw would give seeds other sentences from here on
    feeling = quality(adjective, subject, "a.p")
    verb = verbs("transitive")[draw.choice(GLAD if glad else SORRY)]
    why = action(draw, "b", subject=resumed(subject, "b.s"), verb=verb, tense="past")
    return Clause(key="a", subject=subject, verb=BE, predicate=feeling), timed(draw, why, 0.3)


def because_of_duty(draw: Draw, subject: Nominal) -> tuple[Clause, Clause]:
    """ "He can't rest", "he has to repair the car"."""
    verb = verbs("intransitive")[draw.choice(MISSED)]
    main = Clause(key="a", subject=subject, verb=verb, modal=modals()["can"], negation="not")
    again, duty = resumed(subject, "b.s"), draw.choice(duties())
    why = Clause(key="b", subject=again, verb=duty, modal=modals()["must"])
    if duty.objects:
        why = replace(why, object=object_for(draw, duty, "b.o", again))
    if verb.lemma == "stay":
        main = replace(main, place=phrase(*locations()["home"].phrase, "a.where"))
    return main, why


def duties() -> list[Verb]:
    """Return the verbs for what somebody may have to do."""
    return [verbs("intransitive")[name] for name in DUTIES] + [
        verb
        for verb in verbs_of("transitive")
        if verb.lemma not in NO_DUTY and not verb.flags & {"punctual", "stative", "timeless", "slow", "accident"}
    ]


def resumed(subject: Nominal, key: str) -> Nominal:
    """Return the pronoun that refers to the subject of the main clause."""
    if not isinstance(subject, NounPhrase) and subject.plural and subject.person == 3:
        return Pronoun(key=key, plural=True)
    return Pronoun(
        key=key, person=subject.person, plural=subject.plural, sex=subject.sex or "m",
        french_gender=subject.french_gender, german_gender=subject.german_gender,
    )  # fmt: skip


def reported(draw: Draw) -> Phrase:
    """I think that the teacher found his key."""
    verb = draw.choice(verbs_of("clausal"))
    subject = draw.person("k.s")
    if subject.person == 2 or (verb.lemma == "say" and subject.person == 1):
        raise NoChoice
    main = Clause(key="k", subject=subject, verb=verb)
    node = (
        happening(draw, "b", negated=draw.chance(0.2))
        if draw.chance(0.8)
        else describing(draw, draw.person("b.s"), "b", plain=True)
    )
    if verb.lemma == "hope":
        node = replace(happening(draw, "b"), tense="future")
        if node.verb.flags & {"timeless", "stative"} or node.verb.lemma in SORRY:
            raise NoChoice
    if verb.lemma == "say":
        main = replace(main, tense="habitual")
    return with_end(_subordinated(spoken(main), ("that", "que", "dass"), spoken(node, "subordinate")), ".")


def condition(draw: Draw) -> Phrase:
    """If it rains tomorrow, we're going to stay at home."""
    key = "w"
    time = draw.time("future", f"{key}.when", verbs("intransitive")["rest"])
    rain = draw.chance(0.7)
    english_verb, french_verb, german_verb = ("rains", "pleut", "regnet") if rain else ("snows", "neige", "schneit")
    weather = joined(
        phrase("if/i it/s", "si/i il/s", "wenn/i es/s", key),
        Phrase(
            [Word(english_verb, ("w.v",)), *time.english],
            [Word(french_verb, ("w.v",)), *time.french],
            [*time.german, Word(german_verb, ("w.v",))],
        ),
        (",", ",", ","),
    )
    subject = draw.person("a.s")
    name = draw.choice(("stay", "stay", *INDOORS, *OUTDOORS))
    verb = verbs("intransitive").get(name) or verbs("activity")[name]
    node = Clause(key="a", subject=subject, verb=verb, tense="future", negation="not" if name in OUTDOORS else "")
    if name == "stay":
        node = replace(node, place=phrase(*locations()[draw.choice(("home", "hotel"))].phrase, "a.where"))
    lines = spoken(node)
    inverted = german_syntax.clause(node, "question")
    return with_end(joined(weather, Phrase(lines.english, lines.french, inverted)), ".")
