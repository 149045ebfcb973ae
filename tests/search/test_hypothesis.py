"""What a search keeps of its steps, and what it reads off them in the end."""

import math
from typing import Any

import pytest
import torch

from dragoman.search import hypothesis
from dragoman.search.beam import Beam
from dragoman.search.hypothesis import LEAST, ROOT, FinishedHypothesis, Hypothesis, HypothesisNode, Paths, start_node
from tests.builders import build_model, sentences


def test_a_hypothesis_is_read_off_from_its_end() -> None:
    """Two sentences; the second step follows both from the first, in the other order, the third follows one of them."""
    paths = Paths((sentences([4, 5], [6]), sentences([], [7])))
    attention = torch.arange(18).view(3, 2, 3) / 16  # of three steps
    other = torch.tensor([[0.5, 0.0], [0.25, 0.75]])
    node = paths.add([start_node(2)] * 2, (attention[0], other))
    prefix = [HypothesisNode(node + 1, 4, -0.5, -0.5), HypothesisNode(node, 5, -1.0, -1.0)]
    second = paths.add(prefix, (attention[1], other))
    third = paths.add([HypothesisNode(second, 6, -2.0, -2.5)], (attention[2, :1], other[:1]))
    ((one,), (two, three)) = paths.hypotheses(
        [
            [FinishedHypothesis(second + 1, -0.25, -1.25)],
            [FinishedHypothesis(third, -0.125, 7.0), FinishedHypothesis(0, 0.0, 0.0)],
        ]
    )
    assert (one.symbols, one.log_probs, one.score) == ((5,), (-1.0, -0.25), -1.25)
    assert torch.equal(torch.tensor(one.attention[0]), torch.stack([attention[0, 0], attention[1, 1]]))
    assert one.attention[1].tolist() == [[0.5], [0.25]]
    assert (two.symbols, two.log_probs, two.score) == ((4, 6), (-0.5, -2.0, -0.125), 7.0)
    expected = torch.stack([attention[0, 1], attention[1, 0], attention[2, 0]])
    assert torch.equal(torch.tensor(two.attention[0]), expected[:, :2])
    assert two.attention[1].tolist() == [[0.25, 0.75], [0.5, 0.0], [0.5, 0.0]]
    assert (three.symbols, three.log_probs) == ((), (0.0,))


@pytest.mark.spec("B16")
def test_coverage_is_that_of_the_way_to_each_row() -> None:
    """Of two sources of three, without their padding, while rows branch, change places and leave."""
    sources = sentences([4, 5], [6]), sentences([]), sentences([7], [8, 9])
    paths = Paths(sources, [0, 2])
    attention = torch.rand(3, 3, 2, 3) / 2  # of three steps and sources
    first = paths.add([start_node(2)] * 2, tuple(attention[0]))
    second = paths.add(
        [HypothesisNode(first + 1, 4, 0.0, 0.0), HypothesisNode(first, 5, 0.0, 0.0)], tuple(attention[1])
    )
    third = paths.add([HypothesisNode(second, 6, 0.0, 0.0)] * 2, tuple(attention[2]))
    coverages = [paths.coverage(third), paths.coverage(third + 1)]
    expected = []
    for row in range(2):
        got = attention[0, :, 1] + attention[1, :, 0] + attention[2, :, row]  # of the second sentence
        expected.append(sum(math.log(min(float(weight), 1.0)) for weight in (*got[0, :2], *got[2, :3])))
    assert coverages == pytest.approx(expected)
    assert Paths(sources).coverage(0) == 0.0


def test_attention_of_many_steps_stays_in_its_order() -> None:
    """More rows than there is room for at first."""
    paths, steps = Paths((sentences([4, 5]),)), 5 * LEAST
    node = ROOT
    for number in range(steps):
        node = paths.add([HypothesisNode(node, 4, 0.0, 0.0)], (torch.full((1, 3), float(number)),))
    ((hypotheses,),) = paths.hypotheses([[FinishedHypothesis(node, 0.0, 0.0)]])
    assert hypotheses.attention[0][:, 0].tolist() == list(range(steps))


def test_a_hypothesis_adds_up() -> None:
    assert math.isclose(Hypothesis((4,), 0.0, (-0.1, -0.2), ()).log_prob, -0.3)


@pytest.mark.parametrize("n_best", [1, 3])
def test_only_what_is_asked_for_is_made_into_hypotheses(n_best: int, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Hypothesis] = []

    class Counted(Hypothesis):
        def __init__(self, *parts: Any) -> None:
            super().__init__(*parts)
            built.append(self)

    monkeypatch.setattr(hypothesis, "Hypothesis", Counted)
    source = sentences(*[[4, 5, 6]] * 8)
    results = Beam(size=5)(build_model(), (source,), n_best)
    assert len(built) == sum(map(len, results)) == 8 * n_best
