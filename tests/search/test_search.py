"""What every search keeps to: its options, how many it gives, and what it needs of a model."""

import copy
import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.configuration import components
from dragoman.configuration.components import Spec, find_problems
from dragoman.data.batch import SourceBatch
from dragoman.data.vocabulary import BOS, EOS, SPECIALS
from dragoman.errors import UserError
from dragoman.model.attention.scores import SCORES
from dragoman.model.output.output import Readout
from dragoman.model.predictor import Prediction, Predictor
from dragoman.model.seq2seq import ModelState, Seq2Seq
from dragoman.model.state import select_rows
from dragoman.search.beam import Beam
from dragoman.search.constraints import Prefix as ForcedPrefix
from dragoman.search.diverse import Diverse
from dragoman.search.exhaustive import Exhaustive
from dragoman.search.greedy import Greedy
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.limits import LengthLimit
from dragoman.search.sampling import Sample
from dragoman.search.search import Search
from dragoman.search.strategy import Strategy
from dragoman.search.table import SEARCHES, has_beam, in_place_of, with_beam, with_width
from tests.builders import BATCH, build_model, sentences
from tests.golden import Golden
from tests.search.toys import A, B, C, Chances, Prefix, Written

SOURCES = [[4, 5], [5], [4, 4, 5]]
STATES = [{"attend": "before", "input_feeding": "attentional", "cell": "lstm", "layers": 2}, {"attend": "between"}]
EVERY: dict[str, Search] = {"greedy": Greedy(), "beam": Beam(size=3), "sample": Sample(temperature=0.0)}
PROVED: dict[str, Search] = {**EVERY, "diverse": Diverse(size=2, groups=2), "exhaustive": Exhaustive()}
SEEDS = (1, 2, 3)
searches = pytest.mark.parametrize(
    "search",
    [
        pytest.param(search, id=name, marks=pytest.mark.slow if name == "exhaustive" else [])
        for name, search in PROVED.items()
    ],
)
stepwise = pytest.mark.parametrize("search", EVERY.values(), ids=EVERY)


@pytest.mark.parametrize("kind", SEARCHES)
def test_all_searches_limit_lengths_alike_by_default(kind: str) -> None:
    options = components.complete(SEARCHES, Spec(kind)).options
    limits = ("length_ratio", "length_margin", "min_length_ratio", "min_length_margin")
    assert [options[name] for name in limits] == [2.0, 10, 0.0, 0]


class Mean(Predictor[tuple[ModelState, ...]]):
    """Models that translate together: the mean of their probabilities, and of their attention."""

    start_id = BOS

    def __init__(self, *models: Seq2Seq) -> None:
        self.models = models

    def begin(self, sources: tuple[SourceBatch, ...]) -> tuple[ModelState, ...]:
        return tuple(model.begin(sources) for model in self.models)

    def predict(self, symbols: Tensor, state: tuple[ModelState, ...]) -> Prediction[tuple[ModelState, ...]]:
        predictions = [model.predict(symbols, own) for model, own in zip(self.models, state, strict=True)]
        probabilities = torch.stack([one.log_probs.exp() for one in predictions]).mean(0)
        attention = torch.stack([one.attention[0] for one in predictions]).mean(0)
        return Prediction(probabilities.log(), (attention,), tuple(one.state for one in predictions))

    def reorder(
        self, state: tuple[ModelState, ...], rows: Tensor, sentences: Tensor | None = None
    ) -> tuple[ModelState, ...]:
        return tuple(model.reorder(own, rows, sentences) for model, own in zip(self.models, state, strict=True))


class Brief(Predictor[ModelState]):
    """A model that leaves out what is not among the `count` most probable symbols of a row, and records how much."""

    def __init__(self, model: Seq2Seq, count: int | None = None) -> None:
        self.start_id, self.model, self.count = model.start_id, model, count
        self.left: list[int] = []

    def begin(self, sources: tuple[SourceBatch, ...]) -> ModelState:
        return self.model.begin(sources)

    def predict(self, symbols: Tensor, state: ModelState) -> Prediction[ModelState]:
        whole = self.model.predict(symbols, state)
        if self.count is None:
            return whole
        best = whole.log_probs.topk(min(self.count + len(SPECIALS), whole.log_probs.size(1))).indices.flatten()
        ids = torch.unique(torch.cat([best, torch.arange(len(SPECIALS))]))
        self.left.append(len(ids))
        return replace(whole, log_probs=whole.log_probs[:, ids], ids=ids)

    def reorder(self, state: ModelState, rows: Tensor, sentences: Tensor | None = None) -> ModelState:
        return self.model.reorder(state, rows, sentences)

    def most_probable(self, count: int) -> "Brief":
        self.count = count
        return self


@pytest.mark.parametrize("at_least", [0, 3])
@searches
def test_a_search_needs_only_the_symbols_that_it_considers(search: Search, at_least: int) -> None:
    """Those that consider a few find the same among them; under a constraint any symbol may be due."""
    model = build_model(symbols=40, seed=3, spread=1.0)
    search = copy.copy(search)
    search.limit = LengthLimit(1.0, 2, 0.0, at_least)
    brief, source = Brief(model), sentences(*SOURCES)
    wanted = search(model, (source,), seeds=SEEDS)
    results = search(brief, (source,), seeds=SEEDS)
    for one, other in zip(wanted, results, strict=True):
        assert [hypothesis.symbols for hypothesis in one] == [hypothesis.symbols for hypothesis in other]
        for mine, its in zip(one, other, strict=True):  # products of other numbers of rows may round otherwise
            assert mine.log_probs == pytest.approx(its.log_probs, rel=1e-12)
    assert all(count < 40 for count in brief.left)
    assert bool(brief.left) != isinstance(search, Sample)  # which may draw any symbol
    if not isinstance(search, Exhaustive):
        forced = ForcedPrefix(torch.tensor([[39]] * len(SOURCES)))
        for best, *_ in search(Brief(model), (source,), constraint=forced, seeds=SEEDS):
            assert best.symbols[0] == 39


@pytest.mark.parametrize("decoder", STATES)
def test_a_model_predicts_by_its_step(decoder: dict[str, Any]) -> None:
    model = build_model(decoder=decoder)
    state = model.begin(BATCH.sources)
    symbols = torch.tensor([4, 5, 6])
    prediction, expected = model.predict(symbols, state), model.step(symbols, state)
    assert torch.equal(prediction.log_probs, model.output.log_probs(Readout(expected.features)))
    assert torch.equal(prediction.attention[0], expected.weights)
    assert len(prediction.attention) == 1


@pytest.mark.parametrize("decoder", STATES)
def test_reordered_rows_go_on_as_if_all_of_their_state_had_moved(decoder: dict[str, Any]) -> None:
    """Two rows a sentence, which have read other symbols; rows change places with those of their own sentence."""
    model = build_model(decoder=decoder)
    twice = select_rows(model.begin(BATCH.sources), torch.tensor([0, 0, 1, 1, 2, 2]))
    state = model.predict(torch.tensor([4, 5, 6, 7, 8, 4]), twice).state
    rows, symbols = torch.tensor([1, 0, 2, 2, 5, 4]), torch.tensor([5, 5, 6, 7, 4, 8])
    reordered = model.reorder(state, rows)
    assert reordered.source_state is state.source_state
    prediction, expected = model.predict(symbols, reordered), model.predict(symbols, select_rows(state, rows))
    assert torch.equal(prediction.log_probs, expected.log_probs)
    assert torch.equal(prediction.attention[0], expected.attention[0])
    assert not torch.allclose(prediction.log_probs, model.predict(symbols, state).log_probs)


@pytest.mark.parametrize("score", [*sorted(SCORES), "none"])
@pytest.mark.parametrize("decoder", STATES)
def test_the_source_is_there_once_for_all_rows_of_a_sentence(decoder: dict[str, Any], score: str) -> None:
    """Three rows a sentence, of which one leaves: as with a source for each row."""
    if score == "none" and (decoder.get("attend", "after") != "after" or decoder.get("input_feeding") == "context"):
        pytest.skip("requires attention")
    model = build_model(decoder=decoder, score=score)
    begun = model.predict(torch.tensor([4, 5, 6]), model.begin(BATCH.sources)).state
    shared = copied = begun
    for words, rows, left in (
        ([], [0, 0, 0, 1, 1, 1, 2, 2, 2], None),
        ([4, 5, 6, 7, 8, 4, 5, 6, 7], [2, 0, 1, 7, 7, 8], [0, 2]),
        ([8, 8, 7, 7, 6, 6], [1, 4], None),
    ):
        if words:
            prediction, expected = (model.predict(torch.tensor(words), state) for state in (shared, copied))
            assert torch.allclose(prediction.log_probs, expected.log_probs, rtol=1e-12, atol=1e-12)
            assert torch.allclose(prediction.attention[0], expected.attention[0], rtol=1e-12, atol=1e-12)
            shared, copied = prediction.state, expected.state
        shared = model.reorder(shared, torch.tensor(rows), None if left is None else torch.tensor(left))
        copied = select_rows(copied, torch.tensor(rows))
        assert len(shared.source_state.decoder.mask) == (3 if len(rows) == 9 else 2)


@searches
def test_models_can_be_searched_together(search: Search) -> None:
    """A model with itself finds what it finds alone; with another it finds the mean of both."""
    one, other = build_model(seed=1, spread=1.5), build_model(seed=2, spread=1.5, decoder={"attend": "between"})
    assert isinstance(one, Predictor)
    assert isinstance(Mean(one), Predictor)
    source = (sentences(*SOURCES),)
    for (hypothesis,), (expected,) in zip(
        search(Mean(one, one), source, seeds=SEEDS), search(one, source, seeds=SEEDS), strict=True
    ):
        assert hypothesis.symbols == expected.symbols
        assert hypothesis.score == pytest.approx(expected.score)
        assert hypothesis.attention[0] == pytest.approx(expected.attention[0], abs=1e-6)
    mixed: list[Hypothesis] = [best for (best,) in search(Mean(one, other), source, seeds=SEEDS)]
    assert mixed != [best for (best,) in search(one, source, seeds=SEEDS)]
    for words, best in zip(SOURCES, mixed, strict=True):
        mean = Mean(one, other)
        state, symbol, total = mean.begin((sentences(words),)), BOS, torch.tensor(0.0)
        for prefix in (*best.symbols, EOS):
            step = mean.predict(torch.tensor([symbol]), state)
            state, symbol, total = step.state, prefix, total + step.log_probs[0, prefix]
        assert best.log_prob == pytest.approx(total.item())


def late_or_early(word: int, prefix: Prefix) -> Chances:
    """Sources that begin with A: nothing at all; others C six times, or nearly so."""
    if word == A:
        return {EOS: 0.99, B: 0.01}
    return {C: 0.98, A: 0.02} if len(prefix) < 6 else {EOS: 1.0}


@searches
def test_every_hypothesis_has_its_attention_on_every_source(search: Search) -> None:
    """Two sources; at step t a row attends to position t of each, or to its last one."""
    sources = sentences([B, C], [A], [B, A, A]), sentences([B], [B, A, A, A], [])
    results = search(Written(late_or_early), sources, seeds=SEEDS)
    assert [best.symbols for (best,) in results] == [(C,) * 6, (), (C,) * 6]
    for (best,), lengths in zip(results, [(3, 2), (2, 5), (4, 1)], strict=True):
        for attention, length in zip(best.attention, lengths, strict=True):
            assert attention.shape == (len(best.symbols) + 1, length)
            assert attention.argmax(1).tolist() == [min(t, length - 1) for t in range(len(best.symbols) + 1)]


GREEDY = {"sample": {"temperature": 0.0}}


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize(
    ("options", "lengths"),
    [
        ({"min_length_margin": 3}, [3, 3]),
        ({"min_length_ratio": 1.0}, [2, 5]),
        ({"min_length_ratio": 0.3, "min_length_margin": 1}, [2, 3]),
        ({"min_length_margin": 9, "length_ratio": 0.0, "length_margin": 4}, [4, 4]),
        ({"length_ratio": 0.0, "length_margin": 0}, [0, 0]),
    ],
)
def test_a_translation_is_as_long_as_it_must_be(kind: str, options: dict[str, Any], lengths: list[int]) -> None:
    """Of sources of two and five symbols with the end; the longest possible length counts more than the shortest."""
    model = Written(lambda word, prefix: {EOS: 0.9, A: 0.1})
    results = components.build(SEARCHES, Spec(kind, {**GREEDY.get(kind, {}), **options}))(
        model, (sentences([A], [A] * 4),), seeds=SEEDS[:2]
    )
    assert [len(best.symbols) for best, *_ in results] == lengths
    assert results[0][0].log_prob == pytest.approx(math.log(0.1) * lengths[0] + math.log(0.9))


def test_the_end_comes_early_where_nothing_else_may_follow() -> None:
    """However long the translation should be."""
    search = Greedy(min_length_margin=5)
    ((best,),) = search(Written(lambda word, prefix: {A: 1.0} if not prefix else {EOS: 1.0}), (sentences([A]),))
    assert best.symbols == (A,)


@stepwise
def test_a_model_is_given_no_row_in_vain(search: Search) -> None:
    """One row for the first step of a sentence, then as many as are open, none for a sentence that is done. What
    belongs to the source is moved when sentences leave, and not from step to step; no state is moved to where it is.
    """
    rows, masks, moves = [], [], []

    class StreamState(Written):
        def predict(self, symbols: Tensor, state: Any) -> Any:
            rows.append(len(symbols))
            masks.append(state.masks[0])
            return super().predict(symbols, state)

        def reorder(self, state: Any, rows: Tensor, sentences: Tensor | None = None) -> Any:
            moves.append(rows.tolist())
            return super().reorder(state, rows, sentences)

    results = search(StreamState(late_or_early), (sentences([A], [B], [A]),), seeds=SEEDS)
    assert [best.symbols for (best,) in results] == [(), (C,) * 6, ()]
    assert rows == [3] + [search.rows(1)] * 6
    assert all(mask is masks[1] for mask in masks[1:])
    assert moves[0] == [1] * search.rows(1)
    assert all(move != list(range(search.rows(1))) for move in moves[1:])


@searches
def test_there_is_a_translation_even_if_the_model_rules_the_end_out(search: Search) -> None:
    results = search(Written(lambda word, prefix: {A: 1.0}), (sentences([A], [B, B]),), seeds=SEEDS)
    assert [best.symbols for (best,) in results] == [(A,) * 14, (A,) * 16]
    assert all(-math.inf < best.score < -1e30 for (best,) in results)


@searches
def test_no_more_can_be_asked_for_than_a_search_follows(search: Search, golden: Golden) -> None:
    model, source = build_model(), (sentences(*SOURCES),)
    assert [len(hypotheses) for hypotheses in search(model, source, search.width, seeds=SEEDS)] == [search.width] * 3
    for n_best in (0, search.width + 1):
        with pytest.raises(UserError, match=f"^n-best {n_best}:") as raised:
            search(model, source, n_best, seeds=SEEDS)
        golden(str(raised.value))


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("beam", {"siz": 3}, "did you mean 'size'"),
        ("beam", {"size": 0}, "at least 1"),
        ("beam", {"size": 1_000_000}, "at most 1000"),
        ("beam", {"normalization": "lenght"}, "did you mean 'length'"),
        ("beam", {"alpha": -0.1}, "at least 0"),
        ("beam", {"alpha": 1e300}, "at most 10"),
        ("greedy", {"length_margin": -1}, "at least 0"),
        ("greedy", {"length_margin": 10**30}, "at most 1000"),
        ("beam", {"length_ratio": -0.5}, "at least 0"),
        ("beam", {"min_length_ratio": -0.5}, "at least 0"),
        ("sample", {"min_length_margin": -1}, "at least 0"),
        ("diverse", {"groups": 0}, "at least 1"),
        ("diverse", {"strength": -1.0}, "at least 0"),
        ("beam", {"length_ratio": 1e300}, "at most 100"),
        ("greedy", {"length_ratio": 1e300}, "at most 100"),
        ("greedy", {"size": 3}, "unknown key"),
        ("sample", {"temperature": -0.5}, "at least 0"),
        ("sample", {"top_p": 0.0}, "more than 0"),
        ("sample", {"typical": 1.5}, "at most 1"),
        ("sample", {"epsilon": 1.0}, "less than 1"),
        ("sample", {"top_k": 0}, "at least 1"),
        ("sample", {"seed": -1}, "at least 0"),
        ("exhaustive", {"steps": 0}, "at least 1"),
        ("exhaustive", {"beam": 0}, "at least 1"),
    ],
)
def test_options_that_cannot_work_are_refused(kind: str, options: dict[str, object], message: str) -> None:
    (hypotheses,) = find_problems(SEARCHES, Spec(kind, options), ("search",))
    assert hypotheses.path == ("search", *options)
    assert message in hypotheses.message


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec",
    [
        Spec("greedy", {"length_ratio": 100, "length_margin": 1000}),
        Spec("beam", {"size": 1000, "normalization": "gnmt", "alpha": 10, "length_ratio": 100, "length_margin": 1000}),
        Spec("beam", {"size": 2, "alpha": 10, "length_ratio": 100, "length_margin": 1000}),
        Spec("beam", {"size": 1, "length_ratio": 1e-300, "length_margin": 0}),
        Spec("sample", {"temperature": 100, "top_k": 10**9, "epsilon": 0.999, "top_p": 1e-300, "typical": 1e-300}),
        Spec("sample", {"temperature": 1e-300, "length_ratio": 100, "length_margin": 1000}),
    ],
    ids=str,
)
def test_the_widest_options_work(spec: Spec) -> None:
    """A source of 500 symbols; 20 are written, unless the limit is narrower."""
    model = Written(lambda word, prefix: {A: 1.0} if len(prefix) < 20 else {EOS: 1.0})
    search = components.build(SEARCHES, spec)
    ((best,),) = search(model, (sentences([A] * 499),), seeds=SEEDS[:1])
    assert best.symbols == (() if spec.options.get("length_ratio", 2) < 1 else (A,) * 20)


def test_a_search_is_read_from_its_name_or_with_options(golden: Golden) -> None:
    assert components.read(SEARCHES, "greedy") == Spec("greedy")
    assert components.read(SEARCHES, "{kind: sample, top_p: 0.9}") == Spec("sample", {"top_p": 0.9})
    for text in ("", "{size: 3}", "{kind: beam"):
        with pytest.raises(UserError, match=r"^unknown kind '"):
            components.read(SEARCHES, text)
    for text in ("gredy", "[beam]", "{kind: beam, siz: 3}", "{kind: beam, size: many}"):
        with pytest.raises(UserError) as raised:
            components.read(SEARCHES, text)
        golden(str(raised.value), text)


class Triangular(Search):
    """A search with a beam of its own."""

    def __init__(self, *, size: int = 4, groups: int = 2) -> None: ...

    def strategy(self, sources: tuple[SourceBatch, ...], n_best: int, spare: int) -> Strategy:
        raise NotImplementedError


def test_a_beam_is_of_whatever_search_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SEARCHES, "triangular", Triangular)
    assert [kind for kind in SEARCHES if has_beam(kind)] == ["beam", "diverse", "triangular"]
    assert with_beam(Spec("triangular", {"size": 6, "groups": 3}), 9) == Spec("triangular", {"size": 9, "groups": 3})
    assert with_beam(Spec("beam", {"alpha": 0.5}), 9) == Spec("beam", {"alpha": 0.5, "size": 9})
    assert with_beam(Spec("greedy", {"length_ratio": 3.0}), 9) == Spec("beam", {"size": 9, "length_ratio": 3.0})


def test_another_search_keeps_the_options_that_it_has_too() -> None:
    """But for those that it gives itself."""
    lengths = {"length_ratio": 0.5, "length_margin": 2, "min_length_ratio": 0.1, "min_length_margin": 1}
    own = Spec("beam", {"size": 7, "alpha": 0.5, "coverage_penalty": 0.2, **lengths})
    assert in_place_of(own, Spec("sample")) == Spec("sample", lengths)
    assert in_place_of(own, Spec("greedy", {"length_ratio": 1.0})) == Spec("greedy", {**lengths, "length_ratio": 1.0})
    assert in_place_of(own, Spec("diverse", {"size": 1})) == Spec("diverse", {"size": 1, "alpha": 0.5, **lengths})
    assert with_width(Spec("exhaustive", {"beam": 3, **lengths}), 9) == Spec("beam", {"size": 9, **lengths})
