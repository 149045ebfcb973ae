"""Random choices that make sense: who does what to which things, with the pairs of words that a split may use."""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from phrasebook import names
from phrasebook.entries import adjectives, nouns, nouns_of, phrases
from phrasebook.grammar import Line, Phrase, Word, phrase
from phrasebook.meaning import Adjective, FixedPhrase, Name, Nominal, Noun, NounPhrase, Pronoun, Verb

HELD_OUT = 9  # one of nine pairs of words is held out for the compositional split
FEW = 3  # a word with at most so many partners keeps them all, or it could not be learned
PRONOUNS = ((1, False, "m"), (2, False, "m"), (3, False, "m"), (3, False, "f"), (1, True, "m"), (3, True, "m"))
VAGUE, COUNTED = ("some", "several"), ("some", "some", "several", "two", "three")
ONLY_ONE = {"mother", "father", "grandmother", "grandfather"}
SECOND = set("red blue green white black yellow grey brown modern round French English German Italian Spanish".split())
OWNED = {"worn", "lost", "pet", "vehicle", "text", "furniture", "device"}
POSSESSIVE_OF = {"1": "my", "2": "your", "3m": "his", "3f": "her", "1p": "our", "3p": "their"}
Item = TypeVar("Item")


class NoChoice(Exception):  # noqa: N818 - not an error, a fork in the road
    """No pair of words of the wanted kind exists in this split; the sampler draws again."""


def held_out(head: str, noun: str) -> bool:
    """Whether the pair (adjective or verb, noun) is held out for the compositional split, by its CRC-32."""
    return zlib.crc32(f"{head}|{noun}".encode()) % HELD_OUT == 0


def _fits(wanted: frozenset[str], having: frozenset[str]) -> bool:
    """Whether `having` contains one of the `wanted` classes and none that is written with a minus."""
    return any(name in having for name in wanted) and not any("-" + name in wanted for name in having)


@cache
def nouns_with(head: Verb | Adjective, held: bool) -> list[Noun]:
    """Return the nouns that go with a verb or an adjective, in the compositional split or in the others."""
    wanted = head.objects if isinstance(head, Verb) else head.classes
    fitting = [noun for noun in nouns().values() if _fits(wanted, noun.classes)]
    return [noun for noun in fitting if (len(fitting) > FEW and held_out(head.lemma, noun.lemma)) == held]


@cache
def adjectives_with(noun: Noun, held: bool) -> list[Adjective]:
    """Return the adjectives that go with a noun, in the compositional split or in the others."""
    return [adjective for adjective in adjectives().values() if noun in nouns_with(adjective, held)]


class Draw:
    """A source of choices for one split. It records the pairs of words that it returns, and whether the sentence has
    been `refused`: its words make a pair that the split may not use.
    """

    def __init__(self, generator: random.Random, split: str) -> None:
        self.random = generator
        self.held = split == "compositional"
        self.name_split = "train" if self.held else split
        self.pairs = 0
        self.refused = False

    def choice(self, items: Sequence[Item]) -> Item:
        """Return one of the items. Raises NoChoice if there are none."""
        if not items:
            raise NoChoice
        return items[int(self.random.random() * len(items))]

    def chance(self, probability: float) -> bool:
        """Return true with this probability."""
        return self.random.random() < probability

    def fixed(self, kind: str) -> FixedPhrase:
        """Draw an uninflected word or phrase of the kind."""
        return self.choice(list(phrases(kind).values()))

    def time(self, tense: str, key: str, verb: Verb | None = None) -> Phrase:
        """Draw an adverbial of time that goes with the tense and, if given, with the verb."""
        flags = verb.flags if verb else frozenset()
        if tense in ("past", "future"):
            near = "daily" in flags or ("slow" not in flags and self.chance(0.4))
            tense = f"{'near' if near else 'far'} {tense}"
        return phrase(*self.fixed(tense), key)

    def object_of(self, verb: Verb, wanted: str = "") -> Noun:
        """Draw a noun of one of the wanted classes that the verb can have as its object."""
        self.pairs += 1
        options = nouns_with(verb, self.held)
        return self.choice([n for n in options if not n.classes.isdisjoint(wanted.split())] if wanted else options)

    def adjectives_of(self, noun: Noun, count: int, unfit: frozenset[str]) -> tuple[Adjective, ...]:
        """Draw up to `count` different attributive adjectives for the noun, one on each side in French."""
        if "kin" in noun.classes:
            return ()
        fitting = adjectives_with(noun, self.held)
        options = [a for a in fitting if "predicate" not in a.classes and a.lemma not in unfit]
        if not options:
            return ()
        self.pairs += 1
        first = self.choice(options)
        seconds = [a for a in options if a.lemma in SECOND]
        return (first, self.choice(seconds)) if count == 2 and first.before_noun and seconds else (first,)

    def predicates_of(self, noun: Noun) -> list[Adjective]:
        """Return the adjectives that can follow "to be" when the noun is the subject."""
        self.pairs += 1
        return [a for a in adjectives_with(noun, self.held) if "attribute" not in a.classes]

    def person(self, key: str, *, pronouns: float = 0.4) -> Nominal:
        """Draw a person: a pronoun, a relative, somebody by trade, or a name."""
        if self.chance(pronouns):
            person, plural, sex = self.choice(PRONOUNS)
            return Pronoun(key=key, person=person, plural=plural, sex=sex, french_gender=sex, german_gender=sex)
        draw = self.random.random()
        if draw < 0.35:
            return self.relation(key)
        if draw < 0.65:
            return self.noun_phrase(self.choice(nouns_of("person")), key, determiner="the", plural=self.chance(0.2))
        return self.first_name(key) if draw < 0.85 else self.titled_name(key)

    def relation(self, key: str) -> NounPhrase:
        """ "my brother", "our neighbors"."""
        noun = self.choice(nouns_of("kin"))
        many = self.chance(0.12) and not noun.classes & ONLY_ONE
        return self.noun_phrase(noun, key, determiner=self.choice(("my", "my", "your", "our")), plural=many)

    def first_name(self, key: str) -> Name:
        """Draw a first name from the lexicon."""
        sex = self.choice("fm")
        name = self.fixed("woman" if sex == "f" else "man")
        line = [Word(name.english, (key,))]
        return _name(key, sex, Phrase(line, line, line), line)

    def titled_name(self, key: str) -> Name:
        """ "Mr" or "Mrs" and an invented surname."""
        sex = self.choice("fm")
        surname = Word(names.invented("surname", self.random, self.name_split), (f"{key}.n",))
        english, french, german = {"m": ("Mr", "Monsieur", "Herr"), "f": ("Mrs", "Madame", "Frau")}[sex]
        lines: list[Line] = [[Word(title, (f"{key}.t",)), surname] for title in (english, french, german)]
        oblique = [Word("Herrn" if sex == "m" else "Frau", (f"{key}.t",)), surname]
        return _name(key, sex, Phrase(*lines), oblique)

    def noun_phrase(
        self,
        noun: Noun,
        key: str,
        *,
        determiner: str,
        plural: bool = False,
        adjectives: tuple[Adjective, ...] = (),
        owner: Nominal | None = None,
    ) -> NounPhrase:
        """Return a noun phrase with its agreement features filled in."""
        return NounPhrase(
            key=key,
            plural=plural,
            french_gender=noun.french_gender,
            german_gender=noun.german_gender,
            sex=noun.sex,
            noun=noun,
            determiner=determiner,
            adjectives=adjectives,
            owner=owner,
        )

    def thing(
        self,
        noun: Noun,
        key: str,
        *,
        subject: Nominal | None = None,
        definite: bool | None = None,
        adjectives: int | None = None,
        unfit: frozenset[str] = frozenset(),
    ) -> NounPhrase:
        """Draw a noun phrase for the noun: determiner, number and adjectives are random if not given.

        A possessive refers to the subject.
        """
        count = adjectives if adjectives is not None else int(self.chance(0.25))
        described = self.adjectives_of(noun, count, unfit) if count else ()
        sure = self.chance(0.5) if definite is None else definite
        if "mass" in noun.classes:
            return self.noun_phrase(noun, key, determiner="the" if sure else "some", adjectives=described)
        many = "pair" in noun.classes or self.chance(0.9 if "many" in noun.classes else 0.2)
        if "kin" in noun.classes:
            determiner, many = self.possessive(subject), many and not noun.classes & ONLY_ONE
        elif sure:
            own = bool(noun.classes & OWNED) and self.chance(0.5)
            determiner = self.possessive(subject) if own else self.choice(("the", "the", "this"))
        elif many:
            determiner = self.choice(VAGUE if "pair" in noun.classes else COUNTED)
        else:
            determiner = "a"
        return self.noun_phrase(noun, key, determiner=determiner, plural=many, adjectives=described)

    def possessive(self, subject: Nominal | None) -> str:
        """Draw a possessive: that of the subject, or of a participant in the conversation."""
        if subject is None or (subject.person == 3 and not subject.plural and not subject.sex):
            return self.choice(("my", "your", "our"))
        number = "p" if subject.plural else subject.sex if subject.person == 3 else ""
        return POSSESSIVE_OF[f"{subject.person}{number}"]


def _name(key: str, sex: str, lines: Phrase, oblique: Line) -> Name:
    return Name(key=key, sex=sex, french_gender=sex, german_gender=sex, phrase=lines, oblique=oblique)
