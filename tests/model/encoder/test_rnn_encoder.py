"""The recurrent encoder: directions, layers, padding."""

from typing import Any

import pytest
import torch

from dragoman.configuration.components import Spec, find_problems
from dragoman.model.encoder.rnn_encoder import RnnEncoder
from dragoman.model.encoder.table import ENCODERS
from dragoman.model.memory import Memory
from dragoman.model.projection_norm import PROJECTION_NORMS
from dragoman.model.recurrent import CELLS, build_cell
from tests.builders import noise, shaken
from tests.model import loops

DIRECTIONS = ("forward", "reversed", "bidirectional")
INPUTS, SIZE = 3, 2
MASK = torch.tensor([[True] * 4, [True] * 2 + [False] * 2])


def make(**options: Any) -> RnnEncoder:
    return shaken(RnnEncoder(INPUTS, size=SIZE, **options)).eval()


def weights(encoder: RnnEncoder, layer: int, direction: int) -> dict[str, loops.Vector]:
    start = f"layers.{layer}.{direction}."
    return {name.removeprefix(start): p for name, p in loops.numbers(encoder).items() if name.startswith(start)}


def assert_same(one: Memory, other: Memory) -> None:
    assert torch.allclose(one.states, other.states)
    for layers in zip(one.final, other.final, strict=True):
        for part, wanted in zip(*layers, strict=True):
            assert torch.allclose(part, wanted)


@pytest.mark.spec("A5")
@pytest.mark.parametrize("kind", sorted(loops.CELLS))
def test_states_of_both_directions_are_joined_forward_first(kind: str) -> None:
    encoder = make(cell=kind)
    embedded = noise(1, 3, INPUTS)
    memory = encoder(embedded, torch.ones(1, 3, dtype=torch.bool))
    words = [loops.array(word) for word in embedded[0]]
    forward, final_forward = loops.read(kind, weights(encoder, 0, 0), words, SIZE)
    backward, final_backward = loops.read(kind, weights(encoder, 0, 1), words[::-1], SIZE)
    for j in range(3):
        expected = loops.join(forward[j], backward[2 - j])
        assert memory.states[0, j].tolist() == pytest.approx(expected.tolist(), abs=1e-12)
    for part, ahead, back in zip(memory.final[0], final_forward, final_backward, strict=True):
        assert part[0].tolist() == pytest.approx(loops.join(ahead, back).tolist(), abs=1e-12)


@pytest.mark.spec("A5")
def test_the_final_state_joins_the_last_forward_and_the_first_backward_state() -> None:
    memory = make(cell="lstm")(noise(2, 4, INPUTS), MASK)
    for row, length in enumerate((4, 2)):
        expected = torch.cat([memory.states[row, length - 1, :SIZE], memory.states[row, 0, SIZE:]])
        assert torch.equal(memory.final[0][0][row], expected)


@pytest.mark.spec("A4")
def test_reading_backwards_is_reading_the_reversed_source() -> None:
    forward, backward = make(direction="forward", layers=2), make(direction="reversed", layers=2)
    backward.load_state_dict(forward.state_dict())
    embedded = noise(1, 4, INPUTS)
    all_real = torch.ones(1, 4, dtype=torch.bool)
    ahead, back = forward(embedded.flip(1), all_real), backward(embedded, all_real)
    assert torch.allclose(back.states, ahead.states.flip(1))  # each state stays at the position of its word
    assert_same(Memory(ahead.states, all_real, back.final), ahead)


@pytest.mark.spec("A4")
def test_reading_backwards_starts_at_the_last_word_and_not_in_the_padding() -> None:
    encoder = make(direction="reversed")
    embedded = noise(2, 4, INPUTS)
    memory = encoder(embedded, MASK)
    embedded[1, 2:] = 100.0
    assert_same(encoder(embedded, MASK), memory)
    alone = encoder(embedded[1:, :2], MASK[1:, :2])
    assert torch.allclose(memory.final[0][0][1:], alone.final[0][0])
    assert torch.equal(memory.final[0][0][1], memory.states[1, 0])


@pytest.mark.spec("A3")
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_each_layer_reads_the_states_of_the_one_below(direction: str) -> None:
    encoder = make(direction=direction, layers=3)
    embedded = noise(1, 3, INPUTS)
    states = [loops.array(word) for word in embedded[0]]
    finals = []
    for layer in range(3):
        parts, ends = [], []
        for number, backward in enumerate(encoder.backward):
            order = states[::-1] if backward else states
            outputs, final = loops.read("gru", weights(encoder, layer, number), order, SIZE)
            parts.append(outputs[::-1] if backward else outputs)
            ends.append(final[0])
        states = [loops.join(*at) for at in zip(*parts, strict=True)]
        finals.append(loops.join(*ends))
    memory = encoder(embedded, torch.ones(1, 3, dtype=torch.bool))
    for j, state in enumerate(states):
        assert memory.states[0, j].tolist() == pytest.approx(state.tolist(), abs=1e-12)
    for layer, wanted in enumerate(finals):
        assert memory.final[layer][0][0].tolist() == pytest.approx(wanted.tolist(), abs=1e-12)


def test_a_residual_layer_adds_what_it_reads() -> None:
    plain, residual = make(layers=2), make(layers=2, residual=True)
    residual.load_state_dict(plain.state_dict())
    embedded = noise(1, 3, INPUTS)
    all_real = torch.ones(1, 3, dtype=torch.bool)
    below = RnnEncoder(INPUTS, size=SIZE).double().eval()
    below.load_state_dict({k: v for k, v in plain.state_dict().items() if k.startswith("layers.0.")})
    first = below(embedded, all_real).states  # sizes 3 and 4 differ, so the first layer adds nothing
    assert torch.allclose(residual(embedded, all_real).states, plain(embedded, all_real).states + first)


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("layer_norm", sorted(PROJECTION_NORMS))
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_more_padding_changes_nothing_and_a_row_alone_is_the_row_in_its_batch(
    direction: str, layer_norm: str, residual: bool
) -> None:
    encoder = make(direction=direction, layers=2, layer_norm=layer_norm, residual=residual)
    embedded = noise(2, 4, INPUTS)
    memory = encoder(embedded, MASK)
    wider = encoder(torch.cat([embedded, noise(2, 3, INPUTS)], 1), torch.cat([MASK, MASK.new_zeros(2, 3)], 1))
    assert_same(wider._replace(states=wider.states[:, :4]), memory)
    for row, length in enumerate((4, 2)):
        alone = encoder(embedded[row : row + 1, :length], MASK[row : row + 1, :length])
        assert torch.allclose(alone.states[0], memory.states[row, :length])
        for layer in range(2):
            assert torch.allclose(alone.final[layer][0][0], memory.final[layer][0][row])


@pytest.mark.parametrize("cell", sorted(loops.CELLS))
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_parameter_gets_a_gradient(direction: str, cell: str) -> None:
    encoder = make(direction=direction, layers=2, cell=cell, layer_norm="standard").train()
    memory = encoder(noise(2, 4, INPUTS), MASK)
    (memory.states * noise(*memory.states.shape)).sum().backward()
    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("cell", sorted(loops.CELLS))
def test_the_shape_of_its_state_is_told(cell: str, direction: str) -> None:
    encoder = make(cell=cell, layers=3, direction=direction)
    memory = encoder(noise(2, 4, INPUTS), MASK)
    layers, size, components = encoder.state_shape
    assert len(memory.final) == layers == 3
    assert all(len(state) == components for state in memory.final)
    assert all(part.shape == (2, size) for state in memory.final for part in state)
    assert memory.states.shape == (2, 4, encoder.size)


def test_variational_dropout_hides_the_same_units_at_all_positions() -> None:
    encoder = RnnEncoder(INPUTS, size=40, dropout=0.5)
    states = encoder(torch.randn(2, 6, INPUTS), torch.ones(2, 6, dtype=torch.bool)).states
    hidden = states.eq(0)
    assert hidden.any()
    assert torch.equal(hidden, hidden[:, :1].expand_as(hidden))
    assert not torch.equal(hidden[0], hidden[1])


def test_plain_dropout_hides_other_units_at_each_position() -> None:
    encoder = RnnEncoder(INPUTS, size=40, dropout=0.5, variational=False)
    hidden = encoder(torch.randn(1, 6, INPUTS), torch.ones(1, 6, dtype=torch.bool)).states.eq(0)
    assert not torch.equal(hidden[:, 0], hidden[:, 1])


def test_recurrent_dropout_acts_in_training_alone() -> None:
    encoder = RnnEncoder(INPUTS, size=8, recurrent_dropout=0.5)
    embedded, real = torch.randn(1, 6, INPUTS), torch.ones(1, 6, dtype=torch.bool)
    assert not torch.equal(encoder(embedded, real).states, encoder(embedded, real).states)
    encoder.eval()
    assert torch.equal(encoder(embedded, real).states, encoder(embedded, real).states)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sizee": 4}, "did you mean 'size'"),
        ({"direction": "backward"}, "expected one of forward, reversed, bidirectional"),
        ({"cell": "gru_cn"}, "did you mean 'gru_an'"),
        ({"dropout": 1.0}, "less than 1"),
        ({"layers": 0}, "at least 1"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_unknown_options_are_refused(options: dict[str, Any], message: str) -> None:
    (problem,) = find_problems(ENCODERS, Spec("rnn", options), ("model", "encoder"))
    assert problem.path == ("model", "encoder", *options)
    assert message in problem.message


@pytest.mark.spec("J7")
@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru", "gru_an"])
@pytest.mark.parametrize("layer_norm", sorted(PROJECTION_NORMS))
def test_a_transition_is_a_cell_without_an_input(cell: str, layer_norm: str) -> None:
    """A step of two cells is a step of each, the second with an input whose matrix is 0."""
    deep = shaken(build_cell(cell, INPUTS, SIZE, layer_norm=layer_norm, transitions=1))
    x, state = noise(3, INPUTS), tuple(noise(3, SIZE, seed=part) for part in range(1, 1 + deep.components))
    first, second = CELLS[cell](INPUTS, SIZE, layer_norm=layer_norm), CELLS[cell](1, SIZE, layer_norm=layer_norm)
    second.norm_input = None  # norms a product with an input, and there is none
    own = dict(deep.named_parameters())
    first.double().load_state_dict({n.removeprefix("first."): p for n, p in own.items() if n.startswith("first.")})
    prefix = "transitions.0."
    rest = {n.removeprefix(prefix): p for n, p in own.items() if n.startswith(prefix)}
    second.double().load_state_dict({**rest, "weight_input": torch.zeros(len(rest["bias_input"]), 1).double()})
    middle = first(first.project(x), state)
    wanted = second(second.project(torch.ones(3, 1).double()), middle)
    for part, other in zip(deep(deep.project(x), state), wanted, strict=True):
        torch.testing.assert_close(part, other, rtol=0, atol=1e-12)


@pytest.mark.spec("J7")
@pytest.mark.parametrize("options", [{"layer_norm": "standard"}, {"cell": "lstm", "recurrent_dropout": 0.1}, {}])
def test_every_parameter_of_deep_stacks_gets_a_gradient(options: dict[str, Any]) -> None:
    deep: dict[str, Any] = {"layers": 2, "separate_stacks": True, "alternating": True, "transitions": 2}
    encoder = make(**deep, **options).train()
    (encoder(noise(2, 4, INPUTS), MASK).states * noise(2, 4, 2 * SIZE, seed=1)).sum().backward()
    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.spec("J7")
def test_separate_stacks_know_nothing_of_the_other_direction() -> None:
    """Below the top the backward states change nothing in the forward ones."""
    encoder, embedded = make(layers=3, separate_stacks=True), noise(1, 4, INPUTS)
    before = encoder(embedded, MASK[:1]).states
    embedded[0, 3] += 1
    after = encoder(embedded, MASK[:1]).states
    assert torch.equal(after[0, :3, :SIZE], before[0, :3, :SIZE])
    assert not torch.allclose(after[0, :3, SIZE:], before[0, :3, SIZE:])


@pytest.mark.spec("J7")
def test_alternating_layers_read_ahead() -> None:
    assert not make(direction="forward", layers=1, alternating=True).reads_ahead
    assert make(direction="forward", layers=2, alternating=True).reads_ahead
    with pytest.raises(ValueError, match="separate_stacks requires direction: bidirectional"):
        make(direction="forward", separate_stacks=True)
