"""`dragoman localize`: one command from a catalogue that is partly translated to one with drafts of the rest."""

import gzip
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import polib
import pytest

from dragoman.cli import localize_parents
from dragoman.cli.translate_options import TranslateOptions
from dragoman.configuration.config import Config
from dragoman.corpus.examples import Pair, read_pairs
from dragoman.data.recall import MEMORY
from dragoman.errors import UserError
from dragoman.run.run import Run
from dragoman.training import session
from dragoman.translation.calibration import Calibration
from tests import toy
from tests.golden import Golden
from tests.system.conftest import Shell

NEW = [("one two three", ""), ("six five", ""), ("four four one", "")]


def catalogue(path: Path, messages: Sequence[tuple[str, str]], language: str = "fr") -> None:
    """A catalogue with a plural, whose second form is missing."""
    file = polib.POFile()
    file.metadata = {
        "Language": language,
        "Content-Type": "text/plain; charset=UTF-8",
        "Plural-Forms": "nplurals=2; plural=(n > 1);",
    }
    for source, target in messages:
        file.append(polib.POEntry(msgid=source, msgstr=target, comment="of the program"))
    file.append(polib.POEntry(msgid="one", msgid_plural="one six", msgstr_plural={0: "un", 1: ""}))
    file.save(str(path))


def new_texts(old: Path, new: Path) -> dict[str, str]:
    """Check that a catalogue has everything of another. Return what was filled in."""
    filled: dict[str, str] = {}
    for before, after in zip(polib.pofile(str(old)), polib.pofile(str(new)), strict=True):
        assert (before.msgid, before.msgid_plural, before.comment) == (after.msgid, after.msgid_plural, after.comment)
        texts = {"": before.msgstr, **before.msgstr_plural}, {"": after.msgstr, **after.msgstr_plural}
        changed = {form for form in texts[0] if texts[0][form] != texts[1][form]}
        assert all(not texts[0][form] for form in changed)
        assert ("fuzzy" in after.flags) == bool(changed)
        assert after.tcomment.startswith("dragoman: confidence ") == bool(changed)
        for form in changed:
            filled[before.msgid] = texts[1][form]
    return filled


@pytest.mark.slow
def test_one_command_completes_a_catalogue(copied: Shell) -> None:
    pairs = [(source, target) for source, target in dict(toy.pairs(600, 8)).items() if (source, "") not in NEW]
    catalogue(copied.folder / "fr.po", [*pairs[:420], *((source, "") for source, _ in NEW)])
    outcome = copied("localize", "fr.po", "-o", "new.po")
    assert outcome.code == 0, outcome.err
    assert "parent: runs/toy\n" in outcome.err
    assert "fr.po: 4 of 4 texts without a translation have one now, marked as fuzzy" in outcome.err
    names = [line.split("  ")[0] for line in outcome.lines[-4:]]
    assert names[:3] == ["nearest neighbor", "runs/toy", "runs/toy-fr"]
    assert re.fullmatch(r"runs/toy-fr, \d+ terms favored", names[3])
    run = Run.load(copied.folder / "runs" / "toy-fr")
    assert run.config.training.init_from == "runs/toy"
    development = (copied.folder / "runs" / "toy-fr-data" / "dev.fr").read_text("utf-8").splitlines()
    assert Calibration.read(run.folder.calibration).sentences == len(development)
    filled = new_texts(copied.folder / "fr.po", copied.folder / "new.po")
    assert filled.keys() == {"one", *(source for source, _ in NEW)}
    assert filled["one two three"] == "trois deux un"
    if shutil.which("msgfmt"):
        command = ["msgfmt", "--check-format", "-o", "new.mo", "new.po"]
        subprocess.run(command, cwd=copied.folder, check=True)
    weights = run.weights().read_bytes()
    again = copied("localize", "fr.po", "-o", "again.po")
    assert again.code == 0, again.err
    assert run.weights().read_bytes() == weights
    assert (copied.folder / "again.po").read_bytes() == (copied.folder / "new.po").read_bytes()
    catalogue(copied.folder / "fr.po", [*pairs[5:415], *NEW])
    message = copied("localize", "fr.po", "-o", "x.po").err.splitlines()[-1]
    assert message == "fr.po: has other messages than runs/toy-fr was trained on; add --run for a new run"


def test_with_few_messages_the_parent_translates(copied: Shell) -> None:
    catalogue(copied.folder / "fr.po", [*toy.pairs(5, 8), *NEW])
    outcome = copied("localize", "fr.po", "-o", "new.po", "--parent", "runs/toy")
    assert outcome.code == 0, outcome.err
    assert "runs/toy: translates without training, which takes 400 messages or more" in outcome.err
    assert sorted(path.name for path in (copied.folder / "runs").iterdir()) == ["toy"]
    assert all(entry.msgstr or entry.msgstr_plural[1] for entry in polib.pofile(str(copied.folder / "new.po")))


def test_nothing_is_trained_for_a_catalogue_without_gaps(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    for name, text in (("one", "un"), ("two", "deux")):
        file = polib.POFile()
        file.metadata = {"Language": "fr", "Content-Type": "text/plain; charset=UTF-8"}
        file.append(polib.POEntry(msgid=name, msgstr=text))
        file.save(str(tmp_path / f"{name}.po"))
        outcome = shell("localize", f"{name}.po", "-o", "new.po", "--installed")
        assert (outcome.code, outcome.out) == (0, "")
        assert outcome.err == f"{name}.po: has no message without a translation; new.po is a copy\n"
        assert (tmp_path / "new.po").read_bytes() == (tmp_path / f"{name}.po").read_bytes()
    assert not (tmp_path / "runs").exists()


def test_a_compressed_catalogue_is_completed_as_well(copied: Shell) -> None:
    catalogue(copied.folder / "fr.po", [*toy.pairs(5, 8), *NEW])
    for name in ("fr.po", "fr.po.gz"):
        outcome = copied("localize", name, "-o", f"{name}.po", "--parent", "runs/toy")
        assert outcome.code == 0, outcome.err
        (copied.folder / "fr.po.gz").write_bytes(gzip.compress((copied.folder / "fr.po").read_bytes()))
    assert (copied.folder / "fr.po.gz.po").read_bytes() == (copied.folder / "fr.po.po").read_bytes()


@pytest.mark.parametrize(
    ("name", "language", "options"),
    [
        ("fr.po", "de", ()),
        ("messages.po", "", ()),
        ("fr.mo", "fr", ()),
        ("fr.po", "fr", ("--parent", "runs/none")),
        ("fr.po", "de", ("--parent", "runs/toy")),
        ("fr.po", "fr", ("--parent", "runs/toy", "--min-confidence", "0.5")),
        ("fr.po", "fr", ("--parent", "runs/toy", "--run", "runs/toy")),
        ("fr.po", "fr", ("--installed", "--also", "fr")),
    ],
    ids=[
        "no parent",
        "no language",
        "another format",
        "no such parent",
        "another language",
        "no confidence",
        "the parent",
        "target",
    ],
)
def test_what_is_missing_is_named(
    name: str, language: str, options: Sequence[str], copied: Shell, golden: Golden
) -> None:
    catalogue(copied.folder / name, NEW, language)
    outcome = copied("localize", name, "-o", "new.po", *options)
    assert outcome.code
    golden(outcome.err.splitlines()[-1])
    assert not (copied.folder / "new.po").exists()


def test_parents_are_whole_runs_of_the_same_languages(copied: Shell) -> None:
    runs = copied.folder / "runs"
    for name in ("deep/toy", "german", "started", "half"):
        shutil.copytree(runs / "toy", runs / name)
    for name, old, new in (("german", "target: fr", "target: de"), ("started", "init_from: null", "init_from: x")):
        config = runs / name / "config.yaml"
        assert old in config.read_text("utf-8")
        config.write_text(config.read_text("utf-8").replace(old, new), "utf-8")
    for weights in (runs / "half").glob("*.safetensors"):
        weights.unlink()
    parents = localize_parents.find_parents(runs, ("en", "fr_CA"))
    assert [parent.run.folder.path.relative_to(runs) for parent in parents] == [Path("deep/toy"), Path("toy")]
    assert parents[0].names == ("en", "fr")


def test_the_parent_of_a_region_is_of_its_script_and_preferably_of_the_same_region(
    copied: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copied.folder)
    runs = copied.folder / "runs"

    def choose(target: str, *there: str) -> str:
        """Return the target of the parent that is chosen for a target, given those of the runs that are there."""
        shutil.move(runs / "toy", copied.folder / "toy")
        shutil.rmtree(runs)
        for name in there:
            shutil.copytree(copied.folder / "toy", runs / name)
            config = runs / name / "config.yaml"
            config.write_text(config.read_text("utf-8").replace("target: fr", f"target: {name}"), "utf-8")
        try:
            return localize_parents.choose_parent(("en_US", target)).names[-1]
        finally:
            shutil.rmtree(runs, ignore_errors=True)
            runs.mkdir()
            shutil.move(copied.folder / "toy", runs / "toy")

    assert choose("pt_PT", "pt_BR", "pt") == "pt"
    assert choose("pt-BR", "pt", "pt_BR") == "pt_BR"
    assert choose("de_AT", "de", "de_CH") == "de"
    assert choose("pt_PT", "pt_BR", "es") == "pt_BR"
    assert choose("zh_TW", "zh_CN", "zh_Hant") == "zh_Hant"
    for target, there in (("zh_TW", "zh_CN"), ("sr@latin", "sr"), ("sr", "sr@latin"), ("zh_CN", "zh_TW")):
        with pytest.raises(UserError, match=f"no run below runs translates from en_US to {target}"):
            choose(target, there)
        with pytest.raises(UserError, match=f"^runs/x: translates en to {there}; expected en_US to {target}, in the"):
            localize_parents.check_languages("runs/x", ("en", "fr", there), ("en_US", target))
    for own in (("en", "zh_Hant"), ("de", "zh_TW"), ("source", "target")):
        localize_parents.check_languages("runs/x", own, ("", "zh_TW"))  # the catalogue does not name its source


def test_a_parent_is_trained_on_installed_catalogues(copied: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    for language, texts in (("fr", [target for _, target in toy.pairs(90, 4)]), ("de", ["x"] * 90)):
        folder = copied.folder / "share" / "locale" / language / "LC_MESSAGES"
        folder.mkdir(parents=True)
        file = polib.MOFile()
        for number, (source, _) in enumerate(toy.pairs(90, 4)):
            file.append(polib.POEntry(msgctxt=str(number), msgid=source, msgstr=texts[number]))
        file.metadata = {"Language": language, "Content-Type": "text/plain; charset=UTF-8"}
        file.save(str(folder / "cow.mo"))
    monkeypatch.setenv("XDG_DATA_DIRS", str(copied.folder / "share"))
    monkeypatch.chdir(copied.folder)
    with pytest.raises(UserError, match=r"pairs are too few to set aside 500 for dev$"):  # no option of another command
        localize_parents.train_installed(("en", "fr"), ())
    monkeypatch.setattr(localize_parents, "ASIDE", 8)
    trained: list[Config] = []
    monkeypatch.setattr(localize_parents, "trained", trained.append)
    monkeypatch.setattr(localize_parents, "load_parent", lambda folder: folder)
    for _ in range(2):  # the second time, everything is there
        assert localize_parents.train_installed(("en", "fr"), ("de",)) == Path("runs/installed-en-de-fr")
    first, second = trained
    assert first == second
    assert (first.run, first.training.epochs) == ("runs/installed-en-de-fr", localize_parents.EPOCHS)
    assert (first.data.source, first.data.target) == (("en", "de"), "fr")
    assert first.data.translation_memory.kind == "nearest"


@pytest.mark.slow
def test_few_messages_are_looked_up_beside_the_pairs_of_the_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"data.translation_memory": "nearest", "training.epochs": None, "training.steps": 1}
    run = session.train(toy.config(toy.corpus(tmp_path), tmp_path / "run", options), quiet=True).path
    catalogue(tmp_path / "fr.po", [("six seven", "sept six"), *NEW])
    looked_up: list[list[Pair]] = []

    def translate(options: TranslateOptions) -> None:
        looked_up.append(list(read_pairs(str(options.translation_memory), "en", "fr")))

    monkeypatch.setattr("dragoman.cli.translate.translate", translate)
    outcome = Shell(tmp_path)("localize", "fr.po", "-o", "new.po", "--parent", "run")
    assert outcome.code == 0, outcome.err
    ((first, second, *rest),) = looked_up
    assert (first, second) == (Pair("six seven", "sept six"), Pair("one", "un"))
    assert set(rest) == {*read_pairs(run / MEMORY, "en", "fr")} - {first, second}
    with localize_parents.widened_memory(localize_parents.load_parent(run), []) as memory:
        assert memory is None
