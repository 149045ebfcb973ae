"""Teacher forcing: the loss is -sum log P of the reference, symbol by symbol."""

import pytest
import torch
from torch.nn import functional

from dragoman.data.batch import Batch, SourceBatch, TokenBatch
from dragoman.data.vocabulary import PAD
from dragoman.model.output.output import Readout
from dragoman.model.seq2seq import Seq2Seq
from dragoman.training.objectives.table import OBJECTIVES
from dragoman.training.objectives.teacher_forcing import TeacherForcing
from tests.builders import BATCH, build_model, context

MODELS = {
    "after": build_model(),
    "before": build_model(decoder={"attend": "before"}, start_symbol="eos"),
    "feeding": build_model(decoder={"input_feeding": "attentional", "cell": "lstm"}, encoder={"cell": "lstm"}),
    "none": build_model(score="none"),
}


def stepped(model: Seq2Seq, batch: Batch) -> float:
    """`- sum_t log P(y_t | y_<t, x)`, a sentence and a symbol at a time, through the step that search uses."""
    total = 0.0
    for row in range(len(batch.rows)):
        source = batch.sources[0].ids[row][batch.sources[0].mask[row]]
        state = model.start(model.encode((TokenBatch(source.unsqueeze(0), torch.ones(1, len(source)).bool()),)))
        previous = torch.tensor([model.start_id])
        for symbol in batch.target.ids[row][batch.target.mask[row]]:
            step = model.step(previous, state)
            total -= float(model.output.log_probs(Readout(step.features))[0, symbol])
            state, previous = step.state, symbol.unsqueeze(0)
    return total


def padded(batch: Batch, extra: int, symbol: int = PAD) -> Batch:
    """The same pairs with more padding on both sides, which holds that symbol."""

    def wider(sequence: SourceBatch) -> TokenBatch:
        assert isinstance(sequence, TokenBatch)
        ids = sequence.ids.masked_fill(~sequence.mask, symbol)
        return TokenBatch(functional.pad(ids, (0, extra), value=symbol), functional.pad(sequence.mask, (0, extra)))

    return Batch(tuple(wider(source) for source in batch.sources), wider(batch.target), batch.rows)


@pytest.mark.spec("G1")
@pytest.mark.parametrize("name", MODELS)
def test_the_loss_is_the_negative_log_probability_of_the_reference(name: str) -> None:
    with torch.no_grad():
        loss = TeacherForcing(context())(MODELS[name], BATCH)
        assert float(loss.total) == pytest.approx(stepped(MODELS[name], BATCH), abs=1e-9)
    assert loss.symbols == int(BATCH.target.mask.sum())


@pytest.mark.spec("G1")
def test_the_reference_is_what_the_decoder_reads_whatever_it_would_say() -> None:
    """Another symbol in the middle changes the probabilities of those after it, and of none before it."""
    model = MODELS["after"]
    ids = BATCH.target.ids.clone()
    ids[1, 1] = 5
    other = BATCH._replace(target=TokenBatch(ids, BATCH.target.mask))
    with torch.no_grad():
        before, after = (model.output.log_probs(Readout(model(batch).features[1])) for batch in (BATCH, other))
    changed = (before - after).abs().amax(1) > 1e-6
    assert changed.tolist() == [False, False, True, True, True]


@pytest.mark.spec("G1")
@pytest.mark.parametrize("name", MODELS)
def test_padding_has_no_influence(name: str) -> None:
    model = MODELS[name]
    losses, gradients = [], []
    for batch in (BATCH, padded(BATCH, 3), padded(BATCH, 2, symbol=7)):
        model.zero_grad()
        loss = TeacherForcing(context())(model, batch)
        loss.total.backward()
        losses.append(loss.total.item())
        gradients.append([parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None])
    for other, its in zip(losses[1:], gradients[1:], strict=True):
        assert other == pytest.approx(losses[0], abs=1e-9)
        for one, two in zip(gradients[0], its, strict=True):
            torch.testing.assert_close(one, two, rtol=0, atol=1e-9)


def test_the_table_names_it() -> None:
    assert OBJECTIVES["teacher_forcing"] is TeacherForcing
