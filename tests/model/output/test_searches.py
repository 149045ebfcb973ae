"""Searches with every output of the table, and other readers of its predictions."""

from typing import Any

import numpy as np
import pytest
import torch

from dragoman.data.lexicon import Lexicon
from dragoman.deployment.export import unknown_part
from dragoman.model.output.table import OUTPUTS
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.beam import Beam
from dragoman.search.ensemble import Ensemble
from dragoman.search.greedy import Greedy
from dragoman.search.search import Search
from dragoman.search.shortlist import Shortlist, ShortlistPredictor
from tests.builders import BATCH as PLAIN
from tests.builders import SYMBOLS, build_model, copied, pairs

for_kinds = pytest.mark.parametrize("kind", [kind for kind, output in OUTPUTS.items() if not output.spells])
BATCH = copied(PLAIN)
ROWS = ([4, 5, 6], [7], [8, 4])  # its sources


def modeled(kind: str, **options: Any) -> Seq2Seq:
    return build_model(output={"kind": kind, **options}, seed=3, spread=1.0)


@for_kinds
@pytest.mark.parametrize(
    ("search", "together"), [(Greedy(), True), (Beam(size=4), False)], ids=["greedy with another", "beam alone"]
)
def test_searches_find_what_they_then_score(kind: str, search: Search, together: bool) -> None:
    """Alone, and with a model that has the full softmax."""
    model = Ensemble([modeled(kind), build_model(seed=4)], [1, 1]) if together else modeled(kind)
    sources = BATCH.sources * (2 if together else 1)
    for row, hypotheses in enumerate(search(model, sources, search.width)):
        for best in hypotheses:
            alone = copied(pairs([ROWS[row]], [list(best.symbols)]))
            scored = model.score(alone._replace(sources=alone.sources * len(sources)))
            assert best.log_probs == pytest.approx(scored.log_probs[0].tolist(), abs=1e-9)


@for_kinds
def test_candidates_are_as_probable_among_each_other_as_they_are(kind: str) -> None:
    model = modeled(kind)
    lexicon = Lexicon(np.array([7, 4, 5, 6, 8]), np.full((SYMBOLS, 1), 8), np.ones((SYMBOLS, 1), np.float32))
    predictor = ShortlistPredictor(model, Shortlist([lexicon], 1, 1, torch.device("cpu")).allowed(BATCH.sources))
    start = torch.full((3,), model.start_id)
    everything = model.predict(start, model.begin(BATCH.sources)).over(torch.arange(SYMBOLS))
    log_probs = predictor.predict(start, predictor.begin(BATCH.sources)).over(torch.arange(SYMBOLS))
    possible = log_probs > float("-inf")
    assert possible.any()
    assert not possible.all()
    expected = everything.masked_fill(~possible, float("-inf")).log_softmax(1)
    torch.testing.assert_close(log_probs, expected)


@for_kinds
def test_graphs_know_outputs_of_one_matrix(kind: str) -> None:
    expected = "" if OUTPUTS[kind].portable else f"the output {OUTPUTS[kind].__name__}"
    assert unknown_part(modeled(kind)) == expected


def test_what_is_not_normalized_is_searched_as_it_is() -> None:
    model = modeled("nce", normalized=False)
    ((best,), *_) = Greedy()(model, BATCH.sources)
    step = model.predict(torch.full((3,), model.start_id), model.begin(BATCH.sources))
    assert best.log_probs[0] == pytest.approx(step.log_probs[0, best.symbols[0] if best.symbols else 3].item())
    assert (step.log_probs.exp().sum(1) - 1).abs().min() > 1e-3
