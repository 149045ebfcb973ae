"""Constructions: simple sentences about what people do."""

from __future__ import annotations

from dataclasses import replace

from phrasebook.clauses import (
    INDEFINITE,
    SPEAKERS,
    action,
    event,
    happening,
    joined,
    object_for,
    placed,
    spoken,
    taken_up,
    tense_of,
    timed,
)  # fmt: skip
from phrasebook.draw import ONLY_ONE, Draw, NoChoice
from phrasebook.entries import modals, nouns, nouns_of, verbs, verbs_of
from phrasebook.german_syntax import clause as german_clause
from phrasebook.grammar import Phrase, phrase
from phrasebook.meaning import Clause, Nominal, NounPhrase, Pronoun
from phrasebook.predicates import BE, quality
from phrasebook.questions import where_is
from phrasebook.realize import with_end

HABITS = {  # verb: its usual objects
    "read": "newspaper magazine book", "eat": "food", "drink": "drink", "clean": "room shoe", "help": "kin",
    "wash": "car plate glass cup shirt", "call": "kin", "visit:person": "kin", "feed": "animal", "water": "plant",
    "drive": "driven", "buy": "fruit mass flower newspaper", "cook": "cooked", "wear": "worn", "sing": "song",
    "open": "window door", "close": "window door", "turn ~on": "radio television computer",
    "turn ~off": "radio television computer", "write": "letter postcard message", "meet": "kin",
    "prepare": "meeting", "wait +for": "bus train", "order": "ordered",
}  # fmt: skip
DONE_SOMEHOW = ("write", "open", "close", "cut", "wash", "drive", "clean", "repair", "carry", "translate")
TAKING_UP = ("buy", "read", "wear", "eat", "drink", "visit:place", "learn", "order", "sing", "translate",
             "put ~on", "explain", "understand", "solve", "taste", "sell")  # fmt: skip
PRAISE = set("good beautiful interesting delicious useful important comfortable pretty elegant funny new easy fresh"
             " famous modern light ripe".split())  # fmt: skip
BLAME = set("expensive bad boring difficult old strange sad long dangerous heavy dirty cold".split())
DOING = ("transitive", "intransitive", "activity")
PEOPLE_VERBS = ("see", "hear", "help", "call", "thank", "meet", "invite", "understand", "know", "look +for", "follow",
                "wait +for", "visit:person", "find")  # fmt: skip


def statement(draw: Draw) -> Phrase:
    """My father planted a rose last Tuesday."""
    return with_end(spoken(timed(draw, placed(draw, action(draw)))), ".")


def intransitive(draw: Draw) -> Phrase:
    """We're playing cards in the garden."""
    return with_end(spoken(timed(draw, event(draw))), ".")


def adjectives(draw: Draw) -> Phrase:
    """She bought a beautiful red dress."""
    node = action(draw, adjectives=draw.choice((1, 2, 2)))
    if not isinstance(node.object, NounPhrase) or not node.object.adjectives:
        raise NoChoice
    return with_end(spoken(timed(draw, node, 0.3)), ".")


def manner(draw: Draw) -> Phrase:
    """My uncle is opening the parcel carefully."""
    verb = verbs("transitive")[draw.choice(DONE_SOMEHOW)]
    node = action(draw, verb=verb, tense=draw.choice(("present", "past")))
    if not isinstance(node.object, NounPhrase) or node.object.determiner in INDEFINITE | {"any"}:
        raise NoChoice
    return with_end(spoken(replace(node, manner=phrase(*draw.fixed("manner"), "a.how"))), ".")


def negation(draw: Draw) -> Phrase:
    """The cook didn't buy any onions."""
    return with_end(spoken(timed(draw, happening(draw, negated=True), 0.25)), ".")


def habit(draw: Draw) -> Phrase:
    """My aunt never drinks coffee; they often play cards."""
    subject = draw.person("a.s")
    node: Clause
    if draw.chance(0.4):
        node = replace(event(draw, subject=subject), tense="habitual")
        if "habit" not in node.verb.flags:
            raise NoChoice
    else:
        node = _habitual_action(draw, subject)
    kind = draw.random.random()
    if kind < 0.4:
        node = replace(node, frequency=phrase(*draw.fixed("frequency"), "a.often"))
    elif kind < 0.55:
        node = replace(node, negation="never")
        if isinstance(node.object, NounPhrase) and node.object.determiner == "plain":
            node = replace(node, object=replace(node.object, determiner="plain never"))
    else:
        node = replace(node, time=draw.time("habitual", "a.when"))
    return with_end(spoken(node), ".")


def _habitual_action(draw: Draw, subject: Nominal) -> Clause:
    verb = verbs("transitive")[draw.choice(list(HABITS))]
    thing = object_for(draw, verb, "a.o", subject, adjectives=0, wanted=HABITS[verb.lemma])
    node = Clause(key="a", subject=subject, verb=verb, tense="habitual")
    if "mass" in thing.noun.classes:
        return replace(node, object=replace(thing, determiner="plain"))
    many = bool(thing.noun.classes & {"pair", "many", "plant"}) or verb.lemma in ("eat", "buy", "wash")
    if "kin" not in thing.noun.classes:
        indefinite = verb.lemma in ("eat", "buy", "write", "order", "wear", "sing", "read")
        thing = replace(thing, determiner=("plain" if many else "a") if indefinite else "the")
    return replace(node, object=replace(thing, plural=many))


def fronted_time(draw: Draw) -> Phrase:
    """Tomorrow we're going to visit the castle."""
    node = happening(draw)
    if "steady" in node.verb.flags:
        raise NoChoice
    if node.tense == "present":
        node = replace(node, tense="past")
    time = draw.time(node.tense, "a.when", node.verb)
    lines = spoken(node)
    front = joined(time, ("", ",", ""), Phrase(lines.english, lines.french, []))
    return with_end(front._replace(german=german_clause(node, front=time.german)), ".")


def modal(draw: Draw) -> Phrase:
    """He can't find his keys; you have to wash the car."""
    verb = draw.choice([verb for verb in verbs_of(*DOING) if "steady" not in verb.flags])
    chosen = draw.choice(list(modals().values()))
    willed = chosen.lemma in ("want", "must", "wanted")
    if willed and verb.lemma in ("lose", "forget", "break", "receive", "fall =asleep", "understand", "wake ~up"):
        raise NoChoice
    subject = draw.person("a.s")
    negated = draw.chance(0.35) and chosen.lemma != "must"
    node = Clause(key="a", subject=subject, verb=verb, modal=chosen, negation="not" if negated else "")
    if verb.objects:
        node = replace(node, object=object_for(draw, verb, "a.o", subject, negated=negated))
    return with_end(spoken(timed(draw, node, 0.3) if draw.chance(0.6) else placed(draw, node)), ".")


def separable(draw: Draw) -> Phrase:
    """She's turning off the radio."""
    verb = draw.choice([verb for verb in verbs_of(*DOING) if verb.german.prefix])
    subject = draw.person("a.s")
    if not verb.objects:
        node = Clause(key="a", subject=subject, verb=verb, tense="past" if "punctual" in verb.flags else "present")
        return with_end(spoken(timed(draw, placed(draw, node), 0.5)), ".")
    return with_end(spoken(timed(draw, action(draw, subject=subject, verb=verb), 0.5)), ".")


def somebody(draw: Draw, key: str, other_than: Nominal) -> Pronoun:
    """Draw one of me, you, him, her, us, them; never the same person as the subject."""
    person, plural = draw.choice([who for who in SPEAKERS if who[0] == 3 or who[0] != other_than.person])
    sex = draw.choice("mf") if person == 3 and not plural else "m"
    return Pronoun(key=key, person=person, plural=plural, sex=sex, french_gender=sex, german_gender=sex)


def clitic(draw: Draw) -> Phrase:
    """My sister didn't see him yesterday."""
    verb, subject = verbs("transitive")[draw.choice(PEOPLE_VERBS)], draw.person("a.s")
    node = Clause(
        key="a", subject=subject, verb=verb, object=somebody(draw, "a.o", subject), tense=tense_of(draw, verb),
        negation="not" if draw.chance(0.35) else "",
    )  # fmt: skip
    if "steady" not in verb.flags and draw.chance(0.25):
        able = ("can",) if verb.lemma in ("hear", "see", "understand") else ("can", "want", "wanted")
        node = replace(node, modal=modals()[draw.choice(able)])
    return with_end(spoken(timed(draw, node)), ".")


def taking_up(draw: Draw) -> Phrase:
    """The coat is expensive, but I'm going to buy it."""
    verb = verbs("transitive")[draw.choice(TAKING_UP)]
    noun = draw.object_of(verb)
    many = "mass" not in noun.classes and draw.chance(0.9 if noun.classes & {"pair", "many"} else 0.2)
    thing = draw.noun_phrase(noun, "b.s", determiner=draw.choice(("the", "this")), plural=many)
    praise = draw.chance(0.5)
    adjective = draw.choice([a for a in draw.predicates_of(noun) if a.lemma in (PRAISE if praise else BLAME)])
    first = Clause(key="b", subject=thing, verb=BE, predicate=quality(adjective, thing, "b.p"))
    negated = draw.chance(0.4)
    tense = draw.choice(("past", "future")) if verb.lemma != "understand" else "past"
    second = Clause(
        key="a", subject=draw.person("a.s"), verb=verb, object=taken_up(thing, "a.o"), tense=tense,
        negation="not" if negated else "",
    )  # fmt: skip
    if tense == "future" and draw.chance(0.5):
        second = replace(second, modal=modals()["want"])
    but = praise == negated
    conjunction = (",", ",", ","), ("but", "mais", "aber") if but else ("and", "et", "und")
    return with_end(joined(spoken(first), *conjunction[0 if but else 1 :], spoken(second)), ".")


def dative(draw: Draw) -> Phrase:
    """My uncle gave the children a ball."""
    verb = draw.choice(verbs_of("ditransitive"))
    subject = draw.person("a.s")
    node = action(draw, subject=subject, verb=verb)
    node = replace(node, recipient=recipient(draw, "a.r", subject))
    return with_end(spoken(timed(draw, node)), ".")


def recipient(draw: Draw, key: str, subject: Nominal) -> Nominal:
    """Draw a person who is given something."""
    if draw.chance(0.4):
        return somebody(draw, key, subject)
    if draw.chance(0.25):
        return draw.first_name(key) if draw.chance(0.6) else draw.titled_name(key)
    noun = draw.choice(nouns_of("kin" if draw.chance(0.6) else "person"))
    if isinstance(subject, NounPhrase) and subject.noun is noun:
        noun = nouns()["colleague" if noun.lemma != "colleague" else "friend"]
    determiner = draw.possessive(subject) if "kin" in noun.classes else "the"
    return draw.noun_phrase(noun, key, determiner=determiner, plural=draw.chance(0.15) and not noun.classes & ONLY_ONE)


def double_clitic(draw: Draw) -> Phrase:
    """Where is the book? I lent it to her."""
    verb = verbs("ditransitive")[draw.choice(("give", "lend", "send", "show", "bring"))]
    subject = draw.person("a.s", pronouns=0.7)
    if subject.person == 2:  # somebody who asks for a thing does not know where it is
        raise NoChoice
    thing = draw.noun_phrase(
        draw.object_of(verb), "b.s", determiner=draw.choice(("the", "this", "the")), plural=draw.chance(0.25)
    )
    if "mass" in thing.noun.classes:
        thing = replace(thing, plural=False, determiner="the")
    first = where_is(thing, "b")
    second = Clause(
        key="a",
        subject=subject,
        verb=verb,
        object=taken_up(thing, "a.o"),
        tense=draw.choice(("past", "future", "past")),
        recipient=recipient(draw, "a.r", subject),
    )
    return with_end(joined(first, ("?", "?", "?"), spoken(timed(draw, second, 0.3))), ".")
