"""Greedy search."""

import math
from typing import Any

import pytest
import torch

from dragoman.data.vocabulary import BOS, EOS, PAD
from dragoman.errors import UserError
from dragoman.model.output.output import Readout
from dragoman.search.beam import Beam
from dragoman.search.greedy import Greedy
from dragoman.search.search import Search
from tests.builders import SYMBOLS, build_model, pairs, sentences
from tests.golden import Golden
from tests.search.toys import A, B, C, Chances, Prefix, Written

SOURCES = [[4, 5, 6], [7], [8, 4], [5, 5, 5, 5, 5]]
MODELS: list[dict[str, Any]] = [
    {"seed": 1},
    {"seed": 2, "score": "bilinear", "decoder": {"attend": "between", "cell": "lstm", "input_feeding": "context"}},
    {"seed": 3, "score": "none", "decoder": {"input_feeding": "attentional"}, "start_symbol": "eos"},
    {"seed": 4, "score": "dot", "decoder": {"attend": "before", "layers": 2}},
]


@pytest.mark.spec("F3")
@pytest.mark.parametrize("options", MODELS)
def test_every_symbol_is_the_most_probable_one(options: dict[str, Any]) -> None:
    """`x_t = argmax P(x | x_1 .. x_(t-1))`, by a loop over one sentence at a time."""
    model = build_model(spread=1.0, **options)
    results = Greedy(length_ratio=1.0, length_margin=2)(model, (sentences(*SOURCES),))
    for words, (hypothesis,) in zip(SOURCES, results, strict=True):
        prefix: list[int] = []
        state, symbol, total = model.start(model.encode((sentences(words),))), model.start_id, 0.0
        while symbol != EOS or not prefix:
            features, _, state = model.step(torch.tensor([symbol]), state)
            log_probs = model.output.log_probs(Readout(features))[0].tolist()
            choices = [EOS] if len(prefix) == len(words) + 3 else [s for s in range(SYMBOLS) if s not in (PAD, BOS)]
            symbol = max(choices, key=log_probs.__getitem__)
            prefix.append(symbol)
            total += log_probs[symbol]
        assert [*hypothesis.symbols, EOS] == prefix
        assert hypothesis.score == pytest.approx(total)


@pytest.mark.parametrize("options", MODELS)
def test_log_probabilities_are_those_of_the_model(options: dict[str, Any]) -> None:
    model = build_model(spread=1.0, **options)
    results = [best for (best,) in Greedy(length_margin=1)(model, (sentences(*SOURCES),))]
    scores, _, (weights,), _ = model.score(pairs(SOURCES, [list(best.symbols) for best in results]))
    for row, best in enumerate(results):
        steps, length = len(best.symbols) + 1, len(SOURCES[row]) + 1
        assert best.log_probs == pytest.approx(scores[row, :steps].tolist(), abs=1e-6)
        assert best.log_prob == pytest.approx(best.score, abs=1e-6)
        (attention,) = best.attention
        assert attention.shape == (steps, length)
        assert attention == pytest.approx(weights[row, :steps, :length].detach().numpy(), abs=1e-6)
        total = 0.0 if options.get("score") == "none" else 1.0
        assert attention.sum(1) == pytest.approx([total] * steps, abs=1e-5)


def test_a_batch_is_one_sentence_at_a_time() -> None:
    model, search = build_model(seed=5, spread=1.0), Greedy()
    together = search(model, (sentences(*SOURCES, width=9),))
    for words, (hypothesis,) in zip(SOURCES, together, strict=True):
        ((alone,),) = search(model, (sentences(words),))
        assert alone.symbols == hypothesis.symbols
        assert alone.score == pytest.approx(hypothesis.score)
        assert alone.attention[0] == pytest.approx(hypothesis.attention[0], abs=1e-6)


def spelling(word: int, prefix: Prefix) -> Chances:
    """Sources that begin with A: nothing at all; with B: A, B, end; with C: A for ever."""
    if word == A:
        return {EOS: 0.9, A: 0.1}
    if word == B:
        return [{A: 0.6, B: 0.4}, {B: 0.8, EOS: 0.2}, {EOS: 1.0}][len(prefix)]
    return {A: 0.999, EOS: 0.001}


@pytest.mark.spec("F3")
def test_sentences_end_when_they_do_and_at_the_limit_at_the_latest() -> None:
    """Probabilities that are written down: 0.9; 0.6 * 0.8 * 1; 0.999^3 * 0.001, where the end is forced."""
    results = Greedy(length_ratio=1.0, length_margin=1)(Written(spelling), (sentences([A], [B], [C]),))
    (nothing,), (two,), (endless,) = results
    assert nothing.symbols == ()
    assert nothing.score == pytest.approx(math.log(0.9))
    assert nothing.attention[0].tolist() == [[1.0, 0.0]]
    assert two.symbols == (A, B)
    assert two.log_probs == pytest.approx([math.log(0.6), math.log(0.8), 0.0])
    assert two.attention[0].tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    assert endless.symbols == (A, A, A)
    assert endless.score == pytest.approx(3 * math.log(0.999) + math.log(0.001))


def test_padding_is_not_said_even_if_the_model_likes_it_best() -> None:
    model = Written(lambda word, prefix: {PAD: 0.5, BOS: 0.3, A: 0.15, EOS: 0.05} if not prefix else {EOS: 1.0})
    ((best,),) = Greedy()(model, (sentences([A]),))
    assert best.symbols == (A,)
    assert best.score == pytest.approx(math.log(0.15))


@pytest.mark.parametrize("search", [Greedy(), Beam(size=2)], ids=["greedy", "beam"])
def test_a_diverged_model_is_told_in_one_line(search: Search, golden: Golden) -> None:
    model = build_model()
    for parameter in model.parameters():
        torch.nn.init.constant_(parameter, float("nan"))
    with pytest.raises(UserError) as raised:
        search(model, (sentences(*SOURCES),))
    golden(str(raised.value))
