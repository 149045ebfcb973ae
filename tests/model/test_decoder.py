"""The recurrent decoder: when it attends, what it is fed, what it says, against loops over the printed equations."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from dragoman.components import Spec, problems
from dragoman.data.vocabulary import BOS
from dragoman.model.decoder import DECODERS, TIMINGS, RnnDecoder
from dragoman.model.seq2seq import Seq2Seq
from tests.builders import BATCH, SIZE, build_model, noise
from tests.model import loops
from tests.model.loops import Vector, join

ROW = 0  # of BATCH: three words and the end symbol


class Printed(NamedTuple):
    """The numbers of a decoder and of one source sentence, for a loop over them."""

    states: Vector  # (S, H)
    first: list[tuple[Vector, ...]]  # state of each layer before the first symbol
    words: list[Vector]  # embeddings of what the decoder reads
    decoder: dict[str, Vector]

    def cell(self, number: int) -> dict[str, Vector]:
        return self.below(f"cells.{number}.")

    def below(self, start: str) -> dict[str, Vector]:
        return {name.removeprefix(start): p for name, p in self.decoder.items() if name.startswith(start)}

    def attend(self, query: Vector) -> Vector:
        """The context under the additive score."""
        energies = loops.additive(self.below("attention.score."), query, self.states)
        return loops.mix(loops.softmax(energies), self.states)

    def mixture(self, *parts: Vector) -> Vector:
        return loops.mixture(self.below("features."), *parts)


def printed(model: Seq2Seq) -> Printed:
    (memory,) = model.encode(BATCH.sources)
    length = int(memory.mask[ROW].sum())
    first = [tuple(loops.array(part[ROW]) for part in state) for state in model.bridge(memory)]
    ids = [BOS, *BATCH.target.ids[ROW, BATCH.target.mask[ROW]].tolist()[:-1]]
    words = [loops.array(model.target_embedding.table[number]) for number in ids]
    return Printed(loops.array(memory.states[ROW, :length]), first, words, loops.numbers(model.decoder))


def assert_features(model: Seq2Seq, expected: Iterator[Vector]) -> None:
    """What the output layer reads at each step of the reference is what the loop says."""
    found = model(BATCH).features[ROW]
    wanted = list(expected)
    assert len(wanted) == int(BATCH.target.mask[ROW].sum()) == 3
    for t, vector in enumerate(wanted):
        assert found[t].tolist() == pytest.approx(vector.tolist(), abs=1e-12)


@pytest.mark.spec("B6")
@pytest.mark.parametrize("kind", sorted(loops.CELLS))
def test_attending_before_the_update(kind: str) -> None:
    """CN, AN: `c_t = attend(s_(t-1))`, `s_t = f([E y_(t-1); c_t], s_(t-1))`."""
    model = build_model(decoder={"attend": "before", "features": "concat", "cell": kind})

    def loop() -> Iterator[Vector]:
        p = printed(model)
        (state,) = p.first
        for word in p.words:
            context = p.attend(state[0])
            state = loops.CELLS[kind](p.cell(0), join(word, context), state)
            yield join(state[0], context)

    assert_features(model, loop())


@pytest.mark.spec("B6")
@pytest.mark.parametrize("kind", sorted(loops.CELLS))
def test_attending_after_the_update(kind: str) -> None:
    """NT, LH, SL: `s_t = f(E y_(t-1), s_(t-1))`, `c_t = attend(s_t)`."""
    model = build_model(decoder={"attend": "after", "features": "concat", "cell": kind})

    def loop() -> Iterator[Vector]:
        p = printed(model)
        (state,) = p.first
        for word in p.words:
            state = loops.CELLS[kind](p.cell(0), word, state)
            yield join(state[0], p.attend(state[0]))

    assert_features(model, loop())


@pytest.mark.spec("B6", "B9")
@pytest.mark.parametrize("kind", sorted(loops.CELLS))
def test_attending_between_two_cells(kind: str) -> None:
    """Firat and Cho: `s' = cell_1(E y_(t-1), s_(t-1))`, `c_t = attend(s')`, `s_t = cell_2(c_t, s')`."""
    model = build_model(decoder={"attend": "between", "features": "concat", "cell": kind})

    def loop() -> Iterator[Vector]:
        p = printed(model)
        (state,) = p.first
        for word in p.words:
            middle = loops.CELLS[kind](p.cell(0), word, state)
            context = p.attend(middle[0])
            state = loops.CELLS[kind](p.below("second."), context, middle)
            yield join(state[0], context)

    assert_features(model, loop())


@pytest.mark.spec("B9")
def test_the_second_cell_of_the_conditional_gru() -> None:
    """`r = sigm(W_r c + U_r s')`, `z = sigm(W_z c + U_z s')`, `s~ = tanh(W c + r (U s'))`, `s = (1 - z) s~ + z s'`."""
    model = build_model(decoder={"attend": "between", "features": "concat", "cell": "gru"})
    second = model.decoder.second
    assert second is not None
    with torch.no_grad():
        second.bias_input.zero_()  # the printed equations have no biases
        second.bias_hidden.zero_()
    (memory,) = model.encode(BATCH.sources)
    (state,) = model.bridge(memory)
    word = model.target_embedding(torch.full((3,), BOS))
    middle = model.decoder.cells[0](model.decoder.cells[0].project(word), state)[0]
    c, _ = model.decoder.attention(middle, model.decoder.attention.prepare(memory.states, memory.mask))
    w_r, w_z, w = second.weight_input.split(SIZE)
    u_r, u_z, u = second.weight_hidden.split(SIZE)
    r = torch.sigmoid(c @ w_r.T + middle @ u_r.T)
    z = torch.sigmoid(c @ w_z.T + middle @ u_z.T)
    candidate = torch.tanh(c @ w.T + r * (middle @ u.T))
    expected = torch.cat([(1 - z) * candidate + z * middle, c], -1)
    assert torch.allclose(model(BATCH).features[:, 0], expected)


@pytest.mark.spec("B7")
@pytest.mark.parametrize("kind", ["lstm", "rnn"])
def test_neubigs_decoder(kind: str) -> None:
    """NT (72), (75): `h_t = cell([E y_(t-1); c_(t-1)], h_(t-1))`, `p_t = softmax(W [h_t; c_t] + b)`, `c_0 = 0`."""
    model = build_model(decoder={"attend": "after", "feed": "context", "features": "concat", "cell": kind})
    p = printed(model)
    weight, bias = loops.array(model.output.weight), loops.array(model.output.bias)
    found = model.log_probs(model(BATCH).features[ROW]).exp()
    (state,) = p.first
    context = p.states[0] * 0
    for t, word in enumerate(p.words):
        state = loops.CELLS[kind](p.cell(0), join(word, context), state)
        context = p.attend(state[0])
        expected = loops.softmax(loops.times(weight, join(state[0], context)) + bias)
        assert found[t].tolist() == pytest.approx(expected.tolist(), abs=1e-12)


@pytest.mark.spec("B8")
def test_the_attentional_vector_is_fed_beside_the_embedding() -> None:
    """Luong: `h~_t = tanh(W [h_t; c_t] + b)`, `h_t = f([E y_(t-1); h~_(t-1)], h_(t-1))`, `h~_0 = 0`."""
    options = {"attend": "after", "feed": "attentional", "features": "tanh", "cell": "lstm", "features_size": 5}
    model = build_model(decoder=options)

    def loop() -> Iterator[Vector]:
        p = printed(model)
        (state,) = p.first
        attentional = np.zeros(5)
        for word in p.words:
            state = loops.lstm(p.cell(0), join(word, attentional), state)
            attentional = p.mixture(state[0], p.attend(state[0]))
            yield attentional

    assert_features(model, loop())


def test_deep_output_reads_the_previous_word() -> None:
    """Bahdanau's decoder: attend before, `tanh(W [s_t; c_t; E y_(t-1)] + b)`."""
    model = build_model(decoder={"attend": "before", "features": "deep", "features_size": 6})

    def loop() -> Iterator[Vector]:
        p = printed(model)
        (state,) = p.first
        for word in p.words:
            context = p.attend(state[0])
            state = loops.gru(p.cell(0), join(word, context), state)
            yield p.mixture(state[0], context, word)

    assert_features(model, loop())


@pytest.mark.spec("B6", "B7")
def test_before_and_fed_contexts_stand_side_by_side() -> None:
    """`s_t = f([E y_(t-1); c_(t-1); c_t], s_(t-1))`."""
    model = build_model(decoder={"attend": "before", "feed": "context", "features": "concat"})

    def loop() -> Iterator[Vector]:
        p = printed(model)
        (state,) = p.first
        fed = np.zeros(SIZE)
        for word in p.words:
            context = p.attend(state[0])
            state = loops.gru(p.cell(0), join(word, fed, context), state)
            fed = context
            yield join(state[0], context)

    assert_features(model, loop())


@pytest.mark.spec("A3")
@pytest.mark.parametrize("residual", [False, True])
def test_each_layer_reads_the_one_below(residual: bool) -> None:
    """The query is the top layer's output; a residual layer adds what it reads."""
    model = build_model(decoder={"layers": 3, "features": "concat", "residual": residual})

    def loop() -> Iterator[Vector]:
        p = printed(model)
        states = p.first
        for word in p.words:
            above, new = word, []
            for number, state in enumerate(states):
                new.append(loops.gru(p.cell(number), above, state))
                above = new[-1][0] + (above if residual and number else 0)
            states = new
            yield join(above, p.attend(above))

    assert_features(model, loop())


@pytest.mark.spec("A3", "B6")
def test_layers_above_a_conditional_cell() -> None:
    model = build_model(decoder={"layers": 2, "features": "concat", "attend": "between", "cell": "lstm"})

    def loop() -> Iterator[Vector]:
        p = printed(model)
        lower, upper = p.first
        for word in p.words:
            middle = loops.lstm(p.cell(0), word, lower)
            context = p.attend(middle[0])
            lower = loops.lstm(p.below("second."), context, middle)
            upper = loops.lstm(p.cell(1), lower[0], upper)
            yield join(upper[0], context)

    assert_features(model, loop())


@pytest.mark.spec("A3", "B6")
def test_before_the_update_the_query_is_the_top_layers_state() -> None:
    model = build_model(decoder={"layers": 2, "features": "concat", "attend": "before"})

    def loop() -> Iterator[Vector]:
        p = printed(model)
        lower, upper = p.first
        for word in p.words:
            context = p.attend(upper[0])
            lower = loops.gru(p.cell(0), join(word, context), lower)
            upper = loops.gru(p.cell(1), lower[0], upper)
            yield join(upper[0], context)

    assert_features(model, loop())


SAMPLE: list[tuple[str, dict[str, Any]]] = [
    ("additive", {"attend": "after", "feed": "attentional", "features": "tanh", "cell": "lstm", "layers": 2}),
    ("additive", {"attend": "between", "feed": "nothing", "features": "deep", "cell": "gru", "layer_norm": True}),
    ("bilinear", {"attend": "before", "feed": "context", "features": "concat", "cell": "gru_an"}),
    ("dot", {"attend": "before", "feed": "attentional", "features": "deep", "cell": "rnn", "residual": True}),
    ("linear", {"attend": "between", "feed": "context", "features": "tanh", "cell": "lstm", "layers": 2}),
    ("uniform", {"attend": "after", "feed": "nothing", "features": "concat", "cell": "gru"}),
    ("none", {"attend": "after", "feed": "nothing", "features": "concat", "cell": "lstm"}),
    ("none", {"attend": "after", "feed": "attentional", "features": "deep", "cell": "gru"}),
]


@pytest.mark.parametrize(("score", "options"), SAMPLE)
def test_unrolling_is_stepping(score: str, options: dict[str, Any]) -> None:
    model = build_model(score=score, decoder=options)
    unrolled = model(BATCH)
    state = model.start(model.encode(BATCH.sources))
    symbols = torch.full((3,), BOS)
    for t in range(BATCH.target.ids.size(1)):
        features, state = model.step(symbols, state)
        assert torch.allclose(features, unrolled.features[:, t])
        assert torch.allclose(state.moving.weights, unrolled.weights[:, t])
        symbols = BATCH.target.ids[:, t]


def test_a_step_leaves_the_state_it_was_given_alone() -> None:
    model = build_model(decoder={"attend": "before", "feed": "attentional", "layers": 2})
    state = model.start(model.encode(BATCH.sources))
    one = model.step(torch.tensor([4, 5, 6]), state)
    model.step(torch.tensor([7, 7, 7]), one.state)
    again = model.step(torch.tensor([4, 5, 6]), state)
    assert torch.equal(one.features, again.features)


@pytest.mark.parametrize("attend", sorted(TIMINGS))
def test_the_weights_of_each_step_are_over_the_real_source(attend: str) -> None:
    weights = build_model(decoder={"attend": attend})(BATCH).weights
    mask = BATCH.sources[0].mask
    assert weights.shape == (3, 5, 4)
    assert torch.allclose(weights.sum(-1), torch.ones(3, 5).double())
    assert torch.equal(weights.gt(0), mask.unsqueeze(1).expand_as(weights))


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attend": "during"}, "expected one of before, after, between"),
        ({"feed": "contex"}, "did you mean 'context'"),
        ({"features": "tanhh"}, "did you mean 'tanh'"),
        ({"layer": 2}, "did you mean 'layers'"),
        ({"features_size": 0}, "at least 1"),
        ({"size": "big"}, "whole number"),
    ],
)
def test_unknown_options_are_refused(options: dict[str, Any], message: str) -> None:
    (found,) = problems(DECODERS, Spec("rnn", options), ("model", "decoder"))
    assert found.path == ("model", "decoder", *options)
    assert message in found.message


def test_the_table_of_decoders_names_it() -> None:
    assert DECODERS["rnn"] is RnnDecoder
