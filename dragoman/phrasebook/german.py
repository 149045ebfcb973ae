"""German morphology: declension, conjugation, contraction of prepositions with articles."""

from __future__ import annotations

# Verbs whose perfect takes "sein", besides all of gehen and kommen.
SEIN = {"abfahren", "aufstehen", "aufwachen", "bleiben", "einschlafen", "folgen", "reisen", "sein"}
STRONG = {  # base: er-form (du-form after a slash where it cannot be derived), participle
    base: (third, participle)
    for base, third, participle in map(
        str.split,
        """
        lesen liest gelesen
        schreiben schreibt geschrieben
        essen isst gegessen
        trinken trinkt getrunken
        sehen sieht gesehen
        finden findet gefunden
        verlieren verliert verloren
        schließen schließt geschlossen
        waschen wäscht gewaschen
        helfen hilft geholfen
        kennen kennt gekannt
        laden lädt/lädst geladen
        rufen ruft gerufen
        treffen trifft getroffen
        bringen bringt gebracht
        tragen trägt getragen
        ziehen zieht gezogen
        leihen leiht geliehen
        geben gibt gegeben
        schneiden schneidet geschnitten
        verstehen versteht verstanden
        vergessen vergisst vergessen
        denken denkt gedacht
        fahren fährt gefahren
        gießen gießt gegossen
        singen singt gesungen
        bekommen bekommt bekommen
        zerbrechen zerbricht zerbrochen
        unterschreiben unterschreibt unterschrieben
        schlafen schläft geschlafen
        kommen kommt gekommen
        gehen geht gegangen
        stehen steht gestanden
        bleiben bleibt geblieben
        heißen heißt geheißen
        beginnen beginnt begonnen
        werden wird/wirst geworden
        sein ist/bist gewesen
        haben hat/hast gehabt
        mögen mag/magst gemocht
        wissen weiß/weißt gewusst
        streichen streicht gestrichen
        """.strip().splitlines(),
    )
}
ICH_AS_ER = {"mögen", "wissen"}
INSEPARABLE = ("be", "ver", "zer", "er", "ent", "ge", "über", "unter")
# The prepositions of the grammar; "zum", "auf dem" and such stand in the lexicon of places.
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


def genitive(noun: str, gender: str) -> str:
    """Singular genitive of a noun that is not weak."""
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
    """The forms for du and for er."""
    if base in STRONG:
        er, _, du = STRONG[base][0].partition("/")
        stem = base[:-2] if base.endswith("en") else base[:-1]
        if not du:
            link = "e" if er == stem + "et" else ""
            du = er if er[:-1].endswith(("s", "ß", "z", "x")) else er.removesuffix("et" if link else "t") + link + "st"
        return du, er
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
    """Past participle without a separable prefix."""
    if base in STRONG:
        return STRONG[base][1]
    prefix = "" if base.endswith("ieren") or base.startswith(INSEPARABLE) else "ge"
    return prefix + third_person(base)[1]


def imperative(base: str) -> str:
    """TermOutput to one person that one calls du."""
    er = third_person(base)[1]
    stem = base[:-2] if base.endswith("en") else base[:-1]
    if base in STRONG and er[: len(stem)] != stem and "i" in er:  # gib, lies, hilf, but fahr
        return er.removesuffix("t") if not er.endswith("tt") else er
    return stem + ("e" if stem.endswith(("t", "d", "chn", "ffn", "ier", "tter", "lg", "ös", "klär")) else "")
