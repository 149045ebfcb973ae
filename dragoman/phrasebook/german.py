"""German morphology: declension, conjugation, contraction of prepositions with articles."""

from __future__ import annotations

SEIN = {"sein", "abfahren", "bleiben", "aufstehen",
        "einschlafen", "aufwachen", "laufen", "reisen", "sterben", "folgen", "hinfallen", "werden"}  # fmt: skip
STRONG = {  # base: er-form (du-form after a slash where it cannot be derived), participle
    "lesen": "liest gelesen", "schreiben": "schreibt geschrieben", "essen": "isst gegessen",
    "trinken": "trinkt getrunken", "sehen": "sieht gesehen", "finden": "findet gefunden",
    "verlieren": "verliert verloren", "schließen": "schließt geschlossen", "waschen": "wäscht gewaschen",
    "helfen": "hilft geholfen", "kennen": "kennt gekannt", "laden": "lädt/lädst geladen", "rufen": "ruft gerufen",
    "treffen": "trifft getroffen", "bringen": "bringt gebracht", "tragen": "trägt getragen", "ziehen": "zieht gezogen",
    "leihen": "leiht geliehen", "geben": "gibt gegeben", "schneiden": "schneidet geschnitten",
    "verstehen": "versteht verstanden", "vergessen": "vergisst vergessen", "denken": "denkt gedacht",
    "werfen": "wirft geworfen", "fahren": "fährt gefahren", "gießen": "gießt gegossen", "singen": "singt gesungen",
    "bekommen": "bekommt bekommen", "zerbrechen": "zerbricht zerbrochen", "unterschreiben": "unterschreibt unterschrieben",
    "schlafen": "schläft geschlafen", "kommen": "kommt gekommen", "gehen": "geht gegangen", "stehen": "steht gestanden",
    "bleiben": "bleibt geblieben", "schwimmen": "schwimmt geschwommen", "laufen": "läuft gelaufen",
    "fallen": "fällt gefallen", "sterben": "stirbt gestorben", "nehmen": "nimmt/nimmst genommen",
    "liegen": "liegt gelegen", "hängen": "hängt gehängt", "heißen": "heißt geheißen", "stehlen": "stiehlt gestohlen",
    "gewinnen": "gewinnt gewonnen", "backen": "backt gebacken", "beginnen": "beginnt begonnen",
    "sprechen": "spricht gesprochen", "werden": "wird/wirst geworden", "sein": "ist/bist gewesen",
    "haben": "hat/hast gehabt", "raten": "rät/rätst geraten", "besprechen": "bespricht besprochen", "halten": "hält/hältst gehalten",
    "mögen": "mag/magst gemocht", "wissen": "weiß/weißt gewusst", "können": "kann/kannst gekonnt",
    "müssen": "muss/musst gemusst", "wollen": "will/willst gewollt", "dürfen": "darf/darfst gedurft",
    "reiten": "reitet geritten", "streichen": "streicht gestrichen",
}  # fmt: skip
ICH_AS_ER = {"mögen", "wissen", "können", "müssen", "wollen", "dürfen"}
INSEPARABLE = ("be", "ver", "zer", "er", "ent", "ge", "über", "unter")
PREPOSITION_ARTICLE = {("in", "dem"): "im", ("an", "dem"): "am", ("zu", "dem"): "zum", ("zu", "der"): "zur",
                       ("von", "dem"): "vom", ("bei", "dem"): "beim", ("in", "das"): "ins", ("an", "das"): "ans"}  # fmt: skip
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
    """"Kinder" -> "Kindern"."""
    return plural if plural.endswith(("n", "s")) else plural + "n"


def third_person(base: str) -> tuple[str, str]:
    """The forms for du and for er."""
    if base in STRONG:
        er, _, du = STRONG[base].split()[0].partition("/")
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
    return verb in SEIN or verb.endswith(("gehen", "kommen")) and verb != "bekommen"


def participle(base: str) -> str:
    """Past participle without a separable prefix."""
    if base in STRONG:
        return STRONG[base].split()[1]
    prefix = "" if base.endswith("ieren") or base.startswith(INSEPARABLE) else "ge"
    return prefix + third_person(base)[1]


def imperative(base: str) -> str:
    """Said to one person that one calls du."""
    er = third_person(base)[1]
    stem = base[:-2] if base.endswith("en") else base[:-1]
    if base in STRONG and er[: len(stem)] != stem and "i" in er:  # gib, lies, hilf, but fahr
        return er.removesuffix("t") if not er.endswith("tt") else er
    return stem + ("e" if stem.endswith(("t", "d", "chn", "ffn", "gn")) else "")
