"""Pharaoh lines."""

from pathlib import Path

import pytest

from dragoman.data.pharaoh import Gold, pharaoh, read_gold, read_pharaoh
from dragoman.errors import UserError


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


def test_gold_links_beyond_the_sentence_are_refused_with_their_place() -> None:
    gold = read_pharaoh("0-0 2?1 1-0", "gold.align:7")
    gold.check(3, 2)
    for words, link in (((2, 2), "2-1"), ((3, 1), "2-1"), ((1, 1), "1-0"), ((0, 0), "0-0")):
        with pytest.raises(
            UserError, match=rf"^gold\.align:7: the link {link} lies beyond .* {words[0]} and {words[1]}"
        ):
            gold.check(*words)
