"""The translation memory against brute force, and what it leaves out."""

import math
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Indel

from dragoman.corpus import translation_memory
from dragoman.corpus.examples import Pair, read_pairs
from dragoman.corpus.translation_memory import CoveringMemory, Match, NearestMemory
from dragoman.text.normalizer import Normalizer
from dragoman.text.pretokenizer import punctuation

WORDS = "open close save file image mask the all new as copy".split()
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
NORMALIZE = Normalizer(lowercase=False)


def nearest(pairs: list[tuple[str, str]], *, threshold: float = 0.5, count: int = 1) -> NearestMemory:
    return NearestMemory((Pair(*pair) for pair in pairs), NORMALIZE, punctuation, threshold=threshold, count=count)


def covering(pairs: list[tuple[str, str]], *, threshold: float = 0.5, count: int = 2) -> CoveringMemory:
    return CoveringMemory((Pair(*pair) for pair in pairs), NORMALIZE, punctuation, threshold=threshold, count=count)


def similarity(one: str, other: str) -> float:
    """The definition, word by word."""
    words = one.split(), other.split()
    return (Indel.normalized_similarity(one, other) + Indel.normalized_similarity(*words)) / 2


@settings(max_examples=60, deadline=None)
@given(st.lists(SENTENCES, min_size=1, max_size=40), SENTENCES, st.integers(1, 3))
def test_matches_are_those_of_brute_force(sources: list[str], query: str, count: int) -> None:
    distinct = list(dict.fromkeys(sources))
    pairs = [(source, f"t{number}") for number, source in enumerate(distinct)]
    matches = nearest(pairs, threshold=0.3, count=count).matches(query)
    scored = [(similarity(query, source), -number) for number, source in enumerate(distinct)]
    best = sorted((match for match in scored if match[0] >= 0.3), reverse=True)[:count]
    assert [match.translation for match in matches] == [f"t{-number}" for _, number in best]
    assert [match.score for match in matches] == pytest.approx([score for score, _ in best])


@settings(max_examples=60, deadline=None)
@given(st.lists(SENTENCES, min_size=1, max_size=40), SENTENCES, st.integers(2, 4))
def test_covering_matches_are_those_of_brute_force(sources: list[str], query: str, count: int) -> None:
    distinct = list(dict.fromkeys(sources))
    pairs = [(source, f"t{number}") for number, source in enumerate(distinct)]
    matches = covering(pairs, threshold=0.2, count=count).matches(query)
    rest = [number for number, source in enumerate(distinct) if similarity(query, source) >= 0.2]
    rest.sort(key=lambda number: (-similarity(query, distinct[number]), number))
    wanted, uncovered = rest[:1], set(query.split()).difference(*(distinct[number].split() for number in rest[:1]))
    while len(wanted) < count:
        gains = [sum(rarity(word, distinct) for word in uncovered & set(distinct[number].split())) for number in rest]
        if not any(gains):
            break
        best = next(number for number, gain in zip(rest, gains, strict=True) if gain > max(gains) - 1e-9)
        wanted.append(best)
        uncovered -= set(distinct[best].split())
    assert [match.translation for match in matches] == [f"t{number}" for number in wanted]


def rarity(word: str, sources: list[str]) -> float:
    """The inverse document frequency of a word."""
    return math.log(1 + len(sources) / sum(word in source.split() for source in sources))


def test_a_covering_match_adds_words_where_a_nearest_one_repeats_them() -> None:
    pairs = [("open the old image", "1"), ("open the new image", "2"), ("save all masks", "3"), ("open all masks", "4")]
    query = "open the big old image, save masks"
    assert [match.translation for match in nearest(pairs, threshold=0.3, count=2).matches(query)] == ["1", "2"]
    assert [match.translation for match in covering(pairs, threshold=0.3, count=3).matches(query)] == ["1", "3"]
    assert covering(pairs, threshold=0.3).matches("close") == []
    assert [match.score for match in covering(pairs).matches("open the old image")] == [1]


def test_a_pair_is_no_covering_answer_to_itself() -> None:
    memory = covering([("open it", "öffne es"), ("open", "auf"), ("save it", "sichere es")], threshold=0.2)
    assert [match.translation for match in memory.matches("open it", without="Öffne es")] == ["auf", "sichere es"]
    assert [match.translation for match in memory.matches("open it")] == ["öffne es"]


def test_of_many_sources_a_nearest_one_is_rarely_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translation_memory, "CANDIDATES", 100)
    monkeypatch.setattr(translation_memory, "POSTINGS", 6000)
    draw = random.Random(1)
    names = [f"w{draw.randrange(300)}" for _ in range(300)]
    texts = list(dict.fromkeys(" ".join(draw.choices(names, k=draw.randint(2, 9))) for _ in range(2000)))
    index = nearest([(text, text) for text in texts], threshold=0.01)
    queries = [" ".join(draw.choices(names, k=4)) for _ in range(60)]
    best = [max(similarity(query, text) for text in texts) for query in queries]
    scores = [index.matches(query)[0].score for query in queries]
    assert sum(score == pytest.approx(wanted) for score, wanted in zip(scores, best, strict=True)) >= 57


def test_white_space_around_a_source_does_not_count() -> None:
    index = nearest([("open it: ", "öffne es: "), ("close", "zu")])
    assert [(match.score, match.source) for match in index.matches(" open it:")] == [(1, "open it:")]
    assert (index.exact("open it:\n"), index.exact("  ")) == ("öffne es: ", None)


def test_a_pair_is_no_answer_to_itself_but_another_translation_of_its_source_is() -> None:
    index = nearest([("open", "öffnen"), ("open", " Öffnen "), ("open", "auf"), ("open it", "öffne es")], count=2)
    assert [match.translation for match in index.matches("open", without="öffnen")] == ["auf", "öffne es"]
    assert [match.translation for match in index.matches("open")] == ["öffnen", " Öffnen "]
    assert [match.translation for match in index.matches("open it", without="öffnen")][:1] == ["öffne es"]


def test_equally_near_sources_come_in_the_order_of_the_memory() -> None:
    pairs = [("copy a", "1"), ("copy b", "2"), ("copy c", "3")]
    assert nearest(pairs, count=2).matches("copy d") == nearest(pairs, count=3).matches("copy d")[:2]
    assert nearest(pairs).matches("copy d")[0].translation == "1"
    assert nearest(pairs[::-1]).matches("copy d")[0].translation == "3"


def test_below_the_threshold_there_is_nothing() -> None:
    pairs = [("open the file", "x")]
    (match,) = nearest(pairs, threshold=0.01).matches("open the mask")
    assert nearest(pairs, threshold=match.score).matches("open the mask") == [match]
    assert nearest(pairs, threshold=match.score + 1e-6).matches("open the mask") == []


def test_an_exact_match_is_that_of_the_normalized_source() -> None:
    index = nearest([("Open", "auf"), ("Open", "öffnen")])
    assert index.exact("Op\ufeffen") == "auf"
    assert index.exact("open") is None
    assert index.matches("Open") == [Match("auf", 1.0, "Open")]


@pytest.mark.parametrize("text", ["", " ", "y" * (translation_memory.LONGEST + 1), "\U0001f600", "\x00"])
def test_texts_without_a_match(text: str) -> None:
    assert nearest([("open", "auf"), ("", "leer"), ("leer", " ")]).matches(text) == []


@pytest.mark.parametrize("pairs", [[], [("", "")], [("a", "")]])
def test_an_empty_memory_has_no_answers(pairs: list[tuple[str, str]]) -> None:
    assert len(nearest(pairs)) == 0
    assert nearest(pairs).matches("open") == []


def test_a_text_that_fills_whole_blocks_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translation_memory, "BLOCK", 2)
    index = nearest([(text, text) for text in "ab cde f gh ij klm no".split()])
    assert [index.matches(text)[0].translation for text in ("f", "klm", "no")] == ["f", "klm", "no"]


def test_what_is_written_is_a_corpus_of_distinct_pairs(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl.gz"
    pairs = [Pair("a\tb", "ü"), Pair("a\tb", "ü"), Pair("", "x"), Pair("y", "z")]
    translation_memory.write(path, pairs, ("en", "de"))
    first = path.read_bytes()
    translation_memory.write(path, pairs, ("en", "de"))
    assert path.read_bytes() == first
    assert list(read_pairs(path, "en", "de")) == [Pair("a\tb", "ü"), Pair("y", "z")]
