"""How fast a translation memory answers, and how often its answer is not a nearest one: `python -m benchmarks.memory`.

Every text of some corpora is a source of the memory once, whatever its language. The queries are the sources of other
corpora; some of them are looked up by brute force, too.
"""

import argparse
import random
import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import Indel
from rich.console import Console
from rich.table import Table

from dragoman.corpus.examples import Pair, read_texts
from dragoman.corpus.translation_memory import NearestMemory
from dragoman.text.normalizer import Normalizer
from dragoman.text.pretokenizer import punctuation

THRESHOLD = 0.5


class Answers(NamedTuple):
    """The scores of a memory's answers to some queries, 0 where it has none; and how many milliseconds each took, by
    the clock and of the processor.
    """

    scores: list[float]
    milliseconds: list[float]
    busy: list[float]


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--memory", nargs="+", required=True, metavar="FILE:EN,DE", help="corpora and their columns")
    parser.add_argument("--queries", nargs="+", required=True, metavar="FILE:EN", help="corpora to look up")
    parser.add_argument("--sources", type=int, default=1_000_000, help="in the memory, at most")
    parser.add_argument("--count", type=int, default=2000, help="queries, drawn at random")
    parser.add_argument("--compared", type=int, default=200, help="of them that are looked up by brute force")
    return parser.parse_args(arguments)


def texts(places: Sequence[str]) -> Iterator[str]:
    """All texts of `FILE:COLUMN,COLUMN`."""
    for place in places:
        path, _, names = place.rpartition(":")
        for row in read_texts(path, tuple(names.split(","))):
            yield from row


def answered(memory: NearestMemory, queries: Sequence[str]) -> Answers:
    answers = Answers([], [], [])
    for query in queries:
        began, busy = time.perf_counter(), time.process_time()
        matches = memory.matches(query)
        answers.busy.append(1000 * (time.process_time() - busy))
        answers.milliseconds.append(1000 * (time.perf_counter() - began))
        answers.scores.append(max((match.score for match in matches), default=0.0))
    return answers


def brute(sources: Sequence[str], queries: Sequence[str], least: Sequence[float]) -> list[float]:
    """The score of the nearest source of each query, as far as it reaches the `least` and the threshold, by comparing
    its words with those of all, and its characters with all that then can.
    """
    numbers = dict.fromkeys(word for text in (*sources, *queries) for word in words(text))
    letters = {word: chr(0x10000 + number) for number, word in enumerate(numbers)}  # of which there are a million
    split, lengths = [_spelled(text, letters) for text in sources], np.array(list(map(len, sources)))
    best_matches = []
    for query, floor in zip(queries, least, strict=True):
        alike = _similarities(_spelled(query, letters), split)
        most = 2 * np.minimum(lengths, len(query)) / (lengths + len(query))  # of characters, in texts so long
        rows = np.flatnonzero((alike + most) / 2 >= max(floor, THRESHOLD) - 1e-9).tolist()
        scores = np.add(alike[rows], _similarities(query, [sources[row] for row in rows])) / 2
        best_matches.append(float(scores.max(initial=0)))
    return best_matches


def _spelled(text: str, letters: Mapping[str, str]) -> str:
    """Each word as a character."""
    return "".join(letters[word] for word in words(text))


def _similarities(text: str, candidates: Sequence[str]) -> NDArray[np.float64]:
    similarities: NDArray[np.float64] = process.cdist(
        [text], candidates, scorer=Indel.normalized_similarity, dtype=np.float64
    )[0]
    return similarities


def words(text: str) -> list[str]:
    return [text[begin:end] for begin, end in punctuation(text)]


def main(arguments: list[str] | None = None) -> None:
    options = parsed(arguments)
    normalize = Normalizer(lowercase=False)
    sources = list(dict.fromkeys(filter(str.strip, map(normalize, texts(options.memory)))))[: options.sources]
    unique_queries = list(dict.fromkeys(map(normalize, texts(options.queries))))
    queries = random.Random(1).sample(unique_queries, min(options.count, len(unique_queries)))
    began = time.process_time()
    pairs = (Pair(source, str(number)) for number, source in enumerate(sources))
    memory = NearestMemory(pairs, normalize, punctuation, threshold=THRESHOLD)
    seconds = time.process_time() - began
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    answers = answered(memory, queries)
    table = Table("", "", title=f"{len(memory):,} sources, {len(queries):,} queries, one thread", show_header=False)
    table.add_row("index, seconds of the processor", f"{seconds:.1f}")
    table.add_row("memory of the process, GB", f"{size:.2f}")
    for name, times in (("ms a query", answers.milliseconds), ("ms of the processor", answers.busy)):
        figures = [np.mean(times), *np.percentile(times, [50, 95, 99])]
        table.add_row(f"{name}: mean, median, 95 %, 99 %", ", ".join(f"{figure:.1f}" for figure in figures))
    table.add_row("100,000 queries, minutes of the processor", f"{np.mean(answers.busy) * 100 / 60:.1f}")
    table.add_row("answered (score of 0.5 or more), %", f"{100 * np.mean(np.array(answers.scores) > 0):.1f}")
    Console().print(table)
    own = answers.scores[: options.compared]
    wanted = np.array(brute(sources, queries[: options.compared], own))
    there, missed = wanted >= THRESHOLD, wanted - np.array(own)
    worse = (missed > 1e-9)[there]
    Console().print(f"of {there.sum()} with an answer by brute force, worse: {worse.sum()}")
    Console().print(f"their scores, mean less: {missed[there][worse].mean() if worse.any() else 0:.3f}")


if __name__ == "__main__":
    main()
