"""French forms and sentences, by rules and tables that are written here and not in the package."""

from __future__ import annotations

import itertools
import re

import pytest

from phrasebook import french
from phrasebook.realize import Triple

VOWEL = "aeiouyâàéèêëîïôöûùœæ"
FEMININE = (
    "pomme poire voiture lampe table chaise maison lettre robe jupe chemise clé porte fenêtre valise bouteille tasse"
    " assiette soupe église école gare rue ville forêt question histoire chanson réunion mère sœur fille tante vache"
    " actrice serveuse montre veste écharpe armoire étagère règle poupée boîte fleur orange tomate erreur"
).split()
MASCULINE = (
    "livre journal roman poème chapeau manteau pull crayon couteau verre panier vase tableau miroir lit canapé vélo"
    " train bateau musée château pont hôtel jardin village lac mur arbre problème film examen voyage frère père oncle"
    " chien chat cheval oiseau mouton médecin avocat serveur acteur gâteau œuf fromage pain lait ordinateur appareil"
).split()
ADJECTIVES = [  # masculine and feminine singular, both plurals
    "vert verte verts vertes",
    "blanc blanche blancs blanches",
    "noir noire noirs noires",
    "gris grise gris grises",
    "long longue longs longues",
    "lourd lourde lourds lourdes",
    "cher chère chers chères",
    "italien italienne italiens italiennes",
    "allemand allemande allemands allemandes",
    "ennuyeux ennuyeuse ennuyeux ennuyeuses",
    "intéressant intéressante intéressants intéressantes",
]
BEFORE = {
    "m": "petit|grand|vieux|vieil|beau|bel|nouveau|nouvel|joli|bon|mauvais",
    "f": "petite|grande|vieille|belle|nouvelle|jolie|bonne|mauvaise",
}
ETRE = "suis|es|est|sommes|sont"
MOVED = "parti|arrivé|resté|revenu|allé"


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        (french.plural("journal"), "journaux"), (french.plural("gâteau"), "gâteaux"), (french.plural("bus"), "bus"),
        (french.feminine("heureux"), "heureuse"), (french.feminine("bon"), "bonne"),
        (french.present("manger")[3], "mangeons"), (french.present("acheter")[0], "achète"),
        (french.present("acheter")[3], "achetons"), (french.present("commencer")[3], "commençons"),
        (french.present("nettoyer")[2], "nettoie"), (french.present("choisir")[4], "choisissent"),
        (french.present("attendre")[2], "attend"), (french.present("appeler")[4], "appellent"),
        (french.participle("choisir"), "choisi"), (french.participle("vendre"), "vendu"),
        (french.participle("prendre"), "pris"), (french.agree("pris", "m", True), "pris"),
        (french.agree("vu", "f", True), "vues"), (french.imperfect("avoir")[0], "avais"),
        (french.imperfect("être")[4], "étaient"), (french.elided("le", "homme"), "l'"),
        (french.elided("le", "huit"), "le"), (french.elided("la", "haute"), "la"), (french.elided("si", "il"), "s'"),
        (french.elided("si", "elle"), "si"), (french.elided("que", "ils"), "qu'"), (french.elided("tu", "as"), "tu"),
    ],
)  # fmt: skip
def test_forms(form: str, wanted: str) -> None:
    assert form == wanted


def test_elision(everything: list[Triple]) -> None:
    unelided = re.compile(
        rf"\b(?:[LlDdJjMmTtSsNn]e|[Ll]a|[Qq]ue) (?!huit|onze|haut)(?:[{VOWEL}]|h[{VOWEL}])", re.IGNORECASE
    )
    wrongly = re.compile(rf"\b(?:[ldjmtsn]|qu)'(?!h[{VOWEL}])[^{VOWEL}]|\bl'(?:haut|huit|onze)", re.IGNORECASE)
    for item in everything:
        text = item.french.text
        assert not unelided.search(text), text
        assert not wrongly.search(text), text
        assert not re.search(r"\bsi ils?\b", text), text


def test_contraction(everything: list[Triple]) -> None:
    for item in everything:
        text = item.french.text
        assert not re.search(r"\b(?:de|à) les? ", text), text
        assert not re.search(r"\b(?:du|au) [aeioué]", text), text
        assert not re.search(r"\bd[eu] (?:du|des|de)\b", text), text


def test_gender_of_determiners(everything: list[Triple]) -> None:
    masculine, feminine = "|".join(MASCULINE), "|".join(FEMININE)
    seen = 0
    for item in everything:
        text = item.french.text.lower()
        assert not re.search(rf"\b(?:un|ce|cet|le|du|au) (?:{feminine}|(?:{BEFORE['f']}) \w+)\b(?! ?on )", text), text
        assert not re.search(rf"\b(?:une|cette|la) (?:{masculine}|(?:{BEFORE['m']}) \w+)\b", text), text
        assert not re.search(rf"\b(?:{BEFORE['m']}) (?:{feminine})\b", text), text
        assert not re.search(rf"\b(?:{BEFORE['f']}) (?:{masculine})\b", text), text
        seen += bool(re.search(rf"\b(?:une|cette|la) (?:{feminine})\b", text))
    assert seen > 500


def test_before_a_vowel(everything: list[Triple]) -> None:
    vowel = f"[{VOWEL.replace('y', '')}]"
    short = re.compile(
        rf"\b(?:ce|ma|ta|sa|(?:une?|le|ce|mon|ton|son) (?:beau|nouveau|vieux)) (?!est-ce|huit|onze){vowel}"
    )
    for item in everything:
        text = item.french.text.lower()
        assert not short.search(text), text
        assert not re.search(rf"\b(?:cet|bel|nouvel|vieil) [^{VOWEL}h]", text), text


def test_adjectives_agree_with_the_noun_before_them(everything: list[Triple]) -> None:
    seen = 0
    for item in everything:
        words = [token.lower() for token in item.french.words]
        for noun, adjective in itertools.pairwise(words):
            forms = next((row.split() for row in ADJECTIVES if adjective in row.split()), None)
            singular = noun.removesuffix("s")
            if forms is None or (noun not in MASCULINE + FEMININE and singular not in MASCULINE + FEMININE):
                continue
            plural = noun not in MASCULINE + FEMININE
            feminine = (singular if plural else noun) in FEMININE
            seen += 1
            assert adjective == forms[2 * plural + feminine], item.french.text
    assert seen > 100


def test_participles_agree(everything: list[Triple]) -> None:
    for item in everything:
        text = item.french.text
        assert not re.search(rf"\b[Ee]lle (?:n')?est (?:pas )?(?:{MOVED})\b", text), text
        assert not re.search(rf"\b(?:[Ii]ls|[Nn]ous) (?:ne )?(?:sont|sommes) (?:pas )?(?:{MOVED})\b", text), text
        assert not re.search(rf"\b(?:Il|Je|Tu) (?:suis|es|est) (?:{MOVED})(?:e|s|es)\b", text), text
        assert not re.search(
            r"\b(?:a|ont|ai|as|avons) (?:achetée|vue|mangée|lue)s? (?:la|le|les|une?|cette)\b(?! (?:semaine|mois))",
            text,
        ), text


def test_participle_agrees_with_the_object_before_it(everything: list[Triple]) -> None:
    pattern = re.compile(
        r"^(?:La|Cette) (\w+) qu(?:e|') ?.* (?:a|ont|ai|as|avons) (acheté|vendu|perdu|lavé|réparé)(\w*)"
    )
    clitic = re.compile(r"^Où est (?:la|cette) (\w+) \? .*\bl'(?:ai|a|as|avons|ont) (?:donné|prêté|envoyé)(\w*)")
    count = 0
    for item in everything:
        for match in filter(None, (pattern.match(item.french.text), clitic.match(item.french.text))):
            count += 1
            assert match[match.lastindex or 1] == "e", item.french.text
    assert count > 10


def test_verbs_agree_with_their_pronouns(everything: list[Triple]) -> None:
    clitics = {"ne", "n'", "me", "m'", "te", "t'", "se", "s'", "le", "la", "l'", "les", "lui", "leur"}
    endings = {"tu": ("s", "x"), "ils": ("nt",), "elles": ("nt",), "nous": ("ons", "sommes")}
    seen = 0
    for item in everything:
        words = [token.lower() for token in item.french.words]
        for place, token in enumerate(words):
            # "nous" is the subject only at the beginning or after a conjunction
            if token not in endings or (
                token == "nous" and place and words[place - 1] not in {"que", "et", "parce", ","}
            ):
                continue
            verb = next(t for t in words[place + 1 :] if t not in clitics and not (t == "nous" and token == t))
            if token in ("tu", "ils", "elles") and verb == "nous":
                continue
            seen += 1
            assert verb.endswith(endings[token]), (token, verb, item.french.text)
    assert seen > 1_000


def test_negation_has_two_parts(everything: list[Triple]) -> None:
    for item in everything:
        words = [token.lower() for token in item.french.words]
        second = sum(token in ("pas", "jamais") for token in words)
        assert second == sum(token in ("ne", "n'") for token in words), item.french.text


def test_what_is_denied_takes_de(everything: list[Triple]) -> None:
    """Not "pas un", "pas des": with a direct object the article becomes "de"."""
    seen = 0
    for item in everything:
        if item.construction in ("copula", "comparison", "location", "age", "possession"):  # "être" keeps the article
            continue
        words = item.french.words
        if "joue" in item.french.text:  # "jouer du piano"
            continue
        for first, second in itertools.pairwise(words):
            assert (
                first not in ("pas", "jamais")
                or second not in ("un", "une", "du", "des")
                or (second in ("un", "une") and first == "jamais")
            ), item.french.text
            seen += first == "pas" and second in ("de", "d'")
    assert seen > 30
