"""Constructions: relative clauses and infinitives."""

from __future__ import annotations

from dataclasses import replace

from phrasebook import english_syntax, french_syntax, german_syntax
from phrasebook.clauses import happening, joined, object_for, placed, relative_to, spoken, timed
from phrasebook.draw import Draw, NoChoice
from phrasebook.entries import errands, nouns_of, verbs, verbs_of
from phrasebook.grammar import Line, Phrase, Word, phrase
from phrasebook.meaning import Clause
from phrasebook.predicates import BE, describing
from phrasebook.realize import with_end

ENJOYED = {"sing", "dance", "cook", "travel", "go =for/n a/n walk/n", "go =shopping/n"}


def subject_relative(draw: Draw) -> Phrase:
    """The woman who is reading the newspaper is my aunt."""
    noun = draw.choice([n for n in nouns_of("person") if "child" not in n.classes])
    person = draw.noun_phrase(noun, "a.s", determiner="the")
    node = happening(draw, "r", subject=relative_to(person, "r.s"))
    if node.verb.flags & {"steady"}:
        raise NoChoice
    lines = spoken(node, "subordinate")
    comma = [Word(",", ("comma",))]
    person = replace(person, relative=lines._replace(german=[*comma, *lines.german, *comma]))
    if draw.chance(0.5):
        relation = draw.relation("b.s")
        if relation.sex != noun.sex or relation.plural:
            raise NoChoice
        predicate = Phrase(
            english_syntax.noun_phrase(relation),
            french_syntax.noun_phrase(relation),
            german_syntax.noun_phrase(relation, "nominative"),
        )
        return with_end(spoken(Clause(key="a", subject=person, verb=BE, predicate=predicate)), ".")
    return with_end(spoken(describing(draw, person, "a", plain=True)), ".")


def object_relative(draw: Draw) -> Phrase:
    """The lamp that I bought is very old."""
    verb = draw.choice(
        [
            verb
            for verb in verbs_of("transitive")
            if "human" not in verb.objects and not verb.french.preposition and "steady" not in verb.flags
        ]
    )
    noun = draw.object_of(verb)
    many = "mass" not in noun.classes and draw.chance(0.9 if noun.classes & {"pair", "many"} else 0.2)
    thing = draw.noun_phrase(noun, "a.s", determiner="the", plural=many)
    tense = "past" if draw.chance(0.75) or verb.flags & {"punctual", "stative"} else "present"
    node = Clause(key="r", subject=draw.person("r.s"), verb=verb, object=relative_to(thing, "r.o"), tense=tense)
    lines = spoken(timed(draw, node, 0.2), "subordinate")
    comma = [Word(",", ("comma",))]
    thing = replace(thing, relative=lines._replace(german=[*comma, *lines.german, *comma]))
    return with_end(spoken(describing(draw, thing, "a")), ".")


def purpose(draw: Draw) -> Phrase:
    """He's going to the market to buy apples."""
    to, name, classes = draw.choice(errands())
    verb = verbs("transitive")[name]
    subject = draw.person("a.s")
    thing = object_for(draw, verb, "b.o", subject, adjectives=0, wanted=classes)
    if name in ("buy", "eat"):
        thing = replace(thing, determiner="some" if thing.plural or "mass" in thing.noun.classes else "a")
    go = Clause(
        key="a",
        subject=subject,
        verb=verbs("simple")["go"],
        tense=draw.choice(("past", "past", "present")),
        goal=phrase(*to, "a.to"),
    )
    errand = Clause(key="b", subject=subject, verb=verb, object=thing)
    aim = Phrase(
        english_syntax.infinitive(errand),
        [Word("pour", ("b.to",)), *french_syntax.infinitive(errand)],
        [Word(",", ("comma",)), Word("um", ("b.to",)), *german_syntax.infinitive(errand, [Word("zu", ("b.to",))])],
    )
    return with_end(joined(spoken(go), aim), ".")


def enjoying(draw: Draw) -> Phrase:
    """She likes reading in the garden (German says it with an adverb, "gern")."""
    verb = draw.choice([*(verb for verb in verbs_of("intransitive") if verb.lemma in ENJOYED), *verbs_of("activity")])
    subject = draw.person("a.s")
    negated = draw.chance(0.3)
    doing = placed(draw, Clause(key="b", subject=subject, verb=verb), 0.5)
    likes = Clause(key="a", subject=subject, verb=verbs("simple")["like:doing"], negation="not" if negated else "")
    gern: Line = [Word("gern", ("a.v",))]
    present = replace(doing, frequency=Phrase([], [], gern), tense="present")
    german = german_syntax.clause(present)
    if negated:
        at = next(i for i, word in enumerate(german) if word.form == "gern")
        german.insert(at, Word("nicht", ("a.not",)))
    lines = spoken(likes)
    return with_end(
        Phrase(
            [*lines.english, *english_syntax.gerund(doing)],
            [*lines.french, *french_syntax.infinitive(doing)],
            german,
        ),
        ".",
    )
