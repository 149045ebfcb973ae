"""English morphology: plurals, verb forms, the indefinite article."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from phrasebook import tsv

VOWELS = "aeiou"
DOUBLING = {"begin", "cut", "forget", "get", "put", "travel"}
LONG_SOUND = {"hour", "honest"}  # silent h
CONSONANT_SOUND = ("uni", "use", "euro", "one")


class Irregular(NamedTuple):
    """An irregular verb and its forms."""

    base: str
    past: str
    participle: str


@cache
def irregular_verbs() -> dict[str, Irregular]:
    """Return the irregular verbs by their base form."""
    return {verb.base: verb for verb in tsv.table("english_verbs", Irregular)}


def plural(noun: str) -> str:
    """Return the regular plural; irregular ones are in the lexicon."""
    if noun.endswith("y") and noun[-2] not in VOWELS:
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def third_person(verb: str) -> str:
    """ "go" -> "goes"."""
    if verb in ("be", "have"):
        return {"be": "is", "have": "has"}[verb]
    if verb.endswith("y") and verb[-2] not in VOWELS:
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "ch", "sh", "o", "z")) else "s")


def present_participle(verb: str) -> str:
    """ "run" -> "running"."""
    if verb in DOUBLING:
        return verb + verb[-1] + "ing"
    if verb.endswith("e") and not verb.endswith(("ee", "be")):
        return verb[:-1] + "ing"
    return verb + "ing"


def past(verb: str) -> str:
    """Return the simple past."""
    if verb in irregular_verbs():
        return irregular_verbs()[verb].past
    if verb.endswith("y") and verb[-2] not in VOWELS:
        return verb[:-1] + "ied"
    if verb in DOUBLING:
        return verb + verb[-1] + "ed"
    return verb + ("d" if verb.endswith("e") else "ed")


def past_participle(verb: str) -> str:
    """Return the past participle, as in "was built"."""
    return irregular_verbs()[verb].participle if verb in irregular_verbs() else past(verb)


def indefinite_article(following: str) -> str:
    """ "a" or "an", by the sound at the beginning of the next word."""
    word = following.lower()
    vowel = word[0] in VOWELS and not word.startswith(CONSONANT_SOUND)
    return "an" if vowel or word in LONG_SOUND or word in ("8", "11", "18") else "a"
