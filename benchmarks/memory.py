"""How fast a translation memory answers, and how often its answer is not a nearest one: `python -m benchmarks.memory`.

Every text of some corpora is a source of the memory once, whatever its language. The queries are the sources of other
corpora; some of them are looked up by brute force, too.
"""

import argparse
import random
import resource
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Indel
from rich.console import Console
from rich.table import Table

from dragoman.corpus.examples import Pair, read_texts
from dragoman.corpus.memory import Nearest
from dragoman.text.normalise import Normaliser
from dragoman.text.tokenise import punctuation


class Answers(NamedTuple):
    """The scores of a memory's answers to some queries, 0 where it has none; and how many milliseconds each took."""

    scores: list[float]
    milliseconds: list[float]


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


def answered(memory: Nearest, queries: Sequence[str]) -> Answers:
    found = Answers([], [])
    for query in queries:
        began = time.perf_counter()
        matches = memory.matches(query)
        found.milliseconds.append(1000 * (time.perf_counter() - began))
        found.scores.append(max((each.score for each in matches), default=0.0))
    return found


def words(text: str) -> list[str]:
    return [text[begin:end] for begin, end in punctuation(text)]


def brute(sources: Sequence[str], queries: Sequence[str]) -> list[float]:
    """The score of the nearest source of each query, by comparing it with all."""
    split, found = list(map(words, sources)), []
    for query in queries:
        characters = process.cdist([query], sources, scorer=Indel.normalized_similarity, dtype=np.float64)[0]
        # Of a mean of two that are at most 1, only these can be the highest.
        best = 0.0
        for place in np.argsort(-characters, kind="stable"):
            if (characters[place] + 1) / 2 <= best:
                break
            here = Indel.normalized_similarity(words(query), split[place])
            best = max(best, (float(characters[place]) + here) / 2)
        found.append(best)
    return found


def main(arguments: list[str] | None = None) -> None:
    options = parsed(arguments)
    normalise = Normaliser(lowercase=False)
    sources = list(dict.fromkeys(filter(str.strip, map(normalise, texts(options.memory)))))[: options.sources]
    asked = list(dict.fromkeys(map(normalise, texts(options.queries))))
    queries = random.Random(1).sample(asked, min(options.count, len(asked)))
    began = time.perf_counter()
    pairs = (Pair(source, str(number)) for number, source in enumerate(sources))
    memory = Nearest(pairs, normalise, punctuation, threshold=0.5)
    made = time.perf_counter() - began
    found = answered(memory, queries)
    wanted = np.array(brute(sources, queries[: options.compared]))
    there, missed = wanted >= 0.5, wanted - np.array(found.scores[: options.compared])
    worse = (missed > 1e-9)[there]
    table = Table("", "", title=f"{len(memory):,} sources, {len(queries):,} queries, one thread", show_header=False)
    table.add_row("index, seconds", f"{made:.1f}")
    table.add_row("memory of the process, GB", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f}")
    table.add_row("ms a query, mean", f"{np.mean(found.milliseconds):.2f}")
    table.add_row("ms a query, 99 %", f"{np.percentile(found.milliseconds, 99):.2f}")
    table.add_row("100,000 queries, minutes", f"{np.mean(found.milliseconds) * 100 / 60:.1f}")
    table.add_row("answered (score of 0.5 or more), %", f"{100 * np.mean(np.array(found.scores) > 0):.1f}")
    table.add_row(f"of {there.sum()} with an answer by brute force, worse, %", f"{100 * worse.mean():.1f}")
    table.add_row("their scores, mean less", f"{missed[there][worse].mean() if worse.any() else 0:.3f}")
    Console().print(table)


if __name__ == "__main__":
    main()
