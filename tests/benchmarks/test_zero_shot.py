"""The table of zero-shot directions: sound configurations, corpora without common sentences, results as lines."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import provenance, zero_shot
from benchmarks.corpus import DEV, TEST, TRAIN
from benchmarks.provenance import UNKNOWN
from dragoman.corpus.examples import read_pairs

FIGURES = {"bleu": 12.34, "wrong": 5.0}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(zero_shot, "TESTS", {"dev": 4, "test": 4})
    return tmp_path


def sentences(table: zero_shot.Table, source: str, target: str) -> set[str]:
    return {pair.source for pair in read_pairs(table.prefix(source, target, "train"), source, target)}


def test_every_model_has_a_sound_configuration(folder: Path) -> None:
    table = zero_shot.phrasebook(folder / "texts", 40)
    configs = {name: zero_shot.config(name, table, folder, 2) for name in zero_shot.rows()}
    assert [pair.name for pair in configs["one model"].data.trained] == ["en-de", "de-en", "en-fr", "fr-en"]
    assert [pair.name for pair in configs["one model with copies"].data.trained][4:] == ["en-en"]
    assert [pair.name for pair in configs["de-fr"].data.trained] == ["de-fr"]
    for config in configs.values():
        assert (config.device.threads, config.training.schedule.kind) == (1, "cosine")
        assert "steps" not in config.training.schedule.options
    assert (configs["one model"].training.epochs, configs["de-fr"].training.epochs) == (2, 4)
    for name in ("one model", "one model with copies"):
        assert [pair.name for pair in configs[name].data.language_pairs if not pair.train] == ["de-fr", "fr-de"]


def test_corpora_of_multi30k_have_no_sentences_in_common(folder: Path) -> None:
    files = folder / "files"
    files.mkdir()
    for part in (TRAIN, DEV, TEST):
        for language in zero_shot.LANGUAGES:
            (files / f"{part}.{language}").write_text("".join(f"{language} {n}\n" for n in range(10)), "utf-8")
    table = zero_shot.multi30k(files, folder / "texts")
    german, french = sentences(table, "en", "de"), sentences(table, "en", "fr")
    assert (len(german), len(french)) == (5, 5)
    assert not german & french
    assert zero_shot.config("one model", table, folder, 2).text.source.pretokenizer == "whitespace"


def test_results_become_lines_and_are_not_made_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    requests: list[Any] = []

    def apart(module: str, tasks: Any, workers: int, console: Any) -> int:
        requests.append(list(tasks))
        return 0

    monkeypatch.setattr(zero_shot, "apart", apart)
    assert zero_shot.main(["--folder", str(folder), "--pairs", "20", "--only", "multi30k"]) == 1
    assert capsys.readouterr().err == "--only: expected some of phrasebook\n"
    (folder / "phrasebook").mkdir()
    results = {"one-model": "zero-shot de-fr", "de-fr": "supervised de-fr", "fr-de": "supervised fr-de"}
    for name, key in results.items():
        (folder / "phrasebook" / f"{name}.json").write_text(
            json.dumps({"result": {key: FIGURES}, "provenance": UNKNOWN}), "utf-8"
        )
    assert zero_shot.main(["--folder", str(folder), "--pairs", "20"]) == 0
    assert requests == [["phrasebook: one model with copies"]]
    assert capsys.readouterr().out.split("\n")[2:7] == [
        "| direction | system | BLEU | wrong language (%) |",
        "|---|---|---|---|",
        "| de-fr | zero-shot | 12.3 | 5.0 |",
        "| de-fr | supervised | 12.3 | 5.0 |",
        "| fr-de | supervised | 12.3 | 5.0 |",
    ]


@pytest.mark.slow
def test_a_model_is_trained_and_measured(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("py3langid")
    text = zero_shot.CONFIG.read_text("utf-8").replace("size: 2500", "size: 330").replace("size: 128", "size: 4")
    tiny = text.replace("size: 256", "size: 8").replace("{kind: beam, size: 5}", "{kind: greedy, length_ratio: 0.1}")
    (folder / "tiny.yaml").write_text(tiny, "utf-8")
    monkeypatch.setattr(zero_shot, "CONFIG", folder / "tiny.yaml")
    options = ["--folder", str(folder), "--pairs", "20", "--epochs", "1"]
    assert zero_shot.main([*options, "--row", "phrasebook", "one model with copies"]) == 0
    stored = provenance.read(folder / "phrasebook" / "one-model-with-copies.json")
    trained = {f"one model, copies {name}" for name in ("en-de", "de-en", "en-fr", "fr-en")}
    systems = "zero-shot", "zero-shot, any symbol", "by way of en"
    copied = {f"{system}, copies {name}" for system in systems for name in ("de-fr", "fr-de")}
    assert set(stored) == trained | copied
    assert all(0 <= scores["wrong"] <= 100 for scores in stored.values())
