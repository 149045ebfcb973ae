"""An output that reads the source: what copying needs, tried with a toy."""

from typing import Any

import numpy as np
import pytest
import torch

from dragoman.data.batch import Batch, Sequence
from dragoman.data.lexicon import Lexicon
from dragoman.data.vocabulary import EOS, PAD, UNK
from dragoman.deployment.export import unknown_part
from dragoman.model.decoder.rnn import RnnDecoder
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.beam import Beam
from dragoman.search.candidates import CandidateList, ShortlistPredictor
from dragoman.search.ensemble import Ensemble
from dragoman.search.greedy import Greedy
from dragoman.search.search import Search
from dragoman.training.objectives.teacher_forcing import force
from tests.builders import SYMBOLS, build_model, sentences
from tests.derivatives import assert_derivative
from tests.model.output.mixture import Mixture, mixing

# The words of each source as symbols of the target: 9 and 10 are local to their sentence.
WORDS = [[4, 9, 5], [9, 10], [8]]
TARGETS = [[9, 5], [10, 9, 9], [8, 4]]
DECODERS: list[dict[str, Any]] = [{"attend": "between"}, {"attend": "after"}, {"attend": "before", "layers": 2}]
searches = pytest.mark.parametrize("search", [Greedy(), Beam(size=4)], ids=["greedy", "beam"])


def read(*rows: list[int]) -> Sequence:
    """Sentences of which the vocabulary has some words, as a batch has them."""
    whole = sentences(*rows)
    ids = whole.ids.where(whole.ids < SYMBOLS, UNK)
    return Sequence(ids, whole.mask, whole.ids)


BATCH = Batch((read(*WORDS),), read(*TARGETS), np.arange(3))


def step_by_step(model: Seq2Seq, row: int) -> list[torch.Tensor]:
    """The probabilities of every symbol before each word of a reference, by plain loops over positions."""
    assert isinstance(model.output, Mixture)
    source, said = read(WORDS[row]), [model.start_id, *TARGETS[row]]
    state, found = model.begin((source,)), []
    for symbol in said:
        features, weights, state = model.step(torch.tensor([symbol]), state)
        gate = torch.sigmoid(model.output.gate(features))[0, 0]
        chances = torch.zeros(SYMBOLS + 2, dtype=torch.float64)
        chances[:SYMBOLS] = gate * torch.softmax(model.output.generate(features)[0], 0)
        for place, word in enumerate([*WORDS[row], EOS]):
            chances[word] += (1 - gate) * weights[0, place]
        found.append(chances)
    return found


@pytest.mark.parametrize("decoder", DECODERS)
def test_probabilities_are_those_of_plain_loops_and_add_up_to_one(decoder: dict[str, Any]) -> None:
    model = mixing(decoder=decoder, spread=1.0)
    scored = model.score(BATCH)
    for row, target in enumerate(TARGETS):
        expected = step_by_step(model, row)
        for t, symbol in enumerate([*target, EOS]):
            assert expected[t].sum().item() == pytest.approx(1.0)
            torch.testing.assert_close(scored.log_probs[row, t].exp(), expected[t][symbol])
            assert scored.correct[row, t] == (expected[t].argmax() == symbol)
    step = model.predict(torch.full((3,), model.start_id), model.begin(BATCH.sources))
    torch.testing.assert_close(step.log_probs.exp().sum(1), torch.ones(3, dtype=torch.float64))


def test_its_gradient_is_the_derivative() -> None:
    model = mixing(decoder={"attend": "between"}).train()
    assert_derivative(lambda: force(model, BATCH).loss.total, model.parameters())


def test_it_learns_to_copy_words_that_it_does_not_know() -> None:
    torch.manual_seed(0)
    model = mixing(spread=0.1, decoder={"attend": "after"}).train()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
    batch = Batch((read([9, 4], [9], [5, 9], [9, 10]),), read([9], [9], [9], [10]), np.arange(4))
    for _ in range(150):
        optimiser.zero_grad()
        loss = force(model, batch).loss
        (loss.total / loss.symbols).backward()
        optimiser.step()
    found = Greedy()(model.eval(), batch.sources)
    assert [best.symbols for (best,) in found] == [(9,), (9,), (9,), (10,)]
    assert all(best.figures["copied"][0] > 0.5 for (best,) in found)


@searches
@pytest.mark.parametrize("together", [False, True])
def test_searches_find_what_they_then_score(search: Search, together: bool) -> None:
    """Alone, and with a model that has symbols of the vocabulary alone."""
    copying = mixing(seed=3, spread=1.0, generate=-3.0)
    model = Ensemble([copying, build_model(seed=4)], [1, 1]) if together else copying
    sources = BATCH.sources * (2 if together else 1)
    said = set[int]()
    for row, found in enumerate(search(model, sources, search.width)):
        for best in found:
            target = read(list(best.symbols))
            alone = tuple(read(WORDS[row]) for _ in sources)
            scored = model.score(Batch(alone, target, np.arange(1)))
            assert best.log_probs == pytest.approx(scored.log_probs[0].tolist(), abs=1e-9)
            assert best.figures["copied"].shape == (len(best.symbols) + 1,)
            said |= set(best.symbols)
    assert said & {9, 10}
    assert said & set(range(SYMBOLS))


def test_a_sentence_in_a_batch_is_that_sentence_alone() -> None:
    model = mixing(seed=5, spread=1.0)
    for row, (best, *_) in enumerate(Beam(size=3)(model, BATCH.sources)):
        ((alone, *_),) = Beam(size=3)(model, (read(WORDS[row]),))
        assert alone.symbols == best.symbols
        assert alone.log_probs == pytest.approx(best.log_probs)


def test_its_figures_are_a_mean_over_the_positions_that_hard_attention_may_draw() -> None:
    """`sum_z p(z_t = z | y_<t) (1 - gate(features where attention drew z))`."""
    model = mixing(normaliser={"kind": "hard", "order": 1}, spread=1.0)
    assert isinstance(model.output, Mixture)
    assert isinstance(model.decoder, RnnDecoder)
    state = model.begin(BATCH.sources)
    for symbol in (model.start_id, 5, 9):
        symbols = torch.full((3,), symbol)
        embedded = model.target_embedding(symbols.where(symbols < SYMBOLS, UNK))
        features = model.decoder.step_by_position(embedded, model.decoder_state(state)).features  # (R, S, F)
        step = model.predict(symbols, state)
        copied = 1 - torch.sigmoid(model.output.gate(features)).squeeze(2)
        torch.testing.assert_close(step.figures["copied"], (step.attention[0] * copied).sum(1))
        torch.testing.assert_close(step.log_probs.exp().sum(1), torch.ones(3, dtype=torch.float64))
        state = step.state


def test_graphs_do_not_know_it() -> None:
    assert unknown_part(mixing()) == "the output Mixture"
    assert not unknown_part(build_model())


def test_words_of_the_sentence_are_among_the_candidates_of_a_shortlist() -> None:
    """Which share what the symbols that are no candidates had."""
    model = mixing(seed=6, spread=1.0)
    lexicon = Lexicon(np.array([7, 4, 5, 6, 8]), np.full((SYMBOLS, 1), PAD), np.zeros((SYMBOLS, 1), np.float32))
    short = ShortlistPredictor(model, CandidateList([lexicon], 1, 0, torch.device("cpu")).allowed(BATCH.sources))
    symbols = torch.full((3,), model.start_id)
    found, whole = (
        short.predict(symbols, short.begin(BATCH.sources)),
        model.predict(symbols, model.begin(BATCH.sources)),
    )
    assert found.ids is not None
    assert found.ids.tolist() == [0, 1, 2, 3, 7, 9, 10]
    expected = whole.log_probs[:, found.ids].log_softmax(1)
    torch.testing.assert_close(found.log_probs, expected)
