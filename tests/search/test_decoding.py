"""The one loop of all searches, tried with toys: draws, demands, spellings, figures, a deadline."""

import random
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, final

import pytest
import torch
from torch import Tensor

from dragoman.data.batch import SourceBatch
from dragoman.data.vocabulary import EOS, PAD, UNK
from dragoman.errors import UserError
from dragoman.model.predictor import Candidate, Continuations, Prediction, Predictor, RestrictedPredictor
from dragoman.search.beam import Beam
from dragoman.search.constraints import Constraint, ConstraintProgress, Prefix
from dragoman.search.decoding import Deadline
from dragoman.search.ensemble import Ensemble
from dragoman.search.greedy import Greedy, SingleHypothesis
from dragoman.search.limits import LengthLimit
from dragoman.search.masking import mask_log_probs
from dragoman.search.sampling import Sample
from dragoman.search.search import Search
from dragoman.search.spans import PrefixFilter
from dragoman.search.strategy import Proposals, SentenceBeam, Strategy
from tests.builders import build_model, sentences
from tests.search.toys import A, B, C, Chances, State, Written, all_translations

SYMBOLS = 7
SOURCES = [[4, 5], [5, 6, 4], [4, 4], [6]]


@final
class Sampling(Search):
    """`x_t ~ P(x | x_1 .. x_(t-1))`, by the inverse of the cumulated probabilities."""

    draws = True
    width = 1

    def __init__(self) -> None:
        self.limit = LengthLimit(1.0, 6)

    def strategy(self, sources: tuple[SourceBatch, ...], n_best: int, spare: int) -> Strategy:
        return Drawn()


@final
class Drawn(SingleHypothesis):
    def propose(self, log_probs: Tensor, sentences: Sequence[SentenceBeam]) -> Proposals:
        draws = []
        for sentence in sentences:
            assert sentence.random is not None
            draws.append(torch.rand(1, generator=sentence.random, dtype=log_probs.dtype))
        sums = log_probs.exp().cumsum(2)
        columns = torch.searchsorted(sums, torch.stack(draws).unsqueeze(1) * sums[:, :, -1:]).squeeze(2)
        return Proposals(columns, log_probs.gather(2, columns.unsqueeze(1)).squeeze(1))


def test_what_is_drawn_for_a_sentence_does_not_depend_on_its_batch() -> None:
    model = build_model(seed=2, spread=1.0)
    seeds = [11, 12, 13, 14]
    together = Sampling()(model, (sentences(*SOURCES),), seeds=seeds)
    for source, seed, (drawn,) in zip(SOURCES, seeds, together, strict=True):
        ((alone,),) = Sampling()(model, (sentences(source),), seeds=[seed])
        assert alone.symbols == drawn.symbols
        assert alone.log_prob == pytest.approx(drawn.log_prob)
    other_results = Sampling()(model, (sentences(*SOURCES),), seeds=[seed + 100 for seed in seeds])
    assert [best.symbols for (best,) in other_results] != [best.symbols for (best,) in together]


def test_draws_are_as_frequent_as_they_are_probable() -> None:
    def chances(word: int, prefix: tuple[int, ...]) -> Chances:
        return {A: 0.5, B: 0.3, EOS: 0.2} if not prefix else {EOS: 1.0}

    count = 2000
    results = Sampling()(Written(chances), (sentences(*[[4]] * count),), seeds=range(count))
    firsts = [best.symbols[:1] for (best,) in results]
    for translation, chance in {(A,): 0.5, (B,): 0.3, (): 0.2}.items():
        assert firsts.count(translation) / count == pytest.approx(chance, abs=0.05)


def test_what_is_refused_of_one_sentence_is_not_drawn_again_for_another() -> None:
    """The first says no A; the others say what they say without it."""

    def chances(word: int, prefix: tuple[int, ...]) -> Chances:
        return {A: 0.5, B: 0.4, EOS: 0.1}

    def without(refused: int | None, count: int) -> PrefixFilter:
        return PrefixFilter(count, lambda place, prefix: place != refused or A not in prefix, torch.device("cpu"))

    def sampled_texts(sources: list[list[int]], seeds: list[int], refused: int | None) -> list[tuple[int, ...]]:
        constraint = without(refused, len(sources))
        results = Sampling()(Written(chances), (sentences(*sources),), constraint=constraint, seeds=seeds)
        return [best.symbols for (best,) in results]

    together = sampled_texts([[4]] * 20, list(range(20)), 0)
    assert A not in together[0]
    assert together[1:] == sampled_texts([[4]] * 19, list(range(1, 20)), None)
    assert together[1:] == [sampled_texts([[4]], [seed], None)[0] for seed in range(1, 20)]


@pytest.mark.slow
@pytest.mark.parametrize("search", [Sample(length_ratio=0.0, length_margin=7), Beam(size=4)], ids=["sample", "beam"])
def test_what_is_refused_of_a_sentence_depends_on_nothing_else_in_its_batch(search: Search) -> None:
    """A sample that ended leaves a row that only fills the batch up, of which all is refused in every third search."""
    differing: list[int] = []
    for seed in range(60):
        draw = random.Random(seed)
        table = [draw.choices(range(1, 9), k=4) for _ in range(40)]

        def chances(word: int, prefix: tuple[int, ...], table: list[list[int]] = table) -> Chances:
            weights = table[zlib.crc32(bytes((word, *prefix))) % len(table)]
            return {symbol: weight / sum(weights) for symbol, weight in zip((UNK, A, B, EOS), weights, strict=True)}

        def sampled_texts(words: list[int], seed: int = seed, model: Any = chances) -> list[list[tuple[int, ...]]]:
            def accepts(place: int, prefix: Sequence[int]) -> bool:
                return zlib.crc32(bytes((words[place], seed, *prefix))) % 3 != 0

            accepted = PrefixFilter(len(words), accepts, torch.device("cpu"))
            read, seeds = (sentences(*[[word] for word in words]),), [1000 * seed + word for word in words]
            results = search(Written(model), read, 4, constraint=accepted, seeds=seeds)
            return [[best.symbols for best in hypotheses] for hypotheses in results]

        if sampled_texts([A, B, C]) != [sampled_texts([word])[0] for word in (A, B, C)]:
            differing.append(seed)
    assert differing == []


@final
class Contains(Constraint):
    """A symbol that has to be said, each sentence's own."""

    def __init__(self, wanted: Tensor) -> None:
        self.wanted = wanted

    def start(self) -> Any:
        return self.wanted, torch.ones_like(self.wanted)

    def allowed(self, state: Any, symbols: Tensor) -> Tensor:
        return torch.ones(1, len(symbols), dtype=torch.bool)

    def advance(self, symbols: Tensor, state: Any) -> Any:
        wanted, missing = state
        return wanted, missing * (symbols != wanted)

    def progress(self, state: Any) -> ConstraintProgress:
        wanted, missing = state
        following = wanted.masked_fill(missing == 0, PAD)
        return ConstraintProgress(missing, torch.stack([following, torch.full_like(following, PAD)], 1))


WANTED = [4, 5, 6, 4]


@pytest.mark.parametrize("search", [Greedy(length_ratio=0.01, length_margin=3)])
def test_what_is_demanded_is_said_before_the_end_at_the_latest(search: Search) -> None:
    model = build_model(symbols=SYMBOLS, seed=1, spread=1.0)
    results = search(model, (sentences(*SOURCES),), constraint=Contains(torch.tensor(WANTED)))
    for wanted, (best,) in zip(WANTED, results, strict=True):
        assert wanted in best.symbols


def test_the_end_is_withheld_however_probable_it_is() -> None:
    def chances(word: int, prefix: tuple[int, ...]) -> Chances:
        return {EOS: 0.9, A: 0.09, C: 0.01}

    constraint, symbols = Contains(torch.tensor([C])), torch.tensor([EOS, A, C])
    for probable in ([0.9, 0.09, 0.01], [0.3, 0.69, 0.01]):
        log_probs = torch.tensor([probable]).log()
        assert mask_log_probs(log_probs, symbols, constraint, constraint.start())[0, 0] == float("-inf")
    results = Greedy()(Written(chances), (sentences([4]),), constraint=constraint)
    assert C in results[0][0].symbols


@pytest.mark.parametrize("size", [1, 2, 5])
def test_every_hypothesis_of_a_beam_says_what_is_demanded(size: int) -> None:
    """Even where the model nearly rules it out."""

    def chances(word: int, prefix: tuple[int, ...]) -> Chances:
        return {A: 0.6, EOS: 0.3, B: 0.0999, C: 0.0001}

    search = Beam(size=size, length_ratio=0.01, length_margin=4)
    results = search(Written(chances), (sentences([4], [5]),), size, constraint=Contains(torch.tensor([C, B])))
    for wanted, hypotheses in zip([C, B], results, strict=True):
        assert hypotheses
        for hypothesis in hypotheses:
            assert wanted in hypothesis.symbols


def test_a_beam_keeps_a_place_for_what_has_come_further() -> None:
    """However improbable what it said, and though others would say it in the end."""

    def chances(word: int, prefix: tuple[int, ...]) -> Chances:
        return {EOS: 1.0} if C in prefix else {A: 0.6, B: 0.3999, C: 0.0001}

    search = Beam(size=2, normalization="none", length_ratio=0.01, length_margin=4)
    ((best, *_),) = search(Written(chances), (sentences([4]),), constraint=Contains(torch.tensor([C])))
    assert best.symbols == (C,)


def test_a_beam_that_sees_everything_finds_the_best_of_those_that_say_it() -> None:
    model = build_model(symbols=SYMBOLS, seed=1, spread=1.0)
    size = 5 * 4**3
    search = Beam(size=size, normalization="none", length_ratio=0.01, length_margin=3)
    results = search(model, (sentences(*SOURCES),), 10, constraint=Contains(torch.tensor(WANTED)))
    for source, wanted, hypotheses in zip(SOURCES, WANTED, results, strict=True):
        all_scored = all_translations(model, source, SYMBOLS, 3)
        fitting = {prefix: log_prob for prefix, log_prob in all_scored.items() if wanted in prefix}
        best = sorted(fitting, key=fitting.__getitem__, reverse=True)[:10]
        assert [hypothesis.symbols for hypothesis in hypotheses] == best
        assert [hypothesis.log_prob for hypothesis in hypotheses] == pytest.approx([fitting[prefix] for prefix in best])


def test_a_prefix_may_be_longer_than_a_translation_would_be() -> None:
    def chances(word: int, symbols: tuple[int, ...]) -> Chances:
        return {EOS: 1.0}

    prefix = torch.tensor([[A, B, C, A], [A, PAD, PAD, PAD]])
    for search in (Greedy(length_ratio=0.01, length_margin=1), Beam(size=2, length_ratio=0.01, length_margin=1)):
        results = search(Written(chances), (sentences([4], [5]),), constraint=Prefix(prefix))
        assert [best.symbols for best, *_ in results] == [(A, B, C, A), (A,)]


class Spelling(Written):
    """Spells its unknown words in two ways, and knows a figure of each step."""

    def predict(self, symbols: Tensor, state: State) -> Prediction[State]:
        step = super().predict(symbols, state)
        figure = torch.full((len(symbols),), float(step.state.prefix.size(1)))
        return Prediction(step.log_probs, step.attention, step.state, statistics={"step": figure})

    def replace_candidates(self, candidates: Continuations, step: Prediction[State]) -> Continuations:
        return [self.spelled(candidate) for candidate in candidates]

    def spelled(self, candidates: Iterable[Candidate]) -> Iterable[Candidate]:
        for candidate in candidates:
            if candidate.symbol != UNK or candidate.surface is not None:
                yield candidate
                continue
            for surface, log_prob in (("Ann", -0.1), ("Anna", -2.4)):
                log_probs = candidate.log_prob + log_prob, candidate.total + log_prob
                yield candidate._replace(log_prob=log_probs[0], total=log_probs[1], surface=surface)


WRAPPED: dict[str, Callable[[Spelling], Predictor[Any]]] = {
    "alone": lambda model: model,
    "narrowed": lambda model: RestrictedPredictor(model, model.predict),
    "ensemble": lambda model: Ensemble([model, model], [1, 1]),
}


@pytest.mark.parametrize("way", WRAPPED)
def test_candidates_are_expanded_before_the_beam_is_pruned(way: str) -> None:
    def chances(word: int, prefix: tuple[int, ...]) -> Chances:
        return {UNK: 0.8, A: 0.2} if not prefix else {EOS: 1.0}

    model = WRAPPED[way](Spelling(chances))
    sources = (sentences([4]),) * (2 if way == "ensemble" else 1)
    ((one, two, three),) = Beam(size=3, normalization="none")(model, sources, 3)
    assert [one.surfaces, two.surfaces, three.surfaces] == [("Ann",), (None,), ("Anna",)]
    assert one.symbols == three.symbols == (UNK,)
    assert one.log_prob == pytest.approx(torch.tensor(0.8).log().item() - 0.1)
    assert one.statistics["step"].tolist() == [1.0, 2.0]


def test_a_search_ends_at_its_deadline() -> None:
    deadline = Deadline()
    steps = 0

    def chances(word: int, prefix: tuple[int, ...]) -> Chances:
        nonlocal steps
        steps += 1
        if len(prefix) == 2:
            deadline.cancel()
        return {A: 1.0}

    with pytest.raises(UserError, match=r"^cancelled$"):
        Greedy(length_margin=500)(Written(chances), (sentences([4]),), deadline=deadline)
    assert steps == 3
    passed = Deadline(0.01)
    time.sleep(0.02)
    with pytest.raises(UserError, match=r"^not translated within 0\.01 seconds$"):
        Greedy()(Written(chances), (sentences([4]),), deadline=passed)
