"""Word alignments from attention, and the alignment error rate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from dragoman.corpus.pharaoh import pharaoh, read_pharaoh
from dragoman.errors import UserError
from dragoman.evaluation.alignment import by_words, error_rate, links
from tests.golden import Golden

ATTENTION = [
    [0.80, 0.15, 0.05],
    [0.10, 0.20, 0.70],
    [0.05, 0.55, 0.40],
]


@pytest.mark.spec("I2")
def test_the_largest_weight_of_a_target_word_is_its_link() -> None:
    assert links(ATTENTION) == {(0, 0), (2, 1), (1, 2)}
    assert pharaoh(links(ATTENTION)) == "0-0 1-2 2-1"


@pytest.mark.spec("I2")
def test_a_threshold_allows_several_links_or_none() -> None:
    assert links(ATTENTION, threshold=0.4) == {(0, 0), (2, 1), (1, 2), (2, 2)}
    assert links(ATTENTION, threshold=0.75) == {(0, 0)}
    assert links([[0.0, 0.0], [0.0, 1.0]], threshold=0.0) == {(1, 1)}


def test_words_without_attention_have_no_link() -> None:
    assert links([[0.0, 0.0], [0.5, 0.5]]) == {(0, 1)}
    assert links([[float("nan"), float("nan")], [0.1, 0.9]]) == {(1, 1)}
    assert links(np.zeros((0, 3))) == links(np.zeros((3, 0))) == links([]) == frozenset()


@pytest.mark.spec("I2")
def test_symbols_are_summed_over_source_words_and_averaged_over_target_words() -> None:
    attention = np.array([[0.5, 0.25, 0.25, 0.0], [0.1, 0.3, 0.2, 0.4], [0.0, 0.2, 0.2, 0.6]])
    words = by_words(attention, target_word_of=[0, 0, 1], source_word_of=[0, 1, 1, 2])
    expected = np.array([[0.3, 0.5, 0.2], [0.0, 0.4, 0.6]])
    np.testing.assert_allclose(words, expected)


def test_end_symbols_are_left_out_and_empty_words_get_zeros() -> None:
    attention = np.array([[0.5, 0.2, 0.3], [0.1, 0.8, 0.1]])
    np.testing.assert_allclose(by_words(attention, [0, -1], [0, 2, -1]), [[0.5, 0.0, 0.2]])
    words = by_words(attention, [1, -1], [0, 1, -1], words=(3, 2))
    np.testing.assert_allclose(words, [[0.0, 0.0], [0.5, 0.2], [0.0, 0.0]])
    assert by_words(np.zeros((0, 0)), [], []).shape == (0, 0)


def test_symbols_that_do_not_fit_the_array_are_told() -> None:
    with pytest.raises(ValueError, match=r"\(2, 3\), the symbols are \(1, 3\)"):
        by_words(np.zeros((2, 3)), [0], [0, 1, 2])


@given(
    some.integers(1, 6).flatmap(
        lambda words: some.tuples(
            some.lists(some.integers(0, words - 1), min_size=1, max_size=9),
            some.lists(some.integers(0, words - 1), min_size=1, max_size=9),
        )
    ),
    some.integers(0, 1000),
)
def test_rows_of_words_stay_distributions(word_of: tuple[list[int], list[int]], seed: int) -> None:
    target, source = word_of
    attention = np.random.default_rng(seed).dirichlet(np.ones(len(source)), size=len(target))
    words = by_words(attention, target, source)
    assert words.shape == (max(target) + 1, max(source) + 1)
    np.testing.assert_allclose(words[sorted(set(target))].sum(axis=1), 1.0)


def test_a_word_that_looks_at_the_end_symbol_most_is_linked_to_none() -> None:
    attention, end = [[0.5, 0.2], [0.3, 0.1], [0.4, 0.2]], [0.3, 0.6, 0.4]
    assert links(attention, end=end) == {(0, 0), (0, 2)}  # among equals, the word
    assert links(attention, 0.3, end) == {(0, 0), (0, 1), (0, 2)}  # whatever reaches the threshold


def test_error_rate_by_hand() -> None:
    gold = [read_pharaoh("0-0 1-1 2?1"), read_pharaoh("0-1 1-0")]
    predicted = [frozenset({(0, 0), (2, 1), (3, 3)}), frozenset({(0, 1)})]
    # A = 4 links, S = 4; A & S = 2, A & P = 3 (the corpus is counted as one).
    agreement = error_rate(predicted, gold)
    assert agreement.error_rate == pytest.approx(1 - (2 + 3) / (4 + 4))
    assert agreement.precision == pytest.approx(3 / 4)
    assert agreement.recall == pytest.approx(2 / 4)
    assert str(agreement) == "AER = 0.3750 (precision 0.7500, recall 0.5000)"


def test_error_rate_at_its_ends(golden: Golden) -> None:
    gold = [read_pharaoh("0-0 1-1 1?0")]
    assert error_rate([gold[0].sure], gold) == (0.0, 1.0, 1.0)
    assert error_rate([gold[0].possible], gold) == (0.0, 1.0, 1.0)  # possible links cost nothing
    assert error_rate([{(5, 5)}], gold) == (1.0, 0.0, 0.0)
    assert error_rate([set()], gold) == (1.0, 1.0, 0.0)
    assert error_rate([set()], [read_pharaoh("")]) == (0.0, 1.0, 1.0)
    with pytest.raises(UserError) as raised:
        error_rate([], [])
    golden(str(raised.value))


def test_unequal_numbers_of_alignments_are_told(golden: Golden) -> None:
    with pytest.raises(UserError) as raised:
        error_rate([set(), set()], [read_pharaoh("0-0")])
    golden(str(raised.value))
