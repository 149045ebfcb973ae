"""English forms and sentences, by rules that are written here and not in the package."""

from __future__ import annotations

import re

import pytest

from dragoman.phrasebook import english
from dragoman.phrasebook.realise import Triple

STATIVE_OR_DONE = "see|hear|know|have|understand|like|think|say|hope|want"


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        (english.plural("box"), "boxes"), (english.plural("lorry"), "lorries"), (english.plural("boy"), "boys"),
        (english.plural("church"), "churches"), (english.third_person("carry"), "carries"),
        (english.third_person("watch"), "watches"), (english.third_person("go"), "goes"),
        (english.third_person("buy"), "buys"), (english.present_participle("write"), "writing"),
        (english.present_participle("cut"), "cutting"), (english.present_participle("see"), "seeing"),
        (english.past("travel"), "travelled"), (english.past("cry"), "cried"), (english.past("play"), "played"),
        (english.past("wash"), "washed"), (english.past_participle("write"), "written"),
        (english.comparative("heavy"), "heavier"), (english.comparative("big"), "bigger"),
        (english.comparative("good"), "better"), (english.comparative("famous"), "more famous"),
        (english.comparative("brave"), "braver"), (english.indefinite_article("hour"), "an"),
        (english.indefinite_article("useful"), "a"), (english.indefinite_article("old"), "an"),
    ],
)  # fmt: skip
def test_forms(form: str, wanted: str) -> None:
    assert form == wanted


def test_a_and_an(everything: list[Triple]) -> None:
    for item in everything:
        assert not re.search(r"\b[Aa] (?!use|uni|euro|one)[aeiouAEIOU]", item.english.text), item.english.text
        assert not re.search(r"\b[Aa]n (?!hour|honest)[^aeiouAEIOU]", item.english.text), item.english.text


def test_subject_and_verb_agree(everything: list[Triple]) -> None:
    wrong = re.compile(
        r"\b(?:[Hh]e|[Ss]he|[Ii]t) (?:are|am|were|have|don't|aren't|weren't|[a-z]+[^s'd] (?:the|some|every))\b"
        r"|\b(?:[Ww]e|[Yy]ou|[Tt]hey|I) (?:is|was(?<!I was)|has|does|doesn't|isn't)\b"
        r"|\bI (?:are|were|is)\b"
    )
    past = re.compile(r"\b(?:He|She) (?!can|could|must|never|often|always|rarely|sometimes)[a-z]+ (?:the|some|every)\b")
    allowed = re.compile(r"\b(?:ate|drank|saw|heard|found|lost|built|bought|sold|wrote|read|met|wore|took|put|gave|sent|lent"
                         r"|brought|told|cut|chose|drew|sang|understood|forgot|hid|drove|fed|broke|learnt|got|[a-z]+ed|[a-z]+s)\b")  # fmt: skip
    for item in everything:
        text = item.english.text
        found = wrong.search(text)
        assert not found or allowed.search(found[0]), text
        for match in past.findall(text):
            assert allowed.search(match), text


def test_plural_nouns_take_plural_verbs(everything: list[Triple]) -> None:
    for item in everything:
        assert not re.search(r"^(?:These|My \w+s|Our \w+s|Your \w+s) (?:is|was|has|isn't|wasn't)\b", item.english.text)
        assert not re.search(
            r"\b(?:[Tt]his|[Aa]n?|every) \w*(?:children|women|postmen|policemen|mice)\b", item.english.text
        )


def test_states_are_not_progressive(everything: list[Triple]) -> None:
    for item in everything:
        assert not re.search(
            r"\b(?:knowing|understanding|hearing|wanting|hoping|is seeing|is having a)\b", item.english.text
        )


def test_negation_has_no_double(everything: list[Triple]) -> None:
    for item in everything:
        assert not re.search(r"n't (?:\w+ ){0,3}(?:never|not|no)\b", item.english.text), item.english.text
        assert not re.search(r"n't \w+ some\b", item.english.text), item.english.text
