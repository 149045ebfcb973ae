"""The demo from end to end, with a corpus and a model so small that it takes seconds."""

import multiprocessing
import os
import signal
import sys
from importlib import resources
from pathlib import Path

import pytest
from rich.console import Console

from dragoman import demo, installed_demo
from dragoman.corpus.examples import read_pairs
from dragoman.errors import UserError
from dragoman.run.run import Run
from dragoman.training import checks, session, starting
from dragoman.translation.loading import load
from dragoman.translation.translator import Translator
from tests import toy, written
from tests.golden import Golden

SIZES = {"train": 60, "dev": 4, "test": 6, "compositional": 4}
TINY = """
device: {threads: 1}
text:
  shared_vocabulary: true
  source: {tokenizer: {kind: bpe, vocab_size: 340}}
  target: {tokenizer: {kind: bpe, vocab_size: 340}}
model:
  embedding: {size: 8}
  encoder: {kind: rnn, size: 8}
  decoder: {kind: rnn, size: 8}
training: {epochs: 1, search: {kind: greedy, length_ratio: 1}}
search: {kind: beam, size: 2, length_ratio: 1}
"""


class Resource:
    """The packaged files, with tiny configurations."""

    def joinpath(self, name: str) -> "Resource | Path":
        if name == demo.CORPUS:
            return Path(demo.__file__).with_name(name)
        assert name in ("demo.yaml", "demo-installed.yaml")
        return self

    def read_text(self, encoding: str) -> str:
        return TINY


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return load(toy.trained(tmp_path_factory.getbasetemp()))


@pytest.fixture
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "SIZES", SIZES)
    monkeypatch.setattr(demo, "REPORTED", 5)
    files = resources.files
    monkeypatch.setattr(resources, "files", lambda name: Resource() if name == "dragoman" else files(name))


@pytest.mark.slow
@pytest.mark.usefixtures("_tiny")
def test_trains_scores_shows_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo.main(tmp_path)
    out, err = capsys.readouterr()
    assert "phrasebook: 60 sentence pairs" in out
    for words in ("test  BLEU = ", "compositional  BLEU = ", "attention  AER = ", "nrefs:1", "dragoman translate"):
        assert words in out
    assert "step       1" in err
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert "AER" in page
    assert any(target in page for target in demo.read(tmp_path / "corpus", "test").targets)
    assert f"report: {tmp_path / 'run' / 'report.html'}" in out

    demo.main(tmp_path)  # again: nothing is trained
    out, err = capsys.readouterr()
    assert "training has finished" in err
    assert "step       2" not in err


def test_the_packaged_configuration_is_sound(tmp_path: Path) -> None:
    config = checks.load_config(demo.write_config(tmp_path / "corpus", tmp_path / "run"))
    assert (config.run, config.data.train) == (str(tmp_path / "run"), (str(tmp_path / "corpus" / "train"),))
    assert config.data.dev == str(tmp_path / "corpus" / "dev")
    assert config.training.schedule.kind == "cosine"
    assert "steps" not in config.training.schedule.options  # the rate reaches its floor at the end
    assert set(demo.SIZES) == {"train", "dev", "test", "compositional"}


@pytest.mark.parametrize(
    "name", ["a folder", "it's, {odd}: [#1]", 'say "runs"', "Übung № 1", "back\\slash", "\U0001f600"]
)
def test_any_folder_will_do(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    config = checks.load_config(demo.write_config(folder / "corpus", folder / "run"))
    assert Path(config.run) == folder / "run"
    assert config.data.train == (str(folder / "corpus" / "train"),)
    assert os.listdir(folder) == ["config.yaml"]


def test_reads_test_sets_with_their_gold_alignments(tmp_path: Path) -> None:
    demo.write_corpus(tmp_path, {"test": 5})
    part = demo.read(tmp_path, "test")
    assert len(part.pairs) == len(part.gold) == len(part.sources) == len(part.targets) == 5
    assert demo.read_some(tmp_path / "test", 2) == part.pairs[:2]
    assert all(gold.sure for gold in part.gold)


def test_shows_translations_with_alignments_and_the_first_as_a_picture(model: Translator) -> None:
    console = Console(record=True, width=100)
    demo.show(console, model, ["one two three", "six"])
    shown = console.export_text()
    assert "one two three\ntrois deux un" in shown
    assert "0-2 1-1 2-0" in shown
    assert "six\nsix" in shown
    assert shown.count("deux") >= 2  # in the text and in the picture


def test_brackets_in_a_text_are_no_markup_and_escapes_are_shown(model: Translator) -> None:
    console = Console(record=True, width=100)
    demo.show(console, model, ["[/bold] one\x1b]0;\x07 [dim]"])
    assert "[/bold] one\\x1b]0;\\x07 [dim]" in console.export_text()


@pytest.mark.usefixtures("_tiny")
def test_a_run_and_a_corpus_of_the_user_are_left_alone(tmp_path: Path, golden: Golden) -> None:
    """The folder of a run, one of other files, one with a corpus of that name, a file."""
    trained, other, named, file = (tmp_path / name for name in ("trained", "other", "named", "file"))
    folder = session.train(toy.config(toy.corpus(tmp_path / "toy"), trained, {"training.steps": 1}), quiet=True)
    for path in (other / "notes.txt", named / "corpus" / "train.en", file):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine", encoding="utf-8")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert folder.config in before
    for place in (trained, other, named, file):
        with pytest.raises(UserError, match=f"{place}:") as raised:
            demo.main(place)
        golden(str(raised.value))
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_what_a_killed_demo_left_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".config.yaml.0123.part").write_text("seed: 1", encoding="utf-8")
    written = demo.write_config(tmp_path / "corpus", tmp_path / "run")
    assert demo.write_config(tmp_path / "corpus", tmp_path / "run") == written
    (tmp_path / "corpus").mkdir()
    assert demo.write_config(tmp_path / "corpus", tmp_path / "run") == written


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, _tiny: None) -> Path:
    """A machine with programs, of which `two` plays the user's own: `one` has too many messages, those of `names` are
    too short.
    """
    folder = tmp_path / "share" / "locale" / "de" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    for seed, (name, count) in enumerate({"one": 60, "two": 30, "three": 6}.items()):
        pairs = {(f"{name} {source}", target) for source, target in toy.pairs(count, seed)}
        (folder / f"{name}.mo").write_bytes(written.mo(sorted(pairs)))
    (folder / "names.mo").write_bytes(written.mo([(f"Name {number}", f"Name Nr. {number}") for number in range(35)]))
    monkeypatch.setenv("XDG_DATA_DIRS", str(tmp_path / "share"))
    sizes = {"FEWEST": 10, "MOST": 40, "OTHERS": 40, "ENOUGH": 20, "SIZES": {"dev": 4, "test": 6}, "ASIDE": 4}
    for name, value in sizes.items():
        monkeypatch.setattr(installed_demo, name, value)
    monkeypatch.setitem(vars(starting)["OPTIONS"], "training.epochs", 1)
    return tmp_path


@pytest.mark.slow
def test_one_program_plays_the_user_s_own(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = programs / "demo"
    installed_demo.main(folder, "de")
    out, err = capsys.readouterr()
    assert "40 messages of 3 programs, en to de, and 28 of 'two', which plays your own project" in out
    own = {part: list(read_pairs(str(folder / "corpus" / f"own.{part}.tsv"), "en", "de")) for part in ("train", "test")}
    other_pairs = list(read_pairs(str(folder / "corpus" / "others.train.tsv"), "en", "de"))
    assert all(pair.source.startswith("two ") for pairs in own.values() for pair in pairs)
    assert not any(pair.source.startswith("two ") for pair in other_pairs)
    assert not {pair.source for pair in own["train"]} & {pair.source for pair in own["test"]}
    assert sum(pair.source.startswith("three ") for pair in other_pairs) > 1  # from all programs alike
    for name in ("copying en", "nearest neighbor", "the model of others", "the model started from it"):
        assert f"{name}  BLEU " in out
    assert Run.load(folder / "run").config.data.recalled == ("memory",)
    assert Run.load(folder / "run").folder.ancestor.startswith(str(folder / "parent"))

    installed_demo.main(folder, "de")  # again: nothing is trained
    out, err = capsys.readouterr()
    assert err.count("training has finished") == 2
    assert "step       1" not in err


class WrittenError(Exception):
    """Training would begin."""


def _untrained(config: object) -> None:
    raise WrittenError


def _killed(folder: Path, renames: int) -> None:
    """A demo that is killed before the last of so many renames."""
    left = renames

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if event == "os.rename":
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    installed_demo.main(folder, "de")


RENAMES = 7  # the configuration, three parts of one corpus, two of the other, their folder


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_a_demo_that_was_killed_at_any_rename_goes_on(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_files(folder: Path) -> dict[str, bytes]:
        texts = folder / "corpus"
        return {path.name: path.read_bytes() for path in texts.iterdir()} if texts.exists() else {}

    monkeypatch.setattr(session, "train", _untrained)
    with pytest.raises(WrittenError):
        installed_demo.main(programs / "whole", "de")
    whole = read_files(programs / "whole")
    assert len(whole) == 5
    for renames in range(1, RENAMES + 2):
        folder = programs / str(renames)
        child = multiprocessing.get_context("fork").Process(target=_killed, args=(folder, renames))
        child.start()
        child.join()
        assert (child.exitcode == -signal.SIGKILL) == (renames <= RENAMES)
        assert read_files(folder) == (whole if renames > RENAMES else {})
        with pytest.raises(WrittenError):
            installed_demo.main(folder, "de")
        assert read_files(folder) == whole


def test_a_corpus_that_the_demo_has_not_written_is_left_alone(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = programs / "demo"
    with monkeypatch.context() as patch:
        patch.setattr(installed_demo, "_write", lambda target_folder, texts, names: None)
        patch.setattr(session, "train", _untrained)
        with pytest.raises(WrittenError):
            installed_demo.main(folder, "de")
    mine = folder / "corpus" / "own.train.tsv"
    mine.parent.mkdir()
    mine.write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match=r"others\.dev\.tsv: no such file"):
        installed_demo.main(folder, "de")
    assert [path.name for path in mine.parent.iterdir()] == [mine.name]
    assert mine.read_text("utf-8") == "mine"


def test_too_few_messages_for_a_demo_are_told(programs: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    for name, value in (("MOST", 3), ("ENOUGH", 900)):
        with monkeypatch.context() as patch:
            patch.setattr(installed_demo, name, value)
            with pytest.raises(UserError) as raised:
                installed_demo.main(programs / "demo", "de")
        golden(str(raised.value))
        assert not (programs / "demo").exists()
