"""The one equation of attention, with every score."""

import pytest
import torch
from torch import Tensor

from dragoman.model.attention.attention import Attended, Attention, NoAttention
from dragoman.model.attention.scores import SCORES, Dot, Linear, Uniform
from tests.builders import noise, shaken
from tests.model import loops

KINDS = sorted(SCORES)
SIZE, STEPS, PLACES = 3, 2, 4
MASK = torch.tensor([[True] * 4, [True] * 2 + [False] * 2, [True] + [False] * 3])


def make(kind: str) -> Attention:
    return Attention(shaken(SCORES[kind](SIZE, SIZE)))


def queries() -> Tensor:
    return noise(3, STEPS, SIZE)


def states() -> Tensor:
    return noise(3, PLACES, SIZE, seed=1)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_sum_to_one_and_padding_gets_exactly_nothing(kind: str) -> None:
    attention = make(kind)
    context, weights = attention(queries(), attention.prepare(states(), MASK))
    assert context.shape == (3, STEPS, attention.size)
    assert torch.allclose(weights.sum(-1), torch.ones(3, STEPS).double())
    assert torch.equal(weights.gt(0), MASK.unsqueeze(1).expand_as(weights))


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_the_softmax_of_the_energies_and_the_context_is_their_sum_of_states(kind: str) -> None:
    attention = make(kind)
    context, weights = attention(queries(), attention.prepare(states(), MASK))
    energies = attention.score(queries(), attention.score.keys(states()))
    for row in range(3):
        real = int(MASK[row].sum())
        for t in range(STEPS):
            expected = loops.softmax(loops.array(energies[row, t, :real]))
            assert weights[row, t, :real].tolist() == pytest.approx(expected.tolist(), abs=1e-12)
            mixed = loops.mix(expected, loops.array(states()[row, :real]))
            assert context[row, t].tolist() == pytest.approx(mixed.tolist(), abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_nothing_whatever_stands_there(kind: str) -> None:
    attention = make(kind)
    context, weights = attention(queries(), attention.prepare(states(), MASK))
    wide = torch.cat([states(), 1e6 * noise(3, 2, SIZE)], 1)
    wide[1, 2:] = -1e6
    found, wider = attention(queries(), attention.prepare(wide, torch.cat([MASK, MASK.new_zeros(3, 2)], 1)))
    assert torch.allclose(found, context)
    assert torch.allclose(wider[..., :PLACES], weights)
    assert wider[..., PLACES:].eq(0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_alone_is_the_row_in_its_batch(kind: str) -> None:
    attention = make(kind)
    context, weights = attention(queries(), attention.prepare(states(), MASK))
    for row in range(3):
        real = int(MASK[row].sum())
        attended = attention.prepare(states()[row : row + 1, :real], MASK[row : row + 1, :real])
        found, alone = attention(queries()[row : row + 1], attended)
        assert torch.allclose(found[0], context[row])
        assert torch.allclose(alone[0], weights[row, :, :real])


@pytest.mark.parametrize("kind", [*KINDS, "none"])
def test_many_queries_at_once_are_one_at_a_time(kind: str) -> None:
    attention = NoAttention() if kind == "none" else make(kind)
    attended = attention.prepare(states(), MASK)
    context, weights = attention(queries(), attended)
    for t in range(STEPS):
        found, alone = attention(queries()[:, t], attended)
        assert found.shape == (3, attention.size)
        assert torch.allclose(found, context[:, t])
        assert torch.allclose(alone, weights[:, t])


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_gets_a_gradient(kind: str) -> None:
    """All but the query's in `linear`, whose share of the energy is the same everywhere and cancels."""
    attention = make(kind)
    query, source = queries().requires_grad_(), states().requires_grad_()
    context, _ = attention(query, attention.prepare(source, MASK))
    (context * noise(3, STEPS, SIZE, seed=2)).sum().backward()
    for name, parameter in attention.named_parameters():
        assert parameter.grad is not None, name
        if kind == "linear" and name == "score.query.weight":
            assert parameter.grad.abs().max() < 1e-12
        else:
            assert parameter.grad.abs().sum() > 0, name
    assert source.grad is not None
    assert source.grad[~MASK].eq(0).all()
    assert source.grad[MASK].abs().sum(-1).gt(0).all()


@pytest.mark.spec("A7")
def test_uniform_attention_is_the_mean_of_the_real_states() -> None:
    attention = Attention(Uniform(SIZE, SIZE))
    context, weights = attention(queries(), attention.prepare(states(), MASK))
    for row, length in enumerate((4, 2, 1)):
        for t in range(STEPS):
            assert torch.allclose(context[row, t], states()[row, :length].mean(0))
            assert weights[row, t].tolist() == pytest.approx([1 / length] * length + [0] * (PLACES - length))


@pytest.mark.spec("B5")
def test_linear_attention_is_the_same_at_every_step() -> None:
    attention = Attention(shaken(Linear(SIZE, SIZE)))
    _, weights = attention(queries(), attention.prepare(states(), MASK))
    assert torch.allclose(weights[:, 0], weights[:, 1])
    assert weights[0, 0].std() > 0.01


@pytest.mark.spec("B23")
def test_a_query_attends_to_any_values_through_any_keys() -> None:
    """Worked by hand: energies log 3 and 0 give weights 3/4 and 1/4 over values of another size, the third masked."""
    attention = Attention(Dot(2, 2))
    query = torch.tensor([[[1.0, 0.0]]])
    keys = torch.tensor([[[float(torch.tensor(3.0).log()), 9.0], [0.0, -9.0], [50.0, 0.0]]])
    values = torch.tensor([[[4.0, 0.0, 8.0], [0.0, 4.0, 8.0], [100.0, 100.0, 100.0]]])
    context, weights = attention(query, Attended(keys, values, torch.tensor([[True, True, False]])))
    assert weights[0, 0].tolist() == pytest.approx([0.75, 0.25, 0.0])
    assert context[0, 0].tolist() == pytest.approx([3.0, 1.0, 8.0])


@pytest.mark.spec("B23")
def test_a_gap_in_the_mask_is_skipped() -> None:
    attention = make("additive")
    mask = torch.tensor([[True, False, True, False]])
    context, weights = attention(queries()[:1], attention.prepare(states()[:1], mask))
    there = [0, 2]
    found, alone = attention(queries()[:1], attention.prepare(states()[:1, there], mask[:, there]))
    assert torch.allclose(found, context)
    assert torch.allclose(alone, weights[..., there])


@pytest.mark.spec("A1")
def test_no_attention_gives_contexts_of_size_0_and_weights_of_0() -> None:
    attention = NoAttention()
    context, weights = attention(queries()[:, 0], attention.prepare(states(), MASK))
    assert context.shape == (3, 0)
    assert weights.tolist() == [[0.0] * PLACES] * 3


@pytest.mark.parametrize("kind", KINDS)
def test_under_autocast_a_source_is_rounded_once_and_not_at_every_step(kind: str) -> None:
    attention = make(kind).float()
    exact, _ = attention(queries().float(), attention.prepare(states().float(), MASK))
    with torch.autocast("cpu", torch.bfloat16):
        attended = attention.prepare(states().float(), MASK)
        context, _ = attention(queries().float(), attended)
    assert attended.values.dtype is torch.bfloat16
    torch.testing.assert_close(context.float(), exact, rtol=0.05, atol=0.05)
