"""Constructions: numbers, prices, ages, names, towns, the passive."""

from __future__ import annotations

from dataclasses import replace

from phrasebook import english, english_syntax, french, german, names
from phrasebook.clauses import joined, nominal, spoken, timed
from phrasebook.draw import Draw, NoChoice
from phrasebook.entries import nouns_of, phrases, verbs
from phrasebook.grammar import Phrase, Word, phrase
from phrasebook.meaning import Clause, FixedPhrase, Name, NounPhrase, Pronoun
from phrasebook.predicates import BE, HAVE
from phrasebook.realize import with_end
from phrasebook.times import BECAME

UNPRICED = {"mass", "food", "drink", "stamp", "newspaper", "car", "boat", "house"}
ALIKE = {"food", "worn", "animal", "plant", "furniture", "text", "place", "building", "small", "lent"}
YOUNG = ("son", "daughter", "nephew", "niece", "boy", "pupil", "child")
PASSIVE = ("build", "paint", "repair", "sell", "open", "close", "translate", "write", "sign", "find", "buy", "clean")


def quantity(draw: Draw) -> Phrase:
    """I bought three apples and two pears."""
    verb = verbs("transitive")[draw.choice(("buy", "sell", "eat", "order", "see", "draw", "find", "plant"))]
    first, second = draw.object_of(verb), draw.object_of(verb)
    both = first.classes | second.classes
    if first is second or both & {"mass", "pair"} or not first.classes & second.classes & ALIKE:
        raise NoChoice
    few = list(phrases("number"))[: None if verb.lemma in ("buy", "sell", "see") else 4]
    one, two = (
        nominal(draw.noun_phrase(noun, f"a.{noun.lemma}", determiner=draw.choice(few), plural=True), "accusative")
        for noun in (first, second)
    )
    things = joined(one, ("and", "et", "und"), two)
    thing = Name(key="a.o", plural=True, phrase=things, oblique=things.german)
    node = Clause(key="a", subject=draw.person("a.s"), verb=verb, object=thing, tense="past")
    return with_end(spoken(timed(draw, node, 0.3)), ".")


def figure(draw: Draw, first: int, end: int) -> FixedPhrase:
    """A number in figures."""
    text = str(draw.random.randrange(first, end))
    return FixedPhrase(text, text, text)


def price(draw: Draw) -> Phrase:
    """The lamp costs 25 euros."""
    noun = draw.choice([noun for noun in nouns_of("bought") if not noun.classes & UNPRICED])
    thing = draw.noun_phrase(noun, "a.s", determiner=draw.choice(("the", "this")), plural="pair" in noun.classes)
    dear = bool(noun.classes & {"device", "furniture", "vehicle"})
    few = not dear and draw.chance(0.3)
    amount = draw.fixed("number") if few else figure(draw, 60, 1000) if dear else figure(draw, 13, 100)
    cost = phrase(f"{amount.english}/n euros/e", f"{amount.french}/n euros/e", f"{amount.german}/n Euro/e", "a.p")
    return with_end(
        spoken(Clause(key="a", subject=thing, verb=verbs("simple")["cost"], predicate=cost, tense="habitual")), "."
    )


def age(draw: Draw) -> Phrase:
    """My sister is 12 years old (French has years, German is years old)."""
    subject = draw.person("a.s", pronouns=0.35)
    if subject.plural:
        raise NoChoice
    young = isinstance(subject, NounPhrase) and subject.noun.lemma in YOUNG
    one, two, three = draw.fixed("number") if young else figure(draw, 19, 90)
    years = phrase(f"{one}/n years/y old/o", f"{two}/n ans/y", f"{three}/n Jahre/y alt/o", "a.p")
    node = Clause(key="a", subject=subject, verb=BE, predicate=years)
    has = spoken(replace(node, verb=HAVE)).french
    return with_end(spoken(node)._replace(french=has), ".")


def naming(draw: Draw) -> Phrase:
    """My name is Belmont."""
    who = Pronoun(key="a.s", person=draw.choice((1, 3)), sex=draw.choice("mf"))
    owner = "my" if who.person == 1 else "his" if who.sex == "m" else "her"
    who = replace(who, french_gender=who.sex, german_gender=who.sex)
    surname = names.invented("surname", draw.random, draw.name_split)
    name = [Word(surname, ("a.n",))]
    lines = spoken(Clause(key="a", subject=who, verb=verbs("simple")["be:called"]))
    line = [Word(owner, ("a.s",)), Word("name", ("a.v",)), Word("is", (), "a.v")]
    return with_end(Phrase([*line, *name], [*lines.french, *name], [*lines.german, *name]), ".")


def residence(draw: Draw) -> Phrase:
    """Mrs Talmont lives in Belburg; we're going to Vienna; he comes from Poland."""
    kind = draw.choice(("in", "to", "in", "to", "from"))
    preposition = {"in": ("à", "in"), "to": ("à", "nach"), "from": ("de", "aus")}[kind]
    where = draw.random.random()
    if where < 0.45:
        town = names.invented("town", draw.random, draw.name_split)
        two, three = f"{preposition[0]}/p {town}/n", town
    elif where < 0.75 or kind == "from":
        town, two, three = draw.fixed("town")
        two = f"{preposition[0]}/p {two}/n"
    else:
        town, two, three = draw.fixed("country")
    return _residence(draw, kind, phrase(f"{kind}/p {town}/n", two, f"{preposition[1]}/p {three}/n", "a.where"))


def _residence(draw: Draw, kind: str, where: Phrase) -> Phrase:
    verb = verbs("simple")[{"in": "live", "to": "go:by", "from": "come"}[kind]]
    tense = draw.choice(("past", "present")) if kind == "to" else "habitual"
    node = Clause(key="a", subject=draw.person("a.s"), verb=verb, tense=tense, goal=where)
    if kind == "to" and draw.chance(0.5):  # "he's going to Vienna tomorrow" is present tense
        node = replace(node, time=draw.time("past" if tense == "past" else "future", "a.when"))
    return with_end(spoken(node), ".")


def passive(draw: Draw) -> Phrase:
    """The bridge was built in 1950."""
    verb = verbs("transitive")[draw.choice(PASSIVE)]
    noun = draw.object_of(verb)
    if "mass" in noun.classes or noun.sex:
        raise NoChoice
    thing = draw.noun_phrase(noun, "a.s", determiner=draw.choice(("the", "the", "this")), plural=draw.chance(0.25))
    slot, was, key = thing.slot, ("a.t",), ("a.v",)
    if verb.lemma == "build":
        number = str(draw.random.randrange(1500, 2024))
        when = phrase(f"in/p {number}/n", f"en/p {number}/n", f"{number}/n", "a.when")
    else:
        when = draw.time("past", "a.when", verb)
    lines = nominal(thing)
    done = french.agree(french.participle(verb.french.base), thing.french_gender, thing.plural)
    participle = verb.german.prefix + german.participle(verb.german.base)
    one = [Word(english_syntax.WAS[slot], was), Word(english.past_participle(verb.english.base), key), *when.english]
    two = [Word(french.present("avoir")[slot], was), Word("été", was), Word(done, key), *when.french]
    three = [Word(BECAME[slot], was), *when.german, Word(participle, key)]
    return with_end(Phrase([*lines.english, *one], [*lines.french, *two], [*lines.german, *three]), ".")
