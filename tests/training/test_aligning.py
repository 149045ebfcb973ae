"""Words aligned by a model that is trained on the pairs themselves."""

from importlib.util import find_spec
from typing import Any

import pytest
import torch

from dragoman.corpus import aligners
from dragoman.corpus.aligners import AlignmentTask, Method, Symmetrization, WordPair, passes
from dragoman.corpus.pharaoh import Gold, Links
from dragoman.evaluation.alignment import error_rate
from dragoman.training import aligning
from tests import toy

PAIRS = [WordPair(*pair) for pair in toy.pairs(80, 1)]
LONGER = [WordPair(f"{pair.source} {pair.source}", pair.target) for pair in PAIRS]  # on one side
needs_thot = pytest.mark.skipif(find_spec("thot") is None, reason="needs the extra `align`")


@pytest.fixture
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aligning, "LEAST_STEPS", 20)
    monkeypatch.setattr(aligning, "EPOCHS", 1)


def links(pairs: list[WordPair], symmetrization: Symmetrization, **options: Any) -> list[Links]:
    link_sets = aligners.links(
        pairs, method=Method.mask_align, symmetrization=symmetrization, processes=1, find=aligning.find, **options
    )
    return list(link_sets)


@pytest.mark.slow
@pytest.mark.usefixtures("_short")
def test_the_same_pairs_have_the_same_places_and_random_numbers_stay_as_they_are() -> None:
    torch.manual_seed(5)
    task, heard = AlignmentTask(Method.mask_align, PAIRS, 60), list[int]()
    first, second = aligning.find([task, task], 1, lambda: heard.append(1))
    assert first == second == aligning.find([task], 1, lambda: None)[0]
    assert [len(places) for places in first] == [pair.counts[1] for pair in PAIRS[60:]]
    for places, pair in zip(first, PAIRS[60:], strict=True):
        assert all(0 <= place <= pair.counts[0] for place in places)
    assert len(heard) == 2 * passes(Method.mask_align, Symmetrization.forward)
    after = torch.rand(1)
    torch.manual_seed(5)
    assert torch.equal(after, torch.rand(1))


def test_the_words_around_are_heard_late_and_then_grow() -> None:
    assert [aligning.context_scale(share) for share in (0.01, 0.5)] == [0, 0]
    assert aligning.context_scale(0.5 + 1 / 12) == pytest.approx(0.5)
    assert [aligning.context_scale(share) for share in (0.7, 1.0)] == [1, 1]


@pytest.mark.slow
@needs_thot
@pytest.mark.usefixtures("_short")
def test_directions_are_joined_as_those_of_other_methods() -> None:
    forward, backward, both = (links(LONGER, Symmetrization(name)) for name in ("forward", "backward", "intersection"))
    assert both == [one & other for one, other in zip(forward, backward, strict=True)]
    for one, other in zip(forward, backward, strict=True):
        assert len({target for _, target in one}) == len(one)
        assert len({source for source, _ in other}) == len(other)
    assert any(other - one for one, other in zip(forward, backward, strict=True))


@pytest.mark.slow
@needs_thot
def test_order_is_learned_by_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy language turns sentences round, against the preference for the diagonal."""
    monkeypatch.setattr(aligning, "LEAST_STEPS", 200)
    wanted = [
        frozenset((place, size - 1 - place) for place in range(size))
        for size, _ in (link_set.counts for link_set in PAIRS)
    ]
    gold = [Gold(link_set, frozenset()) for link_set in wanted]
    assert error_rate(links(PAIRS, Symmetrization.forward), gold).error_rate < 0.05
