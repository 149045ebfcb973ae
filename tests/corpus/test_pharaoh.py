"""Pharaoh lines."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.corpus.pharaoh import FEW, Gold, Link, pharaoh, read_gold, read_pharaoh, without_word_0
from dragoman.errors import UserError
from dragoman.files.reading import LONGEST_TEXT


def test_pharaoh_lines_are_read_back() -> None:
    assert read_pharaoh("0-0 2-1 1?2") == Gold(frozenset({(0, 0), (2, 1)}), frozenset({(0, 0), (2, 1), (1, 2)}))
    assert read_pharaoh("") == Gold(frozenset(), frozenset())
    assert pharaoh(read_pharaoh("10-2 9-3 9-1").sure) == "9-1 9-3 10-2"  # numbers, not text


@pytest.mark.parametrize("piece", ["0", "1-", "-1-2", "a-b", "1:2", "1-2-3", "0.5-1", "٣-١"])
def test_other_links_are_refused_with_their_place(piece: str) -> None:
    with pytest.raises(UserError, match=r"^gold\.align:7: '.*' is not a link, expected SOURCE-TARGET"):
        read_pharaoh(f"0-0 {piece}", "gold.align:7")


def test_gold_links_are_read_with_their_places(tmp_path: Path) -> None:
    path = tmp_path / "gold"
    path.write_text("0-0 1?1\n\n2-1\n", encoding="utf-8")
    first, second, third = read_gold(path)
    assert first == read_pharaoh("0-0 1?1", f"{path}:1")
    assert (second.sure, third.sure) == (frozenset(), {(2, 1)})
    assert third.where == f"{path}:3"


def test_links_may_be_counted_from_one(tmp_path: Path) -> None:
    path = tmp_path / "gold.talp"
    path.write_text("1-1 3p2\n\n2?1\n", encoding="utf-8")
    first, second, third = read_gold(path, one_based=True)
    assert (first.sure, first.possible) == ({(0, 0)}, {(0, 0), (2, 1)})
    assert (second.possible, third.possible) == (frozenset(), {(1, 0)})
    assert [str(gold) for gold in (first, second, third)] == ["0-0 2?1", "", "1?0"]
    with pytest.raises(
        UserError, match=r"gold\.talp:1: the link 3-2 is out of range for .* 2 and 2 words \(counted from 1\)"
    ):
        first.check(2, 2)
    path.write_text("1-1\n1-0\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"gold\.talp:2: '1-0' has a word 0, .*--one-based"):
        read_gold(path, one_based=True)


@given(st.sets(st.tuples(st.integers(0, 99), st.integers(0, 99))), st.randoms())
def test_gold_links_are_written_as_they_are_read(possible: set[Link], random: Random) -> None:
    gold = Gold(frozenset(link for link in possible if random.random() < 0.5), frozenset(possible))
    assert read_pharaoh(str(gold)) == gold


def test_a_line_of_links_that_is_cut_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "gold"
    path.write_text("0-0 " * LONGEST_TEXT, encoding="utf-8")
    with pytest.raises(UserError, match=r"gold:1: more than 50,000 characters"):
        read_gold(path)


def test_gold_links_beyond_the_sentence_are_refused_with_their_place() -> None:
    gold = read_pharaoh("0-0 2?1 1-0", "gold.align:7")
    gold.check(3, 2)
    for words, link in (((2, 2), "2-1"), ((3, 1), "2-1"), ((1, 1), "1-0"), ((0, 0), "0-0")):
        with pytest.raises(
            UserError, match=rf"^gold\.align:7: the link {link} is out of range for .* {words[0]} and {words[1]}"
        ):
            gold.check(*words)


@pytest.mark.parametrize(
    ("line", "one_based", "suspected"),
    [
        ("1-1 2-2", False, True),
        ("1-1 2?2", False, True),
        ("1-1 2-0", False, False),  # one word 0 on one side is enough
        ("1-1 0?2", False, False),
        ("1-1 2-2", True, False),
    ],
)
def test_links_without_any_word_0_are_suspected_to_count_from_1(line: str, one_based: bool, suspected: bool) -> None:
    gold = [read_pharaoh("1-1", one_based=one_based)] * (FEW - 1) + [read_pharaoh(line, one_based=one_based)]
    assert without_word_0(gold) == suspected
    assert not without_word_0(gold[1:])  # few may leave out every first word


def test_no_links_are_suspected_of_nothing() -> None:
    assert not without_word_0([])
    assert not without_word_0([read_pharaoh("")] * 50)
