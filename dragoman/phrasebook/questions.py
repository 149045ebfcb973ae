"""Constructions: questions, direct and indirect, and requests."""

from __future__ import annotations

from dataclasses import replace

from dragoman.phrasebook import english, english_syntax, french, french_syntax, german, german_syntax
from dragoman.phrasebook.clauses import (
    TRANSITIVES, action, happening, joined, nominal, placed, spoken, timed,
)  # fmt: skip
from dragoman.phrasebook.draw import DESCRIBING, Draw
from dragoman.phrasebook.grammar import Line, Phrase, Word, words
from dragoman.phrasebook.lexicon import DITRANSITIVE, NOUNS, TRANSITIVE
from dragoman.phrasebook.lexicon_function import MODALS
from dragoman.phrasebook.meaning import Clause, Name, Nominal, NounPhrase, Pronoun
from dragoman.phrasebook.predicates import BE, describing, quality
from dragoman.phrasebook.realise import with_end

INTERROGATIVES = {
    "where": ("où", "wo"), "when": ("quand", "wann"), "why": ("pourquoi", "warum"), "how": ("comment", "wie"),
}  # fmt: skip
WHAT_VERBS = "read write buy sell eat drink see cook draw sing repair look_+for order choose learn translate".split()
WHO_VERBS = [verb for verb in TRANSITIVES if "steady" not in verb.flags]
REQUESTS = "open close repair clean wash cut turn_~on turn_~off taste read sign correct look_+at sell buy order".split()
PROHIBITIONS = "forget lose break open sell turn_~on turn_~off close".split()


def _verb(name: str) -> str:
    return name.replace("_", " ")


def question(node: Clause, interrogative: Phrase | None = None) -> Phrase:
    """ "Est-ce que" in French, verb first (or after the interrogative) in German."""
    front = interrogative or Phrase([], [], [])
    key = f"{node.key}.t"
    est_ce = [Word("est-ce", (f"{node.key}.q",), key), Word("que", (f"{node.key}.q",), key)]
    return Phrase(
        [*front.english, *english_syntax.clause(node, question=True)],
        [*front.french, *est_ce, *french_syntax.clause(node)],
        german_syntax.clause(node, "main", front.german) if front.german else german_syntax.clause(node, "question"),
    )


def interrogative(name: str, key: str) -> Phrase:
    """ "where" in the three languages."""
    french_form, german_form = INTERROGATIVES[name]
    return Phrase(words(name, key), words(french_form, key), words(german_form, key))


def where_is(subject: Nominal, key: str) -> Phrase:
    """ "Where is the book": French needs no "est-ce que" here."""
    is_, slot, front = (f"{key}.v",), subject.slot, interrogative("where", f"{key}.w")
    lines = nominal(subject)
    return Phrase(
        [*front.english, Word(english_syntax.BE[slot], is_), *lines.english],
        [*front.french, Word(french_syntax.BE[slot], is_), *lines.french],
        [*front.german, Word(german_syntax.BE[slot], is_), *lines.german],
    )


def yes_no(draw: Draw) -> Phrase:
    """Did you find your keys?"""
    if draw.chance(0.25):
        return with_end(question(replace(describing(draw, draw.person("a.s"), "a", plain=True))), "?")
    node = happening(draw, subject=asked(draw))
    if draw.chance(0.2) and "steady" not in node.verb.flags:
        node = replace(node, modal=MODALS["can" if draw.chance(0.5) else "want"])
        if node.verb.lemma in ("lose", "forget", "break", "hurry =up", "fall =asleep", "wake ~up", "receive"):
            node = replace(node, modal=None)
    return with_end(question(timed(draw, node, 0.35)), "?")


def asked(draw: Draw) -> Nominal:
    """The subject of a question: seldom the speaker."""
    subject = draw.person("a.s", pronouns=0.55)
    if isinstance(subject, Pronoun) and subject.person == 1 and not subject.plural:
        return replace(subject, person=2)
    return subject


def open_question(draw: Draw) -> Phrase:
    """Where did you buy this hat?"""
    kind = draw.choice(("where", "where", "when", "why", "what", "how many", "who"))
    if kind == "who":
        return who(draw)
    if kind == "what":
        return with_end(what(draw), "?")
    if kind == "how many":
        return how_many(draw)
    return with_end(question(*asking(draw, kind)), "?")


def asking(draw: Draw, kind: str) -> tuple[Clause, Phrase]:
    """A clause without the adverbial that is asked for, and the interrogative."""
    if kind == "where":
        names = ("buy", "find", "lose", "see", "hide", "meet", "forget", "learn", "park") if draw.chance(0.7) else ("work", "wait")
        name = draw.choice([n for n in names if n in TRANSITIVE] or ["see"])
        node = action(draw, subject=asked(draw), verb=TRANSITIVE[name], tense="past", adjectives=int(draw.chance(0.15)))
    elif kind == "when":
        node = happening(draw, subject=asked(draw))
        node = replace(node, tense="future" if draw.chance(0.5) and not node.verb.flags & {"timeless", "steady", "stative"} else "past")
        if "steady" in node.verb.flags:
            return asking(draw, kind)
    else:
        node = happening(draw, subject=asked(draw), negated=draw.chance(0.2))
        if node.verb.lemma == "know":
            return asking(draw, kind)
    return node, interrogative(kind, "a.w")


def what(draw: Draw) -> Phrase:
    """What are you reading?"""
    verb = TRANSITIVE[_verb(draw.choice(WHAT_VERBS))]
    tense = draw.choice(("present", "past", "future"))
    if "stative" in verb.flags and tense != "past":
        tense = "past"
    node = timed(draw, placed(draw, Clause(key="a", subject=asked(draw), verb=verb, tense=tense), 0.3), 0.3)
    key, asks = "a.w", "a.q"
    preposition = words(verb.english.preposition, "a.v.p", otherwise="a.v")
    english_line = english_syntax.clause(node, question=True)
    line = [Word("what", (key,)), *english_line]
    if preposition:
        at = next(i for i, word in enumerate(line) if word.ids == ("a.v",) and i > 1) + 1
        line[at:at] = preposition
    que = [Word("que", (key,)), Word("est-ce", (asks,), "a.t"), Word("que", (asks,), "a.t")]
    return Phrase(line, [*que, *french_syntax.clause(node)], german_syntax.clause(node, "main", [Word("was", (key,))]))


def who(draw: Draw) -> Phrase:
    """Who broke the vase?"""
    verb = draw.choice(WHO_VERBS)
    subject = Name(key="a.s", phrase=Phrase([Word("who", ("a.s",))], [Word("qui", ("a.s",))], [Word("wer", ("a.s",))]), sex="")
    node = action(draw, verb=verb, subject=subject)
    return with_end(spoken(timed(draw, node, 0.25)), "?")


def how_many(draw: Draw) -> Phrase:
    """How many apples did you buy?"""
    verb = TRANSITIVE[draw.choice(("buy", "sell", "eat", "see", "read", "order", "write", "plant", "draw", "find", "receive", "lose"))]
    noun = draw.object_of(verb)
    if "mass" in noun.classes:
        return how_many(draw)
    node = Clause(key="a", subject=asked(draw), verb=verb, tense="past")
    bare = draw.noun_phrase(noun, "a.o", determiner="zero", plural=True)
    lines = nominal(bare, "accusative")
    front = Phrase(
        [*words("how many", "a.h"), *lines.english], [*words("combien de", "a.h"), *lines.french], [*words("wie viele", "a.h"), *lines.german],
    )  # fmt: skip
    return with_end(question(node, agreeing(front, node, bare)), "?")


def agreeing(front: Phrase, node: Clause, thing: NounPhrase) -> Phrase:
    """Only the place where the object stands before its French participle is marked; see `question_line`."""
    return front


def indirect(draw: Draw) -> Phrase:
    """I don't know where he bought the car."""
    kind = draw.choice(("where", "when", "why", "whether"))
    if kind == "whether":
        node, front = happening(draw, "a"), Phrase([Word("if", ("a.w",))], [Word("si", ("a.w",))], [Word("ob", ("a.w",))])
    else:
        node, front = asking(draw, kind)
    return with_end(Phrase([*knowing(draw).english], [], []), ".") if False else with_end(_after_knowing(draw, front, node), ".")


def _after_knowing(draw: Draw, front: Phrase, node: Clause) -> Phrase:
    main, comma = knowing(draw), [Word(",", ("comma",))]
    lines = spoken(node, "subordinate")
    return Phrase(
        [*main.english, *front.english, *lines.english],
        [*main.french, *front.french, *lines.french],
        [*main.german, *comma, *front.german, *lines.german],
    )


def knowing(draw: Draw) -> Phrase:
    """ "I don't know"."""
    subject = draw.person("k.s", pronouns=0.6)
    node = Clause(key="k", subject=subject, verb=TRANSITIVE["know"], negation="not")
    lines = spoken(node)
    slot = subject.slot
    for line, old, new in ((lines.french, "connaître", "savoir"), (lines.german, "kennen", "wissen")):
        module = french if line is lines.french else german
        at = next(i for i, word in enumerate(line) if word.form == module.present(old)[slot])
        line[at] = line[at]._replace(form=module.present(new)[slot])
    return lines
