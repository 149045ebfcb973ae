"""French noun phrases and clauses."""

from __future__ import annotations

from phrasebook import french
from phrasebook.english_syntax import tail
from phrasebook.entries import phrases
from phrasebook.grammar import Line, Word, words
from phrasebook.meaning import Adjective, Clause, Name, Nominal, NounPhrase, Pronoun, Relative

SUBJECT = ("je", "tu", "il", "nous", "ils")
DIRECT = ("me", "te", "le", "nous", "les")
INDIRECT = ("me", "te", "lui", "nous", "leur")
REFLEXIVE = ("me", "te", "se", "nous", "se")
STRESSED = ("moi", "toi", "lui", "nous", "eux")
NEGATIONS = {"not": "pas", "never": "jamais"}


def contracted(preposition: str, key: str, line: Line) -> Line:
    """Put a preposition before a noun phrase: "de" + "le" is "du", "à" + "les" is "aux"."""
    *first, last = preposition.split()
    before = words(" ".join(first), key)
    head = line[0]
    fused = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}
    if (last, head.form) in fused and len(line) > 1 and not french.begins_with_vowel(_after(line)):
        return [*before, Word(fused[last, head.form], (key, *head.ids)), *line[1:]]
    if (last, head.form) in (("de", "les"), ("à", "les")):
        return [*before, Word(fused[last, head.form], (key, *head.ids)), *line[1:]]
    if last == "de" and head.form in ("du", "des", "de"):  # "de" absorbs a partitive or plural article
        kept = line[2:] if len(line) > 2 and head.form == "de" and line[1].form == "la" else line[1:]
        return [*before, Word("de", (key, *head.ids)), *kept]
    return [*before, Word(last, (key,)), *line]


def _after(line: Line) -> str:
    return line[1].form


def nominal_line(nominal: Nominal) -> Line:
    """Return the words of a noun phrase, a name, or a stressed pronoun."""
    if isinstance(nominal, NounPhrase):
        return noun_phrase(nominal)
    if isinstance(nominal, Name):
        return nominal.phrase.french
    return [Word(stressed(nominal), (nominal.key,))]


def stressed(nominal: Nominal) -> str:
    """Return the stressed pronoun, which follows a preposition."""
    if nominal.person == 3 and nominal.french_gender == "f":
        return "elles" if nominal.plural else "elle"
    return STRESSED[nominal.slot]


def subject_line(nominal: Nominal) -> Line:
    """Return the words of a noun phrase, a name, or a subject pronoun."""
    if not isinstance(nominal, Pronoun):
        return [Word("qui", (nominal.key,))] if isinstance(nominal, Relative) else nominal_line(nominal)
    form = SUBJECT[nominal.slot]
    if nominal.person == 3 and nominal.french_gender == "f":
        form = "elles" if nominal.plural else "elle"
    return [Word(form, (nominal.key,))]


def adjective_form(adjective: Adjective, gender: str, plural: bool, following: str = "") -> str:
    """Return the form that agrees with a noun; "bel" instead of "beau" before a vowel."""
    masculine, feminine, vowel = adjective.french
    if plural:
        return french.plural(feminine if gender == "f" else masculine)
    if gender == "f":
        return feminine
    return vowel if following and french.begins_with_vowel(following) else masculine


def noun_phrase(node: NounPhrase) -> Line:
    """Determiner, adjectives before and after the noun, owner, relative clause."""
    key, gender, plural = node.key, node.french_gender, node.plural
    noun = words(node.noun.french[plural], f"{key}.n")
    before: Line = []
    after: Line = []
    for i, adjective in reversed(list(enumerate(node.adjectives))):
        ids = (f"{key}.a{i}",)
        if adjective.before_noun:
            following = (before or noun)[0].form
            before.insert(0, Word(adjective_form(adjective, gender, plural, following), ids))
        else:
            after += words(adjective_form(adjective, gender, plural), *ids)
    core = [*before, *noun, *after]
    line = [*_determiner(node, core[0].form, bool(before)), *core]
    if node.owner is not None:
        line += contracted("de", f"{key}.of", nominal_line(node.owner))
    return line + node.relative.french if node.relative else line


def _determiner(node: NounPhrase, following: str, adjective_first: bool) -> Line:
    kind, plural, feminine = node.determiner, node.plural, node.french_gender == "f"
    vowel = french.begins_with_vowel(following)
    definite = "les" if plural else "la" if feminine else "le"
    if kind in ("the", "bare", "bare any"):
        form = definite
    elif kind == "a":
        form = "une" if feminine else "un"
    elif kind == "this":
        form = "ces" if plural else "cette" if feminine else "cet" if vowel else "ce"
    elif kind in ("some", "plain"):
        form = ("de" if adjective_first else "des") if plural else "de la" if feminine or vowel else "du"
    elif kind in phrases("possessive"):
        form = possessive(kind, plural, feminine and not vowel)
    elif kind in ("any", "plain never"):
        form = "de"
    elif kind == "every":
        form = "chaque"
    elif kind == "zero":
        form = ""
    else:
        fixed = phrases("number").get(kind) or phrases("quantity").get(kind)
        form = fixed.french if fixed else kind
    return words(form, f"{node.key}.d")


def possessive(owner: str, plural: bool, feminine: bool) -> str:
    """mon, ma, mes, notre, nos..."""
    stem = phrases("possessive")[owner].french
    if len(stem) == 1:
        return stem + ("es" if plural else "a" if feminine else "on")
    return {"notre": "nos", "leur": "leurs"}[stem] if plural else stem


def infinitive(node: Clause) -> Line:
    """ "le lire", "acheter du pain"."""
    return [*clitics(node), Word(node.verb.french.base, (f"{node.key}.v",)), *complements(node)]


def clause(node: Clause) -> Line:
    """Subject, "ne", clitics, verb, "pas", participle or infinitive, objects, adverbials."""
    front = [Word("que", (node.object.key,))] if isinstance(node.object, Relative) else []
    return [*front, *subject_line(node.subject), *verb_group(node), *complements(node)]


def complements(node: Clause) -> Line:
    """What follows the verb: predicate, objects, adverbials."""
    line = list(node.predicate.french) if node.predicate else []
    line += tail(_denied_tail(node), f"{node.key}.v")
    verb = node.verb.french
    if node.object is not None and not isinstance(node.object, Relative) and not _is_clitic(node, node.object):
        target = nominal_line(node.object)
        line += contracted(verb.preposition, f"{node.key}.v.p", target) if verb.preposition else target
    for adverbial in (node.goal, node.manner):
        if adverbial:
            line += adverbial.french
    if node.recipient is not None and not isinstance(node.recipient, Pronoun):
        line += contracted("à", f"{node.key}.r.p", nominal_line(node.recipient))
    for adverbial in (node.place, node.time):
        if adverbial:
            line += adverbial.french
    return line


def _denied_tail(node: Clause) -> str:
    """ "Faire du vélo", but "ne pas faire de vélo"; "du" in "jouer du piano" is no partitive and stays."""
    verb = node.verb.french
    return verb.tail.replace("du/", "de/") if node.negation and verb.base == "faire" else verb.tail


def _is_clitic(node: Clause, nominal: Nominal) -> bool:
    return isinstance(nominal, Pronoun) and node.verb.lemma != "think"


def clitics(node: Clause) -> Line:
    """Return the clitics in order: reflexive; me, te, nous before le, la, les before lui, leur."""
    line: Line = []
    if node.verb.french.reflexive:
        line.append(Word(REFLEXIVE[node.subject.slot], (f"{node.key}.self",), f"{node.key}.v"))
    direct: Line = []
    if node.object is not None and _is_clitic(node, node.object):
        slot, verb = node.object.slot, node.verb.french
        form = INDIRECT[slot] if verb.preposition == "à" else DIRECT[slot]
        form = "la" if form == "le" and node.object.french_gender == "f" else form
        direct = [Word(form, (node.object.key,))]
    if isinstance(node.recipient, Pronoun):
        indirect = Word(INDIRECT[node.recipient.slot], (node.recipient.key,))
        direct = [*direct, indirect] if node.recipient.person == 3 else [indirect, *direct]
    return line + direct


def verb_group(node: Clause) -> Line:
    """Return the words from "ne" to the participle or infinitive."""
    key, slot, base = f"{node.key}.v", node.subject.slot, node.verb.french.base
    tense = f"{node.key}.t"
    own, rest = clitics(node), []
    before, inner = own, []
    if node.modal:
        finite = Word(node.modal.french[slot], (f"{node.key}.m",))
        before, inner, rest = [], own, [Word(base, (key,))]
    elif node.tense == "future":
        finite = Word(french.present("aller")[slot], (tense,))
        before, inner, rest = [], own, [Word(base, (key,))]
    elif node.tense == "past" and base in ("être", "avoir") and not node.verb.french.tail:
        finite = Word(french.imperfect(base)[slot], (key,), tense)
    elif node.tense == "past":
        finite, participle = _compound_past(node)
        rest = [participle]
    else:
        finite = Word(french.present(base)[slot], (key,), tense)
    negation = f"{node.key}.not"
    ne = [Word("ne", (negation,))] if node.negation else []
    pas = [Word(NEGATIONS[node.negation], (negation,))] if node.negation else []
    frequency = node.frequency.french if node.frequency else []
    return [*ne, *before, finite, *pas, *frequency, *inner, *rest]


def _compound_past(node: Clause) -> tuple[Word, Word]:
    """Return auxiliary and participle, which agrees with the subject after "être", with a preceding object after
    "avoir".
    """
    verb, key, slot = node.verb.french, f"{node.key}.v", node.subject.slot
    form = french.participle(verb.base)
    with_etre = verb.reflexive or verb.base in french.ETRE
    agreeing: Nominal | None = node.subject if with_etre else None
    before = isinstance(node.object, Relative) or (node.object is not None and _is_clitic(node, node.object))
    if not with_etre and node.extracted is not None:
        agreeing = node.extracted
    elif not with_etre and before and verb.preposition != "à":
        agreeing = node.object
    if agreeing is not None:
        form = french.agree(form, agreeing.french_gender, agreeing.plural)
    auxiliary = french.present("être" if with_etre else "avoir")[slot]
    return Word(auxiliary, (f"{node.key}.t",), key), Word(form, (key,))
