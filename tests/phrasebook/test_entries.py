"""The lexicon: its tables fit each other."""

from __future__ import annotations

from phrasebook.entries import FRAMES, adjectives, errands, locations, nouns, prepositions, verbs, verbs_of

POSITIONS = {"predicate", "attribute"}


def test_what_tables_name_is_in_another_table() -> None:
    classes = set(nouns()).union(*(noun.classes for noun in nouns().values()))
    for verb in verbs_of(*FRAMES):
        assert {name.removeprefix("-") for name in verb.objects} <= classes, verb.lemma
        assert verb.unfit <= set(adjectives()), verb.lemma
        assert set(verb.places) <= set(locations()), verb.lemma
    for adjective in adjectives().values():
        assert {name.removeprefix("-") for name in adjective.classes} - POSITIONS <= classes, adjective.lemma
    for location in locations().values():
        assert set(location.contents) <= set(nouns()), location.name
    for errand in errands():
        assert errand.verb in verbs("transitive")
        assert set(errand.objects.split()) <= classes, errand.verb
    for name in ("be", *verbs("placing")):
        assert prepositions(name)
        assert all(set(preposition.grounds) <= set(nouns()) for preposition in prepositions(name)), name


def test_a_verb_is_taken_apart() -> None:
    on, waits = verbs("transitive")["put ~on"], verbs("transitive")["wait +for"]
    assert (on.english.base, on.english.particle, on.german.prefix, on.german.base) == ("put", "on", "an", "ziehen")
    assert (waits.english.preposition, waits.german.preposition, waits.german.case) == ("for", "auf", "accusative")
    assert verbs("transitive")["help"].german.case == "dative"
    rests, walks = verbs("intransitive")["rest"], verbs("intransitive")["go =for/n a/n walk/n"]
    assert (rests.french.base, rests.french.reflexive, rests.german.reflexive) == ("reposer", True, True)
    assert (walks.english.base, walks.english.tail, walks.german.tail) == ("go", "for/n a/n walk/n", "spazieren/n")
    assert verbs("placing")["put:lay"].english.base == "put"
