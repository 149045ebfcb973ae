"""French forms and sentences, by rules and tables that are written here and not in the package."""

from __future__ import annotations

import itertools
import re

import pytest

from dragoman.phrasebook import french
from dragoman.phrasebook.realise import Triple

VOWEL = "aeiouyâàéèêëîïôöûùœæ"
FEMININE = (
    "pomme poire voiture lampe table chaise maison lettre robe jupe chemise clé porte fenêtre valise bouteille tasse"
    " assiette soupe église école gare rue ville forêt question histoire chanson réunion mère sœur fille tante vache"
    " actrice serveuse montre veste écharpe armoire étagère histoire règle poupée boîte fleur orange tomate erreur"
).split()
MASCULINE = (
    "livre journal roman poème chapeau manteau pull crayon couteau verre panier vase tableau miroir lit canapé vélo train"
    " bus bateau musée château pont hôtel jardin village lac mur arbre problème film examen voyage frère père oncle fils"
    " chien chat cheval oiseau mouton médecin avocat serveur acteur gâteau œuf fromage pain lait ordinateur appareil"
).split()
ADJECTIVES = {  # masculine and feminine singular, both plurals
    "vert": "vert verte verts vertes", "blanc": "blanc blanche blancs blanches", "noir": "noir noire noirs noires",
    "long": "long longue longs longues", "lourd": "lourd lourde lourds lourdes", "italien": "italien italienne italiens italiennes",
    "ennuyeux": "ennuyeux ennuyeuse ennuyeux ennuyeuses", "cher": "cher chère chers chères", "gris": "gris grise gris grises",
    "intéressant": "intéressant intéressante intéressants intéressantes", "allemand": "allemand allemande allemands allemandes",
}  # fmt: skip
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
        (french.plural("neveu"), "neveux"), (french.feminine("heureux"), "heureuse"), (french.feminine("bon"), "bonne"),
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
    for item in everything:
        text = item.french.text.lower()
        vowel = f"[{VOWEL.replace('y', '')}]"
        assert not re.search(
            rf"\b(?:ce|beau|nouveau|vieux|ma|ta|sa) (?!est-ce|huit|onze|et|a |ont|ai|avons){vowel}", text
        ), text
        assert not re.search(rf"\b(?:cet|bel|nouvel|vieil) [^{VOWEL}h]", text), text


def test_adjectives_agree_with_the_noun_before_them(everything: list[Triple]) -> None:
    seen = 0
    for item in everything:
        tokens = [token.lower() for token in item.french.tokens]
        for noun, adjective in itertools.pairwise(tokens):
            forms = next((row.split() for row in ADJECTIVES.values() if adjective in row.split()), None)
            singular = noun.removesuffix("s")
            if forms is None or (noun not in MASCULINE + FEMININE and singular not in MASCULINE + FEMININE):
                continue
            plural = noun not in MASCULINE + FEMININE
            feminine = (singular if plural else noun) in FEMININE
            if noun in ("bus", "fils"):
                continue
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
            r"\b(?:a|ont|ai|as|avons) (?:achetée|vue|mangée|lue|prise)s? (?:la|le|les|une?|cette)\b", text
        ), text


def test_participle_agrees_with_the_object_before_it(everything: list[Triple]) -> None:
    pattern = re.compile(
        r"^(?:La|Cette) (\w+) qu(?:e|') ?.* (?:a|ont|ai|as|avons) (acheté|vendu|perdu|lavé|réparé)(\w*)"
    )
    clitic = re.compile(r"^Où est (?:la|cette) (\w+) \? .*\bl'(?:ai|a|as|avons|ont) (?:donné|prêté|envoyé)(\w*)")
    found = 0
    for item in everything:
        for match in filter(None, (pattern.match(item.french.text), clitic.match(item.french.text))):
            found += 1
            assert match[match.lastindex or 1] == "e", item.french.text
    assert found > 10


def test_verbs_agree_with_their_pronouns(everything: list[Triple]) -> None:
    clitics = r"(?:(?:ne|n'|me|m'|te|t'|se|s'|le|la|l'|les|lui|leur|nous) ?)*"
    for item in everything:
        text = item.french.text
        for verb in re.findall(rf"\b[Tt]u {clitics}([a-zéèêàçî]+)\b", text):
            assert verb.endswith(("s", "x")), text
        for verb in re.findall(rf"\b[Ii]ls {clitics}([a-zéèêàçî]+)\b", text):
            assert verb.endswith("nt"), text
        for verb in re.findall(r"(?<!\w )\b[Nn]ous (?:ne |n'|le |la |l'|les |lui |leur )*([a-zéèêàçî]+)\b", text):
            assert verb.endswith("ons") or verb in ("sommes", "nous", "te", "t", "a", "ont") or "Nous" not in text, text


def test_negation_has_two_parts(everything: list[Triple]) -> None:
    for item in everything:
        tokens = [token.lower() for token in item.french.tokens]
        second = sum(token in ("pas", "jamais") for token in tokens)
        assert second == sum(token in ("ne", "n'") for token in tokens), item.french.text
        assert not re.search(r"\b(?:pas|jamais) (?:un|une|du|des|de la)\b (?!neveux)", item.french.text) or re.search(
            r"jamais (?:un|une)|ce n'est pas", item.french.text
        ), item.french.text
