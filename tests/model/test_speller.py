"""The speller against plain loops over characters, and its beam against all words there are."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.data.alphabet import Alphabet
from dragoman.data.vocabulary import BOS, EOS, SPECIALS, UNK
from dragoman.model.speller import Speller, Spelling
from tests.builders import noise, shaken
from tests.derivatives import assert_derivative
from tests.model.loops import Vector, array, lstm, numbers, times

ALPHABET = Alphabet("ab", len(SPECIALS) + 1)  # and a mark
WORDS = ["b", "abba", "ax"]
SIZE = 3
STARTS = noise(3, SIZE, seed=5)


def speller(layers: int = 1, spread: float = 0.5) -> Speller:
    torch.manual_seed(0)
    return shaken(Speller(ALPHABET, SIZE, 2, layers, "lstm"), spread=spread)


def plainly(model: Speller, start: list[float], word: list[int]) -> float:
    """log P of the numbers after the first, by loops."""
    vectors, begin = [array(model.table[number]) for number in word[:-1]], np.array(start)
    for cell in model.cells:
        state: tuple[Vector, ...] = (begin, np.zeros(SIZE))
        outputs: list[Vector] = []
        for vector in vectors:
            state = lstm(numbers(cell), vector, state)
            outputs.append(state[0])
        vectors, begin = outputs, np.zeros(SIZE)
    total = 0.0
    for place, (output, number) in enumerate(zip(vectors, word[1:], strict=True)):
        logits = times(array(model.weight), output) + array(model.bias)
        allowed = [UNK, *([EOS] if place else []), *range(ALPHABET.first, len(ALPHABET))]
        total += logits[number] - math.log(sum(math.exp(logits[number_allowed]) for number_allowed in allowed))
    return total


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> int:
    """The longest words have three characters."""
    for module in ("model.speller", "data.alphabet"):
        monkeypatch.setattr(f"dragoman.{module}.LONGEST_WORD", 3)
    return 3


@pytest.mark.spec("D15")
@pytest.mark.parametrize("layers", [1, 2])
def test_words_have_the_probabilities_of_their_characters_and_of_their_end(layers: int) -> None:
    model = speller(layers)
    scores = model(STARTS, ALPHABET.words(WORDS))
    expected = [
        plainly(model, start, ALPHABET.numbers(word)) for start, word in zip(STARTS.tolist(), WORDS, strict=True)
    ]
    assert scores.log_probs.tolist() == pytest.approx(expected, abs=1e-12)


def test_padding_and_other_words_change_nothing() -> None:
    model = speller()
    together = model(STARTS, ALPHABET.words(WORDS))
    for row, word in enumerate(WORDS):
        alone = model(STARTS[row : row + 1], ALPHABET.words([word]))
        torch.testing.assert_close(alone.log_probs, together.log_probs[row : row + 1])


def test_gradients_are_derivatives() -> None:
    model, starts = speller(2), STARTS.clone().requires_grad_()
    assert_derivative(lambda: model(starts, ALPHABET.words(WORDS)).log_probs.sum(), [*model.parameters(), starts])


def everything(model: Speller, row: int) -> list[Spelling]:
    """All words of three characters at most, best first; the unknown character is one."""
    letters = [UNK, ALPHABET.first, ALPHABET.first + 1]
    spellings = []
    for length in (1, 2, 3):
        for word in itertools.product(letters, repeat=length):
            ended = [BOS, *word, *([EOS] if length < 3 else [])]
            log_prob = plainly(model, STARTS[row].tolist(), ended)
            spellings.append(Spelling("?" if UNK in word else ALPHABET.word(word), log_prob))
    return sorted(spellings, key=lambda spelling_of_word: -spelling_of_word.log_prob)


def test_the_probabilities_of_all_words_add_up_to_1(short: int) -> None:
    model = speller()
    assert sum(math.exp(spelling_of_word.log_prob) for spelling_of_word in everything(model, 0)) == pytest.approx(
        1, abs=1e-12
    )


@pytest.mark.spec("D15")
@pytest.mark.parametrize("layers", [1, 2])
def test_a_wide_beam_finds_the_best_words(layers: int, short: int) -> None:
    model = speller(layers, spread=1.0)
    beams = model.spell(STARTS, 8)
    for row, spellings in enumerate(beams):
        expected = [spelling_of_word for spelling_of_word in everything(model, row) if spelling_of_word.word != "?"][:8]
        assert [spelling_of_word.word for spelling_of_word in spellings] == [
            spelling_of_word.word for spelling_of_word in expected
        ]
        assert [spelling_of_word.log_prob for spelling_of_word in spellings] == pytest.approx(
            [spelling_of_word.log_prob for spelling_of_word in expected]
        )
        (alone,) = model.spell(STARTS[row : row + 1], 8)
        assert [spelling_of_word.word for spelling_of_word in alone] == [
            spelling_of_word.word for spelling_of_word in spellings
        ]


def test_what_is_spelled_is_scored_the_same(short: int) -> None:
    model = speller()
    for width in (1, 3):
        for row, spellings in enumerate(model.spell(STARTS, width)):
            assert 1 <= len(spellings) <= width
            scored = model(
                STARTS[[row] * len(spellings)],
                ALPHABET.words([spelling_of_word.word for spelling_of_word in spellings]),
            )
            assert scored.log_probs.tolist() == pytest.approx(
                [spelling_of_word.log_prob for spelling_of_word in spellings]
            )


def test_a_word_that_never_ends_is_cut() -> None:
    model = speller()
    with torch.no_grad():
        model.bias[EOS] = -1e9
    (spellings,) = model.spell(STARTS[:1], 1)
    assert len(spellings[0].word) == 50
    scored = model(STARTS[:1], ALPHABET.words([spellings[0].word]))
    assert scored.log_probs.tolist() == pytest.approx([spellings[0].log_prob])


def test_a_word_is_right_where_each_character_is_the_most_probable() -> None:
    model = speller()
    ((best,), *_) = model.spell(STARTS, 1)
    other = best.word[:-1] + ("a" if best.word[-1] == "b" else "b")
    scores: Any = model(STARTS[[0, 0]], ALPHABET.words([best.word, other]))
    assert scores.correct.tolist() == [True, False]
