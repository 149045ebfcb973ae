"""Random segmentations: which ones, how often, and always the same ones for a seed."""

import math
from collections import Counter
from itertools import pairwise
from random import Random

import pytest

from dragoman.configuration.components import Spec, build
from dragoman.text.subword_sampling import LatticeSampler, MergeDropout
from dragoman.text.words import TOKENIZERS

# Merges in the order in which they were learned.
SCORES = {"ab": -1.0, "cd": -2.0, "abcd": -3.0, "▁": -4.0, "a": -5.0, "b": -6.0, "c": -7.0, "d": -8.0, "▁ab": -9.0}
MERGED = ["▁ab cd ▁ab", "▁ abcd ▁ a b", "▁ab cd ▁ab", "▁ abcd ▁ab"]
DRAWN = ["▁ ab cd ▁ ab", "▁ ab cd ▁ab", "▁ ab cd ▁ ab", "▁ abcd ▁ ab"]
LINES = ["the cat sat on the mat .", "the dog is there, and the cat too!", "日本語 and ☃"] * 4


def test_without_dropout_merges_are_those_of_bpe() -> None:
    assert MergeDropout(SCORES, 0.0)("▁abcd▁cdab", 1) == ["▁", "abcd", "▁", "cd", "ab"]


@pytest.mark.parametrize("seed", range(3))
def test_almost_no_dropout_is_what_sentencepiece_does(seed: int) -> None:
    unit = build(TOKENIZERS, Spec("bpe", {"vocab_size": 320, "dropout": 1e-12}))
    unit.fit(LINES, seed=1)
    for line in ["the cat and the dog", "  two  spaces ", "日本☃語x", "a ▁ b", *LINES[:3]]:
        assert unit.encode(line, seed) == unit.encode(line)


def test_a_merge_is_left_out_as_often_as_said() -> None:
    sampler = MergeDropout({"ab": -1.0, "a": -2.0, "b": -3.0}, 0.3)
    cuts = Counter(len(sampler.cut("ab", Random(seed))) for seed in range(4_000))
    assert cuts[2] / 4_000 == pytest.approx(0.3, abs=0.03)


def test_all_dropout_leaves_characters_and_bytes() -> None:
    sampler = MergeDropout(SCORES, 0.999999)
    assert sampler("▁abé", 1) == ["▁", "a", "b", "<0xC3>", "<0xA9>"]


@pytest.mark.parametrize("alpha", [0.2, 1.0])
def test_ways_are_drawn_in_proportion_to_their_power(alpha: float) -> None:
    pieces = {"a": -1.0, "b": -1.5, "c": -2.0, "ab": -2.2, "bc": -3.0, "abc": -3.5}
    ways = [("a", "b", "c"), ("ab", "c"), ("a", "bc"), ("abc",)]
    weights = {way: math.exp(alpha * sum(pieces[piece] for piece in way)) for way in ways}
    sampler = LatticeSampler(pieces, alpha)
    drawn = Counter(tuple(sampler.cut("abc", Random(seed))) for seed in range(4_000))
    for way in ways:
        assert drawn[way] / 4_000 == pytest.approx(weights[way] / sum(weights.values()), abs=0.03)


def test_unknown_characters_pass_through_the_lattice() -> None:
    sampler = LatticeSampler({"▁": -1.0, "a": -1.0, "▁a": -1.5}, 1.0)
    assert sampler("▁é", 3) == ["▁", "<0xC3>", "<0xA9>"]


def test_samples_are_the_same_in_every_process() -> None:
    """These very ones: sentencepiece's own differ from process to process."""
    merge, lattice = MergeDropout(SCORES, 0.4), LatticeSampler(SCORES, 0.3)
    assert [" ".join(merge("▁abcd▁ab", seed)) for seed in range(4)] == MERGED
    assert [" ".join(lattice("▁abcd▁ab", seed)) for seed in range(4)] == DRAWN


def test_seeds_give_many_samples_of_a_word() -> None:
    sampler = MergeDropout(SCORES, 0.3)
    samples = [tuple(sampler("▁abcd", seed)) for seed in range(200)]
    assert len(set(samples)) >= 4
    assert any(first != second for first, second in pairwise(samples))
