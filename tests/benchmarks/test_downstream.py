"""Questions that are translated and back: two trainings, and what a classifier finds in what comes back."""

import gzip
import json
from argparse import Namespace
from pathlib import Path

import pytest

from benchmarks import downstream, provenance
from benchmarks.prepared import Row
from dragoman.files.reading import read_lines
from dragoman.training import checks
from tests import toy

TINY = """
data: {source: x, target: y, train: t, dev: d}
run: runs/x
text: {shared_vocabulary: false}
model: {embedding: {size: 8}, encoder: {kind: rnn, size: 8}, decoder: {kind: rnn, size: 8}}
training: {batch: {size: 16}, average_checkpoints: {count: 1}, metric: loss}
search: {kind: greedy, length_ratio: 1, length_margin: 2}
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Pairs, and questions of which label goes by the first word."""
    folder = tmp_path / "data"
    for seed, (part, count) in enumerate({"train": 40, "dev": 8}.items()):
        toy.write(folder / downstream.PAIRS, part, toy.pairs(count, seed))
        (folder / downstream.PAIRS / f"{part}.fr").rename(folder / downstream.PAIRS / f"{part}.ja")
    (folder / downstream.QUESTIONS).mkdir()
    for part, count in (("train", 60), ("test", 30)):
        texts = [source for source, _ in toy.pairs(count, count)]
        lines = "".join(f"{'LOW' if text.startswith(('one', 'two')) else 'HIGH'}:any {text} ?\n" for text in texts)
        (folder / downstream.QUESTIONS / f"{part}.txt.gz").write_bytes(gzip.compress(lines.encode()))
    return folder


@pytest.mark.parametrize("row", downstream.rows(), ids=lambda row: row.name)
def test_every_row_is_a_sound_configuration(row: Row, data: Path, tmp_path: Path) -> None:
    config = downstream.config(row, Namespace(folder=tmp_path / "table", data=data, epochs=3))
    assert list(checks.problems(config)) == []
    assert ("-".join((*config.data.source, config.data.target)), config.training.epochs) == (row.name, 3)


@pytest.mark.slow
@pytest.mark.usefixtures("in_process")
@pytest.mark.spec("H11")
def test_both_directions_are_trained_and_the_trip_is_made_once(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn")
    (tmp_path / "tiny.yaml").write_text(TINY, "utf-8")
    monkeypatch.setattr(downstream, "CONFIG", tmp_path / "tiny.yaml")
    monkeypatch.setattr(downstream, "SUBWORDS", {f"text.{side}.tokenizer": "word" for side in ("source", "target")})
    folder = tmp_path / "table"
    arguments = ["--folder", str(folder), "--data", str(data), "--epochs", "1"]
    first, second = (row.name for row in downstream.rows())
    for row in (first, second):
        assert downstream.main([*arguments, "--row", row]) == 0
    assert downstream.main([*arguments, "--only", first]) == 0
    assert "drop" not in capsys.readouterr().out
    assert downstream.main(arguments) == 0
    output = capsys.readouterr().out
    lines = [line.strip("| ").split(" | ") for line in output.splitlines()]
    assert [line[0] for line in lines[2:4]] == ["en-ja", "ja-en"]
    assert lines[4] == ["text", "BLEU", "Accuracy", "drop"]
    assert [line[0] for line in lines[6:]] == ["questions", "trip", "(always HIGH)"]
    questions_asked, trip = (list(read_lines(folder / name)) for name in ("questions", "trip"))
    assert questions_asked == [f"{source} ?" for source, _ in toy.pairs(30, 30)]
    assert len(trip) == 30
    assert provenance.origin(folder / "round-trip.json") is not None
    stored = json.loads((folder / "round-trip.json").read_text("utf-8"))["result"]
    assert stored[0]["Accuracy"]["score"] > 90
    assert f"{stored[1]['Accuracy']['score']:.2f} ± {stored[1]['Accuracy']['ci']:.2f}" in lines[7]
    monkeypatch.setattr(downstream, "round_trip", None)
    assert downstream.main(arguments) == 0
    assert capsys.readouterr().out == output
