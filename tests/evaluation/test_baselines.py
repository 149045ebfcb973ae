"""Scores without a model: copying the source, and the nearest neighbor."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from dragoman.configuration.components import Spec
from dragoman.configuration.config import TextConfig
from dragoman.configuration.data import DataConfig
from dragoman.corpus.examples import Example
from dragoman.evaluation import baselines
from dragoman.evaluation.baselines import Baselines
from dragoman.evaluation.metrics.sacre import Chrf

METRICS = (Spec("chrf"), Spec("ter"))
TRAIN = [("open the file", "die Datei öffnen"), ("close the window", "das Fenster schließen"), ("Print", "Drucken")]
DEV = [("open the files", "die Dateien öffnen"), ("Print", "Ausdrucken"), ("", "leer"), ("\u65e5\u672c", "Japan")]
ANSWERS = ["die Datei öffnen", "Drucken", "", ""]  # nothing is alike at all to the last two


def write(path: Path, rows: list[tuple[str, ...]]) -> str:
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def measured(
    folder: Path, rows: Sequence[tuple[str, ...]] = (), text: Mapping[str, Any] = MappingProxyType({}), **options: Any
) -> Baselines | None:
    places = {"train": write(folder / "train.tsv", [*rows] or [*TRAIN]), "dev": "unread"}
    data = DataConfig.model_validate({"source": "en", "target": "de", **places, **options})
    dev = [Example((source,) * len(data.source), target) for source, target in DEV]
    return baselines.measure(data, TextConfig.model_validate(dict(text)), METRICS, dev)


def expected(texts: list[str]) -> float:
    return Chrf().corpus(texts, [[target for _, target in DEV]]).value


def test_the_source_is_copied_and_the_nearest_is_taken_however_far(tmp_path: Path) -> None:
    measured_baselines = measured(tmp_path)
    assert measured_baselines
    copied, nearest = measured_baselines.baselines
    assert (copied.name, nearest.name) == ("copying en", "nearest neighbor")
    assert copied.scores["chrf"].value == expected([source for source, _ in DEV])
    assert nearest.scores["chrf"].value == expected(ANSWERS)
    assert "|sentences:4|references:" in nearest.scores["chrf"].signature
    assert [score.name for score in measured_baselines.scores] == [
        f"{metric}, {baseline}" for metric in ("chrF2", "TER") for baseline in ("copying en", "nearest neighbor")
    ]
    assert str(measured_baselines).startswith(f"copying en chrF2 {copied.scores['chrf'].value:.2f}, TER ")
    assert not measured_baselines.sampled


def test_sources_are_compared_as_the_model_will_read_them(tmp_path: Path) -> None:
    rows = [("PRINT", "DRUCKEN"), ("Prunt", "prunt")]
    case, lower = (measured(tmp_path, rows, text) for text in ({}, {"source": {"lowercase": True}}))
    assert case
    assert lower
    assert case.baselines[1].scores["chrf"].value == expected(["", "prunt", "", ""])
    assert lower.baselines[1].scores["chrf"].value == expected(["", "DRUCKEN", "", ""])


def test_of_several_sources_the_first_text_is_meant_and_the_edited_one_is_copied(tmp_path: Path) -> None:
    rows = [(source, "wrong", target) for source, target in TRAIN]
    cases: list[tuple[dict[str, Any], str]] = [({}, "src"), ({"edits": "mt"}, "mt")]
    for options, copied in cases:
        measured_baselines = measured(tmp_path, rows, source=["src", "mt"], **options)
        assert measured_baselines
        assert measured_baselines.baselines[0].name == f"copying {copied}"
        assert measured_baselines.baselines[1].scores["chrf"].value == expected(ANSWERS)


@pytest.mark.parametrize(
    "options",
    [
        {"source": "image", "features": "image"},
        {"pairs": [{"source": "en", "target": "de", "train": "a", "dev": "b"}], "train": (), "dev": "", "target": ""},
        {"source": "de", "noise": "infilling"},
    ],
)
def test_there_are_none_without_a_text_or_with_several_pairs(options: dict[str, Any], tmp_path: Path) -> None:
    assert measured(tmp_path, **{"source": (), **options}) is None


def test_much_data_is_sampled_and_that_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "LINES", 3)
    monkeypatch.setattr(baselines, "SOURCES", 2)
    measured_baselines = measured(tmp_path)
    assert measured_baselines
    assert measured_baselines.sampled == "2 of 4 development sentences, 2 of 3 training pairs"
    assert str(measured_baselines).endswith(f" ({measured_baselines.sampled})")
    assert "|sentences:2|" in measured_baselines.baselines[0].scores["chrf"].signature
    references = [target for _, target in DEV][::2]
    texts = baselines.sample([source for source, _ in DEV])
    assert measured_baselines.baselines[0].scores["chrf"].value == Chrf().corpus(texts, [references]).value


def test_the_highest_is_the_best_by_a_metric(tmp_path: Path) -> None:
    measured_baselines = measured(tmp_path)
    assert measured_baselines
    assert measured_baselines.highest("chrf").name == "nearest neighbor"
    rates = {baseline.scores["ter"].value: baseline for baseline in measured_baselines.baselines}
    assert measured_baselines.highest("ter") == rates[min(rates)]


def test_they_are_the_same_after_they_were_written(tmp_path: Path) -> None:
    measured_baselines = measured(tmp_path)
    assert measured_baselines
    assert baselines.from_json(json.loads(json.dumps(measured_baselines.to_json()))) == measured_baselines


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "none",
        {"baselines": [], "sampled": ""},
        {"baselines": [{"name": "a", "scores": {}}], "sampled": ""},
        {"baselines": [{"name": "a", "scores": {"bleu": ["BLEU", "much", ""]}}], "sampled": ""},
        {
            "baselines": [
                {"name": "a", "scores": {"bleu": ["BLEU", 1.0, ""]}},
                {"name": "b", "scores": {"chrf": ["chrF2", 1.0, ""]}},
            ],
            "sampled": "",
        },
    ],
)
def test_what_is_nothing_of_the_kind_is_ignored(value: Any) -> None:
    assert baselines.from_json(value) is None
