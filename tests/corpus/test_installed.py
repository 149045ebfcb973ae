"""The catalogues of a machine, which the test makes itself."""

from pathlib import Path

import pytest

from dragoman.corpus import installed
from dragoman.corpus.translation_unit import TranslationUnit
from dragoman.errors import UserError
from tests import written
from tests.golden import Golden


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """German in two folders of locales, French in one; dpkg knows one of the packages, whose license is there."""
    for place, language, domain in (
        ("share/locale", "de", "cat"),
        ("share/locale", "fr", "cat"),
        ("share/locale-langpack", "de", "dog"),
        ("other/locale", "de", "cow"),
    ):
        folder = tmp_path / place / language / "LC_MESSAGES"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{domain}.mo").write_bytes(written.mo([(f"one {domain}", f"ein {domain}"), ("menu\x04a", "b")]))
    (tmp_path / "info").mkdir()
    listed = tmp_path / "share/locale/de/LC_MESSAGES/cat.mo"
    (tmp_path / "info/felines:amd64.list").write_text(f"/.\n{listed}\n")
    (tmp_path / "doc/felines").mkdir(parents=True)
    (tmp_path / "doc/felines/copyright").write_text("Free.")
    return tmp_path


def test_folders_are_those_of_shared_data(machine: Path) -> None:
    places = {"XDG_DATA_DIRS": f"{machine}/share:{machine}/none:{machine}/share::{machine}/other"}
    expected = [machine / "share/locale", machine / "share/locale-langpack", machine / "other/locale"]
    assert installed.folders(places) == expected


def test_catalogues_of_a_language_are_found_and_read(machine: Path) -> None:
    folders = installed.folders({"XDG_DATA_DIRS": f"{machine}/share:{machine}/other"})
    paths = installed.find("de", folders)
    assert [path.name for path in paths] == ["cat.mo", "dog.mo", "cow.mo"]
    of_menu = TranslationUnit(("a", "b"), context="menu", msgctxt="menu")
    units = [("cat", TranslationUnit(("one cat", "ein cat"))), ("cat", of_menu)]
    damaged: list[str] = []
    assert list(installed.read(paths[:1], damaged)) == units
    assert (damaged, installed.left_out(damaged, paths)) == ([], "")


def test_a_catalogue_that_cannot_be_read_is_left_out_and_told(machine: Path, golden: Golden) -> None:
    """Even one whose fault is after sound messages."""
    paths = installed.find("de", installed.folders({"XDG_DATA_DIRS": f"{machine}/share:{machine}/other"}))
    paths[0].write_bytes(b"")
    paths[1].write_bytes(written.mo([("a", "b"), ("c", "d")])[:-2])
    damaged: list[str] = []
    assert {domain for domain, _ in installed.read(paths, damaged)} == {"cow"}
    golden(installed.left_out(damaged, paths))


def test_packages_and_licenses_are_told(machine: Path, golden: Golden) -> None:
    paths = installed.find("de", installed.folders({"XDG_DATA_DIRS": f"{machine}/share:{machine}/other"}))
    owners = installed.owners(paths, machine / "info")
    assert owners == {"cat": "felines"}
    golden(installed.table({"cat": 3, "dog": 1_200, "cow": 2}, owners, 2, machine / "doc"))
    assert installed.owners(paths, machine / "none") == {}


def test_a_language_that_is_not_there_is_told(machine: Path, golden: Golden) -> None:
    for folders in ([machine / "share/locale"], []):
        with pytest.raises(UserError, match="'cs'") as raised:
            installed.find("cs", folders)
        golden(str(raised.value))


@pytest.mark.parametrize(
    ("language", "there", "chosen"),
    [
        ("fr_FR", {"fr": 2, "fr_CA": 3}, ["fr"]),
        ("de-AT", {"de": 3, "de_AT": 1, "de_CH": 4}, ["de_AT", "de"]),
        ("pt_BR", {"pt": 2, "pt_BR": 3}, ["pt_BR"]),
        ("pt_PT", {"pt": 2, "pt_BR": 3}, ["pt"]),
        ("pt_PT", {"pt_BR": 3, "es": 4}, ["pt_BR"]),
        ("pt", {"pt": 1, "pt_BR": 3}, ["pt"]),
        ("pt", {"pt_AO": 1, "pt_BR": 3}, ["pt_BR"]),
        ("zh_Hant", {"zh_TW": 1, "zh_CN": 3}, ["zh_TW"]),
        ("zh", {"zh_Hans": 1, "zh_CN": 3, "zh_TW": 2}, ["zh_CN"]),
        ("sr_Latn", {"sr": 3, "sr@latin": 1}, ["sr@latin"]),
    ],
)
def test_a_region_has_its_own_catalogues_or_those_of_its_language(
    language: str, there: dict[str, int], chosen: list[str], tmp_path: Path
) -> None:
    for name, count in there.items():
        for number in range(count):
            path = tmp_path / name / "LC_MESSAGES" / f"{number}.mo"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    paths = installed.find(language, [tmp_path])
    assert list(dict.fromkeys(path.parent.parent.name for path in paths)) == chosen
    assert len({path.name for path in paths}) == len(paths) == max(there[name] for name in chosen)
    expected = "" if chosen == [language] else f"catalogs in {' and '.join(chosen)} are read for {language}"
    assert installed.describe_folders(language, paths) == expected


def test_another_script_is_another_language(tmp_path: Path) -> None:
    for name in ("zh_CN", "sr"):
        (tmp_path / name / "LC_MESSAGES").mkdir(parents=True)
        (tmp_path / name / "LC_MESSAGES" / "cow.mo").touch()
    for language in ("zh_TW", "zh_Hant_HK", "sr@latin", "sr-Latn-RS"):
        with pytest.raises(UserError, match="no message catalogs in"):
            installed.find(language, [tmp_path])
