"""From a configuration to a run folder: what is refused, what stays and what goes on."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from dragoman.configuration import config_file
from dragoman.configuration.config import Config, DeviceConfig
from dragoman.corpus.examples import read_pairs
from dragoman.devices import Device
from dragoman.errors import UserError
from dragoman.files.writing import alone
from dragoman.model.output.output import Loss
from dragoman.model.seq2seq import Seq2Seq
from dragoman.run.folder import RunFolder
from dragoman.training import checks, session, trainer
from dragoman.training.training import Training
from tests import toy

Meddle = Callable[[dict[int, Callable[[Loss, Seq2Seq], Loss]]], None]


def refused(config: Config) -> str:
    with pytest.raises(UserError) as error:
        session.train(config, quiet=True)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_missing_links_are_told_before_training(make_config: Callable[..., Config]) -> None:
    config = make_config({"training.penalties": "supervised", "data.alignments": True})
    assert refused(config).endswith("train.en-fr.align: no such file (nor train.en-fr.align.gz)")


def test_a_file_in_the_place_of_the_folder_is_refused(make_config: Callable[..., Config], tmp_path: Path) -> None:
    (tmp_path / "run").write_text("mine", encoding="utf-8")
    assert refused(make_config()) == f"{tmp_path / 'run'}: is a file; choose another folder with --run"
    assert (tmp_path / "run").read_text(encoding="utf-8") == "mine"


def test_two_processes_cannot_train_one_run(make_config: Callable[..., Config], tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    with alone(tmp_path / "run", "busy"):
        assert refused(make_config()) == f"{tmp_path / 'run'}: another process is training this run"
        assert not list((tmp_path / "run").iterdir()), "nothing was written"
    session.train(make_config(), quiet=True)


@pytest.mark.parametrize("name", ["thesis.tex", "model.safetensors", "README.md"])
def test_a_folder_of_other_things_is_refused(name: str, make_config: Callable[..., Config], tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_text("mine", encoding="utf-8")
    assert name in refused(make_config())
    assert [path.name for path in (tmp_path / "run").iterdir()] == [name]


@pytest.mark.slow
def test_a_configuration_may_be_named_by_its_path(make_config: Callable[..., Config], tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(config_file.dump(make_config()), "utf-8")
    for named in (str(path), path):
        assert session.train(named, quiet=True) == RunFolder(tmp_path / "run")
    path.write_text("seed: x\n", "utf-8")
    with pytest.raises(UserError, match=r"small\.yaml:1: seed: expected a whole number"):
        session.train(path, quiet=True)


def test_an_empty_folder_will_do(make_config: Callable[..., Config], tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert session.train(make_config(), quiet=True).card.is_file()


def test_a_folder_with_the_names_of_a_run_is_refused(
    make_config: Callable[..., Config], corpus: Path, tmp_path: Path
) -> None:
    """A project of a user's own: a configuration and the corpus, as many people lay them out."""
    mine = tmp_path / "run"
    toy.write(mine / "data", "train", toy.pairs(20, 1))
    for name in ("config.yaml", "metrics.jsonl", "source.json", "events.of.mine"):
        (mine / name).write_text("# mine", encoding="utf-8")
    before = {path: path.read_bytes() for path in mine.rglob("*") if path.is_file()}
    assert "run.json" in refused(make_config({"data.train": str(mine / "data" / "train")}))
    (mine / "run.json").write_text('{"mine": 1}', encoding="utf-8")
    assert "run.json" in refused(make_config())
    (mine / "run.json").unlink()
    assert {path: path.read_bytes() for path in mine.rglob("*") if path.is_file()} == before


def test_the_size_of_the_model_decides_the_precision(
    make_config: Callable[..., Config], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes: list[int] = []

    def for_model(device: Device, config: DeviceConfig, parameters: int) -> Device:
        sizes.append(parameters)
        return device._replace(precision=torch.bfloat16, tf32=True)

    monkeypatch.setattr(Device, "for_model", for_model)
    products: list[bool] = []

    def noting(run: Training) -> None:
        products.append(torch.backends.cuda.matmul.allow_tf32)
        trainer.train(run)

    monkeypatch.setattr(session, "train_to_the_end", noting)
    session.train(make_config())
    assert f"tf32; {sizes[0]:,} parameters" in capsys.readouterr().err
    assert products == [True]


def test_tf32_is_refused_on_a_processor(make_config: Callable[..., Config]) -> None:
    config = make_config({"device.precision": "tf32", "device.name": "cpu"})
    assert refused(config) == "device.precision: tf32 requires a GPU; use auto, float32 or bfloat16"


@pytest.mark.slow
def test_what_killed_saves_left_behind_goes_and_nothing_else(make_config: Callable[..., Config]) -> None:
    folder = session.train(make_config({"training.objective": "agreement"}), quiet=True)
    half = ["", "checkpoints/", "reverse/"]
    names = [".model-last.safetensors.0123abcd.part", ".target.json.0123abcd.part", ".last.safetensors.0123abcd.part"]
    remains = [folder.path / place / name for place, name in zip(half, (names[0], names[2], names[1]), strict=True)]
    mine = [".notes.0123abcd.part", ".model-last.safetensors.part", "checkpoints/step-00000001-mine.safetensors"]
    mine += ["checkpoints/step-1.safetensors", ".report.html.0123abcd.part"]  # which `report` may be writing just now
    for path in (*remains, *(folder.path / name for name in mine)):
        path.write_bytes(b"half")
    session.train(make_config({"training.objective": "agreement", "training.steps": 3}), quiet=True)
    assert not any(path.exists() for path in remains)
    assert all((folder.path / name).read_bytes() == b"half" for name in mine)


@pytest.mark.slow
def test_a_run_that_fails_takes_only_what_it_made_with_it(
    make_config: Callable[..., Config], meddle: Meddle, tmp_path: Path
) -> None:
    def fail(loss: Loss, model: Seq2Seq) -> Loss:
        (tmp_path / "run" / "notes.txt").write_text("mine", encoding="utf-8")
        raise UserError("no luck")

    meddle({1: fail})
    assert refused(make_config()) == "no luck"
    assert [path.name for path in sorted((tmp_path / "run").iterdir())] == ["notes.txt", "run.json"]
    meddle({})
    assert session.train(make_config(), quiet=True).card.is_file()
    assert (tmp_path / "run" / "notes.txt").read_text("utf-8") == "mine"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("seed", 9),
        ("model.decoder", {"kind": "rnn", "size": 20}),
        ("training.optimizer", {"kind": "adam", "learning_rate": 0.5}),
        ("data.max_length", 7),
    ],
)
def test_a_run_with_another_configuration_is_refused(
    key: str, value: Any, make_config: Callable[..., Config], tmp_path: Path
) -> None:
    folder = session.train(make_config(), quiet=True)
    before = folder.config.read_bytes(), folder.last_state.read_bytes()
    assert f"{tmp_path / 'run'}: was started with another {key};" in refused(make_config({key: value}))
    assert "started with another seed and 1 other option;" in refused(
        make_config({"seed": 77, "training.clip_norm": 3.0})
    )
    assert (folder.config.read_bytes(), folder.last_state.read_bytes()) == before


@pytest.mark.slow
def test_another_training_option_is_refused_with_the_way_to_train_on(make_config: Callable[..., Config]) -> None:
    folder = session.train(make_config(), quiet=True)
    way = f"(--training.init_from {folder.path} --run NEW)"
    assert way in refused(make_config({"training.optimizer": {"kind": "adam", "learning_rate": 0.5}}))
    assert way not in refused(make_config({"model.decoder": {"kind": "rnn", "size": 20}}))
    folder.weights().unlink()
    assert way not in refused(make_config({"training.clip_norm": 3.0}))


@pytest.mark.slow
def test_a_finished_run_says_that_its_training_files_were_written_again(
    make_config: Callable[..., Config], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toy.write(tmp_path, "mine", toy.pairs(40, 2, 3))
    own = {"data.train": str(tmp_path / "mine")}
    session.train(make_config(own), quiet=True)
    session.train(make_config(own))
    messages = capsys.readouterr().err
    assert "training has finished" in messages
    assert "data.train" not in messages
    toy.write(tmp_path, "mine", toy.pairs(40, 5, 3))
    session.train(make_config(own))
    assert "The files of data.train have been modified since" in capsys.readouterr().err
    for path in tmp_path.glob("mine.*"):
        path.unlink()
    session.train(make_config(own))
    assert "data.train" not in capsys.readouterr().err


PAIRS = [("a b", "b a"), ("c d", "d c"), ("a\nc", "c\ta"), ("b d", "d b"), ("a d c", "c d a")] * 8


@pytest.mark.slow
def test_pairs_may_come_from_memory(make_config: Callable[..., Config], tmp_path: Path) -> None:
    config = make_config()
    folder = session.train(config, train=iter(PAIRS), dev=[list(pair) for pair in PAIRS[:3]], quiet=True)
    kept = checks.load_config(folder.config).data
    (source,) = kept.source
    read = [tuple(pair) for pair in read_pairs(kept.train, source, kept.target)]
    assert [pair for pair in read if "a c" not in pair] == [pair for pair in PAIRS if pair[0] != "a\nc"]
    assert len(read) == len(PAIRS)
    assert (kept.train, kept.dev) == ((f"{config.run}-data/train.jsonl",), f"{config.run}-data/dev.jsonl")
    again = session.train(config, train=PAIRS, dev=PAIRS[:3], quiet=True)  # is finished
    assert again.history == folder.history
    with pytest.raises(UserError, match="other pairs"):
        session.train(config, train=PAIRS[:30], dev=PAIRS[:3], quiet=True)
    path = tmp_path / "own.yaml"
    path.write_text(folder.config.read_text("utf-8").replace(f'"{config.run}"', f'"{config.run}2"'), encoding="utf-8")
    other = session.train(path, train=PAIRS, quiet=True)  # with the development pairs of the configuration
    assert other.history.final["loss"] == folder.history.final["loss"]


@pytest.mark.parametrize(
    ("pairs", "error"),
    [
        ([("a", "b"), ("a",)], r"^train\[1\]: expected 2 texts"),
        (["ab"], r"^train\[0\]: "),
        ([("a", "b"), ("a\ud800", "b")], r"^train\[1\]: half of a surrogate pair \(U\+D800\), which UTF-8"),
    ],
)
def test_pairs_that_are_none_are_told(
    make_config: Callable[..., Config], pairs: Any, error: str, tmp_path: Path
) -> None:
    with pytest.raises((UserError, TypeError), match=error):
        session.train(make_config(), train=pairs, quiet=True)
    assert not (tmp_path / "run-data").exists()


FREE = {
    "training.epochs": 7,
    "training.save_every": 7,
    "training.patience": 7,
    "training.max_nonfinite_steps": 7,
    "training.loggers": "tensorboard",
    "training.average_checkpoints.count": 1,
    "device.precision": "bfloat16",
    "search": {"kind": "beam", "size": 2},
    "constraints": "no_unknown",
}


@pytest.mark.slow
def test_what_makes_no_other_run_may_change(
    make_config: Callable[..., Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", ModuleType("tensorboard"))  # without a writer: it fails
    before = session.train(make_config(), quiet=True).config.read_bytes()
    assert session.train(make_config(FREE), quiet=True).config.read_bytes() == before, "a finished run is left alone"
    folder = session.train(make_config({**FREE, "training.steps": 2}), quiet=True)
    kept = config_file.load(folder.config)
    assert (kept.training.epochs, kept.search.options["size"], kept.training.average_checkpoints.count) == (7, 2, 1)


def test_a_run_may_move(make_config: Callable[..., Config], tmp_path: Path) -> None:
    folder = session.train(make_config(), quiet=True)
    folder.path.rename(tmp_path / "moved")
    assert session.train(make_config({"run": str(tmp_path / "moved")}), quiet=True).card.is_file()


def test_a_failure_before_anything_was_saved_leaves_no_folder(
    make_config: Callable[..., Config], meddle: Meddle, tmp_path: Path
) -> None:
    def fail(loss: Loss, model: Seq2Seq) -> Loss:
        raise UserError("no luck")

    meddle({1: fail})
    assert refused(make_config()) == "no luck"
    assert not (tmp_path / "run").exists()


def test_a_folder_that_was_there_stays_after_a_failure(make_config: Callable[..., Config], tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    refused(make_config({"data.dev": str(tmp_path / "nowhere")}))
    assert (tmp_path / "run").is_dir()


@pytest.mark.slow
def test_a_begun_folder_without_a_state_begins_anew_with_any_configuration(
    make_config: Callable[..., Config], meddle: Meddle, tmp_path: Path
) -> None:
    def fail(loss: Loss, model: Seq2Seq) -> Loss:
        raise UserError("no luck")

    (tmp_path / "run").mkdir()
    meddle({1: fail})
    refused(make_config())
    meddle({})
    folder = session.train(make_config({"seed": 12}), quiet=True)
    assert config_file.load(folder.config).seed == 12


def test_a_trained_folder_without_a_state_is_refused(make_config: Callable[..., Config]) -> None:
    folder = session.train(make_config(), quiet=True)
    shutil.rmtree(folder.last_state.parent)
    weights = folder.weights().read_bytes()
    wanted = f"{folder.path}: contains a trained model, but no checkpoints/last.safetensors; "
    assert refused(make_config({"seed": 12})) == f"{wanted}choose another folder with --run"
    assert folder.weights().read_bytes() == weights


def test_the_same_command_makes_the_run_and_says_what_it_does(
    make_config: Callable[..., Config], capsys: pytest.CaptureFixture[str]
) -> None:
    folder: RunFolder = session.train(make_config())
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert "1 thread, float32" in lines[0]
    assert "60 of 60 pairs" in lines[0]
    assert lines[1].startswith("without a model: copying en BLEU-2 ")
    assert lines[2].split()[:2] == ["step", "1"]
    assert lines[3].startswith("model.safetensors: the best, of step 1  loss ")
    assert folder.weights().is_file()


def test_development_pairs_that_are_left_out_are_told(
    make_config: Callable[..., Config], corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, more in (("en", "one\n"), ("fr", "\n")):
        (tmp_path / f"mine.{name}").write_text((corpus / f"dev.{name}").read_text("utf-8") + more, "utf-8")
    session.train(make_config({"data.dev": str(tmp_path / "mine")}))
    count = len((corpus / "dev.en").read_text("utf-8").splitlines())
    message = f"data.dev, en-fr: {count} of {count + 1} pairs (left out: 1 with an empty side)"
    assert capsys.readouterr().err.splitlines()[1] == message
