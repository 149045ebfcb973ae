"""What a service keeps in a database: corrections of users, found again for the same text and similar ones, and, where
that is asked for, all translations.
"""

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from dragoman.corpus.translation_memory import Match
from dragoman.documents.passages import split_text
from dragoman.errors import UserError
from dragoman.files.reading import shown
from dragoman.serving.similar import NORMALIZE, SimilarSources
from dragoman.text.normalizer import composed

APPLICATION = 0x64726167  # in the header of our databases: "drag"
FORM = 2
BUSY = 5.0  # seconds that one process waits for another that writes
# `first_id` is the first of the corrections that were added together; `version` counts changes of corrections, whoever
# has the database open.
SCHEMA = (
    """
create table corrections (
    id integer primary key autoincrement, -- an index made while the last one was removed would miss its successor
    source_language text not null,
    target_language text not null,
    source text not null,
    machine text not null,
    correction text not null,
    author text not null,
    first_id integer not null,
    created text not null default (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
) strict
""",
    "create index by_source on corrections (source_language, target_language, source)",
    """
create table translations (
    id integer primary key,
    source_language text not null,
    target_language text not null,
    source text not null,
    translation text not null,
    model text not null,
    created text not null default (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
    unique (source_language, target_language, source, translation, model)
) strict
""",
    "create table version (id integer primary key, number integer not null) strict",
    *(
        f"create trigger after_{change} after {change} on corrections begin "
        "insert into version values (1, 1) on conflict (id) do update set number = number + 1; end"
        for change in ("insert", "update", "delete")
    ),
    f"pragma application_id = {APPLICATION}",
    f"pragma user_version = {FORM}",
)
# The last correction of each sentence, then, of other sentences, the last translation, both in the order of time.
KEPT = """
select source_language, target_language, source, correction, machine, author, '', created from corrections
where id in (select max(id) from corrections group by source_language, target_language, source) order by id
"""
OTHERS = """
select source_language, target_language, source, translation, translation, '', model, created from translations as made
where id in (select max(id) from translations group by source_language, target_language, source) and not exists
(select * from corrections as better where better.source_language = made.source_language
and better.target_language = made.target_language and better.source = made.source) order by id
"""
SAME = """
select id, correction from corrections where source_language = ? and target_language = ? and source = ? order by id desc
"""


class NotKeptError(Exception):
    """A database could not be written: the disk is full, for instance. What it had stays."""


class Correction(NamedTuple):
    """A sentence, what a model made of it (if that is known), what a user wants instead, and who that was."""

    source: str
    correction: str
    machine: str = ""
    author: str = ""


class TranslationRecord(NamedTuple):
    """A sentence, what a model made of it, and the model's name."""

    source: str
    translation: str
    model: str


class CorrectionEntry(NamedTuple):
    """What there is for a sentence: a correction with its author, or a translation with the name of its model."""

    pair: tuple[str, str]
    correction: Correction
    model: str
    created: str  # in UTC, as 2026-01-31T12:00:00Z


class Corrections:
    """A database of corrections. What `add` has returned from is on the disk, whatever happens to the process.

    The last correction of a sentence counts. `threshold` is the least similarity of a sentence whose correction is
    given for another; 1 = of the same alone. UserError for a file that is no such database.
    """

    def __init__(self, path: Path, *, threshold: float = 1.0) -> None:
        self.threshold = threshold
        self._lock = threading.Lock()
        try:
            if not path.exists():  # for nobody else to read
                path.touch(0o600)
            self._database = sqlite3.connect(path, timeout=BUSY, check_same_thread=False, isolation_level=None)
            self._prepare(path)
            self._similar = SimilarSources(path, threshold) if threshold < 1 else None
        except (sqlite3.Error, OSError) as error:
            raise UserError(f"{shown(path)}: cannot be used for corrections ({error})") from error

    def _prepare(self, path: Path) -> None:
        """Create the tables of a new database. UserError for a database that is not ours."""
        if self._form() != (APPLICATION, FORM):
            self._create(path)
        end = time.monotonic() + BUSY
        while self._pragma("journal_mode") != "wal":
            if time.monotonic() > end:
                raise sqlite3.OperationalError("it cannot have a write-ahead log")
            with suppress(sqlite3.OperationalError):  # another process does the same
                self._pragma("journal_mode = wal")
            time.sleep(0.01)
        self._pragma("synchronous = full")
        self._pragma("secure_delete = on")  # what is forgotten is overwritten

    def _form(self) -> tuple[object, object]:
        return self._pragma("application_id"), self._pragma("user_version")

    def _create(self, path: Path) -> None:
        """Create the tables in a transaction, unless another process has just done so."""
        self._database.execute("begin immediate")
        form = self._form()
        (tables,) = self._database.execute("select count(*) from sqlite_master").fetchone()
        if form != (APPLICATION, FORM) and (tables or form != (0, 0)):
            self._database.execute("rollback")
            raise UserError(f"{shown(path)}: is not a corrections database of this version")
        for statement in SCHEMA if not tables else ():
            self._database.execute(statement)
        self._database.execute("commit")

    @classmethod
    def existing(cls, path: Path) -> "Corrections":
        """The same of a file that has to be there. UserError if there is none."""
        if not path.exists():
            raise UserError(f"{shown(path)}: no such file")
        if not path.is_file() or not path.stat().st_size:
            raise UserError(f"{shown(path)}: is not a corrections database")
        return cls(path)

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def add(self, pair: tuple[str, str], *corrections: Correction) -> None:
        """Keep corrections of translations from one language to another, all of them or, with NotKeptError, none. Their
        numbers follow each other.
        """
        with self._changing() as database:
            (first,) = database.execute("select ifnull(max(id), 0) + 1 from corrections").fetchone()
            database.executemany(
                "insert into corrections (source_language, target_language, source, machine, correction, author, "
                "first_id) values (?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        *pair,
                        composed(correction.source),
                        correction.machine,
                        correction.correction,
                        correction.author,
                        first,
                    )
                    for correction in corrections
                ],
            )

    def forget(self, source: str | None = None, author: str | None = None) -> int:
        """Remove the corrections of a text, with those of its sentences that were made with them; of an author; or of a
        text by an author; and what is kept of the history of such a text and its sentences. Return how many corrections
        and translations these were. Nothing of them stays in the file once no other process reads it. NotKeptError if
        that cannot be.
        """
        source = source and composed(source)
        with self._changing() as database:
            rows = database.execute("select id, source, author, first_id from corrections order by id").fetchall()
            removed, rest, last = list[tuple[int]](), "", None  # what its sentences, which follow a text, have to be in
            for number, sentence, by, together in rows:
                whole = source in (None, sentence)
                if author in (None, by) and (whole or (together == last and sentence in rest)):
                    removed.append((number,))
                    rest, last = (source or "") if whole else rest.partition(sentence)[2], together
                else:
                    rest = ""
            database.executemany("delete from corrections where id = ?", removed)
            gone = {number for (number,) in removed}
            texts = {(sentence,) for number, sentence, *_ in rows if number in gone}
            if source and author is None:
                languages = database.execute("select distinct source_language from translations").fetchall()
                parts = (split_text(source, language).sentences for (language,) in languages)
                texts |= {(text,) for part in ([source], source.splitlines(), *parts) for text in part}
            translations = database.executemany("delete from translations where source = ?", sorted(texts)).rowcount
        with self._lock, _writing():
            self._pragma("wal_checkpoint(truncate)")
        return len(removed) + max(translations, 0)

    def note(self, pair: tuple[str, str], records: Sequence[TranslationRecord]) -> None:
        """Keep translations, each different one once. NotKeptError if that cannot be."""
        with self._changing() as database:
            database.executemany(
                "insert or ignore into translations (source_language, target_language, source, translation, model) "
                "values (?, ?, ?, ?, ?)",
                [(*pair, composed(record.source), record.translation, record.model) for record in records],
            )

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """The database in a transaction. NotKeptError if it cannot be written; then nothing is changed."""
        with self._lock, _writing():
            self._database.execute("begin immediate")
            try:
                yield self._database
                self._database.execute("commit")
            except BaseException:  # whatever it is, others may write
                if self._database.in_transaction:
                    self._database.execute("rollback")
                raise

    def entries(self, *, translations: bool = False) -> list[CorrectionEntry]:
        """The last correction of each sentence, and after them the last translation of every other one, if these are
        asked for, in the order of time.
        """
        with self._lock:
            rows = [row for item in (KEPT, OTHERS)[: 1 + translations] for row in self._database.execute(item)]
        return [CorrectionEntry((row[0], row[1]), Correction(*row[2:6]), *row[6:]) for row in rows]

    def same(self, pair: tuple[str, str], source: str) -> tuple[int, str] | None:
        """The number and text of the last correction of this sentence; characters may be composed or not."""
        with self._lock:
            for text in dict.fromkeys((composed(source), NORMALIZE(source))):
                if row := self._database.execute(SAME, (*pair, text)).fetchone():
                    return int(row[0]), str(row[1])
        return None

    def find(self, pair: tuple[str, str], source: str) -> Match | None:
        """The correction of this sentence, or of the most similar one that reaches the threshold, those that other
        processes keep included.
        """
        same = self.same(pair, source)
        if same is not None:
            return Match(same[1], 1.0, source)
        if self._similar is None:
            return None
        with self._lock:
            version = self._database.execute("select number from version").fetchone()
        for match in self._similar.matches(pair, source, version):
            with self._lock:
                row = self._database.execute(SAME, (*pair, match.translation)).fetchone()
            if row:  # it has not been removed
                return match._replace(translation=str(row[1]))
        return None

    def _pragma(self, name: str) -> object:
        return next(iter(self._database.execute(f"pragma {name}").fetchone() or [None]))


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise NotKeptError(str(error)) from error
