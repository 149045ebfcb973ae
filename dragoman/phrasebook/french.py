"""French morphology: gender and number, conjugation, elision before a vowel."""

from __future__ import annotations

ELIDING = {"le", "la", "je", "me", "te", "se", "ne", "de", "que"}
ASPIRATED = ("haut", "huit", "onze")
VOWELS = "aeiouyhàâäéèêëîïôöùûüœæ"
ETRE = {"aller", "arriver", "partir", "rester", "revenir", "venir"}  # and all reflexive verbs
IRREGULAR_VERBS = {  # infinitive: je, tu, il, nous, ils; past participle
    infinitive: (tuple(present), participle)
    for infinitive, *present, participle in map(
        str.split,
        """
        être suis es est sommes sont été
        avoir ai as a avons ont eu
        aller vais vas va allons vont allé
        faire fais fais fait faisons font fait
        lire lis lis lit lisons lisent lu
        écrire écris écris écrit écrivons écrivent écrit
        boire bois bois boit buvons boivent bu
        voir vois vois voit voyons voient vu
        ouvrir ouvre ouvres ouvre ouvrons ouvrent ouvert
        construire construis construis construit construisons construisent construit
        traduire traduis traduis traduit traduisons traduisent traduit
        conduire conduis conduis conduit conduisons conduisent conduit
        connaître connais connais connaît connaissons connaissent connu
        prendre prends prends prend prenons prennent pris
        comprendre comprends comprends comprend comprenons comprennent compris
        apprendre apprends apprends apprend apprenons apprennent appris
        mettre mets mets met mettons mettent mis
        dormir dors dors dort dormons dorment dormi
        endormir endors endors endort endormons endorment endormi
        partir pars pars part partons partent parti
        venir viens viens vient venons viennent venu
        revenir reviens reviens revient revenons reviennent revenu
        rire ris ris rit rions rient ri
        sourire souris souris sourit sourions sourient souri
        suivre suis suis suit suivons suivent suivi
        recevoir reçois reçois reçoit recevons reçoivent reçu
        savoir sais sais sait savons savent su
        pleuvoir pleus pleus pleut pleuvons pleuvent plu
        résoudre résous résous résout résolvons résolvent résolu
        éteindre éteins éteins éteint éteignons éteignent éteint
        peindre peins peins peint peignons peignent peint
        dire dis dis dit disons disent dit
        """.strip().splitlines(),
    )
}
STRESSED_STEMS = {
    "acheter": "achèt",
    "lever": "lèv",
    "enlever": "enlèv",
    "promener": "promèn",
    "appeler": "appell",
    "espérer": "espèr",
}


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
    """Regular plural of a noun or of an adjective."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith("al"):
        return word[:-2] + "aux"
    return word + ("x" if word.endswith(("eau", "jeu", "feu")) else "s")


def feminine(adjective: str) -> str:
    """Regular feminine; the others stand in the lexicon."""
    if adjective.endswith("e"):
        return adjective
    if adjective.endswith("eux"):
        return adjective[:-1] + "se"
    if adjective.endswith(("el", "il", "en", "on")):
        return adjective + adjective[-1] + "e"
    return adjective + "e"


def present(infinitive: str) -> tuple[str, ...]:
    """je, tu, il, nous, ils."""
    if infinitive in IRREGULAR_VERBS:
        return IRREGULAR_VERBS[infinitive][0]
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
    """Past participle, masculine singular."""
    if infinitive in IRREGULAR_VERBS:
        return IRREGULAR_VERBS[infinitive][1]
    return infinitive[:-2] + {"er": "é", "ir": "i", "re": "u"}[infinitive[-2:]]


def agree(participle_form: str, gender: str, many: bool) -> str:
    """ "vu" -> "vue", "vus", "vues"; "pris" stays "pris" in the masculine plural."""
    form = participle_form + ("e" if gender == "f" else "")
    return plural(form) if many else form


def imperfect(infinitive: str) -> tuple[str, ...]:
    """je, tu, il, nous, ils."""
    stem = "ét" if infinitive == "être" else present(infinitive)[3][:-3]
    return tuple(stem + ending for ending in ("ais", "ais", "ait", "ions", "aient"))
