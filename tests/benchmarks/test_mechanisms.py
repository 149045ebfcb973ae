"""The table of mechanisms: every row is a sound configuration, and a trained row becomes a line."""

import subprocess
from pathlib import Path

import pytest

from benchmarks import mechanisms, prepared, trainings
from benchmarks.prepared import Corpus, Row
from dragoman.errors import UserError
from dragoman.run.run import Run
from dragoman.training import checks

TINY = """
run: runs/additive
data: {source: en, target: fr, train: data/train, dev: data/dev}
text: {source: {tokenizer: {kind: bpe, vocab_size: 400}}, target: {tokenizer: {kind: bpe, vocab_size: 400}}}
model:
  embedding: {size: 4}
  encoder: {kind: rnn, size: 2}
  attention: {score: additive}
  decoder: {kind: rnn, size: 4}
training: {epochs: 1, batch: {size: 8}, schedule: cosine}
search: {kind: greedy, length_ratio: 0.1, length_margin: 1}
"""


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    for part in ("train", "dev"):
        for side in ("en", "fr", "grc"):
            (tmp_path / f"{part}.{side}").write_text("one two\nthree\n", encoding="utf-8")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    "row", [*mechanisms.mechanisms(), *mechanisms.of_documents(), *mechanisms.aligners()], ids=lambda row: row.name
)
def test_every_row_is_a_sound_configuration(row: Row, texts: Path) -> None:
    config = Corpus(texts, (), "dev", {"training.epochs": "3"}).config(row, texts / "run")
    assert (config.run, config.training.epochs) == (str(texts / "run"), 3)
    assert "steps" not in config.training.schedule.options
    assert list(checks.problems(config)) == []


def test_no_two_rows_have_one_folder() -> None:
    for rows in (mechanisms.mechanisms(), mechanisms.aligners()):
        assert len({row.slug for row in rows}) == len(rows)


@pytest.mark.slow
def test_a_row_is_trained_once_and_becomes_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    configs = tmp_path / "configs"
    (configs / "attention").mkdir(parents=True)
    (configs / "attention" / "additive.yaml").write_text(TINY, encoding="utf-8")
    monkeypatch.setattr(mechanisms, "CONFIGS", configs)
    monkeypatch.setattr(prepared, "TESTS", {"dev": 4, "test": 4, "compositional": 4})
    monkeypatch.setattr(mechanisms, "speeds", lambda rows, prepared, folder, console: {"dot": 1.25})
    options = ["--folder", str(tmp_path / "table"), "--pairs", "40", "--epochs", "1", "--only", "dot"]
    options += ["--seeds", "2"]
    for row in ("dot", "dot, seed 2"):
        assert mechanisms.main([*options, "--row", "phrasebook", row]) == 0
    assert (tmp_path / "table" / "phrasebook" / "dot.json").is_file()
    assert Run.load(tmp_path / "table" / "phrasebook" / "dot-seed-2").config.seed == 2
    monkeypatch.setattr(subprocess, "run", None)  # nothing is left to be trained
    assert mechanisms.main(options) == 0
    head, rule, line = capsys.readouterr().out.strip().splitlines()
    assert head == "| attention | BLEU test | BLEU compositional | AER | precision | recall | speed | parameters |"
    assert rule.count("|") == head.count("|") == line.count("|")
    assert line.startswith("| dot | ")
    assert " | 1.25 | " in line
    assert line.count(" ± ") == 2


@pytest.mark.slow
@pytest.mark.usefixtures("in_process")
def test_a_training_that_fails_is_named_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prepared, "TESTS", {"dev": 4, "test": 4, "compositional": 4})
    monkeypatch.setattr(mechanisms, "CONFIGS", tmp_path / "nowhere")
    options = ["--folder", str(tmp_path / "table"), "--pairs", "40", "--only", "dot", "bilinear"]
    assert mechanisms.main([*options, "--workers", "1", "--epochs", "0"]) == 1
    errors = capsys.readouterr().err
    assert "dot: failed: " in errors
    assert "bilinear: failed: " in errors


def test_a_row_that_there_is_none_of_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prepared, "TESTS", {"dev": 4, "test": 4, "compositional": 4})
    assert mechanisms.main(["--folder", str(tmp_path), "--pairs", "40", "--only", "dot", "aditive"]) == 1
    assert capsys.readouterr().err.startswith("--only: expected some of ")


def test_rows_of_other_options_are_not_mixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trainings.keep_options(tmp_path, pairs=40, epochs=5, data=None)
    trainings.keep_options(tmp_path, pairs=40, epochs=5)
    with pytest.raises(UserError, match="was begun with --epochs 5; choose another --folder"):
        trainings.keep_options(tmp_path, pairs=40, epochs=6)
    assert mechanisms.main(["--folder", str(tmp_path), "--pairs", "30", "--epochs", "5", "--only", "dot"]) == 1
    assert "was begun with --pairs 40" in capsys.readouterr().err
    assert not (tmp_path / "texts").exists()
