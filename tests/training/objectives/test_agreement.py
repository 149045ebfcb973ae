"""Agreement: the losses of both directions less the overlap of their attention."""

import pytest
import torch

from dragoman.configuration.components import Spec
from dragoman.data.batch import Batch, TokenBatch
from dragoman.training import checks
from dragoman.training.objectives.agreement import Agreement
from dragoman.training.objectives.teacher_forcing import TeacherForcing
from tests.builders import BATCH, build_model, context, settings, whole
from tests.derivatives import assert_derivative
from tests.model.loops import array
from tests.training.objectives.test_teacher_forcing import padded, stepped

MODEL, REVERSE = build_model(), build_model(seed=1, score="dot", decoder={"cell": "lstm"})


def flipped(batch: Batch) -> Batch:
    (source,) = batch.sources
    assert isinstance(source, TokenBatch)
    return Batch((batch.target,), source, batch.rows)


@pytest.mark.spec("B20")
def test_the_loss_is_that_of_both_directions_less_the_trace() -> None:
    with torch.no_grad():
        one, other = array(MODEL(BATCH).weights), array(REVERSE(flipped(BATCH)).weights)
        loss = Agreement(context(reversed_model=lambda: REVERSE), weight=0.7)(MODEL, BATCH)
    trace = 0.0
    for row in range(len(BATCH.rows)):
        source, target = int(BATCH.sources[0].mask[row].sum()) - 1, int(BATCH.target.mask[row].sum()) - 1
        trace += float((one[row, :target, :source] @ other[row, :source, :target]).trace())
    with torch.no_grad():
        expected = stepped(MODEL, BATCH) + stepped(REVERSE, flipped(BATCH)) - 0.7 * trace
    assert trace > 0
    assert loss.total.item() == pytest.approx(expected, abs=1e-9)
    assert loss.symbols == int(BATCH.target.mask.sum()) + int(BATCH.sources[0].mask.sum())


@pytest.mark.spec("B20")
def test_padding_has_no_part_and_both_models_learn() -> None:
    losses = []
    for batch in (BATCH, padded(BATCH, 3), padded(BATCH, 2, symbol=7)):
        agreement = Agreement(context(), weight=2.0)
        model = build_model()
        loss = agreement(model, batch).total
        loss.backward()
        losses.append(loss.item())
        for part in (model, agreement.reverse):
            assert all(parameter.grad is not None for parameter in part.parameters())
    assert losses == pytest.approx([losses[0]] * 3, abs=1e-9)


@pytest.mark.spec("B20")
def test_the_attention_of_each_direction_is_drawn_to_the_other() -> None:
    gradients = []
    for weight in (1e-9, 5.0):
        model, agreement = build_model(), Agreement(context(), weight=weight)
        agreement(model, BATCH).total.backward()
        gradients.append([p.grad.clone() for p in model.decoder.attention.parameters() if p.grad is not None])
    model = build_model()
    TeacherForcing(context())(model, BATCH).total.backward()
    alone = [p.grad for p in model.decoder.attention.parameters() if p.grad is not None]
    for plain, free in zip(alone, gradients[0], strict=True):
        torch.testing.assert_close(free, plain, rtol=0, atol=1e-6)
    assert any((bound - free).abs().max() > 1e-3 for free, bound in zip(*gradients, strict=True))


@pytest.mark.spec("B20")
def test_its_gradient_is_the_derivative_in_both_models() -> None:
    model, agreement = build_model(), Agreement(context(), weight=3.0)
    for part in (model, agreement.reverse):
        assert_derivative(lambda: agreement(model, BATCH).total, part.parameters())


def test_reversed_pairs() -> None:
    links = torch.zeros(*BATCH.target.ids.shape, BATCH.sources[0].ids.size(1), dtype=torch.bool)
    links[1, 2, 0] = True
    batch = BATCH._replace(links=links).reversed()
    assert isinstance(batch.target, TokenBatch)
    assert (batch.sources, batch.target) == ((BATCH.target,), BATCH.sources[0])
    assert batch.links is not None
    assert batch.links.nonzero().tolist() == [[1, 0, 2]]
    assert batch.reversed().reversed().rows is BATCH.rows


def test_portions_of_one_target_are_refused() -> None:
    config = whole(settings(output={"kind": "partitioned"}))
    training = config.training.model_copy(update={"objective": Spec("agreement")})
    (problem,) = checks.problems(config.model_copy(update={"training": training}))
    assert str(problem).startswith("training.objective: 'agreement' has two targets")
