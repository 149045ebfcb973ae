"""The meaning of a sentence, independent of language: entries of the lexicon, noun phrases, clauses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from phrasebook.grammar import Line, Phrase


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """Forms are (singular, plural); `sex` decides between he, she and it; `classes` what can be said of it."""

    lemma: str
    english: tuple[str, str]
    french: tuple[str, str]
    french_gender: str
    german: tuple[str, str]
    german_gender: str
    weak: bool
    sex: str
    classes: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """French forms are masculine, feminine and masculine before a vowel; German ones attributive stem, comparative."""

    lemma: str
    english_comparative: str
    french: tuple[str, str, str]
    before_noun: bool
    german: str
    german_stem: str
    german_comparative: str
    classes: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class EnglishVerb:
    """`particle` as in "turn on", `preposition` of the object as in "wait for", `tail` as in "go shopping"."""

    base: str
    particle: str = ""
    preposition: str = ""
    tail: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class FrenchVerb:
    """`reflexive` as in "se lever"; the other parts as in English."""

    base: str
    reflexive: bool = False
    preposition: str = ""
    tail: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class GermanVerb:
    """`prefix` is separable; the object stands in `case`, after `preposition` where there is one."""

    base: str
    prefix: str = ""
    reflexive: bool = False
    case: str = "accusative"
    preposition: str = ""
    tail: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """`objects` are classes of nouns, `unfit` adjectives that no object has here, `places` where it is done.

    `flags`: "stative" has no progressive, "punctual" is not said of the present; docs/phrasebook.md has the others.
    """

    frame: str
    lemma: str
    english: EnglishVerb
    french: FrenchVerb
    german: GermanVerb
    objects: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    unfit: frozenset[str] = frozenset()
    places: Sequence[str] = ()


class FixedPhrase(NamedTuple):
    """A phrase in three languages, in the form that `grammar.phrase` reads."""

    english: str
    french: str
    german: str


class Location(NamedTuple):
    """A place where something happens, and the nouns of what is found there."""

    name: str
    phrase: FixedPhrase
    contents: list[str]


class Preposition(NamedTuple):
    """A preposition with a verb of being or putting, and the nouns that can follow them."""

    verb: str
    phrase: FixedPhrase
    grounds: list[str]


class Errand(NamedTuple):
    """A place where somebody goes, what they do there, and the classes of the objects."""

    phrase: FixedPhrase
    verb: str
    objects: str


class Syllables(NamedTuple):
    """The syllables that names of a kind are made of."""

    kind: str
    first: list[str]
    middle: list[str]
    last: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Nominal:
    """A subject or an object. `key` is the prefix of its alignment ids."""

    key: str
    person: int = 3
    plural: bool = False
    french_gender: str = "m"
    german_gender: str = "m"
    sex: str = "m"

    @property
    def slot(self) -> int:
        """Row of a conjugation table: I, you, he, we, they."""
        return (3 if self.person == 1 else 4) if self.plural else self.person - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NounPhrase(Nominal):
    """`determiner`: the, a, this, my..., some, any, bare, zero, a number in words or digits, many, several, every."""

    noun: Noun
    determiner: str
    adjectives: tuple[Adjective, ...] = ()
    owner: Nominal | None = None
    relative: Phrase | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pronoun(Nominal):
    """I, you, he, she, it, we, they in any case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relative(Nominal):
    """who, that: a relative pronoun, agreeing with its antecedent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Name(Nominal):
    """A proper name or a coordination. The German line is the nominative; `oblique` is used for the other cases."""

    phrase: Phrase
    oblique: Line = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Modal:
    """Forms by slot in each language. The English negative is "can't", or two words where "do" helps: "don't want"."""

    lemma: str
    english: tuple[str, ...]
    english_negative: tuple[str, ...]
    french: tuple[str, ...]
    german: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One predication. `tense`: present (going on), habitual, past, future. Adverbials are ready phrases."""

    key: str
    subject: Nominal
    verb: Verb
    object: Nominal | None = None
    recipient: Nominal | None = None
    extracted: Nominal | None = None  # an object that stands before the clause: "how many apples"
    predicate: Phrase | None = None
    tense: str = "present"
    modal: Modal | None = None
    negation: str = ""  # "", "not", "never"
    frequency: Phrase | None = None
    manner: Phrase | None = None
    place: Phrase | None = None
    goal: Phrase | None = None  # a direction; closer to the verb than a place
    time: Phrase | None = None
