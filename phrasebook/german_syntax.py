"""German noun phrases and clauses: case, verb-second, the sentence bracket."""

from __future__ import annotations

from phrasebook import german
from phrasebook.english_syntax import tail
from phrasebook.entries import phrases
from phrasebook.grammar import Line, Word, words
from phrasebook.meaning import Adjective, Clause, Name, Nominal, NounPhrase, Pronoun, Relative

PRONOUNS = {  # nominative, accusative, dative
    "1": "ich mich mir", "2": "du dich dir", "3m": "er ihn ihm", "3f": "sie sie ihr", "3n": "es es ihm",
    "1p": "wir uns uns", "3p": "sie sie ihnen",
}  # fmt: skip
RELATIVES = {"m": "der den dem", "f": "die die der", "n": "das das dem", "p": "die die denen"}
REFLEXIVE = ("mich", "dich", "sich", "uns", "sich")
PAST = {"sein": ("war", "warst", "war", "waren", "waren"), "haben": ("hatte", "hattest", "hatte", "hatten", "hatten")}
INDEFINITE = {"a", "some", "any", "bare", "bare any", "plain", "plain never", "zero"}
NEGATIONS = {"not": "nicht", "never": "nie"}


def gender(nominal: Nominal) -> str:
    """Return the row of the declension tables; "p" for all plurals."""
    return "p" if nominal.plural else nominal.german_gender


def nominal_line(nominal: Nominal, case: str) -> Line:
    """Return the words of a noun phrase, a name or a pronoun in the case."""
    if isinstance(nominal, NounPhrase):
        return noun_phrase(nominal, case)
    if isinstance(nominal, Name):
        return nominal.phrase.german if case == "nominative" else nominal.oblique
    place = german.CASES.index(case)
    if isinstance(nominal, Relative):
        return [Word(RELATIVES[gender(nominal)].split()[place], (nominal.key,))]
    number = "p" if nominal.plural else nominal.german_gender if nominal.person == 3 else ""
    return [Word(PRONOUNS[f"{nominal.person}{number}"].split()[place], (nominal.key,))]


def noun_form(node: NounPhrase, case: str) -> str:
    """Return the inflected noun: weak nouns, genitive -s, dative plural -n."""
    singular, plural = node.noun.german
    if node.plural:
        return german.dative_plural(plural) if case == "dative" else plural
    if node.noun.weak and case != "nominative":
        return plural
    return german.genitive(singular, node.german_gender) if case == "genitive" else singular


def noun_phrase(node: NounPhrase, case: str) -> Line:
    """Determiner, declined adjectives, noun, owner in the genitive, relative clause between commas."""
    key, row = node.key, gender(node)
    determiner, kind = _determiner(node, row, case)
    ending = german.TABLE[kind, row, case]
    line = words(determiner, f"{key}.d")
    if isinstance(node.owner, Name) and len(node.owner.oblique) == 1:  # Annas Fahrrad
        line = [word._replace(form=word.form + "s") for word in node.owner.oblique]
        ending = german.TABLE["strong", row, case]
    line += [Word(attribute(a, ending), (f"{key}.a{i}",)) for i, a in enumerate(node.adjectives)]
    line.append(Word(noun_form(node, case), (f"{key}.n",)))
    if isinstance(node.owner, Name) and len(node.owner.oblique) > 1:
        line += [Word("von", (f"{key}.of",)), *node.owner.oblique]
    elif node.owner is not None and not isinstance(node.owner, Name):
        line += nominal_line(node.owner, "genitive")
    return line + node.relative.german if node.relative else line


def attribute(adjective: Adjective, ending: str) -> str:
    """ "hoch" + "e" is "hohe"."""
    return adjective.german_stem + ending


def _determiner(node: NounPhrase, row: str, case: str) -> tuple[str, str]:
    """Return the determiner and the declension of the adjectives after it."""
    kind = node.determiner
    if kind == "the":
        return german.TABLE["definite", row, case], "weak"
    if kind in ("this", "every"):
        return {"this": "dies", "every": "jed"}[kind] + german.TABLE["dieser", row, case], "weak"
    if kind in ("some", "bare", "plain", "plain never", "zero"):
        return "", "strong"
    if kind.isdigit():
        return kind, "strong"
    if kind in phrases("number"):
        return phrases("number")[kind].german, "strong"
    if kind in phrases("quantity"):
        return phrases("quantity")[kind].german + german.TABLE["strong", row, case], "strong"
    stem = {"a": "ein", "any": "kein", "bare any": "kein"}.get(kind) or phrases("possessive")[kind].german
    ending = german.TABLE["ein", row, case]
    return stem + ending, "mixed"


def contracted(preposition: str, key: str, line: Line) -> Line:
    """Put a preposition before a noun phrase: "in" + "dem" is "im"."""
    *first, last = preposition.split()
    before, head = words(" ".join(first), key), line[0]
    fused = german.PREPOSITION_ARTICLE.get((last, head.form))
    if fused:
        return [*before, Word(fused, (key, *head.ids)), *line[1:]]
    return [*before, Word(last, (key,)), *line]


def clause(node: Clause, order: str = "main", front: Line | None = None) -> Line:
    """`order`: "main" (subject or `front`, then the verb), "question" (verb first), "subordinate" (verb last)."""
    subject = nominal_line(node.subject, "nominative")
    finite, (prefix, verbs) = brackets(node)
    inner = middle(node)
    if order == "subordinate":
        relative = _object(node) if isinstance(node.object, Relative) else []
        return [*relative, *subject, *inner, *_joined(prefix, verbs, finite)]
    closing = _joined(prefix, verbs, None) if verbs else words(prefix, f"{node.key}.v")
    if order == "main" and front is None:
        return [*subject, finite, *inner, *closing]
    return [*(front or []), finite, *subject, *inner, *closing]


def infinitive(node: Clause, marker: Line) -> Line:
    """ "Brot zu kaufen", "das Licht einzuschalten"; the marker is "zu"."""
    verb, key = node.verb.german, f"{node.key}.v"
    inner = middle(node)
    if verb.prefix:
        ids = tuple(i for word in marker for i in word.ids)
        return [*inner, Word(f"{verb.prefix}{marker[0].form}{verb.base}", (key, *ids))]
    return [*inner, *marker, Word(verb.base, (key,))]


def _joined(prefix: str, verbs: Line, finite: Word | None) -> Line:
    """Join the verbs at the end of the clause: a separable prefix is attached to the first one."""
    first, *rest = [*verbs, finite] if finite else verbs
    return [first._replace(form=prefix + first.form), *rest]


def brackets(node: Clause) -> tuple[Word, tuple[str, Line]]:
    """Return (finite verb, (separable prefix, non-finite verbs)); a prefix on its own is returned as a verb."""
    verb, slot, key = node.verb.german, node.subject.slot, f"{node.key}.v"
    tense = f"{node.key}.t"
    if node.modal:
        return Word(node.modal.german[slot], (f"{node.key}.m",)), (verb.prefix, [Word(verb.base, (key,))])
    if node.tense == "future":
        return Word(german.present("werden")[slot], (tense,)), (verb.prefix, [Word(verb.base, (key,))])
    if node.tense == "past" and verb.base in PAST:
        return Word(PAST[verb.base][slot], (key,), tense), ("", [])
    if node.tense == "past":
        with_sein = german.perfect_with_sein(verb.prefix + verb.base, node.object is not None)
        helper = german.present("sein" if with_sein else "haben")[slot]
        return Word(helper, (tense,), key), (verb.prefix, [Word(german.participle(verb.base), (key,))])
    return Word(german.present(verb.base)[slot], (key,), tense), (verb.prefix, [])


def _object(node: Clause) -> Line:
    """Return the object with its preposition, in its case."""
    assert node.object is not None
    verb = node.verb.german
    line = nominal_line(node.object, verb.case)
    if _kein(node):
        line[0] = line[0]._replace(ids=(*line[0].ids, f"{node.key}.not"))
    return contracted(verb.preposition, f"{node.key}.v.p", line) if verb.preposition else line


def middle(node: Clause) -> Line:
    """The middle field: pronouns, time, definite objects, indefinite ones, "nicht", manner, place, complements."""
    verb, key = node.verb.german, f"{node.key}.v"
    pronouns: Line = []
    if verb.reflexive:
        pronouns.append(Word(REFLEXIVE[node.subject.slot], (f"{node.key}.self",), key))
    recipient = nominal_line(node.recipient, "dative") if node.recipient is not None else []
    target = [] if node.object is None or isinstance(node.object, Relative) else _object(node)
    if target and isinstance(node.object, Pronoun) and not verb.preposition:
        pronouns, target = pronouns + target, []
    if isinstance(node.recipient, Pronoun):
        pronouns, recipient = pronouns + recipient, []
    definite = isinstance(node.object, Name) or (
        isinstance(node.object, NounPhrase) and not _indefinite(node.object.determiner)
    )
    time = node.time.german if node.time else []
    often = node.frequency.german if node.frequency else []
    place = node.place.german if node.place else []
    manner = node.manner.german if node.manner else []
    negation = [Word(NEGATIONS[node.negation], (f"{node.key}.not",))] if node.negation and not _kein(node) else []
    rest = [*(node.goal.german if node.goal else []), *(node.predicate.german if node.predicate else [])]
    rest += tail(verb.tail, key)
    if verb.preposition:
        return [*pronouns, *time, *often, *recipient, *negation, *manner, *place, *target, *rest]
    if definite and negation:
        return [*pronouns, *recipient, *target, *time, *often, *negation, *manner, *place, *rest]
    if definite:
        return [*pronouns, *time, *often, *recipient, *target, *manner, *place, *rest]
    return [*pronouns, *time, *often, *recipient, *negation, *place, *manner, *target, *rest]


def _kein(node: Clause) -> bool:
    """Whether the clause is negated by "kein" in the object."""
    return isinstance(node.object, NounPhrase) and node.object.determiner in ("any", "bare any")


def _indefinite(determiner: str) -> bool:
    return determiner in INDEFINITE or determiner in phrases("number") or determiner in phrases("quantity")
