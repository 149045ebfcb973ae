"""The recurrent decoder against loops over the printed equations: when it attends, what it is fed, what it says."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from dragoman.data.batch import Batch
from dragoman.data.vocabulary import BOS
from dragoman.model.memory import Memory
from dragoman.model.output.output import Readout
from dragoman.model.seq2seq import Seq2Seq
from tests.builders import BATCH, SIZE, build_model, sentences
from tests.model import combined, loops
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
        energies = loops.additive(self.below("attention.attention.score."), query, self.states)
        return loops.mix(loops.softmax(energies), self.states)

    def mixture(self, *parts: Vector) -> Vector:
        return loops.mixture(self.below("features."), *parts)


def printed(model: Seq2Seq, memories: tuple[Memory, ...] = ()) -> Printed:
    """Of several sources the states are those of the first."""
    memories = memories or model.encode(BATCH.sources)
    length = int(memories[0].mask[ROW].sum())
    first = [tuple(loops.array(part[ROW]) for part in state) for state in model.bridge(memories)]
    ids = [BOS, *BATCH.target.ids[ROW, BATCH.target.mask[ROW]].tolist()[:-1]]
    words = [loops.array(model.target_embedding.get_parameter("table")[number]) for number in ids]
    return Printed(loops.array(memories[0].states[ROW, :length]), first, words, loops.numbers(model.decoder))


def assert_features(model: Seq2Seq, expected: Iterator[Vector], batch: Batch = BATCH) -> None:
    """What the output layer reads at each step of the reference is what the loop says."""
    features = model(batch).features[ROW]
    wanted = list(expected)
    assert len(wanted) == int(BATCH.target.mask[ROW].sum()) == 3
    for t, vector in enumerate(wanted):
        assert features[t].tolist() == pytest.approx(vector.tolist(), abs=1e-12)


@pytest.mark.spec("B6")
@pytest.mark.parametrize("kind", sorted(loops.CELLS))
def test_attending_before_the_update(kind: str) -> None:
    """CN, AN: `c_t = attend(s_(t-1))`, `s_t = f([E y_(t-1); c_t], s_(t-1))`."""
    model = build_model(decoder={"attend": "before", "readout": "concat", "cell": kind})

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
    model = build_model(decoder={"attend": "after", "readout": "concat", "cell": kind})

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
    model = build_model(decoder={"attend": "between", "readout": "concat", "cell": kind})

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
    model = build_model(decoder={"attend": "between", "readout": "concat", "cell": "gru"})
    decoder: Any = model.decoder
    second = decoder.second
    with torch.no_grad():
        second.bias_input.zero_()  # the printed equations have no biases
        second.bias_hidden.zero_()
    (memory,) = model.encode(BATCH.sources)
    (state,) = model.bridge((memory,))
    assert model.target_embedding is not None
    word = model.target_embedding(torch.full((3,), BOS))
    middle = decoder.cells[0](decoder.cells[0].project(word), state)[0]
    attention = decoder.attention.attention
    prepared_source = attention.prepare(memory)
    c = attention(middle, word, prepared_source, attention.start(prepared_source)).context
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
    model = build_model(decoder={"attend": "after", "input_feeding": "context", "readout": "concat", "cell": kind})
    p, output = printed(model), loops.numbers(model.output)
    weight, bias = output["weight"], output["bias"]
    probabilities = model.output.log_probs(Readout(model(BATCH).features[ROW])).exp()
    (state,) = p.first
    context = p.states[0] * 0
    for t, word in enumerate(p.words):
        state = loops.CELLS[kind](p.cell(0), join(word, context), state)
        context = p.attend(state[0])
        expected = loops.softmax(loops.times(weight, join(state[0], context)) + bias)
        assert probabilities[t].tolist() == pytest.approx(expected.tolist(), abs=1e-12)


@pytest.mark.spec("B8")
def test_the_attentional_vector_is_fed_beside_the_embedding() -> None:
    """Luong: `h~_t = tanh(W [h_t; c_t] + b)`, `h_t = f([E y_(t-1); h~_(t-1)], h_(t-1))`, `h~_0 = 0`."""
    options = {"attend": "after", "input_feeding": "attentional", "readout": "tanh", "cell": "lstm", "readout_size": 5}
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
    model = build_model(decoder={"attend": "before", "readout": "deep", "readout_size": 6})

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
    model = build_model(decoder={"attend": "before", "input_feeding": "context", "readout": "concat"})

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
    model = build_model(decoder={"layers": 3, "readout": "concat", "residual": residual})

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
    model = build_model(decoder={"layers": 2, "readout": "concat", "attend": "between", "cell": "lstm"})

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
    model = build_model(decoder={"layers": 2, "readout": "concat", "attend": "before"})

    def loop() -> Iterator[Vector]:
        p = printed(model)
        lower, upper = p.first
        for word in p.words:
            context = p.attend(upper[0])
            lower = loops.gru(p.cell(0), join(word, context), lower)
            upper = loops.gru(p.cell(1), lower[0], upper)
            yield join(upper[0], context)

    assert_features(model, loop())


@pytest.mark.spec("C3", "C4", "C6", "C14")
@pytest.mark.parametrize("kind", ["flat", "hierarchical"])
@pytest.mark.parametrize("attend", ["before", "after", "between"])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_attending_to_several_sources_and_a_sentinel(cell: str, attend: str, kind: str) -> None:
    """LH (4): the sentinel is made of the query, of y_(t-1) and of s_(t-1), whenever the decoder looks."""
    options = {"share_projections": False, "sentinel": True}
    decoder = {"attend": attend, "readout": "concat", "cell": cell}
    model = build_model(sources=2, combination={"kind": kind, **options}, decoder=decoder)
    other = sentences([6, 6], [5, 7, 7, 8], [4])
    batch = Batch((*BATCH.sources, other), BATCH.target, BATCH.rows)
    memories = model.encode(batch.sources)
    sources = [loops.array(memory.states[ROW, : int(memory.mask[ROW].sum())]) for memory in memories]
    p = printed(model, memories)

    def look(query: Vector, word: Vector, before: Vector) -> Vector:
        decoder_query = combined.DecoderQuery(query, word, before)
        return combined.LOOPS[kind](p.below("attention."), decoder_query, sources, options).context

    def loop() -> Iterator[Vector]:
        (state,) = p.first
        for word in p.words:
            before = state[0]
            if attend == "before":
                context = look(before, word, before)
                state = loops.CELLS[cell](p.cell(0), join(word, context), state)
            else:
                state = loops.CELLS[cell](p.cell(0), word, state)
                context = look(state[0], word, before)
            if attend == "between":
                state = loops.CELLS[cell](p.below("second."), context, state)
            yield join(state[0], context)

    assert_features(model, loop(), batch)
