"""Diverse beam search, beside a plain loop over its equation."""

import math
from collections import Counter
from typing import Any

import pytest
import torch

from dragoman.data.vocabulary import BOS, EOS, PAD
from dragoman.model.output.output import Readout
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.beam import Beam
from dragoman.search.diverse import Diverse
from tests.builders import build_model, pairs, sentences
from tests.search.test_decoding import Contains
from tests.search.toys import UNK, A, B, C, Chances, Prefix, Written

SOURCES = [[4, 5], [5], [4, 4, 5]]
SYMBOLS = 7
LONGEST = 4
SHORT: dict[str, Any] = {"normalization": "none", "length_ratio": 0.01, "length_margin": LONGEST}


def following(model: Seq2Seq, source: list[int], prefix: Prefix) -> list[float]:
    """log P of every symbol after these."""
    state, log_probs = model.start(model.encode((sentences(source),))), torch.zeros(1, SYMBOLS)
    for symbol in (BOS, *prefix):
        features, _, state = model.step(torch.tensor([symbol]), state)
        log_probs = model.output.log_probs(Readout(features))
    log_prob_list: list[float] = log_probs[0].tolist()
    return log_prob_list


def plain(model: Seq2Seq, source: list[int], size: int, groups: int, strength: float) -> list[dict[Prefix, float]]:
    """The finished hypotheses of each group: one group after the other at every step, without stopping early."""
    beams: list[dict[Prefix, float]] = [{(): 0.0} for _ in range(groups)]
    finished: list[dict[Prefix, float]] = [{} for _ in range(groups)]
    for length in range(LONGEST + 1):
        counts = Counter[int]()
        words = [EOS] if length == LONGEST else [symbol for symbol in range(SYMBOLS) if symbol not in (PAD, BOS)]
        for number, beam in enumerate(beams):
            totals = {
                (*prefix, word): total + log_probs[word]
                for prefix, total in beam.items()
                for log_probs in [following(model, source, prefix)]
                for word in words
            }
            ranked = sorted(totals, key=lambda prefix: strength * counts[prefix[-1]] - totals[prefix])
            finished[number] |= {prefix[:-1]: totals[prefix] for prefix in ranked[:size] if prefix[-1] == EOS}
            kept = [prefix for prefix in ranked if prefix[-1] != EOS][:size]
            beams[number] = {prefix: totals[prefix] for prefix in kept}
            counts.update(prefix[-1] for prefix in kept)
    return finished


@pytest.mark.slow
@pytest.mark.spec("F4")
@pytest.mark.parametrize(("size", "groups", "strength"), [(2, 3, 0.5), (1, 4, 2.0), (3, 2, 0.1)])
def test_groups_say_what_a_plain_loop_says(size: int, groups: int, strength: float) -> None:
    """The `size` best of every group, in a batch."""
    model = build_model(symbols=SYMBOLS, seed=3, spread=1.0)
    search = Diverse(size=size, groups=groups, strength=strength, **SHORT)
    results = search(model, (sentences(*SOURCES),), size * groups)
    for source, hypotheses in zip(SOURCES, results, strict=True):
        expected: list[tuple[Prefix, float]] = []
        for group in plain(model, source, size, groups, strength):
            expected += sorted(group.items(), key=lambda item: -item[1])[:size]
        expected.sort(key=lambda item: -item[1])
        assert sorted(hypothesis.symbols for hypothesis in hypotheses) == sorted(prefix for prefix, _ in expected)
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx([total for _, total in expected])
        scores, *_ = model.score(
            pairs([source] * len(hypotheses), [list(hypothesis.symbols) for hypothesis in hypotheses])
        )
        assert [hypothesis.log_prob for hypothesis in hypotheses] == pytest.approx(scores.sum(1).tolist(), abs=1e-6)


@pytest.mark.parametrize(
    ("strength", "prefix"),
    [(0.4, [A, A, B]), (0.6, [A, B, A]), (2.0, [A, B, C]), (0.0, [A, A, A])],
)
def test_three_groups_of_one_by_hand(strength: float, prefix: list[int]) -> None:
    """log P is -0.69, -1.20 and -1.61. With 0.4, A has -1.09 for the second group and -1.49 for the third; with 0.6 it
    has -1.29 for both, and B -1.80 for the third. That all end together counts nothing.
    """

    def chances(word: int, prefix: Prefix) -> Chances:
        return {A: 0.5, B: 0.3, C: 0.2} if not prefix else {EOS: 1.0}

    (hypotheses,) = Diverse(size=1, groups=3, strength=strength)(Written(chances), (sentences([A]),), 3)
    assert Counter(hypothesis.symbols for hypothesis in hypotheses) == Counter((hypothesis,) for hypothesis in prefix)
    chance = {A: 0.5, B: 0.3, C: 0.2}
    assert [hypothesis.log_prob for hypothesis in hypotheses] == pytest.approx(
        [math.log(chance[hypothesis.symbols[0]]) for hypothesis in hypotheses]
    )
    assert [hypothesis.score for hypothesis in hypotheses] == sorted(
        (hypothesis.score for hypothesis in hypotheses), reverse=True
    )


@pytest.mark.parametrize("normalization", ["none", "length"])
def test_one_group_is_a_beam(normalization: Any) -> None:
    model, source = build_model(seed=5, spread=1.0), (sentences(*SOURCES),)
    one = Diverse(size=4, groups=1, strength=3.0, normalization=normalization)(model, source, 4)
    other = Beam(size=4, normalization=normalization)(model, source, 4)
    assert [[hypothesis.symbols for hypothesis in beam_hypotheses] for beam_hypotheses in one] == [
        [hypothesis.symbols for hypothesis in beam_hypotheses] for beam_hypotheses in other
    ]
    assert [hypothesis.score for hypothesis in one[0]] == pytest.approx([hypothesis.score for hypothesis in other[0]])


def test_of_a_short_list_every_group_has_its_share() -> None:
    """The best of both groups, though the second of the first group is better than the best of the other."""

    def chances(word: int, prefix: Prefix) -> Chances:
        return {A: 0.5, B: 0.3, C: 0.15, UNK: 0.05} if not prefix else {EOS: 1.0}

    search = Diverse(size=2, groups=2, strength=50.0, normalization="none")
    ((one, two),) = search(Written(chances), (sentences([A]),), 2)
    assert (one.symbols, two.symbols) == ((A,), (C,))


@pytest.mark.parametrize("seed", range(4))
def test_a_short_list_is_the_beginning_of_a_longer_one(seed: int) -> None:
    """Though the first group has not found the best."""
    model, search = build_model(symbols=SYMBOLS, seed=seed, spread=1.0), Diverse(size=1, groups=4, strength=1.0)
    full_lists = search(model, (sentences(*SOURCES),), 4)
    for count in (1, 2, 3):
        fewer = search(model, (sentences(*SOURCES),), count, 3)
        for few, whole in zip(fewer, full_lists, strict=True):
            assert [hypothesis.symbols for hypothesis in few[:4]] == [hypothesis.symbols for hypothesis in whole]


def test_of_a_list_that_is_shorter_than_there_are_groups_it_is_the_best() -> None:
    """A begins better, and ends in 0.06; B has 0.4."""

    def chances(word: int, prefix: Prefix) -> Chances:
        ends: Chances = {EOS: 1.0} if prefix == (B,) else {EOS: 0.1, C: 0.9}
        return {A: 0.6, B: 0.4} if not prefix else ends

    search = Diverse(size=1, groups=2, strength=9.0, normalization="none", length_ratio=0.0, length_margin=3)
    ((best,),) = search(Written(chances), (sentences([A]),), 1)
    assert best.symbols == (B,)


def test_a_group_goes_on_while_it_can_find_something_better() -> None:
    """The second group has ended with 0.06, and what others say less is worse; but C A, which counts less, has 0.19."""
    table: dict[Prefix, Chances] = {
        (): {A: 0.4, B: 0.3, C: 0.2, UNK: 0.1},
        (A,): {EOS: 1.0},
        (B,): {A: 0.9, B: 0.1},
        (C,): {A: 0.95, EOS: 0.05},
        (UNK,): {EOS: 0.6, C: 0.4},
    }
    model = Written(lambda word, prefix: table.get(prefix, {EOS: 1.0}))
    search = Diverse(size=2, groups=2, strength=5.0, normalization="none")
    ((one, two),) = search(model, (sentences([A]),), 2)
    assert (one.symbols, two.symbols) == ((A,), (C, A))
    assert two.score == pytest.approx(math.log(0.19))


def test_a_batch_is_one_sentence_at_a_time() -> None:
    model, search = build_model(seed=5, spread=1.0), Diverse()
    together = search(model, (sentences(*SOURCES, width=9),), 5, 5)
    for words, hypotheses in zip(SOURCES, together, strict=True):
        (alone,) = search(model, (sentences(words),), 5, 5)
        assert [hypothesis.symbols for hypothesis in alone] == [hypothesis.symbols for hypothesis in hypotheses]
        assert [hypothesis.score for hypothesis in alone] == pytest.approx(
            [hypothesis.score for hypothesis in hypotheses]
        )


def test_every_hypothesis_says_what_is_demanded() -> None:
    """Even where the model nearly rules it out."""

    def chances(word: int, prefix: Prefix) -> Chances:
        return {A: 0.6, EOS: 0.3, B: 0.0999, C: 0.0001}

    search = Diverse(size=2, groups=3, length_ratio=0.01, length_margin=4)
    results = search(Written(chances), (sentences([4], [5]),), 6, constraint=Contains(torch.tensor([C, B])))
    for wanted, hypotheses in zip([C, B], results, strict=True):
        assert len(hypotheses) == 6
        assert all(wanted in hypothesis.symbols for hypothesis in hypotheses)


def test_what_another_sentence_lacks_changes_nothing() -> None:
    """One that has to say something, beside one that has not."""
    model, search = build_model(seed=5, spread=1.0), Diverse(size=2, groups=3)
    for first, second in (SOURCES[:2], SOURCES[1:]):
        constraint = Contains(torch.tensor([4, 5]))
        constraint.start = lambda: (torch.tensor([4, 5]), torch.tensor([1, 0]))  # type: ignore[method-assign]
        (_, together) = search(model, (sentences(first, second, width=9),), 6, 6, constraint=constraint)
        (alone,) = search(model, (sentences(second),), 6, 6)
        assert [hypothesis.symbols for hypothesis in together] == [hypothesis.symbols for hypothesis in alone]
