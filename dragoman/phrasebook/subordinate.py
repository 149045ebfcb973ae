"""Constructions: sentences of more than one clause."""

from __future__ import annotations

from dataclasses import replace

from dragoman.phrasebook import english_syntax, french_syntax, german_syntax
from dragoman.phrasebook.clauses import (
    EVENTS, PLACES, TRANSITIVES, action, event, happening, joined, object_for, placed, relative_to, spoken, timed,
)  # fmt: skip
from dragoman.phrasebook.draw import PEOPLE, Draw
from dragoman.phrasebook.grammar import Line, Phrase, Word, phrase
from dragoman.phrasebook.lexicon import ACTIVITIES, CLAUSAL, INTRANSITIVE, TRANSITIVE
from dragoman.phrasebook.lexicon_function import MODALS
from dragoman.phrasebook.lexicon_places import DIRECTIONS
from dragoman.phrasebook.meaning import Clause, EnglishVerb, FrenchVerb, GermanVerb, Nominal, NounPhrase, Pronoun, Verb
from dragoman.phrasebook.predicates import BE, FEELINGS, describing, quality
from dragoman.phrasebook.realise import with_end

NONE: frozenset[str] = frozenset()
GO = Verb("go", EnglishVerb("go"), FrenchVerb("aller"), GermanVerb("gehen"), NONE, NONE, NONE)
ERRANDS = {  # direction: what one does there, to what
    "market": ("buy", "fruit mass many flower"), "bakery": ("buy", "cake bread"), "library": ("read", "newspaper book"),
    "museum": ("look +at", "painting"), "restaurant": ("eat", "dish"), "station": ("wait +for", "kin"),
    "bank": ("sign", "contract"), "neighbours": ("lend", ""), "park": ("feed", "bird duck"),
}  # fmt: skip
WHERE_TO = {row.split(" | ")[0]: row.split(" | ")[1:] for row in DIRECTIONS.strip().splitlines()}
GLAD = ("find", "receive", "meet", "solve", "sell")
SORRY = ("lose", "forget", "break")
INDOORS = ("cook", "rest", "play =cards/n", "play =chess/n", "play =the/p piano/n", "play =the/p violin/n",
           "play =the/p guitar/n", "learn =German/n", "learn =French/n")  # fmt: skip
OUTDOORS = ("go =for/n a/n walk/n", "play =football/n", "play =tennis/n", "ride =a/p bicycle/n", "go =shopping/n")
SUBJECTLESS_SINGING = ("read", "sing", "dance", "cook", "travel", "go =for/n a/n walk/n", "write", "draw", "drink", "eat",
                       "play =football/n", "play =cards/n", "play =chess/n", "play =the/p piano/n", "ride =a/p bicycle/n")  # fmt: skip


def coordination(draw: Draw) -> Phrase:
    """My brother is reading the newspaper and my sister is sleeping."""
    first = happening(draw, "a")
    second = happening(draw, "b")
    if first.tense != second.tense or first.subject == second.subject or first.verb is second.verb:
        return coordination(draw)
    first, second = replace(first, place=None), replace(second, place=None)
    return with_end(joined(spoken(first), ("and", "et", "und"), spoken(second)), ".")


def meanwhile(draw: Draw) -> Phrase:
    """I'm cooking while you're reading the letter."""
    first, second = event(draw, "a"), happening(draw, "b")
    allowed = all(not node.verb.flags & {"punctual", "stative", "steady"} for node in (first, second))
    if not allowed or first.verb is second.verb or type(first.subject) is type(second.subject) and first.subject.slot == second.subject.slot:
        return meanwhile(draw)
    first, second = replace(first, tense="present"), replace(second, tense="present", place=None)
    return with_end(_subordinated(spoken(first), ("while", "pendant que", "während"), spoken(second, "subordinate")), ".")


def _subordinated(main: Phrase, conjunction: tuple[str, str, str], clause: Phrase) -> Phrase:
    """German sets a comma before every subordinate clause."""
    return joined(main, ("", "", ","), conjunction, clause)


def because(draw: Draw) -> Phrase:
    """She's sad because she lost her ring; he can't come because he has to work."""
    subject = draw.person("a.s")
    again = resumed(subject, "b.s")
    if draw.chance(0.5):
        glad = draw.chance(0.5)
        adjective = next(a for a in FEELINGS if a.lemma == ("happy" if glad else "sad"))
        main = Clause(key="a", subject=subject, verb=BE, predicate=quality(adjective, subject, "a.p"))
        reason = action(draw, "b", subject=again, verb=TRANSITIVE[draw.choice(GLAD if glad else SORRY)], tense="past")
        why = spoken(timed(draw, reason, 0.3), "subordinate")
    else:
        verb = INTRANSITIVE[draw.choice(("sleep", "wait", "dance", "stay", "rest", "go =for/n a/n walk/n", "travel"))]
        main = placed(draw, Clause(key="a", subject=subject, verb=verb, modal=MODALS["can"], negation="not"), 1.0 if verb.lemma == "stay" else 0.0)
        other = draw.choice([v for v in (*TRANSITIVES, *EVENTS) if v.lemma not in IMPOSED and "punctual" not in v.flags and "stative" not in v.flags])
        reason = Clause(key="b", subject=again, verb=other, modal=MODALS["must"])
        if other.objects:
            reason = replace(reason, object=object_for(draw, other, "b.o", again))
        why = spoken(reason, "subordinate")
    return with_end(_subordinated(spoken(main), ("because", "parce que", "weil"), why), ".")


IMPOSED = {"know", "sleep", "rest", "stay", "wait", "laugh", "cry", "smile", "dance", "think +about", "hear", "hide"}


def resumed(subject: Nominal, key: str) -> Nominal:
    """The pronoun that takes up the subject of the main clause."""
    if not isinstance(subject, NounPhrase) and subject.plural and subject.person == 3:
        return Pronoun(key=key, plural=True)
    return Pronoun(
        key=key, person=subject.person, plural=subject.plural, sex=subject.sex or "m",
        french_gender=subject.french_gender, german_gender=subject.german_gender,
    )  # fmt: skip


def reported(draw: Draw) -> Phrase:
    """I think that the teacher found his key."""
    verb = CLAUSAL[draw.choice(list(CLAUSAL))]
    subject = draw.person("k.s")
    if isinstance(subject, Pronoun) and subject.person == 2:
        return reported(draw)
    main = Clause(key="k", subject=subject, verb=verb)
    node = happening(draw, "b", negated=draw.chance(0.2)) if draw.chance(0.8) else describing(draw, draw.person("b.s"), "b", plain=True)
    if verb.lemma == "hope":
        node = replace(happening(draw, "b"), tense="future")
        if node.verb.flags & {"timeless", "stative"} or node.verb.lemma in SORRY:
            return reported(draw)
    if verb.lemma == "say":
        main = replace(main, tense="habitual")
    return with_end(_subordinated(spoken(main), ("that", "que", "dass"), spoken(node, "subordinate")), ".")


def condition(draw: Draw) -> Phrase:
    """If it rains tomorrow, we're going to stay at home."""
    key = "w"
    time = draw.time("future", f"{key}.when", near=True)
    rain = draw.chance(0.7)
    english_verb, french_verb, german_verb = ("rains", "pleut", "regnet") if rain else ("snows", "neige", "schneit")
    weather = joined(
        phrase("if/i it/s", "si/i il/s", "wenn/i es/s", key),
        Phrase([Word(english_verb, ("w.v",)), *time.english], [Word(french_verb, ("w.v",)), *time.french], [*time.german, Word(german_verb, ("w.v",))]),
        (",", ",", ","),
    )
    subject = draw.person("a.s")
    name = draw.choice(("stay", "stay", *INDOORS, *OUTDOORS))
    verb = INTRANSITIVE.get(name) or ACTIVITIES[name]
    node = Clause(key="a", subject=subject, verb=verb, tense="future", negation="not" if name in OUTDOORS else "")
    if name == "stay":
        node = replace(node, place=phrase(*PLACES[draw.choice(("home", "hotel"))], "a.where"))
    lines = spoken(node)
    inverted = german_syntax.clause(node, "question")
    return with_end(joined(weather, Phrase(lines.english, lines.french, inverted)), ".")


def subject_relative(draw: Draw) -> Phrase:
    """The woman who is reading the newspaper is my aunt."""
    noun = draw.choice([n for n in PEOPLE if n.sex])
    person = draw.noun_phrase(noun, "a.s", determiner="the")
    node = happening(draw, "r", subject=relative_to(person, "r.s"))
    if node.verb.flags & {"steady"}:
        return subject_relative(draw)
    lines = spoken(node, "subordinate")
    comma = [Word(",", ("comma",))]
    person = replace(person, relative=lines._replace(german=[*comma, *lines.german, *comma]))
    if draw.chance(0.5):
        relation = draw.relation("b.s")
        if relation.sex != noun.sex or relation.plural:
            return subject_relative(draw)
        predicate = Phrase(english_syntax.noun_phrase(relation), french_syntax.noun_phrase(relation), german_syntax.noun_phrase(relation, "nominative"))
        return with_end(spoken(Clause(key="a", subject=person, verb=BE, predicate=predicate)), ".")
    return with_end(spoken(describing(draw, person, "a", plain=True)), ".")


def object_relative(draw: Draw) -> Phrase:
    """The lamp that I bought is very old."""
    verb = draw.choice([v for v in TRANSITIVES if "human" not in v.objects and not v.french.preposition and "steady" not in v.flags])
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
    place = draw.choice([name for name in ERRANDS if ERRANDS[name][1]])
    name, classes = ERRANDS[place]
    verb, wanted = TRANSITIVE[name], set(classes.split())
    subject = draw.person("a.s")
    thing = object_for(draw, verb, "b.o", subject, adjectives=0)
    while not thing.noun.classes & wanted:
        thing = object_for(draw, verb, "b.o", subject, adjectives=0)
    go = Clause(key="a", subject=subject, verb=GO, tense=draw.choice(("past", "past", "present")), goal=phrase(*WHERE_TO[place], "a.to"))
    go = timed(draw, go, 0.0)
    errand = Clause(key="b", subject=subject, verb=verb, object=thing)
    to = [Word("zu", ("b.to",))]
    aim = Phrase(
        english_syntax.infinitive(errand),
        [Word("pour", ("b.to",)), *french_syntax.infinitive(errand)],
        [Word(",", ("comma",)), Word("um", ("b.to",)), *german_syntax.infinitive(errand, to)],
    )
    return with_end(joined(spoken(go), aim), ".")


def enjoying(draw: Draw) -> Phrase:
    """She likes reading in the garden (German says it with an adverb, "gern")."""
    names = [name for name in SUBJECTLESS_SINGING if name in INTRANSITIVE or "play" in name or "ride" in name]
    verb = draw.choice([v for v in EVENTS if v.lemma in names])
    subject = draw.person("a.s")
    negated = draw.chance(0.3)
    doing = placed(draw, Clause(key="b", subject=subject, verb=verb), 0.5)
    likes = Clause(key="a", subject=subject, verb=LIKE, negation="not" if negated else "")
    gern: Line = [Word("gern", ("a.v",))]
    said = replace(doing, frequency=Phrase([], [], gern), tense="present")
    german = german_syntax.clause(said)
    if negated:
        at = next(i for i, word in enumerate(german) if word.form == "gern")
        german.insert(at, Word("nicht", ("a.not",)))
    lines = spoken(likes)
    return with_end(
        Phrase([*lines.english, *english_syntax.gerund(doing)], [*lines.french, *french_syntax.infinitive(doing)], german), "."
    )


LIKE = Verb("like", EnglishVerb("like"), FrenchVerb("aimer"), GermanVerb("mögen"), NONE, NONE, frozenset({"stative"}))
