"""Reads the tables of the lexicon into entries."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.phrasebook import english, french, lexicon_adjectives, lexicon_nouns, lexicon_verbs
from dragoman.phrasebook.meaning import Adjective, EnglishVerb, FrenchVerb, GermanVerb, Noun, Verb


def rows(table: str) -> Iterator[list[str]]:
    """The fields of every line."""
    for line in table.strip().splitlines():
        yield [field.strip() for field in line.split(" | ")]


def triples(table: str) -> list[tuple[str, str, str]]:
    """The last three fields of every line: fixed phrases in the three languages."""
    return [(one, two, three) for *_, one, two, three in rows(table)]


def named(table: str) -> dict[str, tuple[str, str, str]]:
    """Fixed phrases by the name in the first field."""
    return {name: (one, two, three) for name, one, two, three in rows(table)}


def fits(wanted: frozenset[str], having: frozenset[str]) -> bool:
    """Whether `having` meets one of the `wanted` classes and none that is written with a minus."""
    return any(name in having for name in wanted) and not any("-" + name in wanted for name in having)


def _noun(fields: list[str]) -> Noun:
    english_forms, french_forms, german_forms, classes = fields
    singular, _, many = english_forms.partition("/")
    french_gender, _, french_forms = french_forms.partition(" ")
    french_one, _, french_many = french_forms.partition("/")
    german_gender, _, german_forms = german_forms.partition(" ")
    german_one, _, german_many = german_forms.partition("/")
    tags = frozenset(classes.split()) | {singular}
    return Noun(
        lemma=singular,
        english=(singular, many or english.plural(singular)),
        french=(french_one, french_many or french.plural(french_one)),
        french_gender=french_gender,
        german=(german_one.rstrip("*"), german_many),
        german_gender=german_gender,
        weak=german_one.endswith("*"),
        sex="m" if "he" in tags else "f" if "she" in tags else "",
        classes=tags,
    )


def _adjective(fields: list[str]) -> Adjective:
    word, french_forms, german_forms, classes = fields
    before = french_forms.startswith("< ")
    masculine, feminine, vowel = (french_forms.removeprefix("< ").split("/") + ["", ""])[:3]
    base, stem, comparative = (german_forms.split("/") + ["", ""])[:3]
    return Adjective(
        lemma=word,
        english_comparative=english.comparative(word),
        french=(masculine, feminine or french.feminine(masculine), vowel or masculine),
        before_noun=before,
        german=base,
        german_stem=stem or base.removesuffix("e"),
        german_comparative=comparative or base.removesuffix("e") + "er",
        classes=frozenset(classes.split()),
    )


def _parts(text: str) -> dict[str, str]:
    """The marked pieces of a verb: everything up to the next mark belongs to a mark."""
    parts = {"": "", "~": "", "+": "", "=": ""}
    mark = ""
    for piece in text.split():
        if piece[0] in "~+=":
            mark, piece = piece[0], piece[1:]
        parts[mark] = f"{parts[mark]} {piece}".strip()
    return parts


def _verb(fields: list[str]) -> Verb:
    english_text, french_text, german_text, subjects, objects, flags = fields
    one, two, three = _parts(english_text), _parts(french_text), _parts(german_text)
    reflexive = two[""].startswith(("se ", "s'"))
    prefix, _, base = three[""].removeprefix("sich ").rpartition("|")
    preposition, _, case = three["+"].rpartition(" ")
    return Verb(
        lemma=english_text,
        english=EnglishVerb(one[""].partition(":")[0], one["~"], one["+"], one["="]),
        french=FrenchVerb(two[""].removeprefix("se ").removeprefix("s'"), reflexive, two["+"], two["="]),
        german=GermanVerb(
            base,
            prefix,
            three[""].startswith("sich "),
            {"acc": "accusative", "dat": "dative", "": "accusative"}[case],
            preposition,
            three["="],
        ),
        subjects=frozenset(subjects.split()),
        objects=frozenset(objects.split()) - {"-"},
        flags=frozenset(flags.split()) - {"-"},
    )


def _verbs(table: str) -> dict[str, Verb]:
    return {verb.lemma: verb for verb in map(_verb, rows(table))}


NOUNS = {noun.lemma: noun for noun in map(_noun, rows(lexicon_nouns.NOUNS))}
ADJECTIVES = {adjective.lemma: adjective for adjective in map(_adjective, rows(lexicon_adjectives.ADJECTIVES))}
TRANSITIVE = _verbs(lexicon_verbs.TRANSITIVE)
DITRANSITIVE = _verbs(lexicon_verbs.DITRANSITIVE)
INTRANSITIVE = _verbs(lexicon_verbs.INTRANSITIVE)
ACTIVITIES = _verbs(lexicon_verbs.ACTIVITIES)
PLACING = _verbs(lexicon_verbs.PLACING)
CLAUSAL = _verbs(lexicon_verbs.CLAUSAL)
SIMPLE = _verbs(lexicon_verbs.SIMPLE)
PREFERENCES = _verbs(lexicon_verbs.PREFERENCES)
