"""What search may say, how long, and what it keeps."""

import math

import pytest
import torch

from dragoman.components import Spec, problems
from dragoman.data.vocabulary import BOS, EOS, PAD
from dragoman.search.hypothesis import Hypothesis, Limit, Prefixes, Steps, allowed
from dragoman.search.searches import SEARCHES
from tests.builders import build_model, sentences


def test_padding_and_start_symbol_are_never_said() -> None:
    log_probs = torch.randn(3, 7).log_softmax(-1)
    before = log_probs.clone()
    found = allowed(log_probs, torch.tensor([False, True, False]))
    assert torch.equal(log_probs, before)  # a copy
    for row in (0, 2):
        assert found[row].isinf().nonzero().flatten().tolist() == [PAD, BOS]
        assert torch.equal(found[row, [0, 3, 4, 5, 6]], before[row, [0, 3, 4, 5, 6]])
    assert found[1].isfinite().nonzero().flatten().tolist() == [EOS]
    assert found[1, EOS] == before[1, EOS]


def test_the_limit_follows_the_longest_source() -> None:
    """Symbols of a source count its end symbol: 4 and 2 of them, and 1 and 3 of a second source."""
    first, second = sentences([4, 5, 6], [4]), sentences([], [4, 5])
    assert Limit(2.0, 10).steps((first,)).tolist() == [18, 14]
    assert Limit(0.6, 1).steps((first, second)).tolist() == [3, 2]
    assert Limit(1.0, 0).steps((first, second)).tolist() == [4, 3]


def test_prefixes_become_a_hypothesis_without_padding() -> None:
    prefixes = Prefixes.empty(2, sentences([4, 5], [6]))
    for number, (symbols, log_probs) in enumerate([([4, 5], [-0.5, -1.0]), ([EOS, EOS], [-0.25, -2.0])]):
        weights = torch.tensor([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]) * (number + 1) / 2
        prefixes = prefixes.extend(torch.tensor(symbols), torch.tensor(log_probs), weights)
    found = prefixes.hypothesis(1, -1.5, 2)
    assert found.symbols == (5,)
    assert found.log_probs == (-1.0, -2.0)
    assert found.log_prob == -3.0
    assert found.score == -1.5
    assert [each.tolist() for each in found.attention] == [[[0.5, 0.0], [1.0, 0.0]]]


def test_a_hypothesis_adds_up() -> None:
    assert math.isclose(Hypothesis((4,), 0.0, (-0.1, -0.2), ()).log_prob, -0.3)


def test_a_model_is_what_search_needs() -> None:
    assert isinstance(build_model(), Steps)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("beam", {"siz": 3}, "did you mean 'size'"),
        ("beam", {"size": 0}, "at least 1"),
        ("beam", {"normalisation": "lenght"}, "did you mean 'length'"),
        ("beam", {"alpha": -0.1}, "at least 0"),
        ("greedy", {"length_margin": -1}, "at least 0"),
        ("beam", {"length_ratio": 0.0}, "more than 0"),
        ("greedy", {"size": 3}, "unknown key"),
    ],
)
def test_unknown_options_are_refused(kind: str, options: dict[str, object], message: str) -> None:
    (found,) = problems(SEARCHES, Spec(kind, options), ("search",))
    assert found.path == ("search", *options)
    assert message in found.message
