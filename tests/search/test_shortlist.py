"""Candidate lists: which symbols they hold, probabilities among them, and searches that see no others."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.data.lexicon import Lexicon
from dragoman.data.vocabulary import PAD, SPECIALS
from dragoman.errors import UserError
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.beam import Beam
from dragoman.search.ensemble import Ensemble
from dragoman.search.greedy import Greedy
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.search import Search
from dragoman.search.shortlist import Shortlist, ShortlistPredictor, collect_candidates, read, restrict_model, write
from tests.builders import build_model, pairs, sentences
from tests.golden import Golden

SYMBOLS = 16
SOURCES = [[4, 5, 6], [7], [8, 4], [5, 5, 5, 5, 5], [9, 15]]
CPU = torch.device("cpu")
MODELS: list[dict[str, Any]] = [
    {"seed": 1, "decoder": {"attend": "before", "cell": "gru_an", "input_feeding": "attentional"}},
    {"seed": 2, "score": "bilinear", "decoder": {"attend": "between", "cell": "lstm", "input_feeding": "context"}},
    {"seed": 3, "embedding": {"tie": "all"}, "score": "none", "start_symbol": "eos"},
]
models = pytest.mark.parametrize("options", MODELS)
searches = pytest.mark.parametrize("search", [Greedy(), Beam(size=4), Beam(size=1, normalization="none")])


def lexicon(seed: int = 0) -> Lexicon:
    """Three translations of each symbol, the last of them missing for some."""
    numbers = np.random.default_rng(seed)
    translations = np.array([numbers.choice(range(4, SYMBOLS), 3, replace=False) for _ in range(SYMBOLS)], np.int32)
    translations[::3, 2] = PAD
    frequent = numbers.permutation(range(4, SYMBOLS)).astype(np.int32)
    return Lexicon(frequent, translations, np.full(translations.shape, 0.25, np.float32))


def model(**options: Any) -> Seq2Seq:
    return build_model(symbols=SYMBOLS, spread=1.0, **options)


def expected(of: Lexicon, source: list[int], frequent: int, translations: int) -> set[int]:
    prefix = {int(y) for x in [*source, 3] for y in of.translations[x, :translations]}
    return {*range(len(SPECIALS)), *of.frequent[:frequent].tolist(), *prefix}


def narrowed_find(
    search: Search, whole: Seq2Seq, chosen: Shortlist, *words: list[int], width: int = 0, n_best: int = 1
) -> list[list[Hypothesis]]:
    source = sentences(*words, width=width)
    return search(ShortlistPredictor(whole, chosen.allowed((source,))), (source,), n_best)


@pytest.mark.spec("D9")
@pytest.mark.parametrize(("frequent", "translations"), [(3, 2), (0, 1), (5, 0), (100, 3)])
def test_candidates_are_the_frequent_symbols_and_the_translations_of_the_sentence(
    frequent: int, translations: int
) -> None:
    of = lexicon()
    chosen = Shortlist([of], frequent, translations, CPU)
    symbols, disallowed_mask = collect_candidates(chosen.allowed((sentences(*SOURCES, width=9),)))
    sentence_candidates = [expected(of, words, frequent, translations) for words in SOURCES]
    assert symbols.tolist() == sorted(set().union(*sentence_candidates))
    assert symbols[: len(SPECIALS)].tolist() == list(range(len(SPECIALS)))
    assert disallowed_mask is not None
    for row, wanted in zip(disallowed_mask, sentence_candidates, strict=True):
        assert set(symbols[~row].tolist()) == wanted


@pytest.mark.spec("D9")
@models
def test_probabilities_are_those_of_all_symbols_shared_among_the_candidates(options: dict[str, Any]) -> None:
    whole, of = model(**options), lexicon()
    source = sentences(*SOURCES)
    narrowed = ShortlistPredictor(whole, Shortlist([of], 2, 1, CPU).allowed((source,)))
    state, plain = narrowed.begin((source,)), whole.begin((source,))
    for prefix in ([2] * 5, [4, 5, 6, 7, 8], [9, 4, 4, 15, 3]):
        prediction, full = narrowed.predict(torch.tensor(prefix), state), whole.predict(torch.tensor(prefix), plain)
        state, plain = prediction.state, full.state
        assert prediction.ids is not None
        for row, words in enumerate(SOURCES):
            allowed = sorted(expected(of, words, 2, 1))
            wanted = torch.full((SYMBOLS,), float("-inf"), dtype=torch.float64)
            wanted[allowed] = full.log_probs[row, allowed].log_softmax(-1)
            torch.testing.assert_close(prediction.log_probs[row], wanted[prediction.symbols], rtol=0, atol=1e-9)
        assert torch.equal(prediction.attention[0], full.attention[0])


@searches
@models
def test_with_all_symbols_for_candidates_nothing_changes(options: dict[str, Any], search: Search) -> None:
    whole = model(**options)
    everything = Shortlist([lexicon()], SYMBOLS, 0, CPU)
    n_best = search.width
    results = narrowed_find(search, whole, everything, *SOURCES, n_best=n_best)
    for few, other_results in zip(results, search(whole, (sentences(*SOURCES),), n_best), strict=True):
        for one, other in zip(few, other_results, strict=True):
            assert one.symbols == other.symbols
            assert (one.score, *one.log_probs) == pytest.approx((other.score, *other.log_probs), abs=1e-12)
            assert np.array_equal(one.attention[0], other.attention[0])


@pytest.mark.spec("D9")
@searches
@models
def test_a_batch_is_one_sentence_at_a_time(options: dict[str, Any], search: Search) -> None:
    """Though others have other candidates; and the words of a translation are among one's own."""
    whole, of = model(**options), lexicon()
    chosen = Shortlist([of], 1, 2, CPU)
    together = narrowed_find(search, whole, chosen, *SOURCES, width=8, n_best=search.width)
    for words, hypotheses in zip(SOURCES, together, strict=True):
        (alone,) = narrowed_find(search, whole, chosen, words, n_best=search.width)
        assert [hypothesis.symbols for hypothesis in alone] == [hypothesis.symbols for hypothesis in hypotheses]
        assert [hypothesis.score for hypothesis in alone] == pytest.approx(
            [hypothesis.score for hypothesis in hypotheses]
        )
        ranks = [hypothesis.score for hypothesis in hypotheses]
        assert ranks == sorted(ranks, reverse=True)
        for hypothesis in hypotheses:
            assert set(hypothesis.symbols) <= expected(of, words, 1, 2)


@pytest.mark.spec("C8", "D9")
def test_the_models_of_an_ensemble_predict_what_any_of_their_lexicons_has() -> None:
    """Each shares its probability among these before the mean is taken, and no model predicts others."""
    members, of = [model(**MODELS[0]), model(**MODELS[1])], [lexicon(0), lexicon(1)]
    sources = sentences(*SOURCES), sentences(*SOURCES[::-1])
    prefix = torch.tensor([[4, PAD], [5, 6], [PAD, PAD], [7, PAD], [8, 8]])
    chosen = Shortlist(of, 2, 1, CPU)
    together = restrict_model(Ensemble(members, [1, 1]), chosen.allowed(sources, prefix))
    symbols = torch.full((5,), together.start_id)
    prediction = together.predict(symbols, together.begin(sources))
    for row, words in enumerate(zip(SOURCES, SOURCES[::-1], strict=True)):
        allowed = sorted(
            set(prefix[row].tolist()).union(*(expected(*member, 2, 1) for member in zip(of, words, strict=True)))
        )
        shared = [
            member.predict(symbols, member.begin((source,))).log_probs[row, allowed].softmax(-1)
            for member, source in zip(members, sources, strict=True)
        ]
        wanted = torch.zeros(SYMBOLS, dtype=torch.float64)
        wanted[allowed] = torch.stack(shared).mean(0)
        torch.testing.assert_close(prediction.over(torch.arange(SYMBOLS))[row].exp(), wanted, rtol=0, atol=1e-9)


@models
def test_greedy_takes_the_best_candidate(options: dict[str, Any]) -> None:
    whole, of, words = model(**options), lexicon(), [4, 5, 6]
    ((best,),) = narrowed_find(Greedy(length_ratio=1.0), whole, Shortlist([of], 1, 1, CPU), words)
    allowed = sorted(expected(of, words, 1, 1) - {1, 2})
    state, symbol, prefix = whole.begin((sentences(words),)), whole.start_id, []
    for position in range(15):
        prediction = whole.predict(torch.tensor([symbol]), state)
        state, symbol = prediction.state, max(allowed, key=prediction.log_probs[0].tolist().__getitem__)
        if symbol == 3 or position == 14:
            break
        prefix.append(symbol)
    assert best.symbols == tuple(prefix)


def test_what_a_reference_has_in_common_with_its_candidates_is_counted() -> None:
    of = lexicon()
    inside = sorted(expected(of, [4, 5], 2, 2) - {0, 1, 2, 3})
    outside = sorted(set(range(4, SYMBOLS)) - set(inside))
    batches = [pairs([[4, 5], [7]], [[inside[0], outside[0], inside[1]], []]), pairs([[4, 5]], [[inside[0]]])]
    sizes = [len(expected(of, words, 2, 2)) for words in ([4, 5], [7], [4, 5])]
    assert Shortlist([of], 2, 2, CPU).coverage(batches) == (3, 4, 3, sum(sizes))


@pytest.mark.parametrize(("frequent", "translations"), [(0, 0), (-1, 2), (300, 4), (5, -1)])
def test_numbers_that_cannot_work_are_refused(frequent: int, translations: int, golden: Golden) -> None:
    with pytest.raises(UserError, match=f"^shortlist {frequent},{translations}:") as raised:
        Shortlist([lexicon()], frequent, translations, CPU)
    golden(str(raised.value))


def test_a_lexicon_is_read_as_it_was_written(tmp_path: Path) -> None:
    of, path = lexicon(), tmp_path / "shortlist.safetensors"
    write(of, path)
    for one, other in zip(read(path, (SYMBOLS, SYMBOLS)), of, strict=True):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)


@pytest.mark.parametrize("sizes", [(SYMBOLS + 1, SYMBOLS), (SYMBOLS, SYMBOLS - 1)])
def test_the_lexicon_of_another_run_is_refused(sizes: tuple[int, int], tmp_path: Path, golden: Golden) -> None:
    path = tmp_path / "shortlist.safetensors"
    with pytest.raises(UserError) as raised:
        read(path, sizes)
    golden(str(raised.value))
    write(lexicon(), path)
    with pytest.raises(UserError) as raised:
        read(path, sizes)
    golden(str(raised.value))
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(UserError) as raised:
        read(path, sizes)
    golden(str(raised.value))
