"""Two models are trained together, and each has a run of its own."""

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli import average, shortlist
from dragoman.configuration.components import Spec
from dragoman.corpus.examples import Example
from dragoman.data.dataset import Dataset
from dragoman.errors import UserError
from dragoman.evaluation.metrics.table import METRICS
from dragoman.run.folder import RunFolder
from dragoman.run.run import Run
from dragoman.search import shortlist as shortlists
from dragoman.training import session
from dragoman.training.session import reversed_config
from dragoman.translation.loading import load
from tests import toy
from tests.golden import Golden

WHOLE = {
    "text.target.tokenizer": {"kind": "word", "vocab_size": 50},
    "text.source.lowercase": True,
    "training.objective": {"kind": "agreement", "weight": 0.5},
    "training.epochs": 3,
    "training.metric": "chrf",
}


@pytest.fixture(scope="module")
def run(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return session.train(toy.config(corpus, tmp_path_factory.mktemp("both") / "run", WHOLE), quiet=True)


def rows(folder: RunFolder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in folder.metrics.read_text("utf-8").splitlines()]


def test_the_reverse_configuration_exchanges_source_and_target(corpus: Path) -> None:
    config = toy.config(corpus, Path("runs/toy"), WHOLE)
    other = reversed_config(config)
    assert (other.run, other.data.source, other.data.target) == ("runs/toy/reverse", ("fr",), "en")
    assert other.text.source == config.text.target
    assert other.text.target == config.text.source
    assert other.model == config.model


@pytest.mark.spec("B20")
@pytest.mark.slow
def test_both_runs_are_whole(run: RunFolder) -> None:
    names = {path.name for path in run.path.iterdir()} - {"reverse", "data"}
    assert {path.name for path in run.reverse.path.iterdir()} == names
    assert (Run.load(run.path).source.name, Run.load(run.reverse.path).source.name) == ("en", "fr")
    assert Run.load(run.reverse.path).config.text.target.lowercase
    assert "# fr to en" in run.reverse.card.read_text("utf-8")
    one, other = load(run.path), load(run.reverse.path)
    assert set(one.translate(["two three"])[0].words) <= set(toy.WORDS.values())
    assert set(other.translate(["trois deux"])[0].words) <= set(toy.WORDS)
    assert other.score(["trois deux"], ["two three"])[0].attention.shape == (2, 2)
    assert other.model.source_encoders[0].embedding.get_parameter("table").size(0) == len(
        Run.load(run.path).target.vocabulary
    )


@pytest.mark.spec("B20")
def test_what_is_best_is_best_for_both_on_average(run: RunFolder) -> None:
    measured = [
        {row["step"]: row["valid/chrf"] for row in rows(folder) if "valid/chrf" in row} for folder in (run, run.reverse)
    ]
    assert measured[0] != measured[1]
    assert len(measured[0]) == 3
    mean = {step: (value + measured[1][step]) / 2 for step, value in measured[0].items()}
    assert METRICS["chrf"].higher_is_better
    best = sorted(mean, key=lambda step: (-mean[step], step))[:2]  # training.average_checkpoints.count
    for folder in (run, run.reverse):
        kept = {path.stem for path in folder.checkpoint(0).parent.glob("step-*.safetensors")}
        assert kept == {folder.checkpoint(step).stem for step in best}
        assert sum("final/chrf" in row for row in rows(folder)) == 1


@pytest.mark.spec("B20")
def test_commands_work_on_the_other_direction(
    run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "mean.safetensors"
    average.average(average.AverageOptions(run.reverse.path, target, best=2))
    load(run.reverse.path, weights=str(target))
    shortlist.shortlist(shortlist.ShortlistOptions(run.reverse.path))
    english, french = Run.load(run.path).source.vocabulary, Run.load(run.path).target.vocabulary
    contents = shortlists.read(run.reverse.path / shortlists.FILE, (len(french), len(english)))
    (three,) = french.ids(["trois"])
    assert english.symbols([int(contents.translations[three, 0])]) == ["three"]
    (run.reverse.path / shortlists.FILE).unlink()
    capsys.readouterr()


def test_the_other_direction_is_not_trained_alone(run: RunFolder, golden: Golden) -> None:
    with pytest.raises(UserError, match=f"^{run.reverse.path}:") as raised:
        session.train(Run.load(run.reverse.path).config, quiet=True)
    golden(str(raised.value))


def test_a_reversed_data_set_has_the_same_pairs(run: RunFolder) -> None:
    config = Run.load(run.path).config
    data = Dataset.prepare(config.data, config.text, config.seed, run.path)
    other = data.reversed()
    numbers = data.train.columns["source"].lengths.argsort()[:3]
    expected = data.batch(numbers, 0).reversed()
    reversed_batch = other.batch(numbers, 0)
    assert reversed_batch.target.ids.equal(expected.target.ids)
    assert reversed_batch.sources[0].ids.equal(expected.sources[0].ids)
    assert other.dev[0] == Example((data.dev[0].target,), str(data.dev[0].sources[0]))
    assert other.report == data.report


@pytest.mark.slow
def test_subword_dropout_and_one_inventory_for_both(corpus: Path, tmp_path: Path) -> None:
    options = {**toy.SUBWORDS, "training.objective": "agreement", "training.epochs": 1}
    folder = session.train(toy.config(corpus, tmp_path / "run", options), quiet=True)
    assert Run.load(folder.path).config.training.objective == Spec("agreement", {"weight": 1.0})
    assert load(folder.reverse.path).translate(["deux trois"])[0].source_words == ["deux", "trois"]
