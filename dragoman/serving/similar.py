"""Corrections of similar sentences, found in an index that new corrections do not keep waiting."""

import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from dragoman.corpus.examples import Pair
from dragoman.corpus.translation_memory import Match, NearestMemory
from dragoman.text.normalizer import Normalizer
from dragoman.text.pretokenizer import punctuation

RECENT = 500  # corrections that have an index of their own, which is made anew with each of them in milliseconds
COUNT = 5  # similar sentences that are looked at, since the correction of one may have been removed
NORMALIZE = Normalizer(lowercase=False)
SOURCES = """
select max(id), source from corrections where source_language = ? and target_language = ? and id > ? group by source
order by max(id)
"""
COUNTED = "select count(*) from corrections where source_language = ? and target_language = ? and id <= ?"
PAIRS = "select distinct source_language, target_language from corrections"


class Index(NamedTuple):
    """The sources of corrections up to the one of this number, and how many corrections these were. `written` has each
    source as it is in the database, by how it is compared.
    """

    nearest: NearestMemory
    written: dict[str, str]
    last: int
    total: int

    @classmethod
    def of(cls, rows: Sequence[tuple[int, str]], threshold: float, total: int = 0) -> "Index":
        """The index of the numbers and sources of corrections."""
        sources = [source for _, source in rows]
        pairs = [Pair(source, source) for source in sources]
        nearest = NearestMemory(pairs, NORMALIZE, punctuation, threshold=threshold, count=COUNT)
        written = {NORMALIZE(source).strip(): source for source in sources}
        return cls(nearest, written, rows[-1][0] if rows else 0, total)


class SimilarSources:
    """The sources of corrections that are similar to a text, by pairs of languages.

    Those in a large index may have been corrected again, or removed, meanwhile: the database knows. New ones have a
    small index; when that has grown, or some have been removed, the large one is made anew by a thread, and replaces
    both when it is done.
    """

    def __init__(self, path: Path, threshold: float) -> None:
        self._path = path
        self._threshold = threshold
        self._lock = threading.Lock()
        self._large: dict[tuple[str, str], Index] = {}
        self._recent: dict[tuple[str, str], Index] = {}
        self._version: object = None  # of the corrections that the recent ones are of
        self._making: threading.Thread | None = None
        with closing(sqlite3.connect(path)) as database:
            pairs = database.execute(PAIRS).fetchall()
        for pair in pairs:
            self._make(pair)

    def matches(self, pair: tuple[str, str], text: str, version: object) -> list[Match]:
        """Sources that reach the threshold, the most similar first; `translation` has each as it is in the database.
        The version tells whether corrections have changed.
        """
        with self._lock:
            if version != self._version:
                self._version, self._recent = version, {}
            large = self._large.get(pair) or self._large.setdefault(pair, Index.of([], self._threshold))
            if pair not in self._recent:
                rows, count = self._rows(pair, large.last)
                rows = [row for row in rows if NORMALIZE(row[1]).strip() not in large.written]
                self._recent[pair] = Index.of(rows, self._threshold)
                making = self._making is not None and self._making.is_alive()
                if (len(rows) > RECENT or count != large.total) and not making:
                    self._making = threading.Thread(target=self._make, args=(pair,), daemon=True)
                    self._making.start()
            indices = large, self._recent[pair]
        matches = [
            match._replace(translation=index.written[match.source])
            for index in indices
            for match in index.nearest.matches(text)
        ]
        return sorted(matches, key=lambda match: -match.score)

    def _make(self, pair: tuple[str, str]) -> None:
        """Make the large index of a pair of languages."""
        rows, _ = self._rows(pair, 0)
        _, count = self._rows(pair, rows[-1][0] if rows else 0)
        index = Index.of(rows, self._threshold, count)
        with self._lock:
            self._large[pair] = index
            self._recent.pop(pair, None)

    def _rows(self, pair: tuple[str, str], after: int) -> tuple[list[tuple[int, str]], int]:
        """The number and source of the last correction of each sentence after the one of this number, and how many
        corrections are not after it.
        """
        with closing(sqlite3.connect(self._path)) as database:  # beside the one that others wait for
            (count,) = database.execute(COUNTED, (*pair, after)).fetchone()
            return database.execute(SOURCES, (*pair, after)).fetchall(), count
