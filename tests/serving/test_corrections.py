"""Corrections of users in a database."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dragoman.corpus.examples import Pair
from dragoman.corpus.translation_memory import NearestMemory
from dragoman.errors import UserError
from dragoman.serving.corrections import Correction, Corrections, NotKeptError, TranslationRecord

PAIR = ("en", "fr")


def corrections_of(database: Corrections) -> list[Correction]:
    """The last correction of each sentence of PAIR."""
    return [entry.correction for entry in database.entries() if entry.pair == PAIR]


def test_the_last_correction_of_a_sentence_counts(tmp_path: Path) -> None:
    kept = Corrections(tmp_path / "db")
    kept.add(PAIR, Correction("one", "un", "deux", "ann"))
    kept.add(PAIR, Correction("two", "deux"))
    kept.add(PAIR, Correction("one", "une", "deux", "bob"))
    kept.add(("en", "de"), Correction("one", "eins"))
    assert corrections_of(kept) == [Correction("two", "deux"), Correction("one", "une", "deux", "bob")]
    match = kept.find(PAIR, "one")
    assert match is not None
    assert (match.translation, match.score) == ("une", 1.0)
    assert kept.find(("fr", "en"), "one") is None
    kept.close()
    assert corrections_of(Corrections(tmp_path / "db"))[1].correction == "une"


def test_a_sentence_is_the_same_however_its_characters_are_composed(tmp_path: Path) -> None:
    spellings = ("un cafe\u0301", "un caf\u00e9")
    kept = Corrections(tmp_path / "db")
    for wanted in spellings:
        kept.add(PAIR, Correction(wanted, wanted))
        for spelling in spellings:
            match = kept.find(PAIR, spelling)
            assert match
            assert match.translation == wanted
    assert [spelling.correction for spelling in corrections_of(kept)] == [spellings[1]]
    kept.note(PAIR, [TranslationRecord(spellings[0], "x", "model")])
    assert "x" not in [spelling.correction.correction for spelling in kept.entries(translations=True)]
    assert kept.forget(spellings[0]) == 3  # with the translation


def test_what_is_forgotten_is_nowhere_in_the_files(tmp_path: Path) -> None:
    """Corrections and history of a text, while another process has the database open."""
    kept, other = (Corrections(tmp_path / "db") for _ in range(2))
    assert stat.S_IMODE((tmp_path / "db").stat().st_mode) == 0o600
    kept.add(PAIR, Correction("my secret salary", "mon salaire secret", author="ann"))
    kept.note(
        PAIR,
        [TranslationRecord("my secret salary", "un", "model"), TranslationRecord("a second secret", "deux", "model")],
    )
    assert other.forget("my secret salary") == 2
    assert other.forget("a second secret") == 1
    kept.add(PAIR, Correction("One dog. Two cats.", "un a. deux b."), Correction("One dog.", "un a."))
    kept.note(
        PAIR,
        [
            TranslationRecord("Two cats.", "deux", "model"),
            TranslationRecord("Six secret.", "six", "model"),
            TranslationRecord("Two", "deux", "model"),
        ],
    )
    assert other.forget("One dog. Two cats.") == 3
    assert other.forget("Two cats. Six secret.") == 1
    assert other.forget("Two") == 1
    assert kept.entries(translations=True) == []
    assert all(b"secret" not in path.read_bytes() for path in tmp_path.iterdir())


def test_similar_sentences_are_found_above_the_threshold(tmp_path: Path) -> None:
    Corrections(tmp_path / "db").add(PAIR, Correction("the red car stops here", "la voiture rouge s'arrête ici"))
    sentence = "the red car stops there"
    assert Corrections(tmp_path / "db").find(PAIR, sentence) is None
    match = Corrections(tmp_path / "db", threshold=0.7).find(PAIR, sentence)
    assert match is not None
    assert 0.7 <= match.score < 1
    assert Corrections(tmp_path / "db", threshold=0.7).find(PAIR, "something else") is None


def test_a_new_correction_is_found_at_once(tmp_path: Path) -> None:
    kept = Corrections(tmp_path / "db")
    for number in range(3):
        assert kept.find(PAIR, f"one {number}") is None
        kept.add(PAIR, Correction(f"one {number}", "x"))
        assert kept.find(PAIR, f"one {number}") is not None


def test_servers_see_what_others_keep(tmp_path: Path) -> None:
    one, other = Corrections(tmp_path / "db", threshold=0.7), Corrections(tmp_path / "db", threshold=0.7)
    assert other.find(PAIR, "the red car stops there") is None
    one.add(PAIR, Correction("the red car stops here", "la voiture"))
    for text in ("the red car stops there", "the red car stops here"):
        match = other.find(PAIR, text)
        assert match is not None
        assert match.translation == "la voiture"


def test_similar_sentences_are_indexed_again_when_corrections_change_and_not_for_translations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By other servers, too, and where a new correction takes the number of one that was removed."""
    built: list[int] = []

    def counted(pairs: list[Pair], *rest: Any, **options: Any) -> NearestMemory:
        built.extend([len(pairs)] if pairs else [])
        return NearestMemory(pairs, *rest, **options)

    monkeypatch.setattr("dragoman.serving.similar.NearestMemory", counted)
    one, other = Corrections(tmp_path / "db", threshold=0.7), Corrections(tmp_path / "db", threshold=0.7)
    one.add(PAIR, Correction("the red car stops here", "la voiture"))

    def find() -> str | None:
        match = one.find(PAIR, "the red car stops there")
        return match and match.translation

    assert find() == "la voiture"
    for number, server in enumerate((one, other)):
        server.note(PAIR, [TranslationRecord(f"{number}", "x", "m")])
        assert find() == "la voiture"
    assert built == [1]
    for text, server in (("auto", one), ("char", other), ("wagon", other)):
        assert server.forget("the red car stops here") == 1
        server.add(PAIR, Correction("the red car stops here", text))
        assert find() == text
    assert built == [1, 1, 1, 1]
    with closing(sqlite3.connect(tmp_path / "db")) as by_hand, by_hand:
        by_hand.execute("update corrections set correction = 'bagnole'")
    assert find() == "bagnole"


def sentences(count: int) -> list[Correction]:
    return [
        Correction(f"the car of number {number} stops at house {number * 7919}", f"{number}") for number in range(count)
    ]


def waited(kept: Corrections) -> None:
    """Wait for the index that a thread makes."""
    assert kept._similar is not None
    if kept._similar._making is not None:
        kept._similar._making.join(30)


def test_the_number_of_a_correction_that_was_removed_is_never_used_again(tmp_path: Path) -> None:
    kept = Corrections(tmp_path / "db")
    numbers = []
    for correction in sentences(3):
        kept.add(PAIR, correction)
        same = kept.same(PAIR, correction.source)
        assert same is not None
        numbers.append(same[0])
        kept.forget(correction.source)
    assert numbers == [1, 2, 3]


def test_the_index_is_renewed_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.serving.similar.RECENT", 10)
    Corrections(tmp_path / "db").add(PAIR, *sentences(30))
    kept = Corrections(tmp_path / "db", threshold=0.9)

    def find(number: int) -> str | None:
        match = kept.find(PAIR, f"the car of number {number} stops at  house {number * 7919}!")
        return match and match.translation

    assert find(3) == "3"
    for number, correction in enumerate(sentences(50)[30:], start=30):  # more than are recent
        kept.add(PAIR, correction)
        assert find(number) == f"{number}"
    waited(kept)
    assert kept._similar is not None
    assert len(kept._similar._large[PAIR].nearest) > 30
    kept.add(PAIR, sentences(4)[3]._replace(correction="again"))
    assert (find(3), find(29), find(49)) == ("again", "29", "49")
    for number in (3, 49):
        kept.forget(sentences(50)[number].source)
        assert find(number) != f"{number}"  # at once
    kept.add(PAIR, sentences(60)[59])
    find(59)
    waited(kept)
    assert find(59) == "59"


@pytest.mark.slow
def test_a_new_correction_among_many_keeps_nobody_waiting(tmp_path: Path) -> None:
    Corrections(tmp_path / "db").add(PAIR, *sentences(20_000))
    began = time.monotonic()
    kept = Corrections(tmp_path / "db", threshold=0.9)
    seconds = time.monotonic() - began
    times: list[float] = []
    for number in range(10):
        kept.add(PAIR, Correction(f"something new {number}", "x"))
        began = time.monotonic()
        assert kept.find(PAIR, f"something new {number}!")
        times.append(time.monotonic() - began)
    assert sorted(times)[5] < max(0.1, seconds / 10), (times, seconds)


def test_many_servers_make_the_database_at_once(tmp_path: Path) -> None:
    for number in range(5):
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda place: Corrections(place).close(), [tmp_path / f"db{number}"] * 8))


def test_the_correction_of_the_very_text_comes_first(tmp_path: Path) -> None:
    kept = Corrections(tmp_path / "db")
    kept.add(PAIR, Correction("cafe\u0301", "older"))
    kept.add(PAIR, Correction("caf\u00e9", "newer"))
    match = kept.find(PAIR, "caf\u00e9")
    assert match is not None
    assert match.translation == "newer"


@pytest.mark.parametrize("content", [b"not a database, but long enough to be none" * 50, "notes", "corrections"])
def test_other_files_are_refused_and_left_alone(tmp_path: Path, content: bytes | str) -> None:
    """Also the database of another program that has a table of this name."""
    path = tmp_path / "db"
    if isinstance(content, str):
        with sqlite3.connect(path) as other:
            other.execute(f"create table {content} (text)")
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(UserError, match="db: "):
        Corrections(path)
    assert path.read_bytes() == before


@pytest.mark.slow
def test_what_was_acknowledged_survives_the_process(tmp_path: Path) -> None:
    """Killed among writes, five times over, with more than 500 writes."""
    program = (
        "import sys; from pathlib import Path; from dragoman.serving.corrections import *\n"
        "kept = Corrections(Path(sys.argv[1]))\n"
        "for number in range(int(sys.argv[2]), 10**6):\n"
        "    kept.add(('en', 'fr'), Correction(f'{number}', 'x')); print(number, flush=True)\n"
    )
    acknowledged: list[str] = []
    for times in range(5):
        command = [sys.executable, "-c", program, str(tmp_path / "db"), str(1000 * times)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            acknowledged += [process.stdout.readline().strip() for _ in range(100)]
            os.kill(process.pid, signal.SIGKILL)
            acknowledged += process.stdout.read().split()
        kept = Corrections(tmp_path / "db")
        assert {correction.source for correction in corrections_of(kept)} >= set(acknowledged)
        kept.close()
    assert sqlite3.connect(tmp_path / "db").execute("pragma integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("name", ["new", "old", "ours"])
def test_what_was_acknowledged_is_on_the_disk(name: str, tmp_path: Path) -> None:
    """Each commit waits for the disk (2: full), and what is removed is overwritten, in every connection."""
    if name == "old":
        sqlite3.connect(tmp_path / name).close()
    if name == "ours":
        Corrections(tmp_path / name).close()
    kept = Corrections(tmp_path / name)
    settings = {pragma: kept._pragma(pragma) for pragma in ("journal_mode", "synchronous", "secure_delete")}
    assert settings == {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1}
    kept.close()


def test_changes_are_transactions(tmp_path: Path) -> None:
    """Begun at once, so that no other process writes in between, and undone as a whole if one of them fails."""
    kept = Corrections(tmp_path / "db")
    statements: list[str] = []
    kept._database.set_trace_callback(statements.append)
    kept.add(PAIR, Correction("one", "un"), Correction("two", "deux"))
    kept.note(PAIR, [TranslationRecord("three", "trois", "m")])
    kept.forget("one")
    ends = ("begin", "commit", "rollback")
    marks = [statement.lower() for statement in statements if statement.lower().startswith(ends)]
    assert marks == ["begin immediate", "commit"] * 3
    statements.clear()
    kept._database.execute("create trigger no before insert on corrections begin select raise(abort, 'no'); end")
    with pytest.raises(NotKeptError):
        kept.add(PAIR, Correction("four", "quatre"))
    assert statements[-1].lower() == "rollback"
    assert [correction.source for correction in corrections_of(kept)] == ["two"]
    kept.close()


def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """The database may not grow by more than so many pages."""
    kept = Corrections(tmp_path / "db")
    kept._database.execute("pragma max_page_count = 20")
    acknowledged: list[str] = []

    def fill() -> None:
        for number in range(1_000):
            kept.add(PAIR, Correction(f"{number}", "x" * 1_000))
            acknowledged.append(f"{number}")

    with pytest.raises(NotKeptError, match="full"):
        fill()
    with pytest.raises(NotKeptError, match="full"):
        kept.note(PAIR, [TranslationRecord(f"{number}", "x" * 1_000, "m") for number in range(100)])
    assert acknowledged
    assert [entry.source for entry in corrections_of(kept)] == acknowledged
    kept.close()
    again = Corrections(tmp_path / "db")
    assert [entry.correction.source for entry in again.entries(translations=True)] == acknowledged
    again.add(PAIR, Correction("room again", "x"))
    assert again._database.execute("pragma integrity_check").fetchone() == ("ok",)


def test_translations_are_kept_once_and_corrections_go_before_them(tmp_path: Path) -> None:
    kept = Corrections(tmp_path / "db")
    for _ in range(2):
        kept.note(
            PAIR,
            [
                TranslationRecord("one", "un", "m"),
                TranslationRecord("two", "deux", "m"),
                TranslationRecord("one", "une", "n"),
            ],
        )
    kept.add(PAIR, Correction("two", "DEUX", "deux", "ann"))
    kept.add(("fr", "en"), Correction("un", "one"))
    rows = [(entry.pair, *entry.correction, entry.model) for entry in kept.entries(translations=True)]
    assert rows == [
        (PAIR, "two", "DEUX", "deux", "ann", ""),
        (("fr", "en"), "un", "one", "", "", ""),
        (PAIR, "one", "une", "une", "", "n"),
    ]
    assert [entry.correction.source for entry in kept.entries()] == ["two", "un"]


def test_what_cannot_be_written_keeps_nobody_from_writing(tmp_path: Path) -> None:
    one, other = Corrections(tmp_path / "kept"), Corrections(tmp_path / "kept")
    with pytest.raises(UnicodeEncodeError):
        one.add(PAIR, Correction("one", "un"), Correction("\ud800", "deux"))
    other.add(PAIR, Correction("two", "deux"))
    assert [correction.source for correction in corrections_of(one)] == ["two"]  # all of the first, or none


def test_what_others_have_corrected_after_a_text_is_not_removed_with_it(tmp_path: Path) -> None:
    """Nor what the same user has."""
    kept = Corrections(tmp_path / "db")
    kept.add(PAIR, Correction("One two. Three.", "Un deux et trois.", author="ann"))
    kept.add(PAIR, Correction("One two.", "Un deux !", author="bob"))
    kept.add(("en", "de"), Correction("Three.", "Drei!", author="ann"))
    texts = ("One two. Three.", "One two.", "Three.")
    kept.add(PAIR, *(Correction(text, text.upper(), author="eve") for text in texts))
    kept.add(PAIR, Correction("Three.", "Trois !", author="eve"))
    assert kept.forget("One two. Three.") == 4
    left = [(entry.correction.source, entry.correction.author) for entry in kept.entries()]
    assert left == [("One two.", "bob"), ("Three.", "ann"), ("Three.", "eve")]


def test_without_a_correction_by_the_author_a_translation_stays(tmp_path: Path) -> None:
    kept = Corrections(tmp_path / "db")
    kept.note(PAIR, [TranslationRecord("six", "seis", "m")])
    assert kept.forget("six", author="ann") == 0
    assert kept.forget("six") == 1
