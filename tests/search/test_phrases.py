"""Phrases that are required: whatever symbols come first, the rest fits into what is missing."""

import math
import random
from itertools import pairwise
from typing import Any

import pytest
import torch

from dragoman.data.vocabulary import EOS
from dragoman.search.beam import Beam
from dragoman.search.greedy import Greedy
from dragoman.search.phrase_bonus import PhraseBonus, bonuses
from dragoman.search.phrases import Phrase, PhraseConstraint, SentencePhrases
from dragoman.search.spans import PrefixFilter, RequiredMarks
from tests.builders import build_model, sentences
from tests.search.toys import A, B, C, Chances, Prefix, Written

SEARCHES = [Greedy(length_margin=20), Beam(size=3, length_margin=20), Beam(size=1, length_margin=0, length_ratio=0.01)]
SOURCES = [[4, 5], [6], [5, 5, 4]]


def drawn(draw: random.Random) -> SentencePhrases:
    """A few phrases of a few symbols, that have much in common; some may not stand after each other."""
    wanted: list[list[Phrase]] = [
        [tuple(draw.choices((A, B, C), k=draw.randint(1, 3))) for _ in range(draw.randint(1, 2))]
        for _ in range(draw.randint(1, 3))
    ]
    if draw.random() < 0.5:
        return SentencePhrases(wanted)
    spaced: list[list[Phrase]] = [
        [*sentence_phrases, *[(7, *phrase) for phrase in sentence_phrases]] for sentence_phrases in wanted
    ]
    return SentencePhrases(
        spaced, lambda symbol: int(symbol != 7), lambda phrase, before: before == 0 or phrase[0] == 7
    )


@pytest.mark.parametrize("seed", range(20))
def test_what_advances_lowers_what_is_missing_and_nothing_raises_it_further_than_told(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(40):
        phrases, symbols = drawn(draw), list[int]()
        prefix = phrases.start
        while True:
            missing, following, losing = phrases.progress(prefix)
            if not missing:
                break
            assert following
            symbol = draw.choice(following if len(symbols) > 4 else (A, B, C, 7, 8))
            prefix = phrases.after(prefix, symbol)
            symbols.append(symbol)
            assert (
                phrases.lacking(prefix) < missing
                if symbol in following
                else phrases.lacking(prefix) <= missing + losing
            )
        places = phrases.places(tuple(symbols))
        assert sorted(place.number for place in places) == list(range(len(phrases.wanted)))
        assert all(tuple(symbols[place.begin : place.end]) in phrases.wanted[place.number] for place in places)
        assert all(one.end <= other.begin for one, other in pairwise(places))


@pytest.mark.parametrize("wanted", [[], [[(A, B)]]], ids=["nothing", "a phrase"])
def test_a_long_translation_is_read_at_once_as_it_is_symbol_by_symbol(wanted: list[list[Phrase]]) -> None:
    prefix = (*[C] * 1_005, A, C, A, B, A)
    slowly = SentencePhrases(wanted)
    for length in range(len(prefix)):
        slowly.places(prefix[:length])
    places = SentencePhrases(wanted).places(prefix)
    assert places == slowly.places(prefix)
    assert [(place.begin, place.end) for place in places] == [(1_007, 1_009)] * len(wanted)


@pytest.mark.parametrize("search", SEARCHES, ids=["greedy", "beam", "no room"])
def test_a_translation_ends_when_all_is_said(search: Greedy | Beam) -> None:
    model = build_model(symbols=7, spread=1.0, seed=2)
    wanted: list[list[list[Phrase]]] = [[[(A, B, A)], [(C, C)]], [], [[(B,), (C, B)], [(B,)]]]
    phrases = [SentencePhrases(phrases_of_sentence) for phrases_of_sentence in wanted]
    results = search(model, (sentences(*SOURCES),), constraint=PhraseConstraint(phrases, torch.device("cpu")))
    for phrases_of_sentence, (best, *_) in zip(phrases, results, strict=True):
        places = phrases_of_sentence.places(best.symbols)
        assert sorted(place.number for place in places) == list(range(len(phrases_of_sentence.wanted)))


@pytest.mark.parametrize("search", SEARCHES[:2], ids=["greedy", "beam"])
def test_marks_stand_where_the_model_wants_them_and_no_more_often_than_they_are_wanted(search: Greedy | Beam) -> None:
    def chances(word: int, prefix: Prefix) -> Chances:
        return (
            {C: 0.6, A: 0.3, EOS: 0.1}
            if len(prefix) == 1
            else {B: 0.5, A: 0.2, EOS: 0.3}
            if not prefix
            else {A: 0.5, EOS: 0.5}
        )

    marks = RequiredMarks(torch.tensor([[1, 1], [0, 0], [0, 2]]), torch.tensor([A, C]))
    results = [best.symbols for best, *_ in search(Written(chances), (sentences(*SOURCES),), constraint=marks)]
    assert [(hypothesis.count(A), hypothesis.count(C)) for hypothesis in results] == [(1, 1), (0, 0), (0, 2)]
    assert results[0][:2] == (B, C)


def test_at_the_limit_there_is_room_for_a_space_before_each_mark() -> None:
    marks = RequiredMarks(torch.tensor([[2, 1]]), torch.tensor([A, C]), space=B)
    accepts = PrefixFilter(1, lambda _, prefix: (A, A) not in pairwise(prefix), torch.device("cpu"))
    state = marks.start()
    assert marks.progress(state).missing.tolist() == [5]
    state = marks.advance(torch.tensor([A]), state)
    missing, following, losing = marks.progress(state)
    assert (missing.tolist(), following.tolist(), losing is not None and losing.tolist()) == ([4], [[A, C, B]], [0])
    assert marks.progress(
        marks.advance(torch.tensor([C]), marks.advance(torch.tensor([A]), state))
    ).missing.tolist() == [0]
    assert accepts.refused(accepts.advance(torch.tensor([A]), accepts.start()), [0, 0, 0], [A, B, EOS]) == [
        True,
        False,
        False,
    ]


def test_what_is_refused_is_not_said_though_it_is_most_probable() -> None:
    def accepts(sentence: int, prefix: list[int]) -> bool:
        return C not in prefix[1:]

    constraint = PrefixFilter(3, accepts, torch.device("cpu"))  # type: ignore[arg-type]
    model = Written(lambda word, prefix: {C: 0.5, A: 0.3, B: 0.1, EOS: 0.1} if len(prefix) < 3 else {C: 0.9, EOS: 0.1})
    for search in SEARCHES[:2]:
        for best, *_ in search(model, (sentences(*SOURCES),), constraint=constraint):
            assert C not in best.symbols[1:]


def test_where_all_that_goes_on_is_refused_the_search_goes_on_though_other_rows_only_fill_the_beam() -> None:
    """Those have no probability, so they cannot go on instead."""
    constraint = PrefixFilter(1, lambda sentence, prefix: len(prefix) < 2, torch.device("cpu"))
    model = Written(
        lambda word, prefix: {A: 1.0} if not prefix else {EOS: 1.0} if len(prefix) > 2 else {B: 0.6, C: 0.4}
    )
    (hypotheses,) = Beam(size=3)(model, (sentences([A]),), constraint=constraint)
    assert hypotheses[0].symbols == (A, B, B)


@pytest.mark.parametrize("seed", range(10))
def test_all_readings_of_phrases_that_begin_each_other_are_followed(seed: int) -> None:
    """Whether all can be said is what trying all ways says, though one is at the beginning of another."""
    draw = random.Random(seed)
    for _ in range(40):
        phrases, symbols = drawn(draw), draw.choices((A, B, C, 7), k=draw.randint(1, 9))
        readings = phrases.start
        for symbol in symbols:
            readings = phrases.after(readings, symbol)
        assert (phrases.lacking(readings) == 0) == possible(phrases, symbols)


def possible(phrases: SentencePhrases, symbols: list[int]) -> bool:
    """Whether all phrases have places of their own in these symbols."""
    spaced = any(7 in phrase for wanted in phrases.wanted for phrase in wanted)

    def fits(begin: int, missing: frozenset[int], before: int) -> bool:
        if not missing:
            return True
        if begin == len(symbols):
            return False
        if fits(begin + 1, missing, int(spaced and symbols[begin] != 7)):
            return True
        return any(
            fits(begin + len(phrase), missing - {number}, 2)
            for number in missing
            for phrase in phrases.wanted[number]
            if tuple(symbols[begin : begin + len(phrase)]) == phrase and (not spaced or before == 0 or phrase[0] == 7)
        )

    return fits(0, frozenset(range(len(phrases.wanted))), 0)


@pytest.mark.parametrize("search", SEARCHES[:2], ids=["greedy", "beam"])
def test_a_phrase_that_begins_another_is_said_beside_it(search: Greedy | Beam) -> None:
    """The longer one is counted once, whichever comes first."""
    phrases = SentencePhrases([[(A,)], [(A, B)]])
    for prefix in ((A, B, C, A), (A, C, A, B)):
        assert [(place.number, place.begin) for place in phrases.places(prefix)] == [
            (int(prefix[1] == B), 0),
            (prefix[1] == C, prefix.index(A, 1)),
        ]
        assert len(phrases.places(prefix)) == 2
    model = Written(
        lambda word, prefix: {A: 0.3, B: 0.1, C: 0.5, EOS: 0.1} if len(prefix) % 2 else {A: 0.6, C: 0.3, EOS: 0.1}
    )
    (best_found, *_) = search(model, (sentences([A]),), constraint=PhraseConstraint([phrases], torch.device("cpu")))[0]
    assert best_found.symbols.count(B) == 1
    assert len(phrases.places(best_found.symbols)) == 2


def test_a_symbol_costs_as_much_however_many_phrases_there_are() -> None:
    """Few readings are followed at once."""
    phrases = SentencePhrases([[(2 * number, 2 * number + 1)] for number in range(100, 400)])
    calls, readings = 0, phrases.start
    continued = phrases._continued

    def counted(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        return continued(*args)

    phrases._continued = counted  # type: ignore[method-assign, assignment]
    for number in range(100, 400):
        for symbol in (2 * number, 2 * number + 1):
            readings = phrases.after(readings, symbol)
            assert len(readings) <= 4
    assert phrases.lacking(readings) == 0
    assert calls <= 4 * 2 * 300


def test_a_favored_phrase_has_its_bonus_and_no_other() -> None:
    phrases = SentencePhrases([[(A, B)]])
    assert list(bonuses(phrases, [C, A, B, A], 2.0)) == [0.0, 2.0, 2.0, 0.0, 0.0]
    model = Written(lambda word, prefix: {C: 0.6, A: 0.2, B: 0.1, EOS: 0.1} if len(prefix) < 2 else {EOS: 1.0})
    for weight, best in ((0.5, (C, C)), (3.0, (A, B))):
        favored = PhraseBonus(model, PhraseConstraint([phrases], torch.device("cpu")), weight)
        ((best_found, *_),) = Greedy()(favored, (sentences([4]),))
        assert best_found.symbols == best


def test_a_bonus_is_taken_back_where_a_phrase_breaks_off_or_the_end_comes() -> None:
    phrases = SentencePhrases([[(A, B, C)], [(A, A)]])
    assert list(bonuses(phrases, [A, B, B, C], 2.0)) == [2.0, 2.0, -4.0, 0.0, 0.0]
    assert list(bonuses(phrases, [A, B], 2.0)) == [2.0, 2.0, -4.0]
    assert list(bonuses(phrases, [A, A, B, C], 2.0)) == [2.0, 2.0, 0.0, 2.0, 0.0]  # the longer of both
    assert list(bonuses(phrases, [A, A, A, B, C], 2.0)) == [2.0, 2.0, 2.0, 2.0, 2.0, 0.0]


@pytest.mark.parametrize("seed", range(20))
def test_all_bonuses_are_those_of_the_phrases_that_are_complete(seed: int) -> None:
    """And the score of a search is that of the model with what `bonuses` reports."""
    draw = random.Random(seed)
    phrases = drawn(draw)
    table = [draw.choices(range(1, 9), k=4) for _ in range(40)]

    def chances(word: int, prefix: Prefix) -> Chances:
        weights = table[hash(prefix) % len(table)] if len(prefix) < 9 else [0, 0, 0, 1]
        return {symbol: weight / sum(weights) for symbol, weight in zip((A, B, C, EOS), weights, strict=True)}

    for search in (Greedy(), Beam(size=4, normalization="none")):
        favored = PhraseBonus(Written(chances), PhraseConstraint([phrases], torch.device("cpu")), 1.5)
        for hypothesis in search(favored, (sentences([4]),), min(search.width, 3))[0]:
            added = list(bonuses(phrases, hypothesis.symbols, 1.5))
            symbols = (*hypothesis.symbols, EOS)
            own = [math.log(chances(4, symbols[:place])[symbol]) for place, symbol in enumerate(symbols)]
            assert [a + b for a, b in zip(own, added, strict=True)] == pytest.approx(hypothesis.log_probs)
            assert hypothesis.score == pytest.approx(sum(own) + sum(added))
            readings = phrases.start
            for symbol in hypothesis.symbols:
                readings = phrases.after(readings, symbol)
            assert sum(added) == pytest.approx(1.5 * max(reading.length for reading in readings))


def test_a_beam_does_not_begin_phrases_for_their_bonus_alone() -> None:
    """With what is recommended, up to the limit of lengths."""
    phrases = SentencePhrases([[(A, B)], [(C, B)]])
    model = Written(lambda word, prefix: {A: 0.299, C: 0.3, B: 0.001, EOS: 0.4})
    favored = PhraseBonus(model, PhraseConstraint([phrases], torch.device("cpu")), 2.0)
    for normalization in ("none", "length"):
        ((best_found, *_),) = Beam(size=4, normalization=normalization, length_margin=30)(favored, (sentences([4]),))
        assert len(best_found.symbols) < 3
