"""English noun phrases and clauses."""

from __future__ import annotations

from phrasebook import english
from phrasebook.grammar import Line, Word, words
from phrasebook.meaning import Clause, Name, Nominal, NounPhrase, Relative, Verb

SUBJECT = {"1": "I", "2": "you", "3m": "he", "3f": "she", "3": "it", "1p": "we", "3p": "they"}
OBJECT = {"1": "me", "2": "you", "3m": "him", "3f": "her", "3": "it", "1p": "us", "3p": "them"}
BE = ("am", "are", "is", "are", "are")
WAS = ("was", "were", "was", "were", "were")
CONTRACTED = {"am": "'m", "are": "'re", "is": "'s"}


def pronoun(nominal: Nominal, *, subject: bool) -> str:
    """Return the personal pronoun for the nominal."""
    number = "p" if nominal.plural else nominal.sex if nominal.person == 3 else ""
    return (SUBJECT if subject else OBJECT)[f"{nominal.person}{number}"]


def nominal_line(nominal: Nominal, *, subject: bool = False) -> Line:
    """Return the words of a noun phrase, a name or a pronoun."""
    if isinstance(nominal, NounPhrase):
        return noun_phrase(nominal)
    if isinstance(nominal, Name):
        return nominal.phrase.english
    if isinstance(nominal, Relative):
        return [Word("who" if nominal.sex else "that", (nominal.key,))]
    return [Word(pronoun(nominal, subject=subject), (nominal.key,))]


def noun_phrase(node: NounPhrase) -> Line:
    """Determiner or owner, adjectives, noun, relative clause."""
    key = node.key
    line: Line = []
    if node.owner is not None:
        *first, last = nominal_line(node.owner)
        line = [*first, last._replace(form=last.form + "'s")]
    elif node.determiner not in ("bare", "bare any", "plain", "plain never", "zero"):
        line = words(determiner(node), f"{key}.d")
    line += [Word(a.lemma, (f"{key}.a{i}",)) for i, a in enumerate(node.adjectives)]
    line += words(node.noun.english[node.plural], f"{key}.n")
    return line + node.relative.english if node.relative else line


def determiner(node: NounPhrase) -> str:
    """ "these" for the plural of "this"; negated objects are "any water" but "a car"."""
    if node.plural and node.determiner == "this":
        return "these"
    countable = not node.plural and "mass" not in node.noun.classes
    return "a" if node.determiner == "any" and countable else node.determiner


def infinitive(node: Clause) -> Line:
    """ "to buy some bread"."""
    return [Word("to", (f"{node.key}.to",)), *_nonfinite(node, node.verb.english.base)]


def gerund(node: Clause) -> Line:
    """ "reading the newspaper"."""
    return _nonfinite(node, english.present_participle(node.verb.english.base))


def _nonfinite(node: Clause, form: str) -> Line:
    line = [Word(form, (f"{node.key}.v",)), *_complements(node)]
    for adverbial in (node.goal, node.manner, node.place, node.time):
        if adverbial:
            line += adverbial.english
    return line


def clause(node: Clause, *, question: bool = False) -> Line:
    """Return subject, verb, objects and adverbials; with `question` the auxiliary comes first."""
    subject = [] if isinstance(node.subject, Relative) else nominal_line(node.subject, subject=True)
    helper, rest = verb_group(node, question=question)
    front: Line = []
    if isinstance(node.object, Relative):
        front = nominal_line(node.object)
    elif isinstance(node.subject, Relative):
        front = nominal_line(node.subject)
    if node.frequency:
        helper = [*helper, *node.frequency.english] if not question else helper
        rest = [*node.frequency.english, *rest] if question else rest
    if question and helper:
        line = [helper[0], *subject, *helper[1:], *rest]
    elif helper and helper[0].form in CONTRACTED and len(subject) == 1 and pronoun_like(node):
        line = [_contracted(subject[0], helper[0]), *helper[1:], *rest]
    else:
        line = [*subject, *helper, *rest]
    line = [*front, *line, *_complements(node)]
    for adverbial in (node.goal, node.manner, node.place, node.time):
        if adverbial:
            line += adverbial.english
    return line


def pronoun_like(node: Clause) -> bool:
    """Whether the subject is a personal pronoun."""
    return not isinstance(node.subject, NounPhrase | Name | Relative)


def _contracted(subject: Word, be: Word) -> Word:
    return Word(subject.form + CONTRACTED[be.form], subject.ids + be.ids, be.otherwise)


def verb_group(node: Clause, *, question: bool) -> tuple[Line, Line]:
    """Return the auxiliary with its negation, if any, and the remaining verb forms."""
    key, slot, base = f"{node.key}.v", node.subject.slot, node.verb.english.base
    tense, negative = f"{node.key}.t", (f"{node.key}.not",) if node.negation else ()
    if node.modal:
        return _modal_group(node, question=question)
    if node.tense == "future":
        helper = _negated(BE[slot], node, (tense,))
        return helper, [*words("going to", tense, otherwise=key), Word(base, (key,))]
    if base == "be":
        return _negated((WAS if node.tense == "past" else BE)[slot], node, (key,)), []
    if node.tense == "present" and "stative" not in node.verb.flags:
        return _negated(BE[slot], node, (tense,), key), [Word(english.present_participle(base), (key,))]
    helped = question or node.negation == "not"
    if helped:
        do = "did" if node.tense == "past" else "does" if slot == 2 else "do"
        form = do + "n't" if node.negation == "not" else do
        return [Word(form, (tense, *negative), key)], [Word(base, (key,))]
    if node.tense == "past":
        form = english.past(base)
    else:
        form = english.third_person(base) if slot == 2 else base
    never = [Word("never", negative)] if node.negation == "never" else []
    return never, [Word(form, (key,))]


def _negated(be: str, node: Clause, ids: tuple[str, ...], otherwise: str = "") -> Line:
    """Return the form of "to be" with its negation: isn't, but am not."""
    negation = f"{node.key}.not"
    if not node.negation:
        return [Word(be, ids, otherwise)]
    if node.negation == "never" or be == "am":
        return [Word(be, ids, otherwise), Word(node.negation, (negation,))]
    return [Word(be + "n't", (*ids, negation), otherwise)]


def _modal_group(node: Clause, *, question: bool) -> tuple[Line, Line]:
    assert node.modal
    modal, slot, base = node.modal, node.subject.slot, node.verb.english.base
    key, sense, negation = f"{node.key}.v", f"{node.key}.m", f"{node.key}.not"
    negative, _, plain = modal.english_negative[slot].partition(" ")  # "can't", "doesn't want"
    infinitive = [*([Word("to", (), sense)] if plain else []), Word(base, (key,))]
    if node.negation == "not":
        ids = (negation,) if plain else (negation, sense)
        return [Word(negative, ids, sense)], [*words(plain, sense), *infinitive]
    if not plain:
        return [Word(modal.english[slot], (sense,))], infinitive
    if question:
        do = negative.removesuffix("n't")
        return [Word(do, (f"{node.key}.t",), sense)], [Word(plain, (sense,)), *infinitive]
    return [], [Word(modal.english[slot], (sense,)), *infinitive]


def _complements(node: Clause) -> Line:
    """Predicate, particle, objects: "gives him a book", "turns it on", "waits for the bus"."""
    key, verb = f"{node.key}.v", node.verb
    if node.predicate:
        return list(node.predicate.english)
    particle = words(verb.english.particle, key)
    target: Line = []
    if node.object is not None and not isinstance(node.object, Relative):
        preposition = words(verb.english.preposition, f"{key}.p", otherwise=key)
        target = [*preposition, *nominal_line(node.object)]
    recipient = nominal_line(node.recipient) if node.recipient else []
    if isinstance(node.object, NounPhrase | Name | Relative) or node.object is None:
        return [*particle, *recipient, *target, *_tail(verb, key), *_stranded(node)]
    to = [Word("to", (f"{node.key}.r.p",))] if recipient else []
    return [*target, *to, *recipient, *particle, *_tail(verb, key)]


def _stranded(node: Clause) -> Line:
    """ "the bus that I am waiting for"."""
    if not isinstance(node.object, Relative) and node.extracted is None:
        return []
    return words(node.verb.english.preposition, f"{node.key}.v.p", otherwise=f"{node.key}.v")


def _tail(verb: Verb, key: str) -> Line:
    return tail(verb.english.tail, key)


def tail(text: str, key: str) -> Line:
    """Return the words that always follow a verb; "word/n" gives a word a meaning of its own."""
    line = []
    for item in text.split():
        form, _, part = item.partition("/")
        line.append(Word(form, (f"{key}.{part}" if part else key,), key))
    return line
