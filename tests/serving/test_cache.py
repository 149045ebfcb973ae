"""Translations that are remembered."""

import sys
import tracemalloc
from dataclasses import replace

import numpy as np

from dragoman.serving.cache import TranslationCache, size_of
from dragoman.translation.attended import SourceAttention
from dragoman.translation.translation import Step, Translation


def translation(words: int, alternatives: int = 0) -> Translation:
    """A translation with attention to as many words."""
    names = [f"word {number} of {words}" for number in range(words)]
    source = SourceAttention("en", " ".join(names), list(names), np.ones((words, words)), np.ones(words))
    steps = tuple(Step(f"{name}_", number, -0.1 * number) for number, name in enumerate(names))
    whole = Translation((source,), " ".join(names), names, -1.0, -1.0, steps)
    return replace(whole, alternatives=tuple(translation(words) for _ in range(alternatives)))


def test_those_that_were_not_used_for_longest_go() -> None:
    size = size_of(("a", translation(10))) + 500
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


def test_bytes_are_about_those_that_are_occupied() -> None:
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    made = [translation(words, alternatives=2) for words in (10, 50, 200)]
    occupied = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert 0.6 * occupied < size_of(made) < 1.6 * occupied
    view = np.ones(10_000)[:5_000]
    assert size_of(view) >= view.nbytes
    assert size_of([view, view]) < 1.5 * size_of(view) + sys.getsizeof([view, view])


def test_what_only_explain_needs_is_not_kept() -> None:
    cache = TranslationCache(10**6)
    whole = translation(3, alternatives=1)
    cache.put("a", replace(whole, explainer=lambda *_: None))  # type: ignore[arg-type]
    kept = cache.get("a")
    assert kept is not None
    assert kept.explainer is None
    assert kept.text == whole.text
