"""Beam search, with the enumeration of all translations as its judge."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import pytest
import torch

from dragoman.data.vocabulary import BOS, EOS, PAD
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.beam import Beam, BestFinished
from dragoman.search.greedy import Greedy
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.phrases import PhraseConstraint, SentencePhrases
from dragoman.search.ranking import LEAST, NORMALIZATIONS, NormalizationKind, Ranking
from tests.builders import build_model, pairs, sentences
from tests.covering import Row, cases, covering
from tests.search.toys import UNK, A, B, C, Chances, Prefix, Written, all_translations

SOURCES = [[4, 5], [5], [4, 4, 5]]
LONGEST = 4
SYMBOLS = 6  # <unk> and two words can be said: 121 translations of up to four
SHORT: dict[str, Any] = {"length_ratio": 0.01, "length_margin": LONGEST}
EVERYTHING = 4 * 3 ** (LONGEST - 1)  # continuations of all prefixes but the longest, the end among them
KINDS = sorted(NORMALIZATIONS)
SELF = {"kind": "self_attention", "size": 4, "heads": 2, "layers": 2}
MODELS: list[dict[str, Any]] = [
    {"seed": 1, "decoder": {"attend": "before", "cell": "gru_an"}},
    {"seed": 2, "score": "bilinear", "decoder": {"attend": "between", "cell": "lstm", "input_feeding": "context"}},
    {"seed": 4, "score": "scaled_dot", "bridge": "none", "encoder": SELF, "decoder": SELF},
    {"seed": 3, "score": "none", "decoder": {"input_feeding": "attentional", "layers": 2}, "start_symbol": "eos"},
    {"seed": 4, "decoder": {"external_memory": 3}},
    {"seed": 5, "normalizer": {"kind": "hard", "order": 1, "jump": 1}},
]


def every_two(options: Mapping[str, Sequence[Any]]) -> pytest.MarkDecorator:
    """Every two values together, for tests with these parameters."""
    values = [
        pytest.param(*cast(Row, case.values[0]).values(), id=case.id, marks=case.marks)
        for case in cases(covering(options))
    ]
    return pytest.mark.parametrize(list(options), values)


def texts(hypotheses: list[Hypothesis]) -> list[Prefix]:
    return [hypothesis.symbols for hypothesis in hypotheses]


@pytest.mark.spec("F4")
@every_two({"number": range(len(MODELS)), "normalization": KINDS, "alpha": [0.6, 1.0]})
def test_a_beam_that_holds_everything_finds_the_best_of_all_translations(
    number: int, normalization: NormalizationKind, alpha: float
) -> None:
    """And the nine next best, in order, with their scores, for every normalization."""
    model = build_model(symbols=SYMBOLS, spread=1.0, **MODELS[number])
    search = Beam(size=EVERYTHING, normalization=normalization, alpha=alpha, **SHORT)
    results = search(model, (sentences(*SOURCES),), n_best=10)
    ranking = Ranking(normalization, alpha)
    for source, hypotheses in zip(SOURCES, results, strict=True):
        all_scored = all_translations(model, source, SYMBOLS, LONGEST)
        assert len(all_scored) == 121
        ranks = {prefix: ranking.rank(log_prob, len(prefix) + 1) for prefix, log_prob in all_scored.items()}
        best = sorted(ranks, key=ranks.__getitem__, reverse=True)[:10]
        assert texts(hypotheses) == best
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx([ranks[prefix] for prefix in best])
        assert [hypothesis.log_prob for hypothesis in hypotheses] == pytest.approx(
            [all_scored[prefix] for prefix in best]
        )


@pytest.mark.spec("B16")
@pytest.mark.parametrize("beta", [0.2, 2.0])
@pytest.mark.parametrize("options", MODELS[:2])
def test_a_beam_that_holds_everything_finds_the_best_under_the_coverage_penalty(
    options: dict[str, Any], beta: float
) -> None:
    """Rank by plain loops over the attention of forced decoding; the order is not that of the probabilities."""
    model = build_model(symbols=SYMBOLS, spread=1.0, **options)
    search = Beam(size=EVERYTHING, normalization="gnmt", alpha=0.6, coverage_penalty=beta, **SHORT)
    results = search(model, (sentences(*SOURCES),), n_best=10)
    for source, hypotheses in zip(SOURCES, results, strict=True):
        prefix = list(all_translations(model, source, SYMBOLS, LONGEST))
        scores, _, (weights,), _ = model.score(
            pairs([source] * len(prefix), [list(hypothesis) for hypothesis in prefix])
        )
        ranks = {}
        scores, weights = scores.detach(), weights.detach()
        for row, hypothesis in enumerate(prefix):
            steps = range(len(hypothesis) + 1)
            attended = [sum(float(weights[row, t, j]) for t in steps) for j in range(len(source) + 1)]
            covered = sum(math.log(min(hypothesis, 1.0)) for hypothesis in attended)
            log_prob = sum(float(scores[row, t]) for t in steps)
            ranks[hypothesis] = log_prob / ((5 + len(steps)) / 6) ** 0.6 + beta * covered
        best = sorted(ranks, key=ranks.__getitem__, reverse=True)[:10]
        assert texts(hypotheses) == best
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx(
            [ranks[hypothesis] for hypothesis in best]
        )
    plain = Beam(size=EVERYTHING, normalization="gnmt", alpha=0.6, **SHORT)(model, (sentences(*SOURCES),), n_best=10)
    assert [texts(hypothesis) for hypothesis in plain] != [texts(hypothesis) for hypothesis in results]


@pytest.mark.spec("B16")
@pytest.mark.parametrize("size", [2, 5])
def test_under_the_penalty_every_score_is_that_of_its_own_attention(size: int) -> None:
    """Narrow beams, in which hypotheses branch and change places, in a batch that shrinks."""
    model = build_model(spread=1.0, **MODELS[0])
    search = Beam(size=size, coverage_penalty=0.5, length_margin=3)
    for hypotheses in search(model, (sentences(*SOURCES, width=7),), n_best=size):
        for hypothesis in hypotheses:
            covered = sum(math.log(min(sums, 1.0)) for sums in hypothesis.attention[0].sum(0).tolist())
            assert hypothesis.score == pytest.approx(
                hypothesis.log_prob / len(hypothesis.log_probs) + 0.5 * covered, abs=1e-5
            )


@pytest.mark.spec("B16")
def test_the_coverage_of_two_sources_is_that_of_all_their_positions() -> None:
    """Nothing at all looks at the first of two and of four positions; A and the end at two of each."""
    model = Written(lambda word, prefix: {EOS: 1.0} if prefix else {EOS: 0.6, A: 0.4})
    sources = sentences([A]), sentences([A, A, A])
    (hypotheses,) = Beam(size=2, normalization="none", coverage_penalty=0.1)(model, sources, n_best=2)
    floor = math.log(LEAST)
    assert texts(hypotheses) == [(A,), ()]
    expected = [math.log(0.4) + 0.1 * 2 * floor, math.log(0.6) + 0.1 * 4 * floor]
    assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx(expected)


def test_all_translations_are_found_when_all_are_asked_for() -> None:
    model = build_model(symbols=SYMBOLS, seed=1)
    (hypotheses,) = Beam(size=121, **SHORT)(model, (sentences([4, 5]),), n_best=121)
    assert sorted(texts(hypotheses)) == sorted(all_translations(model, [4, 5], SYMBOLS, LONGEST))


@pytest.mark.spec("F4")
@pytest.mark.parametrize("options", MODELS)
def test_a_beam_of_one_without_normalization_is_greedy(options: dict[str, Any]) -> None:
    model = build_model(spread=1.0, **options)
    source = (sentences(*SOURCES, [6, 7, 8, 6]),)
    beam, greedy = Beam(size=1, normalization="none")(model, source), Greedy()(model, source)
    for (one,), (other,) in zip(beam, greedy, strict=True):
        assert one.symbols == other.symbols
        assert one.score == pytest.approx(other.score)
        assert one.attention[0] == pytest.approx(other.attention[0], abs=1e-6)


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize("options", MODELS)
def test_a_batch_is_one_sentence_at_a_time(options: dict[str, Any], size: int) -> None:
    model, search = build_model(spread=1.0, **options), Beam(size=size, length_margin=3)
    together = search(model, (sentences(*SOURCES, width=7),), n_best=size)
    for words, hypotheses in zip(SOURCES, together, strict=True):
        (alone,) = search(model, (sentences(words),), n_best=size)
        assert texts(alone) == texts(hypotheses)
        for one, other in zip(alone, hypotheses, strict=True):
            assert one.score == pytest.approx(other.score)
            assert one.attention[0] == pytest.approx(other.attention[0], abs=1e-6)


@pytest.mark.parametrize(("size", "n_best"), [(1, 1), (4, 3), (8, 8)])
@pytest.mark.parametrize("options", MODELS)
def test_every_hypothesis_has_its_log_probabilities_and_its_attention(
    options: dict[str, Any], size: int, n_best: int
) -> None:
    """With a beam of any width and any number of hypotheses asked for: sorted, distinct, and true to the model."""
    model = build_model(spread=1.0, **options)
    search = Beam(size=size, normalization="length", length_margin=3)
    for words, hypotheses in zip(SOURCES, search(model, (sentences(*SOURCES),), n_best), strict=True):
        assert len(hypotheses) == n_best
        assert len(set(texts(hypotheses))) == len(hypotheses)
        ranks = [hypothesis.score for hypothesis in hypotheses]
        assert ranks == sorted(ranks, reverse=True)
        scores, _, (weights,), _ = model.score(
            pairs([words] * len(hypotheses), [list(hypothesis.symbols) for hypothesis in hypotheses])
        )
        for row, hypothesis in enumerate(hypotheses):
            steps = len(hypothesis.symbols) + 1
            assert hypothesis.log_probs == pytest.approx(scores[row, :steps].tolist(), abs=1e-5)
            assert hypothesis.score == pytest.approx(hypothesis.log_prob / steps, abs=1e-5)
            (attention,) = hypothesis.attention
            assert attention.shape == (steps, len(words) + 1)
            assert attention == pytest.approx(weights[row, :steps].detach().numpy(), abs=1e-5)
            total = 0.0 if options.get("score") == "none" else 1.0
            assert attention.sum(1) == pytest.approx([total] * steps, abs=1e-5)


def test_padding_and_start_symbol_are_never_said() -> None:
    def chances(word: int, prefix: Prefix) -> Chances:
        return {PAD: 0.4, BOS: 0.3, A: 0.2, EOS: 0.1}

    (hypotheses,) = Beam(size=4, length_ratio=1.0, length_margin=1)(Written(chances), (sentences([A]),), n_best=4)
    assert len(hypotheses) > 1
    assert {symbol for prefix in texts(hypotheses) for symbol in prefix} == {A}


def garden_path(word: int, prefix: Prefix) -> Chances:
    """A looks best at first, but B C is the most probable translation: 0.4 * 0.9 against 0.6 * 0.5."""
    if not prefix:
        return {A: 0.6, B: 0.4}
    if prefix == (A,):
        return {A: 0.5, B: 0.5}
    if prefix == (B,):
        return {C: 0.9, A: 0.1}
    return {EOS: 1.0}


@pytest.mark.spec("F4")
def test_a_beam_of_two_leaves_the_garden_path() -> None:
    source = (sentences([A]),)
    ((greedy,),) = Greedy()(Written(garden_path), source)
    assert greedy.symbols in ((A, A), (A, B))
    (hypotheses,) = Beam(size=2, normalization="none")(Written(garden_path), source, n_best=2)
    assert hypotheses[0].symbols == (B, C)
    assert hypotheses[0].score == pytest.approx(math.log(0.36))
    assert hypotheses[0].log_probs == pytest.approx([math.log(0.4), math.log(0.9), 0.0])
    assert hypotheses[1].score == pytest.approx(math.log(0.3))


def long_or_short(word: int, prefix: Prefix) -> Chances:
    """Nothing at all: 0.3. Four times A: 0.7 * 0.7 * 0.7 * 0.7 * 1 = 0.24."""
    if len(prefix) == 4:
        return {EOS: 1.0}
    return {A: 0.7, EOS: 0.3}


@pytest.mark.spec("F4")
def test_normalization_decides_between_long_and_short() -> None:
    """log 0.3 / 1 = -1.20 against log 0.24 / 5 = -0.29; under `gnmt` -1.20 against -1.43 / (10/6) = -0.86."""
    source = (sentences([A]),)
    wanted: list[tuple[NormalizationKind, Prefix, float]] = [
        ("none", (), math.log(0.3)),
        ("length", (A,) * 4, 4 * math.log(0.7) / 5),
        ("gnmt", (A,) * 4, 4 * math.log(0.7) / (10 / 6)),
    ]
    for normalization, prefix, rank in wanted:
        ((best,),) = Beam(size=2, normalization=normalization, alpha=1.0)(Written(long_or_short), source)
        assert best.symbols == prefix
        assert best.score == pytest.approx(rank)


def test_nothing_at_all_can_be_said() -> None:
    model = Written(lambda word, prefix: {EOS: 0.9, A: 0.1})
    ((best,),) = Beam()(model, (sentences([A, B]),))
    assert best.symbols == ()
    assert best.log_probs == pytest.approx([math.log(0.9)])
    assert best.attention[0].tolist() == [[1.0, 0.0, 0.0]]


def test_a_translation_without_end_is_made_to_end_at_the_limit() -> None:
    model = Written(lambda word, prefix: {A: 0.999, EOS: 0.001})
    results = Beam(size=2, length_ratio=1.0, length_margin=1)(model, (sentences([A], [A, A]),))
    assert [texts(hypothesis) for hypothesis in results] == [[(A,) * 3], [(A,) * 4]]
    assert results[0][0].log_prob == pytest.approx(3 * math.log(0.999) + math.log(0.001))


def test_a_limit_of_nothing_gives_the_empty_translation() -> None:
    model = build_model()
    ((best,),) = Beam(length_ratio=0.01, length_margin=0)(model, (sentences([4]),))
    ((greedy,),) = Greedy(length_ratio=0.01, length_margin=0)(model, (sentences([4]),))
    assert best.symbols == greedy.symbols == ()


def test_a_beam_may_be_wider_than_what_can_be_said() -> None:
    model = Written(lambda word, prefix: {A: 0.6, EOS: 0.4} if len(prefix) < 2 else {EOS: 1.0})
    (hypotheses,) = Beam(size=50, normalization="none")(model, (sentences([A]),), n_best=9)
    assert texts(hypotheses) == [(), (A, A), (A,)]
    assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx([math.log(p) for p in (0.4, 0.36, 0.24)])


def test_only_what_is_within_the_beam_may_end() -> None:
    """The end is the third best continuation: a beam of two does not take it, a beam of three does."""

    def chances(word: int, prefix: Prefix) -> Chances:
        return {(): {A: 0.4, B: 0.35, EOS: 0.25}, (B,): {EOS: 0.6, C: 0.4}}.get(prefix, {EOS: 1.0})

    model, source = Written(chances), (sentences([A]),)
    (two,) = Beam(size=2, normalization="none")(model, source, n_best=2)
    (three,) = Beam(size=3, normalization="none")(model, source, n_best=3)
    assert texts(two) == [(A,), (B,)]
    assert texts(three) == [(A,), (), (B,)]


def test_an_end_behind_the_beam_is_not_taken_though_the_beam_has_room() -> None:
    """A ends first and leaves a place: B's end is the third best of a beam of two, and A C C is found instead."""

    def chances(word: int, prefix: Prefix) -> Chances:
        if prefix == (A,):
            return {EOS: 0.5, C: 0.45, B: 0.05}
        if prefix == (A, C):
            return {EOS: 0.2, C: 0.8}
        return {(): {A: 0.6, B: 0.4}, (B,): {EOS: 0.6, A: 0.4}}.get(prefix, {EOS: 1.0})

    (hypotheses,) = Beam(size=2, normalization="none")(Written(chances), (sentences([A]),), n_best=2)
    assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx([math.log(0.3), math.log(0.27 * 0.8)])
    assert texts(hypotheses) == [(A,), (A, C, C)]
    (three,) = Beam(size=3, normalization="none")(Written(chances), (sentences([A]),), n_best=3)
    assert texts(three) == [(A,), (B,), (A, C, C)]


def test_of_equally_good_hypotheses_the_one_that_ended_first_comes_first() -> None:
    """Nothing at all has a quarter, A a half of a half: their logarithms are the same number."""

    def chances(word: int, prefix: Prefix) -> Chances:
        return {
            (): {A: 0.5, EOS: 0.25, B: 0.15, C: 0.1},
            (A,): {EOS: 0.5, B: 0.3, C: 0.2},
        }.get(prefix, {EOS: 1.0})

    model, source = Written(chances), (sentences([A]),)
    (both,) = Beam(size=2, normalization="none")(model, source, n_best=2)
    assert both[0].score == both[1].score
    assert texts(both) == [(), (A,)]
    ((one,),) = Beam(size=2, normalization="none")(model, source)
    assert one.symbols == ()


def drawn(seed: int, prefix: Prefix) -> Chances:
    """Random chances of the end and three words after each prefix."""
    chances = np.random.default_rng([seed, *prefix]).dirichlet([0.7] * 4)
    return dict(zip((EOS, A, B, C), chances.tolist(), strict=True))


def plain_beam(seed: int, size: int, longest: int, ranking: Ranking) -> list[tuple[float, Prefix]]:
    """Beam search in its plainest form, to the limit; all that ended, the best first."""
    beam: list[tuple[float, Prefix]] = [(0.0, ())]
    finished = []
    for length in range(longest + 1):
        continued = sorted(
            (
                (total + math.log(chance), prefix, symbol)
                for total, prefix in beam
                for symbol, chance in drawn(seed, prefix).items()
                if length < longest or symbol == EOS
            ),
            reverse=True,
        )
        finished += [
            (ranking.rank(total, length + 1), prefix) for total, prefix, symbol in continued[:size] if symbol == EOS
        ]
        beam = [(total, (*prefix, symbol)) for total, prefix, symbol in continued if symbol != EOS][:size]
    return sorted(finished, reverse=True)


@pytest.mark.spec("F4")
@pytest.mark.parametrize("size", [1, 2, 3, 6])
@pytest.mark.parametrize("normalization", KINDS)
def test_a_beam_of_any_width_is_the_plain_one(normalization: NormalizationKind, size: int) -> None:
    """Also where it drops what an exhaustive search would keep."""
    search = Beam(size=size, normalization=normalization, **SHORT)
    for seed in range(15):

        def of_prefix(word: int, prefix: tuple[int, ...], seed: int = seed) -> Mapping[int, float]:
            return drawn(seed, prefix)

        (hypotheses,) = search(Written(of_prefix), (sentences([A]),), n_best=size)
        wanted = plain_beam(seed, size, LONGEST, Ranking(normalization, 1.0))[:size]
        assert texts(hypotheses) == [prefix for _, prefix in wanted]
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx([rank for rank, _ in wanted])


def test_what_the_model_rules_out_is_not_found() -> None:
    model = Written(lambda word, prefix: {A: 1.0} if len(prefix) < 3 else {EOS: 1.0})
    (hypotheses,) = Beam(size=5)(model, (sentences([A]),), n_best=5)
    assert texts(hypotheses) == [(A,) * 3]


@pytest.mark.parametrize("spare", [0, 1, 3, 50])
def test_spare_hypotheses_follow_and_change_nothing(spare: int) -> None:
    """They are those that had ended when as many as asked for were found; nothing is searched for their sake."""
    model, source = build_model(seed=3), (sentences(*SOURCES),)
    search = Beam(size=6, normalization="none")
    for few, more in zip(search(model, source, 2), search(model, source, 2, spare), strict=True):
        assert texts(more[:2]) == texts(few)
        assert len(few) <= len(more) <= 2 + spare
        scores = [hypothesis.score for hypothesis in more]
        assert scores == sorted(scores, reverse=True)
        assert len(set(texts(more))) == len(more)
    if spare == 50:
        assert max(map(len, search(model, source, 2, spare))) > 2


def test_what_ends_leaves_its_place_in_the_beam_to_another() -> None:
    """The end is the best continuation: a beam of two still goes on with the two best words, and the second wins."""

    def chances(word: int, prefix: Prefix) -> Chances:
        return {(): {EOS: 0.5, A: 0.3, B: 0.2}, (A,): {EOS: 0.5, A: 0.5}}.get(prefix, {EOS: 1.0})

    (hypotheses,) = Beam(size=2, normalization="none")(Written(chances), (sentences([A]),), n_best=2)
    assert texts(hypotheses) == [(), (B,)]


@pytest.mark.spec("F4")
@pytest.mark.parametrize("later", [0.46, 0.44])
def test_a_search_goes_on_while_an_open_hypothesis_could_win(later: float) -> None:
    """Nothing at all has 0.45; A has a little more or a little less, and then ends for certain."""
    model = Written(lambda word, prefix: {EOS: 1.0} if prefix else {EOS: 0.45, A: later, B: 0.55 - later})
    ((best,),) = Beam(size=2, normalization="none")(model, (sentences([A]),))
    assert best.symbols == ((A,) if later > 0.45 else ())


def test_equal_hypotheses_are_all_found_and_none_twice() -> None:
    """Everything is equally probable: 1, 4 and 16 translations of 0, 1 and 2 words, each word among four."""
    words = [UNK, A, B, C]
    model = Written(lambda word, prefix: {EOS: 1.0} if len(prefix) == 2 else {EOS: 0.2, **dict.fromkeys(words, 0.2)})
    search = Beam(size=30, normalization="none")
    (hypotheses,) = search(model, (sentences([A]),), n_best=30)
    assert len(hypotheses) == len(set(texts(hypotheses))) == 21
    assert hypotheses[0].symbols == ()
    assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx([math.log(0.2)] + [math.log(0.04)] * 20)
    (again,) = search(model, (sentences([A]),), n_best=30)
    assert texts(again) == texts(hypotheses)


@pytest.mark.slow
@pytest.mark.spec("F4")
@every_two({"width": [(1, 1), (2, 1), (2, 2), (5, 1), (5, 4)], "normalization": KINDS, "penalty": [0.0, 0.3]})
def test_stopping_early_loses_nothing(
    width: tuple[int, int], normalization: NormalizationKind, penalty: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that goes on to the limit whatever it has found finds nothing better, but takes more steps."""
    (size, n_best), steps = width, {"early": 0, "late": 0}
    for seed in range(4):
        model = build_model(seed=seed, symbols=SYMBOLS, spread=1.5)
        search = Beam(size=size, normalization=normalization, alpha=0.8, length_margin=5, coverage_penalty=penalty)
        source = (sentences(*SOURCES),)
        with monkeypatch.context() as patch:
            count(patch, steps, "early")
            results = search(model, source, n_best)
        with monkeypatch.context() as patch:
            count(patch, steps, "late")
            patch.setattr(BestFinished, "done", lambda self, sentence, limit: False)
            expected = search(model, source, n_best)
        for one, other in zip(results, expected, strict=True):
            assert texts(one) == texts(other)
            assert [hypothesis.score for hypothesis in one] == pytest.approx([hypothesis.score for hypothesis in other])
    assert steps["early"] < steps["late"]


def count(patch: pytest.MonkeyPatch, steps: dict[str, int], name: str) -> None:
    """Count the rows that a model reads under that name."""
    real = Seq2Seq.predict

    def counted(self: Seq2Seq, symbols: torch.Tensor, state: Any) -> Any:
        steps[name] += len(symbols)
        return real(self, symbols, state)

    patch.setattr(Seq2Seq, "predict", counted)


def test_no_sentence_of_a_batch_waits_for_another() -> None:
    """One sentence ends at once, one late; their order is kept."""

    def chances(word: int, prefix: Prefix) -> Chances:
        if word == A:
            return {EOS: 0.99, B: 0.01}
        return {C: 0.98, A: 0.02} if len(prefix) < 6 else {EOS: 1.0}

    results = Beam(size=3, normalization="none")(Written(chances), (sentences([B], [A], [B], [A]),))
    assert [texts(hypothesis)[0] for hypothesis in results] == [(C,) * 6, (), (C,) * 6, ()]


def drawn_chances(draw: np.random.Generator) -> dict[Prefix, Chances]:
    """The chances of A, B, C and the end after every prefix of at most LONGEST symbols."""
    chances: dict[Prefix, Chances] = {}
    prefixes: list[Prefix] = [()]
    for _ in range(LONGEST):
        chances |= {prefix: dict(zip((EOS, A, B, C), draw.dirichlet([0.5] * 4), strict=True)) for prefix in prefixes}
        prefixes = [(*prefix, symbol) for prefix in prefixes for symbol in (A, B, C)]
    return chances | {key: {EOS: 1.0} for key in prefixes}


def shrunk(chances: Mapping[Prefix, Chances], size: int, alpha: float) -> list[tuple[Prefix, float]]:
    """The beam of Marian by plain loops: of `size` continuations, those that end give up their places for good."""
    beam: list[tuple[Prefix, float]] = [((), 0.0)]
    finished: list[tuple[Prefix, float]] = []
    places = size
    while places and beam:
        continued = [
            ((*prefix, symbol), log_prob + math.log(chance))
            for prefix, log_prob in beam
            for symbol, chance in chances[prefix].items()
        ]
        best = sorted(continued, key=lambda one: -one[1])[:places]
        finished += [(prefix[:-1], log_prob / len(prefix) ** alpha) for prefix, log_prob in best if prefix[-1] == EOS]
        beam = [one for one in best if one[0][-1] != EOS]
        places = len(beam)
    return sorted(finished, key=lambda one: -one[1])


@pytest.mark.spec("J6")
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("size", [1, 2, 3, 6])
@pytest.mark.parametrize("seed", range(6))
def test_a_shrinking_beam_is_that_of_plain_loops(seed: int, size: int, alpha: float) -> None:
    """Of each sentence of a batch, whose beams shrink at different times."""
    draw = np.random.default_rng(seed)
    chances = {word: drawn_chances(draw) for word in (A, B, C)}
    model = Written(lambda word, prefix: chances[word][prefix])
    normalization: NormalizationKind = "length" if alpha else "none"
    search = Beam(size=size, normalization=normalization, alpha=alpha or 1.0, shrink=True, **SHORT)
    batch = search(model, (sentences([A], [B], [C]),), n_best=size)
    for hypotheses, table in zip(batch, chances.values(), strict=True):
        wanted = shrunk(table, size, alpha)
        assert texts(hypotheses) == [prefix for prefix, _ in wanted]
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx([score for _, score in wanted])


@pytest.mark.spec("J6")
@pytest.mark.parametrize("seed", range(6))
def test_a_shrinking_beam_keeps_its_places_for_required_terms(seed: int) -> None:
    """Ends come before better hypotheses there, and would take their places. Another sentence of the batch shrinks."""
    draw = np.random.default_rng(seed)
    chances = {word: drawn_chances(draw) for word in (A, B)}
    model = Written(lambda word, prefix: chances[word][prefix])
    required = PhraseConstraint([SentencePhrases([[(C, B)]]), SentencePhrases([])], torch.device("cpu"))
    results = {}
    for shrink in (True, False):
        search = Beam(size=3, shrink=shrink, **SHORT)
        results[shrink] = [
            texts(hypotheses) for hypotheses in search(model, (sentences([A], [B]),), n_best=3, constraint=required)
        ]
    assert results[True][0] == results[False][0]
    assert results[True][1] == [prefix for prefix, _ in shrunk(chances[B], 3, 1.0)]


@pytest.mark.spec("J6")
def test_a_shrinking_beam_may_miss_what_a_beam_of_the_same_size_finds() -> None:
    """The end that comes first takes the place of the better hypothesis, which had the second place."""
    chances: dict[Prefix, Chances] = {(): {EOS: 0.5, A: 0.3, B: 0.2}, (A,): {EOS: 0.5, C: 0.5}, (B,): {EOS: 1.0}}
    model = Written(lambda word, prefix: chances.get(prefix, {EOS: 1.0}))
    options: dict[str, Any] = {"size": 2, "alpha": 5.0, **SHORT}
    (shrinking,) = Beam(shrink=True, **options)(model, (sentences([A]),), n_best=1)
    (plain,) = Beam(**options)(model, (sentences([A]),), n_best=1)
    assert plain[0].score > shrinking[0].score
