"""Engines side by side, with a few sentences."""

from pathlib import Path

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")
pytest.importorskip("ctranslate2")

from benchmarks import engines, guard_worker


@pytest.mark.slow
def test_the_table_has_a_row_for_each_search(capsys: pytest.CaptureFixture[str]) -> None:
    assert engines.main(["--rounds=1", "--scale=0.01"]) == 0
    lines = capsys.readouterr().out.splitlines()[-5:]
    assert [line.split("|")[1].strip() for line in lines[1:]] == [str(work) for work in guard_worker.WORKS]
    for line in lines[1:]:
        onnx, ctranslate2, speed = map(float, line.split("|")[2:5])
        assert speed == pytest.approx(ctranslate2 / onnx, rel=0.05)


@pytest.mark.slow
def test_translations_end_after_as_many_symbols(tmp_path: Path) -> None:
    jobs, run = engines.prepare(tmp_path, 0.01)
    for engine in engines.ENGINES:
        for search in ("greedy", "beam"):
            translations = guard_worker.load(run, engine).translate(jobs.texts[:4], search=search)
            assert [len(translation.text.split()) + 1 for translation in translations] == [engines.LENGTH] * 4
