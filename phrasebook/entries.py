"""The entries of the lexicon. A table is read when one of its entries is first needed."""

from __future__ import annotations

from functools import cache

from phrasebook import english as english_rules
from phrasebook import french as french_rules
from phrasebook import tsv
from phrasebook.meaning import (
    Adjective,
    EnglishVerb,
    Errand,
    FixedPhrase,
    FrenchVerb,
    GermanVerb,
    Location,
    Modal,
    Noun,
    Preposition,
    Syllables,
    Verb,
)

FRAMES = ("transitive", "ditransitive", "intransitive", "activity", "placing", "preference", "clausal", "simple")
FLAGS = ("accident", "any", "daily", "definite", "habit", "indefinite", "punctual", "slow", "stative", "steady",
         "timeless")  # fmt: skip
KINDS = ("possessive", "number", "quantity", "near past", "far past", "near future", "far future", "present",
         "habitual", "frequency", "manner", "state", "day", "month", "town", "country", "woman", "man")  # fmt: skip
GERMAN_CASES = {"": "accusative", "acc": "accusative", "dat": "dative"}


@cache
def nouns() -> dict[str, Noun]:
    """Return the nouns by their English singular."""
    return {noun.lemma: noun for noun in tsv.table("nouns", _noun)}


@cache
def nouns_of(name: str) -> list[Noun]:
    """Return the nouns of a class."""
    return [noun for noun in nouns().values() if name in noun.classes]


@cache
def adjectives() -> dict[str, Adjective]:
    """Return the adjectives by their English form."""
    return {adjective.lemma: adjective for adjective in tsv.table("adjectives", _adjective)}


@cache
def verbs(frame: str) -> dict[str, Verb]:
    """Return the verbs of a frame, by their English form."""
    return {verb.lemma: verb for verb in _verbs() if verb.frame == frame}


@cache
def verbs_of(*frames: str) -> list[Verb]:
    """Return the verbs of these frames, in this order."""
    return [verb for frame in frames for verb in verbs(frame).values()]


@cache
def _verbs() -> list[Verb]:
    return tsv.table("verbs", _verb)


@cache
def modals() -> dict[str, Modal]:
    """Return the modals by name."""
    return {modal.lemma: modal for modal in tsv.table("modals", _modal)}


@cache
def phrases(kind: str) -> dict[str, FixedPhrase]:
    """Return the fixed words and phrases of a kind, by their English form."""
    return {phrase.english: phrase for name, phrase in _phrases() if name == kind}


@cache
def _phrases() -> list[tuple[str, FixedPhrase]]:
    return tsv.table("phrases", _phrase)


@cache
def locations() -> dict[str, Location]:
    """Return the locations by name."""
    return {location.name: location for location in tsv.table("locations", _location)}


@cache
def prepositions(verb: str) -> list[Preposition]:
    """Return the prepositions that go with a verb."""
    return [preposition for preposition in tsv.table("prepositions", _preposition) if preposition.verb == verb]


@cache
def errands() -> list[Errand]:
    """Return all errands."""
    return tsv.table("errands", _errand)


@cache
def syllables() -> dict[str, Syllables]:
    """Return the syllables by the kind of name."""
    return {entry.kind: entry for entry in tsv.table("syllables", _syllables)}


def _noun(
    english: str,
    english_plural: str,
    french_gender: str,
    french: str,
    french_plural: str,
    german_gender: str,
    german: str,
    german_plural: str,
    classes: str,
) -> Noun:
    tags = frozenset(classes.split()) | {english}
    return Noun(
        lemma=english,
        english=(english, english_plural or english_rules.plural(english)),
        french=(french, french_plural or french_rules.plural(french)),
        french_gender=tsv.one_of(french_gender, "mf"),
        german=(german, german_plural),
        german_gender=tsv.one_of(german_gender, "mfn"),
        weak="weak" in tags,
        sex="m" if "he" in tags else "f" if "she" in tags else "",
        classes=tags,
    )


def _adjective(
    english: str,
    english_comparative: str,
    french_place: str,
    french: str,
    french_feminine: str,
    french_vowel: str,
    german: str,
    german_stem: str,
    german_comparative: str,
    classes: str,
) -> Adjective:
    return Adjective(
        lemma=english,
        english_comparative=english_comparative or f"more {english}",
        french=(french, french_feminine or french_rules.feminine(french), french_vowel or french),
        before_noun=tsv.one_of(french_place, ("before", "after")) == "before",
        german=german,
        german_stem=german_stem or german.removesuffix("e"),
        german_comparative=german_comparative or german.removesuffix("e") + "er",
        classes=frozenset(classes.split()),
    )


def _verb(
    frame: str, english: str, french: str, german: str, objects: str, flags: str, unfit: str, places: str
) -> Verb:
    one, two, three = _parts(english), _parts(french), _parts(german)
    base = two[""].removeprefix("se ").removeprefix("s'")
    preposition, _, case = three["+"].rpartition(" ")
    prefix, _, german_base = three[""].removeprefix("sich ").rpartition("|")
    return Verb(
        frame=tsv.one_of(frame, FRAMES),
        lemma=english,
        english=EnglishVerb(one[""].partition(":")[0], one["~"], one["+"], one["="]),
        french=FrenchVerb(base, base != two[""], two["+"], two["="]),
        german=GermanVerb(
            german_base,
            prefix,
            three[""].startswith("sich "),
            GERMAN_CASES[tsv.one_of(case, GERMAN_CASES)],
            preposition,
            three["="],
        ),
        objects=frozenset(objects.split()),
        flags=frozenset(tsv.one_of(flag, FLAGS) for flag in flags.split()),
        unfit=frozenset(unfit.split()),
        places=places.split(),
    )


def _parts(text: str) -> dict[str, str]:
    """Split a verb into its marked parts: a mark applies to everything up to the next mark."""
    parts = {"": "", "~": "", "+": "", "=": ""}
    mark = ""
    for piece in text.split():
        if piece[0] in "~+=":
            mark, piece = piece[0], piece[1:]
        parts[mark] = f"{parts[mark]} {piece}".strip()
    return parts


def _modal(
    name: str,
    english: str,
    english_third: str,
    english_negative: str,
    english_third_negative: str,
    french: str,
    german: str,
) -> Modal:
    third, third_negative = english_third or english, english_third_negative or english_negative
    return Modal(
        lemma=name,
        english=(english, english, third, english, english),
        english_negative=(english_negative, english_negative, third_negative, english_negative, english_negative),
        french=tsv.by_person(french),
        german=tsv.by_person(german),
    )


def _phrase(kind: str, english: str, french: str, german: str) -> tuple[str, FixedPhrase]:
    return tsv.one_of(kind, KINDS), FixedPhrase(english, french, german)


def _location(name: str, english: str, french: str, german: str, contents: str) -> Location:
    return Location(name, FixedPhrase(english, french, german), contents.split())


def _preposition(verb: str, english: str, french: str, german: str, grounds: str) -> Preposition:
    return Preposition(verb, FixedPhrase(english, french, german), grounds.split())


def _errand(english: str, french: str, german: str, verb: str, objects: str) -> Errand:
    return Errand(FixedPhrase(english, french, german), verb, objects)


def _syllables(kind: str, first: str, middle: str, last: str) -> Syllables:
    return Syllables(kind, first.split(), middle.split(), last.split())
