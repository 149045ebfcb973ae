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
        ssru, transformer, ctranslate2, ssru_speed, transformer_speed = map(float, line.split("|")[2:7])
        for milliseconds, speed in ((ssru, ssru_speed), (transformer, transformer_speed)):
            assert speed == pytest.approx(ctranslate2 / milliseconds, rel=0.05)


@pytest.mark.slow
def test_translations_end_after_as_many_symbols(tmp_path: Path) -> None:
    jobs, contestants = engines.prepare(tmp_path, 0.01)
    for contestant in contestants:
        translator = guard_worker.load(contestant.run, contestant.engine)
        for kind in ("greedy", "beam"):
            translations = translator.translate(jobs.texts[:4], search={"kind": kind, **contestant.limit})
            lengths = [len(translation.text.split()) for translation in translations]
            assert lengths == [engines.LENGTH - (not contestant.limit)] * 4
