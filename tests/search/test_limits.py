"""What a translation may say, and how long it may become."""

import torch

from dragoman.data.vocabulary import BOS, EOS, PAD
from dragoman.model.predictor import mask_specials
from dragoman.search.limits import LengthLimit, force_end
from tests.builders import sentences


def test_padding_and_start_symbol_are_never_said() -> None:
    log_probs = torch.randn(3, 7).log_softmax(-1)
    before = log_probs.clone()
    mask_specials(log_probs)
    force_end(log_probs, [1])
    for row in (0, 2):
        assert log_probs[row].isinf().nonzero().flatten().tolist() == [PAD, BOS]
        assert torch.equal(log_probs[row, [0, 3, 4, 5, 6]], before[row, [0, 3, 4, 5, 6]])
    assert log_probs[1].isfinite().nonzero().flatten().tolist() == [EOS]
    assert log_probs[1, EOS] == before[1, EOS]


def test_the_limit_follows_the_longest_source() -> None:
    """Symbols of a source count its end symbol: 4 and 2 of them, and 1 and 3 of a second source."""
    first, second = sentences([4, 5, 6], [4]), sentences([], [4, 5])
    assert LengthLimit(2.0, 10).max_steps((first,)) == [18, 14]
    assert LengthLimit(0.6, 1).max_steps((first, second)) == [3, 2]
    assert LengthLimit(1.0, 0).max_steps((first, second)) == [4, 3]


def test_the_least_length_follows_the_longest_source() -> None:
    """Rounded up, where the limit is rounded down."""
    sources = (sentences([4, 5, 6], [4], [4, 4]),)
    assert LengthLimit(2.0, 10).min_steps(sources) == [0, 0, 0]
    assert LengthLimit(2.0, 10, 0.5, 1).min_steps(sources) == [3, 2, 3]
    assert LengthLimit(2.0, 10, 0.0, 7).min_steps(sources) == [7, 7, 7]
    tenths = (sentences(*([4] * length for length in range(100))),)
    assert LengthLimit(2.0, 10, 1.1).min_steps(tenths) == [-(-11 * length // 10) for length in range(1, 101)]


def test_a_limit_is_a_ratio_of_whole_numbers() -> None:
    """Though 0.29 times 100 is less than 29 in the machine's numbers."""
    sources = (sentences(*([4] * length for length in range(100))),)
    for hundredths in (7, 29, 58, 110, 230):
        expected = [hundredths * length // 100 for length in range(1, 101)]
        assert LengthLimit(hundredths / 100, 0).max_steps(sources) == expected
