"""Translations in the cache."""

import cProfile
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dragoman.serving.cache import ENTRY, TranslationCache, estimate_size
from dragoman.translation.attention_matrix import SourceAttention, SymbolWeights
from dragoman.translation.translation import Step, Translation


def translation(words: int, alternatives: int = 0) -> Translation:
    """A translation with attention to as many words."""
    names = [f"word {number} of {words}" for number in range(words)]
    source = SourceAttention("en", " ".join(names), list(names), np.ones((words, words)), np.ones(words))
    steps = tuple(Step(f"{name}_", number, -0.1 * number) for number, name in enumerate(names))
    whole = Translation((source,), " ".join(names), names, -1.0, -1.0, steps)
    return replace(whole, alternatives=tuple(translation(words) for _ in range(alternatives)))


def test_those_that_were_not_used_for_longest_go() -> None:
    size = ENTRY + estimate_size(translation(10))
    cache = TranslationCache(3 * size + size // 2)
    for key in "abc":
        assert cache.get(key) is None
        cache.put(key, translation(10))
    assert cache.get("a") is not None
    cache.put("d", translation(10))
    assert [cache.get(key) is not None for key in "abcd"] == [True, False, True, True]
    assert (cache.hits, cache.misses, len(cache)) == (4, 4, 3)
    assert cache.bytes <= 3 * size + size // 2
    cache.put("d", translation(10))
    assert len(cache) == 3


def test_one_that_is_larger_than_all_may_be_is_not_kept() -> None:
    cache = TranslationCache(20_000)
    cache.put("small", translation(5))
    cache.put("large", translation(100, alternatives=4))
    assert (len(cache), cache.get("large")) == (1, None)
    nothing = TranslationCache(0)
    nothing.put("small", translation(5))
    assert len(nothing) == nothing.bytes == 0


def complete(words: int) -> Translation:
    """A translation with all that a calibrated model that copies reports, of a text that is not Latin."""
    plain = translation(words)
    names = [f"слово {number} из {words}" for number in range(words)]
    weights = SymbolWeights([f"{name}_" for name in (*names, "end")], np.ones((words, words + 1)))
    source = plain.sources[0]._replace(text=" ".join(names), words=names, by_symbol=weights)
    steps = tuple(step._replace(statistics={"copied": 0.1 + step.log_prob}, calibrated=-0.3) for step in plain.steps)
    return replace(plain, sources=(source,), steps=steps, output_symbols=tuple(f"{name}__" for name in names))


@pytest.mark.parametrize("words", [3, 10, 25, 60, 200])
@pytest.mark.parametrize("build", [translation, partial(translation, alternatives=2), complete])
def test_bytes_are_about_those_that_are_occupied(words: int, build: Callable[[int], Translation]) -> None:
    build(words)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    stored = build(words)
    occupied = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert occupied / 2 < estimate_size(stored) < 2 * occupied


def test_the_time_of_an_estimate_does_not_depend_on_the_length() -> None:
    counts = []
    for words in (5, 500):
        stored, profile = complete(words), cProfile.Profile()
        profile.runcall(estimate_size, stored)
        counts.append(sum(entry.callcount for entry in profile.getstats()))
    assert counts[0] == counts[1] < 100


def test_what_only_explain_needs_is_not_kept() -> None:
    cache = TranslationCache(10**6)
    whole = translation(3, alternatives=1)
    cache.put("a", replace(whole, explainer=lambda *_: None))  # type: ignore[arg-type]
    kept = cache.get("a")
    assert kept is not None
    assert kept.explainer is None
    assert kept.text == whole.text
