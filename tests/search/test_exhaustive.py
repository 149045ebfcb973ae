"""Exhaustive search, with the enumeration of all translations as its judge."""

import math
from itertools import pairwise
from typing import Any
from weakref import WeakSet

import pytest
import torch

from dragoman.data.vocabulary import EOS, UNK
from dragoman.errors import UserError
from dragoman.search import exhaustive
from dragoman.search.beam import Beam
from dragoman.search.constraints import Constraint, EditConstraint
from dragoman.search.constraints import Prefix as Forced
from dragoman.search.decoding import Deadline
from dragoman.search.exhaustive import Exhaustive
from dragoman.search.hypothesis import Paths
from dragoman.search.spans import PrefixFilter
from tests.builders import build_model, sentences
from tests.search.test_beam import LONGEST, MODELS, SHORT, SOURCES, SYMBOLS
from tests.search.test_decoding import Contains, Spelling
from tests.search.toys import A, B, C, Chances, Prefix, Written, all_translations


@pytest.mark.spec("F1")
@pytest.mark.parametrize("options", MODELS)
@pytest.mark.parametrize("n_best", [1, 7])
def test_the_best_of_all_translations_are_found_and_proved(options: dict[str, Any], n_best: int) -> None:
    """All 121 of up to four words, of three sources in a batch; a beam of one size more than asked for is the bound."""
    model = build_model(symbols=SYMBOLS, spread=1.0, **options)
    results = Exhaustive(beam=n_best + 1, **SHORT)(model, (sentences(*SOURCES),), n_best)
    for source, hypotheses in zip(SOURCES, results, strict=True):
        all_scored = all_translations(model, source, SYMBOLS, LONGEST)
        assert len(all_scored) == 121
        best = sorted(all_scored, key=all_scored.__getitem__, reverse=True)[:n_best]
        assert [hypothesis.symbols for hypothesis in hypotheses] == best
        assert [hypothesis.log_prob for hypothesis in hypotheses] == pytest.approx(
            [all_scored[prefix] for prefix in best]
        )
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx([all_scored[prefix] for prefix in best])
        assert [hypothesis.proved for hypothesis in hypotheses] == [True] * n_best


def garden_path(word: int, prefix: Prefix) -> Chances:
    """A begins well and is hopeless: 0.6 * 0.1; B begins badly and is certain: 0.3; nothing at all has 0.1."""
    if not prefix:
        return {A: 0.6, B: 0.3, EOS: 0.1}
    if len(prefix) == 1:
        return {EOS: 1.0} if prefix == (B,) else dict.fromkeys((A, B, C, EOS), 0.1) | {UNK: 0.6}
    return {EOS: 0.1, A: 0.9}


@pytest.mark.spec("F1")
def test_what_greedy_search_misses_is_found_with_its_log_probabilities_and_its_attention() -> None:
    search = Exhaustive(beam=1, length_ratio=0.01, length_margin=3)
    ((beam,),) = Beam(size=1, normalization="none", length_ratio=0.01, length_margin=3)(
        Written(garden_path), (sentences([A, C]),)
    )
    ((best,),) = search(Written(garden_path), (sentences([A, C]),))
    assert beam.symbols != (B,)
    assert best.symbols == (B,)
    assert best.log_probs == pytest.approx([math.log(0.3), 0.0])
    assert best.attention[0].tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


@pytest.mark.spec("F1")
def test_the_most_probable_translation_may_be_empty() -> None:
    """Though a beam of normalized length prefers what is longer (Stahlberg and Byrne 2019)."""

    def chances(word: int, prefix: Prefix) -> Chances:
        return {EOS: 0.15, A: 0.85} if len(prefix) < 20 else {EOS: 1.0}

    source = (sentences([A] * 10),)
    ((beam,),) = Beam(size=5)(Written(chances), source)
    ((best,),) = Exhaustive()(Written(chances), source)
    assert (len(beam.symbols), best.symbols) == (20, ())
    assert best.log_prob == pytest.approx(math.log(0.15))


class Counting(Written):
    """Counts the hypotheses that it continues."""

    rows = 0

    def predict(self, symbols: torch.Tensor, state: Any) -> Any:
        self.rows += len(symbols)
        return super().predict(symbols, state)


def certain(word: int, prefix: Prefix) -> Chances:
    """Words that are equally probable, until the fourth."""
    return {A: 0.3, B: 0.3, C: 0.3, EOS: 0.1} if len(prefix) < 4 else {EOS: 1.0}


@pytest.mark.spec("F1")
def test_what_cannot_become_better_is_not_continued() -> None:
    """log 0.1 is the best: what has 0.09 is not continued. The beam of one has continued five hypotheses."""
    model = Counting(certain)
    ((best,),) = Exhaustive(beam=1)(model, (sentences([A]),))
    assert best.symbols == ()
    assert best.proved
    assert model.rows <= 5 + 1 + 3


def test_what_would_take_too_long_is_not_proved() -> None:
    """The best so far is returned, as is all of another sentence."""

    def chances(word: int, prefix: Prefix) -> Chances:
        return certain(word, prefix) if word == A else {EOS: 0.9, B: 0.1}

    def hypotheses_within(steps: int) -> list[tuple[Prefix, bool | None]]:
        search = Exhaustive(beam=1, steps=steps)
        return [(best.symbols, best.proved) for (best,) in search(Written(chances), (sentences([A], [B]),))]

    assert hypotheses_within(3) == [((), False), ((), True)]
    assert hypotheses_within(4) == [((), True), ((), True)]


def test_what_a_sentence_took_is_released_before_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that memory is that of one sentence, however many are in the batch."""
    held, live_counts = WeakSet[Paths](), list[int]()

    class Counted(Paths):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            live_counts.append(len(held))
            held.add(self)

    monkeypatch.setattr(exhaustive, "Paths", Counted)
    results = Exhaustive(beam=1, **SHORT)(Written(certain), (sentences([A], [B], [C, A]),))
    assert [best.symbols for (best,) in results] == [()] * 3
    assert live_counts == [0, 0, 0]


def test_what_is_certain_needs_no_search() -> None:
    """The beam's translation has probability 1: nothing is continued, alone or beside others."""

    def chances(word: int, prefix: Prefix) -> Chances:
        return garden_path(word, prefix) if word == A else {EOS: 1.0}

    search = Exhaustive(beam=1, length_ratio=0.01, length_margin=3)
    for sources, expected in (([[B]], [()]), ([[B], [A]], [(), (B,)])):
        results = search(Written(chances), (sentences(*sources),))
        assert [(best.symbols, best.proved) for (best,) in results] == [(prefix, True) for prefix in expected]


CONSTRAINTS: dict[str, tuple[Any, Constraint]] = {
    "prefix": (lambda prefix: prefix[:1] == (4,), Forced(torch.tensor([[4]] * 3))),
    "demand": (lambda prefix: 5 in prefix, Contains(torch.tensor([5] * 3))),
    "edits": (
        lambda prefix: sum(symbol == 4 for symbol in prefix) <= 1,
        EditConstraint(torch.tensor([1] * 3), [4]),
    ),
    "refusals": (
        lambda prefix: (5, 5) not in pairwise(prefix),
        PrefixFilter(
            3,
            lambda place, prefix: (5, 5) not in pairwise(prefix),
            torch.device("cpu"),
        ),
    ),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_under_a_constraint_it_is_the_best_of_those_that_keep_to_it(name: str, seed: int) -> None:
    fits, constraint = CONSTRAINTS[name]
    model = build_model(symbols=SYMBOLS, spread=1.0, seed=seed)
    results = Exhaustive(beam=2, **SHORT)(model, (sentences(*SOURCES),), 2, constraint=constraint)
    for source, hypotheses in zip(SOURCES, results, strict=True):
        all_scored = all_translations(model, source, SYMBOLS, LONGEST)
        best = sorted(filter(fits, all_scored), key=all_scored.__getitem__, reverse=True)[:2]
        assert [hypothesis.symbols for hypothesis in hypotheses] == best
        assert [hypothesis.log_prob for hypothesis in hypotheses] == pytest.approx(
            [all_scored[prefix] for prefix in best]
        )


def test_a_prefix_may_be_longer_than_a_translation_would_be() -> None:
    search = Exhaustive(beam=1, length_ratio=0.01, length_margin=1)
    results = search(Written(certain), (sentences([A]),), constraint=Forced(torch.tensor([[A, B, C]])))
    assert [best.symbols for (best,) in results] == [(A, B, C)]
    assert results[0][0].proved


def test_words_are_spelled_as_in_a_beam() -> None:
    def chances(word: int, prefix: Prefix) -> Chances:
        return {UNK: 0.8, A: 0.2} if not prefix else {EOS: 1.0}

    ((one, two, three),) = Exhaustive(beam=3)(Spelling(chances), (sentences([A]),), 3)
    assert [one.surfaces, two.surfaces, three.surfaces] == [("Ann",), (None,), ("Anna",)]


def test_it_ends_at_its_deadline() -> None:
    deadline, steps = Deadline(), 0

    def chances(word: int, prefix: Prefix) -> Chances:
        nonlocal steps
        steps += 1
        if steps > 10:
            deadline.cancel()
        return {A: 0.33, B: 0.33, C: 0.33, EOS: 0.01}

    with pytest.raises(UserError, match=r"^cancelled$"):
        Exhaustive(beam=1)(Written(chances), (sentences([A]),), deadline=deadline)


def test_spare_hypotheses_are_not_proved() -> None:
    model = build_model(symbols=SYMBOLS, spread=1.0, seed=1)
    results = Exhaustive(beam=8, **SHORT)(model, (sentences(*SOURCES),), 2, 6)
    assert [[hypothesis.proved for hypothesis in result[:2]] for result in results] == [[True, True]] * len(SOURCES)
    assert {hypothesis.proved for result in results for hypothesis in result[2:]} == {False}
