"""Constructions: requests and prohibitions, said to one person."""

from __future__ import annotations

from dataclasses import replace

from phrasebook import english_syntax, french, french_syntax, german, german_syntax
from phrasebook.clauses import joined, object_for
from phrasebook.draw import Draw
from phrasebook.entries import verbs
from phrasebook.grammar import Line, Phrase, Word, words
from phrasebook.meaning import Clause, NounPhrase, Pronoun
from phrasebook.realize import with_end

REQUESTS = ("open", "close", "repair", "clean", "wash", "cut", "turn ~on", "turn ~off", "taste", "read", "sign",
            "correct", "buy", "order", "help", "call", "wait +for", "translate", "water",
            "feed", "put ~on", "take ~off", "explain", "learn", "solve", "answer")  # fmt: skip
PROHIBITIONS = ("forget", "lose", "break", "open", "close", "sell", "buy", "turn ~on", "turn ~off", "follow", "sign")
YOU = Pronoun(key="you", person=2)


def request(draw: Draw) -> Phrase:
    """Close the door, please."""
    verb = verbs("transitive")[draw.choice(REQUESTS)]
    thing = single(object_for(draw, verb, "a.o", YOU))
    if thing.determiner == "a" and verb.lemma not in ("buy", "order"):
        thing = replace(thing, determiner="the")
    node = Clause(key="a", subject=YOU, verb=verb, object=thing)
    please = Phrase(words("please", "z"), words("s' il te plaît", "z"), [])
    lines = imperative(node, words("bitte", "z"))
    return with_end(joined(lines, (",", ",", ""), please), ".")


def gift(draw: Draw) -> Phrase:
    """Give me the key, please: "donne-moi" is one word in French."""
    verb = verbs("ditransitive")[draw.choice(("give", "show", "send", "lend", "bring"))]
    thing = object_for(draw, verb, "a.o", YOU)
    if thing.determiner == "your" and verb.lemma == "bring":
        thing = replace(thing, determiner="the")
    me = Pronoun(key="a.r", person=1, plural=draw.chance(0.3))
    node = Clause(key="a", subject=YOU, verb=verb, object=thing, recipient=me)
    lines = imperative(node, words("bitte", "z"))
    stressed = "nous" if me.plural else "moi"
    stem = french.present(verb.french.base)[0]
    give = [Word(f"{stem}-{stressed}", ("a.v", me.key)), *french_syntax.nominal_line(thing)]
    please = Phrase(words("please", "z"), words("s' il te plaît", "z"), [])
    return with_end(joined(lines._replace(french=give), (",", ",", ""), please), ".")


def prohibition(draw: Draw) -> Phrase:
    """Don't forget your umbrella!"""
    verb = verbs("transitive")[draw.choice(PROHIBITIONS)]
    thing = single(object_for(draw, verb, "a.o", YOU, negated=True))
    if thing.determiner in ("a", "any"):
        thing = replace(thing, determiner="this")
    node = Clause(key="a", subject=YOU, verb=verb, object=thing, negation="not")
    not_ = ("a.not",)
    lines = imperative(node, [])
    return with_end(
        Phrase(
            [Word("don't", not_), *lines.english],
            [Word("ne", not_), lines.french[0], Word("pas", not_), *lines.french[1:]],
            lines.german,
        ),
        "!",
    )


def single(thing: NounPhrase) -> NounPhrase:
    """Return the singular, unless such things come in pairs or heaps: nobody turns off "your televisions"."""
    vague = thing.determiner in ("some", "several", "any", "two", "three")
    return thing if vague or thing.noun.classes & {"pair", "many"} else replace(thing, plural=False)


def imperative(node: Clause, please: Line) -> Phrase:
    """Return the bare imperative; in German, "bitte" is inside."""
    one = english_syntax.infinitive(node)[1:]
    two = [Word(french.present(node.verb.french.base)[0], ("a.v",)), *french_syntax.complements(node)]
    verb = node.verb.german
    middle = german_syntax.middle(node)
    pronouns = 1 if isinstance(node.recipient, Pronoun) else 0
    prefix = words(verb.prefix, "a.v")
    three = [Word(german.imperative(verb.base), ("a.v",)), *middle[:pronouns], *please, *middle[pronouns:], *prefix]
    return Phrase(one, two, three)
