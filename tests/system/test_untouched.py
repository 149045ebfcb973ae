"""Whatever goes wrong with a command, the user's files are as they were, byte for byte."""

import random
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from tests.system.conftest import Shell
from tests.system.every import COMMANDS, complaints, drawn, files, furnish, losses, typed

INTERRUPTIONS = 3  # of each command; `make soak` does hundreds

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork")


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return furnish(tmp_path_factory.mktemp("furnished"))


@pytest.fixture
def folder(furnished: Path, tmp_path: Path) -> Path:
    """A copy of the folder, to be spoilt."""
    shutil.copytree(furnished, tmp_path / "user")
    return tmp_path / "user"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", COMMANDS)
def test_an_interrupted_command_touches_nothing_of_the_users(name: str, folder: Path, furnished: Path) -> None:
    if name == "export":
        pytest.importorskip("onnxscript")
    command, before = COMMANDS[name], files(folder)
    whole = typed(folder, name)
    assert whole.code == int(command.refused), whole.err
    assert losses(before, folder, command.writes, killed=False) == []
    expected = files(folder)
    assert set(command.same) <= expected.keys()
    largest = max([len(content) for path, content in expected.items() if before.get(path) != content], default=100)

    shutil.rmtree(folder)
    shutil.copytree(furnished, folder)
    generator = random.Random(name)
    killed = False
    for _ in range(INTERRUPTIONS):
        interruption = drawn(generator, whole.changes, largest)
        end = typed(folder, name, interruption)
        killed |= end.code < 0 or len(interruption.signals) > 1
        assert complaints(end, interruption, command) == [], str(interruption)
        assert losses(before, folder, command.writes, killed=killed) == [], str(interruption)
    again = typed(folder, name)
    assert again.code == whole.code or "exists already" in again.err, again.err
    now = files(folder)
    if again.code == 0:
        assert {path: now[path] == expected[path] for path in command.same} == dict.fromkeys(command.same, True)


@pytest.mark.parametrize(
    "words",
    [
        "translate runs/toy test.en -o test.en",
        "translate runs/toy test.en -o ./mine/../test.en",
        "translate runs/toy test.en -o link",
        "translate runs/toy test.en --attention test.en",
        "translate runs/toy test.en -o runs/toy/config.yaml",
        "translate runs/toy test.en -o runs/toy/target.vocabulary",
        "translate runs/toy runs/toy test.en -o runs/toy/model.safetensors",
        "translate runs/toy --source en=test.en -o test.en",
        "postedit runs/edit --translation test.mt -o test.mt",
        "postedit runs/edit --translation test.mt --html test.mt",
        "postedit runs/edit --translation test.mt --html runs/edit/metrics.jsonl",
        "augment back runs/toy test.fr -o test",
        "augment forward runs/toy test.en -o test",
        "augment copy test.fr -o test --source-name en --target-name fr",
        "augment noise test.en test.fr -o test --source-name en --target-name de",
        "average runs/toy copy.safetensors runs/toy/model.safetensors -o copy.safetensors",
        "average runs/toy -o runs/toy/model-best.safetensors",
        "average runs/toy -o runs/toy/checkpoints/last.safetensors",
        "report runs/toy --sentences test.en -o test.en",
        "report runs/toy -o runs/toy/validation.jsonl",
        "lexicon runs/toy runs/toy/lexicon.safetensors test.fr",
        "lexicon runs/toy",
        "features pictures -o list.npy --list list.npy --model timm:x",
        "init train.en train.fr -o train.en",
        "export runs/toy --onnx",
    ],
)
def test_what_is_read_is_never_replaced(words: str, folder: Path) -> None:
    shell = Shell(folder)
    (folder / "link").symlink_to("test.en")
    shutil.copy(folder / "runs/toy/model.safetensors", folder / "copy.safetensors")
    (folder / "pictures").mkdir()
    for name in ("a.png", "b.png"):
        shell.write(f"pictures/{name}", "no image")
    shell.write("list.npy", "a.png\n")
    shell.write("runs/toy/lexicon.safetensors", "mine\n")
    (folder / "runs/toy/onnx").mkdir()
    shell.write("runs/toy/onnx/step.onnx", "mine")
    before = files(folder)
    reasons = "is read|is a part of|exists|truncated or not a dragoman"
    assert re.search(reasons, shell.fails(*shlex.split(words)))
    assert files(folder) == before
    assert (folder / "link").is_symlink()
