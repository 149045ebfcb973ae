"""Constructions: times of day, dates, the weather."""

from __future__ import annotations

from phrasebook import english_syntax, french, french_syntax
from phrasebook.clauses import joined, nominal, spoken
from phrasebook.draw import Draw, NoChoice
from phrasebook.entries import nouns, phrases, verbs
from phrasebook.grammar import Phrase, Word, phrase
from phrasebook.meaning import Clause, FixedPhrase, Pronoun
from phrasebook.predicates import BE
from phrasebook.realize import with_end

ONE = FixedPhrase("one", "une", "eins")
SCHEDULES = {  # verb: subjects that do so at a fixed time
    "leave:by": "train bus", "arrive:by": "train bus plane", "begin": "film lesson meeting exam",
    "open:hours": "museum library bakery school", "close:hours": "museum library bakery restaurant",
}  # fmt: skip
DAILY = ("get ~up", "leave", "arrive", "come =back", "wake ~up", "have =breakfast/n")
BECAME = ("wurde", "wurdest", "wurde", "wurden", "wurden")


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
    hours = [ONE, *(number for number in phrases("number").values() if number.english != "twelve")]
    place = draw.random.randrange(len(hours) - 1)
    hour, later = hours[place], hours[place + 1]
    kind = draw.choice(("full", "full", "half", "after", "before"))
    number = (later if kind == "before" else hour).french
    heures = "heure" if number == ONE.french else "heures"
    french_hour = f"à/p {number}/h {heures}/h"
    if kind == "full":
        whole = "ein" if hour is ONE else hour.german
        return phrase(f"at/p {hour.english}/h o'clock/o", f"à/p {number}/h {heures}/o", f"um/p {whole}/h Uhr/o", key)
    if kind == "half":
        german = f"um/p halb/m/x {later.german}/h"
        return phrase(f"at/p half/m past/x {hour.english}/h", f"{french_hour} et/x demie/m", german, key)
    if kind == "after":
        german = f"um/p Viertel/m nach/x {hour.german}/h"
        return phrase(f"at/p a/m quarter/m past/x {hour.english}/h", f"{french_hour} et/x quart/m", german, key)
    german = f"um/p Viertel/m vor/x {later.german}/h"
    return phrase(f"at/p a/m quarter/m to/x {later.english}/h", f"{french_hour} moins/x le/m quart/m", german, key)


def time_of_day(draw: Draw) -> Phrase:
    """The train leaves at 10:30; my father gets up at six o'clock."""
    key = "a.when"
    if draw.chance(0.5):
        name = draw.choice(list(SCHEDULES))
        when = figures(draw, key) if name.endswith(":by") and draw.chance(0.8) else clock(draw, key)
        noun = nouns()[draw.choice(SCHEDULES[name].split())]
        subject = draw.noun_phrase(noun, "a.s", determiner=draw.choice(("the", "the", "this")))
        return with_end(
            spoken(Clause(key="a", subject=subject, verb=verbs("simple")[name], tense="habitual", time=when)), "."
        )
    verb, tense = verbs("intransitive")[draw.choice(DAILY)], draw.choice(("past", "future", "habitual"))
    node = Clause(key="a", subject=draw.person("a.s"), verb=verb, tense=tense, time=clock(draw, key))
    return with_end(spoken(node), ".")


def on_date(draw: Draw, key: str, *, year: bool = False) -> Phrase:
    """ "on 12 May 1987"."""
    day = draw.random.randrange(2, 29)
    month, two, three = draw.fixed("month")
    lines = phrase(f"on/p {day}/d {month}/m", f"le/p {day}/d {two}/m", f"am/p {day}/d ./d {three}/m", key)
    number = [Word(str(draw.random.randrange(1930, 2025)), (f"{key}.y",))] if year else []
    return Phrase(*([*line, *number] for line in lines))


def on_day(draw: Draw, key: str) -> Phrase:
    """ "on Monday"."""
    day, two, three = draw.fixed("day")
    return phrase(f"on/p {day}/d", f"{two}/d", f"am/p {three}/d", key)


def date(draw: Draw) -> Phrase:
    """My birthday is on 12 May; the exam is on Monday; she arrived on 3 June 2021."""
    key = "a.when"
    if draw.chance(0.4):
        verb = verbs("intransitive")[draw.choice(("leave", "arrive", "come =back"))]
        when = on_date(draw, key, year=draw.chance(0.5))
        return with_end(spoken(Clause(key="a", subject=draw.person("a.s"), verb=verb, tense="past", time=when)), ".")
    when = on_day(draw, key) if draw.chance(0.3) else on_date(draw, key)
    noun = nouns()[draw.choice(("birthday", "birthday", "exam", "meeting"))]
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
    french_line = [*french_syntax.subject_line(subject), Word(french.present("être")[slot], passive), Word(born, verb)]
    german_line = [*lines.german, Word(BECAME[slot], passive), *when.german, Word("geboren", verb)]
    return with_end(Phrase(english_line, [*french_line, *when.french], german_line), ".")


def weather(draw: Draw) -> Phrase:
    """It rained in London yesterday."""
    tense = draw.choice(("past", "present", "habitual", "future"))
    town, two, three = draw.fixed("town")
    often = [phrases("frequency")[name] for name in ("often", "rarely")]
    node = Clause(
        key="a",
        subject=Pronoun(key="a.s", sex="", german_gender="n"),
        verb=verbs("simple")["rain" if draw.chance(0.6) else "snow"],
        tense=tense,
        place=phrase(f"in/p {town}/n", f"à/p {two}/n", f"in/p {three}/n", "a.where") if draw.chance(0.8) else None,
        frequency=phrase(*draw.choice(often), "a.often") if tense == "habitual" else None,
        time=draw.time(tense, "a.when") if tense != "habitual" and draw.chance(0.7) else None,
    )
    return with_end(spoken(node), ".")
