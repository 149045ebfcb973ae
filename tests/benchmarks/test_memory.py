"""The benchmark of the translation memory runs, and its brute force is the memory's own definition."""

from pathlib import Path

import pytest

from benchmarks import memory
from dragoman.corpus.examples import Pair
from dragoman.corpus.translation_memory import NearestMemory
from dragoman.text.normalizer import Normalizer
from dragoman.text.pretokenizer import punctuation
from tests import toy


def test_nothing_is_missed_in_a_small_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = toy.corpus(tmp_path)
    memory.main(["--memory", f"{place / 'train'}:en,fr", "--queries", f"{place / 'dev'}:en", "--compared", "5"])
    printed = capsys.readouterr().out
    assert "8 queries" in printed
    assert "with an answer by brute force, worse: 0" in printed


def test_brute_force_finds_the_best_mean_of_both_similarities() -> None:
    sources = ["open the file", "open file", "file", "opens the files", "close"]
    nearest = NearestMemory(
        (Pair(source, source) for source in sources), Normalizer(lowercase=False), punctuation, threshold=0.01
    )
    queries = ["open a file", "the files", "closed"]
    best = [nearest.matches(query)[0].score for query in queries]
    assert min(best) < memory.THRESHOLD < max(best)
    reached = [score if score >= memory.THRESHOLD else 0 for score in best]
    for least in ([0.0] * 3, best):
        scores = memory.brute(sources, queries, least)
        assert [score if score >= memory.THRESHOLD else 0 for score in scores] == pytest.approx(reached)
