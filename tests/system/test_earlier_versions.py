"""What an earlier version wrote and this one cannot read is refused in one line that says so, whatever the command."""

import json
from pathlib import Path

import pytest

import dragoman
from dragoman.configuration.config_file import ConfigError
from dragoman.errors import UserError
from dragoman.run.folder import FORM
from tests.golden import Golden
from tests.system.conftest import Shell

REFUSED = "was written by dragoman 0.1.0 in format 1, "
COMMANDS = (
    "translate RUN test.en",
    "score RUN test.en test.fr",
    "align RUN test.en test.fr",
    "dictionary RUN test.en test.fr",
    "evaluate test.fr --run RUN --source test.en",
    "shortlist RUN",
    "average RUN -o mean.safetensors",
    "report RUN -o page.html",
    "report RUN -o page.html --sentences test.en",
    "info RUN",
    "export RUN --onnx",
    "train toy.yaml",
    "train toy.yaml --training.epochs=9",
    "train RUN/config.yaml",
    "debug config RUN/config.yaml",
    "debug data RUN/config.yaml",
)


def rewritten(path: Path, *changes: tuple[str, str]) -> None:
    text = path.read_text("utf-8")
    for new, old in changes:
        assert new in text
        text = text.replace(new, old)
    path.write_text(text, encoding="utf-8")


def age(run: Path) -> None:
    """Makes of a run what version 0.1.0 wrote: no number of its form, other names of options, figures and words."""
    proof = json.loads((run / "run.json").read_text("utf-8"))
    assert proof.pop("form") == FORM
    (run / "run.json").write_text(json.dumps({**proof, "version": "0.1.0"}) + "\n", encoding="utf-8")
    rewritten(run / "config.yaml", ("type: sentences", "unit: tokens"))
    rewritten(run / "metrics.jsonl", ('"valid/loss"', '"train/tokens_per_second": 9.5, "valid/loss"'))
    rewritten(run / "validation.jsonl", ('"words":', '"tokens":'), ('"version":2', '"version":1'))


@pytest.fixture
def old(copied: Shell) -> Shell:
    """A folder with a run of version 0.1.0."""
    age(copied.folder / "runs" / "toy")
    return copied


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("words", COMMANDS)
def test_a_run_of_an_earlier_version_is_refused_and_left_as_it_is(words: str, old: Shell) -> None:
    before = contents(old.folder)
    message = old.fails(*words.replace("RUN", "runs/toy").split())
    assert message.startswith(f"runs/toy: {REFUSED}")
    assert contents(old.folder) == before


def test_python_refuses_it_too(old: Shell) -> None:
    run = old.folder / "runs" / "toy"
    for read in (dragoman.load, lambda path: dragoman.load_config(path / "config.yaml")):
        with pytest.raises(UserError, match=r"^[^\n]*/runs/toy: was written by dragoman 0\.1\.0 in format 1, [^\n]*$"):
            read(run)


def test_the_run_of_the_other_direction_is_refused_like_the_one_around_it(old: Shell) -> None:
    """That had no run.json of its own then."""
    run = old.folder / "runs" / "toy"
    (run / "reverse").mkdir()
    (run / "reverse" / "config.yaml").write_bytes((run / "config.yaml").read_bytes())
    assert old.fails("info", "runs/toy/reverse").startswith(f"runs/toy/reverse: {REFUSED}")


def test_a_run_of_a_later_version_is_refused(copied: Shell, golden: Golden) -> None:
    mark = copied.folder / "runs" / "toy" / "run.json"
    proof = json.loads(mark.read_text("utf-8"))
    mark.write_text(json.dumps({**proof, "version": "9.0.0", "form": FORM + 1}), encoding="utf-8")
    message = copied.fails("info", "runs/toy")
    assert message.startswith(f"runs/toy: was written by dragoman 9.0.0 in format {FORM + 1}")
    golden(message)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"program": "another"}', "[" * 9999])
def test_a_folder_that_training_did_not_make_is_no_run(text: str, copied: Shell) -> None:
    copied.write("runs/toy/run.json", text)
    assert copied.fails("info", "runs/toy") == "runs/toy: not a complete run folder (it has no run.json)"


def test_a_configuration_of_a_users_own_is_told_like_any_other(shell: Shell) -> None:
    """Also beside a file that is called run.json and is none of ours."""
    shell.write("run.json", '{"version": "0.1.0"}')
    shell.write("config.yaml", (shell.folder / "toy.yaml").read_text("utf-8").replace("{size: 16}", "{type: token}"))
    message = shell.fails("train", "config.yaml")
    assert message.startswith("config.yaml:")
    assert message.endswith(
        "training.batch.type: expected one of sentences, tokens, found \"token\" (did you mean 'tokens'?)"
    )
    with pytest.raises(ConfigError):
        dragoman.load_config(shell.folder / "config.yaml")
