"""English forms and sentences, by rules that are written here and not in the package."""

from __future__ import annotations

import re

import pytest

from phrasebook import english
from phrasebook.entries import adjectives
from phrasebook.realize import Triple


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
        (adjectives()["heavy"].english_comparative, "heavier"),
        (adjectives()["famous"].english_comparative, "more famous"), (english.indefinite_article("hour"), "an"),
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
    start = r"(?:^|, |\b(?:and|but|because|that|while|if|what|where|when|why) )"
    one = re.compile(rf"{start}(?:he|she|it) (?:never |often |always |rarely |sometimes )?(\w+)", re.IGNORECASE)
    many = re.compile(rf"{start}(?:I|you|we|they) (?:never |often |always |rarely |sometimes )?(\w+)", re.IGNORECASE)
    bare = set("like see have know understand hear go play work eat drink buy want say think hope live come".split())
    plural_only, singular_only = {"are", "don't", "aren't", "were", "weren't"} | bare, {"is", "has", "doesn't", "isn't"}
    seen = 0
    for item in everything:
        for verb in one.findall(item.english.text):
            seen += 1
            assert verb not in plural_only, item.english.text
        for verb in many.findall(item.english.text):
            assert verb not in singular_only | {word + "s" for word in bare}, item.english.text
    assert seen > 1_000


def test_plural_nouns_take_plural_verbs(everything: list[Triple]) -> None:
    for item in everything:
        text = item.english.text
        assert not re.search(r"^These \w+ (?:is|was|isn't|wasn't|costs|opens)\b", text), text
        assert not re.search(r"^(?:My|Our|Your) (?:\w+[^s]s|children) (?:is|was|isn't|wasn't|has)\b", text), text
        assert not re.search(
            r"\b(?:this|an?|every) (?:children|women|men|postmen|mice|scarves)\b", text, re.IGNORECASE
        ), text


def test_states_are_not_progressive(everything: list[Triple]) -> None:
    for item in everything:
        assert not re.search(
            r"\b(?:knowing|understanding|hearing|wanting|hoping|is seeing|is having a)\b", item.english.text
        )


def test_negation_has_no_double(everything: list[Triple]) -> None:
    for item in everything:
        assert not re.search(r"n't (?:\w+ ){0,3}(?:never|not|no)\b", item.english.text), item.english.text
        assert not re.search(r"n't \w+ some\b", item.english.text), item.english.text
