"""The whole benchmark on a tiny model."""

import importlib.util
from pathlib import Path

import pytest

from benchmarks import corpus, toolkits
from benchmarks.__main__ import main, parsed, sizes_of
from benchmarks.architecture import Sizes
from benchmarks.jobs import Job
from benchmarks.report import Report
from dragoman.model.attention.terms.table import TERMS
from dragoman.training import checks

STUDENT = Path(__file__).resolve().parents[2] / "configs" / "student.yaml"
TINY = ["--tiny", "--threads", "1", "--rounds", "1"]


def test_the_student_is_measured_in_the_sizes_of_its_configuration() -> None:
    config = checks.load_config(STUDENT)
    model, (tokenizer,) = config.model, {side.tokenizer for side in (config.text.source, config.text.target)}
    sizes = sizes_of(parsed(["--student"]))
    assert sizes_of(parsed([])) != sizes
    assert (model.embedding.size, tokenizer.options["vocab_size"]) == (sizes.embedding, sizes.symbols)
    assert [part.options["size"] for part in (model.encoder, model.decoder)] == [sizes.encoder, sizes.decoder]


@pytest.mark.slow
@pytest.mark.timeout(900)  # ten processes that start one after another, on machines that may be busy
def test_trains_and_decodes_along_all_paths(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(toolkits, "TERMS", {"coverage": TERMS["coverage"]})
    file = tmp_path / "figures.json"
    peers = ["--peers", str(tmp_path / "no-python")]
    assert main([*TINY, "--works", "train", "terms", "beam", "--json", str(file), *peers]) == 0
    printed = capsys.readouterr()
    report = Report.read(file)
    contests = [("train", 8, 1), ("terms", 8, 1), ("beam", 64, 1)]
    paths = ["dragoman, plain", "dragoman, fast"]
    exported = [*toolkits.EXPORTED] if importlib.util.find_spec("onnxruntime") else []
    terms = [
        contender_of_group.name for group in toolkits.terms(Job("terms", 8, 1, "")) for contender_of_group in group
    ]
    assert terms == ["additive", "+ coverage"]
    contest_paths = zip(contests, (paths, terms, [*paths, *exported]), strict=True)
    wanted = [(contest, name) for contest, names in contest_paths for name in names]
    assert [(row.contest, row.who) for row in report.rows] == wanted
    for row in report.rows:
        assert 0 < row.figures.sentences_cpu < row.figures.tokens_cpu
        assert row.figures.peak > 100e6  # torch alone is larger
        assert (row.share is None) == (row.who not in paths)
        assert 0 < (row.share or 0.5) < 1
    assert report.products["float32"] > 1e9
    assert "dragoman, fast" in printed.out
    assert "no other toolkits" in printed.err


def test_faults_are_told_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TINY, "--against", str(tmp_path / "none.json")]) == 1
    assert "none.json: cannot read" in capsys.readouterr().err
    assert main([*TINY, "--data", str(tmp_path)]) == 1
    assert "no such file" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--rounds", "0"])
    assert "at least 1" in capsys.readouterr().err


@pytest.mark.slow
def test_measures_multi30k_where_its_files_are(tmp_path: Path, shared_data: Path) -> None:
    prepared = corpus.prepare(shared_data / "multi30k" / "tok", tmp_path, Sizes(), pairs=0)
    assert prepared.name == "Multi30k"
    assert 14 < prepared.source_length < 16
    assert prepared.energies > prepared.source_length * prepared.target_length  # long ones go with long ones
    assert len((tmp_path / "symbols" / "test.source").read_text(encoding="utf-8").splitlines()) == 1000
