"""What a run keeps of the scores without a model, and says of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman import inspection
from dragoman.configuration.config import Config
from dragoman.evaluation import baselines
from dragoman.evaluation.baselines import Baselines
from dragoman.evaluation.metrics.metric import Score
from dragoman.evaluation.metrics.sacre import Chrf
from dragoman.run.folder import RunFolder
from dragoman.run.run import Run
from dragoman.training import session
from tests import toy
from tests.golden import Golden

Make = Callable[..., Config]


def read_baselines(run: RunFolder) -> Baselines:
    kept_baselines = baselines.from_json(run.proof["baselines"])
    assert kept_baselines
    return kept_baselines


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """An entry for each time that baselines are measured."""
    calls, whole = [], baselines.measure

    def counted(*arguments: Any) -> Baselines | None:
        calls.append(arguments)
        return whole(*arguments)

    monkeypatch.setattr(baselines, "measure", counted)
    return calls


@pytest.mark.slow
def test_a_run_keeps_them_and_does_not_measure_them_again(make_config: Make, measured: list[Any]) -> None:
    run = session.train(make_config(), quiet=True)
    before = run.mark.read_bytes()
    sources = [source for source, _ in toy.pairs(8, 2, 3)]
    references = [target for _, target in toy.pairs(8, 2, 3)]
    copied = read_baselines(run).baselines[0].scores["chrf"]
    assert copied.value == Chrf().corpus(sources, [references]).value
    session.train(make_config({"training.steps": 3}), quiet=True)
    assert (len(measured), run.mark.read_bytes()) == (1, before)


@pytest.mark.slow
def test_other_development_data_are_told_and_measured(
    make_config: Make, measured: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toy.write(tmp_path, "mine", toy.pairs(8, 2, 3))
    own = {"data.dev": str(tmp_path / "mine")}
    run = session.train(make_config(own))
    toy.write(tmp_path, "mine", toy.pairs(8, 5, 3))
    session.train(make_config({**own, "training.steps": 3}))
    message = f"{run.path}: data.dev has changed: new validation scores are not comparable with earlier ones\n"
    assert capsys.readouterr().err.count(message) == 1
    session.train(make_config({**own, "training.steps": 4}))
    assert (message in capsys.readouterr().err, len(measured)) == (False, 2)
    proof = run.proof
    run.mark.write_text(json.dumps({key: value for key, value in proof.items() if key != "dev"}), "utf-8")
    session.train(make_config({**own, "training.steps": 5}))  # as an earlier version left it
    assert (run.proof, len(measured)) == (proof, 2)


@pytest.mark.slow
def test_other_training_data_are_told_and_measured(
    make_config: Make, measured: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that was only touched has the same."""
    toy.write(tmp_path, "mine", toy.pairs(40, 2, 3))
    own = {"data.train": str(tmp_path / "mine")}
    run = session.train(make_config(own))
    toy.write(tmp_path, "mine", toy.pairs(40, 2, 3))
    session.train(make_config({**own, "training.steps": 3}))
    assert ("data.train has changed" in capsys.readouterr().err, len(measured)) == (False, 1)
    toy.write(tmp_path, "mine", toy.pairs(40, 5, 3))
    session.train(make_config({**own, "training.steps": 4}))
    message = "data.train has changed: training continues on other pairs and cannot be reproduced from the start"
    assert f"{run.path}: {message}\n" in capsys.readouterr().err
    session.train(make_config({**own, "training.steps": 5}))
    assert ("data.train has changed" in capsys.readouterr().err, len(measured)) == (False, 2)


def test_development_data_that_are_trained_on_are_told(
    make_config: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toy.write(tmp_path, "mine", toy.pairs(40, 2, 3))
    session.train(make_config({"data.train": str(tmp_path / "mine"), "data.dev": str(tmp_path / "mine")}))
    messages = capsys.readouterr().err
    assert "data.dev is part of the training data, so its scores do not generalize" in messages
    assert "no better than" in messages
    assert "data.translation_memory" not in messages


@pytest.mark.slow
def test_a_run_that_begins_anew_measures_them_anew(make_config: Make, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    session.train(make_config({"run": str(tmp_path / "other")}), quiet=True)
    (tmp_path / "run" / "run.json").write_bytes((tmp_path / "other" / "run.json").read_bytes())
    session.train(make_config({"metrics": ["chrf"], "training.metric": "chrf"}), quiet=True)
    assert list(read_baselines(RunFolder(tmp_path / "run")).baselines[0].scores) == ["chrf"]


@pytest.mark.slow
def test_a_run_of_before_measures_them_when_it_goes_on(make_config: Make) -> None:
    run = session.train(make_config(), quiet=True)
    recorded = read_baselines(run)
    run.mark.write_text(json.dumps({key: value for key, value in run.proof.items() if key != "baselines"}), "utf-8")
    session.train(make_config({"training.steps": 2}), quiet=True)
    assert read_baselines(run) == recorded


def test_each_direction_has_its_own(make_config: Make) -> None:
    run = session.train(make_config({"training.objective": "agreement"}), quiet=True)
    assert read_baselines(run).baselines[0].name == "copying en"
    assert read_baselines(run.reverse).baselines[0].name == "copying fr"
    assert "- BLEU-2, copying fr = " in run.reverse.card.read_text("utf-8")


@pytest.mark.slow
def test_several_language_pairs_have_none(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pairs = toy.languages(tmp_path)
    options = {
        "data.pairs": pairs,
        "data.train": [],
        "data.dev": "",
        "text.shared_vocabulary": True,
        "training.steps": 1,
    }
    run = session.train(toy.config(tmp_path, tmp_path / "run", options))
    assert run.proof["baselines"] is None
    assert "without a model" not in capfd.readouterr().err
    session.train(toy.config(tmp_path, tmp_path / "run", {**options, "training.steps": 2}), quiet=True)


def test_card_and_report_show_them_beside_the_model(make_config: Make) -> None:
    run = session.train(make_config(), quiet=True)
    lines = [str(score) for score in read_baselines(run).scores]
    assert len(lines) == 4
    assert all(f"- {line}\n" in run.card.read_text("utf-8") for line in lines)
    scores = inspection.scores(Run.load(run.path), *inspection.development(Run.load(run.path)))
    names = [score.name for score in scores]
    assert names[2:] == [*(score.name for score in read_baselines(run).scores), "Perplexity", "Accuracy"]
    signatures = {score.name: score.signature for score in scores}
    assert signatures["BLEU-2"] == signatures["BLEU-2, nearest neighbor"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "memory"),
    [((1.0, 99.0), False), ((1.0, 99.0), True), ((99.0, 98.0), False), ((0.0, 0.0), False), ((-1.0, -2.0), False)],
    ids=["nearest", "memory", "copied", "equal", "better"],
)
def test_a_model_that_is_no_better_says_so(
    values: tuple[float, float],
    memory: bool,
    make_config: Make,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    golden: Golden,
    tmp_path: Path,
) -> None:
    def measure(*arguments: Any) -> Baselines:
        names = ("copying en", baselines.NEAREST)
        return Baselines(
            tuple(
                baselines.Baseline(name, {kind: Score(kind, value, "") for kind in ("bleu", "chrf")})
                for name, value in zip(names, values, strict=True)
            ),
            "",
        )

    monkeypatch.setattr(baselines, "measure", measure)
    search = {"kind": "greedy", "length_ratio": 0.01, "length_margin": 1}  # of one word: a BLEU of 0
    options = {"data.translation_memory": "nearest"} if memory else {}
    session.train(make_config({**options, "training.search": search}))
    lines = [line for line in capfd.readouterr().err.splitlines() if ": on the development data the model has " in line]
    assert len(lines) == (values != (-1.0, -2.0))
    if lines:
        assert lines[0].startswith(f"{tmp_path / 'run'}: no better than ")
        golden(lines[0])


@pytest.mark.slow
def test_the_metric_that_decides_compares(
    make_config: Make, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """By another metric than the first the model is better, or loss decides, and the first metric compares."""
    only = {"bleu": Score("BLEU", 99.0, ""), "ter": Score("TER", 1e6, "")}
    monkeypatch.setattr(baselines, "measure", lambda *_: Baselines((baselines.Baseline("copying en", only),), ""))
    for metric, count in (("ter", 0), ("bleu", 1), ("loss", 1)):
        options = {"metrics": ["bleu", "ter"], "training.metric": metric}
        session.train(make_config({**options, "run": f"{make_config().run}-{metric}"}))
        assert capfd.readouterr().err.count(": on the development data the model has ") == count
