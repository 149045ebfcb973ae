"""Constructions: numbers, dates, times of day, names, journeys, weather, the passive."""

from __future__ import annotations

from dataclasses import replace

from dragoman.phrasebook import english, english_syntax, french, french_syntax, german, german_syntax, names
from dragoman.phrasebook.clauses import PLACES, joined, nominal, spoken, timed
from dragoman.phrasebook.draw import Draw
from dragoman.phrasebook.grammar import Line, Phrase, Word, phrase, words
from dragoman.phrasebook.lexicon import INTRANSITIVE, NOUNS, TRANSITIVE
from dragoman.phrasebook.lexicon_function import NUMBERS
from dragoman.phrasebook.meaning import Clause, EnglishVerb, FrenchVerb, GermanVerb, Name, NounPhrase, Pronoun, Verb
from dragoman.phrasebook.predicates import BE, HAVE
from dragoman.phrasebook.realise import with_end

NONE: frozenset[str] = frozenset()


def _simple(name: str, one: str, two: str, three: str, prefix: str = "") -> Verb:
    return Verb(name, EnglishVerb(one), FrenchVerb(two), GermanVerb(three, prefix), NONE, NONE, frozenset({"stative"}))


COST = _simple("cost", "cost", "coûter", "kosten")
LIVE = _simple("live", "live", "habiter", "wohnen")
COME = _simple("come", "come", "venir", "kommen")
BEGIN = _simple("begin", "begin", "commencer", "beginnen")
OPEN, CLOSE = _simple("open", "open", "ouvrir", "öffnen"), _simple("close", "close", "fermer", "schließen")
DEPART, ARRIVE = _simple("leave", "leave", "partir", "fahren", "ab"), _simple("arrive", "arrive", "arriver", "kommen", "an")
TRAVEL = Verb("go", EnglishVerb("go"), FrenchVerb("aller"), GermanVerb("fahren"), NONE, NONE, NONE)
HOURS = ("one", *NUMBERS)[:11]
SCHEDULES = (
    (DEPART, "train bus"), (ARRIVE, "train bus plane"), (BEGIN, "film lesson meeting exam"),
    (OPEN, "museum library bakery school"), (CLOSE, "museum library bakery restaurant"),
)  # fmt: skip
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
YOUNG = ("son", "daughter", "nephew", "niece", "boy", "pupil", "child")
PASSIVE = ("build", "paint", "repair", "sell", "open", "close", "translate", "write", "sign", "find", "buy", "clean")


def quantity(draw: Draw) -> Phrase:
    """I bought three apples and two pears."""
    verb = TRANSITIVE[draw.choice(("buy", "sell", "eat", "order", "see", "draw", "find", "plant"))]
    first, second = draw.object_of(verb), draw.object_of(verb)
    if first is second or {"mass"} & (first.classes | second.classes) or not _same_kind(first.classes, second.classes):
        return quantity(draw)
    few = list(NUMBERS) if verb.lemma in ("buy", "sell", "see") else list(NUMBERS)[:4]
    things = [draw.noun_phrase(noun, f"a.{i}", determiner=draw.choice(few), plural=True) for i, noun in enumerate((first, second))]
    one, two = (nominal(thing, "accusative") for thing in things)
    both = joined(one, ("and", "et", "und"), two)
    thing = Name(key="a.o", plural=True, phrase=both, oblique=both.german)
    node = Clause(key="a", subject=draw.person("a.s"), verb=verb, object=thing, tense="past")
    return with_end(spoken(timed(draw, node, 0.3)), ".")


def _same_kind(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one & other & {"food", "worn", "animal", "plant", "furniture", "text", "place", "building", "small", "lent"})


def clock(draw: Draw, key: str) -> Phrase:
    """ "at half past three", "at 10:30"."""
    if draw.chance(0.4):
        hour, minute = draw.random.randrange(1, 24), draw.random.randrange(1, 60)
        return Phrase(
            [Word("at", (f"{key}.p",)), Word(f"{hour}:{minute:02}", (f"{key}.h", f"{key}.m"))],
            [Word("à", (f"{key}.p",)), Word(str(hour), (f"{key}.h",)), Word("h", (f"{key}.h",)), Word(f"{minute:02}", (f"{key}.m",))],
            [Word("um", (f"{key}.p",)), Word(f"{hour}:{minute:02}", (f"{key}.h", f"{key}.m")), Word("Uhr", (f"{key}.h",))],
        )  # fmt: skip
    at = draw.random.randrange(len(HOURS) - 1)
    hour, later = HOURS[at], HOURS[at + 1]
    in_french = {name: ("une heure" if name == "one" else f"{NUMBERS[name][0]} heures") for name in (hour, later)}
    in_german = {name: ("eins" if name == "one" else NUMBERS[name][1]) for name in (hour, later)}
    kind = draw.choice(("full", "half", "quarter", "before"))
    if kind == "full":
        first, second = in_french[hour].split()
        full = "ein" if hour == "one" else in_german[hour]
        return phrase(f"at/p {hour}/h o'clock/o", f"à/p {first}/h {second}/o", f"um/p {full}/h Uhr/o", key)
    if kind == "half":
        first, second = in_french[hour].split()
        return phrase(f"at/p half/m past/x {hour}/h", f"à/p {first}/h {second}/h et/x demie/m", f"um/p halb/m/x {in_german[later]}/h", key)
    if kind == "quarter":
        first, second = in_french[hour].split()
        return phrase(f"at/p a/m quarter/m past/x {hour}/h", f"à/p {first}/h {second}/h et/x quart/m", f"um/p Viertel/m nach/x {in_german[hour]}/h", key)
    first, second = in_french[later].split()
    return phrase(f"at/p a/m quarter/m to/x {later}/h", f"à/p {first}/h {second}/h moins/x le/m quart/m", f"um/p Viertel/m vor/x {in_german[later]}/h", key)


def time_of_day(draw: Draw) -> Phrase:
    """The train leaves at 10:30; my father gets up at six o'clock."""
    when = clock(draw, "a.when")
    if draw.chance(0.5):
        verb, nouns = draw.choice(SCHEDULES)
        subject = draw.noun_phrase(NOUNS[draw.choice(nouns.split())], "a.s", determiner=draw.choice(("the", "the", "this", "my" if verb is DEPART else "the")))
        return with_end(spoken(Clause(key="a", subject=subject, verb=verb, tense="habitual", time=when)), ".")
    verb = INTRANSITIVE[draw.choice(("get ~up", "leave", "arrive", "come =back", "wake ~up", "have =breakfast/n"))]
    tense = draw.choice(("past", "future", "habitual"))
    return with_end(spoken(Clause(key="a", subject=draw.person("a.s"), verb=verb, tense=tense, time=when)), ".")


def date_phrase(draw: Draw, key: str, *, year: bool = False) -> Phrase:
    """ "on 12 May 1987"."""
    day, month = str(draw.random.randrange(2, 29)), draw.choice(list(MONTHS))
    french_month, german_month = MONTHS[month]
    lines = phrase(f"on/p {day}/d {month}/m", f"le/p {day}/d {french_month}/m", f"am/p {day}/d ./d {german_month}/m", key)
    if year:
        number = Word(str(draw.random.randrange(1930, 2025)), (f"{key}.y",))
        return Phrase(*([*line, number] for line in lines))
    return lines


def date(draw: Draw) -> Phrase:
    """My birthday is on 12 May; the exam is on Monday."""
    key = "a.when"
    kind = draw.random.random()
    if kind < 0.3:
        return born(draw)
    if kind < 0.5:
        when = date_phrase(draw, key, year=draw.chance(0.4))
        verb = INTRANSITIVE[draw.choice(("leave", "arrive", "come =back"))]
        return with_end(spoken(Clause(key="a", subject=draw.person("a.s"), verb=verb, tense="past", time=when)), ".")
    if draw.chance(0.4):
        day = draw.choice(list(DAYS))
        when = phrase(f"on/p {day}/d", f"{DAYS[day][0]}/d", f"am/p {DAYS[day][1]}/d", key)
    else:
        when = date_phrase(draw, key)
    if draw.chance(0.5):
        owner = draw.choice(("my", "your", "his", "her"))
        stem = {"my": ("mon", "mein"), "your": ("ton", "dein"), "his": ("son", "sein"), "her": ("son", "ihr")}[owner]
        front = phrase(f"{owner}/o birthday/n is/v", f"{stem[0]}/o anniversaire/n est/v", f"{stem[1]}/o Geburtstag/n ist/v", "a")
    else:
        subject = draw.noun_phrase(NOUNS[draw.choice(("exam", "meeting"))], "a.s", determiner=draw.choice(("the", "our", "my")))
        front = spoken(Clause(key="a", subject=subject, verb=BE))
    return with_end(joined(front, when), ".")


def born(draw: Draw) -> Phrase:
    """Clara was born on 12 May 1987."""
    subject = draw.person("a.s", pronouns=0.3)
    when = date_phrase(draw, "a.when", year=True)
    lines = nominal(subject)
    etre, slot = french.present("être")[subject.slot], subject.slot
    ne = french.agree("né", subject.french_gender, subject.plural)
    wurde = ("wurde", "wurdest", "wurde", "wurden", "wurden")[slot]
    passive, verb = ("a.t",), ("a.v",)
    if subject.plural:
        return born(draw)
    return with_end(
        Phrase(
            [*lines.english, Word(english_syntax.WAS[slot], passive), Word("born", verb), *when.english],
            [*french_syntax.subject_line(subject), Word(etre, passive), Word(ne, verb), *when.french],
            [*lines.german, Word(wurde, passive), *when.german, Word("geboren", verb)],
        ),
        ".",
    )


def price(draw: Draw) -> Phrase:
    """The lamp costs 25 euros."""
    noun = draw.choice([n for n in NOUNS.values() if n.classes & {"bought"} and not n.classes & {"mass", "food", "drink", "stamp", "newspaper", "car", "boat", "house"}])
    thing = draw.noun_phrase(noun, "a.s", determiner=draw.choice(("the", "this")), plural="pair" in noun.classes)
    dear = bool(noun.classes & {"device", "furniture", "vehicle"})
    few = not dear and draw.chance(0.3)
    amount = draw.choice(list(NUMBERS)) if few else str(draw.random.randrange(*((60, 1000) if dear else (13, 100))))
    two, three = NUMBERS.get(amount, (amount, amount))
    cost = phrase(f"{amount}/n euros/e", f"{two}/n euros/e", f"{three}/n Euro/e", "a.p")
    return with_end(spoken(Clause(key="a", subject=thing, verb=COST, predicate=cost, tense="habitual")), ".")


def age(draw: Draw) -> Phrase:
    """My sister is 12 years old (French has years, German is years old)."""
    subject = draw.person("a.s", pronouns=0.35)
    if subject.plural:
        return age(draw)
    young = isinstance(subject, NounPhrase) and subject.noun.lemma in YOUNG
    number = draw.choice(list(NUMBERS)) if young else str(draw.random.randrange(19, 90))
    two, three = NUMBERS.get(number, (number, number))
    years = phrase(f"{number}/n years/y old/o", f"{two}/n ans/y", f"{three}/n Jahre/y alt/o", "a.p")
    node = Clause(key="a", subject=subject, verb=BE, predicate=years)
    has = spoken(replace(node, verb=HAVE)).french
    return with_end(spoken(node)._replace(french=has), ".")


def naming(draw: Draw) -> Phrase:
    """My name is Belmont."""
    who = Pronoun(key="a.s", person=draw.choice((1, 3)), sex=draw.choice("mf"))
    owner = "my" if who.person == 1 else "his" if who.sex == "m" else "her"
    who = replace(who, french_gender=who.sex, german_gender=who.sex)
    surname = names.invented(names.SURNAME_PARTS, draw.random, draw.name_split)
    name = [Word(surname, ("a.n",))]
    call = Verb("call", EnglishVerb("be"), FrenchVerb("appeler", True), GermanVerb("heißen"), NONE, NONE, NONE)
    lines = spoken(Clause(key="a", subject=who, verb=call))
    line = [Word(owner, ("a.s",)), Word("name", ("a.v",)), Word("is", (), "a.v")]
    return with_end(Phrase([*line, *name], [*lines.french, *name], [*lines.german, *name]), ".")


def residence(draw: Draw) -> Phrase:
    """Mrs Talmont lives in Belburg; we're going to Vienna; he comes from Poland."""
    kind = draw.choice(("in", "to", "in", "to", "from"))
    preposition = {"in": ("à", "in"), "to": ("à", "nach"), "from": ("de", "aus")}[kind]
    draw_place = draw.random.random()
    if draw_place < 0.45:
        town = names.invented(names.TOWN_PARTS, draw.random, draw.name_split)
        forms = (town, town, town)
    elif draw_place < 0.75 or kind == "from":
        town = draw.choice(list(names.TOWNS))
        forms = (town, *names.TOWNS[town])
    else:
        country = draw.choice(list(names.COUNTRIES))
        french_form, german_form = names.COUNTRIES[country]
        first, second = french_form.replace("/i", "").split()
        where = phrase(f"{kind}/p {country}/n", f"{first}/p {second}/n", f"{preposition[1]}/p {german_form}/n", "a.where")
        return _residence(draw, kind, where)
    where = phrase(f"{kind}/p {forms[0]}/n", f"{preposition[0]}/p {forms[1]}/n", f"{preposition[1]}/p {forms[2]}/n", "a.where")
    return _residence(draw, kind, where)


def _residence(draw: Draw, kind: str, where: Phrase) -> Phrase:
    verb = {"in": LIVE, "to": TRAVEL, "from": COME}[kind]
    tense = draw.choice(("past", "present")) if kind == "to" else "habitual"
    node = Clause(key="a", subject=draw.person("a.s"), verb=verb, tense=tense, goal=where)
    if kind == "to" and draw.chance(0.5):  # "he's going to Vienna tomorrow": the present serves
        node = replace(node, time=draw.time("past" if tense == "past" else "future", "a.when"))
    return with_end(spoken(node), ".")


def weather(draw: Draw) -> Phrase:
    """It rained in London yesterday."""
    rain = draw.chance(0.6)
    verb = _simple("rain", *(("rain", "pleuvoir", "regnen") if rain else ("snow", "neiger", "schneien")))
    tense = draw.choice(("past", "present", "habitual", "future"))
    verb = replace(verb, flags=frozenset())
    it = Pronoun(key="a.s", sex="", german_gender="n")
    town = draw.choice(list(names.TOWNS))
    two, three = names.TOWNS[town]
    where = phrase(f"in/p {town}/n", f"à/p {two}/n", f"in/p {three}/n", "a.where") if draw.chance(0.7) else None
    node = Clause(key="a", subject=it, verb=verb, tense=tense, place=where)
    if tense == "habitual":
        node = replace(node, frequency=draw.fixed([("often", "souvent", "oft"), ("rarely", "rarement", "selten")], "a.often"))
    elif tense == "present" or draw.chance(0.6):
        node = replace(node, time=draw.time(tense, "a.when", near=True))
    return with_end(spoken(node), ".")


def passive(draw: Draw) -> Phrase:
    """The bridge was built in 1950."""
    verb = TRANSITIVE[draw.choice(PASSIVE)]
    noun = draw.object_of(verb)
    if "mass" in noun.classes or noun.sex:
        return passive(draw)
    thing = draw.noun_phrase(noun, "a.s", determiner=draw.choice(("the", "the", "this")), plural=draw.chance(0.25))
    lines = nominal(thing)
    year = verb.lemma in ("build",)
    number = str(draw.random.randrange(1500, 2024))
    when = phrase(f"in/p {number}/n", f"en/p {number}/n", f"{number}/n", "a.when") if year else draw.time("past", "a.when", near=verb.lemma in ("open", "close"))
    avoir, slot = french.present("avoir")[thing.slot], thing.slot
    done = french.agree(french.participle(verb.french.base), thing.french_gender, thing.plural)
    passive_id, key = ("a.t",), ("a.v",)
    participle = (verb.german.prefix or "") + german.participle(verb.german.base)
    return with_end(
        Phrase(
            [*lines.english, Word(english_syntax.WAS[slot], passive_id), Word(english.past_participle(verb.english.base), key), *when.english],
            [*lines.french, Word(avoir, passive_id), Word("été", passive_id), Word(done, key), *when.french],
            [*lines.german, Word("wurden" if thing.plural else "wurde", passive_id), *when.german, Word(participle, key)],
        ),
        ".",
    )  # fmt: skip
