"""Pages do not tell systems, and keys do."""

import json
from collections import Counter

import pytest

from dragoman.errors import UserError
from dragoman.evaluation.human.blinding import blind, pieces, shown

pytestmark = pytest.mark.spec("H10")
SOURCES = [f"source {number}" for number in range(40)]
SYSTEMS = {name: [f"{word} {number}" for number in range(40)] for name, word in (("first", "un"), ("second", "deux"))}
ASKED = ("adequacy", "errors", "rank")


def test_every_translation_is_once_on_the_page_and_the_key_says_whose_it_is() -> None:
    key = blind(SOURCES, SYSTEMS, ASKED, ["other"], sentences=None, seed=1)
    assert sorted(item.line for item in key.items) == list(range(1, 41))
    for item in key.items:
        assert item.source == SOURCES[item.line - 1]
        texts_of = {output.systems[0]: output.text for output in item.outputs}
        assert texts_of == {name: lines[item.line - 1] for name, lines in SYSTEMS.items()}
    ids = [key.page, *(item.id for item in key.items), *(output.id for item in key.items for output in item.outputs)]
    assert len(set(ids)) == len(ids) == 1 + 40 + 80


def test_the_page_does_not_know_systems_lines_or_the_seed() -> None:
    key = blind(SOURCES, SYSTEMS, ASKED, ["other"], sentences=None, seed=987654321)
    page = shown(key)
    assert set(page) == {"version", "page", "questions", "rank", "categories", "severities", "items"}
    assert {name for item in page["items"] for name in item} == {"id", "source", "outputs"}
    assert {name for item in page["items"] for output in item["outputs"] for name in output} == {"id", "pieces"}
    text = json.dumps(page)
    assert not any(secret in text for secret in ("first", "second", "987654321"))


def test_neither_place_nor_id_tells_a_system() -> None:
    """Each system stands first, and has the smaller id, about as often as the other."""
    places, ids, moved = Counter[str](), Counter[str](), 0
    for seed in range(10):
        key = blind(SOURCES, SYSTEMS, ASKED, ["other"], sentences=None, seed=seed)
        moved += sum(item.line != place for place, item in enumerate(key.items, start=1))
        places.update(item.outputs[0].systems[0] for item in key.items)
        ids.update(min(item.outputs, key=lambda output: output.id).systems[0] for item in key.items)
    assert moved > 350
    assert 150 < places["first"] < 250
    assert 150 < ids["first"] < 250


def test_equal_translations_are_judged_once_for_all_their_systems() -> None:
    key = blind(["a"], {"x": ["same"], "y": ["other"], "z": ["same"]}, ASKED, [], sentences=None, seed=1)
    assert sorted(output.systems for output in key.items[0].outputs) == [["x", "z"], ["y"]]


def test_some_sentences_are_drawn_and_blank_ones_never() -> None:
    systems = {"x": [str(number) for number in range(40)]}
    sources = [f"source {number}" if number % 2 else " " for number in range(40)]
    drawn_again = blind(["x", *sources[1:]], systems, ASKED, [], sentences=5, seed=1)
    assert drawn_again.page != blind(sources, systems, ASKED, [], sentences=5, seed=1).page
    drawn = [blind(sources, systems, ASKED, [], sentences=5, seed=seed) for seed in (1, 1, 2)]
    lines = [[item.line for item in key.items] for key in drawn]
    assert [len(set(of_system)) for of_system in lines] == [5, 5, 5]
    assert not any(line % 2 for of_system in lines for line in of_system)  # counted from 1
    assert drawn[0] == drawn[1]
    assert lines[0] != lines[2]
    assert len(blind(sources, systems, ASKED, [], sentences=100, seed=1).items) == 20
    with pytest.raises(UserError, match="all sources are blank"):
        blind(["", " "], {"x": ["a", "b"]}, ASKED, [], sentences=None, seed=1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Il ne lit pas l'eau.", ["Il", "ne", "lit", "pas", "l'", "eau", "."]),
        ("  a  b ", ["a", "b"]),
        ("", []),
        ("私はテニス部員です。", list("私はテニス部員です。")),
        ("ใช่ yes", ["ใ", "ช", "่", "yes"]),
        ("שלום, עולם", ["שלום", ",", "עולם"]),
        ("𠀋𠀌 x", ["𠀋", "𠀌", "x"]),
    ],
)
def test_words_that_can_be_marked(text: str, words: list[str]) -> None:
    parts = pieces(text)
    assert "".join(parts) == text
    assert parts[1::2] == words
