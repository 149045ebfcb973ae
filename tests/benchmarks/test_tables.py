"""The tables of several sources and of post-editing: sound rows, each trained once, that become lines and pictures."""

from argparse import Namespace
from pathlib import Path

import pytest

from benchmarks import postediting, provenance, sources, trainings
from benchmarks.prepared import Row
from dragoman.training import checks
from tests import toy

TINY = """
text: {joint: true, source: {unit: word, tokeniser: whitespace}, target: {unit: word, tokeniser: whitespace}}
model: {embedding: {size: 8}, encoder: {kind: rnn, size: 8}, decoder: {kind: rnn, size: 8}}
training: {batch: {size: 16}, average: 1, metric: METRIC}
metrics: [{kind: bleu, tokenise: none}, ter]
search: {kind: greedy, length_ratio: 1, length_margin: 2}
"""


def lines(folder: Path, name: str, texts: list[str]) -> None:
    (folder / name).write_text("".join(f"{text}\n" for text in texts), "utf-8")


@pytest.fixture
def captions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A corpus in four languages with the names of Multi30k's files."""
    for part, count in ((sources.TRAIN, 40), (sources.DEV, 12), (sources.TEST, 12)):
        english, french = zip(*toy.pairs(count, 1), strict=True)
        for name, texts in (("de", english), ("cs", english), ("fr", english), ("en", french)):
            lines(tmp_path, f"{part}.{name}", list(texts))
    data = "data: {source: [de, fr, cs], target: en, train: t, dev: d}\nrun: runs/x\n"
    (tmp_path / "tiny.yaml").write_text(data + TINY.replace("METRIC", "bleu"), "utf-8")
    monkeypatch.setattr(sources, "CONFIG", tmp_path / "tiny.yaml")
    return tmp_path


@pytest.mark.parametrize("row", sources.rows(), ids=lambda row: row.name)
def test_every_row_of_sources_is_a_sound_configuration(row: Row, tmp_path: Path) -> None:
    for part in (sources.TRAIN, sources.DEV):
        for name in ("de", "fr", "cs", "en"):
            lines(tmp_path, f"{part}.{name}", ["a b", "c"])
    config = sources.config(row, Namespace(folder=tmp_path, data=tmp_path, epochs=3))
    assert config.training.epochs == 3
    assert list(checks.problems(config)) == []


@pytest.mark.spec("C9", "C14")
def test_rows_of_sources_are_trained_and_drawn(captions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--folder", str(captions / "table"), "--data", str(captions), "--epochs", "1"]
    for row in ("de", "hierarchical, sentinel"):
        assert sources.main([*options, "--row", row]) == 0
    capsys.readouterr()
    assert sources.main([*options, "--only", "de", "hierarchical, sentinel"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[:2] == ["| sources | BLEU val | BLEU test_2016_flickr | parameters |", "|---|---|---|---|"]
    assert [line.split(" | ")[0] for line in told[2:]] == ["| de", "| hierarchical, sentinel"]
    learning = (captions / "table" / "learning.svg").read_text("utf-8")
    assert ">de<" in learning
    weights = (captions / "table" / "hierarchical-sentinel.svg").read_text("utf-8")
    assert all(f">{name}</text>" in weights for name in ("de", "fr", "cs", "sentinel"))


def test_the_picture_in_the_docs_shows_the_results(repository: Path) -> None:
    results = repository / "benchmarks" / "results" / "sources"
    files = {row.name: results / f"{row.slug}.json" for row in sources.rows()}
    found = {name: sources.Result(**provenance.read(path)) for name, path in files.items()}
    assert (repository / "docs" / "sources-learning.svg").read_text("utf-8") == sources.drawn(found)


@pytest.mark.slow
def test_a_failed_row_is_told_and_no_line(captions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--folder", str(captions / "table"), "--data", str(captions / "nowhere"), "--epochs", "1"]
    assert sources.main([*options, "--only", "de"]) == 1
    said = capsys.readouterr()
    assert "de: failed: " in said.err
    assert "no such file" in said.err
    assert not said.out
    assert sources.main([*options, "--only", "ed"]) == 1
    assert capsys.readouterr().err.startswith("--only: expected some of de; fr; cs; one sequence")


@pytest.fixture
def triplets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for part, count in (("train", 40), ("dev", 12), ("test20", 12)):
        source, right = (list(texts) for texts in zip(*toy.pairs(count, 1), strict=True))
        lines(tmp_path, f"{part}.src", source)
        lines(tmp_path, f"{part}.pe", right)
        lines(tmp_path, f"{part}.mt", [text if n % 2 else text[:-1] + "x" for n, text in enumerate(right)])
    data = "data: {source: [src, mt], edits: mt, target: pe, train: t, dev: d}\nrun: runs/x\n"
    (tmp_path / "tiny.yaml").write_text(data + TINY.replace("METRIC", "ter"), "utf-8")
    monkeypatch.setattr(postediting, "CONFIG", tmp_path / "tiny.yaml")
    monkeypatch.setattr(postediting, "SAMPLES", 50)
    return tmp_path


@pytest.mark.parametrize("row", postediting.rows(), ids=lambda row: row.name)
def test_every_row_of_postediting_is_a_sound_configuration(row: Row, triplets: Path) -> None:
    config = postediting.config(row, Namespace(folder=triplets, data=triplets, epochs=3))
    assert "steps" not in config.training.schedule.options
    assert list(checks.problems(config)) == []


@pytest.mark.parametrize("name", ["hierarchical", "translation alone", "rewriting"])
def test_rows_of_postediting_are_told_beside_doing_nothing(
    triplets: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--folder", str(triplets / "table"), "--data", str(triplets), "--epochs", "1"]
    assert postediting.main([*options, "--row", name]) == 0
    capsys.readouterr()
    assert postediting.main([*options, "--only", name]) == 0
    told = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in told] == [
        *("| dev", "|---|---|---|---|---|", "| doing nothing", f"| {name}"),
        *("| test20", "|---|---|---|---|---|", "| doing nothing", f"| {name}"),
    ]


def test_post_edits_are_judged_beside_what_they_are_edits_of() -> None:
    right = [f"a b c d {number}" for number in range(20)]
    before = [line if number % 2 else f"x {line}" for number, line in enumerate(right)]
    better = postediting.judged(before, right, right)
    assert (better.bleu, better.ter, better.untouched) == (pytest.approx(100), 0.0, 100.0)
    assert better.p < 0.01
    spoilt = [f"y {line}" for line in before[:4]] + before[4:]
    assert postediting.judged(before, spoilt, right).untouched == 80.0
    same = postediting.judged(before, before, right)
    assert same.p == 1.0
    assert same.ter == pytest.approx(100 * 10 / 100)


def test_no_two_rows_have_one_folder() -> None:
    for rows in (sources.rows(), postediting.rows()):
        assert len({row.slug for row in rows}) == len(rows)
    assert trainings.result(Row("a, b", Path("c")), Namespace(folder=Path("f"))) == Path("f/a-b.json")
