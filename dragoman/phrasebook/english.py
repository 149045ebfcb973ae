"""English morphology: plurals, verb forms, comparison, the indefinite article."""

from __future__ import annotations

VOWELS = "aeiou"
IRREGULAR_VERBS = {  # base: past, past participle
    base: (past, participle)
    for base, past, participle in map(
        str.split,
        """
        be was been
        have had had
        go went gone
        ride rode ridden
        read read read
        write wrote written
        buy bought bought
        sell sold sold
        eat ate eaten
        drink drank drunk
        see saw seen
        hear heard heard
        find found found
        lose lost lost
        build built built
        know knew known
        meet met met
        wear wore worn
        put put put
        take took taken
        show showed shown
        give gave given
        send sent sent
        lend lent lent
        bring brought brought
        tell told told
        cut cut cut
        choose chose chosen
        draw drew drawn
        sing sang sung
        understand understood understood
        forget forgot forgotten
        think thought thought
        hide hid hidden
        drive drove driven
        feed fed fed
        get got got
        break broke broken
        sleep slept slept
        learn learnt learnt
        leave left left
        come came come
        fall fell fallen
        wake woke woken
        begin began begun
        cost cost cost
        say said said
        """.strip().splitlines(),
    )
}
DOUBLING = {"begin", "cut", "forget", "get", "put", "travel"}
SHORT = set(  # compared with -er
    "big brave bright clean clever cold dark deep dirty easy fresh friendly funny happy heavy high hot lazy light long"
    " narrow old pretty rich sad short shy small strong sweet tall warm wide young".split()
)
LONG_SOUND = {"hour", "honest"}  # silent h
CONSONANT_SOUND = ("uni", "use", "euro", "one")


def plural(noun: str) -> str:
    """Regular plural; irregular ones stand in the lexicon."""
    if noun.endswith("y") and noun[-2] not in VOWELS:
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def third_person(verb: str) -> str:
    """ "go" -> "goes"."""
    if verb in ("be", "have"):
        return {"be": "is", "have": "has"}[verb]
    if verb.endswith("y") and verb[-2] not in VOWELS:
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "ch", "sh", "o", "z")) else "s")


def present_participle(verb: str) -> str:
    """ "run" -> "running"."""
    if verb in DOUBLING:
        return verb + verb[-1] + "ing"
    if verb.endswith("e") and not verb.endswith(("ee", "be")):
        return verb[:-1] + "ing"
    return verb + "ing"


def past(verb: str) -> str:
    """Simple past."""
    if verb in IRREGULAR_VERBS:
        return IRREGULAR_VERBS[verb][0]
    if verb.endswith("y") and verb[-2] not in VOWELS:
        return verb[:-1] + "ied"
    if verb in DOUBLING:
        return verb + verb[-1] + "ed"
    return verb + ("d" if verb.endswith("e") else "ed")


def past_participle(verb: str) -> str:
    """As in "was built"."""
    return IRREGULAR_VERBS[verb][1] if verb in IRREGULAR_VERBS else past(verb)


def comparative(adjective: str) -> str:
    """One or two words: "older", "more famous"."""
    if adjective in ("good", "bad"):
        return {"good": "better", "bad": "worse"}[adjective]
    if adjective not in SHORT:
        return f"more {adjective}"
    if adjective.endswith("y"):
        return adjective[:-1] + "ier"
    if adjective.endswith("e"):
        return adjective + "r"
    return adjective + (adjective[-1] if adjective in ("big", "hot", "sad") else "") + "er"


def indefinite_article(following: str) -> str:
    """ "a" or "an", by the sound that the next word begins with."""
    word = following.lower()
    vowel = word[0] in VOWELS and not word.startswith(CONSONANT_SOUND)
    return "an" if vowel or word in LONG_SOUND or word in ("8", "11", "18") else "a"
