"""Translations that run in circles, or are far too long, have no confidence."""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

import numpy as np
import pytest

from dragoman.translation.attention_matrix import SourceAttention
from dragoman.translation.repetition import SHORTEST, doubt, repetitions
from dragoman.translation.translation import Step, Translation


@pytest.mark.parametrize(
    ("text", "times"),
    [
        (":MM:MM:MM", 3),
        ("hh:mm:MM:MM:MM:MM", 4),
        ("der der der der", 4),
        ("the red man the red man the red man", 3),
        ("aaaaaaaaa", 9),
        ("aaaa", 1),
        ("III", 1),
        ("1 000 000 000", 1),
        ("1 000 000 000 000 000", 5),
        ("." * 17, 1),
        ("no, no, no", 2),
        (" " * 20, 1),
        ("", 1),
        ("a man and a dog", 1),
    ],
)
def test_repetitions_are_counted(text: str, times: int) -> None:
    assert repetitions(text) == times


def count_repetitions(text: str) -> int:
    """The definition, without any shortcut: for each period, the first of the longest runs."""
    most = 1
    for period in range(1, len(text) // 2 + 1):
        pairs = list(zip(text, text[period:], strict=False))
        lengths = [len(list(takewhile(lambda pair: pair[0] == pair[1], pairs[begin:]))) for begin in range(len(pairs))]
        run, begin = max(lengths) + period, lengths.index(max(lengths))
        cycle = text[begin : begin + period]
        worded = any(map(str.isalpha, cycle))
        if run >= (1 if worded else 2) * SHORTEST and not cycle.isspace():
            most = max(most, (run + (" " in cycle)) // period)
    return most


def random_text(generator: random.Random) -> str:
    def draw(signs: Sequence[str], length: int) -> str:
        return "".join(generator.choices(signs, k=length))

    signs = generator.choice(["ab", "ab ", "01.", "a1 ", " \t", "x\ud800\U0001f600"])
    cycle = draw(signs, generator.randint(0, 7))
    return draw(signs, generator.randint(0, 9)) + cycle * generator.randint(1, 5) + draw(signs, generator.randint(0, 9))


def test_repetitions_are_those_of_the_definition() -> None:
    generator = random.Random(1)
    texts = [random_text(generator) for _ in range(300)]
    assert [repetitions(text) for text in texts] == [count_repetitions(text) for text in texts]
    assert len({repetitions(text) for text in texts}) > 4


@pytest.mark.parametrize(
    ("source", "text", "reason"),
    [
        ("HH:MM format", "Format HH:MM:MM:MM", "repeats"),
        ("a very very very very very good dog", "ein sehr sehr sehr sehr sehr guter Hund", None),
        ("no, no, no, no!", "nein, nein, nein, nein!", None),
        ("OK", "gut " * 3, "repeats"),
        ("OK", "In Ordnung, das wird so gemacht, wie es hier steht und nicht anders.", "long"),
        ("OK", "In Ordnung", None),
        ("OK", "In Ordnung, das wird so gemacht, wie es hier im.", None),  # 40 characters more than 4 times its source
        ("OK", "In Ordnung, das wird so gemacht, wie es hier im T", "long"),
        ("\u6211\u559c\u6b61\u8c93\u3002", "I like cats, and I like them more than all the other animals.", None),
        ("Yes, I do see the dog.", "x y z w v. " + "Ja, ich sehe den Hund" * 2, None),
    ],
)
def test_what_is_doubted(source: str, text: str, reason: str | None) -> None:
    doubted = doubt(text, [source])
    assert (doubted is None) == (reason is None)
    assert reason is None or (doubted and reason in doubted)


def test_a_translation_in_doubt_has_no_confidence_and_is_below_any() -> None:
    words = ["mm", ":MM:MM:MM"]
    seen = SourceAttention("en", "minutes", ["minutes"], np.ones((2, 1)), np.ones(2))
    steps = tuple(Step(word, place, -0.1, {}, -0.05) for place, word in enumerate(words))
    steps += (Step("</s>", None, -0.1, {}, -0.05),)
    circling = Translation((seen,), "mm:MM:MM:MM", words, -0.3, -0.3, steps)
    assert circling.confidence is None
    assert circling.doubt == "it repeats itself"
    withheld = circling.trusted(0.0)
    assert (withheld.text, withheld.withheld) == ("", "mm:MM:MM:MM")
    assert (withheld.confidence, withheld.doubt, withheld.trusted(0.0)) == (None, circling.doubt, withheld)
    plain = replace(circling, text="mm MM")
    assert plain.confidence
    assert plain.trusted(0.5) is plain
    unknown = replace(circling, steps=tuple(step._replace(calibrated=None) for step in steps))
    assert (unknown.doubt, unknown.trusted(0.9)) == (None, unknown)
