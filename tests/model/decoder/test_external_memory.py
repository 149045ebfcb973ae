"""The external memory: its equations, where it enters the decoder, what it is for."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import nn

from dragoman.configuration.components import Spec, find_problems
from dragoman.model.decoder.external_memory import ExternalMemory
from dragoman.model.decoder.table import DECODERS
from dragoman.model.int8 import Int8
from dragoman.model.linear import use_backend
from dragoman.model.memory import Memory
from tests.builders import BATCH, SIZE, build_model, noise, shaken
from tests.model import loops
from tests.model.decoder.test_rnn_decoder import Printed, assert_features, printed
from tests.model.loops import Vector, dot, join, times

CELLS = 3


class Told(NamedTuple):
    """Contents and weights after so many steps, in numbers."""

    contents: Vector  # (K, D)
    weights: Vector  # (K,)


def start(p: dict[str, Vector], states: Vector) -> Told:
    """`M_0(i) = sigmoid(W_0 mean_j h_j + b_0) + o_i`, `w_0(i) = 1 / K`."""
    mean = loops.mix(np.full(len(states), 1 / len(states)), states)
    first = [loops.sigmoid(number) for number in times(p["first.weight"], mean) + p["first.bias"]]
    return Told(np.array([first + offset for offset in p["offsets"]]), np.full(CELLS, 1 / CELLS))


def read(p: dict[str, Vector], state: Vector, cells: Told) -> tuple[Vector, Told]:
    """`w_t = g w_(t-1) + (1 - g) softmax(v^T tanh(W M(i) + U s_(t-1) + b))`, `r_t = sum_i w_t(i) M(i)`."""
    score = {name.removeprefix("score."): value for name, value in p.items() if name.startswith("score.")}
    fresh = loops.softmax(loops.additive(score, state, cells.contents))
    gate = loops.sigmoid(dot(p["gate.weight"][0], state) + p["gate.bias"][0])
    weights = np.array([gate * old + (1 - gate) * new for old, new in zip(cells.weights, fresh, strict=True)])
    return loops.mix(weights, cells.contents), Told(cells.contents, weights)


def write(p: dict[str, Vector], state: Vector, cells: Told) -> Told:
    """`M_t(i) = M_(t-1)(i) (1 - w_t(i) erase_t) + w_t(i) add_t`."""
    change = [loops.sigmoid(number) for number in times(p["change.weight"], state) + p["change.bias"]]
    contents = [
        [old * (1 - weight * change[d]) + weight * change[SIZE + d] for d, old in enumerate(cell)]
        for weight, cell in zip(cells.weights, cells.contents, strict=True)
    ]
    return Told(np.array(contents), cells.weights)


def begun(p: Printed) -> tuple[dict[str, Vector], Told]:
    external = p.below("external.")
    return external, start(external, p.states)


@pytest.mark.spec("B21")
def test_read_update_write() -> None:
    """`r_t = read(s_(t-1), M_(t-1))`, `s_t = f([E y_(t-1); r_t], s_(t-1))`, `M_t = write(s_t, M_(t-1))`."""
    model = build_model(decoder={"readout": "concat", "external_memory": CELLS})

    def loop() -> Iterator[Vector]:
        p = printed(model)
        external, cells = begun(p)
        (state,) = p.first
        for word in p.words:
            vector, cells = read(external, state[0], cells)
            state = loops.gru(p.cell(0), join(word, vector), state)
            cells = write(external, state[0], cells)
            yield join(state[0], p.attend(state[0]))

    assert_features(model, loop())


@pytest.mark.spec("B21")
def test_what_is_read_stands_between_what_is_fed_and_the_context() -> None:
    """`s_t = f([E y_(t-1); h~_(t-1); r_t; c_t], s_(t-1))`."""
    model = build_model(
        decoder={"attend": "before", "input_feeding": "attentional", "cell": "lstm", "external_memory": CELLS}
    )

    def loop() -> Iterator[Vector]:
        p = printed(model)
        external, cells = begun(p)
        (state,) = p.first
        fed = np.zeros(SIZE)
        for word in p.words:
            vector, cells = read(external, state[0], cells)
            context = p.attend(state[0])
            state = loops.lstm(p.cell(0), join(word, fed, vector, context), state)
            cells = write(external, state[0], cells)
            fed = p.mixture(state[0], context)
            yield fed

    assert_features(model, loop())


@pytest.mark.spec("B21")
def test_it_is_read_and_written_by_the_state_of_the_top_cell() -> None:
    options = {"layers": 2, "attend": "between", "readout": "concat", "residual": True, "external_memory": CELLS}
    model = build_model(decoder=options)

    def loop() -> Iterator[Vector]:
        p = printed(model)
        external, cells = begun(p)
        lower, upper = p.first
        for word in p.words:
            vector, cells = read(external, upper[0], cells)
            middle = loops.gru(p.cell(0), join(word, vector), lower)
            context = p.attend(middle[0])
            lower = loops.gru(p.below("second."), context, middle)
            upper = loops.gru(p.cell(1), lower[0], upper)
            cells = write(external, upper[0], cells)
            yield join(upper[0] + lower[0], context)

    assert_features(model, loop())


def test_padding_has_no_part_in_the_first_contents() -> None:
    external = shaken(ExternalMemory(SIZE, 2, CELLS))
    mask = torch.tensor([[True, True, True], [True, False, False]])
    states = noise(2, 3, 2)
    expected = external.start((Memory(states, mask),)).contents
    for padding in (1e6, -1e6):
        contents = external.start((Memory(states.masked_fill(~mask.unsqueeze(-1), padding), mask),)).contents
        assert torch.equal(contents, expected)
    assert torch.equal(external.start((Memory(states[1:, :1], mask[1:, :1]),)).contents, expected[1:])


def test_cells_differ_from_the_first_step_on() -> None:
    torch.manual_seed(0)
    contents = (
        ExternalMemory(SIZE, SIZE, 50).start((Memory(torch.zeros(1, 2, SIZE), torch.ones(1, 2).bool()),)).contents
    )
    assert contents.std(1).mean().item() == pytest.approx(0.1, rel=0.2)


def test_under_autocast_the_memory_stays_in_full_precision() -> None:
    """What is written over many steps is not rounded at each, and weights still add up to 1."""
    external = shaken(ExternalMemory(SIZE, SIZE, CELLS)).float()
    with torch.autocast("cpu", torch.bfloat16):
        cells = external.start((Memory(noise(2, 3, SIZE).float(), torch.ones(2, 3).bool()),))
        for step in range(20):
            state = noise(2, SIZE, seed=step).float()
            _, cells = external.read(state, cells)
            cells = external.write(state, cells)
            assert {tensor.dtype for tensor in cells} == {torch.float32}
    torch.testing.assert_close(cells.weights.sum(1), torch.ones(2), rtol=0, atol=1e-5)


def test_a_hypothesis_takes_its_memory_along() -> None:
    """Two rows of each sentence that read different words change places."""
    model = build_model(decoder={"external_memory": CELLS})
    state = model.reorder(model.begin(BATCH.sources), torch.tensor([0, 0, 1, 1, 2, 2]))
    state = model.step(torch.tensor([4, 5, 6, 7, 8, 4]), state).state
    swapped = torch.tensor([1, 0, 3, 2, 5, 4])
    contents = model.reorder(state, swapped).step_state.decoder.cells.contents
    assert torch.equal(contents, state.step_state.decoder.cells.contents[swapped])
    assert not torch.equal(contents, state.step_state.decoder.cells.contents)


def test_the_mask_of_a_fed_vector_covers_what_is_read() -> None:
    """With a mask of zeros the first cell does not notice other contents."""
    model = build_model(decoder={"input_feeding": "context", "external_memory": CELLS, "dropout": 0.5}).train()
    state = model.begin(BATCH.sources)
    assert state.masks.fed.shape == (3, 2 * SIZE)
    state = state._replace(masks=state.masks._replace(fed=torch.zeros(3, 2 * SIZE).double()))
    cells = state.step_state.decoder.cells
    other = state.step_state._replace(
        decoder=state.step_state.decoder._replace(cells=cells._replace(contents=cells.contents + 1))
    )
    symbols = torch.tensor([4, 5, 6])
    one, two = (model.step(symbols, state._replace(step_state=step_state)) for step_state in (state.step_state, other))
    assert torch.equal(one.state.step_state.decoder.layers[0][0], two.state.step_state.decoder.layers[0][0])


def test_products_of_8_bit_integers_come_near() -> None:
    sizes: dict[str, Any] = {"embedding": {"size": 32}, "encoder": {"size": 16}}
    model = build_model(spread=0.1, decoder={"size": 32, "external_memory": CELLS}, **sizes).float()
    with torch.inference_mode():
        exact = model(BATCH).features
        with use_backend(Int8(model)):
            rough = model(BATCH).features
    assert 0 < (rough - exact).abs().max().item() < 0.05


@pytest.mark.parametrize("cells", [0, 1.5, True])
def test_the_number_of_cells_is_checked(cells: object) -> None:
    (problem,) = find_problems(DECODERS, Spec("rnn", {"external_memory": cells}), ("model", "decoder"))
    assert problem.path == ("model", "decoder", "external_memory")


def recalled(*, writes: bool) -> float:
    """How often the value that came with one of two keys is read by that key, after training; its state is the only
    way from one step to the next.
    """
    torch.manual_seed(1)
    keys, values, size = 2, 4, 16
    parts = nn.ModuleDict(
        {
            "memory": ExternalMemory(size, size, 8),
            "key": nn.Embedding(keys, size),
            "value": nn.Embedding(values, size),
            "output": nn.Linear(size, values),
        }
    )
    memory: Any
    memory, key, value, output = parts.values()
    nothing = Memory(torch.zeros(64, 1, size), torch.ones(64, 1).bool())
    optimizer = torch.optim.Adam(parts.parameters(), lr=0.02)
    right = 0.0
    for _ in range(300):
        order, drawn = torch.rand(64, keys).argsort(1), torch.randint(values, (64, keys))
        cells = memory.start((nothing,))
        for k, v in zip(order.unbind(1), drawn.unbind(1), strict=True):
            _, cells = memory.read(torch.tanh(key(k)), cells)
            if writes:
                cells = memory.write(torch.tanh(key(k) + value(v)), cells)
        read, _ = memory.read(torch.tanh(key(order[:, 0])), cells)
        logits = output(read)
        right = logits.argmax(1).eq(drawn[:, 0]).double().mean().item()
        optimizer.zero_grad()
        nn.functional.cross_entropy(logits, drawn[:, 0]).backward()
        optimizer.step()
    return right


@pytest.mark.spec("B21")
@pytest.mark.slow
def test_what_was_written_by_a_key_is_read_by_it() -> None:
    assert recalled(writes=True) >= 0.95
    assert recalled(writes=False) <= 0.5
