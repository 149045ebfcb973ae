"""Noise on the words of a source."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.noise import BLANK, Noise

WORDS = [f"w{number}" for number in range(2000)]


@pytest.mark.spec("E3")
@given(st.integers(0, 5), st.integers(0, 99))
def test_no_word_moves_further_than_allowed(shuffle: int, seed: int) -> None:
    words = Noise(drop=0.0, blank=0.0, shuffle=shuffle)(" ".join(WORDS[:50]), (seed,)).split()
    assert sorted(words) == sorted(WORDS[:50])
    assert max(abs(place - WORDS.index(word)) for place, word in enumerate(words)) <= shuffle


@pytest.mark.spec("E3")
def test_words_are_dropped_and_blanked_as_often_as_asked_for() -> None:
    words = Noise(drop=0.2, blank=0.3, shuffle=0)(" ".join(WORDS), (1,)).split()
    assert len(words) / len(WORDS) == pytest.approx(0.8, abs=0.03)
    assert words.count(BLANK) / len(words) == pytest.approx(0.3, abs=0.03)
    left = [word for word in words if word != BLANK]
    assert left == sorted(left, key=WORDS.index)


@pytest.mark.spec("E3")
def test_something_is_always_left_and_the_seed_decides() -> None:
    assert Noise(drop=1.0, blank=0.0)("a b c", (1,)) in ("a", "b", "c")
    assert Noise()("", (1,)) == ""
    text = " ".join(WORDS[:30])
    assert Noise()(text, (1, 2)) == Noise()(text, (1, 2))
    assert Noise()(text, (1, 2)) != Noise()(text, (1, 3))
