"""Dropout in the recurrent decoder: where it acts, and that a sentence keeps its masks."""

import pytest
import torch

from tests.builders import BATCH, SIZE, build_model, noise


def test_variational_masks_are_one_a_sentence_for_all_its_steps() -> None:
    decoder = {"size": 64, "layers": 2, "dropout": 0.5, "recurrent_dropout": 0.5, "input_feeding": "attentional"}
    decoder |= {"attend": "between"}
    model = build_model(score="additive", decoder=decoder).train()
    state = model.start(model.encode(BATCH.sources))
    fed, context, (layer,), (first, second, between), features = state.masks
    sizes = {fed: SIZE, context: SIZE, layer: 64, first: 64, second: 64, between: 64, features: SIZE}
    for mask, size in sizes.items():
        assert mask is not None
        assert mask.shape == (3, size)
        assert set(mask.unique().tolist()) <= {0.0, 2.0}
    assert first is not None
    assert second is not None
    assert between is not None
    assert not torch.equal(first[0], first[1])
    assert not torch.equal(first, second)
    assert not torch.equal(first, between)
    after = model.step(torch.tensor([4, 5, 6]), state).state
    assert after.masks is state.masks


def test_variational_dropout_hides_the_same_features_at_all_steps() -> None:
    model = build_model(decoder={"readout_size": 40, "dropout": 0.5}).train()
    hidden = model(BATCH).features.eq(0)
    assert hidden.any()
    assert torch.equal(hidden, hidden[:, :1].expand_as(hidden))
    plain = build_model(decoder={"readout_size": 40, "dropout": 0.5, "variational": False}).train()
    hidden = plain(BATCH).features.eq(0)
    assert not torch.equal(hidden[:, 0], hidden[:, 1])


@pytest.mark.parametrize("input_feeding", ["none", "attentional"])
@pytest.mark.parametrize("attend", ["before", "after", "between"])
def test_steps_drop_what_the_unrolled_decoder_drops(attend: str, input_feeding: str) -> None:
    options = {"layers": 2, "attend": attend, "input_feeding": input_feeding, "dropout": 0.5, "recurrent_dropout": 0.3}
    model = build_model(decoder=options).train()
    state = model.start(model.encode(BATCH.sources))
    unrolled = model.unroll(state, BATCH.target.ids)
    symbols = torch.full_like(BATCH.target.ids[:, 0], model.start_id)
    for time, following in enumerate(BATCH.target.ids.unbind(1)):
        features, _, state = model.step(symbols, state)
        torch.testing.assert_close(features, unrolled.features[:, time], rtol=0, atol=1e-12)
        symbols = following


@pytest.mark.parametrize("variational", [False, True])
def test_evaluation_drops_nothing(variational: bool) -> None:
    options = {"layers": 2, "input_feeding": "context", "attend": "before"}
    dropping = {**options, "dropout": 0.5, "recurrent_dropout": 0.5, "variational": variational}
    plain, dropped = build_model(decoder=options), build_model(decoder=dropping)
    dropped.load_state_dict(plain.state_dict())
    assert torch.equal(dropped(BATCH).features, plain(BATCH).features)
    assert set(dropped.start(dropped.encode(BATCH.sources)).masks) <= {None, (None,), (None, None)}
    dropped.train()
    assert not torch.equal(dropped(BATCH).features, plain(BATCH).features)


@pytest.mark.parametrize("attend", ["before", "between"])
def test_the_mask_of_a_context_is_applied_where_it_enters_a_cell(attend: str) -> None:
    """With a mask of zeros the recurrence does not notice another source; the features still do."""
    model = build_model(decoder={"attend": attend, "dropout": 0.5})
    state = model.start(model.encode(BATCH.sources))
    state = state._replace(masks=state.masks._replace(context=torch.zeros(3, SIZE).double()))
    prepared_source = state.source_state.decoder
    prepared_source = prepared_source._replace(values=prepared_source.values + noise(*prepared_source.values.shape))
    symbols = torch.tensor([4, 5, 6])
    one = model.step(symbols, state)
    other = model.step(symbols, state._replace(source_state=state.source_state._replace(decoder=prepared_source)))
    assert torch.equal(one.state.step_state.decoder.layers[0][0], other.state.step_state.decoder.layers[0][0])
    assert not torch.equal(one.features, other.features)


def test_the_mask_of_a_layer_is_applied_to_what_it_reads() -> None:
    """With a mask of zeros the second layer does not notice the symbol that the first one reads."""
    model = build_model(decoder={"layers": 2, "dropout": 0.5})
    state = model.start(model.encode(BATCH.sources))
    state = state._replace(masks=state.masks._replace(layers=(torch.zeros(3, SIZE).double(),)))
    one, other = (
        model.step(torch.tensor(symbols), state).state.step_state.decoder.layers for symbols in ([4, 5, 6], [7, 8, 4])
    )
    assert not torch.equal(one[0][0], other[0][0])
    assert torch.equal(one[1][0], other[1][0])


@pytest.mark.parametrize("cell", range(4))
def test_the_recurrent_mask_of_a_cell_is_its_own(cell: int) -> None:
    """With a mask of zeros that cell forgets its last state, and no other does; the last is the second cell of the
    first layer, whose last state is what the first cell made.
    """
    decoder = {"cell": "rnn", "layers": 3, "attend": "between", "recurrent_dropout": 0.5}
    model = build_model(score="uniform", decoder=decoder)
    state = model.start(model.encode(BATCH.sources))
    ones = torch.ones(3, SIZE).double()
    recurrent = tuple(ones * (number != cell) for number in range(4))
    state = state._replace(masks=state.masks._replace(recurrent=recurrent))
    symbols = torch.tensor([4, 5, 6])
    before = model.step(symbols, state).state.step_state.decoder.layers
    for layer in range(3):
        layers = list(state.step_state.decoder.layers)
        layers[layer] = (layers[layer][0] + noise(3, SIZE),)
        step_state = state.step_state._replace(decoder=state.step_state.decoder._replace(layers=tuple(layers)))
        after = model.step(symbols, state._replace(step_state=step_state)).state.step_state.decoder.layers
        forgotten = layer in {0: (0,), 1: (1,), 2: (2,), 3: (0,)}[cell]
        assert torch.equal(before[layer][0], after[layer][0]) == forgotten


def test_the_mask_of_a_fed_vector_is_applied_where_it_enters_the_cell() -> None:
    """With a mask of zeros a decoder with input feeding reads what it would read at its first step."""
    model = build_model(decoder={"input_feeding": "attentional", "dropout": 0.5})
    state = model.start(model.encode(BATCH.sources))
    state = state._replace(masks=state.masks._replace(fed=torch.zeros(3, SIZE).double()))
    anything = state.step_state._replace(decoder=state.step_state.decoder._replace(fed=noise(3, SIZE)))
    symbols = torch.tensor([4, 5, 6])
    assert torch.equal(
        model.step(symbols, state).features, model.step(symbols, state._replace(step_state=anything)).features
    )
