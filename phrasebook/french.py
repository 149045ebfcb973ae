"""French morphology: gender and number, conjugation, elision before a vowel."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from phrasebook import tsv

ELIDING = {"le", "la", "je", "me", "te", "se", "ne", "de", "que"}
ASPIRATED = ("haut", "huit", "onze")
VOWELS = "aeiouyhàâäéèêëîïôöùûüœæ"
ETRE = {"aller", "arriver", "partir", "rester", "revenir", "venir"}  # and all reflexive verbs
STRESSED_STEMS = {
    "acheter": "achèt",
    "lever": "lèv",
    "enlever": "enlèv",
    "promener": "promèn",
    "appeler": "appell",
    "espérer": "espèr",
}


class Irregular(NamedTuple):
    """An irregular verb and its forms; the present has those for je, tu, il, nous, ils."""

    infinitive: str
    present: tuple[str, ...]
    participle: str


def _irregular(infinitive: str, present: str, participle: str) -> Irregular:
    return Irregular(infinitive, tsv.by_person(present), participle)


@cache
def irregular_verbs() -> dict[str, Irregular]:
    """Return the irregular verbs by their infinitive."""
    return {verb.infinitive: verb for verb in tsv.table("french_verbs", _irregular)}


def begins_with_vowel(word: str) -> bool:
    """Whether "le" becomes "l'" before the word."""
    low = word.lower()
    return low[0] in VOWELS and not low.startswith(ASPIRATED)


def elided(word: str, following: str) -> str:
    """ "le" before "homme" -> "l'"; "si" loses its vowel before "il" and "ils" only."""
    low = word.lower()
    if (low in ELIDING and begins_with_vowel(following)) or (low == "si" and following.lower() in ("il", "ils")):
        return word[:-1] + "'"
    return word


def plural(word: str) -> str:
    """Return the regular plural of a noun or an adjective."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith("al"):
        return word[:-2] + "aux"
    return word + ("x" if word.endswith(("eau", "jeu", "feu")) else "s")


def feminine(adjective: str) -> str:
    """Return the regular feminine; irregular ones are in the lexicon."""
    if adjective.endswith("e"):
        return adjective
    if adjective.endswith("eux"):
        return adjective[:-1] + "se"
    if adjective.endswith(("el", "il", "en", "on")):
        return adjective + adjective[-1] + "e"
    return adjective + "e"


def present(infinitive: str) -> tuple[str, ...]:
    """je, tu, il, nous, ils."""
    if infinitive in irregular_verbs():
        return irregular_verbs()[infinitive].present
    stem = infinitive[:-2]
    if infinitive.endswith("ir"):
        return tuple(stem + ending for ending in ("is", "is", "it", "issons", "issent"))
    if infinitive.endswith("re"):
        return tuple(stem + ending for ending in ("s", "s", "", "ons", "ent"))
    strong = STRESSED_STEMS.get(infinitive, stem)
    if stem.endswith("y") and not stem.endswith("ay"):
        strong = stem[:-1] + "i"
    plural_stem = stem + "e" if stem.endswith("g") else stem[:-1] + "ç" if stem.endswith("c") else stem
    return (strong + "e", strong + "es", strong + "e", plural_stem + "ons", strong + "ent")


def participle(infinitive: str) -> str:
    """Return the past participle, masculine singular."""
    if infinitive in irregular_verbs():
        return irregular_verbs()[infinitive].participle
    return infinitive[:-2] + {"er": "é", "ir": "i", "re": "u"}[infinitive[-2:]]


def agree(participle_form: str, gender: str, many: bool) -> str:
    """ "vu" -> "vue", "vus", "vues"; "pris" stays "pris" in the masculine plural."""
    form = participle_form + ("e" if gender == "f" else "")
    return plural(form) if many else form


def imperfect(infinitive: str) -> tuple[str, ...]:
    """je, tu, il, nous, ils."""
    stem = "ét" if infinitive == "être" else present(infinitive)[3][:-3]
    return tuple(stem + ending for ending in ("ais", "ais", "ait", "ions", "aient"))
