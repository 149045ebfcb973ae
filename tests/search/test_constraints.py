"""Constraints in searches. Edit operations: never more than there are symbols to edit, with the enumeration of all as
the judge; and what holds for all that a configuration can name.
"""

from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Any

import pytest
import torch

from dragoman.configuration.components import Spec, build
from dragoman.data.vocabulary import EOS, UNK
from dragoman.model.state import select
from dragoman.search.beam import Beam
from dragoman.search.constraints import (
    CONSTRAINTS,
    All,
    Constraint,
    ConstraintContext,
    FittingEdits,
    ForbiddenSymbols,
)
from dragoman.search.constraints import Prefix as Forced
from dragoman.search.diverse import Diverse
from dragoman.search.greedy import Greedy
from dragoman.search.phrases import Phrases, SentencePhrases
from dragoman.search.search import Search
from dragoman.search.spans import Accepted, EachMark
from tests.builders import build_model, context, sentences
from tests.search.toys import Chances, Prefix, Written, all_translations

KEEP, DELETE, WORD = 4, 5, 6
OPERATIONS = (KEEP, DELETE)
SYMBOLS = 7
SOURCES = [[4, 5], [5], [4, 4, 5], [6]]
EDITED = [2, 0, 1, 9]  # symbols that there are to edit
LONGEST = 3
SHORT: dict[str, Any] = {"length_ratio": 0.01, "length_margin": LONGEST}
EVERYTHING = 5 * 4**LONGEST


def operations(said: Prefix) -> int:
    return sum(symbol in OPERATIONS for symbol in said)


@pytest.mark.spec("C13")
def test_a_search_that_sees_everything_finds_the_best_of_those_that_fit() -> None:
    """And all the next best, in order: what fits is counted for each hypothesis, however the beam moves them."""
    model = build_model(symbols=SYMBOLS, spread=1.0, seed=1)
    found = Beam(size=EVERYTHING, normalisation="none", **SHORT)(
        model, (sentences(*SOURCES),), n_best=20, constraint=FittingEdits(torch.tensor(EDITED), OPERATIONS)
    )
    for source, length, hypotheses in zip(SOURCES, EDITED, found, strict=True):
        every = all_translations(model, source, SYMBOLS, LONGEST)
        fitting = {said: log_prob for said, log_prob in every.items() if operations(said) <= length}
        best = sorted(fitting, key=fitting.__getitem__, reverse=True)[:20]
        assert [each.symbols for each in hypotheses] == best
        assert [each.log_prob for each in hypotheses] == pytest.approx([fitting[said] for said in best])


@pytest.mark.spec("C13")
@pytest.mark.parametrize("search", [Greedy(length_margin=20), Beam(size=3, length_margin=20)], ids=["greedy", "beam"])
@pytest.mark.parametrize("wanted", OPERATIONS)
def test_a_model_that_would_edit_for_ever_stops_at_the_end(search: Greedy | Beam, wanted: int) -> None:
    def chances(word: int, said: Prefix) -> Chances:
        return {wanted: 0.9, EOS: 0.06, WORD: 0.04}

    fitting = FittingEdits(torch.tensor(EDITED), OPERATIONS)
    found = search(Written(chances), (sentences(*SOURCES),), constraint=fitting)
    assert [best.symbols for best, *_ in found] == [(wanted,) * length for length in EDITED]


@pytest.mark.spec("C13")
def test_insertions_are_free() -> None:
    """Before, between and behind what is kept."""

    def chances(word: int, said: Prefix) -> Chances:
        wish = [WORD, KEEP, WORD, DELETE, WORD, WORD]
        return {wish[len(said)]: 0.9, EOS: 0.1} if len(said) < len(wish) else {EOS: 1.0}

    fitting = FittingEdits(torch.tensor([2]), OPERATIONS)
    (found,) = Greedy(length_margin=20)(Written(chances), (sentences([4, 5]),), constraint=fitting)
    assert found[0].symbols == (WORD, KEEP, WORD, DELETE, WORD, WORD)


@pytest.mark.parametrize("search", [Greedy(), Beam(size=3, normalisation="none")], ids=["greedy", "beam"])
def test_behind_what_a_model_rules_out_it_is_searched_as_ever(search: Greedy | Beam) -> None:
    def chances(word: int, said: Prefix) -> Chances:
        return {WORD: 1.0} if not said else {EOS: 0.9, WORD: 0.1}

    ((best, *_),) = search(Written(chances), (sentences([4]),), constraint=Forced(torch.tensor([[KEEP]])))
    assert best.symbols == (KEEP,)


def named(kind: str, count: int, **options: Any) -> Constraint:
    """A constraint of the table, for so many sentences."""
    return build(CONSTRAINTS, Spec(kind, options), ConstraintContext(count, context().target, torch.device("cpu")))


def walked(constraint: Constraint) -> tuple[Any, torch.Tensor]:
    """The state after each of three sentences has said six symbols, and these."""
    said = torch.randint(4, SYMBOLS, (3, 6), generator=torch.Generator().manual_seed(1))
    state = constraint.start()
    for symbols in said.unbind(1):
        state = constraint.advance(symbols, state)
    return state, said


@pytest.mark.spec("F4")
@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_symbols_follow_each_other_twice(size: int) -> None:
    """With the enumeration of all translations as the judge."""
    model = build_model(symbols=6, spread=1.5, seed=2)
    search = Beam(size=4 * 3**4, normalisation="none", length_ratio=0.0, length_margin=5)
    sources = [[4, 5], [5]]
    found = search(model, (sentences(*sources),), 30, constraint=named("no_repeat_ngram", len(sources), size=size))
    for source, hypotheses in zip(sources, found, strict=True):
        every = all_translations(model, source, 6, 5)
        ngrams = {said: [said[place : place + size] for place in range(len(said) - size + 1)] for said in every}
        fitting = [said for said in every if len(set(ngrams[said])) == len(ngrams[said])]
        assert len(fitting) < len(every)
        best = sorted(fitting, key=every.__getitem__, reverse=True)[: len(hypotheses)]
        assert [each.symbols for each in hypotheses] == best


def test_a_model_that_repeats_itself_goes_on() -> None:
    """It would say 4 5 4 5 ..., and has said 4 5, so 6 follows the second 4; the third is left with the end."""

    def chances(word: int, said: Prefix) -> Chances:
        return {(4, 5)[len(said) % 2]: 0.9, 6: 0.09, EOS: 0.01}

    ((best,),) = Greedy()(Written(chances), (sentences([4]),), constraint=named("no_repeat_ngram", 1, size=2))
    assert best.symbols == (4, 5, 4, 6, 4)


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_what_is_allowed_is_told_of_symbols_wherever_their_columns_are(kind: str) -> None:
    """And of each sentence by itself: its row of the state alone decides."""
    constraint, every = named(kind, 3), torch.arange(SYMBOLS)
    state, _ = walked(constraint)
    allowed = constraint.allowed(state, every).expand(3, -1)
    assert allowed.dtype == torch.bool
    for symbols in (every[4:], every[1::2]):
        assert torch.equal(constraint.allowed(state, symbols).expand(3, -1), allowed[:, symbols])
    for rows in (torch.tensor([1]), torch.tensor([2, 0, 0, 1])):
        found = constraint.allowed(select(state, rows), every)
        assert torch.equal(found.expand(len(rows), -1), allowed[rows])


@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize("search", [Greedy(), Beam(size=3)], ids=["greedy", "beam"])
def test_a_batch_that_keeps_to_it_is_one_sentence_at_a_time(kind: str, search: Greedy | Beam) -> None:
    model = build_model(symbols=SYMBOLS, spread=1.0, seed=3)
    together = search(model, (sentences(*SOURCES),), constraint=named(kind, len(SOURCES)))
    for words, (best, *_) in zip(SOURCES, together, strict=True):
        ((alone, *_),) = search(model, (sentences(words),), constraint=named(kind, 1))
        assert alone.symbols == best.symbols


@pytest.mark.parametrize("search", [Greedy(), Beam(size=3)], ids=["greedy", "beam"])
def test_in_the_place_of_an_unknown_word_stands_the_next_best(search: Greedy | Beam) -> None:
    model = Written(lambda word, said: {UNK: 0.7, WORD: 0.2, EOS: 0.1} if not said else {EOS: 1.0})
    ((free, *_),) = search(model, (sentences([4]),))
    ((best, *_),) = search(model, (sentences([4]),), constraint=named("no_unknown", 1))
    assert (free.symbols, best.symbols) == ((UNK,), (WORD,))


def phrases(*wanted: Prefix) -> Phrases:
    return Phrases([SentencePhrases([[each] for each in wanted])] * len(SOURCES), torch.device("cpu"))


CPU = torch.device("cpu")
HELD: dict[str, tuple[Constraint, Callable[[Prefix], bool]]] = {
    "phrases": (phrases((5, 6), (5, 6)), lambda said: [*pairwise(said)].count((5, 6)) >= 2),
    "one symbol": (phrases((6, 6, 6)), lambda said: (6, 6, 6) in zip(said, said[1:], said[2:], strict=False)),
    "marks": (EachMark(torch.tensor([[2]] * 4), torch.tensor([KEEP])), lambda said: said.count(KEEP) == 2),
    "prefix": (Forced(torch.tensor([[5, 5]] * 4)), lambda said: said[:2] == (5, 5)),
    "forbidden": (ForbiddenSymbols([UNK], SYMBOLS, CPU), lambda said: UNK not in said),
    "edits": (FittingEdits(torch.tensor([6] * 4), OPERATIONS), lambda said: operations(said) <= 6),
    "accepted": (
        Accepted(4, lambda _, said: (UNK, UNK) not in pairwise(said), CPU),
        lambda said: (UNK, UNK) not in pairwise(said),
    ),
    "no_unknown": (named("no_unknown", 4), lambda said: UNK not in said),
    "unigrams": (named("no_repeat_ngram", 4, size=1), lambda said: True),
    "bigrams": (named("no_repeat_ngram", 4, size=2), lambda said: True),
}


SEARCHES: dict[str, Search] = {
    "greedy": Greedy(),
    "beam": Beam(size=4),
    "diverse": Diverse(size=2, groups=2),
    "no room": Beam(size=4, length_ratio=0.0, length_margin=0),
}


@pytest.mark.parametrize(
    ("one", "other", "search"),  # every two constraints, and each with every search
    [
        (one, other, list(SEARCHES)[(i + j) % len(SEARCHES)])
        for (i, one), (j, other) in combinations(enumerate(HELD), 2)
    ],
)
def test_any_two_go_together_and_what_is_required_may_be_repeated(one: str, other: str, search: str) -> None:
    both = [HELD[one], HELD[other]]
    model = build_model(symbols=SYMBOLS, spread=1.0, seed=2)
    found = SEARCHES[search](model, (sentences(*SOURCES),), constraint=All([each for each, _ in both]))
    for best, *_ in found:
        assert all(holds(best.symbols) for _, holds in both)


def test_where_no_more_is_allowed_a_beam_has_what_lacks_least() -> None:
    """One symbol is required and forbidden: it ends with one of two symbols missing, as greedy search does."""
    impossible = All([phrases((5,), (KEEP,)), ForbiddenSymbols([KEEP], SYMBOLS, CPU)])
    for search in (Greedy(), Beam(size=3)):
        for best, *_ in search(build_model(symbols=SYMBOLS, seed=2), (sentences(*SOURCES),), constraint=impossible):
            assert 5 in best.symbols
            assert KEEP not in best.symbols
