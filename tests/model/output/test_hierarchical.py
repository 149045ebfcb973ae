"""Trees, classes and clusters against plain loops, and where each symbol stands in them."""

import math
from itertools import pairwise

import pytest
import torch
from torch import nn

from dragoman.configuration.components import Spec, build
from dragoman.model.output.hierarchical import AdaptiveSoftmax, ClassOutput, HuffmanOutput, huffman_tree, ranks
from dragoman.model.output.output import Readout
from dragoman.model.output.table import OUTPUTS
from tests.model.output.test_outputs import COUNTS, FEATURES, SYMBOLS, data, make_output


def ways(places: list[int]) -> list[list[tuple[int, int]]]:
    """The inner nodes on the way from the root to each symbol, with the side that is taken there."""
    paths = []
    inner = len(places) // 2
    for place in places[inner:]:
        way = [divmod(place, 2)]
        while way[0][0]:
            way.insert(0, divmod(places[way[0][0]], 2))
        paths.append(way)
    return paths


def cost(counts: list[int], lengths: list[int]) -> int:
    return sum(count * length for count, length in zip(counts, lengths, strict=True))


@pytest.mark.spec("D7")
def test_a_code_of_huffman_worked_by_hand() -> None:
    """5 and 9 are joined to 14, 12 and 13 to 25, 14 and 16 to 30, 25 and 30 to 55, and 45 and 55 to the root."""
    codes = ["".join(str(side) for _, side in way) for way in ways(huffman_tree([5, 9, 12, 13, 16, 45]))]
    assert codes == ["1100", "1101", "100", "101", "111", "0"]


@pytest.mark.parametrize("counts", [[1] * 8, [0] * 5, [2**n for n in range(12)], list(COUNTS), [7, 7]])
def test_codes_are_prefix_free_and_as_short_as_their_entropy_allows(counts: list[int]) -> None:
    paths = ways(huffman_tree(counts))
    lengths = list(map(len, paths))
    assert sum(2.0**-length for length in lengths) == 1
    assert len({tuple(way) for way in paths}) == len(counts)
    if total := sum(counts):
        entropy = sum(count * math.log2(total / count) for count in counts if count)
        assert entropy <= cost(counts, lengths) <= entropy + total
    order = sorted(range(len(counts)), key=counts.__getitem__)
    assert all(lengths[one] >= lengths[other] for one, other in pairwise(order) if counts[one] < counts[other])


@pytest.mark.spec("D7")
def test_the_tree_is_a_product_of_decisions_on_the_way_to_each_symbol() -> None:
    output, (readout, targets) = make_output(Spec("huffman")), data()
    assert isinstance(output, HuffmanOutput)
    log_probs, total = output.log_probs(readout), 0.0
    paths = ways(output.places.tolist())
    for row, features in enumerate(readout.features):
        for symbol, way in enumerate(paths):
            expected = 1.0
            for node, side in way:
                left = torch.sigmoid(output.weight[node] @ features + output.bias[node]).item()
                expected *= 1 - left if side else left
            assert log_probs[row, symbol].exp().item() == pytest.approx(expected, rel=1e-9)
            total -= math.log(expected) if symbol == targets[row] else 0.0
    assert output.loss(readout, targets).total.item() == pytest.approx(total)


@pytest.mark.spec("D7")
@pytest.mark.parametrize("classes", [None, 1, 3, 4, 11, 100])
def test_classes_are_a_product_of_two_softmaxes(classes: int | None) -> None:
    output, (readout, targets) = make_output(Spec("classes", {"classes": classes})), data()
    assert isinstance(output, ClassOutput)
    by_frequency = sorted(range(len(COUNTS)), key=lambda symbol: (-COUNTS[symbol], symbol))
    width = math.ceil(len(COUNTS) / (classes or 4))
    members = [by_frequency[begin : begin + width] for begin in range(0, len(COUNTS), width)]
    assert len(output.classes.weight) == len(members)
    log_probs, total = output.log_probs(readout), 0.0
    for row, features in enumerate(readout.features):
        of_classes = torch.softmax(output.classes(features), 0)
        for number, symbols in enumerate(members):
            within = torch.softmax(output.weight[symbols] @ features + output.bias[symbols], 0)
            for place, symbol in enumerate(symbols):
                expected = (of_classes[number] * within[place]).item()
                assert log_probs[row, symbol].exp().item() == pytest.approx(expected, rel=1e-9)
                total -= math.log(expected) if symbol == targets[row] else 0.0
    assert output.loss(readout, targets).total.item() == pytest.approx(total)


@pytest.mark.spec("D7")
def test_the_adaptive_softmax_is_that_of_torch_over_ranks() -> None:
    torch.manual_seed(0)
    module = nn.AdaptiveLogSoftmaxWithLoss(FEATURES, len(COUNTS), [2, 5], 2.0, head_bias=True).double()
    output = build(OUTPUTS, Spec("adaptive", {"cutoffs": [2, 5, 11, 500], "div_value": 2.0}), FEATURES, SYMBOLS, None)
    assert isinstance(output, AdaptiveSoftmax)
    output.double().softmax.load_state_dict(module.state_dict())
    (readout, targets), order = data(), ranks(COUNTS)
    rank_of_targets = torch.tensor([order[symbol] for symbol in targets])
    loss = module(readout.features, rank_of_targets).loss * len(targets)
    torch.testing.assert_close(output.loss(readout, targets).total, loss)
    torch.testing.assert_close(output.log_probs(readout), module.log_prob(readout.features)[:, order])


def test_ranks_are_by_frequency_and_then_by_number() -> None:
    assert ranks([3, 0, 9, 3]) == [1, 3, 0, 2]


def test_a_class_that_does_not_occur_has_no_gradient() -> None:
    output, (readout, _) = make_output(Spec("classes", {"classes": 3})), data(4)
    assert isinstance(output, ClassOutput)
    output.loss(readout, torch.tensor([10, 4, 3, 10])).total.backward()
    assert output.weight.grad is not None
    assert output.weight.grad.any(1).nonzero().flatten().tolist() == [3, 4, 9, 10]


@pytest.mark.parametrize("kind", ["huffman", "adaptive"])
def test_what_has_no_row_for_each_symbol_is_not_tied(kind: str) -> None:
    with pytest.raises(ValueError, match=r"model\.embedding\.tie: none or languages"):
        OUTPUTS[kind](FEATURES, SYMBOLS, nn.Parameter(torch.zeros(len(SYMBOLS), FEATURES)))


def test_classes_may_be_tied() -> None:
    table = nn.Parameter(torch.randn(len(SYMBOLS), FEATURES))
    output = ClassOutput(FEATURES, SYMBOLS, table)
    output.loss(Readout(data()[0].features.float()), data()[1]).total.backward()
    assert output.weight is table
    assert table.grad is not None


@pytest.mark.parametrize("cutoffs", [[], [5, 2], [2, 2]])
def test_cutoffs_that_do_not_ascend_are_refused(cutoffs: list[int]) -> None:
    with pytest.raises(ValueError, match="ascending"):
        build(OUTPUTS, Spec("adaptive", {"cutoffs": cutoffs}), FEATURES, SYMBOLS, None)


def test_clusters_need_features() -> None:
    with pytest.raises(ValueError, match="6 features are too few"):
        build(OUTPUTS, Spec("adaptive", {"cutoffs": [2, 5]}), FEATURES, SYMBOLS, None)
