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
from dragoman.model.state import select_rows
from dragoman.search.beam import Beam
from dragoman.search.constraints import (
    CONSTRAINTS,
    CombinedConstraints,
    Constraint,
    ConstraintContext,
    EditConstraint,
    ForbiddenSymbols,
)
from dragoman.search.constraints import Prefix as Forced
from dragoman.search.diverse import Diverse
from dragoman.search.greedy import Greedy
from dragoman.search.phrases import PhraseConstraint, SentencePhrases
from dragoman.search.search import Search
from dragoman.search.spans import PrefixFilter, RequiredMarks
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


def operations(prefix: Prefix) -> int:
    return sum(symbol in OPERATIONS for symbol in prefix)


@pytest.mark.spec("C13")
def test_a_search_that_sees_everything_finds_the_best_of_those_that_fit() -> None:
    """And all the next best, in order: what fits is counted for each hypothesis, however the beam moves them."""
    model = build_model(symbols=SYMBOLS, spread=1.0, seed=1)
    results = Beam(size=EVERYTHING, normalization="none", **SHORT)(
        model, (sentences(*SOURCES),), n_best=20, constraint=EditConstraint(torch.tensor(EDITED), OPERATIONS)
    )
    for source, length, hypotheses in zip(SOURCES, EDITED, results, strict=True):
        all_scored = all_translations(model, source, SYMBOLS, LONGEST)
        fitting = {prefix: log_prob for prefix, log_prob in all_scored.items() if operations(prefix) <= length}
        best = sorted(fitting, key=fitting.__getitem__, reverse=True)[:20]
        assert [hypothesis.symbols for hypothesis in hypotheses] == best
        assert [hypothesis.log_prob for hypothesis in hypotheses] == pytest.approx([fitting[prefix] for prefix in best])


@pytest.mark.spec("C13")
@pytest.mark.parametrize("search", [Greedy(length_margin=20), Beam(size=3, length_margin=20)], ids=["greedy", "beam"])
@pytest.mark.parametrize("wanted", OPERATIONS)
def test_a_model_that_would_edit_for_ever_stops_at_the_end(search: Greedy | Beam, wanted: int) -> None:
    def chances(word: int, prefix: Prefix) -> Chances:
        return {wanted: 0.9, EOS: 0.06, WORD: 0.04}

    fitting = EditConstraint(torch.tensor(EDITED), OPERATIONS)
    results = search(Written(chances), (sentences(*SOURCES),), constraint=fitting)
    assert [best.symbols for best, *_ in results] == [(wanted,) * length for length in EDITED]


@pytest.mark.spec("C13")
def test_insertions_are_free() -> None:
    """Before, between and after what is kept."""

    def chances(word: int, prefix: Prefix) -> Chances:
        wish = [WORD, KEEP, WORD, DELETE, WORD, WORD]
        return {wish[len(prefix)]: 0.9, EOS: 0.1} if len(prefix) < len(wish) else {EOS: 1.0}

    fitting = EditConstraint(torch.tensor([2]), OPERATIONS)
    (hypotheses,) = Greedy(length_margin=20)(Written(chances), (sentences([4, 5]),), constraint=fitting)
    assert hypotheses[0].symbols == (WORD, KEEP, WORD, DELETE, WORD, WORD)


@pytest.mark.parametrize("search", [Greedy(), Beam(size=3, normalization="none")], ids=["greedy", "beam"])
def test_behind_what_a_model_rules_out_it_is_searched_as_ever(search: Greedy | Beam) -> None:
    def chances(word: int, prefix: Prefix) -> Chances:
        return {WORD: 1.0} if not prefix else {EOS: 0.9, WORD: 0.1}

    ((best, *_),) = search(Written(chances), (sentences([4]),), constraint=Forced(torch.tensor([[KEEP]])))
    assert best.symbols == (KEEP,)


def named(kind: str, count: int, **options: Any) -> Constraint:
    """A constraint of the table, for so many sentences."""
    return build(CONSTRAINTS, Spec(kind, options), ConstraintContext(count, context().target, torch.device("cpu")))


def walked(constraint: Constraint) -> tuple[Any, torch.Tensor]:
    """The state after each of three sentences has said six symbols, and these."""
    prefix = torch.randint(4, SYMBOLS, (3, 6), generator=torch.Generator().manual_seed(1))
    state = constraint.start()
    for symbols in prefix.unbind(1):
        state = constraint.advance(symbols, state)
    return state, prefix


@pytest.mark.spec("F4")
@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_symbols_follow_each_other_twice(size: int) -> None:
    """With the enumeration of all translations as the judge."""
    model = build_model(symbols=6, spread=1.5, seed=2)
    search = Beam(size=4 * 3**4, normalization="none", length_ratio=0.0, length_margin=5)
    sources = [[4, 5], [5]]
    results = search(model, (sentences(*sources),), 30, constraint=named("no_repeat_ngram", len(sources), size=size))
    for source, hypotheses in zip(sources, results, strict=True):
        all_scored = all_translations(model, source, 6, 5)
        ngrams = {
            prefix: [prefix[place : place + size] for place in range(len(prefix) - size + 1)] for prefix in all_scored
        }
        fitting = [prefix for prefix in all_scored if len(set(ngrams[prefix])) == len(ngrams[prefix])]
        assert len(fitting) < len(all_scored)
        best = sorted(fitting, key=all_scored.__getitem__, reverse=True)[: len(hypotheses)]
        assert [hypothesis.symbols for hypothesis in hypotheses] == best


def test_a_model_that_repeats_itself_goes_on() -> None:
    """It would say 4 5 4 5 ..., and has said 4 5, so 6 follows the second 4; the third is left with the end."""

    def chances(word: int, prefix: Prefix) -> Chances:
        return {(4, 5)[len(prefix) % 2]: 0.9, 6: 0.09, EOS: 0.01}

    ((best,),) = Greedy()(Written(chances), (sentences([4]),), constraint=named("no_repeat_ngram", 1, size=2))
    assert best.symbols == (4, 5, 4, 6, 4)


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_what_is_allowed_is_told_of_symbols_wherever_their_columns_are(kind: str) -> None:
    """And of each sentence by itself: its row of the state alone decides."""
    constraint, all_symbols = named(kind, 3), torch.arange(SYMBOLS)
    state, _ = walked(constraint)
    allowed = constraint.allowed(state, all_symbols).expand(3, -1)
    assert allowed.dtype == torch.bool
    for symbols in (all_symbols[4:], all_symbols[1::2]):
        assert torch.equal(constraint.allowed(state, symbols).expand(3, -1), allowed[:, symbols])
    for rows in (torch.tensor([1]), torch.tensor([2, 0, 0, 1])):
        is_allowed = constraint.allowed(select_rows(state, rows), all_symbols)
        assert torch.equal(is_allowed.expand(len(rows), -1), allowed[rows])


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
    model = Written(lambda word, prefix: {UNK: 0.7, WORD: 0.2, EOS: 0.1} if not prefix else {EOS: 1.0})
    ((free, *_),) = search(model, (sentences([4]),))
    ((best, *_),) = search(model, (sentences([4]),), constraint=named("no_unknown", 1))
    assert (free.symbols, best.symbols) == ((UNK,), (WORD,))


def phrases(*wanted: Prefix) -> PhraseConstraint:
    return PhraseConstraint([SentencePhrases([[phrase] for phrase in wanted])] * len(SOURCES), torch.device("cpu"))


CPU = torch.device("cpu")
HELD: dict[str, tuple[Constraint, Callable[[Prefix], bool]]] = {
    "phrases": (phrases((5, 6), (5, 6)), lambda prefix: [*pairwise(prefix)].count((5, 6)) >= 2),
    "one symbol": (phrases((6, 6, 6)), lambda prefix: (6, 6, 6) in zip(prefix, prefix[1:], prefix[2:], strict=False)),
    "marks": (RequiredMarks(torch.tensor([[2]] * 4), torch.tensor([KEEP])), lambda prefix: prefix.count(KEEP) == 2),
    "prefix": (Forced(torch.tensor([[5, 5]] * 4)), lambda prefix: prefix[:2] == (5, 5)),
    "forbidden": (ForbiddenSymbols([UNK], SYMBOLS, CPU), lambda prefix: UNK not in prefix),
    "edits": (EditConstraint(torch.tensor([6] * 4), OPERATIONS), lambda prefix: operations(prefix) <= 6),
    "accepted": (
        PrefixFilter(4, lambda _, prefix: (UNK, UNK) not in pairwise(prefix), CPU),
        lambda prefix: (UNK, UNK) not in pairwise(prefix),
    ),
    "no_unknown": (named("no_unknown", 4), lambda prefix: UNK not in prefix),
    "unigrams": (named("no_repeat_ngram", 4, size=1), lambda prefix: True),
    "bigrams": (named("no_repeat_ngram", 4, size=2), lambda prefix: True),
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
    results = SEARCHES[search](
        model, (sentences(*SOURCES),), constraint=CombinedConstraints([constraint for constraint, _ in both])
    )
    for best, *_ in results:
        assert all(holds(best.symbols) for _, holds in both)


def test_where_no_more_is_allowed_a_beam_has_what_lacks_least() -> None:
    """One symbol is required and forbidden: it ends with one of two symbols missing, as greedy search does."""
    impossible = CombinedConstraints([phrases((5,), (KEEP,)), ForbiddenSymbols([KEEP], SYMBOLS, CPU)])
    for search in (Greedy(), Beam(size=3)):
        for best, *_ in search(build_model(symbols=SYMBOLS, seed=2), (sentences(*SOURCES),), constraint=impossible):
            assert 5 in best.symbols
            assert KEEP not in best.symbols
