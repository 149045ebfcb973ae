"""What is left out and what is changed, each counted once; and parts that have no source in common."""

import errno
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.corpus import accelerators, parts
from dragoman.corpus.cleaning import ACCELERATORS, CHANGED, DROPPED, DUPLICATE, Cleaner, CleanPair, Rules
from dragoman.corpus.translation_unit import TranslationState, TranslationUnit
from dragoman.errors import UserError
from tests.disk import fail_to_replace


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        (("_File", "_Datei"), ("File", "Datei")),
        (("&File", "&Datei"), ("File", "Datei")),
        (("~File", "~Datei"), ("File", "Datei")),
        (("Sa_ve As…", "S_peichern unter…"), ("Save As…", "Speichern unter…")),
        (("E&xit", "B&eenden"), ("Exit", "Beenden")),
        (("_Name:", "_Name:"), ("Name:", "Name:")),
        (("P_ause", "إ\u0650ي_قاف"), ("Pause", "إ\u0650يقاف")),
        (("_CD-ROM", "_CD-ROM"), ("CD-ROM", "CD-ROM")),
        (("_Help", "Hilfe"), ("Help", "Hilfe")),
        (("_File", "文件(_F)"), ("File", "文件")),
        (("&Open…", "開く(&O)…"), ("Open…", "開く…")),
        (("Sa_ve", "保存 (_V)"), ("Save", "保存")),
        (("File (_F)", "Datei"), ("File", "Datei")),
        (("Co_lor name:", "Farb_name:"), ("Color name:", "Farbname:")),
        (("Color _name:", "Farb_name:"), ("Color name:", "Farbname:")),
        (("Copie_s:", "Kopi_e:"), ("Copies:", "Kopie:")),
        (("Mi_nority", "Mi_norité"), ("Minority", "Minorité")),
        (("Background _color", "Hintergrund_farbe"), ("Background color", "Hintergrundfarbe")),
    ],
)
def test_accelerators_are_removed(marked: tuple[str, str], plain: tuple[str, str]) -> None:
    assert accelerators.remove_accelerators(*marked) == plain


@pytest.mark.parametrize(
    "texts",
    [
        ("no such file_name", "file_name gibt es nicht"),
        ("file_name is not there", "Dateiname fehlt"),
        ("set MAX_SIZE and MIN_SIZE", "MAX_SIZE und MIN_SIZE setzen"),
        ("AT&T", "AT&T"),
        ("Questions & Answers", "Fragen & Antworten"),
        ("a &lt; b", "a &lt; b"),
        ("__init__ failed", "__init__ schlug fehl"),
        ("open %(file_name)s", "%(file_name)s öffnen"),
        ("~/.config", "~/.config"),
        ("?a=1&b=2", "?a=1&b=3"),
        ("_open_file failed", "_open_file schlug fehl"),
        ("_private is missing", "Es fehlt _private"),
        ("~5 minutes", "~5 Minuten"),
        ("snake_case", "Schlange"),
        ("old_role", "ancien_rôle"),
        ("KP_Down", "Num_Bas"),
        ("Corrupt MERGE_HEAD file", "Beschädigte MERGE_HEAD-Datei"),
        ('Check for missing "SPI_finish" calls.', '"SPI_finish"呼出の抜けを確認'),
        ("Could not run pg_upgrade.", "»pg_upgrade« lief nicht."),
        ("R&D", "F&E"),
        ("Guessed pg_control values:", "Geschätzte pg_control-Werte:"),
        ("Guessed pg_control values:", "Odhadnuté hodnoty pg_controlu:"),
        ("Set wal_level before.", "前にwal_levelを設定してください。"),
        ("User_name", "Benutzer_name"),
        ("Max_connections", "Max_verbindungen"),
        ("Drag&drop", "Ziehen&ablegen"),
        ("R&d", "F&e"),
        ("about ~half", "etwa ~die Hälfte"),
        ("Go back with &BTN-GOBACK;.", "Mit &BTN-GOBACK; geht es zurück."),
        (
            "The index, of a list of so many (0, max_length) as it has.",
            "Der Index, in einer Liste (0, zahl_da), wie sie ist.",
        ),
        ("a _ b", "a _ b"),
        ("", ""),
    ],
)
def test_other_marks_stay(texts: tuple[str, str]) -> None:
    assert accelerators.remove_accelerators(*texts) == texts


@given(st.text(max_size=12), st.text(max_size=12))
def test_texts_without_marks_stay(source: str, target: str) -> None:
    texts = tuple(text.translate(str.maketrans("", "", accelerators.MARKS)) for text in (source, target))
    assert accelerators.remove_accelerators(*texts) == texts


CASES = {
    "obsolete": TranslationUnit(("a", "b"), TranslationState.OBSOLETE),
    "fuzzy": TranslationUnit(("a", "b"), TranslationState.FUZZY),
    "source empty": TranslationUnit((" \n", "b")),
    "not translated": TranslationUnit(("a", "\u2028")),
    "translator credits": TranslationUnit(("translator-credits", "Someone <a@b.c>")),
    "too long": TranslationUnit(("a", "b" * 21)),
    "the same as its source": TranslationUnit(("c", "c")),
    DUPLICATE: TranslationUnit(("x  y", "z")),
}


@pytest.mark.parametrize("reason", CASES)
def test_each_reason_is_counted_alone(reason: str) -> None:
    cleaner = Cleaner(Rules(longest=20, drop_copies=True))
    assert cleaner(TranslationUnit((" x\ty ", "z"))) == CleanPair("x y", "z", "", TranslationState.GOOD)
    assert cleaner(CASES[reason]) is None
    assert {name: count for name, count in cleaner.dropped.items() if count} == {reason: 1}
    assert (cleaner.read, cleaner.kept) == (2, 1)
    assert [line[:36].rstrip() for line in str(cleaner).splitlines()] == ["units read", f"- {reason}", "pairs kept"]


def test_every_reason_has_a_case() -> None:
    assert [*DROPPED, DUPLICATE] == list(CASES)


def test_what_is_changed_is_counted() -> None:
    cleaner = Cleaner(Rules())
    cleaner(TranslationUnit(("_a {1}", "_b {1}"), context="menu\tbar", plural=True, marked=True))
    assert cleaner.changed == dict.fromkeys([ACCELERATORS, *CHANGED], 1)
    assert cleaner(TranslationUnit(("c", "c"), context="menu\tbar")) == CleanPair(
        "c", "c", "menu bar", TranslationState.GOOD
    )
    kept = Cleaner(Rules(keep_accelerators=True))(TranslationUnit(("_a", "_b")))
    assert kept is not None
    assert (kept.source, kept.target) == ("_a", "_b")


def test_credits_are_known_by_their_context_too() -> None:
    cleaner = Cleaner(Rules())
    assert cleaner(TranslationUnit(("Your names", "Somebody"), context="NAME OF TRANSLATORS")) is None
    assert cleaner(TranslationUnit(("Translated by hand", "Von Hand übersetzt"))) is not None


def rows(sources: Iterable[str]) -> list[parts.PairWithOrigin]:
    return [
        parts.PairWithOrigin(CleanPair(source, f"T{number}", "", TranslationState.GOOD), "o")
        for number, source in enumerate(sources)
    ]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    sources=st.lists(st.sampled_from(["a", "A.", "a ", "b", "c", "d", "D!", "e", "f", "..."]), max_size=30),
    dev=st.integers(0, 6),
    test=st.integers(0, 6),
    seed=st.integers(0, 3),
)
def test_no_source_stands_on_two_sides_and_nothing_is_lost(
    sources: list[str], dev: int, test: int, seed: int, tmp_path: Path
) -> None:
    originals, sizes = rows(sources), {"dev": dev, "test": test}
    try:
        counts = parts.write(originals, tmp_path / "x", ("en", "de"), parts.FILE, sizes, seed)
    except UserError as error:
        assert "pairs are too few to set aside" in str(error), str(error)  # noqa: PT017
        assert len(originals) <= dev + test
        assert list(tmp_path.iterdir()) == []
        return
    contents = {}
    for path in counts:
        header, *lines = path.read_text("utf-8").split("\n")[:-1]
        assert header == "en\tde\tfile\tcontext"
        contents[path.name.split(".")[1]] = lines
        assert len(lines) == counts[path]
        path.unlink()
    assert sorted(line for lines in contents.values() for line in lines) == sorted(
        f"{entry.source}\t{entry.target}\to\t" for entry, _ in originals
    )
    assert len(contents.get("dev", [])) <= dev
    assert len(contents.get("test", [])) <= test
    keys = [
        {CleanPair(line.split("\t")[0], "", "", TranslationState.GOOD).key for line in lines}
        for lines in contents.values()
    ]
    assert sum(map(len, keys)) == len(set().union(*keys))


def test_parts_have_the_sizes_asked_for_whatever_the_order(tmp_path: Path) -> None:
    originals = rows(f"text {number}" for number in range(500))
    sizes = {"dev": 40, "test": 60}
    first = parts.write(originals, tmp_path / "x", ("en", "de"), parts.FILE, sizes, 1)
    second = parts.write(originals[::-1], tmp_path / "y", ("en", "de"), parts.FILE, sizes, 1)
    other = parts.write(originals, tmp_path / "z", ("en", "de"), parts.FILE, sizes, 2)
    assert list(first.values()) == list(second.values()) == [400, 40, 60]
    sets = [[set(path.read_text("utf-8").split("\n")) for path in paths] for paths in (first, second, other)]
    assert sets[0] == sets[1] != sets[2]


def test_nothing_stays_where_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing() -> Iterable[parts.PairWithOrigin]:
        yield rows("a")[0]
        raise RuntimeError

    with pytest.raises(RuntimeError):
        parts.write(failing(), tmp_path / "x", ("en", "de"), parts.FILE, {}, 1)
    (tmp_path / "x.dev.tsv").write_text("mine")
    with pytest.raises(UserError, match="exists already"):
        parts.write(rows("abc"), tmp_path / "x", ("en", "de"), parts.FILE, {"dev": 1}, 1)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"x.dev.tsv": "mine"}


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_of_parts_of_which_one_cannot_be_put_in_place_none_stays(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full, or Ctrl-C comes, when another has its name already; the next run may write all."""
    written = partial(parts.write, rows("abc"), tmp_path / "x", ("en", "de"), parts.FILE, {"dev": 1, "test": 1}, 1)
    with monkeypatch.context() as patched:
        fail_to_replace(patched, 2, error)
        with pytest.raises((UserError, KeyboardInterrupt)):
            written()
    assert list(tmp_path.iterdir()) == []
    assert sum(written().values()) == 3


def test_a_file_that_appears_while_others_are_read_is_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "x.dev.tsv"

    def reading() -> Iterable[parts.PairWithOrigin]:
        yield from rows("abc")
        mine.write_text("mine")

    with pytest.raises(UserError, match=r"x\.dev\.tsv: exists already"):
        parts.write(reading(), tmp_path / "x", ("en", "de"), parts.FILE, {"dev": 1}, 1)
    assert mine.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [mine]
