"""German morphology: declension, conjugation, contraction of prepositions with articles."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from phrasebook import tsv

# Verbs whose perfect takes "sein", besides all of gehen and kommen.
SEIN = {"abfahren", "aufstehen", "aufwachen", "bleiben", "einschlafen", "folgen", "reisen", "sein"}
ICH_AS_ER = {"mögen", "wissen"}
INSEPARABLE = ("be", "ver", "zer", "er", "ent", "ge", "über", "unter")
# The prepositions of the grammar; "zum", "auf dem" and the like are in the lexicon of places.
PREPOSITION_ARTICLE = {("in", "dem"): "im", ("in", "das"): "ins", ("an", "das"): "ans"}
CASES = ("nominative", "accusative", "dative", "genitive")
DEFINITE = {"m": "der den dem des", "f": "die die der der", "n": "das das dem des", "p": "die die den der"}
# Endings in the order of CASES. "-" is no ending.
STRONG_ENDINGS = {"m": "er en em en", "f": "e e er er", "n": "es es em en", "p": "e e en er"}
WEAK_ENDINGS = {"m": "e en en en", "f": "e e en en", "n": "e e en en", "p": "en en en en"}
MIXED_ENDINGS = {"m": "er en en en", "f": "e e en en", "n": "es es en en", "p": "en en en en"}
DETERMINER_ENDINGS = {"m": "er en em es", "f": "e e er er", "n": "es es em es", "p": "e e en er"}
ARTICLE_ENDINGS = {"m": "- en em es", "f": "e e er er", "n": "- - em es", "p": "e e en er"}
ENDINGS = {
    "strong": STRONG_ENDINGS, "weak": WEAK_ENDINGS, "mixed": MIXED_ENDINGS,
    "dieser": DETERMINER_ENDINGS, "ein": ARTICLE_ENDINGS, "definite": DEFINITE,
}  # fmt: skip
TABLE = {
    (kind, gender, case): "" if form == "-" else form
    for kind, genders in ENDINGS.items()
    for gender, row in genders.items()
    for case, form in zip(CASES, row.split(), strict=True)
}


class Strong(NamedTuple):
    """A strong verb and its forms for du and for er."""

    infinitive: str
    du: str
    er: str
    participle: str


@cache
def strong_verbs() -> dict[str, Strong]:
    """Return the strong verbs by their infinitive without a separable prefix."""
    return {verb.infinitive: verb for verb in tsv.table("german_verbs", Strong)}


def genitive(noun: str, gender: str) -> str:
    """Return the genitive singular of a noun that is not weak."""
    if gender == "f":
        return noun
    syllables = sum(
        a in "aeiouyäöü" and b not in "aeiouyäöü" for a, b in zip(noun.lower(), noun.lower()[1:] + "-", strict=True)
    )
    return noun + ("es" if noun.endswith(("s", "ß", "x", "z")) or syllables == 1 else "s")


def dative_plural(plural: str) -> str:
    """ "Kinder" -> "Kindern"."""
    return plural if plural.endswith(("n", "s")) else plural + "n"


def third_person(base: str) -> tuple[str, str]:
    """Return the forms for du and for er."""
    if base in strong_verbs():
        return strong_verbs()[base].du, strong_verbs()[base].er
    stem = base[:-2] if base.endswith("en") else base[:-1]
    link = "e" if stem.endswith(("t", "d", "chn", "ffn", "gn")) else ""
    return stem + link + ("t" if stem.endswith(("s", "ß", "z", "x")) else "st"), stem + link + "t"


def present(base: str) -> tuple[str, ...]:
    """ich, du, er, wir, sie."""
    if base == "sein":
        return ("bin", "bist", "ist", "sind", "sind")
    du, er = third_person(base)
    first = er if base in ICH_AS_ER else base[:-1] if base.endswith("en") else base[:-1] + "e"
    return (first.replace("lächele", "lächle"), du, er, base, base)


def perfect_with_sein(verb: str, transitive: bool) -> bool:
    """Whether the perfect is formed with "sein": verbs of motion, but not "ein Auto fahren"."""
    if verb == "fahren":
        return not transitive
    return verb in SEIN or (verb.endswith(("gehen", "kommen")) and verb != "bekommen")


def participle(base: str) -> str:
    """Return the past participle without a separable prefix."""
    if base in strong_verbs():
        return strong_verbs()[base].participle
    prefix = "" if base.endswith("ieren") or base.startswith(INSEPARABLE) else "ge"
    return prefix + third_person(base)[1]


def imperative(base: str) -> str:
    """Return the imperative for du."""
    er = third_person(base)[1]
    stem = base[:-2] if base.endswith("en") else base[:-1]
    if base in strong_verbs() and er[: len(stem)] != stem and "i" in er:  # gib, lies, hilf, but fahr
        return er.removesuffix("t") if not er.endswith("tt") else er
    return stem + ("e" if stem.endswith(("t", "d", "chn", "ffn", "ier", "tter", "lg", "ös", "klär")) else "")
