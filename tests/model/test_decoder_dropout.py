"""Dropout in the recurrent decoder: where it acts, and that a sentence keeps its masks."""

import pytest
import torch

from tests.builders import BATCH, SIZE, build_model, noise


def test_variational_masks_are_one_a_sentence_for_all_its_steps() -> None:
    decoder = {"size": 64, "layers": 2, "dropout": 0.5, "recurrent_dropout": 0.5, "feed": "attentional"}
    model = build_model(score="additive", decoder=decoder).train()
    state = model.start(model.encode(BATCH.sources))
    fed, context, (layer,), recurrent = state.masks
    for mask, size in ((fed, SIZE), (context, SIZE), (layer, 64), (recurrent, 64)):
        assert mask is not None
        assert mask.shape == (3, size)
        assert set(mask.unique().tolist()) <= {0.0, 2.0}
    assert recurrent is not None
    assert not torch.equal(recurrent[0], recurrent[1])
    after = model.step(torch.tensor([4, 5, 6]), state).state
    assert after.masks is state.masks


def test_variational_dropout_hides_the_same_features_at_all_steps() -> None:
    model = build_model(decoder={"features_size": 40, "dropout": 0.5}).train()
    hidden = model(BATCH).features.eq(0)
    assert hidden.any()
    assert torch.equal(hidden, hidden[:, :1].expand_as(hidden))
    plain = build_model(decoder={"features_size": 40, "dropout": 0.5, "variational": False}).train()
    hidden = plain(BATCH).features.eq(0)
    assert not torch.equal(hidden[:, 0], hidden[:, 1])


@pytest.mark.parametrize("variational", [False, True])
def test_evaluation_drops_nothing(variational: bool) -> None:
    options = {"layers": 2, "feed": "context", "attend": "before"}
    dropping = {**options, "dropout": 0.5, "recurrent_dropout": 0.5, "variational": variational}
    plain, dropped = build_model(decoder=options), build_model(decoder=dropping)
    dropped.load_state_dict(plain.state_dict())
    assert torch.equal(dropped(BATCH).features, plain(BATCH).features)
    assert set(dropped.start(dropped.encode(BATCH.sources)).masks) <= {None, (None,)}
    dropped.train()
    assert not torch.equal(dropped(BATCH).features, plain(BATCH).features)


@pytest.mark.parametrize("attend", ["before", "between"])
def test_the_mask_of_a_context_is_applied_where_it_enters_a_cell(attend: str) -> None:
    """With a mask of zeros the recurrence does not notice another source; the features still do."""
    model = build_model(decoder={"attend": attend, "dropout": 0.5})
    state = model.start(model.encode(BATCH.sources))
    state = state._replace(masks=state.masks._replace(context=torch.zeros(3, SIZE).double()))
    values = state.fixed.values + noise(*state.fixed.values.shape)
    symbols = torch.tensor([4, 5, 6])
    one = model.step(symbols, state)
    other = model.step(symbols, state._replace(fixed=state.fixed._replace(values=values)))
    assert torch.equal(one.state.moving.layers[0][0], other.state.moving.layers[0][0])
    assert not torch.equal(one.features, other.features)


def test_the_mask_of_a_layer_is_applied_to_what_it_reads() -> None:
    """With a mask of zeros the second layer does not notice the symbol that the first one reads."""
    model = build_model(decoder={"layers": 2, "dropout": 0.5})
    state = model.start(model.encode(BATCH.sources))
    state = state._replace(masks=state.masks._replace(layers=(torch.zeros(3, SIZE).double(),)))
    one, other = (model.step(torch.tensor(symbols), state).state.moving.layers for symbols in ([4, 5, 6], [7, 8, 4]))
    assert not torch.equal(one[0][0], other[0][0])
    assert torch.equal(one[1][0], other[1][0])


def test_the_mask_of_a_fed_vector_is_applied_where_it_enters_the_cell() -> None:
    """With a mask of zeros a decoder with input feeding reads what it would read at its first step."""
    model = build_model(decoder={"feed": "attentional", "dropout": 0.5})
    state = model.start(model.encode(BATCH.sources))
    state = state._replace(masks=state.masks._replace(fed=torch.zeros(3, SIZE).double()))
    anything = state.moving._replace(fed=noise(3, SIZE))
    symbols = torch.tensor([4, 5, 6])
    assert torch.equal(
        model.step(symbols, state).features, model.step(symbols, state._replace(moving=anything)).features
    )
