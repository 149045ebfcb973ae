"""What a run shows: facts, scores, quality by length, sentences."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from dragoman import inspection, translator
from dragoman.config import ModelConfig
from dragoman.data.corpus import Pair
from dragoman.errors import UserError
from dragoman.evaluation.alignment import Gold
from dragoman.evaluation.metrics import Bleu
from dragoman.inspection import Sentences
from dragoman.model import build
from dragoman.run import Run
from dragoman.visualisation.report import Example
from tests import toy


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run.load(toy.trained(tmp_path_factory.getbasetemp()))


def sentences(lengths: Sequence[int], right: Sequence[bool]) -> Sentences:
    """Sentences of so many words, translated right or wrong."""
    examples = []
    for length in lengths:
        words = ["word"] * length
        examples.append(Example(words, words, " ".join(words), np.eye(length), -1.0))
    pairs = zip(examples, right, strict=True)
    return Sentences([each.reference if good else "false " * 9 for each, good in pairs], examples)


def test_quality_is_told_for_each_length() -> None:
    found = inspection.by_length(sentences([1, 4, 5, 6, 10, 30], [True, True, True, False, False, True]), Bleu(order=1))
    assert [(name, count) for name, count, _ in found] == [("1–5", 3), ("6–10", 2), ("26–30", 1)]
    assert [round(value) for *_, value in found] == [100, 0, 100]


def test_buckets_are_for_usual_lengths_and_the_last_is_for_the_rest() -> None:
    lengths = [*range(1, 61), 900]
    found = inspection.by_length(sentences(lengths, [True] * 61), Bleu(order=1))
    assert [name for name, *_ in found] == ["1–10", "11–20", "21–30", "31–40", "41–50", "51–60", "over 70"]
    assert sum(count for _, count, _ in found) == 61
    short = inspection.by_length(sentences([0, 1, 2, 3], [True] * 4), Bleu(order=1))
    assert [name for name, *_ in short] == ["1–2", "3–4"]


@pytest.mark.parametrize("tie", ["none", "all"])
def test_parameters_are_counted_by_part_and_once(tie: str) -> None:
    model = ModelConfig.model_validate({"embedding": {"tie": tie}})
    parts = inspection.parameters(model, 30, 30)
    built = build.build(model, 30, 30)
    assert sum(parts.values()) == sum(parameter.numel() for parameter in built.parameters())
    assert parts["encoder"] == sum(parameter.numel() for parameter in built.encoder.parameters())
    assert ("target embedding" in parts) == (tie == "none")


def test_a_view_has_all_that_a_report_shows(run: Run) -> None:
    view = inspection.view(run, *inspection.development(run))
    assert view.name == str(run.folder.path)
    assert dict(view.facts)["languages"] == "en to fr"
    assert [name for name, *_ in view.scores] == ["BLEU-2", "chrF2", "Perplexity", "Accuracy"]
    last = json.loads(run.folder.metrics.read_text(encoding="utf-8").splitlines()[-1])
    assert [value for _, value, _ in view.scores] == pytest.approx(
        [last[f"final/{name}"] for name in ("bleu", "chrf", "perplexity", "accuracy")]
    )
    assert len(view.examples) == 8
    assert not any(key.startswith("final/") for row in view.metrics for key in row)
    assert any("valid/bleu" in row for row in view.metrics)
    assert sum(count for _, count, _ in view.lengths) == 8


def test_given_sentences_are_translated_and_compared_with_gold_links(run: Run) -> None:
    pairs = [Pair(*pair) for pair in toy.pairs(12, 7)]
    links = [frozenset((n - 1 - t, t) for t in range(n)) for n in (len(pair.source.split()) for pair in pairs)]
    model = translator.load(run.folder.path)
    found, scores = inspection.translated(model, pairs, [Gold(each, each) for each in links])
    assert found.references == [pair.target for pair in pairs]
    right = [text == pair.target for text, pair in zip(found.texts, pairs, strict=True)]
    assert any(right)
    for example, gold, good in zip(found.examples, links, right, strict=True):
        assert example.gold == (sorted(gold) if good else None)
        assert 1 <= len(example.n_best) <= 3
        assert example.n_best[0][1] == example.score
    assert [score.name for score in scores] == ["AER"]
    assert 0 <= scores[0].value <= 100
    unknown, none = inspection.translated(model, [Pair(pair.source, "") for pair in pairs])
    assert none == []
    assert inspection.view(run, unknown).scores == []


def test_a_run_that_is_under_way_shows_what_it_has(run: Run, tmp_path: Path) -> None:
    shutil.copytree(run.folder.path, tmp_path / "run")
    begun = Run.load(tmp_path / "run")
    begun.folder.validation.unlink()
    lines = begun.folder.metrics.read_text(encoding="utf-8").splitlines()
    begun.folder.metrics.write_text("\n".join([*lines[:-1], lines[-1][:20]]), encoding="utf-8")
    view = inspection.view(begun, *inspection.development(begun))
    assert view.scores == []
    assert view.examples == []
    assert dict(view.facts)["training"].startswith("under way: 140 steps")
    begun.folder.metrics.unlink()
    assert dict(inspection.facts(begun))["training"] == "has not begun"


def test_a_broken_row_in_between_is_told(run: Run, tmp_path: Path) -> None:
    shutil.copytree(run.folder.path, tmp_path / "run")
    begun = Run.load(tmp_path / "run")
    begun.folder.metrics.write_text('{"step": 1, "time": 2}\n{"st\n{"step": 2, "time": 3}\n', encoding="utf-8")
    with pytest.raises(UserError, match=r"metrics.jsonl:2: expected a JSON object with step and time"):
        inspection.metric_rows(begun)
