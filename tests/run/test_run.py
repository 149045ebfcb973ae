"""A run folder: what is read from it, and the errors where something is missing or damaged."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import dragoman
from dragoman.errors import UserError
from dragoman.model import build
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.weights import read_tensors, weights, write_tensors
from dragoman.run.folder import RunFolder
from dragoman.run.run import WEIGHTS, Run
from tests import toy
from tests.golden import Golden


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy.trained(tmp_path_factory.getbasetemp())


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy that can be spoiled."""
    return shutil.copytree(trained, tmp_path / "run", ignore=shutil.ignore_patterns("data", "checkpoints"))


def error_of(path: Path) -> str:
    with pytest.raises(UserError) as error:
        dragoman.load(path)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_folder_is_all_that_is_needed(run: Path) -> None:
    """Neither the corpus, nor what training resumes from, nor the place where it was made."""
    for path in run.iterdir():
        if path.name not in ("run.json", "config.yaml", "model.safetensors") and not path.name.startswith(
            ("source.", "target.")
        ):
            path.unlink()
    moved = run.rename(run.with_name("elsewhere"))
    assert dragoman.load(moved).translate(["one two"])[0].text == "deux un"


def test_a_folder_may_be_named_by_a_text() -> None:
    assert RunFolder("runs/base") == RunFolder(Path("runs/base"))
    assert RunFolder("runs/base").last_state == Path("runs/base/checkpoints/last.safetensors")


def test_reads_configuration_languages_and_weights(run: Path) -> None:
    read = Run.load(run)
    assert (read.source.name, read.target.name) == ("en", "fr")
    assert read.config.model.decoder.options["size"] == 24
    model = read.model()
    assert not model.training
    tensors = read_tensors(RunFolder(run).weights())[0]
    assert all(torch.equal(tensors[name], tensor) for name, tensor in weights(model).items())
    assert {"one", "six"} <= set(read.source.vocabulary.symbols(range(len(read.source.vocabulary))))


def test_a_model_is_assembled_once_without_initial_values(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_once, devices = build.build_model, []

    def record(*arguments: Any) -> Seq2Seq:
        model = build_once(*arguments)
        devices.append(next(model.bridge.parameters()).device.type)
        return model

    monkeypatch.setattr(build, "build_model", record)
    before = torch.get_rng_state()
    model = Run.load(run).model()
    assert devices == ["meta"]
    assert torch.equal(torch.get_rng_state(), before)
    assert {parameter.device.type for parameter in model.parameters()} == {"cpu"}


def test_the_weights_to_use_come_before_the_best_and_these_before_the_last(run: Path, golden: Golden) -> None:
    folder, read = RunFolder(run), Run.load(run)
    for number, name in enumerate(WEIGHTS):
        tensors = {key: torch.full_like(value, number) for key, value in weights(read.model(name)).items()}
        write_tensors(folder.weights(name), tensors, {})
    for number, name in enumerate(WEIGHTS):
        assert {float(parameter.detach().mean()) for parameter in read.model().parameters()} == {number}
        assert {float(parameter.detach().mean()) for parameter in read.model(name).parameters()} == {number}
        folder.weights(name).unlink()
    with pytest.raises(UserError) as raised:
        read.model()
    golden(str(raised.value))


def test_weights_that_are_asked_for_must_be_there(run: Path, golden: Golden) -> None:
    with pytest.raises(UserError, match=r"model-worst\.safetensors:") as raised:
        dragoman.load(run, weights="model-worst")
    golden(str(raised.value))


@pytest.mark.parametrize(
    "name",
    ["run.json", "config.yaml", "source.json", "source.tokenizer", "source.vocabulary", "target.json", "target.counts"],
)
def test_a_missing_file_is_named(name: str, run: Path) -> None:
    (run / name).unlink()
    assert name in error_of(run)
    assert str(run) in error_of(run)


def test_an_unknown_option_of_the_search_is_reported_with_its_file_and_key(run: Path) -> None:
    config = run / "config.yaml"
    config.write_text(config.read_text("utf-8").replace("\n  normalization:", "\n  normalisation:"), "utf-8")
    assert error_of(run).startswith(f"{config}: search.normalisation: unknown key, did you mean 'normalization'?")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.yaml", b"model: [oops"),
        ("config.yaml", b"\xff\xfe"),
        ("source.json", b"{"),
        ("source.tokenizer", b"\x00\x01"),
        ("target.vocabulary", b"not JSON\n"),
        *(
            pytest.param(f"target.{ending}", b"[" * 100_000, id=ending)
            for ending in ("json", "tokenizer", "vocabulary")
        ),
        ("target.counts", b"3\n-4\n"),
        ("model.safetensors", b""),
        ("model.safetensors", b"weights"),
    ],
)
def test_a_damaged_file_is_named(name: str, content: bytes, run: Path) -> None:
    (run / name).write_bytes(content)
    assert error_of(run).startswith(f"{run / name}:")


@pytest.mark.parametrize("size", [1, 100, -1])
def test_truncated_weights_are_named(size: int, run: Path) -> None:
    path = run / "model.safetensors"
    path.write_bytes(path.read_bytes()[:size])
    assert error_of(run).startswith(f"{path}: truncated")


def test_weights_of_another_model_are_refused(run: Path) -> None:
    text = (run / "config.yaml").read_text("utf-8")
    assert "size: 24" in text
    (run / "config.yaml").write_text(text.replace("size: 24", "size: 25"), encoding="utf-8")
    assert "model.safetensors: weights of another model" in error_of(run)


@pytest.mark.parametrize("size", ["25", "1048576"])  # of 2^20, one matrix would take 4 TB
def test_a_wrong_size_is_told_before_a_model_of_that_size_is_made(size: str, run: Path) -> None:
    text = (run / "config.yaml").read_text("utf-8")
    (run / "config.yaml").write_text(text.replace("size: 24", f"size: {size}"), encoding="utf-8")
    for message in (error_of(run), _told_of(lambda: Run.load(run).model("model-best"))):
        assert "safetensors: weights of another model (" in message
        assert "expected (" in message
        assert size in message or str(2 * int(size)) in message or str(3 * int(size)) in message


def _told_of(call: Callable[[], object]) -> str:
    with pytest.raises(UserError) as error:
        call()
    return str(error.value)


def test_a_vocabulary_that_does_not_fit_the_counts_is_refused(run: Path) -> None:
    path, symbols = run / "source.vocabulary", len(Run.load(run).source.vocabulary)
    path.write_text(path.read_text("utf-8") + '"seven"\n', encoding="utf-8")
    assert error_of(run).startswith(f"{path} has {symbols + 1} symbols, and source.counts {symbols}: ")


def test_a_vocabulary_that_does_not_fit_the_weights_is_refused(run: Path) -> None:
    for name, line in (("source.vocabulary", '"seven"\n'), ("source.counts", "7\n")):
        (run / name).write_text((run / name).read_text("utf-8") + line, encoding="utf-8")
    assert "weights of another model" in error_of(run)


def a_file(path: Path) -> None:
    path.write_text("", encoding="utf-8")


def of_a_project(path: Path) -> None:
    """With a configuration beside the run that it describes, as the demo has it."""
    path.mkdir()
    (path / "config.yaml").write_text(
        "data: {source: a, target: b, train: train, dev: dev}\nrun: runs/demo/run\n", encoding="utf-8"
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "no such run folder"),
        (a_file, "no such run folder"),
        (Path.mkdir, "no config.yaml"),
        (of_a_project, "no target.json"),
    ],
)
def test_what_is_not_a_run_is_said_so(make: Callable[[Path], Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "other"
    make(path)
    assert error_of(path).startswith(f"{path}: ")
    assert message in error_of(path)


def test_a_run_without_weights_says_how_to_get_them(run: Path) -> None:
    for name in WEIGHTS:
        RunFolder(run).weights(name).unlink()
    assert error_of(run) == f"{run}: this run has no weights yet; run `dragoman train` first"
