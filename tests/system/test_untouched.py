"""Whatever goes wrong with a command, the user's files are as they were, byte for byte."""

import random
import shlex
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests import toy
from tests.system import test_languages
from tests.system.conftest import Shell
from tests.system.every import (
    COMMANDS,
    complaints,
    drawn,
    files,
    furnish,
    lacking,
    losses,
    stopped_at_the_end,
    stopped_half_way,
    typed,
)

INTERRUPTIONS = 2  # of each command; `make soak` does hundreds

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork")


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return furnish(tmp_path_factory.mktemp("furnished"))


@pytest.fixture
def folder(furnished: Path, tmp_path: Path) -> Path:
    """A copy of the folder, to be spoiled."""
    shutil.copytree(furnished, tmp_path / "user", symlinks=True)
    return tmp_path / "user"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", COMMANDS)
def test_an_interrupted_command_touches_nothing_of_the_users(name: str, folder: Path, furnished: Path) -> None:
    if name in lacking():
        pytest.skip(f"needs {lacking()[name]}")
    command, before = COMMANDS[name], files(folder)
    whole = typed(folder, name)
    assert whole.code == int(command.refused), whole.err
    assert losses(before, folder, command.writes, killed=False) == []
    expected = files(folder)
    assert set(command.same) <= expected.keys()
    largest = max([len(content) for path, content in expected.items() if before.get(path) != content], default=100)

    shutil.rmtree(folder)
    shutil.copytree(furnished, folder, symlinks=True)
    generator = random.Random(name)
    killed = False
    for _ in range(INTERRUPTIONS):
        interruption = drawn(generator, whole.acts, largest)
        end = typed(folder, name, interruption)
        refused = stopped_half_way(name, end, killed)  # since an earlier interruption
        refused |= stopped_at_the_end(command, end, files(folder), expected)
        killed |= end.code < 0 or len(interruption.signals) > 1  # a second Ctrl-C may leave something half-written, too
        assert refused or complaints(end, interruption, command) == [], str(interruption)
        assert losses(before, folder, command.writes, killed=killed) == [], str(interruption)
    again = typed(folder, name)
    if stopped_half_way(name, again, killed) or stopped_at_the_end(command, again, files(folder), expected):
        return
    assert again.code == whole.code, again.err
    now = files(folder)
    if again.code == 0:
        assert {path: now[path] == expected[path] for path in command.same} == dict.fromkeys(command.same, True)


READ, PART, EXISTS = "is an input file and would be overwritten", "is a part of the run", "exists"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("translate runs/toy test.en -o test.en", READ),
        ("translate runs/toy test.en -o ./mine/../test.en", READ),
        ("translate runs/toy test.en -o link.en", READ),
        ("translate runs/toy link.en -o test.en", READ),
        ("translate runs/toy packed.en -o packed.en.gz", READ),
        ("translate runs/toy out.partial -o out --resume", "is not a supported document"),
        ("translate runs/toy test.en -o runs/toy/config.yaml", PART),
        ("translate runs/toy test.en -o runs/toy/target.vocabulary", PART),
        ("translate runs/toy test.en -o weights", PART),
        ("translate runs/toy runs/toy test.en -o runs/toy/model.safetensors", PART),
        ("translate runs/toy --source en=test.en -o test.en", READ),
        ("translate runs/toy test.en --weights mean -o runs/toy/mean.safetensors", READ),
        ("postedit runs/edit --translation test.mt -o test.mt", READ),
        ("postedit runs/edit --translation test.mt --html test.mt", READ),
        ("postedit runs/edit --translation test.mt --html runs/edit/metrics.jsonl", PART),
        ("augment back runs/toy test.fr -o test", READ),
        ("augment forward runs/toy test.en -o test", READ),
        ("augment forward runs/toy test.en -o train", EXISTS),
        ("augment copy test.fr -o test --source-name en --target-name fr", READ),
        ("augment noise test.en test.fr -o test --source-name en --target-name de", READ),
        ("augment noise test.en test.fr -o new --source-name ../en --target-name de", "expected the suffix"),
        ("align runs/toy test.en test.fr -o test.fr", READ),
        ("align runs/toy test.en test.fr -o runs/toy/config.yaml", PART),
        ("align test.en test.fr --more-pairs train -o test.fr", READ),
        ("align test.en test.fr --more-pairs train -o train.en", READ),
        ("align test --columns en,fr -o test.en", READ),
        ("align test.en test.fr --gold gold -o gold", READ),
        ("align runs/toy test.en test.fr --gold gold -o gold", READ),
        ("align runs/toy test.en test.fr -o test.en", READ),
        ("dictionary test.en test.fr -o test.fr", READ),
        ("dictionary test.en test.fr --more-pairs train -o train.en", READ),
        ("dictionary runs/toy test.en test.fr -o test.en", READ),
        ("dictionary runs/toy test.en test.fr -o runs/toy/config.yaml", PART),
        ("translate runs/toy test.en --dictionary en=words.tsv -o words.tsv", READ),
        ("translate runs/toy test.en --prefix test.fr -o test.fr", READ),
        ("translate runs/toy test.en --glossary words.tsv -o words.tsv", READ),
        ("translate runs/toy test.en --do-not-translate words.tsv -o words.tsv", READ),
        ("translate runs/toy test.en --rerank words.tsv -o words.tsv", READ),
        ("translate runs/toy test.en --rerank gold --criteria words.tsv -o words.tsv", READ),
        ("tune runs/toy --source dev.en --reference dev.fr -o dev.en", "not written by `dragoman tune`"),
        ("tune runs/toy --source dev.en --reference dev.fr -o dev.fr", READ),
        ("tune runs/toy --source dev.en --reference dev.fr --criteria words.tsv -o words.tsv", READ),
        ("tune runs/toy --source dev.en --reference dev.fr -o runs/toy/config.yaml", PART),
        ("postedit runs/edit --translation test.mt -o new --html new", "is already the output file"),
        ("judge make test.en test.fr -o test.fr", READ),
        ("judge make test.en test.fr --reference gold -o gold", READ),
        ("explain runs/toy one --export attention=runs/toy/source.json", PART),
        ("average runs/toy copy.safetensors runs/toy/model.safetensors -o copy.safetensors", READ),
        ("average runs/toy -o runs/toy/model-best.safetensors", PART),
        ("average runs/toy -o runs/toy/checkpoints/last.safetensors", PART),
        ("average runs/toy -o weights", PART),
        ("report runs/toy --sentences test.en -o test.en", READ),
        ("report runs/toy --gold gold -o dev.en", READ),
        ("report runs/toy --corpus test.fr -o test.fr", READ),
        ("report runs/toy -o train.fr", READ),
        ("report runs/toy --corpus test.fr -o train.fr", READ),
        ("report runs/toy --sentences test.en -o dev.en", READ),
        ("report runs/toy -o runs/toy/validation.jsonl", PART),
        ("shortlist runs/toy runs/toy/shortlist.safetensors test.fr", READ),
        ("shortlist runs/toy", "not a dragoman weights file"),
        ("features pictures -o list.npy --list list.npy --model timm:x", READ),
        ("init train.en train.fr -o train.en", EXISTS),
        ("corpus mine.corpus.tsv --columns en,fr -o mine.corpus", READ),
        ("corpus train --columns en,fr -o mine.corpus", EXISTS),
        pytest.param(
            *("export runs/toy --onnx", "no export"),
            marks=pytest.mark.skipif(find_spec("onnxscript") is None, reason="needs the extra `onnx`"),
        ),
    ],
)
def test_what_is_read_is_never_replaced(words: str, reason: str, folder: Path) -> None:
    shell = Shell(folder)
    shutil.copy(folder / "runs/toy/model.safetensors", folder / "copy.safetensors")
    shutil.copy(folder / "runs/toy/model.safetensors", folder / "runs/toy/mean.safetensors")
    (folder / "runs/toy/model-last.safetensors").rename(folder / "weights")
    (folder / "runs/toy/model-last.safetensors").symlink_to("../../weights")
    shutil.copy(folder / "test.en", folder / "out.partial")
    (folder / "pictures").mkdir(exist_ok=True)
    shell.write("pictures/a.png", "no image")
    shell.write("list.npy", "a.png\n")
    shell.write("runs/toy/shortlist.safetensors", "mine\n")
    (folder / "runs/toy/onnx").mkdir()
    shell.write("runs/toy/onnx/step.onnx", "mine")
    shell.write("runs/toy/onnx/export.json", '{"version": 1}')
    before = files(folder)
    assert reason in shell.fails(*shlex.split(words))
    assert files(folder) == before


@pytest.mark.slow
def test_a_report_replaces_no_data_that_is_left(folder: Path) -> None:
    """Of a list whose first corpus is missing, and of one whose source is missing."""
    shell, path = Shell(folder), folder / "runs/toy/config.yaml"
    text = path.read_text("utf-8")
    path.write_text(text.replace("train: [train]", "train: [gone, train, mono]"), "utf-8")
    assert path.read_text("utf-8") != text
    (folder / "mono.en").unlink()
    before = files(folder)
    for name in ("train.en", "train.fr", "mono.fr", "dev.fr"):
        assert READ in shell.fails("report", "runs/toy", "-o", name)
    assert files(folder) == before


@pytest.mark.slow
def test_a_report_replaces_no_data_of_several_language_pairs(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    test_languages.train(tmp_path, toy.languages(tmp_path), tmp_path / "run", {"training.steps": 2})
    before = files(tmp_path)
    for name in ("train-ab.en", "train-ab.de", "train-cd.fr", "dev.en", "dev.fr"):
        assert READ in shell.fails("report", "run", "-o", name)
    assert files(tmp_path) == before


@pytest.mark.slow
def test_remarks_in_the_configuration_of_a_run_stay(folder: Path) -> None:
    """Where its options stay, too: the run goes on."""
    shell, path = Shell(folder), folder / "runs/toy/config.yaml"
    before = path.read_bytes()
    (folder / "runs/toy/README.md").unlink()
    assert shell("train", "toy.yaml").code == 0
    assert path.read_bytes() == before
    assert (folder / "runs/toy/README.md").is_file()


@pytest.mark.slow
def test_a_model_card_that_was_changed_stays(folder: Path) -> None:
    shell, card = Shell(folder), folder / "runs/toy/README.md"
    before = card.read_bytes()
    assert shell("train", "toy.yaml", "--training.epochs=3").code == 0
    written = card.read_bytes()
    assert written != before, "nobody has changed it"
    card.write_bytes(written + b"mine\n")
    done = shell("train", "toy.yaml", "--training.epochs=4")
    assert done.code == 0
    assert "README.md" in done.err
    assert card.read_bytes() == written + b"mine\n"


@pytest.mark.slow
def test_the_corpus_of_the_demo_is_written_once(folder: Path) -> None:
    assert typed(folder, "demo").code == 0
    with (folder / "shown/corpus/dev.en").open("a") as file:
        file.write("mine\n")
    before = files(folder)
    assert typed(folder, "demo").code == 0
    assert losses(before, folder, r"shown/run(/.*)?", killed=False) == []
