"""Predicates of "to be": qualities, comparisons, places."""

from __future__ import annotations

from phrasebook import french_syntax, german_syntax
from phrasebook.draw import Draw, nouns_with
from phrasebook.english_syntax import noun_phrase as english_noun_phrase
from phrasebook.entries import adjectives
from phrasebook.grammar import Phrase, Word, words
from phrasebook.meaning import (
    Adjective,
    Clause,
    EnglishVerb,
    FrenchVerb,
    GermanVerb,
    Nominal,
    NounPhrase,
    Verb,
)  # fmt: skip

STATIVE = frozenset({"stative"})
BE = Verb("copula", "be", EnglishVerb("be"), FrenchVerb("être"), GermanVerb("sein"), flags=STATIVE)
HAVE = Verb("copula", "have", EnglishVerb("have"), FrenchVerb("avoir"), GermanVerb("haben"), flags=STATIVE)
DEGREES = {"very": ("très", "sehr"), "too": ("trop", "zu"), "really": ("vraiment", "wirklich")}
ABSOLUTE = {"empty", "ripe", "broken", "secret", "round", "French", "English", "German", "Italian", "Spanish", "red",
            "blue", "green", "white", "black", "yellow", "grey", "brown", "delicious", "full", "wooden"}  # fmt: skip
EXCESSIVE = set("expensive heavy long short small big old hot cold difficult easy dark tired narrow warm young shy lazy"
                " nervous high deep light".split())  # fmt: skip
FEELINGS = ("tired", "ill", "happy", "sad", "nervous", "proud", "calm")
CHARACTER = ("friendly", "polite", "clever", "rich", "patient", "shy", "brave", "lazy", "strong", "tall", "young",
             "old", "funny", "famous", "elegant")  # fmt: skip


def quality(adjective: Adjective, subject: Nominal, key: str, degree: str = "") -> Phrase:
    """Return the adjective as a predicate after "very" or "too", if given; in French it agrees with the subject."""
    ids = (f"{key}.a",)
    more = (degree, *DEGREES[degree]) if degree else ("", "", "")
    form = french_syntax.adjective_form(adjective, subject.french_gender, subject.plural)
    one, two, three = (words(word, f"{key}.deg") for word in more)
    return Phrase([*one, Word(adjective.lemma, ids)], [*two, *words(form, *ids)], [*three, Word(adjective.german, ids)])


def suitable(draw: Draw, subject: Nominal) -> Adjective:
    """Draw an adjective that goes with the subject."""
    if isinstance(subject, NounPhrase) and not subject.noun.sex:
        return draw.choice(draw.predicates_of(subject.noun))
    if isinstance(subject, NounPhrase):
        qualities = [adjectives()[name] for name in (*FEELINGS, *CHARACTER)]
        draw.pairs += 1
        return draw.choice([a for a in qualities if subject.noun in nouns_with(a, draw.held)])
    return adjectives()[draw.choice(FEELINGS if draw.chance(0.6) else CHARACTER)]


def describing(draw: Draw, subject: Nominal, key: str, *, plain: bool = False) -> Clause:
    """ "The coat is very expensive", "we weren't tired"."""
    adjective = suitable(draw, subject)
    degree = ""
    if not plain and adjective.lemma not in ABSOLUTE and draw.chance(0.4):
        degree = draw.choice(("very", "really", "too" if adjective.lemma in EXCESSIVE else "very"))
    passing = adjective.lemma in FEELINGS or "predicate" in adjective.classes
    tense = "past" if passing and draw.chance(0.3) and not plain else "present"
    negation = "not" if not plain and not degree and draw.chance(0.25) else ""
    return Clause(
        key=key, subject=subject, verb=BE, tense=tense, negation=negation,
        predicate=quality(adjective, subject, f"{key}.p", degree),
    )  # fmt: skip


def comparison(adjective: Adjective, subject: Nominal, key: str, other: Nominal, equal: bool) -> Phrase:
    """ "older than the church", "as old as the church"."""
    ids, more, than = (f"{key}.a",), (f"{key}.more",), (f"{key}.than",)
    form = french_syntax.adjective_form(adjective, subject.french_gender, subject.plural)
    english = adjective.english_comparative.split()
    if equal:
        first = [Word("as", more), Word(adjective.lemma, ids), Word("as", than)]
        third = [Word("so", more), Word(adjective.german, ids), Word("wie", than)]
    else:
        before = [Word("more", more)] if len(english) == 2 else []
        first = [*before, Word(english[-1], ids if before else (*ids, *more)), Word("than", than)]
        third = [Word(adjective.german_comparative, (*ids, *more)), Word("als", than)]
    second = [Word("aussi" if equal else "plus", more), *words(form, *ids), Word("que", than)]
    return Phrase(
        [*first, *english_line(other)],
        [*second, *french_syntax.nominal_line(other)],
        [*third, *german_syntax.nominal_line(other, "nominative")],
    )


def english_line(node: Nominal) -> list[Word]:
    """Return the English words of a noun phrase or a name."""
    return english_noun_phrase(node) if isinstance(node, NounPhrase) else node.phrase.english  # type: ignore[attr-defined]


def somewhere(preposition: tuple[str, str, str], node: NounPhrase, key: str, case: str = "dative") -> Phrase:
    """ "under the table": German with the dative for a place, the accusative for a direction."""
    english, french, german = preposition
    return Phrase(
        [*words(english, f"{key}.prep"), *english_noun_phrase(node)],
        french_syntax.contracted(french, f"{key}.prep", french_syntax.noun_phrase(node)),
        german_syntax.contracted(german, f"{key}.prep", german_syntax.noun_phrase(node, case)),
    )
