"""What a decoder that writes edits reads beside its last operation: the state of the symbol that is edited next."""

from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.configuration.config import ModelConfig
from dragoman.data.batch import Batch
from dragoman.model import build
from dragoman.model.decoder.decoder import DecoderState, Unrolled
from dragoman.model.decoder.decoder_input import Cursor, Edited
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.beam import Beam
from dragoman.search.constraints import EditConstraint
from dragoman.search.greedy import Greedy
from tests.builders import BATCH, SYMBOLS, part, sentences, settings, shaken

KEEP, DELETE = 4, 5
MT = sentences([6, 7, 8], [7], [8, 6])
SAID = sentences([6, KEEP, DELETE, KEEP], [DELETE, 8, 8], [KEEP, KEEP])
NEXT = [[0, 0, 1, 2, 3], [0, 1, 1, 1], [0, 1, 2]]  # the symbol that is edited next, before each operation
PAIR = Batch((BATCH.sources[0], MT), SAID, BATCH.rows)


def make(cursor: bool = True, **options: Any) -> Seq2Seq:
    torch.manual_seed(0)
    plain = settings(**options)
    model = ModelConfig.model_validate(
        {**{name: getattr(plain, name) for name in type(plain).model_fields}, "cursor": cursor}
    )
    return shaken(build.build(model, (SYMBOLS, SYMBOLS), SYMBOLS, edited=Edited(1, (KEEP, DELETE)))).eval()


@pytest.mark.spec("C13")
def test_the_state_of_the_next_symbol_is_added_to_the_last_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make()
    assert isinstance(model.inputs, Cursor)
    memories = model.encode(PAIR.sources)
    read: list[Tensor] = []
    decoder = model.decoder.unroll

    def unroll(embedded: Tensor, state: DecoderState) -> Unrolled:
        read.append(embedded)
        return decoder(embedded, state)

    monkeypatch.setattr(model.decoder, "unroll", unroll)
    model.unroll(model.start(memories), SAID.ids)
    for row, places in enumerate(NEXT):
        for step, place in enumerate(places):
            symbol = model.start_id if step == 0 else int(SAID.ids[row, step - 1])
            state = model.inputs.map.weight @ memories[1].states[row, place]
            expected = model.target_embedding(torch.tensor([symbol]))[0] + state
            torch.testing.assert_close(read[0][row, step], expected)


@pytest.mark.spec("C13")
@pytest.mark.parametrize("attend", ["before", "between", "after"])
@pytest.mark.parametrize("combination", ["concatenation", "flat", {"kind": "hierarchical", "sentinel": True}])
def test_searches_find_what_forcing_scores(combination: Any, attend: str) -> None:
    model = make(combination=combination, decoder={"attend": attend})
    lengths = torch.tensor([3, 1, 2])
    for search in (Greedy(length_ratio=1.0, length_margin=3), Beam(size=3, length_ratio=1.0, length_margin=3)):
        for row, hypotheses in enumerate(
            search(model, PAIR.sources, constraint=EditConstraint(lengths, (KEEP, DELETE)))
        ):
            best = hypotheses[0]
            alone = tuple(part(source, slice(row, row + 1)) for source in PAIR.sources)
            forced = model.score(Batch(alone, sentences([*best.symbols]), BATCH.rows[:1]))
            torch.testing.assert_close(forced.log_probs.sum().item(), best.log_prob, rtol=1e-6, atol=1e-6)


@pytest.mark.spec("C13")
def test_it_is_learned_and_off_unless_asked_for() -> None:
    model = make()
    (-model.score(PAIR).log_probs.sum()).backward()
    assert isinstance(model.inputs, Cursor)
    assert model.inputs.map.weight.grad is not None
    assert model.inputs.map.weight.grad.any()
    without = make(cursor=False)
    assert not isinstance(without.inputs, Cursor)
    assert not torch.equal(without.score(PAIR).log_probs, model.score(PAIR).log_probs)


def test_a_sentence_without_what_is_edited_has_probabilities() -> None:
    model = make()
    missing = type(MT)(MT.ids, MT.mask & (torch.arange(3) != 1).unsqueeze(1))
    assert model.score(Batch((BATCH.sources[0], missing), SAID, BATCH.rows)).log_probs.isfinite().all()
