"""Words that build sentences: determiners, numbers, pronouns, modal verbs, adverbials."""

from __future__ import annotations

from dragoman.phrasebook.meaning import Modal

POSSESSIVES = {  # English: French stem, German stem
    "my": ("m", "mein"), "your": ("t", "dein"), "his": ("s", "sein"), "her": ("s", "ihr"),
    "our": ("notre", "unser"), "their": ("leur", "ihr"),
}  # fmt: skip
NUMBERS = {
    "two": ("deux", "zwei"), "three": ("trois", "drei"), "four": ("quatre", "vier"), "five": ("cinq", "fünf"),
    "six": ("six", "sechs"), "seven": ("sept", "sieben"), "eight": ("huit", "acht"), "nine": ("neuf", "neun"),
    "ten": ("dix", "zehn"), "eleven": ("onze", "elf"), "twelve": ("douze", "zwölf"),
}  # fmt: skip
QUANTITIES = {
    "many": ("beaucoup de", "viel"),
    "several": ("plusieurs", "mehrer"),
    "a few": ("quelques", "einig"),
}
MODALS = {
    "can": Modal(
        lemma="can",
        english=("can",) * 5,
        english_negative=("can't",) * 5,
        english_to=False,
        english_helped=False,
        french=("peux", "peux", "peut", "pouvons", "peuvent"),
        german=("kann", "kannst", "kann", "können", "können"),
    ),
    "must": Modal(
        lemma="must",
        english=("have", "have", "has", "have", "have"),
        english_negative=("don't have", "don't have", "doesn't have", "don't have", "don't have"),
        english_to=True,
        english_helped=True,
        french=("dois", "dois", "doit", "devons", "doivent"),
        german=("muss", "musst", "muss", "müssen", "müssen"),
    ),
    "want": Modal(
        lemma="want",
        english=("want", "want", "wants", "want", "want"),
        english_negative=("don't want", "don't want", "doesn't want", "don't want", "don't want"),
        english_to=True,
        english_helped=True,
        french=("veux", "veux", "veut", "voulons", "veulent"),
        german=("will", "willst", "will", "wollen", "wollen"),
    ),
    "could": Modal(
        lemma="could",
        english=("could",) * 5,
        english_negative=("couldn't",) * 5,
        english_to=False,
        english_helped=False,
        french=("pouvais", "pouvais", "pouvait", "pouvions", "pouvaient"),
        german=("konnte", "konntest", "konnte", "konnten", "konnten"),
    ),
    "wanted": Modal(
        lemma="wanted",
        english=("wanted",) * 5,
        english_negative=("didn't want",) * 5,
        english_to=True,
        english_helped=True,
        french=("voulais", "voulais", "voulait", "voulions", "voulaient"),
        german=("wollte", "wolltest", "wollte", "wollten", "wollten"),
    ),
}
# English | French | German; parts of a phrase are aligned by the names after the slash.
NEAR_PAST_TIMES = """
yesterday | hier | gestern
yesterday/y evening/e | hier/y soir/e | gestern/y Abend/e
yesterday/y morning/m | hier/y matin/m | gestern/y Morgen/m
this/t morning/m | ce/t matin/m | heute/t Morgen/m
"""
FAR_PAST_TIMES = """
last/l week/w | la semaine/w dernière/l | letzte/l Woche/w
last/l month/m | le mois/m dernier/l | letzten/l Monat/m
last/l Monday/d | lundi/d dernier/l | letzten/l Montag/d
last/l Tuesday/d | mardi/d dernier/l | letzten/l Dienstag/d
last/l Friday/d | vendredi/d dernier/l | letzten/l Freitag/d
last/l Saturday/d | samedi/d dernier/l | letzten/l Samstag/d
two/n days/d ago/a | il/a y/a a/a deux/n jours/d | vor/a zwei/n Tagen/d
three/n weeks/d ago/a | il/a y/a a/a trois/n semaines/d | vor/a drei/n Wochen/d
"""
NEAR_FUTURE_TIMES = """
tomorrow | demain | morgen
tomorrow/t evening/e | demain/t soir/e | morgen/t Abend/e
tomorrow/t morning/m | demain/t matin/m | morgen/t früh/m
this/t evening/e | ce/t soir/e | heute/t Abend/e
"""
FAR_FUTURE_TIMES = """
next/l week/w | la semaine/w prochaine/l | nächste/l Woche/w
next/l month/m | le mois/m prochain/l | nächsten/l Monat/m
next/l Sunday/d | dimanche/d prochain/l | nächsten/l Sonntag/d
next/l Wednesday/d | mercredi/d prochain/l | nächsten/l Mittwoch/d
next/l Thursday/d | jeudi/d prochain/l | nächsten/l Donnerstag/d
in/i two/n days/d | dans/i deux/n jours/d | in/i zwei/n Tagen/d
in/i three/n weeks/d | dans/i trois/n semaines/d | in/i drei/n Wochen/d
"""
PRESENT_TIMES = """
now | maintenant | jetzt
at/a the/t moment/m | en/a ce/t moment/m | im/a/t TermInput/m
"""
HABITUAL_TIMES = """
every/e day/d | tous/e les/e jours/d | jeden/e Tag/d
every/e morning/d | chaque/e matin/d | jeden/e Morgen/d
every/e evening/d | chaque/e soir/d | jeden/e Abend/d
every/e week/d | chaque/e semaine/d | jede/e Woche/d
on/o Sundays/d | le/o dimanche/d | sonntags/o/d
on/o Mondays/d | le/o lundi/d | montags/o/d
on/o Saturdays/d | le/o samedi/d | samstags/o/d
"""
FREQUENCIES = """
often | souvent | oft
always | toujours | immer
sometimes | parfois | manchmal
rarely | rarement | selten
"""
MANNERS = """
slowly | lentement | langsam
quickly | rapidement | schnell
carefully | prudemment | vorsichtig
"""
