"""States are nested tuples that search may reorder."""

from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from dragoman.model.state import extend_state, select_rows
from tests.builders import BATCH, build_model, tile


class Pair(NamedTuple):
    left: Tensor
    right: tuple[Tensor, None]


STATE = Pair(torch.tensor([1, 2, 3]), (torch.tensor([[10], [20], [30]]), None))


def test_select_takes_rows_in_any_order_and_often() -> None:
    selected = select_rows(STATE, torch.tensor([2, 0, 0]))
    assert isinstance(selected, Pair)
    assert selected.left.tolist() == [3, 1, 1]
    assert selected.right[0].tolist() == [[30], [10], [10]]
    assert selected.right[1] is None
    assert STATE.left.tolist() == [1, 2, 3]


def test_tile_repeats_each_row_beside_itself() -> None:
    selected = tile(STATE, 2)
    assert isinstance(selected, Pair)
    assert selected.left.tolist() == [1, 1, 2, 2, 3, 3]
    assert selected.right[0].tolist() == [[10], [10], [20], [20], [30], [30]]


def test_a_plain_tuple_stays_one() -> None:
    assert select_rows((torch.tensor([1, 2]), None), torch.tensor([1])) == (torch.tensor([2]), None)


@pytest.mark.parametrize("held", [[torch.tensor([1, 2])], {"keys": torch.tensor([1, 2])}, 3])
def test_anything_else_is_refused_and_not_passed_over(held: object) -> None:
    with pytest.raises(TypeError, match=f"found {type(held).__name__}"):
        select_rows((torch.tensor([1, 2]), held), torch.tensor([1]))


def test_a_models_state_can_be_reordered_between_steps() -> None:
    """Rows in another order, one twice, go on exactly as they would have in the old order."""
    model = build_model(decoder={"cell": "lstm", "layers": 2, "input_feeding": "attentional", "attend": "before"})
    state = model.step(torch.tensor([4, 5, 6]), model.start(model.encode(BATCH.sources))).state
    rows = torch.tensor([2, 0, 2])
    symbols = torch.tensor([7, 8, 4])
    reordered = model.step(symbols[rows], select_rows(state, rows))
    assert torch.allclose(reordered.features, model.step(symbols, state).features[rows])


def test_a_tiled_state_is_the_state_of_copies() -> None:
    model = build_model(decoder={"attend": "between", "input_feeding": "context"})
    state = model.start(model.encode(BATCH.sources))
    tiled = model.step(torch.tensor([4, 4, 5, 5, 6, 6]), tile(state, 2))
    assert torch.allclose(tiled.features[::2], model.step(torch.tensor([4, 5, 6]), state).features)
    assert torch.allclose(tiled.features[::2], tiled.features[1::2])


def test_a_state_grows_by_what_stands_at_new_positions_and_keeps_the_rest() -> None:
    old = Pair(torch.tensor([[1, 2]]), (torch.tensor([[[3], [4]]]), None))
    start = Pair(torch.tensor([[0, 0, 9]]), (torch.zeros(1, 4, 1).long(), None))
    selected = extend_state(old, start)
    assert isinstance(selected, Pair)
    assert selected.left.tolist() == [[1, 2, 9]]
    assert selected.right[0].tolist() == [[[3], [4], [0], [0]]]
    assert selected.right[1] is None
    assert extend_state(torch.tensor([[5, 6]]), torch.tensor([[7, 8]])).tolist() == [[5, 6]]
