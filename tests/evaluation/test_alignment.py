"""Word alignments from attention, and the alignment error rate."""

import numpy as np
import pytest

from dragoman.corpus.pharaoh import pharaoh, read_pharaoh
from dragoman.errors import UserError
from dragoman.evaluation.alignment import error_rate, links
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
