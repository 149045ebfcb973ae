"""Constructions: times of day, dates, the weather."""

from __future__ import annotations

from dragoman.phrasebook import english_syntax, french, french_syntax, names
from dragoman.phrasebook.clauses import joined, nominal, spoken
from dragoman.phrasebook.draw import Draw, NoChoice
from dragoman.phrasebook.grammar import Phrase, Word, phrase
from dragoman.phrasebook.lexicon import INTRANSITIVE, NOUNS, SIMPLE
from dragoman.phrasebook.lexicon_function import NUMBERS
from dragoman.phrasebook.meaning import Clause, Pronoun
from dragoman.phrasebook.predicates import BE
from dragoman.phrasebook.realise import with_end

HOURS = {"one": ("une heure", "eins")} | {
    name: (f"{two} heures", three) for name, (two, three) in NUMBERS.items() if name != "twelve"
}
SCHEDULES = {  # verb: what does so at a fixed time
    "leave:by": "train bus", "arrive:by": "train bus plane", "begin": "film lesson meeting exam",
    "open:hours": "museum library bakery school", "close:hours": "museum library bakery restaurant",
}  # fmt: skip
DAILY = ("get ~up", "leave", "arrive", "come =back", "wake ~up", "have =breakfast/n")
MONTHS = {
    "January": ("janvier", "Januar"), "February": ("février", "Februar"), "March": ("mars", "März"),
    "April": ("avril", "April"), "May": ("mai", "Mai"), "June": ("juin", "Juni"), "July": ("juillet", "Juli"),
    "August": ("août", "August"), "September": ("septembre", "September"), "October": ("octobre", "Oktober"),
    "November": ("novembre", "November"), "December": ("décembre", "Dezember"),
}  # fmt: skip
DAYS = {
    "Monday": ("lundi", "Montag"), "Tuesday": ("mardi", "Dienstag"), "Wednesday": ("mercredi", "Mittwoch"),
    "Thursday": ("jeudi", "Donnerstag"), "Friday": ("vendredi", "Freitag"), "Saturday": ("samedi", "Samstag"),
    "Sunday": ("dimanche", "Sonntag"),
}  # fmt: skip
BECAME = ("wurde", "wurdest", "wurde", "wurden", "wurden")
OFTEN = [("often", "souvent", "oft"), ("rarely", "rarement", "selten")]


def figures(draw: Draw, key: str) -> Phrase:
    """ "at 10:30"."""
    hour, minute = draw.random.randrange(1, 24), draw.random.randrange(1, 60)
    at, hours, minutes = (f"{key}.p",), (f"{key}.h",), (f"{key}.m",)
    clock = Word(f"{hour}:{minute:02}", hours + minutes)
    return Phrase(
        [Word("at", at), clock],
        [Word("à", at), Word(str(hour), hours), Word("h", hours), Word(f"{minute:02}", minutes)],
        [Word("um", at), clock, Word("Uhr", hours)],
    )


def clock(draw: Draw, key: str) -> Phrase:
    """ "at six o'clock", "at half past three": German counts the half towards the next hour."""
    names = list(HOURS)
    place = draw.random.randrange(len(names) - 1)
    hour, later = names[place], names[place + 1]
    kind = draw.choice(("full", "full", "half", "after", "before"))
    number, heures = HOURS[later if kind == "before" else hour][0].split()
    french_hour = f"à/p {number}/h {heures}/h"
    if kind == "full":
        whole = "ein" if hour == "one" else HOURS[hour][1]
        return phrase(f"at/p {hour}/h o'clock/o", f"à/p {number}/h {heures}/o", f"um/p {whole}/h Uhr/o", key)
    if kind == "half":
        german = f"um/p halb/m/x {HOURS[later][1]}/h"
        return phrase(f"at/p half/m past/x {hour}/h", f"{french_hour} et/x demie/m", german, key)
    if kind == "after":
        german = f"um/p Viertel/m nach/x {HOURS[hour][1]}/h"
        return phrase(f"at/p a/m quarter/m past/x {hour}/h", f"{french_hour} et/x quart/m", german, key)
    german = f"um/p Viertel/m vor/x {HOURS[later][1]}/h"
    return phrase(f"at/p a/m quarter/m to/x {later}/h", f"{french_hour} moins/x le/m quart/m", german, key)


def time_of_day(draw: Draw) -> Phrase:
    """The train leaves at 10:30; my father gets up at six o'clock."""
    key = "a.when"
    if draw.chance(0.5):
        name = draw.choice(list(SCHEDULES))
        when = figures(draw, key) if name.endswith(":by") and draw.chance(0.8) else clock(draw, key)
        noun = NOUNS[draw.choice(SCHEDULES[name].split())]
        subject = draw.noun_phrase(noun, "a.s", determiner=draw.choice(("the", "the", "this")))
        return with_end(spoken(Clause(key="a", subject=subject, verb=SIMPLE[name], tense="habitual", time=when)), ".")
    verb, tense = INTRANSITIVE[draw.choice(DAILY)], draw.choice(("past", "future", "habitual"))
    node = Clause(key="a", subject=draw.person("a.s"), verb=verb, tense=tense, time=clock(draw, key))
    return with_end(spoken(node), ".")


def on_date(draw: Draw, key: str, *, year: bool = False) -> Phrase:
    """ "on 12 May 1987"."""
    day, month = str(draw.random.randrange(2, 29)), draw.choice(list(MONTHS))
    two, three = MONTHS[month]
    lines = phrase(f"on/p {day}/d {month}/m", f"le/p {day}/d {two}/m", f"am/p {day}/d ./d {three}/m", key)
    number = [Word(str(draw.random.randrange(1930, 2025)), (f"{key}.y",))] if year else []
    return Phrase(*([*line, *number] for line in lines))


def on_day(draw: Draw, key: str) -> Phrase:
    """ "on Monday"."""
    day = draw.choice(list(DAYS))
    return phrase(f"on/p {day}/d", f"{DAYS[day][0]}/d", f"am/p {DAYS[day][1]}/d", key)


def date(draw: Draw) -> Phrase:
    """My birthday is on 12 May; the exam is on Monday; she arrived on 3 June 2021."""
    key = "a.when"
    if draw.chance(0.4):
        verb = INTRANSITIVE[draw.choice(("leave", "arrive", "come =back"))]
        when = on_date(draw, key, year=draw.chance(0.5))
        return with_end(spoken(Clause(key="a", subject=draw.person("a.s"), verb=verb, tense="past", time=when)), ".")
    when = on_day(draw, key) if draw.chance(0.3) else on_date(draw, key)
    noun = NOUNS[draw.choice(("birthday", "birthday", "exam", "meeting"))]
    personal = noun.lemma == "birthday"
    owner = draw.relation("a.s.w") if personal and draw.chance(0.5) else None
    if owner is not None and owner.plural:
        raise NoChoice
    determiner = "the" if owner or not personal else draw.choice(("my", "your"))
    subject = draw.noun_phrase(noun, "a.s", determiner=determiner, owner=owner)
    return with_end(joined(spoken(Clause(key="a", subject=subject, verb=BE)), when), ".")


def birth(draw: Draw) -> Phrase:
    """Clara was born on 12 May 1987."""
    subject = draw.person("a.s", pronouns=0.3)
    if subject.plural:
        raise NoChoice
    when, slot = on_date(draw, "a.when", year=True), subject.slot
    passive, verb = ("a.t",), ("a.v",)
    lines = nominal(subject)
    born = french.agree("né", subject.french_gender, subject.plural)
    english_line = [*lines.english, Word(english_syntax.WAS[slot], passive), Word("born", verb), *when.english]
    french_line = [*french_syntax.subject_line(subject), Word(french_syntax.BE[slot], passive), Word(born, verb)]
    german_line = [*lines.german, Word(BECAME[slot], passive), *when.german, Word("geboren", verb)]
    return with_end(Phrase(english_line, [*french_line, *when.french], german_line), ".")


def weather(draw: Draw) -> Phrase:
    """It rained in London yesterday."""
    tense = draw.choice(("past", "present", "habitual", "future"))
    town = draw.choice(list(names.TOWNS))
    two, three = names.TOWNS[town]
    node = Clause(
        key="a",
        subject=Pronoun(key="a.s", sex="", german_gender="n"),
        verb=SIMPLE["rain" if draw.chance(0.6) else "snow"],
        tense=tense,
        place=phrase(f"in/p {town}/n", f"à/p {two}/n", f"in/p {three}/n", "a.where") if draw.chance(0.8) else None,
        frequency=draw.fixed(OFTEN, "a.often") if tense == "habitual" else None,
        time=draw.time(tense, "a.when") if tense != "habitual" and draw.chance(0.7) else None,
    )
    return with_end(spoken(node), ".")
