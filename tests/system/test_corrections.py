"""`dragoman corrections`: what a service has kept, for other programs."""

from pathlib import Path

import pytest

from dragoman.corpus.examples import Pair, read_pairs
from dragoman.serving.corrections import Correction, Corrections, TranslationRecord
from tests.golden import Golden
from tests.system.conftest import Shell

PAIR = ("en", "fr")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    kept = Corrections(tmp_path / "kept.sqlite")
    kept.add(PAIR, Correction("one & <two>", 'un "&"\x01 deux', "un deux", "Ann <ann@example.org>"))
    kept.add(PAIR, Correction("one\ttwo\nsix", "un\ndeux"))
    kept.note(PAIR, [TranslationRecord("six", "six six", "en-fr")])
    kept.close()
    return tmp_path / "kept.sqlite"


@pytest.mark.parametrize("ending", ["tmx", "tsv"])
def test_what_is_written_is_read_again(ending: str, database: Path, trained: Shell, golden: Golden) -> None:
    path = database.with_name(f"kept.{ending}")
    outcome = trained("corrections", database, "-o", path)
    assert outcome.code == 0, outcome.err
    golden(outcome.err.replace(str(database.parent), "FOLDER"))
    several = ("one\ttwo six", "un deux")
    expected = [("one & <two>", 'un "&" deux' if ending == "tmx" else 'un "&"\x01 deux')]
    assert list(map(tuple, read_pairs([str(path)], *PAIR))) == expected + [several] * (ending == "tmx")
    assert trained("corrections", database, "-o", path, "--history").code == 0
    assert tuple(list(read_pairs([str(path)], *PAIR))[-1]) == ("six", "six six")


def test_a_table_has_what_post_editing_learns_from(database: Path, trained: Shell) -> None:
    path = database.with_name("kept.tsv")
    trained("corrections", database, "-o", path)
    assert path.read_text("utf-8").splitlines()[0] == "en\tfr\tmt"
    assert path.read_text("utf-8").splitlines()[1].split("\t")[2] == "un deux"


@pytest.mark.parametrize(
    "words", ["kept.sqlite -o x.txt", "kept.sqlite -o x.tmx --source de", "none -o x.tmx", "empty -o x.tmx"]
)
def test_what_cannot_be_is_told(words: str, database: Path, copied: Shell, golden: Golden) -> None:
    (copied.folder / "kept.sqlite").write_bytes(database.read_bytes())
    copied.write("empty", "")
    golden(copied.fails("corrections", *words.split()))
    assert not (copied.folder / "none").exists()


def test_corrections_are_removed_by_sentence_and_by_author(database: Path, copied: Shell, golden: Golden) -> None:
    kept = Corrections(database, threshold=0.75)
    for text, author in (("one two", "bob"), ("one two", "ann"), ("six two", "bob")):
        kept.add(PAIR, Correction(text, author, author=author))
    assert kept.find(PAIR, "one two two") is not None
    outcome = copied("corrections", database, "--forget", "one two")
    assert outcome.code == 0
    golden(outcome.err.replace(str(database.parent), "FOLDER"))
    assert kept.find(PAIR, "one two two") is None  # as a server sees it
    assert copied("corrections", database, "--forget-author", "bob").err.endswith("1 text is removed\n")
    assert {entry.correction.author for entry in kept.entries()} == {"", "Ann <ann@example.org>"}
    kept.close()


@pytest.mark.parametrize("words", ["", "-o x.tmx --forget one", "--forget one --history"])
def test_what_is_removed_is_not_written(words: str, database: Path, copied: Shell, golden: Golden) -> None:
    (copied.folder / "kept.sqlite").write_bytes(database.read_bytes())
    golden(copied.refuses("corrections", "kept.sqlite", *words.split()))
    assert not (copied.folder / "x.tmx").exists()


def test_a_table_has_two_languages(database: Path, copied: Shell, golden: Golden) -> None:
    kept = Corrections(database)
    kept.add(("fr", "en"), Correction("un", "one"))
    kept.close()
    (copied.folder / "kept.sqlite").write_bytes(database.read_bytes())
    golden(copied.fails("corrections", "kept.sqlite", "-o", "x.tsv"))
    assert copied("corrections", "kept.sqlite", "-o", "x.tsv", "--source", "fr").code == 0
    assert (copied.folder / "x.tsv").read_text("utf-8") == "fr\ten\tmt\nun\tone\t\n"
    assert copied("corrections", "kept.sqlite", "-o", "x.tmx").code == 0


def test_a_table_of_maltese_is_read_again(database: Path, copied: Shell) -> None:
    """Its code is `mt`, as the column is called of what a model had made."""
    kept = Corrections(database)
    kept.add(("en", "mt"), Correction("one", "wieħed", "x"))
    kept.close()
    (copied.folder / "kept.sqlite").write_bytes(database.read_bytes())
    assert copied("corrections", "kept.sqlite", "-o", "x.tsv", "--source", "en", "--target", "mt").code == 0
    assert list(read_pairs(str(copied.folder / "x.tsv"), "en", "mt")) == [Pair("one", "wieħed")]
