"""German forms and sentences, by rules and tables that are written here and not in the package."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from phrasebook import german
from phrasebook.realize import Triple

GENDER = {  # nouns whose plural looks different
    noun: gender
    for gender, nouns in {
        "m": "Apfel Mantel Hut Rock Korb Ball Hammer Tisch Stuhl Schrank Brief Roman Vertrag Zug Bus Hund Vogel"
        " Bruder Vater Sohn Arzt Koch Turm Bahnhof Garten Baum Berg See Fluss Freund Gast Anwalt Plan Film Ring Pass",
        "f": "Birne Lampe Tür Tasche Tasse Vase Kerze Flasche Katze Kuh Ziege Mutter Schwester Tante Tochter Kirche"
        " Schule Küche Straße Stadt Brücke Zeitung Postkarte Frage Geschichte Rede Reise Prüfung Suppe Blume Rose",
        "n": "Buch Gedicht Haus Schloss Museum Hotel Auto Fahrrad Boot Glas Foto Hemd Kleid Bett Sofa Regal Pferd Schaf"
        " Schwein Huhn Kind Dorf Radio Telefon Lied Paket Geschenk Ei Brot Fleisch Wasser Bier Krankenhaus Restaurant",
    }.items()
    for noun in nouns.split()
}
CASES = ("nominative", "accusative", "dative", "genitive")
DER = {"m": "der den dem des", "f": "die die der der", "n": "das das dem des"}
DIESER = {"m": "er en em es", "f": "e e er er", "n": "es es em es"}
EIN = {"m": "- en em es", "f": "e e er er", "n": "- - em es"}
READINGS: dict[str, set[tuple[str, str, str]]] = {}  # determiner: (gender, case, declension of its adjective)
for _stems, _table, _kind in (
    ([""], DER, "weak"),
    (["dies", "jed"], DIESER, "weak"),
    (["ein", "kein", "mein", "dein", "sein", "ihr", "unser"], EIN, "mixed"),
):
    for _stem in _stems:
        for _gender, _row in _table.items():
            for _case, _ending in zip(CASES, _row.split(), strict=True):
                READINGS.setdefault(_stem + _ending.strip("-"), set()).add((_gender, _case, _kind))
DATIVE_VERBS = re.compile(r"\b(?:helf|hilf|dank|folg|gefolgt|geholfen|gedankt|zugehört|zuhören)|\bhör.* zu\.")
ICH = re.compile(r"(?:\w+e|bin|war|kann|muss|will|mag|weiß|\w*te)$")
DU = re.compile(r"\w+st$|isst$|liest$|bist$|\w+ßt$|\w+zt$")
ER = re.compile(r"(?:\w+t|ist|wird|war|kann|muss|will|mag|weiß|\w+te|wurde)$")
WIR = re.compile(r"(?:\w+en|sind|\w+ern|\w+eln)$")
PERSON = {"ich": ICH, "du": DU, "er": ER, "wir": WIR}
AUXILIARY = "habe|hast|hat|haben|bin|bist|ist|sind|werde|wirst|wird|werden"


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        (" ".join(german.present("lesen")), "lese liest liest lesen lesen"),
        (" ".join(german.present("arbeiten")), "arbeite arbeitest arbeitet arbeiten arbeiten"),
        (" ".join(german.present("öffnen")), "öffne öffnest öffnet öffnen öffnen"),
        (" ".join(german.present("tanzen")), "tanze tanzt tanzt tanzen tanzen"),
        (" ".join(german.present("finden")), "finde findest findet finden finden"),
        (" ".join(german.present("laden")), "lade lädst lädt laden laden"),
        (" ".join(german.present("vergessen")), "vergesse vergisst vergisst vergessen vergessen"),
        (" ".join(german.present("lächeln")), "lächle lächelst lächelt lächeln lächeln"),
        (" ".join(german.present("waschen")), "wasche wäschst wäscht waschen waschen"),
        (" ".join(german.present("mögen")), "mag magst mag mögen mögen"),
        (german.participle("reparieren"), "repariert"),
        (german.participle("kaufen"), "gekauft"),
        (german.participle("bestellen"), "bestellt"),
        (german.participle("zeichnen"), "gezeichnet"),
        (german.participle("übersetzen"), "übersetzt"),
        (german.participle("streichen"), "gestrichen"),
        (german.imperative("lesen"), "lies"),
        (german.imperative("geben"), "gib"),
        (german.imperative("helfen"), "hilf"),
        (german.imperative("warten"), "warte"),
        (german.imperative("waschen"), "wasch"),
        (german.imperative("öffnen"), "öffne"),
        (german.genitive("Mann", "m"), "Mannes"),
        (german.genitive("Onkel", "m"), "Onkels"),
        (german.genitive("Tante", "f"), "Tante"),
        (german.genitive("Haus", "n"), "Hauses"),
        (german.dative_plural("Kinder"), "Kindern"),
        (german.dative_plural("Sofas"), "Sofas"),
    ],
)
def test_forms(form: str, wanted: str) -> None:
    assert form == wanted


@pytest.mark.parametrize(
    ("verb", "transitive", "wanted"),
    [
        ("fahren", False, True),
        ("fahren", True, False),
        ("ankommen", False, True),
        ("bekommen", True, False),
        ("schlafen", False, False),
        ("einschlafen", False, True),
    ],
)
def test_auxiliary_of_the_perfect(verb: str, transitive: bool, wanted: bool) -> None:
    assert german.perfect_with_sein(verb, transitive) == wanted


def noun_phrases(words: tuple[str, ...]) -> Iterator[tuple[int, str, list[str], str]]:
    """(place, determiner, adjectives, noun) wherever a known noun follows a determiner, adjectives between them."""
    for place, token in enumerate(words):
        if token.lower() not in READINGS or (place and words[place - 1] == ","):  # a relative pronoun
            continue
        end = place + 1
        while end < len(words) and re.fullmatch(r"[a-zäöüß]+e[nrsm]?", words[end]) and words[end] not in READINGS:
            end += 1
        between = list(words[place + 1 : end])
        if end < len(words) and words[end] in GENDER and "morgen" not in between:
            yield place, token.lower(), between, words[end]


def cases(determiner: str, adjectives: list[str], noun: str) -> set[str]:
    """The cases that the noun phrase can be in; none if its words do not agree."""
    fitting = set()
    for gender, case, kind in READINGS[determiner]:
        ending = "en"
        if kind == "weak" and (case == "nominative" or (case == "accusative" and gender != "m")):
            ending = "e"
        elif kind == "mixed" and (case == "nominative" or (case == "accusative" and gender != "m")):
            ending = {"m": "er", "f": "e", "n": "es"}[gender]
        agrees = all(re.fullmatch(rf".*[^e]{ending}|.*e{ending}", adjective) for adjective in adjectives)
        if gender == GENDER[noun] and agrees:
            fitting.add(case)
    return fitting


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("den roten Hut", {"accusative"}),
        ("der roten Lampe", {"dative", "genitive"}),
        ("ein rotes Auto", {"nominative", "accusative"}),
        ("ein roten Hut", set()),
        ("das rotes Auto", set()),
        ("dem rote Hut", set()),
        ("die Hut", set()),
    ],
)
def test_the_checker_itself(text: str, wanted: set[str]) -> None:
    ((_, determiner, adjectives, noun),) = noun_phrases(tuple(text.split()))
    assert cases(determiner, adjectives, noun) == wanted


def test_determiners_adjectives_and_nouns_agree(everything: list[Triple]) -> None:
    plain = described = 0
    for item in everything:
        for _, determiner, adjectives, noun in noun_phrases(item.german.words):
            plain, described = plain + 1, described + bool(adjectives)
            assert cases(determiner, adjectives, noun), (determiner, adjectives, noun, item.german.text)
    assert plain > 3_000
    assert described > 400


def test_case_of_subjects_and_objects(everything: list[Triple]) -> None:
    seen = {"nominative": 0, "accusative": 0, "dative": 0}
    for item in everything:
        words = item.german.words
        if item.construction not in ("statement", "adjectives", "negation", "placing", "location"):
            continue
        for at, (place, determiner, adjectives, noun) in enumerate(noun_phrases(words)):
            before = words[place - 1].lower() if place else ""
            if place == 0:
                wanted = "nominative"
            elif item.construction == "location" and before in ("auf", "unter", "hinter", "neben", "vor", "in"):
                wanted = "dative"
            elif item.construction == "placing" and before in ("auf", "unter", "hinter", "neben", "vor", "in"):
                wanted = "accusative"
            elif before in ("vor", "hinter", "unter", "in", "auf", "an"):
                continue  # a place, or the object of a preposition
            elif at < 2 and item.construction != "location":
                wanted = "dative" if DATIVE_VERBS.search(item.german.text) else "accusative"
            else:
                continue
            seen[wanted] += 1
            phrase = determiner, adjectives, noun
            assert wanted in cases(*phrase), (wanted, phrase, item.german.text)
    assert min(seen.values()) >= 20


def test_possessors_are_genitive(everything: list[Triple]) -> None:
    seen = 0
    for item in everything:
        match = re.search(
            r"[A-ZÄÖÜ]\w+ ((?:m|d|uns)e\w+) (Bruders|Vaters|Sohnes|Freundes|Mutter|Schwester|Tante|Nichte)\b",
            item.german.text,
        )
        if item.construction == "possession" and match:
            seen += 1
            assert match[1].endswith("es" if match[2].endswith("s") else "er"), item.german.text
    assert seen > 20


def test_contraction(everything: list[Triple]) -> None:
    for item in everything:
        text = item.german.text
        assert not re.search(r"\b(?:[Ii]n|[Aa]n|[Zz]u|[Vv]on|[Bb]ei) dem\b", text), text
        assert not re.search(r"\b(?:[Ii]n|[Aa]n) das\b|\b[Zz]u der\b", text), text


def test_the_verb_is_second_after_a_time(everything: list[Triple]) -> None:
    time = r"(?:(?:Gestern|Heute|Morgen)(?: Abend| Morgen| früh)?|(?:Letzte|Nächste)n? \w+|(?:Vor|In) \w+ \w+)"
    fronted = [item.german.text for item in everything if item.construction == "fronted_time"]
    for text in fronted:
        assert re.match(rf"{time} (?:{AUXILIARY}) (?:\w+ )", text), text
    assert len(fronted) > 100


def test_the_verb_of_a_main_clause_is_second(everything: list[Triple]) -> None:
    for item in everything:
        for pronoun, verb in re.findall(r"^(Ich|Du|Er|Wir) (\w+)", item.german.text):
            assert PERSON[pronoun.lower()].match(verb), item.german.text
        assert not re.match(r"(?:Ich|Du|Er|Wir|Sie) (?:nicht|oft|gern|morgen|gestern|heute)\b", item.german.text)


def test_subordinate_clauses_end_with_the_finite_verb(everything: list[Triple]) -> None:
    seen = 0
    for item in everything:
        text = item.german.text
        for pronoun, verb in re.findall(r", (?:weil|ob|dass|während|wo|wann|warum) (ich|du|er|wir) .*?(\w+)\.$", text):
            seen += 1
            assert PERSON[pronoun].match(verb), text
        clause = re.search(r", (?:weil|ob|dass|während|wo|wann|warum) (.*)\.$", text)
        if clause and re.search(rf"\b(?:{AUXILIARY})\b", clause[1]):
            assert re.search(rf"\b(?:{AUXILIARY})$", clause[1]), text
    assert seen > 150


def test_subordinate_clauses_stand_between_commas(everything: list[Triple]) -> None:
    for item in everything:
        assert not re.search(
            r"[^,] (?:weil|dass|ob|während|um)\b(?! (?:\w+ )?(?:Uhr|Viertel|halb|\d|\w+ Uhr))", item.german.text
        )
        if item.construction.endswith("_relative"):
            assert item.german.text.count(",") == 2, item.german.text


def test_the_perfect_ends_with_the_participle(everything: list[Triple]) -> None:
    participle = re.compile(r"(?:\w*ge\w+(?:t|en)|(?:be|ver|zer|er|unter|über|vorbe)\w+(?:t|en)|\w+iert)$")
    seen = 0
    for item in everything:
        match = re.match(r"(?:Ich|Du|Er|Wir|Sie) (?:habe|hast|hat|haben) (?:.* )?(\w+)\.$", item.german.text)
        is_past = re.search(r"\b(?:yesterday|last|ago|this morning)\b|didn't", item.english.text)
        if match and is_past and "had" not in item.english.text:
            seen += 1
            assert participle.match(match[1]), item.german.text
    assert seen > 150


def test_separable_prefixes_end_the_main_clause(everything: list[Triple]) -> None:
    seen = 0
    for item in everything:
        text = item.german.text
        if item.construction in ("statement", "separable", "negation", "request"):
            for stem, prefix in (("ruf", "an"), ("schalt", "ein|aus"), ("zieh", "an|aus"), ("lad", "ein")):
                if re.match(rf"(?:\w+ )?(?:{stem})(?:e|st|t|en|est|et)\b", text, re.IGNORECASE):
                    seen += 1
                    assert re.search(rf" (?:{prefix})\.$", text), text
        assert not re.match(r"(?:Ich|Du|Er|Wir|Sie) (?:an|aus|ein|zu|vor)(?:ruf|schalt|zieh|hör|bereit)", text), text
    assert seen > 20


def test_nouns_have_capitals(everything: list[Triple]) -> None:
    small = {noun.lower() for noun in GENDER} - {"reise", "koche", "see"}
    for item in everything:
        assert not small.intersection(item.german.words), item.german.text
