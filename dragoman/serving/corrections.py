"""Corrections of users: kept in a database, found again for the same text and similar ones, exported to learn from."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from dragoman.corpus.examples import Pair
from dragoman.corpus.memory import Match, Nearest
from dragoman.errors import UserError
from dragoman.files import shown
from dragoman.text.normalise import Normaliser
from dragoman.text.tokenise import punctuation

APPLICATION = 0x64726167  # in the header of our databases: "drag"
FORM = 1
SCHEMA = """
create table corrections (
    id integer primary key,
    source_language text not null,
    target_language text not null,
    source text not null,
    machine text not null,
    correction text not null,
    author text not null,
    created text not null default (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
) strict;
create index by_source on corrections (source_language, target_language, source);
"""
_NORMALISE = Normaliser(lowercase=False)


class Correction(NamedTuple):
    """A sentence, what a model made of it (if that is known), what a user wants instead, and who that was."""

    source: str
    correction: str
    machine: str = ""
    author: str = ""


class Corrections:
    """A database of corrections. What `add` has returned from is on the disk, whatever happens to the process.

    The last correction of a sentence counts. `threshold` is the least similarity of a sentence whose correction is
    given for another; 1 = of the same alone. UserError for a file that is no such database.
    """

    def __init__(self, path: Path, *, threshold: float = 1.0) -> None:
        self.threshold = threshold
        self._lock = threading.Lock()
        self._nearest: dict[tuple[str, str], Nearest] = {}
        fresh = not path.exists() or not path.stat().st_size
        try:
            self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            form = [self._pragma(name) for name in ("application_id", "user_version")]
            if not fresh and form != [APPLICATION, FORM]:
                raise UserError(f"{shown(path)}: is no database of corrections, or one of another version")
            for setting in ("journal_mode = wal", "synchronous = full", "busy_timeout = 5000"):
                self._pragma(setting)
            if fresh:
                made = f"pragma application_id = {APPLICATION}; pragma user_version = {FORM};"
                self._database.executescript(f"begin; {SCHEMA} {made} commit;")
        except sqlite3.Error as error:
            raise UserError(f"{shown(path)}: cannot be used for corrections ({error})") from error

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def add(self, pair: tuple[str, str], correction: Correction) -> None:
        """Keep a correction of a translation from one language to another."""
        with self._lock:
            self._database.execute(
                "insert into corrections (source_language, target_language, source, machine, correction, author) "
                "values (?, ?, ?, ?, ?, ?)",
                (*pair, correction.source, correction.machine, correction.correction, correction.author),
            )
            self._nearest.pop(pair, None)

    def found(self, pair: tuple[str, str], source: str) -> Match | None:
        """The correction of this sentence, or of the most similar one that reaches the threshold."""
        with self._lock:
            if pair not in self._nearest:
                pairs = [Pair(each.source, each.correction) for each in self._of(pair)]
                self._nearest[pair] = Nearest(pairs, _NORMALISE, punctuation, threshold=self.threshold)
            near = self._nearest[pair]
        return next(iter(near.matches(source)), None)

    def all(self, pair: tuple[str, str]) -> list[Correction]:
        """The corrections of a pair of languages, the last of each sentence, in the order in which they were made."""
        with self._lock:
            return list(self._of(pair))

    def _pragma(self, name: str) -> object:
        return next(iter(self._database.execute(f"pragma {name}").fetchone() or [None]))

    def _of(self, pair: tuple[str, str]) -> Iterator[Correction]:
        with closing(
            self._database.execute(
                "select source, correction, machine, author from corrections where id in (select max(id) from "
                "corrections where source_language = ? and target_language = ? group by source) order by id",
                pair,
            )
        ) as rows:
            yield from map(Correction._make, rows)
