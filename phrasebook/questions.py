"""Constructions: questions, direct and indirect, and requests."""

from __future__ import annotations

from dataclasses import replace

from phrasebook import english_syntax, french, french_syntax, german, german_syntax
from phrasebook.clauses import action, happening, joined, nominal, placed, spoken, timed
from phrasebook.draw import Draw, NoChoice
from phrasebook.entries import modals, verbs, verbs_of
from phrasebook.grammar import Phrase, Word, phrase, words
from phrasebook.meaning import Clause, Name, Nominal, Pronoun
from phrasebook.predicates import describing
from phrasebook.realize import with_end

INTERROGATIVES = {
    "where": ("où", "wo"), "when": ("quand", "wann"), "why": ("pourquoi", "warum"), "how": ("comment", "wie"),
}  # fmt: skip
WHAT_VERBS = ("read", "write", "buy", "sell", "eat", "drink", "see", "cook", "draw", "sing", "repair", "look +for",
              "order", "choose", "learn", "translate")  # fmt: skip
COUNT_VERBS = ("buy", "sell", "eat", "see", "read", "order", "write", "plant", "draw", "find", "receive", "lose")
WHERE_VERBS = ("buy", "find", "lose", "see", "hide", "meet", "forget", "order", "plant")


def question(node: Clause, interrogative: Phrase | None = None) -> Phrase:
    """Ask with "est-ce que" in French, verb first (or after the interrogative) in German."""
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
        [*front.french, Word(french.present("être")[slot], is_), *lines.french],
        [*front.german, Word(german.present("sein")[slot], is_), *lines.german],
    )


def yes_no(draw: Draw) -> Phrase:
    """Did you find your keys?"""
    if draw.chance(0.25):
        return with_end(question(describing(draw, question_subject(draw), "a", plain=True)), "?")
    node = happening(draw, subject=question_subject(draw))
    if draw.chance(0.2) and "steady" not in node.verb.flags:
        node = replace(node, modal=modals()["can" if draw.chance(0.5) else "want"])
        if node.verb.lemma in ("lose", "forget", "break", "fall =asleep", "wake ~up", "receive"):
            node = replace(node, modal=None)
    return with_end(question(timed(draw, node, 0.35)), "?")


def question_subject(draw: Draw) -> Nominal:
    """Draw the subject of a question: rarely the speaker."""
    subject = draw.person("a.s", pronouns=0.55)
    return replace(subject, person=2) if subject.person == 1 and not subject.plural else subject


def open_question(draw: Draw) -> Phrase:
    """Where did you buy this hat?"""
    kind = draw.choice(("where", "where", "when", "why", "what", "how many", "who"))
    special = {"who": who, "what": what, "how many": how_many}
    return special[kind](draw) if kind in special else with_end(question(*asking(draw, kind)), "?")


def asking(draw: Draw, kind: str) -> tuple[Clause, Phrase]:
    """Draw a clause without the adverbial that is asked for, and the interrogative."""
    if kind == "where":
        verb = verbs("transitive")[draw.choice(WHERE_VERBS)]
        node = action(draw, subject=question_subject(draw), verb=verb, tense="past", adjectives=int(draw.chance(0.15)))
    elif kind == "when":
        node = happening(draw, subject=question_subject(draw))
        later = draw.chance(0.5) and not node.verb.flags & {"timeless", "stative", "accident"}
        node = replace(node, tense="future" if later else "past")
    else:
        node = happening(draw, subject=question_subject(draw), negated=draw.chance(0.2))
    if "steady" in node.verb.flags or (kind == "when" and node.verb.lemma == "stay"):
        raise NoChoice
    return node, interrogative(kind, "a.w")


def what(draw: Draw) -> Phrase:
    """What are you reading?"""
    verb = verbs("transitive")[draw.choice(WHAT_VERBS)]
    tense = "past" if "stative" in verb.flags else draw.choice(("present", "past", "future"))
    thing = Pronoun(key="a.w")
    node = Clause(key="a", subject=question_subject(draw), verb=verb, tense=tense, extracted=thing)
    node = timed(draw, placed(draw, node), 0.3)
    front = [Word("what", (thing.key,))], [Word("que", (thing.key,))], [Word("was", (thing.key,))]
    return with_end(question(node, Phrase(*front)), "?")


def who(draw: Draw) -> Phrase:
    """Who broke the vase?"""
    key = "a.s"
    subject = Name(key=key, phrase=phrase("who", "qui", "wer", key), sex="")
    verb = draw.choice([verb for verb in verbs_of("transitive") if "steady" not in verb.flags])
    return with_end(spoken(timed(draw, action(draw, verb=verb, subject=subject), 0.25)), "?")


def how_many(draw: Draw) -> Phrase:
    """How many apples did you buy?"""
    verb = verbs("transitive")[draw.choice(COUNT_VERBS)]
    noun = draw.object_of(verb)
    if "mass" in noun.classes:
        raise NoChoice
    things = draw.noun_phrase(noun, "a.o", determiner="zero", plural=True)
    node = Clause(key="a", subject=question_subject(draw), verb=verb, tense="past", extracted=things)
    asks = phrase("how/h many/h", "combien/h de/h", "wie/h viele/h", "a")
    return with_end(question(node, joined(asks, nominal(things, "accusative"))), "?")


def indirect(draw: Draw) -> Phrase:
    """I don't know where he bought the car."""
    kind = draw.choice(("where", "when", "why", "whether"))
    if kind == "whether":
        node, front = happening(draw), phrase("if", "si", "ob", "a.w")
    else:
        node, front = asking(draw, kind)
    knows = Clause(
        key="k", subject=draw.person("k.s", pronouns=0.6), verb=verbs("clausal")["know:fact"],
        negation="not" if kind == "whether" or draw.chance(0.6) else "",
    )  # fmt: skip
    return with_end(joined(spoken(knows), ("", "", ","), front, spoken(node, "subordinate")), ".")
